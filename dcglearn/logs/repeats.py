"""Repeated judgements: units of agreement, pairs shown both ways, superseded verdicts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from dcglearn.foundation.validation import Flags, Floats, Grades, Indices, Integers, PolarsFrame
from dcglearn.logs.columns import Columns, ties_of, ways_of
from dcglearn.logs.unique_rows import list_numbers, numbered, pair_numbers, unique_rows

INCONSISTENT = ("keep", "half", "tie")
"""How two differing verdicts of one rater on a pair shown both ways count."""

COUNTS, SUPERSEDED, REPEATED, WITHDRAWING = range(4)

REASONS = {
    SUPERSEDED: "superseded verdicts",
    REPEATED: "verdicts already read under the same id",
    WITHDRAWING: "lines withdrawing a verdict",
}
"""A reader's reasons for lines that it leaves out."""


@dataclass(frozen=True, eq=False)
class Units:
    """What was judged, whichever of its two lists was preferred or shown first.

    `number`, shape (n,), counts the units from 0. `value`, shape (n,), is the verdict on the unit:
    0 for a tie, else the strength (1 without strengths), positive for one of its lists and negative
    for the other. `way`, shape (n,), is 1 where that one was shown first and -1 where the other
    was; 0 where the log does not say.
    """

    number: Indices
    value: Floats
    way: Integers


def units(log: Columns) -> Units:
    """Return the units of a log: one query and documents or, without names, lists of grades."""
    # the pair of lists, named or not, and which of them is ahead
    number = np.column_stack(list_numbers(log.preferred, log.other))
    if log.docs is not None:
        names = numbered(log.docs.astype(str)).reshape(-1, 2)
        number = np.where(log.docs == "", number, number.max(initial=0) + 1 + names)
    first, second = number.T
    side = np.sign(second - first)
    pair = pair_numbers(first, second)
    if log.query is not None:
        pair = unique_rows(np.column_stack([numbered(log.query), pair]).astype(np.int64))[2]

    # the verdict on it
    strength = 1.0 if log.strength is None else log.strength
    value = side * np.where(ties_of(log), 0.0, strength)
    return Units(pair, value, side * ways_of(log))


@dataclass(frozen=True, eq=False)
class ShownBothWays:
    """The pairs that one rater judged both ways round.

    `rater`, shape (m,), is the rater's number (0 where the log names none), `same`, shape (m,),
    whether all verdicts on the pair agree, and `member`, shape (n,), the number of this pair for
    each judgement of the log, -1 for none.
    """

    rater: Integers
    same: Flags
    member: Indices


def shown_both_ways(log: Columns) -> ShownBothWays:
    """Return the pairs that one rater judged both ways round; strengths do not matter."""
    # groups of one rater's verdicts on one pair
    of = units(log)
    rater = np.zeros(len(log), np.intp) if log.rater is None else numbered(log.rater)
    keys, _, group = unique_rows(np.column_stack([rater, of.number]).astype(np.int64))

    def occurs(member: Any) -> Flags:
        """Return whether any verdict of each group is such a member."""
        counts = np.bincount(group[member], minlength=len(keys))
        return np.asarray(counts > 0)

    # groups shown both ways, and whether one verdict alone occurs in them
    both = np.flatnonzero(occurs(of.way == 1) & occurs(of.way == -1))
    n_verdicts = np.sum([occurs(np.sign(of.value) == verdict) for verdict in (-1, 0, 1)], axis=0)

    place = np.full(len(keys), -1)
    place[both] = np.arange(len(both))
    return ShownBothWays(keys[both, 0], (n_verdicts == 1)[both], place[group])


def reasons_of(ids: Iterable[Any], supersedes: Iterable[Any], is_open: Iterable[Any]) -> Grades:
    """Return why each line is left out, shape (n,): 0 if it counts, else a key of `REASONS`.

    Blank ids are None or the empty text. A line without a winner that supersedes another withdraws
    it.
    """
    # ids that a later line supersedes
    lines = list(zip(ids, supersedes, is_open, strict=True))
    gone = {target for _, target, _ in lines if target}

    # of lines with one id, the first counts
    seen: set[Any] = set()
    reasons = np.zeros(len(lines), np.int8)
    for row, (name, target, unanswered) in enumerate(lines):
        if name and name in seen:
            reasons[row] = REPEATED
        elif name and name in gone:
            reasons[row] = SUPERSEDED
        elif target and unanswered:
            reasons[row] = WITHDRAWING
        seen.add(name)
    return reasons


RowMarks: TypeAlias = tuple[list[Any], list[Any], list[Any]]
"""Each row's id, the id that it supersedes, and whether it is open."""


def marks_of(read: Callable[[list[str]], PolarsFrame], columns: Mapping[str, str]) -> RowMarks:
    """Return the marks of rows; None where they have none.

    `read` returns named columns.
    """
    import polars as pl

    frame = read([columns[role] for role in ("id", "supersedes", "winner") if role in columns])

    def texts(role: str) -> list[Any]:
        if role not in columns:
            return [None] * len(frame)
        return frame[columns[role]].cast(pl.String).to_list()

    is_open = [str(winner).lower() == "open" for winner in texts("winner")]
    return texts("id"), texts("supersedes"), is_open


def reasons_of_parts(
    parts: Iterable[tuple[Sequence[Any], Sequence[Any], Sequence[Any]]],
) -> list[Grades]:
    """Return `reasons_of` the lines of each part of one log, given as `marks_of` returns them."""
    columns = [tuple(map(list, part)) for part in parts]
    ends = np.cumsum([0, *(len(ids) for ids, _, _ in columns)])
    whole = reasons_of(*([value for part in columns for value in part[i]] for i in range(3)))
    return [whole[start:stop] for start, stop in pairwise(ends)]
