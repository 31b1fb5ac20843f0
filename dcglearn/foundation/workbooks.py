"""The first sheet of an Excel workbook as text; one that spans too many cells is refused unread."""

import importlib.util
import io
import re
import zipfile
from typing import Any

from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.validation import InputError

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""First bytes of a zip file, as workbooks are, with files inside and without."""

ENGINES = {"calamine": "fastexcel", "openpyxl": "openpyxl"}
"""Polars' engines for workbooks, by preference, and the packages that they need."""

AS_CSV = "save the sheet as CSV (UTF-8)"
"""What to do about a workbook that is not read."""

MOST_CELLS = 10_000_000
"""Largest number of cells that a sheet may span, from A1 to its last row and column.

Engines make a table of them all, and end the process where the memory does not hold it.
"""

_PLACE = re.compile(
    rb"<(?:\w+:)?(row|c|mergeCell|hyperlink)\b"  # an element, its column and its row
    rb"""(?:[^<>]*?\s(?:r|ref)=["'](?:[^"':<>]*:)?\$?([A-Z]*)\$?([0-9]+)["'])?"""
)


def sheet_text(name: str, data: bytes) -> bytes:
    """Return the first sheet of an Excel workbook as tab-separated text.

    Raise InputError if the file is damaged or another zip file, if no engine is installed, or if a
    sheet spans more than `MOST_CELLS` cells.
    """
    import polars as pl

    # the first engine that is installed
    engines = (engine for engine, package in ENGINES.items() if importlib.util.find_spec(package))
    engine: Any = next(engines, None)
    if engine is None:
        raise InputError(
            f"{name} is an Excel workbook; {AS_CSV}. Workbooks are read where "
            "openpyxl is installed (pip install openpyxl)"
        )

    try:
        _refuse_others(name, zipfile.ZipFile(io.BytesIO(data)))

        # as text, since a type that is inferred turns other cells into nulls or numbers; without a
        # header, since columns without a name, as below merged cells, would be left out
        table = pl.read_excel(
            io.BytesIO(data),
            engine=engine,
            has_header=False,
            infer_schema_length=0,
            drop_empty_rows=False,
        )

    # the module and each engine raise errors of their own for what is damaged
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{name}: a workbook or zip file that cannot be read ({error}); {AS_CSV}"
        ) from error
    text = table.with_columns(pl.all().replace("", None))
    return text.write_csv(separator="\t", include_header=False).encode()


def _refuse_others(name: str, archive: zipfile.ZipFile) -> None:
    """Raise InputError if a zip file is no workbook, or one that is too large to read."""
    if not {"[Content_Types].xml", "mimetype"} & {*archive.namelist()}:
        raise InputError(f"{name} is a zip file; unpack it, and name the files or their folder")
    inflated = sum(part.file_size for part in archive.infolist())
    refuse_beyond_memory(4.0 * inflated, f"{name}: the workbook", AS_CSV)

    # any part may be a sheet, whatever its name
    for part in archive.infolist():
        row = column = last_row = last_column = 0
        for element, letters, number in map(re.Match.groups, _PLACE.finditer(archive.read(part))):
            # a place that is not written is the next one
            if element == b"row":
                row, column = int(number or row + 1), 0
                continue
            row, column = int(number or row), _column(letters) or column + 1
            last_row, last_column = max(last_row, row), max(last_column, column)

        if last_row * last_column > MOST_CELLS:
            raise InputError(
                f"{name}: a sheet spans {last_row:,} rows and {last_column:,} columns; delete "
                f"those beyond the table, or {AS_CSV}"
            )


def _column(letters: bytes | None) -> int:
    """Return the number of a column, from 1; 0 without letters."""
    column = 0
    for letter in letters or b"":
        column = 26 * column + letter - ord("A") + 1
    return column
