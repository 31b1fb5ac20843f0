"""Read TREC files: runs (the documents that systems ranked) and judgements (the grades of
documents).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dcglearn.foundation.plain_text import escaped, number_of, one_line
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import (
    MAX_GRADES,
    InputError,
    PathLike,
    PolarsFrame,
    one_of,
    scale_size,
)
from dcglearn.readers.cutoffs import CUT, Cutoffs, cut_grades
from dcglearn.readers.line_formats import SCORE, shown

Duplicates = Literal["error", "first", "last", "mean", "median", "majority"]
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")


@dataclass(frozen=True, eq=False)
class Judgements:
    """Grades of documents.

    `frame` has the columns ``query``, ``document`` (text) and ``grade`` (0 = worst; below 0 as in
    the file), a row per judged document. `name` is the file, or what else to call them in messages,
    `n_grades` is L, by default the largest grade plus 1. Raises InputError if a grade is not below
    it.

    See Also
    --------
    read_judgements : Read them from any supported form.

    Examples
    --------
    >>> judged = dl.read_judgements({"q1": {"a": 2, "b": 0}})
    >>> judged.frame["grade"].to_list(), judged.n_grades
    ([2, 0], 3)
    """

    frame: PolarsFrame
    name: str = "judgements"
    n_grades: int = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        top = max(int(self.frame["grade"].max() or 0), 0)  # type: ignore[arg-type]
        size = scale_size(self.n_grades, top)
        if top >= size:
            raise InputError(
                f"{self.name}: grade {top} lies outside 0..{size - 1}; the scale has n_grades={size}"
            )
        object.__setattr__(self, "n_grades", size)

    def __repr__(self) -> str:
        queries = self.frame["query"].n_unique()
        sizes = (
            (len(self.frame), "documents", ","),
            (queries, "queries", ","),
            (self.n_grades, "grades"),
        )
        return f"Judgements({', '.join(number_of(*size) for size in sizes)})"


@dataclass(frozen=True, eq=False)
class Run:
    """The documents that a system ranked.

    `frame` has the columns ``query``, ``document`` (text) and ``score`` (float), in the order of
    the file; `name` is that of the system.

    See Also
    --------
    read_runs : Read them from any supported form.

    Examples
    --------
    >>> [run] = dl.read_runs({"mine": {"q1": {"a": 1.5, "b": 2.5}}})
    >>> run.name, run.frame["document"].to_list()
    ('mine', ['a', 'b'])
    """

    frame: PolarsFrame
    name: str

    def __repr__(self) -> str:
        queries = number_of(self.frame["query"].n_unique(), "queries", ",")
        return f"Run({self.name!r}, {number_of(len(self.frame), 'documents', ',')}, {queries})"


def trec_judgements(
    path: PathLike, *, duplicates: Duplicates = "error", cutoffs: Cutoffs = None
) -> Judgements:
    """Read TREC judgements (qrels), one ``query iteration document grade`` per line.

    The text may have any white space between columns, also as .gz, .zst and .xz; lines beginning
    with ``#`` are skipped; the path - is standard input. Raises InputError if a line does not have
    exactly these columns (the message names it), a document is judged twice (and `duplicates` is
    "error"), or the file cannot be read.
    """
    name, data = content(path)
    number = "grade" if cutoffs is None else "score"
    frame = _table(name, data, ("query", "iteration", "document", number), number).rename(
        {number: "grade"}
    )
    return judgements_of(frame, name, duplicates, cutoffs)


def judgements_of(
    frame: PolarsFrame, name: str, duplicates: Duplicates, cutoffs: Cutoffs
) -> Judgements:
    """Return the judgements in a table with a number as the grade; raise InputError if a grade is
    off any scale.
    """
    import polars as pl

    frame, size = cut_grades(frame, name, cutoffs)
    grade = frame["grade"]
    wrong = (grade != grade.floor()) | (grade >= MAX_GRADES) | (grade < -(2**31))
    if wrong.any():
        row = int(wrong.arg_true()[0])
        refusal = f"grade {grade[row]:g} is not a whole number; {CUT}"
        if float(grade[row]).is_integer() and grade[row] > 0:
            refusal = f"grade {grade[row]:g} is above {MAX_GRADES - 1}, the largest allowed"
        raise InputError(f"{name} row {row + 1}: {refusal}")

    whole = frame.with_columns(grade.cast(pl.Int64))
    once = without_duplicates(name, whole, ["query", "document"], duplicates)
    return Judgements(once, name, size)


def trec_runs(path: PathLike, *, duplicates: Duplicates = "error") -> list[Run]:
    """Read TREC runs in the order of the file, one ``query Q0 document rank score run`` per line.

    Paths, duplicates and errors are as in `trec_judgements`; a file may hold several runs. Where
    tabs separate the columns, the tag ends at its first blank, as in trec_eval.
    """
    name, data = content(path, "one document of a run a line")
    frame = _table(name, data, ("query", "Q0", "document", "rank", "score", "run"), "score")
    return runs_of(frame, name, duplicates)


def runs_of(frame: PolarsFrame, name: str, duplicates: Duplicates) -> list[Run]:
    """Return the runs in a table, by its column of runs if it has one; raise InputError for a name
    of several lines.
    """
    keys = [key for key in ("run", "query", "document") if key in frame.columns]
    frame = without_duplicates(name, frame, keys, duplicates)
    if "run" not in keys:
        return [Run(frame, name)]

    parts = (
        frame.partition_by("run", maintain_order=True)
        if (frame["run"] != frame["run"][0]).any()
        else [frame]
    )
    runs = [Run(part.drop("run"), str(part["run"][0])) for part in parts]
    for run in runs:
        if one_line(run.name) != escaped(run.name):
            raise InputError(
                f"{name}: the run {shown(run.name)} has a tab or a line end in its name; rename it"
            )
    return runs


def _table(name: str, data: bytes, columns: Sequence[str], number: str) -> PolarsFrame:
    """Return the columns in use; a second attempt first replaces all white space by single
    blanks.
    """
    import polars as pl

    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    first = data[: data.find(b"\n") + 1] or data
    tabs = first.count(b"\t") == len(columns) - 1
    schema = {
        column: {"score": pl.Float64, "grade": pl.Int64}.get(column, pl.String)
        for column in columns
    }
    for tidy in (False, True):
        if tidy:
            separator, text = " ", _tidied(data, columns)
        elif any(other in data for other in ((b" " if tabs else b"\t"), b"\r", b"\v", b"\f")):
            continue
        else:
            separator, text = "\t" if tabs else " ", data
        try:
            # Polars refuses a line with too many columns only if it reads them all.
            how: Any = {
                "separator": separator,
                "quote_char": None,
                "comment_prefix": None if tidy else "#",
            }
            frame = pl.read_csv(text, has_header=False, schema=schema, **how)
        except (pl.exceptions.PolarsError, OSError):  # OSError: Polars takes it for compressed data
            continue
        lacking = any(frame[column].null_count() for column in columns)
        if len(frame) and not lacking and not (number == "score" and frame[number].is_nan().any()):
            return frame.select(
                column for column in columns if column in ("query", "document", "run", number)
            )
    raise _first_bad_line(name, data, columns, number)


def _tidied(data: bytes, columns: Sequence[str]) -> bytes:
    """Return the lines without comments and blank ones, single blanks between columns, and tags cut
    at a blank.
    """
    data = re.sub(rb"(?m)^#[^\n]*\n?", b"", data)
    if columns[-1] == "run":
        cells = len(columns) - 1
        data = re.sub(rb"(?m)^((?:[^\s]+\t){%d}[^\s]+)[ ][^\t\n]*$" % cells, rb"\1", data)
    data = re.sub(
        rb"[ \t\r\f\v]+", b" ", data.strip()
    )  # first, since each blank is then looked at once
    return re.sub(rb" ?\n\s*", b"\n", data)


def _first_bad_line(name: str, data: bytes, columns: Sequence[str], number: str) -> InputError:
    """Return the error of the first line that is malformed."""
    expected = " ".join(columns)
    seen = False
    for place, line in enumerate(data.split(b"\n"), 1):
        cells = line.split()
        if not cells or line.startswith(b"#"):
            continue
        seen = True
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = f"byte {line[error.start]:#x}"
            return InputError(
                f"{name} line {place}: {byte} is not UTF-8 text; save the file as UTF-8"
            )
        if len(cells) != len(columns) and len(_tidied(line, columns).split()) != len(columns):
            return InputError(
                f"{name} line {place}: {len(cells)} columns, expected {len(columns)}: {expected}"
            )
        value = cells[columns.index(number)].decode()
        kind = SCORE if number == "score" else WHOLE
        if not kind.fullmatch(value):
            wanted = "a number" if number == "score" else f"a whole number; {CUT}"
            return InputError(f"{name} line {place}: {number} {shown(value)} is not {wanted}")
        if number == "grade" and not abs(int(value)) < 2**63:
            return InputError(
                f"{name} line {place}: grade {shown(value)} is not from 0 to {MAX_GRADES - 1}"
            )
    return InputError(
        f"{name} holds no line of {expected}"
        if not seen
        else f"{name} cannot be read as lines of {expected}"
    )


def without_duplicates(
    name: str, frame: PolarsFrame, keys: Sequence[str], duplicates: Duplicates
) -> PolarsFrame:
    """Return the table with one row per key, means and medians rounded; raise InputError if a key
    recurs on "error".
    """
    import polars as pl

    one_of(duplicates, "duplicates", get_args(Duplicates))
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for key in keys:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) ^ frame[key].hash().to_numpy()
    hashes.sort()
    if not (hashes[1:] == hashes[:-1]).any():  # equal rows have equal hashes
        return frame
    grade = pl.col("grade")
    combined = {
        "mean": grade.mean() + 0.5,
        "median": grade.median() + 0.5,
        "majority": grade.mode().min(),
    }
    if duplicates in combined and "grade" in frame.columns:
        return frame.group_by(keys, maintain_order=True).agg(
            combined[duplicates].floor().cast(pl.Int64)
        )
    if duplicates in combined:
        raise InputError(
            f"{name}: duplicates={duplicates!r} is for grades, not for runs; keep the first or the last"
        )
    once = frame.unique(keys, keep="last" if duplicates == "last" else "first", maintain_order=True)
    if len(once) < len(frame) and duplicates == "error":
        row = first_repeated(frame, keys) or {}
        repeated = " ".join(str(row[key]) for key in keys)
        raise InputError(
            f"{name}: {repeated} occurs more than once{_contradiction(frame, row, keys)} "
            f"({len(frame) - len(once):,} lines too many); "
            'keep one of them with duplicates="first" or "last" (--duplicates)'
            + (
                ', or combine them by "mean", "median" or "majority"'
                if "grade" in frame.columns
                else ""
            ),
            see="duplicates",
        )
    return once


def first_repeated(frame: PolarsFrame, keys: Sequence[str]) -> dict[str, Any] | None:
    """Return the first row whose values under `keys` occur again, None if none does."""
    repeated = frame.filter(frame.select(keys).is_duplicated())
    return repeated.row(0, named=True) if len(repeated) else None


def _contradiction(frame: PolarsFrame, row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the first two grades of a key, with their rows, for a message; nothing for tables
    without grades.
    """
    if "grade" not in frame.columns:
        return ""
    same = np.flatnonzero(np.all([(frame[key] == row[key]).to_numpy() for key in keys], axis=0))
    shown = [f"grade {frame['grade'][int(i)]:g} in row {i + 1:,}" for i in same[:2]]
    return f", {' and '.join(shown)}"
