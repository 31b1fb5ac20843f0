"""The least and the most that a value can be once the unjudged documents are judged, exactly.

The best ranking of a query depends on how many documents have each grade, not on which. Let m_l be
the number of unjudged documents whose grade has at least the l-th gain: ``u >= m_1 >= m_2 >= ...``.
For given numbers the DCG is largest where better grades stand at larger weights, so that it and the
ideal are sums over l of functions of m_l. A weighted difference of the two is largest along a path
that never rises, which running maxima find; Dinkelbach's method (1967) turns the largest ratio into
a few such differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from dcglearn.evaluation.kernel import Lists
from dcglearn.foundation.validation import Floats, Integers, PolarsFrame
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.textbook_lists import ListMetric
from dcglearn.reading.runs import Run


@dataclass(frozen=True, eq=False)
class Unjudged:
    """What runs show of documents without a judgement, under metrics by number.

    `metrics` are those that are DCGs, `divided` the numbers of those that are divided by the ideal.
    `known`, shape (R, Q) each, are the sums over judged documents. `documents` holds a table for
    each run, of unjudged documents: the number of the ``query``, ``document`` and ``rank``, from 0.
    `grades`, shape (n,), are those of judged documents, of which query q has ``offsets[q:q + 2]``.
    `empty` is the value where the ideal is 0, and `unseen` the number of further documents of each
    query, which no run shows.
    """

    metrics: Mapping[int, DCG]
    divided: Set[int]
    known: Mapping[int, Floats]
    documents: Sequence[PolarsFrame]
    offsets: Integers
    grades: Integers
    empty: float
    unseen: int

    @classmethod
    def of(
        cls,
        offsets: Integers,
        grades: Integers,
        runs: Sequence[Run],
        lists: Sequence[Lists],
        metrics: Mapping[int, ListMetric],
        divided: Set[int],
        empty: float,
        unseen: int,
    ) -> Self:
        """Return what whole lists of runs show, under the metrics that are DCGs."""
        dcgs = {m: metric for m, metric in metrics.items() if isinstance(metric, DCG)}
        known = {m: np.array([one.values(dcg, 0.0) for one in lists]) for m, dcg in dcgs.items()}
        documents = [_unjudged(*both) for both in zip(runs, lists, strict=True)]
        return cls(dcgs, divided, known, documents, offsets, grades, empty, unseen)

    @property
    def notes(self) -> tuple[str, str]:
        """What the least and the most are, and the share that is judged."""
        further = f", and {self.unseen} more of each query," if self.unseen else ""
        return (
            f"least and most: what a value can be once all documents that the runs show{further} "
            "are judged, whatever their grades",
            "judged: the share of the positions looked at whose document is judged",
        )

    def values(self, r: int, m: int) -> Floats:
        """Return the least and the most of run r's values under metric m, shape (Q, 2)."""
        if m not in self.metrics:
            return np.full((len(self.offsets) - 1, 2), np.nan)
        return self._ends(m, self.known[m][r], self.documents[r], self.empty)

    def differences(self, r: int, b: int, m: int) -> Floats:
        """Return the least and the most of the values of run r less those of run b, (Q, 2)."""
        both = self.documents[r].join(
            self.documents[b],
            on=["query", "document"],
            how="full",
            coalesce=True,
            maintain_order="left_right",
        )
        return self._ends(m, self.known[m][r] - self.known[m][b], both, 0.0)

    def _ends(self, m: int, known: Floats, documents: PolarsFrame, empty: float) -> Floats:
        """Return the least and the most by query; the column ``rank_right`` counts against."""
        # weights of the documents, query by query
        metric, documents = self.metrics[m], documents.sort("query", maintain_order=True)
        discounts, weights = np.append(metric.discounts, 0.0), np.zeros(len(documents))
        for name, sign in (("rank", 1.0), ("rank_right", -1.0)):
            if name in documents.columns:
                rank = documents[name].fill_null(metric.depth).to_numpy()
                weights += sign * discounts[np.minimum(rank, metric.depth)]
        starts = np.searchsorted(documents["query"].to_numpy(), np.arange(len(known) + 1))

        # those that no run shows come last
        ends = np.empty((len(known), 2))
        for q, (start, end) in enumerate(pairwise(starts.tolist())):
            shown_or_not = np.append(weights[start:end], np.zeros(self.unseen))
            grades = self.grades[self.offsets[q] : self.offsets[q + 1]]
            counts = np.bincount(grades, minlength=metric.n_grades)
            query = OpenQuery(metric, float(known[q]), shown_or_not, counts)
            ends[q] = query.ratios(empty) if m in self.divided else query.sums()
        return ends


def _unjudged(run: Run, lists: Lists) -> PolarsFrame:
    """Return the documents of a run that are not judged, with their query's number and rank."""
    import polars as pl

    rows = lists.grades < 0
    columns = {"query": lists.query[rows], "rank": lists.rank[rows]}
    return pl.DataFrame(columns | {"document": run.frame["document"][lists.rows[rows]]})


@dataclass(frozen=True)
class OpenQuery:
    """A query with u unjudged documents, or the difference of two rankings of it.

    The value is `known` plus the weights, shape (u,), times the gains of the unjudged documents:
    weights are discounts, or differences of discounts, and 0 where a document is not looked at.
    `counts`, shape (L,), are the numbers of judged documents by grade.
    """

    metric: DCG
    known: float
    weights: Floats
    counts: Integers

    def sums(self) -> tuple[float, float]:
        """Return the least and the most of the value."""
        each = np.outer(self.weights, self.metric.gains)
        return self.known + each.min(axis=1).sum(), self.known + each.max(axis=1).sum()

    def ratios(self, empty: float = 0.0) -> tuple[float, float]:
        """Return the least and the most of the value over the ideal, `empty` where this is 0."""
        return -self._largest(-1.0, -empty), self._largest(1.0, empty)

    @cached_property
    def levels(self) -> Floats:
        """The different gains, from the least."""
        return np.unique(self.metric.gains)

    @cached_property
    def _ideal(self) -> tuple[float, Floats, bool]:
        """The ideal: a constant, and a row of u + 1 sums for each gain but the least.

        The last entry tells whether the ideal is positive whatever the grades.
        """
        depth, gains = self.metric.depth, np.maximum(self.levels, 0.0)
        best = np.append(0.0, np.cumsum(-np.sort(-self.metric.discounts)))

        # judged documents of at least each gain
        at = np.searchsorted(self.levels, self.metric.gains)
        above = np.bincount(at, self.counts, len(gains))[::-1].cumsum()[::-1].astype(np.intp)
        numbers = above[1:, None] + np.arange(len(self.weights) + 1)
        sums = np.diff(gains)[:, None] * best[np.minimum(numbers, depth)]

        # documents with the least gain fill the rest
        constant = float(gains[0] * best[-1])
        return constant, sums, constant > 0 or bool(above[gains > 0].any())

    def _largest(self, sign: float, empty: float) -> float:
        """Return the largest of `sign` times the value over the ideal; `empty` where this is 0."""
        constant, ideal, is_positive = self._ideal
        levels, u = self.levels, len(self.weights)
        if levels[-1] <= 0 or not (is_positive or u):
            return empty

        # sums of the largest weights, which better grades have
        sums = np.append(0.0, np.cumsum(-np.sort(-sign * self.weights)))
        start = sign * self.known + levels[0] * sums[-1]
        values = np.diff(levels)[:, None] * sums

        # without a judged document of positive gain, one of the unjudged ones has it, or the ideal
        # is 0
        least = 0 if is_positive else int(np.argmax(levels > 0))
        ratio = -np.inf
        while True:
            factor = 0.0 if np.isinf(ratio) else ratio
            path = _highest(values - factor * ideal, least)
            rows = np.arange(len(path))
            found = (start + values[rows, path].sum()) / (constant + ideal[rows, path].sum())
            if found <= ratio + 1e-15 * abs(ratio):
                return float(max(ratio, found) if is_positive else max(ratio, found, empty))
            ratio = float(found)


def _highest(values: Floats, least: int) -> Integers:
    """Return the column of each row at which values sum to most, where columns never rise.

    If `least` is positive, the column of that row, counted from 1, is not 0.
    """
    n, size = values.shape
    columns = np.arange(size)
    total = np.zeros(size)
    best = np.empty((n, size), np.intp)
    for row in range(n - 1, -1, -1):
        # the best column of this row, at most each one, given that of the rows below
        total = total + values[row]
        if row == least - 1:
            total[0] = -np.inf
        peak = np.maximum.accumulate(total)
        best[row] = np.maximum.accumulate(np.where(total == peak, columns, 0))
        total = peak

    # from the first row, which may have any column
    path = np.empty(n, np.intp)
    at = size - 1
    for row in range(n):
        at = path[row] = best[row, at]
    return path
