"""The probability of a verdict and its derivatives, and sums over judgements in C.

With ``z = <W, d>`` the utility of a pair's first list minus that of its second, a preference whose
strength lies between the thresholds low and high has the probability ``P = sigma(z - low) - sigma(z
- high)``, and a tie ``sigma(z + low) - sigma(z - low)``. A judge with error rate e names the other
list instead: ``(1 - e) P(z) + e P(-z)``. Without strengths, ties and errors this is Bradley and
Terry's ``sigma(z)``.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.validation import Floats, Grades
from dcglearn.kernels.library import Argument, Bound, floats, function, int8s, int32s

LIKELIHOOD, SIGMOID = 0, 1
"""Losses, see `pair_loss`."""

VALUE, SLOPES, CURVATURE = 0, 1, 2
"""What is computed: the loss alone, its slopes too, or its second derivatives too."""

_verdicts = function("verdicts .n f[n] f[n] f[n] b[n] f[n] f[n]! f[n,4]! f[n,9]!")

log_chances = function("log_chances .n f[n] #error f[n]! f[n]! f[n]!")
"""Log probabilities of preferences at n differences z; their slopes in z and in the error rate.

Taken are z, shape (n,), and the error rate.
"""

_chances = function("chances .n f[n] #threshold f[n] f[n,3]!")
judgement_sums = function(
    "add_judgements * start stop .n grades .thresholds judges .free kind order (depth) "
    "f[n*grades]? f[n*depth]? f[n*depth*grades]? f[n,thresholds] f[n,free] "
    # loss and slopes
    "f[n;n,depth,(order>0)*grades;n,(order>0)*thresholds;n,(order>0)*free;"
    # second derivatives, and the kernel's own work
    "n,(order>1)*(grades+depth+thresholds),(order>1)*(grades+depth+thresholds);"
    "n,(order>1)*free,(order>1)*(grades+depth+thresholds);n,(order>1)*free;"
    "n,(order>1)*(free-judges);work_of_judgements(depth,grades,thresholds,judges,free)]!"
)
"""The loss of judgements at B points and its derivatives: fields of `LossSums`, and working memory.

Taken are the address of a bound log, the first judgement and the end; numbers of grades and judges,
the loss, the order, and the number of positions; gains, shape (B, L), and discounts, (B, K), or
else None twice and weights, (B, K, L), which have no curvature; thresholds, (B, M + 2), and
judges, (B, J).
"""


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


def bound_log(
    lists: tuple[Grades, Grades],
    level: Grades,
    rater: NDArray[np.int32],
    weight: Floats,
    way: NDArray[np.int8],
) -> Bound:
    """Bind the columns of n judgements of graded lists, (n, K)."""
    # the lists
    first, second = map(np.ascontiguousarray, lists)
    n, depth = first.shape
    arrays: list[tuple[Argument, NDArray[Any], int]]
    arrays = [(int8s, first, n * depth), (int8s, second, n * depth)]

    # columns with one entry for each judgement, or one for all
    columns: list[tuple[Argument, NDArray[Any]]]
    columns = [(int8s, level), (int32s, rater), (floats, weight), (int8s, way)]
    varies = tuple(int(len(column) > 1) for _, column in columns)
    for (check, column), each in zip(columns, varies, strict=True):
        arrays.append((check, column, n if each else min(n, 1)))
    return Bound((depth,), arrays, varies)
