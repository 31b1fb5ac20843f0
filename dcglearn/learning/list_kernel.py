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

list_values = function(
    "fill_values .n .m .depth .width b[m,depth] f[n,width] f[n,depth] f[n,width] f[n] f[n,m]!"
)
"""The values of m lists at B points, shape (B, m); taken are lists and `Tables`."""

spread_slopes = function(
    "spread_slopes .n .m .depth .width b[m,depth] f[n,m] f[n,width] f[n,depth] f[n,width] f[n] "
    "f[n,depth,width] f[n*width]? f[n] f[depth]~"
)
"""Adds slopes in the values, (B, m), to those in further parameters and in their factors.

Taken are lists, slopes and `Tables`. Added to are, for every grade at every position, the sum of
the slopes times the value of a unit of discount times gain there, (B, K, L + 1); the slopes in the
stops, (B, L + 1), or None where they are not wanted; and those in the share of the best, (B,).
"""

_slopes_of_one = function(
    "fill_slopes .n .depth .width b[n,depth] f[width] f[depth] f[width] #best f[n,depth,width]+ "
    "f[n,width]+ f[n]+ f[depth]~"
)

list_factors = function(
    "fill_factors .n .m .depth .width b[m,depth] f[n,width] f[n,depth] f[n,m,width-1+depth]+"
)
"""The slopes of a DCG's values in gains and discounts, (B, m, L + K); taken are lists and tables.
"""

add_curvatures = function(
    "add_curvatures .n .m .size .free .columns f[n,m] f[n,m] f[n,m,size] f[n,free,columns] "
    "f[n,columns,columns]"
)
"""Adds second derivatives in the values to the parameters'.

Taken are those with the error rate and alone, (B, m) each, the factors of `list_factors`, and what
they are added to: derivatives in judges and in parameters, and in parameters alone.
"""


def value_slopes(utility: ListUtility, lists: Grades) -> Floats:
    """Return slopes of lists' values in all weights and further parameters, shape (n, K * L + E).

    The first columns are those of the weight ``W[k, l] = c_k g_l`` of each grade at each position,
    in the order of ``W.ravel()``; W times these is the value itself. The others are those of the L
    stop probabilities or, for a share of the best result, of that share. `lists` has shape (n, K),
    -1 = no known grade.
    """
    grades = np.array(filled(lists), np.int8)
    gains, stops = np.append(0.0, utility.gains), np.append(0.0, utility.stops)
    discounts = np.ascontiguousarray(utility.discounts, np.float64)

    # slopes of each list, without those in an unknown grade
    tables = gains, discounts, stops, float(utility.best)
    moment, of_stops, of_best = _slopes_of_one(grades, *tables)
    further = of_best if utility.form == "best" else of_stops[:, 1:]
    return np.column_stack([moment[:, :, 1:].reshape(len(lists), -1), further])


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
    spread_slopes(lists, of_values, *tables, moment, of_stops if with_stops else None, of_best)
    return np.ascontiguousarray(moment[:, :, 1:]), of_stops[:, 1:], of_best
