"""Read runs and judgements from TREC files, JSON, Parquet, CSV, data frames and nested dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dcglearn.evaluation.judgement_files import table_of_tool
from dcglearn.evaluation.nested_tables import nested_json, nested_table
from dcglearn.evaluation.trec import Duplicates, Judgements, Run, trec_judgements, trec_runs, without_duplicates
from dcglearn.foundation.plain_text import escaped, one_line
from dcglearn.foundation.sources import content, kind_of, suffix_of
from dcglearn.foundation.validation import MAX_GRADES, InputError, is_frame
from dcglearn.readers.frames import polars_frame
from dcglearn.readers.line_formats import FrameRows, errors_in, shown
from dcglearn.readers.read_table import frame_of, opener_of_bytes
from dcglearn.readers.roles import Role, by_role, first_names

if TYPE_CHECKING:
    import polars as pl

RunsLike: TypeAlias = Any
"""A `Run`, a path, a data frame, a dictionary ``{query: {document: score}}``, or a list of these."""

JudgementsLike: TypeAlias = Any
"""`Judgements`, a path, a data frame, or a dictionary ``{query: {document: grade}}``."""

KEYS = {
    "query": Role("name", ("query", "query_id", "qid", "q_id", "topic"), required=True),
    "document": Role("name", ("document", "doc_id", "docid", "docno", "doc"), required=True),
}
JUDGEMENT = {**KEYS, "grade": Role("score", ("grade", "relevance", "rel", "label", "rating"), required=True)}
RUN = {
    **KEYS,
    "score": Role("score", ("score", "sim", "pred", "prediction"), required=True),
    "run": Role("name", ("run", "run_id", "tag", "system")),
}
"""The columns of judgements and of runs; of several with one role, the first of these names counts."""

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
        .parquet are read as tables, all others as TREC files; exports of Quepid and OpenSearch are recognised.
    duplicates : {"error", "first", "last"}
        What to do with a document judged twice for one query. Take "last" where later lines correct earlier ones.
    n_grades : int, optional
        Number of grades of their scale; by default the largest grade plus 1. Give it if the top grade may not occur.

    Raises
    ------
    InputError
        If a column is missing, a value has the wrong type, a grade is not on the scale, or a file cannot be read.

    See Also
    --------
    read_runs : Read what systems ranked.

    Examples
    --------
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
        frame = _file_table(name, data, JUDGEMENT) if of_tool is None else of_tool
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

    Examples
    --------
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
        return _table_runs(_file_table(path, data, RUN), Path(path).name, duplicates)
    return _table_runs(_polars(source, name), name, duplicates)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _is_table(path: Any) -> bool:
    return suffix_of(path) in (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")


def _file_table(name: str, data: bytes, roles: Mapping[str, Role]) -> pl.DataFrame:
    """Return the table in the bytes of a file."""
    nested = nested_json(name, data, list(roles)[2]) if kind_of(name, data) == "json" else None
    if nested is not None:
        return nested
    with errors_in(name):
        open_with = opener_of_bytes(name, data)
        source = open_with(first_names(open_with({}).names, roles))
    return source.frame if isinstance(source, FrameRows) else frame_of(name, source)


def _polars(table: Any, name: str) -> pl.DataFrame:
    if not is_frame(table):
        raise InputError(f"{name}: {type(table).__name__} is neither a path, a data frame nor a dictionary")
    with errors_in(name):
        return polars_frame(table)


def _judgements(frame: pl.DataFrame, name: str, duplicates: Duplicates) -> Judgements:
    import polars as pl

    columns = _columns(frame, name, JUDGEMENT)
    grade = columns["grade"]
    wrong = (grade != grade.floor()) | (grade >= MAX_GRADES) | (grade < -(2**31))
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise InputError(f"{name} row {row + 1}: grade {grade[row]:g} is not a whole number up to {MAX_GRADES - 1}")
    whole = columns.with_columns(grade.cast(pl.Int64))
    return Judgements(without_duplicates(name, whole, ["query", "document"], duplicates), name)


def _table_runs(frame: pl.DataFrame, name: str, duplicates: Duplicates) -> list[Run]:
    columns = _columns(frame, name, RUN)
    parts = {name: columns}
    if "run" in columns.columns:
        for run in columns["run"].unique(maintain_order=True):
            if one_line(run) != escaped(run):
                raise InputError(f"{name}: the run {shown(run)} has a tab or a line end in its name; rename it")
        parts = {str(k[0]): v.drop("run") for k, v in columns.partition_by("run", as_dict=True).items()}
    keys = ["query", "document"]
    return [Run(without_duplicates(name, part, keys, duplicates), run) for run, part in parts.items()]


def _columns(frame: pl.DataFrame, name: str, roles: Mapping[str, Role]) -> pl.DataFrame:
    """Return the columns by role, names as text and numbers as floats; raise InputError if a cell is missing."""
    import polars as pl

    with errors_in(name):
        columns: dict[str, Any] = by_role(frame.columns, first_names(frame.columns, roles))
    for role, column in columns.items():
        dtype = frame.schema[column]
        is_score = roles[role].kind == "score"
        if not (dtype.is_integer() or dtype.base_type().__name__ in TEXTS or (is_score and dtype.is_numeric())):
            wanted = "numbers" if is_score else "text or integers"
            raise InputError(f"{name}: column {column} holds {dtype}, expected {wanted} for the {role}")
    kinds = {role: pl.Float64 if roles[role].kind == "score" else pl.String for role in columns}
    table = frame.select(pl.col(columns[role]).cast(kind, strict=False).alias(role) for role, kind in kinds.items())
    if not len(table):
        raise InputError(f"{name} is empty")
    for role, kind in kinds.items():
        lacking = table[role].is_null() if kind == pl.String else table[role].is_null() | table[role].is_nan()
        if lacking.any():
            row = int(lacking.arg_true()[0])
            cell = frame[columns[role]][row]
            raise InputError(f"{name} row {row + 1}: the {role} is missing ({columns[role]} {cell!r})")
    return table
