"""Files that are written whole or not at all."""

import contextlib
import json
import logging
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
def written_beside(path: PathLike) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the name `path` only if the block succeeds.

    An error, a full disk, an interrupt or a kill leaves what was at `path` before; a kill leaves a
    hidden folder too. Links are followed, and a file that is replaced keeps its mode. Raise
    InputError if the folder does not exist or cannot be written, or `path` is no file.
    """
    refuse_unwritable(path)
    target = Path(path).resolve()
    try:
        with tempfile.TemporaryDirectory(prefix=MARK, dir=target.parent) as folder:
            temporary = Path(folder) / target.name
            yield temporary

            # once it is written, give it the target's name
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


def refuse_unwritable(path: PathLike, *, force: bool = True) -> None:
    """Raise InputError if an output is no file, has no folder, or exists without `force`.

    `ROOM` bytes are written beside it on trial.
    """
    target, is_there = as_path(path), False
    try:
        # what is there
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            is_there = bool(target.stat())
        if is_there and not target.is_file():
            raise InputError(f"{target} is a folder or a device; name a file")
        if not target.parent.is_dir():
            raise InputError(f"{target}: the folder {target.parent} does not exist; make it first")
        if is_there and not force:
            raise InputError(f"{target} exists; choose another name, or --force to replace it")

        # whether there is room
        with tempfile.TemporaryFile(dir=target.resolve().parent) as trial:
            trial.write(bytes(ROOM))
    except OSError as error:
        raise InputError(f"{path}: cannot write there ({error.strerror})") from error


def write_json(path: PathLike, value: Fields) -> None:
    """Write a JSON object, a line a key, beside `path` and rename it into place."""
    lines = [
        f" {json.dumps(key)}: {json.dumps(item, allow_nan=False)}" for key, item in value.items()
    ]
    write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


def write_whole(path: PathLike, text: str) -> None:
    """Write a text to a file in UTF-8, whole or not at all."""
    with written_beside(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
