"""The expected NDCG of noisy scores: SoftRank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.losses.objective import Batch, HardMetricLoss, depth_of, positive
from dcglearn.losses.rank_kernel import parts_of, sorted_queries
from dcglearn.losses.softrank_kernel import expected_dcg

if TYPE_CHECKING:
    from typing import Literal

    from dcglearn.foundation.arrays import Floats


@dataclass(frozen=True)
class SoftRankNDCG(HardMetricLoss):
    """NDCG with the expected discount of each document, ``sum_i G_i E D(r_i) / ideal``, under Gaussian noise.

    Parameters
    ----------
    dcg : DCG
        The metric to follow; any discounts act as they are.
    sigma : float
        Standard deviation of each score's noise, in units of score; that of a difference is ``sqrt(2) sigma``.
    k : int, "depth" or None
        Positions that count: as many as the DCG has, or k, or all; past the DCG's own with `SmoothDiscount`'s tail.
    normalise : bool
        Whether each query is divided by its ideal value.

    Notes
    -----
    Taylor et al. 2008: the rank of a document is taken as a sum of independent comparisons, one with each other
    document. It is none: where all scores tie, true ranks are uniform and these binomial. The time grows with the cube
    of the documents whose noise overlaps (within 12 sigma).

    Examples
    --------
    >>> from dcglearn import DCG
    >>> value, gradient = SoftRankNDCG(DCG.standard(3, 10), sigma=0.1)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.637, array([-0.35 ,  0.319,  0.031]))
    """

    sigma: float = 0.1
    k: int | Literal["depth"] | None = "depth"
    normalise: bool = True

    sharpness: ClassVar[str | None] = "sigma"

    @property
    def sharpness_power(self) -> int:
        """1: sigma is in units of score."""
        return 1

    def __post_init__(self) -> None:
        positive(sigma=self.sigma)
        depth_of(self.k, self.dcg)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = parts_of(batch.n_pairs * batch.longest)
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        discounts, factor = self._vector(batch.longest), self._factors(batch, self.normalise)
        gain = self.dcg.gains[batch.grades[order]]
        moved = np.zeros((n_chunks, len(f)))

        def part(i: int, first: int, last: int) -> float:
            return expected_dcg(f, gain, batch.offsets, discounts, factor, self.sigma, first, last, moved[i])

        value = sum(in_chunks(part, len(f), n_chunks))
        gradient = np.empty(len(f))
        gradient[order] = moved.sum(axis=0)
        return value, gradient
