"""Judgements and runs of any form as tables with columns by role, whose rows know their places."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from dcglearn.evaluation.cutoffs import Cutoffs
from dcglearn.evaluation.tool_files import (
    opensearch_frame,
    quepid_table,
    rankings_of_lines,
    table_of_rows,
)
from dcglearn.evaluation.trec import (
    GRADE_NAMES,
    first_repeated,
    is_trec,
    judged_lines,
    ranked_lines,
    without_ranks,
)
from dcglearn.foundation.inputs import is_path, refuse_constant
from dcglearn.foundation.sources import content, kind_of
from dcglearn.foundation.validation import (
    InputError,
    InputTypeError,
    PolarsFrame,
    errors_in,
    is_frame,
    is_records,
)
from dcglearn.reading.columns import find
from dcglearn.reading.contract import JUDGED, KEYS, RUN, Contract, plain
from dcglearn.reading.scale import BAD, COMMAS, Scale
from dcglearn.reading.tables import Refusals, Table, files_of, table_of, table_of_bytes
from dcglearn.reading.texts import MISSING, text

LIST = r"^(\[(\]|[\[\{\"0-9-])|\{[\}\"]).*"
"""Beginning of a list or an object of JSON, which is no name."""


@dataclass(frozen=True)
class Placed:
    """A table with columns by role, called `name`; `place` says where a row stands, for messages.

    `has_labels` tells that its grades may be ESCI's labels in OpenSearch.
    """

    name: str
    frame: PolarsFrame
    place: Callable[[int], str]
    has_labels: bool = False

    @classmethod
    def by_keys(cls, name: str, frame: PolarsFrame) -> Self:
        """Return a table whose rows are told by their query and document."""

        def place(row: int) -> str:
            query, document = (frame[key][row] for key in KEYS)
            return f"{name}, query {query!r}, document {document!r}"

        return cls(name, frame, place)


def joined(name: str, tables: Sequence[Placed]) -> Placed:
    """Return the judgements in several tables as one, called `name`."""
    starts = np.cumsum([0, *(len(table.frame) for table in tables)])

    def place(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return tables[at].place(row - int(starts[at]))

    frames = [table.frame.select(*JUDGED) for table in tables]
    frame = pl.concat(frames, how="vertical_relaxed")
    return Placed(name, frame, place, all(table.has_labels for table in tables))


def placed_tables(
    source: Any, name: str, contract: Contract, scale: Scale | None = None, cutoffs: Cutoffs = None
) -> list[Placed]:
    """Return the table of each file that a source names, or of a dictionary, frame or records."""
    # files
    if is_path(source):
        expected = "one judgement a line" if contract is JUDGED else "one document of a run a line"
        files = [content(path, expected) for path in files_of(source)]
        return [_of_file(*file, contract, scale, cutoffs) for file in files]

    # nested dictionaries
    number = "grade" if contract is JUDGED else "score"
    if isinstance(source, Mapping):
        frame = nested_table(source, number)
        return [_by_columns(Placed.by_keys(name, frame), contract, scale)]

    # tables in memory
    if not is_frame(source) and not is_records(source):
        raise InputTypeError(
            f"{name}: found {source!r}; give a path, a data frame, or a dictionary "
            f"{{query: {{document: {number}}}}}"
        )
    with errors_in(name):
        table = _placed(table_of(source))
    return [_by_columns(replace(table, name=name), contract, scale)]


def _placed(table: Table) -> Placed:
    return Placed(table.name, table.frame, table.place)


def _of_file(
    name: str, data: bytes, contract: Contract, scale: Scale | None, cutoffs: Cutoffs
) -> Placed:
    """Return the table in a file, of TREC, of another tool, of nested JSON, or with columns."""
    kind, judged = kind_of(name, data), contract is JUDGED
    if kind != "parquet":
        _refuse_mark(name, data)
    if is_trec(name) or (kind == "text" and _begins_as_trec(data, judged=judged)):
        return _of_trec(name, data, scale, cutoffs) if judged else _run_of_trec(name, data)

    # files of other tools, and nested JSON
    frame = opensearch_frame(name, data) if judged else rankings_of_lines(name, data)
    has_labels = judged and frame is not None
    if frame is None and kind == "json":
        frame = nested_json(name, data, "grade" if judged else "score")
    if frame is not None:
        table = replace(Placed.by_keys(name, frame), has_labels=has_labels)
        return _by_columns(table, contract, scale)

    # columns; those of MS MARCO have no names
    if not judged and kind == "text" and _begins_as_ranks(data):
        data = b"query\tdocument\trank\n" + data
    quepid = quepid_table(name, data) if judged and kind == "text" else None
    return _by_columns(_placed(quepid or table_of_bytes(name, data)), contract, scale)


def _run_of_trec(name: str, data: bytes) -> Placed:
    return Placed(name, ranked_lines(name, data), str)


def _of_trec(name: str, data: bytes, scale: Scale | None, cutoffs: Cutoffs) -> Placed:
    """Return judgements of TREC, whose grades may be names or fractions."""
    is_named = scale is not None and scale.names is not None
    number: Any = "name" if is_named else "grade"
    table = Placed(name, *judged_lines(name, data, number))
    return _by_columns(table, JUDGED, scale) if is_named else table


def _begins_as_trec(data: bytes, *, judged: bool) -> bool:
    """Return whether the first line of text is TREC's, as in a file of MS MARCO, called .tsv."""
    first = data[: data.find(b"\n") + 1 or None]
    cells = first.decode("latin-1").split()
    n_columns, number = (4, 3) if judged else (6, 4)
    is_spaced = len(cells) == n_columns and b"," not in first
    return is_spaced and re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", cells[number]) is not None


def _begins_as_ranks(data: bytes) -> bool:
    """Return whether the first line of text is MS MARCO's: a query, a document and a rank."""
    first = data[: data.find(b"\n") + 1 or None].strip().split(b"\t")
    return len(first) == 3 and first[2].isdigit()


def _refuse_mark(name: str, data: bytes) -> None:
    """Raise InputError for a line that begins with a byte order mark, which is part of no name."""
    at = data.find(b"\n" + codecs.BOM_UTF8) + 1
    if at or data.startswith(codecs.BOM_UTF8):
        number = data.count(b"\n", 0, at) + 1
        raise InputError(
            f"{name}, line {number}: begins with a byte order mark, as "
            "where files were joined; delete it"
        )


def _by_columns(table: Placed, contract: Contract, scale: Scale | None) -> Placed:
    """Return the columns of a table by role: names as text, numbers, and grades on a scale."""
    # the columns; in files of BEIR a grade is a score, and runs have scores or ranks
    names = table.frame.columns
    if contract is JUDGED and any(plain(name) == "corpusid" for name in names):
        grade = JUDGED["grade"]
        contract = {**JUDGED, "grade": replace(grade, names=f"{grade.names} score")}
    with errors_in(table.name):
        found = find(names, contract)
        if contract is RUN and "rank" not in found:
            find(names, {**RUN, "score": replace(RUN["score"], required=True)})

    # their cells
    refusals = Refusals(table)
    columns: dict[str, Any] = {}
    for role, (column,) in found.items():
        cells = table.frame[column]
        if cells.dtype.is_nested() or cells.dtype in (pl.Boolean, pl.Binary):
            problem = f"{role} is of the type {cells.dtype}"
            refusals.add(np.ones(len(cells)), problem, "use text or a number")
        elif contract[role].kind == "label" or (role == "rank" and "score" in found):
            columns[role] = _names(role, cells, refusals)
        elif role == "grade" and scale is not None and scale.names is not None:
            columns[role] = _codes(text(cells), scale, refusals)
        else:
            columns[role] = _numbers(role, cells, refusals)
    refusals.check()
    return replace(table, frame=pl.DataFrame(columns))


def _names(role: str, cells: pl.Series, refusals: Refusals) -> pl.Series:
    """Return names as text, which every row has."""
    texts = text(cells)
    refusals.add(texts == "", f"{role} is missing")
    if texts.str.contains(r"^[\[{]|[\n\r]").any():
        has_lines = texts.str.contains(r"[\n\r]")
        refusals.add(has_lines, f"{role} holds a line end:", "is a quotation mark missing?", texts)
        refusals.add(texts.str.contains(LIST), f"{role} is", "use text or an integer", texts)
    return texts


def _numbers(role: str, cells: pl.Series, refusals: Refusals) -> pl.Series:
    """Return finite or infinite numbers, which every row has."""
    numbers, texts = cells, cells
    if not cells.dtype.is_numeric():
        texts = text(cells)
        numbers = texts.set(texts.str.to_lowercase().is_in(MISSING), None)
    is_missing = numbers.is_null() | (numbers.is_nan() if numbers.dtype.is_float() else False)
    numbers = numbers.cast(pl.Float64, strict=False).fill_nan(None)
    refusals.add(is_missing, f"{role} is missing")
    names = f"; {GRADE_NAMES}" if role == "grade" else ""
    remedy = f"write a number such as 0.5{names}; {COMMAS}"
    refusals.add(numbers.is_null() & ~is_missing, f"{role} is", remedy, texts)
    return numbers


def _codes(cells: pl.Series, scale: Scale, refusals: Refusals) -> pl.Series:
    """Return the grades of names on a scale, which every row has."""
    refusals.add(cells == "", "grade is missing")
    codes = scale.codes(cells)
    wrong = codes == BAD
    if wrong.any():
        refusals.add(wrong, f"grade holds {scale.problem(cells[int(wrong.argmax())])}")
    return pl.Series(codes).cast(pl.Float64)


def by_rank(table: PolarsFrame, name: str) -> PolarsFrame:
    """Return runs with scores in place of ranks; raise InputError if documents share a rank."""
    if "rank" not in table.columns:
        return table
    if "score" in table.columns:
        return without_ranks(table, name, "exchange the names of the two columns")
    row = first_repeated(table, [column for column in table.columns if column != "document"])
    if row is not None:
        raise InputError(
            f"{name}: rank {row['rank']:g} of the query {row['query']!r} occurs twice; give scores "
            "too"
        )
    return table.with_columns(score=-pl.col("rank")).drop("rank")


class _Object(list[tuple[str, Any]]):
    """The pairs of a JSON object, in order; a key may occur several times."""


def nested_json(name: str, data: bytes, number: str) -> PolarsFrame | None:
    """Return the table in a JSON file of nested objects, or None if the file is lines of JSON."""
    first, _, rest = data.strip().partition(b"\n")
    if rest:
        # a first line that is no JSON is part of an object, or damaged
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(first)
            return None

    # read the whole object
    try:
        value = json.loads(data, object_pairs_hook=_Object, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        place = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{name}{place}: not valid JSON ({error})") from error
    parts = [part for _, part in value] if isinstance(value, _Object) else []
    if number == "score":
        parts = [_scored(part) for part in parts]
    if not any(isinstance(part, _Object) for part in parts):
        return None
    with errors_in(name):
        return nested_table(value, number)


def nested_table(values: Any, number: str) -> PolarsFrame:
    """Return the table of ``{query: {document: number}}`` or of runs, or raise InputError.

    A query of a run may hold its documents alone, the best first.
    """
    # the queries of each run; runs hold objects of objects, or of lists
    shape = f"{{query: {{document: {number}}}}}"
    outer = _items(values, shape)
    inside = [part for _, part in outer if isinstance(part, (Mapping, _Object))]
    in_runs = number == "score" and any(
        isinstance(value, (Mapping, list, tuple))
        for part in inside
        for _, value in _items(part, shape)
    )
    runs: list[Any] = [((), outer)]
    if in_runs:
        runs = [((run,), _items(part, shape)) for run, part in outer]

    # a row per document
    rows = [
        (*run, query, document, value)
        for run, queries in runs
        for query, documents in queries
        for document, value in _items(
            _scored(documents) if number == "score" else documents, shape, query
        )
    ]

    return table_of_rows(rows, *["run"] * in_runs, *KEYS, number)


def _scored(documents: Any) -> Any:
    """Return a list of documents, the best first, with scores; other values as they are."""
    is_list = isinstance(documents, (list, tuple)) and not isinstance(documents, _Object)
    if not is_list or not all(isinstance(document, str) for document in documents):
        return documents
    return _Object((document, -rank) for rank, document in enumerate(documents, start=1))


def _items(value: Any, shape: str, query: Any = None) -> Collection[tuple[Any, Any]]:
    if isinstance(value, _Object):
        return value
    if isinstance(value, Mapping):
        return value.items()
    where = "" if query is None else f" for the query {query!r}"
    raise InputError(f"expected {shape}; found {value!r}{where}")
