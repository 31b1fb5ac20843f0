"""Sections of reports: findings whose sentences come from a template, with the numbers behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dcglearn.foundation.finding import Cells, Finding, plain, table_of
from dcglearn.foundation.markup import rendered
from dcglearn.foundation.validation import Fields, PolarsFrame


@dataclass(frozen=True, eq=False)
class Section(Finding):
    """A part of a report: sentences, numbers by name, and what a page shows of them.

    `said` is the sentence, empty if the section cannot say anything, `also` are the notes, and
    `asks` tells what would let it say more. `shown` is the table as text, the head first, `drawn`
    are the pictures, `longer` the texts and `held` the files.
    """

    said: str
    also: Sequence[str] = ()
    asks: Sequence[str] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    heading: str = ""
    caption: str = ""
    shown: Cells = field(default_factory=list)
    drawn: list[Fields] = field(default_factory=list)
    longer: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return the number, or numbers, of this name."""
        return self.numbers[name]

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        return self.said

    @property
    def notes(self) -> Sequence[str]:
        """Further sentences."""
        return self.also

    @property
    def pictures(self) -> list[Fields]:
        """Arguments of each picture."""
        return self.drawn

    @property
    def texts(self) -> Mapping[str, str]:
        """Longer texts, by title."""
        return self.longer

    @property
    def files(self) -> Mapping[str, str]:
        """Addresses that hold files, by name."""
        return self.held

    @property
    def cells(self) -> Cells:
        """The table as text."""
        return self.shown

    @property
    def table(self) -> PolarsFrame:
        """The table as it is shown."""
        head, *rows = self.shown or [[]]
        return table_of(dict(zip(head, row, strict=True)) for row in rows)

    def to_dict(self) -> Fields:
        """Return the sentences and the numbers as plain values."""
        sentences = {"sentence": self.said, "notes": [*self.also], "asks": [*self.asks]}
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
