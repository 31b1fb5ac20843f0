"""TREC's lines of judgements and of runs, and lines of the LTR plugin, as tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from itertools import islice

import polars as pl

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import FORMATS, suffix_of
from dcglearn.foundation.validation import InputError, PathLike
from dcglearn.reading.scale import NUMBER

JUDGED_LINES = (("query", "iteration", "document", "grade"), ("query", "document", "grade"))
"""The columns of a line of judgements."""

RUN_LINES = (("query", "Q0", "document", "rank", "score", "run"),)
"""The columns of a line of a run."""

PLUGIN = r"^\s*(?<grade>\S+)\s+qid:(?<query>\S+)[^#]*#\s*(?:docid\s*=\s*)?(?<document>\S+)"
"""A line of judgements for the LTR plugin of Elasticsearch, ``3 qid:1 # 7555 rambo``."""


def is_trec(path: PathLike) -> bool:
    """Return whether a file is TREC's by its name, whose suffix is that of no table."""
    return suffix_of(path) not in FORMATS.keys() - {".txt"}


def begins_with_line(data: bytes, *, judged: bool) -> bool:
    """Return whether the first line of a text is one of judgements, or of a run."""
    first = _first_line(data)
    return _columns(first, judged) is not None or (judged and _is_of_plugin(first))


def lines_of(name: str, data: bytes, *, judged: bool) -> tuple[pl.DataFrame, Callable[[int], str]]:
    """Return the table in lines of judgements, or of a run, and where a row of it stands.

    White space of any kind separates columns, and lines beginning with ``#`` are skipped; a warning
    names these if they look like others. Numbers are texts unless all of them are numbers. Raises
    InputError if a line has other columns than the first.
    """
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data

    def place(row: int) -> str:
        lines = enumerate(data.split(b"\n"), 1)
        numbers = (n for n, line in lines if line.strip() and not line.startswith(b"#"))
        return f"{name}, line {next(islice(numbers, row, None))}"

    first = _first_line(data)
    if judged and _is_of_plugin(first):
        return _lines_of_plugin(data, place), place

    # as it stands, or else with one blank between columns
    kinds = JUDGED_LINES if judged else RUN_LINES
    n_cells = len(first.split())
    columns = next((kind for kind in kinds if len(kind) == n_cells), kinds[0])
    frame = _parsed(data, first, columns)
    if frame is None:
        tidied = re.sub(rb"(?m)^#[^\n]*\n?", b"", data)
        if not judged:  # a tag behind a tab ends at its first blank, as in trec_eval
            tidied = re.sub(rb"(?m)^((?:[^\s]+\t){5}[^\s]+) [^\t\n]*$", rb"\1", tidied)
        tidied = re.sub(rb"[ \t\r\f\v]+", b" ", tidied.strip())
        frame = _parsed(re.sub(rb" ?\n\s*", b"\n", tidied), first, columns, as_text=True)
    if frame is None:
        raise _wrong_line(name, data, columns)
    _remark_comments(name, data, columns)
    return frame.drop("iteration", "Q0", strict=False), place


def _first_line(data: bytes) -> bytes:
    """Return the first line that is neither blank nor a comment."""
    match = re.search(rb"(?m)^(?!#)[^\S\n]*\S[^\n]*", data)
    return match[0] if match else b""


def _is_of_plugin(line: bytes) -> bool:
    return re.match(PLUGIN.replace("?<", "?P<").encode(), line) is not None


def _columns(line: bytes, judged: bool) -> Sequence[str] | None:
    """Return the columns that a line has, whose grade or score is a number; None if it has none."""
    cells = [cell.decode(errors="replace") for cell in line.split()]
    for columns in JUDGED_LINES if judged else RUN_LINES:
        number = columns.index("grade" if judged else "score")
        if len(cells) == len(columns) and NUMBER.fullmatch(cells[number]):
            return columns
    return None


def _parsed(
    data: bytes, first: bytes, columns: Sequence[str], *, as_text: bool = False
) -> pl.DataFrame | None:
    """Return the table in lines with one separator, or None if a line has not all columns.

    Grades, ranks and scores are numbers, or they are texts as all others.
    """
    separator = b"\t" if not as_text and first.count(b"\t") == len(columns) - 1 else b" "
    kinds = {} if as_text else {"grade": pl.Float64, "score": pl.Float64, "rank": pl.Int64}

    # a blank line takes polars as much memory as another, and a cell of the first line 500 bytes
    others = (b" " if separator == b"\t" else b"\t", b"\r", b"\v", b"\f", b"\n" * 64)
    if not as_text and (
        any(other in data for other in others) or first.count(separator) != len(columns) - 1
    ):
        return None

    # all columns are read, so that long lines are refused
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


def _lines_of_plugin(data: bytes, place: Callable[[int], str]) -> pl.DataFrame:
    """Return grade, query and document of lines ``3 qid:1 # 7555 rambo``."""
    lines = pl.Series(data.decode().split("\n"))
    lines = lines.filter((lines.str.strip_chars() != "") & ~lines.str.starts_with("#"))
    frame = lines.str.extract_groups(PLUGIN).struct.unnest()
    is_wrong = frame["document"].is_null()
    if is_wrong.any():
        raise InputError(f"{place(int(is_wrong.arg_max() or 0))}: expected grade qid:N # document")
    return frame


def _wrong_line(name: str, data: bytes, columns: Sequence[str]) -> InputError:
    """Return the error of the first line that has other columns."""
    expected = " ".join(columns)
    for number, line in enumerate(data.split(b"\n"), 1):
        n_cells = len(line.split())
        if n_cells in (0, len(columns)) or line.startswith(b"#"):
            continue

        # lines of the other kind, or of a table
        remedy = ""
        if b"," in line and n_cells == 1:
            remedy = "; a table with commas begins with the names of its columns"
        if _columns(line, judged="grade" not in columns) is not None:
            remedy = "; this is a line of {}: judgements come first, runs after them".format(
                "a run" if "grade" in columns else "judgements"
            )
        found = number_of(n_cells, "columns")
        return InputError(
            f"{name}, line {number}: {found}, expected {len(columns)}: {expected}{remedy}"
        )
    return InputError(f"{name} holds no line of {expected}")


def _remark_comments(name: str, data: bytes, columns: Sequence[str]) -> None:
    """Warn of comments that have the columns of a line."""
    judged = "grade" in columns
    comments = re.findall(rb"(?m)^#[^\n]*", data) if b"#" in data else []
    n_alike = sum(_columns(line, judged) == columns for line in comments)
    if n_alike:
        lines = number_of(n_alike, "lines that begin with # look like", ",")
        warnings.warn(
            f"{name}: {lines} {'judgements' if judged else 'lines of the run'} and are skipped as "
            "comments; give the names of these queries without #, or a table",
            stacklevel=2,
        )
