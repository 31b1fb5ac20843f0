"""Judgements made of all rows of a table of another shape at once, from its raw cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Flags, Indices, InputError
from dcglearn.readers.column_roles import Record
from dcglearn.readers.line_formats import Refusals, Reshaped
from dcglearn.readers.winner_words import word_of

if TYPE_CHECKING:
    import polars as pl

    from dcglearn.readers.cells import RawCells


class Rebuilt(Reshaped):
    """Judgements made by `rebuilt` from the raw cells of all rows; items are (number, row)."""

    @abstractmethod
    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements, which are in the order of their first rows."""

    @cached_property
    def cells(self) -> RawCells:
        """The raw cells of all judgements."""
        from dcglearn.readers.cells import raw_cells

        cells = self.rebuilt(replace(raw_cells(self._rows), rows=None))
        return cells if cells.n else replace(cells, columns={})

    def __iter__(self) -> Iterator[tuple[Any, tuple[int, Any]]]:
        """Yield each judgement with the number of its first row."""
        rows = np.arange(self.cells.n) if self.cells.rows is None else self.cells.rows
        first, n_judgements = 0, np.bincount(rows).tolist()
        for n, (number, item) in zip(n_judgements, self._rows, strict=False):
            for judgement in range(first, first + n):
                yield number, (judgement, item)
            first += n

    def record(self, item: tuple[int, Any]) -> Record:
        """Return the values of a judgement by role."""
        cells, judgement = self.cells, item[0]
        if judgement in cells.errors:
            raise cells.errors[judgement]
        return {
            role: cells.column(role, about.kind).at(judgement)
            for role, about in self.roles.items()
            if role in cells.columns
        }

    def raw(self, item: tuple[int, Any]) -> bytes:
        """Return the row of a judgement."""
        return self._rows.raw(item[1])


def refuse(errors: Refusals, is_bad: Flags, refusal: Callable[[int], str]) -> None:
    """Add the refusals of bad rows, except where something else is wrong with them."""
    for row in np.flatnonzero(is_bad).tolist():
        if row not in errors:
            errors[row] = InputError(refusal(row))


def replaced(cells: Any, rows: Indices, value: str) -> Any:
    """Return raw cells with a text in some rows."""
    import polars as pl

    if isinstance(cells, pl.Series) and cells.dtype == pl.String:
        return cells.clone().scatter(rows, value)
    cells = list(cells)
    for row in rows.tolist():
        cells[row] = value
    return cells


def word_in(value: Any) -> str | None:
    """Return a text or a number in lower case, None for another value."""
    return word_of(value).lower() if isinstance(value, str | int | float) else None


def words_by_row(cells: RawCells, role: str) -> NDArray[Any]:
    """Return the texts and numbers of a column in lower case, None for other values, shape (n,)."""
    values, index = cells.distinct(role, "label")
    return np.array(list(map(word_in, values)), object)[index]


def numbered(values: Iterable[Any], index: Indices) -> pl.Series:
    """Return a number for the value of each row, the same for equal ones, and null for None."""
    import polars as pl

    numbers: dict[Any, int] = {}
    codes = []
    for value in values:
        key = value if isinstance(value, Hashable) else repr(value)
        codes.append(None if value is None else numbers.setdefault(key, len(numbers)))
    return pl.Series(codes, dtype=pl.Int64).gather(index)
