"""A log over a Dask cluster: workers keep the parts, and sums over them are added in a tree."""

from __future__ import annotations

import contextlib
import logging
import uuid
import warnings
from collections.abc import Sequence
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from dcglearn.foundation.cluster import awaited, cluster_errors, connected, keep
from dcglearn.foundation.inputs import expand_paths, is_path
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.threads import bounds, one_thread
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.parts.parquet_pieces import (
    MARKS,
    PARQUET,
    check_levels,
    pieces,
    preferences_of,
    read_piece,
    reasons_of_parts,
    refuse_options_of_whole,
    roles_of,
    scale_of,
    scanned,
    supersede,
)
from dcglearn.parts.parted_log import OfPart, PartedLog, checked_scale, facts_of, on_scale
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.options import ReadingOptions
from dcglearn.reading.preferences import Preferences

if TYPE_CHECKING:
    from distributed import Client, Future

Futures: TypeAlias = "tuple[list[Future], list[str]]"
"""Futures of the parts of a log, and what messages call these."""

_LOG = logging.getLogger(__name__)


class DaskParts:
    """Parts kept by workers as futures, in order; Dask rebuilds a lost part from its source."""

    def __init__(self, client: Client, futures: Sequence[Future]) -> None:
        self.client = client
        self.futures = list(futures)

    def mapped(self, function: OfPart) -> DaskParts:
        """Return ``function(part)`` of every part, kept by the workers."""
        graph, keys = self._graph(function, ())
        return DaskParts(self.client, self._submitted(graph, keys))

    def gathered(
        self, function: OfPart, *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return ``function(part, *arguments)`` of each part; `each` adds one more argument."""
        graph, keys = self._graph(function, arguments, each)
        everything = f"{keys[0]}-all"
        graph[everything] = (list, keys)
        return awaited(self.client, self._submitted(graph, [everything])[0])

    def total(self, function: OfPart, *arguments: Any) -> Any:
        """Return the sum over the parts, added in a tree that depends on their number alone."""
        graph, keys = self._graph(function, arguments)
        while len(keys) > 1:
            # a task of the tree adds eight sums
            groups = [keys[i : i + 8] for i in range(0, len(keys), 8)]
            keys = [f"{group[0]}+" for group in groups]
            for key, group in zip(keys, groups, strict=True):
                graph[key] = (partial(reduce, add), group)
        return awaited(self.client, self._submitted(graph, keys)[0])

    def _graph(
        self, function: OfPart, arguments: tuple[Any, ...], each: Sequence[Any] | None = None
    ) -> tuple[Fields, list[str]]:
        """Return the tasks of a pass over the parts, to send at once, and their keys."""
        name = f"dcglearn-{uuid.uuid4().hex}"
        graph: Fields = {}
        for i, part in enumerate(self.futures):
            last = () if each is None else (each[i],)
            graph[f"{name}-{i}"] = (partial(_called, function, (*arguments, *last)), part)
        return graph, list(graph)

    def _submitted(self, graph: Fields, keys: list[str]) -> list[Future]:
        with cluster_errors(self.client):
            return self.client.get(graph, keys, sync=False)


class DaskLog(PartedLog):
    """A log of preferences over a Dask cluster, for `UtilityLearner` and `DCGLearner`.

    Raises InputError if the workers lack dcglearn or have another version, a file is damaged, or
    two parts differ in depth or scale; ClusterLost if the scheduler cannot be reached, or no worker
    for a minute.

    Parameters
    ----------
    log : Preferences, path, sequence of paths, or dask.dataframe.DataFrame
        A log in memory; Parquet files, folders or patterns, which the workers read themselves and
        must see under the same names; or a table with the columns that `read_preferences` reads.
    engine : distributed.Client, str or int
        A client, the address of a scheduler, or the number of processes to start on this machine.
    partitions : int, optional
        Number of parts (at most the number of row groups, for Parquet). By default it depends on
        the size of the log alone, and so does every byte of what is learned. Give fewer, larger
        parts beyond some ten billion pairs.
    n_grades, **options
        As in `read_preferences`.

    See Also
    --------
    Preferences : A log in memory.

    Examples
    --------
    >>> with dl.io.DaskLog("logs/*.parquet", engine=4) as log:  # doctest: +SKIP
    ...     utility = dl.UtilityLearner().fit(log).utility_
    """

    @spelled_out(ReadingOptions)
    def __init__(
        self,
        log: Any,
        engine: Any = 2,
        *,
        n_grades: int | None = None,
        partitions: int | None = None,
        **reading: Unpack[ReadingOptions],
    ) -> None:
        # the scale, as far as it is known before reading
        options: Fields = {**reading, "n_grades": n_grades}
        refuse_options_of_whole(options)
        files = expand_paths(log, PARQUET) if is_path(log) else []
        first: list[Any] = [scanned(path) for path in files]
        if hasattr(log, "to_delayed"):
            first = [_as_polars(log.head(1, npartitions=-1))]
        scale = scale_of(first, options)
        n_known, grade_names = scale.n_grades, scale.names
        options["n_grades"] = n_known
        if isinstance(log, Preferences):
            log = as_preferences(log, n_grades)
            n_known, grade_names = log.n_grades, log.grade_names
        self.as_is = reading.get("as_is", False) or getattr(log, "as_is", False)

        # parts on the workers, on one scale
        self._closing = contextlib.ExitStack()
        self.client = connected(engine, self._closing)
        try:
            with cluster_errors(self.client):
                # as they are read
                futures, names = _parts(log, self.client, options, partitions)
            raw = DaskParts(self.client, futures)
            facts, size = checked_scale(raw.gathered(facts_of), names, n_known)
            if n_known is None:
                check_levels(facts.grades)

            parts = raw.mapped(partial(on_scale, n_grades=size, depth=facts.depths[0]))
        except BaseException:
            self.close()
            raise
        super().__init__(parts, facts, size, grade_names)
        address = self.client.scheduler.address
        _LOG.info("pairs: %d, parts: %d, on the cluster %s", len(self), len(futures), address)

    def close(self) -> None:
        """Release the parts, and end the cluster if it was started here."""
        self.parts = DaskParts(self.client, [])
        self._closing.close()


def _called(function: OfPart, arguments: tuple[Any, ...], part: Any) -> Any:
    """Run on a worker, in one thread: the other workers use the other processors."""
    with one_thread():
        return function(part, *arguments)


def _parts(log: Any, client: Client, options: Fields, partitions: int | None) -> Futures:
    """Return the futures of a log's parts and what to call them."""
    if isinstance(log, Preferences):
        return _cut(log, client, partitions)

    # files, which the workers read
    if is_path(log):
        files = expand_paths(log, PARQUET)
        todo = pieces(files, options)
        if partitions is not None:
            n = sum(piece.n for piece in todo)
            todo = pieces(files, options, max(-(-n // partitions), 1))
        futures = [client.submit(read_piece, piece, options, pure=False) for piece in todo]
        return futures, [piece.name for piece in todo]

    if hasattr(log, "to_delayed"):
        return _of_tables(log, client, options, partitions)
    raise InputError(
        f"a log of type {type(log).__name__} cannot be spread over a cluster; give Preferences, "
        "Parquet files or a Dask dataframe"
    )


def _of_tables(table: Any, client: Client, options: Fields, partitions: int | None) -> Futures:
    """Return the futures of the logs in a Dask dataframe's partitions, and their names."""
    if partitions is not None:
        table = table.repartition(npartitions=partitions)
    tables = client.compute(table.to_delayed())
    names = [f"partition {i}" for i in range(len(tables))]

    # rows that do not count
    whole, ends = None, [0] * (len(tables) + 1)
    if supersede([_as_polars(table.head(0, npartitions=1))], options):
        marks = client.gather([client.submit(_marks, part, options, pure=False) for part in tables])
        whole = reasons_of_parts(marks)
        ends = np.cumsum([0, *(len(part) for part in marks)]).tolist()
    logs = []
    for i, (part, name) in enumerate(zip(tables, names, strict=True)):
        reasons = None if whole is None else whole[ends[i] : ends[i + 1]]
        logs.append(client.submit(_of_table, part, name, reasons, options, pure=False))
    return logs, names


def _cut(log: Preferences, client: Client, partitions: int | None) -> Futures:
    """Return the futures of parts of a log in memory, and their names."""
    if not log.graded:
        raise InputError("a log of documents is learned in memory: leave engine= out")
    # parts of at most 262,144 pairs by default
    n = max(-(-len(log) // (1 << 18)), 1) if partitions is None else partitions
    ends = bounds(len(log), n)
    parts = [log[start:stop] for start, stop in pairwise(ends)]

    # the scheduler keeps each part, in case a worker dies
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        futures = [client.submit(keep, part, pure=False) for part in parts]
    return futures, [f"pairs {start}..{stop}" for start, stop in pairwise(ends)]


def _as_polars(table: Any) -> Any:
    from dcglearn.reading.tables import polars_frame

    return polars_frame(table)


def _marks(table: Any, options: Fields) -> Any:
    return roles_of(_as_polars(table), MARKS, options)


def _of_table(table: Any, name: str, reasons: Any, options: Fields) -> Preferences:
    """Return the log in a pandas table; an empty one gets its depth later, from `on_scale`."""
    from dcglearn.reading.tables import Table

    if not len(table):
        return Preferences(np.zeros((0, 1), np.int8), np.zeros((0, 1), np.int8))
    part = Table(_as_polars(table), [(name, len(table))], np.arange(len(table)))
    return preferences_of(part, options, reasons)
