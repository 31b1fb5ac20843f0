"""Tables of other shapes as the one that is read: a row a document, lists or grades elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dcglearn.foundation.validation import InputError, PolarsFrame, known, listed
from dcglearn.reading.columns import OwnNames, find, names_given, role_called
from dcglearn.reading.contract import DOCUMENT, LISTED
from dcglearn.reading.judgements import read_judgements
from dcglearn.reading.tables import Table, table_of
from dcglearn.reading.texts import text
from dcglearn.reading.values import lists_of_names

GRADES_OF = {"docs_a": "a", "docs_b": "b", "docs": "list"}
"""The column of the grades of the documents in each column."""

ROW = "\0row"
"""Name of a column that no table has."""


def from_long(
    rows: Any,
    keys: Sequence[str] | str = ("query",),
    columns: Mapping[str, str] | str | OwnNames | None = None,
) -> PolarsFrame:
    """Return judgements of a table with a row a document, as `read_preferences` takes them.

    Rows of the same `keys` are a judgement: a query, or a query, a rater and a number. The columns
    are `side` (a or b, left or right, or the names of two systems, of which the first in order is
    a), `position` from 1 or 0, `grade`, and `winner`. Other columns keep the first
    value of each judgement. Raises InputError unless each judgement has two sides, at most one
    winner, and every position of both once.

    Parameters
    ----------
    rows : path, data frame or sequence
        As in `read_preferences`.
    keys : sequence of str or str
        Columns that tell judgements apart.
    columns : mapping or str, optional
        The table's own columns by the usual name, as in `read_preferences`.

    See Also
    --------
    read_preferences : Read what it returns.

    Examples
    --------
    >>> rows = [("a", 1, 2, "a"), ("a", 2, 0, None), ("b", 1, 0, None), ("b", 2, 1, None)]
    >>> names = ("side", "position", "grade", "winner")
    >>> long = [{"query": "q1", **dict(zip(names, row))} for row in rows]
    >>> dl.from_long(long).select("a", "b", "winner").rows()
    [(['2', '0'], ['0', '1'], 'a')]
    """
    table = table_of(rows)
    keys = [keys] if isinstance(keys, str) else list(keys)
    found = find(table.frame.columns, DOCUMENT, columns or {})
    known(keys, table.frame.columns, table.name, "key column")

    # the columns of a document, and the number of its side, of which a is the first by its name
    roles = {names[0]: role for role, names in found.items()}
    unused = [role for role in found if role not in roles and role in table.frame.columns]
    if unused:
        warnings.warn(f"{table.name}: columns that are not used: {listed(unused)}", stacklevel=2)
    frame = table.frame.drop(unused).rename(roles)
    position = pl.col("position").cast(pl.Float64, strict=False).fill_null(-1)
    frame = frame.with_columns(text(frame["side"]), text(frame["grade"]), position)
    frame = frame.with_columns(at=pl.col("side").str.to_lowercase().rank("dense").over(keys))

    # each judgement has two sides, positions without gaps, and one winner
    place = pl.col("position")
    wrong = pl.any_horizontal(
        pl.col("at").max().over(keys) != 2,
        place - place.rank("ordinal").over(*keys, "at") != place.min().clip(0, 1) - 1,
        pl.col("^winner$").drop_nulls().n_unique().over(keys) > 1,
    )
    problem = "a judgement needs two sides, each position once, from 1 or 0, and at most one winner"
    remedy = "keys= takes the columns that tell judgements apart"
    table.refuse(frame.select(wrong).to_series(), problem, remedy)

    # a row a judgement, with its lists and their systems
    frame, sides = frame.sort("position", maintain_order=True), (("a", 1), ("b", 2))
    return frame.group_by(keys, maintain_order=True).agg(
        pl.exclude("side", "position", "grade", "at").drop_nulls().first(),
        *(pl.col("grade").filter(at=at).alias(one) for one, at in sides),
        *(pl.col("side").filter(at=at).first().alias(f"system_{one}") for one, at in sides),
    )


def with_grades(
    log: Any,
    judgements: Any,
    *,
    unjudged: int | None = -1,
    columns: Mapping[str, str] | str | OwnNames | None = None,
) -> PolarsFrame:
    """Return a log of lists of documents with their grades, as readers take it.

    Lists of names of documents stand in the columns `docs_a` and `docs_b`, or in `a` and `b`;
    those of rated lists in `docs` or `list`. Their grades are looked up by query and document;
    null in place of a document is a place without a result. A row stays whose documents have no
    judgement; a warning counts these. Raises InputError if a table lacks a column, a document is
    judged twice, or no document of the log is judged.

    Parameters
    ----------
    log : path, data frame or sequence
        Judgements as `read_preferences` reads them, or rated lists as `read_ratings` does, with a
        query on every row.
    judgements : Judgements, path, data frame or sequence
        As in `read_judgements`, which reads them with options; names of grades that it was given
        become the column `scale`.
    unjudged : int, optional
        The grade of other documents, by default -1, unknown; None leaves them out, so that the
        documents below move up.
    columns : mapping or str, optional
        The log's own columns by the usual name.

    See Also
    --------
    read_preferences : Read judgements with their grades.
    read_ratings : Read rated lists with their grades.
    read_judgements : Judgements of all forms.

    Examples
    --------
    >>> log = [{"query": "q", "a": ["d1", "d2"], "b": ["d2", "d1"], "winner": "a"}]
    >>> judged = [("q", "d1", 2), ("q", "d2", 0)]
    >>> judged = [dict(zip(("query", "doc", "grade"), row)) for row in judged]
    >>> dl.read_preferences(dl.with_grades(log, judged)).preferred.tolist()
    [[2, 0]]
    """
    table, judged = table_of(log), read_judgements(judgements)
    if judged.n_grades is None:
        raise InputError(
            f"{judged.name}: a log needs levels of grades, 0, 1, 2, ...; round them, or read the "
            "judgements with scale= (--scale 0,.5,1), the grades that there are, worst first"
        )
    query, lists = lists_of_documents(table, columns)
    frame = table.frame.drop(lists.values())

    # null in place of a document is a place without a result, and so is a list without any
    grades = judged.frame.select("query", "document", text(judged.frame["grade"]))
    unknown = pl.lit(None if unjudged is None else str(unjudged), pl.String)
    no_result, empty = pl.col("document").is_null(), pl.lit(["-2"], dtype=pl.List(pl.String))
    graded = pl.when(no_result).then(pl.lit("-2")).otherwise(pl.coalesce("grade", unknown))

    # a row a document, and back to a row a list
    queries = pl.DataFrame({"query": text(table.frame[query])}).with_row_index(ROW)
    parts = []
    for role, name in lists.items():
        docs = lists_of_names(table.frame[name])
        documents = queries.with_columns(document=docs).explode("document")
        parts.append(documents.join(grades, ["query", "document"], "left", maintain_order="left"))

        # the grades of each list, and its documents beside them
        made = parts[-1].group_by(ROW).agg(grades=graded.drop_nulls())
        made = queries.join(made, ROW, "left", maintain_order="left")
        filled = pl.when(pl.col("grades").list.len() > 0).then("grades").otherwise(empty)
        lists_of_grades = made.select(filled.alias(GRADES_OF[role])).to_series()
        frame = frame.with_columns(lists_of_grades, docs.alias(role))
    _warn_of_unjudged(table, judged.name, pl.concat(parts).drop_nulls("document"))

    # the scale of the judgements
    if judged.grade_names is not None:
        frame = frame.with_columns(scale=pl.lit([*judged.grade_names]))
    return frame


def lists_of_documents(table: Table, columns: Any) -> tuple[str, dict[str, str]]:
    """Return the column of queries, and that of the documents of each list."""
    # of two names for one role, the role's own counts
    own = names_given(columns, table.frame.columns, LISTED)
    named = {role_called(word, LISTED): own[word] for word in sorted(own, key=LISTED.__contains__)}
    mine = {role: name for role, name in named.items() if role in LISTED}
    found = {role: its[0] for role, its in find(table.frame.columns, LISTED, mine).items()}
    *both, alone = GRADES_OF
    roles = both if {*both} <= found.keys() else [alone]
    if roles[-1] not in found:
        raise InputError(
            f"{table.name} has no columns docs_a and docs_b, nor docs, with the documents of "
            "lists; name them by columns={'docs_a': '...', 'docs_b': '...'}"
        )
    return found["query"], {role: found[role] for role in roles}


def _warn_of_unjudged(table: Table, name: str, documents: pl.DataFrame) -> None:
    """Warn of documents without a judgement; raise InputError where all lack one."""
    lacking = documents["grade"].null_count()
    if lacking == documents.height:
        raise InputError(
            f"{table.name}: none of its {lacking:,} documents is judged in {name}; do the names of "
            "queries and documents agree?"
        )
    if lacking:
        rows = documents.group_by(ROW).agg(pl.col("grade").is_null().all())["grade"].sum()
        warnings.warn(
            f"no judgement of {lacking:,} of {documents.height:,} documents; rows without "
            f"any: {rows:,}; io.with_grades(unjudged=) says what these count as",
            stacklevel=3,
        )
