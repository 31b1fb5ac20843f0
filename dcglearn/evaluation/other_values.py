"""Values of a metric from elsewhere, by query."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from dcglearn.evaluation.run_values import Evaluation
from dcglearn.foundation.inputs import is_path, read_json_object
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import InputError, errors_in, listed
from dcglearn.metrics.other_names import usual_name
from dcglearn.reading.columns import find
from dcglearn.reading.contract import VALUE
from dcglearn.reading.scale import NUMBER
from dcglearn.reading.tables import Table, table_of, table_of_bytes
from dcglearn.reading.texts import text

NO_VALUE = ("", "-", "nan", "na", "n/a", "null", "none")
"""Texts that stand for no value, in lower case."""

MEANS = ("all", "mean", "average", "avg", "amean", "overall")
"""Names that stand for the mean of all queries, in lower case."""


def read_values(values: Any, evaluation: Evaluation) -> tuple[dict[str, float], list[str]]:
    """Return the values of the judged queries of a run under a metric, and notes.

    The evaluation is of this run and this metric. For `values` see `explain_values`.
    """
    (metric,), judged = evaluation.metrics, evaluation.queries
    table = _table(values, judged)
    with errors_in(table.name):
        cells = _of_measure(_cells(table.frame, metric), metric)

    # a number, or none, once for each query
    number = pl.col("value").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    is_wrong = number.is_null() & ~pl.col("value").str.to_lowercase().is_in(NO_VALUE)
    wrong = cells.filter(is_wrong | ~pl.col("query").is_first_distinct())
    for row, query, value in wrong.select("row", "query", "value").head(1).iter_rows():
        raise InputError(
            f"{table.place(row)}: {value!r} is not a number, or the query {query!r} occurs twice; "
            "keep one value of each query, of one run"
        )
    found = dict(cells.select("query", number.fill_nan(None)).drop_nulls().iter_rows())

    # queries that are not judged, or have no value
    others = sorted(query for query in found.keys() - {*judged} if query.lower() not in MEANS)
    lacking = [query for query in judged if query not in found]
    if len(lacking) == len(judged):
        raise InputError(
            f"{table.name}: no value of a judged query, such as {judged[0]}; found {listed(others)}"
        )
    notes = [f"left out, as they are not judged: {listed(others)}"] if others else []
    if lacking:
        notes.append(f"no value of {number_of(len(lacking), 'judged queries')}: {listed(lacking)}")
    return {query: found[query] for query in judged if query in found}, notes


def _table(values: Any, queries: Collection[str]) -> Table:
    """Return values as a table; trec_eval and others print no header, which is put above."""
    if is_path(values):
        name, data = content(values, "one value a line")
        if not data.startswith(b"{") or b"\n{" in data:
            return table_of_bytes(name, _header(data, queries) + data)
        values = read_json_object(values)

    # pytrec_eval has a dictionary of measures for each query; pandas has queries in the index
    if isinstance(values, Mapping):
        values = [
            {"query": query, **(value if isinstance(value, Mapping) else {"value": value})}
            for query, value in values.items()
        ]
    return table_of(values.reset_index() if hasattr(values, "reset_index") else values)


def _header(data: bytes, queries: Collection[str]) -> bytes:
    """Return the header of a text whose first line has a value, which therefore lacks one."""
    first = data.partition(b"\n")[0].decode(errors="replace").strip()
    mark = next((mark for mark in "\t;," if mark in first), "\t")
    *names, value = first.split(mark)
    if not NUMBER.fullmatch(value.replace(",", ".")) or not 0 < len(names) < 3:
        return b""

    # ir_measures prints the query first, but trec_eval the measure
    roles = ["query", "value"]
    if names[1:]:
        roles.insert(names[0].strip() in queries, "measure")
    return f"{mark.join(roles)}\n".encode()


def _cells(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the cells of each role as text, and the number of each row.

    The values stand in a column of an accepted name, or in one called like the metric, or beside
    the queries as the second of two columns.
    """
    frame = frame.rename(lambda name: name or "query")
    named = [name for name in frame.columns if _same(name, metric)]
    if frame.width == 2:
        named = frame.columns[1:]
    found = find(frame.columns, VALUE, {"value": named[0]} if named else None)
    cells = pl.DataFrame({role: text(frame[names[0]]) for role, names in found.items()})
    return cells.with_row_index("row")


def _of_measure(cells: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the rows of a metric, or of the only measure."""
    if "measure" not in cells.columns:
        return cells
    measures = cells["measure"].unique().sort()
    own = [word for word in measures if _same(word, metric)] or measures
    if len(own) > 1:
        raise InputError(f"values of {listed(measures)}, but not of {metric}; keep one measure")
    return cells.filter(pl.col("measure") == own[0])


def _same(word: str, metric: str) -> bool:
    return usual_name(word).lower() == usual_name(metric).lower()
