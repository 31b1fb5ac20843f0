"""The memory that is left to this process, and refusals of what would not fit, before it is asked for."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from dcglearn.foundation.validation import InputError

CGROUP = Path("/sys/fs/cgroup")
"""Where Linux keeps the limits of a container."""


def available() -> int:
    """Return the bytes that can still be taken: free memory, or what a container's or the process's limit leaves."""
    import psutil

    return max(0, min([psutil.virtual_memory().available, *_limits()]))


def _limits() -> list[int]:
    """Return what is left of the limits of the container (cgroup v2, v1) and of the address space."""
    left = []
    old = "memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"
    for limit, used in (("memory.max", "memory.current"), old):
        with contextlib.suppress(OSError, ValueError):  # no container, or "max"
            left.append(int((CGROUP / limit).read_text()) - int((CGROUP / used).read_text()))
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
        raise InputError(f"{what} needs {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free; {remedy}")
