"""Lines of a log that do not count: superseded verdicts, those read twice, withdrawals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from dcglearn.foundation.validation import Grades, PolarsFrame

COUNTS, SUPERSEDED, REPEATED, WITHDRAWING = range(4)

REASONS = {
    SUPERSEDED: "superseded verdicts",
    REPEATED: "verdicts already read under the same id",
    WITHDRAWING: "lines withdrawing a verdict",
}
"""A reader's reasons for lines that it leaves out."""


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
