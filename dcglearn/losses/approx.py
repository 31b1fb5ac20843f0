"""Metrics of soft ranks: ApproxNDCG, SDCG and ApproxAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dcglearn.foundation.validation import whole_number
from dcglearn.losses import ap_kernel, gain_kernel
from dcglearn.losses.objective import Batch, Loss, MetricLoss, check, depth_of, positive, without_relevant
from dcglearn.losses.rank_kernel import SoftRanks, parts_of, sorted_queries
from dcglearn.losses.swap import swap_lambdas
from dcglearn.losses.swap_kernel import BELL

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats


def soft_ranks(scores: ArrayLike, alpha: float, offsets: ArrayLike | None = None) -> Floats:
    """Return ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))`` within each query.

    Parameters
    ----------
    scores : array_like, shape (n,)
    alpha : float
        Sharpness, per unit of score.
    offsets : array_like of int, shape (n_queries + 1,), optional
        Query q holds documents ``offsets[q]:offsets[q + 1]``; one query by default.

    Returns
    -------
    ndarray, shape (n,)

    Notes
    -----
    Qin, Liu, Li 2010, equation 12; their table 1 is the example. The largest error in a query of n documents is below
    ``(n - 1) / (exp(alpha gap) + 1)``, gap the smallest difference of two scores.

    Examples
    --------
    >>> soft_ranks([4.20074, 3.12378, 4.40918, 1.55258, 4.13330], alpha=100).round(5)
    array([2.00118, 4.     , 1.     , 5.     , 2.99882])
    """
    positive(alpha=alpha)
    scores = np.asarray(scores)
    batch = check(scores, np.zeros(scores.shape, np.int64), 0, offsets, None)
    if len(batch.scores) == 0:
        return np.zeros(0)
    n_chunks = parts_of(batch.n_pairs)
    order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
    ranks = np.empty(len(f))
    ranks[order] = SoftRanks(f, batch.offsets, alpha, n_chunks).ranks()
    return ranks


@dataclass(frozen=True)
class ApproxNDCG(MetricLoss):
    """NDCG of soft ranks, ``sum_i G_i D(r_i) sigma(beta (k + 1/2 - r_i)) / ideal``.

    Parameters
    ----------
    dcg : DCG
        The metric to follow, textbook or learned.
    alpha : float
        Sharpness of the ranks ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))``, per unit of score.
    k : int, "depth" or None
        Ranks that count: as many as the DCG has positions, or k, or all (for training).
    beta : float
        Sharpness of the truncation at k, per rank.
    shift : float
        What is added to k in the truncation. At 0 (Wu et al. as printed) rank k keeps only half of its weight,
        however large beta.
    normalise : bool
        Whether each query is divided by its ideal value; a query whose ideal is not positive then counts 0.

    Notes
    -----
    Qin, Liu, Li 2010, equations 12-16. At ranks that are not whole numbers, and beyond the DCG's last position, D is
    `SmoothDiscount`. As alpha and beta grow, the value tends to the mean NDCG@k times the number of queries wherever
    no two scores tie and the discounts are positive and decrease.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> value, gradient = ApproxNDCG(DCG.standard(3, 10), alpha=5.0)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.647, array([-0.177,  0.19 , -0.013]))
    """

    alpha: float = 10.0
    k: int | Literal["depth"] | None = "depth"
    beta: float = 1.0
    shift: float = 0.5
    normalise: bool = True

    sharpness: ClassVar[str | None] = "alpha"

    def __post_init__(self) -> None:
        positive(alpha=self.alpha, beta=self.beta)
        depth_of(self.k, self.dcg)

    @property
    def _edge(self) -> float:
        return depth_of(self.k, self.dcg) + self.shift

    def _factors(self, batch: Batch, normalise: bool) -> Floats:
        d = self._discount
        sums = gain_kernel.ideal_sums(d.kind, d.numbers, self._edge, self.beta, batch.longest)
        factor = np.empty(batch.n_queries)
        gain_kernel.query_factors(
            batch.grades, batch.offsets, self.dcg.gains, self._by_gain, sums, batch.weight, normalise, factor
        )
        return factor

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = parts_of(batch.n_pairs)
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        soft = SoftRanks(f, batch.offsets, self.alpha, n_chunks)
        d, slope = self._discount, np.empty(len(f))
        value = gain_kernel.dcg_of_ranks(
            soft.ranks(),
            order,
            batch.grades,
            batch.offsets,
            self.dcg.gains,
            d.kind,
            d.numbers,
            np.array([self._edge]),
            self.beta,
            self._factors(batch, self.normalise),
            slope,
        )
        gradient = np.empty(len(f))
        gradient[order] = soft.pull(slope)
        return value, gradient

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        discounts, factor = self._discount.vector(batch.longest), self._factors(batch.unweighted, self.normalise)
        return swap_lambdas(batch, self.dcg, discounts, self.alpha, BELL, factor, self.normalise)


@dataclass(frozen=True)
class SDCG(ApproxNDCG):
    """Smoothed DCG@k of Wu et al. 2009, equation 8: the formula of `ApproxNDCG`, cut harder by default.

    Parameters
    ----------
    dcg, alpha, k, beta, shift, normalise
        As in `ApproxNDCG`; ``shift=0`` is the paper's truncation.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> dcg = DCG.standard(3, 2)
    >>> round(SDCG(dcg, alpha=50.0)([0.3, 0.1, 0.2], [0, 2, 1])[0], 4)
    0.1956
    """

    beta: float = 5.0


@dataclass(frozen=True)
class ApproxAP(Loss):
    """Average precision of soft ranks.

    ``sum_y [1 + sum_{x != y} sigma(beta (r_y - r_x))] / r_y`` over the relevant documents, divided by their number.

    Parameters
    ----------
    alpha : float
        Sharpness of the ranks, per unit of score.
    beta : float
        Sharpness of the comparison of two ranks, per rank.
    min_grade : int
        The lowest grade that is relevant.

    Notes
    -----
    Qin, Liu, Li 2010, equation 15. The bracket is itself a soft rank, of ``-r_y`` among the relevant documents, so one
    kernel serves twice. A query without a relevant document counts 0.

    Examples
    --------
    >>> value, gradient = ApproxAP(alpha=50.0, beta=10.0)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4)
    0.5841
    """

    alpha: float = 10.0
    beta: float = 10.0
    min_grade: int = 1

    sharpness: ClassVar[str | None] = "alpha"

    def __post_init__(self) -> None:
        positive(alpha=self.alpha, beta=self.beta)
        whole_number(self.min_grade, "min_grade")

    def _is_empty(self, batch: Batch) -> NDArray[np.bool_]:
        return without_relevant(batch, self.min_grade)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = parts_of(batch.n_pairs)
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        soft = SoftRanks(f, batch.offsets, self.alpha, n_chunks)
        ranks = soft.ranks()
        relevant, ends = ap_kernel.relevant_of(order, batch.grades, batch.offsets, self.min_grade)
        among, u = sorted_queries(-ranks[relevant], ends, n_chunks)
        within = SoftRanks(u, ends, self.beta, n_chunks)
        slope, inner = np.zeros(len(f)), np.empty(len(relevant))
        value = ap_kernel.precision(ranks, relevant[among], within.ranks(), ends, batch.weight, slope, inner)
        slope[relevant[among]] -= within.pull(inner)
        gradient = np.empty(len(f))
        gradient[order] = soft.pull(slope)
        return value, gradient
