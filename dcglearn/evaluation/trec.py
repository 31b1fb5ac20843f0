"""Read TREC files: runs (the documents that systems ranked) and judgements (the grades of documents)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import MAX_GRADES, InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl

Duplicates = Literal["error", "first", "last"]
RUN_COLUMNS = ("query", "Q0", "document", "rank", "score", "run")
JUDGEMENT_COLUMNS = ("query", "iteration", "document", "grade")


@dataclass(frozen=True, eq=False)
class Judgements:
    """Grades of documents.

    Attributes
    ----------
    frame : polars.DataFrame
        ``query``, ``document`` (text) and ``grade`` (0 = worst; below 0 as in the file), one row per judged document.
    name : str
        The file, or what else to call them in messages.
    """

    frame: pl.DataFrame
    name: str = "judgements"

    @property
    def n_grades(self) -> int:
        """L: the largest grade plus 1."""
        return max(int(self.frame["grade"].max() or 0), 0) + 1  # type: ignore[arg-type]

    def __repr__(self) -> str:
        queries = self.frame["query"].n_unique()
        return f"Judgements({len(self.frame):,} documents, {queries:,} queries, {self.n_grades} grades)"


@dataclass(frozen=True, eq=False)
class Run:
    """The documents that a system ranked.

    Attributes
    ----------
    frame : polars.DataFrame
        ``query``, ``document`` (text) and ``score`` (float), in the order of the file.
    name : str
        Name of the system.
    """

    frame: pl.DataFrame
    name: str

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.frame):,} documents, {self.frame['query'].n_unique():,} queries)"


def trec_judgements(path: str | os.PathLike[str], *, duplicates: Duplicates = "error") -> Judgements:
    """Read TREC judgements (qrels), one ``query iteration document grade`` per line.

    The text may have any white space between columns, also as .gz, .zst and .xz; lines beginning with ``#`` are
    skipped; the path - is standard input. Raises InputError if a line is malformed (the message names it), a document
    is judged twice (and `duplicates` is "error"), or the file cannot be read.
    """
    name, data = content(path)
    frame = _table(name, data, JUDGEMENT_COLUMNS, "grade")
    over = np.flatnonzero((frame["grade"] >= MAX_GRADES).to_numpy())
    if len(over):
        raise InputError(f"{name}: grade {frame['grade'][int(over[0])]} is above {MAX_GRADES - 1}, the largest allowed")
    return Judgements(without_duplicates(name, frame, ["query", "document"], duplicates), name)


def trec_runs(path: str | os.PathLike[str], *, duplicates: Duplicates = "error") -> list[Run]:
    """Read TREC runs in the order of the file, one ``query Q0 document rank score run`` per line.

    Paths, duplicates and errors are as in `trec_judgements`; a file may hold several runs.
    """
    name, data = content(path)
    frame = _table(name, data, RUN_COLUMNS, "score")
    frame = without_duplicates(name, frame, ["run", "query", "document"], duplicates)
    parts = frame.partition_by("run", maintain_order=True) if frame["run"].n_unique() > 1 else [frame]
    return [Run(part.drop("run"), str(part["run"][0])) for part in parts]


def _table(name: str, data: bytes, columns: Sequence[str], number: str) -> pl.DataFrame:
    """Return the columns in use; a second attempt first replaces all white space by single blanks."""
    import polars as pl

    first = data[: data.find(b"\n") + 1] or data
    separator = "\t" if first.count(b"\t") == len(columns) - 1 else " "
    for tidy in (False, True):
        if tidy:
            single = re.sub(rb"[ \t\r\f\v]*\n[ \t\r\f\v]*", b"\n", data.strip())
            data, separator = re.sub(rb"[ \t\r\f\v]+", b" ", single), " "
        try:
            frame = _parsed(data, columns, number, separator)
        except pl.exceptions.PolarsError:
            continue
        if _whole(frame, number):
            return frame
    raise _first_bad_line(name, data, columns, number)


def _parsed(data: bytes, columns: Sequence[str], number: str, separator: str) -> pl.DataFrame:
    import polars as pl

    kinds = {"score": pl.Float64, "grade": pl.Int64}
    return pl.read_csv(
        data,
        has_header=False,
        separator=separator,
        quote_char=None,
        comment_prefix="#",
        schema={column: kinds[number] if column == number else pl.String for column in columns},
        columns=[i for i, column in enumerate(columns) if column in ("query", "document", "run", number)],
    )


def _whole(frame: pl.DataFrame, number: str) -> bool:
    empty = any(frame[name].null_count() for name in frame.columns)
    return len(frame) > 0 and not empty and not (number == "score" and bool(frame[number].is_nan().any()))


def _first_bad_line(name: str, data: bytes, columns: Sequence[str], number: str) -> InputError:
    """Return the error of the first line that is malformed."""
    expected = " ".join(columns)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = data[: error.start].count(b"\n") + 1
        return InputError(f"{name} line {place}: byte {data[error.start]:#x} is not UTF-8 text; save the file as UTF-8")
    seen = False
    for place, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        cells = line.split()
        if not cells or line.startswith("#"):
            continue
        seen = True
        if len(cells) != len(columns):
            return InputError(f"{name} line {place}: {len(cells)} columns, expected {len(columns)}: {expected}")
        value: Any = cells[columns.index(number)]
        try:
            good = float(value) == float(value) if number == "score" else int(value) is not None
        except ValueError:
            good = False
        if not good:
            wanted = "a number" if number == "score" else "a whole number"
            return InputError(f"{name} line {place}: {number} {value!r} is not {wanted}")
    return InputError(
        f"{name} holds no line of {expected}" if not seen else f"{name} cannot be read as lines of {expected}"
    )


def without_duplicates(name: str, frame: pl.DataFrame, keys: list[str], duplicates: Duplicates) -> pl.DataFrame:
    """Return the table with one row per key; raise an InputError if a key recurs and `duplicates` is "error"."""
    if duplicates not in ("error", "first", "last"):
        raise InputError(f"duplicates={duplicates!r}: give error, first or last")
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for key in keys:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) ^ frame[key].hash().to_numpy()
    hashes.sort()
    if not (hashes[1:] == hashes[:-1]).any():  # equal rows have equal hashes
        return frame
    once = frame.unique(keys, keep="first" if duplicates == "error" else duplicates, maintain_order=True)
    if len(once) < len(frame) and duplicates == "error":
        row = frame.filter(frame.select(keys).is_duplicated()).row(0, named=True)
        repeated = " ".join(str(row[key]) for key in keys)
        raise InputError(
            f"{name}: {repeated} occurs more than once ({len(frame) - len(once):,} lines too many); "
            'keep one of them with duplicates="first" or "last"'
        )
    return once
