"""How a log is read: columns, grades and winners of its own, as one frozen object that TOML files hold."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import MAX_GRADES, InputError, listed, scale_size, whole_number
from dcglearn.readers.line_formats import BLANK
from dcglearn.readers.roles import LONG, PREFERENCE, RATING, Role
from dcglearn.readers.winner_words import MEANINGS, own_words

if TYPE_CHECKING:
    MappingLike: TypeAlias = "LogMapping | str | os.PathLike[str] | None"

MAX_DEPTH = 9_999_999
"""Largest number of positions of a list."""


class ReadingOptions(TypedDict, total=False):
    """The options of `read_preferences` on columns, grades and winners, which other readers share."""

    depth: int | None
    pad: bool
    scale: Sequence[str] | None
    winner_words: Mapping[Any, str] | str | None
    positive: str | None
    encoding: str | None
    mapping: MappingLike


@dataclass(frozen=True)
class LogMapping:
    """How a log is read; a wrong option, or two that contradict each other, raise InputError.

    Parameters
    ----------
    n_grades, depth, pad, scale, winner_words, positive, encoding
        As in `read_preferences`.
    columns : mapping of str, optional
        The log's own names of columns, in any case, by the usual name: ``{"a": "Result A", "winner": "Verdict"}``. A
        list with a column for each position is named by what they have in common, ``{"a": "first"}`` for
        ``first_1 .. first_10``, or by a pattern, ``{"a": "Links {}"}``. Other columns keep their usual names.

    Examples
    --------
    >>> mapping = LogMapping(winner_words="Left is better=a,Same=tie", columns={"winner": "Verdict"})
    >>> print(mapping.to_toml())
    [winner_words]
    "left is better" = "a"
    "same" = "tie"
    <BLANKLINE>
    [columns]
    "winner" = "Verdict"
    <BLANKLINE>
    """

    n_grades: int | None = None
    depth: int | None = None
    pad: bool = False
    scale: Sequence[str] | None = None
    winner_words: Mapping[Any, str] | str | None = None
    positive: str | None = None
    encoding: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.depth is not None and whole_number(self.depth, "depth") > MAX_DEPTH:
            raise InputError(f"depth={self.depth}: give at most {MAX_DEPTH}")
        if self.n_grades is not None:
            scale_size(self.n_grades, 0)
        if self.positive not in (None, "a", "b"):
            raise InputError(f"positive={self.positive!r}: give a or b, the side that positive numbers prefer")
        if self.positive is not None and self.winner_words is not None:
            raise InputError("positive= is for numbers and winner_words= for words: give one of the two")
        if self.scale is not None:
            self._check_scale(self.scale)
        unknown = sorted(set(self.columns) - {*PREFERENCE, *RATING, *LONG})
        if unknown:
            raise InputError(f"columns: {unknown[0]!r} is no column of a log; give {listed([*PREFERENCE, *RATING])}")
        for role, name in self.columns.items():
            if "{}" in name and not {**LONG, **PREFERENCE, **RATING}[role].marks:
                raise InputError(
                    f"columns: {role}={name}: braces stand for the position in a list, such as a=Links {{}}"
                )
        own_words(self.winner_words)

    def _check_scale(self, scale: Sequence[str]) -> None:
        if isinstance(scale, str) or not all(isinstance(name, str) for name in scale):
            raise InputError(f"scale={scale!r} must be a list of grade names, worst first")
        if len(self.grade_of_name) < len(scale) or not len(scale):
            raise InputError(f"scale={list(scale)} must name every grade, each by a different name")
        if self.n_grades not in (None, len(scale)):
            raise InputError(f"scale names {len(scale)} grades, but n_grades={self.n_grades}; give one of the two")
        scale_size(len(scale), 0, "the number of grades in scale")

    @cached_property
    def grade_of_name(self) -> dict[str, int]:
        """The grades by their names in lower case."""
        return {name.strip(BLANK).lower(): grade for grade, name in enumerate(() if self.scale is None else self.scale)}

    @cached_property
    def own_words(self) -> dict[str, int]:
        """The codes of the log's own words for a winner, in lower case."""
        return own_words(self.winner_words)

    @property
    def n_known(self) -> int | None:
        """The number of grades, None if no option says."""
        return self.n_grades if self.scale is None else len(self.scale)

    @property
    def top(self) -> int:
        """The number of grades, or the most that are supported if no option says."""
        return self.n_known or MAX_GRADES

    def roles(self, roles: Mapping[str, Role]) -> dict[str, Role]:
        """Return roles with the log's own names of columns, and a number as the winner where its sign says it."""
        mapped = dict(roles)
        for role in self.columns.keys() & roles.keys():
            name = self.columns[role].lower()
            mapped[role] = replace(roles[role], names=(name,), marks=(name,) if roles[role].marks else ())
        if self.positive is not None and "winner" in mapped:
            mapped["winner"] = replace(mapped["winner"], kind="number")
        return mapped

    def updated(self, **options: Any) -> LogMapping:
        """Return the mapping with the options that are given: neither None nor False."""
        return replace(self, **_set(options))

    @classmethod
    def of(cls, n_grades: int | None = None, *, mapping: MappingLike = None, **options: Any) -> LogMapping:
        """Return a mapping, read from its file if it is a path, with the options that are given beside it."""
        read = mapping if isinstance(mapping, cls) else cls() if mapping is None else cls.load(mapping)  # type: ignore[arg-type]
        return read.updated(n_grades=n_grades, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LogMapping:
        """Read a mapping from a TOML file; raise InputError, naming the file, unless every key is known and right."""
        name, data = content(path, "a mapping in TOML, such as positive = 'a'")
        try:
            values = tomllib.loads(data.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{name}: not valid TOML ({error})") from error
        unknown = [key for key in values if key not in KINDS]
        if unknown:
            raise InputError(f"{name}: unknown key {unknown[0]!r}; the keys of a mapping are {listed(list(KINDS))}")
        for key, value in values.items():
            items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            if type(value) is not KINDS[key] or not all(isinstance(item, str) for item in items):
                raise InputError(f"{name}: {key} is {value!r}; expected {EXPECTED[KINDS[key]]}")
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error

    def save(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the mapping beside `path` and rename it."""
        with written_beside(path, force=force) as temporary:
            temporary.write_text(f"# How dcglearn reads a log.\n{self.to_toml()}", encoding="utf-8")

    def to_toml(self) -> str:
        """Return the options that differ from their defaults as TOML, tables last."""
        values = _set({option.name: getattr(self, option.name) for option in fields(self)})
        words = {word: MEANINGS[code] for word, code in self.own_words.items()}
        tables = {"winner_words": words, "columns": self.columns}
        lines = [f"{name} = {_toml(value)}" for name, value in values.items() if name not in tables]
        for name, table in tables.items():
            if table:
                lines += ["", f"[{name}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in table.items())]
        return "\n".join(lines).lstrip("\n") + "\n"


KINDS = {
    **{"n_grades": int, "depth": int, "pad": bool, "scale": list, "positive": str, "encoding": str},
    **{"winner_words": dict, "columns": dict},
}
"""The keys of a mapping's file and the types of their values."""

EXPECTED = {
    int: "a whole number",
    bool: "true or false",
    list: 'a list of texts, such as ["Bad", "Good"]',
    str: "a text",
    dict: "a table of texts",
}
"""What a message calls the types of values."""


def _set(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that say something."""
    return {name: value for name, value in options.items() if value is not None and value is not False}


def _toml(value: Any) -> str:
    """Return a text, a number, a truth value or a list of texts as TOML, whose strings are JSON's but for DEL."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace("\x7f", "\\u007f")
