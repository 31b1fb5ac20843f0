"""Remarks on lines of a rejected status and on repeated ones, which are left out if that is asked
for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import InputError
from dcglearn.readers.line_formats import Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.rebuilt import Rebuilt
from dcglearn.readers.roles import Table, by_role
from dcglearn.readers.winner_words import word_of

if TYPE_CHECKING:
    import polars as pl

    from dcglearn.readers.cells import RawCells

DUPLICATES = "duplicates"
"""The word that leaves out lines that repeat an earlier one."""

REJECTED = {
    "rejected",
    "reject",
    "declined",
    "invalid",
    "discarded",
    "cancelled",
    "canceled",
    "draft",
    "failed",
}
"""Values of a status, in lower case, of lines that are hardly meant to count."""

NOT_APPROVED = REJECTED | {"no", "false", "0"}
"""Those of a column `approved`."""


class KeptLines(Rebuilt):
    """Judgements without the lines whose status, or repetition of an earlier line, a mapping leaves
    out.
    """

    def __init__(self, rows: Source, mapping: LogMapping) -> None:
        super().__init__(rows, rows.roles)
        self.words = {word.strip().lower() for word in str(mapping.leave_out).split(",")}
        self._reasons: dict[Any, str] = {}

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the lines that are kept; those that cannot be read are."""
        reasons = dict(self._of_status(rows))
        if DUPLICATES in self.words:
            counted = np.ones(rows.n, bool)
            counted[[*reasons, *rows.errors]] = False
            repeated = self._repeated(rows, counted)
            reasons |= dict.fromkeys(repeated, "lines that repeat an earlier one")

        # those that are left out, by their numbers
        numbers = (number for number, _ in self._rows)
        self._reasons = {
            number: reasons[row] for row, number in enumerate(numbers) if row in reasons
        }
        return rows.taken(np.delete(np.arange(rows.n), list(reasons)))

    def _of_status(self, rows: RawCells) -> Iterator[tuple[int, str]]:
        """Yield the lines of a status that is left out, and the reason."""
        values, index = rows.distinct("status", "status")
        for at, value in enumerate(values):
            status = "" if value is None else word_of(value)
            if status.lower() in self.words - {DUPLICATES}:
                for row in np.flatnonzero(index == at).tolist():
                    yield row, f"lines of status {status}"

    def _repeated(self, rows: RawCells, counted: NDArray[np.bool_]) -> list[int]:
        """Return the lines that repeat the id, rater, winner and lists of an earlier one, of those
        that are counted.
        """
        import polars as pl

        names = {}
        for role in ("id", "rater"):
            values, index = rows.distinct(role, self.roles[role].kind)
            has_name = np.array(list(map(bool, values)))[index] & counted
            names[role] = pl.Series(index).set(pl.Series(~has_name), None)
        judged = [
            rows.column(role, self.roles[role].kind)
            for role in ("winner", "a", "b")
            if role in rows.columns
        ]
        return _repeats(
            pl.DataFrame(names), lambda row: repr([column.at(row) for column in judged])
        )

    def left_out(self) -> dict[str, int]:
        """Return the numbers of lines that were left out, by reason."""
        return dict(Counter(self._reasons.values()))


def with_kept(source: Source, mapping: LogMapping) -> Source:
    """Return the source without the lines that a mapping leaves out."""
    if mapping.leave_out is None or "status" not in source.roles:
        return source
    kept = KeptLines(source, mapping)
    if not source.has("status") and kept.words != {DUPLICATES}:
        needed = f"a column of statuses (accepted names: {', '.join(source.roles['status'].names)})"
        raise InputError(f"leave_out={mapping.leave_out!r} needs {needed}")
    return kept


def remarks_on(table: Table, source: Source) -> tuple[str, ...]:
    """Return remarks on lines that count and are hardly meant to, of a rejected status or repeated,
    and on winners.
    """
    # lines of a rejected status, and repeated ones
    remarks = {}
    if "status" in table:
        role = {"status": source.roles["status"]}
        name = str(by_role(source.names, role).get("status", "status"))
        rejected = NOT_APPROVED if name.lower() == "approved" else REJECTED
        counts = Counter(word for word in table["status"].tolist() if word.lower() in rejected)
        words = sorted(counts)
        problem = f"have the {name} {', '.join(words)}"
        remarks[",".join(words)] = counts.total(), problem
    if {"id", "rater", "winner"} <= table.keys() and not source.has("supersedes"):
        problem = "repeat the id, rater, lists and verdict of an earlier line"
        remarks[DUPLICATES] = _n_repeated(table), problem

    # in words, with what leaves them out
    total = len(next((table[role] for role in ("a", "list") if role in table), ()))
    said = [source.doubt] if source.doubt else []
    for word, (n, problem) in remarks.items():
        if n:
            remedy = f"leave_out={word!r} (dcglearn convert --leave-out {word}) leaves them out"
            said.append(f"{n:,} of {total:,} lines {problem}; {remedy}")
    return tuple(said)


def _n_repeated(table: Table) -> int:
    """Return the number of lines that repeat an earlier one."""
    import polars as pl

    # lines without an id or a rater repeat none
    ids, raters = (pl.Series(table[role], dtype=pl.String) for role in ("id", "rater"))
    names = pl.DataFrame({"id": ids.replace("", None), "rater": raters.replace("", None)})
    winner = table["winner"]
    judged = [
        getattr(winner, "codes", winner),
        *(table[side] for side in ("a", "b") if side in table),
    ]
    return len(_repeats(names, lambda row: str([column[row].tolist() for column in judged])))


def _repeats(names: pl.DataFrame, judged: Callable[[int], str]) -> list[int]:
    """Return the rows with the names and the text of what was judged of an earlier row; rows that
    lack a name repeat none.
    """
    import polars as pl

    several = (
        names.is_duplicated() & ~names.select(pl.any_horizontal(pl.all().is_null())).to_series()
    )
    seen: set[tuple[Any, ...]] = set()
    repeats = []
    for row in several.arg_true().to_list():
        key = (*names.row(row), judged(row))
        if key in seen:
            repeats.append(row)
        seen.add(key)
    return repeats
