"""Intervals and exact tests by `scipy.special` alone, since `scipy.stats` takes long to import."""

from collections.abc import Iterator
from math import ceil, isnan, log2, sqrt
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Fields, Floats, Indices

LEVEL = 0.9
"""Confidence level of an interval where nobody asks for another."""

FEWEST_UNITS = 3
"""Number of units (raters, queries, lists) below which a mean over them has no interval."""

MOST_ENUMERATED = 15
"""Number of values up to which all patterns of signs are enumerated."""

Clusters = tuple[Indices, Indices]
"""Numbers of the units of the two lists of each pair; the same twice unless these are lists."""


def normal_quantile(level: float = LEVEL) -> float:
    """Return the half width of a two-sided normal interval of this level, in standard errors."""
    # takes long to import, and drawings and reports import this file
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def mean_and_error(
    values: Floats, weight: Floats, clusters: Clusters
) -> tuple[Floats, Floats, int]:
    """Return weighted means, their standard errors by unit, and the number G of units.

    `values` has the shape (..., n), `weight` (n,), and `clusters` number the units that the values
    of a unit depend on. With ``r_g`` the sum of ``w (x - mean)`` in the unit g, the variance of the
    mean is ``G / (G - 1) sum r_g^2 / (sum w)^2``. Where the units are lists, two to a pair, it is
    that of the jackknife, which leaves out a list with all its pairs (Efron and Stein 1981): that
    of dyadic data (Aronow, Samii and Assenova 2015) is too small where a few lists are in many
    pairs.
    """
    # means, and each value's part
    share = weight / weight.sum()
    means = values @ share
    off = share * (values - means[..., None])

    # sum these by unit
    ends = clusters[:1] if np.array_equal(*clusters) else clusters
    n = int(max(end.max() for end in ends)) + 1
    rows = off.reshape(-1, len(share))
    parts = np.array([sum(np.bincount(end, row, n) for end in ends) for row in rows])
    held = np.array([np.bincount(end, share, n) for end in ends])
    n_units = int(np.count_nonzero(held.sum(axis=0)))

    # of lists, as shares of the weight that is left without each
    if len(ends) > 1:
        parts = parts / np.maximum(1 - held.sum(axis=0), 1 / n)
    else:
        parts = parts * sqrt(n_units / max(n_units - 1, 1))
    return means, np.sqrt((parts**2).sum(axis=1)).reshape(means.shape), n_units


def student_interval(
    means: Any, errors: Any, n_units: int, level: float = LEVEL
) -> tuple[Any, Any, Any]:
    """Return the ends and two-sided p-values of Student's t of means over units.

    There are n_units - 1 degrees of freedom. All three are NaN where there are fewer than
    `FEWEST_UNITS` units, or no spread: then nobody can know how far a mean is off.
    """
    from scipy.special import stdtr

    known = np.where(np.asarray(errors) > 1e-12, errors, np.nan)
    reach = student_quantile(n_units, level) * known
    p_values = 2 * stdtr(n_units - 1, -np.abs(means) / known)
    return means - reach, means + reach, np.where(np.isnan(reach), np.nan, p_values)


def p_text(p_value: float) -> str:
    """Return a p-value in words."""
    return "p < .001" if p_value < 0.001 else f"p = {p_value:.3f}"


def interval_text(
    low: float | None, high: float | None, form: str, none: str = "no interval"
) -> str:
    """Return an interval of `LEVEL` in words, or that there is none: its ends are None or NaN."""
    if low is None or np.isnan(low):
        return none
    return f"{LEVEL:.0%} interval {low:{form}} to {high:{form}}"


def student_quantile(n_units: int, level: float = LEVEL) -> float:
    """Return the half width of a two-sided t interval, in standard errors; NaN below 3 units."""
    from scipy.special import stdtrit

    return float(stdtrit(n_units - 1, (1 + level) / 2)) if n_units >= FEWEST_UNITS else np.nan


def student_test(mean: float, error: float, n_units: int, level: float) -> Fields:
    """Return the t interval of a mean over units, ``low`` and ``high``, and its p-value ``p_t``.

    They are None below three units, and without spread.
    """
    found = map(float, student_interval(mean, error, n_units, level))
    names = ("low", "high", "p_t")
    return {name: None if isnan(x) else x for name, x in zip(names, found, strict=True)}


def sign_flip_p(
    values: Floats, n_draws: int = 9_999, random_state: int = 0, *, two_sided: bool = True
) -> Any:
    """Return the exact p-value of a sum of values, shape (n,), of exchangeable signs.

    It is the share of all 2^n patterns of signs under which the sum is at least the one observed
    (in size, if `two_sided`). Beyond 15 values other than 0, patterns are drawn, and the observed
    one is counted among them. Of rows of falling sums, shape (P, n), whose columns share their
    signs, each sum is held against the largest of its own row and all below it: p-values, shape
    (P,), hold together.
    """
    # zeros have no sign
    rows = np.atleast_2d(values)
    rows = rows[:, rows.any(axis=0)]
    size = np.abs if two_sided else np.asarray
    least = size(rows.sum(axis=1)) - 1e-9 * abs(rows).sum(axis=1)

    # count the patterns under which the largest reaches the sum
    seen, n_patterns = np.zeros(len(rows)), 0
    block = max(1, (1 << 22) // max(rows.shape))
    for signs in sign_patterns(rows.shape[1], n_draws, random_state, block):
        largest = np.maximum.accumulate(size(rows @ signs.T)[::-1])[::-1]
        seen += (largest >= least[:, None]).sum(axis=1)
        n_patterns += len(signs)
    p_values = np.maximum.accumulate(seen / n_patterns)
    return p_values if np.ndim(values) == 2 else float(p_values[0])


def sign_patterns(n: int, n_draws: int, random_state: int, block: int) -> Iterator[Floats]:
    """Yield patterns of n signs, 1 and -1, in blocks of shape (at most `block`, n).

    They are all 2^n patterns up to `MOST_ENUMERATED` values, and else `n_draws` drawn ones and that
    of all plus, the one observed.
    """
    drawn = n > MOST_ENUMERATED
    n_patterns = n_draws if drawn else 1 << n
    rng = np.random.default_rng(random_state)
    for start in range(0, n_patterns, block):
        patterns = np.arange(start, min(start + block, n_patterns))
        if drawn:
            flips = rng.integers(0, 2, (len(patterns), n), dtype=np.int8)
        else:
            flips = patterns[:, None] >> np.arange(n) & 1
        signs: Floats = 1.0 - 2 * flips.astype(np.float64)
        yield signs
    if drawn:
        yield np.ones((1, n))


def fewest_of_one_sign(level: float = LEVEL) -> int:
    """Return the fewest units whose signs, all alike, show something at a two-sided level.

    By chance n signs are all positive with the probability 2^-n: 6 are the fewest at .95.
    """
    return ceil(log2(2 / (1 - level)) - 1e-9)


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
