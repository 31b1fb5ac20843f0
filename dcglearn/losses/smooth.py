"""Metrics of soft positions: SmoothNDCG and SmoothAP of Chapelle and Wu 2010."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.losses import ap_kernel, smooth_kernel
from dcglearn.losses.objective import Batch, HardMetricLoss, Loss, depth_of, positive, without_relevant
from dcglearn.losses.rank_kernel import SoftRanks, parts_of, sorted_queries

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats


@dataclass(frozen=True)
class SmoothNDCG(HardMetricLoss):
    """NDCG whose positions are each held by several documents: ``sum_j D_j sum_i G_i h_ij / ideal``.

    Parameters
    ----------
    dcg : DCG
        The metric to follow; any discounts, also some that rise or are negative, act as they are.
    sigma : float
        The ``s`` of ``exp(-(f_i - f_d(j))^2 / s)``, in squared units of score.
    k : int, "depth" or None
        Positions that count: as many as the DCG has, or k, or all; past the DCG's own with `SmoothDiscount`'s tail.
    normalise : bool
        Whether each query is divided by its ideal value.

    Notes
    -----
    Chapelle and Wu 2010, equations 7-8. Continuous, with a kink where scores tie. Tends to the DCG as sigma falls. The
    time grows with positions times documents, at most.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> value, gradient = SmoothNDCG(DCG.standard(3, 10), sigma=0.01)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.6292, array([-0.339,  0.488, -0.149]))
    """

    sigma: float = 1.0
    k: int | Literal["depth"] | None = "depth"
    normalise: bool = True

    sharpness: ClassVar[str | None] = "sigma"

    @property
    def sharpness_power(self) -> int:
        """2: sigma is in squared units of score."""
        return 2

    def __post_init__(self) -> None:
        positive(sigma=self.sigma)
        depth_of(self.k, self.dcg)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        discounts = self._vector(batch.longest)
        factor = self._factors(batch, self.normalise)

        def worth(gain: Floats, mean: Floats, out: Floats) -> float:
            return smooth_kernel.worth_of_discounts(batch.offsets, discounts, factor, mean, out)

        return _evaluate_positions(batch, self.dcg.gains[batch.grades], self.sigma, len(discounts), worth)


@dataclass(frozen=True)
class SmoothAP(Loss):
    """Average precision smoothed in one of two ways.

    Parameters
    ----------
    sigma : float
        Smoothing: of ``h`` in squared units of score, of the direct form in units of score.
    form : {"positions", "direct"}
        From ``h``: ``1/R sum_j Prec@j H_j`` with ``H_j = sum_i h_ij rel_i``; or the direct form, over relevant i:
        ``1/R sum_i [1 + sum_{j != i} rel_j sigma((f_j - f_i)/s)] / r_i``, r_i the soft rank at ``alpha = 1/s``.
    min_grade : int
        The lowest grade that is relevant.

    Notes
    -----
    Chapelle and Wu 2010, section 4.2. In the direct form (their equation 9) a document's comparison with itself
    counts 1: as printed it counts 1/2, and a perfect list with one relevant document would score 1/2. A query without a
    relevant document counts 0.

    Examples
    --------
    >>> round(SmoothAP(sigma=0.001, form="direct")([0.3, 0.1, 0.2], [0, 2, 1])[0], 4)
    0.5833
    """

    sigma: float = 1.0
    form: Literal["positions", "direct"] = "positions"
    min_grade: int = 1

    sharpness: ClassVar[str | None] = "sigma"

    @property
    def sharpness_power(self) -> int:
        """2 from positions, where sigma is in squared units of score; 1 in the direct form."""
        return 2 if self.form == "positions" else 1

    def __post_init__(self) -> None:
        positive(sigma=self.sigma)
        whole_number(self.min_grade, "min_grade")
        if self.form not in ("positions", "direct"):
            raise InputError(f'form={self.form!r} is neither "positions" nor "direct"')

    def _is_empty(self, batch: Batch) -> NDArray[np.bool_]:
        return without_relevant(batch, self.min_grade)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        if self.form == "direct":
            return self._evaluate_direct(batch)

        def worth(gain: Floats, mean: Floats, out: Floats) -> float:
            return smooth_kernel.worth_of_precision(batch.offsets, gain, batch.weight, mean, out)

        relevant = (batch.grades >= self.min_grade).astype(np.float64)
        return _evaluate_positions(batch, relevant, self.sigma, batch.longest, worth)

    def _evaluate_direct(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = parts_of(batch.n_pairs)
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        soft = SoftRanks(f, batch.offsets, 1 / self.sigma, n_chunks)
        relevant, ends = ap_kernel.relevant_of(order, batch.grades, batch.offsets, self.min_grade)
        within = SoftRanks(f[relevant], ends, 1 / self.sigma, n_chunks)
        slope, inner, gradient = np.zeros(len(f)), np.empty(len(relevant)), np.empty(len(f))
        value = ap_kernel.precision(soft.ranks(), relevant, within.ranks(), ends, batch.weight, slope, inner)
        moved = soft.pull(slope)
        moved[relevant] += within.pull(inner)
        gradient[order] = moved
        return value, gradient


def _evaluate_positions(
    batch: Batch, gain: Floats, s: float, depth: int, worth_of: Callable[[Floats, Floats, Floats], float]
) -> tuple[float, Floats]:
    """Return ``sum_j worth_j mean_j`` and its gradient, with `worth_of` told each position's mean gain."""
    n = len(batch.scores)
    n_chunks = parts_of(16 * batch.pairs_to(depth))
    order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
    sorted_gain = gain[order]
    held = np.empty(n), np.empty(n), np.empty(n)
    worth, moved, gradient = np.empty(n), np.empty(n), np.empty(n)

    def hold(_: int, first: int, last: int) -> None:
        smooth_kernel.soft_positions(f, sorted_gain, batch.offsets, s, depth, first, last, *held)

    def pull(_: int, first: int, last: int) -> None:
        smooth_kernel.position_pull(f, sorted_gain, batch.offsets, s, depth, worth, first, last, *held, moved)

    in_chunks(hold, n, n_chunks)
    value = worth_of(sorted_gain, held[1], worth)
    in_chunks(pull, n, n_chunks)
    gradient[order] = moved
    return value, gradient
