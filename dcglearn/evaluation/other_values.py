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
        cells = _of_metric(table.frame, metric)

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
    """Return values as a table; trec_eval and ir_measures print no header."""
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
    """Return the header of three columns whose first line has a value, and which thus lack one."""
    first = data.partition(b"\n")[0].decode(errors="replace")
    cells = [cell.strip() for cell in first.split("\t")]
    if len(cells) != 3 or not NUMBER.fullmatch(cells[2]):
        return b""

    # ir_measures prints the query first, but trec_eval the measure
    return b"query\tmeasure\tvalue\n" if cells[0] in queries else b"measure\tquery\tvalue\n"


def _of_metric(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the row, query and value, as text, of each value of a metric, or of the only measure.

    Measures are named in a column beside that of their values, or have a column each.
    """
    frame = frame.rename(lambda name: name or "index")
    frame = pl.DataFrame([text(column) for column in frame]).with_row_index("row")
    roles = find(frame.columns[1:], VALUE)
    cells = frame.select("row", **{role: names[0] for role, names in roles.items()})
    if "value" not in cells:
        renamed = frame.rename({roles["query"][0]: "query"})
        cells = renamed.unpivot(index=["row", "query"], variable_name="measure")
    if "measure" not in cells:
        return cells

    # the metric has many names
    measures = cells["measure"].unique().sort()
    usual = usual_name(metric).lower()
    own = [word for word in measures if usual_name(word).lower() == usual] or measures
    if len(own) > 1:
        raise InputError(f"values of {listed(measures)}, but not of {metric}; keep one measure")
    return cells.filter(pl.col("measure") == own[0])
