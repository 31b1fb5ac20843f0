"""The fast pass over a log: with polars, for logs whose lines are all alike and all good."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.logs.careful_pass import MAX_LABEL, WINNERS, Rules
from dcglearn.logs.line_formats import BLANK, JsonLines, ParquetRows, Role, TextLines, by_role

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades, Integers
    from dcglearn.logs.careful_pass import Table

_GRADE = "(-1|[0-9]{1,3})"

_PLAIN_LISTS = rf"^({_GRADE}( {_GRADE})*|\[{_GRADE}(, {_GRADE})*\])$"

_PLAIN_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"


def read_fast(
    source: JsonLines | TextLines | ParquetRows,
    data: bytes,
    frame: pl.DataFrame | None,
    roles: Mapping[str, Role],
    rules: Rules,
) -> Table | None:
    """Return the columns if every line is plain and good, None if the careful pass must decide."""
    import polars as pl

    try:
        if isinstance(source, JsonLines):
            frame = _plain_json(source, data, roles)
        elif isinstance(source, TextLines):
            frame = _plain_text(source, data)
        elif frame is not None:
            frame = frame.select(pl.col(column).alias(role) for role, column in source.columns.items())
        return None if frame is None else _columns(frame, roles, rules)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _plain_json(source: JsonLines, data: bytes, roles: Mapping[str, Role]) -> pl.DataFrame | None:
    """Read JSON lines that all have the keys of the first, each once and no role's value null; else return None.

    Polars ignores keys that it was not told of, takes the first of two and makes text of anything. Without backslashes
    and blanks before colons, ``"key":`` in the bytes is that key and nothing else, so counting settles which keys
    occur: if each of the first line's occurs once a line, and no other colon follows a quote, there are no others. That
    no line has one twice, and another none, follows from the values, which must all be there.
    """
    import polars as pl

    try:
        first = next(iter(source))[1]
        keys, roles_here = list(json.loads(first)), source.record(first)
    except (ValueError, RecursionError, TypeError):
        return None  # the careful pass will say what is wrong with it
    if b"\\" in data or any(mark in data for mark in (b'" :', b'"\t:', b'"\r:')):
        return None
    columns = by_role(keys, roles)
    types = {"grades": pl.List(pl.Int8), "winner": pl.String, "number": pl.Float64, "positive": pl.Float64}
    schema: dict[str, Any] = {}
    for role, column in columns.items():
        is_text = isinstance(roles_here[role], str)
        schema[column] = types.get(roles[role].kind, pl.String if is_text else pl.Int64)
    frame = pl.read_ndjson(data, schema=schema)
    n = len(frame)
    if data.count(b'":') != n * len(keys) or any(data.count(f'"{key}":'.encode()) != n for key in keys):
        return None
    for column, dtype in schema.items():
        is_text = dtype == pl.String
        if frame[column].null_count() or (is_text and _n_quoted(data, column) != n):
            return None
    return frame.rename({column: role for role, column in columns.items()})


def _n_quoted(data: bytes, key: str) -> int:
    """Count the values of a key that are text: polars makes text of numbers, too."""
    return sum(data.count(f'"{key}":{blank}"'.encode()) for blank in ("", " "))


def _plain_text(source: TextLines, data: bytes) -> pl.DataFrame | None:
    """Read CSV or TSV without quotes, blank or ragged lines; else return None. All values are text or null."""
    import polars as pl

    n_columns = len(source.names)
    if b'"' in data or data.count(b"\r") != data.count(b"\r\n") or n_columns == 1 or source.header_line > 1:
        return None
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    # Polars fills a short line with nulls and refuses a long one, so the number of delimiters tells of short ones.
    if data.count(source.delimiter.encode()) != (n_columns - 1) * n_lines or n_lines == 1:
        return None
    index = {source.names[i].strip(BLANK): f"c{i}" for i in reversed(range(n_columns))}
    frame = pl.read_csv(
        data,
        has_header=False,
        skip_lines=1,
        separator=source.delimiter,
        quote_char=None,
        schema={f"c{i}": pl.String for i in range(n_columns)},
    )
    if len(frame) != n_lines - 1:
        return None
    stripped = {role: pl.col(index[name]).str.strip_chars(BLANK) for role, name in source.columns.items()}
    return frame.select(pl.when(text != "").then(text).alias(role) for role, text in stripped.items())


def _columns(frame: pl.DataFrame, roles: Mapping[str, Role], rules: Rules) -> Table | None:
    """Return the columns of a frame as `read_carefully` would, None if it must be asked."""
    table: Table = {}
    for role, about in roles.items():
        if role not in frame.columns or (not about.required and frame[role].null_count() == len(frame)):
            continue
        column = frame[role]
        if column.null_count() and (about.required or about.uniform):
            return None
        convert = {"grades": _grades, "winner": _winners, "label": _labels}.get(about.kind)
        values = convert(column, rules) if convert else _numbers(column, positive=about.kind == "positive")
        if values is None:
            return None
        table[role] = values
    lists = [table[role] for role, about in roles.items() if about.kind == "grades"]
    same = len(lists[0]) > 0 and all(grades.shape == lists[0].shape for grades in lists)
    return table if same else None


def _grades(column: pl.Series, rules: Rules) -> Grades | None:
    """Return lists of integers, or of text that looks like it, all of one length; shape (n, K)."""
    import polars as pl

    if column.dtype == pl.String:
        if rules.scale is not None or not column.str.contains(_PLAIN_LISTS).all():
            return None
        text = column.str.strip_chars("[]").str.replace_all(", ", " ", literal=True)
        column = text.str.split(" ").cast(pl.List(pl.Int16))
    if not isinstance(column.dtype, pl.List) or not column.dtype.inner.is_integer() or not len(column):
        return None
    lengths = column.list.len()
    length, longest = int(lengths.min()), int(lengths.max())  # type: ignore[arg-type]
    if length != longest or length < (rules.depth or 1):
        return None
    flat = column.explode().fill_null(-1)
    if flat.min() < -1 or flat.max() >= rules.top:  # type: ignore[operator]
        return None
    return flat.cast(pl.Int8).to_numpy().reshape(-1, length)[:, : rules.depth]


def _winners(column: pl.Series, _: Rules) -> Integers | None:
    import polars as pl

    if column.dtype != pl.String:
        return None
    codes = column.str.to_lowercase().replace_strict(WINNERS, default=None, return_dtype=pl.Int64)
    return None if codes.null_count() else codes.to_numpy()


def _labels(column: pl.Series, _: Rules) -> NDArray[Any] | None:
    import polars as pl

    if column.dtype != pl.String and not column.dtype.is_integer():
        return None
    text = column.cast(pl.String).fill_null("")
    if text.str.len_chars().max() > MAX_LABEL or (text == "").all():  # type: ignore[operator]
        return None
    return text.to_numpy()


def _numbers(column: pl.Series, *, positive: bool) -> Floats | None:
    import polars as pl

    if column.dtype == pl.String and not column.drop_nulls().str.contains(_PLAIN_NUMBER).all():
        return None
    if column.dtype != pl.String and not (column.dtype.is_integer() or column.dtype.is_float()):
        return None
    values = column.cast(pl.Float64).fill_null(1.0).to_numpy()
    return values if np.isfinite(values).all() and not (positive and (values <= 0).any()) else None
