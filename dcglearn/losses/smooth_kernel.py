"""Soft positions of documents (Chapelle and Wu 2010), and ranks under Gaussian noise (SoftRank).

``h_ij = exp(-u_ij^2 / s) / sum_k exp(-u_kj^2 / s)`` with ``u_ij = f_i - f_d(j)``, d(j) the document
at position j. Documents are sorted by query and score, so that i and j index one array. Terms below
``exp(-40)`` are left out, and reversals by noise of more than 12 standard deviations, whose
probability is below 2e-17.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int64s
from dcglearn.losses.objective import ValueAndGradient

_soft_positions = function("soft_positions", *[COUNT] * 4, NUMBER, *[ARRAY] * 6)
_soft_positions_vjp = function("soft_positions_vjp", *[COUNT] * 4, NUMBER, *[ARRAY] * 8)
_dcg_of_means = function("dcg_of_means", *[COUNT] * 2, *[ARRAY] * 5, result=NUMBER)
_precision_of_means = function("precision_of_means", COUNT, *[ARRAY] * 5, result=NUMBER)
expected_dcg = function("expected_dcg", *[COUNT] * 5, NUMBER, *[ARRAY] * 7, result=NUMBER)
"""``sum_i factor G_i E D(r_i)`` over sorted documents; see `WholeRankObjective._summed`."""

memory_of_noise = function("work_of_expected_dcg", COUNT, COUNT, result=COUNT)


class SoftPositions:
    """Mean gains of the first `depth` soft positions of each query, and their VJP.

    `f` and `gain` are scores and gains of sorted documents, shape (n,). Past `depth` a mean is 0.
    """

    def __init__(
        self, f: Floats, gain: Floats, offsets: Integers, s: float, depth: int, n_chunks: int
    ) -> None:
        n, n_queries = len(f), len(offsets) - 1
        self.n_chunks, self._number = n_chunks, s
        self._sizes = n_queries, depth
        self._documents = floats(f, n), floats(gain, n), int64s(offsets, n_queries + 1)

        # mass_j = sum_i exp(-u_ij^2/s), mean_j = sum_i h_ij G_i,
        # turn_j = sum_i h_ij u_ij (G_i - mean_j)
        mass, self.mean, turn = np.empty(n), np.empty(n), np.empty(n)
        self._sums = floats(mass, n), floats(self.mean, n), floats(turn, n)
        self._over_chunks(_soft_positions, *self._sums)

    def vjp(self, w: Floats) -> Floats:
        """Return the derivative of ``sum_j w_j mean_j`` in each score, shape (n,)."""
        n, out = len(w), np.empty(len(w))
        self._over_chunks(_soft_positions_vjp, floats(w, n), *self._sums, floats(out, n))
        return out

    def _over_chunks(self, kernel: Callable[..., None], *arrays: Any) -> None:
        def fill(_: int, first: int, last: int) -> None:
            kernel(*self._sizes, first, last, self._number, *self._documents, *arrays)

        in_chunks(fill, len(self.mean), self.n_chunks)


def dcg_of_means(
    offsets: Integers, discounts: Floats, factor: Floats, mean: Floats
) -> ValueAndGradient:
    """Return ``sum_q factor_q sum_j D_j mean_j``, and its derivative in each mean."""
    n, n_queries, depth = len(mean), len(offsets) - 1, len(discounts)
    slope = np.empty(n)
    value: float = _dcg_of_means(
        n_queries,
        depth,
        int64s(offsets, n_queries + 1),
        floats(discounts, depth),
        floats(factor, n_queries),
        floats(mean, n),
        floats(slope, n),
    )
    return value, slope


def precision_of_means(
    offsets: Integers, gain: Floats, weight: Floats, mean: Floats
) -> ValueAndGradient:
    """Return the weighted sum of ``1/R sum_j mean_j Prec@j`` (see `SmoothAP`), and its slope."""
    n, n_queries = len(mean), len(offsets) - 1
    slope = np.empty(n)
    value: float = _precision_of_means(
        n_queries,
        int64s(offsets, n_queries + 1),
        floats(gain, n),
        floats(weight, n_queries),
        floats(mean, n),
        floats(slope, n),
    )
    return value, slope
