"""Sections of reports: findings whose sentences come from a template, with the numbers behind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote

from dcglearn.foundation.finding import Cells, Finding, cells_of, plain, table_of
from dcglearn.foundation.markup import rendered
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import Fields, PolarsFrame


@dataclass(frozen=True, eq=False)
class Section(Finding):
    """A part of a report: sentences, numbers by name, and what a page shows of them.

    The sentence is empty if the section cannot say anything, and `asks` tells what would let it say
    more. `rows` are those of the table, with formats and titles of columns as findings have them.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", one_line(self.sentence))

    @classmethod
    def told(cls, part: str, numbers: Mapping[str, Any], **shown: Any) -> Self:
        """Return a section whose sentences the template of a part makes of its numbers."""
        return cls(*worded(part, **numbers), numbers, **shown)

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


def worded(part: str, **numbers: Any) -> tuple[str, list[str], list[str]]:
    """Return the sentence, notes and asks that a section's template makes of its numbers.

    Lines of the template are the sentence, notes, and asks, which begin with ``+``.
    """
    text = rendered(f"audits/words/{part}.txt", **numbers)
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    asks = [line.removeprefix("+ ") for line in lines if line.startswith("+ ")]
    sentences = [line for line in lines if not line.startswith("+ ")]
    return "".join(sentences[:1]), sentences[1:], asks


def json_address(values: Fields) -> str:
    """Return plain values as the address of a JSON file that a page holds."""
    text = json.dumps(values, separators=(",", ":"))
    return f"data:application/json,{quote(text, safe=',:[]{}')}"
