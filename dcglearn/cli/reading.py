"""Reading of logs by commands: files, joins, limits of memory, recognised columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

import dcglearn as dl
from dcglearn.cli.command import argument_row, first_option, first_row, input_row, option_name
from dcglearn.cli.options import Grades, Scale, say
from dcglearn.foundation.plain_text import aligned, left_out, one_line
from dcglearn.foundation.validation import Counts, Fields, InputError
from dcglearn.logs.contents import contents

if TYPE_CHECKING:
    from dcglearn.reading.contract import Contract
    from dcglearn.reading.preferences import Preferences
    from dcglearn.reading.recognised import Recognised
    from dcglearn.reading.tables import Table

Ratings = Annotated[
    bool, first_option("--ratings", help="The log holds rated lists rather than pairs.")
]

OPTIONS = (
    *("columns", "winner_words", "scale", "grades", "depth"),
    *("pad", "sides", "as_is", "skip_bad"),
)
"""The options of reading, keywords of `read_preferences`, where `grades` is `n_grades`."""


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """How a command reads a table of lists."""

    columns: str | None = input_row(
        "The log's own columns: a=Result A,winner=Verdict; a=Left {} has one for each position.",
        metavar="NAME=COLUMN,...",
    )
    scale: Scale = None
    grades: Grades = None
    depth: int | None = input_row("Cut lists to K positions.", metavar="K")
    skip_bad: Path | None = input_row("Put bad rows in FILE; read the rest.")

    @property
    def options(self) -> Fields:
        """The options of reading that are given, as keywords of readers."""
        given = {name: getattr(self, name, None) for name in OPTIONS}
        keywords = {"n_grades" if name == "grades" else name: given[name] for name in OPTIONS}
        return {name: value for name, value in keywords.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Reading(TableReading):
    """How a command reads a log of preferences."""

    winner_words: str | None = input_row(
        'What winners mean: "Left is better=a,Left is much better=a:2,Same=tie".',
        metavar="WORD=a,...",
    )
    sides: Literal["shown", "listed"] | None = input_row(
        "Whether winners name what was shown there, or the lists a and b wherever shown."
    )
    pad: bool | None = input_row(
        'Fill short lists with "grade unknown", not "no result".', None, "--pad"
    )
    as_is: bool | None = input_row("Keep a log that seems to be upside down.", None, "--as-is")

    def of_lists(self, contract: Contract) -> Fields:
        """Return the options for pairs that could be judged, which have no winner."""
        from dcglearn.reading.columns import own_names

        given = self.options
        own = own_names(given.get("columns"))
        given["columns"] = {role: name for role, name in own.items() if role in contract}
        for name in ("winner_words", "sides", "as_is", "skip_bad"):
            given.pop(name, None)
        return given


@dataclass(frozen=True, kw_only=True)
class LogReading(Reading):
    """How a command reads a log of preferences, or of rated lists."""

    ratings: Ratings = False

    def __post_init__(self) -> None:
        if self.ratings and (self.winner_words or self.sides):
            raise InputError(
                "--winner-words and --sides are for pairs: leave them out with --ratings"
            )

    def read(self, log: Any) -> Preferences:
        """Return a log of pairs or of rated lists."""
        read = dl.read_ratings if self.ratings else dl.read_preferences
        return read(log, **self.options)


@dataclass(frozen=True, kw_only=True)
class CheckedReading(LogReading):
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
class ConvertReading(LogReading):
    """How a file is read that becomes a log."""

    middle: float | None = input_row(
        "Winners are numbers, larger ones prefer b: what is a tie, 4 on 1..7.", metavar="NUMBER"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.middle is not None and (self.winner_words is not None or self.ratings):
            other = "--ratings" if self.ratings else "--winner-words"
            raise InputError(f"--middle is for winners that are numbers: leave out {other}")

    @property
    def options(self) -> Fields:
        """The options of reading that are given, the middle as the meaning of winners."""
        words = {} if self.middle is None else {"winner_words": self.middle}
        return super().options | words


def read_llm(path: str, n_grades: int) -> Preferences:
    """Return a machine's verdicts, upside down or not, on the scale of people's."""
    try:
        return dl.read_preferences(path, n_grades=n_grades, as_is=True)
    except InputError as error:
        if "outside 0.." not in error.args[0]:
            raise
        scale = f"--llm is read on people's scale, 0 to {n_grades - 1}"
        raise InputError(f"{error}; {scale}") from None


@dataclass(frozen=True, kw_only=True)
class LogOptions(CheckedReading):
    """The paths of a log, and how it is read."""

    log: list[str] = argument_row(
        "Parquet, JSON lines or array, delimited text or Excel, also .gz and .zst; - reads "
        "standard input. Or several files, or a folder.",
        ...,
        metavar="LOG...",
    )

    @property
    def pairs(self) -> Preferences:
        """The log, read."""
        return self.read(one_or_all(self.log))


def one_or_all(paths: list[str]) -> Any:
    """Return the path if there is one, else all, as readers take them."""
    return paths[0] if len(paths) == 1 else paths


UNJUDGED: dict[str, int | None] = {"unknown": -1, "drop": None}
"""The grade of an unjudged document by the words of --unjudged; None leaves it out."""

SHOWN = 10
"""Documents of each run that a verdict is on, unless --depth says another number."""


@dataclass(frozen=True)
class JoinOptions:
    """Files beside a log of documents: judgements, and two runs whose lists were compared."""

    qrels: list[str] | None = first_row(
        "Grades of the documents that lists name: TREC, CSV, or a tool's files.", metavar="FILE"
    )
    run_a: str | None = input_row("With --run-b: LOG holds query and winner.", metavar="RUN")
    run_b: str | None = input_row("The other run.", metavar="RUN")
    unjudged: str = input_row(
        "With --qrels: the grade of an unjudged document.", "unknown", metavar="unknown|drop|GRADE"
    )
    duplicates: Literal["error", "first", "last"] = input_row(
        "With --qrels: what to do with a document judged twice.", "error"
    )

    def __post_init__(self) -> None:
        if self.unjudged not in UNJUDGED and not self.unjudged.isdecimal():
            raise InputError(f"--unjudged {self.unjudged}: give unknown, drop or a grade")
        runs = (self.run_a, self.run_b)
        if runs != (None, None) and (self.qrels is None or None in runs):
            raise InputError(
                "--run-a, --run-b and --qrels go together: two runs, and the grades of their "
                "documents"
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

    def joined(self, log: Any, reading: ConvertReading) -> tuple[Table, ConvertReading]:
        """Return a log with grades in place of documents, and how it is read."""
        from dcglearn.reading.columns import own_names
        from dcglearn.reading.tables import table_of

        # the lists of two runs, or those that the log names
        own, table = own_names(reading.columns), table_of(log)
        if self.run_a is not None and self.run_b is not None:
            depth = reading.depth or SHOWN
            _say_sides(table, own)
            frame = dl.io.with_runs(table, self.run_a, self.run_b, depth=depth, columns=own)
            table = replace(table, frame=frame)
            read = {"query", "winner", "a", "b", "system_a", "system_b"}
            own = {role: name for role, name in own.items() if role not in read}

        # the grades of their documents
        judged = dl.read_judgements(
            one_or_all(self.qrels or []),
            duplicates=self.duplicates,
            n_grades=reading.grades,
            scale=reading.scale and reading.scale.split(","),
        )
        unjudged = UNJUDGED[self.unjudged] if self.unjudged in UNJUDGED else int(self.unjudged)
        frame = dl.io.with_grades(table, judged, unjudged=unjudged, columns=own)

        # on the scale of the judgements; lists have their usual names
        n_grades: int | None = max(judged.n_grades or 2, 2)
        if judged.grade_names is not None:
            n_grades = None
        gone = {"a", "b", "docs_a", "docs_b", "list", "scale"}
        columns = ",".join(f"{role}={name}" for role, name in own.items() if role not in gone)
        how = replace(reading, grades=n_grades, scale=None, columns=columns or None)
        return replace(table, frame=frame), how


def _say_sides(table: Table, own: Mapping[str, str]) -> None:
    """Print the columns that say which run stood where."""
    from dcglearn.reading.columns import find
    from dcglearn.reading.run_lists import LISTS

    given = {role: name for role, name in own.items() if role in LISTS}
    found = find(table.frame.columns, LISTS, given)
    if found:
        sides = [f"{role[-1]} is the run in the column {names[0]}" for role, names in found.items()]
        say(one_line(f"columns: {', '.join(sides)}"))


def describe(log: Preferences, dropped: Counts) -> list[str]:
    """Return a line that counts a log's content, and a line for each reason to leave out pairs."""
    return [f"read: {contents(log)}", *left_out(dropped)]


def say_reading(recognised: Recognised | None) -> None:
    """Print to standard error what columns and winners were taken for, and remarks."""
    for line in [] if recognised is None else recognised.lines:
        say(one_line(line))


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
