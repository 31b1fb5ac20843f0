"""Confidence intervals by `scipy.special` alone, since `scipy.stats` takes long to import."""

from math import sqrt
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Floats

LEVEL = 0.9
"""Confidence level of an interval where nobody asks for another."""


def normal_quantile(level: float = LEVEL) -> float:
    """Return the half width of a two-sided normal interval of this level, in standard errors."""
    # takes long to import, and drawings and reports import this file
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def normal_interval(values: Any, errors: Any, level: float = LEVEL) -> tuple[Any, Any]:
    """Return the ends of normal intervals around values, given their standard errors."""
    reach = normal_quantile(level) * errors
    return values - reach, values + reach


def percentile_interval(draws: Floats, level: float = LEVEL) -> Any:
    """Return the central interval of draws, shape (B, ...), as two quantiles; ignore NaN."""
    return np.nanquantile(draws, ((1 - level) / 2, (1 + level) / 2), axis=0)


def binomial_tail(successes: Any, n: Any, share: Any = 0.5) -> Any:
    """Return the chance of at least so many successes of n, also of effective numbers."""
    from scipy.special import betainc

    return betainc(np.maximum(successes, 1e-9), n - successes + 1, share)


def wilson(successes: int, n: int, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share, which holds its level near 0 and 1 too.

    Source: Newcombe 1998, method 3.
    """
    share, z = successes / n, normal_quantile(level)
    scale = 2 * (n + z**2)
    center = (2 * n * share + z**2) / scale
    reach = z / scale * sqrt(4 * n * share * (1 - share) + z**2)

    # rounding must not move the ends off 0 and 1
    low = center - reach if successes else 0.0
    high = center + reach if successes < n else 1.0
    return low, high
