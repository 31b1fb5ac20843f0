"""The careful pass over a log: every line by itself, so that a bad one can be named, or set aside.

It defines what a log may say. The fast pass of `dcglearn.readers` may only ever agree with it.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dcglearn.foundation.files import refuse_constant, refuse_existing, written_beside
from dcglearn.foundation.validation import MAX_GRADES, InputError, scale_size

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    Table = dict[str, Any]

BLANK = " \t\n\r\x0b\x0c"
"""What is stripped from a field of text; spelled out, since Python and polars differ on rarer white space."""

MAX_LABEL = 200
"""Longest query or rater label: numpy keeps every label as wide as the longest."""

REASONS_KEPT = 3
WINNERS = {"a": 0, "left": 0, "b": 1, "right": 1, "tie": 2, "draw": 2, "equal": 2, "open": 3}
UNKNOWN_GRADES = ("", "-1", "u", ".", "-", "null")

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Role:
    """What a column is for: the kind of its values, the names it may have, whether lines may lack it.

    `kind` is one of grades, winner, label, number, positive; a `uniform` column is given on every line or on none.
    """

    kind: str
    names: tuple[str, ...]
    required: bool = False
    uniform: bool = False


@dataclass(frozen=True)
class Rules:
    """What grades and lists are accepted: the scale and the depth.

    Raises
    ------
    InputError
        If the scale, `n_grades` or `depth` make no sense.
    """

    n_grades: int | None = None
    depth: int | None = None
    pad: bool = False
    scale: Sequence[str] | None = None
    names: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.depth is not None and (isinstance(self.depth, bool) or not isinstance(self.depth, int | np.integer)):
            raise InputError(f"depth={self.depth!r} is not an integer")
        if self.depth is not None and self.depth < 1:
            raise InputError(f"depth={self.depth} must be at least 1")
        if self.n_grades is not None:
            scale_size(self.n_grades, 0)
        if self.scale is not None:
            self._name_grades(self.scale)

    def _name_grades(self, scale: Sequence[str]) -> None:
        if isinstance(scale, str) or not all(isinstance(name, str) for name in scale):
            raise InputError(f"scale={scale!r} must be a list of grade names, worst first")
        self.names.update({name.strip(BLANK).lower(): grade for grade, name in enumerate(scale)})
        if len(self.names) < len(scale) or not self.names:
            raise InputError(f"scale={list(scale)} must name every grade, each by another name")
        if self.n_grades not in (None, len(scale)):
            raise InputError(f"scale names {len(scale)} grades, but n_grades={self.n_grades}; give one of the two")
        scale_size(len(scale), 0, "the number of grades in scale")

    @property
    def top(self) -> int:
        """The number that every grade must stay below."""
        return len(self.names) or self.n_grades or MAX_GRADES

    def grades(self, values: Any, role: str) -> bytes:
        """Return a list of grades, an int8 a byte, cut to the depth asked.

        Raises
        ------
        InputError
            If it is no list, empty, or one of its values is no grade.
        """
        if not isinstance(values, list):
            raise InputError(f"{role} is {shown(values)}, not a list of grades such as [3, 2, 0]")
        if not values:
            raise InputError(f"{role} is an empty list; leave the line out")
        top = self.top
        codes = [v if type(v) is int and -1 <= v < top else self.grade(v, role) for v in values]
        return array("b", codes[: self.depth]).tobytes()

    def grade(self, value: Any, role: str) -> int:
        """Return one grade, -1 where it is unknown."""
        if value is None:
            return -1
        if isinstance(value, str):
            return self._named(value, role)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{role} holds {shown(value)}, which is not a grade; grades are integers, 0 = worst")
        if isinstance(value, float) and not value.is_integer():
            raise InputError(f"{role} holds the grade {value}, which is not an integer; use null or -1 for no grade")
        if not -1 <= value < self.top:
            given = self.names or self.n_grades
            remedy = f"raise n_grades={self.top} (--grades) or mend the line" if given else "at most 127 are supported"
            raise InputError(f"{role} holds the grade {shown(value)}, outside -1..{self.top - 1}; {remedy}")
        return int(value)

    def _named(self, value: str, role: str) -> int:
        name = value.strip(BLANK).lower()
        if name in self.names:
            return self.names[name]
        if name in UNKNOWN_GRADES:
            return -1
        if self.scale is not None:
            raise InputError(f"{role} holds {shown(value)}, not a grade of the scale {', '.join(self.scale)}")
        if _NUMBER.fullmatch(name):
            raise InputError(f"{role} holds the text {shown(value)}; write the grade as a number, without quotes")
        raise InputError(
            f"{role} holds the grade name {shown(value)}; pass scale= (--scale Bad,Fair,Good), worst first"
        )


class Source(Protocol):
    """Where lines come from: iterate over (number, item), then ask for an item's values or its raw line."""

    unit: str
    header: bytes

    def __iter__(self) -> Iterator[tuple[int, Any]]: ...

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values by role; raises InputError."""

    def raw(self, item: Any) -> bytes:
        """Return the line as it can be mended and read again."""


class JsonLines:
    """One JSON object a line."""

    unit = "line"
    header = b""

    def __init__(self, data: bytes, roles: Mapping[str, Role]) -> None:
        self._data, self._roles = data, roles
        self._seen: dict[tuple[str, ...], dict[str, str]] = {}
        self._accepted = {name for role in roles.values() for name in role.names}
        self._decoder = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=self._once)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return _lines(self._data)

    def raw(self, item: bytes) -> bytes:
        """Return the line itself."""
        return item

    def record(self, item: bytes) -> dict[str, Any]:
        """Return the values by role."""
        try:
            value = self._decoder.decode(decoded(item))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"not valid JSON ({error}): {shown(decoded(item))}; one object a line") from error
        if not isinstance(value, dict):
            raise InputError(f"a JSON {type(value).__name__}, expected an object such as {{...}}; one object a line")
        keys = tuple(value)
        if keys not in self._seen:
            self._seen[keys] = by_role(keys, self._roles)
        return {role: value[key] for role, key in self._seen[keys].items()}

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key.lower() for key, _ in pairs]
            twice = next((key for key in keys if key in self._accepted and keys.count(key) > 1), None)
            if twice:
                raise InputError(f"the key {twice!r} occurs twice; keep one")
        return found


class TextLines:
    """A header and a record a line, separated by tabs if the header has one, by commas otherwise.

    A record never spans lines, so that one stray quote cannot swallow the rest of the file.
    """

    unit = "line"

    def __init__(self, data: bytes, roles: Mapping[str, Role]) -> None:
        self._lines = _lines(data)
        self._roles = roles
        self.header_line, self.header = next(self._lines)
        try:
            text = decoded(self.header)
            self.delimiter = "\t" if "\t" in text else ","
            self.names = self._fields(text)
            self.columns = by_role([name.strip(BLANK) for name in self.names], roles)
        except InputError as error:
            raise InputError(f"line {self.header_line}: {error}") from error
        self._index = {role: [n.strip(BLANK) for n in self.names].index(name) for role, name in self.columns.items()}

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return self._lines

    def raw(self, item: bytes) -> bytes:
        """Return the line itself."""
        return item

    def record(self, item: bytes) -> dict[str, Any]:
        """Return the values by role."""
        fields = self._fields(decoded(item))
        if len(fields) != len(self.names):
            raise InputError(
                f"{len(fields)} fields where the header has {len(self.names)}; "
                "write lists as 3 2 0, or in quotes where they hold commas"
            )
        return {role: from_text(self._roles[role].kind, fields[i]) for role, i in self._index.items()}

    def _fields(self, text: str) -> list[str]:
        try:
            return next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            raise InputError(f"not a line of CSV ({error}): {shown(text)}; mend the quotes") from error


class ParquetRows:
    """The rows of a frame, counted from `first`; one that is set aside is written as a JSON line."""

    unit = "row"
    header = b""

    def __init__(self, frame: pl.DataFrame, roles: Mapping[str, Role], first: int = 1) -> None:
        self._frame, self._roles, self._first = frame, roles, first
        self.columns = by_role(frame.columns, roles)

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return enumerate(self._frame.iter_rows(named=True), self._first)

    def raw(self, item: dict[str, Any]) -> bytes:
        """Return the row as a JSON line."""
        return json.dumps(item, default=str).encode()

    def record(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return the values by role."""
        values = {role: item[column] for role, column in self.columns.items()}
        return {
            role: from_text(self._roles[role].kind, value) if isinstance(value, str) else value
            for role, value in values.items()
        }


def by_role(names: Sequence[str], roles: Mapping[str, Role]) -> dict[str, str]:
    """Return the column of each role that is there, recognised by its name whatever the case.

    Raises
    ------
    InputError
        If two columns have one role, or a required one is missing.
    """
    found = {}
    for role, about in roles.items():
        columns = [name for name in names if name.lower() in about.names]
        if len(columns) > 1:
            raise InputError(f"{' and '.join(columns)} both give the {role!r} of a line; rename or drop one of them")
        if columns:
            found[role] = columns[0]
        elif about.required:
            raise InputError(f"no {role!r} (accepted names: {', '.join(about.names)}); found {', '.join(names) or '-'}")
    return found


def from_text(kind: str, text: str) -> Any:
    """Return what a field of text says, in the types that JSON has; None if it is blank."""
    text = text.strip(BLANK)
    if not text:
        return None
    if kind == "grades":
        if text[0] == "[" and text[-1] == "]":
            text = text[1:-1].strip(BLANK)
        separator = next((mark for mark in "|," if mark in text), None)
        return [_token(token.strip(BLANK)) for token in text.split(separator)]
    if kind in ("number", "positive") and _NUMBER.fullmatch(text):
        return float(text)
    return text


def shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # an integer too long for Python to print
        text = "an integer of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def decoded(line: bytes) -> str:
    """Return the text of a line.

    Raises
    ------
    InputError
        If it is not UTF-8.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"byte 0x{line[error.start]:02x} is not UTF-8 text; save the file as UTF-8") from error


def read_carefully(
    name: str, source: Source, roles: Mapping[str, Role], rules: Rules, skip_bad: str | os.PathLike[str] | None
) -> tuple[Table, dict[str, int]]:
    """Read line by line; return the columns as `readers` wants them and the counts of what was left out.

    Parameters
    ----------
    name : str
        What messages call the file.
    skip_bad : path, optional
        Where bad lines are written, once all lines are read; without it the first one is an error.

    Returns
    -------
    table : dict of str to ndarray
        ``grades``: int8 (n, K); ``winner``: 0 = a, 1 = b, 2 = tie; numbers: float64 (n,); labels: object (n,).
        An optional column that no line gives is left out.
    dropped : dict of str to int
        ``"bad lines"`` and the first few reasons; empty if no line was bad.

    Raises
    ------
    InputError
        Naming the first bad line, or if there is no good one.
    """
    if skip_bad is not None:
        refuse_existing(skip_bad, force=True)
    good = _Good(roles, rules)
    bad: list[bytes] = []
    reasons: list[str] = []
    for number, item in source:
        try:
            good.add(source.record(item), f"{source.unit} {number}")
        except InputError as error:
            if skip_bad is None:
                raise InputError(f"{name}, {source.unit} {number}: {error}") from error
            bad.append(source.raw(item))
            if len(reasons) < REASONS_KEPT:
                reasons.append(f"{source.unit} {number}: {error}")
    if not good.n:
        raise InputError(f"{name}: " + (f"no good line; {reasons[0]}" if bad else "nothing after the header"))
    if not bad or skip_bad is None:
        return good.table(), {}
    with written_beside(skip_bad) as temporary, temporary.open("wb") as file:
        file.writelines(line + b"\n" for line in ([source.header] if source.header else []) + bad)
    return good.table(), {"bad lines": len(bad), **dict.fromkeys(reasons, 1)}


class _Good:
    """The good lines so far, and what the first of them settles for the rest."""

    def __init__(self, roles: Mapping[str, Role], rules: Rules) -> None:
        self._roles, self._rules = roles, rules
        self._columns: dict[str, list[Any]] = {role: [] for role in roles}
        self._depth, self._uniform = rules.depth, [role for role in roles if roles[role].uniform]
        self._first: tuple[str, list[bool]] | None = None
        self.n = 0

    def add(self, record: Mapping[str, Any], place: str) -> None:
        """Check a line and keep it, or raise InputError and keep nothing of it."""
        values = {role: self._checked(role, record.get(role)) for role in self._roles}
        lists = [role for role in values if self._roles[role].kind == "grades"]
        depth = self._depth or len(values[lists[0]])
        if not self._rules.pad:
            for role in lists:
                if len(values[role]) != depth:
                    like = f" as on {self._first[0]}" if self._first and self._rules.depth is None else ""
                    raise InputError(
                        f"{role} has {len(values[role])} grades, expected {depth}{like}; pass pad=True (--pad) to "
                        "fill shorter lists with unknown grades, or depth= (--depth) to cut longer ones"
                    )
            self._depth = depth
        given = [values[role] is not None for role in self._uniform]
        if self._first and given != self._first[1]:
            role = next(r for r, now, then in zip(self._uniform, given, self._first[1], strict=True) if now != then)
            raise InputError(f"{role} {shown(record.get(role))}: give it on every line or on none ({self._first[0]})")
        self._first = self._first or (place, given)
        for role, value in values.items():
            self._columns[role].append(value)
        self.n += 1

    def _checked(self, role: str, value: Any) -> Any:
        about = self._roles[role]
        if value is None:
            if about.required:
                raise InputError(f"{role} is missing")
            return None
        if about.kind == "grades":
            return self._rules.grades(value, role)
        return {"winner": _winner, "label": _label}.get(about.kind, _number)(value, role, about.kind)

    def table(self) -> Table:
        """Return the columns as arrays."""
        made = {role: self._array(self._roles[role], values) for role, values in self._columns.items()}
        return {role: values for role, values in made.items() if values is not None}

    def _array(self, about: Role, values: list[Any]) -> Any:
        if about.kind == "grades":
            return self._padded(values)
        if all(value is None for value in values):
            return None
        if about.kind == "label":
            return np.array(["" if value is None else value for value in values], dtype=object)
        return np.array([1.0 if value is None else value for value in values])

    def _padded(self, values: list[bytes]) -> Any:
        lists = [role for role in self._roles if self._roles[role].kind == "grades"]
        longest = max(len(grades) for role in lists for grades in self._columns[role])
        depth = self._rules.depth or longest
        return np.frombuffer(b"".join(g.ljust(depth, b"\xff") for g in values), np.int8).reshape(-1, depth)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers, without their ends."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.strip():
            yield number, line.rstrip(b"\r\n")


@functools.lru_cache(4096)
def _token(text: str) -> Any:
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _winner(value: Any, role: str, _: str) -> int:
    code = WINNERS.get(value.lower()) if isinstance(value, str) else None
    if code is None:
        raise InputError(f"{role} is {shown(value)}; use a, b or tie")
    return code


def _label(value: Any, role: str, _: str) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{role} is {shown(value)}; use text or an integer")
    try:
        text = str(value)
        text.encode()
    except ValueError as error:  # half a surrogate pair, or an integer too long to print
        raise InputError(f"{role} is {shown(value)}; use plain text") from error
    if len(text) > MAX_LABEL:
        raise InputError(f"{role} {shown(value)} is longer than {MAX_LABEL} characters; use a short identifier")
    return text or None


def _number(value: Any, role: str, kind: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{role} is {shown(value)}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{role} is {shown(value)}, which is not a finite number; leave it out where unknown")
    if kind == "positive" and number <= 0:
        raise InputError(f"{role} is {number:g}; it must be positive: leave the line out, or the {role}")
    return number


def is_same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths, of which either may be missing, are one file."""
    first, second = Path(path), Path(other)
    return first.exists() and second.exists() and first.samefile(second)
