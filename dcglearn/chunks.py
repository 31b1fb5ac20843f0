"""Sums over a log by a pool of threads, in chunks that depend on the number of pairs alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    Part = TypeVar("Part")

CHUNK = 1 << 15
MAX_CHUNKS = 16
"""Chunks depend on the number of pairs alone, so that no result depends on the number of threads."""


def over_chunks(part: Callable[[int, int], Part], n: int) -> list[Part]:
    """Return ``part(start, stop)`` of every chunk of n > 0 pairs, in order."""
    n_chunks = min(MAX_CHUNKS, -(-n // CHUNK))
    bounds = [n * i // n_chunks for i in range(n_chunks + 1)]
    if n_chunks == 1:
        return [part(0, n)]
    with ThreadPoolExecutor(_threads()) as pool:
        return list(pool.map(part, bounds[:-1], bounds[1:]))


def _threads() -> int:
    return min(MAX_CHUNKS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
