"""Metrics at soft positions (Chapelle and Wu 2010), and of noisy scores (Taylor et al. 2008).

``h_ij = exp(-u_ij^2 / s) / sum_k exp(-u_kj^2 / s)`` with ``u_ij = f_i - f_d(j)``, d(j) the document
at position j. Documents are sorted by query and score, so that i and j index one array. Terms below
``exp(-40)`` are left out, and reversals by noise of more than 12 standard deviations, whose
probability is below 2e-17.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dcglearn.foundation.validation import Floats, Integers, one_of
from dcglearn.kernels.library import function
from dcglearn.losses.dcg_kernel import average_precision, relevant_documents
from dcglearn.losses.dcg_objective import LastRank, WholeRankObjective
from dcglearn.losses.objective import Batch, PrecisionObjective, ValueAndGradient
from dcglearn.losses.rank_kernel import (
    SoftRanks,
    chunk_count,
    filled,
    over_chunks,
    sorted_queries,
    unsorted,
)
from dcglearn.metrics.dcg import DCG

_soft_positions = function("soft_positions .m depth first last #s f[n] f[n] l[m+1] f[n] f[n] f[n]")
_soft_positions_vjp = function(
    "soft_positions_vjp .m depth first last #s f[n] f[n] l[m+1] f[n] f[n] f[n] f[n] f[n]"
)

dcg_of_means = function("dcg_of_means .m .depth l[m+1] f[depth] f[m] f[n] f[n]! -> #")
"""``sum_q factor_q sum_j D_j mean_j``, and its derivative in each mean.

Taken are offsets, discounts, factors and means.
"""

precision_of_means = function("precision_of_means .m l[m+1] f[n] f[m] f[n] f[n]! -> #")
"""The weighted sum of ``1/R sum_j mean_j Prec@j`` (see `SmoothAP`), and its slope.

Taken are offsets, gains, weights and means.
"""

expected_dcg = function(
    "expected_dcg .m .depth longest first last #sigma f[n] f[n] l[m+1] f[depth] f[m] f[n] "
    "f[work_of_expected_dcg(depth,longest)]~ -> #"
)
"""``sum_i factor G_i E D(r_i)`` over sorted documents; see `WholeRankObjective._summed`."""


class SoftPositions:
    """Mean gains of the first `depth` soft positions of each query, and their VJP.

    `f` and `gain` are scores and gains of sorted documents, shape (n,). Past `depth` a mean is 0.
    """

    def __init__(
        self, f: Floats, gain: Floats, offsets: Integers, s: float, depth: int, n_chunks: int
    ) -> None:
        self.n_chunks = n_chunks
        self._documents = depth, s, f, gain, offsets

        # mass_j = sum_i exp(-u_ij^2/s), mean_j = sum_i h_ij G_i,
        # turn_j = sum_i h_ij u_ij (G_i - mean_j)
        self._sums = np.empty_like(f), np.empty_like(f), np.empty_like(f)
        self.mean = self._sums[1]
        over_chunks(_soft_positions, len(f), n_chunks, *self._documents, *self._sums)

    def vjp(self, w: Floats) -> Floats:
        """Return the derivative of ``sum_j w_j mean_j`` in each score, shape (n,)."""
        n = len(w)
        arrays = *self._documents, w, *self._sums
        return filled(_soft_positions_vjp, n, n, self.n_chunks, *arrays)


@dataclass(frozen=True)
class SmoothNDCG(WholeRankObjective):
    """NDCG at soft positions, ``sum_j D_j sum_i G_i h_ij / ideal``.

    ``h_ij``, proportional to ``exp(-(f_i - f_d(j))^2 / s)`` with sum 1 over i, is the share of
    document i in position j, which document d(j) has in the sort. Source: Chapelle and Wu 2010,
    equations 7-8. Continuous, with a kink where scores tie. Tends to the DCG as sigma falls. The
    time grows at most as positions times documents.

    Parameters
    ----------
    dcg : DCG, file or name
        The metric; its discounts act as they are, also where they rise or are negative.
    sigma : float
        The ``s`` of the formula, in squared units of score. 1 suits scores whose spread is about 1;
        a smaller one is closer to the metric and has more local maxima.
    depth, normalise
        As in `ApproxNDCG`; positions past the DCG's have the tail of `SmoothDiscount`.

    See Also
    --------
    losses.ApproxNDCG : Smooth ranks; faster on long lists.

    Examples
    --------
    >>> value, gradient = SmoothNDCG(dl.DCG.standard(3, 10), sigma=0.01)([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.6292, array([-0.339,  0.488, -0.149]))
    """

    dcg: DCG
    sigma: float = 1.0
    depth: LastRank = "dcg"
    normalise: bool = True

    sharpness: ClassVar[str | None] = "sigma"
    sharpness_power = 2

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        discounts, factor = self._discounts(batch.longest), self._factors(batch, batch.weight)

        def metric(_: Floats, mean: Floats) -> ValueAndGradient:
            return dcg_of_means(batch.offsets, discounts, factor, mean)

        gain = self.dcg.gains[batch.grades]
        return _at_soft_positions(batch, gain, self.sigma, len(discounts), metric)


@dataclass(frozen=True)
class SmoothAP(PrecisionObjective):
    """Average precision at soft positions, ``1/R sum_j Prec@j H_j``, or at soft ranks.

    R is the number of relevant documents, rel_i 1 for these and else 0, ``H_j = sum_i h_ij rel_i``
    with h of `SmoothNDCG`, and Prec@j the mean of H up to position j. The direct form is the mean
    over relevant i of ``[1 + sum_{j != i} rel_j sigma((f_j - f_i)/s)] / r_i``, with r_i the soft
    rank at ``alpha = 1/s``. Source: Chapelle and Wu 2010, section 4.2. In the direct form (their
    equation 9) a document's comparison with itself counts 1 (as printed 1/2, by which a perfect
    list would not score 1). A query without a relevant document counts 0.

    Parameters
    ----------
    sigma : float
        The ``s`` of h, in squared units of score, or of the direct form, in units of score. 1
        suits scores whose spread is about 1.
    form : {"positions", "direct"}
        Soft positions, or soft ranks.
    min_grade : int
        The lowest grade that is relevant.

    See Also
    --------
    losses.ApproxAP : Smooth ranks instead of smooth mixtures.

    Examples
    --------
    >>> round(SmoothAP(sigma=0.001, form="direct")([0.3, 0.1, 0.2], [0, 2, 1])[0], 4)
    0.5833
    """

    sigma: float = 1.0
    form: Literal["positions", "direct"] = "positions"
    min_grade: int = 1

    sharpness: ClassVar[str | None] = "sigma"

    @property
    def sharpness_power(self) -> int:  # type: ignore[override]
        """2 at soft positions, where sigma is in squared units of score; 1 in the direct form."""
        return 2 if self.form == "positions" else 1

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.form, "form", ("positions", "direct"))

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        if self.form == "direct":
            return self._evaluate_direct(batch)

        def metric(gain: Floats, mean: Floats) -> ValueAndGradient:
            return precision_of_means(batch.offsets, gain, batch.weight, mean)

        relevant = (batch.grades >= self.min_grade).astype(np.float64)
        return _at_soft_positions(batch, relevant, self.sigma, batch.longest, metric)

    def _evaluate_direct(self, batch: Batch) -> ValueAndGradient:
        # ranks among all, and among the relevant documents
        order, soft = SoftRanks.of(batch.scores, batch.offsets, 1 / self.sigma)
        relevant, ends = relevant_documents(order, batch, self.min_grade)
        within = SoftRanks(soft.f[relevant], ends, 1 / self.sigma, soft.n_chunks)

        # the chain rule, through both ranks
        value, slope, inner = average_precision(
            soft.ranks(), relevant, within.ranks(), ends, batch.weight
        )
        gradient = soft.vjp(slope)
        gradient[relevant] += within.vjp(inner)
        return value, unsorted(order, gradient)


def _at_soft_positions(
    batch: Batch,
    gain: Floats,
    s: float,
    depth: int,
    metric: Callable[[Floats, Floats], ValueAndGradient],
) -> ValueAndGradient:
    """Return a metric of the mean gains of soft positions, and its gradient.

    ``metric(gain, mean)`` takes the gains of sorted documents and the means, and returns its value
    and its derivative in these.
    """
    # documents by query and falling score
    n_chunks = chunk_count(16 * batch.n_pairs(depth))
    order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)

    # mean gains of positions, and the chain rule through them
    positions = SoftPositions(f, gain[order], batch.offsets, s, depth, n_chunks)
    value, w = metric(gain[order], positions.mean)
    return value, unsorted(order, positions.vjp(w))


@dataclass(frozen=True)
class SoftRankNDCG(WholeRankObjective):
    """NDCG expected under Gaussian noise of the scores, ``sum_i G_i E[D(r_i)] / ideal``.

    Source: Taylor et al. 2008, who take the rank of a document as a sum of independent comparisons
    with each other document. The comparisons are not independent: where all scores tie, true ranks
    are uniform, but these are binomial. The time grows as the cube of the number of documents whose
    noise overlaps (within 12 sigma).

    Parameters
    ----------
    dcg, depth, normalise
        As in `SmoothNDCG`.
    sigma : float
        Standard deviation of the noise of a score, in units of score; a difference has
        ``sqrt(2) sigma``. 0.1 to 1 suit scores whose spread is 1. A larger one is smoother and
        slower.

    See Also
    --------
    losses.SmoothNDCG : Faster, and as flexible.

    Examples
    --------
    >>> loss = SoftRankNDCG(dl.DCG.standard(3, 10), sigma=0.1)
    >>> value, gradient = loss([0.3, 0.1, 0.2], [0, 2, 1])
    >>> round(value, 4), gradient.round(3)
    (0.637, array([-0.35 ,  0.319,  0.031]))
    """

    dcg: DCG
    sigma: float = 0.1
    depth: LastRank = "dcg"
    normalise: bool = True

    sharpness: ClassVar[str | None] = "sigma"
    sharpness_power = 1

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        n_pairs = batch.n_pairs() * batch.longest
        kernel = expected_dcg
        return self._summed(kernel, batch, n_pairs, batch.longest, self.sigma)
