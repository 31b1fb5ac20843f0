"""Raw cells of a column, and the checking of its distinct cells by a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from dcglearn.foundation.validation import Flags, InputError, Integers
from dcglearn.readers.line_formats import Refusals, shown, value_of
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import word_of

Cells: TypeAlias = "pl.Series | list[Any]"
"""The raw cells of a column: of one type, or of Python's types, None where a line has none."""


@dataclass(frozen=True)
class RawColumn:
    """The raw cells of a role.

    `texts` says that a text may stand for a value of another type, `may_be_empty` that a list may
    hold nothing.
    """

    role: str
    kind: str
    cells: Cells
    texts: bool = False
    mapping: LogMapping = field(default_factory=LogMapping)
    may_be_empty: bool = False

    def value(self, cell: Any) -> Any:
        """Return the value that a cell stands for, in the types of JSON; None if it is blank."""
        return value_of(cell, self.kind, self.texts)

    def at(self, row: int) -> Any:
        """Return the value of a row."""
        cell = self.cells[row]
        return self.value(cell.to_list() if isinstance(cell, pl.Series) else cell)

    def distinct(self) -> tuple[list[Any], Integers]:
        """Return the distinct cells, and the number of each row's cell, shape (n,)."""
        # a column of one plain type
        cells = self.cells
        if isinstance(cells, pl.Series) and not cells.dtype.is_nested():
            different = cells.unique(maintain_order=True)
            number = pl.int_range(len(different), eager=True)
            index = cells.replace_strict(different, number, return_dtype=pl.Int64).to_numpy()
            return different.to_list(), index

        # keys that tell numbers of two types apart, and every list
        place: dict[Any, int] = {}
        index = np.empty(len(cells), np.int64)
        different_cells: list[Any] = []
        for row, cell in enumerate(cells.to_list() if isinstance(cells, pl.Series) else cells):
            is_plain = cell is None or isinstance(cell, str | int | float)
            key = (type(cell), cell) if is_plain else row

            # a cell that is new, or was there
            index[row] = place.setdefault(key, len(different_cells))
            if index[row] == len(different_cells):
                different_cells.append(cell)
        return different_cells, index

    @cached_property
    def words(self) -> Counter[str]:
        """How often each word or number occurs."""
        cells, index = self.distinct()
        values = [self.value(cell) for cell in cells]
        is_word = np.array([isinstance(value, str | int | float) for value in values], bool)
        return counted([word_of(value) for value in values], index[is_word[index]])


def counted(words: list[str], index: Integers) -> Counter[str]:
    """Return how often each word occurs, where `index` holds the number of each row's word."""
    counts: Counter[str] = Counter()
    for word, n in zip(words, np.bincount(index, minlength=len(words)).tolist(), strict=True):
        if n:
            counts[word] += n
    return counts


def checked_list(values: Any, column: RawColumn, such: str) -> list[Any]:
    """Return a list, which holds nothing only where its column may; else raise InputError."""
    if not isinstance(values, list):
        raise InputError(f"{column.role} is {shown(values)}, not a list of {such}")
    if not values and not column.may_be_empty:
        raise InputError(f"{column.role} is an empty list; leave the line out")
    return values


@dataclass(frozen=True)
class Values:
    """Values of a column, an entry a row; rows that have none; refusals of the bad cells."""

    values: Any
    absent: Flags
    errors: Refusals


Rule: TypeAlias = "Callable[[Any, RawColumn], Any]"
"""From the value of a cell to what a log keeps of it, None for nothing; raises InputError."""


def refusals(rule: Rule, column: RawColumn, rows: Iterable[int]) -> Refusals:
    """Return what a rule has against rows."""
    errors = {}
    for row in rows:
        try:
            rule(column.at(row), column)
        except InputError as error:
            errors[row] = error
    return errors


def checked_cells(rule: Rule, column: RawColumn, missing: Any) -> tuple[list[Any], Values]:
    """Return what a rule makes of each distinct cell, and the values of a column so far.

    These are the number of each row's distinct cell. A cell without a value, or a bad one, becomes
    `missing`.
    """
    # what each cell becomes, or its refusal
    cells, index = column.distinct()
    kept: list[Any] = []
    errors: Refusals = {}
    absent = np.ones(len(cells), bool)
    for at, value in enumerate(map(column.value, cells)):
        # a bad cell has no value
        made = None
        if value is not None:
            try:
                made = rule(value, column)
            except InputError as error:
                errors[at] = error
        absent[at] = made is None
        kept.append(missing if made is None else made)

    # from distinct cells to rows
    is_bad = np.zeros(len(cells), bool)
    is_bad[list(errors)] = True
    bad = {row: errors[index[row]] for row in np.flatnonzero(is_bad[index]).tolist()}
    return kept, Values(index, absent[index], bad)
