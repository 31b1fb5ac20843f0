"""Losses and lambdas of pairs of a better and a worse document of one query."""

from enum import IntEnum

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, Integers
from dcglearn.kernels.library import function
from dcglearn.losses.class_kernel import Classes
from dcglearn.losses.objective import ValueAndGradient
from dcglearn.losses.rank_kernel import over_chunks

over_pairs = function("over_pairs .m classes l[m*classes+1] f[m] f[m]!")
"""Each query's weight over its number of pairs of different classes, at least 1.

Taken are the number of classes, segments and weights.
"""

_hinge = function(
    "hinge .segments classes squared first last #margin f[n] l[segments+1] f[segments] "
    "f[segments] f[n+segments] f[n+segments] f[n+segments] f[segments//classes] f[n] -> #"
)
weighted_pairs = function(
    "weighted_pairs .m .depth kind first last #alpha f[n] f[n] l[m+1] f[depth] f[m] f[n] -> #"
)
"""``sum |(G_a - G_b)(D_a - D_b)| phi(alpha (f_a - f_b))``; see `WholeRankObjective._summed`."""
lambdas = function(
    "lambdas classes longest step damped first last #alpha f[n] l[n] f[n] l[m+1] f[longest] f[m] "
    "f[n] f[n] f[work_of_lambdas(classes,longest)]~"
)
"""Fills the lambdas of documents, towards higher scores, and their curvature, shapes (n,).

If `damped`, the lambdas of a query that sum to S are scaled to log2(1 + S). In units of 1 / alpha,
0.001 is added to a distance in a lambda, so that ties have finite ones, and 1.5 in a curvature:
with less, trees learn slowly; with more, they learn noise.
"""

_sweep_pairs = function("sweep .m grades #margin f[n] f[n] b[n] l[m+1] l[n] f[n]+ -> #")


class PairLoss(IntEnum):
    """Losses of a pair with margin v; the modified Huber loss is ``(v - 1)^2`` for v in -1..1."""

    LOG = 0  # log(1 + exp(-v))
    MODIFIED_HUBER = 1  # -4v below -1, 0 above 1


class PairStep(IntEnum):
    """Slopes of a comparison of two scores, x apart times alpha."""

    BELL = 0  # 4 sigma(x) sigma(-x), of soft ranks
    HINGE = 1  # of smoothed hinge ranks
    LOGISTIC = 2  # 2 sigma(-x)


def hinge(
    c: Classes, factor: Floats, margin: float, squared: bool, n_chunks: int
) -> ValueAndGradient:
    """Return the sum of ``max(0, margin - (f_better - f_worse))`` over pairs, and minus its slope.

    If `squared`, the terms are halves of the squares. `factor` weighs queries. The slope has the
    order of `c`, shape (n,).
    """
    slope = np.empty(len(c.f))

    # running sums of scores and squares from each end of a class
    below = c.below_top()
    sums = c.from_top(below), c.from_top(below * below), c.from_bottom(c.above_bottom())
    arrays = c.f, c.segments, c.tops, c.bottoms, *sums, factor, slope
    parts = over_chunks(_hinge, len(slope), n_chunks, c.n_classes, squared, margin, *arrays)
    return sum(parts), slope


def count_pairs(grades: Grades, offsets: Integers) -> int:
    """Return the number of pairs of different grades within queries."""
    # all pairs less those of equal grades
    n_queries = len(offsets) - 1
    query = np.repeat(np.arange(n_queries), np.diff(offsets))
    table = np.zeros((n_queries, int(grades.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(table, (query, grades), 1)
    sizes = table.sum(axis=1)
    return int((sizes**2 - (table**2).sum(axis=1)).sum() // 2)


def hinge_sums(
    scores: Floats, grades: Grades, offsets: Integers, order: Integers
) -> ValueAndGradient:
    """Return the sum of ``max(0, 1 - f_i + f_j)^2`` over pairs, grade_i > grade_j, and slope."""
    return _sweep(scores, scores, grades, offsets, order, 1.0)


def hinge_curvature(
    along: Floats, scores: Floats, grades: Grades, offsets: Integers, order: Integers
) -> Floats:
    """Return the (generalised) Hessian by score times the direction `along`, shape (n,)."""
    return _sweep(scores, along, grades, offsets, order, 0.0)[1]


def _sweep(
    scores: Floats,
    values: Floats,
    grades: Grades,
    offsets: Integers,
    order: Integers,
    margin: float,
) -> ValueAndGradient:
    """Return the sum of ``(values_i - values_j - margin)^2`` over violating pairs, and a slope.

    The slope is the sum of ``2 (values_i - values_j - margin)``, less that over pairs of j.

    In the order of scores, the worse documents within the margin of a better one are a run from the
    top, whose end moves in one direction only: running counts and sums by grade give every sum over
    pairs in O(n log n). The sum is that of squared hinges if values are scores.
    """
    n_grades = int(grades.max(initial=0)) + 1
    return _sweep_pairs(n_grades, margin, scores, values, grades, offsets, order)
