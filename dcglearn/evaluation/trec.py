"""TREC files: runs (documents as systems ranked them) and judgements (grades of documents)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

import numpy as np

from dcglearn.evaluation.cutoffs import Cutoffs, cut_grades
from dcglearn.foundation.plain_text import escaped, number_of, one_line
from dcglearn.foundation.sources import FORMATS, suffix_of
from dcglearn.foundation.validation import (
    Floats,
    InputError,
    Integers,
    PathLike,
    PolarsFrame,
    errors_in,
    one_of,
)
from dcglearn.reading.judgements import Duplicates, Judgements, off_scale
from dcglearn.reading.runs import Run

GRADE_NAMES = "scale= (--scale Bad,Fair,Good) gives names of grades, worst first"
"""Remedy in the refusal of a judgement whose grade is a name."""

SCORE = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE
)


def is_trec(path: PathLike) -> bool:
    """Return whether a file is TREC's by its name, whose suffix is that of no table format."""
    return suffix_of(path) not in FORMATS.keys() - {".txt"}


def grade_counts(judged: PolarsFrame) -> Integers:
    """Return how often each grade from 0 occurs among judgements."""
    return np.bincount(judged["grade"].to_numpy().astype(np.int64))


def judged_lines(
    name: str, data: bytes, number: Literal["grade", "name"] = "grade"
) -> tuple[PolarsFrame, Callable[[int], str]]:
    """Return TREC judgements (qrels), one ``query iteration document grade`` a line, as a table.

    There may be any white space between columns; lines beginning with ``#`` are skipped. Grades are
    numbers, or texts such as names. A function says where a row
    stands. Raises InputError if a line does not have exactly these columns (the message names it).
    """
    frame = _table(name, data, ("query", "iteration", "document", number))

    def place(row: int) -> str:
        lines = enumerate(data.split(b"\n"), 1)
        numbers = (n for n, line in lines if line.strip() and not line.startswith(b"#"))
        return f"{name}, line {next(islice(numbers, row, None))}"

    return frame.rename({number: "grade"}), place


def judgements_of(
    frame: PolarsFrame,
    name: str,
    place: Callable[[int], str],
    duplicates: Duplicates,
    *,
    n_grades: int | None = None,
    names: Sequence[str] | None = None,
    cutoffs: Cutoffs = None,
) -> Judgements:
    """Return the judgements in a table; raise InputError if a grade is off the scale, or stray.

    `place` says in which file and where a row of the table stands.
    """
    import polars as pl

    from dcglearn.reading.scale import is_rare, stray_grade

    # grades below 0 count as 0, before anything is averaged
    if cutoffs is not None:
        with errors_in(name):
            levels, names = cut_grades(frame["grade"].cast(pl.Float64).to_numpy(), cutoffs)
        frame = frame.with_columns(grade=pl.Series(levels))
    grade = frame["grade"].cast(pl.Float64)
    if grade.is_infinite().any():
        row = int(grade.is_infinite().arg_max() or 0)
        raise InputError(f"{place(row)}: grade {grade[row]:g} is not a finite number")
    frame = frame.with_columns(grade=grade.clip(0.0))
    once = without_duplicates(name, frame, ["query", "document"], duplicates, place)
    if names is not None:
        return Judgements(once, name, len(names), tuple(names), _numbers_in(names))

    # a grade above the scale, or a slip
    top = float(once["grade"].max() or 0.0)  # type: ignore[arg-type]
    if n_grades is not None and top >= n_grades:
        row = int((frame["grade"] >= top).arg_max() or 0)
        raise InputError(f"{place(row)}: {off_scale(top, n_grades)}")
    judged = Judgements(once, name, n_grades)
    if n_grades is None and judged.n_grades is not None:
        counts = grade_counts(once)
        if is_rare(counts):
            row = int((frame["grade"] >= top).arg_max() or 0)
            raise InputError(f"{place(row)}: {'; '.join((stray_grade(counts) or (0, ''))[1:])}")
    return judged


def _numbers_in(names: Sequence[str]) -> tuple[float, ...] | None:
    """Return the numbers that names are, None if one is none."""
    try:
        return tuple(float(name) for name in names)
    except ValueError:
        return None


def ranked_lines(name: str, data: bytes) -> PolarsFrame:
    """Return TREC runs, one ``query Q0 document rank score run`` a line, as a table without ranks.

    Lines are as in `judged_lines`. Where tabs separate the columns, the tag ends at its first
    blank, as in trec_eval.
    """
    frame = _table(name, data, ("query", "Q0", "document", "rank", "score", "run"))
    remedy = "awk '{print $1, $2, $3, $5, $4, $6}' exchanges them"
    return without_ranks(frame, name, remedy)


def without_ranks(frame: PolarsFrame, name: str, remedy: str) -> PolarsFrame:
    """Return the table of runs without its ranks, which scores are meant to order.

    Raise InputError if the two are exchanged for sure: the scores of every query are its places,
    and fall where ranks rise that are none, such as 12.5. Warn if they rise together in every
    query.
    """
    import polars as pl

    ranks, scores = frame["rank"].cast(pl.Float64, strict=False), frame["score"]
    rest, keys = frame.drop("rank"), [key for key in ("run", "query") if key in frame.columns]
    if ranks.null_count():
        return rest
    frame = frame.with_columns(rank=ranks)

    # fractions and numbers below 0 are no ranks
    if ((ranks % 1 != 0) | (ranks < 0)).any():
        if not (scores % 1 == 0).all():
            return rest
        steps, of_ranks = _steps(frame.sort(*keys, "score"), keys)
        firsts = frame.group_by(keys).agg(pl.col("score").min())["score"]
        if (steps == 1).all() and firsts.is_between(0, 1).all() and of_ranks.max(initial=-1) <= 0:
            raise InputError(
                f"{name}: rank and score seem exchanged: the rank {ranks[0]:g} is none, and the "
                f"scores of every query are its places; {remedy}"
            )
        return rest

    # ranks that rise with scores, on the first lines and on all
    if _rise_together(frame[:1000], keys) and _rise_together(frame.sort(*keys, "rank"), keys):
        warnings.warn(
            f"{name}: scores rise with the ranks in every query, so the document of rank 1 comes "
            "last: the highest score counts as the best; negate the scores if the lowest is",
            stacklevel=2,
        )
    return rest


def _rise_together(frame: PolarsFrame, keys: Sequence[str]) -> bool:
    """Return whether scores and ranks rise, or fall, together from each line to the next."""
    few_steps = 10  # which junk may take by chance
    steps, of_ranks = _steps(frame, keys)
    return len(steps) >= few_steps and bool((steps * of_ranks > 0).all())


def _steps(frame: PolarsFrame, keys: Sequence[str]) -> tuple[Floats, Floats]:
    """Return by how much scores and ranks rise from each line to the next of its query."""
    same = np.ones(max(len(frame) - 1, 0), bool)
    for key in keys:
        same &= (frame[key][1:] == frame[key][:-1]).to_numpy()
    with np.errstate(invalid="ignore"):
        scores, ranks = (np.diff(frame[role].to_numpy())[same] for role in ("score", "rank"))
    return scores, ranks


def runs_of(frame: PolarsFrame, name: str, duplicates: Duplicates) -> list[Run]:
    """Return the runs in a table, one per name in its column ``run``, or else one of its file."""
    keys = [key for key in ("run", "query", "document") if key in frame.columns]
    frame = without_duplicates(name, frame, keys, duplicates)
    if "run" not in keys:
        return [Run(frame, Path(name).name)]

    # split tables of several runs
    parts = [frame]
    if (frame["run"] != frame["run"][0]).any():
        parts = frame.partition_by("run", maintain_order=True)
    runs = [Run(part.drop("run"), str(part["run"][0])) for part in parts]
    for run in runs:
        if one_line(run.name) != escaped(run.name):
            raise InputError(
                f"{name}: the run {run.name!r} has a tab or a line end in its name; rename it"
            )
    return runs


def _table(name: str, data: bytes, columns: Sequence[str]) -> PolarsFrame:
    """Return the columns in use of a TREC file, or raise InputError for its first bad line."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")

    # read as it stands if one separator is used
    first_line = data[: data.find(b"\n") + 1] or data
    separator = "\t" if first_line.count(b"\t") == len(columns) - 1 else " "
    # a blank line takes polars as much memory as another, so many are taken out before
    many_blank_lines = b"\n" * 64
    others = (b" " if separator == "\t" else b"\t", b"\r", b"\v", b"\f", many_blank_lines)
    frame = None
    if not any(other in data for other in others):
        comment = "#" if b"#" in data else None  # looking for comments takes a fifth of the time
        frame = _parsed(data, columns, separator, comment, ("rank",))

    # otherwise replace white space by blanks, and take any text as a rank
    if frame is None:
        frame = _parsed(_tidied(data, columns), columns)
    if frame is None:
        raise _first_bad_line(name, data, columns)
    return frame


def _parsed(
    data: bytes,
    columns: Sequence[str],
    separator: str = " ",
    comment: str | None = None,
    whole_numbers: Sequence[str] = (),
) -> PolarsFrame | None:
    """Return the columns in use, or None if a line does not have all columns or a score is NaN.

    Ranks are read faster as whole numbers than as texts.
    """
    import polars as pl

    # polars takes half a kilobyte for each cell of the first line
    first_line = re.match(rb"(?:#[^\n]*\n)*([^\n]*)", data)
    if first_line is None or first_line[1].count(separator.encode()) != len(columns) - 1:
        return None

    # read all columns, so that polars refuses long lines
    types = {"score": pl.Float64, "grade": pl.Float64, **dict.fromkeys(whole_numbers, pl.Int64)}
    schema = {column: types.get(column, pl.String) for column in columns}
    try:
        # OSError is raised for data that polars takes for compressed
        frame = pl.read_csv(
            data,
            has_header=False,
            schema=schema,
            separator=separator,
            quote_char=None,
            comment_prefix=comment,
        )
    except (pl.exceptions.PolarsError, OSError):
        return None

    # polars fills short lines with nulls
    if not len(frame) or any(frame.null_count().row(0)):
        return None
    if any(frame[column].is_nan().any() for column in types.keys() & {*columns} - {"rank"}):
        return None
    return frame.drop({"iteration", "Q0"} & {*columns})


def _tidied(data: bytes, columns: Sequence[str]) -> bytes:
    """Return lines without comments, one blank between columns, and tags cut at a blank."""
    data = re.sub(rb"(?m)^#[^\n]*\n?", b"", data)
    if columns[-1] == "run":
        cells = len(columns) - 1
        data = re.sub(rb"(?m)^((?:[^\s]+\t){%d}[^\s]+)[ ][^\t\n]*$" % cells, rb"\1", data)
    # single blanks first, so that each blank is looked at once
    data = re.sub(rb"[ \t\r\f\v]+", b" ", data.strip())
    return re.sub(rb" ?\n\s*", b"\n", data)


def _first_bad_line(name: str, data: bytes, columns: Sequence[str]) -> InputError:
    """Return the error of the first line that is malformed."""
    expected = " ".join(columns)
    refusal = f"{name} holds no line of {expected}"
    for place, line in enumerate(data.split(b"\n"), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        fault = _fault(line, columns)
        if fault:
            return InputError(f"{name} line {place}: {fault}")
        refusal = f"{name} cannot be read as lines of {expected}"
    return InputError(refusal)


def _fault(line: bytes, columns: Sequence[str]) -> str:
    """Return what is wrong with a line, empty if nothing is."""
    # encoding and number of columns
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"byte {line[error.start]:#x} is not UTF-8 text; save the file as UTF-8"
    cells = line.split()
    if len(cells) != len(columns) and len(_tidied(line, columns).split()) != len(columns):
        fault = f"{number_of(len(cells), 'columns')}, expected {len(columns)}: {' '.join(columns)}"
        if b"," in line and len(cells) == 1:
            fault += "; name a table with commas and a header .csv"
        return fault

    # the score or the grade
    number = next((number for number in ("score", "grade") if number in columns), "")
    if not number:
        return ""
    value = cells[columns.index(number)].decode()
    if not SCORE.fullmatch(value):
        names = f"; {GRADE_NAMES}" if number == "grade" else ""
        return f"{number} {value!r} is not a number{names}"
    return ""


def without_duplicates(
    name: str,
    frame: PolarsFrame,
    keys: Sequence[str],
    duplicates: Duplicates,
    place: Callable[[int], str] = "".format,
) -> PolarsFrame:
    """Return the table with one row per key; raise InputError if a key recurs on "error"."""
    import polars as pl

    one_of(duplicates, "duplicates", get_args(Duplicates))

    # equal rows have equal hashes
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for key in keys:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) ^ frame[key].hash().to_numpy()
    hashes.sort()
    if (hashes[1:] != hashes[:-1]).all():
        return frame

    # combine grades
    grade = pl.col("grade")
    combined = {"mean": grade.mean(), "median": grade.median(), "majority": grade.mode().min()}
    if duplicates in combined:
        # a grade for each key
        if "grade" not in frame.columns:
            raise InputError(
                f"{name}: duplicates={duplicates!r} is for grades, not for runs; "
                "keep the first or the last"
            )
        return frame.group_by(keys, maintain_order=True).agg(combined[duplicates])

    # or keep one row
    once = frame.unique(keys, keep="last" if duplicates == "last" else "first", maintain_order=True)
    if duplicates == "error" and len(once) < len(frame):
        _refuse_duplicates(name, frame, keys, len(frame) - len(once), place)
    return once


def first_repeated(frame: PolarsFrame, keys: Sequence[str]) -> dict[str, Any] | None:
    """Return the first row whose values under `keys` occur again, None if none does."""
    repeated = frame.filter(frame.select(keys).is_duplicated())
    return repeated.row(0, named=True) if len(repeated) else None


def _refuse_duplicates(
    name: str, frame: PolarsFrame, keys: Sequence[str], n: int, place: Callable[[int], str]
) -> NoReturn:
    """Raise InputError for a key that recurs, with its first two grades and their places."""
    row = first_repeated(frame, keys) or {}
    refusal = f"{name}: {' '.join(str(row[key]) for key in keys)} occurs more than once"
    remedy = 'keep one of them with duplicates="first" or "last" (--duplicates)'

    # judgements tell both grades, and may be combined
    if "grade" in frame.columns:
        same = np.flatnonzero(np.all([(frame[key] == row[key]).to_numpy() for key in keys], axis=0))
        rows = same[:2].tolist()
        places = [place(i).removeprefix(f"{name}, ") for i in rows]
        if places[0] == places[1]:  # as of a tool's table, whose rows have no line
            places = [f"row {i + 1:,}" for i in rows]

        grades = [
            f"grade {frame['grade'][i]:g} in {at}" for i, at in zip(rows, places, strict=True)
        ]
        refusal += f", {' and '.join(grades)}"
        remedy += ', or combine them by "mean", "median" or "majority"'
    raise InputError(
        f"{refusal} ({number_of(n, 'lines too many', ',')}); {remedy}", see="duplicates"
    )
