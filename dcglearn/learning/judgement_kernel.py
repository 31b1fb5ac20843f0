"""The probability of a verdict and its derivatives in C.

With ``z = <W, d>`` the utility of a pair's first list minus that of its second, a preference whose
strength lies between the thresholds low and high has the probability ``P = sigma(z - low) - sigma(z
- high)``, and a tie ``sigma(z + low) - sigma(z - low)``. A judge with error rate e names the other
list instead: ``(1 - e) P(z) + e P(-z)``. Without strengths, ties and errors this is Bradley and
Terry's ``sigma(z)``.
"""

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats
from dcglearn.kernels.library import function

_verdicts = function("verdicts .n f[n] f[n] f[n] b[n] f[n] f[n]! f[n,4]! f[n,9]!")

_chances = function("chances .n f[n] #threshold f[n] f[n,3]!")


def verdicts(
    z: ArrayLike, low: ArrayLike, high: ArrayLike, tie: ArrayLike, error: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return the log probabilities of n verdicts, shape (n,), and the derivatives of their losses.

    Each of the arguments has shape (n,) or stands for all. The loss is minus the log probability.
    The first derivatives, shape (n, 4), are in z, low, high and the error rate. The second
    derivatives, shape (n, 9), are in z and each of z, low, high, error; low and each of low, high,
    error; high and each of high, error. The one in the error twice is the square of the slope. A
    tie has one threshold, `low`.
    """
    columns = np.array(np.broadcast_arrays(z, low, high, tie, error), np.float64)
    of_verdicts: tuple[Floats, Floats, Floats]
    of_verdicts = _verdicts(*columns[:3], columns[3].astype(np.int8), columns[4])
    return of_verdicts


def chances(z: Floats, threshold: float = 0.0, errors: Floats | float = 0.0) -> Floats:
    """Return the probabilities of first list preferred, tie, second list preferred; shape (n, 3).

    `z` has shape (n,), and so may the error rates; `threshold` is the tie threshold, 0 without
    ties.
    """
    z = np.ascontiguousarray(z, np.float64)
    shares: Floats = _chances(z, threshold, np.full(len(z), errors, np.float64))
    return shares
