"""Tables in files: JSON lines, CSV and TSV, and JSON nested as ``{query: {document: number}}``."""

from __future__ import annotations

import contextlib
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.evaluation.trec import SCORE
from dcglearn.foundation.files import refuse_constant
from dcglearn.foundation.validation import InputError, listed
from dcglearn.readers.line_formats import JsonLines, TextLines, errors_in, shown
from dcglearn.readers.roles import Role, by_role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from dcglearn.readers.line_formats import Source


class _Object(list[tuple[str, Any]]):
    """The pairs of a JSON object, in order; a key may occur several times."""


def line_table(name: str, data: bytes, kind: str, aliases: Mapping[str, Sequence[str]], number: str) -> pl.DataFrame:
    """Return a file of lines as a table of the columns in use, by role; a line that is not like the others is named.

    `kind` is "json" or "text"; `aliases` are the names of each role, the first that a file has counts. A record never
    spans lines, so a stray quote spoils one line only.
    """
    import polars as pl

    from dcglearn.readers.fast_pass import plain_frame

    with errors_in(name):
        source = _source(data, kind, aliases, number)
    frame = None
    for read in (_plain_json if kind == "json" else _plain_csv, plain_frame):
        with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, InputError):
            frame = read(source)
        if frame is not None:
            return frame
    return _line_by_line(name, source, number)


def _plain_json(source: Any) -> pl.DataFrame | None:
    """Return the table if counts of characters prove that every line has the keys of the first, each once; else None.

    Polars refuses text where a number is expected, but makes text of any value, and takes one of two equal keys. If no
    key lacks a value and there are as many colons as keys, no key occurs twice. If values are not nested and there are
    as many quotes as keys and texts need, no text was made of another value.
    """
    import polars as pl

    data, keys = source.data, _first_keys(source.data)
    columns: dict[str, Any] = by_role(keys, source.roles)
    if len(keys) > len(columns) or any(mark in data for mark in (b"\\", b"[")):
        return None
    first = source.record(next(iter(JsonLines(data, {})))[1])
    texts = [columns[role] for role, value in first.items() if isinstance(value, str)]
    kinds = {role: pl.Float64 if source.roles[role].kind == "number" else pl.Int64 for role in columns}
    schema = {column: pl.String if column in texts else kinds[role] for role, column in columns.items()}
    frame = pl.read_ndjson(data, schema=schema)
    n = len(frame)
    expected = {":": n * len(keys), "{": n, '"': 2 * n * (len(keys) + len(texts))}
    if any(_count(data, mark) != number for mark, number in expected.items()):
        return None
    if any(frame[column].null_count() for column in frame.columns):
        return None
    return frame.rename({column: role for role, column in columns.items()})


def _plain_csv(source: Any) -> pl.DataFrame | None:
    """Return the table if no field has quotes or blanks and every line has all fields; else None."""
    import polars as pl

    data, n_columns = source.data, len(source.names)
    if any(mark in data for mark in (b'"', b" ", b"\r", b"\v", b"\f")) or source.header_line > 1 or n_columns == 1:
        return None
    if source.delimiter == "," and b"\t" in data:
        return None
    role_of = {source.names.index(column): role for role, column in source.columns.items()}
    names = [role_of.get(i, f" {i}") for i in range(n_columns)]
    schema = {name: pl.Float64 if name in ("grade", "score") else pl.String for name in names}
    frame = pl.read_csv(
        data, has_header=False, skip_lines=1, separator=source.delimiter, quote_char=None, schema=schema
    )
    # Polars refuses a long line but fills a short one with nulls, so delimiters are counted to find short lines.
    if _count(data, source.delimiter) != (n_columns - 1) * (len(frame) + 1):
        return None
    return frame.select(role_of.values())


def _count(data: bytes, mark: str) -> int:
    """Return how often a character occurs."""
    codes, block = np.frombuffer(data, np.uint8), 1 << 20
    return sum(int(np.count_nonzero(codes[i : i + block] == ord(mark))) for i in range(0, len(codes), block))


def _source(data: bytes, kind: str, aliases: Mapping[str, Sequence[str]], number: str) -> Source:
    wanted = ("query", "document", number, *(["run"] if number == "score" else []))
    opener = JsonLines if kind == "json" else TextLines
    bare: Any = opener(data, {})
    names = bare.names if kind == "text" else _first_keys(data)
    present = {column.strip().lower() for column in names}
    roles: dict[str, Role] = {}
    for role in wanted:
        found = next((alias for alias in aliases[role] if alias in present), None)
        if found is None and role != "run":
            raise InputError(
                f"no column for the {role}: its columns are {listed(names)}; expected one of "
                f"{', '.join(aliases[role])}",
                see="columns",
            )
        if found is not None:
            roles[role] = Role("number" if role == number else "label", (found,), required=True)
    return opener(data, roles)


def _first_keys(data: bytes) -> list[str]:
    """Return the keys of the first line, none if it is not a JSON object: the reader says what is wrong."""
    number, line = next(iter(JsonLines(data, {})))
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"line {number}: not valid JSON ({error}): {shown(line.decode('utf-8', 'replace'))}"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"line {number}: a JSON {type(value).__name__}, expected an object; one object a line")
    return list(value)


def _line_by_line(name: str, source: Source, number: str) -> pl.DataFrame:
    import polars as pl

    columns: dict[str, list[Any]] = {role: [] for role in source.roles}
    for place, item in source:
        with errors_in(f"{name} line {place}"):
            record = source.record(item)
            for role, values in columns.items():
                values.append((_number if role == number else _label)(record.get(role), role))
    kinds = {role: pl.Float64 if role == number else pl.String for role in columns}
    return pl.DataFrame(columns, schema=kinds)


def _label(value: Any, role: str) -> str:
    if value is None:
        raise InputError(f"{role} is missing")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(f"{role} is {shown(value)}; use text or an integer")
    try:
        text = str(value)
        text.encode()
    except ValueError as error:  # half a surrogate pair, or an integer too long to print
        raise InputError(f"{role} is {shown(value)}; use plain text") from error
    return text


def _number(value: Any, role: str) -> float:
    """Return a finite number, an infinity, or the number that a text holds."""
    if value is None:
        raise InputError(f"{role} is missing")
    is_text = isinstance(value, str) and SCORE.fullmatch(value.strip(" \t"))
    if not is_text and (isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number))):
        raise InputError(f"{role} is {shown(value)}, which is not a number")
    try:
        number = float(value)
    except (OverflowError, TypeError) as error:
        raise InputError(f"{role} is {shown(value)}, which is not a number that can be used") from error
    if math.isnan(number):
        raise InputError(f"{role} is missing ({role} nan)")
    return number


def nested_json(name: str, data: bytes, number: str) -> pl.DataFrame | None:
    """Return the table in a JSON file of nested objects, or None if the file is lines of JSON."""
    first, _, rest = data.strip().partition(b"\n")
    lines = bool(rest)
    if lines:
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            lines = False  # the first line is part of an object of several lines, or damaged
    if lines:
        return None
    try:
        value = json.loads(data, object_pairs_hook=_Object, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        place = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{name}{place}: not valid JSON ({error})") from error
    if not (isinstance(value, _Object) and any(isinstance(part, _Object) for _, part in value)):
        return None
    with errors_in(name):
        return nested_table(value, number)


def nested_table(values: Any, number: str) -> pl.DataFrame:
    """Return the table of ``{query: {document: number}}``; runs may be ``{run: {query: {document: score}}}``.

    A dictionary, or the pairs of a JSON object, whose keys may occur several times. Raises InputError that names the
    query and the document of a value that is not a number.
    """
    import polars as pl

    shape = f"{{query: {{document: {number}}}}}"
    queries = _items(values, shape)
    runs: list[tuple[Any, Any]] = [(None, queries)]
    inside = [part for _, part in queries if isinstance(part, (dict, _Object))]
    if number == "score" and any(isinstance(v, (dict, _Object)) for part in inside for _, v in _items(part, shape)):
        runs = [(run, _items(part, shape)) for run, part in queries]
    rows = [(run, q, d, v) for run, part in runs for q, documents in part for d, v in _items(documents, shape, query=q)]
    keys = {role: [str(row[i]) for row in rows] for i, role in ((1, "query"), (2, "document"))}
    if runs[0][0] is not None:
        keys["run"] = [str(row[0]) for row in rows]
    numbers = _numbers(rows, number)
    try:
        return pl.DataFrame({**keys, number: numbers}, schema_overrides={number: pl.Float64})
    except UnicodeEncodeError as error:  # half a surrogate pair
        raise InputError(f"a query or a document is {shown(error.object)}; use plain text") from error


def _items(value: Any, shape: str, query: Any = None) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, _Object):
        return value
    where = "" if query is None else f" for the query {shown(query)}"
    raise InputError(f"expected {shape}; found {shown(value)}{where}")


def _numbers(rows: list[tuple[Any, ...]], number: str) -> Any:
    values = [row[3] for row in rows]
    if {type(value) for value in values} <= {float}:
        return np.array(values, dtype=np.float64)
    numbers = np.empty(len(values))
    for i, (_, query, document, value) in enumerate(rows):
        if type(value) is int and -(2**53) < value < 2**53:
            numbers[i] = value
            continue
        with errors_in(f"query {shown(query)}, document {shown(document)}"):
            numbers[i] = _number(value, number)
    return numbers
