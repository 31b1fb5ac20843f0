"""Logs from files: JSON lines, CSV, TSV or Parquet, plain or compressed.

A fast pass reads a log whose lines are all alike and all good, with polars. Polars names no lines and is lenient in
places, so anything unusual leaves the log to the careful pass of `dcglearn.line_errors`, which decides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.sources import content, kind_of, parquet_rows, plain_types
from dcglearn.foundation.validation import InputError
from dcglearn.line_errors import (
    BLANK,
    MAX_LABEL,
    WINNERS,
    JsonLines,
    ParquetRows,
    Role,
    Rules,
    TextLines,
    by_role,
    is_same_file,
    read_carefully,
)
from dcglearn.preferences import Preferences, packed, unique_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from dcglearn.line_errors import Table

PREFERENCE = {
    "a": Role("grades", ("a", "left", "list_a", "grades_a"), required=True),
    "b": Role("grades", ("b", "right", "list_b", "grades_b"), required=True),
    "winner": Role("winner", ("winner", "preferred", "preference", "label", "choice"), required=True),
    "query": Role("label", ("query", "query_id", "qid", "q_id")),
    "rater": Role("label", ("rater", "user", "judge", "assessor", "annotator")),
    "weight": Role("positive", ("weight", "count")),
    "strength": Role("positive", ("strength",)),
    "margin": Role("number", ("margin",), uniform=True),
}
RATING = {
    "list": Role("grades", ("list", "grades", "results"), required=True),
    "rating": Role("number", ("rating", "satisfaction", "score"), required=True),
    "group": Role("label", ("group", "user", "session", "rater"), uniform=True),
    "weight": Role("positive", ("weight", "count")),
}
MAX_PAIRS = 100_000_000
"""Distinct pairs that `read_ratings` agrees to make; each takes 2 K + 16 bytes, and as much again on the way."""

BLOCK = 1 << 22
"""Pairs compared at a time."""

_GRADE = "(-1|[0-9]{1,3})"
_PLAIN_LISTS = rf"^({_GRADE}( {_GRADE})*|\[{_GRADE}(, {_GRADE})*\])$"
_PLAIN_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"


def read_preferences(
    path: str | os.PathLike[str],
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Sequence[str] | None = None,
    skip_bad: str | os.PathLike[str] | None = None,
) -> Preferences:
    """Read a log of side-by-side judgements.

    A line of JSON is ``{"query": "q1", "a": [3, 2, 0], "b": [2, 3, 0], "winner": "a", "strength": 2, "weight": 1.5,
    "margin": 0.3, "rater": "ann"}``; only `a`, `b` and `winner` are required. CSV and TSV have a header, and lists as
    ``3 2 0``, ``3|2|0`` or ``[3, 2, 0]`` (in quotes where commas separate). Parquet has list columns or such text.
    Gzip and zstd are recognised by content. Columns may also be called

    - a: left, list_a, grades_a; b: right, list_b, grades_b; weight: count;
    - winner: preferred, preference, label, choice, holding a or left, b or right, tie or draw or equal;
      open: a question that is not answered yet, left out and counted;
    - query: query_id, qid, q_id; rater: user, judge, assessor, annotator.

    Case does not matter, and other columns are ignored. A missing weight or strength is 1, a missing query or rater
    the empty text; a margin is given on every line or on none.

    Parameters
    ----------
    path : path
        The file; ``-`` is standard input.
    n_grades : int, optional
        L; the largest grade seen plus 1 by default.
    depth : int, optional
        K; longer lists are cut. By default all lists must be as long as the first.
    pad : bool
        Fill shorter lists with unknown grades, up to `depth` or the longest list.
    scale : sequence of str, optional
        Names of the grades, worst first, for logs that write "Good" rather than 2.
    skip_bad : path, optional
        Write bad lines there, as they are, instead of stopping at the first; the file may be mended and read. It is
        not touched if every line is good.

    Returns
    -------
    Preferences
        The winners first. Its `dropped` counts the bad lines, and says why the first few are bad.

    Raises
    ------
    InputError
        Naming file, line, value and remedy.
    """
    rules = Rules(n_grades, depth, pad, scale)
    return _as_log(*_read(path, PREFERENCE, rules, skip_bad), n_grades, scale)


def preferences_of(
    frame: pl.DataFrame,
    name: str,
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Sequence[str] | None = None,
    first_row: int = 1,
) -> Preferences:
    """Return the log in a table, a row a judgement, with the columns that `read_preferences` reads.

    Parameters
    ----------
    frame : polars.DataFrame
        Not empty.
    name : str
        What messages call it.
    n_grades, depth, pad, scale
        As in `read_preferences`.
    first_row : int
        Number of the table's first row in what `name` names.

    Returns
    -------
    Preferences

    Raises
    ------
    InputError
        Naming row, value and remedy.
    """
    rules = Rules(n_grades, depth, pad, scale)
    frame = plain_types(frame)
    try:
        source = ParquetRows(frame, PREFERENCE, first_row)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    table = _read_fast(source, b"", frame, PREFERENCE, rules)
    read = (table, {}) if table is not None else read_carefully(name, source, PREFERENCE, rules, None)
    return _as_log(*read, n_grades, scale)


def _as_log(table: Table, dropped: dict[str, int], n_grades: int | None, scale: Sequence[str] | None) -> Preferences:
    """Return the columns by role as a log, the winners first, open questions left out and counted."""
    winner, a, b = table.pop("winner"), table.pop("a"), table.pop("b")
    swap = (winner == WINNERS["b"])[:, None]
    log = Preferences(
        np.where(swap, b, a),
        np.where(swap, a, b),
        n_grades=n_grades,
        tie=winner == WINNERS["tie"] if (winner == WINNERS["tie"]).any() else None,
        grade_names=scale,
        **table,
    )
    is_open = winner == WINNERS["open"]
    if is_open.any():
        log, dropped = log[~is_open], {"open questions": int(is_open.sum()), **dropped}
    log.dropped = dropped
    return log


def read_questions(
    path: str | os.PathLike[str],
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Sequence[str] | None = None,
) -> NDArray[np.int8]:
    """Read pairs of lists that could be judged; a winner, if any, is not looked at.

    Parameters
    ----------
    path, n_grades, depth, pad, scale
        As in `read_preferences`; only `a` and `b` are required.

    Returns
    -------
    ndarray of int8, shape (n, 2, K)

    Raises
    ------
    InputError
        Naming file, line, value and remedy.
    """
    table, _ = _read(path, {role: PREFERENCE[role] for role in ("a", "b")}, Rules(n_grades, depth, pad, scale), None)
    return np.stack([table["a"], table["b"]], axis=1)


def read_ratings(
    path: str | os.PathLike[str],
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Sequence[str] | None = None,
    skip_bad: str | os.PathLike[str] | None = None,
    equal_groups: bool = False,
) -> Preferences:
    """Read a log of rated lists: of every two with different ratings, the higher rated is preferred.

    A line is ``{"list": [3, 0, 1], "rating": 4, "group": "user 7", "weight": 2}``, in any format that
    `read_preferences` reads. Lists are compared within a group, or all with all where no line has a group; a weight
    counts the line so often. Columns may also be called list: grades, results; rating: satisfaction, score; group:
    user, session, rater; weight: count.

    Parameters
    ----------
    path, n_grades, depth, pad, scale, skip_bad
        As in `read_preferences`.
    equal_groups : bool
        Scale the weights within each group to sum to 1, so that a busy user counts no more than another.

    Returns
    -------
    Preferences
        Each distinct ordered pair once per group, its weight the number of pairs of lines that say so; the group is
        the `rater`. `dropped` counts ``pairs of equal lists`` (rated differently), ``pairs rated equally``,
        ``groups without a pair`` and ``bad lines``, where there are any.

    Raises
    ------
    InputError
        Naming file, line, value and remedy; or if no two lists are rated differently.
    """
    rules = Rules(n_grades, depth, pad, scale)
    table, dropped = _read(path, RATING, rules, skip_bad)
    groups, group = None, np.zeros(len(table["list"]), dtype=np.int64)
    if "group" in table:
        groups, group = np.unique(table["group"].astype(str), return_inverse=True)
    elif equal_groups:
        raise InputError(f"{path}: equal_groups needs a group on every line; add the column, or leave equal_groups out")
    _, first, number = unique_rows(packed(table["list"]))
    lists = table["list"][first]
    cells = _Cells(group, number, table["rating"], table.get("weight", np.ones(len(number))))
    found, counts = cells.pairs(str(path))
    if not len(found):
        raise InputError(f"{path}: {_why_no_pair(len(lists), table['rating'])}")
    weight = found[:, 3].view(np.float64)
    if equal_groups:
        weight = weight / np.bincount(found[:, 0], weight)[found[:, 0]]
    log = Preferences(
        lists[found[:, 1]],
        lists[found[:, 2]],
        n_grades=n_grades if n_grades is not None or scale is not None else int(max(lists.max(), 0)) + 1,
        weight=weight,
        rater=None if groups is None else groups[found[:, 0]],
        grade_names=scale,
    )
    if groups is not None:
        counts["groups without a pair"] = len(groups) - len(np.unique(found[:, 0]))
    log.dropped = dropped | {name: count for name, count in counts.items() if count}
    return log


class _Cells:
    """Distinct (group, list, rating), with their weights, ordered by group, then rating; and the pairs they make."""

    def __init__(
        self, group: NDArray[np.int64], number: NDArray[np.intp], rating: NDArray[np.float64], weight: Any
    ) -> None:
        rank = np.unique(rating, return_inverse=True)[1]
        keys, _, cell = unique_rows(np.column_stack([group, rank, number]).astype(np.int64))
        self.group, self.rank, self.list = keys.T
        self.weight = np.bincount(cell, weight)
        self.start = np.flatnonzero(np.diff(self.group, prepend=-1))
        self.size = np.diff(self.start, append=len(keys))

    def pairs(self, name: str) -> tuple[NDArray[np.int64], dict[str, int]]:
        """Return rows (group, preferred list, other list, bits of the weight), ordered, and what makes no pair."""
        compared = self.size * (self.size - 1) // 2
        distinct = np.bincount(unique_rows(np.column_stack([self.group, self.list]))[0][:, 0])
        total = int(np.minimum(compared, distinct * (distinct - 1)).sum())
        if total > MAX_PAIRS:
            raise InputError(
                f"{name}: up to {total:,} distinct pairs, more than {MAX_PAIRS:,}; compare within groups (a group "
                "column), cut the lists (depth), or read a sample of the lines"
            )
        large = np.flatnonzero(compared > BLOCK)
        parts = [self._level_by_level(g) for g in large]
        parts += [self._all_at_once(some) for some in _blocks(np.flatnonzero(compared <= BLOCK), compared)]
        found = np.concatenate(parts) if parts else np.empty((0, 4), dtype=np.int64)
        order = np.lexsort(found[:, :3].T[::-1])
        return found[order], self._left_out()

    def _all_at_once(self, groups: NDArray[np.intp]) -> NDArray[np.int64]:
        """Compare each cell of some groups with all before it in its group; ratings ascend, so it is not lower."""
        size, start = self.size[groups], self.start[groups]
        place = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        cell = np.repeat(start, size) + place
        upper = np.repeat(cell, place)
        lower = np.repeat(cell - place, place) + np.arange(len(upper)) - np.repeat(np.cumsum(place) - place, place)
        kept = (self.rank[upper] > self.rank[lower]) & (self.list[upper] != self.list[lower])
        upper, lower = upper[kept], lower[kept]
        n = int(self.list.max()) + 1
        keys, _, pair = unique_rows(np.column_stack([self.group[upper], self.list[upper] * n + self.list[lower]]))
        weight = np.bincount(pair, self.weight[upper] * self.weight[lower], minlength=len(keys))
        return np.column_stack([keys[:, 0], keys[:, 1] // n, keys[:, 1] % n, weight.view(np.int64)])

    def _level_by_level(self, g: np.intp) -> NDArray[np.int64]:
        """Go up the ratings of one large group, each list beating all that were rated lower, lists x lists at once."""
        here = slice(self.start[g], self.start[g] + self.size[g])
        lists, row = np.unique(self.list[here], return_inverse=True)
        wins, lower = np.zeros((len(lists), len(lists))), np.zeros(len(lists))
        levels = np.flatnonzero(np.diff(self.rank[here])) + 1
        for rows, weight in zip(np.split(row, levels), np.split(self.weight[here], levels), strict=True):
            wins[rows] += weight[:, None] * lower
            lower[rows] += weight
        np.fill_diagonal(wins, 0)
        better, worse = np.nonzero(wins)
        group = np.full(len(better), self.group[here.start])
        return np.column_stack([group, lists[better], lists[worse], wins[better, worse].view(np.int64)])

    def _left_out(self) -> dict[str, int]:
        rated = _sums(self.weight, self.group, self.rank)
        lists = _sums(self.weight, self.group, self.list)
        cells = _sums(self.weight**2, self.group, self.list)
        return {
            "pairs of equal lists": round(((lists**2 - cells) / 2).sum()),
            "pairs rated equally": round(np.maximum(rated * (rated - 1) / 2, 0).sum()),
        }


def _sums(weight: Any, *keys: NDArray[np.int64]) -> Any:
    """Return the weight of each distinct combination of keys."""
    return np.bincount(unique_rows(np.column_stack(keys))[2], weight)


def _blocks(groups: NDArray[np.intp], compared: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Split groups, in order, so that each part compares at most about two `BLOCK` pairs."""
    block = np.cumsum(compared[groups]) // BLOCK
    return [part for part in np.split(groups, np.flatnonzero(np.diff(block)) + 1) if len(part)]


def _why_no_pair(n_lists: int, rating: NDArray[np.float64]) -> str:
    if n_lists == 1:
        return "every line has the same list, so nothing is preferred to anything"
    if (rating == rating[0]).all():
        return f"every rating is {rating[0]:g}, so nothing is preferred to anything"
    return "no two different lists of one group have different ratings, so nothing is preferred to anything"


def _read(
    path: str | os.PathLike[str], roles: Mapping[str, Role], rules: Rules, skip_bad: str | os.PathLike[str] | None
) -> tuple[Table, dict[str, int]]:
    """Return the columns by role, as `read_carefully` does."""
    if skip_bad is not None and is_same_file(path, skip_bad):
        raise InputError(f"{skip_bad}: the bad lines would replace the log itself; name another file")
    name, data = content(path)
    kind = kind_of(Path(path).name.lower(), data)
    frame = parquet_rows(name, data) if kind == "parquet" else None
    try:
        source: JsonLines | TextLines | ParquetRows
        if frame is not None:
            source = ParquetRows(frame, roles)
        else:
            source = JsonLines(data, roles) if kind == "json" else TextLines(data, roles)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    table = _read_fast(source, data, frame, roles, rules)
    return (table, {}) if table is not None else read_carefully(name, source, roles, rules, skip_bad)


def _read_fast(
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


def _grades(column: pl.Series, rules: Rules) -> NDArray[np.int8] | None:
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


def _winners(column: pl.Series, _: Rules) -> NDArray[np.int64] | None:
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


def _numbers(column: pl.Series, *, positive: bool) -> NDArray[np.float64] | None:
    import polars as pl

    if column.dtype == pl.String and not column.drop_nulls().str.contains(_PLAIN_NUMBER).all():
        return None
    if column.dtype != pl.String and not (column.dtype.is_integer() or column.dtype.is_float()):
        return None
    values = column.cast(pl.Float64).fill_null(1.0).to_numpy()
    return values if np.isfinite(values).all() and not (positive and (values <= 0).any()) else None
