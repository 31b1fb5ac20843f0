"""A sheet of an Excel workbook as text; cells are counted before they are read."""

import importlib.util
import io
import re
import zipfile
from collections import Counter
from typing import Any
from xml.parsers import expat

from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.validation import InputError, listed
from dcglearn.foundation.zip_files import archive_of

ENGINES = {"calamine": "fastexcel", "openpyxl": "openpyxl"}
"""Polars' engines for workbooks, by preference, and the packages that they need."""

SPLIT = "split the sheet, or save it as CSV (UTF-8)"

_CELL = re.compile(r"\$?([A-Z]+)\$?([0-9]+)")


def sheet_text(name: str, data: bytes, sheet: str | int | None = None) -> bytes:
    """Return a sheet of an Excel workbook, by default the first, as tab-separated text.

    `sheet` is a name or a number from 1. Raise InputError if there is no such sheet, if
    the file is damaged, if no engine is installed, or if its sheets span more cells than the
    memory holds, or four million and 20 times those that they hold.
    """
    import polars as pl

    # the first engine that is installed
    engines = (engine for engine, package in ENGINES.items() if importlib.util.find_spec(package))
    engine: Any = next(engines, None)
    archive = archive_of(name, data)
    if engine is None:
        raise InputError(
            f"{name} is an Excel workbook; save the sheet as CSV (UTF-8). Workbooks are read where "
            "openpyxl is installed (pip install openpyxl)"
        )

    # count the memory before anything is inflated
    inflated = sum(part.file_size for part in archive.infolist())
    refuse_beyond_memory(4.0 * inflated, f"{name}: the workbook", SPLIT)

    try:
        names = _refuse_wide(name, archive)
        which = None if sheet is None else _sheet_among(name, sheet, names)

        # as text, since a type that is inferred turns other cells into nulls or numbers; without a
        # header, since columns without a name, as below merged cells, would be left out
        table = pl.read_excel(
            io.BytesIO(data),
            sheet_name=which,
            engine=engine,
            has_header=False,
            infer_schema_length=0,
            drop_empty_rows=False,
        )

    # each engine raises errors of its own for what is damaged
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{name} is an Excel or zip file that cannot be read ({error}); save it as CSV"
        ) from error
    text = table.with_columns(pl.all().replace("", None))
    return text.write_csv(separator="\t", include_header=False).encode()


def _sheet_among(name: str, sheet: str | int, names: list[str]) -> str:
    """Return the name of a sheet, given it or its number; raise InputError if there is none."""
    if sheet in names:
        return str(sheet)
    if str(sheet).isdecimal() and 0 < int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise InputError(
        f"{name} has no sheet {sheet!r}; sheet= (--sheet) takes one of {listed(names)}, or its "
        "number"
    )


def _refuse_wide(name: str, archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the sheets; raise InputError if their cells are too many for the memory.

    One cell far from the others spans a whole sheet, and cells that share a text each get a copy of
    it.
    """
    # sheets are known by their content, since a workbook may give its parts any name
    cells = _Cells()
    for part in archive.infolist():
        with archive.open(part) as file:
            cells.read(file)

    # cells
    spanned, held = cells.spanned, cells.held
    if spanned > max(20 * held, 1 << 22):
        raise InputError(
            f"{name}: spans {spanned:,} cells, up to {cells.last}, and {held:,} are in it; delete "
            "the rows and columns beyond the table, or save the sheet as CSV (UTF-8)"
        )

    # and characters; a cell takes up to 300 bytes with openpyxl, less with calamine
    text = sum(n * cells.texts[i] for i, n in cells.uses.items() if i < len(cells.texts))
    sheet = f"{name}: a sheet of {spanned:,} cells with {text:,} characters"
    refuse_beyond_memory(300.0 * spanned + 4.0 * text, sheet, SPLIT)
    return cells.sheets


class _Cells:
    """What the parts of a workbook hold, counted as they are read.

    `held` is the number of cells. `spanned` counts all from A1 to the last one of each sheet, and
    those that merged cells, links and tables name, which are made one by one even where they are
    empty; `last` names the farthest. `texts` has the lengths of the texts that cells share, and
    `uses` how many cells show each. `sheets` are the names of the sheets, in order.
    """

    def __init__(self) -> None:
        self.held = self.spanned = self._farthest = 0
        self.last = ""
        self.texts: list[int] = []
        self.sheets: list[str] = []
        self.uses: Counter[int] = Counter()

    def read(self, file: Any) -> None:
        """Read a part; nothing is counted in one that is no XML."""
        self._row = self._column = self._rows = self._columns = 0
        self._root, self._shared = "", False
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        try:
            self._parser.ParseFile(file)
        except expat.ExpatError:
            if self._root in ("worksheet", "sst"):
                raise
        self._count(self._rows, self._columns)

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        kind, place = tag.rpartition(" ")[2], attributes.get("r", "")
        self._root = self._root or kind
        self._parser.CharacterDataHandler = None

        # rows and cells, whose places may be left out
        if kind == "row":
            self._row, self._column = int(place) if place.isdecimal() else self._row + 1, 0
        elif kind == "c":
            cell = _CELL.fullmatch(place)
            self._row, self._column = _place(cell) if cell else (self._row, self._column + 1)
            self.held += 1
            self._shared = attributes.get("t") == "s"
            self._reach(self._row, self._column)

        # texts that cells share
        elif kind == "v" and self._shared:
            self._parser.CharacterDataHandler = self._use
        elif kind == "si":
            self.texts.append(0)
        elif kind == "t" and self._root == "sst" and self.texts:
            self._parser.CharacterDataHandler = self._lengthen

        # names and ranges
        elif kind == "sheet" and self._root == "workbook":
            self.sheets.append(attributes.get("name", ""))
        elif kind in ("mergeCell", "hyperlink", "table"):
            self._name(attributes.get("ref", ""))

    def _use(self, index: str) -> None:
        if index.isdecimal():
            self.uses[int(index)] += 1

    def _lengthen(self, text: str) -> None:
        self.texts[-1] += len(text)

    def _name(self, ref: str) -> None:
        """Count the cells of a range such as A1:C3."""
        corners = [_place(cell) for cell in _CELL.finditer(ref)]
        if corners:
            (top, left), (bottom, right) = corners[0], corners[-1]
            self._count(abs(bottom - top) + 1, abs(right - left) + 1)
            self._reach(max(top, bottom), max(left, right))

    def _reach(self, row: int, column: int) -> None:
        self._rows = max(self._rows, row)
        self._columns = max(self._columns, column)

    def _count(self, rows: int, columns: int) -> None:
        self.spanned += rows * columns
        if rows * columns > self._farthest:
            self._farthest = rows * columns
            self.last = f"row {rows:,} and column {columns:,}"


def _place(cell: re.Match[str]) -> tuple[int, int]:
    """Return the row and the column of a cell, both from 1."""
    column = 0
    for letter in cell[1]:
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(cell[2]), column
