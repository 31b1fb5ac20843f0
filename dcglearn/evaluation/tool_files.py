"""Files of other tools: judgements of Quepid and OpenSearch, rankings as JSON lines, responses of
``_rank_eval``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcglearn.evaluation.trec import Duplicates, Judgements, Run, first_repeated
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import content, suffix_of
from dcglearn.foundation.validation import InputError, PathLike, PolarsFrame, listed
from dcglearn.readers.line_formats import BLANK, JsonLines, checked_score, numbered_lines

Rating = tuple[str, Any, Any, Any]  # place in the file, query, document, rating

LARGEST = 1e15
"""Largest number that is read as a grade; which grades a metric has is checked later."""

FORMULA = ("-", "=", "+", "@")
"""First characters before which Quepid writes a blank, so that spreadsheets do not take a query for
a formula.
"""


def table_of_tool(name: str, data: bytes, duplicates: Duplicates = "error") -> PolarsFrame | None:
    """Return the table in a file of these tools, with query, document and grade; None for other
    files.

    - OpenSearch: ``{"judgmentRatings": [{"query": ..., "ratings": [{"docId": ..., "rating":
      ...}]}]}``, alone, as an
      array of such queries, or as a saved answer of the server.
    - A request of ``_rank_eval``: ``{"requests": [{"id": ..., "ratings": [{"_index", "_id",
      "rating"}]}]}``.
    - Quepid's export for RRE: ``{"queries": [{"placeholders": {"$query": ...},
      "relevant_documents": {...}}]}``.
    - Quepid's CSV ``query,docid,rating``, where queries without ratings have a line of their own,
      which is left out.
    - Quepid's book: CSV with ``query,docid`` and a column for each rater, and a row for each rating
      in the table; where
      `duplicates` are an error, the same rating by several counts once.

    Raises InputError if a part is missing, or a rating is not a whole number; the message names the
    place.
    """
    import polars as pl

    suffix = suffix_of(name)
    if suffix not in (".json", ".csv"):
        return None
    ratings = _from_json(name, data) if suffix == ".json" else _from_csv(name, data)
    if ratings is None:
        return None
    rows = [
        (
            str(query),
            str(document),
            _grade(f"{name}, {place}", f"{document!r} for the query {query!r}", rating),
        )
        for place, query, document, rating in ratings
    ]
    if not rows:
        raise InputError(f"{name} holds no rating; rate some documents and export again")
    kinds = {"query": pl.String, "document": pl.String, "grade": pl.Int64}
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    return table.unique(maintain_order=True) if duplicates == "error" else table


def _grade(place: str, document: str, rating: Any) -> int:
    try:
        number = float("nan" if isinstance(rating, bool) else rating)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (number.is_integer() and abs(number) <= LARGEST):
        raise InputError(
            f"{place}: the rating {rating!r} of document {document} is not a whole number; turn ratings into grades "
            "0, 1, 2, ... first, 0 = worst"
        )
    return int(number)


def _from_json(name: str, data: bytes) -> list[Rating] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None  # lines of JSON, or a fault that the reader of tables names
    requests, queries = (
        value.get(key) if isinstance(value, dict) else None for key in ("requests", "queries")
    )
    lists = [("query", "query", "docId", parts) for parts in _judgement_lists(value)]
    if not lists and isinstance(requests, list):
        lists = [("request", "id", "_id", requests)]
    try:
        if lists:
            return [
                (f"{kind} {number}", part[query], rating[document], rating["rating"])
                for kind, query, document, parts in lists
                for number, part in enumerate(parts, 1)
                for rating in part["ratings"]
            ]
        if isinstance(queries, list):
            return [
                row
                for number, part in enumerate(queries, 1)
                for row in _rre_rows(f"query {number}", part)
            ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{name}: a query or a rating has another form ({error}); export it again"
        ) from error
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


def rankings_of_lines(name: str, data: bytes) -> PolarsFrame | None:
    """Return the table of a run whose lines of JSON hold a ranking each, or None for other files.

    - Predictions of sentence-transformers: ``{"query_id": ..., "results": [{"corpus_id": ...,
      "score": ...}]}``.
    - Rankings without scores: ``{"query_id": ..., "documents": [...]}``, the best document first.

    Raises InputError for a line of another form.
    """
    import polars as pl

    keys = set(JsonLines(data, {}).names if b'"query_id"' in data[:1000] else ())
    if not {"query_id"} < keys & {"query_id", "results", "documents"}:
        return None
    rows: list[tuple[str, str, float]] = []
    for number, line in numbered_lines(data):
        try:
            value = json.loads(line)
            if "results" in value:
                ranked = [(found["corpus_id"], found["score"]) for found in value["results"]]
            else:
                ranked = [(document, -rank) for rank, document in enumerate(value["documents"])]
            query = str(value["query_id"])
            "".join(
                [query, *(str(document) for document, _ in ranked)]
            ).encode()  # half a surrogate pair is refused
            rows += [
                (query, str(document), checked_score(score, "score")) for document, score in ranked
            ]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{name}, line {number}: not a ranking ({error}); expected query_id, and either results, with "
                "corpus_id and score each, or documents"
            ) from error
    return pl.DataFrame(
        rows, schema={"query": pl.String, "document": pl.String, "score": pl.Float64}, orient="row"
    )


def _from_csv(name: str, data: bytes) -> list[Rating] | None:
    """Return the ratings of a CSV of Quepid; None if every line has one rating, and for other
    tables.
    """
    try:
        text = data.decode()
        lines = csv.reader(io.StringIO(text, newline=""))
        (_, header), *rows = [(lines.line_num, fields) for fields in lines]
    except (UnicodeDecodeError, csv.Error):
        return None  # the reader of tables says where
    if header[:2] != ["query", "docid"] or len(header) < 3:
        return None
    if header[2:] == ["rating"] and not any(line and "," not in line for line in text.splitlines()):
        return None
    ratings: list[Rating] = []
    for number, fields in rows:
        place = f"line {number}"
        if len(fields) not in (0, 1, len(header)):
            raise InputError(
                f"{name}, {place}: {len(fields)} fields where the header has {len(header)}"
            )
        query = (
            fields[0][1:]
            if fields and fields[0][:1] == " " and fields[0][1:2] in FORMULA
            else "".join(fields[:1])
        )
        ratings += [
            (place, query, fields[1], rating) for rating in fields[2:] if rating.strip(BLANK)
        ]
    return ratings


ENDPOINTS = {
    "hits": "_search",
    "responses": "_msearch",
    "docs": "_mget",
    "items": "_bulk",
    "aggregations": "_search",
    "_source": "a single document",
    "judgmentRatings": "OpenSearch's judgement lists",
    "count": "_count",
    "explanation": "_explain",
}
"""Keys of other responses, by which they are recognised."""


@dataclass(frozen=True, eq=False)
class RankEval:
    """A response of ``_rank_eval``.

    `run` holds the hits in order, and `rated` those that are rated, with columns ``query``,
    ``document``, ``grade``. `queries` are those with details, with hits or without; `failures` maps
    the queries that failed to the reason.
    """

    run: Run
    rated: PolarsFrame
    queries: tuple[str, ...]
    failures: dict[str, str]

    @property
    def longest(self) -> int:
        """The largest number of hits of a query."""
        counts = self.run.frame["query"].value_counts()["count"]
        return int(counts.max() or 0)  # type: ignore[arg-type]


def read_rank_eval(path: PathLike) -> RankEval:
    """Read a saved response of ``_rank_eval``, also compressed (.gz, .zst, .xz); ``-`` is standard
    input.

    Documents are named by their ``_id``; they keep the order of the response, whatever their
    scores. Raises InputError if the file is the response of another endpoint, an error, or the
    request; if a hit has no ``_id``, a document occurs twice in the hits of a query, a rating is
    not a whole number, or no query has a hit.

    See Also
    --------
    evaluate : Evaluate what it returns.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> hits = [{"hit": {"_id": "d1"}, "rating": 2}, {"hit": {"_id": "d2"}, "rating": None}]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "saved.json")
    ...     _ = path.write_text(json.dumps({"metric_score": 1.0, "details": {"q1": {"hits": hits}}}))
    ...     saved = dl.read_rank_eval(path)
    >>> saved.run.frame["document"].to_list(), len(saved.rated)
    (['d1', 'd2'], 1)
    """
    import polars as pl

    name, data = content(path, "the response of _rank_eval")
    body = _body(name, data)
    rows: list[tuple[str, str, int | None, int]] = []
    for query, detail in body["details"].items():
        place = f"{name}, query {query!r}"
        hits = detail.get("hits") if isinstance(detail, dict) else None
        if not isinstance(hits, list):
            raise InputError(
                f"{place} has no list of hits; save the whole response, without filter_path"
            )
        rows += [(query, *_hit(f"{place}, hit {i + 1}", item), i) for i, item in enumerate(hits)]
    if not rows:
        raise InputError(f"{name}: no query has a hit, so there is nothing to evaluate")
    kinds = {"query": pl.String, "document": pl.String, "grade": pl.Int64, "rank": pl.Int64}
    frame = pl.DataFrame(rows, schema=kinds, orient="row")
    twice = first_repeated(frame, ["query", "document"])
    if twice is not None:
        raise InputError(
            f"{name}, query {twice['query']!r}: the document {twice['document']!r} is among the hits more than once "
            "(in several indices?); evaluate one index at a time"
        )
    run = Run(
        frame.select("query", "document", score=-pl.col("rank").cast(pl.Float64)), Path(name).name
    )
    rated = frame.filter(pl.col("grade").is_not_null()).select("query", "document", "grade")
    failures = {str(query): _reason(fault) for query, fault in (body.get("failures") or {}).items()}
    return RankEval(run, rated, tuple(body["details"]), failures)


def _body(name: str, data: bytes) -> dict[str, Any]:
    """Return the object with the details; raise InputError for what is not a response of
    _rank_eval.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name}: not valid JSON ({error}); save the response of _rank_eval as it is"
        ) from error
    remedy = "; save the response of POST INDEX/_rank_eval"
    if not isinstance(value, dict):
        raise InputError(
            f"{name} holds a JSON {type(value).__name__}, not the response of _rank_eval{remedy}"
        )
    body = value["rank_eval"] if isinstance(value.get("rank_eval"), dict) else value
    if isinstance(body.get("details"), dict) and "metric_score" in body:
        return body
    if "error" in value:
        raise InputError(f"{name} is an error of the server, not a response: {_reason(value)}")
    if "requests" in value:
        raise InputError(
            f"{name} is the request of a _rank_eval, not its response{remedy}; give that by --qrels"
        )
    endpoint = next((endpoint for key, endpoint in ENDPOINTS.items() if key in value), None)
    kind = (
        "another JSON"
        if endpoint is None
        else f"the response of {endpoint}"
        if endpoint[0] == "_"
        else endpoint
    )
    raise InputError(
        f"{name} is {kind}, not the response of _rank_eval (its keys are {listed(list(value))}){remedy}"
    )


def _hit(place: str, item: Any) -> tuple[str, int | None]:
    """Return the document of a hit, and its grade or None."""
    hit = item.get("hit") if isinstance(item, dict) else None
    document = hit.get("_id") if isinstance(hit, dict) else None
    if not isinstance(document, (str, int)):
        raise InputError(f"{place} has no _id; save the whole response, without filter_path")
    rating = item.get("rating")
    return str(document), None if rating is None else _grade(place, repr(document), rating)


def _reason(fault: Any) -> str:
    """Return the reason in an error of the server."""
    while isinstance(fault, dict) and isinstance(fault.get("error"), dict):
        fault = fault["error"]
    reason = fault.get("reason") or fault.get("error") if isinstance(fault, dict) else None
    return str(reason or json.dumps(fault))


def judgements_of_hits(responses: Sequence[RankEval], n_grades: int | None = None) -> Judgements:
    """Return the ratings among hits: enough for DCG, not NDCG; raise InputError if they differ, or
    there is none.
    """
    import polars as pl

    names = ", ".join(response.run.name for response in responses)
    rated = pl.concat([response.rated for response in responses]).unique(maintain_order=True)
    if not len(rated):
        raise InputError(
            f"{names}: no hit is rated; do _index and _id of ratings and hits agree?", see="names"
        )
    differing = first_repeated(rated, ["query", "document"])
    if differing is not None:
        query, document, grade = differing.values()
        raise InputError(
            f"{names} rate the document {document!r} for the query {query!r} differently ({grade}, ...)"
        )
    queries = dict.fromkeys(query for response in responses for query in response.queries)
    bare = [query for query in queries if query not in set(rated["query"])]
    empty = pl.DataFrame(
        {"query": bare, "document": [""] * len(bare), "grade": [0] * len(bare)}, schema=rated.schema
    )
    return Judgements(pl.concat([rated, empty]), names, n_grades)  # type: ignore[arg-type]


def notes_of_responses(responses: Sequence[RankEval], judged: Judgements, depth: int) -> list[str]:
    """Return sentences on failures, queries without judgements, ratings that differ, and lists that
    are short.
    """
    judged_queries = set(judged.frame["query"])
    notes = []
    for response in responses:
        name = response.run.name
        for query, reason in list(response.failures.items())[:1]:
            notes.append(
                f"{name}: {number_of(len(response.failures), 'queries')} failed there, such as {query!r} ({reason})"
            )
        unknown = [query for query in response.queries if query not in judged_queries]
        if unknown:
            left = number_of(len(unknown), "queries")
            notes.append(f"{name}: {left} without a judgement, such as {unknown[0]!r}, left out")
        both = response.rated.join(judged.frame, on=["query", "document"], suffix=" of judgements")
        differing = int((both["grade"] != both["grade of judgements"]).sum())
        if differing:
            notes.append(
                f"{name}: {number_of(differing, 'ratings')} unlike those of {judged.name}, whose grades count"
            )
        if response.longest < depth:
            notes.append(
                f"{name}: at most {response.longest} hits a query, while the metric counts {depth} positions; ask for "
                'more by "k" in the metric of the request'
            )
    return notes
