"""Reading at once: a source whose lines are all alike, as a frame of columns by role, by Polars.

Polars does not number the lines, ignores some faults and makes text of other values. A frame is
returned only if counts in the bytes prove that it holds the values that line by line would give.
"""

import contextlib
import csv
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from dcglearn.foundation.validation import InputError
from dcglearn.readers.column_roles import ColumnsByRole, by_role, used_columns
from dcglearn.readers.frames import flattened
from dcglearn.readers.grade_lists import GRADE
from dcglearn.readers.joined_files import Joined
from dcglearn.readers.line_formats import BLANK, FrameRows, JsonLines, Source, TextLines


def plain_frame(source: Source) -> pl.DataFrame | None:
    """Return the columns by role, not yet checked, if every line has the same form; else None."""
    with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return _frame(source)
    return None


def _frame(source: Source) -> pl.DataFrame | None:
    """Return what `plain_frame` does, or raise PolarsError."""
    if isinstance(source, JsonLines):
        return _plain_json(source)
    if isinstance(source, TextLines):
        return _plain_text(source)
    if isinstance(source, FrameRows):
        frame = _named_by_role(source.frame, source.columns)
        return None if frame is None else _stripped(frame, pl.col(pl.String))
    if isinstance(source, Joined) and len({type(one) for one in source.sources.values()}) == 1:
        # several files of one kind
        frames = [_frame(one) for one in source.sources.values()]
        plain = [frame for frame in frames if frame is not None]
        # polars refuses columns of other types, whose values as text need not be those of the lines
        return pl.concat(plain, how="diagonal") if len(plain) == len(frames) else None
    return None


def _stripped(frame: pl.DataFrame, texts: pl.Expr) -> pl.DataFrame:
    """Return a frame whose texts are without blanks at their ends, null where nothing is left."""
    stripped = frame.with_columns(texts.str.strip_chars(BLANK))
    return stripped.with_columns(pl.when(texts != "").then(texts).name.keep())


def _plain_json(source: JsonLines) -> pl.DataFrame | None:
    """Read JSON lines that all have the keys of the first line, each once, none null; else None.

    Polars ignores keys outside its schema, takes the first of two equal keys and makes text of any
    value, so characters or keys are counted in the bytes. If no value is null, no line lacks a key;
    the counts show that none has it twice.
    """
    keys = list(source.names)
    try:
        values = source.record(next(iter(source))[1])
    except InputError:
        return None

    # the columns, none of them by a path
    columns = by_role(keys, source.roles)
    by_path = any("." in str(name) for name in columns.values())
    if b"\\" in source.data or "supersedes" in columns or by_path:
        return None
    if "rater" not in columns:
        columns.pop("id", None)

    # their types, as the first line has them
    numbers = dict.fromkeys(("number", "positive", "score"), pl.Float64)
    types = {"grades": pl.List(pl.Int8), "documents": pl.List(pl.String), **numbers}
    by_type = {str: pl.String, bool: pl.Boolean, list: pl.List(pl.String)}
    schema: dict[str, Any] = {}
    for role, names in columns.items():
        # one column, or one for each position
        if isinstance(names, str):
            label = by_type.get(type(values[role]), pl.Int64)
            schema[names] = types.get(source.roles[role].kind, label)
        else:
            schema |= dict.fromkeys(names, pl.Int64)
    frame = pl.read_ndjson(source.data, schema=schema)

    # null, and texts that polars may have made of other values
    of_another_value = r"^$|\t|^[\[{]|^-?[0-9]+[.eE]|^(true|false)$"
    for name, dtype in schema.items():
        if frame[name].null_count():
            return None
        if dtype == pl.List(pl.String):
            texts = flattened(frame[name])
            if texts.null_count() or texts.str.contains(of_another_value).any():
                return None

    # every line has every key once
    counted = source.data, keys, schema, len(frame)
    whole = _characters_prove(*counted) or _keys_prove(*counted)
    return _named_by_role(frame, columns) if whole else None


def _characters_prove(data: bytes, keys: list[str], schema: Mapping[str, Any], n: int) -> bool:
    """Return whether counts of characters show n lines of these keys, with texts where expected.

    If every key is used, and there are as many colons as keys, none occurs twice. If there are as
    many brackets and quotes as lists, keys and texts need, no text was made of another value.
    """
    types = list(schema.values())
    if len(keys) > len(schema) or pl.Boolean in types or pl.List(pl.String) in types:
        return False
    lists, texts = types.count(pl.List(pl.Int8)), types.count(pl.String)
    expected = {":": n * len(keys), "{": n, "[": n * lists, '"': 2 * n * (len(keys) + texts)}

    # count block by block, in little memory
    codes, block = np.frombuffer(data, np.uint8), 1 << 20
    blocks = [codes[start : start + block] for start in range(0, len(codes), block)]
    return all(
        sum(int(np.count_nonzero(part == ord(mark))) for part in blocks) == number
        for mark, number in expected.items()
    )


def _keys_prove(data: bytes, keys: list[str], schema: Mapping[str, Any], n: int) -> bool:
    """Return whether counts of keys show n lines of these keys, with values as expected.

    Those are texts and truth values. If there is no blank between a quote and a colon, ``"key":``
    is that key and nothing else. If each key occurs once a line on average, and no other quote is
    followed by a colon, there are no other keys.
    """
    most_keys = 100  # each is counted in all bytes
    if len(keys) > most_keys or any(mark in data for mark in (b'" :', b'"\t:', b'"\r:')):
        return False
    counts = [data.count(f'"{key}":'.encode()) for key in keys]
    if data.count(b'":') != n * len(keys) or set(counts) != {n}:
        return False

    # polars makes texts and truth values of numbers, too
    begins = {pl.String: ('"',), pl.Boolean: ("true", "false")}
    for name, dtype in schema.items():
        marks = [blank + mark for blank in ("", " ") for mark in begins.get(dtype, ())]
        if marks and sum(data.count(f'"{name}":{mark}'.encode()) for mark in marks) != n:
            return False
    return True


def _plain_text(source: TextLines) -> pl.DataFrame | None:
    """Read text without quotes, blank or ragged lines, cells as text or null; else return None."""
    data, n_columns = source.data, len(source.names)
    if b'"' in data or data.count(b"\r") != data.count(b"\r\n"):
        return None
    if n_columns == 1 or source.header_line != 1:
        return None

    # count delimiters: polars refuses a long line but fills a short one with nulls
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if data.count(source.delimiter.encode()) != (n_columns - 1) * n_lines or n_lines == 1:
        return None

    # the cells as text, numbers where they are scores
    index = {source.names[i].strip(BLANK): f"c{i}" for i in reversed(range(n_columns))}
    scores = {
        index[str(name)]
        for role, name in source.columns.items()
        if source.roles[role].kind == "score"
    }
    types = {f"c{i}": pl.Float64 if f"c{i}" in scores else pl.String for i in range(n_columns)}
    layout: Any = {"has_header": False, "skip_lines": 1, "quote_char": None}
    frame = pl.read_csv(data, separator=source.delimiter, schema=types, **layout)

    # refuse what Python's csv refuses
    longest = frame.select(pl.max_horizontal(pl.col(pl.String).str.len_bytes().max())).item()
    if len(frame) != n_lines - 1 or (longest or 0) > csv.field_size_limit():
        return None

    # columns with a role, without blanks at the ends
    if any(mark in data for mark in (b" ", b"\r", b"\t")):
        frame = _stripped(frame, pl.exclude(scores))
    used = [pl.col(index[name]).alias(name) for name in used_columns(source.columns)]
    return _named_by_role(frame.select(used), source.columns)


def _named_by_role(frame: pl.DataFrame, columns: ColumnsByRole) -> pl.DataFrame | None:
    """Return the columns by role, or None unless those of wide lists are plain grades."""
    named = []
    for role, names in columns.items():
        if isinstance(names, str):
            named.append(frame[names].alias(role))
            continue

        # a list with a column for each position
        cells = [frame[name] for name in names]
        for cell in cells:
            plain = cell.dtype.is_integer()
            if cell.dtype == pl.String:
                plain = cell.unique().str.contains(f"^{GRADE}$").all()
            if not plain or cell.null_count():
                return None
        grades = np.column_stack([cell.cast(pl.Int16).to_numpy() for cell in cells])
        named.append(pl.Series(role, grades).arr.to_list())
    return pl.DataFrame(named)
