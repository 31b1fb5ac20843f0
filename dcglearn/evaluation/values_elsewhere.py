"""Read values of queries that another tool or a spreadsheet has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dcglearn.evaluation.evaluate import Evaluation
from dcglearn.evaluation.other_measures import usual_name
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import Floats, InputError, errors_in, listed
from dcglearn.readers.line_formats import NUMBER, Records, shown
from dcglearn.readers.read_table import opener_of, opener_of_bytes
from dcglearn.readers.roles import Role, first_names

QUERY = ("query", "query_id", "qid", "q_id", "topic", "topic_id", "id", "index", "unnamed: 0", "")
ROLES = {
    "query": Role("name", QUERY, required=True),
    "run": Role("name", ("run", "run_id", "tag", "system", "name", "model")),
    "measure": Role("name", ("measure", "metric")),
    "value": Role("name", ("value", "score"), required=True),
}
"""The columns of values, the first name that a table has counts; that of values may also be called as its measure."""

MEANS = ("all", "mean", "average", "avg", "amean", "overall")
"""Queries that stand for the mean."""

BLANK = ("", "-", "nan", "na", "n/a", "null", "none")
"""Values that are missing."""

CLOSE = 1e-4
"""Values that differ by no more than this agree, whatever their digits."""


def read_values(values: Any, metric: str, evaluation: Evaluation) -> tuple[Floats, float, tuple[str, ...]]:
    """Return values for the runs and queries of an evaluation, shape (R, Q), NaN where there is none.

    Also up to which difference values agree, by the digits that these have, and notes. For parameters and errors see
    `explain_values`.
    """
    name, rows = _rows(values, metric, evaluation)
    with errors_in(name):
        measures = {row["measure"] for _, row in rows}
        chosen = sorted(word for word in measures if _same(word, metric)) or sorted(measures)
        if len(chosen) != 1:
            raise InputError(f"values of {listed(chosen)}, but not of {metric}: name one of them as the metric")
        rows = [(place, row) for place, row in rows if row["measure"] == chosen[0]]
        named = sorted({row["run"] for _, row in rows})
        runs = named if len(named) == len(evaluation.runs) == 1 else list(evaluation.runs)
        if not {*named} & {*runs}:
            theirs = listed(filter(None, named)) or "no run"
            raise InputError(f"values of {theirs}, where the runs are {listed(runs)}; give one run")
        found: dict[tuple[str, str], float] = {}
        for place, row in rows:
            key, number = (row["run"], row["query"]), row["value"].replace(",", ".")
            if key in found:
                raise InputError(f"{place}: the query {shown(key[1])} occurs twice")
            if number.lower() not in BLANK and not NUMBER.fullmatch(number):
                raise InputError(f"{place}: the value {shown(row['value'])} is not a number")
            found[key] = np.nan if number.lower() in BLANK else float(number)
        table = np.array([[found.get((run, query), np.nan) for query in evaluation.queries] for run in runs])
        others = sorted({query for _, query in found if query.lower() not in MEANS}.difference(evaluation.queries))
        if np.isnan(table).all():
            raise InputError(f"no value of a judged query, such as {evaluation.queries[0]}; found {listed(others[:3])}")
    means = {run: value for (run, query), value in found.items() if query.lower() in MEANS}
    notes = [f"left out, as they are not judged: {listed(others)}"] if others else []
    known = table[~np.isnan(table)]
    digits = next((d for d in range(10) if np.allclose(np.round(known, d), known, rtol=0, atol=1e-12)), 10)
    close = max(CLOSE, 0.5 * 10.0**-digits) + 1e-9  # half a unit of the last digit
    return table, close, (*notes, *_of_missing(table, [means.get(run) for run in runs], evaluation, close))


def _rows(values: Any, metric: str, evaluation: Evaluation) -> tuple[str, list[tuple[str, dict[str, str]]]]:
    """Return the name of the values, and the place and the cells by role of each row."""
    name, n_added = "values", 0
    if isinstance(values, Mapping):
        open_with: Any = partial(Records, [{"query": query, "value": value} for query, value in values.items()])
    elif is_path(values):
        name, data = content(values, "one value a line")
        header = _lacking_header(data, evaluation)
        open_with, n_added = opener_of_bytes(name, header + data), header.count(b"\n")
    else:
        indexed = values.reset_index() if hasattr(values, "reset_index") else values  # pandas' index
        name, open_with = opener_of(indexed, ROLES)
    rows = []
    with errors_in(name):
        source = open_with(_roles(open_with({}).names, metric))
        for number, item in source:
            place = f"{source.unit} {number - n_added}"
            with errors_in(place):
                record = source.record(item)
            rows.append((place, {role: "" if record.get(role) is None else str(record[role]) for role in ROLES}))
    return name, rows


def _lacking_header(data: bytes, evaluation: Evaluation) -> bytes:
    """Return the header that a text lacks whose first line has a value: trec_eval and ir_measures print none."""
    lines = data.decode(errors="replace").strip().splitlines()
    mark = next((mark for mark in "\t;," if mark in lines[0]), "\t")
    fields = lines[0].split(mark)
    if len(fields) not in (2, 3) or not NUMBER.fullmatch(fields[-1].strip().replace(",", ".")):
        return b""
    by_query = {line.split(mark)[0].strip() for line in lines} & set(evaluation.queries)
    names = ("query", "measure", "value") if by_query else ("measure", "query", "value")
    return (mark.join(names if len(fields) == 3 else ("query", "value")) + "\n").encode()


def _roles(names: Sequence[str], metric: str) -> dict[str, Role]:
    """Return the roles of columns: queries may be in the first, and values in one called as the metric, or the rest."""
    roles, lower = first_names(names, ROLES), [name.strip().lower() for name in names]
    if len(lower) == 1:
        return roles
    if not {*QUERY} & {*lower}:
        roles["query"] = replace(roles["query"], names=tuple(lower[:1]))
    taken = {word for role in (*roles.values(), ROLES["query"]) for word in role.names}
    rest = [word for word in lower if word not in taken]
    rest = [word for word in rest if _same(word, metric)] or rest
    if not {*roles["value"].names} & {*lower}:
        accepted = tuple(rest) if len(rest) == 1 else (*roles["value"].names, metric.lower())
        roles["value"] = replace(roles["value"], names=accepted)
    return roles


def _same(word: str, metric: str) -> bool:
    return usual_name(word).lower() == usual_name(metric).lower()


def _of_missing(table: Floats, means: Sequence[float | None], evaluation: Evaluation, close: float) -> Iterator[str]:
    """Yield notes on judged queries without a value, and on what the means count."""
    for r, (run, mean) in enumerate(zip(evaluation.runs, means, strict=True)):
        lacking = np.isnan(table[r])
        n = number_of(int(lacking.sum()), "judged queries")
        if lacking.any() and not lacking.all():
            absent = ", which the run does not have (--missing skip)"
            yield f"{run}: no value of {n}{absent if np.isnan(evaluation.values[r, 0][lacking]).all() else ''}"
        if mean is not None and not lacking.all():
            of_values, of_all = np.nanmean(table[r]), np.nansum(table[r]) / len(lacking)
            what = f"counts {n} as 0" if abs(of_all - mean) <= 2 * close else "is not that of the values"
            what = "is that of the values" if abs(of_values - mean) <= 2 * close else what
            yield f"{run}: the mean {mean:g} {what}"
