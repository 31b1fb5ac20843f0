"""The compiled loops over judgements: differences of utilities straight from int8 grades, and sums over what changes.

All formulas of the losses are in `judgement_costs`: what is here is the reading of lists, which NumPy cannot do without
large temporary arrays. `add_preferences` has the formulas of the simplest judgements too, which most logs hold.
"""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.learning.judgement_costs import CURVATURE, TAIL, VALUE

RUN = 64
"""Judgements whose losses and second derivatives are added at once."""


@njit(cache=True, nogil=True, error_model="numpy")
def add_preferences(pairs, judges, order, sums):
    """Add the losses of preferences without strengths, in a log without ties, and their derivatives up to an order.

    `pairs` are the lists, first and second, shape (n, K) each, the raters and the weights, shape (n,) or (1,) each;
    `judges` the utilities and the gains, with a column for -1, shapes (B, K, L + 1) and (B, L + 1), the discounts,
    (B, K), and the error rates, (B, R), which are no variables where they are zero. `sums` are the losses, (B,), the slopes in the utilities, (B, K, L + 1), and
    in the error rates, (B, R), the second derivatives in these, (B, R), and `curved` as in `add_derivatives`, whose
    last R rows are those of the error rates.
    """
    first, second, rater, weight = pairs
    tables, gains, discounts, errors = judges
    losses, moment, of_errors, of_errors_twice, curved = sums
    n, width, size = len(first), gains.shape[1], gains.shape[1] + discounts.shape[1]
    of_judges = curved.shape[1] - errors.shape[1]
    each_rater, each_weight = len(rater) > 1, len(weight) > 1
    u, bent, certain = np.empty((size, RUN)), np.empty((size, RUN)), np.empty((errors.shape[1], 2))
    for b in range(len(gains)):
        table, of_table = tables[b].ravel(), moment[b].ravel()
        for r in range(len(certain)):
            certain[r, 0], certain[r, 1] = math.log(errors[b, r]), math.log(1.0 - errors[b, r])
        for start in range(0, n, RUN):
            loss, m = 0.0, 0
            for i in range(start, min(start + RUN, n)):
                z = _difference(first, second, i, width, table)
                r = rater[i if each_rater else 0]
                v, e = weight[i if each_weight else 0], errors[b, r]
                near = abs(z) < TAIL
                fall = math.exp(-abs(z)) if near else 0.0
                ahead = 1.0 / (1.0 + fall)
                right = ahead if z >= 0.0 else fall * ahead
                if e == 0.0:
                    loss += v * (math.log1p(fall) - min(z, 0.0))
                    slope, bend, across = v * (right - 1.0), v * fall * ahead * ahead, 0.0
                    near = near or z < 0.0
                else:
                    chance = e + (1.0 - 2.0 * e) * right
                    loss -= v * (math.log(chance) if near else certain[r, int(z > 0.0)])
                    lead = 2.0 * right - 1.0
                    bell = fall * ahead * ahead / chance
                    slope = (2.0 * e - 1.0) * bell
                    bend = v * slope * (slope - lead)
                    across = v * (2.0 * bell + slope * lead / chance)
                    slope *= v
                    if order > VALUE:
                        of_errors[b, r] += v * lead / chance
                        if order == CURVATURE:
                            of_errors_twice[b, r] += v * lead * lead / (chance * chance)
                if order == VALUE or not near:
                    continue
                _add_to_table(first, second, i, width, slope, of_table)
                if order == CURVATURE:
                    _fill_factors(first, second, i, gains[b], discounts[b], bend, u, bent, m)
                    row = curved[b, of_judges + r]
                    for y in range(size if across != 0.0 else 0):
                        row[y] += across * u[y, m]
                    m += 1
            losses[b] += loss
            _add_products(bent, u, m, curved[b])


@njit(cache=True, nogil=True, error_model="numpy")
def add_differences(first, second, tables, out):
    """Add to `out`, shape (B, n), the utility of each pair's first list minus that of its second at B points.

    `tables` are the utilities with a column for -1, shape (B, K, L + 1).
    """
    width = tables.shape[2]
    for b in range(len(tables)):
        flat = tables[b].ravel()
        for i in range(len(first)):
            out[b, i] += _difference(first, second, i, width, flat)


@njit(cache=True, nogil=True, error_model="numpy")
def add_derivatives(pairs, judges, costs, rows, moment, curved):
    """Add derivatives of losses, shape (B, n), to those in utilities, and second ones to those in gains and discounts.

    `pairs` are the lists, first and second, shape (n, K) each, and `judges` the gains, shape (B, L + 1), and discounts,
    (B, K). `costs` are the slopes in z, shape (B, n), the second derivatives in z, of the same shape or without
    columns, and those in z and another parameter, (q, B, n). The first are added to `moment`, shape (B, K, L + 1), the
    second to the lower triangle of the first rows of `curved`, shape (B, L + 1 + K + ..., L + 1 + K), the others to its
    `rows`, shape (q, n). Judgements whose derivatives are all zero are passed over.
    """
    first, second = pairs
    gains, discounts = judges
    slopes, bends, along = costs
    width, is_bent = gains.shape[1], bends.shape[1] > 0
    size = width + discounts.shape[1]
    u, bent = np.empty((size, RUN)), np.empty((size, RUN))
    for b in range(len(gains)):
        of_table = moment[b].ravel()
        for start in range(0, len(first), RUN):
            m = 0
            for i in range(start, min(start + RUN, len(first))):
                slope, bend = slopes[b, i], bends[b, i] if is_bent else 0.0
                far = slope == 0.0 and bend == 0.0
                for q in range(len(rows)):
                    far = far and along[q, b, i] == 0.0
                if far:
                    continue
                _add_to_table(first, second, i, width, slope, of_table)
                if is_bent:
                    _fill_factors(first, second, i, gains[b], discounts[b], bend, u, bent, m)
                    for q in range(len(rows)):
                        row = curved[b, rows[q, i]]
                        for y in range(size):
                            row[y] += along[q, b, i] * u[y, m]
                    m += 1
            _add_products(bent, u, m, curved[b])


@njit(nogil=True, error_model="numpy")
def _difference(first, second, i, width, table):
    """Return the difference of the utilities of pair i from their table, which has a column for -1."""
    z = 0.0
    for k in range(first.shape[1]):
        z += table[np.uint64(k * width + first[i, k] + 1)] - table[np.uint64(k * width + second[i, k] + 1)]
    return z


@njit(nogil=True, error_model="numpy")
def _add_to_table(first, second, i, width, slope, of_table):
    """Add a slope in the difference of pair i to the slopes in the table."""
    for k in range(first.shape[1]):
        of_table[np.uint64(k * width + first[i, k] + 1)] += slope
        of_table[np.uint64(k * width + second[i, k] + 1)] -= slope


@njit(nogil=True, error_model="numpy")
def _fill_factors(first, second, i, gain, discount, bend, u, bent, m):
    """Set column m to the slopes of the difference of pair i in gains and discounts, and to these times `bend`."""
    width = len(gain)
    for g in range(width):
        u[g, m] = 0.0
    for k in range(len(discount)):
        better, worse = np.uint64(first[i, k] + 1), np.uint64(second[i, k] + 1)
        u[better, m] += discount[k]
        u[worse, m] -= discount[k]
        u[width + k, m] = gain[better] - gain[worse]
    for x in range(len(u)):
        bent[x, m] = bend * u[x, m]


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _add_products(bent, u, m, out):
    """Add the products of the rows over m columns to the lower triangle."""
    for x in range(len(u) if m else 0):
        for y in range(x + 1):
            total = 0.0
            for i in range(m):
                total += bent[x, i] * u[y, i]
            out[x, y] += total
