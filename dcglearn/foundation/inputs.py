"""Expansion of paths, and strict reading of bytes and JSON within the memory that is free."""

import contextlib
import glob
import json
import os
import select
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from dcglearn.foundation.validation import Fields, InputError, PathLike, as_path

Paths: TypeAlias = PathLike | Sequence[PathLike]
"""A path, or several."""

PIPE_WAIT = 60.0
"""Longest wait for a program that writes to a named pipe, in seconds."""

CGROUP = Path("/sys/fs/cgroup")
"""Folder in which Linux keeps the limits of a container."""


def is_path(value: Any) -> bool:
    """Return whether a value is a path, or a list or tuple of paths."""
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(path, (str, os.PathLike)) for path in value)
    return isinstance(value, (str, os.PathLike))


def expand_paths(paths: Paths, inside: str) -> list[str]:
    """Return the files that paths, folders (of files `inside`) and patterns name, in order.

    Raise InputError if one of them names no file.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    named = [os.fspath(path) for path in several]
    if not named:
        raise InputError(f"no file is named; name files, or a folder with files {inside}")

    files: list[str] = []
    for path in named:
        # os.path answers False for names that are too long, where Path raises OSError
        if os.path.isdir(path):  # noqa: PTH112
            matches = sorted(str(match) for match in Path(path).glob(inside) if match.is_file())
            problem = f"{path} is a folder, and no file in it matches {inside}"
        elif os.path.exists(path):  # noqa: PTH110
            matches = [path]
        else:
            matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207
            problem = f"{path} does not exist, and no file matches it as a pattern"

        if not matches:
            raise InputError(f"{problem}; check the name")
        files += matches

    # a file named twice counts once
    return list(dict.fromkeys(files))


def most_bytes() -> int:
    """Return the most bytes to read into memory: half of what is free, since they are parsed."""
    return available() // 2


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file, or of a pipe that a program writes to.

    Raise InputError if there are more than `most_bytes`, or it is neither.
    """
    file = as_path(path)
    try:
        about = file.stat()
        if stat.S_ISFIFO(about.st_mode):
            return _from_pipe(file)
        _refuse_no_file(path, about)
        return file.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the name") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _refuse_no_file(path: PathLike, about: os.stat_result) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise InputError(f"{path} is a folder; name a file in it")
    if not stat.S_ISREG(about.st_mode):
        raise InputError(
            f"{path} is a device, not a file or a pipe; name a file, or - for standard input"
        )
    if about.st_size > 1 << 24:
        _refuse_longer(about.st_size, most_bytes(), str(path))


def read_within(stream: BinaryIO, name: str) -> bytes:
    """Return all bytes of a stream; raise InputError beyond `most_bytes`."""
    most = most_bytes()
    read = bytearray()
    while part := stream.read(1 << 20):
        read += part
        _refuse_longer(len(read), most, name)
    return bytes(read)


def _refuse_longer(size: int, most: int, name: str) -> None:
    if size > most:
        raise InputError(
            f"{name}: more than {most / 1e9:,.1f} GB, half of the memory that is free; split it, "
            "or count equal lines of a log first"
        )


def _from_pipe(path: PathLike) -> bytes:
    if sys.platform == "win32":
        raise InputError(f"{path}: not a file")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        if not select.select([pipe], [], [], PIPE_WAIT)[0]:
            raise InputError(
                f"{path}: no program wrote to this pipe in {PIPE_WAIT:g} seconds; start the writer "
                "first"
            )
        os.set_blocking(pipe.fileno(), True)
        return read_within(pipe, str(path))


def read_json_object(path: PathLike) -> Fields:
    """Return the JSON object in a file.

    Raise InputError for any other content, NaN, Infinity and repeated keys.
    """
    # decode
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text (byte {error.start}); is it a dcglearn JSON file?"
        ) from error

    # parse strictly
    try:
        value = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not valid JSON ({error}); the file is damaged or of another kind"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: holds a JSON {type(value).__name__}, expected an object")
    return value


def refuse_constant(name: str) -> float:
    """Raise ValueError for NaN and Infinity: the ``parse_constant`` of `json.loads`."""
    raise ValueError(f"{name} is not a number that JSON allows")


def keys_once(pairs: list[tuple[str, Any]]) -> Fields:
    """Return an object of JSON; raise InputError if a key occurs twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"the key {twice!r} occurs twice; keep one")
    return fields


def available() -> int:
    """Return the bytes that can still be taken: the least of free memory and what limits leave."""
    import psutil

    return max(0, min([psutil.virtual_memory().available, *_limits()]))


def _limits() -> list[int]:
    """Return what the limits of the container and of the address space leave."""
    left = []

    # cgroup v2, and v1
    names = (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    )
    for limit, used in names:
        with contextlib.suppress(OSError, ValueError):  # no container, or "max"
            left.append(int((CGROUP / limit).read_text()) - int((CGROUP / used).read_text()))

    # ulimit -v
    if sys.platform != "win32":
        import resource

        import psutil

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            left.append(soft - psutil.Process().memory_info().vms)
    return left


def refuse_beyond_memory(needed: float, what: str, remedy: str) -> None:
    """Raise InputError, ending with `remedy`, if `what` needs more bytes than are left."""
    if needed < 1 << 24:
        return
    free = available()
    if needed > free:
        raise InputError(
            f"{what} needs {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free; "
            f"{remedy}"
        )
