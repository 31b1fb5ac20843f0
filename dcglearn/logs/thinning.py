"""Samples of about n rows that stand for all: those on which evenly spaced marks of weight fall."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.validation import Floats, Integers


@dataclass(frozen=True)
class Marks:
    """Marks on the weight of rows in a row, one for every `step` rows of mean weight.

    Where all weights are equal, the marks fall on every `step`-th row, from the first on. A heavy
    row can hold several, and counts as often. `mean` is the mean weight; the rows of a part of a
    log hold the marks `first` to `stop`, of which its own weights begin at `before`.
    """

    step: int
    mean: float
    first: int
    stop: int
    before: float = 0.0

    def rows(self, weight: Floats) -> tuple[Integers, Floats]:
        """Return the rows that hold marks, of n with weights, shape (n,), and their new weights."""
        if self.step == 1:
            return np.arange(len(weight)), weight

        # the row that each mark falls on
        places = (np.arange(self.first, self.stop) * self.step + 0.5) * self.mean - self.before
        rows = np.searchsorted(np.cumsum(weight), places, side="right")
        kept, hits = np.unique(np.minimum(rows, len(weight) - 1), return_counts=True)
        return kept, hits * self.mean


def marks_of_parts(n: int, sizes: Sequence[int] | Floats, weights: Sequence[float]) -> list[Marks]:
    """Return the marks of each part of a log, about n in all, given the parts' sizes and weights.

    There are at least n, and fewer than 2n, or one a row if there are fewer rows than 2n.
    """
    n_rows, total = int(np.sum(sizes)), float(np.sum(weights))
    step = max(n_rows // n, 1)
    mean = total / max(n_rows, 1)

    # the first mark at or behind each end
    ends = np.cumsum([0.0, *weights])
    numbers = np.ceil((ends / max(mean, 1e-300) - 0.5) / step).astype(int)
    parts = zip(numbers[:-1], numbers[1:], ends[:-1], strict=True)
    return [Marks(step, mean, int(first), int(stop), float(at)) for first, stop, at in parts]


def thinned_rows(n: int, weight: Floats) -> tuple[Integers, Floats]:
    """Return about n of the rows with weights, shape (m,), that stand for all, and new weights."""
    (marks,) = marks_of_parts(n, [len(weight)], [float(np.sum(weight))])
    return marks.rows(weight)
