"""Readers by name: gains and discounts learned from real logs, ``reader:NAME[@K]``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
"""The readers of the package: curves and bands of `figures/real_logs.csv`, and of two models."""


@cache
def readers(file: Path = FILE) -> dict[str, DCG]:
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
                found[name] = _reader(entry)
    return found


def _reader(entry: Fields) -> DCG:
    """Return a reader's DCG, its notes what `show` prints: who, source, size, date and bands.

    Raise InputError if a field of the entry is missing, or of another form.
    """
    # the 90% bands of gains, and of discounts as shares of their sum: lower and upper ends
    bands = {
        "gain_band": "gains, the worst grade first",
        "share_band": "discounts as shares of their sum",
    }

    # who reads, where the log comes from, its size, how the curves were learned, and when
    texts, curves = ("title", "source", "size", "learned", "date"), ("gains", "discounts")
    own = fields_of(entry, (*texts, *curves, *bands), (), "a reader")
    for name in texts:
        if not isinstance(own[name], str):
            raise InputError(f'"{name}" holds {own[name]!r}, expected a text')
    for name in (*curves, *bands):
        check_numbers(own[name], name)

    notes = [
        f"{own['title']}; {own['size']}; learned {own['date']}, {own['learned']}",
        f"source: {own['source']}",
    ]

    # bands are as long as their curves
    dcg = DCG(own["gains"], own["discounts"])
    for curve, (band, words) in zip((dcg.gains, dcg.discounts), bands.items(), strict=True):
        ends = own[band] if isinstance(own[band], list) else []
        if [len(end) for end in ends if isinstance(end, list)] != [len(curve)] * 2:
            raise InputError(f'"{band}" must hold 2 lists of {len(curve)} numbers')
        shown = [f"{low:.2f} to {high:.2f}" for low, high in zip(*ends, strict=True)]
        notes.append(f"90% band of its {words}: {', '.join(shown)}")
    return replace(dcg, notes=tuple(notes))


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
        return readers()[self.name]

    def deep(self, depth: int | None) -> int:
        """Return K, or where the name has none its own number of positions, up to `depth`."""
        return self.depth or min(depth or self._own.depth, self._own.depth)

    def at(self, depth: int) -> str:
        """Return the name with its depth."""
        return f"reader:{self.name}@{self.deep(depth)}"

    def metric(self, n_grades: int | None = None, depth: int | None = None) -> DCG:
        """Return its DCG for L grades and K positions; by default its own.

        Gains are read off the line through its own, by the grade's share of the scale; positions
        below its own count nothing.
        """
        own, size = self._own, whole_number(n_grades or self.n_grades, "n_grades")
        deep = self.depth or depth or own.depth

        # gains, on the scale from 0 to 1
        scale = np.linspace(0, 1, own.n_grades)
        gains = np.interp(np.linspace(0, 1, size), scale, own.gains)

        # discounts, with nothing below the last
        discounts = np.pad(own.discounts[:deep], (0, max(deep - own.depth, 0)))
        notes = own.notes
        if size != own.n_grades:
            notes += (f"learned with {own.n_grades} grades; gains of {size} are read off",)
        return DCG(gains, discounts, notes=notes)
