"""The most telling of the candidate pairs, as `dcglearn.trust.next_pairs` measures it; of equals, one at random."""

from __future__ import annotations

import numpy as np

from dcglearn.foundation.validation import Grades, Integers
from dcglearn.metric.dcg import DCG
from dcglearn.trust.next_pairs import MOST_PAIRS, values_of

ROUNDING = 1e-5
"""Values that differ by less than this share are equal, since pairs are compared in single precision."""


class Chooser:
    """Chooses among candidate pairs, int8 of shape (m, 2, K): the most telling one if `active`, else one at random."""

    def __init__(self, lists: Grades, *, active: bool = True, seed: int | None = None) -> None:
        self._lists, self._active, self._rng = lists, active, np.random.default_rng(seed)

    def choose(self, allowed: Integers, dcg: DCG, asked: Grades) -> int:
        """Return one of the allowed candidates, given by number, for a log of the pairs asked so far, (n, 2, K)."""
        if self._active:
            if len(allowed) > MOST_PAIRS:
                allowed = self._rng.choice(allowed, MOST_PAIRS, replace=False)
            value = values_of(self._lists[allowed], asked, dcg)
            allowed = allowed[value >= value.max() * (1 - ROUNDING)]
        return int(self._rng.choice(allowed))

    def left_is_a(self) -> bool:
        """Draw which list stands on the left."""
        return bool(self._rng.random() < 0.5)
