"""Judgements made of all rows of a table of another shape at once, from its raw cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Integers
from dcglearn.readers.line_formats import Reshaped
from dcglearn.readers.winner_words import word_of

if TYPE_CHECKING:
    import polars as pl

    from dcglearn.readers.cells import RawCells


class Rebuilt(Reshaped):
    """Judgements whose raw cells `rebuilt` makes of those of the rows; an item is a judgement's
    number and its row.
    """

    @abstractmethod
    def rebuilt(self, rows: RawCells) -> tuple[RawCells, NDArray[np.intp]]:
        """Return the cells of the judgements, and the first row of each, in order, shape (n,)."""

    @cached_property
    def _judgements(self) -> tuple[RawCells, NDArray[np.intp]]:
        from dcglearn.readers.cells import raw_cells

        cells, rows = self.rebuilt(raw_cells(self._rows))
        return (cells if cells.n else replace(cells, columns={})), rows

    def cells(self) -> RawCells:
        """Return the raw cells of all judgements."""
        return self._judgements[0]

    def __iter__(self) -> Iterator[tuple[Any, tuple[int, Any]]]:
        """Yield each judgement with the number of its first row."""
        first, n_judgements = 0, np.bincount(self._judgements[1]).tolist()
        for n, (number, item) in zip(n_judgements, self._rows, strict=False):
            for judgement in range(first, first + n):
                yield number, (judgement, item)
            first += n

    def record(self, item: tuple[int, Any]) -> dict[str, Any]:
        """Return the values of a judgement by role."""
        cells, judgement = self.cells(), item[0]
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


def taken(cells: Any, rows: pl.Series) -> Any:
    """Return the raw cells of some rows, and None where a row is null."""
    if isinstance(cells, list):
        return [None if row is None else cells[row] for row in rows.to_list()]
    return cells.gather(rows)


def replaced(cells: Any, rows: pl.Series, value: str) -> Any:
    """Return raw cells with a text in some rows."""
    import polars as pl

    if isinstance(cells, pl.Series) and cells.dtype == pl.String:
        return cells.clone().scatter(rows, value)
    cells = list(cells)
    for row in rows.to_list():
        cells[row] = value
    return cells


def words_of(cells: RawCells, role: str, kind: str = "label") -> tuple[list[str | None], Integers]:
    """Return the distinct texts and numbers of a column in lower case, None for other values, and
    the number of that of each row, shape (n,).
    """
    values, index = cells.distinct(role, kind)
    is_word = [isinstance(value, str | int | float) for value in values]
    return [
        word_of(value).lower() if told else None
        for value, told in zip(values, is_word, strict=True)
    ], index


def words_by_row(cells: RawCells, role: str, kind: str = "label") -> NDArray[Any]:
    """Return what `words_of` does for each row, shape (n,)."""
    words, index = words_of(cells, role, kind)
    return np.array(words, object)[index]
