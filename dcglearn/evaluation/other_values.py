"""Values of a metric from elsewhere, by run and query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcglearn.evaluation.run_values import Evaluation
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import Fields, Floats, InputError, errors_in, listed
from dcglearn.metrics.other_names import usual_name
from dcglearn.reading.columns import find
from dcglearn.reading.contract import VALUE
from dcglearn.reading.scale import NUMBER
from dcglearn.reading.tables import Table, table_of_bytes, tables_of
from dcglearn.reading.texts import text

NO_VALUE = re.compile("|-|nan|na|n/a|null|none", re.IGNORECASE)
"""Texts that stand for no value."""


@dataclass(frozen=True, eq=False)
class OtherValues:
    """Values from elsewhere, shape (R, Q), NaN where missing, and the tolerance of equality."""

    values: Floats
    close: float
    queries: Sequence[str]

    @property
    def n(self) -> int:
        """The number of values."""
        return int((~np.isnan(self.values)).sum())

    def fit(self, values: Floats) -> tuple[int, float]:
        """Return how many values agree, and minus the mean difference."""
        difference = np.abs(values - self.values)[~np.isnan(self.values)]
        return int((difference <= self.close).sum()), -float(difference.mean())

    def row(self, values: Floats) -> Fields:
        """Return how many values agree, and the one that differs most."""
        furthest = np.nanargmax(np.abs(values - self.values))
        r, q = np.unravel_index(furthest, self.values.shape)
        both = {"there": float(self.values[r, q]), "here": float(values[r, q])}
        return {"agreeing": self.fit(values)[0], "query": self.queries[int(q)], **both}


def read_values(
    values: Any, metric: str, evaluation: Evaluation
) -> tuple[OtherValues, tuple[str, ...]]:
    """Return values for the runs and queries of an evaluation, and notes.

    For parameters see `explain_values`.
    """
    source = _table(values, evaluation)
    name, rows = source.name, _rows(source, metric)
    with errors_in(name):
        # the rows of the metric
        measures = {row["measure"] for _, row in rows}
        chosen = sorted(word for word in measures if _same(word, metric)) or sorted(measures)

        # values of one measure
        if len(chosen) != 1:
            raise InputError(
                f"values of {listed(chosen)}, but not of {metric}: name one of them as the metric"
            )
        rows = [(place, row) for place, row in rows if row["measure"] == chosen[0]]

        # the runs; a single one may have another name
        named = sorted({row["run"] for _, row in rows})
        runs = named if len(named) == len(evaluation.runs) == 1 else list(evaluation.runs)
        if not {*named} & {*runs}:
            others = listed(filter(None, named)) or "no run"
            raise InputError(f"values of {others}, where the runs are {listed(runs)}; give one run")

    # the number of each query
    numbers: dict[tuple[str, str], float] = {}
    for number, row in rows:
        key = row["run"], row["query"]
        if key in numbers:
            raise InputError(f"{source.place(number)}: the query {key[1]!r} occurs twice")
        if not NO_VALUE.fullmatch(row["value"]) and not NUMBER.fullmatch(row["value"]):
            raise InputError(f"{source.place(number)}: the value {row['value']!r} is not a number")
        numbers[key] = float(row["value"]) if NUMBER.fullmatch(row["value"]) else np.nan

    # a table of runs and queries
    table = np.array(
        [[numbers.get((run, query), np.nan) for query in evaluation.queries] for run in runs]
    )

    # means, and queries that are not judged
    is_mean = {"all", "mean", "average", "avg", "amean", "overall"}
    means = {run: value for (run, query), value in numbers.items() if query.lower() in is_mean}
    queries = {query for _, query in numbers if query.lower() not in is_mean}
    unjudged = sorted(queries.difference(evaluation.queries))
    if np.isnan(table).all():
        raise InputError(
            f"{name}: no value of a judged query, such as {evaluation.queries[0]}; "
            f"found {listed(unjudged[:3])}"
        )
    theirs = OtherValues(table, _closeness(table), evaluation.queries)
    notes = [f"left out, as they are not judged: {listed(unjudged)}"] if unjudged else []
    notes += _of_missing(theirs, [means.get(run) for run in runs], evaluation)
    return theirs, tuple(notes)


def _closeness(table: Floats) -> float:
    """Return the tolerance of equal values: half a unit of their last digit, at least 1e-4."""
    values = table[~np.isnan(table)]
    exact = (d for d in range(10) if np.allclose(np.round(values, d), values, rtol=0, atol=1e-12))
    return max(1e-4, 0.5 * 10.0 ** -next(exact, 10)) + 1e-9


def _table(values: Any, evaluation: Evaluation) -> Table:
    """Return values as a table; trec_eval and others print no header, which is put above."""
    if is_path(values):
        name, data = content(values, "one value a line")
        return table_of_bytes(name, _header(data, evaluation) + data)
    if isinstance(values, Mapping):
        values = [{"query": query, "value": value} for query, value in values.items()]
    elif hasattr(values, "reset_index"):  # pandas keeps queries in the index
        values = values.reset_index()
    return tables_of(values)[0]


def _header(data: bytes, evaluation: Evaluation) -> bytes:
    """Return the header of a text whose first line has a value, which therefore lacks one."""
    lines = data.decode(errors="replace").strip().splitlines()
    mark = next((mark for mark in "\t;," if mark in lines[0]), "\t")
    fields = lines[0].split(mark)
    if len(fields) not in (2, 3) or not NUMBER.fullmatch(fields[-1].strip().replace(",", ".")):
        return b""

    # the column that holds queries
    columns = ["query", "value"]
    if len(fields) == 3:
        first = {line.split(mark)[0].strip() for line in lines}
        columns.insert(1 if first & {*evaluation.queries} else 0, "measure")
    return f"{mark.join(columns)}\n".encode()


def _rows(table: Table, metric: str) -> list[tuple[int, dict[str, str]]]:
    """Return the number of each row and its cells by role, as text without decimal commas.

    Queries may stand in the first column; values in one named like the metric, or in the rest.
    """
    frame = table.frame.rename(lambda name: name or "query")
    optional = {role: replace(about, required=False) for role, about in VALUE.items()}
    own: dict[str, str] = {}
    with errors_in(table.name):
        usual = find(frame.columns, optional)
        if "query" not in usual and frame.width > 1:
            own["query"] = frame.columns[0]

        # the values
        taken = {*own.values()}.union(*usual.values())
        rest = [name for name in frame.columns if name not in taken]
        rest = [name for name in rest if _same(name, metric)] or rest
        if "value" not in usual and len(rest) == 1:
            own["value"] = rest[0]
        if "value" in {**usual, **own}:
            frame = frame.rename({name: role for role, name in own.items()})
        found = find(frame.columns, VALUE)

    # all cells as text
    cells = {role: text(frame[columns[0]]).to_list() for role, columns in found.items()}
    cells["value"] = [value.replace(",", ".") for value in cells["value"]]
    blank = [""] * frame.height
    rows = zip(*(cells.get(role, blank) for role in VALUE), strict=True)
    return [(number, dict(zip(VALUE, row, strict=True))) for number, row in enumerate(rows)]


def _same(word: str, metric: str) -> bool:
    return usual_name(word).lower() == usual_name(metric).lower()


def _of_missing(
    theirs: OtherValues, means: Sequence[float | None], evaluation: Evaluation
) -> Iterator[str]:
    """Yield notes on judged queries without a value, and on what the means count."""
    for r, (run, mean) in enumerate(zip(evaluation.runs, means, strict=True)):
        values = theirs.values[r]
        lacking = np.isnan(values)
        if lacking.all():
            continue

        # queries without a value
        n = number_of(int(lacking.sum()), "judged queries")
        if lacking.any():
            absent = np.isnan(evaluation.values[r, 0][lacking]).all()
            reason = ", which the run does not have (--missing skip)" if absent else ""
            yield f"no value of {n} of {run}{reason}"

        # the mean
        if mean is not None:
            relation = "is not that of the values"
            if abs(np.nansum(values) / len(values) - mean) <= 2 * theirs.close:
                relation = f"counts {n} as 0"
            if abs(np.nanmean(values) - mean) <= 2 * theirs.close:
                relation = "is that of the values"
            yield f"the mean {mean:g} of {run} {relation}"
