"""Any input as tables of polars, whose rows know the file and the row that they come from."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.sources import (
    WRITTEN,
    content,
    expand_paths,
    is_path,
    keys_once,
    parquet_rows,
)
from dcglearn.foundation.validation import (
    Fields,
    Indices,
    InputError,
    PathLike,
    is_frame,
    is_records,
    suffix_among,
)
from dcglearn.reading.texts import text

FIRST_LINES = 100
"""How many lines of JSON are asked for their keys before all are."""

MOST_COLUMNS = 10_000
"""Most columns of separated text: polars takes a kilobyte for each."""

LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
"""Half a character in an escape of JSON, which polars reads as another one."""

NESTED_TEXT = re.compile(rb':\s*[\[{]\s*["{\[]')
"""Where a list or an object of JSON begins that may hold texts."""

_LOG = logging.getLogger(__name__)

YOURSELF = (
    "read it with polars; see the recipe 'No names, titles above, another encoding, another sheet'"
)


@dataclass(frozen=True)
class Table:
    """A data frame, and the place of each of its rows: its `file`, and its `row` there from 1.

    A table of `words` has a text without blanks in each cell of a column of texts.
    """

    frame: pl.DataFrame
    places: pl.DataFrame
    words: bool = False

    @classmethod
    def of(cls, frame: pl.DataFrame, name: str, rows: Indices | None = None) -> Table:
        """Return a table of some rows of a file, by default all; they count from 0, no header."""
        row = pl.int_range(1, pl.len() + 1) if rows is None else rows + 1
        return cls(frame, frame.select(row=row, file=pl.lit(name)))

    @property
    def name(self) -> str:
        """The name of the first file."""
        return self.places["file"][0]

    def place(self, row: int) -> str:
        """Return the place of a row for messages."""
        number, file = self.places.row(row)
        return f"{file}, row {number:,}"

    def refuse(
        self, bad: Any, problem: str, remedy: str = "", values: pl.Series | None = None
    ) -> None:
        """Raise BadRowsError for the rows where `bad` holds; see `Refusals.add`."""
        refusals = Refusals(self)
        refusals.add(bad, problem, remedy, values)
        refusals.check()

    def without(self, rows: Sequence[int]) -> Table:
        """Return the table without some rows, whose others keep their places."""
        stays = np.delete(np.arange(self.frame.height), rows)
        return Table(self.frame[stays], self.places[stays])


class BadRowsError(InputError):
    """Rows that cannot be read; `rows` holds their numbers in the frame, from 0.

    ``frame.with_row_index().filter(~pl.col("index").is_in(error.rows))`` leaves them out.
    """

    rows: list[int]


@dataclass
class Refusals:
    """The bad rows of a table with what is wrong with the first of each kind, and remarks."""

    table: Table
    kinds: list[tuple[list[int], str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(
        self, bad: Any, problem: str, remedy: str = "", values: pl.Series | None = None
    ) -> None:
        """Note the rows where `bad` holds; the problem ends with the value of the first one."""
        rows = pl.Series(bad).arg_true().to_list()
        if rows:
            value = "" if values is None else f" {values[rows[0]]!r}"
            self.kinds.append((rows, f"{problem}{value}{'; ' * bool(remedy)}{remedy}"))

    def check(self) -> None:
        """Raise BadRowsError for the first bad row of each kind, with the number of others."""
        if not self.kinds:
            return
        sentences = []
        kinds = sorted(self.kinds, key=lambda kind: kind[0])
        for rows, sentence in kinds:
            more = f" ({len(rows):,} rows, next {self.table.place(rows[1])})" if rows[1:] else ""
            sentences.append(f"{self.table.place(rows[0])}: {sentence}{more}")
        error = BadRowsError(". Also ".join(sentences))
        error.rows = sorted({row for rows, _ in kinds for row in rows})
        raise error


def table_of_bytes(name: str, data: bytes) -> Table:
    """Return the table in a file of this name, given its bytes; see `table_of`."""
    return without_blank_rows(name, frame_of(name, data))


def table_of(data: Any) -> Table:
    """Return the table of files, a data frame or dictionaries; a table itself stays as it is.

    Files are Parquet, delimited text, JSON lines or arrays, Excel workbooks, also in gzip or zstd,
    told by their first bytes; paths, folders and patterns name them, and ``-`` standard input.
    Cells of text stay text, and rows that are blank are left out. Raises InputError for what cannot
    be read, or has no row.
    """
    if isinstance(data, Table):
        return data
    return joined([*_tables(data)])


def joined(tables: Sequence[Table]) -> Table:
    """Return several tables as one; where a column differs in type between them, all are text."""
    if len(tables) == 1:
        return tables[0]
    frames = [table.frame for table in tables]
    try:
        frame = pl.concat(frames, how="diagonal")
    except pl.exceptions.SchemaError:
        texts = (pl.DataFrame([text(column) for column in frame]) for frame in frames)
        frame = pl.concat(texts, how="diagonal")
    return Table(frame, pl.concat([table.places for table in tables]))


def write_frame(frame: pl.DataFrame, path: PathLike) -> None:
    """Write a table beside `path` and rename it, as Parquet or JSON lines by its suffix."""
    suffix = suffix_among(path, WRITTEN, "logs")
    with written_beside(path) as temporary:
        if suffix == ".parquet":
            frame.write_parquet(temporary)
        else:
            frame.write_ndjson(temporary)


def without_blank_rows(name: str, frame: pl.DataFrame) -> Table:
    """Return a table without rows that are blank, as below the table of a spreadsheet."""
    rows = None
    strings = pl.selectors.string()
    blank = [(strings.str.strip_chars() == "").fill_null(True), (~strings).is_null()]
    first = frame.select(frame.columns[:1]).select(pl.any_horizontal(*blank))
    if frame.width and first.to_series().any():
        rows = np.flatnonzero(~frame.select(pl.all_horizontal(*blank)).to_series())
        frame = frame[rows]
    if frame.is_empty():
        raise InputError(f"{name} has no row below a header; if it is elsewhere, {YOURSELF}")
    _LOG.info("%s: %d rows", name, frame.height)
    return Table.of(frame, name, rows)


def _tables(data: Any) -> Iterator[Table]:
    """Yield the table of each file of an input, or that in memory."""
    if is_path(data):
        for path in expand_paths(data):
            yield table_of_bytes(*content(path, "a table"))
    elif is_frame(data):
        yield without_blank_rows("the data frame", polars_frame(data))
    elif is_records(data):
        name = "the records"
        yield without_blank_rows(name, _records(name, data))
    else:
        raise InputError(
            f"a {type(data).__name__} is no table: give a path, a data frame or dictionaries; "
            "see the recipe 'Tuples'"
        )


def polars_frame(frame: Any) -> pl.DataFrame:
    """Return a table of polars, pandas or Arrow as one of polars."""
    try:
        if isinstance(frame, pl.LazyFrame):
            return frame.collect()
        if not hasattr(frame, "itertuples"):
            return pl.DataFrame(frame)

        # pandas needs pyarrow for Arrow's interchange
        if frame.columns.has_duplicates:
            raise InputError(f"two columns have one name in {list(frame.columns)}; rename one")
        columns = []
        for name, cells in frame.astype(object).where(frame.notna(), None).to_dict("list").items():
            # texts where some cells are texts and some numbers
            strict = not all(map(np.isscalar, filter(None, cells)))
            columns.append(pl.Series(str(name), cells, strict=strict))
        return pl.DataFrame(columns)
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"the data frame cannot be read ({error}); give every column values of one type"
        ) from error


def _records(name: str, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return dictionaries as a table of text; NaN is missing."""
    lines = []
    for record in records:
        line = json.dumps(record, default=lambda value: getattr(value, "tolist", value.__str__)())
        if "NaN" in line:
            line = json.dumps(json.loads(line, parse_constant=lambda _: None))
        lines.append(line)
    return _json_lines(name, "\n".join(lines).encode())


def frame_of(name: str, data: bytes) -> pl.DataFrame:
    """Return the table of a file's bytes, which tell its format; cells of text stay text."""
    begin = data[:1000].lstrip()[:1]
    try:
        if data.startswith(b"PAR1"):
            return parquet_rows(name, data)
        if begin == b"[":
            return _records(name, list(_objects(name, data)))
        if begin == b"{":
            return _json_lines(name, data)
        return _separated(name, data)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError) as error:
        if begin == b"{":
            list(_objects(name, data))
        about = str(error).splitlines()[0]
        raise InputError(f"{name} cannot be read ({about}); {YOURSELF}") from error


def _json_lines(name: str, data: bytes) -> pl.DataFrame:
    """Return an object a line as a table of text, in which lists and objects are JSON."""
    if (b"\\ud" in data or b"\\uD" in data) and LONE_SURROGATE.search(data):
        raise InputError(f"{name}: half a character, such as \\ud800, is no text; write it whole")

    # polars loses backslashes in texts within lists and objects
    if b"\\" in data and NESTED_TEXT.search(data):
        data = b"\n".join(map(_plain_line, _objects(name, data)))

    # the keys of the first lines, or of all where some line has others
    n_values = data.count(b'":') - data.count(b'":null') - data.count(b'": null')
    n_cells = 0
    for n_lines in (FIRST_LINES, None):
        try:
            keys = pl.scan_ndjson(data, infer_schema_length=n_lines).collect_schema().names()
        except pl.exceptions.SchemaError:
            keys = [key for row in _objects(name, data) for key in row]
        frame = pl.read_ndjson(data, schema=dict.fromkeys(keys, pl.String))
        n_cells = sum(column.count() for column in frame)
        if n_cells == n_values:
            break

    # more values than cells may be keys that occur twice
    if n_values > n_cells:
        list(_objects(name, data))
    return frame


def _plain_line(row: Fields) -> bytes:
    """Return an object as a line of JSON in which lists and objects are texts."""
    texts = {key: json.dumps(x) for key, x in row.items() if isinstance(x, dict | list)}
    return json.dumps(row | texts).encode()


def _objects(name: str, data: bytes) -> Iterator[Fields]:
    """Yield the objects of JSON lines or of an array; raise InputError for the first wrong one."""
    is_array = data.lstrip().startswith(b"[")
    noun, parts = ("row", _parsed(name, data)) if is_array else ("line", data.splitlines())
    for number, part in enumerate(parts, 1):
        place = f"{name}, {noun} {number:,}"
        if not is_array and not part.strip():
            continue
        row = part if is_array else _parsed(place, part)
        if not isinstance(row, dict):
            raise InputError(f"{place}: {str(row)[:60]!r} is no object; write one")
        yield row


def _parsed(place: str, data: bytes) -> Any:
    """Return the value of JSON; raise InputError for other text, and for a key that is twice."""
    try:
        return json.loads(data, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{place}: not valid JSON ({error}); write one object a line, or an array of objects, "
            "or see the recipe 'No names, titles above, another encoding, another sheet'"
        ) from error


def _separated(name: str, data: bytes) -> pl.DataFrame:
    """Return separated text as a table of text; the header tells the separator."""
    if data.startswith(b"sep="):  # a line of Excel
        data = data.partition(b"\n")[2]
    head = data[: 1 << 16].decode(errors="replace")

    def n_cells(mark: str) -> int:
        return len(next(csv.reader(io.StringIO(head, newline=""), delimiter=mark), []))

    separator = max(",;\t|", key=n_cells)
    if n_cells(separator) > MOST_COLUMNS:
        raise InputError(f"{name}: more than {MOST_COLUMNS:,} columns; is a line end missing?")
    _refuse_odd_quotes(name, data)

    # polars fills short lines
    frame = pl.read_csv(data, separator=separator, infer_schema=False, null_values="")
    if frame.width and frame[:, -1].has_nulls():
        _refuse_short_lines(name, data, separator)
    nameless = [name for name in frame.columns if re.fullmatch(r"\s*(_duplicated_[0-9]+)?", name)]
    return frame.drop(name for name in nameless if frame[name].is_null().all())


def _refuse_odd_quotes(name: str, data: bytes) -> None:
    """Raise InputError for quotation marks within a cell, or a missing one, which polars reads."""
    inside = re.search(rb'[^,;\t|\r\n"]"[^,;\t|\r\n"]', data) if b'"' in data else None
    if inside is not None or data.count(b'"') % 2:
        at = data.rfind(b'"') if inside is None else inside.start()
        number = data.count(b"\n", 0, at) + 1
        raise InputError(
            f"{name}, line {number:,}: a quotation mark stands within a cell, or one is missing; "
            f"double it, or {YOURSELF}"
        )


def _refuse_short_lines(name: str, data: bytes, separator: str) -> None:
    """Raise InputError for the first line with fewer fields than the header."""
    csv.field_size_limit(max(len(data), csv.field_size_limit()))
    lines = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=separator)
    width = len(next(lines))
    for fields in lines:
        if len(fields) != width and any(cell.strip() for cell in fields):
            raise InputError(
                f"{name}, line {lines.line_num:,}: {len(fields)} fields where the header has "
                f"{width}; write lists as 3 2 0, or in quotes; or {YOURSELF}"
            )
