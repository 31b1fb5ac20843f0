"""Which document holds which position, softly: ``h_ij`` of Chapelle and Wu 2010.

``h_ij = exp(-u^2 / s) / sum_k exp(-(f_k - f_d(j))^2 / s)``, ``u = f_i - f_d(j)``, d(j) the document at position j.
Terms below ``exp(-40)`` are left out. Sorted documents stand at their positions, so i and j index one sorted array.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dcglearn.losses.rank_kernel import first_beyond, first_within

REACH = 40.0


@njit(cache=True, nogil=True)
def soft_positions(f, gain, offsets, s, depth, first, last, mass, mean, turn):
    """Fill, for the first `depth` positions j of each query among first..last-1, what they hold.

    ``mass_j = sum_i exp(-u_ij^2/s)``, ``mean_j = sum_i h_ij G_i`` and ``turn_j = sum_i h_ij u_ij (G_i - mean_j)``;
    the latter two are 0 further down.
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
        low = first_within(f, x, near, 1.0, offsets[q], j)
        high = first_beyond(f, x, near, 1.0, j, offsets[q + 1])
        total, gains, moved, both = 0.0, 0.0, 0.0, 0.0
        for i in range(low, high):
            u = f[i] - x
            e = math.exp(-u * u / s)
            total += e
            gains += e * gain[i]
            moved += e * u
            both += e * u * gain[i]
        mass[j] = total
        mean[j] = gains / total
        turn[j] = (both - mean[j] * moved) / total


@njit(cache=True, nogil=True)
def position_pull(f, gain, offsets, s, depth, worth, first, last, mass, mean, turn, out):
    """Fill the derivative of ``sum_j worth_j mean_j`` in the scores of sorted documents first..last-1."""
    near = 1.0 / math.sqrt(REACH * s)
    q = np.searchsorted(offsets, first, side="right") - 1
    for p in range(first, last):
        while offsets[q + 1] <= p:
            q += 1
        end = min(offsets[q + 1], offsets[q] + depth)
        x = f[p]
        low = first_within(f, x, near, 1.0, offsets[q], min(p, end))
        high = first_beyond(f, x, near, 1.0, low, end)
        total = 0.0
        for j in range(low, high):
            u = x - f[j]
            total += worth[j] * math.exp(-u * u / s) / mass[j] * u * (gain[p] - mean[j])
        if p < end:
            total -= worth[p] * turn[p]
        out[p] = -2.0 / s * total


@njit(cache=True, nogil=True)
def worth_of_discounts(offsets, discounts, factor, mean, worth):
    """Return ``sum_q factor_q sum_j D_j mean_j``; fill `worth` with what multiplies each mean."""
    total = 0.0
    for q in range(len(offsets) - 1):
        part = 0.0
        for j in range(offsets[q], offsets[q + 1]):
            position = j - offsets[q]
            worth[j] = factor[q] * discounts[position] if position < len(discounts) else 0.0
            part += worth[j] * mean[j]
        total += part
    return total


@njit(cache=True, nogil=True)
def worth_of_precision(offsets, gain, weight, mean, worth):
    """Return the weighted sum of ``1/R sum_j H_j Prec@j``, Prec@j the mean of H to j; fill its derivative in H."""
    total = 0.0
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        relevant = 0.0
        for j in range(start, stop):
            relevant += gain[j]
        scale = weight[q] / relevant if relevant > 0.0 else 0.0
        held = 0.0
        part = 0.0
        for j in range(start, stop):
            held += mean[j]
            worth[j] = held / (j - start + 1.0)
            part += worth[j] * mean[j]
        below = 0.0
        for j in range(stop - 1, start - 1, -1):
            below += mean[j] / (j - start + 1.0)
            worth[j] = scale * (worth[j] + below)
        total += scale * part
    return total
