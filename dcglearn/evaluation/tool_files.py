"""Files of other tools: judgements of Quepid and OpenSearch, JSON rankings."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dcglearn.foundation.sources import kind_of, suffix_of
from dcglearn.foundation.validation import InputError, PolarsFrame, errors_in
from dcglearn.reading.contract import JUDGED
from dcglearn.reading.tables import Table, frame_of

_LOG = logging.getLogger(__name__)

QUEPID = (["query", "docid", "rating"], ["query text", "doc id", "rating"])
"""The columns of query, document and rating in Quepid's exports, plain and detailed."""


def quepid_table(name: str, data: bytes) -> Table | None:
    """Return query, document and grade from a CSV of Quepid; None for other files.

    Queries without ratings have a line of their own, and documents without one a blank; both are
    left out. Raises InputError if there is no rating.
    """
    header = re.split(rb"[,;\t|]", data.partition(b"\n")[0].strip().lower())
    names = [column.strip(b'"').decode(errors="replace") for column in header]
    found = next((its for its in QUEPID if {*its} <= {*names}), None)
    if suffix_of(name) != ".csv" or found is None or (found is QUEPID[0] and names != found):
        return None

    # the ratings that were given
    frame = frame_of(name, data, short_lines=True)
    columns = [frame.columns[names.index(column)] for column in found]
    frame = frame.select(columns).rename(dict(zip(columns, JUDGED, strict=True)))
    is_rated = frame["grade"].is_not_null()
    if not is_rated.any():
        raise InputError(f"{name} holds no rating; rate some documents and export again")
    return Table(frame.filter(is_rated), [(name, frame.height)], np.flatnonzero(is_rated))


def opensearch_frame(name: str, data: bytes) -> PolarsFrame | None:
    """Return query, document and grade from judgements of OpenSearch; None for other files.

    They are ``{"judgmentRatings": [{"query": ..., "ratings": [{"docId": ..., "rating": ...}]}]}``,
    alone, as an array of such queries, or as a saved answer of the server. Ratings stand as they
    are, and may be ESCI's labels, see `grades_of_labels`. Raises InputError if a part is missing.
    """
    if kind_of(name, data) != "json":
        return None
    try:
        lists = _judgement_lists(json.loads(data))
    except (ValueError, RecursionError):
        return None  # lines of JSON, or a fault that the reader of tables names
    if not lists:
        return None

    try:
        ratings = [
            (part["query"], rating["docId"], rating["rating"])
            for parts in lists
            for part in parts
            for rating in part["ratings"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{name}: a query or a rating has another form ({error}); export it again"
        ) from error
    if not ratings:
        raise InputError(f"{name} holds no rating; rate some documents and export again")
    with errors_in(name):
        return table_of_rows(ratings, "query", "document", "grade")


def table_of_rows(rows: Sequence[Any], *roles: str) -> PolarsFrame:
    """Return rows as a table of names, and of numbers in the end, which are texts unless all are.

    Raises InputError for a name that is no plain text.
    """
    # numbers as they are, or as text
    *names, values = ([row[i] for row in rows] for i in range(len(roles)))
    numbers: Any = None
    if {*map(type, values)} <= {float, int}:
        with contextlib.suppress(OverflowError):
            numbers = np.array(values, np.float64)
    if numbers is None:
        numbers = [None if value is None else str(value) for value in values]

    # names as text
    texts = [[None if cell is None else str(cell) for cell in cells] for cells in names]
    try:
        return pl.DataFrame(dict(zip(roles, [*texts, numbers], strict=True)))
    except UnicodeEncodeError as error:  # half a surrogate pair
        raise InputError(f"a query or a document is {error.object!r}; use plain text") from error


def grades_of_labels(name: str, frame: PolarsFrame) -> PolarsFrame:
    """Return judgements with grades in place of ESCI's powers of ten, if they are these."""
    esci = {0: 0, 1: 1, 10: 2, 100: 3}  # irrelevant, complement, substitute, exact
    grades = {*frame["grade"].unique()}
    if 100 not in grades or not grades <= esci.keys():
        return frame
    _LOG.info("%s: the ratings 0, 1, 10 and 100 are read as the grades 0, 1, 2 and 3", name)
    return frame.with_columns(frame["grade"].replace_strict(esci))


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


def rankings_of_lines(name: str, data: bytes) -> PolarsFrame | None:
    """Return the table of a run whose lines of JSON hold a ranking each, or None for other files.

    - Predictions of sentence-transformers: ``{"query_id": ..., "results": [{"corpus_id": ...,
      "score": ...}]}``.
    - Rankings without scores: ``{"query_id": ..., "documents": [...]}``, the best document first.

    Raises InputError for a line of another form.
    """
    lines = data.strip().split(b"\n")
    if b'"query_id"' not in lines[0]:
        return None
    first: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        first = json.loads(lines[0])
    if not isinstance(first, dict) or not {"results", "documents"} & first.keys():
        return None

    # a row per document, by score or by falling rank
    rows: list[Any] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if "results" in record:
                ranked = [(result["corpus_id"], result["score"]) for result in record["results"]]
            else:
                documents = list.copy(record["documents"])  # a text is none
                ranked = [(document, -rank) for rank, document in enumerate(documents)]
            "".join([str(record["query_id"]), *(str(one) for one, _ in ranked)]).encode()
            rows += [(record["query_id"], *document) for document in ranked]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            # a key that is missing, a value of another kind, or half a surrogate pair
            raise InputError(
                f"{name}, line {number}: not a ranking ({error}); expected query_id, and either "
                "results, with corpus_id and score each, or documents"
            ) from error
    return table_of_rows(rows, "query", "document", "score")
