"""Sections of reports: findings with the numbers behind their sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from dcglearn.foundation.finding import Cells, Finding, cells_of, plain, table_of
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import Fields, PolarsFrame


@dataclass(frozen=True, eq=False)
class Section(Finding):
    """A part of a report: sentences, numbers by name, and what a page shows of them.

    The sentence is empty if the section cannot say anything, and `asks` tells what would let it say
    more. `rows` are those of the table, with formats and titles of columns as findings have them.
    Of the first part, a page shows `figures`, each with what it is, and what `todo` says to do.
    """

    sentence: str
    notes: Sequence[str] = ()
    asks: Sequence[str] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    caption: str = ""
    rows: Sequence[Fields] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    pictures: list[Fields] = field(default_factory=list)
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    figures: Sequence[tuple[str, str]] = ()
    todo: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", one_line(self.sentence))

    def __getitem__(self, name: str) -> Any:
        """Return the number, or numbers, of this name."""
        return plain(self.numbers[name])

    @property
    def table(self) -> PolarsFrame:
        """The rows of the table, as a frame."""
        return table_of(self.rows)

    @property
    def cells(self) -> Cells:
        """The table as text."""
        return cells_of(self.table, self.formats, self.labels)

    def to_dict(self) -> Fields:
        """Return the sentences, the table and the numbers as plain values."""
        values = {"sentence": self.sentence, "notes": [*self.notes], "asks": [*self.asks]}
        return values | {"table": plain(self.rows)} | plain(self.numbers)


def json_address(values: Fields) -> str:
    """Return plain values as the address of a JSON file that a page holds."""
    text = json.dumps(values, separators=(",", ":"))
    return f"data:application/json,{quote(text, safe=',:[]{}')}"
