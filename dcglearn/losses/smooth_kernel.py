"""Soft positions of documents (Chapelle and Wu 2010), and their ranks under Gaussian noise
(SoftRank).

``h_ij = exp(-u_ij^2 / s) / sum_k exp(-u_kj^2 / s)`` with ``u_ij = f_i - f_d(j)``, d(j) the document
at position j. Documents are sorted by query and score, so that i and j index one array. Terms below
``exp(-40)`` are left out, and reversals by noise of more than 12 standard deviations, whose
probability is below 2e-17.
"""

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int64s
from dcglearn.losses.dcg_kernel import longest_query

_soft_positions = function("soft_positions", *[COUNT] * 4, NUMBER, *[ARRAY] * 6)
_soft_positions_vjp = function("soft_positions_vjp", *[COUNT] * 4, NUMBER, *[ARRAY] * 8)
_dcg_of_means = function("dcg_of_means", *[COUNT] * 2, *[ARRAY] * 5, result=NUMBER)
_precision_of_means = function("precision_of_means", COUNT, *[ARRAY] * 5, result=NUMBER)
_expected_dcg = function("expected_dcg", *[COUNT] * 5, NUMBER, *[ARRAY] * 7, result=NUMBER)
_work_of_expected_dcg = function("work_of_expected_dcg", COUNT, COUNT, result=COUNT)


def soft_positions(
    f: Floats,
    gain: Floats,
    offsets: Integers,
    s: float,
    depth: int,
    first: int,
    last: int,
    mass: Floats,
    mean: Floats,
    turn: Floats,
) -> None:
    """Fill three sums over documents for the first `depth` positions j of each query, those among
    first..last-1.

    ``mass_j = sum_i exp(-u_ij^2/s)``, ``mean_j = sum_i h_ij G_i`` and ``turn_j = sum_i h_ij u_ij
    (G_i - mean_j)``; past `depth` the latter two are 0.
    """
    n, n_queries = len(f), len(offsets) - 1
    _soft_positions(
        n_queries,
        depth,
        first,
        last,
        s,
        floats(f, n),
        floats(gain, n),
        int64s(offsets, n_queries + 1),
        floats(mass, n),
        floats(mean, n),
        floats(turn, n),
    )


def soft_positions_vjp(
    f: Floats,
    gain: Floats,
    offsets: Integers,
    s: float,
    depth: int,
    w: Floats,
    first: int,
    last: int,
    mass: Floats,
    mean: Floats,
    turn: Floats,
    out: Floats,
) -> None:
    """Fill the derivative of ``sum_j w_j mean_j`` with respect to the scores of sorted documents
    first..last-1.
    """
    n, n_queries = len(f), len(offsets) - 1
    _soft_positions_vjp(
        n_queries,
        depth,
        first,
        last,
        s,
        floats(f, n),
        floats(gain, n),
        int64s(offsets, n_queries + 1),
        floats(w, n),
        floats(mass, n),
        floats(mean, n),
        floats(turn, n),
        floats(out, n),
    )


def dcg_of_means(
    offsets: Integers, discounts: Floats, factor: Floats, mean: Floats, slope: Floats
) -> float:
    """Return ``sum_q factor_q sum_j D_j mean_j``; fill `slope` with its derivative with respect to
    each mean.
    """
    n, n_queries, depth = len(mean), len(offsets) - 1, len(discounts)
    value: float = _dcg_of_means(
        n_queries,
        depth,
        int64s(offsets, n_queries + 1),
        floats(discounts, depth),
        floats(factor, n_queries),
        floats(mean, n),
        floats(slope, n),
    )
    return value


def precision_of_means(
    offsets: Integers, gain: Floats, weight: Floats, mean: Floats, slope: Floats
) -> float:
    """Return the weighted sum over queries of ``1/R sum_j mean_j Prec@j`` (see `SmoothAP`); fill
    its derivative.
    """
    n, n_queries = len(mean), len(offsets) - 1
    value: float = _precision_of_means(
        n_queries,
        int64s(offsets, n_queries + 1),
        floats(gain, n),
        floats(weight, n_queries),
        floats(mean, n),
        floats(slope, n),
    )
    return value


def expected_dcg(
    f: Floats,
    gain: Floats,
    offsets: Integers,
    discounts: Floats,
    factor: Floats,
    sigma: float,
    first: int,
    last: int,
    out: Floats,
) -> float:
    """Return ``sum_i factor G_i E D(r_i)`` over sorted documents first..last-1; `out` takes its
    derivative, (n,).
    """
    n, n_queries, depth = len(f), len(offsets) - 1, len(discounts)
    longest = longest_query(offsets)
    work = np.empty(_work_of_expected_dcg(depth, longest))
    value: float = _expected_dcg(
        n_queries,
        depth,
        longest,
        first,
        last,
        sigma,
        floats(f, n),
        floats(gain, n),
        int64s(offsets, n_queries + 1),
        floats(discounts, depth),
        floats(factor, n_queries),
        floats(out, n),
        floats(work, work.size),
    )
    return value
