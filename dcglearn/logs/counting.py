"""Counts over the pairs of a log: contradictions, and how far a metric agrees with the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.logs.unique_rows import list_numbers, pair_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.logs.columns import Columns


TIE_TOLERANCE = 1e-12
"""Two scores are equal if they differ by at most this share of the largest score."""


class Metric(Protocol):
    """Anything that scores graded lists: a `DCG`, a `Utility`."""

    def score(self, lists: ArrayLike) -> Floats:
        """Return one value per list; more is better."""


@dataclass(frozen=True)
class Agreement:
    """Weights of the pairs that a metric orders as the log does, ties, and reverses; parts of a log add with ``+``."""

    respected: float
    tied: float
    violated: float

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.respected + other.respected, self.tied + other.tied, self.violated + other.violated)

    @property
    def total(self) -> float:
        """Weight of all pairs."""
        return self.respected + self.tied + self.violated

    @property
    def share(self) -> float:
        """Share of preferences respected; a tie of the metric counts half."""
        return (self.respected + 0.5 * self.tied) / self.total

    @property
    def precision(self) -> float:
        """Share of preferences respected; a tie of the metric counts 0, as in Zhou et al. 2008, section 6.2."""
        return self.respected / self.total

    def __str__(self) -> str:
        return f"{self.share:.4f} ({self.respected:g} of {self.total:g} respected, {self.tied:g} tied)"


def verdicts(log: Columns, metric: Metric) -> Grades:
    """Return the order of each pair's scores under a metric: 1, -1, or 0 for a tie; see `Preferences.verdicts`."""
    first, second = metric.score(log.preferred), metric.score(log.other)
    rounding = TIE_TOLERANCE * max(np.abs(first).max(initial=0.0), np.abs(second).max(initial=0.0))
    difference = first - second
    return (np.sign(difference) * (np.abs(difference) > rounding)).astype(np.int8)


def agreement(decided: Columns, metric: Metric) -> Agreement:
    """Return how far a metric orders pairs with a winner as the log does; InputError if there is no pair."""
    if not len(decided):
        raise InputError("the log holds no pair with a winner, so there is nothing to agree with")
    violated, tied, respected = np.bincount(verdicts(decided, metric) + 1, decided.weight, minlength=3).tolist()
    return Agreement(respected=float(respected), tied=float(tied), violated=float(violated))


def n_contradicted(decided: Columns) -> float:
    """Return the weight of the contradicted pairs among those with a winner; see `Preferences.n_contradicted`."""
    first, second = list_numbers(decided.preferred, decided.other)
    pair = pair_numbers(first, second)
    weight = np.ones(len(decided)) if decided.weight is None else decided.weight
    ahead = np.bincount(pair, weight * (first < second))
    behind = np.bincount(pair, weight * (first > second))
    return float(np.minimum(ahead, behind).sum())
