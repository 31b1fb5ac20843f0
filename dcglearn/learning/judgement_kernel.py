"""The probability of a verdict and its derivatives, in one function (`verdict`), and compiled sums over judgements.

With ``z = <W, d>`` the utility of a pair's first list minus that of its second, a preference whose strength lies
between the thresholds low and high has the probability ``P = sigma(z - low) - sigma(z - high)``, and a tie ``sigma(z +
low) - sigma(z - low)``. A judge with error rate e names the other list instead: ``(1 - e) P(z) + e P(-z)``. Without
strengths, ties and errors this is Bradley and Terry's ``sigma(z)``, which `_preference` computes faster.
"""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit

LIKELIHOOD, SIGMOID, HINGE = 0, 1, 2
"""Losses, see `pair_loss`."""

VALUE, SLOPES, CURVATURE = 0, 1, 2
"""What is computed: the loss alone, its slopes too, or its second derivatives too."""

TAIL = 40.0
"""Slopes in z that fall as ``exp(-|z|)`` are left out beyond this |z|, where they are below 1e-17."""

RUN = 120
"""Judgements whose losses and second derivatives are added at once."""


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _preference(z, e):
    """Return a preference's log probability and, of its loss, slope and curvature in z, slope in e, that in both."""
    fall = math.exp(-min(abs(z), 700.0))
    ahead = 1.0 / (1.0 + fall)
    right = ahead if z >= 0.0 else fall * ahead
    chance = e + (1.0 - 2.0 * e) * right
    log_chance = math.log(chance) if e > 0.0 else math.log(ahead) + min(z, 0.0)
    lead, bell = 2.0 * right - 1.0, fall * ahead * ahead / chance
    slope, of_error = (2.0 * e - 1.0) * bell, lead / chance
    return log_chance, slope, slope * (slope - lead), of_error, 2.0 * bell + slope * of_error


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _strong_preference(z, low, e):
    """Return the log probability of a preference beyond a threshold below 300, and the derivatives of `verdict`."""
    x, y = z - low, -z - low
    fall, fall_w = math.exp(-min(abs(x), 700.0)), math.exp(-min(abs(y), 700.0))
    ahead, ahead_w = 1.0 / (1.0 + fall), 1.0 / (1.0 + fall_w)
    right, wrong = ahead if x >= 0.0 else fall * ahead, ahead_w if y >= 0.0 else fall_w * ahead_w
    chance = (1.0 - e) * right + e * wrong
    log = math.log(chance) if e > 0.0 else math.log(ahead) + min(x, 0.0)
    each = 1.0 / chance
    bell, bell_w = fall * ahead * ahead * each, fall_w * ahead_w * ahead_w * each
    p, q = (1.0 - e) * bell, e * bell_w
    p_bent, q_bent = p * (1.0 - 2.0 * right), q * (1.0 - 2.0 * wrong)
    g_z, g_low, g_e = p - q, -p - q, (wrong - right) * each
    zz, z_low, ll = g_z * g_z - p_bent - q_bent, g_z * g_low + p_bent - q_bent, g_low * g_low - p_bent - q_bent
    ze, le = g_z * g_e + bell + bell_w, g_low * g_e + bell_w - bell
    return log, (-g_z, -g_low, 0.0, -g_e), (zz, z_low, 0.0, ze, ll, 0.0, le, 0.0, 0.0)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _tie(z, low):
    """Return the log probability of a tie, ``sigma(z + low) sigma(low - z) (1 - exp(-2 low))``, and its derivatives."""
    x, y = z + low, low - z
    fall, fall_w = math.exp(-abs(x)), math.exp(-abs(y))
    ahead, ahead_w = 1.0 / (1.0 + fall), 1.0 / (1.0 + fall_w)
    apart = -math.expm1(-2.0 * low)
    log = math.log(apart * ahead * ahead_w) + min(x, 0.0) + min(y, 0.0)
    short, short_w = fall * ahead if x >= 0.0 else ahead, fall_w * ahead_w if y >= 0.0 else ahead_w
    bell, bell_w, near = fall * ahead * ahead, fall_w * ahead_w * ahead_w, 2.0 * (1.0 - apart) / apart
    both = bell + bell_w
    return log, (short_w - short, -short - short_w - near, 0.0, 0.0), (
        both, bell - bell_w, 0.0, 0.0, both + near * (near + 2.0), 0.0, 0.0, 0.0, 0.0
    )  # fmt: skip


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _sigma(x):
    """Return the log of sigma(x), sigma(x) and sigma(-x)."""
    fall = math.exp(-abs(x))
    large = 1.0 / (1.0 + fall)
    log = min(x, 0.0) - math.log1p(fall)
    return (log, large, fall * large) if x >= 0.0 else (log, fall * large, large)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _log_interval(upper, lower):
    """Return ``log(sigma(upper) - sigma(lower))``, its slopes in both, and uu, ll, ul: its second derivatives."""
    log_above, above, not_above = _sigma(upper)
    log_not_below, not_below, below = _sigma(-lower)
    gap = upper - lower
    near = 1.0 / math.expm1(gap)
    both = near * (1.0 + near)
    log = log_above + log_not_below + math.log(-math.expm1(-gap))
    return log, not_above + near, -below - near, -above * not_above - both, -below * not_below - both, both


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def verdict(z, low, high, tie, e):
    """Return the log probability of a verdict and, of its loss (minus this), the first and second derivatives.

    The first are those in z, low, high and e, the second those in z and each of z, low, high, e; low and each of low,
    high, e; high and each of high, e. That in e twice is the square of the slope. A tie has one threshold, `low`.
    """
    if low == 0.0 and high == math.inf and not tie:
        log, of_z, zz, of_e, ze = _preference(z, e)
        return log, (of_z, 0.0, 0.0, of_e), (zz, 0.0, 0.0, ze, 0.0, 0.0, 0.0, 0.0, 0.0)
    if tie:
        return _tie(z, low)
    if high == math.inf and low < 300.0:
        return _strong_preference(z, low, e)
    log, up, down, uu, ll, ul = _log_interval(z - low, z - high)
    if e == 0.0:
        return log, (-up - down, up, down, 0.0), (
            -(uu + 2.0 * ul + ll), uu + ul, ul + ll, 0.0, -uu, -ul, 0.0, -ll, 0.0
        )  # fmt: skip
    wrong, up_w, down_w, uu_w, ll_w, ul_w = _log_interval(-z - low, -z - high)
    most = max(log, wrong)
    total = most + math.log((1.0 - e) * math.exp(log - most) + e * math.exp(wrong - most))
    share, share_w = math.exp(log - total), math.exp(wrong - total)
    p, q = (1.0 - e) * share, e * share_w
    a, b = up + down, -up_w - down_w
    g_z, g_low, g_high, g_e = p * a + q * b, -p * up - q * up_w, -p * down - q * down_w, share_w - share
    return (
        total,
        (-g_z, -g_low, -g_high, -g_e),
        (
            g_z * g_z - p * (uu + 2.0 * ul + ll + a * a) - q * (uu_w + 2.0 * ul_w + ll_w + b * b),
            g_z * g_low + p * (uu + ul + a * up) - q * (uu_w + ul_w - b * up_w),
            g_z * g_high + p * (ul + ll + a * down) - q * (ul_w + ll_w - b * down_w),
            g_z * g_e - share_w * b + share * a,
            g_low * g_low - p * (uu + up * up) - q * (uu_w + up_w * up_w),
            g_low * g_high - p * (ul + up * down) - q * (ul_w + up_w * down_w),
            g_low * g_e + share_w * up_w - share * up,
            g_high * g_high - p * (ll + down * down) - q * (ll_w + down_w * down_w),
            g_high * g_e + share_w * down_w - share * down,
        ),
    )


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _cost(kind, z, low, high, tie, e):
    """Return a judgement's loss of a kind with the derivatives of `verdict`."""
    if kind == LIKELIHOOD:
        log, slopes, curvatures = verdict(z, low, high, tie, e)
        return -log, slopes, curvatures
    if kind == HINGE:
        short = max(0.0, low - z)
        two = 2.0 if short > 0.0 else 0.0
        return short * short, (-2.0 * short, 2.0 * short, 0.0, 0.0), (two, -two, 0.0, 0.0, two, 0.0, 0.0, 0.0, 0.0)
    _, right, loss = _sigma(z)
    slope = -loss * right if abs(z) < TAIL else 0.0
    return loss, (slope, 0.0, 0.0, 0.0), (slope * (loss - right), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def log_chances(z, error):
    """Return the log probabilities of preferences of the first list at n differences z; their slopes in z and error."""
    logs, of_z, of_error = np.empty(len(z)), np.empty(len(z)), np.empty(len(z))
    for i in range(len(z)):
        logs[i], slopes, _ = verdict(z[i], 0.0, math.inf, False, error)
        of_z[i], of_error[i] = -slopes[0], -slopes[3]
    return logs, of_z, of_error


@njit(cache=True, nogil=True, error_model="numpy")
def chances(z, threshold, errors):
    """Return the probabilities of a preference of the first list, a tie and the second list, shape (n, 3).

    `z` and the error rates have shape (n,); `threshold` is that of ties, 0 where there are none.
    """
    out = np.empty((len(z), 3))
    for i in range(len(z)):
        for side in range(2):
            out[i, 2 * side] = math.exp(verdict(z[i] if side == 0 else -z[i], threshold, math.inf, False, errors[i])[0])
        out[i, 1] = math.exp(verdict(z[i], threshold, math.inf, True, 0.0)[0])
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def add_judgements(judged, points, kind, order, sums, work):
    """Add the losses of judgements, and their derivatives up to an order.

    `judged` are the lists, shape (n, K) each, level, rater, weight and way, shape (n,) or (1,); `points` the utilities,
    shape (B, K (L + 1)), gains with that of -1, discounts, thresholds and judges, (B, J): error rates and, where J is
    2 R, position biases. Error rates of zero are no variables. `sums` are the losses, (B,), their slopes in the
    utilities, (B, K (L + 1)), the thresholds, (B, M + 2), and the judges, (B, J), the second derivatives in these,
    (B, J), in each judge's two, (B, R), and those in gains, discounts, thresholds and, as rows only, judges. `work` is
    memory of the shapes (R, 2) and (L + 1 + K, RUN), zero, (RUN,), (L + 1 + K + J / R, RUN) and, of integers, (RUN,).
    """
    first, second, level, rater, weight, way = judged
    tables, gains, discounts, thresholds, judges = points
    losses, of_tables, of_thresholds, of_judges, of_judges_twice, coupled, curved = sums
    width, depth = gains.shape[1], discounts.shape[1]
    far, u, curvatures, bent, judge = work
    n_judges = len(far)
    for b in range(len(gains)):
        loss, m = 0.0, np.int64(0)  # for a literal 0, numba would compile twice
        plain = kind == LIKELIHOOD and thresholds.shape[1] == 3 and thresholds[b, 1] == 0.0
        for i in range(len(first) + 1):
            if m == RUN or (m > 0 and i == len(first)):
                _add_products(b, u, curvatures, bent, judge, m, n_judges, curved)
                u[:width] = 0.0
                m = 0
            if i == len(first):
                break
            r = rater[i if len(rater) > 1 else 0]
            v, e = weight[i if len(weight) > 1 else 0], judges[b, r]
            side, bias = _bias(way, i, judges[b], r, n_judges)
            z = _difference(first[i], second[i], tables[b], width) + bias
            tie, j, low, high = _level(level, i, thresholds[b], plain)
            if kind == LIKELIHOOD and _is_far(z, low, high, tie, e):
                far[r, int(z > 0.0)] += v
                continue
            cost, slopes, second_order = _cost(kind, z, low, high, tie, e)
            loss += v * cost
            if order == VALUE or (slopes[0] == 0.0 and kind != LIKELIHOOD):
                continue
            _add_of_judges(b, j, r, v, slopes, side, n_judges, of_thresholds, of_judges)
            if order == CURVATURE:
                _add_twice_of_judges(b, r, v, slopes, second_order, side, n_judges, of_judges_twice, coupled)
                curvatures[m], judge[m] = v * second_order[0], r
                bent[-1, m] = v * side * second_order[0]  # where it is known, of the bias
                bent[len(u), m] = v * second_order[3]
            for k in range(depth):
                better, worse = np.uint64(first[i, k] + 1), np.uint64(second[i, k] + 1)
                of_tables[b, np.uint64(k * width) + better] += v * slopes[0]
                of_tables[b, np.uint64(k * width) + worse] -= v * slopes[0]
                if order == CURVATURE:
                    u[better, m] += discounts[b, k]
                    u[worse, m] -= discounts[b, k]
                    u[width + k, m] = gains[b, better] - gains[b, worse]
            if order == CURVATURE:
                if not plain:
                    _add_with_thresholds(b, j, r, v, side, n_judges, second_order, u[:, m], curved)
                m += 1
        losses[b] += loss
        _add_far(b, far, judges, order, losses, of_judges, of_judges_twice)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _difference(first, second, table, width):
    """Return the utility of the first list minus that of the second, from a table of positions and grades."""
    z = 0.0
    for k in range(len(first)):
        better, worse = np.uint64(k * width + 1 + first[k]), np.uint64(k * width + 1 + second[k])
        z += table[better] - table[worse]
    return z


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _bias(way, i, judges, r, n_judges):
    """Return 1 where the first list of judgement i was shown first, -1 or 0, and judge r's bias for that list."""
    if len(judges) == n_judges:
        return 0.0, 0.0
    side = float(way[i if len(way) > 1 else 0])
    return side, side * judges[n_judges + r]


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _level(level, i, thresholds, plain):
    """Return whether judgement i is a tie, its level, and the thresholds around it; `plain` if there is one level."""
    if plain:
        return False, np.int64(1), 0.0, math.inf
    j = np.int64(level[i if len(level) > 1 else 0])
    tie, j = j == 0, max(j, 1)
    return tie, j, thresholds[j], thresholds[j + 1]


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _is_far(z, low, high, tie, e):
    """Tell whether a verdict is so clear that only the error rate matters."""
    return (z > TAIL + low or (z < -TAIL - low and e > 0.0)) and high == math.inf and not tie


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _add_of_judges(b, j, r, v, slopes, side, n_judges, of_thresholds, of_judges):
    """Add v times the slopes in the thresholds of level j and in the error rate and bias of judge r."""
    of_thresholds[b, j] += v * slopes[1]
    of_thresholds[b, j + 1] += v * slopes[2]
    of_judges[b, r] += v * slopes[3]
    if side != 0.0:
        of_judges[b, n_judges + r] += v * side * slopes[0]


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, forceinline=True)
def _add_twice_of_judges(b, r, v, slopes, second_order, side, n_judges, of_judges_twice, coupled):
    """Add v times the second derivatives in the error rate and bias of judge r."""
    of_judges_twice[b, r] += v * slopes[3] * slopes[3]
    if side != 0.0:
        of_judges_twice[b, n_judges + r] += v * second_order[0]
        coupled[b, r] += v * side * second_order[3]


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _add_with_thresholds(b, j, r, v, side, n_judges, second_order, u, curved):
    """Add v times the second derivatives that involve the thresholds of level j; `u` are the slopes of z."""
    low = len(u) + j
    high, error = low + 1, curved.shape[2] + r
    _, z_low, z_high, _, low_low, low_high, low_e, high_high, high_e = second_order
    for x in range(len(u)):
        curved[b, low, x] += v * z_low * u[x]
        curved[b, high, x] += v * z_high * u[x]
    curved[b, low, low] += v * low_low
    curved[b, low, high] += v * low_high
    curved[b, high, low] += v * low_high
    curved[b, high, high] += v * high_high
    curved[b, error, low] += v * low_e
    curved[b, error, high] += v * high_e
    if side != 0.0:
        curved[b, error + n_judges, low] += v * side * z_low
        curved[b, error + n_judges, high] += v * side * z_high


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _add_products(b, u, curvatures, bent, judge, m, n_judges, curved):
    """Add the products of m columns of u, times their curvatures, and by judge those with the last rows of `bent`."""
    last = len(u)
    for x in range(last):
        for j in range(m):
            bent[x, j] = curvatures[j] * u[x, j]
        for y in range(x + 1):
            curved[b, x, y] += _product(bent, x, u, y, m)
            curved[b, y, x] = curved[b, x, y]
        for kind in range(len(bent) - last):
            first_judge = curved.shape[1] - (len(bent) - last - kind) * n_judges
            if n_judges == 1:
                curved[b, first_judge, x] += _product(bent, last + kind, u, x, m)
            else:
                for j in range(m):
                    curved[b, first_judge + judge[j], x] += bent[last + kind, j] * u[x, j]


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _add_far(b, far, errors, order, losses, of_errors, of_errors_twice):
    """Add pairs so clear that only error rates matter, and forget them.

    `far`, shape (R, 2), holds the weights of those that the model contradicts, and of the others.
    """
    for r in range(len(far)):
        for side in range(2):
            rate, sign = (1.0 - errors[b, r], -1.0) if side else (max(errors[b, r], 1e-300), 1.0)
            if far[r, side] > 0.0:
                losses[b] -= far[r, side] * math.log(rate)
                if order > VALUE:
                    of_errors[b, r] -= sign * far[r, side] / rate
                if order == CURVATURE:
                    of_errors_twice[b, r] += far[r, side] / (rate * rate)
            far[r, side] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def add_listed_judgements(judged, values, factors, thresholds, judges, kind, order, sums, work):
    """Add what `add_judgements` does for pairs of m lists, given by their numbers, shape (n,) each.

    `values` are the lists' utilities, shape (B, m), and `factors` their slopes in gains and discounts, (B, m, S). The
    derivatives in z are added up by list, (B, m) each: the first, those with the error rate, and the second. Of these
    ``curved``, (B, S, S), holds the products of one list's factors and another's, once for each pair. Second
    derivatives are those of preferences without strengths by one judge whose bias is none. `work` is memory, zero, of
    the shapes (R, 2) and (S,).
    """
    first, second, level, rater, weight, way = judged
    losses, of_lists, of_thresholds, of_judges, of_judges_twice, across_lists, curvatures, curved = sums
    far, others = work
    n_judges = len(far)
    for b in range(len(values)):
        loss = 0.0
        for p in range(len(first)):
            i, j = np.uint64(first[p]), np.uint64(second[p])
            r = rater[p if len(rater) > 1 else 0]
            v, e = weight[p if len(weight) > 1 else 0], judges[b, r]
            side, bias = _bias(way, p, judges[b], r, n_judges)
            z = values[b, i] - values[b, j] + bias
            tie, t, low, high = _level(level, p, thresholds[b], False)
            if kind == LIKELIHOOD and _is_far(z, low, high, tie, e):
                far[r, int(z > 0.0)] += v
            else:
                cost, slopes, second_order = _cost(kind, z, low, high, tie, e)
                loss += v * cost
                if order > VALUE:
                    _add_of_judges(b, t, r, v, slopes, side, n_judges, of_thresholds, of_judges)
                    of_lists[b, i] += v * slopes[0]
                    of_lists[b, j] -= v * slopes[0]
                if order == CURVATURE:
                    curvature = v * second_order[0]
                    of_judges_twice[b, 0] += v * slopes[3] * slopes[3]
                    across_lists[b, i] += v * second_order[3]
                    across_lists[b, j] -= v * second_order[3]
                    curvatures[b, i] += curvature
                    curvatures[b, j] += curvature
                    for x in range(len(others)):
                        others[x] += curvature * factors[b, j, x]
            if p % RUN == RUN - 1 or p == len(first) - 1:
                losses[b] += loss
                loss = 0.0
            if order == CURVATURE and (p == len(first) - 1 or first[p + 1] != first[p]):
                for x in range(len(others)):
                    for y in range(len(others)):
                        curved[b, x, y] += factors[b, i, x] * others[y]
                others[:] = 0.0
        _add_far(b, far, judges, order, losses, of_judges, of_judges_twice)


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}, no_cpython_wrapper=True)
def _product(one, x, other, y, m):
    """Return the product of two rows over m columns."""
    total = 0.0
    for i in range(m):
        total += one[x, i] * other[y, i]
    return total
