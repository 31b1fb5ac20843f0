"""Losses of pairs of documents: hinges, and pairs weighted by what exchanging them would change in a DCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.losses import pair_kernel
from dcglearn.losses.class_kernel import Classes
from dcglearn.losses.objective import Batch, HardMetricLoss, Loss, depth_of, positive
from dcglearn.losses.rank_kernel import parts_of, sorted_queries
from dcglearn.losses.swap import swap_lambdas
from dcglearn.losses.swap_kernel import LOGISTIC

if TYPE_CHECKING:
    from typing import Literal

    from dcglearn.foundation.arrays import Floats


@dataclass(frozen=True)
class RankHinge(Loss):
    """Minus the mean of ``max(0, margin - (f_better - f_worse))`` over a query's pairs of different grades.

    Parameters
    ----------
    margin : float
        In units of score.
    normalise : bool
        Whether each query's sum is divided by its number of pairs.

    Notes
    -----
    The loss of RankSVM (Joachims 2002). Sorted by grade and score, all pairs take n log n steps for n documents.

    Examples
    --------
    >>> value, gradient = RankHinge()([0.5, 0.0, 2.0], [2, 0, 1])
    >>> round(value, 4), gradient.round(3)
    (-1.0, array([ 0.667, -0.333, -0.333]))
    """

    margin: float = 1.0
    normalise: bool = True

    sharpness: ClassVar[str | None] = "margin"
    _squared: ClassVar[bool] = False

    @property
    def sharpness_power(self) -> int:
        """1: the margin is in units of score."""
        return 1

    def __post_init__(self) -> None:
        positive(margin=self.margin)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n, n_classes = len(batch.scores), int(batch.grades.max()) + 1
        n_chunks = parts_of(512.0 * n * n_classes)
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        c = Classes.of(order, f, batch.offsets, batch.grades, np.arange(n_classes), n_classes)
        short = c.below_top()
        sums = c.from_top(short), c.from_top(short * short), c.from_bottom(c.above_bottom())
        counts, moved, gradient = np.empty(batch.n_queries), np.empty(n), np.empty(n)
        pair_kernel.pair_counts(c.segments, n_classes, counts)
        factor = batch.weight / np.maximum(counts, 1) if self.normalise else batch.weight

        arrays = c.f, c.segments, n_classes, c.tops, c.bottoms, *sums

        def part(_: int, first: int, last: int) -> float:
            return pair_kernel.hinge(*arrays, factor, self.margin, self._squared, first, last, moved)

        value = -sum(in_chunks(part, n, n_chunks))
        gradient[c.order] = moved
        return value, gradient


@dataclass(frozen=True)
class GBRank(RankHinge):
    """Minus the mean of ``1/2 max(0, margin - (f_better - f_worse))^2`` over a query's pairs of different grades.

    Parameters
    ----------
    margin, normalise
        As in `RankHinge`.

    Notes
    -----
    Zheng et al. 2007, equation 1, with their tau as margin.

    Examples
    --------
    >>> value, gradient = GBRank()([0.5, 0.0, 2.0], [2, 0, 1])
    >>> round(value, 4), gradient.round(3)
    (-1.0833, array([ 1.   , -0.167, -0.833]))
    """

    _squared: ClassVar[bool] = True


@dataclass(frozen=True)
class LambdaRank(HardMetricLoss):
    """Minus the logistic loss of pairs, each weighted by what exchanging its two documents would change in NDCG.

    Parameters
    ----------
    dcg : DCG
        The metric to follow, textbook or learned; its discounts act as they are.
    alpha : float
        Steepness of ``log(1 + exp(-alpha (f_better - f_worse)))``, per unit of score.
    k : int, "depth" or None
        Positions that count: pairs with neither document among them have weight 0.
    normalise : bool
        Whether each query is divided by its ideal value.

    Notes
    -----
    Burges et al. 2006. Ranks are those of the sort, ties as they come, and constants in the gradient; so the value
    jumps where two scores cross.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> value, gradient = LambdaRank(DCG.standard(3, 10))([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (-0.4591, array([-0.281,  0.265,  0.016]))
    """

    alpha: float = 1.0
    k: int | Literal["depth"] | None = "depth"
    normalise: bool = True

    sharpness: ClassVar[str | None] = "alpha"

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)
        depth_of(self.k, self.dcg)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        return self._weighted(batch, pair_kernel.LOGISTIC, self.alpha)

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        discounts, factor = self._continued(batch.longest), self._factors(batch.unweighted, self.normalise)
        return swap_lambdas(batch, self.dcg, discounts, self.alpha, LOGISTIC, factor, self.normalise)

    def _weighted(self, batch: Batch, kind: int, steepness: float) -> tuple[float, Floats]:
        discounts, n = self._vector(batch.longest), len(batch.scores)
        n_chunks = parts_of(16 * batch.pairs_to(len(discounts)))
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        gain, factor = self.dcg.gains[batch.grades[order]], self._factors(batch, self.normalise)
        moved = np.zeros((n_chunks, n))

        def part(i: int, first: int, last: int) -> float:
            return pair_kernel.weighted_pairs(
                f, gain, batch.offsets, discounts, factor, kind, steepness, first, last, moved[i]
            )

        value = -sum(in_chunks(part, n, n_chunks))
        gradient = np.empty(n)
        gradient[order] = moved.sum(axis=0)
        return value, gradient


@dataclass(frozen=True)
class RSRank(LambdaRank):
    """Minus the modified Huber loss of pairs, each weighted by what exchanging its documents would change in NDCG.

    ``phi(v) = -4v`` for v < -1, ``(v - 1)^2`` up to 1, then 0; of ``v = alpha (f_better - f_worse)``.

    Parameters
    ----------
    dcg, alpha, k, normalise
        As in `LambdaRank`.

    Notes
    -----
    Sun et al. 2009, equation 14, with the weight's absolute value as in their equation 3: signed, as in section 4, it
    pushes a pair in the right order the wrong way.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> value, gradient = RSRank(DCG.standard(3, 10))([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (-0.8051, array([-1.215,  1.15 ,  0.065]))
    """

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        return self._weighted(batch, pair_kernel.MODIFIED_HUBER, self.alpha)

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        return Loss._lambdas(self, batch)
