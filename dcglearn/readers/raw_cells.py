"""The raw cells of a log by role, read at once where lines are alike.

Polars reads a source, or a part of it, whose lines are all alike at once. It does not number the
lines, ignores some faults and makes text of other values, so a frame is used only if counts in the
bytes prove that it holds the values that line by line would give.
"""

import codecs
import contextlib
import csv
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl

from dcglearn.foundation.validation import Fields, Indices, InputError, Integers
from dcglearn.readers.cell_values import BLANK, PAGE_MARKS, shown
from dcglearn.readers.column_roles import ColumnsByRole, Record, by_role, used_columns
from dcglearn.readers.kinds import KINDS
from dcglearn.readers.line_formats import (
    FrameRows,
    JsonLines,
    Refusals,
    Source,
    TextLines,
    closes_quotes,
)
from dcglearn.readers.openers import Joined, flattened
from dcglearn.readers.raw_columns import GRADE, RawColumn, Values


def plain_frame(source: Source) -> pl.DataFrame | None:
    """Return the columns by role, not yet checked, if every line has the same form; else None.

    Lists of objects, which may name documents, are not plain.
    """
    frame = None
    with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        if isinstance(source, JsonLines):
            frame = _plain_json(source)
        elif isinstance(source, TextLines):
            frame = _plain_text(source)
        elif isinstance(source, FrameRows):
            frame = _plain_rows(source)
    if frame is None or pl.List(pl.Struct) in frame.dtypes:
        return None
    if isinstance(source, TextLines) and b"{" not in source.data:  # sooner known than by cell
        return frame
    texts = [frame[side] for side in ("a", "b") if frame.schema.get(side) == pl.String]
    return None if any(one.str.contains("{", literal=True).any() for one in texts) else frame


def _plain_rows(source: FrameRows) -> pl.DataFrame | None:
    """Return the columns of a table; None for texts with a page mark."""
    frame = _named_by_role(source.frame, source.columns)
    if frame is None:
        return None

    # winners are stripped word by word
    texts = frame.select(pl.col(pl.String).exclude("winner"))
    marks = f"[{BLANK}{PAGE_MARKS}]"
    blank = [one.name for one in texts if (one == "").any() or one.str.contains(marks).any()]
    if any(texts[name].str.contains(f"[{PAGE_MARKS}]").any() for name in blank):
        return None
    return _stripped(frame, pl.col(blank))


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
    except (InputError, StopIteration):
        return None

    # the columns, none of them by a path
    columns = by_role(keys, source.roles)
    by_path = any("." in str(name) for name in columns.values())
    if b"\\" in source.data or "supersedes" in columns or by_path:
        return None

    # their types, as the first line has them
    numbers = dict.fromkeys(("number", "positive", "score"), pl.Float64)
    types = {"grades": pl.List(pl.Int8), "documents": pl.List(pl.String), **numbers}
    by_type = {str: pl.String, bool: pl.Boolean, list: pl.List(pl.String)}
    schema: Fields = {}
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
    expected = {b":": n * len(keys), b"{": n, b"[": n * lists, b'"': 2 * n * (len(keys) + texts)}
    return all(data.count(mark) == number for mark, number in expected.items())


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
    """Read text without stray quotes, blank or ragged lines, cells as text; else return None."""
    data, n_columns = source.data, len(source.names)
    if any(mark in data for mark in PAGE_MARKS.encode()) or data.count(b"\r") != data.count(
        b"\r\n"
    ):
        return None
    if codecs.BOM_UTF8 in data:  # which polars leaves out after the header
        return None
    if n_columns == 1 or source.header_line != 1:
        return None

    # count delimiters: polars refuses a long line but fills a short one with nulls
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    n_delimiters = _between_quotes(data, ord(source.delimiter))
    if n_delimiters != (n_columns - 1) * n_lines or n_lines == 1:
        return None

    # the cells as text, numbers where they are scores
    index = {source.names[i].strip(BLANK): f"c{i}" for i in reversed(range(n_columns))}
    scores = {
        index[str(name)]
        for role, name in source.columns.items()
        if source.roles[role].kind == "score"
    }
    types = {f"c{i}": pl.Float64 if f"c{i}" in scores else pl.String for i in range(n_columns)}
    layout: Any = {"has_header": False, "skip_lines": 1}
    layout["quote_char"] = '"' if b'"' in data else None
    frame = pl.read_csv(data, separator=source.delimiter, schema=types, **layout)

    # refuse what Python's csv refuses
    longest = frame.select(pl.max_horizontal(pl.col(pl.String).str.len_bytes().max())).item()
    if len(frame) != n_lines - 1 or (longest or 0) > csv.field_size_limit():
        return None

    # columns with a role, without blanks at the ends
    if any(mark in data for mark in (b" ", b"\r", b"\t", b'""')):
        frame = _stripped(frame, pl.exclude(scores))
    # lines of nothing but tabs are blank
    blank = pl.all_horizontal(pl.all().is_null() | (pl.all().cast(pl.String) == ""))
    if source.delimiter == "\t" and frame.select(blank.any()).item():
        return None
    used = [pl.col(index[name]).alias(name) for name in used_columns(source.columns)]
    return _named_by_role(frame.select(used), source.columns)


def _between_quotes(data: bytes, delimiter: int) -> int | None:
    """Return the number of delimiters outside of quotes; None if quotes do not enclose cells.

    Quotes open where a cell begins, and close where it ends or, doubled, stand for one; no line
    leaves one open.
    """
    if b'"' not in data:
        return data.count(delimiter)
    marks = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes = np.flatnonzero(marks == ord('"'))
    begin, end = marks[quotes[::2] - 1], marks[quotes[1::2] + 1]
    ends = ord('"'), ord("\n"), delimiter
    if not np.isin(begin, ends).all() or not np.isin(end, (*ends, ord("\r"))).all():
        return None
    before = np.searchsorted(quotes, np.flatnonzero(marks == delimiter))
    return int((before % 2 == 0).sum()) if closes_quotes(data) else None


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


@dataclass(frozen=True)
class RawCells:
    """The raw cells of each role that occurs, `n` rows; `errors` are of rows that cannot be read.

    `texts` says that texts stand for values of any type; `at_once` that polars read them, but for
    the cells of the `others`, by their rows. `rows` are the rows of a table of another shape that
    they were made of, None if each is one.
    """

    n: int
    columns: Fields
    errors: Refusals = field(default_factory=dict)
    texts: bool = False
    at_once: bool = False
    others: Mapping[int, Record] = field(default_factory=dict)
    rows: Indices | None = None

    def column(self, role: str, kind: str) -> RawColumn:
        """Return the cells of a role, read as those of a kind; None where no line has it."""
        cells = self.columns[role] if role in self.columns else [None] * self.n
        others = {row: record.get(role) for row, record in self.others.items()}
        return RawColumn(role, kind, cells, self.texts, others)

    def in_lists(self) -> Self:
        """Return the cells with those of the other rows in their places."""
        if not self.others:
            return self
        columns = {role: self.column(role, "").as_list() for role in self.columns}
        return replace(self, columns=columns, others={})

    def checked(self, role: str, kind: str, errors: Refusals) -> Values:
        """Return the values of a role that occurs, and add what is wrong with them to `errors`."""
        values = KINDS[kind](self.column(role, kind))
        errors.update({**values.errors, **errors})
        return values

    def distinct(self, role: str, kind: str) -> tuple[list[Any], Integers]:
        """Return the distinct values of a role, and the number of that of each row, shape (n,)."""
        column = self.column(role, kind)
        cells, index = column.distinct()
        return list(map(column.value, cells)), index

    def gathered(self, role: str, rows: pl.Series) -> Any:
        """Return the cells of a role in some rows, and None where a row is null."""
        cells = self.columns[role]
        if isinstance(cells, list):
            return [None if row is None else cells[row] for row in rows.to_list()]
        return cells.gather(rows)

    def taken(self, rows: Indices) -> Self:
        """Return the cells of some rows, in order, some of them several times."""
        columns = {role: self.gathered(role, pl.Series(rows)) for role in self.columns}
        errors = {
            at: self.errors[row] for at, row in enumerate(rows.tolist()) if row in self.errors
        }
        return replace(self, n=len(rows), columns=columns, errors=errors, rows=rows)


PARTS = (1 << 22, 1 << 16)
"""Bytes of the parts of a source, and of the parts of one that is not plain."""


def raw_cells(source: Source) -> RawCells:
    """Return the cells of a source; those below merged cells of a table are refused."""
    if source.cells is not None:
        return source.cells

    # columns that have other types in another part are refused by polars
    cells = None
    with contextlib.suppress(pl.exceptions.PolarsError):
        cells = _in_parts(source)
    cells = _line_by_line(source) if cells is None else cells

    # columns whose cells a spreadsheet may have merged
    parts = [*source.sources.values()] if isinstance(source, Joined) else [source]
    for role in ("query", "rater", "segment", "pair") if cells.n else ():
        kinds = {type(part) for part in parts}
        if kinds in ({TextLines}, {FrameRows}) and all(part.has(role) for part in parts):
            # an empty text in a table is none that is missing
            columns = [x.frame[str(x.columns[role])] for x in parts if isinstance(x, FrameRows)]
            missing = pl.concat([column.is_null() for column in columns]) if columns else True
            _refuse_merged(cells, role, missing)
    return cells


def _in_parts(source: Source) -> RawCells | None:
    """Return the cells of a source whose unusual lines are in few of its parts; else None."""
    # unless many and most of its parts are unusual
    many, n_unusual = 16, 0
    parts: list[pl.DataFrame | RawCells] = []
    for part in _parts(source, PARTS):
        parts.append(part)
        n_unusual += isinstance(part, RawCells)
        if n_unusual > max(many, len(parts) / 2):
            return None
    frames = [part for part in parts if isinstance(part, pl.DataFrame)]
    if not frames:
        only = parts[0] if len(parts) == 1 else None
        return only if isinstance(only, RawCells) else None

    # the lines of the other parts, which are null in the columns
    others: dict[int, Record] = {}
    errors: Refusals = {}
    columns = []
    n = 0
    for part in parts:
        if isinstance(part, RawCells):
            errors |= {n + row: error for row, error in part.errors.items()}
            for row in range(part.n):
                others[n + row] = {role: cells[row] for role, cells in part.columns.items()}
        columns.append(frames[0].clear(part.n) if isinstance(part, RawCells) else part)
        n += len(columns[-1])
    joined = pl.concat(columns, how="diagonal").to_dict()
    missing = {role for record in others.values() for role in record} - joined.keys()
    joined |= dict.fromkeys(missing, pl.Series([None], dtype=pl.String).clear(n))

    texts = next(source.parts(PARTS[0])).texts
    return RawCells(n, joined, errors, texts, at_once=not others, others=others)


def _parts(source: Source, sizes: tuple[int, ...]) -> Iterator[pl.DataFrame | RawCells]:
    """Yield the parts of a source in turn, as a frame or as cells that were read line by line."""
    for part in source.parts(sizes[0]):
        frame = plain_frame(part)
        if frame is not None:
            yield frame
        elif sizes[1:]:
            yield from _parts(part, sizes[1:])
        else:
            yield _line_by_line(part)


def _line_by_line(source: Source) -> RawCells:
    columns: dict[str, list[Any]] = {}
    errors: Refusals = {}
    n = 0
    for n, (_, item) in enumerate(source, 1):
        try:
            record = source.record(item)
        except InputError as error:
            errors[n - 1] = error
            record = {}

        # a role that occurs for the first time is blank so far
        for role in record.keys() - columns.keys():
            columns[role] = [None] * (n - 1)
        for role, cells in columns.items():
            cells.append(_compact(record.get(role)))
    return RawCells(n, columns, errors, source.texts)


def _refuse_merged(cells: RawCells, role: str, missing: pl.Series | bool) -> None:
    """Refuse the rows of merged cells, of which the first alone has a name; others are `missing`.

    Cells were merged if the first row has a name, and half of those with one are above a blank row.
    """
    values, index = cells.distinct(role, "label")
    texts = [None if value is None else str(value) for value in values]
    names = pl.Series(texts, dtype=pl.String).gather(index).scatter(list(cells.errors), "")
    blank, filled = names.is_null() & missing, names.forward_fill()
    above = ~blank & blank.shift(-1, fill_value=False)
    if blank[0] or not 0 < len(names) - blank.sum() <= 2 * above.sum():
        return

    # each of their rows
    for row in (above | blank).arg_true():
        refusal = InputError(
            f"the {role} {shown(filled[row])} has blank cells below it, as where cells are merged: "
            "write it in every row that it is for, and a word such as unknown where there is none"
        )
        cells.errors.setdefault(row, refusal)


def _compact(cell: Any) -> Any:
    """Return a list of small integers as an array, in half the memory; other cells as they are."""
    if type(cell) is list and {*map(type, cell)} == {int} and max(cell) < 128 and min(cell) > -128:
        return array("b", cell)
    return cell
