"""A Dask cluster: connect to it, check its workers, wait for results, and translate its errors."""

from __future__ import annotations

import contextlib
import platform
import time
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.threads import one_thread
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from distributed import Client, Future

CONNECT = 10.0
"""Seconds to wait for a scheduler to answer."""

PATIENCE = 60.0
"""Seconds to wait for a new worker when none is left."""

_VERSIONS = "{'dcglearn': __import__('dcglearn').__version__, 'Python': __import__('platform').python_version()}"
"""Expression that a worker evaluates: every worker can unpickle a text, even one that lacks a package."""

_RESUME = (
    "with a checkpoint, start workers and resume from it (checkpoint=FILE, resume=True; --checkpoint FILE --resume)"
)


class ClusterLost(RuntimeError):
    """The scheduler or all workers are gone."""


def connected(engine: Any, closing: contextlib.ExitStack) -> Client:
    """Return a client of an engine: a client, the address of a scheduler, or a number of local processes to start.

    `closing` closes what is started here. Raise InputError if Dask is not installed, no scheduler answers, or the
    workers have other versions than this process.
    """
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        raise InputError("engine= needs Dask: pip install 'dcglearn[dask]'") from error
    if isinstance(engine, Client):
        client = engine
    elif isinstance(engine, str):
        try:
            client = closing.enter_context(Client(engine, timeout=CONNECT))
        except (OSError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {engine} ({error}); start one, or give workers") from error
    elif isinstance(engine, int) and not isinstance(engine, bool) and engine >= 1:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Port .* is already in use")
            cluster = LocalCluster(
                n_workers=engine, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
            )
            closing.callback(cluster.close)
            client = closing.enter_context(Client(cluster))
    else:
        raise InputError(f"engine={engine!r} is not a Dask client, a scheduler's address or a number of processes")
    if client.asynchronous:
        raise InputError("engine: an asynchronous client cannot be waited for; give one without asynchronous=True")
    check_versions(client)
    return client


def check_versions(client: Client) -> None:
    """Raise InputError unless all workers have this version of the package and this minor version of Python."""
    with cluster_errors(client):
        answers = client.run(eval, _VERSIONS, on_error="return")
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, ModuleNotFoundError):
            raise InputError(
                f"worker {worker} lacks a package ({answer}); install dcglearn {__version__} on every worker"
            )
        if isinstance(answer, BaseException):
            raise InputError(f"worker {worker} cannot load dcglearn: {answer!r}")
        for package, version, parts in (("dcglearn", __version__, None), ("Python", platform.python_version(), 2)):
            if answer[package].split(".")[:parts] != version.split(".")[:parts]:
                raise InputError(
                    f"worker {worker} has {package} {answer[package]}, this process {version}: install the same on all"
                )


def scheduler_of(client: Client) -> Mapping[str, Any]:
    """Return the scheduler's information about itself and its workers; empty if the scheduler is lost.

    The client itself asks every few seconds, without workers, and `Client.scheduler_info` may return that answer: ask
    until the answer lists as many workers as it counts.
    """
    while True:
        info: Mapping[str, Any] = client.scheduler_info(n_workers=-1)
        if len(info.get("workers", ())) == info.get("n_workers", 0):
            return info


def awaited(client: Client, future: Future) -> Any:
    """Return a future's result, or raise ClusterLost if no process is left to compute it.

    It is lost if the scheduler is gone, no worker exists for `PATIENCE` seconds, or a part kills every worker that
    takes it.
    """
    idle_since = None
    while True:
        with cluster_errors(client):
            try:
                return future.result(timeout=2)
            except TimeoutError:
                if future.status == "error":
                    raise
            if scheduler_of(client)["workers"]:
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > PATIENCE:
                raise ClusterLost(f"no worker is left, and none came for {PATIENCE:g} seconds; {_RESUME}")


@contextlib.contextmanager
def cluster_errors(client: Client) -> Any:
    """Translate Dask's errors into `ClusterLost`, with the remedy."""
    from concurrent.futures import CancelledError

    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ClusterLost(
            f"{error.task}: every worker that took it died ({error}); check that it fits in their memory"
        ) from error
    except (CancelledError, CommClosedError, ClosedClientError) as error:
        address = getattr(client.scheduler, "address", None) or "the cluster"
        raise ClusterLost(f"the scheduler of {address} was lost ({error}); {_RESUME}") from error


def over_cluster(function: Callable[[Any], Any], items: Iterable[Any], engine: Any) -> Iterator[Any]:
    """Yield ``function(item)`` of every item, in order, computed on a cluster; `engine` and errors as in `DaskLog`.

    The function is sent once, with the data it holds, such as a log; items are sent a few ahead of the results.
    """
    with contextlib.ExitStack() as closing:
        client = connected(engine, closing)
        with cluster_errors(client):
            sent = client.submit(keep, function, pure=False)
            ahead = 4 * sum(client.nthreads().values()) + 4
        waiting: deque[Future] = deque()
        for item in items:
            with cluster_errors(client):
                waiting.append(client.submit(_applied, sent, item, pure=False))
            if len(waiting) >= ahead:
                yield awaited(client, waiting.popleft())
        while waiting:
            yield awaited(client, waiting.popleft())


def _applied(function: Callable[[Any], Any], item: Any) -> Any:
    with one_thread():
        return function(item)


def keep(part: Any) -> Any:
    """Return `part` itself: the task by which a worker receives it."""
    return part
