"""Files and standard input: which paths there are, and what is in them, of whichever format.

Bytes are read strictly, decompressed and recognised; of workbooks the first sheet becomes text.
"""

import codecs
import csv
import glob
import gzip
import io
import json
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dcglearn.foundation.validation import Fields, InputError, PathLike, PolarsFrame, as_path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx", ".parquet")
"""Suffixes of the files of tables."""

LINES = (".jsonl", ".ndjson", ".json", "")
"""Suffixes of files of JSON lines."""

WRITTEN = (*LINES, ".parquet")
"""Suffixes of the files that logs are written to: JSON lines, and Parquet for the last."""

MOST_INFLATED = 200
"""Most bytes that a packed one may stand for, where a file inflates to more than 4 MB."""

SEEN = 4096
"""First bytes of a file that are looked at for what no text has."""

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""First bytes of a zip file, as workbooks are, with files inside and without."""

AS_CSV = "save the sheet as CSV (UTF-8)"
"""What to do about a workbook that is not read."""

MOST_CELLS = 10_000_000
"""Largest number of cells that a sheet may span, from A1 to its last row and column."""


def is_path(value: Any) -> bool:
    """Return whether a value is a path, or a list or tuple of paths."""
    paths = value if isinstance(value, (list, tuple)) and value else [value]
    return all(isinstance(path, (str, os.PathLike)) for path in paths)


def expand_paths(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Return the files that paths, folders and patterns name, in order, each once.

    Hidden files are left out unless a path is one, and ``-``, standard input, stays. Raise
    InputError if a path names no file.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    files: dict[str, str] = {}
    for path in (os.fspath(one) for one in several):
        # os.path answers False for names that are too long, where Path raises OSError
        if os.path.isdir(path):  # noqa: PTH112
            found = [str(match) for match in Path(path).rglob("*") if match.is_file()]
        elif path == "-" or os.path.exists(path):  # noqa: PTH110
            found = [path]
        else:
            found = glob.glob(path, recursive=True)  # noqa: PTH207
        shown = (one for one in found if not Path(one).name.startswith((".", "~$")))
        matches = found if found == [path] else sorted(shown)

        if not matches:
            raise InputError(
                f"{path} does not exist, is a folder without files, or a pattern of none; check "
                "the name"
            )
        for match in matches:
            # Path.resolve fails at a circle of links
            files.setdefault(os.path.realpath(match), match)
    return [*files.values()]


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file, or of a pipe; raise InputError if there is none."""
    file = as_path(path)
    try:
        kind = file.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise InputError(
                f"{path} is a folder or a device; name a file, or - for standard input"
            )
        return file.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the name") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def read_json_object(path: PathLike) -> Fields:
    """Return the JSON object in a file.

    Raise InputError for any other content, NaN, Infinity and repeated keys.
    """
    data = read_bytes(path)
    try:
        value = json.loads(
            data.decode(), parse_constant=refuse_constant, object_pairs_hook=keys_once
        )
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not valid JSON ({error}); the file is damaged or of another kind"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: holds a JSON {type(value).__name__}, expected an object")
    return value


def refuse_constant(name: str) -> float:
    """Raise ValueError for NaN and Infinity: the ``parse_constant`` of `json.loads`."""
    raise ValueError(f"{name} is not a number that JSON allows")


def keys_once(pairs: list[tuple[str, Any]]) -> Fields:
    """Return an object of JSON; raise InputError if a key occurs twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"the key {twice!r} occurs twice; keep one")
    return fields


def refuse_beyond_memory(needed: float, what: str, remedy: str) -> None:
    """Raise InputError, ending with `remedy`, if `what` needs more bytes than are free."""
    import psutil

    free = psutil.virtual_memory().available
    if needed > free:
        raise InputError(
            f"{what} needs {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free; "
            f"{remedy}"
        )


def content(path: PathLike, expected: str = "one judgement a line") -> tuple[str, bytes]:
    """Return the name for messages and the decompressed bytes of a file.

    Text is UTF-8, and returned without a byte-order mark. The path ``-`` is standard input. The
    first sheet of an Excel workbook becomes text separated by tabs. Raise InputError if the file is
    missing, empty (the message says what is `expected`), UTF-16, or cannot be read or decompressed.
    """
    if str(path) != "-":
        name, packed = str(path), read_bytes(path)
    elif sys.stdin is not None:
        name, packed = "standard input", sys.stdin.buffer.read()
    else:
        raise InputError("standard input is closed; name a file, or redirect one to standard input")
    return name, _plain(name, decompressed(name, packed), expected)


def _plain(name: str, data: bytes, expected: str) -> bytes:
    """Return the bytes of one file, text without its mark; raise InputError for another kind."""
    # a workbook, or a zip file that is refused; Parquet as it is
    if data.startswith(ZIP):
        return sheet_text(name, data)
    if data.startswith(b"PAR1"):
        return data

    # text
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(
            f"{name} is UTF-16 text; save it as UTF-8, or see the recipe 'No names, titles above, "
            "another encoding, another sheet'"
        )

    # of other kinds, or nothing
    if _is_binary(data[:SEEN]):
        raise InputError(
            f"{name} is no text, Parquet file or .xlsx workbook, but begins with {data[:8]!r}; "
            "save the table as Parquet or CSV, or unpack it: read are gzip and zstd, once"
        )
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data or data.isspace():
        raise InputError(f"{name} is empty; expected {expected}")
    return data


def _is_binary(head: bytes) -> bool:
    """Return whether first bytes are those of no text, which may hold a control character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return b"\0" in head
    return b"\0\0" in head


def decompressed(name: str, data: bytes) -> bytes:
    """Return the data, decompressed if they are gzip or zstd.

    Raise InputError if they are damaged, or inflate to far more than a table does.
    """
    packed = io.BytesIO(data)
    most = max(MOST_INFLATED * len(data), 1 << 22)
    try:
        for magic, opened in _PACKED.items():
            if data.startswith(magic):
                with opened(packed) as inside:
                    data = inside.read(most + 1)
                break  # files that are packed twice are refused
    except (EOFError, OSError, zlib.error, zstd.ZstdError) as error:
        raise InputError(
            f"{name}: cannot be decompressed ({error}); it is truncated or damaged, or not UTF-8 "
            "text"
        ) from error

    # a few bytes can hold gigabytes of blanks
    if len(data) > most:
        raise InputError(
            f"{name}: inflates to more than {MOST_INFLATED} times its bytes; if that is right, "
            "unpack it first"
        )
    return data


_PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"\x28\xb5\x2f\xfd": zstd.open}
"""What opens gzip and zstd, by the first bytes."""


def suffix_of(path: PathLike) -> str:
    """Return a name's suffix in lower case, without a compression's: ".csv" of "Run.CSV.gz"."""
    return Path(re.sub(r"(\.(gz|zst))+\Z", "", str(path).lower())).suffix


def parquet_rows(name: str, data: bytes) -> PolarsFrame:
    """Return the table in a Parquet file; raise InputError if it is damaged or empty.

    Categories, enumerations and times become text, and decimals float64.
    """
    import polars as pl
    import polars.selectors as cs

    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{name}: not a Parquet file, or a truncated one ({error})") from error
    if not len(frame):
        raise InputError(f"{name} is empty; expected one judgement a row")
    words = cs.categorical() | cs.enum() | cs.temporal()
    return frame.with_columns(words.cast(pl.String), cs.decimal().cast(pl.Float64))


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
