"""The least and the most that a value can be once the unjudged documents are judged, exactly.

The best ranking of a query depends on how many documents have each grade, not on which. Let m_l be
the number of unjudged documents whose grade has at least the l-th gain: ``u >= m_1 >= m_2 >= ...``.
For given numbers the DCG is largest where better grades stand at larger weights, so that it and the
ideal are sums over l of functions of m_l. A weighted difference of the two is largest along a path
that never rises, which running maxima find; Dinkelbach's method (1967) turns the largest ratio into
a few such differences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from dcglearn.evaluation.kernel import Lists
from dcglearn.foundation.validation import Floats, Integers
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.runs import Run


@dataclass(frozen=True, eq=False)
class Unjudged:
    """What runs show of documents without a judgement, under the metrics that are DCGs, by number.

    `lists` are the whole lists of the runs; metrics that are `divided` are so by the ideal, and
    have the value `empty` where that is 0. `grades`, shape (n,), are those of the judged documents,
    of which query q has ``offsets[q]`` to ``offsets[q + 1]``.
    """

    runs: Sequence[Run]
    lists: Sequence[Lists]
    offsets: Integers
    grades: Integers
    metrics: Mapping[int, Any]
    divided: Collection[int]
    empty: float

    notes: ClassVar = (
        "least and most: what a value can be once all documents that the runs show are judged, "
        "whatever their grades",
        "judged: the share of the positions looked at whose document is judged",
    )

    def ends(self, m: int, run: int, baseline: int | None = None) -> Floats:
        """Return the least and the most of a run's values under metric m, shape (Q, 2).

        With a baseline they are those of the differences from its values.
        """
        import polars as pl

        # what judged documents add up to, and the weight of each other document
        metric, tables = self.metrics[m], []
        known = np.zeros(len(self.offsets) - 1)
        discounts = np.append(metric.discounts, 0.0)
        for r, sign in [(run, 1.0)] if baseline is None else [(run, 1.0), (baseline, -1.0)]:
            lists = self.lists[r]
            known += sign * lists.values(metric, 0.0)

            # documents without a judgement, those below the depth without weight
            rows = lists.grades < 0
            columns = {"query": lists.query[rows]}
            columns["document"] = self.runs[r].frame["document"][lists.rows[rows]]
            columns["weight"] = sign * discounts[np.minimum(lists.rank[rows], metric.depth)]
            tables.append(pl.DataFrame(columns))

        # those of a document that two lists show add up
        of_each = pl.concat(tables).group_by("query", "document", maintain_order=True)
        shown = of_each.sum().sort("query")
        starts = np.searchsorted(shown["query"].to_numpy(), np.arange(len(self.offsets)))

        # query by query; those that no run shows have no weight
        ends = []
        empty = self.empty if baseline is None else 0.0
        places = zip(known, pairwise(starts), pairwise(self.offsets), strict=True)
        for of_known, of_shown, of_judged in places:
            weights = shown["weight"][slice(*of_shown)].to_numpy()
            counts = np.bincount(self.grades[slice(*of_judged)], minlength=metric.n_grades)
            query = OpenQuery(metric, of_known, weights, counts)
            ends.append(query.ratios(empty) if m in self.divided else query.sums())
        return np.array(ends)


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

    def _largest(self, sign: float, empty: float) -> float:
        """Return the largest of `sign` times the value over the ideal; `empty` where this is 0."""
        levels, at = np.unique(self.metric.gains, return_inverse=True)

        # the ideal by the numbers of documents of at least each gain; the least gain fills the rest
        above = np.cumsum(np.bincount(at, self.counts)[::-1])[::-1].astype(np.intp)
        best = np.append(0.0, np.cumsum(-np.sort(-self.metric.discounts)))
        numbers = np.minimum(above[1:, None] + np.arange(len(self.weights) + 1), self.metric.depth)
        ideal = np.diff(np.maximum(levels, 0.0))[:, None] * best[numbers]
        constant = max(levels[0], 0.0) * best[-1]
        least, most = constant + ideal[:, 0].sum(), constant + ideal[:, -1].sum()
        if most <= 0:
            return empty

        # the value, in which better grades have larger weights
        sums = np.append(0.0, np.cumsum(-np.sort(-sign * self.weights)))
        values = np.diff(levels)[:, None] * sums
        start = sign * self.known + levels[0] * sums[-1]

        # without a judged document of positive gain, an unjudged one has it, or the ideal is 0
        ratio = start / least if least > 0 else empty
        if least <= 0:
            values[np.argmax(levels > 0) - 1, 0] = -np.inf

        # from one ratio to the next larger one
        rows = np.arange(len(values))
        while True:
            path = _highest(values - ratio * ideal)
            found = (start + values[rows, path].sum()) / (constant + ideal[rows, path].sum())
            if found <= ratio + 1e-15 * abs(ratio):
                return float(max(ratio, found))
            ratio = found


def _highest(values: Floats) -> Integers:
    """Return the column of each row at which values sum to most, where columns never rise."""
    n, size = values.shape
    total = np.zeros(size)
    best = np.empty((n, size), np.intp)
    for row in range(n - 1, -1, -1):
        # the best column of this row, at most each one, given that of the rows below
        total = total + values[row]
        peak = np.maximum.accumulate(total)
        best[row] = np.maximum.accumulate(np.where(total == peak, np.arange(size), 0))
        total = peak

    # from the first row, which may have any column
    path = np.empty(n, np.intp)
    at = size - 1
    for row in range(n):
        at = path[row] = best[row, at]
    return path
