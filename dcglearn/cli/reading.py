"""Reading of logs by commands: what was recognised in them is said."""

from __future__ import annotations

from typing import Any

import dcglearn as dl
from dcglearn.cli.options import joined
from dcglearn.cli.outputs import say
from dcglearn.foundation.plain_text import left_out, one_line


def read_log(
    paths: list[str],
    *,
    ratings: bool = False,
    columns: list[str] = [],
    grades: int | None = None,
    as_is: bool = False,
) -> dl.Preferences:
    """Return a log of pairs or of rated lists, and say what was recognised and left out."""
    read = dl.read_ratings if ratings else dl.read_preferences
    log = read(paths, grades, columns=joined(columns), as_is=as_is)
    say_reading(log)
    return log


def say_reading(read: Any) -> None:
    """Print to standard error what columns and winners were taken for, and what was left out."""
    lines = left_out(read.dropped)
    if read.recognised is not None:
        remarks = [f"remark: {note}" for note in read.recognised.notes]
        lines = [*read.recognised.lines, *remarks, *lines]
    for line in lines:
        say(one_line(line))
