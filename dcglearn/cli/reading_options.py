"""How a log is read: one group of options, whole in ``convert``; other commands take what it saved, by ``--read``."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dcglearn.cli.command import first_option, input_option
from dcglearn.cli.options import Grades
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.readers.mapping import LogMapping

Read = Annotated[
    str | None, input_option("--read", metavar="FILE", help="Read the log as `convert --save-mapping` saved it.")
]
Ratings = Annotated[bool, first_option("--ratings", help="The log holds rated lists rather than pairs.")]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How every command reads a log: as a saved mapping says, with the options that are given beside it."""

    read: Read = None
    grades: Grades = None

    @property
    def options(self) -> dict[str, Any]:
        """The options beside the file, as `LogMapping` takes them."""
        return {"n_grades": self.grades}

    @property
    def mapping(self) -> LogMapping:
        """The mapping of the file with the options: an option that is given replaces that of the file."""
        from dcglearn.readers.mapping import LogMapping

        return LogMapping.of(mapping=self.read, **self.options)


@dataclass(frozen=True, kw_only=True)
class MappingOptions(Reading):
    """All that can be said of how a file is read."""

    columns: Annotated[
        str | None, input_option(metavar="NAME=COLUMN,...", help="The log's own columns: a=Result A,winner=Verdict.")
    ] = None
    winner_words: Annotated[
        str | None,
        first_option(metavar="WORD=a,...", help='What winners mean: "Left is better=a,Right is better=b,Same=tie".'),
    ] = None
    positive: Annotated[
        Literal["a", "b"] | None,
        input_option(help="Winners are numbers as -3..3: positive ones prefer this side, the size is the strength."),
    ] = None
    scale: Annotated[
        str | None, first_option(metavar="NAMES", help="Grade names, worst first: Bad,Fair,Good,Excellent,Perfect.")
    ] = None
    depth: Annotated[int | None, input_option(metavar="K", help="Cut lists to K positions.")] = None
    pad: Annotated[bool, input_option("--pad", help='Fill short lists with "no grade".')] = False
    ratings: Ratings = False
    equal_groups: Annotated[bool, input_option("--equal-groups", help="With --ratings: each group counts once.")] = (
        False
    )
    skip_bad: Annotated[
        Path | None, input_option(metavar="FILE", help="Put bad lines into FILE and read the others.")
    ] = None

    def __post_init__(self) -> None:
        if self.equal_groups and not self.ratings:
            raise InputError("--equal-groups goes with --ratings")
        if self.ratings and (self.winner_words is not None or self.positive is not None):
            raise InputError("--winner-words and --positive are for pairs: leave them out with --ratings")

    @property
    def options(self) -> dict[str, Any]:
        """The options beside the file, as `LogMapping` takes them."""
        scale = None if self.scale is None else [name.strip() for name in self.scale.split(",")]
        named = {name: getattr(self, name) for name in ("winner_words", "positive", "depth", "pad")}
        return {**super().options, **named, "scale": scale, "columns": _columns(self.columns)}


def _columns(text: str | None) -> dict[str, str] | None:
    """Return the columns in a text, ``a=Result A,winner=Verdict``."""
    if text is None:
        return None
    columns = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    if len(columns) < text.count(",") + 1:
        raise InputError(f"--columns {text}: give each usual name once, such as a=Result A,winner=Verdict")
    return {name.strip(): column.strip() for name, column in columns.items()}


@contextlib.contextmanager
def convert_line(log: str) -> Iterator[None]:
    """Add the ``convert`` line that would help to a refusal of a log that other options can read."""
    try:
        yield
    except InputError as error:
        cause: BaseException | None = error
        while cause is not None and getattr(cause, "option", None) is None:
            cause = cause.__cause__
        if cause is None:
            raise
        output = "log.jsonl" if Path(log).name != "log.jsonl" else "converted.jsonl"
        line = f"dcglearn convert {shlex.quote(log)} {cause.option} -o {output}"  # type: ignore[attr-defined]
        raise InputError(f"{error}; so: {line}") from error
