"""The compiled loops over lists: values in every form of utility, their slopes, and sums by list.

A value is ``sum_k c_k g_{l_k} P_k`` with the survival ``P_k = prod_{m<k} (1 - s_{l_m})``, or ``(1 - x) sum_k c_k
g_{l_k} + x max_k c_k g_{l_k}``; with no stop and no share of the best result it is that of a DCG. Tables of grades have
an entry for -1, the grade that is not known, in front.
"""

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.validation import Floats, Grades, filled
from dcglearn.metric.list_utility import ListUtility


def value_slopes(utility: ListUtility, lists: Grades) -> Floats:
    """Return the slopes of the values of lists in all weights and further parameters, shape (n, K * L + E).

    The first columns are those of the weight ``W[k, l] = c_k g_l`` of each grade at each position, in the order of
    ``W.ravel()``; W times these is the value itself. The others are those of the L stop probabilities or, for a share
    of the best result, of that share. `lists` has shape (n, K), -1 = no known grade.
    """
    n, depth, width = len(lists), utility.depth, utility.n_grades + 1
    moment, of_stops, of_best = np.zeros((n, depth, width)), np.zeros((n, width)), np.zeros(n)
    tables = np.append(0.0, utility.gains), utility.discounts, np.append(0.0, utility.stops), float(utility.best)
    fill_slopes(np.array(filled(lists), np.int8), *tables, moment, of_stops, of_best)
    return np.column_stack([moment[:, :, 1:].reshape(n, -1), of_best if utility.form == "best" else of_stops[:, 1:]])


@njit(cache=True, nogil=True, error_model="numpy")
def fill_values(lists, gains, discounts, stops, best, values):
    """Set the values of m lists at B points, shape (B, m); gains and stops have shape (B, L + 1), best (B,)."""
    for b in range(len(values)):
        for i in range(len(lists)):
            total, highest, survival = 0.0, 0.0, 1.0
            for k in range(lists.shape[1]):
                grade = lists[i, k] + 1
                value = discounts[b, k] * gains[b, grade] * survival
                total += value
                highest = max(highest, value)
                survival *= 1.0 - stops[b, grade]
            values[b, i] = total + best[b] * (highest - total)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _add_slopes(grades, slope, gains, discounts, stops, best, survival, moment, of_stops):
    """Add a slope in the value of a list, as `spread_slopes` does; return that in the share of the best result."""
    depth = len(grades)
    alive, total, highest, top = 1.0, 0.0, 0.0, -1
    for k in range(depth):
        grade = grades[k] + 1
        survival[k] = alive
        value = discounts[k] * gains[grade] * alive
        total += value
        if value > highest:
            highest, top = value, k
        moment[k, grade] += slope * (1.0 - best) * alive
        alive *= 1.0 - stops[grade]
    if top >= 0:
        moment[top, grades[top] + 1] += slope * best
    below = 0.0  # what the rest of the list is worth to those who go on
    for k in range(depth - 1 if len(of_stops) else -1, -1, -1):
        grade = grades[k] + 1
        of_stops[grade] -= slope * survival[k] * below
        below = discounts[k] * gains[grade] + (1.0 - stops[grade]) * below
    return slope * (highest - total)


@njit(cache=True, nogil=True, error_model="numpy")
def spread_slopes(lists, slopes, gains, discounts, stops, best, moment, of_stops, of_best):
    """Add slopes in the values, shape (B, m), to those in the further parameters and in what these multiply.

    `moment`, shape (B, K, L + 1), holds for every grade at every position the sum of the slopes times what a unit of
    discount times gain is worth there. `of_stops` has shape (B, L + 1), or (B, 0) where it is not wanted, `of_best`
    (B,).
    """
    survival = np.empty(lists.shape[1])
    for b in range(len(slopes)):
        at = gains[b], discounts[b], stops[b], best[b], survival, moment[b], of_stops[b]
        for i in range(len(lists)):
            if slopes[b, i] != 0.0:
                of_best[b] += _add_slopes(lists[i], slopes[b, i], *at)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_slopes(lists, gains, discounts, stops, best, moment, of_stops, of_best):
    """Add the slopes of each of m values as `spread_slopes` does for sums; the first axis is that of the lists."""
    survival = np.empty(lists.shape[1])
    for i in range(len(lists)):
        of_best[i] += _add_slopes(lists[i], 1.0, gains, discounts, stops, best, survival, moment[i], of_stops[i])


@njit(cache=True, nogil=True, error_model="numpy")
def fill_factors(lists, gains, discounts, factors):
    """Set the slopes of a DCG's values in its gains and discounts, shape (B, m, L + K), zero so far."""
    n_grades = gains.shape[1] - 1
    for b in range(len(factors)):
        for i in range(len(lists)):
            for k in range(lists.shape[1]):
                if lists[i, k] >= 0:
                    factors[b, i, lists[i, k]] += discounts[b, k]
                    factors[b, i, n_grades + k] = gains[b, lists[i, k] + 1]


@njit(cache=True, nogil=True, error_model="numpy")
def add_curvatures(with_error, curvatures, factors, crossed, joint):
    """Add second derivatives in the values, shape (B, m), with the error rate and alone, to those in the parameters."""
    for b in range(len(factors)):
        for i in range(factors.shape[1]):
            for x in range(factors.shape[2]):
                crossed[b, 0, x] += with_error[b, i] * factors[b, i, x]
                for y in range(factors.shape[2]):
                    joint[b, x, y] += curvatures[b, i] * factors[b, i, x] * factors[b, i, y]
