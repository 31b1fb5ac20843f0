"""Samples of about n rows that stand for all: those on which evenly spaced marks of weight fall."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Self, TypeAlias

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.logs.unique_rows import packed, unique_rows

SAMPLE = 1 << 15
"""Number of pairs in a sample of a log: up to twice as many are not sampled."""

Marks: TypeAlias = tuple[float, float, int]
"""Where a part of a log begins, in rows of the mean weight, that weight, and the step of marks."""


def marks_of_parts(
    n: int, sizes: Sequence[float] | Floats, weights: Sequence[float] | Floats
) -> list[Marks]:
    """Return the marks of each part of a log, about n in all, given the parts' sizes and weights.

    There are at least n and fewer than 2n, one for every so many rows of mean weight, or one a row
    if there are fewer rows than 2n. Where all weights are equal, the first row has a mark.
    """
    n_rows = int(sum(sizes))
    mean = sum(weights) / max(n_rows, 1)
    starts = (np.cumsum(weights) - weights) / (mean or 1.0)
    return [(start, mean, n_rows // n) for start in starts.tolist()]


def joined(parts: Sequence[Any]) -> Any:
    """Return the rows of parts of one kind; what is one for all rows of a part is repeated."""
    columns = {}
    for column in fields(parts[0]):
        values = [getattr(part, column.name) for part in parts]
        if isinstance(values[0], np.ndarray):
            shapes = [(len(part), *values[0].shape[1:]) for part in parts]
            columns[column.name] = np.concatenate([*map(np.broadcast_to, values, shapes)])
    return parts[0].changed(**columns)


class Weighted:
    """Mixin of rows with weights, of which `at` returns some: samples of them by weight.

    The weights, shape (n,), (1,) where all are equal, or None where all are 1, are in `weight`. Of
    the fields of a dataclass, arrays of n entries are columns; the others hold for all rows.
    """

    weight: Any

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def weights(self) -> Floats:
        """The weight of each row, shape (n,)."""
        weight = 1.0 if self.weight is None else self.weight
        return np.ascontiguousarray(np.broadcast_to(weight, len(self)))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def changed(self, **values: Any) -> Self:
        """Return the rows with other values in place of their own."""
        return replace(self, **values)  # type: ignore[type-var]

    def at(self, rows: Any, **values: Any) -> Self:
        """Return some rows, copied, with other values in place of their own."""
        for column in fields(self):  # type: ignore[arg-type]
            own = getattr(self, column.name)
            if isinstance(own, np.ndarray) and len(own) == len(self):
                values.setdefault(column.name, own[rows])
        return self.changed(**values)

    def thinned(self, n: int) -> Self:
        """Return about `n` of the rows, at least n and fewer than 2n, which stand for all.

        Fewer than 2n rows stand for themselves.
        """
        return self.marked(marks_of_parts(n, [len(self)], [self.total_weight])[0])

    def merged(self, *, in_order: bool = False) -> Self:
        """Return the distinct rows, weights added, sorted or in order of first appearance."""
        # what tells rows apart, as integers
        keys = []
        for column in fields(self):  # type: ignore[arg-type]
            values = getattr(self, column.name)
            if column.name == "weight" or not isinstance(values, np.ndarray):
                continue
            if values.ndim == 2:
                keys.append(packed(values))
            elif len(values) == len(self):
                keys.append(values.astype(np.float64).view(np.int64))

        # the first of each kind, with the weight of all
        _, at, number = unique_rows(np.column_stack(keys))
        order = np.argsort(at) if in_order else np.arange(len(at))
        weight = np.bincount(number, self.weights, len(at))
        return self.at(at[order], weight=weight[order])

    def marked(self, marks: Marks) -> Self:
        """Return the rows that hold marks.

        A row of the mean weight is one long. The first mark is in the middle of such a row, and the
        others stand a step apart. A heavy row can hold several marks, and counts as often; each
        stands for the mean weight. If the step is below 2, each row is its own.
        """
        start, mean, step = marks
        if step < 2:
            return self

        # how many marks each row holds
        ends = start + np.append(0.0, np.cumsum(self.weights)) / mean
        hits = np.diff(np.maximum(np.ceil((ends - 0.5) / step), 0))
        rows = np.flatnonzero(hits)
        return self.at(rows, weight=hits[rows] * mean)
