"""Judgements that share few lists, such as all pairs of rated lists: what a list is worth is computed once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dcglearn.foundation.threads import over_chunks
from dcglearn.learning.judgement_costs import CURVATURE
from dcglearn.learning.judgement_kernel import add_listed_preferences, add_lists, fill_factors
from dcglearn.learning.pair_loss import Judgements, LossSums
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
        """Return the losses at the points, which are likelihoods, with their derivatives; see `Judgements.sums`."""
        n, m = len(points), len(self.lists)
        worths, factors = np.empty((n, m)), np.zeros((n, m, points.gains.shape[1] + self.lists.shape[1]))
        fill_factors(self.lists, points.gains, points.discounts, worths, factors)

        def part(start: int, stop: int) -> _ListSums:
            sums = _ListSums.zeros(n, *factors.shape[1:])
            weight = self.weight[start:stop] if len(self.weight) > 1 else self.weight
            pairs = *self.numbers[:, start:stop], weight
            work = np.zeros((1, 2)), np.zeros(factors.shape[2])
            add_listed_preferences(*pairs, worths, factors, points.errors, order, sums.arrays, work)
            return sums

        total = reduce(_ListSums.__add__, over_chunks(part, len(self)))
        return self._of_lists(total, factors, points, order)

    def _of_lists(self, total: _ListSums, factors: Floats, points: Points, order: int) -> LossSums:
        """Return the sums over judgements from those by list."""
        n, size, n_thresholds = len(factors), factors.shape[2], points.thresholds.shape[1]
        n_all = size + n_thresholds if order == CURVATURE else 0
        joint, crossed = np.zeros((n, n_all, n_all)), np.zeros((n, 1, n_all))
        moment = np.zeros((n, points.discounts.shape[1], points.gains.shape[1]))
        add_lists(self.lists, total.lists, total.across, total.bends, factors, moment, crossed, joint)
        if n_all:
            joint[:, :size, :size] -= total.products + total.products.transpose(0, 2, 1)
        of_thresholds = np.zeros((n, n_thresholds))
        return LossSums(total.loss, moment, of_thresholds, total.errors, joint, crossed, total.errors_twice)


@dataclass(frozen=True)
class _ListSums:
    """The sums of `add_listed_preferences`; parts add with ``+``."""

    loss: Floats
    lists: Floats
    errors: Floats
    errors_twice: Floats
    across: Floats
    bends: Floats
    products: Floats

    @classmethod
    def zeros(cls, n: int, m: int, size: int) -> Self:
        """Return sums over nothing at n points for m lists with so many factors."""
        shapes: list[tuple[int, ...]] = [(n,), (n, m), (n, 1), (n, 1), (n, m), (n, m), (n, size, size)]
        return cls(*map(np.zeros, shapes))

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """The sums as `add_listed_preferences` takes them."""
        return self.loss, self.lists, self.errors, self.errors_twice, self.across, self.bends, self.products

    def __add__(self, other: _ListSums) -> _ListSums:
        return _ListSums(*(getattr(self, x.name) + getattr(other, x.name) for x in fields(self)))
