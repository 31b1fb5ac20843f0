"""The loops over lists in C: values of a DCG at many points, and their slopes.

Tables of gains have an entry for -1, the unknown grade, in front.
"""

import numpy as np

from dcglearn.foundation.validation import Floats, Grades
from dcglearn.kernels.library import function

list_values = function("fill_values .n .m .depth .width b[m,depth] f[n,width] f[n,depth] f[n,m]!")
"""The values of m lists at B points, shape (B, m).

Taken are lists, (m, K), gains, (B, L + 1), and discounts, (B, K).
"""

_spread_slopes = function("spread_slopes .n .m .depth .width b[m,depth] f[n,m] f[n,depth,width]")

list_factors = function(
    "fill_factors .n .m .depth .width b[m,depth] f[n,width] f[n,depth] f[n,m,width-1+depth]+"
)
"""The slopes of a DCG's values in gains and discounts, (B, m, L + K); taken is as in `list_values`.
"""


def list_slopes(lists: Grades, of_values: Floats, n_grades: int) -> Floats:
    """Return slopes in discounts times gains, (B, K, L), from those in m lists' values, (B, m)."""
    moment = np.zeros((len(of_values), lists.shape[1], n_grades + 1))
    _spread_slopes(lists, of_values, moment)
    return np.ascontiguousarray(moment[:, :, 1:])
