"""A log over a Dask cluster: workers keep their parts, and every step adds up the very same kernel's sums in a tree."""

from __future__ import annotations

import contextlib
import os
import platform
import time
import uuid
import warnings
from collections import deque
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any

from dcglearn.chunks import bounds, one_thread
from dcglearn.foundation.version import __version__
from dcglearn.log_parts import PartedLog, checked_scale, facts_of, on_scale
from dcglearn.parquet_pieces import ReadAs, parquet_files, pieces, read_piece
from dcglearn.preferences import Preferences, as_preferences
from dcglearn.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from distributed import Client, Future


PART = 1 << 18
"""Pairs of a part that is cut from a log in memory."""

FAN_IN = 8
"""Sums added by one task of the tree."""

CONNECT = 10.0
"""Seconds to wait for a scheduler to answer."""

PATIENCE = 60.0
"""Seconds to wait for a worker when none is left."""

_VERSIONS = "{'dcglearn': __import__('dcglearn').__version__, 'Python': __import__('platform').python_version()}"


class ClusterLost(RuntimeError):
    """The scheduler or all workers are gone."""


class DaskParts:
    """Parts kept by the workers of a cluster, as futures: one that is lost is made again from its source.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    futures : sequence of Future
        A part each, in order.
    """

    def __init__(self, client: Client, futures: Sequence[Future]) -> None:
        self.client = client
        self.futures = list(futures)

    def mapped(self, function: Callable[[Any], Any]) -> DaskParts:
        """Return ``function(part)`` of every part, kept by the workers."""
        graph, keys = self._graph(function, ())
        return DaskParts(self.client, self._submitted(graph, keys))

    def gathered(self, function: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None) -> list[Any]:
        """Return ``function(part, *arguments)`` of every part, in order; `each` holds one last argument a part."""
        graph, keys = self._graph(function, arguments, each)
        last = f"{keys[0]}-all"
        graph[last] = (_listed, *keys)
        found: list[Any] = awaited(self.client, self._submitted(graph, [last])[0])
        return found

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum over the parts, added in a tree that depends on their number alone."""
        graph, keys = self._graph(function, arguments)
        while len(keys) > 1:
            groups = [keys[i : i + FAN_IN] for i in range(0, len(keys), FAN_IN)]
            keys = [f"{group[0]}+" for group in groups]
            graph.update({key: (_added, *group) for key, group in zip(keys, groups, strict=True)})
        return awaited(self.client, self._submitted(graph, keys)[0])

    def _graph(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], each: Sequence[Any] | None = None
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the tasks of a pass, for one message: one by one, sending would take longer than the work."""
        name = f"dcglearn-{uuid.uuid4().hex}"
        last = [()] * len(self.futures) if each is None else [(one,) for one in each]
        graph = {
            f"{name}-{i}": (partial(_called, function, (*arguments, *more)), part)
            for i, (part, more) in enumerate(zip(self.futures, last, strict=True))
        }
        return graph, list(graph)

    def _submitted(self, graph: dict[str, Any], keys: list[str]) -> list[Future]:
        with cluster_errors(self.client):
            found: list[Future] = self.client.get(graph, keys, sync=False)
            return found


class DaskLog(PartedLog):
    """A log of preferences over a Dask cluster, for `UtilityLearner` and `DCGLearner`.

    Parameters
    ----------
    log : Preferences, path, sequence of paths, or dask.dataframe.DataFrame
        A log in memory; Parquet files, a folder or a pattern, which the workers read themselves, so that they must
        see them under the same name; or a table with the columns that `read_preferences` reads.
    engine : distributed.Client, str or int
        A client; the address of a scheduler; or with so many processes on this machine, started here.
    n_grades, depth, pad, scale
        As in `read_preferences`.
    partitions : int, optional
        In how many parts to cut the log (at most its row groups, for Parquet); by default it depends on
        the log's size alone, and so does every byte of what is learned.

    Raises
    ------
    InputError
        If the workers lack dcglearn or have another version, a file is damaged, or two parts do not go together.
    ClusterLost
        If the scheduler, or all workers for a minute, cannot be reached.

    Examples
    --------
    >>> import dcglearn as dl
    >>> with dl.DaskLog("logs/*.parquet", engine=4) as log:  # doctest: +SKIP
    ...     utility = dl.UtilityLearner().fit(log).utility_
    """

    def __init__(
        self,
        log: Any,
        engine: Any = 2,
        *,
        n_grades: int | None = None,
        depth: int | None = None,
        pad: bool = False,
        scale: Sequence[str] | None = None,
        partitions: int | None = None,
    ) -> None:
        how = ReadAs(n_grades, depth, pad, None if scale is None else tuple(scale))
        self._closing = contextlib.ExitStack()
        self.client = connected(engine, self._closing)
        try:
            with cluster_errors(self.client):
                futures, names = _parts(log, self.client, how, partitions)
            if isinstance(log, Preferences):
                n_grades, scale = log.n_grades, log.grade_names
            elif scale is not None:
                n_grades = len(scale)
            raw = DaskParts(self.client, futures)
            facts, found = checked_scale(raw.gathered(facts_of), names, n_grades)
            parts = raw.mapped(partial(on_scale, n_grades=found, depth=facts.depths[0]))
        except BaseException:
            self.close()
            raise
        super().__init__(parts, facts, found, None if scale is None else tuple(scale))

    def close(self) -> None:
        """Forget the parts, and end the cluster if it was started here."""
        self.parts = DaskParts(self.client, [])
        self._closing.close()


def connected(engine: Any, closing: contextlib.ExitStack) -> Client:
    """Return a client of an engine, whose workers have this package; what is started here ends with `closing`.

    Raises
    ------
    InputError
        If Dask is not installed, there is no such scheduler, or the workers cannot work with this process.
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
        with _quiet():
            cluster = LocalCluster(
                n_workers=engine, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
            )
            closing.callback(cluster.close)
            client = closing.enter_context(Client(cluster))
    else:
        raise InputError(f"engine={engine!r} is no Dask client, scheduler's address or number of processes")
    if client.asynchronous:
        raise InputError("engine: an asynchronous client cannot be waited for; give one without asynchronous=True")
    check_versions(client)
    return client


@contextlib.contextmanager
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Port .* is already in use")
        yield


def check_versions(client: Client) -> None:
    """Refuse workers that lack the package, or have another version of it or of Python.

    Raises
    ------
    InputError
        Naming the first such worker.
    """
    ours = {"dcglearn": __version__, "Python": platform.python_version()}
    # eval of text, which every worker can unpickle, whatever it lacks.
    with cluster_errors(client):
        found = client.run(eval, _VERSIONS, on_error="return")
    for worker, theirs in sorted(found.items()):
        if isinstance(theirs, ModuleNotFoundError):
            raise InputError(
                f"worker {worker} lacks a package ({theirs}); install dcglearn {__version__} on every worker"
            )
        if isinstance(theirs, BaseException):
            raise InputError(f"worker {worker} cannot load dcglearn: {theirs!r}")
        for what, version in ours.items():
            if theirs[what].split(".")[:2] != version.split(".")[:2] or (
                what == "dcglearn" and theirs[what] != version
            ):
                raise InputError(
                    f"worker {worker} has {what} {theirs[what]}, this process {version}: install the same on all"
                )


def scheduler_of(client: Client) -> Mapping[str, Any]:
    """Return what the scheduler says of itself and its workers; nothing if it is lost.

    `Client.scheduler_info` shares its answer with a call that the client makes every few seconds and that asks for no
    workers: an answer without them may be that one.
    """
    while True:
        found: Mapping[str, Any] = client.scheduler_info(n_workers=-1)
        if len(found.get("workers", ())) == found.get("n_workers", 0):
            return found


def awaited(client: Client, future: Future) -> Any:
    """Return a future's result; stop with a clear word if nobody is left to make it.

    Raises
    ------
    ClusterLost
        If the scheduler is gone, or no worker for `PATIENCE` seconds, or a part kills every worker that takes it.
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


_RESUME = (
    "with a checkpoint, start workers and resume from it (checkpoint=FILE, resume=True; --checkpoint FILE --resume)"
)


@contextlib.contextmanager
def cluster_errors(client: Client) -> Any:
    """Say of a lost cluster what is lost and what to do, as `ClusterLost`."""
    from concurrent.futures import CancelledError

    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ClusterLost(
            f"{error.task}: every worker that took it died ({error}); does it fit their memory?"
        ) from error
    except (CancelledError, CommClosedError, ClosedClientError) as error:
        raise ClusterLost(f"the scheduler of {_address(client)} was lost ({error}); {_RESUME}") from error


def over_cluster(function: Callable[[Any], Any], items: Iterable[Any], engine: Any) -> Iterator[Any]:
    """Yield ``function(item)`` of every item, in order, worked out by a cluster; few wait to be sent at a time.

    Parameters
    ----------
    function : callable
        Sent once, with what it holds, such as a log.
    items : iterable
        What to work on.
    engine : distributed.Client, str or int
        See `DaskLog`.

    Raises
    ------
    InputError, ClusterLost
        As `DaskLog`.
    """
    with contextlib.ExitStack() as closing:
        client = connected(engine, closing)
        with cluster_errors(client):
            sent = client.submit(_kept, function, pure=False)
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


def _address(client: Client) -> str:
    return str(getattr(client.scheduler, "address", None) or "the cluster")


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], part: Any) -> Any:
    """Run on a worker: its fellows have the other processors."""
    with one_thread():
        return function(part, *arguments)


def _listed(*found: Any) -> list[Any]:
    return list(found)


def _added(*sums: Any) -> Any:
    return reduce(add, sums)


def _parts(log: Any, client: Client, how: ReadAs, partitions: int | None) -> tuple[list[Future], list[str]]:
    """Return the futures of a log's parts and what to call them."""
    if isinstance(log, Preferences):
        return _cut(as_preferences(log, how.n_grades), client, partitions)
    if isinstance(log, (str, os.PathLike, list, tuple)):
        files = parquet_files(log)
        found = pieces(files)
        if partitions is not None:
            found = pieces(files, max(-(-sum(piece.n for piece in found) // partitions), 1))
        return [client.submit(read_piece, piece, how, pure=False) for piece in found], [one.name for one in found]
    if hasattr(log, "to_delayed"):
        if partitions is not None:
            log = log.repartition(npartitions=partitions)
        futures = client.compute(log.to_delayed())
        names = [f"partition {i}" for i in range(len(futures))]
        tables = zip(futures, names, strict=True)
        return [client.submit(_of_table, table, name, how, pure=False) for table, name in tables], names
    raise InputError(
        f"a log of type {type(log).__name__} cannot be spread over a cluster; give Preferences, Parquet files or a "
        "Dask dataframe"
    )


def _cut(log: Preferences, client: Client, partitions: int | None) -> tuple[list[Future], list[str]]:
    if not log.graded:
        raise InputError("a log of documents is learned in memory: leave engine= out")
    ends = bounds(len(log), max(-(-len(log) // PART), 1) if partitions is None else partitions)
    parts = [log[start:stop] for start, stop in pairwise(ends)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # the scheduler keeps each part, should a worker die
        futures = [client.submit(_kept, part, pure=False) for part in parts]
    return futures, [f"pairs {start}..{stop}" for start, stop in pairwise(ends)]


def _kept(part: Any) -> Any:
    return part


def _of_table(table: Any, name: str, how: ReadAs) -> Preferences:
    """Return the log in a pandas table, on a worker; an empty one has no depth yet."""
    import numpy as np
    import polars as pl

    if not len(table):
        return Preferences(np.zeros((0, 1), np.int8), np.zeros((0, 1), np.int8))
    return how.log(pl.from_pandas(table), name)
