"""TREC's lines of judgements and of runs, and lines of the LTR plugin, as tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import TABLES, suffix_of
from dcglearn.foundation.validation import InputError, PathLike
from dcglearn.reading.scale import NUMBER
from dcglearn.reading.tables import Table

JUDGED_LINES = (("query", "iteration", "document", "grade"), ("query", "document", "grade"))
"""The columns of a line of judgements."""

RUN_LINES = (("query", "Q0", "document", "rank", "score", "run"),)
"""The columns of a line of a run."""

PLUGIN = re.compile(rb"(?m)^(?!#)[ \t]*(\S+)[ \t]+qid:(\S+)[^#\n]*#\s*(?:docid\s*=\s*)?(\S+)[^\n]*")
"""A line of judgements for the LTR plugin of Elasticsearch, ``3 qid:1 # 7555 rambo``."""

ORDER = "judgements come first, runs after them"
"""The order of the arguments and the files of an evaluation."""


def is_trec(path: PathLike) -> bool:
    """Return whether a file is TREC's by its name, whose suffix is that of no table."""
    return suffix_of(path) not in TABLES


def lines_of(name: str, data: bytes, *, judged: bool) -> Table | None:
    """Return the table in lines of judgements, or of a run, None for a text of another kind.

    White space of any kind separates columns, and lines beginning with ``#`` are skipped; a warning
    names these if they look like others. Numbers are texts unless all of them are numbers. Raises
    InputError if a line has other columns than the first.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if judged and b":" in data and b"qid:" in data:  # one character is found faster
        data = PLUGIN.sub(rb"\2 \3 \1", data)

    # the first line, or else the file's name, tells the columns
    kinds = JUDGED_LINES if judged else RUN_LINES
    match = re.search(rb"(?m)^(?!#)[^\S\n]*(\S[^\n]*)", data)
    first = match[1] if match else b""
    columns = _columns(first, kinds)
    if columns is None:
        if not is_trec(name) or first[:1] in (b"{", b"["):
            return None
        n_cells = len(first.split())
        columns = next((kind for kind in kinds if len(kind) == n_cells), kinds[0])

    # as they stand, or else with one blank between columns
    frame = _parsed(data, first, columns)
    is_tidied = frame is None
    if is_tidied:
        tidied = re.sub(rb"(?m)^#[^\n]*\n?", b"", data)
        if not judged:  # a tag behind a tab ends at its first blank, as in trec_eval
            tidied = re.sub(rb"(?m)^((?:[^\s]+\t){5}[^\s]+) [^\t\n]*$", rb"\1", tidied)
        tidied = re.sub(rb"[ \t\r\f\v]+", b" ", tidied.strip())
        frame = _parsed(re.sub(rb" ?\n\s*", b"\n", tidied), b"", columns)
    if frame is None:
        raise _wrong_line(name, data, columns)

    # ranks in place of grades, where no name tells
    if len(columns) == 3 and frame["grade"].dtype.is_numeric() and (frame["grade"] > 2).any():
        places = frame.select(pl.int_range(1, pl.len() + 1).over("query")).to_series()
        if (frame["grade"] == places).all():
            raise InputError(f"{name}: the grades of every query are 1, 2, 3, ..., ranks; {ORDER}")

    comments = re.findall(rb"(?m)^#[^\n]*", data) if b"#" in data else []
    n_alike = sum(_columns(line, (columns,)) is not None for line in comments)
    if n_alike:
        warnings.warn(
            f"{name}: {number_of(n_alike, 'lines', ',')} with # at the beginning look like "
            f"{'judgements' if judged else 'lines of the run'} and are skipped as comments; write "
            "these names without #, or a table",
            stacklevel=2,
        )

    # rows keep the numbers of their lines, which are all rows unless some are skipped
    kept = None
    if (is_tidied or comments) and data.count(b"\n") + (data[-1:] != b"\n") != frame.height:
        lines = data.split(b"\n")
        kept = np.flatnonzero([line.strip() != b"" and line[:1] != b"#" for line in lines])
    frame = frame.drop("iteration", "Q0", strict=False)
    return replace(Table.of(frame, name, kept), words=True)


def _columns(line: bytes, kinds: Sequence[Sequence[str]]) -> Sequence[str] | None:
    """Return the columns of a line whose grade or score is a number; None if it has none."""
    cells = [cell.decode(errors="replace") for cell in line.split()]
    for columns in kinds:
        number = len(columns) - 1 if "grade" in columns else columns.index("score")
        if len(cells) == len(columns) and NUMBER.fullmatch(cells[number]):
            return columns
    return None


def _parsed(data: bytes, first: bytes, columns: Sequence[str]) -> pl.DataFrame | None:
    """Return the table in lines with one separator, or None if a line has not all columns.

    `first` is the first line of data as they stand, whose numbers are read as such; tidied data,
    without it, are texts separated by blanks.
    """
    separator = b"\t" if first.count(b"\t") == len(columns) - 1 else b" "
    if first:
        # a blank line takes polars as much memory as another, and a cell of the first 500 bytes
        others = (b" " if separator == b"\t" else b"\t", b"\r", b"\v", b"\f", b"\n" * 64)
        if any(other in data for other in others) or first.count(separator) != len(columns) - 1:
            return None

    # all columns are read, so that long lines are refused; missing cells are null
    kinds = {"grade": pl.Float64, "score": pl.Float64, "rank": pl.Int64} if first else {}
    try:
        # OSError is raised for data that polars takes for compressed
        frame = pl.read_csv(
            data,
            has_header=False,
            schema={column: kinds.get(column, pl.String) for column in columns},
            separator=separator.decode(),
            quote_char=None,
            comment_prefix="#" if b"#" in data else None,  # looking for comments takes time
        )
    except (pl.exceptions.PolarsError, OSError):
        return None
    return frame if len(frame) and not any(frame.null_count().row(0)) else None


def _wrong_line(name: str, data: bytes, columns: Sequence[str]) -> InputError:
    """Return the error of the first line that has other columns."""
    expected, other = " ".join(columns), RUN_LINES if "grade" in columns else JUDGED_LINES
    for number, line in enumerate(data.split(b"\n"), 1):
        n_cells = len(line.split())
        if line.startswith(b"#") or n_cells in (0, len(columns)):
            continue

        # lines of the other kind, or of a table
        remedy = f"; {ORDER}" if _columns(line, other) else ""
        if b"," in line and n_cells == 1:
            remedy = "; a table with commas and a header is called .csv"
        found = f"{number_of(n_cells, 'columns')}, expected {len(columns)}: {expected}"
        return InputError(f"{name}, row {number}: {found}{remedy}")
    return InputError(f"{name} holds no line of {expected}")
