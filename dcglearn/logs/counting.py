"""How far a metric orders the pairs of a log as the log does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats

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
