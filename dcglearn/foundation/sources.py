"""The bytes of a file or of standard input: decompressed, and recognised as JSON lines, text or Parquet."""

from __future__ import annotations

import io
import lzma
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.inputs import most_bytes, read_bytes, read_within, refuse_beyond_memory
from dcglearn.foundation.validation import InputError

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
    opener = next((opener for magic, opener in _OPENERS.items() if data.startswith(magic)), None)
    try:
        inside = data if opener is None else opener(data, most_bytes())
    except _TooLongError:
        raise InputError(
            f"{name}: inflates from {len(data):,} bytes to more than {most_bytes() / 1e9:,.1f} GB, half of the memory "
            f"that is free; {PARTS}",
            see="memory-error",
        ) from None
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            f"{name}: cannot be decompressed ({error}); it is truncated or damaged, or not UTF-8 text", see="damaged"
        ) from error
    # Polars would inflate these by itself, without a bound.
    if inside.startswith((*_OPENERS, b"x\x01", b"x\x9c")):
        raise InputError(f"{name}: compressed twice, or by zlib; give text, or compress it once by gzip, xz or zstd")
    return inside


class _TooLongError(Exception):
    """Data inflate to more bytes than are allowed."""


def _members(data: bytes, most: int) -> bytes:
    """Return the members of a gzip or xz file, one after the other, with zeros between and after them."""
    parts: list[bytes] = []
    size = 0
    magic = next(magic for magic in (_GZIP, _XZ) if data.startswith(magic))
    while data:
        member: Any = (
            zlib.decompressobj(wbits=31) if magic == _GZIP else lzma.LZMADecompressor(memlimit=max(most, 1 << 27))
        )
        parts.append(member.decompress(data, most + 1 - size))
        size += len(parts[-1])
        if size > most:
            raise _TooLongError
        if not member.eof:
            raise EOFError("the end is missing")
        data = member.unused_data.lstrip(b"\0")
        if data and not data.startswith(magic):
            raise OSError("something else follows the compressed data")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _from_zstd(data: bytes, most: int) -> bytes:
    """Return decompressed zstd: text by Polars, other data by pyarrow, since Python reads zstd from 3.14 on only."""
    import polars as pl

    if zstd_bound(data) > most:
        raise _TooLongError
    try:
        lines = pl.read_csv(data, has_header=False, separator="\x01", quote_char=None, schema={"line": pl.String})
    except pl.exceptions.PolarsError as error:
        try:
            import pyarrow as pa
        except ModuleNotFoundError:
            raise OSError(f"{error}; zstd data other than text need pyarrow, or decompress them") from error
        return bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read())
    return "\n".join(lines["line"].fill_null("")).encode()


_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_OPENERS = {_GZIP: _members, _XZ: _members, b"\x28\xb5\x2f\xfd": _from_zstd}


def zstd_bound(data: bytes) -> int:
    """Return an upper bound of the bytes to which zstd data inflate, from the headers of their blocks (RFC 8878).

    A block holds at most 128 KiB; a raw or repeated one says how much. Raise OSError if the data are damaged.
    """
    at = total = 0
    while at + 5 <= len(data):
        magic = int.from_bytes(data[at : at + 4], "little")
        if magic & 0xFFFFFFF0 == 0x184D2A50:  # a frame to be skipped, after its size
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            continue
        if magic != 0xFD2FB528:
            raise OSError("something else follows the compressed data")
        descriptor = data[at + 4]
        single = descriptor >> 5 & 1
        at += 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[descriptor >> 6]
        last = 0
        while not last:
            if at + 3 > len(data):
                raise EOFError("the end is missing")
            header = int.from_bytes(data[at : at + 3], "little")
            last, kind, size = header & 1, header >> 1 & 3, header >> 3
            total += size if kind in (0, 1) else 1 << 17
            at += 3 + (1 if kind == 1 else size)
        at += 4 * (descriptor >> 2 & 1)
    return total


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
