"""SDCG with smoothed hinge ranks, alone and mixed with regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import within
from dcglearn.losses import gain_kernel, shf_kernel
from dcglearn.losses.class_kernel import Classes
from dcglearn.losses.objective import Batch, MetricLoss, check, depth_of, positive
from dcglearn.losses.rank_kernel import SoftRanks, parts_of, sorted_queries
from dcglearn.losses.squared_kernel import squared_error
from dcglearn.losses.swap import swap_lambdas
from dcglearn.losses.swap_kernel import HINGE

if TYPE_CHECKING:
    from typing import Literal, Self

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats, Integers

    Blocks = tuple[Floats, Integers, Integers]


EARLIER = 1e5
"""What a unit of exchanges counts beside one of regression: half and half comes at M/12 of M trees, not at M/2."""


@dataclass(frozen=True)
class SHFSDCG(MetricLoss):
    """SDCG@k of smoothed hinge ranks: a pair in the wrong order is pulled with full force, however far apart.

    Parameters
    ----------
    dcg : DCG
        The metric to follow, textbook or learned.
    k : int, "depth" or None
        Ranks that count: as many as the DCG has positions, or k, or all.
    alpha : float
        Sharpness of the ranks, per unit of score.
    beta : float
        Sharpness of the truncation, per rank.
    annealed : bool
        Whether the truncation widens to ``s``, the largest rank now held by one of the k most relevant documents (of
        equally relevant ones, those scored higher), and narrows as they rise. ``s`` is a constant in the gradient.
    shift : float
        What is added to k (or s) in the truncation; 0 is the paper's, which halves the weight at that rank.
    normalise : bool
        Whether each query is divided by its ideal value.

    Notes
    -----
    Wu et al. 2009, equations 12-17, with ``A(x) = 1/2 - (alpha/4) x`` for x < 0 (the printed sign makes A negative and
    bends it). Documents compare by gain: grades of equal gain are equals. Ranks of documents in the wrong order grow
    without bound, so the value tends to the DCG only where every pair of documents of different gain is in order; it
    is no estimate of the DCG elsewhere. ``s`` is taken from these same ranks: with ranks of the sort it would cut off
    the very documents that it is there to keep.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> value, gradient = SHFSDCG(DCG.standard(3, 10), alpha=5.0)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> bool(gradient[0] < 0 < gradient[1])
    True
    """

    k: int | Literal["depth"] | None = "depth"
    alpha: float = 10.0
    beta: float = 1.0
    annealed: bool = True
    shift: float = 0.5
    normalise: bool = True

    sharpness: ClassVar[str | None] = "alpha"

    def __post_init__(self) -> None:
        positive(alpha=self.alpha, beta=self.beta)
        depth_of(self.k, self.dcg)

    @cached_property
    def _classes(self) -> tuple[Integers, int]:
        """Return the class of each grade, 0 = least gain, and how many there are."""
        values, classes = np.unique(self.dcg.gains, return_inverse=True)
        return classes.astype(np.int64), len(values)

    def _factors(self, batch: Batch, normalise: bool) -> Floats:
        d, edge = self._discount, depth_of(self.k, self.dcg) + self.shift
        sums = gain_kernel.ideal_sums(d.kind, d.numbers, edge, self.beta, batch.longest)
        factor = np.empty(batch.n_queries)
        gain_kernel.query_factors(
            batch.grades, batch.offsets, self.dcg.gains, self._by_gain, sums, batch.weight, normalise, factor
        )
        return factor

    def _edges(self, ranks: Floats, batch: Batch, segments: Integers) -> Floats:
        """Return where each query is cut, or one value for all."""
        k = depth_of(self.k, self.dcg)
        if not self.annealed or k == np.inf:
            return np.array([k + self.shift])
        edges = np.full(batch.n_queries, self.shift)
        shf_kernel.widest_ranks(ranks, batch.offsets, segments, self._classes[1], int(k), edges)
        return edges

    def ranks(self, scores: ArrayLike, grades: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """Return the smoothed hinge ranks of the documents of a call, shape (n,)."""
        batch = check(scores, grades, self._top_grade, offsets, None)
        ranks = np.zeros(len(batch.scores))
        if len(ranks):
            c, blocks = self._regrouped(batch, 1)
            ranks[c.order] = self._ranks(c, blocks, 1)
        return ranks

    def _regrouped(self, batch: Batch, n_chunks: int) -> tuple[Classes, Blocks]:
        classes, n_classes = self._classes
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        c = Classes.of(order, f, batch.offsets, batch.grades, classes, n_classes)
        return c, SoftRanks(c.f, c.segments, self.alpha, n_chunks).blocks

    def _ranks(self, c: Classes, blocks: Blocks, n_chunks: int) -> Floats:
        ranks, down, up = np.empty(len(c.f)), c.from_top(c.below_top()), c.from_bottom(c.above_bottom())
        arrays = c.f, c.segments, c.n_classes, c.tops, c.bottoms, down, up

        def part(_: int, first: int, last: int) -> None:
            shf_kernel.hinge_ranks(*arrays, *blocks, self.alpha, first, last, ranks)

        in_chunks(part, len(ranks), n_chunks)
        return ranks

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks, n = parts_of(8 * batch.n_pairs), len(batch.scores)
        c, blocks = self._regrouped(batch, n_chunks)
        ranks = self._ranks(c, blocks, n_chunks)
        d, slope, moved = self._discount, np.empty(n), np.empty(n)
        value = gain_kernel.dcg_of_ranks(
            ranks,
            c.order,
            batch.grades,
            batch.offsets,
            self.dcg.gains,
            d.kind,
            d.numbers,
            self._edges(ranks, batch, c.segments),
            self.beta,
            self._factors(batch, self.normalise),
            slope,
        )
        arrays = c.f, c.segments, c.n_classes, slope, c.from_top(slope), c.from_bottom(slope)

        def pull(_: int, first: int, last: int) -> None:
            shf_kernel.hinge_pull(*arrays, *blocks, self.alpha, first, last, moved)

        in_chunks(pull, n, n_chunks)
        gradient = np.empty(n)
        gradient[c.order] = moved
        return value, gradient

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        discounts, factor = self._discount.vector(batch.longest), self._factors(batch.unweighted, self.normalise)
        return swap_lambdas(batch, self.dcg, discounts, self.alpha, HINGE, factor, self.normalise)


@dataclass(frozen=True)
class RegSHFSDCG(SHFSDCG):
    """`SHFSDCG` that begins as a regression: ``(1 - tau) SHF-SDCG - tau R``.

    R is a query's mean squared difference between scores and gains over the top gain.

    Parameters
    ----------
    dcg, k, alpha, beta, annealed, shift, normalise
        As in `SHFSDCG`.
    tau : float
        Share of the regression, from 0 to 1. `at` sets it to ``1 / (1 + exp(gamma (m - M/2)))`` at iteration m of M,
        with gamma such that it begins at 0.999999.

    Notes
    -----
    Wu et al. 2009, equations 18-19, turned so that higher is better. In `forces` the regression counts
    for less (`share`).

    Examples
    --------
    >>> from dcglearn import DCG
    >>> loss = RegSHFSDCG(DCG.standard(3, 10))
    >>> [round(loss.at(m, 250).tau, 6) for m in (1, 125, 130, 250)]
    [0.999999, 0.5, 0.364224, 1e-06]
    """

    tau: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        within(self.tau, "tau", 1.0, "it is the regression's share")

    def at(self, iteration: int, total: int) -> Self:
        """Return the loss with the tau of iteration 1..total."""
        super().at(iteration, total)
        if total <= 2:
            return replace(self, tau=0.999999 if iteration == 1 else 0.0)
        gamma = math.log(999_999) / (total / 2 - 1)
        return replace(self, tau=1 / (1 + math.exp(gamma * (iteration - total / 2))))

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        value, gradient = super()._evaluate(batch)
        error, change = squared_error(batch.scores, self._targets[batch.grades], batch.offsets, batch.weight)
        return (1 - self.tau) * value - self.tau * error, (1 - self.tau) * gradient - self.tau * change

    @property
    def share(self) -> float:
        """The share of the regression in `forces`, which find their way from any start and so need it for shorter."""
        return self.tau / (self.tau + EARLIER * (1 - self.tau))

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        direction, curvature = super()._lambdas(batch)
        _, change = squared_error(batch.scores, self._targets[batch.grades], batch.offsets, batch.weight)
        sizes = np.diff(batch.offsets)
        bend = 2 * np.repeat(batch.weight / np.maximum(sizes, 1), sizes)
        rest = 1 - self.share
        return rest * direction - self.share * change, rest * curvature + self.share * bend

    @cached_property
    def _targets(self) -> Floats:
        """Gain of each grade over the largest gain."""
        top = np.abs(self.dcg.gains).max()
        return self.dcg.gains / top if top > 0 else self.dcg.gains
