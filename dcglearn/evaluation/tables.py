"""Read runs and judgements from TREC files, JSON, Parquet, CSV, data frames and nested dictionaries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dcglearn.evaluation.judgement_files import table_of_tool
from dcglearn.evaluation.table_files import line_table, nested_json, nested_table
from dcglearn.evaluation.trec import Judgements, Run, trec_judgements, trec_runs, without_duplicates
from dcglearn.foundation.plain_text import escaped, one_line
from dcglearn.foundation.sources import content, kind_of, parquet_rows, suffix_of
from dcglearn.foundation.validation import MAX_GRADES, InputError, listed
from dcglearn.readers.line_formats import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from dcglearn.evaluation.trec import Duplicates

RunsLike: TypeAlias = Any
"""A `Run`, a path, a data frame, a dictionary ``{query: {document: score}}``, or a list of these."""

JudgementsLike: TypeAlias = Any
"""`Judgements`, a path, a data frame, or a dictionary ``{query: {document: grade}}``."""

ALIASES = {
    "query": ("query", "query_id", "qid", "q_id", "topic"),
    "document": ("document", "doc_id", "docid", "docno", "doc"),
    "grade": ("grade", "relevance", "rel", "label", "rating"),
    "score": ("score", "sim", "pred", "prediction"),
    "run": ("run", "run_id", "tag", "system"),
}
"""Names that a table's columns may have, in lower case."""

LEAST_GRADE = -(2**31)
"""Smallest grade of a table; grades below 0 count as 0."""

TEXTS = ("String", "Categorical", "Enum", "Null")
"""Types of a table's column that can hold identifiers, beside integers."""


def read_judgements(
    judgements: JudgementsLike, duplicates: Duplicates = "error", n_grades: int | None = None
) -> Judgements:
    """Return judgements, reading them if a path is given.

    Parameters
    ----------
    judgements : Judgements, path, data frame or dict
        Tables have columns for query, document and grade, under any of the usual names (``query_id, doc_id,
        relevance``; ``qid, docno, label``; ...); data frames may be polars', pandas', or any with ``columns``;
        dictionaries are ``{query: {document: grade}}``, as in pytrec_eval. Paths ending in .jsonl, .json, .csv, .tsv or
        .parquet are read as tables, all others as TREC files. Quepid's and OpenSearch's exports and
        requests of ``_rank_eval`` are recognised.
    duplicates : {"error", "first", "last"}
        What to do with a document judged twice for one query. Take "last" where later lines correct earlier ones.
    n_grades : int, optional
        Number of grades of their scale; by default the largest grade plus 1. Give it where the judgements may lack the
        top grade.

    Raises
    ------
    InputError
        If a column is missing, a value has the wrong type, a grade is not on the scale, or a file cannot be read.

    See Also
    --------
    read_runs : Read what systems ranked.
    evaluate : Takes paths as well.

    Examples
    --------
    >>> import dcglearn as dl
    >>> dl.read_judgements({"q1": {"a": 2, "b": 0}}, n_grades=5).n_grades
    5
    """
    read = _read_judgements(judgements, duplicates)
    return read if n_grades is None else replace(read, n_grades=n_grades)


def _read_judgements(judgements: JudgementsLike, duplicates: Duplicates) -> Judgements:
    if isinstance(judgements, Judgements):
        return judgements
    if isinstance(judgements, dict):
        return _judgements(nested_table(judgements, "grade"), "judgements", duplicates)
    if _is_path(judgements):
        if not _is_table(judgements):
            return trec_judgements(judgements, duplicates=duplicates)
        name, data = content(judgements)
        of_tool = table_of_tool(name, data)
        frame = _file_table(name, data, "grade") if of_tool is None else of_tool
        return _judgements(frame, name, duplicates)
    return _judgements(_polars(judgements, "judgements"), "judgements", duplicates)


def read_runs(runs: RunsLike, duplicates: Duplicates = "error") -> list[Run]:
    """Return runs, reading them if paths are given.

    Parameters
    ----------
    runs : Run, path, data frame, dict, or a list of these
        As for `read_judgements`, with scores instead of grades; a table of several runs also has a column of their
        names; dictionaries are ``{query: {document: score}}`` or ``{run: {query: {document: score}}}``.
    duplicates : {"error", "first", "last"}
        What to do with a document ranked twice for one query.

    Raises
    ------
    InputError
        If there is no run, two have the same name, a column is missing, or a file cannot be read.

    See Also
    --------
    read_judgements : Read the grades.
    evaluate : Takes paths as well.

    Examples
    --------
    >>> import dcglearn as dl
    >>> [run.name for run in dl.read_runs({"old": {"q": {"a": 1.0}}, "new": {"q": {"b": 1.0}}})]
    ['old', 'new']
    """
    sources: Sequence[Any] = runs if isinstance(runs, (list, tuple)) else [runs]
    by_source = [(source, _runs(source, f"run {i + 1}", duplicates)) for i, source in enumerate(sources)]
    names = [run.name for _, read in by_source for run in read]
    if not names:
        raise InputError("there is no run to evaluate")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated and not all(map(_is_path, sources)):
        raise InputError(f"several runs are called {repeated[0]}: give each its own name")
    return [
        Run(run.frame, f"{Path(source).name} {run.name}") if run.name in repeated else run
        for source, read in by_source
        for run in read
    ]


def _runs(source: Any, name: str, duplicates: Duplicates) -> list[Run]:
    if isinstance(source, Run):
        return [source]
    if isinstance(source, dict):
        return _table_runs(nested_table(source, "score"), name, duplicates)
    if _is_path(source):
        if not _is_table(source):
            return trec_runs(source, duplicates=duplicates)
        path, data = content(source, "one document of a run a line")
        return _table_runs(_file_table(path, data, "score"), Path(path).name, duplicates)
    return _table_runs(_polars(source, name), name, duplicates)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _is_table(path: Any) -> bool:
    return suffix_of(path) in (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")


def _file_table(name: str, data: bytes, number: str) -> pl.DataFrame:
    """Return the table in the bytes of a file."""
    kind = kind_of(name, data)
    if kind == "parquet":
        return parquet_rows(name, data)
    nested = nested_json(name, data, number) if kind == "json" else None
    return line_table(name, data, kind, ALIASES, number) if nested is None else nested


def _polars(table: Any, name: str) -> pl.DataFrame:
    import polars as pl

    if isinstance(table, pl.DataFrame):
        return table
    if not (hasattr(table, "columns") and hasattr(table, "__getitem__")):
        raise InputError(f"{name}: {type(table).__name__} is neither a path, a data frame nor a dictionary")
    try:
        return pl.DataFrame({str(column): list(table[column]) for column in table.columns}, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: cannot be read as a data frame ({error})") from error


def _judgements(frame: pl.DataFrame, name: str, duplicates: Duplicates) -> Judgements:
    import polars as pl

    columns = _columns(frame, name, "grade")
    grade = columns["grade"]
    wrong = (grade != grade.floor()) | (grade >= MAX_GRADES) | (grade < LEAST_GRADE)
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise InputError(f"{name} row {row + 1}: grade {grade[row]:g} is not a whole number up to {MAX_GRADES - 1}")
    whole = columns.with_columns(grade.cast(pl.Int64))
    return Judgements(without_duplicates(name, whole, ["query", "document"], duplicates), name)


def _table_runs(frame: pl.DataFrame, name: str, duplicates: Duplicates) -> list[Run]:
    import polars as pl

    column = _alias(frame, "run")
    if column is not None:
        _refuse_types(frame, name, {"run": column})
        if frame[column].null_count():
            row = int(frame[column].is_null().arg_true()[0])
            raise InputError(f"{name} row {row + 1}: the {column} is missing; name the run of every row")
        for run in frame[column].cast(pl.String).unique(maintain_order=True):
            if one_line(run) != escaped(run):
                raise InputError(f"{name}: the run {shown(run)} has a tab or a line end in its name; rename it")
    parts = (
        {name: frame} if column is None else {str(k[0]): v for k, v in frame.partition_by(column, as_dict=True).items()}
    )
    return [
        Run(without_duplicates(name, _columns(part, name, "score"), ["query", "document"], duplicates), key)
        for key, part in parts.items()
    ]


def _alias(frame: pl.DataFrame, role: str) -> str | None:
    lower = {column.lower(): column for column in frame.columns}
    return next((lower[alias] for alias in ALIASES[role] if alias in lower), None)


def _columns(frame: pl.DataFrame, name: str, number: str) -> pl.DataFrame:
    """Return query and document as text and the number as a float; raise InputError if a cell is missing."""
    import polars as pl

    kinds = {"query": pl.String, "document": pl.String, number: pl.Float64}
    columns = {role: _alias(frame, role) for role in kinds}
    for role, column in columns.items():
        if column is None:
            raise InputError(
                f"{name} has no column for the {role}: its columns are {listed(frame.columns)}; "
                f"expected one of {', '.join(ALIASES[role])}",
                see="columns",
            )
    _refuse_types(frame, name, columns)
    table = frame.select(
        pl.col(str(columns[role])).cast(kind, strict=role != number).alias(role) for role, kind in kinds.items()
    )
    if not len(table):
        raise InputError(f"{name} is empty")
    whole = table.select(pl.all_horizontal(pl.all().is_not_null()) & pl.col(number).is_not_nan()).to_series()
    if not whole.all():
        row = int(np.flatnonzero(~whole.to_numpy())[0])
        cell = frame[str(columns[number])][row]
        raise InputError(f"{name} row {row + 1}: query, document or {number} is missing ({number} {cell!r})")
    return table


def _refuse_types(frame: pl.DataFrame, name: str, columns: Mapping[str, str | None]) -> None:
    """Raise InputError unless identifiers are text or integers, and numbers are numbers or text."""
    for role, column in columns.items():
        kind = frame.schema[str(column)]
        text = kind.is_integer() or kind.base_type().__name__ in TEXTS
        number = role in ("grade", "score") and kind.is_numeric()
        if not (text or number):
            wanted = "numbers" if role in ("grade", "score") else "text or integers"
            raise InputError(f"{name}: column {column} holds {kind}, expected {wanted} for the {role}")
