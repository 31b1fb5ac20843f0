"""The steps by which an output reaches the disk, one function each.

All files that dcglearn writes go through these functions. Callers use ``disk.renamed``, so that
the tests can wrap them and stop the program at each.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


MARK = ".dcglearn-"
"""Beginning of the names of files that are still being written."""

_RENAMES_OPEN_FILES = sys.platform != "win32"
"""True if open files can be renamed: then an unfinished file stays locked until its renaming."""


def lock(handle: int) -> None:
    """Lock an open file until it is closed or its process ends.

    Raise OSError if another process holds its lock.
    """
    if sys.platform == "win32":
        # a byte beyond any content is locked, since others may not read it
        before = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, (1 << 31) - 2, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, before, os.SEEK_SET)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """Yield a new empty file beside `target`, and remove it afterwards if it still has its name.

    The file is locked meanwhile. Files that other processes left there when they were killed are
    not: they are removed before. On Windows an open file cannot be renamed, so nothing is locked
    there, and leftovers stay.
    """
    # remove what killed processes left
    tail = target.name[-40:]
    for entry in os.scandir(target.parent):
        if entry.name.startswith(MARK) and entry.name.endswith(f".{tail}"):
            remove_leftover(Path(entry.path))

    # make the file and lock it
    handle, name = tempfile.mkstemp(prefix=MARK, suffix=f".{tail}", dir=target.parent)
    temporary = Path(name)
    try:
        if _RENAMES_OPEN_FILES:
            with contextlib.suppress(OSError):  # some network disks have no locks
                lock(handle)
        else:
            os.close(handle)
        yield temporary

    # a finished one has another name by now
    finally:
        if _RENAMES_OPEN_FILES:
            os.close(handle)
        temporary.unlink(missing_ok=True)


def remove_leftover(path: Path) -> None:
    """Remove an unfinished file unless a living process writes to it."""
    if not _RENAMES_OPEN_FILES:
        return
    with contextlib.suppress(OSError):  # another process was quicker, or may not write here
        handle = os.open(path, os.O_RDONLY)
        try:
            lock(handle)
            removed(path)
        finally:
            os.close(handle)


def synced(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def renamed(source: Path, target: Path) -> None:
    """Give a file its final name, and replace what has this name."""
    source.replace(target)


def entered(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can say so."""
    with contextlib.suppress(OSError):
        synced(folder)


def removed(path: Path) -> None:
    """Remove a file, if it is there."""
    path.unlink(missing_ok=True)


def made(folder: Path) -> None:
    """Make a folder unless it is there."""
    folder.mkdir(exist_ok=True)
