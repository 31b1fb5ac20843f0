"""The bytes of a file or of standard input: decompressed, and recognised as JSON lines, text or Parquet."""

from __future__ import annotations

import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.inputs import most_bytes, read_bytes, read_within, refuse_beyond_memory
from dcglearn.foundation.validation import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    import polars as pl

FORMATS = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "text"),
    ".parquet": "parquet",
}
"""Format by the suffix of a file's name."""


PARTS = "split the file, or store the log as Parquet and learn with --memory (memory=)"
"""Remedy for a file that does not fit in memory."""


def content(path: str | os.PathLike[str], expected: str = "one judgement a line") -> tuple[str, bytes]:
    """Return a file's name for messages, and its decompressed bytes without a byte-order mark; ``-`` is standard input.

    Raise InputError if it is missing, empty (the message says what is `expected`), UTF-16 text, too large for the
    memory, or cannot be read or decompressed.
    """
    name = "standard input" if str(path) == "-" else str(path)
    data = decompressed(name, read_within(sys.stdin.buffer, name) if str(path) == "-" else read_bytes(path))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name} is UTF-16 text; save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data or data.isspace():
        raise InputError(f"{name} is empty; expected {expected}")
    return name, data


def decompressed(name: str, data: bytes) -> bytes:
    """Return the data decompressed from gzip, xz or zstd, if they are; raise InputError beyond `most_bytes`."""
    magic = next((magic for magic in _MEMBERS if data.startswith(magic)), None)
    try:
        inside = data if magic is None else _inflated(data, magic, most_bytes())
    except _TooLongError:
        raise InputError(
            f"{name}: inflates from {len(data):,} bytes to more than {most_bytes() / 1e9:,.1f} GB, half of the memory "
            f"that is free; {PARTS}",
            see="memory-error",
        ) from None
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        raise InputError(
            f"{name}: cannot be decompressed ({error}); it is truncated or damaged, or not UTF-8 text", see="damaged"
        ) from error
    # Polars would inflate these by itself, without a bound.
    if inside.startswith((*_MEMBERS, b"x\x01", b"x\x9c")):
        raise InputError(f"{name}: compressed twice, or by zlib; give text, or compress it once by gzip, xz or zstd")
    return inside


class _TooLongError(Exception):
    """Data inflate to more bytes than are allowed."""


_MEMBERS: dict[bytes, Callable[[int], Any]] = {
    b"\x1f\x8b": lambda most: zlib.decompressobj(wbits=31),
    b"\xfd7zXZ\x00": lambda most: lzma.LZMADecompressor(memlimit=max(most, 1 << 27)),
    b"\x28\xb5\x2f\xfd": lambda most: zstd.ZstdDecompressor(),
}
"""What decompresses a member of a file, a gzip, xz or zstd that begins with these bytes."""

_SKIPPED = b"*M\x18"
"""What follows the first byte of a frame of zstd that holds no data."""


def _inflated(data: bytes, magic: bytes, most: int) -> bytes:
    """Return the members of a compressed file, one after the other, with zeros between and after them."""
    parts: list[bytes] = []
    size = 0
    while data:
        member = _MEMBERS[magic](most)
        parts.append(member.decompress(data, most + 1 - size))
        size += len(parts[-1])
        if size > most:
            raise _TooLongError
        if not member.eof:
            raise EOFError("the end is missing")
        data = member.unused_data.lstrip(b"\0")
        if data and not data.startswith((magic, data[:1] + _SKIPPED)):
            raise OSError("something else follows the compressed data")
    return parts[0] if len(parts) == 1 else b"".join(parts)


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
    """Return the table in a Parquet file as `plain_types`; raise InputError if it is damaged, empty or too large."""
    import polars as pl

    try:
        rows = pl.scan_parquet(io.BytesIO(data))
        n, first = rows.select(pl.len()).collect().item(), rows.head(1000).collect()
        if len(first):
            size = 2 * n * first.estimated_size() / len(first)
            refuse_beyond_memory(size, f"{name}: the table of {n:,} rows", PARTS)
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
