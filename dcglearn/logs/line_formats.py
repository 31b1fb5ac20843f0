"""The lines of a log as records of values by role: JSON lines, CSV or TSV, rows of Parquet."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.files import refuse_constant
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

BLANK = " \t\n\r\x0b\x0c"
"""Characters stripped from a field of text; listed, since Python and polars differ on other white space."""

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Role:
    """The meaning of a column: kind of its values, accepted names, and whether lines may lack it.

    `kind` is one of grades, winner, label, identity, number, positive; a `uniform` column has a value on every line or
    on none.
    """

    kind: str
    names: tuple[str, ...]
    required: bool = False
    uniform: bool = False


class Source(ABC):
    """The lines of a log: iterate over (number, item), then get the values or the raw line of an item."""

    unit = "line"
    header = b""
    roles: Mapping[str, Role]
    columns: dict[str, str]

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, Any]]: ...

    @abstractmethod
    def record(self, item: Any) -> dict[str, Any]:
        """Return the values by role; raises InputError."""

    def raw(self, item: Any) -> bytes:
        """Return the line as it can be corrected and read again."""
        return item

    def has(self, role: str) -> bool:
        """Return whether the lines read so far have a column for a role, be it blank."""
        return role in self.columns


class JsonLines(Source):
    """One JSON object a line."""

    def __init__(self, data: bytes, roles: Mapping[str, Role]) -> None:
        self.data, self.roles = data, roles
        self._columns: dict[tuple[str, ...], dict[str, str]] = {}
        self._accepted = {name for role in roles.values() for name in role.names}
        self._decoder = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=self._once)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return _lines(self.data)

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
        if keys not in self._columns:
            self._columns[keys] = by_role(keys, self.roles)
        return {role: value[key] for role, key in self._columns[keys].items()}

    def has(self, role: str) -> bool:
        """Return whether a line read so far has a key for a role."""
        return any(role in columns for columns in self._columns.values())

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key.lower() for key, _ in pairs]
            twice = next((key for key in keys if key in self._accepted and keys.count(key) > 1), None)
            if twice:
                raise InputError(f"the key {twice!r} occurs twice; keep one")
        return values


class TextLines(Source):
    """A header line and a record a line, separated by tabs if the header has one, by commas otherwise.

    A record never spans lines, so one stray quote spoils one line only.
    """

    def __init__(self, data: bytes, roles: Mapping[str, Role]) -> None:
        self.data, self.roles = data, roles
        self._lines = _lines(data)
        self.header_line, self.header = next(self._lines)
        with errors_in(f"line {self.header_line}"):
            text = decoded(self.header)
            self.delimiter = "\t" if "\t" in text else ","
            self.names = self._fields(text)
            self.columns = by_role([name.strip(BLANK) for name in self.names], roles)
        self._index = {role: [n.strip(BLANK) for n in self.names].index(name) for role, name in self.columns.items()}

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return self._lines

    def record(self, item: bytes) -> dict[str, Any]:
        """Return the values by role."""
        fields = self._fields(decoded(item))
        if len(fields) != len(self.names):
            raise InputError(
                f"{len(fields)} fields where the header has {len(self.names)}; "
                "write lists as 3 2 0, or in quotes where they hold commas"
            )
        return {role: from_text(self.roles[role].kind, fields[i]) for role, i in self._index.items()}

    def _fields(self, text: str) -> list[str]:
        try:
            return next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            raise InputError(f"not a line of CSV ({error}): {shown(text)}; correct the quotes") from error


class ParquetRows(Source):
    """The rows of a frame, counted from `first`; a bad one is set aside as a JSON line."""

    unit = "row"

    def __init__(self, frame: pl.DataFrame, roles: Mapping[str, Role], first: int = 1) -> None:
        self.frame, self.roles, self._first = frame, roles, first
        self.columns = by_role(frame.columns, roles)

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return enumerate(self.frame.iter_rows(named=True), self._first)

    def raw(self, item: dict[str, Any]) -> bytes:
        """Return the row as a JSON line."""
        return json.dumps(item, default=str).encode()

    def record(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return the values by role."""
        values = {role: item[column] for role, column in self.columns.items()}
        return {
            role: from_text(self.roles[role].kind, value) if isinstance(value, str) else value
            for role, value in values.items()
        }


def by_role(names: Sequence[str], roles: Mapping[str, Role]) -> dict[str, str]:
    """Return the name of each role's column, recognised in any case; roles without a column are left out.

    Raises InputError if two columns have one role, or a required one is missing.
    """
    columns = {}
    for role, about in roles.items():
        matches = [name for name in names if name.lower() in about.names]
        if len(matches) > 1:
            raise InputError(f"{' and '.join(matches)} both give the {role!r} of a line; rename or drop one of them")
        if matches:
            columns[role] = matches[0]
        elif about.required:
            raise InputError(f"no {role!r} (accepted names: {', '.join(about.names)}); found {', '.join(names) or '-'}")
    return columns


def from_text(kind: str, text: str) -> Any:
    """Return the value of a field of text in the types of JSON; None if it is blank."""
    text = text.strip(BLANK)
    if not text:
        return None
    if kind == "grades":
        if text[0] == "[" and text[-1] == "]":
            text = text[1:-1].strip(BLANK)
        separator = next((mark for mark in "|," if mark in text), None)
        return [_token(token.strip(BLANK)) for token in text.split(separator)]
    if kind in ("number", "positive") and NUMBER.fullmatch(text):
        return float(text)
    return text


@contextlib.contextmanager
def errors_in(place: str) -> Iterator[None]:
    """Put a place, such as a file or a line, before the message of an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # an integer too long for Python to print
        text = "an integer of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def decoded(line: bytes) -> str:
    """Return the text of a line; raise InputError if it is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"byte 0x{line[error.start]:02x} is not UTF-8 text; save the file as UTF-8") from error


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers, without their ends."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.strip():
            yield number, line.rstrip(b"\r\n")


@functools.lru_cache(4096)
def _token(text: str) -> Any:
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else text
