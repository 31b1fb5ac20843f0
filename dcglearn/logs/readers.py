"""Logs from files: JSON lines, CSV, TSV or Parquet, plain or compressed.

`dcglearn.logs.fast_pass` reads logs whose lines are all alike and all good, with polars. Polars does not number the
lines and accepts some bad ones, so `dcglearn.logs.careful_pass` reads every other log.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.sources import content, kind_of, parquet_rows, plain_types
from dcglearn.foundation.validation import InputError
from dcglearn.logs.careful_pass import WINNERS, Rules, read_carefully
from dcglearn.logs.line_formats import JsonLines, ParquetRows, Role, TextLines, errors_in
from dcglearn.logs.preferences import Preferences
from dcglearn.logs.superseded import COUNTS, REASONS, reasons_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from dcglearn.foundation.arrays import Grades
    from dcglearn.logs.careful_pass import Table
    from dcglearn.logs.line_formats import Source

PREFERENCE = {
    "a": Role("grades", ("a", "left", "list_a", "grades_a"), required=True),
    "b": Role("grades", ("b", "right", "list_b", "grades_b"), required=True),
    "winner": Role("winner", ("winner", "preferred", "preference", "label", "choice"), required=True),
    "query": Role("label", ("query", "query_id", "qid", "q_id")),
    "rater": Role("label", ("rater", "user", "judge", "assessor", "annotator")),
    "weight": Role("positive", ("weight", "count")),
    "strength": Role("positive", ("strength",)),
    "margin": Role("number", ("margin",), uniform=True),
    "id": Role("identity", ("id",)),
    "supersedes": Role("identity", ("supersedes",)),
}
"""The columns of a log of preferences."""


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
    - winner: preferred, preference, label, choice, holding a or left, b or right, tie or draw or equal, or both good
      or both bad, which are ties; open: a question that is not answered yet, left out and counted;
    - query: query_id, qid, q_id; rater: user, judge, assessor, annotator.

    In a log with a column `supersedes`, as ``dcglearn judge`` writes it, a verdict whose `id` a line supersedes is
    left out, and an id counts once. Case does not matter, and other columns are ignored. A missing weight or strength
    is 1, a missing query or rater the empty text; either every line has a margin or none.

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
        File for the bad lines, written as they are, instead of an error at the first; it can be corrected and read.
        It is not written if every line is good.

    Returns
    -------
    Preferences
        The preferred lists first. Its `dropped` counts the bad lines, and gives the reasons of the first three.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is bad; the message names file, line, value and remedy.
    """
    rules = Rules(n_grades, depth, pad, scale)
    return _as_log(*read_columns(path, PREFERENCE, rules, skip_bad), rules)


def preferences_of(
    frame: pl.DataFrame, name: str, rules: Rules, first_row: int = 1, reasons: Grades | None = None
) -> Preferences:
    """Return the log in a table that is not empty, a row a judgement, with the columns that `read_preferences` reads.

    Messages call the table `name` and count its rows from `first_row`; a bad row raises InputError. `reasons` says
    which rows of a part of a log do not count (`dcglearn.logs.superseded`), where other parts decide it too.
    """
    with errors_in(name):
        source = ParquetRows(plain_types(frame), PREFERENCE, first_row)
    return _as_log(*_columns(name, source, rules, None), rules, reasons)


def _as_log(table: Table, dropped: dict[str, int], rules: Rules, reasons: Grades | None = None) -> Preferences:
    """Return the columns by role as a log, the preferred lists first; what does not count is left out and counted."""
    winner, a, b = table.pop("winner"), table.pop("a"), table.pop("b")
    is_open = winner == WINNERS["open"]
    ids, supersedes = table.pop("id", None), table.pop("supersedes", None)
    if reasons is None and ids is not None:
        reasons = reasons_of(ids, np.full(len(ids), "") if supersedes is None else supersedes, is_open)
    swap = (winner == WINNERS["b"])[:, None]
    log = Preferences(
        np.where(swap, b, a),
        np.where(swap, a, b),
        n_grades=rules.n_grades,
        tie=winner == WINNERS["tie"] if (winner == WINNERS["tie"]).any() else None,
        grade_names=rules.scale,
        **table,
    )
    if reasons is not None:
        is_open &= reasons == COUNTS
        counts = {words: int((reasons == reason).sum()) for reason, words in REASONS.items()}
        dropped = {**{words: count for words, count in counts.items() if count}, **dropped}
    if is_open.any():
        dropped = {"open questions": int(is_open.sum()), **dropped}
    counted = ~is_open if reasons is None else ~is_open & (reasons == COUNTS)
    log = log if counted.all() else log[counted]
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
    """Read pairs of lists that could be judged, int8 of shape (n, 2, K); a winner, if any, is ignored.

    Parameters
    ----------
    path, n_grades, depth, pad, scale
        As in `read_preferences`; only `a` and `b` are required.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is bad; the message names file, line, value and remedy.
    """
    lists = {role: PREFERENCE[role] for role in ("a", "b")}
    table, _ = read_columns(path, lists, Rules(n_grades, depth, pad, scale), None)
    return np.stack([table["a"], table["b"]], axis=1)


def read_columns(
    path: str | os.PathLike[str], roles: Mapping[str, Role], rules: Rules, skip_bad: str | os.PathLike[str] | None
) -> tuple[Table, dict[str, int]]:
    """Return the columns of a file by role, and the counts of what was left out; see `read_carefully`."""
    if skip_bad is not None and Path(path).exists() and Path(skip_bad).exists() and Path(path).samefile(skip_bad):
        raise InputError(f"{skip_bad}: the bad lines would replace the log itself; name another file")
    name, data = content(path)
    kind = kind_of(Path(path).name.lower(), data)
    lines = parquet_rows(name, data) if kind == "parquet" else data
    opener: Callable[..., Source] = {"parquet": ParquetRows, "json": JsonLines}.get(kind, TextLines)
    with errors_in(name):
        source = opener(lines, roles)
    return _columns(name, source, rules, skip_bad)


def _columns(
    name: str, source: Source, rules: Rules, skip_bad: str | os.PathLike[str] | None
) -> tuple[Table, dict[str, int]]:
    from dcglearn.logs.fast_pass import read_fast

    fast = read_fast(source, rules)
    table, dropped = (fast, {}) if fast is not None else read_carefully(name, source, rules, skip_bad)
    if not source.has("supersedes"):
        table.pop("id", None)
    return table, dropped
