"""Values of a metric from elsewhere, by query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from dcglearn.evaluation.run_values import Evaluation
from dcglearn.foundation.sources import content, is_path, read_json_object
from dcglearn.foundation.validation import InputError, errors_in, listed
from dcglearn.metrics.other_names import usual_name
from dcglearn.reading.columns import find
from dcglearn.reading.contract import VALUE
from dcglearn.reading.tables import Table, table_of, table_of_bytes
from dcglearn.reading.texts import text

OF_TREC_EVAL = re.compile(rb"\S+ *\t\S+\t[0-9.]+\s")
"""The first line of ``trec_eval -q``, which prints no header."""


def read_values(values: Any, evaluation: Evaluation) -> tuple[dict[str, float], list[str]]:
    """Return the values of the judged queries of a run under a metric, and notes.

    The evaluation is of this run and this metric. For `values` see `explain_values`.
    """
    (metric,), judged = evaluation.metrics, evaluation.queries
    table = _table(values)
    with errors_in(table.name):
        cells = _of_metric(table.frame, metric)

    # a number for each query, once; an empty cell is none
    cells = cells.filter(pl.col("value") != "")
    number = pl.col("value").cast(pl.Float64, strict=False)
    wrong = cells.filter(number.is_null() | ~pl.col("query").is_first_distinct())
    for query, value in wrong.select("query", "value").head(1).iter_rows():
        raise InputError(
            f"{table.name}: {value!r} is not a number, or the query {query!r} occurs twice; "
            "keep one value of each query, of one run"
        )
    found = dict(cells.select("query", number.fill_nan(None)).drop_nulls().iter_rows())

    # queries without a value or judgements, as "all" for the mean
    alone = listed(sorted(found.keys() ^ {*judged}))
    if found.keys().isdisjoint(judged):
        raise InputError(f"{table.name} has no value of a judged query: {alone}")
    return found, [f"left out, as they lack a value or judgements: {alone}"] if alone else []


def _table(values: Any) -> Table:
    """Return values as a table."""
    if is_path(values):
        name, data = content(values, "one value a line")
        if not data.startswith(b"{"):
            header = b"measure\tquery\tvalue\n" if OF_TREC_EVAL.match(data) else b""
            return table_of_bytes(name, header + data)
        values = read_json_object(values)

    # pytrec_eval has a dictionary of measures for each query
    if isinstance(values, Mapping):
        values = [
            {"query": query, **(value if isinstance(value, Mapping) else {"value": value})}
            for query, value in values.items()
        ]
    return table_of(values)


def _of_metric(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the query and value, as text, of each value of a metric, or of the only measure.

    Measures are named in a column beside that of their values, or have a column each.
    """
    roles = {names[0]: role for role, names in find(frame.columns, VALUE).items()}
    cells = pl.DataFrame([text(column) for column in frame]).rename(roles)
    if "value" not in cells:
        cells = cells.unpivot(index="query", variable_name="measure")
    if "measure" not in cells:
        return cells

    # the metric has many names
    measures = cells["measure"].unique().sort()
    usual = usual_name(metric).lower()
    own = [word for word in measures if usual_name(word).lower() == usual] or measures
    if len(own) > 1:
        raise InputError(f"values of {listed(measures)}, but not of {metric}; keep one measure")
    return cells.filter(pl.col("measure") == own[0])
