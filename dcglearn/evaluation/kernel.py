"""The kernel of every evaluation: documents in the order of their scores, and values of lists.

The documents of all queries stand one behind another: query q has rows ``offsets[q]`` to
``offsets[q + 1]`` of scores and grades. A grade is the place of a level, 0 = worst, or any number
from 0 on; -1 is a grade that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dcglearn.foundation.validation import (
    EMPTY,
    MAX_GRADES,
    UNKNOWN,
    Flags,
    Floats,
    InputError,
    Integers,
    errors_in,
)
from dcglearn.logs.unique_rows import places
from dcglearn.metrics.dcg import DCG, largest_sums, normalised_values
from dcglearn.metrics.names import ListMetric, MetricName
from dcglearn.metrics.reading import SCORING, read_metric
from dcglearn.metrics.textbook import textbook_discounts

TABLE_CELLS = 1 << 17
"""Most cells of a table of queries by documents that is filled at a time."""

TIES = ("docno-desc", "stable", "average")
"""How documents of equal score are ranked.

By descending name, as in trec_eval; in the order in which they are given, as in LightGBM and
XGBoost; or with one share of their positions each, as in scikit-learn.
"""

Column: TypeAlias = Callable[[Integers], Any]
"""A column of a table of documents, which is looked up by rows."""


class OfNumbers(DCG):
    """A DCG of grades that are any numbers: the gain of a grade is the grade itself.

    Its gains are those of the worst grade, 0, and of the best.
    """


class Grading(NamedTuple):
    """The grades of documents: L levels, or any numbers up to `top` if `n_grades` is None.

    `numbers` are those that levels stand for, if any; `remedy` says how to make levels.
    """

    n_grades: int | None
    top: float
    remedy: str
    numbers: Sequence[float] | None = None


def at_grades(metric: ListMetric | MetricName, grading: Grading, depth: int) -> ListMetric:
    """Return a metric, or that of a name at the grades of documents; linear gains are numbers.

    Raises InputError, with the remedy, if it needs levels where there are none.
    """
    linear = metric if isinstance(metric, MetricName) and metric.gain == "linear" else None
    if grading.n_grades is None and linear:
        discounts = textbook_discounts(linear.discount, linear.deep(depth))
        return OfNumbers(np.array([0.0, grading.top]), discounts)
    if grading.n_grades is None:
        raise InputError(
            f"needs levels, whole grades from 0 to {MAX_GRADES - 1}, and these are other numbers: "
            f"{grading.remedy}; nDCG takes any number as the gain"
        )
    own = read_metric(metric, grading.n_grades, depth, accept=SCORING)
    if linear and grading.numbers is not None:
        return replace(own, gains=np.maximum(grading.numbers, 0.0))
    return own


@dataclass(frozen=True, eq=False)
class Lists:
    """The first documents of ranked lists, from the top, those of all queries in a row.

    `grades`, shape (n,), are theirs, and `rows`, shape (n,), their rows in the table that they come
    from. `same`, shape (n,), tells which have the score of the one above.
    """

    offsets: Integers
    grades: Any
    rows: Integers
    same: Flags
    ties: str = "stable"

    @cached_property
    def query(self) -> Integers:
        """The number of each document's query, shape (n,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def rank(self) -> Integers:
        """The position of each document, from 0, shape (n,)."""
        return places(np.diff(self.offsets))

    @cached_property
    def judged(self) -> Lists:
        """The lists without documents of unknown grade; those below them move up."""
        known = self.grades >= 0
        ends = np.append(0, np.cumsum(known))[self.offsets]
        return Lists(ends, self.grades[known], self.rows[known], self.same[known])

    def any(self, flags: Flags, depth: int | None) -> Flags:
        """Return which queries have a flag at one of the first documents, shape (Q,)."""
        return any_in(self.offsets, flags if depth is None else flags & (self.rank < depth))

    def shares(self, depth: int | None) -> tuple[float, float]:
        """Return the shares of the first documents that are not judged, and ordered by name."""
        top = slice(None) if depth is None else self.rank < depth
        by_name = (self.same | np.append(self.same[1:], False)) & (self.ties == "docno-desc")
        return float((self.grades[top] < 0).mean()), float(by_name[top].mean())

    def values(self, metric: ListMetric, unjudged: str | float = "worst") -> Floats:
        """Return the value of every list, shape (Q,).

        Unjudged documents count as the "worst" or the "best" grade, have a gain of their own, or
        are left out ("drop"). Raises InputError if documents share their gains under a metric that
        is no DCG.
        """
        if unjudged == "drop":
            return self.judged.values(metric)
        if isinstance(metric, DCG):
            sums = self.sums(gains_of(metric, self.grades, unjudged), metric.discounts)
            n = np.minimum(np.diff(self.offsets), metric.depth)
            return sums * np.maximum(n, 1.0) ** -metric.power

        # gains of a utility that is no sum cannot be shared
        grade = metric.n_grades - 1 if unjudged == "best" else 0
        grades = np.where(self.grades == UNKNOWN, grade, self.grades)
        mixed = self.same[1:] & (grades[1:] != grades[:-1])
        if self.ties == "average" and mixed.any():
            raise InputError(
                "not a DCG, so documents of equal score cannot share gains, and some are tied: "
                'give ties="stable"'
            )

        # value them query by query
        values = np.zeros(len(self.offsets) - 1)
        for queries, _, _, table in _tables(self.offsets, grades, EMPTY):
            values[queries] = metric.score(table.astype(np.int8))
        return values

    def ideals(self, metrics: Mapping[Any, ListMetric], unjudged: str | float) -> dict[Any, Floats]:
        """Return what `ideals` does, of rankings of each list's own documents."""
        own, rule = (self.judged, "worst") if unjudged == "drop" else (self, unjudged)
        return ideals(metrics, own.offsets, own.grades, rule)

    def sums(self, gains: Floats, discounts: Floats) -> Floats:
        """Return sums of gains times discounts, (K,) or C columns of them, shape (Q,) or (Q, C)."""
        # documents of equal scores share their gains
        if self.ties == "average" and self.same.any():
            first = np.flatnonzero(~self.same)
            sizes = np.diff(first, append=len(gains))
            gains = np.repeat(np.add.reduceat(gains, first) / sizes, sizes)

        # add up the positions that count
        values = np.zeros((len(self.offsets) - 1, *discounts.shape[1:]))
        for queries, _, _, table in _tables(self.offsets, gains, 0.0):
            width = min(table.shape[1], len(discounts))
            values[queries] = table[:, :width] @ discounts[:width]
        return values


def any_in(offsets: Integers, flags: Flags) -> Flags:
    """Return which queries have a flag at one of their documents, shape (Q,)."""
    before = np.append(0, np.cumsum(flags))[offsets]
    return before[1:] > before[:-1]


def gains_of(metric: ListMetric, grades: Any, unjudged: str | float = "worst") -> Floats:
    """Return the gains of grades; -1 is an unjudged document, -2 none."""
    own = gain_of_unjudged(metric, unjudged)
    if isinstance(metric, OfNumbers):
        return np.where(grades == UNKNOWN, own, np.maximum(grades, 0))
    return np.append(metric.gains, [0.0, own]).take(grades)  # -2 and -1 take the last


def gain_of_unjudged(metric: ListMetric, unjudged: str | float) -> float:
    """Return the gain of a document without a judgement."""
    own = {"worst": metric.gains[0], "best": metric.gains[-1], "drop": 0.0}
    return float(own[unjudged] if isinstance(unjudged, str) else unjudged)


def _tables(
    offsets: Integers, values: Any, filler: float = np.nan, width: int = 0
) -> Iterator[tuple[Integers, slice | Integers, slice | Flags, Any]]:
    """Yield queries of similar size with their values, a row each, `filler` behind the last.

    Rows have `width` cells or more. Between queries and values are the places of the values, and
    the cells that hold them: what is found for cells goes back by ``flat[at] =
    table[present].ravel()``.
    """
    sizes = np.diff(offsets)
    for queries in similar_sizes(np.maximum(sizes, width) * (sizes > 0)):
        shape = len(queries), max(int(sizes[queries].max()), width)
        together = slice(offsets[queries[0]], offsets[queries[-1] + 1])
        if sizes[queries].min() == shape[1] and values[together].size == shape[0] * shape[1]:
            yield queries, together, slice(None), values[together].reshape(shape)
            continue

        # rows of different length
        rank = np.arange(shape[1])
        present = rank < sizes[queries][:, None]
        at = (offsets[queries][:, None] + rank)[present]
        table = np.full(shape, filler, dtype=np.result_type(values.dtype, filler))
        table[present] = values[at]
        yield queries, at, present, table


def ranked(
    offsets: Integers,
    scores: Floats,
    grades: Column,
    depth: int | None = None,
    ties: str = "stable",
    names: Column | None = None,
) -> Lists:
    """Return the first documents of each query by falling score, down to `depth`, by default all.

    Those that are tied with the last of them come too. `grades` are the documents', and `names`,
    numbers from 0 in the order of their names, sort tied ones for "docno-desc".
    """
    # leave out what ranks below the depth
    n, ends = len(scores), offsets
    if depth is None or np.diff(offsets).max(initial=0) <= depth:
        rows = np.arange(n)
    else:
        kept = np.ones(n, dtype=bool)
        for _, at, present, table in _tables(offsets, scores):
            if table.shape[1] > depth:
                # in single precision, which is faster and keeps a few more that are tied there
                with np.errstate(over="ignore"):
                    falling = np.negative(table, dtype=np.float32)
                last = np.partition(falling, depth - 1, axis=1)[:, depth - 1 : depth]
                kept[at] = ~(falling > last)[present].ravel()  # NaN fills short rows
        rows = np.flatnonzero(kept)
        ends = np.searchsorted(rows, offsets)

    # sort the others
    order, keys = np.empty(len(rows), dtype=np.int64), scores[rows]
    for queries, at, present, table in _tables(ends, keys):
        places_of = ends[queries][:, None] + np.argsort(-table, axis=1)
        order[at] = places_of[present].ravel()
    rows, keys = rows[order], keys[order]

    # bring those of equal score into their order
    same = np.append(False, keys[1:] == keys[:-1])[: len(rows)]
    same[ends[:-1][np.diff(ends) > 0]] = False
    if same.any() and (ties == "stable" or names is not None):
        tied = np.flatnonzero(same | np.append(same[1:], False))
        group, own = np.cumsum(~same)[tied], rows[tied]
        place = n - 1 - names(own) if names is not None and ties == "docno-desc" else own
        rows[tied] = own[np.argsort(group * n + place)]
    return Lists(ends, grades(rows), rows, same, ties)


def ideals(
    metrics: Mapping[Any, ListMetric],
    offsets: Integers,
    grades: Any,
    unjudged: str | float = "worst",
    *,
    filled: bool = False,
) -> dict[Any, Floats]:
    """Return the largest value of a ranking of each query's documents, shape (Q,), by DCG's key.

    Harmful documents are left out. If `filled`, unjudged documents that gain something fill the
    positions for which there is no other.
    """
    found = {name: np.zeros(len(offsets) - 1) for name in metrics}
    if not metrics:
        return found

    # how deep rankings are looked at, and which metrics fill them
    depth = max(metric.depth for metric in metrics.values())
    gainful = {m for m, metric in metrics.items() if gain_of_unjudged(metric, unjudged) > 0}
    fills = gainful if filled else ()
    narrow = np.int16 if grades.dtype.kind == "i" and grades.max(initial=0) < 2**15 else np.float64
    for queries, _, _, table in _tables(offsets, grades, EMPTY, depth * bool(fills)):
        # the best grades, which are best for all gains that rise with the grade
        falling = -table.astype(narrow)
        if table.shape[1] > depth:
            falling.partition(depth - 1, axis=1)
        by_grade = -np.sort(falling[:, :depth], axis=1)

        for name, metric in metrics.items():
            rises = unjudged == "worst" and (np.diff(metric.gains) >= 0).all()
            own = by_grade if rises and metric.discounts.min() >= 0 else table

            # unjudged documents where there is no other
            if name in fills:
                is_free = (own == EMPTY) & (np.arange(own.shape[1]) < metric.depth)
                own = np.where(is_free, UNKNOWN, own)
            gains = gains_of(metric, own, unjudged)
            found[name][queries] = largest_sums(gains, metric.discounts)
    return found


def values_by_query(
    metrics: Mapping[str, ListMetric],
    offsets: Integers,
    scores: Floats,
    grades: Any,
    ties: str = "stable",
    empty: float = 0.0,
    *,
    divided: Collection[str],
) -> dict[str, Floats]:
    """Return the value of each query's documents by falling score, shape (Q,), by metric.

    Those that are `divided` are so by the best value that the documents allow; where this is not
    above 0, they are `empty`.
    """
    depth = max(metric.depth for metric in metrics.values())
    lists = ranked(offsets, scores, grades.take, depth, ties)
    tops, values = ideals({name: metrics[name] for name in divided}, offsets, grades), {}
    for name, metric in metrics.items():
        with errors_in(name):
            value = lists.values(metric)
        values[name] = normalised_values(value, tops[name], empty) if name in tops else value
    return values


def similar_sizes(sizes: Integers) -> Iterator[Integers]:
    """Yield queries of similar size, the largest first, whose table has `TABLE_CELLS` or a row."""
    order = np.argsort(sizes, kind="stable")[np.count_nonzero(sizes == 0) :]
    while len(order):
        rows = max(TABLE_CELLS // int(sizes[order[-1]]), 1)
        yield order[-rows:]
        order = order[:-rows]
