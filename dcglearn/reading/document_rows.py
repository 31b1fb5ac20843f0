"""Rows of a query, a document and its grade or score, from files, frames and dictionaries."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from dcglearn.foundation.inputs import keys_once
from dcglearn.foundation.sources import content, kind_of
from dcglearn.foundation.validation import (
    InputError,
    InputTypeError,
    errors_in,
    is_frame,
    is_records,
    listed,
)
from dcglearn.reading.columns import find, unused
from dcglearn.reading.contract import JUDGED, RUN, Contract, Found, plain
from dcglearn.reading.scale import COMMAS, NO_GRADE
from dcglearn.reading.tables import Refusals, Table, table_of, table_of_bytes
from dcglearn.reading.texts import text
from dcglearn.reading.trec import begins_with_line, is_trec, lines_of

MISSING = (*NO_GRADE, "nan", "none")
"""Words in place of a number that nobody knows, in lower case."""

USUAL = {"q0", "iteration", "iter", "query", "querytext", "docid"}
"""Plain names of columns that stand beside those that are read in TREC's files and PyTerrier."""

LIST = r"^(\[(\]|[\[\{\"0-9-])|\{[\}\"]).*"
"""Beginning of a list or an object of JSON, which is no name."""

AFTER = "judgements come first, runs after them"
"""Order of the arguments and the files of an evaluation."""


@dataclass(frozen=True)
class DocumentRows:
    """A table with columns by role, called `name`; `place` says where a row stands."""

    name: str
    frame: pl.DataFrame
    place: Callable[[int], str]

    def only(self, kept: pl.Series) -> DocumentRows:
        """Return the rows where `kept` holds, which keep their places."""
        rows = np.flatnonzero(kept)
        frame = self.frame.filter(kept)
        return DocumentRows(self.name, frame, lambda row: self.place(int(rows[row])))


@dataclass
class OwnNames:
    """The columns that a user names, by role.

    Of names that are shared by judgements and runs, a table takes those that it has; `used` has
    the roles of these.
    """

    names: Mapping[str, str]
    is_shared: bool = False
    used: set[str] = field(default_factory=set)

    def find(self, columns: Sequence[str], contract: Contract) -> Found:
        """Return the columns of a table by role; raise InputError for names that it must have."""
        own = {**self.names}
        for role in own.keys() if self.is_shared else ():
            one = {role: replace(contract[role], required=False)} if role in contract else {}
            try:
                find(columns, one, {role: own[role]})
                self.used.add(role)
            except InputError:
                own = {other: own[other] for other in own if other != role}
        return find(columns, contract, own)

    def check(self) -> None:
        """Raise InputError for a shared name that no table has."""
        for role in self.names.keys() - self.used:
            raise InputError(
                f"columns={{{role!r}: {self.names[role]!r}}} names no column of the judgements, "
                "and none of the runs"
            )


def opened(path: str, contract: Contract, own: OwnNames) -> tuple[str, Any]:
    """Return the name of a file, and its rows or the dictionary by query that it holds."""
    judged = contract is JUDGED
    name, data = content(path, "one judgement a line" if judged else "one document a line")
    if kind_of(name, data) != "parquet":
        _check_text(name, data)

        # lines, which have no header
        is_json = data.lstrip()[:1] in (b"{", b"[")
        are_lines = is_trec(name) and not is_json and not _has_names(data, contract)
        if are_lines or begins_with_line(data, judged=judged):
            frame, place = lines_of(name, data, judged=judged)
            with errors_in(name):
                found = own.find(frame.columns, contract)
            return name, DocumentRows(name, frame.select(*found), place)

        # Python writes NaN, which JSON does not know
        if is_json and b"NaN" in data:
            data = re.sub(rb'(?<!\\)(":\s*)NaN(?=\s*[,}])', rb"\1null", data)
        value = _by_query(name, data) if is_json else None
        if value is not None:
            return name, value

    # a query without ratings has a short line in Quepid's files
    header = data.partition(b"\n")[0].decode(errors="replace")
    is_quepid = judged and plain(header) == "querydocidrating"
    return name, _by_role(table_of_bytes(name, data, short_lines=is_quepid), contract, own)


def rows_of(name: str, value: Any, contract: Contract, own: OwnNames) -> DocumentRows:
    """Return the rows in a frame, in records, or in a dictionary by query."""
    if isinstance(value, DocumentRows):
        return value
    number = "grade" if contract is JUDGED else "score"
    if isinstance(value, Mapping):
        return _of_dictionary(name, value, number)
    if not is_frame(value) and not is_records(value):
        raise InputTypeError(
            f"{name}: found {value!r}; give a path, a data frame, or a dictionary "
            f"{{query: {{document: {number}}}}}"
        )
    with errors_in(name):
        table = table_of(value)
    return _by_role(replace(table, parts=[(name, n) for _, n in table.parts]), contract, own)


def joined(name: str, parts: Sequence[DocumentRows]) -> DocumentRows:
    """Return the rows of several tables as one."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.frame) for part in parts)])

    def place(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return parts[at].place(row - int(starts[at]))

    return DocumentRows(name, pl.concat([part.frame for part in parts]), place)


def numbers(role: str, rows: DocumentRows, refusals: Refusals, remedy: str = "") -> pl.Series:
    """Return the numbers of a column, null where they are missing."""
    cells = rows.frame[role]
    if cells.dtype.is_nested() or cells.dtype == pl.Binary:
        refusals.add(np.ones(len(cells)), f"{role} is of the type {cells.dtype}; use a number")
        return pl.Series([None] * len(cells), dtype=pl.Float64)
    if cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
        return cells.cast(pl.Float64).fill_nan(None)

    # texts, of which words may say that there is no number
    texts = text(cells)
    values = texts.cast(pl.Float64, strict=False).fill_nan(None)
    is_wrong = values.is_null() & ~texts.str.to_lowercase().is_in(MISSING)
    refusals.add(is_wrong, f"{role} is", f"write a number such as 0.5; {remedy}{COMMAS}", texts)
    return values


def warn_of_twins(name: str, queries: pl.Series, others: pl.Series | None = None) -> None:
    """Warn of queries whose names differ in capitals or in Unicode's form alone.

    They are compared with each other, or those that others lack with these.
    """
    distinct = queries.unique()
    both = distinct
    if others is not None:
        known = others.unique()
        distinct = distinct.filter(~distinct.is_in(known.implode()))
        both = pl.concat([distinct, known]) if len(distinct) else distinct
    forms = both.str.normalize("NFKC").str.to_lowercase()
    twins = both.filter(forms.is_duplicated())
    if len(twins):
        form = forms.filter(forms.is_duplicated())[0]
        some = " and ".join(map(repr, sorted(both.filter(forms == form))))
        warnings.warn(f"{name}: the queries {some} count as different ones", stacklevel=2)


def _check_text(name: str, data: bytes) -> None:
    """Raise InputError for bytes that are not UTF-8, and for a mark where files were joined."""
    problem = "begins with a byte order mark, as where files were joined; delete it"
    mark = re.search(rb"(?m)^\xef\xbb\xbf", data) if codecs.BOM_UTF8 in data else None
    at = mark.start() if mark else -1
    try:
        data.decode()
    except UnicodeDecodeError as error:
        at = error.start
        problem = f"the byte {data[at]:#x} is not UTF-8 text; save the file as UTF-8"
    if at >= 0:
        number = data.count(b"\n", 0, at) + 1
        raise InputError(f"{name}, line {number}: {problem}")


def _has_names(data: bytes, contract: Contract) -> bool:
    """Return whether the first line of a text names the column of queries."""
    cells = re.split(rb"[,;\t|]", data.partition(b"\n")[0])
    names = [cell.strip(b' "\r').decode() for cell in cells]
    return bool(find(names, {"query": replace(contract["query"], required=False)}))


def _by_query(name: str, data: bytes) -> Mapping[str, Any] | None:
    """Return the dictionary by query in a file of JSON, or None for a table.

    Judgements of OpenSearch become one.
    """
    # a first line that is whole begins lines of JSON
    first, _, rest = data.strip().partition(b"\n")
    if rest:
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(first)
            return None
    if data.lstrip()[:1] == b"[" and b'"ratings"' not in data:
        return None

    # the whole file
    try:
        value = json.loads(data, object_pairs_hook=keys_once)
    except (json.JSONDecodeError, RecursionError) as error:
        place = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{name}{place}: not valid JSON ({error})") from error
    except InputError as error:
        raise error.at(name) from None

    rated = _rated_queries(value)
    if rated:
        return _of_opensearch(name, rated)
    is_nested = isinstance(value, dict) and any(isinstance(x, dict | list) for x in value.values())
    return value if is_nested else None


def _rated_queries(value: Any) -> list[Any]:
    """Return the queries with ratings in a list of OpenSearch, or in an answer of its server."""
    if isinstance(value, list):
        return value if value and isinstance(value[0], dict) and "ratings" in value[0] else []
    if not isinstance(value, dict):
        return []
    if "judgmentRatings" in value:
        return list(value["judgmentRatings"])
    hits = value.get("hits")
    inner = hits.get("hits", []) if isinstance(hits, dict) else []
    return [query for part in (value.get("_source"), *inner) for query in _rated_queries(part)]


def _of_opensearch(name: str, rated: Iterable[Any]) -> Mapping[str, Any]:
    """Return the ratings of documents by query; documents that could not be rated have none."""
    ratings: dict[str, list[Any]] = {}
    try:
        for query in rated:
            its = ratings.setdefault(query["query"], [])
            its += [(one["docId"], one["rating"]) for one in query["ratings"]]
            its += [(one["docId"], None) for one in query.get("failures", [])]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{name}: a query or a rating has another form ({error}); export it again"
        ) from error
    return ratings


def _of_dictionary(name: str, queries: Mapping[Any, Any], number: str) -> DocumentRows:
    """Return the rows of a dictionary by query."""
    rows = [
        (str(query).strip(), "" if document is None else str(document).strip(), value)
        for query, part in queries.items()
        for document, value in _documents(query, part, number)
    ]
    if not rows:
        raise InputError(f"{name} holds no document")
    for query, document, _ in rows:
        if not query or not document:
            raise InputError(f"{name}, query {query!r}: a query or a document is missing")

    # numbers as they are, or else all as text
    *keys, values = zip(*rows, strict=True)
    cells = pl.Series([None if value is None else str(value) for value in values])
    if not any(isinstance(value, str) for value in values):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            cells = pl.Series(np.array(values, np.float64), dtype=pl.Float64)
    try:
        frame = pl.DataFrame([*map(pl.Series, keys), cells], ["query", "document", number])
    except UnicodeEncodeError as error:  # half a surrogate pair
        raise InputError(f"a query or a document is {error.object!r}; use plain text") from error

    def place(row: int) -> str:
        return f"{name}, query {rows[row][0]!r}, document {rows[row][1]!r}"

    return DocumentRows(name, frame, place)


def _documents(query: Any, part: Any, number: str) -> Iterable[tuple[Any, Any]]:
    """Return the documents of a query with their numbers.

    They are a dictionary, pairs or records. Names alone are relevant (grade 1), or ranked, the best
    first.
    """
    if isinstance(part, Mapping):
        return part.items()
    judged = number == "grade"
    if judged and isinstance(part, str):
        part = [part]
    if judged and isinstance(part, set | frozenset):
        part = sorted(part, key=str)
    if isinstance(part, np.ndarray):
        part = part.tolist()

    if isinstance(part, list | tuple):
        if all(isinstance(one, list | tuple) and len(one) == 2 for one in part):
            return part
        if all(isinstance(one, str | int) for one in part):
            return [(one, 1 if judged else -rank) for rank, one in enumerate(part, 1)]
    if is_frame(part) or is_records(part):
        table = table_of(part).frame
        contract = JUDGED if judged else RUN
        found = find(table.columns, {role: contract[role] for role in ("document", number)})
        if number in found:
            return table.select(found["document"] + found[number]).rows()
    raise InputError(
        f"expected {{query: {{document: {number}}}}}; found {part!r} for the query {query!r}"
    )


def _by_role(table: Table, contract: Contract, own: OwnNames) -> DocumentRows:
    """Return the columns of a table by role, names as text; warn of those that are not used.

    Several columns of grades are those of raters, each with rows of its own.
    """
    frame = table.frame
    with errors_in(table.name):
        found = _found(frame, contract, own)
    others = [name for name in unused(frame.columns, found) if plain(name) not in USUAL]
    if others:
        warnings.warn(f"{table.name}: columns that are not used: {listed(others)}", stacklevel=2)

    # a query without documents has a row of its own
    grades = found.get("grade", [])
    if grades:
        is_blank = frame.select(pl.all_horizontal(pl.col(*found["document"], *grades).is_null()))
        table = table.without(np.flatnonzero(is_blank.to_series()).tolist())
        frame = table.frame

    # names as text, and numbers as they are
    refusals = Refusals(table)
    columns = []
    for role, its in found.items():
        cells = frame[its[0]]
        is_name = contract[role].kind == "label"
        columns.append((_names(role, cells, refusals) if is_name else cells).alias(role))
    refusals.check()
    rows = pl.DataFrame(columns)
    if len(grades) < 2:
        return DocumentRows(table.name, rows, table.place)
    of_raters = [rows.with_columns(text(frame[one]).alias("grade")) for one in grades]
    raters = pl.concat(of_raters)
    return DocumentRows(table.name, raters, lambda row: table.place(row % rows.height))


def _found(frame: pl.DataFrame, contract: Contract, own: OwnNames) -> Found:
    """Return the columns of a table by role; without a number, say what it holds instead."""
    names = frame.columns
    if contract is JUDGED and {*map(plain, names)} >= {"corpusid", "score"}:  # as BEIR writes it
        contract = {**JUDGED, "grade": replace(JUDGED["grade"], names="score")}
    found = own.find(names, contract)
    if {"grade", "score", "rank"} & found.keys():
        return found

    # a run has scores, judgements have grades, and other columns numbers
    if contract is RUN:
        raise InputError(
            f"no 'score' and no 'rank'; found {listed(names)}; if these are judgements: {AFTER}"
        )
    rest = unused(names, found)
    numeric = [name for name in rest if _holds_numbers(frame[name])]
    way = ""
    if numeric:
        way = (
            f"; numbers stand in {listed(numeric)}: columns={{'grade': {numeric[-1]!r}}} takes "
            "one, and first..last the columns of several raters"
        )
    if find(rest, {role: RUN[role] for role in ("score", "rank")}):
        way = f"; this looks like a run: {AFTER}{way}"
    raise InputError(f"no 'grade' ({contract['grade'].names}); found {listed(names)}{way}")


def _holds_numbers(column: pl.Series) -> bool:
    """Return whether all cells that are not missing are numbers, and there are any."""
    cells = text(column)
    known = cells.filter(~cells.str.to_lowercase().is_in(MISSING))
    return len(known) > 0 and not known.cast(pl.Float64, strict=False).has_nulls()


def _names(role: str, cells: pl.Series, refusals: Refusals) -> pl.Series:
    """Return names as text, which every row has."""
    texts = text(cells)
    refusals.add(texts == "", f"{role} is missing")
    if cells.dtype.is_nested() or texts.str.contains(r"^[\[{]|[\n\r]").any():
        has_lines = texts.str.contains(r"[\n\r]")
        refusals.add(has_lines, f"{role} holds a line end:", "is a quotation mark missing?", texts)
        refusals.add(texts.str.contains(LIST), f"{role} is", "use text or an integer", texts)
    return texts
