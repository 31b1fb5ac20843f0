"""A DCG and an average precision at real-valued ranks, and weights over ideal values."""

from collections.abc import Callable

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import function
from dcglearn.losses.objective import Batch, ValueAndGradient
from dcglearn.metrics.smooth_discount import SmoothDiscount

_truncated_sums = function("truncated_sums kind size longest #edge #beta f[size] f[longest+1]")
_over_soft_rank_ideals = function(
    "over_soft_rank_ideals (n) (longest) m grades l[n] l[m+1] f[grades] l[grades] f[longest+1] "
    "f[m] f[m] l[grades]"
)
_over_whole_rank_ideals = function(
    "over_whole_rank_ideals (n) (longest) m grades depth l[n] l[m+1] f[grades] l[grades] f[depth] "
    "f[m] f[m] l[grades] f[max(longest,depth)]"
)
_dcg_of_ranks = function(
    "dcg_of_ranks (n) (grades) m edges kind size #beta f[n] l[n] l[n] l[m+1] f[grades] f[size] "
    "f[m**(edges>1)] f[m] f[n] -> #"
)
_find_relevant = function("find_relevant (n) m min_grade l[n] l[n] l[m+1] l[n] l[m+1] -> n")
_average_precision = function(
    "average_precision (n) (relevant) m f[n] l[relevant] f[relevant] l[m+1] f[m] f[n] f[relevant] "
    "-> #"
)


def truncated_sums(discount: SmoothDiscount, edge: float, beta: float, longest: int) -> Floats:
    """Return the running sums of ``D(r) sigma(beta (edge - r))`` at ranks r = 1..longest.

    The shape is (longest + 1,). There is no truncation if `edge` is infinite.
    """
    numbers, sums = discount.numbers, np.empty(longest + 1)
    _truncated_sums(discount.kind, len(numbers), longest, edge, beta, numbers, sums)
    return sums


def over_soft_rank_ideals(
    batch: Batch, weight: Floats, gains: Floats, by_gain: Integers, sums: Floats
) -> Floats:
    """Return each query's weight over its value with the largest gains first, or 0.

    `sums` add up the discounts of ranks, `by_gain` are grades by falling gain.
    """
    return _over_ideals(_over_soft_rank_ideals, (), batch, weight, gains, by_gain, sums)


def over_whole_rank_ideals(
    batch: Batch, weight: Floats, gains: Floats, by_gain: Integers, discounts: Floats
) -> Floats:
    """Return each query's weight over its `DCG.ideal`, or 0 unless that is positive.

    Discounts fall. Positive ones take the largest gains above 0, negative ones the smallest below;
    other positions stay empty.
    """
    sizes, work = (len(discounts),), np.empty(max(batch.longest, len(discounts)))
    return _over_ideals(
        _over_whole_rank_ideals, sizes, batch, weight, gains, by_gain, discounts, work
    )


def _over_ideals(
    kernel: Callable[..., None],
    sizes: tuple[int, ...],
    batch: Batch,
    weight: Floats,
    gains: Floats,
    by_gain: Integers,
    *curve_and_work: Floats,
) -> Floats:
    """Return each query's weight over the ideal value that a kernel finds, shape (n_queries,)."""
    curve, *work = curve_and_work
    sizes = len(batch.grades), batch.longest, batch.n_queries, len(gains), *sizes

    # room for the factors and for counts of grades
    factors, counts = np.empty(batch.n_queries), np.empty(len(gains), np.int64)
    documents = batch.grades, batch.offsets, gains, by_gain
    kernel(*sizes, *documents, curve, weight, factors, counts, *work)
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
    slope = np.empty(len(ranks))
    documents = ranks, order, batch.grades, batch.offsets
    sizes = len(ranks), len(gains), batch.n_queries, len(edges), discount.kind
    curves = gains, discount.numbers, edges, factor, slope
    value: float = _dcg_of_ranks(*sizes, len(discount.numbers), beta, *documents, *curves)
    return value, slope


def relevant_of(order: Integers, batch: Batch, min_grade: int) -> tuple[Integers, Integers]:
    """Return the positions of relevant documents in the sorted `order`, and queries' offsets."""
    n, n_queries = len(order), batch.n_queries
    relevant, ends = np.empty(n, np.int64), np.empty(n_queries + 1, np.int64)
    documents = order, batch.grades, batch.offsets
    n_relevant: int = _find_relevant(n, n_queries, min_grade, *documents, relevant, ends)
    return relevant[:n_relevant].copy(), ends


def average_precision(
    ranks: Floats, relevant: Integers, among: Floats, ends: Integers, weight: Floats
) -> tuple[float, Floats, Floats]:
    """Return the weighted sum of average precisions, and its slopes in both kinds of rank.

    It is the mean over relevant documents of (rank among the relevant) / (rank among all). The
    sorted document ``relevant[m]`` has the latter rank ``ranks[relevant[m]]``, to which the first
    slope belongs, and the former ``among[m]``, to which the second does.
    """
    slope, inner = np.zeros(len(ranks)), np.empty(len(relevant))
    sizes = len(ranks), len(relevant), len(weight)
    arrays = ranks, relevant, among, ends, weight, slope, inner
    value: float = _average_precision(*sizes, *arrays)
    return value, slope, inner
