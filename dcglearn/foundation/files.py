"""Files that are written whole or not at all, paths that are expanded, and JSON that is read strictly."""

from __future__ import annotations

import contextlib
import glob
import json
import logging
import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from dcglearn.foundation import disk
from dcglearn.foundation.memory import available
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_LOG = logging.getLogger(__name__)

ROOM = 1 << 16
"""Bytes that must fit beside an output before work begins."""


PIPE_WAIT = 60.0
"""Longest wait for a program that writes to a named pipe, in seconds."""


@contextlib.contextmanager
def written_beside(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the name `path` only if the block succeeds.

    An error, a full disk, an interrupt or a kill leaves what was at `path` before; a kill leaves a hidden file too,
    which the next writer of `path` removes. Links are followed, and a file that is replaced keeps its mode and, where
    the system allows, its owner. A device or a pipe is written to when the block has succeeded. Raise InputError if
    the folder does not exist or cannot be written, or `path` exists and `force` is false.
    """
    refuse_existing(path, force=force)
    if written_through(path):
        with _through(Path(path)) as temporary:
            yield temporary
        return
    target = Path(path).resolve()
    with contextlib.ExitStack() as closing:
        try:
            temporary = closing.enter_context(disk.unfinished(target))
        except OSError as error:
            raise InputError(f"{path}: cannot write there ({error.strerror})") from error
        try:
            yield temporary
            _set_mode(temporary, target)
            disk.synced(temporary)
            disk.renamed(temporary, target)
        except OSError as error:
            raise InputError(f"{path}: not written ({error.strerror or error}); nothing was changed") from error
        except Exception as error:
            if type(error).__module__.split(".")[0] != "polars":  # whose errors of the disk are no OSError
                raise
            raise InputError(f"{path}: not written ({error}); nothing was changed") from error
        disk.entered(target.parent)
    _LOG.info("wrote %s", path)


def written_through(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is written to as it is: a device, a pipe, or the name of an open file (/dev/stdout)."""
    if os.path.abspath(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):  # noqa: PTH100
        return True
    target = Path(path)
    return target.exists() and not target.is_file() and not target.is_dir()


@contextlib.contextmanager
def _through(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / path.name
        try:
            temporary.touch()
            yield temporary
            with temporary.open("rb") as source, open(os.open(path, os.O_WRONLY), "wb") as target:  # noqa: PTH123
                shutil.copyfileobj(source, target)
        except OSError as error:
            raise InputError(f"{path}: not written ({error.strerror or error})") from error


def _set_mode(temporary: Path, target: Path) -> None:
    """Give a new file the mode and owner of the file that it replaces, or the mode of any new file."""
    try:
        before = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)  # to read the mask is to set it
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        return
    temporary.chmod(stat.S_IMODE(before.st_mode))
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(temporary, before.st_uid, before.st_gid)


def refuse_existing(path: str | os.PathLike[str], *, force: bool) -> None:
    """Raise InputError if an output path is a folder, has no folder, or is a file and `force` is false."""
    target = Path(path)
    try:
        target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise InputError(f"{path}: cannot write there ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} cannot be the name of a file ({error})") from error
    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; make it first")
    if target.is_file() and not force and not written_through(target):
        raise InputError(f"{target} exists; choose another name, or --force to replace it")


def refuse_unwritable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Raise InputError if `ROOM` bytes, written and removed as a trial, cannot be written to `path`."""
    refuse_existing(path, force=force)
    if not written_through(path):
        _try_to_write(Path(path).resolve(), path)


def refuse_unwritable_folder(folder: Path) -> None:
    """Raise InputError if a file cannot be written into a folder that exists, or has no room there."""
    _try_to_write(folder / "file", folder)


def _try_to_write(target: Path, path: str | os.PathLike[str]) -> None:
    try:
        with disk.unfinished(target) as temporary:
            temporary.write_bytes(bytes(ROOM))
    except OSError as error:
        raise InputError(f"{path}: cannot write there ({error.strerror})") from error


def refuse_overwriting(outputs: Iterable[str | os.PathLike[str]], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise InputError if an output is a file that the inputs (files, folders of Parquet, patterns) name."""
    existing = [path for path in outputs if not written_through(path) and os.path.isfile(path)]  # noqa: PTH113
    if not existing:
        return
    read: list[str] = []
    for name in inputs:
        with contextlib.suppress(InputError):  # the name of a metric, or standard input
            read += expand_paths(name, "**/*.parquet")
    for output in existing:
        if any(Path(output).samefile(file) for file in read):
            raise InputError(f"{output} is an input of this command; name another file for the result")


def is_path(value: Any) -> bool:
    """Return whether a value is a path, or a list or tuple of paths."""
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(path, (str, os.PathLike)) for path in value)
    return isinstance(value, (str, os.PathLike))


def expand_paths(paths: Paths, inside: str) -> list[str]:
    """Return the files that a path, a folder, a pattern or several of these name, in order, each once.

    `inside` is the pattern of the files to take from a folder. Raise InputError if there is no path, one does not
    exist, or no file of a folder matches.
    """
    named = [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    if not named:
        raise InputError(f"no file is named; name files, or a folder with files {inside}")
    files: list[str] = []
    for path in named:
        # os.path answers False for names that are too long, where Path raises OSError.
        if os.path.isdir(path):  # noqa: PTH112
            matches = sorted(str(match) for match in Path(path).glob(inside) if match.is_file())
            if not matches:
                raise InputError(f"{path} is a folder, and no file in it matches {inside}; check the name")
        else:
            matches = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))  # noqa: PTH110, PTH207
            if not matches:
                raise InputError(f"{path} does not exist, and no file matches it as a pattern; check the name")
        files += matches
    return list(dict.fromkeys(files))


def most_bytes() -> int:
    """Return the most bytes of a file that are read into memory: half of what is free, since they are then parsed."""
    return available() // 2


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file of up to `most_bytes` or of a pipe that a program writes to; else raise InputError."""
    try:
        about = Path(path).stat()
        if stat.S_ISFIFO(about.st_mode):
            return _from_pipe(path)
        _refuse_no_file(path, about)
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the name") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)!r} cannot be the name of a file ({error})") from error


def _refuse_no_file(path: str | os.PathLike[str], about: os.stat_result) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise InputError(f"{path} is a folder; name a file in it")
    if not stat.S_ISREG(about.st_mode):
        raise InputError(f"{path} is a device, not a file or a pipe; name a file, or - for standard input")
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
            f"{name}: more than {most / 1e9:,.1f} GB, half of the memory that is free; split it, or store a log as "
            "Parquet and learn with --memory (memory=)",
            see="memory-error",
        )


def _from_pipe(path: str | os.PathLike[str]) -> bytes:
    if sys.platform == "win32":
        raise InputError(f"{path}: not a file")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        if not select.select([pipe], [], [], PIPE_WAIT)[0]:
            raise InputError(f"{path}: no program wrote to this pipe in {PIPE_WAIT:g} seconds; start the writer first")
        os.set_blocking(pipe.fileno(), True)
        return read_within(pipe, str(path))


def read_json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON object in a file; InputError for any other content, NaN, Infinity and repeated keys."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); is it a dcglearn JSON file?") from error
    try:
        value = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON ({error}); the file is damaged or of another kind") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: holds a JSON {type(value).__name__}, expected an object")
    return value


def write_json(path: str | os.PathLike[str], value: dict[str, Any], *, force: bool = True) -> None:
    """Write a JSON object, a line a key, beside `path` and rename it into place."""
    lines = [f" {json.dumps(key)}: {json.dumps(item, allow_nan=False)}" for key, item in value.items()]
    with written_beside(path, force=force) as temporary:
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def refuse_constant(name: str) -> float:
    """Raise ValueError for NaN and Infinity, which JSON does not have (``parse_constant`` of `json.loads`)."""
    raise ValueError(f"{name} is not a number that JSON allows")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value
