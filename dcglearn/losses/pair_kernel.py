"""Losses and lambdas of pairs of a better and a worse document of one query."""

from enum import IntEnum

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import Floats, Grades, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int8s, int64s
from dcglearn.losses.class_kernel import Classes
from dcglearn.losses.objective import Batch, ValueAndGradient

_over_pairs = function("over_pairs", *[COUNT] * 2, *[ARRAY] * 3)
_hinge = function("hinge", *[COUNT] * 5, NUMBER, *[ARRAY] * 9, result=NUMBER)
weighted_pairs = function("weighted_pairs", *[COUNT] * 5, NUMBER, *[ARRAY] * 6, result=NUMBER)
"""``sum |(G_a - G_b)(D_a - D_b)| phi(alpha (f_a - f_b))``; see `WholeRankObjective._summed`."""
_lambdas = function("lambdas", *[COUNT] * 6, NUMBER, *[ARRAY] * 9)
_work_of_lambdas = function("work_of_lambdas", COUNT, COUNT, result=COUNT)
_sweep_pairs = function("sweep", *[COUNT] * 2, NUMBER, *[ARRAY] * 6, result=NUMBER)


class PairLoss(IntEnum):
    """Losses of a pair with margin v; the modified Huber loss is ``(v - 1)^2`` for v in -1..1."""

    LOG = 0  # log(1 + exp(-v))
    MODIFIED_HUBER = 1  # -4v below -1, 0 above 1


class PairStep(IntEnum):
    """Slopes of a comparison of two scores, x apart times alpha."""

    BELL = 0  # 4 sigma(x) sigma(-x), of soft ranks
    HINGE = 1  # of smoothed hinge ranks
    LOGISTIC = 2  # 2 sigma(-x)


def over_pairs(segments: Integers, n_classes: int, weight: Floats) -> Floats:
    """Return each query's weight over its number of pairs of different classes, at least 1."""
    n_queries, factors = len(weight), np.empty(len(weight))
    _over_pairs(
        n_queries,
        n_classes,
        int64s(segments, n_queries * n_classes + 1),
        floats(weight, n_queries),
        floats(factors, n_queries),
    )
    return factors


def hinge(
    c: Classes, factor: Floats, margin: float, squared: bool, n_chunks: int
) -> ValueAndGradient:
    """Return the sum of ``max(0, margin - (f_better - f_worse))`` over pairs, and minus its slope.

    If `squared`, the terms are halves of the squares. `factor` weighs queries. The slope has the
    order of `c`, shape (n,).
    """
    n, n_segments = len(c.f), len(c.segments) - 1
    slope = np.empty(n)

    # running sums of scores and squares from each end of a class
    below = c.below_top()
    sums = c.from_top(below), c.from_top(below * below), c.from_bottom(c.above_bottom())
    size = n + n_segments
    running = floats(sums[0], size), floats(sums[1], size), floats(sums[2], size)
    arrays = *c.arguments, *c.extremes, *running
    factors = floats(factor, n_segments // c.n_classes)

    def part(_: int, first: int, last: int) -> float:
        sizes = n_segments, c.n_classes, squared, first, last
        value: float = _hinge(*sizes, margin, *arrays, factors, floats(slope, n))
        return value

    return sum(in_chunks(part, n, n_chunks)), slope


def lambdas(
    batch: Batch,
    classes: tuple[Integers, int],
    gains: Floats,
    discounts: Floats,
    factor: Floats,
    alpha: float,
    step: int,
    damped: bool,
    n_chunks: int,
) -> tuple[Floats, Floats]:
    """Return the lambdas of documents, towards higher scores, and their curvature, shapes (n,).

    `classes` are the class of each grade and their number, `gains` those of grades, and `discounts`
    those of positions. If `damped`, the lambdas of a query that sum to S are scaled to log2(1 + S).
    In units of 1 / alpha, 0.001 is added to a distance in a lambda, so that ties have finite ones,
    and 1.5 in a curvature: with less, trees learn slowly; with more, they learn noise.
    """
    by_grade, n_classes = classes
    n, n_queries = len(batch.scores), batch.n_queries
    out, curvature = np.empty(n), np.empty(n)
    arrays = (
        floats(batch.scores, n),
        int64s(by_grade[batch.grades], n),
        floats(gains[batch.grades], n),
        int64s(batch.offsets, n_queries + 1),
    )

    def fill(_: int, first: int, last: int) -> None:
        # memory for the longest query
        longest = batch.longest
        work = np.empty(_work_of_lambdas(n_classes, longest))
        _lambdas(
            *(n_classes, longest, step, damped, first, last, alpha),
            *arrays,
            floats(discounts, longest),
            floats(factor, n_queries),
            floats(out, n),
            floats(curvature, n),
            floats(work, work.size),
        )

    in_chunks(fill, n_queries, min(n_chunks, n_queries))
    return out, curvature


def count_pairs(grades: Grades, offsets: Integers) -> int:
    """Return the number of pairs of different grades within queries."""
    # all pairs less those of equal grades
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
) -> ValueAndGradient:
    """Return the sum of ``max(0, 1 - f_i + f_j)^2`` over pairs, grade_i > grade_j, and slope."""
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
    """Add ``2 (values_i - values_j - margin)`` to i's slope, less it to j's, over violating pairs.

    In the order of scores, the worse documents within the margin of a better one are a run from the
    top, whose end moves in one direction only: running counts and sums by grade give every sum over
    pairs in O(n log n). Returns the sum of ``(values_i - values_j - margin)^2``, the sum of
    squared hinges if values are scores.
    """
    n, n_queries, n_grades = len(scores), len(offsets) - 1, int(grades.max(initial=0)) + 1
    documents = floats(scores, n), floats(values, n), int8s(grades, n)
    sorted_queries = int64s(offsets, n_queries + 1), int64s(order, n)
    sizes = n_queries, n_grades
    total: float = _sweep_pairs(*sizes, margin, *documents, *sorted_queries, floats(slope, n))
    return total
