"""Reading of logs by commands: files, joins, limits of memory, recognised columns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

import dcglearn as dl
from dcglearn.cli.command import (
    argument_row,
    first_option,
    first_row,
    input_option,
    input_row,
    option_name,
)
from dcglearn.cli.options import Cluster, Grades, Scale, say
from dcglearn.foundation.inputs import expand_paths
from dcglearn.foundation.plain_text import aligned, left_out, number_of, one_line
from dcglearn.foundation.sources import FORMATS, suffix_of
from dcglearn.foundation.validation import Counts, Fields, InputError, listed

if TYPE_CHECKING:
    from dcglearn.parts.parted_log import PartedLog
    from dcglearn.reading.preferences import Preferences
    from dcglearn.reading.recognised import Recognised

Cutoffs = Annotated[
    str | None,
    input_option(
        metavar=".2,.5,.8|N", help="Grades are fractions from 0 to 1: cut there, or into N levels."
    ),
]
Ratings = Annotated[
    bool, first_option("--ratings", help="The log holds rated lists rather than pairs.")
]

READING = (
    "n_grades",
    "depth",
    "pad",
    "scale",
    "columns",
    "winner_words",
    "sides",
    "as_is",
    "skip_bad",
)
"""The keywords of readers."""


@dataclass(frozen=True, kw_only=True)
class PlainReading:
    """How a command reads a file."""

    grades: Grades = None
    columns: str | None = input_row(
        "The log's own columns: a=Result A,winner=Verdict; a=Links {}.", metavar="NAME=COLUMN,..."
    )

    @property
    def options(self) -> Fields:
        """The options of reading that are given."""
        values = {name: getattr(self, name.removeprefix("n_"), None) for name in READING}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Reading(PlainReading):
    """How a command reads a log of preferences."""

    as_is: bool | None = input_row("Keep a log that seems to be upside down.", None)


@dataclass(frozen=True, kw_only=True)
class CheckedReading(Reading):
    """How commands that learn from a log read it."""

    as_is: bool | None = input_row(
        "Keep a log that seems to be upside down; or refuse one that tells nothing.",
        None,
        "--as-is/--strict-log",
    )

    @property
    def strict_log(self) -> bool:
        """Whether a log is refused whose pairs no metric orders better than a coin."""
        return self.as_is is False


@dataclass(frozen=True, kw_only=True)
class ConvertReading(Reading):
    """How a file is read that becomes a log."""

    ratings: Ratings = False
    scale: Scale = None
    winner_words: str | None = first_row(
        'What winners mean: "Left is better=a,Left is much better=a:2,Same=tie".',
        metavar="WORD=a,...",
    )
    middle: float | None = input_row(
        "Winners are numbers, larger ones prefer b: what is a tie, 4 on 1..7.", metavar="NUMBER"
    )
    sides: Literal["shown", "listed"] | None = input_row(
        "Whether winners name what was shown there, or the lists a and b wherever shown.", None
    )
    depth: int | None = input_row("Cut lists to K positions.", metavar="K")
    pad: bool | None = input_row('Fill short lists with "grade unknown", not "no result".', None)
    equal_groups: bool = input_row("With --ratings: a group counts once.", False)
    skip_bad: Path | None = input_row("Put bad rows in FILE; read the rest.")

    def __post_init__(self) -> None:
        if self.equal_groups and not self.ratings:
            raise InputError("--equal-groups goes with --ratings")
        if self.middle is not None and self.winner_words is not None:
            raise InputError("--middle is for numbers and --winner-words for words: give one")
        if self.ratings and (self.winner_words or self.sides or self.middle is not None):
            raise InputError(
                "--winner-words, --sides and --middle are for pairs: leave them out with --ratings"
            )

    def read(self, log: Any) -> Preferences:
        """Return a log of pairs or of rated lists."""
        if self.ratings:
            return dl.read_ratings(log, equal_groups=self.equal_groups, **self.options)
        return dl.read_preferences(log, **self.options_of(log))

    def options_of(self, log: Any) -> Fields:
        """Return the options of reading a log's pairs, numbers as words for winners."""
        if self.middle is None:
            return self.options
        from dcglearn.reading.winners import words_of_numbers

        return {**self.options, "winner_words": words_of_numbers(log, self.middle, self.columns)}


def read_llm(path: str, n_grades: int) -> Preferences:
    """Return a machine's verdicts, upside down or not, on the scale of people's."""
    try:
        return dl.read_preferences(path, n_grades=n_grades, as_is=True)
    except InputError as error:
        if "n_grades" not in error.args[0]:
            raise
        scale = f"; --llm is read on people's scale, 0 to {n_grades - 1}"
        raise error.told(after=scale) from None


@dataclass(frozen=True, kw_only=True)
class LogOptions(CheckedReading):
    """The paths of a log, and how it is read."""

    log: list[str] = argument_row(
        "JSON lines or array, delimited text or Parquet, also .gz and .zst; "
        "- reads standard input. Or several files, or a folder.",
        ...,
        metavar="LOG...",
    )
    ratings: Ratings = False

    def refuse_in_parts(self, **options: Any) -> None:
        """Raise InputError for the first option, by name and value, that needs the log whole."""
        for name, value in {"ratings": self.ratings, **options}.items():
            if not value:
                continue
            option, remedy = option_name(name), ""
            if name == "ratings":
                remedy = f"; dcglearn convert FILE {option} -o FILE.parquet makes such files first"
            raise InputError(
                f"{option} needs the whole log in memory; leave out --workers{remedy}",
                see="whole-log",
            )

    @contextlib.contextmanager
    def opened(self, cluster: Cluster) -> Iterator[Preferences | PartedLog]:
        """Yield the log."""
        # a log in memory
        engine, paths = cluster.engine, one_or_all(self.log)
        if engine is None:
            read = dl.read_ratings if self.ratings else dl.read_preferences
            yield read(paths, **self.options)
            return
        from dcglearn.parts.open_log import opened_log

        # over a cluster; other files than Parquet are read whole, and then spread
        files = expand_paths(self.log, "**/*")
        if {suffix_of(file) for file in files} & {*FORMATS} == {".parquet"}:
            opened = opened_log(self.log, engine=engine, **self.options)
        else:
            opened = opened_log(dl.read_preferences(paths, **self.options), engine=engine)
        with opened as parts:
            yield parts


def one_or_all(paths: list[str]) -> Any:
    """Return the path if there is one, else all, as readers take them."""
    return paths[0] if len(paths) == 1 else paths


@dataclass(frozen=True)
class JoinOptions:
    """Options of a join: judgements, the grade of unjudged documents, the lists of a verdict."""

    qrels: list[str] | None = first_row(
        "Grades of the documents that lists name: TREC, CSV, or a tool's files.", metavar="FILE"
    )
    run_a: str | None = input_row("With --run-b: LOG holds query and winner.", metavar="RUN")
    run_b: str | None = input_row("The other run.", metavar="RUN")
    unjudged: str = input_row(
        "With --qrels: the grade of an unjudged document.", "unknown", metavar="unknown|drop|GRADE"
    )
    duplicates: Literal["error", "first", "last", "mean", "median", "majority"] = input_row(
        "With --qrels: what to do with a document judged twice, as by several raters.", "error"
    )

    @property
    def asked(self) -> list[str]:
        """The options given that read a log with other files."""
        names = ("qrels", "run_a", "run_b")
        return [option_name(name) for name in names if getattr(self, name)]

    @property
    def inputs(self) -> list[str]:
        """The files that are read beside the log."""
        runs = [run for run in (self.run_a, self.run_b) if run is not None]
        return [*(self.qrels or []), *runs]

    def joined(self, log: Any, reading: ConvertReading) -> Preferences:
        """Return a file's log joined with the judgements; raise InputError if options conflict."""
        if self.qrels is None or (self.run_a is None) != (self.run_b is None):
            raise InputError(
                "--run-a, --run-b and --qrels go together: two runs, and the grades of their "
                "documents"
            )
        grades = {"unknown": -1, "drop": None}
        if self.unjudged not in grades and not self.unjudged.isdecimal():
            raise InputError(f"--unjudged {self.unjudged}: give unknown, drop or a grade")
        unjudged: Any = grades.get(self.unjudged, self.unjudged)

        # verdicts on two runs, or documents that lists name
        judged = dl.read_judgements(
            one_or_all(self.qrels),
            duplicates=self.duplicates,
            n_grades=reading.grades,
            scale=reading.scale and reading.scale.split(","),
        )
        columns = reading.columns
        if self.run_a is not None and self.run_b is not None:
            depth = reading.depth or 10
            log = dl.io.with_runs(log, self.run_a, self.run_b, depth=depth, columns=columns)
            columns = None
        frame = dl.io.with_grades(log, judged, unjudged=unjudged, columns=columns)

        # on the scale of the judgements
        if judged.grade_names is not None:
            import polars as pl

            frame = frame.with_columns(scale=pl.lit(",".join(judged.grade_names)))
        size = max(judged.n_grades, 2)
        return replace(reading, grades=size, scale=None, columns=columns).read(frame)


def describe(log: Preferences | PartedLog, dropped: Counts) -> list[str]:
    """Return a line that counts a log's content, and a line for each reason to leave out pairs."""
    from dcglearn.parts.parted_log import contents

    counted = getattr(log, "counted", {})
    return [f"read: {contents(log)}", *looked_up_lines(counted), *left_out(dropped)]


def say_reading(recognised: Recognised | None) -> None:
    """Print remarks, and to standard error how winners were read; a, b and tie mean themselves."""
    if recognised is None:
        return
    for remark in recognised.remarks:
        say(f"remark: {remark}")

    if recognised.ignored:
        say(one_line(f"columns not used: {listed(recognised.ignored)}"))

    # a, b and tie mean themselves
    words = recognised.words or {}
    if any(word.lower() != meaning for word, (meaning, _) in words.items()):
        say(one_line(recognised.winners))


def looked_up_lines(counts: Mapping[str, int]) -> list[str]:
    """Return what a join with judgements counted, in one line; no line for other logs."""
    parts = [number_of(n, things, ",") for things, n in counts.items()]
    return [f"looked up: {', '.join(parts)}"] if parts else []


def recognised_lines(log: Preferences) -> list[str]:
    """Return what was recognised in a log, its grades, and its first pairs."""
    recognised = [] if log.recognised is None else [str(log.recognised), ""]
    return [*recognised, _grades(log), *_first_pairs(log)]


def _grades(log: Preferences) -> str:
    """Return the grades of the scale and how often each occurs in the two lists of a pair."""
    lists = np.concatenate([log.preferred, log.other]).astype(np.int64)
    empty, unknown, *counts = np.bincount(lists.ravel() + 2, minlength=log.n_grades + 2).tolist()
    rows = list(zip(_grade_names(log), counts, strict=True))
    rows += [row for row in (("unknown", unknown), ("no result", empty)) if row[1]]
    return "grades: " + ", ".join(f"{name} ({count:,})" for name, count in rows)


def _grade_names(log: Preferences) -> tuple[str, ...]:
    return log.grade_names or tuple(map(str, range(log.n_grades)))


def _first_pairs(log: Preferences) -> list[str]:
    """Return the first three pairs as a table, a row a list."""
    names = _grade_names(log)
    rows = [["pair", "query", "list", *map(str, range(1, log.depth + 1))]]
    for i in range(min(3, len(log))):
        tied = log.tie is not None and log.tie[i]
        query = "" if log.query is None else str(log.query[i])
        labels = ("tied", "and") if tied else ("preferred", "to")

        # grades by position
        for label, grades in zip(labels, (log.preferred[i], log.other[i]), strict=True):
            cells = [names[grade] if grade >= 0 else "-" for grade in grades]
            rows.append([str(i + 1), query, label, *cells])
    return ["", *aligned(rows, n_left=3), ""]
