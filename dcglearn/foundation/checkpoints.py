"""Checkpoint files: the identity of a training, then its state in parts, each with a checksum.

The first line names the format and the version of dcglearn, the second holds the SHA-256 and the
text of the identity, in JSON. Each part follows its length and the SHA-256 of length and part, so
that a part cut short or changed is noticed, as after a kill in the middle of writing, and zeros are
no part.
"""

import hashlib
import io
import json
import re
import struct
from typing import Any

import numpy as np

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.validation import Fields, InputError, PathLike, as_path
from dcglearn.foundation.version import __version__

FORMAT = 1
"""Version of the format and of the parts' fields."""

_LENGTH = struct.Struct("<Q")


def write_checkpoint(path: PathLike, identity: Fields, *parts: bytes) -> int:
    """Write a checkpoint whole or not at all; return its size in bytes."""
    text = json.dumps(identity, sort_keys=True).encode()
    lines = (
        f"dcglearn checkpoint {FORMAT} of dcglearn {__version__}",
        f"{hashlib.sha256(text).hexdigest()} ",
    )
    with written_beside(path) as beside:
        return beside.write_bytes(
            "\n".join(lines).encode() + text + b"\n" + b"".join(map(framed, parts))
        )


def framed(part: bytes) -> bytes:
    """Return a part as the file holds it."""
    length = _LENGTH.pack(len(part))
    return length + hashlib.sha256(length + part).digest() + part


def read_checkpoint(path: PathLike, identity: Fields) -> tuple[list[bytes], int]:
    """Return a checkpoint's whole parts and the size up to their end.

    Raise InputError if it is the checkpoint of another training.
    """
    kept, content, end = _opened(path)
    wanted = json.loads(json.dumps(identity))
    for name in {**wanted, **kept}:
        if kept.get(name) != wanted.get(name):
            raise InputError(
                f"{path} is the checkpoint of another training: its {name} is {kept.get(name)}, "
                f"now it is {wanted.get(name)}; give what it was made with, or start again, "
                "without resume",
                see="checkpoints",
            )
    return _whole_parts(content, end)


def is_checkpoint(path: PathLike) -> bool:
    """Return whether a file is a checkpoint, by its suffix or its first words."""
    file = as_path(path)
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return file.suffix == ".checkpoint" or opened.read(20) == b"dcglearn checkpoint "


def inspect_checkpoint(path: PathLike) -> Fields:
    """Return a checkpoint's training, its number of whole parts, and the bytes behind them."""
    kept, content, start = _opened(path)
    parts, end = _whole_parts(content, start)
    return {
        "training": kept,
        "whole parts": len(parts),
        "bytes that a resumed training drops": len(content) - end,
    }


def _opened(path: PathLike) -> tuple[Fields, bytes, int]:
    """Return a checkpoint's identity, its content, and where its parts begin."""
    try:
        content = as_path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: no checkpoint to resume from ({error.strerror}); start without resume"
        ) from error

    # first line: format and version
    writer = re.match(rb"dcglearn checkpoint (\d{1,6}) of (dcglearn [!-~]{1,40})\n", content)
    if writer and int(writer[1]) != FORMAT:
        raise InputError(
            f"{path} was written by {writer[2].decode()} (checkpoint format {int(writer[1])}; this "
            f"version reads {FORMAT}): resume with that version, or remove the file and start "
            "again, without resume"
        )

    # second line: identity and its checksum
    line = re.compile(rb"([0-9a-f]{64}) (.*)\n")
    identity = line.match(content, writer.end()) if writer else None
    if identity is None or hashlib.sha256(identity[2]).hexdigest().encode() != identity[1]:
        raise InputError(
            f"{path} is not a dcglearn checkpoint, or damaged: start again, without resume",
            see="damaged",
        )
    return json.loads(identity[2]), content, identity.end()


def _whole_parts(content: bytes, end: int) -> tuple[list[bytes], int]:
    """Return the whole parts from `end` on, up to the first cut short or changed, and their end."""
    parts = []
    head = _LENGTH.size + hashlib.sha256().digest_size
    while end + head <= len(content):
        (length,) = _LENGTH.unpack_from(content, end)
        part = content[end + head : end + head + length]
        if framed(part) != content[end : end + head + length]:
            break
        parts.append(part)
        end += head + length
    return parts, end


def packed(**arrays: Any) -> bytes:
    """Return arrays and numbers as the bytes of an npz."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpacked(content: bytes) -> Fields:
    """Return the arrays and numbers that `packed` wrote, by name; nothing is unpickled."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        values = {name: arrays[name] for name in arrays.files}
    return {name: value if value.ndim else float(value) for name, value in values.items()}


def fingerprint_of(*arrays: Any) -> str:
    """Return a digest of the bytes of arrays, numbers and texts."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
