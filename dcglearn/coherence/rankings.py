"""The rankings over which metrics are compared: all lists of grades, or orders of documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, factorial, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Floats, Grades, InputError, multiset
from dcglearn.logs.visibility import ONLY_STEPS
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import AnyMetric, MetricLike, as_weights, resolved

Left: TypeAlias = tuple[int, ...]
"""Numbers of documents left of each grade; empty if any grade may occur any number of times."""

MAX_ENUMERATED = 20_000_000
"""Up to this many lists are enumerated."""


@dataclass(frozen=True)
class Rankings:
    """All lists of K grades, or all rankings of given documents down to position K.

    `counts` holds the number of documents of each grade; None if every position may have any grade.
    Then each list is compared with all others or, if `reordered`, with the other orders of its own
    grades: all that a log of such pairs tells.
    """

    depth: int
    n_grades: int
    counts: Left | None
    reordered: bool = False

    @property
    def full(self) -> bool:
        """Whether the lists that are compared hold the same documents, all with a position."""
        return self.reordered or sum(self.counts or ()) == self.depth

    @property
    def n_lists(self) -> int:
        """The number of different lists."""
        if self.counts is None:
            return self.n_grades**self.depth

        # ways to fill k positions with the grades so far
        ways = [1] + [0] * self.depth
        for count in self.counts:
            ways = [
                sum(comb(k, i) * ways[k - i] for i in range(min(count, k) + 1))
                for k in range(self.depth + 1)
            ]
        return ways[self.depth]

    def __str__(self) -> str:
        if self.counts is None:
            orders = ", each beside the other orders of its grades" if self.reordered else ""
            return (
                f"all {number_of(self.n_lists, 'lists', ',')} of "
                f"{number_of(self.depth, 'grades')}{orders}"
            )
        return (
            f"all {number_of(self.n_lists, 'rankings', ',')} of "
            f"{number_of(sum(self.counts), 'documents')} down to position {self.depth}"
        )

    def scaled(self, metric: AnyMetric, name: str) -> Utility:
        """Return a metric scaled to a span of 1, of shape (K, L), with weights 0 below its depth.

        The span is the largest difference of two lists that are compared. Raises InputError if it
        is 0.
        """
        weights = as_weights(metric, name)[: self.depth]
        weights = np.pad(weights, ((0, self.depth - len(weights)), (0, 0)))
        span = self._span(weights)
        if span <= 1e-12 * float(np.abs(weights).max()):
            raise InputError(
                f"{name} orders no two of {self}: they are all worth the same; leave it out"
            )
        return Utility(weights / span)

    @property
    def _documents(self) -> Grades:
        return np.repeat(np.arange(self.n_grades, dtype=np.int8), self.counts or ())

    def _span(self, weights: Floats) -> float:
        """Return the largest difference of two lists that are compared, under weights (K, L)."""
        if self.counts is None and not self.reordered:
            return float(np.ptp(weights, axis=1).sum())
        from scipy.optimize import linear_sum_assignment

        # what the best grade for it gains by moving from one position to another
        if self.reordered:
            moves = (weights[:, None] - weights).max(axis=2)
            return float(moves[linear_sum_assignment(moves, maximize=True)].sum())

        # documents at the positions where they are worth most, and least
        values = weights[:, self._documents]
        best, worst = (
            values[linear_sum_assignment(values, maximize=most)].sum() for most in (True, False)
        )
        return float(best - worst)

    def sample(self, n: int, rng: np.random.Generator) -> Grades:
        """Return n random lists, shape (n, K)."""
        if self.counts is None:
            return rng.integers(0, self.n_grades, (n, self.depth), dtype=np.int8)
        return rng.permuted(np.tile(self._documents, (n, 1)), axis=1)[:, : self.depth]

    def lists(self, kept: Callable[[Grades], Grades] = np.asarray) -> dict[Left, Grades]:
        """Return all lists, shape (n, K), by the documents that they leave.

        They grow position by position. Of the lists so far that leave the same documents, only
        those that are `kept` go on.
        """
        left = (self.depth,) * self.n_grades if self.reordered else self.counts or ()
        blocks = {left: np.zeros((1, 0), dtype=np.int8)}
        for _ in range(self.depth):
            longer: dict[Left, list[Grades]] = defaultdict(list)
            for left, lists in blocks.items():
                for grade in range(self.n_grades):
                    if not left or left[grade]:
                        fewer = tuple(n - (g == grade) for g, n in enumerate(left))
                        column = np.full((len(lists), 1), grade, dtype=np.int8)
                        longer[fewer].append(np.hstack([lists, column]))
            blocks = {left: kept(np.concatenate(parts)) for left, parts in longer.items()}
        return blocks

    def multiplicity(self, lists: Mapping[Left, Grades]) -> Floats | None:
        """Return how many orders of all documents begin with each of `lists`; None if any may."""
        if self.counts is None:
            return None
        # orders of the documents below the last position
        rest = sum(self.counts) - self.depth
        ways = [factorial(rest) // prod(map(factorial, left)) for left in lists]
        return np.repeat(np.array(ways, dtype=np.float64), [*map(len, lists.values())])


def two_named(
    a: MetricLike | ArrayLike,
    b: MetricLike | ArrayLike,
    names: tuple[str, str] | None,
    documents: ArrayLike | None,
) -> tuple[list[AnyMetric], tuple[str, str]]:
    """Return two metrics, `resolved`, and names for print: those of names and files, else a, b."""
    metrics, labels = resolved([a, b], names or "ab", documents)
    return metrics, names or (labels[0], labels[1])


def caveats(metrics: Sequence[AnyMetric], names: Sequence[str], rankings: Rankings) -> list[str]:
    """Return what a comparison leaves out, and what in the metrics is convention."""
    notes = [f"{name}: {x}" for name, one in zip(names, metrics, strict=True) for x in one.notes]
    if not rankings.full and any(ONLY_STEPS in note for note in notes):
        notes.append(
            "the common height of discounts of which only steps are learned decides too; it does "
            "not where all documents of a query are ranked (documents=, --documents)"
        )

    # what lists there are beside
    dcgs = [metric for metric in metrics if isinstance(metric, DCG)]
    if any(dcg.gains.min() < 0 for dcg in dcgs):
        notes.append(
            "only full lists are compared: in shorter ones a result of negative gain is worse than "
            "none"
        )

    # and lists of other lengths
    if any(dcg.power for dcg in dcgs):
        notes.append(
            "only lists of one length are compared: others a DCG that averages orders differently"
        )
    return notes


def common_rankings(
    metrics: Sequence[AnyMetric], names: Sequence[str], documents: ArrayLike | None
) -> Rankings:
    """Return the rankings over which metrics are compared; raise InputError if grades differ."""
    sizes = [metric.n_grades for metric in metrics]
    if len(set(sizes)) > 1:
        differing = ", ".join(f"{name} has {n}" for name, n in zip(names, sizes, strict=True))
        raise InputError(
            f"metrics of different numbers of grades cannot be compared: {differing}; map the "
            "grades of the smaller scale to the larger one (DCG.map_grades)"
        )

    # all lists of grades, or the orders of each
    depth, n_grades = max(metric.depth for metric in metrics), sizes[0]
    if documents is None:
        only_steps = any(ONLY_STEPS in note for metric in metrics for note in metric.notes)
        return Rankings(depth, n_grades, None, reordered=only_steps)

    # positions below the last document are empty in every ranking
    known = multiset(documents, n_grades)
    if (known < 0).any():
        raise InputError(
            f"documents={known.tolist()}: every document needs a known grade, 0 = worst"
        )
    counts = tuple(np.bincount(known, minlength=n_grades).tolist())
    return Rankings(min(depth, len(known)), n_grades, counts)
