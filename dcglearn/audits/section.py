"""Sections of reports: findings that are made where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.validation import Fields, PolarsFrame


@dataclass(frozen=True, eq=False)
class Section(Finding):
    """A part of a report: sentences, the rows of a table, and pictures."""

    sentence: str
    notes: Sequence[str] = ()
    rows: Sequence[Fields] = field(default=(), repr=False)
    caption: str = field(default="", repr=False)
    pictures: list[Fields] = field(default_factory=list, repr=False)

    @property
    def table(self) -> PolarsFrame:
        """The rows of the table, as a frame."""
        return table_of(self.rows)
