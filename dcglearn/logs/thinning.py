"""Samples of about n rows that stand for all: those on which evenly spaced marks of weight fall."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from dcglearn.foundation.validation import Floats, Integers


@dataclass(frozen=True)
class Marks:
    """Marks on the weight of rows in a row, one for every `step` rows of mean weight.

    Where all weights are equal, the marks fall on every `step`-th row, from the first on. A heavy
    row can hold several, and counts as often. `mean` is the mean weight; the weights of the rows
    before a part of a log add to `before`, and to `after` with its own.
    """

    step: int
    mean: float
    before: float
    after: float

    def rows(self, weight: Floats) -> tuple[Integers, Floats]:
        """Return the rows that hold marks, of n with weights, shape (n,), and their new weights."""
        if self.step == 1:
            return np.arange(len(weight)), weight.copy()

        # the row that each mark falls on
        ends = np.array([self.before, self.after]) / max(self.mean, 1e-300)
        marks = np.arange(*np.ceil((ends - 0.5) / self.step).astype(int))
        places = (marks * self.step + 0.5) * self.mean - self.before
        rows = np.searchsorted(np.cumsum(weight), places, side="right")
        kept, hits = np.unique(np.minimum(rows, len(weight) - 1), return_counts=True)
        return kept.astype(np.int64), (hits * self.mean).astype(np.float64)


def marks_of_parts(
    n: int, sizes: Sequence[float] | Floats, weights: Sequence[float] | Floats
) -> list[Marks]:
    """Return the marks of each part of a log, about n in all, given the parts' sizes and weights.

    There are at least n and fewer than 2n, or one a row if there are fewer rows than 2n.
    """
    n_rows = int(np.sum(sizes))
    mean = float(np.sum(weights)) / max(n_rows, 1)
    ends = np.cumsum([0.0, *weights]).tolist()
    return [Marks(max(n_rows // n, 1), mean, *both) for both in pairwise(ends)]


class Weighted:
    """Mixin of rows with weights, of which `at` returns some: samples of them by weight.

    The weights, shape (n,), (1,) where all are equal, or None where all are 1, are in `weight`. Of
    a dataclass, all fields but keywords are columns, with an entry for each row, or one for all.
    """

    weight: Any

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        if self.weight is None:
            return float(len(self))
        return float(self.weight[0] * len(self) if len(self.weight) == 1 else self.weight.sum())

    def at(self, rows: Any, weight: Any = None) -> Self:
        """Return some rows, copied, with other weights if these are given."""
        rows_of: Any = self
        columns = {}
        for column in fields(rows_of):
            if not column.kw_only:
                values = getattr(self, column.name)
                columns[column.name] = values if values.shape == (1,) else values[rows]
        if weight is not None:
            columns["weight"] = weight
        return replace(rows_of, **columns)

    def thinned(self, n: int) -> Self:
        """Return about `n` of the rows, at least n and fewer than 2n, which stand for all."""
        if len(self) < 2 * n:
            return self
        return self.marked(marks_of_parts(n, [len(self)], [self.total_weight])[0])

    def marked(self, marks: Marks) -> Self:
        """Return the rows that hold marks, copied."""
        weight = np.ones(1) if self.weight is None else self.weight
        rows, weights = marks.rows(np.broadcast_to(weight, len(self)))

        # rows of the mean weight keep it
        if len(weight) == 1 and (marks.step == 1 or math.isclose(weight[0], marks.mean)):
            return self.at(rows)
        return self.at(rows, weights)
