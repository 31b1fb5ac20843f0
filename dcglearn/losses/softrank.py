"""The expected NDCG of scores with Gaussian noise: SoftRank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import Floats
from dcglearn.losses.dcg_objective import WholeRankObjective
from dcglearn.losses.objective import Batch
from dcglearn.losses.rank_kernel import n_chunks_of, sorted_queries, unsorted
from dcglearn.losses.softrank_kernel import expected_dcg
from dcglearn.metric.dcg import DCG


@dataclass(frozen=True)
class SoftRankNDCG(WholeRankObjective):
    """NDCG with expected discounts under Gaussian noise of the scores, ``sum_i G_i E[D(r_i)] / ideal``.

    Parameters
    ----------
    dcg : DCG, file or name
        The metric; its discounts act as they are.
    sigma : float
        Standard deviation of the noise of a score, in units of score; that of a difference is ``sqrt(2) sigma``. 0.1 to
        1 suit scores whose spread is 1. A larger one is smoother and slower.
    k, normalise
        As in `SmoothNDCG`.

    See Also
    --------
    SmoothNDCG : Faster, and as flexible.
    ApproxNDCG : Fast on lists of any length.

    Notes
    -----
    Taylor et al. 2008, who take the rank of a document as a sum of independent comparisons with each other document.
    The comparisons are not independent: where all scores tie, true ranks are uniform, but these are binomial. The time
    grows as the cube of the number of documents whose noise overlaps (within 12 sigma).

    Examples
    --------
    >>> value, gradient = SoftRankNDCG(dl.DCG.standard(3, 10), sigma=0.1)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.637, array([-0.35 ,  0.319,  0.031]))
    """

    dcg: DCG
    sigma: float = 0.1
    k: int | Literal["depth"] | None = "depth"
    normalise: bool = True

    sharpness: ClassVar[str | None] = "sigma"
    sharpness_power = 1

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = n_chunks_of(batch.n_pairs() * batch.longest)
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        gain, discounts = self.dcg.gains[batch.grades[order]], self._discounts(batch.longest)
        arrays = f, gain, batch.offsets, discounts, self._factors(batch, batch.weight), self.sigma
        slopes = np.zeros((n_chunks, len(f)))
        value = sum(in_chunks(lambda i, first, last: expected_dcg(*arrays, first, last, slopes[i]), len(f), n_chunks))
        return value, unsorted(order, slopes.sum(axis=0))
