"""The command that the refusal of a log proposes: ``dcglearn convert`` with what was missing."""

import os
import shlex
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from dcglearn.foundation.validation import InputError, PathLike


def command_line(error: InputError, command: str, options: Mapping[str, Any]) -> str:
    """Return the ``dcglearn convert`` command that would read a refused log, or "" without one.

    `options` holds the options and arguments of the command that differ from their defaults, by
    name. Those of ``convert`` itself are kept, and those of reading if another command was given.
    """
    if error.log is None or not error.cure:
        return ""

    # options to keep: other commands share a few with convert
    kept = dict(options)
    if command != "convert":
        shared = ("grades", "as_is", "ratings")
        kept = {name: options[name] for name in shared if name in options}

    # paths
    logs = [error.log] if isinstance(error.log, str | os.PathLike) else error.log
    output = kept.get("output") or _new_file(logs[0])
    parts = ["dcglearn", "convert", *map(str, logs)]

    # options that are given, and those that were missing
    for name, value in {**kept, **error.cure}.items():
        is_unset = value is None or (name == "ratings" and not value)  # pairs need no option
        if is_unset or name in ("log", "output"):
            continue
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            parts.append(option if value else option.replace("--", "--no-"))
        else:
            # files are named one by one
            values = value if name == "qrels" and isinstance(value, list) else [value]
            parts += chain.from_iterable((option, _text(one)) for one in values)
    return shlex.join([*parts, "-o", str(output)])


def _text(value: Any) -> str:
    """Return the value of an option as it is written on the command line."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={meaning}" for name, meaning in value.items())
    if isinstance(value, list):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _new_file(log: PathLike) -> str:
    """Return the name of a file that does not exist and is not the log."""
    names = ("log.jsonl", "converted.jsonl", "converted_again.jsonl")
    free = [name for name in names if name != Path(log).name and not Path(name).exists()]
    return free[0] if free else names[-1]
