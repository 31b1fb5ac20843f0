"""Soft positions of documents (Chapelle and Wu 2010), and ranks under Gaussian noise (SoftRank).

``h_ij = exp(-u_ij^2 / s) / sum_k exp(-u_kj^2 / s)`` with ``u_ij = f_i - f_d(j)``, d(j) the document
at position j. Documents are sorted by query and score, so that i and j index one array. Terms below
``exp(-40)`` are left out, and reversals by noise of more than 12 standard deviations, whose
probability is below 2e-17.
"""

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import function
from dcglearn.losses.rank_kernel import filled, over_chunks

_soft_positions = function("soft_positions .m depth first last #s f[n] f[n] l[m+1] f[n] f[n] f[n]")
_soft_positions_vjp = function(
    "soft_positions_vjp .m depth first last #s f[n] f[n] l[m+1] f[n] f[n] f[n] f[n] f[n]"
)

dcg_of_means = function("dcg_of_means .m .depth l[m+1] f[depth] f[m] f[n] f[n]! -> #")
"""``sum_q factor_q sum_j D_j mean_j``, and its derivative in each mean.

Taken are offsets, discounts, factors and means.
"""

precision_of_means = function("precision_of_means .m l[m+1] f[n] f[m] f[n] f[n]! -> #")
"""The weighted sum of ``1/R sum_j mean_j Prec@j`` (see `SmoothAP`), and its slope.

Taken are offsets, gains, weights and means.
"""

expected_dcg = function(
    "expected_dcg .m .depth longest first last #sigma f[n] f[n] l[m+1] f[depth] f[m] f[n] "
    "f[work_of_expected_dcg(depth,longest)]~ -> #"
)
"""``sum_i factor G_i E D(r_i)`` over sorted documents; see `WholeRankObjective._summed`."""


class SoftPositions:
    """Mean gains of the first `depth` soft positions of each query, and their VJP.

    `f` and `gain` are scores and gains of sorted documents, shape (n,). Past `depth` a mean is 0.
    """

    def __init__(
        self, f: Floats, gain: Floats, offsets: Integers, s: float, depth: int, n_chunks: int
    ) -> None:
        self.n_chunks = n_chunks
        self._documents = depth, s, f, gain, offsets

        # mass_j = sum_i exp(-u_ij^2/s), mean_j = sum_i h_ij G_i,
        # turn_j = sum_i h_ij u_ij (G_i - mean_j)
        self._sums = np.empty_like(f), np.empty_like(f), np.empty_like(f)
        self.mean = self._sums[1]
        over_chunks(_soft_positions, len(f), n_chunks, *self._documents, *self._sums)

    def vjp(self, w: Floats) -> Floats:
        """Return the derivative of ``sum_j w_j mean_j`` in each score, shape (n,)."""
        n = len(w)
        arrays = *self._documents, w, *self._sums
        return filled(_soft_positions_vjp, n, n, self.n_chunks, *arrays)
