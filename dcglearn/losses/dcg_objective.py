"""Base of objectives that follow a DCG: its depth, ideal values, and lambdas by swaps."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from dcglearn.foundation.threads import in_chunks
from dcglearn.foundation.validation import Floats, InputError, Integers
from dcglearn.kernels.library import Kernel
from dcglearn.losses import dcg_kernel, pair_kernel
from dcglearn.losses.objective import Batch, Lambdas, Objective, ValueAndGradient, positive
from dcglearn.losses.rank_kernel import chunk_count, over_chunks, sorted_queries, unsorted
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.smooth_discount import SmoothDiscount

LastRank: TypeAlias = int | Literal["dcg"] | None
"""The last rank that counts: that of the DCG ("dcg"), a number, or None for all ranks."""

SWAP_COST = 16.0
"""Time of a pair in `pair_kernel.lambdas`, in units of a pair of soft ranks."""


def last_rank(depth: LastRank, dcg: DCG) -> float:
    """Return the last rank that counts: the DCG's for "dcg", `depth`, or infinity for None."""
    if depth is None:
        return np.inf
    if isinstance(depth, str) and depth == "dcg":
        return dcg.depth
    whole = isinstance(depth, (int, np.integer)) and not isinstance(depth, bool)
    if not whole or depth < 1:
        allowed = 'a positive integer, "dcg" (the DCG\'s own depth), nor None (all ranks)'
        raise InputError(f"depth={depth!r} is neither {allowed}")
    return int(depth)


class DCGObjective(Objective):
    """An objective that follows a DCG, with parameters as in `ApproxNDCG`."""

    dcg: DCG
    depth: LastRank
    normalise: bool

    log2_share: ClassVar[float] = 0.5
    """Share of ``1 / log2(rank + 1)`` in the discounts of swaps; the rest is the DCG's own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.dcg, str):
            last_rank(self.depth, self.dcg)

    @cached_property
    def _discount(self) -> SmoothDiscount:
        return SmoothDiscount.of(self.dcg.discounts)

    @cached_property
    def _by_gain(self) -> Integers:
        """Grades from the largest gain to the smallest."""
        return np.argsort(-self.dcg.gains, kind="stable")

    @cached_property
    def _classes(self) -> tuple[Integers, int]:
        """The class of each grade (equal gains share one; 0 = least), and the number of classes."""
        values, classes = np.unique(self.dcg.gains, return_inverse=True)
        return classes.astype(np.int64), len(values)

    def _factors(self, batch: Batch, weight: Floats) -> Floats:
        """Return each query's weight, over its ideal value if normalised, shape (n_queries,)."""
        return self._over_ideal(batch, weight) if self.normalise else weight

    def _over_ideal(self, batch: Batch, weight: Floats) -> Floats:
        """Return each query's weight over its ideal value, or 0 unless that is positive."""
        over_ideals, curve = self._ideals(batch.longest)
        documents = batch.longest, batch.grades, batch.offsets
        return over_ideals(*documents, self.dcg.gains, self._by_gain, curve, weight)

    def _ideals(self, longest: int) -> tuple[Kernel, Floats]:
        """Return the kernel of `dcg_kernel` that finds ideal values, and the discounts it takes."""
        raise NotImplementedError

    def swap_discounts(self, longest: int) -> Floats:
        """Return the discounts at ranks 1..longest by which `lambdas` weighs a swap.

        Half is log2's discount, since discounts nearly flat, or nearly all at the first rank, leave
        pairs without weight.
        """
        own = self._with_tail(longest)
        textbook = np.abs(own).max(initial=0.0) / np.log2(np.arange(2.0, longest + 2))
        return (1 - self.log2_share) * own + self.log2_share * textbook

    def _with_tail(self, longest: int) -> Floats:
        """Return the discounts at ranks 1..longest, past the DCG's last those of a smooth tail."""
        raise NotImplementedError

    def _swap_lambdas(self, batch: Batch, step: int) -> Lambdas:
        """Return `Objective.lambdas`; `step` is a slope of a comparison, see `pair_kernel`."""
        # discounts and normalisation of each query's swaps
        discounts = self.swap_discounts(batch.longest)
        factor = self._factors(batch, np.ones(batch.n_queries))

        # the documents by the class and the gain of their grades
        classes, n_classes = self._classes
        settings = n_classes, batch.longest, step, self.normalise, self.per_score
        documents = batch.scores, classes[batch.grades], self.dcg.gains[batch.grades], batch.offsets
        lambdas, curvature = np.empty((2, len(batch.scores)))
        arguments = *settings, *documents, discounts, factor, lambdas, curvature
        n_chunks = min(chunk_count(SWAP_COST * batch.n_pairs()), batch.n_queries)
        over_chunks(pair_kernel.lambdas, batch.n_queries, n_chunks, *arguments)

        weight = np.repeat(batch.weight, batch.sizes)
        return weight * lambdas, weight * curvature


class WholeRankObjective(DCGObjective):
    """An objective at whole ranks: the DCG's discounts act as they are, with any signs."""

    def _discounts(self, longest: int) -> Floats:
        """Return the discounts of the ranks that count in queries of up to `longest` documents."""
        # ranks past the DCG's have its smooth tail
        own = len(self.dcg.discounts)
        k = int(min(last_rank(self.depth, self.dcg), max(longest, own)))
        return self.dcg.discounts[:k] if k <= own else self._with_tail(k)

    def _with_tail(self, longest: int) -> Floats:
        c = self.dcg.discounts
        return np.concatenate([c[:longest], self._discount(np.arange(len(c) + 1.0, longest + 1))])

    def _summed(
        self, kernel: Kernel, batch: Batch, n_pairs: float, setting: int, number: float
    ) -> ValueAndGradient:
        """Return the sum of a kernel over chunks of sorted documents, and its gradient.

        `setting` and `number` are parameters of the kernel, and `n_pairs` is its work.
        """
        # sort the documents of each query
        n_chunks = chunk_count(n_pairs)
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        discounts, factor = self._discounts(batch.longest), self._factors(batch, batch.weight)
        gains = self.dcg.gains[batch.grades[order]]
        arguments = setting, number, f, gains, batch.offsets, discounts, factor

        # each chunk adds to slopes of its own
        slopes = np.zeros((n_chunks, len(f)))

        def part(i: int, first: int, last: int) -> float:
            return kernel(first, last, *arguments, slopes[i])

        value = sum(in_chunks(part, len(f), n_chunks))
        return value, unsorted(order, slopes.sum(axis=0))

    def _ideals(self, longest: int) -> tuple[Kernel, Floats]:
        return dcg_kernel.over_whole_rank_ideals, -np.sort(-self._discounts(longest))


class SoftRankObjective(DCGObjective):
    """A DCG at soft ranks r, ``sum_i G_i D(r_i) sigma(beta (k + shift - r_i)) / ideal``.

    See `ApproxNDCG`.
    """

    alpha: float
    beta: float
    shift: float

    sharpness: ClassVar[str | None] = "alpha"
    _step: ClassVar[int] = pair_kernel.PairStep.BELL

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(beta=self.beta)

    @property
    def _edge(self) -> float:
        """The rank at which the truncation reaches a half."""
        return last_rank(self.depth, self.dcg) + self.shift

    def _ideals(self, longest: int) -> tuple[Kernel, Floats]:
        curve = self._discount
        truncation = longest, self._edge, self.beta
        sums = dcg_kernel.truncated_sums(curve.kind, *truncation, curve.numbers)
        return dcg_kernel.over_soft_rank_ideals, sums

    def _dcg_of_ranks(
        self, ranks: Floats, order: Integers, batch: Batch, edges: Floats
    ) -> ValueAndGradient:
        """Return the value at the ranks of the documents `order`, and its slope in each rank."""
        curve, factor = self._discount, self._factors(batch, batch.weight)
        documents = ranks, order, batch.grades, batch.offsets
        curves = self.dcg.gains, curve.numbers, edges, factor
        return dcg_kernel.dcg_of_ranks(len(edges), curve.kind, self.beta, *documents, *curves)

    def _lambdas(self, batch: Batch) -> Lambdas:
        return self._swap_lambdas(batch, self._step)

    def _with_tail(self, longest: int) -> Floats:
        return self._discount(np.arange(1.0, longest + 1))
