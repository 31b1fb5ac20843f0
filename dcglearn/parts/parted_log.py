"""A log in parts over a cluster: a fit needs sums over pairs, so sums over parts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import EMPTY, Counts, Floats, InputError, Integers
from dcglearn.logs.columns import COLUMNS
from dcglearn.logs.preference_pairs import Agreement, AnyLog, Metric, PreferencePairs
from dcglearn.logs.thinning import Marks, marks_of_parts
from dcglearn.logs.unique_rows import packed
from dcglearn.logs.visibility import Visibility, gram_matrix, visibility
from dcglearn.metrics.reading import MetricLike, read_metric

SAMPLE = 1 << 15
"""Approximate number of pairs in a sample of a log."""

SKETCH = 1 << 20
"""Most distinct lists that are counted exactly; an estimate of more has an error of 0.1%."""


OfPart: TypeAlias = Callable[..., Any]
"""A function of a part of a log, and of further arguments."""


class Parts(Protocol):
    """The parts of a log, or of what was made of it, in a fixed order."""

    def mapped(self, function: OfPart) -> Parts:
        """Return ``function(part)`` of every part, kept where the parts are."""

    def gathered(
        self, function: OfPart, *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return ``function(part, *arguments)`` of each part; `each` adds one more argument."""

    def total(self, function: OfPart, *arguments: Any) -> Any:
        """Return the sum of ``function(part, *arguments)`` over the parts, in one fixed order."""


@dataclass(frozen=True)
class Facts:
    """Sums over the pairs of a log that describe it as a whole; facts of parts add with ``+``.

    `depths` are those of the parts that hold pairs (a sound log has one); `n_equal` counts the
    pairs of equal lists, `n_ties` the ties among the pairs whose lists differ, and `weight` is the
    weight of the latter, ties included; `grades`, shape (127,), says how often each grade occurs;
    `raters` is None if no part has that column; `dropped` counts what the
    reader left out; `sided` tells whether it is known which list was shown first.
    """

    depths: tuple[int, ...]
    n: int
    n_equal: int
    n_ties: int
    weight: float
    grades: Integers
    raters: frozenset[str] | None
    dropped: Counts
    sided: bool

    def __add__(self, other: Facts) -> Facts:
        raters = self.raters
        if other.raters is not None:
            raters = other.raters | (raters or frozenset())
        return Facts(
            depths=tuple(sorted({*self.depths, *other.depths})),
            n=self.n + other.n,
            n_equal=self.n_equal + other.n_equal,
            n_ties=self.n_ties + other.n_ties,
            weight=self.weight + other.weight,
            grades=self.grades + other.grades,
            raters=raters,
            dropped=dict(Counter(self.dropped) + Counter(other.dropped)),
            sided=self.sided or other.sided,
        )

    @property
    def top(self) -> int:
        """The largest grade; -1 if none is known."""
        return int(np.flatnonzero(self.grades).max(initial=-1))


def facts_of(log: PreferencePairs) -> Facts:
    """Return the facts of one part."""
    from dcglearn.reading.scale import counts_of

    unlike = log.differing
    n = len(log)
    raters = None
    if log.rater is not None and n:
        raters = frozenset(map(str, np.unique(log.rater[unlike])))

    return Facts(
        depths=(log.depth,) if n else (),
        n=n,
        n_equal=n - int(unlike.sum()),
        n_ties=0 if log.tie is None else int((log.tie & unlike).sum()),
        weight=float(unlike.sum() if log.weight is None else log.weight[unlike].sum()),
        grades=counts_of([log.preferred, log.other]),
        raters=raters,
        dropped=dict(log.dropped),
        sided=n > 0 and log.swapped is not None,
    )


class PartedLog:
    """A log in parts, each a log in memory; `facts` counts their pairs of equal lists."""

    def __init__(
        self, parts: Parts, facts: Facts, n_grades: int, grade_names: Sequence[str] | None = None
    ) -> None:
        self.parts = parts
        self.facts = facts
        self.n_grades = n_grades
        self.grade_names = None if grade_names is None else tuple(grade_names)
        self.depth = facts.depths[0]

    def __len__(self) -> int:
        return self.facts.n - self.facts.n_equal

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.facts.n:,} pairs, depth {self.depth}, {self.n_grades} "
            "grades)"
        )

    def close(self) -> None:
        """Release what the log holds: memory of the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    graded = True
    as_is = False  # whether it is used even if it seems to be upside down

    @property
    def dropped(self) -> Counts:
        """What the reader left out, and how often."""
        return dict(self.facts.dropped)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of pairs whose lists differ, ties included."""
        return self.facts.weight

    def thinned(self, n: int) -> PreferencePairs:
        """Return about `n` pairs that stand for all, the same in every call."""
        samples = self.parts.gathered(_marked, each=marks_of_parts(n, *self._sizes.T))
        held = [sample for sample in samples if len(sample)]
        return joined(held, self.n_grades, self.grade_names)

    @cached_property
    def _sizes(self) -> Floats:
        """Number and weight of the pairs of each part whose lists differ, shape (n parts, 2)."""
        return np.array(self.parts.gathered(_size))

    def agreement(self, metric: MetricLike | Metric) -> Agreement:
        """Return how far a metric orders the decided pairs as the log does."""
        if isinstance(metric, (str, os.PathLike)):
            metric = read_metric(metric, self.n_grades, self.depth)
        return self.parts.total(PreferencePairs.agreement, metric)

    def n_lists(self) -> float:
        """Return the number of distinct lists: exact up to `SKETCH`, estimated above."""
        return float(self.parts.total(sketch_of).count)

    def visible(self) -> Visibility:
        """Return which directions of a utility the log identifies."""
        gram = self.parts.total(_gram, self.n_grades)
        occurs = self.facts.grades[: self.n_grades] > 0
        return visibility(self, gram, occurs)


OpenLog: TypeAlias = PreferencePairs | PartedLog
"""A log in memory or in parts."""


def _size(log: PreferencePairs) -> tuple[float, float]:
    log = differing_pairs(log)
    return len(log), log.total_weight


def _marked(log: AnyLog, marks: Marks) -> AnyLog:
    return differing_pairs(log).marked(marks)


def joined(logs: Sequence[AnyLog], n_grades: int, grade_names: Sequence[str] | None) -> AnyLog:
    """Concatenate logs of one depth; pairs that lack a column get its `missing` value."""

    def column(name: str, missing: Any) -> Any:
        values = [getattr(log, name) for log in logs]
        lacking = [value is None for value in values]
        if all(lacking) or (any(lacking) and missing is None):
            return None
        for i, log in enumerate(logs):
            if values[i] is None:
                values[i] = np.full(len(log), missing)
        return np.concatenate(values)

    sides = ("preferred", "other")
    lists = {name: np.concatenate([getattr(log, name) for log in logs]) for name in sides}
    columns = {name: column(name, about.missing) for name, about in COLUMNS.items()}
    names = None if grade_names is None else tuple(grade_names)
    return type(logs[0]).unchecked(n_grades=n_grades, grade_names=names, **lists, **columns)


def _gram(log: PreferencePairs, n_grades: int) -> Floats:
    return gram_matrix(log.preferred, log.other, n_grades)


def differing_pairs(log: AnyLog) -> AnyLog:
    """Return the pairs whose lists differ."""
    return log if log.differing.all() else log[log.differing]


@dataclass(frozen=True)
class Sketch:
    """The `SKETCH` smallest hashes of distinct lists, to count these; parts add with ``+``."""

    smallest: NDArray[np.uint64]

    def __add__(self, other: Sketch) -> Sketch:
        return Sketch(np.union1d(self.smallest, other.smallest)[:SKETCH])

    @property
    def count(self) -> float:
        """Number of distinct lists: k - 1 over the k-th smallest hash (Bar-Yossef et al. 2002)."""
        if len(self.smallest) < SKETCH:
            return float(len(self.smallest))
        return (SKETCH - 1) / (float(self.smallest[-1]) / 2.0**64)


def sketch_of(log: PreferencePairs) -> Sketch:
    """Return the sketch of one part's lists, without pairs of equal lists."""
    log = differing_pairs(log)
    sketches = [Sketch(np.unique(_hashes(packed(x)))[:SKETCH]) for x in (log.preferred, log.other)]
    return sketches[0] + sketches[1]


def _hashes(keys: Integers) -> NDArray[np.uint64]:
    """Return a uniform hash of each row (the finaliser of SplitMix64, column by column)."""
    hashes = np.zeros(len(keys), dtype=np.uint64)
    for column in keys.T.view(np.uint64):
        hashes = (hashes ^ column) + np.uint64(0x9E3779B97F4A7C15)
        hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes = hashes ^ (hashes >> np.uint64(31))
    return hashes


def checked_scale(
    facts: Sequence[Facts], names: Sequence[str], n_grades: int | None
) -> tuple[Facts, int]:
    """Return the whole log's facts and number of grades; raise InputError for an unfit part."""
    held = [(part, name) for part, name in zip(facts, names, strict=True) if part.n]
    if not held:
        raise InputError(
            f"none of the {len(facts)} parts of the log ({names[0]}, ...) holds a pair"
        )

    # each part beside the first
    first, first_name = held[0]
    for part, name in held:
        if part.depths != first.depths:
            raise InputError(
                f"{name} holds lists of {part.depths[0]} positions, {first_name} of "
                f"{first.depths[0]}; cut them to one depth, to which shorter ones are filled with "
                "-2, no result (depth=; dcglearn convert --depth)"
            )

        # sides count or not, and grades lie on one scale
        if part.sided != first.sided:
            says, says_not = (name, first_name) if part.sided else (first_name, name)
            raise InputError(
                f"{says} says which list was shown first, {says_not} does not: give the column "
                "(shown_left, say) in all parts, or leave it out (--columns swapped=)"
            )

        if n_grades is not None and part.top >= n_grades:
            raise InputError(
                f"{name}: grade {part.top} is outside -2..{n_grades - 1}; the scale has "
                f"{n_grades} grades"
            )

    # all of them together
    whole = reduce(Facts.__add__, facts)
    if whole.raters is not None and any(part.raters is None for part, _ in held):
        whole = replace(whole, raters=whole.raters | {""})
    return whole, max(whole.top + 1, 1) if n_grades is None else n_grades


def on_scale(log: AnyLog, n_grades: int, depth: int) -> AnyLog:
    """Return one part on the whole log's scale; a part without pairs gets the log's depth, too."""
    if not len(log):
        nothing = np.zeros((0, depth), np.int8)
        return type(log)(nothing, nothing, n_grades=n_grades)
    return log if log.n_grades == n_grades else log.rescaled(n_grades)


def with_grades(log: OpenLog, n_grades: int | None) -> OpenLog:
    """Return a log on a scale of `n_grades`, or as it is for None.

    Raise InputError if a grade lies above the scale, or the log is in parts on another scale.
    """
    if n_grades is None or n_grades == log.n_grades:
        return log
    if isinstance(log, PartedLog):
        raise InputError(
            f"n_grades={n_grades}, but the log was opened with {log.n_grades}: open it with that"
        )
    return log.rescaled(n_grades)


def n_pairs(log: OpenLog) -> int:
    """Return the number of pairs."""
    return log.facts.n if isinstance(log, PartedLog) else len(log)


def n_judgements(log: OpenLog) -> int:
    """Return the number of ratings, or of pairs where there are none."""
    ratings = getattr(log, "ratings", None)
    return n_pairs(log) if ratings is None else round(float(ratings.weight.sum()))


def contents(log: OpenLog) -> str:
    """Return what a log holds, counted in words."""
    # pairs and what they carry
    sizes = f"{number_of(log.depth, 'positions')}, {number_of(log.n_grades, 'grades')}"
    counts = [number_of(n_pairs(log), "pairs", ",")]
    if isinstance(log, PartedLog):
        facts = log.facts
        counts += [number_of(facts.n_ties, "ties", ",")] if facts.n_ties else []
        counts += [] if facts.raters is None else [number_of(len(facts.raters), "raters", ",")]
        return f"{', '.join(counts)}; {sizes}"

    # of a log in memory, weights and queries too
    if log.ratings is not None:
        counts[0] = f"{number_of(n_judgements(log), 'ratings', ',')} as {counts[0]}"
        weight = round(log.total_weight)
        if weight != len(log):
            counts[0] += f" that weigh as much as {weight:,} judgements"
    elif log.weight is not None:
        counts.append(f"total weight {log.total_weight:,.0f}")
    counts += [] if log.tie is None else [number_of(int(log.tie.sum()), "ties", ",")]
    for name, values in (("raters", log.rater), ("queries", log.query)):
        if values is not None:
            counts.append(number_of(len(np.unique(values)), name, ","))

    # lists that are shorter than others
    short = int((np.concatenate([log.preferred, log.other]) == EMPTY).any(axis=1).sum())
    if short:
        sizes += f"; {short:,} of {2 * len(log):,} lists are shorter"
    return f"{', '.join(counts)}; {sizes}"
