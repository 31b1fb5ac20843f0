"""The compiled loop over judgements: losses of utilities, their slopes and curvature, straight from int8 grades.

`pair_loss` describes the losses. A judgement depends on the difference z of two utilities, the thresholds ``t_j`` and
``t_(j+1)`` around its level j, and its judge's error rate e: its cost has four slopes and ten second derivatives.
"""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit

LIKELIHOOD, SIGMOID, HINGE = 0, 1, 2
"""Losses of the kernel."""

VALUE, SLOPES, CURVATURE = 0, 1, 2
"""What is computed: the loss alone, its slopes too, or its second derivatives too."""


@njit(nogil=True, error_model="numpy")
def _sigma(x):
    fall = math.exp(-abs(x))
    return (1.0 if x >= 0.0 else fall) / (1.0 + fall)


@njit(nogil=True, error_model="numpy")
def _log_sigma(x):
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@njit(nogil=True, error_model="numpy")
def _interval(upper, lower):
    """Return sigma(upper) - sigma(lower), and the slopes and second derivatives of its log: u, l, uu, ll, ul."""
    above = _sigma(upper)
    if lower == -math.inf:
        return above, 1.0 - above, 0.0, -above * (1.0 - above), 0.0, 0.0
    below = _sigma(lower)
    gap = upper - lower
    near = 1.0 / math.expm1(gap) if gap < 700.0 else 0.0
    bend = near * (1.0 + near)
    chance = above * _sigma(-lower) * -math.expm1(-gap)
    uu, ll = -above * (1.0 - above) - bend, -below * (1.0 - below) - bend
    return chance, 1.0 - above + near, -below - near, uu, ll, bend


@njit(nogil=True, error_model="numpy")
def _log_chance(chance, upper, lower):
    """Return the log of an interval's chance, exact where that underflows."""
    if chance > 1e-290:
        return math.log(chance)
    if lower == -math.inf:
        return _log_sigma(upper)
    return _log_sigma(upper) + _log_sigma(-lower) + math.log(-math.expm1(lower - upper))


@njit(inline="always")
def _tie(z, t):
    """Return minus the log probability of a tie, laid out as in `_cost` with t in place of the lower threshold."""
    chance, up, down, uu, ll, ul = _interval(z + t, z - t)
    first = -_log_chance(chance, z + t, z - t), -(up + down), down - up, 0.0, 0.0
    return first, (-(uu + 2 * ul + ll), ll - uu, 0.0, 0.0), (2 * ul - uu - ll, 0.0, 0.0, 0.0, 0.0, 0.0)


@njit(inline="always")
def _preference(z, low, high, e):
    """Return minus the log probability of a preference; see `_cost`."""
    chance, up, down, uu, ll, ul = _interval(z - low, z - high)
    if e == 0.0:
        first = -_log_chance(chance, z - low, z - high), -(up + down), up, down, 0.0
        return first, (-(uu + 2 * ul + ll), uu + ul, ul + ll, 0.0), (-uu, -ul, -ll, 0.0, 0.0, 0.0)
    if low == 0.0 and high == math.inf:  # the only level: its two chances add to 1
        wrong, up_w, down_w, uu_w, ll_w, ul_w = up, chance, 0.0, uu, 0.0, 0.0
    else:
        wrong, up_w, down_w, uu_w, ll_w, ul_w = _interval(-z - low, -z - high)
    total = max((1.0 - e) * chance + e * wrong, 1e-300)
    p, q = (1.0 - e) * chance / total, e * wrong / total
    a, b = up + down, -(up_w + down_w)
    g_z, g_low, g_high = p * a + q * b, -(p * up + q * up_w), -(p * down + q * down_w)
    g_e = (wrong - chance) / total
    share, share_w = chance / total, wrong / total
    of_z = (
        g_z * g_z - p * (uu + 2 * ul + ll + a * a) - q * (uu_w + 2 * ul_w + ll_w + b * b),
        g_z * g_low - p * (-(uu + ul) - a * up) - q * (uu_w + ul_w - b * up_w),
        g_z * g_high - p * (-(ul + ll) - a * down) - q * (ul_w + ll_w - b * down_w),
        g_z * g_e - share_w * b + share * a,
    )
    rest = (
        g_low * g_low - p * (uu + up * up) - q * (uu_w + up_w * up_w),
        g_low * g_high - p * (ul + up * down) - q * (ul_w + up_w * down_w),
        g_high * g_high - p * (ll + down * down) - q * (ll_w + down_w * down_w),
        g_low * g_e + share_w * up_w - share * up,
        g_high * g_e + share_w * down_w - share * down,
        g_e * g_e,
    )
    return (-math.log(total), -g_z, -g_low, -g_high, -g_e), of_z, rest


@njit(inline="always")
def _cost(z, j, thresholds, e, kind):
    """Return a judgement's cost and slopes, the second derivatives with z, and the others.

    Cost, and slopes in z, low, high, e; then zz, z low, z high, z e; then low low, low high, high high, low e, high e,
    e e. The thresholds low and high are ``t_j`` and ``t_(j+1)``; of a tie, low is ``t_1`` and high does not matter.
    """
    if kind == SIGMOID:
        cost = _sigma(-z)
        slope = -cost * (1.0 - cost)
        return (cost, slope, 0.0, 0.0, 0.0), (-slope * (1.0 - 2 * cost), 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if kind == HINGE:
        short = max(0.0, thresholds[j] - z)
        two = 2.0 if short > 0.0 else 0.0
        return (
            (short * short, -2 * short, 2 * short, 0.0, 0.0),
            (two, -two, 0.0, 0.0),
            (two, 0.0, 0.0, 0.0, 0.0, 0.0),
        )
    if j == 0:
        return _tie(z, thresholds[1])
    return _preference(z, thresholds[j], thresholds[j + 1], e)


@njit(cache=True, nogil=True, error_model="numpy")
def add_up(pairs, points, kind, order, start, stop, sums):
    """Add the loss of the pairs from `start` to `stop` at each of B points to `sums`.

    `pairs` are the five arrays of `Judgements`. `points` are the utilities with a column for -1, shape (B, K, L + 1),
    their factors, gains (B, L + 1) and discounts (B, K), the thresholds (B, M + 2) and the errors (B, R). `sums` are
    arrays for the loss, (B,), its slopes, as the utilities, thresholds and errors, and its second derivatives: in
    gains, discounts and thresholds, (B, m, m) with m = L + 1 + K + M + 2; in the errors and these, (B, R, m); in the
    errors, (B, R). Slopes and second derivatives are added as far as the `order` goes. Each point has the same bytes
    whichever points stand beside it.
    """
    first, second, level, rater, weight = pairs
    tables, gains, discounts, thresholds, errors = points
    losses, moment, of_thresholds, of_errors, joint, crossed, bends = sums
    n_points, depth, width = tables.shape
    size = width + depth
    u = np.zeros(size)
    for b in range(n_points):
        flat, t = tables[b].ravel(), thresholds[b]
        moving = len(t) > 3 or t[1] > 0.0
        total = 0.0
        for i in range(start, stop):
            z = 0.0
            for k in range(depth):
                z += flat[np.uint64(k * width + first[i, k] + 1)] - flat[np.uint64(k * width + second[i, k] + 1)]
            v = weight[i] if len(weight) > 1 else weight[0]
            j = level[i] if len(level) > 1 else level[0]
            r = rater[i] if len(rater) > 1 else rater[0]
            slopes, of_z, rest = _cost(z, j, t, errors[b, r], kind)
            total += v * slopes[0]
            if order == VALUE:
                continue
            low = max(j, 1)
            step = v * slopes[1]
            for k in range(depth):
                moment[b, k, first[i, k] + 1] += step
                moment[b, k, second[i, k] + 1] -= step
            of_thresholds[b, low] += v * slopes[2]
            of_thresholds[b, low + 1] += v * slopes[3]
            of_errors[b, r] += v * slopes[4]
            if order == SLOPES:
                continue
            u[:width] = 0.0
            for k in range(depth):
                u[first[i, k] + 1] += discounts[b, k]
                u[second[i, k] + 1] -= discounts[b, k]
                u[width + k] = gains[b, first[i, k] + 1] - gains[b, second[i, k] + 1]
            _add_curves(joint[b], u, v * of_z[0])
            if moving:
                _add_thresholds(joint[b], u, v, size + low, of_z, rest)
            if slopes[4] != 0.0:
                _add_errors(crossed[b, r], u, v, size + low, of_z, rest)
                bends[b, r] += v * rest[5]
        losses[b] += total


@njit(nogil=True, error_model="numpy")
def _add_curves(joint, u, weight):
    if weight != 0.0:
        for x in range(len(u)):
            if u[x] != 0.0:
                ux = weight * u[x]
                for y in range(len(u)):
                    joint[x, y] += ux * u[y]


@njit(nogil=True, error_model="numpy")
def _add_errors(crossed, u, v, low, of_z, rest):
    for y in range(len(u)):
        crossed[y] += v * of_z[3] * u[y]
    crossed[low] += v * rest[3]
    crossed[low + 1] += v * rest[4]


@njit(nogil=True, error_model="numpy")
def _add_thresholds(joint, u, v, low, of_z, rest):
    """Add second derivatives with the thresholds of one judgement, the lower of which has the row `low`."""
    for y in range(len(u)):
        joint[low, y] += v * of_z[1] * u[y]
        joint[low + 1, y] += v * of_z[2] * u[y]
        joint[y, low] += v * of_z[1] * u[y]
        joint[y, low + 1] += v * of_z[2] * u[y]
    joint[low, low] += v * rest[0]
    joint[low, low + 1] += v * rest[1]
    joint[low + 1, low] += v * rest[1]
    joint[low + 1, low + 1] += v * rest[2]
