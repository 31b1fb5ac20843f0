"""Rows of the table of reading options, the fields of `LogMapping`: values, help and documentation."""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, get_args, get_origin

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.readers.line_formats import BLANK
from dcglearn.readers.winner_words import word_of

TYPES: dict[Any, Any] = {
    bool: (bool, np.bool_),
    int: Integral,
    float: Real,
    Sequence: (Sequence, np.ndarray),
    Mapping: (Mapping, str),
}
"""What values of a type may be in Python and in TOML, if anything else; text is as on the command line."""


@dataclass(frozen=True)
class Option:
    """An option of reading.

    The summary is the help on the command line and stands in the table of docs/logs.md; in docstrings the details
    follow it. `convert` returns a value as a mapping holds it. An option that is not given is `default`.
    """

    name: str
    type: Any
    summary: str
    details: str = ""
    metavar: str | None = None
    convert: Callable[[Any], Any] | None = None
    default: Any = None

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of values other than None."""
        return get_args(self.type | None)[:-1]

    @property
    def written(self) -> str:
        """The type in docstrings and messages."""
        text = " or ".join(map(inspect.formatannotation, self.kinds))
        return re.sub(r"Literal\[(.*)\]", r"{\1}", re.sub(r"[a-z.]+\.", "", text))

    def kept(self, value: Any) -> Any:
        """Return a value as a mapping holds it; raise InputError for a wrong one."""
        if value is None:
            return self.default
        if not any(_is_of(value, kind) for kind in self.kinds):
            raise InputError(f"{self.name} is {value!r}; expected {self.written}. {self.summary}")
        return self.convert(value) if self.convert else value

    def entry(self) -> str:
        """Return the option's entry in the section "Parameters" of a docstring."""
        text = textwrap.fill(f"{self.summary} {self.details}", 112, break_on_hyphens=False)
        return f"{self.name} : {self.written}, optional\n{textwrap.indent(text, ' ' * 8)}"


def option(summary: str, details: str = "", **about: Any) -> Any:
    """Return the field of an option, which is None where it is not given."""
    return field(default=None, metadata={"summary": summary, "details": details, **about})


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):  # True is an integer in Python
        return kind is bool
    if get_origin(kind) is Literal:
        return str(value) in get_args(kind)
    kind = get_origin(kind) or kind
    return isinstance(value, TYPES.get(kind, kind)) and (kind is not float or abs(value) < np.inf)


def names_of_grades(names: Any) -> list[str]:
    """Return the names of a scale, a list or a text; numbers are names too, as `word_of` writes them."""
    if isinstance(names, str):
        names = names.split(",")
    return [name.strip(BLANK) if isinstance(name, str) else word_of(name) for name in names]


def names_of_columns(columns: Any) -> dict[str, str]:
    """Return the columns of a mapping or a text, ``a=Result A,winner=Verdict``."""
    if not isinstance(columns, str):
        return {role: str(name) for role, name in columns.items()}
    parts = re.split(r",(?=\s*\w+\s*=)", columns)  # the name of a column may hold commas
    pairs = [part.split("=", 1) for part in parts if "=" in part]
    named = {role.strip(): name.strip() for role, name in pairs}
    if len(named) < len(parts):
        raise InputError(f"--columns {columns}: give each usual name once, such as a=Result A,winner=Verdict")
    return named
