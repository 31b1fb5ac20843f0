"""A DCG and an average precision at real-valued ranks, and weights over the ideal value of each
query.
"""

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int64s

_longest_query = function("longest_query", COUNT, ARRAY, result=COUNT)
_truncated_sums = function("truncated_sums", *[COUNT] * 3, *[NUMBER] * 2, *[ARRAY] * 2)
_over_soft_rank_ideals = function("over_soft_rank_ideals", *[COUNT] * 2, *[ARRAY] * 8)
_over_whole_rank_ideals = function("over_whole_rank_ideals", *[COUNT] * 3, *[ARRAY] * 9)
_dcg_of_ranks = function("dcg_of_ranks", *[COUNT] * 4, NUMBER, *[ARRAY] * 9, result=NUMBER)
_find_relevant = function("find_relevant", *[COUNT] * 2, *[ARRAY] * 5, result=COUNT)
_average_precision = function("average_precision", COUNT, *[ARRAY] * 7, result=NUMBER)

ZERO = 746.0
"""exp(-746) is zero in float64."""


def longest_query(offsets: Integers) -> int:
    """Return the number of documents of the longest query."""
    longest: int = _longest_query(len(offsets) - 1, int64s(offsets, len(offsets)))
    return longest


def truncated_sums(kind: int, numbers: Floats, edge: float, beta: float, longest: int) -> Floats:
    """Return the running sums of ``D(r) sigma(beta (edge - r))`` at ranks r = 1..longest, shape
    (longest + 1,).

    There is no truncation if `edge` is infinite. `kind` and `numbers` are those of a
    `SmoothDiscount`.
    """
    size, sums = len(numbers), np.empty(longest + 1)
    _truncated_sums(
        kind, size, longest, edge, beta, floats(numbers, size), floats(sums, longest + 1)
    )
    return sums


def over_soft_rank_ideals(
    grades: Integers,
    offsets: Integers,
    gains: Floats,
    by_gain: Integers,
    sums: Floats,
    weight: Floats,
) -> Floats:
    """Return each query's weight over its value with the largest gains first, or 0; `sums` add up
    discounts.
    """
    n_queries, n_grades = len(weight), len(gains)
    factors, counts = np.empty(n_queries), np.empty(n_grades, np.int64)
    _over_soft_rank_ideals(
        n_queries,
        n_grades,
        *_graded(grades, offsets, gains, by_gain, n_queries),
        floats(sums, longest_query(offsets) + 1),
        floats(weight, n_queries),
        floats(factors, n_queries),
        int64s(counts, n_grades),
    )
    return factors


def over_whole_rank_ideals(
    grades: Integers,
    offsets: Integers,
    gains: Floats,
    by_gain: Integers,
    discounts: Floats,
    weight: Floats,
) -> Floats:
    """Return each query's weight over its `DCG.ideal`, or 0 unless that is positive; `discounts`
    fall.

    Positive discounts take the largest gains above 0, negative ones the smallest below; other
    positions stay empty.
    """
    n_queries, n_grades, depth = len(weight), len(gains), len(discounts)
    factors, counts = np.empty(n_queries), np.empty(n_grades, np.int64)
    falling = np.empty(max(longest_query(offsets), depth))
    _over_whole_rank_ideals(
        n_queries,
        n_grades,
        depth,
        *_graded(grades, offsets, gains, by_gain, n_queries),
        floats(discounts, depth),
        floats(weight, n_queries),
        floats(factors, n_queries),
        int64s(counts, n_grades),
        floats(falling, falling.size),
    )
    return factors


def dcg_of_ranks(
    ranks: Floats,
    order: Integers,
    grades: Integers,
    offsets: Integers,
    gains: Floats,
    kind: int,
    numbers: Floats,
    edges: Floats,
    beta: float,
    factor: Floats,
    slope: Floats,
) -> float:
    """Return ``sum_q factor_q sum_i G_i D(r_i) sigma(beta (edge_q - r_i))``; fill `slope` with its
    derivative in r.

    Ranks are those of the documents `order`, sorted by query. `edges` holds one value for each
    query, or one for all.
    """
    n, n_queries, size = len(ranks), len(offsets) - 1, len(numbers)
    value: float = _dcg_of_ranks(
        n_queries,
        len(edges),
        kind,
        size,
        beta,
        floats(ranks, n),
        int64s(order, n),
        int64s(grades, n),
        int64s(offsets, n_queries + 1),
        floats(gains, len(gains)),
        floats(numbers, size),
        floats(edges, n_queries if len(edges) > 1 else 1),
        floats(factor, n_queries),
        floats(slope, n),
    )
    return value


def relevant_of(
    order: Integers, grades: Integers, offsets: Integers, min_grade: int
) -> tuple[Integers, Integers]:
    """Return the positions of relevant documents in the sorted order, and the offsets of queries
    among these.
    """
    n, n_queries = len(order), len(offsets) - 1
    relevant, ends = np.empty(n, np.int64), np.empty(n_queries + 1, np.int64)
    found: int = _find_relevant(
        n_queries,
        min_grade,
        int64s(order, n),
        int64s(grades, n),
        int64s(offsets, n_queries + 1),
        int64s(relevant, n),
        int64s(ends, n_queries + 1),
    )
    return relevant[:found].copy(), ends


def precision(
    ranks: Floats,
    relevant: Integers,
    among: Floats,
    ends: Integers,
    weight: Floats,
    slope: Floats,
    inner: Floats,
) -> float:
    """Return the weighted sum of average precisions; fill its derivatives with respect to both
    kinds of rank.

    It is the mean over relevant documents of (rank among the relevant) / (rank among all). The
    sorted document ``relevant[m]`` has the former rank ``among[m]``, to which `inner` takes the
    derivative, and the latter ``ranks[relevant[m]]``, to which `slope` does.
    """
    n, m, n_queries = len(ranks), len(relevant), len(ends) - 1
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
    return value


def _graded(
    grades: Integers, offsets: Integers, gains: Floats, by_gain: Integers, n_queries: int
) -> tuple[object, object, object, object]:
    """Return the arguments that say what documents are worth."""
    n, n_grades = len(grades), len(gains)
    queries = int64s(grades, n), int64s(offsets, n_queries + 1)
    return *queries, floats(gains, n_grades), int64s(by_gain, n_grades)
