"""Verdicts that do not count: those that a later line supersedes, and those that merged logs hold twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.validation import Grades

if TYPE_CHECKING:
    import polars as pl

COUNTS, SUPERSEDED, REPEATED, WITHDRAWING = range(4)

REASONS = {
    SUPERSEDED: "superseded verdicts",
    REPEATED: "verdicts already read under the same id",
    WITHDRAWING: "lines withdrawing a verdict",
}
"""What a reader calls the lines that it leaves out."""


def reasons_of(ids: Iterable[Any], supersedes: Iterable[Any], is_open: Iterable[Any]) -> Grades:
    """Return why each line is left out, shape (n,): 0 if it counts, else a key of `REASONS`.

    Blank ids are None or the empty text. A line without a winner that supersedes another withdraws it.
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


def marks_of(frame: pl.DataFrame, columns: Mapping[str, str]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the ids of a table's rows, the ids that they supersede, and whether they are open; blank where absent."""
    import polars as pl

    def texts(role: str) -> list[Any]:
        return frame[columns[role]].cast(pl.String).to_list() if role in columns else [None] * len(frame)

    return texts("id"), texts("supersedes"), [str(winner).lower() == "open" for winner in texts("winner")]


def reasons_of_parts(parts: Iterable[tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]) -> list[Grades]:
    """Return `reasons_of` the lines of each part of one log, given as ids, superseded ids and whether each is open."""
    columns = [tuple(map(list, part)) for part in parts]
    ends = np.cumsum([0, *(len(ids) for ids, _, _ in columns)])
    whole = reasons_of(*([value for part in columns for value in part[i]] for i in range(3)))
    return [whole[start:stop] for start, stop in pairwise(ends)]
