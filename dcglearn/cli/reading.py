"""Reading of logs by commands: files, joins, limits of memory, recognised columns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, make_dataclass
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
from dcglearn.cli.options import Cluster, Grades, option_of, say
from dcglearn.foundation.inputs import expand_paths
from dcglearn.foundation.plain_text import aligned, left_out, number_of, one_line
from dcglearn.foundation.sources import FORMATS, suffix_of
from dcglearn.foundation.validation import Counts, Fields, InputError
from dcglearn.readers.mapping import OPTIONS, LogMapping

if TYPE_CHECKING:
    from dcglearn.parts.parted_log import PartedLog
    from dcglearn.readers.preferences import Preferences
    from dcglearn.readers.read_table import Recognised

Cutoffs = Annotated[
    str | None,
    input_option(
        metavar=".2,.5,.8|N", help="Grades are fractions from 0 to 1: cut there, or into N levels."
    ),
]
Ratings = Annotated[
    bool, first_option("--ratings", help="The log holds rated lists rather than pairs.")
]


@dataclass(frozen=True, kw_only=True)
class PlainReading:
    """How a command reads a file."""

    grades: Grades = None

    @property
    def log_mapping(self) -> LogMapping:
        """The options of reading that are given."""
        values = {name: getattr(self, name.removeprefix("n_"), None) for name in OPTIONS}
        return LogMapping(**{name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class Reading(PlainReading):
    """How a command reads a log of preferences."""

    as_is: Annotated[bool | None, option_of("as_is")] = None


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


FullReading: Any = make_dataclass(
    "FullReading",
    [
        (name, Annotated[(str if row.convert else row.kinds[-1]) | None, option_of(name)], None)
        for name, row in OPTIONS.items()
        if name not in ("n_grades", "as_is")
    ],
    bases=(Reading,),
    frozen=True,
    kw_only=True,
)


@dataclass(frozen=True, kw_only=True)
class MappingOptions(FullReading):
    """Options of how a file is read: those of the table, and the treatment of bad lines."""

    ratings: Ratings = False
    equal_groups: bool = input_row("With --ratings: a group counts once.", False)
    skip_bad: Path | None = input_row("Put bad lines in FILE; read the rest.")

    def __post_init__(self) -> None:
        if self.equal_groups and not self.ratings:
            raise InputError("--equal-groups goes with --ratings")
        if self.ratings and (self.winner_words or self.positive):
            raise InputError(
                "--winner-words and --positive are for pairs: leave them out with --ratings"
            )


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
        mapping, engine, paths = self.log_mapping, cluster.engine, one_or_all(self.log)
        if engine is None:
            read = dl.read_ratings if self.ratings else dl.read_preferences
            yield read(paths, mapping=mapping)
            return
        from dcglearn.parts.open_log import opened_log

        # over a cluster; other files than Parquet are read whole, and then spread
        files = expand_paths(self.log, "**/*")
        if {suffix_of(file) for file in files} & {*FORMATS} == {".parquet"}:
            opened = opened_log(self.log, engine=engine, mapping=mapping)
        else:
            opened = opened_log(dl.read_preferences(paths, mapping=mapping), engine=engine)
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
        "With --qrels: the grade of an unjudged document.",
        "worst",
        metavar="worst|best|drop|unknown|GRADE",
    )
    missing: Literal["error", "skip"] = input_row(
        "With --qrels: refuse queries without judgements, or skip their pairs.", "error"
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

    def joined(self, log: Any, mapping: LogMapping, skip_bad: Path | None) -> Preferences:
        """Return a file's log joined with the judgements; raise InputError if options conflict."""
        # what of the judgements is missing, and how files are read
        options: Fields = {
            "mapping": mapping,
            "missing": self.missing,
            "duplicates": self.duplicates,
            "unjudged": int(self.unjudged) if self.unjudged.isdecimal() else self.unjudged,
        }

        # documents that lists name
        qrels = self.qrels and one_or_all(self.qrels)
        if self.asked == ["--qrels"]:
            return dl.io.join_judgements(log, qrels, skip_bad=skip_bad, **options)

        # verdicts on two runs
        runs = (self.run_a, self.run_b)
        if skip_bad:
            raise InputError("--skip-bad does not go with runs")
        if qrels is None or None in runs:
            raise InputError(
                "--run-a, --run-b and --qrels go together: two runs, and the grades of their "
                "documents"
            )
        return dl.io.preferences_from_runs(qrels, *runs, log, **options)


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

    # a, b and tie mean themselves
    winners = recognised.winners
    if winners is None:
        return
    translated = [word.lower() != meaning for word, (meaning, _) in winners.words.items()]
    if winners.sides or winners.names or any(translated):
        say(one_line("; ".join([winners.sentence, *winners.notes])))


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
