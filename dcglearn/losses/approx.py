"""Metrics at soft ranks, and at smoothed hinge ranks (SHFSDCG, RegSHFSDCG; Wu et al. 2009)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, within
from dcglearn.losses.class_kernel import Classes, HingeRanks
from dcglearn.losses.dcg_kernel import average_precision, relevant_documents
from dcglearn.losses.dcg_objective import LastRank, SoftRankObjective, last_rank
from dcglearn.losses.listwise import Regression
from dcglearn.losses.objective import (
    Batch,
    Lambdas,
    PrecisionObjective,
    ValueAndGradient,
    check,
    positive,
)
from dcglearn.losses.pair_kernel import PairStep
from dcglearn.losses.rank_kernel import SoftRanks, chunk_count, sorted_queries, unsorted
from dcglearn.metrics.dcg import DCG


def soft_ranks(scores: ArrayLike, alpha: float, offsets: ArrayLike | None = None) -> Floats:
    """Return ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))`` within each query, shape (n,).

    `scores` and `offsets` are as in a call of an `Objective`, `alpha` is the sharpness, per unit of
    score. Source: Qin, Liu, Li 2010, equation 12; their table 1 is the example. The error of a rank
    in a query of n documents is below ``(n - 1) / (exp(alpha gap) + 1)``, gap the smallest
    difference of two scores. Raises InputError if a score is not finite, alpha is not positive, or
    the offsets do not fit.

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
    order, soft = SoftRanks.of(batch.scores, batch.offsets, alpha)
    return unsorted(order, soft.ranks())


@dataclass(frozen=True)
class ApproxNDCG(SoftRankObjective):
    """NDCG at soft ranks, ``sum_i G_i D(r_i) sigma(beta (k + 1/2 - r_i)) / ideal``.

    Source: Qin, Liu, Li 2010, equations 12-16. k is the `depth`. Between whole ranks, and past the
    DCG's last position, D is `SmoothDiscount`. As alpha and beta grow, the value tends to the sum
    of NDCG@k over queries, if no two scores tie and the discounts are positive and decrease.

    Parameters
    ----------
    dcg : DCG, file or name
        The metric, textbook or learned.
    alpha : float
        Sharpness of the ranks ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))``, per unit of
        score. 10 suits scores whose spread is about 1; a larger one follows the metric more
        closely, but stops a training in flat regions.
    depth : int, "dcg" or None
        Ranks that count: so many, those of the DCG, or all (for training).
    beta : float
        Sharpness of the truncation at k, per rank. 1 lets documents below k keep a slope; 100
        follows NDCG at k.
    shift : float
        Added to k in the truncation. With 0, as Wu et al. print it, rank k has half of its weight,
        however large beta.
    normalise : bool
        Whether each query is divided by its ideal value; a query whose ideal is not positive then
        counts 0.

    See Also
    --------
    losses.SmoothNDCG : Smooth mixtures of documents at each position.
    LinearRanker : Train a linear model on it.

    Examples
    --------
    >>> value, gradient = ApproxNDCG(dl.DCG.standard(3, 10), alpha=5.0)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.647, array([-0.177,  0.19 , -0.013]))
    """

    dcg: DCG
    alpha: float = 10.0
    depth: LastRank = "dcg"
    beta: float = 1.0
    shift: float = 0.5
    normalise: bool = True

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        order, soft = SoftRanks.of(batch.scores, batch.offsets, self.alpha)
        # past this rank the truncation is exp(-746), which is 0 in float64
        ranks = soft.ranks(self._edge + 746.0 / self.beta)
        value, slope = self._dcg_of_ranks(ranks, order, batch, np.array([self._edge]))

        # the chain rule, from ranks to scores
        return value, unsorted(order, soft.vjp(slope))


@dataclass(frozen=True)
class SDCG(ApproxNDCG):
    """Smoothed DCG@k of Wu et al. 2009, equation 8: `ApproxNDCG` with a sharper truncation.

    For the parameters see `ApproxNDCG`; ``shift=0`` is the paper's truncation.

    See Also
    --------
    losses.SHFSDCG : Smoothed hinge ranks.

    Examples
    --------
    >>> dcg = dl.DCG.standard(3, 2)
    >>> round(SDCG(dcg, alpha=50.0)([0.3, 0.1, 0.2], [0, 2, 1])[0], 4)
    0.1956
    """

    beta: float = 5.0


@dataclass(frozen=True)
class ApproxAP(PrecisionObjective):
    """Average precision at soft ranks, ``1/R sum_y [1 + sum_{x != y} sigma(b (r_y - r_x))] / r_y``.

    The sums are over the R relevant documents of a query, b is beta. Source: Qin, Liu, Li 2010,
    equation 15. The bracket is itself a soft rank, of ``-r_y`` among the relevant documents. A
    query without a relevant document counts 0.

    Parameters
    ----------
    alpha, beta : float
        Sharpness of the ranks r, per unit of score, as in `ApproxNDCG`; and of the comparison of
        two ranks, per rank, where 100 follows the metric more closely.
    min_grade : int
        The lowest grade that is relevant. Take 2 or more where grade 1 means "hardly relevant".

    See Also
    --------
    losses.SmoothAP : Smooth mixtures instead of smooth ranks.

    Examples
    --------
    >>> round(ApproxAP(alpha=50.0, beta=10.0)([0.3, 0.1, 0.2], [0, 2, 1])[0], 4)
    0.5841
    """

    alpha: float = 10.0
    beta: float = 10.0
    min_grade: int = 1

    sharpness: ClassVar[str | None] = "alpha"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(beta=self.beta)

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        # ranks among all documents
        order, soft = SoftRanks.of(batch.scores, batch.offsets, self.alpha)
        ranks = soft.ranks()

        # ranks of these among the relevant documents
        relevant, ends = relevant_documents(order, batch, self.min_grade)
        among, negative_ranks = sorted_queries(-ranks[relevant], ends, soft.n_chunks)
        relevant = relevant[among]
        inside = SoftRanks(negative_ranks, ends, self.beta, soft.n_chunks)

        value, slope, inner = average_precision(ranks, relevant, inside.ranks(), ends, batch.weight)

        # the inner ranks fall with the outer ones
        slope[relevant] -= inside.vjp(inner)
        return value, unsorted(order, soft.vjp(slope))


@dataclass(frozen=True)
class SHFSDCG(SoftRankObjective):
    """NDCG at smoothed hinge ranks, ``sum_i G_i D(r_i) sigma(beta (k + 1/2 - r_i)) / ideal``.

    A pair in the wrong order changes the ranks linearly, however far apart the scores: its gradient
    does not vanish. Source: Wu et al. 2009, equations 12-17, with ``A(x) = 1/2 - (alpha/4) x`` for
    x < 0 (with the printed sign, A would be negative and not smooth). Documents compare by gain.
    Ranks of documents in the wrong order grow without bound: the value estimates the DCG only where
    all pairs of documents of different gain are in order. s is taken from these ranks, because
    ranks of the sort would truncate the very documents that have to rise.

    Parameters
    ----------
    dcg, depth, alpha, beta, normalise
        As in `ApproxNDCG`.
    annealed : bool
        Whether the truncation is at s instead of k: the largest rank of the k most relevant
        documents (of equally relevant ones, those scored higher), a constant in the gradient.
        Relevant documents then always have a slope.
    shift : float
        Added to k (or s) in the truncation; with 0, as in the paper, that rank has half of its
        weight.

    See Also
    --------
    losses.RegSHFSDCG : Begins as a regression.

    Examples
    --------
    >>> value, gradient = SHFSDCG(dl.DCG.standard(3, 10), alpha=5.0)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> bool(gradient[0] < 0 < gradient[1])
    True
    """

    dcg: DCG
    depth: LastRank = "dcg"
    alpha: float = 10.0
    beta: float = 1.0
    annealed: bool = True
    shift: float = 0.5
    normalise: bool = True

    _step: ClassVar[int] = PairStep.HINGE

    def ranks(
        self, scores: ArrayLike, grades: ArrayLike, offsets: ArrayLike | None = None
    ) -> Floats:
        """Return the smoothed hinge ranks of documents, shape (n,); errors as in a call."""
        batch = check(scores, grades, self._top_grade, offsets, None)
        if len(batch.scores) == 0:
            return np.zeros(0)
        hinge = self._on(batch)._hinge_ranks(batch, 1)
        return unsorted(hinge.documents.order, hinge.ranks())

    def _hinge_ranks(self, batch: Batch, n_chunks: int) -> HingeRanks:
        return HingeRanks(Classes.of(batch, *self._classes, n_chunks), self.alpha, n_chunks)

    def _edges(self, ranks: Floats, batch: Batch, documents: Classes) -> Floats:
        """Return the rank of each query's truncation, or one value for all."""
        k = last_rank(self.depth, self.dcg)
        if not self.annealed or k == np.inf:
            return np.array([k + self.shift])
        return documents.widest_ranks(ranks, batch.offsets, int(k), self.shift)

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        # ranks grow with the number of pairs in the wrong order
        hinge = self._hinge_ranks(batch, chunk_count(8 * batch.n_pairs()))
        ranks, documents = hinge.ranks(), hinge.documents

        # the truncation is a constant in the gradient
        edges = self._edges(ranks, batch, documents)
        value, w = self._dcg_of_ranks(ranks, documents.order, batch, edges)
        return value, unsorted(documents.order, hinge.vjp(w))


@dataclass(frozen=True)
class RegSHFSDCG(SHFSDCG):
    """A regression that becomes `SHFSDCG`: ``(1 - tau) SHF-SDCG + tau Regression``.

    Source: Wu et al. 2009, equations 18-19, with the sign reversed, since objectives are maximised.
    In `lambdas` the regression has the smaller weight `share`.

    Parameters
    ----------
    dcg, depth, alpha, beta, annealed, shift, normalise
        As in `SHFSDCG`.
    tau : float
        Share of the regression, from 0 to 1, which rankers set themselves: `at` sets ``1 / (1 +
        exp(gamma (m - M/2)))`` at iteration m of M, with gamma such that it begins at 0.999999.

    See Also
    --------
    BoostedRanker : The trees for which it was made.

    Examples
    --------
    >>> loss = RegSHFSDCG(dl.DCG.standard(3, 10))
    >>> [round(loss.at(m, 250).tau, 6) for m in (1, 125, 130, 250)]
    [0.999999, 0.5, 0.364224, 1e-06]
    """

    tau: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        within(self.tau, "tau", 1.0, "it is the regression's share")

    def at(self, iteration: int, total: int) -> Self:
        """Return the objective with the tau of iteration 1..total."""
        super().at(iteration, total)
        # two stages have no middle
        if total <= 2:
            return replace(self, tau=0.999999 if iteration == 1 else 0.0)
        # equation 19: tau falls from 0.999999 to 0.000001
        gamma = math.log(999_999) / (total / 2 - 1)
        return replace(self, tau=1 / (1 + math.exp(gamma * (iteration - total / 2))))

    @property
    def share(self) -> float:
        """The regression's share in `lambdas`: below tau, because they improve any order."""
        # with 1e5 the share is 1/2 at tree M/12 of M, not at M/2
        return self.tau / (self.tau + 1e5 * (1 - self.tau))

    @cached_property
    def _regression(self) -> Regression:
        return Regression(self.dcg)

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        fit = self._regression._evaluate(batch)
        return _mixed(super()._evaluate(batch), fit, self.tau)

    def _lambdas(self, batch: Batch) -> Lambdas:
        fit = self._regression._lambdas(batch)
        return _mixed(super()._lambdas(batch), fit, self.share)


def _mixed(first: tuple[Any, Any], second: tuple[Any, Any], share: float) -> Any:
    """Return two pairs of results mixed, with a share of the second."""
    return tuple((1 - share) * a + share * b for a, b in zip(first, second, strict=True))
