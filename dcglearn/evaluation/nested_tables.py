"""Judgements and runs nested as ``{query: {document: number}}``, in memory or in a JSON file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.inputs import refuse_constant
from dcglearn.foundation.validation import InputError
from dcglearn.readers.careful_pass import checked_score
from dcglearn.readers.line_formats import errors_in, shown

if TYPE_CHECKING:
    import polars as pl


class _Object(list[tuple[str, Any]]):
    """The pairs of a JSON object, in order; a key may occur several times."""


def nested_json(name: str, data: bytes, number: str) -> pl.DataFrame | None:
    """Return the table in a JSON file of nested objects, or None if the file is lines of JSON."""
    first, _, rest = data.strip().partition(b"\n")
    if rest:
        with contextlib.suppress(ValueError, RecursionError):  # then the first line is part of an object, or damaged
            json.loads(first)
            return None
    try:
        value = json.loads(data, object_pairs_hook=_Object, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        place = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{name}{place}: not valid JSON ({error})") from error
    if not (isinstance(value, _Object) and any(isinstance(part, _Object) for _, part in value)):
        return None
    with errors_in(name):
        return nested_table(value, number)


def nested_table(values: Any, number: str) -> pl.DataFrame:
    """Return the table of ``{query: {document: number}}``; runs may be ``{run: {query: {document: score}}}``.

    A dictionary, or the pairs of a JSON object, whose keys may occur several times. Raises InputError that names the
    query and the document of a value that is not a number.
    """
    import polars as pl

    shape = f"{{query: {{document: {number}}}}}"
    queries = _items(values, shape)
    runs: list[tuple[Any, Any]] = [(None, queries)]
    inside = [part for _, part in queries if isinstance(part, (dict, _Object))]
    if number == "score" and any(isinstance(v, (dict, _Object)) for part in inside for _, v in _items(part, shape)):
        runs = [(run, _items(part, shape)) for run, part in queries]
    rows = [(run, q, d, v) for run, part in runs for q, documents in part for d, v in _items(documents, shape, query=q)]
    keys = {role: [str(row[i]) for row in rows] for i, role in ((1, "query"), (2, "document"))}
    if runs[0][0] is not None:
        keys["run"] = [str(row[0]) for row in rows]
    numbers = _numbers(rows, number)
    try:
        return pl.DataFrame({**keys, number: numbers}, schema_overrides={number: pl.Float64})
    except UnicodeEncodeError as error:  # half a surrogate pair
        raise InputError(f"a query or a document is {shown(error.object)}; use plain text") from error


def _items(value: Any, shape: str, query: Any = None) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, _Object):
        return value
    where = "" if query is None else f" for the query {shown(query)}"
    raise InputError(f"expected {shape}; found {shown(value)}{where}")


def _numbers(rows: list[tuple[Any, ...]], number: str) -> Any:
    values = [row[3] for row in rows]
    if {type(value) for value in values} <= {float}:
        return np.array(values, dtype=np.float64)
    numbers = np.empty(len(values))
    for i, (_, query, document, value) in enumerate(rows):
        if type(value) is int and -(2**53) < value < 2**53:
            numbers[i] = value
            continue
        with errors_in(f"query {shown(query)}, document {shown(document)}"):
            numbers[i] = checked_score(value, number)
    return numbers
