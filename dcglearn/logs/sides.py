"""How often raters name each of the two sides: some always name one, whatever the lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.added import AddedByField, Tally
from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.validation import Flags

FEWEST_VERDICTS = 10
"""A rater with fewer decided verdicts is not said to name always one side."""

ONE_SIDED_LEVEL = 0.001
"""False-positive rate of the test that a log has raters who always name one side."""


@dataclass(frozen=True)
class Sides(AddedByField):
    """How often raters name a list, and how often the one shown second; parts add with ``+``."""

    verdicts: Tally
    second: Tally

    @classmethod
    def of(cls, rater: NDArray[Any], second: Flags) -> Self:
        """Return the counts by rater of decided verdicts; `second` tells which name the second."""
        raters, number = np.unique(rater, return_inverse=True)
        n, n_second = (np.bincount(number, of).astype(float) for of in (None, second))
        return cls(Tally(raters, n), Tally(raters, n_second))

    @property
    def one_sided(self) -> Flags:
        """Which raters always name one side, but for 5% of their verdicts."""
        n, second = self.verdicts.weight, self.second.weight
        return (np.minimum(second, n - second) <= 0.05 * n) & (n >= FEWEST_VERDICTS)

    def always_one(self) -> NDArray[Any]:
        """Return the raters who always name one side, beyond chance, though the others name both.

        The rest of the raters say how often that side is named where lists matter; a one-sided
        binomial test.
        """
        n, second = self.verdicts.weight, self.second.weight
        lone, raters = self.one_sided, self.verdicts.values
        if not lone.any() or n[~lone].sum() < FEWEST_VERDICTS:
            return raters[:0]

        # how often the others name the second list
        share = (second[~lone].sum() + 0.5) / (n[~lone].sum() + 1)
        is_second = 2 * second > n
        expected = np.where(is_second, share, 1 - share)

        # chance to name one side that often
        named = np.where(is_second, second, n - second)
        chance = binomial_tail(named, n, expected)
        return raters[lone & (chance <= ONE_SIDED_LEVEL / len(n))]
