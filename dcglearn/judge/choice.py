"""The most telling pair: unlike what was asked before, and near a tie under the DCG learned so far.

The criterion is that of `dcglearn.trust.next_pairs`, for candidates that are told apart by more than their grades.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.logs.preference_pairs import encode
from dcglearn.trust.next_pairs import NEAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcglearn.foundation.arrays import Floats, Grades, Integers
    from dcglearn.metric.dcg import DCG

MOST_COMPARED = 20_000
"""Candidates that are compared for one choice; of more, this many are drawn."""


class Chooser:
    """Chooses among candidate pairs, int8 of shape (m, 2, K).

    Parameters
    ----------
    lists : ndarray of int8, shape (m, 2, K)
        The candidates.
    n_grades : int
        L.
    active : bool
        Whether to choose the most telling pair; otherwise one at random.
    seed : int
        Seed of all draws.
    """

    def __init__(self, lists: Grades, n_grades: int, *, active: bool = True, seed: int | None = None) -> None:
        self._lists, self._n_grades, self._active = lists, n_grades, active
        self._rng = np.random.default_rng(seed)

    def choose(self, allowed: Integers, dcg: DCG, asked: Grades) -> int:
        """Return one of the allowed candidates, given by number, for a log of the pairs asked so far, (n, 2, K)."""
        if len(allowed) > MOST_COMPARED:
            allowed = self._rng.choice(allowed, MOST_COMPARED, replace=False)
        if not self._active:
            return int(self._rng.choice(allowed))
        pairs = self._lists[allowed]
        rows, before = self._differences(pairs), self._differences(asked)
        information = 0.1 * np.eye(rows.shape[1]) + before.T @ before
        variance = ((rows @ np.linalg.inv(information)) * rows).sum(axis=1)
        difference = np.abs(dcg.score(pairs[:, 0]) - dcg.score(pairs[:, 1]))
        near = difference + NEAR * max(float(np.sqrt(np.mean(difference**2))), 1e-12)
        value = np.sqrt(np.maximum(variance, 0.0)) / near
        best = np.flatnonzero(value >= value.max() * (1 - 1e-9))
        return int(allowed[self._rng.choice(best)])

    def left_is_a(self) -> bool:
        """Draw which list stands on the left."""
        return bool(self._rng.random() < 0.5)

    def _differences(self, pairs: Grades) -> Floats:
        d = encode(pairs[:, 0], self._n_grades).astype(np.float64) - encode(pairs[:, 1], self._n_grades)
        return d.reshape(len(d), d.shape[1] * d.shape[2])


def fewest(numbers: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return the numbers whose counts are lowest."""
    least = min(counts)
    return [number for number, count in zip(numbers, counts, strict=True) if count == least]
