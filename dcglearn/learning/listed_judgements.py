"""Judgements of few lists, such as all pairs of rated lists: a list's value is computed once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.threads import CHUNK, MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Grades, Indices
from dcglearn.kernels.library import Bound
from dcglearn.learning.judgement_kernel import CURVATURE, VALUE, bound_log, listed_sums
from dcglearn.learning.list_kernel import add_curvatures, list_factors, list_slopes, list_values
from dcglearn.learning.pair_loss import JudgedPairs, LossSums, Points
from dcglearn.logs.unique_rows import list_numbers

FEWEST_SHARED = 8
"""Lists are numbered where there are at least this many judgements to a list."""

MOST_LISTS = 1 << 14
"""Largest number of lists whose values at each point are held in memory at once."""


@dataclass(frozen=True)
class ListedJudgements(JudgedPairs):
    """Judgements by the `numbers`, (2, n), int32, of their m distinct `lists`, (m, K)."""

    lists: Grades = field(kw_only=True)
    numbers: NDArray[np.int32] = field(kw_only=True)

    @classmethod
    def of(cls, judgements: JudgedPairs) -> ListedJudgements:
        """Return the judgements with the numbers of their lists."""
        numbers = np.stack(list_numbers(judgements.first, judgements.second)).astype(np.int32)
        lists = np.empty((int(numbers.max()) + 1, judgements.first.shape[1]), np.int8)
        lists[numbers[0]], lists[numbers[1]] = judgements.first, judgements.second
        return cls(*judgements.arrays, lists=lists, numbers=numbers)

    def thinned(self, n: int) -> Any:
        """Return about `n` judgements that stand for all, without lists that few of them share."""
        few = super().thinned(n)
        return few if len(few) >= FEWEST_SHARED * len(self.lists) else JudgedPairs(*few.arrays)

    def at(self, rows: Indices, weight: Floats | None = None) -> Self:
        """Return the judgements in some rows, copied."""
        return replace(super().at(rows, weight), numbers=self.numbers[:, rows])

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
        """Return the losses at the points, with curvature for a DCG and one judge without bias."""
        n_judges = points.errors.shape[1]
        (n, n_grades), (m, depth) = points.gains.shape, self.lists.shape
        size = n_grades + depth
        curved = order == CURVATURE

        # value of each list, once
        tables = points.tables
        values = list_values(self.lists, *tables)
        factors = list_factors(self.lists, *tables) if curved else np.zeros((n, 0, size))

        how = n_judges, kind, order, values, factors, points.thresholds, points.judges

        def part(_: int, start: int, stop: int) -> Any:
            return listed_sums(self.bound.address, start, stop, *how)

        # sums by list: more chunks need more memory, as each has sums for all lists
        n_chunks = min(MAX_CHUNKS, -(-len(self) // CHUNK), max(MAX_CHUNKS * MOST_LISTS // m, 1))
        chunks = in_chunks(part, len(self), n_chunks)
        totals = reduce(lambda one, other: list(map(np.add, one, other)), chunks)
        loss, of_values, of_thresholds, of_judges, judges_twice, *second = totals

        # slopes in the parameters
        moment = np.zeros((n, depth, n_grades))
        if order > VALUE:
            moment = list_slopes(self.lists, of_values, tables)

        # second derivatives in the parameters
        n_all = size + points.thresholds.shape[1] if curved else 0
        joint, crossed = np.zeros((n, n_all, n_all)), np.zeros((n, n_judges, n_all))
        if curved:
            with_error, curvatures, products = second
            add_curvatures(with_error, curvatures, factors, crossed, joint)
            joint[:, :size, :size] -= products + products.transpose(0, 2, 1)
        slopes = moment, of_thresholds, of_judges
        return LossSums(loss, *slopes, joint, crossed, judges_twice, coupled=np.zeros((n, 0)))
