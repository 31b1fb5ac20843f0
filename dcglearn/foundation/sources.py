"""Bytes of a file or of standard input: decompressed, in UTF-8, and their format recognised."""

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

FORMATS = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".csv", ".tsv", ".txt", ".xlsx"), "text"),
    ".parquet": "parquet",
}
"""Format by the suffix of a file's name."""

LINES = (".jsonl", ".ndjson", ".json", "")
"""Suffixes of files of JSON lines."""

WRITTEN = (*LINES, ".parquet")
"""Suffixes of the files that logs are written to: JSON lines, and Parquet for the last."""


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
    """Return the bytes of one file, text without its mark; raise InputError if it is empty."""
    if data.startswith(ZIP):  # an Excel workbook, or a zip file that is refused
        data = sheet_text(name, data)
    elif not data.startswith(b"PAR1"):
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(
                f"{name} is UTF-16 text; save it as UTF-8, or see the recipe 'No names, titles "
                "above, another encoding, another sheet'"
            )
        data = data.removeprefix(b"\xef\xbb\xbf")
    if not data or data.isspace():
        raise InputError(f"{name} is empty; expected {expected}")
    return data


def decompressed(name: str, data: bytes) -> bytes:
    """Return the data, decompressed if they are gzip or zstd; raise InputError if damaged."""
    try:
        for magic, inflated in _PACKED.items():
            if data.startswith(magic):
                data = inflated(data)
                break
    except (EOFError, OSError, zlib.error, zstd.ZstdError) as error:
        raise InputError(
            f"{name}: cannot be decompressed ({error}); it is truncated or damaged, or not UTF-8 "
            "text"
        ) from error
    _refuse_others(name, data)
    return data


def _refuse_others(name: str, inside: bytes) -> None:
    """Raise InputError for data that are still compressed, or of another kind than is read."""
    if inside.startswith((*_PACKED, b"x\x01", b"x\x9c")):
        raise InputError(
            f"{name}: compressed twice, or by zlib; give text, or compress it once by gzip or zstd"
        )
    for begin, what, remedy in _OTHERS:
        if re.match(begin, inside):
            raise InputError(f"{name} is {what}; {remedy}")


AS_TABLE = "save the table as Parquet or CSV"

_OTHERS = (
    (
        rb"BZh[1-9]1AY&SY|BZh[1-9]\x17rE8P\x90|\xfd7zXZ\0|7z\xbc\xaf\x27\x1c|\x04\x22\x4d\x18",
        "compressed by bzip2, xz, 7-Zip or lz4",
        "unpack it, or compress it by gzip or zstd; in Python, polars reads "
        "fsspec.open(path, compression='infer')",
    ),
    (
        rb"ARROW1\0|FEA1|\xff\xff\xff\xff",
        "an Arrow or Feather file",
        "save it as Parquet (polars: write_parquet)",
    ),
    (
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an old Excel workbook (.xls)",
        "save it as .xlsx, or the sheet as CSV",
    ),
    (rb"SQLite format 3\0", "an SQLite database", AS_TABLE),
    (
        rb"\x93NUMPY",
        "a NumPy array (.npy)",
        "load it (numpy.load) and give Python the arrays, or save it as CSV",
    ),
    (rb"\x80[\x02-\x05]", "a pickle, which is not read since it can run code", AS_TABLE),
    (rb"(?s)ORC.*ORC.\Z", "an ORC file", AS_TABLE),
    (rb"Obj\x01", "an Avro file", AS_TABLE),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", AS_TABLE),
    (rb"%PDF-", "a PDF document", AS_TABLE),
    (rb"(?s).{257}ustar", "a tar archive", "unpack it, and name the files or their folder"),
)
"""First bytes of files of other kinds, their names, and the remedy."""


_PACKED: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"\x28\xb5\x2f\xfd": zstd.decompress,
}
"""What inflates gzip and zstd, by the first bytes."""


def lines_of(path: PathLike) -> Iterator[tuple[int, bytes]]:
    """Yield a file's lines that are not blank, with numbers; raise InputError if unreadable.

    They are decompressed and yielded one by one, so that the file may be larger than the memory.
    """
    openers = {".gz": gzip.open, ".zst": zstd.open}
    opener: Any = openers.get(Path(path).suffix.lower(), open)
    try:
        with opener(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    _refuse_others(str(path), line)
                if line.strip():
                    yield number, line
    except (EOFError, OSError, zlib.error, zstd.ZstdError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def suffix_of(path: PathLike) -> str:
    """Return a name's suffix in lower case, without a compression's: ".csv" of "Run.CSV.gz"."""
    return Path(re.sub(r"(\.(gz|zst))+\Z", "", str(path).lower())).suffix


def kind_of(name: str, data: bytes) -> str:
    """Return "json", "text" or "parquet": by Parquet's mark, the suffix, or the first character."""
    if data[:4] == b"PAR1":
        return "parquet"
    guess = "json" if data.lstrip()[:1] == b"{" else "text"
    return FORMATS.get(suffix_of(name)) or guess


def parquet_rows(name: str, data: bytes) -> PolarsFrame:
    """Return the table in a Parquet file as `plain_types`; raise InputError if damaged or empty."""
    import polars as pl

    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{name}: not a Parquet file, or a truncated one ({error})") from error
    if not len(frame):
        raise InputError(f"{name} is empty; expected one judgement a row")
    return plain_types(frame)


def plain_types(frame: PolarsFrame) -> PolarsFrame:
    """Return the table with categories, enumerations and times as text, and decimals as float64."""
    import polars as pl
    import polars.selectors as cs

    words = cs.categorical() | cs.enum() | cs.temporal()
    return frame.with_columns(words.cast(pl.String), cs.decimal().cast(pl.Float64))
