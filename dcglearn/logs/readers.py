"""Logs from files: JSON lines, CSV, TSV or Parquet, plain or compressed.

A fast pass reads a log whose lines are all alike and all good, with polars. Polars names no lines and is lenient in
places, so anything unusual leaves the log to the careful pass of `dcglearn.logs.careful_pass`, which decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.sources import content, kind_of, parquet_rows, plain_types
from dcglearn.foundation.validation import InputError
from dcglearn.logs.careful_pass import WINNERS, Rules, is_same_file, read_carefully
from dcglearn.logs.fast_pass import read_fast
from dcglearn.logs.line_formats import JsonLines, ParquetRows, Role, TextLines
from dcglearn.logs.preferences import Preferences

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl

    from dcglearn.foundation.arrays import Grades
    from dcglearn.logs.careful_pass import Table

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
    return _as_log(*read_columns(path, PREFERENCE, rules, skip_bad), n_grades, scale)


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
    table = read_fast(source, b"", frame, PREFERENCE, rules)
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
) -> Grades:
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
    table, _ = read_columns(
        path, {role: PREFERENCE[role] for role in ("a", "b")}, Rules(n_grades, depth, pad, scale), None
    )
    return np.stack([table["a"], table["b"]], axis=1)


def read_columns(
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
    table = read_fast(source, data, frame, roles, rules)
    return (table, {}) if table is not None else read_carefully(name, source, roles, rules, skip_bad)
