"""The command line that a refusal of a log proposes: the whole command, with what was given and
what was missing.
"""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dcglearn.foundation.validation import InputError, PathLike

READING = ("read", "grades", "as_is", "ratings")
"""The options of other commands that ``dcglearn convert`` takes too."""


def command_line(error: InputError, command: str, given: Mapping[str, Any]) -> str:
    """Return the ``dcglearn convert`` command that would read a refused log; nothing where no
    option would.

    `given` holds the options and arguments of the command that differ from their defaults, by name.
    Those of ``convert`` itself are kept, and those of reading if another command was given.
    """
    if error.log is None or not error.cure:
        return ""
    kept = (
        given if command == "convert" else {name: given[name] for name in READING if name in given}
    )
    logs = [error.log] if isinstance(error.log, str | os.PathLike) else error.log
    output = kept.get("output") or _new_file(logs[0])
    options = {
        name: value
        for name, value in {**kept, **error.cure}.items()
        if name not in ("log", "output")
    }
    words = ["dcglearn", "convert", *map(str, logs)]
    for name, value in options.items():
        if value is None or (name == "ratings" and not value):  # pairs are read without an option
            continue
        option = "no_" * (value is False) + name
        words += [
            f"--{option.replace('_', '-')}",
            *([] if isinstance(value, bool) else [_text(value)]),
        ]
    return shlex.join([*words, "-o", str(output)])


def _text(value: Any) -> str:
    """Return the value of an option as it is written on the command line."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={meaning}" for name, meaning in value.items())
    return (
        ",".join(value)
        if isinstance(value, list)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _new_file(log: PathLike) -> str:
    """Return the name of a file that is not there, other than that of the log."""
    names = ("log.jsonl", "converted.jsonl", "converted_again.jsonl")
    return next(
        (name for name in names if name != Path(log).name and not Path(name).exists()), names[-1]
    )
