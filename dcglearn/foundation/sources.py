"""The bytes of a file or of standard input: decompressed, and recognised as JSON lines, text or Parquet."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from dcglearn.foundation.files import read_bytes
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    import os

    import polars as pl

FORMATS = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "text"),
    ".parquet": "parquet",
}
"""Format by the suffix of a file's name."""


def content(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return a file's name for messages, and its decompressed bytes without a byte-order mark; ``-`` is standard input.

    Raise InputError if it is missing, empty, UTF-16 text, or cannot be read or decompressed.
    """
    name = "standard input" if str(path) == "-" else str(path)
    data = decompressed(name, sys.stdin.buffer.read() if str(path) == "-" else read_bytes(path))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name} is UTF-16 text; save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data or data.isspace():
        raise InputError(f"{name} is empty; expected one judgement a line")
    return name, data


def decompressed(name: str, data: bytes) -> bytes:
    """Return decompressed bytes: gzip, xz and zstd are recognised by their first bytes, others stay as they are.

    Raise InputError if the data are truncated or damaged.
    """
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:6] == b"\xfd7zXZ\x00":
            return lzma.decompress(data)
        return _from_zstd(data) if data[:4] == b"\x28\xb5\x2f\xfd" else data
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            f"{name}: cannot be decompressed ({error}); it is truncated or damaged, or not UTF-8 text"
        ) from error


def _from_zstd(data: bytes) -> bytes:
    """Return decompressed zstd text, read by Polars: Python's standard library reads zstd from 3.14 on."""
    import polars as pl

    try:
        lines = pl.read_csv(data, has_header=False, separator="\x01", quote_char=None, schema={"line": pl.String})
    except pl.exceptions.PolarsError as error:
        raise OSError(error) from error
    return "\n".join(lines["line"].fill_null("")).encode()


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file's name in lower case, without .gz, .xz or .zst: ".csv" of "Run.CSV.xz"."""
    name = str(path).lower()
    return Path(name.removesuffix(".gz").removesuffix(".xz").removesuffix(".zst")).suffix


def kind_of(name: str, data: bytes) -> str:
    """Return "json", "text" or "parquet", by the first bytes of Parquet, by the suffix, or by the first byte."""
    if data[:4] == b"PAR1":
        return "parquet"
    return FORMATS.get(suffix_of(name)) or ("json" if data.lstrip()[:1] == b"{" else "text")


def parquet_rows(name: str, data: bytes) -> pl.DataFrame:
    """Return the table in a Parquet file, with types as in `plain_types`; InputError if it is damaged or has no row."""
    import polars as pl

    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{name}: not a Parquet file, or a truncated one ({error})") from error
    if not len(frame):
        raise InputError(f"{name} is empty; expected one judgement a row")
    return plain_types(frame)


def plain_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with categories and enumerations as text, and decimals as float64."""
    import polars as pl
    import polars.selectors as cs

    return frame.with_columns((cs.categorical() | cs.enum()).cast(pl.String), cs.decimal().cast(pl.Float64))
