"""Expansion of paths, strict reading of bytes and JSON, and a look at the memory that is free."""

import glob
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from dcglearn.foundation.validation import Fields, InputError, PathLike, as_path

Paths: TypeAlias = PathLike | Sequence[PathLike]
"""A path, or several."""


def is_path(value: Any) -> bool:
    """Return whether a value is a path, or a list or tuple of paths."""
    paths = value if isinstance(value, (list, tuple)) and value else [value]
    return all(isinstance(path, (str, os.PathLike)) for path in paths)


def expand_paths(paths: Paths) -> list[str]:
    """Return the files that paths, folders and patterns name, in order, each once.

    Hidden files are left out unless a path is one, and ``-``, standard input, stays. Raise
    InputError if a path names no file.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    files: dict[str, str] = {}
    for path in (os.fspath(one) for one in several):
        # os.path answers False for names that are too long, where Path raises OSError
        if os.path.isdir(path):  # noqa: PTH112
            found = [str(match) for match in Path(path).rglob("*") if match.is_file()]
        elif path == "-" or os.path.exists(path):  # noqa: PTH110
            found = [path]
        else:
            found = glob.glob(path, recursive=True)  # noqa: PTH207
        shown = (one for one in found if not Path(one).name.startswith((".", "~$")))
        matches = found if found == [path] else sorted(shown)

        if not matches:
            raise InputError(
                f"{path} does not exist, is a folder without files, or a pattern of none; check "
                "the name"
            )
        for match in matches:
            # Path.resolve fails at a circle of links
            files.setdefault(os.path.realpath(match), match)
    return [*files.values()]


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file, or of a pipe; raise InputError if there is none."""
    file = as_path(path)
    try:
        kind = file.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise InputError(
                f"{path} is a folder or a device; name a file, or - for standard input"
            )
        return file.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the name") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def read_json_object(path: PathLike) -> Fields:
    """Return the JSON object in a file.

    Raise InputError for any other content, NaN, Infinity and repeated keys.
    """
    data = read_bytes(path)
    try:
        value = json.loads(
            data.decode(), parse_constant=refuse_constant, object_pairs_hook=keys_once
        )
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


def refuse_beyond_memory(needed: float, what: str, remedy: str) -> None:
    """Raise InputError, ending with `remedy`, if `what` needs more bytes than are free."""
    import psutil

    free = psutil.virtual_memory().available
    if needed > free:
        raise InputError(
            f"{what} needs {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free; "
            f"{remedy}"
        )
