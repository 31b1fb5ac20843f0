"""Losses of pairs of documents: hinges, and pairs weighted by what a swap changes in a DCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcglearn.losses import pair_kernel
from dcglearn.losses.class_kernel import Classes
from dcglearn.losses.dcg_objective import LastRank, WholeRankObjective
from dcglearn.losses.objective import Batch, Lambdas, Objective, ValueAndGradient
from dcglearn.losses.rank_kernel import chunk_count, unsorted
from dcglearn.metrics.dcg import DCG


@dataclass(frozen=True)
class RankHinge(Objective):
    """Minus the mean of ``max(0, margin - (f_better - f_worse))`` over a query's pairs.

    A pair has different grades. The loss of RankSVM (Joachims 2002). The time for n documents grows
    as n log n, not as the number of pairs.

    Parameters
    ----------
    margin : float
        1 suits scores whose spread is about 1; `LinearRanker` keeps to that unit.
    normalise : bool
        Whether each query counts the same (its sum is divided by its number of pairs), or each
        pair.

    See Also
    --------
    rankers.RankSVMRanker : The solver of RankSVM.

    Examples
    --------
    >>> value, gradient = RankHinge()([0.5, 0.0, 2.0], [2, 0, 1])
    >>> round(value, 4), gradient.round(3)
    (-1.0, array([ 0.667, -0.333, -0.333]))
    """

    margin: float = 1.0
    normalise: bool = True

    sharpness: ClassVar[str | None] = "margin"
    sharpness_power = 1
    _squared: ClassVar[bool] = False

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        # documents by grade and score
        n_classes = int(batch.grades.max()) + 1
        n_chunks = chunk_count(512.0 * len(batch.scores) * n_classes)
        c = Classes.of(batch, np.arange(n_classes), n_classes, n_chunks)

        # each query over its number of pairs
        factor = batch.weight
        if self.normalise:
            factor = pair_kernel.over_pairs(n_classes, c.segments, batch.weight)
        loss, slope = pair_kernel.hinge(c, factor, self.margin, self._squared, n_chunks)
        return -loss, unsorted(c.order, slope)


@dataclass(frozen=True)
class GBRank(RankHinge):
    """Minus the mean of ``1/2 max(0, margin - (f_better - f_worse))^2`` over a query's pairs.

    Source: Zheng et al. 2007, equation 1, with their tau as margin. For the parameters see
    `RankHinge`.

    See Also
    --------
    losses.LambdaRank : Pairs weighted by the change of DCG that a swap makes.

    Examples
    --------
    >>> value, gradient = GBRank()([0.5, 0.0, 2.0], [2, 0, 1])
    >>> round(value, 4), gradient.round(3)
    (-1.0833, array([ 1.   , -0.167, -0.833]))
    """

    _squared: ClassVar[bool] = True


@dataclass(frozen=True)
class LambdaRank(WholeRankObjective):
    """``-sum |(G_a - G_b) (D_a - D_b)| log(1 + exp(-alpha (f_a - f_b))) / ideal`` over pairs.

    Document a is better. The weight of a pair is the change of NDCG if the two documents are
    swapped. Source: Burges et al. 2006. D are the discounts at the ranks in the sort, ties in input
    order, constants in the gradient: it jumps where scores cross.

    Parameters
    ----------
    dcg, depth, normalise
        As in `SmoothNDCG`. A pair with neither document among the positions that count has weight
        0.
    alpha : float
        Steepness, per unit of score. 1 suits most scores: a ranker finds the scale that fits.

    See Also
    --------
    losses.ApproxNDCG : A smooth form of the metric itself.

    Examples
    --------
    >>> value, gradient = LambdaRank(dl.DCG.standard(3, 10))([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (-0.4591, array([-0.281,  0.265,  0.016]))
    """

    dcg: DCG
    alpha: float = 1.0
    depth: LastRank = "dcg"
    normalise: bool = True

    sharpness: ClassVar[str | None] = "alpha"
    _loss: ClassVar[int] = pair_kernel.PairLoss.LOG

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        work = 16 * batch.n_pairs(len(self._discounts(batch.longest)))
        kernel = pair_kernel.weighted_pairs
        loss, gradient = self._summed(kernel, batch, work, self._loss, self.alpha)
        return -loss, gradient

    def _lambdas(self, batch: Batch) -> Lambdas:
        return self._swap_lambdas(batch, pair_kernel.PairStep.LOGISTIC)


@dataclass(frozen=True)
class RSRank(LambdaRank):
    """``-sum |(G_a - G_b) (D_a - D_b)| phi(alpha (f_a - f_b)) / ideal`` over pairs, a the better.

    phi is the modified Huber loss: ``phi(v) = -4v`` for v < -1, ``(v - 1)^2`` up to 1, then 0.
    Source: Sun et al. 2009, equation 14, with the absolute value of the weight as in their equation
    3. The signed weight of their section 4 would push pairs in the right order apart the wrong way.
    For the parameters see `LambdaRank`.

    See Also
    --------
    LinearRanker : With ``l1="path"``, the paper's ranker.

    Examples
    --------
    >>> value, gradient = RSRank(dl.DCG.standard(3, 10))([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (-0.8051, array([-1.215,  1.15 ,  0.065]))
    """

    _loss: ClassVar[int] = pair_kernel.PairLoss.MODIFIED_HUBER

    def _lambdas(self, batch: Batch) -> Lambdas:
        return Objective._lambdas(self, batch)
