"""The compiled loops over judgements: differences of utilities straight from int8 grades, and sums over what changes.

All formulas of the losses are in `judgement_costs`: what is here is the reading of lists, which NumPy cannot do without
large temporary arrays. `add_preferences` has the formulas of the simplest judgements too, which most logs hold.
"""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.learning.judgement_costs import CURVATURE, TAIL, VALUE

RUN = 120
"""Judgements whose losses and second derivatives are added at once."""


@njit(cache=True, nogil=True, error_model="numpy")
def add_preferences(first, second, rater, weight, tables, gains, discounts, errors, order, sums, work):
    """Add the losses of preferences without strengths, in a log without ties, and their derivatives up to an order.

    `first` and `second` are the lists, shape (n, K) each, `rater` and `weight` have shape (n,) or (1,), and `tables`
    are the utilities, shape (B, K (L + 1)). Error rates of zero are no variables. `sums` are the losses, (B,), their
    slopes in the utilities, (B, K (L + 1)), and in the error rates, (B, R), the second derivatives in these, (B, R),
    and `curved` as in `add_derivatives`, whose last R rows are those of the error rates. `work` is memory of the shapes
    (R, 2), zero, (L + 1 + K, RUN), (RUN,), (L + 2 + K, RUN) and, of integers, (RUN,).
    """
    losses, of_tables, of_errors, of_errors_twice, curved = sums
    width, depth = gains.shape[1], discounts.shape[1]
    far, u, bends, bent, judge = work
    for b in range(len(gains)):
        loss, m = 0.0, np.int64(0)  # for a literal 0, numba would compile twice
        for i in range(len(first) + 1):
            if m == RUN or (m > 0 and i == len(first)):
                _add_products(b, u, bends, bent, judge, m, errors.shape[1], curved)
                m = 0
            if i == len(first):
                break
            z = 0.0
            for k in range(depth):
                better, worse = np.uint64(k * width + 1 + first[i, k]), np.uint64(k * width + 1 + second[i, k])
                z += tables[b, better] - tables[b, worse]
            r = rater[i if len(rater) > 1 else 0]
            v, e = weight[i if len(weight) > 1 else 0], errors[b, r]
            if z > TAIL or (z < -TAIL and e > 0.0):
                far[r, int(z > 0.0)] += v
                continue
            log_chance, slope, bend, of_error, across = _preference(z, e)
            loss -= v * log_chance
            if order == VALUE:
                continue
            of_errors[b, r] += v * of_error
            if order == CURVATURE:
                of_errors_twice[b, r] += v * of_error * of_error
                bends[m], bent[len(u), m], judge[m] = v * bend, v * across, r
                for g in range(width):
                    u[g, m] = 0.0
            for k in range(depth):
                better, worse = np.uint64(first[i, k] + 1), np.uint64(second[i, k] + 1)
                of_tables[b, np.uint64(k * width) + better] += v * slope
                of_tables[b, np.uint64(k * width) + worse] -= v * slope
                if order == CURVATURE:
                    u[better, m] += discounts[b, k]
                    u[worse, m] -= discounts[b, k]
                    u[width + k, m] = gains[b, better] - gains[b, worse]
            m += int(order == CURVATURE)
        losses[b] += loss
        _add_far(b, far, errors, order, losses, of_errors, of_errors_twice)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _add_products(b, u, bends, bent, judge, m, n_judges, curved):
    """Add the products of m columns of u, times their bends, and by judge those with the last row of `bent`."""
    last = len(u)
    first_judge = curved.shape[1] - n_judges
    for x in range(last):
        for j in range(m):
            bent[x, j] = bends[j] * u[x, j]
        for y in range(x + 1):
            curved[b, x, y] += _product(bent, x, u, y, m)
            curved[b, y, x] = curved[b, x, y]
        if n_judges == 1:
            curved[b, first_judge, x] += _product(bent, last, u, x, m)
        else:
            for j in range(m):
                curved[b, first_judge + judge[j], x] += bent[last, j] * u[x, j]


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
def add_listed_preferences(first, second, weight, worths, factors, errors, order, sums, work):
    """Add what `add_preferences` does for one judge and pairs of m lists, given by their numbers, shape (n,) each.

    `worths` are the lists' utilities, shape (B, m), and `factors` their slopes in gains and discounts, (B, m, S). The
    derivatives in z are added up by list, (B, m) each: the first, those with the error rate, and the second. Of these
    ``curved``, (B, S, S), holds the products of one list's factors and another's, once for each pair. `work` is
    memory, zero, of the shapes (1, 2) and (S,).
    """
    losses, of_lists, of_errors, of_errors_twice, across_lists, bends, curved = sums
    far, others = work
    for b in range(len(worths)):
        loss, e = 0.0, errors[b, 0]
        for p in range(len(first)):
            i, j = np.uint64(first[p]), np.uint64(second[p])
            z, v = worths[b, i] - worths[b, j], weight[p if len(weight) > 1 else 0]
            if z > TAIL or (z < -TAIL and e > 0.0):
                far[0, int(z > 0.0)] += v
            else:
                log_chance, slope, bend, of_error, across = _preference(z, e)
                loss -= v * log_chance
                of_errors[b, 0] += v * of_error
                of_lists[b, i] += v * slope
                of_lists[b, j] -= v * slope
                if order == CURVATURE:
                    of_errors_twice[b, 0] += v * of_error * of_error
                    across_lists[b, i] += v * across
                    across_lists[b, j] -= v * across
                    bends[b, i] += v * bend
                    bends[b, j] += v * bend
                    for x in range(len(others)):
                        others[x] += v * bend * factors[b, j, x]
            if p % RUN == RUN - 1 or p == len(first) - 1:
                losses[b] += loss
                loss = 0.0
            if order == CURVATURE and (p == len(first) - 1 or first[p + 1] != first[p]):
                for x in range(len(others)):
                    for y in range(len(others)):
                        curved[b, x, y] += factors[b, i, x] * others[y]
                others[:] = 0.0
        _add_far(b, far, errors, order, losses, of_errors, of_errors_twice)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_factors(lists, gains, discounts, worths, factors):
    """Set the worths of m lists, shape (B, m), and their slopes in gains and discounts, (B, m, L + K), zero so far."""
    for b in range(len(gains)):
        for i in range(len(lists)):
            worth = 0.0
            for k in range(lists.shape[1]):
                g = lists[i, k]
                if g >= 0:
                    worth += discounts[b, k] * gains[b, g]
                    factors[b, i, g] += discounts[b, k]
                    factors[b, i, gains.shape[1] + k] = gains[b, g]
            worths[b, i] = worth


@njit(cache=True, nogil=True, error_model="numpy")
def add_lists(lists, of_lists, across_lists, bends, factors, moment, crossed, joint):
    """Add derivatives by list to those in the utilities, (B, K, L), and second ones to those in gains and discounts."""
    for b in range(len(factors)):
        for i in range(len(lists)):
            for k in range(lists.shape[1]):
                if lists[i, k] >= 0:
                    moment[b, k, lists[i, k]] += of_lists[b, i]
            for x in range(factors.shape[2] if joint.shape[1] else 0):
                crossed[b, 0, x] += across_lists[b, i] * factors[b, i, x]
                for y in range(factors.shape[2]):
                    joint[b, x, y] += bends[b, i] * factors[b, i, x] * factors[b, i, y]


@njit(cache=True, nogil=True, error_model="numpy")
def add_differences(first, second, tables, out):
    """Add to `out`, shape (B, n), the utility of each pair's first list minus that of its second at B points.

    `tables` are the utilities with a column for -1, shape (B, K (L + 1)).
    """
    width = tables.shape[1] // first.shape[1]
    for b in range(len(tables)):
        for i in range(len(first)):
            z = 0.0
            for k in range(first.shape[1]):
                better, worse = np.uint64(k * width + 1 + first[i, k]), np.uint64(k * width + 1 + second[i, k])
                z += tables[b, better] - tables[b, worse]
            out[b, i] += z


@njit(cache=True, nogil=True, error_model="numpy")
def add_derivatives(first, second, gains, discounts, slopes, bends, along, rows, of_tables, curved):
    """Add derivatives of losses, shape (B, n), to those in utilities, and second ones to those in gains and discounts.

    `first` and `second` are the lists, shape (n, K) each, `slopes` those in z, shape (B, n), `bends` the second
    derivatives in z, of the same shape or without columns, and `along` those in z and another parameter, (q, B, n). The
    first are added to `of_tables`, shape (B, K (L + 1)), the second to the first L + 1 + K rows and columns of
    `curved`, and the others to its `rows`, shape (q, n). Judgements whose derivatives are all zero are passed over.
    """
    width, depth = gains.shape[1], discounts.shape[1]
    u, bent = np.empty((width + depth, RUN)), np.empty((width + depth, RUN))
    for b in range(len(gains)):
        for start in range(0, len(first), RUN):
            m = 0
            for i in range(start, min(start + RUN, len(first))):
                bend = bends[b, i] if bends.shape[1] else 0.0
                if slopes[b, i] == 0.0 and bend == 0.0 and not along[:, b, i].any():
                    continue
                u[:width, m] = 0.0
                for k in range(depth):
                    better, worse = np.uint64(first[i, k] + 1), np.uint64(second[i, k] + 1)
                    of_tables[b, np.uint64(k * width) + better] += slopes[b, i]
                    of_tables[b, np.uint64(k * width) + worse] -= slopes[b, i]
                    u[better, m] += discounts[b, k]
                    u[worse, m] -= discounts[b, k]
                    u[width + k, m] = gains[b, better] - gains[b, worse]
                if not bends.shape[1]:
                    continue
                for x in range(len(u)):
                    bent[x, m] = bend * u[x, m]
                    for q in range(len(rows)):
                        curved[b, rows[q, i], x] += along[q, b, i] * u[x, m]
                m += 1
            for x in range(len(u) if m else 0):
                for y in range(x + 1):
                    curved[b, x, y] += _product(bent, x, u, y, m)
                    curved[b, y, x] = curved[b, x, y]


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}, no_cpython_wrapper=True)
def _product(one, x, other, y, m):
    """Return the product of two rows over m columns."""
    total = 0.0
    for i in range(m):
        total += one[x, i] * other[y, i]
    return total


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _preference(z, e):
    """Return a preference's log probability and, of its loss, slope and bend in z, slope in e, and bend in both."""
    fall = math.exp(-min(abs(z), 700.0))
    ahead = 1.0 / (1.0 + fall)
    right = ahead if z >= 0.0 else fall * ahead
    chance = e + (1.0 - 2.0 * e) * right
    log_chance = math.log(chance) if e > 0.0 else math.log(ahead) + min(z, 0.0)
    lead, bell = 2.0 * right - 1.0, fall * ahead * ahead / chance
    slope, of_error = (2.0 * e - 1.0) * bell, lead / chance
    return log_chance, slope, slope * (slope - lead), of_error, 2.0 * bell + slope * of_error
