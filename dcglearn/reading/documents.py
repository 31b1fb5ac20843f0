"""Documents of queries with their grades or scores, from files, frames and dictionaries."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dcglearn.foundation.inputs import keys_once
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import InputError, errors_in, listed
from dcglearn.reading.columns import OwnNames, unused
from dcglearn.reading.contract import JUDGED, Contract, Found, plain
from dcglearn.reading.scale import COMMAS, NO_GRADE
from dcglearn.reading.tables import Refusals, Table, table_of, table_of_bytes
from dcglearn.reading.texts import text, twins
from dcglearn.reading.trec import ORDER, lines_of

MISSING = (*NO_GRADE, "nan", "none")
"""Words in place of a number that nobody knows, in lower case."""

ALONE = re.compile(rb'(?m)^("[^"\n]*"|[^",;\r\n]+)(?=\r?$)')
"""A line of one cell."""

USUAL = {"q0", "iteration", "iter", "query", "querytext", "docid"}
"""Plain names of columns that stand beside those that are read in TREC's files and PyTerrier."""


def opened(path: str, contract: Contract, own: OwnNames) -> tuple[str, Any]:
    """Return the name of a file, and the table or the dictionary by query that it holds."""
    judged = contract is JUDGED
    name, data = content(path, "one judgement a line" if judged else "one document a line")
    if data[:4] != b"PAR1":
        _check_text(name, data)
        table = lines_of(name, data, judged=judged)
        if table is not None:
            with errors_in(name):
                found = _found(table.frame, contract, own)
            cells = table.frame.select(pl.col(its[0]).alias(role) for role, its in found.items())
            return name, replace(table, frame=cells)

        # Python writes NaN, which JSON does not know
        if data.lstrip()[:1] == b"{":
            data = re.sub(rb'(?<!\\)(":\s*)NaN(?=\s*[,}])', rb"\1null", data)
            value = _of_json(name, data)
            if value is not None:
                return name, value

    # a query without ratings has a line of its name alone in Quepid's files
    header = data.partition(b"\n")[0].decode(errors="replace")
    if judged and plain(header) == "querydocidrating":
        data = ALONE.sub(b"", data)
    return name, _by_role(table_of_bytes(name, data), contract, own)


def documents_of(name: str, value: Any, contract: Contract, own: OwnNames) -> Table:
    """Return the documents in a frame, in records, or in a dictionary by query."""
    if isinstance(value, Table):
        return value
    with errors_in(name):
        if isinstance(value, Mapping):
            value = _of_dictionary(value, "grade" if contract is JUDGED else "score")
        table = table_of(value)
    places = table.places.with_columns(file=pl.lit(name))
    return _by_role(Table(table.frame, places), contract, own)


def numbers(role: str, table: Table, refusals: Refusals, remedy: str = "") -> pl.Series:
    """Return the numbers of a column, null where they are missing."""
    cells = table.frame[role]
    if cells.dtype.is_numeric():
        return cells.cast(pl.Float64).fill_nan(None)
    texts = text(cells)
    lower = texts.str.to_lowercase().replace({"true": "1", "false": "0"})
    values = lower.cast(pl.Float64, strict=False).fill_nan(None)
    is_wrong = values.is_null() & ~lower.is_in(MISSING)
    refusals.add(is_wrong, f"{role} is", f"write a number such as 0.5; {remedy}{COMMAS}", texts)
    return values


def warn_of_twins(name: str, *queries: pl.Series) -> None:
    """Warn of queries whose names differ in capitals or in Unicode's form alone."""
    alike = twins(pl.concat([one.unique() for one in queries]))
    if len(alike):
        warnings.warn(
            f"{name}: names of queries that differ in form alone count as different: "
            f"{listed(alike)}",
            stacklevel=2,
        )


def _check_text(name: str, data: bytes) -> None:
    """Raise InputError for bytes that are not UTF-8, and for a mark where files were joined."""
    problem = "begins with a byte order mark, as where files were joined; delete it"
    mark = re.search(rb"(?m)^\xef\xbb\xbf", data) if b"\xef" in data else None
    at = mark.start() if mark else -1
    try:
        data.decode()
    except UnicodeDecodeError as error:
        at = error.start
        problem = f"the byte {data[at]:#x} is not UTF-8 text; save the file as UTF-8"
    if at >= 0:
        row = data.count(b"\n", 0, at) + 1
        raise InputError(f"{name}, line {row}: {problem}")


def _of_json(name: str, data: bytes) -> Any:
    """Return the dictionary by query in JSON, or OpenSearch's ratings, or None for other tables.

    Documents that could not be rated have no rating.
    """
    with errors_in(name):
        try:
            value = json.loads(data, object_pairs_hook=keys_once)
        except json.JSONDecodeError:
            return None
        except RecursionError as error:
            raise InputError(f"not valid JSON ({error})") from error

    if "judgmentRatings" not in value:
        return value if all(isinstance(part, dict) for part in value.values()) else None
    try:
        return [
            {"query": rated["query"], "docId": one["docId"], "rating": one.get("rating")}
            for rated in value["judgmentRatings"]
            for one in [*rated["ratings"], *rated.get("failures", [])]
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{name}: a judgement list without {error}") from error


def _of_dictionary(queries: Mapping[Any, Any], number: str) -> pl.DataFrame:
    """Return a row for each document of a dictionary ``{query: {document: number}}``."""
    rows: list[Any] = []
    for query, part in queries.items():
        if not isinstance(part, Mapping):
            cure = "dict.fromkeys(documents, 1) takes all for relevant"
            if number == "score":
                cure = "{d: -i for i, d in enumerate(documents)} keeps their order"
            raise InputError(
                f"expected {{query: {{document: {number}}}}}; found {part!r} for the query "
                f"{query!r}; {cure}"
            )

        # what is no number stays a text, which is refused by its row
        for document, value in part.items():
            is_one = value is None or np.isscalar(value)
            rows.append((query, document, value if is_one else str(value)))
    if not rows:
        raise InputError("there is no document")

    # names as text; numbers as they are, or all as text where one is
    names: Any = {"query": pl.String, "document": pl.String, number: None}
    try:
        return pl.DataFrame(rows, names, orient="row", strict=False, infer_schema_length=None)
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"a query, document or {number} cannot be read ({error}); use plain text and numbers"
        ) from error


def _by_role(table: Table, contract: Contract, own: OwnNames) -> Table:
    """Return the columns of a table by role, names as text; warn of those that are not used."""
    with errors_in(table.name):
        found = _found(table.frame, contract, own)
    others = [one for one in unused(table.frame.columns, found) if plain(one) not in USUAL]
    if others:
        warnings.warn(f"{table.name}: columns that are not used: {listed(others)}", stacklevel=2)

    # a query without documents has a row of its own, which is left out
    if "grade" in found:
        names = found["document"] + found["grade"]
        is_blank = table.frame.select(pl.all_horizontal(pl.col(names).is_null()))
        table = table.without(is_blank.to_series().arg_true().to_list())

    # names as text, and numbers as they are
    refusals, columns = Refusals(table), {}
    for role, its in found.items():
        cells = table.frame[its[0]]
        is_name = contract[role].kind == "label"
        columns[role] = _names(role, cells, refusals) if is_name else cells
    refusals.check()
    return replace(table, frame=pl.DataFrame(columns))


def _found(frame: pl.DataFrame, contract: Contract, own: OwnNames) -> Found:
    """Return the columns of a table by role; raise InputError if none is of numbers."""
    names, judged = frame.columns, contract is JUDGED
    if judged and {*map(plain, names)} >= {"corpusid", "score"}:  # as BEIR writes it
        contract = {**JUDGED, "grade": replace(JUDGED["grade"], names="score")}
    found = own.find(names, contract)
    if {"grade", "score", "rank"} & found.keys():
        return found

    role = "grade" if judged else "score"
    raise InputError(
        f"no {role!r} ({contract[role].names}); found {listed(names)}; columns={{{role!r}: '...'}} "
        f"names it; if the files are exchanged: {ORDER}"
    )


def _names(role: str, cells: pl.Series, refusals: Refusals) -> pl.Series:
    """Return names as text, which every row has."""
    texts = text(cells)
    refusals.add(texts == "", f"{role} is missing")
    if texts.str.contains(r"^[\[{]|[\n\r]").any():
        has_lines = texts.str.contains(r"[\n\r]")
        refusals.add(has_lines, f"{role} holds a line end:", "is a quotation mark missing?", texts)
        is_list = texts.str.contains(r"^(\[(\]|[\[\{\"0-9-])|\{[\}\"])")
        refusals.add(is_list, f"{role} is", "use text or an integer", texts)
    return texts
