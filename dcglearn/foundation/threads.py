"""Work in a fixed number of parts, shared by threads: no result depends on their number."""

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache, reduce
from operator import add
from typing import Any, TypeVar

Result = TypeVar("Result")

CHUNK = 1 << 15
"""Pairs of a chunk, up to `MAX_CHUNKS` chunks."""

MAX_CHUNKS = 16
"""Largest number of chunks of one sum, and of threads."""

_LIMIT: ContextVar[int] = ContextVar("limit", default=MAX_CHUNKS)


@contextlib.contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """Limit the pools that are started in this thread to `n_threads` threads."""
    token = _LIMIT.set(min(_LIMIT.get(), n_threads))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def threads() -> int:
    """Return how many threads to use: one per processor of this process, at most `MAX_CHUNKS`."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n, _LIMIT.get())


def in_chunks(part: Callable[[int, int, int], Result], n: int, n_chunks: int) -> list[Result]:
    """Return ``part(i, start, stop)`` of each of the `n_chunks` parts of ``range(n)``, in order."""
    ends = [n * i // n_chunks for i in range(n_chunks + 1)]
    if n_chunks == 1 or threads() == 1:
        return [part(i, ends[i], ends[i + 1]) for i in range(n_chunks)]
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(part, range(n_chunks), ends[:-1], ends[1:]))


def sum_over_chunks(part: Callable[[int, int], Result], n: int) -> Result:
    """Return the sum of ``part(start, stop)`` over n pairs, in chunks that depend on n alone."""
    n_chunks = max(1, min(MAX_CHUNKS, -(-n // CHUNK)))
    return reduce(add, in_chunks(lambda _, start, stop: part(start, stop), n, n_chunks))


def one_blas_thread() -> Any:
    """Return a context in which BLAS uses one thread: its own keep spinning and slow the pool."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
