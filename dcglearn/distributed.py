"""Fits over a Dask cluster: workers keep the parts of a log, and sums over them are added.

A part is some pairs of a log in memory, a file, or a partition of a Dask dataframe; its worker
keeps its distinct pairs. Dask makes the part of a lost worker again from its source. Sums are added
in a tree whose shape depends on the number of parts alone, and so does every byte of a fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import compress
from operator import add, attrgetter, itemgetter, methodcaller
from typing import Any
from unittest.mock import patch

import numpy as np

from dcglearn.foundation.sources import expand_paths, is_path
from dcglearn.foundation.validation import InputError
from dcglearn.learning.fit_qp import fit_pairs, qp_part
from dcglearn.learning.options import QPOptions
from dcglearn.learning.pairs import VerdictSums, coded, facts_of
from dcglearn.learning.usable_pairs import left_out, sides_of, usable_pairs
from dcglearn.learning.weighing import learned
from dcglearn.logs.columns import COLUMNS, ties_of
from dcglearn.logs.thinning import SAMPLE, Weighted, joined, marks_of_parts
from dcglearn.logs.visibility import gram_matrix, visibility
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.scale import counts_of

PART = 1 << 18
"""Most pairs in a part of a log in memory."""

LEARNED = ("rater", "weight", "strength", "margin", "tie", "swapped")
"""The columns of a log that learners use."""


@contextmanager
def client_of(engine: Any) -> Iterator[Any]:
    """Yield a client of a client, a scheduler's address, or a number of processes to start here.

    Dask warns of workers with other versions. Raise InputError if it is missing, or no scheduler
    answers; RuntimeError if the scheduler is lost.
    """
    try:
        from distributed import CancelledError, Client, LocalCluster, Security
        from distributed.client import ClosedClientError
    except ModuleNotFoundError as error:
        raise InputError("engine= needs Dask: pip install 'dcglearn[dask]'") from error

    if isinstance(engine, Client):
        try:
            engine.get_versions(check=True, packages=["dcglearn"])
            yield engine
        except (CancelledError, ClosedClientError) as error:
            raise RuntimeError("the Dask scheduler was lost: start it, and fit again") from error

    # processes that import nothing from the working folder, and talk in TLS
    elif isinstance(engine, int) and engine > 0:
        with (
            patch.dict("os.environ", PYTHONSAFEPATH="1"),
            LocalCluster(
                n_workers=engine,
                threads_per_worker=1,
                dashboard_address=None,
                security=Security.temporary(),
            ) as cluster,
            client_of(cluster) as client,
        ):
            yield client

    # the workers of a scheduler
    else:
        try:
            client = Client(engine)
        except (OSError, TypeError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {engine!r}: {error}") from error
        with client, client_of(client):
            yield client


@dataclass
class DaskPairs:
    """Pairs in parts that workers keep, in order: what a fit takes in place of pairs in memory.

    It has the methods of `QPPairs` and `Pairs` that fits call.
    """

    client: Any
    parts: Any
    facts: Any = None

    def each(self, function: Any, *columns: Any) -> Any:
        """Return a function of each part, and of an entry of further columns, as futures."""
        return self.client.map(function, self.parts, *columns, pure=False)

    def mapped(self, function: Any) -> DaskPairs:
        """Return what a function makes of each part, kept by the workers."""
        return replace(self, parts=self.each(function))

    def total(self, function: Any) -> Any:
        """Return the sum of a function of each part, added in a tree of eight branches."""
        sums = self.each(function)
        while len(sums) > 1:
            eights = [sums[i : i + 8] for i in range(0, len(sums), 8)]
            sums = [self.client.submit(reduce, add, eight, pure=False) for eight in eights]
        return sums[0].result()

    @cached_property
    def _sizes(self) -> Any:
        """Length and total weight of each part, shape (2, n parts)."""
        return np.array(self.client.gather(self.each(_size))).T

    def __len__(self) -> int:
        return int(self._sizes[0].sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return self._sizes[1].sum()

    @cached_property
    def _distinct(self) -> DaskPairs:
        """The distinct pairs of each part, with their weights."""
        return self.mapped(methodcaller("merged"))

    def distinct(self) -> DaskPairs:
        """Return the pairs, of which sums meet the distinct ones of each part."""
        return self

    def evaluate(self, *at: Any) -> Any:
        """Return the QP's sums over the pairs; see `margin_qp.QPPairs.evaluate`."""
        return self._distinct.total(methodcaller("evaluate", *at))

    def sums(self, *at: Any) -> Any:
        """Return the losses of judgements; see `pairs.Pairs.sums`."""
        return self._distinct.total(methodcaller("sums", *at))

    def sums_of_raters(self, *at: Any) -> Any:
        """Return the sums over each rater's judgements; see `pairs.Pairs.sums_of_raters`."""
        return self._distinct.total(methodcaller("sums_of_raters", *at))

    def thinned(self, n: int) -> Any:
        """Return about `n` pairs that stand for all, in memory: those that all would return."""
        marks = marks_of_parts(n, *self._sizes)
        return joined(self.client.gather(self.each(Weighted.marked, marks)))


@dataclass
class DaskLog:
    """A log in parts that workers keep; `empty`, without a pair, has its scale and its columns."""

    pairs: DaskPairs
    empty: Preferences

    @cached_property
    def one_sided(self) -> Any:
        """Names of the raters who always name one side."""
        return self.pairs.total(sides_of).always_one()

    def fit(self, options: Any) -> Any:
        """Return the fit of the QP, or the direct fit, which keeps a sample of the pairs.

        See `fit_qp.fit_qp` and `weighing.weighed`.
        """
        # what is learned from, and what it tells
        empty = self.empty
        differing = self.pairs.mapped(attrgetter("differing_pairs"))
        used = differing.mapped(partial(usable_pairs, one_sided=self.one_sided))
        sums = used.total(VerdictSums.of)
        dropped = left_out(len(self.pairs), len(differing), len(used), sums.n_ties)
        occurs = self.pairs.total(_grades)[: empty.n_grades] > 0
        visible = visibility(empty, self.pairs.total(_gram), occurs)

        # the QP
        if isinstance(options, QPOptions):
            parts = used.mapped(partial(qp_part, options=options))
            pairs: Any = parts.mapped(itemgetter(0))
            return fit_pairs(pairs, parts.total(itemgetter(1)), dropped, visible, options)

        # gains and discounts, of few pairs in memory: that takes hundreds of sums
        options.check(empty)
        facts = facts_of(sums, empty, visible, dropped, options.loss)
        judged: Any = replace(used.mapped(partial(coded, facts=facts)), facts=facts)
        if len(judged) < 2 * SAMPLE:
            judged = judged.thinned(SAMPLE)
        fit = learned(judged, options)
        return replace(fit, function=fit.function.thinned(SAMPLE))


@contextmanager
def spread(log: Any, engine: Any, **shape: Any) -> Iterator[DaskLog]:
    """Yield a log whose parts are kept by the workers of an engine; see `client_of`.

    `log` is a log in memory, files that the workers read, or a Dask dataframe; `shape` is that of
    `as_preferences`. Raise InputError if it cannot be read, or its parts do not go together.
    """
    with client_of(engine) as client:
        # where the parts come from
        if is_path(log):
            sources = expand_paths(log)
        elif hasattr(log, "to_delayed"):
            frames = client.compute(log.to_delayed())
            sources = [*compress(frames, client.gather(client.map(len, frames)))]
        else:
            log = _read(log, **shape)
            sources = [log[i : i + PART] for i in range(0, len(log) or 1, PART)]

        # what is in them, without a pair of each
        pairs = DaskPairs(client, sources).mapped(partial(_read, **shape))
        empty_parts = client.gather(pairs.each(itemgetter(slice(0))))
        kinds = {*map(_kind, empty_parts)}
        if len(kinds) != 1:
            raise InputError(
                f"the log is empty, or its parts differ: {'; '.join(sorted(kinds))}; give all of "
                "them the same positions, grades (n_grades=) and columns"
            )
        yield DaskLog(pairs, empty_parts[0])


# on the workers


def _size(part: Any) -> Any:
    return len(part), part.total_weight


def _read(source: Any, **shape: Any) -> Preferences:
    """Return a log, or what a source holds, with the columns that learners use."""
    log = as_preferences(source, **shape, as_is=True)
    unused = dict.fromkeys(COLUMNS.keys() - LEARNED)
    unused |= {"rated": None, "units": None}
    return log.changed(**unused, tie=ties_of(log), as_is=getattr(source, "as_is", False))


def _kind(log: Preferences) -> str:
    """Return what the parts of a log must have in common."""
    columns = [name for name in COLUMNS if getattr(log, name) is not None]
    return f"{log.depth} positions, {log.n_grades} grades {log.grade_names}, {columns}"


def _gram(log: Preferences) -> Any:
    return gram_matrix(log.preferred, log.other, log.n_grades)


def _grades(log: Preferences) -> Any:
    return counts_of([log.preferred, log.other])
