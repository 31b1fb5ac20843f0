"""The loops over lists in C: values in every form of utility, their slopes, and sums by list.

A value is ``sum_k c_k g_{l_k} P_k`` with the survival ``P_k = prod_{m<k} (1 - s_{l_m})``, or ``(1 -
x) sum_k c_k g_{l_k} + x max_k c_k g_{l_k}``; with no stop and no share of the best result it is
a DCG's. Tables of grades have an entry for -1, the unknown grade, in front.
"""

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, filled
from dcglearn.kernels.library import function
from dcglearn.metrics.list_utility import ListUtility

Tables = tuple[Floats, Floats, Floats, Floats]
"""Gains, shape (B, L + 1), discounts, (B, K), stops, (B, L + 1), and shares of the best, (B,)."""

_fill_values = function(
    "fill_values n m depth width b[m*depth] f[n*width] f[n*depth] f[n*width] f[n] f[n*m]"
)
_spread_slopes = function(
    "spread_slopes n m depth width b[m*depth] f[n*m] f[n*width] f[n*depth] f[n*width] f[n] "
    "f[n*depth*width] f[n*width]? f[n] f[depth]"
)
_fill_slopes = function(
    "fill_slopes n depth width b[n*depth] f[width] f[depth] f[width] #best f[n*depth*width] "
    "f[n*width] f[n] f[depth]"
)
_fill_factors = function(
    "fill_factors n m depth width b[m*depth] f[n*width] f[n*depth] f[n*m*(width-1+depth)]"
)
_add_curvatures = function(
    "add_curvatures n m size free columns f[n*m] f[n*m] f[n*m*size] f[n*free*columns] "
    "f[n*columns*columns]"
)


def value_slopes(utility: ListUtility, lists: Grades) -> Floats:
    """Return slopes of lists' values in all weights and further parameters, shape (n, K * L + E).

    The first columns are those of the weight ``W[k, l] = c_k g_l`` of each grade at each position,
    in the order of ``W.ravel()``; W times these is the value itself. The others are those of the L
    stop probabilities or, for a share of the best result, of that share. `lists` has shape (n, K),
    -1 = no known grade.
    """
    n, depth, width = len(lists), utility.depth, utility.n_grades + 1

    # the utility as tables
    grades = np.array(filled(lists), np.int8)
    gains, stops = np.append(0.0, utility.gains), np.append(0.0, utility.stops)
    discounts = np.ascontiguousarray(utility.discounts, np.float64)

    # slopes of each list
    moment, of_stops, of_best = np.zeros((n, depth, width)), np.zeros((n, width)), np.zeros(n)
    tables, sums = (gains, discounts, stops, float(utility.best)), (moment, of_stops, of_best)
    _fill_slopes(n, depth, width, grades, *tables, *sums, np.empty(depth))
    further = of_best if utility.form == "best" else of_stops[:, 1:]
    return np.column_stack([moment[:, :, 1:].reshape(n, -1), further])


def list_values(lists: Grades, tables: Tables) -> Floats:
    """Return the values of m lists at B points, shape (B, m)."""
    sizes = _sizes(lists, tables)
    values = np.empty(sizes[:2])
    _fill_values(*sizes, lists, *tables, values)
    return values


def list_slopes(
    lists: Grades, of_values: Floats, tables: Tables, *, with_stops: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Return slopes in the parameters from those in the values of m lists, shape (B, m).

    The first, shape (B, K, L), are those in discounts times gains, then those in the stop
    probabilities, (B, L), or (B, 0) unless they are wanted, and in the share of the best, (B,).
    """
    (n, width), depth = tables[0].shape, lists.shape[1]
    moment, of_best = np.zeros((n, depth, width)), np.zeros(n)
    of_stops = np.zeros((n, width if with_stops else 0))
    spread_slopes(lists, of_values, tables, moment, of_stops, of_best)
    return np.ascontiguousarray(moment[:, :, 1:]), of_stops[:, 1:], of_best


def list_factors(lists: Grades, tables: Tables) -> Floats:
    """Return the slopes of a DCG's values in its gains and discounts, shape (B, m, L + K)."""
    n, m, depth, width = sizes = _sizes(lists, tables)
    factors = np.zeros((n, m, width - 1 + depth))
    _fill_factors(*sizes, lists, *tables[:2], factors)
    return factors


def spread_slopes(
    lists: Grades, slopes: Floats, tables: Tables, moment: Floats, of_stops: Floats, of_best: Floats
) -> None:
    """Add slopes in the values, (B, m), to those in further parameters and in their factors.

    `moment`, shape (B, K, L + 1), holds for every grade at every position the sum of the slopes
    times the value of a unit of discount times gain there. `of_stops` has shape (B, L + 1), or (B,
    0) where it is not wanted, `of_best` (B,).
    """
    stopped = of_stops if of_stops.shape[1] else None
    work = np.empty(lists.shape[1])
    sizes = _sizes(lists, tables)
    _spread_slopes(*sizes, lists, slopes, *tables, moment, stopped, of_best, work)


def _sizes(lists: Grades, tables: Tables) -> tuple[int, int, int, int]:
    """Return the numbers of points, lists, positions and entries of a table of gains."""
    (n, width), (m, depth) = tables[0].shape, lists.shape
    return n, m, depth, width


def add_curvatures(
    with_error: Floats, curvatures: Floats, factors: Floats, crossed: Floats, joint: Floats
) -> None:
    """Add second derivatives in the values, with the error rate and alone, to the parameters'."""
    sizes = *factors.shape, *crossed.shape[1:]
    _add_curvatures(*sizes, with_error, curvatures, factors, crossed, joint)
