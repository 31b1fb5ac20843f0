"""Lines of a log as values by role: JSON lines and arrays, delimited text, tables, mappings."""

import contextlib
import copy
import csv
import io
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, Self, TypeAlias

import numpy as np

from dcglearn.foundation.inputs import refuse_constant
from dcglearn.foundation.validation import InputError, PolarsFrame, errors_in
from dcglearn.readers.cell_values import BLANK, names_of_objects, shown, value_of
from dcglearn.readers.column_roles import (
    ColumnsByRole,
    Record,
    Roles,
    as_list,
    by_role,
    is_range,
    position_of,
    refuse_columns,
)

Refusals: TypeAlias = dict[int, InputError]
"""What is wrong with bad rows, by the row."""


class Source(ABC):
    """The lines of a log: iterate over (number, item), then get an item's values or raw line.

    `form` says in words what was recognised, `said` in which columns winners were looked up,
    `doubt` why they may be misread; `names` are those of the columns (of JSON, the keys of the
    first object). `texts` says that a text may stand for a value of another type; `cells` are
    the raw cells of all lines where they are made at once, `documents` the rows of the documents
    where each has one.
    """

    unit = "line"
    texts = False
    header = b""
    form = ""
    said = doubt = ""
    cells: Any = None
    documents: "Source | None" = None
    roles: Roles
    columns: ColumnsByRole
    names: Sequence[str]

    @property
    def table_roles(self) -> Roles:
        """The roles of the columns of the table, of which lines of another shape are made."""
        return self.roles

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, Any]]: ...

    @abstractmethod
    def record(self, item: Any) -> Record:
        """Return the raw cells by role; raises InputError."""

    def values(self, item: Any) -> Record:
        """Return the values by role; raises InputError."""
        return {
            role: value_of(cell, self.roles[role].kind, self.texts)
            for role, cell in self.record(item).items()
            if role in self.roles
        }

    @property
    def lists(self) -> list[str]:
        """The roles of lists of grades."""
        return [role for role, about in self.roles.items() if about.kind == "grades"]

    def parts(self, size: int) -> Iterator["Source"]:
        """Yield the source in parts of about `size` bytes, whole if a line needs those before."""
        yield self

    def beginning(self, row: int) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over the lines from a row on."""
        return islice(self, row, None)

    def readable(self, first: int = 0) -> Iterator[tuple[str, Record]]:
        """Yield the places and the values by role of the lines from a row on that can be read.

        The reader names the others.
        """
        for number, item in self.beginning(first):
            with contextlib.suppress(InputError):
                yield f"{self.unit} {number}", self.values(item)

    def first_records(self) -> list[Record]:
        """Return the values by role of up to 1,000 lines that can be read."""
        return [record for _, record in islice(self.readable(), 1_000)]

    def place(self, row: int) -> str:
        """Return where a row stands, for messages."""
        return f"{self.unit} {next(self.beginning(row))[0]}"

    def raw(self, item: Any) -> bytes:
        """Return the line, to be corrected and read again; a row or a record as a line of JSON."""
        return item if isinstance(item, bytes) else json.dumps(item, default=str).encode()

    def has(self, role: str) -> bool:
        """Return whether the lines read so far have a column for a role, be it blank."""
        return role in self.columns


Opener: TypeAlias = Callable[[Roles], Source]
"""A function that opens a log by the roles of its columns."""


class Objects(Source):
    """Objects that each name their values, so that two need not have the same columns."""

    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self._columns: dict[tuple[Any, ...], ColumnsByRole] = {}
        self._paths = _paths(roles)

    def has(self, role: str) -> bool:
        """Return whether an object read so far has a key for a role; at first, the first object."""
        if not self._columns and self.names:
            with contextlib.suppress(InputError):  # which the reader names
                self._by_keys(self.names)
        return any(role in columns for columns in self._columns.values())

    def keys(self, value: Mapping[Any, Any]) -> list[str]:
        """Return the keys of an object, with the paths that columns name."""
        return [str(key) for key in _with_paths(value, self._paths)]

    def cells_of(self, value: Mapping[Any, Any]) -> Record:
        """Return the cells of an object by role."""
        value = _with_paths(value, self._paths)
        return _by_role(value, self._by_keys(value), self.texts)

    def _by_keys(self, value: Iterable[Any]) -> ColumnsByRole:
        keys = tuple(value)
        if keys not in self._columns:
            names = [str(key) for key in keys]
            self._columns[keys] = by_role(names, self.roles, of_objects=True)
        return self._columns[keys]


class JsonLines(Objects):
    """One JSON object a line."""

    form = "JSON lines"

    def __init__(self, data: bytes, roles: Roles) -> None:
        super().__init__(roles)
        self.data, self._decode, self.names = data, _decoder(roles).decode, []
        # the first line may be no object
        with contextlib.suppress(ValueError, RecursionError):
            first = json.loads(next(iter(self))[1])
            self.names = self.keys(first) if isinstance(first, dict) else []

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return numbered_lines(self.data)

    def parts(self, size: int) -> Iterator[Source]:
        """Yield the lines in parts, which share the columns that were seen."""
        for data in _blocks(self.data, size):
            part = JsonLines(data, self.roles)
            part._columns = self._columns
            yield part

    def record(self, item: bytes) -> Record:
        """Return the values by role."""
        line = decoded(item)
        try:
            value = self._decode(line)
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"not valid JSON ({error}): {shown(line)}; one object a line"
            ) from error

        # an object
        if not isinstance(value, dict):
            raise InputError(
                f"a JSON {type(value).__name__}, expected an object such as {{...}}; "
                "one object a line"
            )
        return self.cells_of(value)


class TextLines(Source):
    """A header and a record a line, in columns separated by tabs, commas, semicolons or |.

    Tabs separate if the header has one. Cells in quotes may hold line breaks, up to 100 lines a
    record; a stray quote spoils one line only. Excel's line ``sep=;`` before the header is
    understood, and rows of blank cells at the end are left out.
    """

    texts = True

    def __init__(self, data: bytes, roles: Roles, header: str | None = None) -> None:
        self.data, self.roles, self.names = data, roles, []
        first, _, last = (header or "1").partition("-")
        lines = (line for line in self._records() if header is None or line[0] >= int(first))
        self.header_line, self.header = next(lines, (0, b""))
        if not self.header:
            raise InputError(f"header={header!r} (--header) is beyond the last line")

        # Excel's line with the separator
        excel = re.fullmatch(rb'"?sep=([,;|\t])"?\s*', self.header)
        if excel:
            self.header_line, self.header = next(lines, (self.header_line, b""))
        with errors_in(f"line {self.header_line}"):
            text = decoded(self.header)
            most_frequent = "\t" if "\t" in text else max(";,|", key=text.count)
            self.delimiter = decoded(excel[1]) if excel else most_frequent
            refuse_columns(text.count(self.delimiter) + 1)

            # the names, numbers where there is no header
            self.names = [_on_one_line(name) for name in self._fields(text)]
            if first == "0":
                self.names = [str(number) for number in range(1, len(self.names) + 1)]
                self.header_line, self.header = self.header_line - 1, b""

            # further lines of the header
            for number, line in lines if int(last or first) > self.header_line else ():
                self.names = _below(self.names, self._fields(decoded(line)), roles)
                self.header_line, self.header = number, self.header + b"\n" + line
                if number >= int(last):
                    break
            self.columns = by_role(self.names, roles)
        self.data = _without_blank_rows(data, self.delimiter.encode())
        name_of = {",": "commas", ";": "semicolons", "|": "|", "\t": "tabs"}
        self.form = f"text, columns separated by {name_of[self.delimiter]}"
        self._last_first = self.names[::-1]  # of columns of one name, the first counts

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return ((number, line) for number, line in self._records() if number > self.header_line)

    def parts(self, size: int) -> Iterator[Source]:
        """Yield the header with lines below it, whole where quotes may join lines."""
        end = self.data.find(b"\n") + 1
        joins = b'"' in self.data and not all(map(closes_quotes, _blocks(self.data, size)))
        if self.header_line != 1 or not end or joins:
            yield self
            return
        for data in _blocks(self.data[end:], size):
            part = copy.copy(self)
            part.data = self.data[:end] + data
            yield part

    def _records(self) -> Iterator[tuple[int, bytes]]:
        """Yield the records that are not blank, with the numbers of their first lines."""
        if b'"' not in self.data:
            yield from numbered_lines(self.data)
            return

        # a record may have several lines
        lines, first = self.data.split(b"\n"), 0
        while first < len(lines):
            end = self._end(lines, first)
            record = b"\n".join(lines[first:end])
            if record.strip():
                yield first + 1, record.rstrip(b"\r\n")
            first = end

    def _end(self, lines: list[bytes], first: int) -> int:
        """Return the line after a record, whose first line may leave a quote open.

        The record is one line where a quote is stray: no line closes it, or a line before that one
        is itself a record.
        """
        if lines[first].count(b'"') % 2 == 0:
            return first + 1
        for last in range(first + 1, min(first + 100, len(lines))):
            if lines[last].count(b'"') % 2:
                whole = self._is_record(b"\n".join(lines[first : last + 1]))
                return last + 1 if whole else first + 1
            if self.names and self._is_record(lines[last]):
                break
        return first + 1

    def _is_record(self, line: bytes) -> bool:
        if not self.names:
            return True
        with contextlib.suppress(InputError):
            return len(self._fields(decoded(line.rstrip(b"\r")))) == len(self.names)
        return False

    def record(self, item: bytes) -> Record:
        """Return the values by role."""
        fields = self._fields(decoded(item))
        if len(fields) != len(self.names):
            raise InputError(
                f"{len(fields)} fields where the header has {len(self.names)}; "
                "write lists as 3 2 0, or in quotes where they hold commas"
            )
        cells = dict(zip(self._last_first, fields[::-1], strict=True))
        return _by_role(cells, self.columns, self.texts)

    def _fields(self, text: str) -> list[str]:
        lines = io.StringIO(text, newline="")
        try:
            return next(csv.reader(lines, delimiter=self.delimiter, strict=True), [])
        except csv.Error as error:
            raise InputError(
                f"not a line of CSV ({error}): {shown(text)}; correct the quotes"
            ) from error


def closes_quotes(lines: bytes) -> bool:
    """Return whether every line closes the quotes that it opens."""
    marks = np.frombuffer(lines, np.uint8)
    quotes = np.flatnonzero(marks == ord('"'))
    before = np.searchsorted(quotes, np.flatnonzero(marks == ord("\n")))
    return len(quotes) % 2 == 0 and not (before % 2).any()


def _on_one_line(name: str) -> str:
    """Return the name of a column, with a blank for its line breaks."""
    return " ".join(filter(None, (part.strip(BLANK) for part in name.splitlines())))


def _below(names: Sequence[str], below: Sequence[str], roles: Roles) -> list[str]:
    """Return the names of two lines of a header.

    A blank name in the first line is that to its left, unless the other is the name of a role.
    """
    known = {name for role in roles.values() for name in role.names}
    below = [name.strip(BLANK) for name in below]
    joined, upper = [], ""
    for name, lower in zip_longest(names, below, fillvalue=""):
        is_whole = not name and lower.lower() in known and below.count(lower) == 1
        upper = "" if is_whole else name or upper
        joined.append("_".join(part for part in (upper, lower) if part))
    return joined


def _without_blank_rows(data: bytes, delimiter: bytes) -> bytes:
    """Return text without the rows of blank cells that a spreadsheet has at its end."""
    filled = data.rstrip(BLANK.encode() + delimiter)
    end = data.find(b"\n", len(filled)) + 1
    return data[: end or len(data)]


class FrameRows(Source):
    """The rows of a frame, counted from `first`; a bad one is set aside as a JSON line."""

    unit = "row"
    texts = True
    form = "a table"

    def __init__(self, frame: PolarsFrame, roles: Roles, first: int = 1) -> None:
        frame = _with_fields(frame, _paths(roles))
        self.frame, self.roles, self._first, self.names = frame, roles, first, frame.columns
        self.columns = by_role(self.names, roles)

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        return self.beginning(0)

    def beginning(self, row: int) -> Iterator[tuple[int, Record]]:
        """Return an iterator over the rows from one on."""
        return enumerate(self.frame[row:].iter_rows(named=True), self._first + row)

    def parts(self, size: int) -> Iterator[Source]:
        """Yield the rows in parts, of 16 bytes a row."""
        step = max(size // 16, 1)
        for first in range(0, len(self.frame), step):
            yield FrameRows(self.frame[first : first + step], self.roles)

    def record(self, item: Record) -> Record:
        """Return the values by role."""
        return _by_role(item, self.columns, self.texts)


class Reshaped(Source):
    """Judgements in a table of another shape, by default one a row."""

    def __init__(self, rows: Source, roles: Roles) -> None:
        self._rows, self.roles = rows, roles
        self.names, self.unit, self.header = rows.names, rows.unit, rows.header
        self.form, self.said, self.doubt = rows.form, rows.said, rows.doubt

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._rows)

    def raw(self, item: Any) -> bytes:
        """Return the line of a row."""
        return self._rows.raw(item)

    @property
    def table_roles(self) -> Roles:
        """The roles of the columns of the table."""
        return self._rows.table_roles

    def has(self, role: str) -> bool:
        """Return whether the table has a column for a role."""
        return self._rows.has(role)


class Records(Objects):
    """Mappings, or the objects of a JSON array."""

    unit = "record"
    texts = True

    def __init__(self, records: Sequence[Any], roles: Roles, form: str = "records") -> None:
        super().__init__(roles)
        self._records, self.form = records, form
        first = records[0] if records else {}
        self.names = self.keys(dict(first)) if isinstance(first, Mapping) else []

    @classmethod
    def of_array(cls, data: bytes, roles: Roles) -> Self:
        """Read a JSON array of objects, or objects over several lines."""
        text, decoder = decoded(data), _decoder(roles)
        try:
            if data.lstrip()[:1] == b"[":
                return cls(decoder.decode(text), roles, "a JSON array")
            return cls(_objects(text, decoder), roles, "JSON objects")
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"not valid JSON ({error}); "
                "expected an array of objects, [{...}, {...}], or one object a line"
            ) from error

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return enumerate(self._records, 1)

    def record(self, item: Any) -> Record:
        """Return the values by role."""
        if not isinstance(item, Mapping):
            raise InputError(
                f"{shown(item)} is not an object with names and values, such as {{...}}"
            )
        plain = {str(key): _plain(value) for key, value in item.items()}
        return self.cells_of(plain)


def _paths(roles: Roles) -> list[str]:
    """Return the names of columns that may be paths, such as left.grades."""
    return [name for role in roles.values() for name in role.names if "." in name]


def _with_fields(frame: PolarsFrame, paths: Sequence[str]) -> PolarsFrame:
    """Return a frame with the fields of structs that columns name by a path, as columns."""
    for name in paths:
        values: Any = frame.to_struct()
        for key in name.split("."):
            inner = getattr(values.dtype, "fields", ())
            fields = {field.name.lower(): field.name for field in inner}
            if key not in fields:
                break
            values = values.struct.field(fields[key])
        else:
            frame = frame.with_columns(values.alias(name))
    return frame


def _with_paths(value: Mapping[Any, Any], paths: Sequence[str]) -> Mapping[Any, Any]:
    """Return an object with the values that columns name by a path, such as left.grades."""
    for name in paths:
        inner: Any = value
        for key in name.split("."):
            values = inner if isinstance(inner, dict) else {}
            if key in values:
                inner = values[key]
            else:
                inner = next((x for k, x in values.items() if k.lower() == key), None)
        if inner is not None:
            value = {**value, name: inner}
    return value


def _by_role(item: Mapping[str, Any], columns: ColumnsByRole, texts: bool) -> Record:
    """Return the cells of a record by role; a list with a column for each position is one cell."""
    cells: Record = {}
    for role, names in columns.items():
        if isinstance(names, str):
            cells[role] = item[names]
            continue
        grades = [item[name] for name in names]
        if texts:
            grades = [value_of(grade, "grade", texts) for grade in grades]
        cells[role] = as_list(grades, names)

    # objects that name their documents
    for side in {"a", "b"} & cells.keys():
        documents = cells[side]
        if isinstance(documents, str) and "{" in documents:
            documents = value_of(documents, "documents", texts)
        of_documents = names_of_objects(documents)
        if of_documents is not None:
            cells.setdefault(f"docs_{side}", of_documents)
    return cells


def as_plain(value: Any) -> Any:
    """Return arrays, series and tuples as lists, and other values as they are."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "to_list"):
        return value.to_list()
    return list(value) if isinstance(value, tuple) else value


def _plain(value: Any) -> Any:
    """Return a value in the types of JSON, the items of lists too."""
    value = as_plain(value)
    if isinstance(value, list):
        return [item.item() if hasattr(item, "item") else item for item in value]
    return value


def is_spread(data: bytes) -> bool:
    """Return whether a file of JSON begins with an object over several lines, as printed to read.

    A first line that is damaged is no such object, so that the reader names it.
    """
    longest_object = 1 << 22  # bytes
    head = data[:longest_object].lstrip()
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
    blanks = re.compile(f"[{BLANK}]*")
    values: list[Any] = []
    at = blanks.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        at = blanks.match(text, at).end()  # type: ignore[union-attr]
    return values


def _decoder(roles: Roles) -> json.JSONDecoder:
    """Return a decoder of JSON that refuses NaN, Infinity, and a column of a log given twice."""
    accepted = {name for role in roles.values() for name in role.names}
    marks = [role.marks for role in roles.values() if role.marks]

    def once(pairs: list[tuple[str, Any]]) -> Record:
        values = dict(pairs)
        if len(values) == len(pairs):
            return values
        for key, n in Counter(key.lower() for key, _ in pairs).items():
            used = key in accepted or any(
                is_range(mark) or position_of(key, mark) for mark in marks
            )
            if n > 1 and used:
                raise InputError(f"the key {key!r} occurs twice; keep one")
        return values

    return json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=once)


def decoded(line: bytes) -> str:
    """Return the text of a line; raise InputError if it is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{line[error.start]:02x} is not UTF-8 text; "
            "save the file as UTF-8, or name its encoding (encoding='cp1252', say)"
        ) from error


def _blocks(data: bytes, size: int) -> Iterator[bytes]:
    """Yield whole lines of `size` bytes and a little more, without blocks of blank lines."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        if not data[start:end].isspace():
            yield data[start:end]
        start = end


def numbered_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers, without their ends."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.strip():
            yield number, line.rstrip(b"\r\n")
