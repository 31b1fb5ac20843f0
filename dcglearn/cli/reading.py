"""Reading of logs by commands: what was recognised in them is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import dcglearn as dl
from dcglearn.cli.options import joined
from dcglearn.cli.outputs import say
from dcglearn.foundation.plain_text import left_out, one_line

if TYPE_CHECKING:
    from dcglearn.reading.preferences import Preferences
    from dcglearn.reading.recognised import Recognised


def read_log(
    paths: list[str],
    *,
    ratings: bool = False,
    columns: list[str] = [],
    grades: int | None = None,
    as_is: bool = False,
) -> Preferences:
    """Return a log of pairs or of rated lists, and say what was recognised and left out."""
    read = dl.read_ratings if ratings else dl.read_preferences
    log = read(paths, grades, columns=joined(columns), as_is=as_is)
    say_reading(log.recognised, log.dropped)
    return log


def read_llms(paths: list[str], n_grades: int) -> Preferences | None:
    """Return LLM judges' verdicts, upside down or not, on the scale of people's; None without."""
    return dl.read_preferences(paths, n_grades, as_is=True) if paths else None


def say_reading(recognised: Recognised | None, dropped: Mapping[str, int]) -> None:
    """Print to standard error what columns and winners were taken for, and what was left out."""
    lines = left_out(dropped)
    if recognised is not None:
        remarks = [f"remark: {note}" for note in recognised.notes]
        lines = [*recognised.lines, *remarks, *lines]
    for line in lines:
        say(one_line(line))
