"""The first bad line of a long log: only blocks of lines that do not pass the fast pass are read carefully."""

from __future__ import annotations

from collections.abc import Iterator

from dcglearn.foundation.validation import InputError
from dcglearn.readers.careful_pass import GoodLines
from dcglearn.readers.fast_pass import read_fast
from dcglearn.readers.line_formats import JsonLines, Source, TextLines, numbered_lines
from dcglearn.readers.mapping import LogMapping

LEAST_BYTES = 4_000_000
"""Shorter logs are read carefully at once."""

BLOCKS = 64
"""Number of blocks of lines, of equal size."""

MOST_READ = 8
"""Blocks that are read carefully without finding a bad line, before the whole log is."""


def raise_first_fault(name: str, source: Source, mapping: LogMapping) -> None:
    """Raise InputError for the first bad line if it is found without reading the whole log carefully, else return.

    A block that passes the fast pass together with the first line of the log has no bad line. The lines of other blocks
    are checked as those of the whole log are.
    """
    if not isinstance(source, JsonLines | TextLines) or len(source.data) < LEAST_BYTES:
        return
    number, first = next(iter(source), (0, b""))
    if not first:  # nothing after the header
        return
    good = GoodLines(source, mapping)
    _add(name, good, source, number, first)
    begin, header_line = b"", 0
    if isinstance(source, TextLines):
        begin = source.data[: source.data.index(source.header)] + source.header + b"\n"
        header_line = source.header_line
    read = 0
    for before, block in _blocks(source.data, BLOCKS):
        part = type(source)(begin + first + b"\n" + block, source.roles)
        if read_fast(part, mapping) is not None:
            continue
        if read == MOST_READ:
            return
        read += 1
        for number, item in numbered_lines(block):
            if before + number > header_line:
                _add(name, good, source, before + number, item)


def _add(name: str, good: GoodLines, source: Source, number: int, item: bytes) -> None:
    try:
        good.add(source.record(item), f"{source.unit} {number}")
    except InputError as error:
        raise InputError(f"{name}, {source.unit} {number}: {error}") from error


def _blocks(data: bytes, n: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number of lines before each block of lines, and the block."""
    start, before = 0, 0
    while start < len(data):
        end = data.find(b"\n", start + len(data) // n) + 1 or len(data)
        yield before, data[start:end]
        before += data.count(b"\n", start, end)
        start = end
