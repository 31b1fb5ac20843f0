"""Soft positions of documents (Chapelle and Wu 2010), and their ranks under Gaussian noise (SoftRank).

``h_ij = exp(-u_ij^2 / s) / sum_k exp(-u_kj^2 / s)`` with ``u_ij = f_i - f_d(j)``, d(j) the document at position j.
Documents are sorted by query and score, so that i and j index one array. Terms below ``exp(-40)`` are left out.
"""

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.losses.rank_kernel import first_at_most, first_below

REACH = 40.0
"""Largest u^2 / s of a term that counts."""


NOISE_REACH = 12.0
"""Half-width of the window, in units of sigma: the probability of a reversal past it, below 2e-17, is neglected."""


@njit(cache=True, nogil=True)
def soft_positions(f, gain, offsets, s, depth, first, last, mass, mean, turn):
    """Fill three sums over documents for the first `depth` positions j of each query, those among first..last-1.

    ``mass_j = sum_i exp(-u_ij^2/s)``, ``mean_j = sum_i h_ij G_i`` and ``turn_j = sum_i h_ij u_ij (G_i - mean_j)``;
    past `depth` the latter two are 0.
    """
    near = 1.0 / math.sqrt(REACH * s)
    q = np.searchsorted(offsets, first, side="right") - 1
    for j in range(first, last):
        while offsets[q + 1] <= j:
            q += 1
        mean[j] = 0.0
        turn[j] = 0.0
        if j - offsets[q] >= depth:
            continue
        x = f[j]
        low = first_at_most(f, x, near, 1.0, offsets[q], j)
        high = first_below(f, x, near, -1.0, j, offsets[q + 1])
        total, total_gain, total_u, total_both = 0.0, 0.0, 0.0, 0.0
        for i in range(low, high):
            u = f[i] - x
            e = math.exp(-u * u / s)
            total += e
            total_gain += e * gain[i]
            total_u += e * u
            total_both += e * u * gain[i]
        mass[j] = total
        mean[j] = total_gain / total
        turn[j] = (total_both - mean[j] * total_u) / total


@njit(cache=True, nogil=True)
def soft_positions_vjp(f, gain, offsets, s, depth, w, first, last, mass, mean, turn, out):
    """Fill the derivative of ``sum_j w_j mean_j`` with respect to the scores of sorted documents first..last-1."""
    near = 1.0 / math.sqrt(REACH * s)
    q = np.searchsorted(offsets, first, side="right") - 1
    for p in range(first, last):
        while offsets[q + 1] <= p:
            q += 1
        end = min(offsets[q + 1], offsets[q] + depth)
        x = f[p]
        low = first_at_most(f, x, near, 1.0, offsets[q], min(p, end))
        high = first_below(f, x, near, -1.0, low, end)
        total = 0.0
        for j in range(low, high):
            u = x - f[j]
            total += w[j] * math.exp(-u * u / s) / mass[j] * u * (gain[p] - mean[j])
        if p < end:
            total -= w[p] * turn[p]
        out[p] = -2.0 / s * total


@njit(cache=True, nogil=True)
def dcg_of_means(offsets, discounts, factor, mean, slope):
    """Return ``sum_q factor_q sum_j D_j mean_j``; fill `slope` with its derivative with respect to each mean."""
    total = 0.0
    for q in range(len(offsets) - 1):
        part = 0.0
        for j in range(offsets[q], offsets[q + 1]):
            position = j - offsets[q]
            slope[j] = factor[q] * discounts[position] if position < len(discounts) else 0.0
            part += slope[j] * mean[j]
        total += part
    return total


@njit(cache=True, nogil=True)
def precision_of_means(offsets, gain, weight, mean, slope):
    """Return the weighted sum over queries of ``1/R sum_j mean_j Prec@j`` (see `SmoothAP`); fill its derivative."""
    total = 0.0
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        relevant = 0.0
        for j in range(start, stop):
            relevant += gain[j]
        scale = weight[q] / relevant if relevant > 0.0 else 0.0
        above = 0.0
        part = 0.0
        for j in range(start, stop):
            above += mean[j]
            slope[j] = above / (j - start + 1.0)
            part += slope[j] * mean[j]
        below = 0.0
        for j in range(stop - 1, start - 1, -1):
            below += mean[j] / (j - start + 1.0)
            slope[j] = scale * (slope[j] + below)
        total += scale * part
    return total


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
    near = 1.0 / (NOISE_REACH * sigma)
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
