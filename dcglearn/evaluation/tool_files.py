"""Files of other tools: judgements of Quepid and OpenSearch, JSON rankings."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dcglearn.foundation.sources import kind_of, suffix_of
from dcglearn.foundation.validation import InputError, PolarsFrame, errors_in
from dcglearn.readers.cell_values import shown
from dcglearn.readers.column_roles import Role
from dcglearn.readers.line_formats import JsonLines, TextLines, as_plain
from dcglearn.readers.openers import records_of

_LOG = logging.getLogger(__name__)

Rating = tuple[str, Any, Any, Any]  # place in the file, query, document, rating

DETAILED = ("query text", "doc id", "rating")
"""Columns of Quepid's detailed export of judgements."""


def table_of_tool(name: str, data: bytes) -> tuple[PolarsFrame | None, bool]:
    """Return query, document and grade from a file of these tools; None for other files.

    - OpenSearch: ``{"judgmentRatings": [{"query": ..., "ratings": [{"docId": ..., "rating":
      ...}]}]}``, alone, as an array of such queries, or as a saved answer of the server. Ratings
      may be ESCI's labels, see `grades_of_labels`, which is returned beside the table.
    - Quepid's CSV ``query,docid,rating``, where queries without ratings have a line of their own,
      and documents without one a blank, which are left out; and its detailed form, with the columns
      ``Query Text``, ``Doc ID`` and ``Rating`` among others.

    Ratings are as they stand, and a column `place` tells where. Raises InputError if a part is
    missing.
    """
    ratings: list[Rating] | None = None
    is_opensearch = kind_of(name, data) == "json"
    if is_opensearch:
        ratings = _from_json(name, data)
    elif suffix_of(name) == ".csv":
        ratings = _from_csv(name, data)
    if ratings is None:
        return None, False
    if not ratings:
        raise InputError(f"{name} holds no rating; rate some documents and export again")

    with errors_in(name):
        return table_of_rows(ratings, "place", "query", "document", "grade"), is_opensearch


def table_of_rows(rows: Sequence[Any], *roles: str) -> PolarsFrame:
    """Return rows as a table of names, and of numbers in the end, which are texts unless all are.

    Raises InputError for a name that is no plain text.
    """
    import polars as pl

    # numbers as they are, or as text
    *names, values = ([row[i] for row in rows] for i in range(len(roles)))
    numbers: Any = None
    if {*map(type, values)} <= {float, int}:
        with contextlib.suppress(OverflowError):
            numbers = np.array(values, np.float64)
    if numbers is None:
        plain = map(as_plain, values)
        numbers = [x if x is None or isinstance(x, str) else shown(x) for x in plain]

    # names as text
    texts = [[None if cell is None else str(cell) for cell in cells] for cells in names]
    try:
        return pl.DataFrame(dict(zip(roles, [*texts, numbers], strict=True)))
    except UnicodeEncodeError as error:  # half a surrogate pair
        name = shown(error.object)
        raise InputError(f"a query or a document is {name}; use plain text") from error


def grades_of_labels(name: str, frame: PolarsFrame) -> PolarsFrame:
    """Return judgements with grades in place of ESCI's powers of ten, if they are these."""
    esci = {0: 0, 1: 1, 10: 2, 100: 3}  # irrelevant, complement, substitute, exact
    grades = {*frame["grade"].unique()}
    if 100 not in grades or not grades <= esci.keys():
        return frame
    _LOG.info("%s: the ratings 0, 1, 10 and 100 are read as the grades 0, 1, 2 and 3", name)
    return frame.with_columns(frame["grade"].replace_strict(esci))


def _from_json(name: str, data: bytes) -> list[Rating] | None:
    """Return the ratings of OpenSearch's judgement lists in JSON; None for other JSON."""
    try:
        lists = _judgement_lists(json.loads(data))
    except (ValueError, RecursionError):
        return None  # lines of JSON, or a fault that the reader of tables names
    if not lists:
        return None

    try:
        return [
            (f"query {number}", part["query"], rating["docId"], rating["rating"])
            for parts in lists
            for number, part in enumerate(parts, 1)
            for rating in part["ratings"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{name}: a query or a rating has another form ({error}); export it again"
        ) from error


def _judgement_lists(value: Any) -> list[list[Any]]:
    """Return the lists of rated queries of OpenSearch in a JSON value."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "ratings" in value[0]:
        return [value]
    if not isinstance(value, dict):
        return []
    if "judgmentRatings" in value:
        return [value["judgmentRatings"]]
    hits = value.get("hits")
    inner = hits.get("hits", []) if isinstance(hits, dict) else []
    parts = [value.get("_source"), *inner]
    return [rated for part in parts for rated in _judgement_lists(part)]


def _from_csv(name: str, data: bytes) -> list[Rating] | None:
    """Return the ratings of a CSV of Quepid; None for one rating on each line, and other tables."""
    with errors_in(name):
        names = TextLines(data, {}).names
        roles = {place: Role("name", (place,)) for place in map(str, range(1, len(names) + 1))}
        source = TextLines(data, roles, header="0")
    lower = [name.lower() for name in names]
    if {*DETAILED} <= {*lower}:
        chosen = [lower.index(name) for name in DETAILED]
    elif names == ["query", "docid", "rating"]:
        chosen = [0, 1, 2]
    else:
        return None

    # a query without ratings is the only cell of its line, and a document may have none
    alone = re.compile(rf'"([^"]|"")*"|[^"{re.escape(source.delimiter)}]*'.encode())
    lines = [(number, item) for number, item in source if not alone.fullmatch(item)]
    has_blank = any(item.endswith(source.delimiter.encode()) for _, item in lines)
    is_plain = not has_blank and len(lines) == sum(1 for _ in source)
    if len(names) == len(chosen) and is_plain:
        return None

    # the ratings that were given
    ratings: list[Rating] = []
    for number, item in lines[1:]:
        place = f"line {number}"
        with errors_in(f"{name}, {place}"):
            values = [*source.values(item).values()]
        query, document, rating = (values[i] for i in chosen)
        if rating is not None:
            ratings.append((place, query, document, rating))
    return ratings


def rankings_of_lines(name: str, data: bytes) -> PolarsFrame | None:
    """Return the table of a run whose lines of JSON hold a ranking each, or None for other files.

    - Predictions of sentence-transformers: ``{"query_id": ..., "results": [{"corpus_id": ...,
      "score": ...}]}``.
    - Rankings without scores: ``{"query_id": ..., "documents": [...]}``, the best document first.

    Raises InputError for a line of another form.
    """
    roles = {key: Role("identity", (key,)) for key in ("query_id", "results", "documents")}
    names = JsonLines(data, roles).names if b'"query_id"' in data[:1000] else []
    if "query_id" not in names or not {"results", "documents"} & {*names}:
        return None

    # a row per document, by score or by falling rank
    rows: list[Any] = []
    for place, record in records_of((name, partial(JsonLines, data)), roles):
        within = place.removeprefix(f"{name}, ")
        try:
            if "results" in record:
                ranked = [(result["corpus_id"], result["score"]) for result in record["results"]]
            else:
                documents = list.copy(record["documents"])  # a text is none
                ranked = [(document, -rank) for rank, document in enumerate(documents)]
            "".join([str(record["query_id"]), *(str(one) for one, _ in ranked)]).encode()
            rows += [(within, record["query_id"], *document) for document in ranked]
        except (ValueError, KeyError, TypeError) as error:
            # a key that is missing, a value of another kind, or half a surrogate pair
            raise InputError(
                f"{place}: not a ranking ({error}); expected query_id, and either results, with "
                "corpus_id and score each, or documents"
            ) from error
    return table_of_rows(rows, "place", "query", "document", "score")
