"""The rankings over which metrics are compared: all lists of grades, or orders of documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, factorial, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.validation import Floats, Grades, Indices, InputError, multiset
from dcglearn.metrics.reading import AnyMetric, MetricLike, as_weights, resolved

Left: TypeAlias = tuple[int, ...]
"""Numbers of documents left of each grade; empty if any grade may occur any number of times."""

MAX_ENUMERATED = 20_000_000
"""Up to this many lists are enumerated, at four numbers each in memory."""


@dataclass(frozen=True)
class Rankings:
    """All lists of K grades, or all rankings of given documents down to position K.

    `counts` holds the number of documents of each grade; None if every position may have any grade.
    """

    depth: int
    n_grades: int
    counts: Left | None

    @property
    def full(self) -> bool:
        """Whether every document has a position."""
        return self.counts is not None and sum(self.counts) == self.depth

    @property
    def present(self) -> Indices:
        """The grades that may occur."""
        return np.arange(self.n_grades) if self.counts is None else np.flatnonzero(self.counts)

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
            return f"all {self.n_lists:,} lists of {self.depth} grades"
        return (
            f"all {self.n_lists:,} rankings of {sum(self.counts)} documents down to position "
            f"{self.depth}"
        )

    def best(self, weights: Floats) -> Grades:
        """Return a list with the largest value under weights of shape (K, L)."""
        if self.counts is None:
            return weights.argmax(axis=1).astype(np.int8)
        from scipy.optimize import linear_sum_assignment

        # assign documents to positions
        documents = np.repeat(np.arange(self.n_grades), self.counts)
        rows, chosen = linear_sum_assignment(weights[:, documents], maximize=True)
        grades = np.empty(self.depth, dtype=np.int8)
        grades[rows] = documents[chosen]
        return grades

    def scaled(self, weights: Floats) -> Floats | None:
        """Return weights scaled to a span (best minus worst list) of 1; None if the span is 0."""
        best, worst = (list_values(weights, self.best(sign * weights)) for sign in (1, -1))
        span = float(best - worst)
        return weights / span if span > 1e-12 * float(np.abs(weights).max()) else None

    def sample(self, n: int, rng: np.random.Generator) -> Grades:
        """Return n random lists, shape (n, K)."""
        if self.counts is None:
            return rng.integers(0, self.n_grades, (n, self.depth), dtype=np.int8)
        documents = np.repeat(np.arange(self.n_grades, dtype=np.int8), self.counts)
        return rng.permuted(np.tile(documents, (n, 1)), axis=1)[:, : self.depth]

    def enumerated(self, weights: Sequence[Floats]) -> Enumeration:
        """Return the values of all lists (at most `MAX_ENUMERATED`) under each of the weights."""
        if self.n_lists > MAX_ENUMERATED:
            raise InputError(f"{self}: more than {MAX_ENUMERATED:,} are not enumerated")
        layers = np.stack(weights)
        blocks = {self.counts or (): np.zeros((len(weights), 1))}
        trail = []
        for k in range(self.depth):
            # which blocks of shorter lists lead to each state
            sources: dict[Left, list[tuple[Left, int, int]]] = defaultdict(list)
            for left, block in blocks.items():
                for grade in range(self.n_grades):
                    if self.counts is None or left[grade]:
                        sources[without(left, grade)].append((left, grade, block.shape[1]))
            trail.append(sources)

            # add the weights of position k
            longer = {}
            for left, parts in sources.items():
                values = [blocks[before] + layers[:, k, grade, None] for before, grade, _ in parts]
                longer[left] = np.concatenate(values, axis=1)
            blocks = longer

        sizes = {left: block.shape[1] for left, block in blocks.items()}
        return Enumeration(
            values=np.concatenate(list(blocks.values()), axis=1),
            weight=self._multiplicity(sizes),
            trail=tuple(trail),
            ends=tuple(sizes.items()),
        )

    def _multiplicity(self, sizes: dict[Left, int]) -> Floats | None:
        """Return how many full orders begin with each list; None if always 1."""
        if self.counts is None or self.full:
            return None
        # orders of the documents below the last position
        rest = sum(self.counts) - self.depth
        ways = [factorial(rest) // prod(map(factorial, left)) for left in sizes]
        return np.repeat(np.array(ways, dtype=np.float64), list(sizes.values()))


@dataclass(frozen=True, eq=False)
class Enumeration:
    """Values of all lists, by metric and list, shape (M, n).

    `weight`, shape (n,), is the number of orders of all documents that begin with the list; None:
    one each. For `list_at`, `trail` holds for each position the blocks of lists that each state
    (documents left) was extended from, and `ends` the final states and their numbers of lists, in
    order.
    """

    values: Floats
    weight: Floats | None
    trail: tuple[dict[Left, list[tuple[Left, int, int]]], ...]
    ends: tuple[tuple[Left, int], ...]

    def list_at(self, index: int) -> Grades:
        """Return the list at an index, shape (K,)."""
        grades = []
        (left, _), index = _block_at(self.ends, index)
        for sources in reversed(self.trail):
            (left, grade, _), index = _block_at(sources[left], index)
            grades.append(grade)
        return np.array(grades[::-1], dtype=np.int8)


def _block_at(blocks: Iterable[Any], index: int) -> tuple[Any, int]:
    """Return the block that holds an index, and the index within it; a block ends in its size."""
    for block in blocks:
        if index < block[-1]:
            return block, index
        index -= block[-1]
    raise IndexError(index)


def without(left: Left, grade: int) -> Left:
    """Return the documents that are left when one of a grade is taken."""
    return tuple(n - (g == grade) for g, n in enumerate(left))


def list_values(weights: Floats, lists: Grades) -> Floats:
    """Return the values of lists, shape (n, K) or (K,), under weights, shape (K, L)."""
    return weights[np.arange(len(weights)), lists].sum(axis=-1)


def two_named(
    a: MetricLike | ArrayLike,
    b: MetricLike | ArrayLike,
    names: tuple[str, str] | None,
    documents: ArrayLike | None,
    n_grades: int | None = None,
) -> tuple[list[AnyMetric], tuple[str, str]]:
    """Return two metrics, `resolved`, and names for print: those of names and files, else a, b."""
    files = [str(metric) if is_path(metric) else "" for metric in (a, b)]
    metrics, labels = resolved([a, b], names or "ab", documents, n_grades)
    return metrics, names or (labels[0] or files[0] or "a", labels[1] or files[1] or "b")


def rankings_of(
    metrics: Sequence[MetricLike | ArrayLike], names: Sequence[str], documents: ArrayLike | None
) -> tuple[Rankings, list[AnyMetric]]:
    """Return the rankings over which metrics are compared, and the metrics, `resolved`."""
    made, _ = resolved(metrics, names, documents)
    depths, sizes = zip(*((metric.depth, metric.n_grades) for metric in made), strict=True)
    if len(set(sizes)) > 1:
        differing = ", ".join(f"{name} has {n}" for name, n in zip(names, sizes, strict=True))
        raise InputError(
            f"metrics of different numbers of grades cannot be compared: {differing}; map the "
            "grades of the smaller scale to the larger one (DCG.map_grades)"
        )
    depth, n_grades = max(depths), sizes[0]
    if documents is None:
        return Rankings(depth, n_grades, None), made

    # positions below the last document are empty in every ranking
    counts = _counts(documents, n_grades)
    return Rankings(min(depth, sum(counts)), n_grades, counts), made


def padded_weights(
    metrics: Sequence[MetricLike | ArrayLike], names: Sequence[str], documents: ArrayLike | None
) -> tuple[Rankings, list[Floats]]:
    """Return `rankings_of` metrics, and the weights of each, zeros below its depth, (K, L)."""
    rankings, made = rankings_of(metrics, names, documents)
    weights = [
        as_weights(metric, name)[: rankings.depth] for metric, name in zip(made, names, strict=True)
    ]
    return rankings, [np.pad(w, ((0, rankings.depth - len(w)), (0, 0))) for w in weights]


def scaled_weights(
    metrics: Sequence[MetricLike | ArrayLike], names: Sequence[str], documents: ArrayLike | None
) -> tuple[Rankings, list[Floats]]:
    """Return `padded_weights`, scaled to spans of 1; raise InputError if a metric is constant."""
    rankings, weights = padded_weights(metrics, names, documents)
    scaled = []
    for name, table in zip(names, map(rankings.scaled, weights), strict=True):
        if table is None:
            raise InputError(f"{name} orders no two of {rankings}: they are all worth the same")
        scaled.append(table)
    return rankings, scaled


def _counts(documents: ArrayLike, n_grades: int) -> Left:
    """Return the number of documents of each grade; raise InputError if one is unknown."""
    documents = multiset(documents, n_grades)
    if (documents < 0).any():
        raise InputError(
            f"documents={documents.tolist()}: every document needs a known grade, 0 = worst"
        )
    return tuple(np.bincount(documents, minlength=n_grades).tolist())
