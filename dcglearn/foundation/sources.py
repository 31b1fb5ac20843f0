"""Bytes of a file or of standard input: decompressed, in UTF-8, and their format recognised."""

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dcglearn.foundation.inputs import read_bytes
from dcglearn.foundation.validation import InputError, PathLike, PolarsFrame
from dcglearn.foundation.workbooks import ZIP, sheet_text

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


def lines_of(path: PathLike) -> Iterator[tuple[int, bytes]]:
    """Yield a file's lines that are not blank, with numbers; raise InputError if unreadable.

    They are decompressed and yielded one by one, so that the file may be larger than the memory.
    """
    packed: Any = {".gz": gzip, ".zst": zstd}
    try:
        with packed.get(Path(path).suffix.lower(), io).open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (EOFError, OSError, zlib.error, zstd.ZstdError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


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
