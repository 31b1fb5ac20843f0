"""Distributions of ranks if every score has Gaussian noise: SoftRank, Taylor et al. 2008."""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.losses.rank_kernel import first_at_most, first_below

REACH = 12.0
"""Half-width of the window, in units of sigma: the probability of a reversal past it, below 2e-17, is neglected."""


@njit(cache=True, nogil=True)
def rank_distribution(beaten, n, p):
    """Fill ``p[r]``, r = 0..n, with the probability that r of n documents are ahead; `beaten` holds that of each."""
    p[0] = 1.0
    for i in range(n):
        b = beaten[i]
        p[i + 1] = p[i] * b
        for r in range(i, 0, -1):
            p[r] = p[r] * (1.0 - b) + p[r - 1] * b
        p[0] *= 1.0 - b


@njit(cache=True, nogil=True)
def _expected_drop(p, n, b, discounts, base):
    """Return ``sum_r q_r (D(r) - D(r + 1))``, where q is `p` without one document, that is ahead with probability b.

    Of the two recursions for q, the one that does not magnify rounding errors is used.
    """
    depth = len(discounts)
    total = 0.0
    q = 0.0
    for step in range(n):
        if b <= 0.5:
            r = step
            q = (p[r] - b * q) / (1.0 - b)
        else:
            r = n - 1 - step
            q = (p[r + 1] - (1.0 - b) * q) / b
        k = base + r
        here = discounts[k] if k < depth else 0.0
        next_ = discounts[k + 1] if k + 1 < depth else 0.0
        total += q * (here - next_)
    return total


@njit(cache=True, nogil=True)
def expected_dcg(f, gain, offsets, discounts, factor, sigma, first, last, out):
    """Return ``sum_i factor G_i E D(r_i)`` over sorted documents first..last-1; `out` takes its derivative, (n,)."""
    value = 0.0
    q = np.searchsorted(offsets, first, side="right") - 1
    near = 1.0 / (REACH * sigma)
    beaten, p = np.empty(0), np.empty(0)
    for j in range(first, last):
        while offsets[q + 1] <= j:
            q += 1
        worth = factor[q] * gain[j]
        low = first_at_most(f, f[j], near, 1.0, offsets[q], j)
        high = first_below(f, f[j], near, -1.0, j, offsets[q + 1])
        base = low - offsets[q]
        if worth == 0.0 or base >= len(discounts):
            continue
        n = high - low - 1
        if len(beaten) < n:
            beaten, p = np.empty(n), np.empty(n + 1)
        elif len(p) == 0:
            p = np.empty(1)
        for m in range(n):
            i = low + m if low + m < j else low + m + 1
            beaten[m] = 0.5 * math.erfc((f[j] - f[i]) / (2.0 * sigma))
        rank_distribution(beaten, n, p)
        for r in range(min(n + 1, len(discounts) - base)):
            value += worth * p[r] * discounts[base + r]
        for m in range(n):
            i = low + m if low + m < j else low + m + 1
            u = (f[i] - f[j]) / (2.0 * sigma)
            density = math.exp(-u * u) / (2.0 * sigma * 1.7724538509055159)
            change = worth * density * _expected_drop(p, n, beaten[m], discounts, base)
            out[j] += change
            out[i] -= change
    return value
