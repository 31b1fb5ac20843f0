"""Identifiable directions of a utility: those of W that change the difference of some pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import (
    Flags,
    Floats,
    Grades,
    InputError,
    Integers,
    PolarsFrame,
    graded_lists,
    scale_size,
)

TOLERANCE = 1e-10
"""A direction is invisible if its eigenvalue of ``sum d d^T`` is at most this share of the largest.

The matrix holds integers, exact in floating point: a true zero eigenvalue comes out as some 1e-16
of the largest, and a direction of one pair in a billion has 1e-9.
"""

SAMPLE = 1 << 15
"""Pairs of a longer log that are tried first: they mostly show all that such pairs can show."""

MOST_WEIGHTS = 5_000
"""Most weights, positions times grades, that are learned; time grows with their cube."""


@dataclass(frozen=True, eq=False)
class Visibility(Finding):
    """The directions of a utility W, shape (K, L), that a log identifies.

    `invisible`, shape (m, K, L), holds orthonormal directions along which W can move without
    changing the difference of any pair; `rank` is the number of identifiable directions, ``K * L -
    m``, and `structural_rank` the largest that any number of pairs of the same kind can have. A
    constant can be added to the weights of any position of `free_rows` without changing a
    difference, and if `free_columns` also to those of any one grade. `unseen_grades` are grades of
    the scale that never occur, `open_cells`, shape (K, L), the weights that more pairs of the same
    kind would tell. `grade_names` are what messages call grades; `graded` is False where the
    columns are documents.
    """

    invisible: Floats = field(repr=False)
    rank: int
    structural_rank: int
    free_rows: tuple[int, ...]
    free_columns: bool
    unseen_grades: tuple[int, ...]
    open_cells: Flags = field(repr=False)
    graded: bool = True
    grade_names: tuple[str, ...] | None = None

    def project(self, weights: Floats) -> Floats:
        """Return the identifiable part of W, shape (K, L), orthogonal to `invisible`."""
        return weights - np.tensordot(np.tensordot(self.invisible, weights, 2), self.invisible, 1)

    @property
    def missing(self) -> int:
        """Number of directions that more pairs of the same kind would identify."""
        return max(self.structural_rank - self.rank, 0)

    @property
    def sentence(self) -> str:
        """What the log does not tell, in words."""
        things = [thing for thing, _ in self._open_things()]
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
        depth, n_grades = self.open_cells.shape
        return (
            *(why for _, why in self._open_things()),
            f"{number_of(n_grades, f'{self._thing}s')} at {number_of(depth, 'positions')} make "
            f"{depth * n_grades:,} numbers; the table counts those that are told, or as many "
            "independent sums of them",
        )

    @property
    def _thing(self) -> str:
        return "grade" if self.graded else "document"

    def _open_things(self) -> Iterator[tuple[str, str]]:
        """Yield each thing that the log does not tell, and why."""
        thing = self._thing

        # grades that never occur
        if self.unseen_grades:
            names = f"{thing} {self._called(self.unseen_grades)}"
            yield f"the worth of {names}", f"no list of the log holds {names}"

        # the level of gains, which a DCG has at every position from those that tell it
        if self.free_rows:
            level = "how much better a document is than none"
            if self.graded:
                level = "whether a result of the worst grade is better than none"

            # everywhere, or where gains are bound to other positions' level
            where, level_is = "every position", "their level is a convention"
            if len(self.free_rows) < len(self.open_cells):
                where = "position" if len(self.free_rows) == 1 else "positions"
                where += f" {_runs(np.add(self.free_rows, 1))}"
                level += f" at {where}"
                level_is = "a DCG takes their level there from the other positions"
            yield (
                level,
                f"both lists of a pair always have a {thing} at {where}, so only differences "
                f"between {thing}s are learned, and {level_is}",
            )

        # the level of discounts
        if self.free_columns:
            yield (
                "how high the discounts are",
                f"both lists of every pair hold the same {thing}s in another order, so only the "
                "steps between discounts are learned, and their level is a convention",
            )

        # weights for which there are too few pairs
        if self.missing:
            which = self._called(np.flatnonzero(self.open_cells.any(axis=0)))
            where = _runs(np.flatnonzero(self.open_cells.any(axis=1)) + 1)
            yield (
                f"the exact worth of {thing} {which} at position {where}",
                f"at least {number_of(self.missing, 'more pairs', ',')} that differ at position "
                f"{where} would tell the rest; without them the QP takes the smallest weights "
                "that fit",
            )

    def _called(self, grades: Sequence[int] | Integers) -> str:
        """Return what messages call grades: ``Bad to Good``, or ``0-2``."""
        if self.grade_names is None:
            return _runs(grades)
        return _runs(grades, self.grade_names, " to ")


def _runs(
    numbers: Sequence[int] | Integers, names: Sequence[Any] = range(MOST_WEIGHTS), to: str = "-"
) -> str:
    """Return the names of numbers, of successive ones the first and the last: ``1-4, 7``."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    ends = ((str(names[run[0]]), str(names[run[-1]])) for run in runs)
    return ", ".join(to.join(dict.fromkeys(both)) for both in ends)


def visibility_of_pairs(first: Grades, second: Grades, n_grades: int, **words: Any) -> Visibility:
    """Return what pairs of lists, shape (n, K) each, identify; `words` are as in `visibility`."""
    lists = first, second
    occurs = np.array([any((side == g).any() for side in lists) for g in range(n_grades)])

    # evenly spread pairs, unless all pairs are few
    step = max(len(first) // SAMPLE, 1)
    sample = gram_matrix(first[::step], second[::step], n_grades)
    seen = visibility(sample, occurs, **words)

    # all pairs show no more if these leave constants alone, and in all a position has both grades
    one_sided = ((first >= 0) != (second >= 0)).any(axis=0)[[*seen.free_rows]].any()
    if step == 1 or not (seen.missing or seen.free_columns or one_sided):
        return seen
    return visibility(gram_matrix(first, second, n_grades), occurs, **words)


def visibility(gram: Floats, occurs: Flags, **words: Any) -> Visibility:
    """Return what a log identifies, from its `gram_matrix` and whether each grade occurs, (L,).

    Three kinds of directions are invisible by the structure of the pairs: a constant added to a
    position (where no pair has a known grade in one list only), a constant added to every grade (if
    no pair differs in its mix), and the weights of grades that never occur. The structural rank of
    full lists is K(L-1), and (K-1)(L-1) where the two lists of each pair share one mix. Any other
    invisible direction comes from too few pairs. `words` are `graded` and `grade_names`.
    """
    size, n_grades = len(gram), len(occurs)
    depth = size // n_grades

    # directions that no pair shows
    values, vectors = np.linalg.eigh(gram)
    least = TOLERANCE * max(values[-1], 0.0)
    invisible = vectors[:, values <= least].T

    # a constant at one position, and of one grade at all positions
    rows = np.repeat(np.eye(depth), n_grades, axis=1)
    columns = np.tile(np.eye(n_grades), depth)
    free_rows, free_columns = (
        ((lines @ gram) * lines).sum(axis=1) <= least for lines in (rows, columns)
    )
    columns = columns[free_columns.all() & occurs]

    # a basis of what structure hides, in which the sum of all rows is that of all columns
    unseen = np.eye(size)[np.tile(~occurs, depth)]
    hidden = np.vstack([rows[free_rows], columns, unseen])
    _, lengths, basis = np.linalg.svd(hidden, full_matrices=False)
    basis = basis[lengths > 1e-9]

    # weights in the other directions, which more pairs would show
    rest = invisible - invisible @ basis.T @ basis
    open_cells = (np.abs(rest) > 1e-6).any(axis=0)

    return Visibility(
        invisible.reshape(-1, depth, n_grades),
        rank=size - len(invisible),
        structural_rank=size - len(basis),
        free_rows=tuple(np.flatnonzero(free_rows).tolist()),
        free_columns=bool(free_columns.all()),
        unseen_grades=tuple(np.flatnonzero(~occurs).tolist()),
        open_cells=open_cells.reshape(depth, n_grades),
        **words,
    )


def encode(lists: ArrayLike, n_grades: int) -> Grades:
    """Return the binary encoding of graded lists, int8, shape (n, K, L) or (K, L), worst first.

    `lists`, shape (n, K) or (K,), hold grades by position; one without a known grade (-1) or result
    (-2) becomes a row of zeros. Source: Zhou et al. 2008, section 5.1.

    See Also
    --------
    Utility : What the encoding is multiplied by.

    Examples
    --------
    The paper writes Perfect first, and the rows one after the other:

    >>> encode([4, 0, 2], n_grades=5)[:, ::-1].ravel().tolist()
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0]
    """
    grades = graded_lists(lists, n_grades=scale_size(n_grades, 0))
    return (grades[..., None] == np.arange(n_grades)).astype(np.int8)


def gram_matrix(first: Grades, second: Grades, n_grades: int) -> Floats:
    """Return ``sum d d^T`` over pairs of lists, shape (K*L, K*L), d a difference of encodings.

    Raise InputError beyond `MOST_WEIGHTS`.
    """
    refuse_too_deep(first.shape[1], n_grades)
    size = first.shape[1] * n_grades
    gram = np.zeros((size, size))
    grades = np.arange(n_grades, dtype=np.int8)[:, None]

    # blocks are small enough for exact counts in single precision
    step = max((1 << 20) // size, 1)
    for start in range(0, len(first), step):
        # the encodings of `encode` with a row a weight, which numpy compares many times faster
        columns = (lists[start : start + step].T.copy() for lists in (first, second))
        ahead, behind = ((grade_at[:, None] == grades).view(np.int8) for grade_at in columns)
        difference = (ahead - behind).reshape(size, -1).astype(np.float32)
        gram += difference @ difference.T
    return gram


def refuse_too_deep(depth: int, n_grades: int) -> None:
    """Raise InputError if lists have more than `MOST_WEIGHTS` weights."""
    if depth * n_grades > MOST_WEIGHTS:
        raise InputError(
            f"lists of {depth:,} positions with {n_grades} grades have {depth * n_grades:,} "
            f"weights, and at most {MOST_WEIGHTS:,} can be learned; cut the lists where users stop "
            "reading (depth=, convert --depth)"
        )
