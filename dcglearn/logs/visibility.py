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
    Indices,
    InputError,
    PolarsFrame,
    graded_lists,
    listed,
    scale_size,
)
from dcglearn.logs.columns import Columns

TOLERANCE = 1e-10
"""A direction is invisible if its eigenvalue of ``sum d d^T`` is at most this share of the largest.

The matrix holds integers, exact in floating point: a true zero eigenvalue comes out as some 1e-16
of the largest, and a direction of one pair in a billion has 1e-9.
"""

SAMPLE = 1 << 15
"""Pairs of a longer log that are tried first: they mostly show all that such pairs can show."""

ONLY_STEPS = "only the steps between discounts are learned"
"""What is said, on a DCG too, where both lists of every pair hold the same grades."""

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
        return self.structural_rank - self.rank

    @property
    def sentence(self) -> str:
        """What the log does not tell, in words."""
        things = " or ".join(thing for thing, _ in self._open_things)
        if not things:
            return "the log tells all that any number of judgements of such lists could tell"
        return f"the log cannot tell {things}"

    @property
    def table(self) -> PolarsFrame:
        """How many numbers are told by the log, by more pairs of its kind, and by none."""
        return table_of(
            {
                "told_by": ["this log", "more pairs of such lists", "no pairs of such lists"],
                "numbers": [self.rank, self.missing, len(self.invisible) - self.missing],
            }
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the log does not tell it, and what would; then what the table counts."""
        return (
            *(why for _, why in self._open_things),
            "numbers are the weights of each grade or document at each position, or as many "
            "independent sums of them",
        )

    def _places(self, rows: Sequence[int] | Indices) -> str:
        """Return what messages call positions: ``each position``, or ``position 1, 4``."""
        if len(rows) == len(self.open_cells):
            return "each position"
        return f"position {listed(np.add(rows, 1))}"

    @property
    def _open_things(self) -> Iterator[tuple[str, str]]:
        """Each thing that the log does not tell, and why."""
        thing = "grade" if self.graded else "document"
        names: Sequence[Any] = self.grade_names or range(self.open_cells.shape[1])

        # grades that never occur
        if self.unseen_grades:
            unseen = f"{thing} {listed(names[grade] for grade in self.unseen_grades)}"
            yield f"the worth of {unseen}", f"no list of the log holds {unseen}"

        # the level of gains, which a DCG has at every position from those that tell it
        if self.free_rows:
            where = self._places(self.free_rows)
            level = "how much better a document is than none"
            if self.graded:
                level = "whether a result of the worst grade is better than none"
            yield (
                f"{level} at {where}",
                f"both lists of a pair always have a {thing} at {where}, so only differences "
                f"between {thing}s are learned there, and their level is that of the other "
                "positions, or a convention",
            )

        # the level of discounts
        if self.free_columns:
            yield (
                "how high the discounts are",
                f"both lists of every pair hold the same {thing}s in another order, so "
                f"{ONLY_STEPS}, and their level is a convention",
            )

        # weights for which there are too few pairs
        if self.missing:
            rows, columns = map(np.unique, np.nonzero(self.open_cells))
            where = self._places(rows)
            which = listed(names[grade] for grade in columns)
            yield (
                f"the exact worth of {thing} {which} at {where}",
                f"at least {number_of(self.missing, 'more pairs', ',')} that differ there would "
                "tell the rest; without them the QP takes the smallest weights that fit",
            )


def visibility_of(log: Columns) -> Visibility:
    """Return what the pairs of a log identify."""
    first, second, n_grades = log.preferred, log.other, log.n_grades
    occurs = np.array([(first == g).any() or (second == g).any() for g in range(n_grades)])

    # evenly spread pairs, unless all pairs are few
    step = max(len(first) // SAMPLE, 1)
    seen = visibility(log, gram_matrix(first[::step], second[::step], n_grades), occurs)

    # all pairs show no more if these leave constants alone, and in all a position has both grades
    one_sided = ((first >= 0) != (second >= 0)).any(axis=0)[[*seen.free_rows]].any()
    if step == 1 or not (seen.missing or seen.free_columns or one_sided):
        return seen
    return visibility(log, gram_matrix(first, second, n_grades), occurs)


def visibility(log: Any, gram: Floats, occurs: Flags) -> Visibility:
    """Return what a log identifies, from its `gram_matrix` and whether each grade occurs, (L,).

    Of the log, its scale, depth and names alone are looked at.

    Three kinds of directions are invisible by the structure of the pairs: a constant added to a
    position (where no pair has a known grade in one list only), a constant added to every grade (if
    no pair differs in its mix), and the weights of grades that never occur. The structural rank of
    full lists is K(L-1), and (K-1)(L-1) where the two lists of each pair share one mix. Any other
    invisible direction comes from too few pairs.
    """
    size, depth, n_grades = len(gram), log.depth, log.n_grades

    # directions that no pair shows
    values, vectors = np.linalg.eigh(gram)
    least = TOLERANCE * values[-1]
    invisible = vectors[:, values <= least].T

    # a constant at one position, and of one grade at all positions
    rows = np.repeat(np.eye(depth), n_grades, axis=1)
    columns = np.tile(np.eye(n_grades), depth)
    free_rows, free_columns = (
        (lines @ gram * lines).sum(axis=1) <= least for lines in (rows, columns)
    )

    # a basis of what structure hides, in which the sum of all rows is that of all columns
    unseen = np.eye(size)[np.tile(~occurs, depth)]
    hidden = np.vstack([rows[free_rows], columns[free_columns.all() & occurs], unseen])
    _, lengths, basis = np.linalg.svd(hidden, full_matrices=False)
    basis = basis[lengths > 1e-9]

    # weights in the other directions, which more pairs would show
    rest = invisible - invisible @ basis.T @ basis
    return Visibility(
        invisible.reshape(-1, depth, n_grades),
        rank=size - len(invisible),
        structural_rank=size - len(basis),
        free_rows=tuple(np.flatnonzero(free_rows).tolist()),
        free_columns=bool(free_columns.all()),
        unseen_grades=tuple(np.flatnonzero(~occurs).tolist()),
        open_cells=(np.abs(rest) > 1e-6).any(axis=0).reshape(depth, n_grades),
        graded=log.graded,
        grade_names=log.grade_names,
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
    size = n_weights(first.shape[1], n_grades)
    gram = np.zeros((size, size))
    grades = np.arange(n_grades, dtype=np.int8)[:, None]

    # blocks are small enough for exact counts in single precision
    step = max((1 << 20) // size, 1)
    for start in range(0, len(first), step):
        # the encodings of `encode` with a row a weight, which numpy compares many times faster
        columns = np.array([lists[start : start + step].T for lists in (first, second)])
        ahead, behind = (columns[:, :, None] == grades).view(np.int8)
        difference = (ahead - behind).reshape(size, -1).astype(np.float32)
        gram += difference @ difference.T
    return gram


def n_weights(depth: int, n_grades: int) -> int:
    """Return the number of weights of lists; raise InputError beyond `MOST_WEIGHTS`."""
    n = depth * n_grades
    if n > MOST_WEIGHTS:
        raise InputError(
            f"lists of {depth:,} positions with {n_grades} grades have {n:,} weights, and at most "
            f"{MOST_WEIGHTS:,} can be learned; cut the lists where users stop reading (depth=, "
            "convert --depth)"
        )
    return n
