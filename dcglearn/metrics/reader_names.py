"""Readers by name: gains and discounts learned from real logs, ``reader:NAME[@K]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from dcglearn.foundation.inputs import read_json_object
from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.validation import Fields, InputError, errors_in, whole_number
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.saved_metric import check_format, check_numbers, fields_of
from dcglearn.metrics.textbook import NamedMetric

FILE = Path(__file__).with_name("readers.json")
"""The readers of the package, which ``python -m simulations.readers --names`` writes."""

CURVES = ("gains", "discounts")
BANDS = ("gain_band", "share_band")
"""An entry's curves, and the 90% bands of gains, and of discounts as shares of their sum: the lower
and the upper ends.
"""


@dataclass(frozen=True, eq=False)
class Reader:
    """A reader's DCG, of L grades and K positions, its notes, and the ends of its bands."""

    dcg: DCG
    about: Fields

    @classmethod
    def of(cls, entry: Fields) -> Self:
        """Read an entry; raise InputError if a field is missing, or of another form."""
        # who reads, where the log comes from, its size, how the curves were learned, and when
        texts = ("title", "source", "size", "learned", "date")
        own = fields_of(entry, (*texts, *CURVES, *BANDS), (), "a reader")
        for name in texts:
            if not isinstance(own[name], str):
                raise InputError(f'"{name}" holds {own[name]!r}, expected a text')
        for name in (*CURVES, *BANDS):
            check_numbers(own[name], name)

        # bands are as long as their curves
        dcg = DCG(own["gains"], own["discounts"])
        for curve, band in zip((dcg.gains, dcg.discounts), BANDS, strict=True):
            ends = own[band] if isinstance(own[band], list) else []
            if [len(end) for end in ends if isinstance(end, list)] != [len(curve)] * 2:
                raise InputError(f'"{band}" must hold 2 lists of {len(curve)} numbers')
        return cls(dcg, own)

    def notes(self) -> tuple[str, ...]:
        """Return what `show` prints: who, source, size, date and bands."""
        about = self.about
        notes = [
            f"{about['title']}; {about['size']}; learned {about['date']}, {about['learned']}",
            f"source: {about['source']}",
        ]
        words = ("gains, the worst grade first", "discounts as shares of their sum")
        for word, band in zip(words, BANDS, strict=True):
            ends = [f"{low:.2f} to {high:.2f}" for low, high in zip(*about[band], strict=True)]
            notes.append(f"90% band of its {word}: {', '.join(ends)}")
        return tuple(notes)

    def at(self, n_grades: int, depth: int) -> DCG:
        """Return the DCG for another number of grades and positions.

        Gains are read off the line through its own, by the grade's share of the scale; positions
        below its own count nothing.
        """
        # gains, on the scale from 0 to 1
        own = np.linspace(0, 1, self.dcg.n_grades)
        gains = np.interp(np.linspace(0, 1, n_grades), own, self.dcg.gains)

        # discounts, with nothing below the last
        discounts = np.zeros(depth)
        kept = min(depth, self.dcg.depth)
        discounts[:kept] = self.dcg.discounts[:kept]
        notes = self.notes()
        if n_grades != self.dcg.n_grades:
            notes += (f"learned with {self.dcg.n_grades} grades; gains of {n_grades} are read off",)
        return DCG(gains, discounts, notes=notes)


@cache
def readers(file: Path = FILE) -> dict[str, Reader]:
    """Return the readers by name; raise InputError, which names the file, if it is damaged."""
    values = read_json_object(file)
    with errors_in(file):
        check_format(values, ["readers"], 1)
        entries = fields_of(values, ["readers"], (), "a file of readers")["readers"]
        if not isinstance(entries, dict):
            raise InputError('"readers" must hold an entry by name')
        found = {}
        for name, entry in entries.items():
            with errors_in(name):
                found[name] = Reader.of(entry)
    return found


@dataclass(frozen=True)
class ReaderName(NamedMetric):
    """The name of a reader.

    Examples
    --------
    >>> ReaderName.of("reader:music").metric().discounts.round(2)
    array([1.  , 0.61, 0.48, 0.41, 0.37])
    """

    name: str
    depth: int | None

    _pattern: ClassVar[str] = r"reader:([^@]*)(?:@(\d{1,7}))?"

    @classmethod
    def of(cls, word: str, name: str = "metric") -> Self:
        """Return the reader of a word of this form; raise InputError for one that is not known."""
        match = re.fullmatch(cls._pattern, word)
        assert match is not None, word
        known = readers()
        if match[1] not in known:
            names = ", ".join(f"reader:{one}" for one in known)
            hint = nearest(match[1], known)
            raise InputError(f"{name} {word!r} is not one of {names}{hint}")
        depth = whole_number(int(match[2]), "depth") if match[2] else None
        return cls(match[1], depth)

    @property
    def n_grades(self) -> int:  # type: ignore[override]
        """Its own number of grades."""
        return self._own.n_grades

    @property
    def _own(self) -> DCG:
        return readers()[self.name].dcg

    def deep(self, depth: int | None) -> int:
        """Return K, or where the name has none its own number of positions, up to `depth`."""
        return self.depth or min(depth or self._own.depth, self._own.depth)

    def at(self, depth: int) -> str:
        """Return the name with its depth."""
        return f"reader:{self.name}@{self.deep(depth)}"

    def metric(self, n_grades: int | None = None, depth: int | None = None) -> DCG:
        """Return its DCG for L grades and K positions; by default its own."""
        n_grades = whole_number(n_grades or self.n_grades, "n_grades")
        return readers()[self.name].at(n_grades, self.depth or depth or self._own.depth)
