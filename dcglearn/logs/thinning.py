"""Samples of about n rows that stand for all: those on which evenly spaced marks of weight fall."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from dcglearn.foundation.validation import Floats, Integers


@dataclass(frozen=True)
class Marks:
    """Evenly spaced marks on the weight of the rows of a part of a log.

    A row of the `mean` weight is one long. The first mark is in the middle of such a row, and the
    others stand `step` apart; the part begins at `start`. A heavy row can hold several marks, and
    counts as often; each stands for the mean weight. If `step` is below 2, each row is its own.
    """

    start: float
    mean: float
    step: int

    def rows(self, weight: Floats) -> tuple[Integers, Floats]:
        """Return the rows that hold marks, of n with weights, shape (n,), and their new weights."""
        if self.step < 2:
            return np.arange(len(weight)), weight.copy()
        ends = self.start + np.append(0.0, np.cumsum(weight)) / self.mean
        n_before = np.maximum(np.ceil((ends - 0.5) / self.step), 0)
        hits = np.diff(n_before)
        rows = np.flatnonzero(hits)
        return rows, hits[rows] * self.mean


def marks_of_parts(
    n: int, sizes: Sequence[float] | Floats, weights: Sequence[float] | Floats
) -> list[Marks]:
    """Return the marks of each part of a log, about n in all, given the parts' sizes and weights.

    There are at least n and fewer than 2n, one for every so many rows of mean weight, or one a row
    if there are fewer rows than 2n. Where all weights are equal, the first row has a mark.
    """
    n_rows = int(np.sum(sizes))
    mean = float(np.sum(weights)) / max(n_rows, 1)
    starts = (np.cumsum(weights) - weights) / (mean or 1.0)
    return [Marks(start, mean, n_rows // n) for start in starts.tolist()]


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
        """Return the rows that hold marks."""
        if marks.step < 2:
            return self
        weight = np.ones(1) if self.weight is None else self.weight
        rows, weights = marks.rows(np.broadcast_to(weight, len(self)))

        # rows of the mean weight keep it
        if len(weight) == 1 and math.isclose(weight[0], marks.mean):
            return self.at(rows)
        return self.at(rows, weights)
