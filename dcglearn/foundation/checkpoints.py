"""Checkpoint files: the identity of a training, then its state in parts, each with a checksum.

The first line names the format and the version of dcglearn, the second holds the identity as JSON. Each part follows
its length and its CRC-32, so a part cut short, as by a kill in the middle of writing, is noticed.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__

if TYPE_CHECKING:
    import os

FORMAT = 2
"""Version of the format and of the parts' fields. In format 1, rankers wrote npz and JSON."""

_PART = struct.Struct("<QI")
_HEADER = re.compile(rb"dcglearn checkpoint (?P<format>\d+)(?: of dcglearn (?P<version>\S+))?\n(?P<identity>.*\n)?")
_RANKERS_FORMAT_1 = re.compile(rb'PK\x03\x04.{26}v\.npy|\{"format": "dcglearn\.checkpoint"', re.DOTALL)


def write_checkpoint(path: str | os.PathLike[str], identity: dict[str, Any], *parts: bytes) -> int:
    """Write a checkpoint whole or not at all; return its size in bytes."""
    header = f"dcglearn checkpoint {FORMAT} of dcglearn {__version__}\n{json.dumps(identity, sort_keys=True)}\n"
    with written_beside(path) as beside:
        return beside.write_bytes(header.encode() + b"".join(map(framed, parts)))


def framed(part: bytes) -> bytes:
    """Return a part as the file holds it."""
    return _PART.pack(len(part), zlib.crc32(part)) + part


def read_checkpoint(path: str | os.PathLike[str], identity: dict[str, Any]) -> tuple[list[bytes], int]:
    """Return the whole parts of a checkpoint, and the size of the file up to the end of the last.

    Raise InputError if there is no checkpoint at `path`, or it is of another format or another training.
    """
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", error)
        raise InputError(f"{path}: no checkpoint to resume from ({reason}); start without resume") from error
    header = _HEADER.match(content)
    form = int(header["format"]) if header else 1 if _RANKERS_FORMAT_1.match(content) else None
    if form not in (None, FORMAT):
        version = header["version"] if header else None
        writer = f"dcglearn {version.decode()}" if version else "another version of dcglearn"
        raise InputError(
            f"{path} was written by {writer} (checkpoint format {form}; this version reads {FORMAT}): "
            "resume with that version, or remove the file and start again, without resume"
        )
    try:
        kept = json.loads(header["identity"] if header else b"")
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} is not a dcglearn checkpoint, or is damaged: start again, without resume") from error
    wanted = json.loads(json.dumps(identity))
    for name in {**wanted, **kept}:
        if kept.get(name) != wanted.get(name):
            raise InputError(
                f"{path} is the checkpoint of another training: its {name} is {kept.get(name)}, now it is "
                f"{wanted.get(name)}; give what it was made with, or start again, without resume"
            )
    parts, end = [], content.index(b"\n", content.index(b"\n") + 1) + 1
    while end + _PART.size <= len(content):
        length, checksum = _PART.unpack_from(content, end)
        part = content[end + _PART.size : end + _PART.size + length]
        if len(part) < length or zlib.crc32(part) != checksum:
            break
        parts.append(part)
        end += _PART.size + length
    return parts, end


def write_state(path: str | os.PathLike[str], identity: dict[str, Any], state: dict[str, Any]) -> None:
    """Write a checkpoint whose only part is a state, in JSON."""
    write_checkpoint(path, identity, json.dumps(state).encode())


def read_state(path: str | os.PathLike[str], identity: dict[str, Any]) -> dict[str, Any]:
    """Return the state that `write_state` wrote; see `read_checkpoint`."""
    parts, _ = read_checkpoint(path, identity)
    if not parts:
        raise InputError(f"{path} is damaged: its state is cut short; start again, without resume")
    state: dict[str, Any] = json.loads(parts[0])
    return state
