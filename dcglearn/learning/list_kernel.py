"""The loops over lists in C: values of a DCG at many points, their slopes, and sums by list.

Tables of gains have an entry for -1, the unknown grade, in front.
"""

import numpy as np

from dcglearn.foundation.validation import Floats, Grades
from dcglearn.kernels.library import function

Tables = tuple[Floats, Floats]
"""Gains, shape (B, L + 1), and discounts, (B, K)."""

list_values = function("fill_values .n .m .depth .width b[m,depth] f[n,width] f[n,depth] f[n,m]!")
"""The values of m lists at B points, shape (B, m); taken are lists and `Tables`."""

_spread_slopes = function("spread_slopes .n .m .depth .width b[m,depth] f[n,m] f[n,depth,width]")

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


def list_slopes(lists: Grades, of_values: Floats, tables: Tables) -> Floats:
    """Return slopes in discounts times gains, (B, K, L), from those in m lists' values, (B, m)."""
    (n, width), depth = tables[0].shape, lists.shape[1]
    moment = np.zeros((n, depth, width))
    _spread_slopes(lists, of_values, moment)
    return np.ascontiguousarray(moment[:, :, 1:])
