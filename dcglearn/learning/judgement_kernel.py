"""The probability of a verdict and its derivatives in C.

With ``z = <W, d>`` the utility of a pair's first list minus that of its second, a preference whose
strength lies between the thresholds low and high has the probability ``P = sigma(z - low) - sigma(z
- high)``, and a tie ``sigma(z + low) - sigma(z - low)``. A judge with error rate e names the other
list instead: ``(1 - e) P(z) + e P(-z)``. Without strengths, ties and errors this is Bradley and
Terry's ``sigma(z)``.
"""

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.kernels.library import function

verdicts = function("verdicts .n f[n] f[n] f[n] b[n] f[n] f[n]! f[n,4]! f[n,9]!")
"""Returns the log probabilities of n verdicts, shape (n,), and the derivatives of their losses.

Taken are z, low, high, 1 for a tie and 0 else, and the error rate, shape (n,) each. The loss is
minus the log probability. The first derivatives, shape (n, 4), are in z, low, high and the error
rate. The second derivatives, shape (n, 9), are in z and each of z, low, high, error; low and each
of low, high, error; high and each of high, error. The one in the error twice is the square of the
slope. A tie has one threshold, `low`.
"""

_chances = function("chances .n f[n] #threshold f[n] f[n,3]!")


def chances(z: Floats, threshold: float, errors: Floats | float) -> Floats:
    """Return the probabilities of first list preferred, tie, second list preferred; shape (n, 3).

    `z` has shape (n,), and so may the error rates; `threshold` is the tie threshold, 0 without
    ties.
    """
    z = np.ascontiguousarray(z, np.float64)
    shares: Floats = _chances(z, threshold, np.full(len(z), errors, np.float64))
    return shares
