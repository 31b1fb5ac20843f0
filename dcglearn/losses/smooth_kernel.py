"""Soft assignment of documents to positions, Chapelle and Wu 2010.

``h_ij = exp(-u_ij^2 / s) / sum_k exp(-u_kj^2 / s)`` with ``u_ij = f_i - f_d(j)``, d(j) the document at position j.
Documents are sorted by query and score, so that i and j index one array. Terms below ``exp(-40)`` are left out.
"""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.losses.rank_kernel import first_at_most, first_below

REACH = 40.0
"""Largest u^2 / s of a term that counts."""


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
