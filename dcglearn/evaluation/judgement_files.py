"""Judgements in the files of other tools: Quepid's exports and books, OpenSearch's lists, requests of _rank_eval."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.sources import suffix_of
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    import polars as pl

    Rating = tuple[str, Any, Any, Any]  # place in the file, query, document, rating

LARGEST = 1e15
"""Largest number that is read as a grade; which grades a metric has is checked later."""

FORMULA = ("-", "=", "+", "@")
"""First characters before which Quepid writes a blank, so that spreadsheets do not take a query for a formula."""


def table_of_tool(name: str, data: bytes) -> pl.DataFrame | None:
    """Return the table in a file of these tools, with query, document and grade; None for other files.

    - OpenSearch: ``{"judgmentRatings": [{"query": ..., "ratings": [{"docId": ..., "rating": ...}]}]}``, alone, as an
      array of such queries, or as a saved answer of the server.
    - A request of ``_rank_eval``: ``{"requests": [{"id": ..., "ratings": [{"_index", "_id", "rating"}]}]}``.
    - Quepid's export for RRE: ``{"queries": [{"placeholders": {"$query": ...}, "relevant_documents": {...}}]}``.
    - Quepid's CSV ``query,docid,rating``, where queries without ratings have a line of their own, which is left out.
    - Quepid's book: CSV with ``query,docid`` and a column for each rater; the same rating by several counts once.

    Raises InputError if a part is missing, or a rating is not a whole number; the message names the place.
    """
    import polars as pl

    suffix = suffix_of(name)
    if suffix not in (".json", ".csv"):
        return None
    ratings = _from_json(name, data) if suffix == ".json" else _from_csv(name, data)
    if ratings is None:
        return None
    rows = dict.fromkeys((str(rating[1]), str(rating[2]), _grade(name, rating)) for rating in ratings)
    if not rows:
        raise InputError(f"{name} holds no rating; rate some documents and export again")
    kinds = {"query": pl.String, "document": pl.String, "grade": pl.Int64}
    return pl.DataFrame(list(rows), schema=kinds, orient="row")


def _grade(name: str, rated: Rating) -> int:
    place, query, document, rating = rated
    try:
        number = float(rating)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (number.is_integer() and abs(number) <= LARGEST):
        raise InputError(
            f"{name}, {place}: the rating {rating!r} of document {document!r} for the query {query!r} is not a whole "
            "number; turn ratings into grades 0, 1, 2, ... first, 0 = worst"
        )
    return int(number)


def _from_json(name: str, data: bytes) -> list[Rating] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None  # lines of JSON, or a fault that the reader of tables names
    lists = list(_judgement_lists(value))
    try:
        if lists:
            return [
                (f"query {number}", part["query"], rating["docId"], rating["rating"])
                for parts in lists
                for number, part in enumerate(parts, 1)
                for rating in part["ratings"]
            ]
        if isinstance(value, dict) and isinstance(value.get("requests"), list):
            return [
                (f"request {number}", part["id"], rating["_id"], rating["rating"])
                for number, part in enumerate(value["requests"], 1)
                for rating in part["ratings"]
            ]
        if isinstance(value, dict) and isinstance(value.get("queries"), list):
            return [
                row for number, part in enumerate(value["queries"], 1) for row in _rre_rows(f"query {number}", part)
            ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name}: a query or a rating has another form ({error}); export it again") from error
    return None


def _judgement_lists(value: Any) -> Iterator[list[Any]]:
    """Yield the lists of rated queries of OpenSearch in a JSON value."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "ratings" in value[0]:
        yield value
    elif isinstance(value, dict) and "judgmentRatings" in value:
        yield value["judgmentRatings"]
    elif isinstance(value, dict):
        hits = value.get("hits")
        inner = hits.get("hits", []) if isinstance(hits, dict) else []
        for part in [value.get("_source"), *inner]:
            yield from _judgement_lists(part)


def _rre_rows(place: str, part: dict[str, Any]) -> Iterator[Rating]:
    query = part["placeholders"]["$query"]
    for key, value in part["relevant_documents"].items():
        if isinstance(value, list):  # a rating and its documents, as Quepid writes
            yield from ((place, query, document, key) for document in value)
        else:  # a document and its gain, as RRE's own files have it
            yield place, query, key, value["gain"]


def _from_csv(name: str, data: bytes) -> list[Rating] | None:
    """Return the ratings of a CSV of Quepid; None if every line has one rating, and for other tables."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None  # the reader of tables says where
    lines = csv.reader(io.StringIO(text, newline=""))
    header = next(lines)
    if header[:2] != ["query", "docid"] or len(header) < 3:
        return None
    if header[2:] == ["rating"] and not any(line and "," not in line for line in text.splitlines()):
        return None
    ratings: list[Rating] = []
    for fields in lines:
        place = f"line {lines.line_num}"
        if len(fields) not in (0, 1, len(header)):
            raise InputError(f"{name}, {place}: {len(fields)} fields where the header has {len(header)}")
        query = fields[0][1:] if fields and fields[0][:1] == " " and fields[0][1:2] in FORMULA else "".join(fields[:1])
        ratings += [(place, query, fields[1], rating) for rating in fields[2:] if rating.strip()]
    return ratings
