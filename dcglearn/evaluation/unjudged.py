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
from typing import Any

import numpy as np

from dcglearn.evaluation.kernel import Lists
from dcglearn.foundation.validation import Floats, Integers, PolarsFrame
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.runs import Run


@dataclass(frozen=True, eq=False)
class Unjudged:
    """What runs show of documents without a judgement, under the metrics that are DCGs, by number.

    `lists` are the whole lists of the runs; metrics that are `divided` are so by the ideal, and
    have the value `empty` where that is 0. `grades`, shape (n,), are those of the judged documents,
    of which query q has ``offsets[q]`` to ``offsets[q + 1]``; `unseen` is the number of further
    documents of each query, which no run shows.
    """

    runs: Sequence[Run]
    lists: Sequence[Lists]
    offsets: Integers
    grades: Integers
    metrics: Mapping[int, Any]
    divided: Collection[int]
    empty: float
    unseen: int

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
        return self._ends(m, {r: 1.0}, self.empty)

    def differences(self, r: int, b: int, m: int) -> Floats:
        """Return the least and the most of the values of run r less those of run b, (Q, 2)."""
        return self._ends(m, {r: 1.0, b: -1.0}, 0.0)

    def _ends(self, m: int, signs: Mapping[int, float], empty: float) -> Floats:
        """Return the least and the most of a sum of runs, each with its sign, shape (Q, 2)."""
        import polars as pl

        # what judged documents add up to, and the weight of each other document
        metric, n_queries = self.metrics[m], len(self.offsets) - 1
        parts = [sign * self.lists[r].values(metric, 0.0) for r, sign in signs.items()]
        known = np.sum(parts, axis=0)
        shown = pl.concat([self._shown(r, metric, sign) for r, sign in signs.items()])
        shown = shown.group_by("query", "document", maintain_order=True).sum().sort("query")
        starts = np.searchsorted(shown["query"].to_numpy(), np.arange(n_queries + 1))

        # query by query; those that no run shows have no weight
        ends = np.empty((n_queries, 2))
        places = zip(pairwise(starts), pairwise(self.offsets), strict=True)
        for q, (of_shown, of_judged) in enumerate(places):
            weights = np.append(shown["weight"][slice(*of_shown)], np.zeros(self.unseen))
            counts = np.bincount(self.grades[slice(*of_judged)], minlength=metric.n_grades)
            query = OpenQuery(metric, float(known[q]), weights, counts)
            ends[q] = query.ratios(empty) if m in self.divided else query.sums()
        return ends

    def _shown(self, r: int, metric: DCG, sign: float) -> PolarsFrame:
        """Return the unjudged documents of a run: number of the query, document and weight."""
        import polars as pl

        lists = self.lists[r]
        rows = lists.grades < 0
        rank = np.minimum(lists.rank[rows], metric.depth)
        weight = sign * np.append(metric.discounts, 0.0)[rank]
        documents = self.runs[r].frame["document"][lists.rows[rows]]
        return pl.DataFrame({"query": lists.query[rows], "document": documents, "weight": weight})


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
        u, depth = len(self.weights), self.metric.depth

        # the ideal by the numbers of documents of at least each gain; the least gain fills the rest
        above = np.cumsum(np.bincount(at, self.counts)[::-1])[::-1].astype(np.intp)
        best = np.append(0.0, np.cumsum(-np.sort(-self.metric.discounts)))
        numbers = np.minimum(above[1:, None] + np.arange(u + 1), depth)
        ideal = np.diff(np.maximum(levels, 0.0))[:, None] * best[numbers]
        constant = max(levels[0], 0.0) * best[-1]
        is_positive = constant > 0 or bool(above[levels > 0].any())
        if levels[-1] <= 0 or not (is_positive or u):
            return empty

        # the value, in which better grades have larger weights
        sums = np.append(0.0, np.cumsum(-np.sort(-sign * self.weights)))
        values = np.diff(levels)[:, None] * sums
        start = sign * self.known + levels[0] * sums[-1]

        # without a judged document of positive gain, an unjudged one has it, or the ideal is 0
        least = 0 if is_positive else int(np.argmax(levels > 0))
        rows, ratio = np.arange(len(values)), -np.inf
        while True:
            factor = 0.0 if np.isinf(ratio) else ratio
            path = _highest(values - factor * ideal, least)
            found = (start + values[rows, path].sum()) / (constant + ideal[rows, path].sum())
            if found <= ratio + 1e-15 * abs(ratio):
                return float(max(ratio, found) if is_positive else max(ratio, found, empty))
            ratio = found


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
