"""Judgements that share few lists, such as all pairs of rated lists: what a list is worth is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.threads import over_chunks
from dcglearn.learning.judgement_kernel import CURVATURE, add_listed_judgements, add_lists, fill_factors
from dcglearn.learning.pair_loss import Judgements, LossSums, read_only
from dcglearn.logs.unique_rows import list_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.learning.pair_loss import Points


SHARED, MOST_LISTS = 8, 1 << 14
"""Lists are worth numbering where there are at least so many judgements to a list, and at most so many lists: what they
are worth at each point is in memory at once."""


@dataclass(frozen=True)
class ListedJudgements(Judgements):
    """Preferences of one judge without strengths, in a log without ties, and the numbers of their lists.

    `lists` are the m distinct lists, shape (m, K), `numbers` those of the first and the second list, int32, shape
    (2, n).
    """

    lists: Grades
    numbers: NDArray[np.int32]

    @classmethod
    def of(cls, judgements: Judgements) -> ListedJudgements:
        """Return the judgements with the numbers of their lists."""
        numbers = np.stack(list_numbers(judgements.first, judgements.second)).astype(np.int32)
        lists = np.empty((int(numbers.max()) + 1, judgements.first.shape[1]), np.int8)
        lists[numbers[0]], lists[numbers[1]] = judgements.first, judgements.second
        columns: list[Any] = [*judgements.arrays, lists, numbers]
        return cls(*columns)

    def every(self, step: int, first: int = 0) -> Judgements:
        """Return every `step`-th pair, from `first` on, copied."""
        plain = super().every(step, first)
        if len(plain) < SHARED * len(self.lists):
            return plain
        columns: list[Any] = [*plain.arrays, self.lists, self.numbers[:, first::step].copy()]
        return ListedJudgements(*columns)

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points with their derivatives; see `Judgements.sums`."""
        n, m = len(points), len(self.lists)
        values, factors = np.empty((n, m)), np.zeros((n, m, points.gains.shape[1] + self.lists.shape[1]))
        fill_factors(self.lists, points.gains, points.discounts, values, factors)
        n_thresholds, n_raters, size = points.thresholds.shape[1], points.errors.shape[1], factors.shape[2]

        def part(start: int, stop: int) -> tuple[Floats, ...]:
            judged = read_only((*self.numbers, self.level, self.rater, self.weight), slice(start, stop))
            by_list, by_rater = (n, m), (n, n_raters)
            shapes: list[tuple[int, ...]] = [(n,), by_list, (n, n_thresholds), by_rater, by_rater, by_list, by_list]
            sums = tuple(map(np.zeros, [*shapes, (n, size, size)]))
            work = np.zeros((n_raters, 2)), np.zeros(size)
            add_listed_judgements(judged, values, factors, points.thresholds, points.errors, kind, order, sums, work)
            return sums

        totals = reduce(lambda one, other: tuple(map(np.add, one, other)), over_chunks(part, len(self)))
        loss, of_lists, of_thresholds, of_errors, errors_twice, with_error, curvatures, products = totals
        n_all = size + n_thresholds if order == CURVATURE else 0
        joint, crossed = np.zeros((n, n_all, n_all)), np.zeros((n, n_raters, n_all))
        moment = np.zeros((n, points.discounts.shape[1], points.gains.shape[1]))
        add_lists(self.lists, of_lists, with_error, curvatures, factors, moment, crossed, joint)
        if n_all:
            joint[:, :size, :size] -= products + products.transpose(0, 2, 1)
        return LossSums(loss, moment, of_thresholds, of_errors, joint, crossed, errors_twice)
