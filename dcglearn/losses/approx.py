"""Metrics at soft ranks: ApproxNDCG, SDCG and ApproxAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.validation import Floats, whole_number
from dcglearn.losses import ap_kernel
from dcglearn.losses.dcg_objective import SoftRankObjective
from dcglearn.losses.objective import Batch, Objective, check, positive, without_relevant
from dcglearn.losses.rank_kernel import SoftRanks, n_chunks_of, sorted_queries, unsorted
from dcglearn.metric.dcg import DCG


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

    Raises
    ------
    InputError
        If a score is not finite, alpha is not positive, or the offsets do not fit.

    Notes
    -----
    Qin, Liu, Li 2010, equation 12; their table 1 is the example. The error of a rank in a query of n documents is below
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
    n_chunks = n_chunks_of(batch.n_pairs())
    order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
    return unsorted(order, SoftRanks(f, batch.offsets, alpha, n_chunks).ranks())


@dataclass(frozen=True)
class ApproxNDCG(SoftRankObjective):
    """NDCG at soft ranks, ``sum_i G_i D(r_i) sigma(beta (k + 1/2 - r_i)) / ideal``.

    Parameters
    ----------
    dcg : DCG, file or name
        The metric, textbook or learned.
    alpha : float
        Sharpness of the ranks ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))``, per unit of score. 10 suits scores
        whose spread is about 1; a larger one follows the metric more closely, but stops a training in flat regions.
    k : int, "depth" or None
        Ranks that count: those of the DCG, the first k, or all (for training).
    beta : float
        Sharpness of the truncation at k, per rank. 1 lets documents below k keep a slope; 100 follows NDCG at k.
    shift : float
        Added to k in the truncation. With 0, as Wu et al. print it, rank k has half of its weight, however large beta.
    normalise : bool
        Whether each query is divided by its ideal value; a query whose ideal is not positive then counts 0.

    See Also
    --------
    SmoothNDCG : Smooth mixtures of documents at each position.
    SHFSDCG : For poor starts.
    LinearRanker : Train a linear model on it.
    BoostedRanker : Train trees on it.

    Notes
    -----
    Qin, Liu, Li 2010, equations 12-16. Between whole ranks, and past the DCG's last position, D is `SmoothDiscount`. As
    alpha and beta grow, the value tends to the sum of NDCG@k over queries, if no two scores tie and the discounts are
    positive and decrease.

    Examples
    --------
    >>> value, gradient = ApproxNDCG(dl.DCG.standard(3, 10), alpha=5.0)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.647, array([-0.177,  0.19 , -0.013]))
    """

    dcg: DCG
    alpha: float = 10.0
    k: int | Literal["depth"] | None = "depth"
    beta: float = 1.0
    shift: float = 0.5
    normalise: bool = True

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = n_chunks_of(batch.n_pairs())
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        soft = SoftRanks(f, batch.offsets, self.alpha, n_chunks)
        value, slope = self._dcg_of_ranks(soft.ranks(), order, batch, np.array([self._edge]))
        return value, unsorted(order, soft.vjp(slope))


@dataclass(frozen=True)
class SDCG(ApproxNDCG):
    """Smoothed DCG@k of Wu et al. 2009, equation 8: the formula of `ApproxNDCG` with a sharper truncation by default.

    Parameters
    ----------
    dcg, alpha, k, beta, shift, normalise
        As in `ApproxNDCG`; ``shift=0`` is the paper's truncation.

    See Also
    --------
    ApproxNDCG : A softer truncation.
    SHFSDCG : Smoothed hinge ranks.

    Examples
    --------
    >>> dcg = dl.DCG.standard(3, 2)
    >>> round(SDCG(dcg, alpha=50.0)([0.3, 0.1, 0.2], [0, 2, 1])[0], 4)
    0.1956
    """

    beta: float = 5.0


@dataclass(frozen=True)
class ApproxAP(Objective):
    """Average precision at soft ranks, ``1/R sum_y [1 + sum_{x != y} sigma(beta (r_y - r_x))] / r_y``.

    The sums are over the R relevant documents of a query.

    Parameters
    ----------
    alpha : float
        Sharpness of the ranks r, per unit of score. 10 suits scores whose spread is about 1.
    beta : float
        Sharpness of the comparison of two ranks, per rank; 100 follows the metric more closely.
    min_grade : int
        The lowest grade that is relevant. Take 2 or more where grade 1 means "hardly relevant".

    See Also
    --------
    ApproxNDCG : The same ranks for graded judgements.
    SmoothAP : Smooth mixtures instead of smooth ranks.

    Notes
    -----
    Qin, Liu, Li 2010, equation 15. The bracket is itself a soft rank, of ``-r_y`` among the relevant documents, and is
    computed by the same kernel. A query without a relevant document counts 0.

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
        super().__post_init__()
        positive(beta=self.beta)
        whole_number(self.min_grade, "min_grade")

    def _is_empty(self, batch: Batch) -> NDArray[np.bool_]:
        return without_relevant(batch, self.min_grade)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = n_chunks_of(batch.n_pairs())
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        soft = SoftRanks(f, batch.offsets, self.alpha, n_chunks)
        ranks = soft.ranks()
        relevant, ends = ap_kernel.relevant_of(order, batch.grades, batch.offsets, self.min_grade)
        among, negative_ranks = sorted_queries(-ranks[relevant], ends, n_chunks)
        relevant = relevant[among]
        within = SoftRanks(negative_ranks, ends, self.beta, n_chunks)
        slope, inner = np.zeros(len(f)), np.empty(len(relevant))
        value = ap_kernel.precision(ranks, relevant, within.ranks(), ends, batch.weight, slope, inner)
        slope[relevant] -= within.vjp(inner)
        return value, unsorted(order, soft.vjp(slope))
