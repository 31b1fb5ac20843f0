"""Tables of other shapes as the one that is read: a row a document, lists or grades elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dcglearn.foundation.validation import InputError, PolarsFrame
from dcglearn.reading.columns import find, own_names
from dcglearn.reading.contract import DOCUMENT, JUDGED, LISTED
from dcglearn.reading.tables import Refusals, Table, table_of
from dcglearn.reading.texts import text
from dcglearn.reading.values import lists_of_names, numbers

ROW = "\0row"
"""Name of a column that no table has."""

SIDES = {"a": "a", "left": "a", "b": "b", "right": "b"}
"""The list that a side stands for."""


def from_long(
    rows: Any,
    keys: Sequence[str] | str = ("query",),
    columns: Mapping[str, str] | str | None = None,
) -> PolarsFrame:
    """Return judgements of a table with a row a document, as `read_preferences` takes them.

    Rows of the same `keys` are a judgement: a query, or a query, a rater and a number. The columns
    are `side` (a or b, left or right, or the names of two systems, of which the first of each
    judgement is a), `position` from 1 or 0, `grade`, and `winner`. Other columns keep the first
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
    >>> dl.io.from_long(long).select("a", "b", "winner").rows()
    [(['2', '0'], ['0', '1'], 'a')]
    """
    table = table_of(rows)
    keys = [keys] if isinstance(keys, str) else list(keys)
    found = find(table.frame.columns, DOCUMENT, own_names(columns))
    lacking = [key for key in keys if key not in table.frame.columns]
    if lacking:
        raise InputError(
            f"{table.name} has no column {lacking[0]!r}; keys= takes those that it has"
        )

    # the columns of a document, and which list it is in
    refusals = Refusals(table)
    frame = table.frame.rename({names[0]: role for role, names in found.items()})
    frame = frame.with_columns(text(frame["side"]), text(frame["grade"]))
    frame = frame.with_columns(position=pl.Series(numbers("position", frame["position"], refusals)))

    # sides that are neither left nor right are systems, the first one being a
    side = frame["side"].str.to_lowercase().replace_strict(SIDES, default=None)
    is_first = pl.col("side") == pl.col("side").first().over(keys)
    by_system = pl.when(is_first).then(pl.lit("a")).otherwise(pl.lit("b"))
    frame = frame.with_columns(at=pl.coalesce(side, by_system))
    _refuse_wrong_judgements(frame, keys, refusals)

    # a row a judgement
    others = pl.exclude("side", "position", "grade", "at").drop_nulls().first()
    judged = frame.group_by(keys, maintain_order=True).agg(others)

    # its lists, and their systems, beside it
    lists = frame.sort("position").group_by(*keys, "at").agg("grade", pl.col("side").first())
    for at in "ab":
        its = lists.filter(at=at).drop("at").rename({"grade": at, "side": f"system_{at}"})
        judged = judged.join(its, on=keys, nulls_equal=True, maintain_order="left")
    return judged if side.has_nulls() else judged.drop("system_a", "system_b")


def _refuse_wrong_judgements(frame: pl.DataFrame, keys: Sequence[str], refusals: Refusals) -> None:
    """Raise InputError unless judgements have two sides, positions without gaps, and one winner."""
    first = pl.col("position").min().clip(0, 1)
    expected = pl.col("position").rank("ordinal").over(*keys, "at") - 1 + first
    n_winners = pl.lit(1)
    if "winner" in frame.columns:
        n_winners = pl.col("winner").drop_nulls().n_unique().over(keys)
    sides, gap, winners = frame.select(
        sides=pl.col("side").n_unique().over(keys),
        gap=pl.col("position") - expected,
        winners=n_winners,
    )

    # say what is wrong
    for count, most, what in ((sides, 2, "sides"), (winners, 1, "winners")):
        remedy = f"expected {most}; keys= takes the columns that tell judgements apart"
        refusals.add(count != most, f"number of {what} of the judgement:", remedy, count)
    remedy = "give each position once, from 1 or 0"
    refusals.add(
        gap != 0, "a position occurs twice, or is missing above", remedy, frame["position"]
    )
    refusals.check()


def with_grades(
    log: Any,
    judgements: Any,
    *,
    unjudged: int | None = -1,
    columns: Mapping[str, str] | str | None = None,
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
        A row for each query and document, with its grade: a table, or what `read_judgements`
        returns of files of other forms, such as TREC's.
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
    >>> dl.read_preferences(dl.io.with_grades(log, judged)).preferred.tolist()
    [[2, 0]]
    """
    table = table_of(log)
    grades, refusals = _grades(judgements), Refusals(table)
    query, lists = _lists_of_documents(table, own_names(columns))
    frame = table.frame.with_row_index(ROW)
    queries = frame.select(ROW, query=text(frame[query]))

    # each list's documents with their grades; null is a place without a result
    unknown = pl.lit(None if unjudged is None else str(unjudged), pl.String)
    no_result = pl.col("document").is_null()
    graded = pl.when(no_result).then(pl.lit("-2")).otherwise(pl.coalesce("grade", unknown))
    documents = []
    for role, name in lists.items():
        docs = lists_of_names(role, frame[name], refusals)
        its = queries.with_columns(document=docs).explode("document")
        its = its.join(grades, on=["query", "document"], how="left", maintain_order="left")
        documents.append(its.filter(~no_result))

        # back to a list a row; one without documents is without results
        made = its.select(ROW, graded.alias(role)).drop_nulls()
        made = made.group_by(ROW, maintain_order=True).agg(role)
        frame = frame.drop(name).join(made, on=ROW, how="left", maintain_order="left")
        empty = pl.lit(["-2"], dtype=pl.List(pl.String))
        docs = docs.alias("docs" if role == "list" else f"docs_{role}")
        frame = frame.with_columns(docs, pl.col(role).fill_null(empty))
    refusals.check()
    _warn_of_unjudged(table, pl.concat(documents))
    return frame.drop(ROW)


def _lists_of_documents(table: Table, own: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the column of queries, and that of the documents of each list."""
    docs = {role: own[f"docs_{role}"] for role in ("a", "b") if f"docs_{role}" in own}
    own = {role: name for role, name in {**own, **docs}.items() if role in LISTED}
    found = {role: its[0] for role, its in find(table.frame.columns, LISTED, own).items()}
    roles = ("a", "b") if {"a", "b"} <= found.keys() else ("list",)
    if roles[-1] not in found:
        raise InputError(
            f"{table.name} has no columns docs_a and docs_b, nor docs, with the documents of "
            "lists; name them by columns={'docs_a': '...', 'docs_b': '...'}"
        )
    return found["query"], {role: found[role] for role in roles}


def _grades(judgements: Any) -> pl.DataFrame:
    """Return the grade of each query and document as text; InputError for one judged twice.

    Grades below 0 count as 0, as where runs are evaluated: in TREC's files they mean junk.
    """
    table = table_of(getattr(judgements, "frame", judgements))
    found = find(table.frame.columns, JUDGED)
    grades = pl.DataFrame({role: text(table.frame[names[0]]) for role, names in found.items()})
    below = pl.col("grade").cast(float, strict=False) < 0
    grade = pl.when(below).then(pl.lit("0")).otherwise("grade").alias("grade")
    grades = grades.with_columns(grade).unique(maintain_order=True)
    twice = grades.select(pl.struct("query", "document").is_duplicated()).to_series()
    if twice.any():
        query, document, _ = grades.filter(twice).row(0)
        raise InputError(
            f"{table.name}: {document!r} has two grades for the query {query!r}; keep one, or see "
            "duplicates= of read_judgements"
        )
    return grades


def _warn_of_unjudged(table: Table, documents: pl.DataFrame) -> None:
    """Warn of documents without a judgement; raise InputError where all lack one."""
    lacking = documents["grade"].null_count()
    if lacking == documents.height:
        raise InputError(
            f"{table.name}: none of its {lacking:,} documents is judged; do the names of queries "
            "and documents agree?",
            see="names",
        )
    if lacking:
        rows = documents.group_by(ROW).agg(pl.col("grade").is_null().all())["grade"].sum()
        warnings.warn(
            f"{lacking:,} of {documents.height:,} documents have no judgement, and {rows:,} rows "
            "only such; unjudged= says what these count as",
            stacklevel=3,
        )
