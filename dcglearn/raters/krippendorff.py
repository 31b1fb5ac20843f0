"""Krippendorff's alpha, nominal and ordinal, with bootstrap intervals over units.

With ``o_ck = sum_u (pairs of values c, k in unit u) / (m_u - 1)``, ``n_c = sum_k o_ck`` and ``n = sum_c n_c``,
``alpha = 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck`` (Krippendorff 2011, "Computing Krippendorff's
Alpha-Reliability"). The distance d is 1 between two nominal values, and ``(n_c / 2 + n_g between + n_k / 2)^2`` between
two ordinal ones. 1 is perfect agreement, 0 that of verdicts by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Integers
from dcglearn.logs.unique_rows import unique_rows

N_RESAMPLES = 2000
"""Number of bootstrap samples of units for an interval."""


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its interval; NaN where the judgements do not tell."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return "-" if np.isnan(self.value) else f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def krippendorff_alpha(
    unit: ArrayLike, value: ArrayLike, *, ordinal: bool = False, level: float = 0.95, seed: int = 0
) -> Estimate:
    """Return alpha of the values that raters gave to units; NaN where no unit has two values, or all are equal.

    Parameters
    ----------
    unit, value : array_like, shape (n,)
        What was judged, and the value it was given; a row a judgement.
    ordinal : bool
        Whether the order of the values counts.
    level, seed
        Level of the bootstrap interval over units, and its seed.

    Examples
    --------
    >>> round(krippendorff_alpha([0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 1, 2]).value, 4)
    0.4444
    """
    number = np.unique(unit, return_inverse=True)[1]
    values, code = np.unique(value, return_inverse=True)
    counts = np.zeros((number.max(initial=-1) + 1, len(values)), dtype=np.int64)
    np.add.at(counts, (number, code), 1)
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return Estimate(np.nan, np.nan, np.nan)
    patterns, _, pattern = unique_rows(counts)  # units of the same values count alike, and are few
    times = np.bincount(pattern)
    samples = np.random.default_rng(seed).multinomial(len(counts), times / len(counts), N_RESAMPLES)
    drawn = np.array([_alpha(patterns, sample, ordinal) for sample in samples])
    estimate = _alpha(patterns, times, ordinal)
    if np.isnan(estimate) or np.isnan(drawn).all():
        return Estimate(estimate, np.nan, np.nan)
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(estimate, float(low), float(high))


def _alpha(patterns: Integers, times: Integers, ordinal: bool) -> float:
    """Return alpha of units with counts of each value `patterns`, shape (P, C), that occur so many `times`, (P,)."""
    share = times / (patterns.sum(axis=1) - 1)
    coincidences = patterns.T @ (share[:, None] * patterns) - np.diag(share @ patterns)
    totals = coincidences.sum(axis=1)
    distance = 1.0 - np.eye(len(totals))
    if ordinal:
        middle = np.cumsum(totals) - totals / 2
        distance = (middle[:, None] - middle) ** 2
    expected = float(totals @ distance @ totals)
    return 1 - float((totals.sum() - 1) * (coincidences * distance).sum()) / expected if expected > 0 else float("nan")
