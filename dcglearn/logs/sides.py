"""How often raters name each of the two sides: some always name one, whatever the lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.validation import Flags

FEWEST_VERDICTS = 10
"""A rater with fewer decided verdicts is not said to name always one side."""

ONE_SIDED_LEVEL = 0.001
"""False-positive rate of the test that a log has raters who always name one side."""


@dataclass(frozen=True)
class Sides:
    """How often raters name a list, and the one shown second, shape (R,); parts add with ``+``."""

    raters: NDArray[Any]
    second: Any
    n: Any

    def __add__(self, other: Self) -> Self:
        columns = zip(vars(self).values(), vars(other).values(), strict=True)
        return self.of(*map(np.concatenate, columns))

    @classmethod
    def of(cls, rater: NDArray[Any], second: Any, n: Any = None) -> Self:
        """Return the counts by rater of decided verdicts, or of `n` at once.

        `second` tells which of these, or how many, name the second list.
        """
        raters, number = np.unique(rater, return_inverse=True)
        return cls(raters, np.bincount(number, second), np.bincount(number, n))

    @property
    def one_sided(self) -> Flags:
        """Which raters always name one side, but for 5% of their verdicts."""
        is_rare = np.minimum(self.second, self.n - self.second) <= 0.05 * self.n
        return is_rare & (self.n >= FEWEST_VERDICTS)

    def always_one(self) -> NDArray[Any]:
        """Return the raters who always name one side, beyond chance, though the others name both.

        The rest of the raters say how often that side is named where lists matter; a one-sided
        binomial test.
        """
        lone = self.one_sided
        if not lone.any() or self.n[~lone].sum() < FEWEST_VERDICTS:
            return self.raters[:0]

        # how often the others name the second list
        share = (self.second[~lone].sum() + 0.5) / (self.n[~lone].sum() + 1)
        is_second = 2 * self.second > self.n
        expected = np.where(is_second, share, 1 - share)

        # chance to name one side that often
        named = np.where(is_second, self.second, self.n - self.second)
        chance = binomial_tail(named, self.n, expected)
        return self.raters[lone & (chance <= ONE_SIDED_LEVEL / len(self.n))]
