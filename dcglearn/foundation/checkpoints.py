"""Checkpoint files: the identity of a training, then its state in parts, each with a checksum.

The first line names the format and the version of dcglearn, the second holds the SHA-256 and the text of the identity,
in JSON. Each part follows its length and the SHA-256 of length and part, so that a part cut short or changed is
noticed, as after a kill in the middle of writing, and zeros are no part.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__

if TYPE_CHECKING:
    import os

FORMAT = 3
"""Version of the format and of the parts' fields. Format 2 had CRC-32; in format 1, rankers wrote npz and JSON."""

_LENGTH = struct.Struct("<Q")
_CHECKSUM = hashlib.sha256().digest_size
_HEADER = re.compile(
    rb"dcglearn checkpoint (?P<format>\d{1,6})(?: of dcglearn (?P<version>[!-~]{1,40}))?\n"
    rb"(?:(?P<checksum>[0-9a-f]{64}) (?P<identity>.*)\n)?"
)
_RANKERS_FORMAT_1 = re.compile(rb'PK\x03\x04.{26}v\.npy|\{"format": "dcglearn\.checkpoint"', re.DOTALL)


def write_checkpoint(path: str | os.PathLike[str], identity: dict[str, Any], *parts: bytes) -> int:
    """Write a checkpoint whole or not at all; return its size in bytes."""
    text = json.dumps(identity, sort_keys=True).encode()
    lines = (f"dcglearn checkpoint {FORMAT} of dcglearn {__version__}", f"{hashlib.sha256(text).hexdigest()} ")
    with written_beside(path) as beside:
        return beside.write_bytes("\n".join(lines).encode() + text + b"\n" + b"".join(map(framed, parts)))


def framed(part: bytes) -> bytes:
    """Return a part as the file holds it."""
    length = _LENGTH.pack(len(part))
    return length + hashlib.sha256(length + part).digest() + part


def read_checkpoint(path: str | os.PathLike[str], identity: dict[str, Any]) -> tuple[list[bytes], int]:
    """Return the whole parts of a checkpoint, and the size of the file up to the end of the last.

    Raise InputError if there is no checkpoint at `path`, or it is of another format or another training.
    """
    kept, content, end = _opened(path)
    wanted = json.loads(json.dumps(identity))
    for name in {**wanted, **kept}:
        if kept.get(name) != wanted.get(name):
            raise InputError(
                f"{path} is the checkpoint of another training: its {name} is {kept.get(name)}, now it is "
                f"{wanted.get(name)}; give what it was made with, or start again, without resume",
                see="checkpoints",
            )
    return _whole_parts(content, end)


def inspect_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a checkpoint holds: its training, the number of whole parts, and the bytes behind them."""
    kept, content, start = _opened(path)
    parts, end = _whole_parts(content, start)
    return {"training": kept, "whole parts": len(parts), "bytes that a resumed training drops": len(content) - end}


def _opened(path: str | os.PathLike[str]) -> tuple[dict[str, Any], bytes, int]:
    """Return the identity of a checkpoint, its content, and where the parts begin; see `read_checkpoint`."""
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
    text = header["identity"] if header else None
    if header is None or text is None or hashlib.sha256(text).hexdigest().encode() != header["checksum"]:
        raise InputError(
            f"{path} is not a dcglearn checkpoint, or is damaged: start again, without resume", see="damaged"
        )
    return json.loads(text), content, header.end()


def _whole_parts(content: bytes, end: int) -> tuple[list[bytes], int]:
    """Return the parts from `end` on, up to the first that is cut short or changed, and the end of the last of them."""
    parts = []
    head = _LENGTH.size + _CHECKSUM
    while end + head <= len(content):
        (length,) = _LENGTH.unpack_from(content, end)
        part = content[end + head : end + head + length]
        if framed(part) != content[end : end + head + length]:
            break
        parts.append(part)
        end += head + length
    return parts, end


def write_state(path: str | os.PathLike[str], identity: dict[str, Any], state: dict[str, Any]) -> None:
    """Write a checkpoint whose only part is a state, in JSON."""
    write_checkpoint(path, identity, json.dumps(state).encode())


def read_state(path: str | os.PathLike[str], identity: dict[str, Any]) -> dict[str, Any]:
    """Return the state that `write_state` wrote; see `read_checkpoint`."""
    parts, _ = read_checkpoint(path, identity)
    if not parts:
        raise InputError(
            f"{path} is damaged: its state is cut short or changed; start again, without resume", see="damaged"
        )
    state: dict[str, Any] = json.loads(parts[0])
    return state
