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
from dcglearn.kernels.library import function
from dcglearn.losses.objective import ValueAndGradient

_soft_positions = function(
    "soft_positions (n) m depth first last #s f[n] f[n] l[m+1] f[n] f[n] f[n]"
)
_soft_positions_vjp = function(
    "soft_positions_vjp (n) m depth first last #s f[n] f[n] l[m+1] f[n] f[n] f[n] f[n] f[n]"
)
_dcg_of_means = function("dcg_of_means (n) m depth l[m+1] f[depth] f[m] f[n] f[n] -> #")
_precision_of_means = function("precision_of_means (n) m l[m+1] f[n] f[m] f[n] f[n] -> #")
expected_dcg = function(
    "expected_dcg (n) m depth longest first last #sigma f[n] f[n] l[m+1] f[depth] f[m] f[n] f[0] "
    "-> #"
)
"""``sum_i factor G_i E D(r_i)`` over sorted documents; see `WholeRankObjective._summed`."""

memory_of_noise = function("work_of_expected_dcg depth longest -> n")


class SoftPositions:
    """Mean gains of the first `depth` soft positions of each query, and their VJP.

    `f` and `gain` are scores and gains of sorted documents, shape (n,). Past `depth` a mean is 0.
    """

    def __init__(
        self, f: Floats, gain: Floats, offsets: Integers, s: float, depth: int, n_chunks: int
    ) -> None:
        n = len(f)
        self.n_chunks, self._number = n_chunks, s
        self._sizes = n, len(offsets) - 1, depth
        self._documents = f, gain, offsets

        # mass_j = sum_i exp(-u_ij^2/s), mean_j = sum_i h_ij G_i,
        # turn_j = sum_i h_ij u_ij (G_i - mean_j)
        mass, self.mean, turn = np.empty(n), np.empty(n), np.empty(n)
        self._sums = mass, self.mean, turn
        self._over_chunks(_soft_positions, *self._sums)

    def vjp(self, w: Floats) -> Floats:
        """Return the derivative of ``sum_j w_j mean_j`` in each score, shape (n,)."""
        out = np.empty(len(w))
        self._over_chunks(_soft_positions_vjp, w, *self._sums, out)
        return out

    def _over_chunks(self, kernel: Callable[..., None], *arrays: Any) -> None:
        def fill(_: int, first: int, last: int) -> None:
            kernel(*self._sizes, first, last, self._number, *self._documents, *arrays)

        in_chunks(fill, len(self.mean), self.n_chunks)


def dcg_of_means(
    offsets: Integers, discounts: Floats, factor: Floats, mean: Floats
) -> ValueAndGradient:
    """Return ``sum_q factor_q sum_j D_j mean_j``, and its derivative in each mean."""
    sizes, slope = (len(mean), len(offsets) - 1, len(discounts)), np.empty(len(mean))
    value: float = _dcg_of_means(*sizes, offsets, discounts, factor, mean, slope)
    return value, slope


def precision_of_means(
    offsets: Integers, gain: Floats, weight: Floats, mean: Floats
) -> ValueAndGradient:
    """Return the weighted sum of ``1/R sum_j mean_j Prec@j`` (see `SmoothAP`), and its slope."""
    sizes, slope = (len(mean), len(offsets) - 1), np.empty(len(mean))
    value: float = _precision_of_means(*sizes, offsets, gain, weight, mean, slope)
    return value, slope
