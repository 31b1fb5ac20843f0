"""Work in a fixed number of parts, shared by threads: no result depends on their number."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")

CHUNK = 1 << 15
"""Pairs of a chunk, up to `MAX_CHUNKS` chunks."""

MAX_CHUNKS = 16
"""Largest number of chunks of one sum, and of threads."""

_LIMIT = threading.local()


@contextlib.contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """Limit the pools that are started in this thread to `n_threads` threads."""
    before = getattr(_LIMIT, "most", MAX_CHUNKS)
    _LIMIT.most = min(before, n_threads)
    try:
        yield
    finally:
        _LIMIT.most = before


def threads() -> int:
    """Return how many threads to use: one per processor of this process, at most `MAX_CHUNKS`."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n, getattr(_LIMIT, "most", MAX_CHUNKS))


def free_threads() -> int:
    """Return how many threads an OpenMP library should use: one per free processor, at least one.

    ``OMP_NUM_THREADS``, if set, is returned. Otherwise affinity and the limits of a container
    count, and processors that others keep busy are left out: threads that wait actively lose time
    as soon as one shares its processor.
    """
    chosen = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)

    # processors that this process may use
    from joblib import cpu_count

    allowed = int(cpu_count())
    if allowed == 1:
        return 1

    # less those that others keep busy
    import psutil

    total = psutil.cpu_count() or allowed
    busy = psutil.cpu_percent(interval=0.1) / 100 * total
    return max(1, min(allowed, round(total - busy)))


def bounds(n: int, n_chunks: int) -> list[int]:
    """Return the n_chunks + 1 ends of equal parts of ``range(n)``."""
    return [n * i // n_chunks for i in range(n_chunks + 1)]


def in_chunks(part: Callable[[int, int, int], Result], n: int, n_chunks: int) -> list[Result]:
    """Return ``part(i, start, stop)`` of each of the `n_chunks` parts of ``range(n)``, in order."""
    ends = bounds(n, n_chunks)
    if n_chunks == 1 or threads() == 1:
        return [part(i, ends[i], ends[i + 1]) for i in range(n_chunks)]
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(part, range(n_chunks), ends[:-1], ends[1:]))


def over_chunks(part: Callable[[int, int], Result], n: int) -> list[Result]:
    """Return ``part(start, stop)`` of n > 0 pairs in chunks that depend on n alone, in order."""
    return in_chunks(lambda _, start, stop: part(start, stop), n, min(MAX_CHUNKS, -(-n // CHUNK)))


def one_blas_thread() -> Any:
    """Return a context in which BLAS uses one thread: its own keep spinning and slow the pool."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
