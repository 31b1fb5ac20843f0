"""The first sheet of an Excel workbook as text; one that spans too many cells is refused."""

import csv
import io
import zipfile
from collections.abc import Sequence
from typing import Any

from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.validation import InputError

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""First bytes of a zip file, as workbooks are, with files inside and without."""

AS_CSV = "save the sheet as CSV (UTF-8)"
"""What to do about a workbook that is not read."""

MOST_CELLS = 10_000_000
"""Largest number of cells that a sheet may span, from A1 to its last row and column."""


def sheet_text(name: str, data: bytes) -> bytes:
    """Return the first sheet of an Excel workbook as tab-separated text.

    Raise InputError if the file is damaged or another zip file, if openpyxl is not installed, or if
    the sheet spans more than `MOST_CELLS` cells.
    """
    try:
        rows = _rows(name, data)
    except InputError:
        raise
    except ImportError as error:
        raise InputError(
            f"{name} is an Excel workbook; {AS_CSV}. Workbooks are read where openpyxl is "
            "installed (pip install openpyxl)"
        ) from error

    # the library's errors, of several kinds for what is damaged
    except Exception as error:
        raise InputError(
            f"{name}: a zip file or workbook that cannot be read ({error}); unpack it, or {AS_CSV}"
        ) from error

    # each row as wide as the widest
    width = max(map(len, rows), default=0)
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows([*row, *[None] * (width - len(row))] for row in rows)
    return text.getvalue().encode()


def _rows(name: str, data: bytes) -> list[Sequence[Any]]:
    """Return the cells of the first sheet by row, up to the last one of each row."""
    import openpyxl

    inflated = sum(part.file_size for part in zipfile.ZipFile(io.BytesIO(data)).infolist())
    refuse_beyond_memory(4.0 * inflated, f"{name}: the workbook", AS_CSV)

    # row by row, since one far cell spans more than any memory holds
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what the file says of its size may be wrong

    rows: list[Sequence[Any]] = []
    width = 0
    for row in sheet.iter_rows(values_only=True):
        rows.append(row)
        width = max(width, len(row))

        # a cell far from all others is a mistake
        if len(rows) * width > MOST_CELLS:
            raise InputError(
                f"{name}: a sheet spans {len(rows):,} rows and {width:,} columns; delete those "
                f"beyond the table, or {AS_CSV}"
            )
    return rows
