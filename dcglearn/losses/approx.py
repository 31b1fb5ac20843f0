"""Metrics at soft ranks: ApproxNDCG, SDCG, ApproxAP; at smoothed hinge ranks: SHFSDCG, RegSHFSDCG
(Wu et al. 2009).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import Floats, Integers, whole_number, within
from dcglearn.losses import class_kernel, dcg_kernel
from dcglearn.losses.class_kernel import Classes, sums_from_bottom, sums_from_top
from dcglearn.losses.dcg_objective import SoftRankObjective, depth_of
from dcglearn.losses.listwise import Regression
from dcglearn.losses.objective import Batch, Objective, check, positive, without_relevant
from dcglearn.losses.pair_kernel import HINGE
from dcglearn.losses.rank_kernel import SoftRanks, n_chunks_of, prepare, sorted_queries, unsorted
from dcglearn.metric.dcg import DCG


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

    Source: Qin, Liu, Li 2010, equations 12-16. Between whole ranks, and past the DCG's last
    position, D is `SmoothDiscount`. As alpha and beta grow, the value tends to the sum of NDCG@k
    over queries, if no two scores tie and the discounts are positive and decrease.

    Parameters
    ----------
    dcg : DCG, file or name
        The metric, textbook or learned.
    alpha : float
        Sharpness of the ranks ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))``, per unit of
        score. 10 suits scores whose spread is about 1; a larger one follows the metric more
        closely, but stops a training in flat regions.
    k : int, "depth" or None
        Ranks that count: those of the DCG, the first k, or all (for training).
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
    SmoothNDCG : Smooth mixtures of documents at each position.
    LinearRanker : Train a linear model on it.

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
        order, soft = SoftRanks.of(batch.scores, batch.offsets, self.alpha)
        ranks = soft.ranks(self._edge + dcg_kernel.ZERO / self.beta)
        value, slope = self._dcg_of_ranks(ranks, order, batch, np.array([self._edge]))
        return value, unsorted(order, soft.vjp(slope))


@dataclass(frozen=True)
class SDCG(ApproxNDCG):
    """Smoothed DCG@k of Wu et al. 2009, equation 8: the formula of `ApproxNDCG` with a sharper
    truncation by default.

    For the parameters see `ApproxNDCG`; ``shift=0`` is the paper's truncation.

    See Also
    --------
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
    """Average precision at soft ranks, ``1/R sum_y [1 + sum_{x != y} sigma(beta (r_y - r_x))] /
    r_y``.

    The sums are over the R relevant documents of a query. Source: Qin, Liu, Li 2010, equation 15.
    The bracket is itself a soft rank, of ``-r_y`` among the relevant documents. A query without a
    relevant document counts 0.

    Parameters
    ----------
    alpha, beta : float
        Sharpness of the ranks r, per unit of score, as in `ApproxNDCG`; and of the comparison of
        two ranks, per rank, where 100 follows the metric more closely.
    min_grade : int
        The lowest grade that is relevant. Take 2 or more where grade 1 means "hardly relevant".

    See Also
    --------
    SmoothAP : Smooth mixtures instead of smooth ranks.

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
        whole_number(self.min_grade, "min_grade")

    def _is_empty(self, batch: Batch) -> NDArray[np.bool_]:
        return without_relevant(batch, self.min_grade)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        order, soft = SoftRanks.of(batch.scores, batch.offsets, self.alpha)
        ranks = soft.ranks()
        relevant, ends = dcg_kernel.relevant_of(order, batch.grades, batch.offsets, self.min_grade)
        among, negative_ranks = sorted_queries(-ranks[relevant], ends, soft.n_chunks)
        relevant = relevant[among]
        inside = SoftRanks(negative_ranks, ends, self.beta, soft.n_chunks)
        slope, inner = np.zeros(len(ranks)), np.empty(len(relevant))
        value = dcg_kernel.precision(
            ranks, relevant, inside.ranks(), ends, batch.weight, slope, inner
        )
        slope[relevant] -= inside.vjp(inner)
        return value, unsorted(order, soft.vjp(slope))


EARLIER = 1e5
"""Weight of the lambdas relative to the gradient: with it the regression's share is 1/2 at tree
M/12 of M, not M/2.
"""


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
    dcg, k, alpha, beta, normalise
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
    RegSHFSDCG : Begins as a regression.

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

    def ranks(
        self, scores: ArrayLike, grades: ArrayLike, offsets: ArrayLike | None = None
    ) -> Floats:
        """Return the smoothed hinge ranks of the documents of a call, shape (n,); errors as in a
        call.
        """
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
        class_kernel.widest_ranks(ranks, batch.offsets, segments, self._classes[1], int(k), edges)
        return edges

    def _regrouped(
        self, batch: Batch, n_chunks: int
    ) -> tuple[Classes, tuple[Floats, Integers, Integers]]:
        c = Classes.of(batch, *self._classes, n_chunks)
        return c, prepare(c.f, c.segments, self.alpha, len(c.f) + 1)[-3:]

    def _ranks(
        self, c: Classes, blocks: tuple[Floats, Integers, Integers], n_chunks: int
    ) -> Floats:
        down, up = (
            sums_from_top(c.below_top(), c.segments),
            sums_from_bottom(c.above_bottom(), c.segments),
        )
        arrays = c.f, c.segments, c.n_classes, c.tops, c.bottoms, down, up, *blocks, self.alpha
        ranks = np.empty(len(c.f))
        in_chunks(
            lambda _, first, last: class_kernel.hinge_ranks(*arrays, first, last, ranks),
            len(ranks),
            n_chunks,
        )
        return ranks

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        n_chunks = n_chunks_of(8 * batch.n_pairs())
        c, blocks = self._regrouped(batch, n_chunks)
        ranks = self._ranks(c, blocks, n_chunks)
        value, w = self._dcg_of_ranks(ranks, c.order, batch, self._edges(ranks, batch, c.segments))
        down, up = sums_from_top(w, c.segments), sums_from_bottom(w, c.segments)
        arrays, slope = (
            (c.f, c.segments, c.n_classes, w, down, up, *blocks, self.alpha),
            np.empty(len(ranks)),
        )
        in_chunks(
            lambda _, first, last: class_kernel.hinge_ranks_vjp(*arrays, first, last, slope),
            len(slope),
            n_chunks,
        )
        return value, unsorted(c.order, slope)


@dataclass(frozen=True)
class RegSHFSDCG(SHFSDCG):
    """A mixture that begins as a regression and ends as `SHFSDCG`: ``(1 - tau) SHF-SDCG + tau
    Regression``.

    Source: Wu et al. 2009, equations 18-19, with the sign reversed, since objectives are maximised.
    In `lambdas` the regression has the smaller weight `share`.

    Parameters
    ----------
    dcg, k, alpha, beta, annealed, shift, normalise
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
        if total <= 2:
            return replace(self, tau=0.999999 if iteration == 1 else 0.0)
        gamma = math.log(999_999) / (total / 2 - 1)
        return replace(self, tau=1 / (1 + math.exp(gamma * (iteration - total / 2))))

    @property
    def share(self) -> float:
        """The regression's share in `lambdas`: below tau, because lambdas improve the order from
        any start.
        """
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
        return (
            rest * direction + self.share * slope,
            rest * curvature + self.share * slope_curvature,
        )
