"""The first sheet of an Excel workbook as text; one that spans too many cells is refused."""

import csv
import io
from collections.abc import Sequence
from typing import Any

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
    rows: list[Sequence[Any]] = []
    width = 0
    try:
        import openpyxl

        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what the file says of its size may be wrong

        # row by row, since one far cell, a mistake, spans more than any memory holds
        for row in sheet.iter_rows(values_only=True):
            rows.append(row)
            width = max(width, len(row))
            if len(rows) * width > MOST_CELLS:
                break

    # the library is an extra; its errors are of several kinds for what is damaged
    except ImportError as error:
        raise InputError(
            f"{name} is an Excel workbook; {AS_CSV}. Workbooks are read where openpyxl is "
            "installed (pip install openpyxl)"
        ) from error
    except Exception as error:
        raise InputError(
            f"{name}: a zip file or workbook that cannot be read ({error}); unpack it, or {AS_CSV}"
        ) from error

    # each row as wide as the widest
    if len(rows) * width > MOST_CELLS:
        raise InputError(
            f"{name}: a sheet spans {len(rows):,} rows and {width:,} columns; delete those beyond "
            f"the table, or {AS_CSV}"
        )
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows([*row, *[None] * (width - len(row))] for row in rows)
    return text.getvalue().encode()
