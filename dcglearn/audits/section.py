"""Sections of reports: findings whose sentences come from a template, with the numbers behind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote

from dcglearn.foundation.finding import Cells, Finding, plain, table_of
from dcglearn.foundation.markup import rendered
from dcglearn.foundation.validation import Fields, PolarsFrame


@dataclass(frozen=True, eq=False)
class Section(Finding):
    """A part of a report: sentences, numbers by name, and what a page shows of them.

    The sentence is empty if the section cannot say anything, and `asks` tells what would let it say
    more. `cells` are the table as text, the head first.
    """

    sentence: str
    notes: Sequence[str] = ()
    asks: Sequence[str] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    caption: str = ""
    cells: Cells = field(default_factory=list)
    pictures: list[Fields] = field(default_factory=list)
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def told(cls, part: str, numbers: Mapping[str, Any], **shown: Any) -> Self:
        """Return a section whose sentences the template of a part makes of its numbers."""
        return cls(*worded(part, **numbers), numbers, **shown)

    def __getitem__(self, name: str) -> Any:
        """Return the number, or numbers, of this name."""
        return plain(self.numbers[name])

    @property
    def table(self) -> PolarsFrame:
        """The table as it is shown."""
        head, *rows = self.cells or [[]]
        return table_of(dict(zip(head, row, strict=True)) for row in rows)

    def to_dict(self) -> Fields:
        """Return the sentences and the numbers as plain values."""
        sentences = {"sentence": self.sentence, "notes": [*self.notes], "asks": [*self.asks]}
        return sentences | plain(self.numbers)


def worded(part: str, **numbers: Any) -> tuple[str, list[str], list[str]]:
    """Return the sentence, notes and asks that a section's template makes of its numbers.

    Lines of the template are the sentence, notes, and asks, which begin with ``+``.
    """
    text = rendered(f"audits/words/{part}.txt", **numbers)
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    asks = [line.removeprefix("+ ") for line in lines if line.startswith("+ ")]
    sentences = [line for line in lines if not line.startswith("+ ")]
    return "".join(sentences[:1]), sentences[1:], asks


def cells(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Cells:
    """Return a table as text, empty without rows; numbers with three decimals."""
    body = [[_cell(value) for value in row] for row in rows]
    return [[*head], *body] if body else []


def json_address(values: Fields) -> str:
    """Return plain values as the address of a JSON file that a page holds."""
    text = json.dumps(values, separators=(",", ":"))
    return f"data:application/json,{quote(text, safe=',:[]{}')}"


def interval(ends: Sequence[float | None], form: str = ".3f") -> str:
    """Return a value with its interval, empty if it is not known."""
    value, low, high = ends
    if value is None:
        return ""
    return f"{value:{form}} ({low or 0:{form}} to {high or 0:{form}})"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
