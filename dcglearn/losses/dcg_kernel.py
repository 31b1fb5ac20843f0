"""A DCG and an average precision at real-valued ranks, and weights over ideal values."""

from collections.abc import Callable

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int64s
from dcglearn.losses.objective import Batch, ValueAndGradient
from dcglearn.metrics.smooth_discount import SmoothDiscount

_truncated_sums = function("truncated_sums", *[COUNT] * 3, *[NUMBER] * 2, *[ARRAY] * 2)
_over_soft_rank_ideals = function("over_soft_rank_ideals", *[COUNT] * 2, *[ARRAY] * 8)
_over_whole_rank_ideals = function("over_whole_rank_ideals", *[COUNT] * 3, *[ARRAY] * 9)
_dcg_of_ranks = function("dcg_of_ranks", *[COUNT] * 4, NUMBER, *[ARRAY] * 9, result=NUMBER)
_find_relevant = function("find_relevant", *[COUNT] * 2, *[ARRAY] * 5, result=COUNT)
_average_precision = function("average_precision", COUNT, *[ARRAY] * 7, result=NUMBER)


def truncated_sums(discount: SmoothDiscount, edge: float, beta: float, longest: int) -> Floats:
    """Return the running sums of ``D(r) sigma(beta (edge - r))`` at ranks r = 1..longest.

    The shape is (longest + 1,). There is no truncation if `edge` is infinite.
    """
    size, sums = len(discount.numbers), np.empty(longest + 1)
    numbers = floats(discount.numbers, size)
    _truncated_sums(discount.kind, size, longest, edge, beta, numbers, floats(sums, longest + 1))
    return sums


def over_soft_rank_ideals(
    batch: Batch, weight: Floats, gains: Floats, by_gain: Integers, sums: Floats
) -> Floats:
    """Return each query's weight over its value with the largest gains first, or 0.

    `sums` add up the discounts of ranks, `by_gain` are grades by falling gain.
    """
    curve = floats(sums, batch.longest + 1)
    return _over_ideals(_over_soft_rank_ideals, (), batch, weight, gains, by_gain, curve)


def over_whole_rank_ideals(
    batch: Batch, weight: Floats, gains: Floats, by_gain: Integers, discounts: Floats
) -> Floats:
    """Return each query's weight over its `DCG.ideal`, or 0 unless that is positive.

    Discounts fall. Positive ones take the largest gains above 0, negative ones the smallest below;
    other positions stay empty.
    """
    depth = len(discounts)
    falling, size = floats(discounts, depth), max(batch.longest, depth)
    work = floats(np.empty(size), size)
    return _over_ideals(
        _over_whole_rank_ideals, (depth,), batch, weight, gains, by_gain, falling, work
    )


def _over_ideals(
    kernel: Callable[..., None],
    sizes: tuple[int, ...],
    batch: Batch,
    weight: Floats,
    gains: Floats,
    by_gain: Integers,
    curve: object,
    *work: object,
) -> Floats:
    """Return each query's weight over the ideal value that a kernel finds, shape (n_queries,)."""
    n, n_queries, n_grades = len(batch.grades), batch.n_queries, len(gains)
    queries = int64s(batch.grades, n), int64s(batch.offsets, n_queries + 1)
    grades = floats(gains, n_grades), int64s(by_gain, n_grades)

    # room for the factors and for counts of grades
    factors, counts = np.empty(n_queries), np.empty(n_grades, np.int64)
    results = floats(weight, n_queries), floats(factors, n_queries), int64s(counts, n_grades)
    kernel(n_queries, n_grades, *sizes, *queries, *grades, curve, *results, *work)
    return factors


def dcg_of_ranks(
    ranks: Floats,
    order: Integers,
    batch: Batch,
    gains: Floats,
    discount: SmoothDiscount,
    edges: Floats,
    beta: float,
    factor: Floats,
) -> ValueAndGradient:
    """Return ``sum_q factor_q sum_i G_i D(r_i) sigma(beta (edge_q - r_i))``, and its slope in r.

    Ranks are those of the documents `order`, sorted by query. `edges` holds one value for each
    query, or one for all.
    """
    n, n_queries, size = len(ranks), batch.n_queries, len(discount.numbers)
    slope, n_edges = np.empty(n), len(edges)
    queries = int64s(batch.grades, n), int64s(batch.offsets, n_queries + 1)
    documents = floats(ranks, n), int64s(order, n), *queries

    # gains, discounts and the truncation
    curves = floats(gains, len(gains)), floats(discount.numbers, size)
    truncation = floats(edges, n_queries if n_edges > 1 else 1)
    weights = truncation, floats(factor, n_queries)
    sizes = n_queries, n_edges, discount.kind, size
    value: float = _dcg_of_ranks(*sizes, beta, *documents, *curves, *weights, floats(slope, n))
    return value, slope


def relevant_of(order: Integers, batch: Batch, min_grade: int) -> tuple[Integers, Integers]:
    """Return the positions of relevant documents in the sorted `order`, and queries' offsets."""
    n, n_queries = len(order), batch.n_queries
    relevant, ends = np.empty(n, np.int64), np.empty(n_queries + 1, np.int64)
    n_relevant: int = _find_relevant(
        n_queries,
        min_grade,
        int64s(order, n),
        int64s(batch.grades, n),
        int64s(batch.offsets, n_queries + 1),
        int64s(relevant, n),
        int64s(ends, n_queries + 1),
    )
    return relevant[:n_relevant].copy(), ends


def average_precision(
    ranks: Floats, relevant: Integers, among: Floats, ends: Integers, weight: Floats
) -> tuple[float, Floats, Floats]:
    """Return the weighted sum of average precisions, and its slopes in both kinds of rank.

    It is the mean over relevant documents of (rank among the relevant) / (rank among all). The
    sorted document ``relevant[m]`` has the latter rank ``ranks[relevant[m]]``, to which the first
    slope belongs, and the former ``among[m]``, to which the second does.
    """
    n, m, n_queries = len(ranks), len(relevant), len(weight)
    slope, inner = np.zeros(n), np.empty(m)

    # add up over the queries
    value: float = _average_precision(
        n_queries,
        floats(ranks, n),
        int64s(relevant, m),
        floats(among, m),
        int64s(ends, n_queries + 1),
        floats(weight, n_queries),
        floats(slope, n),
        floats(inner, m),
    )
    return value, slope, inner
