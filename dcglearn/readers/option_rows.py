"""Rows of the table of reading options, the fields of `LogMapping`: values, help and docs."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args, get_origin

import numpy as np

from dcglearn.foundation.plain_text import names_in, nearest
from dcglearn.foundation.validation import InputError, InputTypeError
from dcglearn.readers.line_formats import BLANK
from dcglearn.readers.winner_words import word_of

TYPES: dict[Any, Any] = {
    bool: (bool, np.bool_),
    int: Integral,
    float: Real,
    Sequence: (Sequence, np.ndarray),
    Mapping: (Mapping, str),
}
"""Other types of values in Python and in TOML; text is as on the command line."""


class Option(NamedTuple):
    """An option of reading.

    `kinds` are the types of its values, other than None. The summary is the help on the command
    line and stands in the table of docs/logs.md; in docstrings the details follow it. `convert`
    returns a value as a mapping holds it. An option that is not given is `default`.
    """

    name: str
    kinds: tuple[Any, ...]
    summary: str
    details: str
    metavar: str | None = None
    convert: Any = None
    default: Any = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it may be; none of an option that is free text or another type."""
        return get_args(self.kinds[0]) if get_origin(self.kinds[0]) is Literal else ()

    @property
    def written(self) -> str:
        """The type in docstrings and messages."""
        text = " or ".join(map(inspect.formatannotation, self.kinds))
        return re.sub(r"[a-z.]+\.", "", text).replace("Literal", "one of ")

    def kept(self, value: Any) -> Any:
        """Return a value as a mapping holds it; raise InputError for a wrong one."""
        if value is None:
            return self.default
        if not any(_is_of(value, kind) for kind in self.kinds):
            near = nearest(value, self.words) if isinstance(value, str) else ""
            fact = f"{self.name} is {value!r}; expected {self.written}{near}. {self.summary}"
            raise (InputError if self.words else InputTypeError)(fact)
        return self.convert(value) if self.convert else value


def option(summary: str, details: str = "", **about: Any) -> Any:
    """Return the field of an option, which is None where it is not given."""
    return field(default=None, metadata={"summary": summary, "details": details, **about})


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):  # True is an integer in Python
        return kind is bool
    origin = get_origin(kind) or kind
    if origin is Literal:
        return str(value) in get_args(kind)
    if not isinstance(value, TYPES.get(origin, origin)):
        return False
    return kind is not float or abs(value) < np.inf


def names_of_grades(names: Any) -> list[str]:
    """Return the names of a scale, a list or a text; numbers are names as `word_of` writes them."""
    return [
        name.strip(BLANK) if isinstance(name, str) else word_of(name) for name in names_in(names)
    ]


def names_of_columns(columns: Any) -> dict[str, str]:
    """Return the columns of a mapping or a text, ``a=Result A,winner=Verdict``."""
    if not isinstance(columns, str):
        return {role: str(name) for role, name in columns.items()}
    parts = re.split(r",(?=\s*\w+\s*=)", columns)  # the name of a column may hold commas
    named = dict(part.split("=", 1) for part in parts if "=" in part)
    if len(named) < len(parts):
        raise InputError(
            f"--columns {columns}: give each usual name once, such as a=Result A,winner=Verdict"
        )
    return {role.strip(): name.strip() for role, name in named.items()}
