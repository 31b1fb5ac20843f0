"""Files that are written whole or not at all."""

import contextlib
import json
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dcglearn.foundation import disk
from dcglearn.foundation.validation import Fields, InputError, PathLike, as_path

_LOG = logging.getLogger(__name__)

ROOM = 1 << 16
"""Bytes that must fit beside an output before work begins."""


@contextlib.contextmanager
def written_beside(path: PathLike, *, force: bool = True) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the name `path` only if the block succeeds.

    An error, a full disk, an interrupt or a kill leaves what was at `path` before; a kill leaves a
    hidden file too, which the next writer of `path` removes. Links are followed, and a file that is
    replaced keeps its mode and, where the system allows, its owner. A device or a pipe is written
    to when the block has succeeded. Raise InputError if the folder does not exist or cannot be
    written, or `path` exists and `force` is false.
    """
    refuse_existing(path, force=force)
    if written_through(path):
        with _through(Path(path)) as temporary:
            yield temporary
        return

    target = Path(path).resolve()
    with contextlib.ExitStack() as closing:
        # a file beside the target
        try:
            temporary = closing.enter_context(disk.unfinished(target))
        except OSError as error:
            raise InputError(f"{path}: cannot write there ({error.strerror})") from error

        # once it is written, give it the target's name
        try:
            yield temporary
            _set_mode(temporary, target)
            disk.synced(temporary)
            disk.renamed(temporary, target)
        except OSError as error:
            raise InputError(
                f"{path}: not written ({error.strerror or error}); nothing was changed"
            ) from error
        except Exception as error:
            # errors of the disk are no OSError in polars
            if type(error).__module__.split(".")[0] != "polars":
                raise
            raise InputError(f"{path}: not written ({error}); nothing was changed") from error
        disk.entered(target.parent)
    _LOG.info("wrote %s", path)


def written_through(path: PathLike) -> bool:
    """Return whether a path is written to as it is: a device, a pipe, or /dev/stdout."""
    if os.path.abspath(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):  # noqa: PTH100
        return True
    # os.path answers False for names that no file can have, where Path raises OSError
    plain = os.path.isfile(path) or os.path.isdir(path)  # noqa: PTH112, PTH113
    return os.path.exists(path) and not plain  # noqa: PTH110


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
    """Give a new file the mode and owner of the file it replaces, or the usual mode."""
    try:
        before = target.stat()
    except FileNotFoundError:
        # the mask can only be read by setting it
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        return

    temporary.chmod(stat.S_IMODE(before.st_mode))
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(temporary, before.st_uid, before.st_gid)


def refuse_existing(path: PathLike, *, force: bool) -> None:
    """Raise InputError if an output path is a folder, has no folder, or exists without `force`."""
    # whether anything can be there
    target = as_path(path)
    try:
        target.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise InputError(f"{path}: cannot write there ({error.strerror})") from error

    # what is there
    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; make it first")
    if target.is_file() and not force and not written_through(target):
        raise InputError(f"{target} exists; choose another name, or --force to replace it")


def refuse_unwritable(path: PathLike, *, force: bool) -> None:
    """Raise InputError if a trial of writing `ROOM` bytes to `path` fails."""
    refuse_existing(path, force=force)
    if not written_through(path):
        try_to_write(Path(path).resolve(), path)


def try_to_write(target: Path, path: PathLike) -> None:
    """Write and remove `ROOM` bytes beside `target`; raise InputError about `path` if it fails."""
    try:
        with disk.unfinished(target) as temporary:
            temporary.write_bytes(bytes(ROOM))
    except OSError as error:
        raise InputError(f"{path}: cannot write there ({error.strerror})") from error


def write_json(path: PathLike, value: Fields, *, force: bool = True) -> None:
    """Write a JSON object, a line a key, beside `path` and rename it into place."""
    text = json_text(value)
    with written_beside(path, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8")


def json_text(value: Fields) -> str:
    """Return a JSON object as text, a line a key."""
    lines = (
        f" {json.dumps(key)}: {json.dumps(item, allow_nan=False)}" for key, item in value.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"
