"""Remarks on lines of a rejected status and on repeated ones, which are left out if that is asked
for.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.readers.column_roles import Table, by_role
from dcglearn.readers.line_formats import Reshaped, Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import word_of

DUPLICATES = "duplicates"
"""The word that leaves out lines that repeat an earlier one."""

KEY = ("id", "rater", "winner", "a", "b")
"""The columns of a line that repeats an earlier one."""

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


class KeptLines(Reshaped):
    """Judgements without the lines whose status, or repetition of an earlier line, a mapping leaves
    out.
    """

    def __init__(self, rows: Source, mapping: LogMapping) -> None:
        super().__init__(rows, rows.roles)
        self.words = {word.strip().lower() for word in str(mapping.leave_out).split(",")}
        self._reasons: dict[int, str] = {}

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield the lines that are kept; those that cannot be read are, so that the reader names
        them.
        """
        seen: set[str] = set()
        for number, item in self._rows:
            reason = self._reason(item, seen)
            if reason is None:
                yield number, item
            else:
                self._reasons[number] = reason

    def _reason(self, item: Any, seen: set[str]) -> str | None:
        """Return why a line is left out, None if it counts."""
        with contextlib.suppress(InputError):
            record = self._rows.record(item)
            status = word_of(record.get("status", ""))
            if status.lower() in self.words - {DUPLICATES}:
                return f"lines of status {status}"
            key = repr([record.get(role) for role in KEY])
            if (
                DUPLICATES in self.words
                and record.get("id")
                and record.get("rater")
                and key in seen
            ):
                return "lines that repeat an earlier one"
            seen.add(key)
        return None

    def left_out(self) -> dict[str, int]:
        """Return the numbers of lines that were left out, by reason."""
        return dict(Counter(self._reasons.values()))


def with_kept(source: Source, mapping: LogMapping) -> Source:
    """Return the source without the lines that a mapping leaves out."""
    if mapping.leave_out is None or "status" not in source.roles:
        return source
    kept = KeptLines(source, mapping)
    if not source.has("status") and kept.words != {DUPLICATES}:
        accepted = ", ".join(source.roles["status"].names)
        raise InputError(
            f"leave_out={mapping.leave_out!r} needs a column of statuses (accepted names: {accepted})"
        )
    return kept


def remarks_on(table: Table, source: Source) -> tuple[str, ...]:
    """Return remarks on lines that count and are hardly meant to, of a rejected status or repeated,
    and on winners.
    """
    remarks = {}
    total = len(next((table[role] for role in ("a", "list") if role in table), ()))
    if "status" in table:
        name = str(
            by_role(source.names, {"status": source.roles["status"]}).get("status", "status")
        )
        rejected = NOT_APPROVED if name.lower() == "approved" else REJECTED
        counts = Counter(word for word in table["status"].tolist() if word.lower() in rejected)
        remarks[",".join(sorted(counts))] = (
            sum(counts.values()),
            f"have the {name} {', '.join(sorted(counts))}",
        )
    if {"id", "rater", "winner"} <= table.keys() and not source.has("supersedes"):
        remarks[DUPLICATES] = (
            _n_repeated(table),
            "repeat the id, rater, lists and verdict of an earlier line",
        )
    counted = tuple(
        f"{n:,} of {total:,} lines {what}; leave_out={words!r} (dcglearn convert --leave-out {words}) leaves them out"
        for words, (n, what) in remarks.items()
        if n
    )
    return (source.doubt, *counted) if source.doubt else counted


def _n_repeated(table: Table) -> int:
    """Return the number of lines that repeat an earlier one; those without an id or a rater do
    not.
    """
    import polars as pl

    # lines of one id and rater
    names = pl.DataFrame(
        {"id": table["id"], "rater": table["rater"]}, schema_overrides={"id": pl.String}
    )
    again = names.is_duplicated() & (names["id"] != "") & (names["rater"] != "")
    rows = np.flatnonzero(again.to_numpy())

    # of which some have the same lists and verdict
    winner: Any = table["winner"]
    values = [
        getattr(winner, "codes", winner),
        *(table[side] for side in ("a", "b") if side in table),
    ]
    keys = {
        (*names.row(row), *(str(column[row].tolist()) for column in values))
        for row in rows.tolist()
    }
    return len(rows) - len(keys)
