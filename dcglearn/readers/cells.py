"""The raw cells of a log by role, and the checked columns that become of them.

Polars reads what it reads exactly as it stands, at once. It does not number the lines, ignores some
faults and makes text of other values, so everything else is read line by line. `KINDS` then says,
of both alike, what the cells mean.
"""

import contextlib
import csv
import logging
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.files import refuse_existing, written_beside
from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.validation import InputError, Integers, PathLike, errors_in
from dcglearn.readers.frames import flattened
from dcglearn.readers.joined_files import Joined
from dcglearn.readers.kinds import KINDS, Column, GradeLists, Said, Values
from dcglearn.readers.line_formats import BLANK, FrameRows, JsonLines, Source, TextLines, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.roles import ColumnsByRole, Role, Table, by_role

_LOG = logging.getLogger(__name__)

MOST_KEYS = 100
"""Keys of a JSON line that are counted, each in all bytes."""

_NOT_A_NAME = r"^$|\t|^[\[{]|^-?[0-9]+[.eE]|^(true|false)$"
"""What may be polars' text of a value that is no text."""

_PLAIN_GRADE = "^(-[12]|[0-9]{1,3})$"


@dataclass(frozen=True)
class RawCells:
    """The raw cells of each role that occurs, `n` rows; `errors` are of rows that cannot be read.

    `texts` says that texts stand for values of any type; `at_once` that polars read them. `rows`
    are the rows of a table of another shape that they were made of, None if each is one.
    """

    n: int
    columns: dict[str, Any]
    errors: dict[int, InputError] = field(default_factory=dict)
    texts: bool = False
    at_once: bool = False
    rows: NDArray[np.intp] | None = None

    def column(self, role: str, kind: str) -> Column:
        """Return the cells of a role that occurs, read as those of a kind."""
        return Column(role, kind, self.columns[role], self.texts)

    def distinct(self, role: str, kind: str) -> tuple[list[Any], Integers]:
        """Return the distinct values of a role, and the number of that of each row, shape (n,)."""
        if role not in self.columns:
            return [None], np.zeros(self.n, np.int64)
        column = self.column(role, kind)
        cells, index = column.distinct()
        return list(map(column.value, cells)), index

    def gathered(self, role: str, rows: pl.Series) -> Any:
        """Return the cells of a role in some rows, and None where a row is null."""
        cells = self.columns[role]
        if isinstance(cells, list):
            return [None if row is None else cells[row] for row in rows.to_list()]
        return cells.gather(rows)

    def taken(self, rows: NDArray[np.intp]) -> Self:
        """Return the cells of some rows, in order, some of them several times."""
        columns = {role: self.gathered(role, pl.Series(rows)) for role in self.columns}
        errors = {
            at: self.errors[row] for at, row in enumerate(rows.tolist()) if row in self.errors
        }
        return replace(self, n=len(rows), columns=columns, errors=errors, rows=rows)


def raw_cells(source: Source) -> RawCells:
    """Return the cells of a source."""
    frame = None
    with contextlib.suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        frame = plain_frame(source)
    if frame is not None and len(frame):
        parts = source.sources.values() if isinstance(source, Joined) else [source]
        texts = isinstance(next(iter(parts)), TextLines | FrameRows)
        return RawCells(
            len(frame), {name: frame[name] for name in frame.columns}, texts=texts, at_once=True
        )
    reshaped: RawCells | None = source.cells()
    if reshaped is not None:
        return reshaped

    # line by line
    columns: dict[str, list[Any]] = {}
    errors: dict[int, InputError] = {}
    n = 0
    for n, (_, item) in enumerate(source, 1):
        try:
            record = source.record(item)
        except InputError as error:
            errors[n - 1] = error
            record = {}
        for role in record.keys() - columns.keys():
            columns[role] = [None] * (n - 1)
        for role, cells in columns.items():
            cells.append(_compact(record.get(role)))
    return RawCells(n, columns, errors)


def _compact(cell: Any) -> Any:
    """Return a list of small integers as an array, which takes half of the memory; other cells as
    they are.
    """
    if type(cell) is list and {*map(type, cell)} == {int} and max(cell) < 128 and min(cell) > -128:
        return array("b", cell)
    return cell


def plain_frame(source: Source) -> pl.DataFrame | None:
    """Return the columns by role, not yet checked, if every line has the same form; else None, or
    raise PolarsError.
    """
    if isinstance(source, JsonLines):
        return _plain_json(source)
    if isinstance(source, TextLines):
        return _plain_text(source)
    if isinstance(source, FrameRows):
        frame = _named_by_role(source.frame, source.columns)
        stripped = pl.col(pl.String).str.strip_chars(BLANK)
        if frame is not None:
            frame = frame.with_columns(pl.when(stripped != "").then(stripped).name.keep())
        return frame
    if isinstance(source, Joined) and len({type(one) for one in source.sources.values()}) == 1:
        frames = [
            frame for one in source.sources.values() if (frame := plain_frame(one)) is not None
        ]
        # polars refuses columns of other types, whose values as text need not be those of the lines
        return pl.concat(frames, how="diagonal") if len(frames) == len(source.sources) else None
    return None


def _plain_json(source: JsonLines) -> pl.DataFrame | None:
    """Read JSON lines that all have the keys of the first line, each once, with no null among the
    roles; else None.

    Polars ignores keys outside its schema, takes the first of two equal keys and makes text of any
    value, so characters or keys are counted in the bytes. If no value is null, no line lacks a key;
    the counts show that none has it twice.
    """
    keys = list(source.names)
    try:
        values = source.record(next(iter(source))[1])
    except InputError:
        return None

    # the columns and their types
    columns = by_role(keys, source.roles)
    if (
        b"\\" in source.data
        or "supersedes" in columns
        or any("." in str(name) for name in columns.values())
    ):
        return None
    if "rater" not in columns:
        columns.pop("id", None)
    numbers = dict.fromkeys(("number", "positive", "score"), pl.Float64)
    types = {"grades": pl.List(pl.Int8), "documents": pl.List(pl.String), **numbers}
    schema: dict[str, Any] = {}
    for role, names in columns.items():
        by_type = {str: pl.String, bool: pl.Boolean, list: pl.List(pl.String)}
        label = by_type.get(type(values[role]), pl.Int64)
        dtype = types.get(source.roles[role].kind, label)
        schema |= {names: dtype} if isinstance(names, str) else dict.fromkeys(names, pl.Int64)
    frame = pl.read_ndjson(source.data, schema=schema)

    # what may be another value than it seems
    texts = (
        flattened(frame[column]) for column, dtype in schema.items() if dtype == pl.List(pl.String)
    )
    if any(flat.null_count() or flat.str.contains(_NOT_A_NAME).any() for flat in texts):
        return None
    if any(frame[column].null_count() for column in schema):
        return None
    n = len(frame)
    whole = _characters_prove(source.data, keys, schema, n) or _keys_prove(
        source.data, keys, schema, n
    )
    return _named_by_role(frame, columns) if whole else None


def _characters_prove(data: bytes, keys: list[str], schema: Mapping[str, Any], n: int) -> bool:
    """Return whether counts of single characters show n lines of these keys, each once, and texts
    for texts only.

    If every key is used, and there are as many colons as keys, none occurs twice. If there are as
    many brackets and quotes as lists, keys and texts need, no text was made of another value.
    """
    types = list(schema.values())
    if len(keys) > len(schema) or pl.Boolean in types or pl.List(pl.String) in types:
        return False
    lists, texts = types.count(pl.List(pl.Int8)), types.count(pl.String)
    expected = {":": n * len(keys), "{": n, "[": n * lists, '"': 2 * n * (len(keys) + texts)}
    codes, block = np.frombuffer(data, np.uint8), 1 << 20
    blocks = [codes[start : start + block] for start in range(0, len(codes), block)]
    return all(
        sum(int(np.count_nonzero(b == ord(c))) for b in blocks) == number
        for c, number in expected.items()
    )


def _keys_prove(data: bytes, keys: list[str], schema: Mapping[str, Any], n: int) -> bool:
    """Return whether counts of keys show n lines of these keys, each once, and texts and truth
    values where expected.

    If there is no blank between a quote and a colon, ``"key":`` is that key and nothing else. If
    each key occurs once a line on average, and no other quote is followed by a colon, there are no
    other keys.
    """
    if len(keys) > MOST_KEYS or any(mark in data for mark in (b'" :', b'"\t:', b'"\r:')):
        return False
    if data.count(b'":') != n * len(keys) or any(
        data.count(f'"{key}":'.encode()) != n for key in keys
    ):
        return False
    begins = {
        pl.String: ('"',),
        pl.Boolean: ("true", "false"),
    }  # Polars makes these of numbers, too
    for column, dtype in schema.items():
        places = [
            f'"{column}":{blank}{mark}'.encode()
            for blank in ("", " ")
            for mark in begins.get(dtype, ())
        ]
        if places and sum(map(data.count, places)) != n:
            return False
    return True


def _plain_text(source: TextLines) -> pl.DataFrame | None:
    """Read CSV or TSV without quotes, blank or ragged lines, all values as text or null; else
    return None.
    """
    data, n_columns = source.data, len(source.names)
    if (
        b'"' in data
        or data.count(b"\r") != data.count(b"\r\n")
        or n_columns == 1
        or source.header_line != 1
    ):
        return None
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    # Polars refuses a long line but fills a short one with nulls, so delimiters are counted to find
    # short lines.
    if data.count(source.delimiter.encode()) != (n_columns - 1) * n_lines or n_lines == 1:
        return None
    index = {source.names[i].strip(BLANK): f"c{i}" for i in reversed(range(n_columns))}
    scores = {
        index[str(name)]
        for role, name in source.columns.items()
        if source.roles[role].kind == "score"
    }
    types = {f"c{i}": pl.Float64 if f"c{i}" in scores else pl.String for i in range(n_columns)}
    frame = pl.read_csv(
        data,
        has_header=False,
        skip_lines=1,
        separator=source.delimiter,
        quote_char=None,
        schema=types,
    )
    longest = frame.select(pl.max_horizontal(pl.col(pl.String).str.len_bytes().max())).item()
    if len(frame) != n_lines - 1 or (longest or 0) > csv.field_size_limit():
        return None
    used = [
        name
        for names in source.columns.values()
        for name in ([names] if isinstance(names, str) else names)
    ]
    if any(mark in data for mark in (b" ", b"\r", b"\t")):
        stripped = pl.exclude(scores).str.strip_chars(BLANK)
        frame = frame.with_columns(pl.when(stripped != "").then(stripped).name.keep())
    return _named_by_role(
        frame.select(pl.col(index[name]).alias(name) for name in used), source.columns
    )


def _named_by_role(frame: pl.DataFrame, columns: ColumnsByRole) -> pl.DataFrame | None:
    """Return the columns by role, those of a wide list as one; None unless its cells are plain
    grades.
    """
    named = []
    for role, names in columns.items():
        if isinstance(names, str):
            named.append(frame[names].alias(role))
            continue
        cells = [frame[name] for name in names]
        for cell in cells:
            text = cell.dtype == pl.String
            plain = (
                cell.unique().str.contains(_PLAIN_GRADE).all() if text else cell.dtype.is_integer()
            )
            if not plain or cell.null_count():
                return None
        grades = np.column_stack([cell.cast(pl.Int16).to_numpy() for cell in cells])
        named.append(pl.Series(role, grades).arr.to_list())
    return pl.DataFrame(named)


def read_checked(
    name: str, source: Source, mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[Table, dict[str, int]]:
    """Return the columns of a source by role, and the counts of the lines left out.

    Columns are ``grades``: int8 (n, K); ``winner``: `Winners`; numbers: float64 (n,); others:
    object (n,). An optional column without a value on any line is left out. Bad lines are written
    to `skip_bad`, and counted as ``"bad lines"`` beside the first three reasons. Without `skip_bad`
    the first bad line raises InputError, as does a log without a good line. Messages call the file
    `name`.
    """
    if skip_bad is not None:
        refuse_existing(skip_bad, force=True)
    cells = raw_cells(source)
    how = "in one pass" if cells.at_once else "line by line, since something in it is unusual"
    _LOG.info("%s: read as %s %s", name, source.form, how)
    values = _converted(cells, source.roles, mapping)
    errors = _errors(cells, values, source, mapping)

    # the first bad line, or all of them
    if errors and skip_bad is None:
        first = min(errors)
        with errors_in(_place(source, first, name)):
            raise errors[first]
    reasons = [f"{_place(source, row)}: {errors[row].args[0]}" for row in sorted(errors)[:3]]
    if len(errors) == cells.n:
        raise InputError(
            f"{name}: " + (f"no good line; {reasons[0]}" if errors else "nothing after the header")
        )
    table = _table(values, source.roles, mapping, errors, cells.n)
    if not errors or skip_bad is None:
        return table, {}

    # a line that makes several judgements is bad once
    bad = {
        (number, source.raw(item)): None
        for row, (number, item) in enumerate(source)
        if row in errors
    }
    with written_beside(skip_bad) as temporary, temporary.open("wb") as file:
        file.writelines(
            line + b"\n"
            for line in [*([source.header] if source.header else []), *(line for _, line in bad)]
        )
    return table, {"bad lines": len(bad), **dict.fromkeys(reasons, 1)}


def _place(source: Source, row: int, name: str = "") -> str:
    """Return where a row stands, for messages."""
    number = next(islice(source, row, None))[0]
    return f"{name}, {source.unit} {number}" if name else f"{source.unit} {number}"


def _converted(
    cells: RawCells, roles: Mapping[str, Role], mapping: LogMapping
) -> dict[str, tuple[Column, Values]]:
    """Return the column and the values of each role that occurs."""
    needs_ids = bool({"supersedes", "rater"} & cells.columns.keys())
    converted = {}
    for role, about in roles.items():
        if role in cells.columns and (role != "id" or needs_ids):
            column = Column(role, about.kind, cells.columns[role], cells.texts, mapping)
            converted[role] = column, KINDS[about.kind](column)
    return converted


def _errors(
    cells: RawCells,
    values: Mapping[str, tuple[Column, Values]],
    source: Source,
    mapping: LogMapping,
) -> dict[int, InputError]:
    """Return what is wrong with each bad row; of several faults, that of the first role."""
    errors = dict(cells.errors)
    for role, (_, given) in values.items():
        for row, error in given.errors.items():
            errors.setdefault(row, error)
        if source.roles[role].required:
            for row in np.flatnonzero(given.absent).tolist():
                errors.setdefault(row, InputError(f"{role} is missing"))
    if mapping.scale is not None and not mapping.numbered:
        _refuse_mixture(errors, values)
    _refuse_gaps(errors, values, source, cells.n)
    return errors


def _refuse_mixture(
    errors: dict[int, InputError], values: Mapping[str, tuple[Column, Values]]
) -> None:
    """Add the lists whose grades are numbers where others are names of the scale, or the other way
    round.
    """
    lists = {
        role: given for role, given in values.items() if isinstance(given[1].values, GradeLists)
    }
    said = {role: given.values.said for role, (_, given) in lists.items()}
    if all(kinds is None for kinds in said.values()):
        return
    so_far, n = 0, len(next(iter(lists.values()))[1].absent)
    said = {role: np.full(n, 2) if kinds is None else kinds for role, kinds in said.items()}
    for row in range(n):
        for role, (column, _) in lists.items():
            if row not in errors:
                so_far |= int(said[role][row])
            if so_far == 1 | 2 and said[role][row] and row not in errors:
                mixed = shown(column.at(row))
                refusal = f"{role} is {mixed}: the log has grades by name and by number; write all one way"
                errors[row] = InputError(refusal)


def _refuse_gaps(
    errors: dict[int, InputError],
    values: Mapping[str, tuple[Column, Values]],
    source: Source,
    n: int,
) -> None:
    """Add the rows that lack a value of a uniform column, or have one, unlike the first good
    row.
    """
    good = np.ones(n, bool)
    good[list(errors)] = False
    if not good.any():
        return
    first = int(good.argmax())
    for role, (column, given) in values.items():
        if not source.roles[role].uniform:
            continue
        for row in np.flatnonzero(good & (given.absent != given.absent[first])).tolist():
            refusal = f"{role} {shown(column.at(row))}: give it on every line or on none"
            errors.setdefault(row, InputError(f"{refusal} ({_place(source, first)})"))


def _table(
    values: Mapping[str, tuple[Column, Values]],
    roles: Mapping[str, Role],
    mapping: LogMapping,
    errors: Mapping[int, InputError],
    n: int,
) -> Table:
    """Return the values of the good rows as arrays."""
    good = np.ones(n, bool)
    good[list(errors)] = False
    kept: Table = {}
    for role, (_, given) in values.items():
        if roles[role].required or not given.absent[good].all():
            kept[role] = given.values[good] if errors else given.values

    # lists of one depth, and winners
    lists = {role: given for role, given in kept.items() if isinstance(given, GradeLists)}
    depth = mapping.depth or max((given.longest for given in lists.values()), default=0)
    for role, graded in lists.items():
        n_lists = len(graded.lengths)
        size = f"the log of {n_lists:,} lines, padded to {depth:,} grades,"
        refuse_beyond_memory(
            6.0 * n_lists * depth, size, "give a smaller depth (depth=, convert --depth)"
        )
        kept[role] = graded.table(depth, mapping.below)
    for role, given in kept.items():
        if isinstance(given, Said):
            kept[role] = given.winners(mapping.own_words.of_winners)
    return kept
