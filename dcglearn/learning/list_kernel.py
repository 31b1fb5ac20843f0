"""The compiled loops of list utilities: values of lists, losses of judgements, and the slopes of both.

A value is ``sum_k c_k g_{l_k} P_k`` with the survival ``P_k = prod_{m<k} (1 - s_{l_m})``, or ``(1 - x) sum_k c_k
g_{l_k} + x max_k c_k g_{l_k}``. Tables of grades have an entry for -1, the grade that is not known, in front. The
losses are those of `pair_loss`.
"""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit

LIKELIHOOD, SIGMOID, HINGE = 0, 1, 2
"""Losses, as in `pair_loss`."""


@njit(cache=True, nogil=True, error_model="numpy")
def fill_values(lists, gains, discounts, stops, best, values):
    """Set the values, shape (n,), of lists, shape (n, K)."""
    for i in range(len(lists)):
        total, highest, survival = 0.0, 0.0, 1.0
        for k in range(len(discounts)):
            grade = lists[i, k] + 1
            worth = discounts[k] * gains[grade] * survival
            total += worth
            highest = max(highest, worth)
            survival *= 1.0 - stops[grade]
        values[i] = total + best * (highest - total)


@njit(cache=True, nogil=True, error_model="numpy")
def spread_slopes(lists, slopes, gains, discounts, stops, best, moment, of_stops):
    """Add slopes in the values, shape (n,), to slopes in discounts times gains, (K, L + 1), and in stops, (L + 1,).

    Returns the slope in the share of the best result. `moment` holds, for every grade at every position, the sum of the
    slopes times what a unit of discount times gain is worth there.
    """
    depth, of_best = len(discounts), 0.0
    survival = np.empty(depth)
    for i in range(len(lists)):
        slope = slopes[i]
        if slope == 0.0:
            continue
        alive, total, highest, top = 1.0, 0.0, 0.0, -1
        for k in range(depth):
            grade = lists[i, k] + 1
            survival[k] = alive
            worth = discounts[k] * gains[grade] * alive
            total += worth
            if worth > highest:
                highest, top = worth, k
            moment[k, grade] += slope * (1.0 - best) * alive
            alive *= 1.0 - stops[grade]
        if top >= 0:
            moment[top, lists[i, top] + 1] += slope * best
        of_best += slope * (highest - total)
        below = 0.0
        for k in range(depth - 1, -1, -1):
            grade = lists[i, k] + 1
            of_stops[grade] -= slope * survival[k] * below
            below = discounts[k] * gains[grade] + (1.0 - stops[grade]) * below
    return of_best


@njit(nogil=True, error_model="numpy")
def _log_sigma(x):
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@njit(nogil=True, error_model="numpy")
def _log_interval(upper, lower):
    """Return the log of sigma(upper) - sigma(lower), and its slopes in both."""
    if lower == -math.inf:
        log = _log_sigma(upper)
        return log, math.exp(log - upper), 0.0
    gap = upper - lower
    above, below = _log_sigma(upper), _log_sigma(-lower)
    near = 1.0 / math.expm1(gap) if gap < 700.0 else 0.0
    return above + below + math.log(-math.expm1(-gap)), 1.0 - math.exp(above) + near, math.exp(below) - 1.0 - near


@njit(nogil=True, error_model="numpy")
def _preference(z, low, high, e):
    """Return minus the log probability of a preference, and its slopes in z, low, high and e."""
    if low == 0.0 and high == math.inf:
        fall = math.exp(-abs(z))
        ahead = (1.0 if z >= 0.0 else fall) / (1.0 + fall)
        behind = (fall if z >= 0.0 else 1.0) / (1.0 + fall)
        if e == 0.0:
            return -_log_sigma(z), -behind, 0.0, 0.0, 0.0
        total = (1.0 - e) * ahead + e * behind
        return -math.log(total), (2.0 * e - 1.0) * ahead * behind / total, 0.0, 0.0, (ahead - behind) / total
    right, up, down = _log_interval(z - low, z - high)
    if e == 0.0:
        return -right, -(up + down), up, down, 0.0
    wrong, up_w, down_w = _log_interval(-z - low, -z - high)
    most = max(right, wrong)
    total = most + math.log((1.0 - e) * math.exp(right - most) + e * math.exp(wrong - most))
    a, b = math.exp(right - total), math.exp(wrong - total)
    p, q = (1.0 - e) * a, e * b
    return -total, q * (up_w + down_w) - p * (up + down), p * up + q * up_w, p * down + q * down_w, a - b


@njit(cache=True, nogil=True, error_model="numpy")
def add_costs(pairs, values, thresholds, errors, kind, start, stop, steps, of_thresholds, of_errors):
    """Return the loss of the pairs from `start` to `stop`, set the slopes `steps` in their differences, add the others.

    `pairs` are the numbers of both lists, the level, the rater and the weight of each pair, shape (n,) each.
    """
    first, second, level, rater, weight = pairs
    loss = 0.0
    for i in range(start, stop):
        z, j, r, v = values[first[i]] - values[second[i]], level[i], rater[i], weight[i]
        if kind == SIGMOID:
            fall = math.exp(-abs(z))
            cost = (fall if z >= 0.0 else 1.0) / (1.0 + fall)
            loss += v * cost
            steps[i] = -v * cost * (1.0 - cost)
        elif kind == HINGE:
            short = max(0.0, thresholds[j] - z)
            loss += v * short * short
            steps[i] = -2.0 * v * short
        elif j == 0:
            log, up, down = _log_interval(z + thresholds[1], z - thresholds[1])
            loss -= v * log
            steps[i] = -v * (up + down)
            of_thresholds[1] -= v * (up - down)
        else:
            cost, of_z, of_low, of_high, of_e = _preference(z, thresholds[j], thresholds[j + 1], errors[r])
            loss += v * cost
            steps[i] = v * of_z
            of_thresholds[j] += v * of_low
            of_thresholds[j + 1] += v * of_high
            of_errors[r] += v * of_e
    return loss
