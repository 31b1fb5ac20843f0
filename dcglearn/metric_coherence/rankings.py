"""The rankings over which metrics are compared: all lists of grades, or all orders of given
documents.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, factorial, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.validation import Floats, Grades, InputError, PathLike, multiset
from dcglearn.metric.dcg import DCG, Utility
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.reading import SAVED, metric_or_name, read_metric
from dcglearn.metric.textbook import MetricName

Metric: TypeAlias = "DCG | Utility | ListUtility | ArrayLike | PathLike"
"""A DCG, a utility, or its weights, shape (K, L); the file of a metric, or a textbook metric's
name.

A `ListUtility` is refused where what is asked for is only true of sums over positions.
"""

MAX_ENUMERATED = 20_000_000
"""Up to this many lists are enumerated, at four numbers each in memory."""


@dataclass(frozen=True)
class Rankings:
    """All lists of K grades, or all rankings of given documents down to position K.

    `counts` holds the number of documents of each grade; None if every position may have any grade.
    """

    depth: int
    n_grades: int
    counts: tuple[int, ...] | None

    @property
    def full(self) -> bool:
        """Whether every document has a position."""
        return self.counts is not None and sum(self.counts) == self.depth

    @property
    def present(self) -> NDArray[np.intp]:
        """The grades that may occur."""
        return np.arange(self.n_grades) if self.counts is None else np.flatnonzero(self.counts)

    @property
    def n_lists(self) -> int:
        """The number of different lists."""
        if self.counts is None:
            return self.n_grades**self.depth
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
        return f"all {self.n_lists:,} rankings of {sum(self.counts)} documents down to position {self.depth}"

    def best(self, weights: Floats) -> Grades:
        """Return a list with the largest value under weights of shape (K, L)."""
        if self.counts is None:
            return weights.argmax(axis=1).astype(np.int8)
        from scipy.optimize import linear_sum_assignment

        documents = np.repeat(np.arange(self.n_grades), self.counts)
        rows, chosen = linear_sum_assignment(weights[:, documents], maximize=True)
        grades = np.empty(self.depth, dtype=np.int8)
        grades[rows] = documents[chosen]
        return grades

    def scaled(self, weights: Floats) -> Floats | None:
        """Return the weights scaled to a span (best minus worst list) of 1, or None if all lists
        are worth the same.
        """
        span = float(
            list_values(weights, self.best(weights)) - list_values(weights, self.best(-weights))
        )
        return weights / span if span > 1e-12 * float(np.abs(weights).max()) else None

    def sample(self, n: int, rng: np.random.Generator) -> Grades:
        """Return n random lists, shape (n, K)."""
        if self.counts is None:
            return rng.integers(0, self.n_grades, (n, self.depth), dtype=np.int8)
        documents = np.repeat(np.arange(self.n_grades, dtype=np.int8), self.counts)
        return rng.permuted(np.tile(documents, (n, 1)), axis=1)[:, : self.depth]

    def enumerated(self, weights: Sequence[Floats]) -> Enumeration:
        """Return the values of all lists (at most `MAX_ENUMERATED`) under each of the weights, in a
        fixed order.
        """
        if self.n_lists > MAX_ENUMERATED:
            raise InputError(f"{self}: more than {MAX_ENUMERATED:,} are not enumerated")
        layers = np.stack(weights)
        start: tuple[int, ...] = self.counts or ()
        blocks, trail = {start: np.zeros((len(weights), 1))}, []
        for k in range(self.depth):
            sources: dict[tuple[int, ...], list[tuple[tuple[int, ...], int, int]]] = {}
            for state, block in blocks.items():
                for grade in range(self.n_grades):
                    if self.counts is None or state[grade]:
                        sources.setdefault(_without(state, grade), []).append(
                            (state, grade, block.shape[1])
                        )
            blocks = {
                state: np.concatenate(
                    [blocks[s] + layers[:, k, grade, None] for s, grade, _ in parts], axis=1
                )
                for state, parts in sources.items()
            }
            trail.append(sources)
        return Enumeration(
            values=np.concatenate(list(blocks.values()), axis=1),
            weight=self._multiplicity(blocks),
            trail=tuple(trail),
            ends=tuple((state, block.shape[1]) for state, block in blocks.items()),
        )

    def _multiplicity(self, blocks: dict[tuple[int, ...], Floats]) -> Floats | None:
        """Return the number of orders of all documents that begin with each list, or None if that
        is 1.
        """
        if self.counts is None or self.full:
            return None
        rest = sum(self.counts) - self.depth
        ways = [factorial(rest) // prod(map(factorial, state)) for state in blocks]
        return np.repeat(
            np.array(ways, dtype=np.float64), [block.shape[1] for block in blocks.values()]
        )


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
    trail: tuple[dict[Any, Any], ...]
    ends: tuple[tuple[tuple[int, ...], int], ...]

    def list_at(self, index: int) -> Grades:
        """Return the list at an index, shape (K,)."""
        grades = []
        for end, size in self.ends:
            if index < size:
                state = end
                break
            index -= size
        for sources in reversed(self.trail):
            for before, grade, size in sources[state]:
                if index < size:
                    state = before
                    grades.append(grade)
                    break
                index -= size
        return np.array(grades[::-1], dtype=np.int8)


def _without(state: tuple[int, ...], grade: int) -> tuple[int, ...]:
    return (*state[:grade], state[grade] - 1, *state[grade + 1 :]) if state else state


def list_values(weights: Floats, lists: Grades) -> Floats:
    """Return the values of lists, shape (n, K) or (K,), under weights, shape (K, L)."""
    return weights[np.arange(len(weights)), lists].sum(axis=-1)


def as_weights(metric: Metric, name: str) -> Floats:
    """Return the weights of a metric, shape (K, L), or raise an InputError if it is none or not
    finite.
    """
    if isinstance(metric, DCG):
        return metric.utility.weights
    if isinstance(metric, Utility):
        return metric.weights
    if isinstance(metric, ListUtility):
        raise InputError(
            f"{name} is a list utility, whose values are no sums over positions: certificates, and exact shares of "
            "disagreement, are only true of a DCG (disagreement of two metrics is sampled)"
        )
    try:
        return Utility(np.asarray(metric, dtype=np.float64)).weights
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} is neither a DCG nor a utility of shape (K, L): {error}"
        ) from error


def shape_of(metric: Metric, name: str) -> tuple[int, int]:
    """Return (K, L) of a metric that is not a name."""
    if isinstance(metric, ListUtility):
        return metric.depth, metric.n_grades
    depth, n_grades = as_weights(metric, name).shape
    return depth, n_grades


def rankings_of(
    metrics: Sequence[Metric], names: Sequence[str], grades: ArrayLike | None
) -> tuple[Rankings, list[Metric]]:
    """Return the rankings over which metrics are compared, and the metrics with files and names
    resolved.
    """
    metrics, _ = resolved(metrics, names, grades)
    shapes = [shape_of(metric, name) for metric, name in zip(metrics, names, strict=True)]
    if len({shape[1] for shape in shapes}) > 1:
        differing = ", ".join(
            f"{name} has {shape[1]}" for name, shape in zip(names, shapes, strict=True)
        )
        raise InputError(
            f"metrics of different numbers of grades cannot be compared: {differing}; map the grades of the smaller "
            "scale to the larger one (DCG.map_grades, or --map-grades)"
        )
    depth, n_grades = max(shape[0] for shape in shapes), shapes[0][1]
    return Rankings(
        depth, n_grades, None if grades is None else _counts(grades, n_grades, depth)
    ), list(metrics)


def resolved(
    metrics: Sequence[Metric],
    names: Sequence[str],
    grades: ArrayLike | None = None,
    n_grades: int | None = None,
    depth: int | None = None,
) -> tuple[list[Metric], list[str | None]]:
    """Return metrics with files read and textbook metrics made of their names, and those names with
    their depths.

    `n_grades` and `depth` go before those of the other metrics, which go before the documents'.
    Raises InputError if none says them. `names` are for messages; a metric that is none by name has
    None in the second list.
    """
    read: list[Any] = [
        metric_or_name(m, accept=SAVED) if isinstance(m, (str, os.PathLike)) else m for m in metrics
    ]
    others = [
        (metric, name)
        for metric, name in zip(read, names, strict=True)
        if not isinstance(metric, MetricName)
    ]
    shapes = [shape_of(*other) for other in others]
    documents = [] if grades is None else [(np.size(grades), int(np.max(grades, initial=1)) + 1)]
    size = n_grades or max((shape[1] for shape in shapes or documents), default=None)
    own = [
        metric.depth
        for metric in read
        if isinstance(metric, MetricName) and metric.depth is not None
    ]
    deepest = depth or max(
        [*own, *(shape[0] for shape in shapes)], default=documents[0][0] if documents else None
    )
    made = [
        read_metric(metric, size, deepest, name=name) if isinstance(metric, MetricName) else metric
        for metric, name in zip(read, names, strict=True)
    ]
    return made, [
        metric.at(metric.deep(deepest)) if isinstance(metric, MetricName) else None
        for metric in read
    ]


def scaled_weights(
    metrics: Sequence[Metric], names: Sequence[str], grades: ArrayLike | None
) -> tuple[Rankings, list[Floats]]:
    """Return the results of `padded_weights`, scaled to spans of 1; raise InputError if a metric is
    constant.
    """
    rankings, weights = padded_weights(metrics, names, grades)
    scaled = [rankings.scaled(table) for table in weights]
    for name, table in zip(names, scaled, strict=True):
        if table is None:
            raise InputError(f"{name} orders no two of {rankings}: they are all worth the same")
    return rankings, [table for table in scaled if table is not None]


def padded_weights(
    metrics: Sequence[Metric], names: Sequence[str], grades: ArrayLike | None
) -> tuple[Rankings, list[Floats]]:
    """Return the rankings over which metrics are compared, and the weights of each, zeros below its
    depth, (K, L).
    """
    rankings, read = rankings_of(metrics, names, grades)
    weights = [as_weights(metric, name) for metric, name in zip(read, names, strict=True)]
    return rankings, [np.pad(w, ((0, rankings.depth - len(w)), (0, 0))) for w in weights]


def _counts(grades: ArrayLike, n_grades: int, depth: int) -> tuple[int, ...]:
    documents = multiset(grades, n_grades)
    if (documents < 0).any():
        raise InputError(
            f"grades={documents.tolist()}: every document needs a known grade, 0 = worst"
        )
    if len(documents) < depth:
        raise InputError(
            f"grades={documents.tolist()} are {len(documents)} documents for {depth} positions; "
            "name all documents, or cut the metrics to fewer positions"
        )
    return tuple(int(n) for n in np.bincount(documents, minlength=n_grades))
