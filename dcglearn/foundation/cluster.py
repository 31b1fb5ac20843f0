"""A Dask cluster: connect to it, check its workers, wait for results, and translate its errors."""

from __future__ import annotations

import contextlib
import os
import platform
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.threads import one_thread
from dcglearn.foundation.validation import InputError, InputTypeError
from dcglearn.foundation.version import __version__

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT = 10.0
"""Seconds to wait for a scheduler to answer."""

PATIENCE = 60.0
"""Seconds to wait for a new worker when none is left."""

SAFE_PATH = "PYTHONSAFEPATH"
"""Environment variable that keeps the working folder off a Python process's import path."""


class ClusterLost(RuntimeError):
    """The scheduler is gone, or workers without which the work cannot go on."""


def connected(engine: Any, closing: contextlib.ExitStack) -> Client:
    """Return a client from a client, a scheduler's address, or a number of local processes.

    `closing` closes what is started here. Raise InputError if Dask is not installed, no scheduler
    answers, or the workers have other versions of dcglearn or Python than this process.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise InputError("engine= needs Dask: pip install 'dcglearn[dask]'") from error

    # a client, an address or a number of processes
    if isinstance(engine, Client):
        client = engine
    elif isinstance(engine, str):
        client = closing.enter_context(_client_at(engine))
    elif isinstance(engine, int) and not isinstance(engine, bool) and engine >= 1:
        client = _local_client(engine, closing)
    else:
        raise InputTypeError(
            f"engine={engine!r} is not a Dask client, a scheduler's address or a number of "
            "processes"
        )

    # what the work needs of it
    if client.asynchronous:
        raise InputError(
            "engine: an asynchronous client cannot be waited for; give one without "
            "asynchronous=True"
        )
    check_versions(client)
    return client


def _client_at(address: str) -> Client:
    """Return a client of the scheduler at an address; raise InputError if none answers."""
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} ({error}); start one, or give workers"
        ) from error
    except TypeError as error:  # of tls:// without certificates
        raise InputError(
            f"{address}: cannot be reached without certificates ({error}); name them in Dask's "
            "configuration (distributed.comm.tls), or give a distributed.Client with security="
        ) from error


def _local_client(n_processes: int, closing: contextlib.ExitStack) -> Client:
    """Start a cluster of processes on this machine, and return a client of it."""
    import dask
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Port .* is already in use")

        # Dask sets the variable for restarted workers too, and leaves it set
        closing.enter_context(safe_import_paths())
        with dask.config.set({f"distributed.nanny.pre-spawn-environ.{SAFE_PATH}": "1"}):
            cluster = LocalCluster(
                n_workers=n_processes,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=None,
                security=_keys_of_this_run(),
            )
        closing.callback(cluster.close)

        # standard output is for the result of this process
        client = closing.enter_context(Client(cluster))
        client.run(os.dup2, 2, 1)
    return client


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


def _keys_of_this_run() -> Any:
    """Return new TLS keys for this process and its workers, so that no other user can join."""
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError as error:
        raise InputError(
            "workers need the package cryptography: pip install 'dcglearn[dask]'"
        ) from error


def check_versions(client: Client) -> None:
    """Raise InputError unless workers have this process's dcglearn and Python.

    Of Python's version, the first two numbers count.
    """
    versions = {"dcglearn": __version__, "Python": platform.python_version()}

    # every worker can unpickle a text, even one that lacks the package
    asked = "[__import__('dcglearn').__version__, __import__('platform').python_version()]"
    with cluster_errors(client):
        answers = client.run(eval, asked, on_error="return")

    # compare what the workers answered
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, BaseException):
            raise _worker_failure(client, worker, answer) from answer
        for (package, version), theirs in zip(versions.items(), answer, strict=True):
            parts = 2 if package == "Python" else None
            if theirs.split(".")[:parts] != version.split(".")[:parts]:
                raise InputError(
                    f"worker {worker} has {package} {theirs}, this process {version}: install the "
                    "same"
                )


def _worker_failure(client: Client, worker: str, error: BaseException) -> InputError | ClusterLost:
    """Return the error that says why a worker could not name its versions."""
    from distributed.comm import CommClosedError

    remedy = f"install dcglearn {__version__} on every worker"
    if isinstance(error, ModuleNotFoundError):
        return InputError(f"worker {worker} lacks a package ({error}); {remedy}")
    gone = isinstance(error, OSError) and worker not in workers_of(client)
    if isinstance(error, CommClosedError) or gone:
        return ClusterLost(
            f"worker {worker} was lost while the cluster was checked ({error}): run this again"
        )
    return InputError(f"worker {worker} cannot load a package: {error!r}; {remedy}")


def scheduler_of(client: Client) -> Mapping[str, Any]:
    """Return the scheduler's description of itself and all its workers; empty if it is lost."""
    # ask until it lists all workers
    while True:
        info = client.scheduler_info(n_workers=-1)
        if len(info.get("workers", ())) == info.get("n_workers", 0):
            return info


def workers_of(client: Client) -> Mapping[str, Any]:
    """Return the workers by address; raise ClusterLost if the scheduler is lost."""
    workers = scheduler_of(client).get("workers")
    if workers is None:
        raise ClusterLost("the scheduler was lost: start it and its workers, and run this again")
    return workers


def awaited(client: Client, future: Future) -> Any:
    """Return a future's result; raise ClusterLost if no worker is left, or it kills each one."""
    idle_since = None
    while True:
        # the result, if it is there
        with cluster_errors(client):
            try:
                return future.result(timeout=2)
            except TimeoutError:
                if future.status == "error":
                    raise

            # how long there has been no worker
            if workers_of(client):
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > PATIENCE:
                raise ClusterLost(
                    f"no worker is left, and none came for {PATIENCE:g} seconds: start workers, "
                    "and run this again"
                )


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
            f"{error.task}: every worker that took it died ({error}); does it fit in memory?"
        ) from error
    except (CancelledError, CommClosedError, ClosedClientError) as error:
        address = getattr(client.scheduler, "address", None) or "the cluster"
        raise ClusterLost(
            f"the scheduler of {address} was lost ({error}): run this again"
        ) from error


def over_cluster(
    function: Callable[[Any], Any], items: Iterable[Any], engine: Any
) -> Iterator[Any]:
    """Yield ``function(item)`` of every item, in order, computed on a cluster.

    `engine` and errors are those of `DaskLog`.
    """
    with contextlib.ExitStack() as closing:
        # send the function once
        client = connected(engine, closing)
        with cluster_errors(client):
            sent = client.submit(keep, function, pure=False)
            ahead = 4 * sum(client.nthreads().values()) + 4

        # keep every thread busy, and no more items than that in memory
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
