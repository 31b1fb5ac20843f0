"""Read the values of queries that another tool or a spreadsheet has."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.evaluation.other_measures import usual_name
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import Floats, InputError, is_frame, listed
from dcglearn.readers.frames import polars_frame
from dcglearn.readers.line_formats import NUMBER, decoded, errors_in, numbered_lines, shown

if TYPE_CHECKING:
    from dcglearn.evaluation.evaluate import Evaluation

    Table = tuple[Sequence[str], Sequence[tuple[str, Sequence[Any]]]]  # the columns, and each row after its place

NAMES = {
    "query": ("query", "query_id", "qid", "q_id", "topic", "topic_id", "id", "index", "unnamed: 0", ""),
    "run": ("run", "run_id", "tag", "system", "name", "model"),
    "measure": ("measure", "metric"),
    "value": ("value", "score"),
}
"""Names of the columns, the first that a table has counts; a column of values may also be called as its measure."""

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
    name, (names, rows) = _opened(values)
    with errors_in(name):
        columns = _columns(names, metric)
        cells = [(place, {role: row[i] for role, i in columns.items()}) for place, row in rows]
        measure = _one_of({_text(row, "measure") for _, row in cells}, metric)
        runs = {_text(row, "run") for _, row in cells}
        numbers = {run: r for r, run in enumerate(evaluation.runs) if run in runs}
        if not numbers and len(runs) == len(evaluation.runs) == 1:
            numbers = dict.fromkeys(runs, 0)
        if not numbers:
            named = listed(sorted(runs - {""})) or "no run"
            raise InputError(f"values of {named}, where the runs are {listed(list(evaluation.runs))}; give one run")
        found: dict[tuple[int, str], float] = {}
        for place, row in cells:
            if _text(row, "measure") == measure and _text(row, "run") in numbers:
                key = numbers[_text(row, "run")], _text(row, "query")
                if key in found:
                    raise InputError(f"{place}: the query {shown(key[1])} occurs twice")
                found[key] = _number(row["value"], place)
        table = np.array([[found.get((r, q), np.nan) for q in evaluation.queries] for r in range(len(evaluation.runs))])
        others = sorted({query for _, query in found} - set(evaluation.queries) - set(MEANS))
        if np.isnan(table).all():
            raise InputError(f"no value of a judged query, such as {evaluation.queries[0]}; found {listed(others[:3])}")
    means = {r: value for (r, query), value in found.items() if query in MEANS}
    notes = [f"left out, as they are not judged: {listed(others)}"] if others else []
    known = table[~np.isnan(table)]
    digits = next((d for d in range(10) if np.allclose(np.round(known, d), known, rtol=0, atol=1e-12)), 10)
    close = max(CLOSE, 0.5 * 10.0**-digits) + 1e-9  # half a unit of the last digit
    return table, close, (*notes, *_of_missing(table, means, evaluation, close))


def _opened(values: Any) -> tuple[str, Table]:
    """Return the name and the table of a path, a data frame, or a dictionary."""
    if isinstance(values, Mapping):
        return "values", (("query", "value"), [(str(row[0]), row) for row in values.items()])
    if is_frame(values) or hasattr(values, "reset_index"):
        frame = polars_frame(values.reset_index() if hasattr(values, "reset_index") else values)  # pandas' index
        return "values", (frame.columns, [(f"row {i}", row) for i, row in enumerate(frame.iter_rows(), 1)])
    if not is_path(values):
        raise InputError(f"values: {type(values).__name__} is neither a path, a data frame nor a dictionary")
    name, data = content(values, "one value a line")
    with errors_in(name):
        return name, _of_text([(f"line {i}", decoded(line).lstrip("\ufeff")) for i, line in numbered_lines(data)])


def _of_text(lines: list[tuple[str, str]]) -> Table:
    """Return the table in lines, with a header or, as trec_eval and ir_measures print it, without."""
    if not lines:
        raise InputError("no line with a value")
    mark = next((mark for mark in "\t;," if mark in lines[0][1]), None)
    split = [(place, next(csv.reader([line], delimiter=mark)) if mark else line.split()) for place, line in lines]
    rows = [(place, [cell.strip() for cell in row]) for place, row in split]
    names = rows[0][1]
    if uneven := next((place for place, row in rows if len(row) != len(names)), None):
        raise InputError(f"{uneven} has another number of fields than the first line")
    if len(names) not in (2, 3) or not (NUMBER.fullmatch(names[-1].replace(",", ".")) or names[0] == "runid"):
        return names, rows[1:]
    if len(names) == 2:
        return ("query", "value"), rows
    first, second = ({row[i] for _, row in rows} for i in (0, 1))
    by_query = bool(first & set(MEANS)) or (len(first) > len(second) and not second & set(MEANS))
    return ("query", "measure", "value") if by_query else ("measure", "query", "value"), rows


def _columns(names: Sequence[str], metric: str) -> dict[str, int]:
    """Return the place of each role's column; raise InputError if it is not clear which holds queries or values."""
    lower = [str(name).strip().lower() for name in names]
    columns = {role: lower.index(word) for role, words in NAMES.items() for word in words[::-1] if word in lower}
    if "query" not in columns and len(names) == 2:
        columns["query"] = 0
    rest = [i for i, word in enumerate(lower) if i not in columns.values() and word not in NAMES["query"]]
    rest = [i for i in rest if _same(lower[i], metric)] or rest
    if "value" not in columns and len(rest) == 1:
        columns["value"] = rest[0]
    for role in ("query", "value"):
        if role not in columns:
            raise InputError(f"which column is the {role}? call it {role!r}; found {listed(list(names))}")
    return columns


def _same(word: str, metric: str) -> bool:
    return usual_name(word).lower() == usual_name(metric).lower()


def _one_of(measures: set[str], metric: str) -> str:
    chosen = sorted(word for word in measures if _same(word, metric)) or sorted(measures)
    if len(chosen) != 1:
        raise InputError(f"values of {listed(chosen)}, but not of {metric}: name one of them as the metric")
    return chosen[0]


def _text(row: Mapping[str, Any], role: str) -> str:
    text = str(row.get(role, "")).strip()
    return text.lower() if role == "query" and text.lower() in MEANS else text


def _number(value: Any, place: str) -> float:
    text = str(value).strip().replace(",", ".")
    if text.lower() in BLANK:
        return np.nan
    if not NUMBER.fullmatch(text):
        raise InputError(f"{place}: the value {shown(value)} is not a number")
    return float(text)


def _of_missing(table: Floats, means: Mapping[int, float], evaluation: Evaluation, close: float) -> Iterator[str]:
    """Yield notes on judged queries without a value, and on what the means count."""
    for r, run in enumerate(evaluation.runs):
        lacking = np.isnan(table[r])
        n = number_of(int(lacking.sum()), "judged queries")
        if lacking.any() and not lacking.all():
            absent = ", which the run does not have (--missing skip)"
            yield f"{run}: no value of {n}{absent if np.isnan(evaluation.values[r, 0][lacking]).all() else ''}"
        if r in means and not lacking.all():
            of_values, of_all = np.nanmean(table[r]), np.nansum(table[r]) / len(lacking)
            what = f"counts {n} as 0" if abs(of_all - means[r]) <= 2 * close else "is not that of the values"
            what = "is that of the values" if abs(of_values - means[r]) <= 2 * close else what
            yield f"{run}: the mean {means[r]:g} {what}"
