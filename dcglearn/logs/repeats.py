"""Judgements that repeat: units of agreement, pairs shown both ways, and verdicts that later lines
supersede.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, Grades, Integers, PolarsFrame
from dcglearn.logs.columns import Columns
from dcglearn.logs.unique_rows import list_numbers, pair_numbers, unique_rows

INCONSISTENT = ("keep", "half", "tie")
"""What two verdicts that one rater gave on a pair shown both ways count where they differ."""

COUNTS, SUPERSEDED, REPEATED, WITHDRAWING = range(4)

REASONS = {
    SUPERSEDED: "superseded verdicts",
    REPEATED: "verdicts already read under the same id",
    WITHDRAWING: "lines withdrawing a verdict",
}
"""What a reader calls the lines that it leaves out."""


@dataclass(frozen=True, eq=False)
class Units:
    """What was judged, whichever of its two lists was preferred or shown first.

    `number`, shape (n,), counts the units from 0. `value`, shape (n,), is the verdict on the unit:
    0 for a tie, else the strength (1 without strengths), positive for one of its lists and negative
    for the other. `way`, shape (n,), is 1 where that one was shown first and -1 where the other
    was; 0 where the log does not say.
    """

    number: NDArray[np.intp]
    value: Floats
    way: Integers


def units(log: Columns) -> Units:
    """Return the units of a log: the same query and documents or, where these have no names, lists
    of grades.
    """
    if log.docs is None:
        first, second = list_numbers(log.preferred, log.other)
    else:
        first, second = np.unique(log.docs.astype(str), return_inverse=True)[1].reshape(-1, 2).T
    side = np.sign(second - first)
    pair = pair_numbers(first, second)
    if log.query is not None:
        query = np.unique(log.query, return_inverse=True)[1]
        pair = unique_rows(np.column_stack([query, pair]).astype(np.int64))[2]
    strength = np.ones(len(log)) if log.strength is None else log.strength
    value = side * (strength if log.tie is None else np.where(log.tie, 0.0, strength))
    way = (
        np.zeros(len(log), dtype=np.int64)
        if log.swapped is None
        else side * np.where(log.swapped, -1, 1)
    )
    return Units(pair, value, way)


@dataclass(frozen=True, eq=False)
class ShownBothWays:
    """The pairs that one rater judged both ways round.

    `rater`, shape (m,), is the rater's number (0 where the log names none), `same`, shape (m,),
    whether all verdicts on the pair agree, and `member`, shape (n,), the number of this pair for
    each judgement of the log, -1 for none.
    """

    rater: Integers
    same: NDArray[np.bool_]
    member: NDArray[np.intp]


def shown_both_ways(log: Columns) -> ShownBothWays:
    """Return the pairs that one rater judged both ways round; verdicts of different strength for
    one list agree.
    """
    of = units(log)
    rater = (
        np.zeros(len(log), np.intp)
        if log.rater is None
        else np.unique(log.rater, return_inverse=True)[1]
    )
    keys, _, group = unique_rows(np.column_stack([rater, of.number]).astype(np.int64))
    n = len(keys)
    ways = [np.bincount(group[of.way == way], minlength=n) for way in (1, -1)]
    verdicts = np.stack(
        [np.bincount(group[np.sign(of.value) == v], minlength=n) > 0 for v in (-1, 0, 1)]
    )
    both = np.flatnonzero((ways[0] > 0) & (ways[1] > 0))
    place = np.full(n, -1)
    place[both] = np.arange(len(both))
    return ShownBothWays(keys[both, 0], (verdicts.sum(axis=0) == 1)[both], place[group])


def reasons_of(ids: Iterable[Any], supersedes: Iterable[Any], is_open: Iterable[Any]) -> Grades:
    """Return why each line is left out, shape (n,): 0 if it counts, else a key of `REASONS`.

    Blank ids are None or the empty text. A line without a winner that supersedes another withdraws
    it.
    """
    lines = list(zip(ids, supersedes, is_open, strict=True))
    gone = {target for _, target, _ in lines if target}
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


def marks_of(
    read: Callable[[list[str]], PolarsFrame], columns: Mapping[str, str]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return each row's id, superseded id and whether it is open, None where absent; `read` returns
    named columns.
    """
    import polars as pl

    frame = read([columns[role] for role in ("id", "supersedes", "winner") if role in columns])

    def texts(role: str) -> list[Any]:
        return (
            frame[columns[role]].cast(pl.String).to_list()
            if role in columns
            else [None] * len(frame)
        )

    return (
        texts("id"),
        texts("supersedes"),
        [str(winner).lower() == "open" for winner in texts("winner")],
    )


def reasons_of_parts(
    parts: Iterable[tuple[Sequence[Any], Sequence[Any], Sequence[Any]]],
) -> list[Grades]:
    """Return `reasons_of` the lines of each part of one log, given as ids, superseded ids and
    whether each is open.
    """
    columns = [tuple(map(list, part)) for part in parts]
    ends = np.cumsum([0, *(len(ids) for ids, _, _ in columns)])
    whole = reasons_of(*([value for part in columns for value in part[i]] for i in range(3)))
    return [whole[start:stop] for start, stop in pairwise(ends)]
