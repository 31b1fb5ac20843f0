"""Files that are written whole or not at all."""

import contextlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dcglearn.foundation.validation import Fields, InputError, PathLike, as_path

_LOG = logging.getLogger(__name__)

ROOM = 1 << 16
"""Bytes that must fit beside an output before work begins."""

MARK = ".dcglearn-"
"""Beginning of the names of folders in which files are being written."""


@contextlib.contextmanager
def written_beside(path: PathLike, *, force: bool = True) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the name `path` only if the block succeeds.

    An error, a full disk, an interrupt or a kill leaves what was at `path` before; a kill leaves a
    hidden folder too. Links are followed, and a file that is replaced keeps its mode. A device or a
    pipe is written to when the block has succeeded. Raise InputError if the folder does not exist
    or cannot be written, or `path` exists and `force` is false.
    """
    refuse_unwritable(path, force=force)
    through = written_through(path)
    target = Path(path) if through else Path(path).resolve()
    beside = None if through else target.parent
    try:
        with tempfile.TemporaryDirectory(prefix=MARK, dir=beside) as folder:
            temporary = Path(folder) / target.name
            yield temporary

            # once it is written, give it the target's name
            if through:
                with temporary.open("rb") as source, open(os.open(path, os.O_WRONLY), "wb") as to:  # noqa: PTH123
                    shutil.copyfileobj(source, to)
            else:
                if target.exists():
                    shutil.copymode(target, temporary)
                temporary.replace(target)

    except Exception as error:
        # errors of the disk are no OSError in polars
        if not isinstance(error, OSError) and not type(error).__module__.startswith("polars"):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: not written ({reason}); nothing was changed") from error
    _LOG.info("wrote %s", path)


def written_through(path: PathLike) -> bool:
    """Return whether a path is written to as it is: a device, a pipe, or /dev/stdout."""
    if os.path.abspath(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):  # noqa: PTH100
        return True
    # os.path answers False for names that no file can have, where Path raises OSError
    plain = os.path.isfile(path) or os.path.isdir(path)  # noqa: PTH112, PTH113
    return os.path.exists(path) and not plain  # noqa: PTH110


def refuse_unwritable(path: PathLike, *, force: bool) -> None:
    """Raise InputError if an output is a folder, has no folder, or exists without `force`.

    `ROOM` bytes are written beside it on trial.
    """
    # whether anything can be there
    target = as_path(path)
    through = written_through(target)
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
    if through:
        return
    if target.is_file() and not force:
        raise InputError(f"{target} exists; choose another name, or --force to replace it")

    # whether there is room
    try:
        with tempfile.TemporaryFile(dir=target.resolve().parent) as trial:
            trial.write(bytes(ROOM))
    except OSError as error:
        raise InputError(f"{path}: cannot write there ({error.strerror})") from error


def write_json(path: PathLike, value: Fields, *, force: bool = True) -> None:
    """Write a JSON object, a line a key, beside `path` and rename it into place."""
    lines = [
        f" {json.dumps(key)}: {json.dumps(item, allow_nan=False)}" for key, item in value.items()
    ]
    with written_beside(path, force=force) as temporary:
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
