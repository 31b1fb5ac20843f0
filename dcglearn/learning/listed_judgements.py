"""Judgements that share few lists, such as all pairs of rated lists: what a list is worth is
computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.threads import CHUNK, MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Grades
from dcglearn.kernels.library import Bound
from dcglearn.learning.judgement_kernel import CURVATURE, VALUE, bound_log, listed_sums
from dcglearn.learning.list_kernel import add_curvatures, fill_factors, fill_values, spread_slopes
from dcglearn.learning.pair_loss import JudgedPairs, LossSums, Points, with_unknown
from dcglearn.logs.unique_rows import list_numbers

SHARED, MOST_LISTS = 8, 1 << 14
"""Lists are worth numbering where there are at least so many judgements to a list, and at most so
many lists: what they are worth at each point is in memory at once."""


@dataclass(frozen=True)
class ListedJudgements(JudgedPairs):
    """Judgements by the `numbers`, int32, shape (2, n), of their m distinct `lists`, shape (m,
    K).
    """

    lists: Grades = field(kw_only=True)
    numbers: NDArray[np.int32] = field(kw_only=True)

    @classmethod
    def of(cls, judgements: JudgedPairs) -> ListedJudgements:
        """Return the judgements with the numbers of their lists."""
        numbers = np.stack(list_numbers(judgements.first, judgements.second)).astype(np.int32)
        lists = np.empty((int(numbers.max()) + 1, judgements.first.shape[1]), np.int8)
        lists[numbers[0]], lists[numbers[1]] = judgements.first, judgements.second
        return cls(*judgements.arrays, lists=lists, numbers=numbers)

    def every(self, step: int, first: int = 0) -> JudgedPairs:
        """Return every `step`-th pair, from `first` on, copied."""
        rows = np.arange(first, len(self), step)
        return self.at(rows) if len(rows) >= SHARED * len(self.lists) else super().at(rows)

    def at(self, rows: NDArray[np.intp]) -> ListedJudgements:
        """Return the judgements in some rows, copied."""
        return ListedJudgements(
            *super().at(rows).arrays, lists=self.lists, numbers=self.numbers[:, rows]
        )

    def list_keys(self) -> tuple[NDArray[Any], ...]:
        """Return columns that are equal where the lists of two judgements are."""
        return tuple(self.numbers)

    @cached_property
    def bound(self) -> Bound:
        """The columns as the kernel takes them, with the numbers of the lists."""
        return bound_log(
            (self.numbers[0], self.numbers[1]), self.level, self.rater, self.weight, self.way
        )

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points; the second derivatives are of a DCG and one judge
        without bias.
        """
        gains, discounts, thresholds, judges = (
            points.gains,
            points.discounts,
            points.thresholds,
            points.judges,
        )
        (n, n_grades), (m, depth), n_judges = gains.shape, self.lists.shape, points.errors.shape[1]
        stops = np.zeros((n, n_grades)) if points.stops is None else points.stops
        best = np.zeros(n) if points.best is None else points.best
        tables = with_unknown(gains), discounts, with_unknown(stops), best
        values = np.empty((n, m))
        fill_values(self.lists, *tables, values)
        n_sloped, n_curved, size = m * (order > VALUE), m * (order == CURVATURE), n_grades + depth
        factors = np.zeros((n, n_curved, size))
        if n_curved:
            fill_factors(self.lists, *tables[:2], factors)

        def part(_: int, start: int, stop: int) -> list[Floats]:
            of_lists = values, factors
            return listed_sums(
                self.bound, (start, stop), of_lists, (thresholds, judges), n_judges, kind, order
            )

        n_chunks = min(MAX_CHUNKS, -(-len(self) // CHUNK), max(MAX_CHUNKS * MOST_LISTS // m, 1))
        chunks = in_chunks(part, len(self), n_chunks)
        totals = reduce(lambda one, other: list(map(np.add, one, other)), chunks)
        loss, of_lists, of_thresholds, of_judges, judges_twice, with_error, curvatures, products = (
            totals
        )
        moment, of_best = np.zeros((n, depth, n_grades + 1)), np.zeros(n)
        of_stops = np.zeros((n, 0 if points.stops is None else n_grades + 1))
        if n_sloped:
            spread_slopes(self.lists, of_lists, *tables, moment, of_stops, of_best)
        n_all = size + thresholds.shape[1] if n_curved else 0
        joint, crossed, coupled = (
            np.zeros((n, n_all, n_all)),
            np.zeros((n, n_judges, n_all)),
            np.zeros((n, 0)),
        )
        if n_curved:
            add_curvatures(with_error, curvatures, factors, crossed, joint)
            joint[:, :size, :size] -= products + products.transpose(0, 2, 1)
        further = of_stops[:, 1:] if points.best is None else of_best[:, None]
        moment = np.ascontiguousarray(moment[:, :, 1:])
        return LossSums(
            loss, moment, of_thresholds, of_judges, joint, crossed, judges_twice, coupled, further
        )
