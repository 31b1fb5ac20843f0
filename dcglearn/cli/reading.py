"""Reading of logs by commands: what was recognised in them is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dcglearn as dl
from dcglearn.cli.options import joined, say
from dcglearn.foundation.plain_text import left_out, one_line
from dcglearn.foundation.validation import Fields, InputError

if TYPE_CHECKING:
    from dcglearn.reading.preferences import Preferences
    from dcglearn.reading.recognised import Recognised


def read_log(
    paths: list[str], *, ratings: bool, columns: list[str], grades: int | None, as_is: bool
) -> Preferences:
    """Return a log of pairs or of rated lists, and say what was recognised and left out."""
    read = dl.read_ratings if ratings else dl.read_preferences
    options: Fields = {"columns": joined(columns), "n_grades": grades}
    given = {name: value for name, value in options.items() if value is not None}
    log = read(one_or_all(paths), as_is=as_is, **given)
    say_reading(log.recognised)
    for line in left_out(log.dropped):
        say(line)
    return log


def read_llm(path: str, n_grades: int) -> Preferences:
    """Return a machine's verdicts, upside down or not, on the scale of people's."""
    try:
        return dl.read_preferences(path, n_grades=n_grades, as_is=True)
    except InputError as error:
        if "outside 0.." not in error.args[0]:
            raise
        scale = f"--llm is read on people's scale, 0 to {n_grades - 1}"
        raise InputError(f"{error}; {scale}") from None


def one_or_all(paths: list[str]) -> Any:
    """Return the path if there is one, else all, as readers take them."""
    return paths[0] if len(paths) == 1 else paths


def say_reading(recognised: Recognised | None) -> None:
    """Print to standard error what columns and winners were taken for, and remarks."""
    for line in [] if recognised is None else recognised.lines:
        say(one_line(line))
