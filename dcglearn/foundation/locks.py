"""Locks of open files, which end when the file is closed or its process ends, in any way."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = (1 << 31) - 2
"""Position of the byte that is locked on Windows, where others may not read what is locked: beyond any content."""


def lock(handle: int) -> None:
    """Lock an open file; raise OSError if another process holds its lock, or the disk has no locks."""
    if sys.platform == "win32":
        before = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, before, os.SEEK_SET)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
