"""Worker processes: a function applied to items in processes that end with their parent.

`concurrent.futures.ProcessPoolExecutor` does not serve here. A worker that is stopped while it
writes a result leaves the pool waiting for the rest of it, without end; and after a SIGKILL of the
parent its workers finish what they do, as joblib's do. Here each worker has a connection of its
own, closed at both ends when either process ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.connection import wait
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

SAFE_PATH = "PYTHONSAFEPATH"
"""Environment variable that keeps the working folder off a Python process's import path."""


def in_processes(
    function: Callable[[Any], Any], items: Iterable[Any], n: int, *, in_order: bool = True
) -> Generator[Any, None, None]:
    """Yield ``function(item)`` of every item, computed in `n` processes, in order or as done.

    Workers ignore interrupts; they are ended when the generator is closed (use
    `contextlib.closing`, so that an error in the caller's loop closes it at once), and end by
    themselves when this process dies. An exception of the function is raised here. Raise
    RuntimeError if a worker dies.
    """
    workers: dict[Any, SpawnProcess] = {}
    # a fork of a process whose threads hold locks hangs
    context = multiprocessing.get_context("spawn")
    try:
        # start the workers, each with its connection
        with _interrupts_later(), safe_import_paths():
            for _ in range(n):
                here, there = context.Pipe()
                process = context.Process(target=_work, args=(there,), daemon=True)
                process.start()
                workers[here] = process
                there.close()

        # keep results that come before their turn
        early: dict[int, Any] = {}
        due = 0
        for index, result in _results(function, items, workers):
            early[index if in_order else due] = result
            while due in early:
                yield early.pop(due)
                due += 1

    # end what still runs
    finally:
        for process in workers.values():
            process.kill()
        for connection, process in workers.items():
            process.join()
            connection.close()


@contextlib.contextmanager
def safe_import_paths() -> Iterator[None]:
    """Keep the working folder, where a ``random.py`` may lie, off new processes' import path."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold interrupts back in this thread, and for good in processes that it starts meanwhile."""
    # a thread of Windows cannot hold a signal back
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _results(
    function: Callable[[Any], Any], items: Iterable[Any], workers: dict[Any, SpawnProcess]
) -> Iterator[tuple[int, Any]]:
    """Yield the index and the result of every item, as they are done."""
    # send the function once
    idle = list(workers)
    for connection in idle:
        with _worker_errors(workers[connection]):
            connection.send(function)

    # give each idle worker the next item
    tasks = enumerate(items)
    busy: dict[Any, int] = {}
    while True:
        while idle and (task := next(tasks, None)) is not None:
            connection = idle.pop()
            with _worker_errors(workers[connection]):
                connection.send(task[1])
            busy[connection] = task[0]
        if not busy:
            return

        # without a timeout, no interrupt is noticed once polars is loaded
        for ready in wait(list(busy), timeout=1.0):
            connection = cast("Connection", ready)
            with _worker_errors(workers[connection]):
                error, result = connection.recv()
            if error is not None:
                raise error
            idle.append(connection)
            yield busy.pop(connection), result


@contextlib.contextmanager
def _worker_errors(process: SpawnProcess) -> Iterator[None]:
    """Translate a broken connection into a RuntimeError that says how the worker ended."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        process.join()
        code = process.exitcode or 0
        how = f"with status {code}"
        if code < 0:
            how = f"by signal {-code}, as when memory runs out: use fewer processes"
        raise RuntimeError(f"a worker process was ended {how}") from error


def _work(connection: Connection) -> None:
    """Answer items with results until the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError):
        function = connection.recv()
        while True:
            connection.send_bytes(_outcome(function, connection.recv()))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _outcome(function: Callable[[Any], Any], item: Any) -> bytes:
    """Return what is sent: no error and the result, or an error and None."""
    try:
        return pickle.dumps((None, function(item)))
    except Exception as error:
        error.add_note(f"\nIn a worker process:\n{''.join(traceback.format_exception(error))}")
        try:
            message = pickle.dumps((error, None))
            pickle.loads(message)
        except Exception:  # not every exception can be pickled and made again
            return pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), None))
        return message
