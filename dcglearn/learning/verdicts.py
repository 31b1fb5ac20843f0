"""The probability of a verdict and its derivatives in C.

With ``z = <W, d>`` the utility of a pair's first list minus that of its second, a preference whose
strength lies between the thresholds low and high has the probability ``P = sigma(z - low) - sigma(z
- high)``, and a tie ``sigma(z + low) - sigma(z - low)``. A judge with error rate e names the other
list instead: ``(1 - e) P(z) + e P(-z)``. Without strengths, ties and errors this is Bradley and
Terry's ``sigma(z)``.
"""

from dcglearn.kernels.library import function

verdicts = function("verdicts .n f[n] f[n] f[n] b[n] f[n] f[n]! f[n,4]! f[n,9]!")
"""Returns the log probabilities of n verdicts, shape (n,), and the derivatives of their losses.

Taken are z, low, high, 1 for a tie and 0 else, and the error rate, shape (n,) each. The loss is
minus the log probability. The first derivatives, shape (n, 4), are in z, low, high and the error
rate. The second derivatives, shape (n, 9), are in z and each of z, low, high, error; low and each
of low, high, error; high and each of high, error. The one in the error twice is the square of the
slope. A tie has one threshold, `low`.
"""

chances = function("chances .n f[n] #threshold f[n] f[n,3]!")
"""Returns the probabilities of first list preferred, tie, second list preferred; shape (n, 3).

Taken are z, shape (n,), the tie threshold, 0 without ties, and the error rates, (n,).
"""
