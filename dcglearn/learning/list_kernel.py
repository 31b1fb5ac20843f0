"""The loops over lists in C: values in every form of utility, their slopes, and sums by list.

A value is ``sum_k c_k g_{l_k} P_k`` with the survival ``P_k = prod_{m<k} (1 - s_{l_m})``, or ``(1 -
x) sum_k c_k g_{l_k} + x max_k c_k g_{l_k}``; with no stop and no share of the best result it is
that of a DCG. Tables of grades have an entry for -1, the grade that is not known, in front.
"""

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, filled
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int8s
from dcglearn.metric.list_utility import ListUtility

_fill_values = function("fill_values", *[COUNT] * 4, *[ARRAY] * 6)
_spread_slopes = function("spread_slopes", *[COUNT] * 4, *[ARRAY] * 10)
_fill_slopes = function("fill_slopes", *[COUNT] * 3, *[ARRAY] * 4, NUMBER, *[ARRAY] * 4)
_fill_factors = function("fill_factors", *[COUNT] * 4, *[ARRAY] * 4)
_add_curvatures = function("add_curvatures", *[COUNT] * 5, *[ARRAY] * 5)


def value_slopes(utility: ListUtility, lists: Grades) -> Floats:
    """Return the slopes of the values of lists in all weights and further parameters, shape (n, K *
    L + E).

    The first columns are those of the weight ``W[k, l] = c_k g_l`` of each grade at each position,
    in the order of ``W.ravel()``; W times these is the value itself. The others are those of the L
    stop probabilities or, for a share of the best result, of that share. `lists` has shape (n, K),
    -1 = no known grade.
    """
    n, depth, width = len(lists), utility.depth, utility.n_grades + 1
    moment, of_stops, of_best = np.zeros((n, depth, width)), np.zeros((n, width)), np.zeros(n)
    grades = np.array(filled(lists), np.int8)
    gains, stops = np.append(0.0, utility.gains), np.append(0.0, utility.stops)
    discounts, survival = np.ascontiguousarray(utility.discounts, np.float64), np.empty(depth)
    _fill_slopes(
        n,
        depth,
        width,
        int8s(grades, n * depth),
        floats(gains, width),
        floats(discounts, depth),
        floats(stops, width),
        float(utility.best),
        floats(moment, n * depth * width),
        floats(of_stops, n * width),
        floats(of_best, n),
        floats(survival, depth),
    )
    return np.column_stack(
        [moment[:, :, 1:].reshape(n, -1), of_best if utility.form == "best" else of_stops[:, 1:]]
    )


def fill_values(
    lists: Grades, gains: Floats, discounts: Floats, stops: Floats, best: Floats, values: Floats
) -> None:
    """Set the values of m lists at B points, shape (B, m); gains and stops have shape (B, L + 1),
    best (B,).
    """
    (n, width), (m, depth) = gains.shape, lists.shape
    _fill_values(
        n,
        m,
        depth,
        width,
        int8s(lists, m * depth),
        floats(gains, n * width),
        floats(discounts, n * depth),
        floats(stops, n * width),
        floats(best, n),
        floats(values, n * m),
    )


def spread_slopes(
    lists: Grades,
    slopes: Floats,
    gains: Floats,
    discounts: Floats,
    stops: Floats,
    best: Floats,
    moment: Floats,
    of_stops: Floats,
    of_best: Floats,
) -> None:
    """Add slopes in the values, shape (B, m), to those in the further parameters and in what these
    multiply.

    `moment`, shape (B, K, L + 1), holds for every grade at every position the sum of the slopes
    times what a unit of discount times gain is worth there. `of_stops` has shape (B, L + 1), or (B,
    0) where it is not wanted, `of_best` (B,).
    """
    (n, width), (m, depth) = gains.shape, lists.shape
    survival = np.empty(depth)
    _spread_slopes(
        n,
        m,
        depth,
        width,
        int8s(lists, m * depth),
        floats(slopes, n * m),
        floats(gains, n * width),
        floats(discounts, n * depth),
        floats(stops, n * width),
        floats(best, n),
        floats(moment, n * depth * width),
        floats(of_stops, n * width) if of_stops.shape[1] else None,
        floats(of_best, n),
        floats(survival, depth),
    )


def fill_factors(lists: Grades, gains: Floats, discounts: Floats, factors: Floats) -> None:
    """Set the slopes of a DCG's values in its gains and discounts, shape (B, m, L + K), zero so
    far.
    """
    (n, width), (m, depth) = gains.shape, lists.shape
    _fill_factors(
        n,
        m,
        depth,
        width,
        int8s(lists, m * depth),
        floats(gains, n * width),
        floats(discounts, n * depth),
        floats(factors, n * m * (width - 1 + depth)),
    )


def add_curvatures(
    with_error: Floats, curvatures: Floats, factors: Floats, crossed: Floats, joint: Floats
) -> None:
    """Add second derivatives in the values, shape (B, m), with the error rate and alone, to those
    in the parameters.
    """
    (n, m, size), (_, n_free, columns) = factors.shape, crossed.shape
    _add_curvatures(
        n,
        m,
        size,
        n_free,
        columns,
        floats(with_error, n * m),
        floats(curvatures, n * m),
        floats(factors, n * m * size),
        floats(crossed, n * n_free * columns),
        floats(joint, n * columns * columns),
    )
