"""Lines of a rejected status and repeated lines: remarks on them, and logs without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.validation import InputError
from dcglearn.readers.column_roles import Counts, Table, by_role
from dcglearn.readers.line_formats import Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.rebuilt import Rebuilt, numbered
from dcglearn.readers.winner_words import word_of

if TYPE_CHECKING:
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


class KeptLines(Rebuilt):
    """Judgements without the lines that `leave_out` names, by status or as duplicates."""

    def __init__(self, rows: Source, mapping: LogMapping) -> None:
        super().__init__(rows, rows.roles)
        self.words = {word.lower() for word in names_in(mapping.leave_out)}
        self._reasons: dict[Any, str] = {}

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the lines that are kept; those that cannot be read are."""
        import polars as pl

        # lines of a status
        values, index = rows.distinct("status", "status")
        statuses = ["" if value is None else word_of(value) for value in values]
        words = self.words - {DUPLICATES}
        is_left = np.array([status.lower() in words for status in statuses], bool)[index]
        is_left[list(rows.errors)] = False
        left = np.flatnonzero(is_left).tolist()
        reasons = {row: f"lines of status {statuses[index[row]]}" for row in left}

        # other lines that repeat one, by their ids and raters
        if DUPLICATES in self.words:
            is_left[list(rows.errors)] = True
            kinds = {"id": "identity", "rater": "label", "winner": "winner"}
            kinds |= {"a": "grades", "b": "grades"}
            columns = {}
            for role, kind in kinds.items():
                values, index = rows.distinct(role, kind)
                columns[role] = numbered((value or None for value in values), index)
            columns["id"] = columns["id"].set(pl.Series(is_left), None)
            reasons |= dict.fromkeys(_repeats(columns), "lines that repeat an earlier one")

        # reasons by the numbers of lines
        numbers = (number for number, _ in self._rows)
        self._reasons = {
            number: reasons[row] for row, number in enumerate(numbers) if row in reasons
        }
        return rows.taken(np.delete(np.arange(rows.n), list(reasons)))

    def left_out(self) -> Counts:
        """Return the numbers of lines that were left out, by reason."""
        return dict(Counter(self._reasons.values()))


def with_kept(source: Source, mapping: LogMapping) -> Source:
    """Return the source without the lines that a mapping leaves out."""
    if mapping.leave_out is None or "status" not in source.roles:
        return source
    kept = KeptLines(source, mapping)
    if not source.has("status") and kept.words != {DUPLICATES}:
        raise InputError(
            f"leave_out={mapping.leave_out!r} needs a column of statuses (accepted names: "
            f"{', '.join(source.roles['status'].names)})"
        )
    return kept


def remarks_on(table: Table, source: Source) -> tuple[str, ...]:
    """Return remarks on lines that count though rejected or repeated, and on winners."""
    # lines of a rejected status
    remarks = {}
    if "status" in table:
        role = {"status": source.roles["status"]}
        name = str(by_role(source.names, role).get("status", "status"))
        rejected = REJECTED | ({"no", "false", "0"} if name.lower() == "approved" else set())
        counts = Counter(word for word in table["status"].tolist() if word.lower() in rejected)
        words = sorted(counts)
        problem = f"have the {name} {', '.join(words)}"
        remarks[",".join(words)] = counts.total(), problem

    # lines that repeat others
    if {"id", "rater", "winner"} <= table.keys() and not source.has("supersedes"):
        import polars as pl

        texts = {role: pl.Series(table[role], dtype=pl.String) for role in ("id", "rater")}
        columns: Table = {role: values.replace("", None) for role, values in texts.items()}
        columns |= {side: table[side] for side in ("a", "b") if side in table}
        columns["winner"] = getattr(table["winner"], "codes", table["winner"])
        problem = "repeat the id, rater, lists and verdict of an earlier line"
        remarks[DUPLICATES] = len(_repeats(columns)), problem

    # in words, with what leaves them out
    total = len(next((table[role] for role in ("a", "list") if role in table), ()))
    said = [source.doubt] if source.doubt else []
    for word, (n, problem) in remarks.items():
        if n:
            said.append(
                f"{n:,} of {total:,} lines {problem}; leave_out={word!r} (dcglearn convert "
                f"--leave-out {word}) leaves them out"
            )
    return tuple(said)


def _repeats(columns: Mapping[str, Any]) -> list[int]:
    """Return the rows that equal an earlier one with an id and a rater."""
    import polars as pl

    lines = pl.DataFrame(columns).with_row_index("row").drop_nulls(["id", "rater"])
    lines = lines.filter(pl.struct("id", "rater").is_duplicated())
    return lines.filter(~pl.struct(*columns).is_first_distinct())["row"].to_list()
