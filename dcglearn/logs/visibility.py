"""Identifiable directions of a utility: those of W that change the difference of some pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import (
    Flags,
    Floats,
    Grades,
    InputError,
    Integers,
    PolarsFrame,
    filled,
)
from dcglearn.logs.pair_sums import PairSums, pair_sums

SAMPLE = 1 << 14
"""Pairs, about, that are examined before all are."""

TOLERANCE = 1e-10
"""A direction is invisible if its eigenvalue of ``sum d d^T`` is at most this share of the largest.
"""

MOST_WEIGHTS = 5_000
"""Most weights, positions times grades, that are learned; time grows with their cube."""

ONE = np.ones(1)


@dataclass(frozen=True, eq=False)
class Visibility(Finding):
    """The directions of a utility W, shape (K, L), that a log identifies.

    `invisible`, shape (m, K, L), holds orthonormal directions along which W can move without
    changing the difference of any pair; `rank` is the number of identifiable directions, ``K * L -
    m``, and `structural_rank` the largest that any number of pairs of the same kind can have. A
    constant can be added to the weights of any position of `free_rows` without changing a
    difference, and if `free_columns` also to those of any one grade. `unseen_grades` are grades of
    the scale that never occur, `grade_names` what messages call grades; `graded` is False where the
    columns are documents. A direction counts as invisible up to the share `tolerance` of the
    largest eigenvalue of ``sum d d^T``. That matrix holds integers, exact in floating point: a true
    zero eigenvalue comes out as some 1e-16 of the largest; a direction of one pair in a billion has
    1e-9.
    """

    invisible: Floats = field(repr=False)
    rank: int
    structural_rank: int
    free_rows: tuple[int, ...]
    free_columns: bool
    unseen_grades: tuple[int, ...]
    graded: bool = True
    tolerance: float = TOLERANCE
    grade_names: tuple[str, ...] | None = None

    def project(self, weights: Floats) -> Floats:
        """Return the identifiable part of W, shape (K, L), orthogonal to `invisible`."""
        flat = self.invisible.reshape(len(self.invisible), weights.size)
        return weights - (flat.T @ (flat @ weights.ravel())).reshape(weights.shape)

    @property
    def missing(self) -> int:
        """Number of directions that more pairs of the same kind would identify."""
        return max(self.structural_rank - self.rank, 0)

    @property
    def sentence(self) -> str:
        """What the log does not tell, in words."""
        things = [*self._open_things]
        if not things:
            return "the log tells all that any number of judgements of such lists could tell"
        *others, last = things
        joined = f"{', '.join(others)} or {last}" if others else last
        return f"the log cannot tell {joined}"

    @property
    def table(self) -> PolarsFrame:
        """How many numbers are told by the log, by more pairs of its kind, and by none."""
        counts = {
            "this log": self.rank,
            "more pairs of such lists": self.missing,
            "no pairs of such lists": len(self.invisible) - self.missing,
        }
        return table_of({"told_by": name, "numbers": n} for name, n in counts.items())

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the log does not tell it, and what would; then what the table counts."""
        thing = "grade" if self.graded else "document"
        depth, n_grades = self.invisible.shape[1:]
        return (
            *self._open_things.values(),
            f"{number_of(n_grades, f'{thing}s')} at {number_of(depth, 'positions')} make "
            f"{depth * n_grades:,} numbers; the table counts those that are told, or as many "
            "independent sums of them",
        )

    @property
    def _open_things(self) -> dict[str, str]:
        """What the log does not tell, and for each thing why."""
        thing = "grade" if self.graded else "document"
        things = {}

        # grades that never occur
        if self.unseen_grades:
            names = f"{thing} {self._called(self.unseen_grades)}"
            things[f"the worth of {names}"] = f"no list of the log holds {names}"

        # the level of gains, which a DCG has at every position from those that tell it
        if self.free_rows:
            level = "how much better a document is than none"
            if self.graded:
                level = "whether a result of the worst grade is better than none"
            where, level_is = "every position", "their level is a convention"
            if len(self.free_rows) < self.invisible.shape[1]:
                position = "position" if len(self.free_rows) == 1 else "positions"
                where = f"{position} {_ranks(self.free_rows)}"
                level += f" at {where}"
                level_is = "a DCG takes their level there from the other positions"
            things[level] = (
                f"both lists of a pair always have a {thing} at {where}, so only differences "
                f"between {thing}s are learned, and {level_is}"
            )

        # the level of discounts
        if self.free_columns:
            things["how high the discounts are"] = (
                f"both lists of every pair hold the same {thing}s in another order, so only the "
                "steps between discounts are learned, and their level is a convention"
            )

        # weights for which there are too few pairs
        if self.missing:
            cells = self._open_cells
            which = self._called(np.flatnonzero(cells.any(axis=0)))
            where = _ranks(np.flatnonzero(cells.any(axis=1)))
            more = number_of(self.missing, "more pairs", ",")
            things[f"the exact worth of {thing} {which} at position {where}"] = (
                f"at least {more} that differ at position {where} would tell the rest; without "
                "them the QP takes the smallest weights that fit"
            )
        return things

    def _called(self, grades: Sequence[int] | Integers) -> str:
        """Return what messages call grades: ``Bad to Good``, or ``0-2``."""
        if self.grade_names is None:
            return _ranks(grades, range(MOST_WEIGHTS))
        return _ranks(grades, self.grade_names, " to ")

    @property
    def _open_cells(self) -> Flags:
        """Whether more pairs of the same kind would tell each weight, shape (K, L)."""
        # directions that no such pair can show
        depth, n_grades = self.invisible.shape[1:]
        occurs = ~np.isin(np.arange(n_grades), self.unseen_grades)
        rows, columns = _structure(depth, occurs)
        known = [rows[[*self.free_rows]], columns if self.free_columns else columns[:0]]
        flat = np.concatenate(known).reshape(-1, depth * n_grades)

        # the others of those that this log does not show
        hidden = self.invisible.reshape(len(self.invisible), -1)
        open_part = hidden - hidden @ np.linalg.pinv(flat) @ flat
        return (np.abs(open_part).max(axis=0).reshape(depth, n_grades) > 1e-6) & occurs


def visible_to(log: Any) -> Visibility:
    """Return what the pairs of lists of `PreferencePairs` identify."""
    first, second, n_grades = log.preferred, log.other, log.n_grades
    # grades that occur; the first lists often hold all grades
    shape = (first.shape[1], n_grades)
    occurring = np.flatnonzero(grade_counts(first[:SAMPLE], second[:SAMPLE])[:n_grades]).tolist()
    if len(occurring) < n_grades:
        occurring = np.flatnonzero(grade_counts(first, second)[:n_grades]).tolist()

    # a sample tells it, if no pair of all shows more
    sample = log.thinned(SAMPLE)
    gram = gram_matrix(sample.preferred, sample.other, shape)
    sampled = visibility(gram, shape, occurring, graded=log.graded)
    if len(sample) < len(log):
        sums = mixture_sums(first, second, blind_mixture(sampled.invisible))
        if not is_blind(sums, len(log)):
            gram = gram_matrix(first, second, shape)
            return visibility(gram, shape, occurring, graded=log.graded)
    return sampled


def visibility(
    gram: Floats, shape: tuple[int, int], occurring: Sequence[int], *, graded: bool = True
) -> Visibility:
    """Return what a log identifies, from its `gram_matrix`, W's shape (K, L) and the grades seen.

    Three kinds of directions are invisible by the structure of the pairs: a constant added to a
    position (where no pair has a known grade in one list only), a constant added to every grade (if
    no pair differs in its mix), and the weights of grades that never occur. The structural rank of
    full lists is K(L-1), and (K-1)(L-1) where the two lists of each pair share one mix. Any other
    invisible direction comes from too few pairs.
    """
    # directions that no pair shows
    depth, n_grades = shape
    values, vectors = np.linalg.eigh(gram)
    largest = max(float(values[-1]), 0.0)
    blind = values <= TOLERANCE * largest

    # those among them that are structure
    occurs = np.isin(np.arange(n_grades), occurring)
    rows, columns = _structure(depth, occurs)
    blind_rows = _blind(gram, rows, largest)
    free_columns = bool(_blind(gram, columns, largest).all())

    # the sum of all rows is the sum of all columns, and must not be counted twice
    hidden = int(blind_rows.sum())
    if free_columns:
        hidden += len(columns) - int(blind_rows.all())

    return Visibility(
        invisible=vectors[:, blind].T.reshape(-1, depth, n_grades),
        rank=int((~blind).sum()),
        structural_rank=depth * len(columns) - hidden,
        free_rows=tuple(np.flatnonzero(blind_rows).tolist()),
        free_columns=free_columns,
        unseen_grades=tuple(np.flatnonzero(~occurs).tolist()),
        graded=graded,
    )


def _structure(depth: int, occurs: Flags) -> tuple[Floats, Floats]:
    """Return the directions that add a constant to a position, (K, K, L), or a grade, (G, K, L)."""
    rows = np.einsum("kj,l->kjl", np.eye(depth), occurs.astype(float))
    columns = np.einsum("k,lm->lkm", np.ones(depth), np.eye(len(occurs)))[occurs]
    return rows, columns


def _blind(gram: Floats, directions: Floats, largest: float) -> Flags:
    """Return for each direction, shape (m, K, L), whether no pair shows it."""
    flat = directions.reshape(len(directions), gram.shape[0])
    return ((flat @ gram) * flat).sum(axis=1) <= TOLERANCE * largest


def _ranks(
    positions: Sequence[int] | Integers,
    names: Sequence[Any] = range(1, MOST_WEIGHTS + 1),
    to: str = "-",
) -> str:
    """Return the names of positions, counted from 0, by default ranks: ``1-4, 7``."""
    ranks = []
    for run in np.split(positions, np.flatnonzero(np.diff(positions) > 1) + 1):
        start, end = names[run[0]], names[run[-1]]
        ranks.append(f"{start}{to}{end}" if len(run) > 1 else f"{start}")
    return ", ".join(ranks)


def refuse_too_deep(depth: int, n_grades: int) -> None:
    """Raise InputError if lists have more than `MOST_WEIGHTS` weights."""
    if depth * n_grades > MOST_WEIGHTS:
        raise InputError(
            f"lists of {depth:,} positions with {n_grades} grades have {depth * n_grades:,} "
            f"weights, and at most {MOST_WEIGHTS:,} can be learned; cut the lists where users stop "
            "reading (depth=, convert --depth)"
        )


def gram_matrix(first: Grades, second: Grades, shape: tuple[int, int]) -> Floats:
    """Return ``sum d d^T`` over pairs of lists, shape (K*L, K*L).

    Raise InputError beyond `MOST_WEIGHTS`.
    """
    refuse_too_deep(*shape)
    lists = np.ascontiguousarray(filled(first)), np.ascontiguousarray(filled(second))
    return pair_sums(*lists, margin=ONE, weight=ONE, weights=np.zeros(shape)).curvature


def blind_mixture(hidden: Floats) -> Floats:
    """Return a random mixture of directions, shape (m, K, L); no pair's difference exceeds 1/2."""
    shares = np.random.default_rng(0).normal(size=len(hidden))
    mixture = np.tensordot(shares, hidden, 1)
    largest = max(float(np.abs(mixture).max(initial=0.0)), 1e-300)
    return mixture / (4 * len(mixture) * largest)


def mixture_sums(first: Grades, second: Grades, mixture: Floats) -> PairSums:
    """Return the sums over pairs at a `blind_mixture`, margins and weights 1, for `is_blind`."""
    return pair_sums(
        filled(first), filled(second), margin=ONE, weight=ONE, weights=mixture, curvature=False
    )


def is_blind(sums: PairSums, n: int) -> bool:
    """Whether none of n pairs shows any direction of a `blind_mixture`, from its `mixture_sums`."""
    # sum (1 - t) = sum (1 - t)^2 = n only if every difference t is 0
    return max(abs(sums.slope - n), abs(sums.loss - n)) <= 1e-12 * n


def grade_counts(first: Grades, second: Grades) -> Integers:
    """Return how often each grade occurs, as uint8 (255 = unknown), shape (256,)."""
    # two grades at once, in blocks whose counts are made in the processor's cache
    counts, block = np.zeros(1 << 16, dtype=np.int64), 1 << 17
    last = np.zeros(256, dtype=np.int64)
    for lists in (first, second):
        grades = lists.ravel().view(np.uint8)
        even = len(grades) // 2 * 2
        last += np.bincount(grades[even:], minlength=256)
        twos = grades[:even].view(np.uint16)
        for start in range(0, len(twos), block):
            found = np.bincount(twos[start : start + block])
            counts[: len(found)] += found
    by_two = counts.reshape(256, 256)
    return last + by_two.sum(axis=0) + by_two.sum(axis=1)
