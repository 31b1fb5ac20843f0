"""The lines of a log as records of values by role: JSON lines or arrays, delimited text, rows of
tables, mappings.
"""

import contextlib
import csv
import functools
import io
import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Self, TypeAlias

import numpy as np

from dcglearn.foundation.inputs import refuse_constant
from dcglearn.foundation.validation import InputError, PolarsFrame, errors_in
from dcglearn.readers.roles import (
    ColumnsByRole,
    Role,
    as_list,
    by_role,
    position_of,
    refuse_columns,
)

BLANK = " \t\n\r"
"""Characters stripped from a field of text, and between the values of a list; Python takes control
characters too.
"""

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
SCORE = re.compile(rf"{NUMBER.pattern}|[+-]?inf(inity)?", re.IGNORECASE)

DECIMAL_COMMA = re.compile(r"[+-]?(0,[0-9]+|[0-9]+,([0-9]{1,2}|[0-9]{4,}))")
"""A number with a decimal comma; 1,234 is none, since its comma may stand between thousands."""

NOT_AVAILABLE = {"NA", "N/A", "#N/A"}
"""Texts, in upper case, that stand for a blank cell of one of the kinds `VALUES`; a label may be
called so.
"""

VALUES = {
    "grades",
    "documents",
    "grade",
    "winner",
    "number",
    "positive",
    "share",
    "score",
    "side",
    "place",
}

_START = re.compile(f"[{BLANK}]*")

LONGEST_OBJECT = 1 << 22
"""Most bytes of a file in which its first object over several lines is looked for."""

SEPARATORS = {",": "commas", ";": "semicolons", "|": "|", "\t": "tabs"}
"""Names of the separators of columns."""


class Source(ABC):
    """The lines of a log: iterate over (number, item), then get the values or the raw line of an
    item.

    `form` says in words what was recognised, `said` in which columns winners were looked up,
    `doubt` why they may be misread; `names` are those of the columns (of JSON, the keys of the
    first object).
    """

    unit = "line"
    header = b""
    form = ""
    said = doubt = ""
    roles: Mapping[str, Role]
    columns: ColumnsByRole
    names: Sequence[str]

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, Any]]: ...

    @abstractmethod
    def record(self, item: Any) -> dict[str, Any]:
        """Return the values by role; raises InputError."""

    def readable(self) -> Iterator[dict[str, Any]]:
        """Yield the values by role of the lines that can be read; the reader names the others."""
        for _, item in self:
            with contextlib.suppress(InputError):
                yield self.record(item)

    def raw(self, item: Any) -> bytes:
        """Return the line as it can be corrected and read again; a row or a record as a line of
        JSON.
        """
        return item if isinstance(item, bytes) else json.dumps(item, default=str).encode()

    def has(self, role: str) -> bool:
        """Return whether the lines read so far have a column for a role, be it blank."""
        return role in self.columns

    def cells(self) -> Any:
        """Return the raw cells of all lines if they are made at once; None to read line by line."""
        return None


Opener: TypeAlias = Callable[[Mapping[str, Role]], Source]
"""A function that opens a log by the roles of its columns."""


class Objects(Source):
    """Objects that each name their values, so that two need not have the same columns."""

    def __init__(self, roles: Mapping[str, Role]) -> None:
        self.roles = roles
        self._columns: dict[tuple[Any, ...], ColumnsByRole] = {}

    def has(self, role: str) -> bool:
        """Return whether an object read so far has a key for a role; before any is read, whether
        the first has.
        """
        if not self._columns and self.names:
            with contextlib.suppress(InputError):  # which the reader names
                self.by_keys(dict.fromkeys(self.names))
        return any(role in columns for columns in self._columns.values())

    def by_keys(self, value: Mapping[Any, Any]) -> ColumnsByRole:
        """Return the columns of an object by role."""
        keys = tuple(value)
        if keys not in self._columns:
            self._columns[keys] = by_role([str(key) for key in keys], self.roles)
        return self._columns[keys]


class JsonLines(Objects):
    """One JSON object a line."""

    form = "JSON lines"

    def __init__(self, data: bytes, roles: Mapping[str, Role]) -> None:
        super().__init__(roles)
        self.data, self._decode, self.names = data, _decoder(roles).decode, []
        with contextlib.suppress(
            ValueError, RecursionError, AttributeError
        ):  # the first line may be no object
            self.names = list(_with_paths(json.loads(next(iter(self))[1]), roles).keys())

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return numbered_lines(self.data)

    def record(self, item: bytes) -> dict[str, Any]:
        """Return the values by role."""
        try:
            value = self._decode(decoded(item))
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"not valid JSON ({error}): {shown(decoded(item))}; one object a line"
            ) from error
        if not isinstance(value, dict):
            raise InputError(
                f"a JSON {type(value).__name__}, expected an object such as {{...}}; one object a line"
            )
        value = _with_paths(value, self.roles)
        return _values(value, self.by_keys(value))


class TextLines(Source):
    """A header line and a record a line, separated by tabs if the header has one, else by commas,
    semicolons or |.

    Cells in quotes may hold line breaks, up to 100 lines a record; a stray quote spoils one line
    only. Excel's line ``sep=;`` before the header is understood, and rows of blank cells at the end
    are left out.
    """

    def __init__(self, data: bytes, roles: Mapping[str, Role], header: str | None = None) -> None:
        self.data, self.roles, self.names = data, roles, []
        first, _, last = (header or "1").partition("-")
        lines = (line for line in self._records() if header is None or line[0] >= int(first))
        self.header_line, self.header = next(lines, (0, b""))
        if not self.header:
            raise InputError(f"header={header!r} (--header) is beyond the last line")
        excel = re.fullmatch(rb'"?sep=([,;|\t])"?\s*', self.header)
        if excel:
            self.header_line, self.header = next(lines, (self.header_line, b""))
        with errors_in(f"line {self.header_line}"):
            text = decoded(self.header)
            most_frequent = "\t" if "\t" in text else max(";,|", key=text.count)
            self.delimiter = decoded(excel[1]) if excel else most_frequent
            refuse_columns(text.count(self.delimiter) + 1)
            self.names = [_on_one_line(name) for name in self._fields(text)]
            if first == "0":
                self.names = [str(number) for number in range(1, len(self.names) + 1)]
                self.header_line, self.header = self.header_line - 1, b""
            for number, line in lines if int(last or first) > self.header_line else ():
                self.names = _below(self.names, self._fields(decoded(line)))
                self.header_line, self.header = number, self.header + b"\n" + line
                if number >= int(last):
                    break
            self.columns = by_role(self.names, roles)
        self.data = _without_blank_rows(data, self.delimiter.encode())
        self.form = f"text, columns separated by {SEPARATORS[self.delimiter]}"
        place = {name: i for i, name in reversed(list(enumerate(self.names)))}
        self._index = {
            role: place[names] if isinstance(names, str) else tuple(place[name] for name in names)
            for role, names in self.columns.items()
        }

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return ((number, line) for number, line in self._records() if number > self.header_line)

    def _records(self) -> Iterator[tuple[int, bytes]]:
        """Yield the records that are not blank, with the numbers of their first lines."""
        if b'"' not in self.data:
            yield from numbered_lines(self.data)
            return
        lines, first = self.data.split(b"\n"), 0
        while first < len(lines):
            end = self._end(lines, first)
            record = b"\n".join(lines[first:end])
            if record.strip():
                yield first + 1, record.rstrip(b"\r\n")
            first = end

    def _end(self, lines: list[bytes], first: int) -> int:
        """Return the line after a record, which goes on after its first line if a quote is open
        there.

        It is one line alone where a quote is astray: no line closes it, or a line before that one
        is itself a record.
        """
        if lines[first].count(b'"') % 2:
            for last in range(first + 1, min(first + 100, len(lines))):
                if lines[last].count(b'"') % 2:
                    return (
                        last + 1
                        if self._is_record(b"\n".join(lines[first : last + 1]))
                        else first + 1
                    )
                if self.names and self._is_record(lines[last]):
                    break
        return first + 1

    def _is_record(self, line: bytes) -> bool:
        try:
            return not self.names or len(self._fields(decoded(line.rstrip(b"\r")))) == len(
                self.names
            )
        except InputError:
            return False

    def record(self, item: bytes) -> dict[str, Any]:
        """Return the values by role."""
        fields = self._fields(decoded(item))
        if len(fields) != len(self.names):
            raise InputError(
                f"{len(fields)} fields where the header has {len(self.names)}; "
                "write lists as 3 2 0, or in quotes where they hold commas"
            )
        return {
            role: from_text(self.roles[role].kind, fields[at])
            if isinstance(at, int)
            else as_list([from_text("grade", fields[i]) for i in at], [self.names[i] for i in at])
            for role, at in self._index.items()
        }

    def _fields(self, text: str) -> list[str]:
        try:
            return next(
                csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True), []
            )
        except csv.Error as error:
            raise InputError(
                f"not a line of CSV ({error}): {shown(text)}; correct the quotes"
            ) from error


def _on_one_line(name: str) -> str:
    """Return the name of a column, with a blank for its line breaks."""
    parts = (part.strip(BLANK) for part in re.split(r"[\r\n]+", name))
    return " ".join(part for part in parts if part)


def _below(names: Sequence[str], below: Sequence[str]) -> list[str]:
    """Return the names of two lines of a header; a blank name in the first is that to its left."""
    joined, upper = [], ""
    for name, lower in zip_longest(names, below, fillvalue=""):
        upper = name or upper
        joined.append("_".join(part for part in (upper, lower.strip(BLANK)) if part))
    return joined


def _without_blank_rows(data: bytes, delimiter: bytes) -> bytes:
    """Return text without the rows of blank cells that a spreadsheet has at its end."""
    blank, end = BLANK.encode() + delimiter, len(data)
    while end and not data[(start := data.rfind(b"\n", 0, end - 1) + 1) : end].strip(blank):
        end = start
    return data[:end]


class FrameRows(Source):
    """The rows of a frame, counted from `first`; a bad one is set aside as a JSON line."""

    unit = "row"
    form = "a table"

    def __init__(self, frame: PolarsFrame, roles: Mapping[str, Role], first: int = 1) -> None:
        self.frame, self.roles, self._first, self.names = frame, roles, first, frame.columns
        self.columns = by_role(self.names, roles)

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return enumerate(self.frame.iter_rows(named=True), self._first)

    def record(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return the values by role."""
        return _values(item, self.columns, self.roles)


class Reshaped(Source):
    """Judgements in the rows of a table of another shape, whose columns have the roles
    `table_roles`.
    """

    def __init__(self, rows: Source, roles: Mapping[str, Role]) -> None:
        self._rows, self.roles, self.table_roles = (
            rows,
            roles,
            getattr(rows, "table_roles", rows.roles),
        )
        self.names, self.unit, self.header = rows.names, rows.unit, rows.header
        self.form, self.said, self.doubt = rows.form, rows.said, rows.doubt

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return iter(self._rows)

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values of a judgement by role."""
        return self._rows.record(item)

    def raw(self, item: Any) -> bytes:
        """Return the rows of a judgement."""
        return self._rows.raw(item)

    def has(self, role: str) -> bool:
        """Return whether the table has a column for a role."""
        return self._rows.has(role)


class Records(Objects):
    """Mappings, or the objects of a JSON array."""

    unit = "record"

    def __init__(
        self, records: Sequence[Any], roles: Mapping[str, Role], form: str = "records"
    ) -> None:
        super().__init__(roles)
        self._records, self.form = records, form
        first = records[0] if records else {}
        self.names = (
            [str(key) for key in _with_paths(dict(first), roles)]
            if isinstance(first, Mapping)
            else []
        )

    @classmethod
    def of_array(cls, data: bytes, roles: Mapping[str, Role]) -> Self:
        """Read a JSON array of objects, or objects over several lines; raise InputError if they are
        damaged.
        """
        try:
            if data.lstrip()[:1] != b"[":
                return cls(_objects(decoded(data), _decoder(roles)), roles, "JSON objects")
            return cls(_decoder(roles).decode(decoded(data)), roles, "a JSON array")
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"not valid JSON ({error}); expected an array of objects, [{{...}}, {{...}}], or one object a line"
            ) from error

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return enumerate(self._records, 1)

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values by role."""
        if not isinstance(item, Mapping):
            raise InputError(
                f"{shown(item)} is not an object with names and values, such as {{...}}"
            )
        item = _with_paths({str(key): _plain(value) for key, value in item.items()}, self.roles)
        return _values(item, self.by_keys(item), self.roles)


GRADE_KEYS = ("grade", "relevance", "rel", "relevance_grade")
DOCUMENT_KEYS = ("doc", "document", "docid", "doc_id", "document_id", "id")
"""The keys of objects that stand for documents in a list, in lower case."""


def grades_of_objects(documents: Any) -> Any:
    """Return the grades of objects such as ``{"doc": "d1", "grade": 3}``; any other value stays as
    it is.
    """
    if (
        not isinstance(documents, list)
        or not documents
        or not all(isinstance(x, Mapping) for x in documents)
    ):
        return documents
    return [_by_key(document, GRADE_KEYS, "grade") for document in documents]


def _are_named(documents: Any) -> bool:
    """Return whether the documents of a list are objects that tell their names."""
    is_object = (
        isinstance(documents, list) and bool(documents) and isinstance(documents[0], Mapping)
    )
    return is_object and any(key.lower() in DOCUMENT_KEYS for key in documents[0])


def _by_key(document: Mapping[str, Any], keys: Sequence[str], what: str) -> Any:
    """Return the value of the first of some keys, in any case; raise InputError if the object has
    none of them.
    """
    values = {key.lower(): value for key, value in document.items()}
    key = next((key for key in keys if key in values), None)
    if key is None:
        raise InputError(
            f"the document {shown(dict(document))} has no {what}; give it one of the keys {', '.join(keys)}"
        )
    return values[key]


def _with_paths(value: dict[Any, Any], roles: Mapping[str, Role]) -> dict[Any, Any]:
    """Return an object with the values inside it that columns name by a path, such as
    left.grades.
    """
    for name in (name for role in roles.values() for name in role.names if "." in name):
        inner: Any = value
        for key in name.split("."):
            inner = (
                next((x for k, x in inner.items() if k.lower() == key), None)
                if isinstance(inner, dict)
                else None
            )
        if inner is not None:
            value = {**value, name: inner}
    return value


def _values(
    item: Mapping[str, Any], columns: ColumnsByRole, text_of: Mapping[str, Role] | None = None
) -> dict[str, Any]:
    """Return the values of a record by role; text is converted where the roles `text_of` it are
    given.
    """
    values = {}
    for role, names in columns.items():
        if not isinstance(names, str):
            cells = [item[name] for name in names]
            cells = (
                cells
                if text_of is None
                else [from_text("grade", x) if isinstance(x, str) else x for x in cells]
            )
            values[role] = as_list(cells, names)
        elif text_of is not None and isinstance(item[names], str):
            values[role] = from_text(text_of[role].kind, item[names])
        elif text_of is not None and text_of[role].kind == "winner":
            values[role] = answer_of(item[names])
        else:
            values[role] = item[names]

    for side in {"a", "b"} & values.keys():
        if f"docs_{side}" not in values and _are_named(values[side]):
            values[f"docs_{side}"] = [
                _by_key(document, DOCUMENT_KEYS, "name") for document in values[side]
            ]
    return values


def as_plain(value: Any) -> Any:
    """Return arrays, series and tuples as lists, and other values as they are."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "to_list"):
        return value.to_list()
    return list(value) if isinstance(value, tuple) else value


def _plain(value: Any) -> Any:
    """Return a value in the types of JSON: arrays, series and tuples as lists, NumPy's numbers as
    Python's.
    """
    value = as_plain(value)
    return (
        [x.item() if hasattr(x, "item") else x for x in value] if isinstance(value, list) else value
    )


def is_spread(data: bytes) -> bool:
    """Return whether a file of JSON begins with an object over several lines, as it is printed for
    reading.

    A first line that is damaged is no such object, so that the reader names it.
    """
    head = data[:LONGEST_OBJECT].lstrip()
    first = head.partition(b"\n")[0].rstrip()
    if first == b"{":
        return True
    if not first.startswith(b"{") or first.endswith(b"}"):
        return False
    with contextlib.suppress(ValueError, RecursionError):
        text = head.decode(errors="replace")
        return "\n" in text[: json.JSONDecoder().raw_decode(text)[1]]
    return False


def _objects(text: str, decoder: json.JSONDecoder) -> list[Any]:
    """Return the JSON values that stand one after another in a text."""
    values, at = [], 0
    while (at := _START.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        value, at = decoder.raw_decode(text, at)
        values.append(value)
    return values


def _decoder(roles: Mapping[str, Role]) -> json.JSONDecoder:
    """Return a decoder of JSON that refuses NaN, Infinity, and an object that has a column of a log
    twice.
    """
    accepted = {name for role in roles.values() for name in role.names}
    marks = [role.marks for role in roles.values() if role.marks]

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            counts = Counter(key.lower() for key, _ in pairs)
            twice = [key for key, n in counts.items() if n > 1]
            bad = next(
                (k for k in twice if k in accepted or any(position_of(k, m) for m in marks)), None
            )
            if bad:
                raise InputError(f"the key {bad!r} occurs twice; keep one")
        return values

    return json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=once)


def from_text(kind: str, text: str) -> Any:
    """Return the value of a field of text in the types of JSON; None if it is blank."""
    text = text.strip(BLANK)
    if not text or (kind in VALUES and text.upper() in NOT_AVAILABLE):
        return None
    if kind in ("grades", "documents"):
        is_grades, as_json = kind == "grades", text[0] == "[" and text[-1] == "]"
        text = text[1:-1].strip(BLANK) if as_json else text
        quotes = "\"'" if as_json or not is_grades else ""
        separator = next((mark for mark in ("|," if is_grades else "\t|,") if mark in text), None)
        tokens = words_of(text) if separator is None else text.split(separator)
        names = [x.strip(BLANK + quotes) for x in tokens]
        return list(map(_token, names)) if is_grades else names
    if kind == "winner" and text[0] in "[{":
        with contextlib.suppress(
            ValueError, RecursionError
        ):  # then it is no answer of an annotation tool
            return answer_of(json.loads(text))
    if kind == "grade":
        return _token(text)
    if kind in ("number", "positive", "share"):
        number = text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text
        return float(number) if NUMBER.fullmatch(number) else text
    return text


def checked_score(value: Any, role: str) -> float:
    """Return a finite number, an infinity, or the number that a text holds."""
    is_text = isinstance(value, str) and SCORE.fullmatch(value.strip(BLANK))
    if not is_text and (
        isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number)
    ):
        raise InputError(f"{role} is {shown(value)}, which is not a number")
    try:
        number = float(value)
    except (OverflowError, TypeError) as error:
        raise InputError(
            f"{role} is {shown(value)}, which is not a number that can be used"
        ) from error
    if math.isnan(number):
        raise InputError(f"{role} is missing ({role} nan)")
    return number


def words_of(text: str) -> list[str]:
    """Return the words of a text, which `BLANK` characters separate."""
    return [word for word in re.split(f"[{BLANK}]+", text) if word]


def answer_of(value: Any) -> Any:
    """Return the answer in what annotation tools write for it, or the value itself.

    Label Studio writes ``[{"selected": "left"}]`` or ``{"choices": ["left"]}``, and Argilla a
    ranking of the two sides, ``[{"value": "a", "rank": 1}, {"value": "b", "rank": 2}]``, in which
    equal ranks are a tie.
    """
    while isinstance(value, list | Mapping):
        if isinstance(value, Mapping):
            value, before = value.get("selected", value.get("choices", value)), value
        else:
            value, before = value[0] if len(value) == 1 else _first_of_two(value), value
        if value is before:
            break
    return value


def _first_of_two(ranking: list[Any]) -> Any:
    """Return the better of two ranked options, "tie" if they have one rank; anything else stays as
    it is.
    """
    ranks = [
        option.get("rank") if isinstance(option, Mapping) and "value" in option else None
        for option in ranking
    ]
    if len(ranks) != 2 or not all(type(rank) is int for rank in ranks):
        return ranking
    first, second = sorted(ranking, key=lambda option: option["rank"])
    return "tie" if first["rank"] == second["rank"] else first["value"]


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
        refusal = f"byte 0x{line[error.start]:02x} is not UTF-8 text; save the file as UTF-8, or name its encoding"
        raise InputError(
            f"{refusal} (encoding='cp1252', say)", cure={"encoding": "cp1252"}
        ) from error


def numbered_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers, without their ends."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.strip():
            yield number, line.rstrip(b"\r\n")


@functools.lru_cache(4096)
def _token(text: str) -> Any:
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else text
