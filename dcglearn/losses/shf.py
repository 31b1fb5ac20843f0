"""SDCG at smoothed hinge ranks, alone and mixed with regression (Wu et al. 2009)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import Floats, Integers, within
from dcglearn.losses import shf_kernel
from dcglearn.losses.class_kernel import Classes, sums_from_bottom, sums_from_top
from dcglearn.losses.dcg_objective import SoftRankObjective, depth_of
from dcglearn.losses.listwise import Regression
from dcglearn.losses.objective import Batch, check
from dcglearn.losses.rank_kernel import SoftRanks, n_chunks_of, sorted_queries, unsorted
from dcglearn.losses.swap_kernel import HINGE
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    Blocks = tuple[Floats, Integers, Integers]


EARLIER = 1e5
"""Weight of the lambdas relative to the gradient: with it the regression's share is 1/2 at tree M/12 of M, not M/2."""


@dataclass(frozen=True)
class SHFSDCG(SoftRankObjective):
    """NDCG at smoothed hinge ranks, ``sum_i G_i D(r_i) sigma(beta (k + 1/2 - r_i)) / ideal``.

    A pair of documents in the wrong order changes their ranks linearly, however far apart their scores are, so that its
    gradient does not vanish.

    Parameters
    ----------
    dcg, k, alpha, beta, normalise
        As in `ApproxNDCG`.
    annealed : bool
        Whether the truncation is at s instead of k: the largest rank of the k most relevant documents (of equally
        relevant ones, those scored higher), a constant in the gradient. Relevant documents then always have a slope.
    shift : float
        Added to k (or s) in the truncation; with 0, as in the paper, that rank has half of its weight.

    See Also
    --------
    RegSHFSDCG : Begins as a regression.
    SDCG : Logistic ranks.

    Notes
    -----
    Wu et al. 2009, equations 12-17, with ``A(x) = 1/2 - (alpha/4) x`` for x < 0 (with the printed sign, A would be
    negative and not smooth). Documents compare by gain. Ranks of documents in the wrong order grow without bound: the
    value estimates the DCG only where all pairs of documents of different gain are in order. s is taken from these
    ranks, because ranks of the sort would truncate the very documents that have to rise.

    Examples
    --------
    >>> value, gradient = SHFSDCG(dl.DCG.standard(3, 10), alpha=5.0)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> bool(gradient[0] < 0 < gradient[1])
    True
    """

    dcg: DCG
    k: int | Literal["depth"] | None = "depth"
    alpha: float = 10.0
    beta: float = 1.0
    annealed: bool = True
    shift: float = 0.5
    normalise: bool = True

    _step: ClassVar[int] = HINGE

    def ranks(self, scores: ArrayLike, grades: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """Return the smoothed hinge ranks of the documents of a call, shape (n,); errors as in a call."""
        batch = check(scores, grades, self._top_grade, offsets, None)
        if len(batch.scores) == 0:
            return np.zeros(0)
        own = self._on(batch)
        c, blocks = own._regrouped(batch, 1)
        return unsorted(c.order, own._ranks(c, blocks, 1))

    def _edges(self, ranks: Floats, batch: Batch, segments: Integers) -> Floats:
        """Return the rank of each query's truncation, or one value for all."""
        k = depth_of(self.k, self.dcg)
        if not self.annealed or k == np.inf:
            return np.array([k + self.shift])
        edges = np.full(batch.n_queries, self.shift)
        shf_kernel.widest_ranks(ranks, batch.offsets, segments, self._classes[1], int(k), edges)
        return edges

    def _regrouped(self, batch: Batch, n_chunks: int) -> tuple[Classes, Blocks]:
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        c = Classes.of(order, f, batch.offsets, batch.grades, *self._classes)
        return c, SoftRanks(c.f, c.segments, self.alpha, n_chunks).blocks

    def _ranks(self, c: Classes, blocks: Blocks, n_chunks: int) -> Floats:
        down, up = sums_from_top(c.below_top(), c.segments), sums_from_bottom(c.above_bottom(), c.segments)
        arrays = c.f, c.segments, c.n_classes, c.tops, c.bottoms, down, up, *blocks, self.alpha
        ranks = np.empty(len(c.f))
        in_chunks(lambda _, first, last: shf_kernel.hinge_ranks(*arrays, first, last, ranks), len(ranks), n_chunks)
        return ranks

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = n_chunks_of(8 * batch.n_pairs())
        c, blocks = self._regrouped(batch, n_chunks)
        ranks = self._ranks(c, blocks, n_chunks)
        value, w = self._dcg_of_ranks(ranks, c.order, batch, self._edges(ranks, batch, c.segments))
        down, up = sums_from_top(w, c.segments), sums_from_bottom(w, c.segments)
        arrays, slope = (c.f, c.segments, c.n_classes, w, down, up, *blocks, self.alpha), np.empty(len(ranks))
        in_chunks(lambda _, first, last: shf_kernel.hinge_ranks_vjp(*arrays, first, last, slope), len(slope), n_chunks)
        return value, unsorted(c.order, slope)


@dataclass(frozen=True)
class RegSHFSDCG(SHFSDCG):
    """A mixture that begins as a regression and ends as `SHFSDCG`: ``(1 - tau) SHF-SDCG + tau Regression``.

    Parameters
    ----------
    dcg, k, alpha, beta, annealed, shift, normalise
        As in `SHFSDCG`.
    tau : float
        Share of the regression, from 0 to 1, which rankers set themselves: `at` sets ``1 / (1 + exp(gamma (m - M/2)))``
        at iteration m of M, with gamma such that it begins at 0.999999.

    See Also
    --------
    SHFSDCG : The same without the regression.
    BoostedRanker : The trees for which it was made.

    Notes
    -----
    Wu et al. 2009, equations 18-19, with the sign reversed, since objectives are maximised. In `lambdas` the regression
    has the smaller weight `share`.

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
        if total <= 2:
            return replace(self, tau=0.999999 if iteration == 1 else 0.0)
        gamma = math.log(999_999) / (total / 2 - 1)
        return replace(self, tau=1 / (1 + math.exp(gamma * (iteration - total / 2))))

    @property
    def share(self) -> float:
        """The regression's share in `lambdas`: below tau, because lambdas improve the order from any start."""
        return self.tau / (self.tau + EARLIER * (1 - self.tau))

    @cached_property
    def _regression(self) -> Regression:
        return Regression(self.dcg)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        value, gradient = super()._evaluate(batch)
        fit, slope = self._regression._evaluate(batch)
        return (1 - self.tau) * value + self.tau * fit, (1 - self.tau) * gradient + self.tau * slope

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        direction, curvature = super()._lambdas(batch)
        slope, slope_curvature = self._regression._lambdas(batch)
        rest = 1 - self.share
        return rest * direction + self.share * slope, rest * curvature + self.share * slope_curvature
