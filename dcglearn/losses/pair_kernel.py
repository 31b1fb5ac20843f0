"""Losses and lambdas of pairs of a better and a worse document of one query."""

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int8s, int64s
from dcglearn.losses.dcg_kernel import longest_query

_over_pairs = function("over_pairs", *[COUNT] * 2, *[ARRAY] * 3)
_hinge = function("hinge", *[COUNT] * 5, NUMBER, *[ARRAY] * 9, result=NUMBER)
_weighted_pairs = function("weighted_pairs", *[COUNT] * 5, NUMBER, *[ARRAY] * 6, result=NUMBER)
_lambdas = function("lambdas", *[COUNT] * 6, NUMBER, *[ARRAY] * 9)
_work_of_lambdas = function("work_of_lambdas", COUNT, COUNT, result=COUNT)
_sweep_pairs = function("sweep", *[COUNT] * 2, NUMBER, *[ARRAY] * 6, result=NUMBER)

LOG_LOSS, MODIFIED_HUBER = range(2)
"""Losses of a pair with margin v: ``log(1 + exp(-v))``, and ``-4v`` for v < -1, ``(v - 1)^2`` up to
1, then 0.
"""

BELL, HINGE, LOGISTIC = range(3)
"""Slopes of a pair's comparison: ``4 sigma(x) sigma(-x)`` of soft ranks, the smoothed hinge, ``2
sigma(-x)``.
"""
NEAR = 0.001
"""Added to the distance in a lambda, in units of 1 / alpha, so that ties have finite lambdas."""
PAST = 1.5
"""Distance by which a Newton step overtakes, in units of 1 / alpha: with less trees learn slowly,
with more noise.
"""


def over_pairs(segments: Integers, n_classes: int, weight: Floats) -> Floats:
    """Return each query's weight over its number of pairs of documents of different classes, at
    least 1.
    """
    n_queries, factors = len(weight), np.empty(len(weight))
    columns = (
        int64s(segments, n_queries * n_classes + 1),
        floats(weight, n_queries),
        floats(factors, n_queries),
    )
    _over_pairs(n_queries, n_classes, *columns)
    return factors


def hinge(
    f: Floats,
    segments: Integers,
    n_classes: int,
    tops: Floats,
    bottoms: Floats,
    down: Floats,
    squares: Floats,
    up: Floats,
    factor: Floats,
    margin: float,
    squared: bool,
    first: int,
    last: int,
    out: Floats,
) -> float:
    """Return the sum of ``max(0, margin - (f_better - f_worse))`` over the better documents
    first..last-1.

    If `squared`, the terms are halves of the squares. `out` takes minus the derivative of the sum
    over all pairs. Documents are sorted by query, class and score. `down` and `squares` sum the
    scores minus their class's largest, and the squares of these, from the top; `up` sums the scores
    minus the smallest from the bottom.
    """
    n, n_segments = len(f), len(segments) - 1
    value: float = _hinge(
        n_segments,
        n_classes,
        squared,
        first,
        last,
        margin,
        floats(f, n),
        int64s(segments, n_segments + 1),
        floats(tops, n_segments),
        floats(bottoms, n_segments),
        floats(down, n + n_segments),
        floats(squares, n + n_segments),
        floats(up, n + n_segments),
        floats(factor, n_segments // n_classes),
        floats(out, n),
    )
    return value


def weighted_pairs(
    f: Floats,
    gain: Floats,
    offsets: Integers,
    discounts: Floats,
    factor: Floats,
    kind: int,
    steepness: float,
    first: int,
    last: int,
    out: Floats,
) -> float:
    """Return ``sum |(G_a - G_b)(D_a - D_b)| phi(steepness v)`` over pairs whose upper document is
    among first..last-1.

    v is the score of the better document minus that of the worse one, and D the discount at the
    rank in the sort, 0 past `discounts`. `out`, shape (n,), takes minus the derivative.
    """
    n, n_queries, depth = len(f), len(offsets) - 1, len(discounts)
    value: float = _weighted_pairs(
        n_queries,
        depth,
        kind,
        first,
        last,
        steepness,
        floats(f, n),
        floats(gain, n),
        int64s(offsets, n_queries + 1),
        floats(discounts, depth),
        floats(factor, n_queries),
        floats(out, n),
    )
    return value


def lambdas(
    scores: Floats,
    classes: Integers,
    n_classes: int,
    gains: Floats,
    offsets: Integers,
    c: Floats,
    alpha: float,
    step: int,
    damped: bool,
    factor: Floats,
    first: int,
    last: int,
    out: Floats,
    curvature: Floats,
) -> None:
    """Fill the lambdas of the documents of queries first..last-1, towards higher scores, and their
    curvature.

    `c` are discounts by position. If `damped`, the lambdas of a query that sum to S are scaled to
    log2(1 + S).
    """
    n, n_queries = len(scores), len(offsets) - 1
    longest = longest_query(offsets[first : last + 1])
    work = np.empty(_work_of_lambdas(n_classes, longest))
    _lambdas(
        n_classes,
        longest,
        step,
        damped,
        first,
        last,
        alpha,
        floats(scores, n),
        int64s(classes, n),
        floats(gains, n),
        int64s(offsets, n_queries + 1),
        floats(c, longest),
        floats(factor, n_queries),
        floats(out, n),
        floats(curvature, n),
        floats(work, work.size),
    )


def count_pairs(grades: Grades, offsets: Integers) -> int:
    """Return the number of pairs of different grades within queries."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    table = np.zeros((len(offsets) - 1, int(grades.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(table, (query, grades), 1)
    sizes = table.sum(axis=1)
    return int((sizes**2 - (table**2).sum(axis=1)).sum() // 2)


def sorted_by_score(scores: Floats, offsets: Integers) -> Integers:
    """Return the documents in the order of queries, and within a query by ascending score."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((scores, query)).astype(np.int64)


def hinge_sums(
    scores: Floats, grades: Grades, offsets: Integers, order: Integers
) -> tuple[float, Floats]:
    """Return the sum of ``max(0, 1 - f_i + f_j)^2`` over pairs with ``grade_i > grade_j``, and its
    gradient, (n,).
    """
    slope = np.zeros_like(scores)
    return _sweep(scores, scores, grades, offsets, order, 1.0, slope), slope


def hinge_curvature(
    along: Floats, scores: Floats, grades: Grades, offsets: Integers, order: Integers
) -> Floats:
    """Return the (generalised) Hessian by score times the direction `along`, shape (n,)."""
    product = np.zeros_like(scores)
    _sweep(scores, along, grades, offsets, order, 0.0, product)
    return product


def _sweep(
    scores: Floats,
    values: Floats,
    grades: Grades,
    offsets: Integers,
    order: Integers,
    margin: float,
    slope: Floats,
) -> float:
    """Add ``2 (values_i - values_j - margin)`` to the slope of i, and its negative to that of j,
    over violating pairs.

    In the order of scores, the worse documents within the margin of a better one are a run from the
    top, whose end moves in one direction only: running counts and sums by grade give every sum over
    pairs in O(n log n). Returns the sum of ``(values_i - values_j - margin)^2``, which is that of
    squared hinges if values are scores.
    """
    n, n_queries, n_grades = len(scores), len(offsets) - 1, int(grades.max(initial=0)) + 1
    total: float = _sweep_pairs(
        n_queries,
        n_grades,
        margin,
        floats(scores, n),
        floats(values, n),
        int8s(grades, n),
        int64s(offsets, n_queries + 1),
        int64s(order, n),
        floats(slope, n),
    )
    return total
