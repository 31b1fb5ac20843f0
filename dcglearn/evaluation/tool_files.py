"""Files of other tools: judgements of Quepid and OpenSearch, JSON rankings, ``_rank_eval``."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dcglearn.evaluation.trec import Duplicates, Judgements, Run, first_repeated
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import content, kind_of, suffix_of
from dcglearn.foundation.validation import InputError, PathLike, PolarsFrame, errors_in, listed
from dcglearn.readers.cell_values import checked_score, shown
from dcglearn.readers.column_roles import Role
from dcglearn.readers.line_formats import JsonLines, TextLines, as_plain
from dcglearn.readers.openers import records_of

_LOG = logging.getLogger(__name__)

Rating = tuple[str, Any, Any, Any]  # place in the file, query, document, rating


RRE = ("topics", "query_groups", "queries")
"""Keys of the lists in a file of RRE, each of which holds objects with the next."""

DETAILED = ("query text", "doc id", "rating")
"""Columns of Quepid's detailed export of judgements."""


def table_of_tool(
    name: str, data: bytes, duplicates: Duplicates = "error"
) -> tuple[PolarsFrame | None, bool]:
    """Return query, document and grade from a file of these tools; None for other files.

    - OpenSearch: ``{"judgmentRatings": [{"query": ..., "ratings": [{"docId": ..., "rating":
      ...}]}]}``, alone, as an array of such queries, or as a saved answer of the server. Ratings
      may be ESCI's labels, see `grades_of_labels`, which is returned beside the table.
    - A request of ``_rank_eval``: ``{"requests": [{"id": ..., "ratings": [{"_index", "_id",
      "rating"}]}]}``.
    - RRE, and Quepid's export for it: ``{"queries": [{"placeholders": {"$query": ...},
      "relevant_documents": {...}}]}``, alone or in the groups of topics, which hold the documents.
    - Quepid's CSV ``query,docid,rating``, where queries without ratings have a line of their own,
      and documents without one a blank, which are left out; and its detailed form, with the columns
      ``Query Text``, ``Doc ID`` and ``Rating`` among others.
    - Quepid's book: CSV with ``query,docid`` and a column for each rater, and a row for each rating
      in the table; where `duplicates` are an error, the same rating by several counts once.

    Ratings are as they stand, and a column `place` tells where. Raises InputError if a part is
    missing.
    """
    ratings, is_opensearch = None, False
    if kind_of(name, data) == "json":
        ratings, is_opensearch = _from_json(name, data)
    elif suffix_of(name) == ".csv":
        ratings = _from_csv(name, data)
    if ratings is None:
        return None, False
    if not ratings:
        raise InputError(f"{name} holds no rating; rate some documents and export again")

    roles = "query", "document", "grade"
    with errors_in(name):
        table = table_of_rows(ratings, "place", *roles)
    if duplicates == "error":
        table = table.unique(roles, keep="first", maintain_order=True)
    return table, is_opensearch


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


def _frame(rows: Sequence[tuple[Any, ...]], *further: str) -> PolarsFrame:
    """Return rows of a query, a document, a grade and further numbers as a table."""
    import polars as pl

    kinds = {"query": pl.String, "document": pl.String}
    return pl.DataFrame(rows, schema=kinds | dict.fromkeys(("grade", *further), int), orient="row")


def _grade(place: str, document: str, rating: Any) -> int:
    """Return a whole number as a grade; which grades a metric has is checked later."""
    number = float("nan")
    with contextlib.suppress(InputError):
        number = checked_score(rating, "rating")
    if not (number.is_integer() and abs(number) <= 1e15):
        raise InputError(
            f"{place}: the rating {rating!r} of document {document} is not a whole number; "
            "name the grades of a judgement list, worst first (scale=, --scale 0,.5,1), or cut its "
            "fractions (cutoffs=, --cutoffs .2,.5,.8)"
        )
    return int(number)


def _from_json(name: str, data: bytes) -> tuple[list[Rating] | None, bool]:
    """Return the ratings in JSON of these tools, and whether the tool is OpenSearch."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None, False  # lines of JSON, or a fault that the reader of tables names

    # the queries, and how each holds its ratings
    lists: list[Iterable[Any]] = [*_judgement_lists(value)]
    are_opensearch = bool(lists)
    inside = value if isinstance(value, dict) else {}
    ratings_of: Callable[[dict[str, Any]], Iterator[tuple[Any, Any, Any]]]
    kind, ratings_of = "query", partial(_listed, query="query", document="docId")

    # requests of _rank_eval, files of RRE
    if not lists and isinstance(inside.get("requests"), list):
        lists = [inside["requests"]]
        kind, ratings_of = "request", partial(_listed, query="id", document="_id")
    elif not lists and any(isinstance(inside.get(key), list) for key in RRE):
        lists, ratings_of = [_rre_queries(inside)], _of_rre
    if not lists:
        return None, False

    try:
        ratings = [
            (f"{kind} {number}", *rating)
            for parts in lists
            for number, part in enumerate(parts, 1)
            for rating in ratings_of(part)
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{name}: a query or a rating has another form ({error}); export it again"
        ) from error
    return ratings, are_opensearch


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


def _listed(part: dict[str, Any], query: str, document: str) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the ratings of a query of OpenSearch or of a request, by the keys that name them."""
    for rating in part["ratings"]:
        yield part[query], rating[document], rating["rating"]


def _rre_queries(part: Any) -> Iterator[dict[str, Any]]:
    """Yield the queries in an object of RRE, with the documents of their group."""
    for key in RRE:
        for inner in part.get(key, ()):
            yield from [{**part, **inner}] if key == "queries" else _rre_queries(inner)


def _of_rre(part: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the ratings of a query of RRE."""
    query = part["placeholders"]["$query"]
    for key, value in part["relevant_documents"].items():
        if isinstance(value, list):  # a rating and its documents, as Quepid writes
            yield from ((query, document, key) for document in value)
        else:  # a document and its gain, as RRE's own files have it
            yield query, key, value["gain"]


def _from_csv(name: str, data: bytes) -> list[Rating] | None:
    """Return the ratings of a CSV of Quepid; None for one rating on each line, and other tables."""
    with errors_in(name):
        names = TextLines(data, {}).names
        roles = {place: Role("name", (place,)) for place in map(str, range(1, len(names) + 1))}
        source = TextLines(data, roles, header="0")
    lower = [name.lower() for name in names]
    if {*DETAILED} <= {*lower}:
        chosen = [lower.index(name) for name in DETAILED]
    elif names[:2] == ["query", "docid"] and len(names) > 2:
        chosen = [*range(len(names))]
    else:
        return None

    # a query without ratings is the only cell of its line, and a document may have none
    alone = re.compile(rf'"([^"]|"")*"|[^"{re.escape(source.delimiter)}]*'.encode())
    lines = [(number, item) for number, item in source if not alone.fullmatch(item)]
    has_blank = any(item.endswith(source.delimiter.encode()) for _, item in lines)
    if names[2:] == ["rating"] and not has_blank and len(lines) == sum(1 for _ in source):
        return None

    # a rating for each rater who gave one
    ratings: list[Rating] = []
    for number, item in lines[1:]:
        place = f"line {number}"
        with errors_in(f"{name}, {place}"):
            values = [*source.values(item).values()]
        query, document, *cells = (values[i] for i in chosen)
        ratings += [(place, query, document, rating) for rating in cells if rating is not None]
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
    """Read a saved response of ``_rank_eval``, also compressed; ``-`` is standard input.

    Compressed files end in .gz, .zst or .xz.

    Documents are named by their ``_id``; they keep the order of the response, not of their
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
    ...     response = {"metric_score": 1.0, "details": {"q1": {"hits": hits}}}
    ...     _ = path.write_text(json.dumps(response))
    ...     saved = dl.io.read_rank_eval(path)
    >>> saved.run.frame["document"].to_list(), len(saved.rated)
    (['d1', 'd2'], 1)
    """
    import polars as pl

    name, data = content(path, "the response of _rank_eval")
    body = _body(name, data)

    # the hits of every query
    rows: list[tuple[str, str, int | None, int]] = []
    for query, detail in body["details"].items():
        place = f"{name}, query {query!r}"
        # each with its list of hits
        hits = detail.get("hits") if isinstance(detail, dict) else None
        if not isinstance(hits, list):
            raise InputError(
                f"{place} has no list of hits; save the whole response, without filter_path"
            )
        rows += [(query, *_hit(f"{place}, hit {i + 1}", item), i) for i, item in enumerate(hits)]
    if not rows:
        raise InputError(f"{name}: no query has a hit, so there is nothing to evaluate")

    # each document once
    frame = _frame(rows, "rank")
    twice = first_repeated(frame, ["query", "document"])
    if twice is not None:
        raise InputError(
            f"{name}, query {twice['query']!r}: the document {twice['document']!r} is among the "
            "hits more than once (in several indices?); evaluate one index at a time"
        )

    # hits as a run, rated ones as judgements
    hits = frame.select("query", "document", score=-pl.col("rank").cast(pl.Float64))
    rated = frame.drop_nulls("grade").drop("rank")
    failures = {str(query): _reason(fault) for query, fault in (body.get("failures") or {}).items()}
    return RankEval(Run(hits, Path(name).name), rated, tuple(body["details"]), failures)


def _body(name: str, data: bytes) -> dict[str, Any]:
    """Return the object with the details; raise InputError unless it is from _rank_eval."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name}: not valid JSON ({error}); save the response of _rank_eval as it is"
        ) from error

    # a response, alone or inside an older one
    keys = value if isinstance(value, dict) else {}
    body = keys["rank_eval"] if isinstance(keys.get("rank_eval"), dict) else keys
    if isinstance(body.get("details"), dict) and "metric_score" in body:
        return body

    # what it is instead
    remedy = "save the response of POST INDEX/_rank_eval"
    if not isinstance(value, dict):
        kind = f"holds a JSON {type(value).__name__}, not the response of _rank_eval"
    elif "error" in value:
        kind, remedy = f"is an error of the server, not a response: {_reason(value)}", ""
    elif "requests" in value:
        kind = "is the request of a _rank_eval, not its response"
        remedy += "; give that by --qrels"
    # perhaps the response of another endpoint
    else:
        kind = (
            f"is {_other_response(value)}, not the response of _rank_eval (its keys are "
            f"{listed(list(value))})"
        )
    raise InputError(f"{name} {kind}{remedy and f'; {remedy}'}")


def _other_response(value: dict[str, Any]) -> str:
    """Return what a JSON object is that is no response of _rank_eval, by its keys."""
    kinds = {
        "hits": "the response of _search",
        "responses": "the response of _msearch",
        "docs": "the response of _mget",
        "items": "the response of _bulk",
        "aggregations": "the response of _search",
        "_source": "a single document",
        "judgmentRatings": "OpenSearch's judgement lists",
        "count": "the response of _count",
        "explanation": "the response of _explain",
    }
    return next((kind for key, kind in kinds.items() if key in value), "another JSON")


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
    """Return the ratings among hits: enough for DCG, not NDCG; InputError if they differ."""
    import polars as pl

    names = ", ".join(response.run.name for response in responses)
    rated = pl.concat([response.rated for response in responses]).unique(maintain_order=True)
    if not len(rated):
        raise InputError(
            f"{names}: no hit is rated; do _index and _id of ratings and hits agree?", see="names"
        )

    # a document has one grade
    differing = first_repeated(rated, ["query", "document"])
    if differing is not None:
        query, document, grade = differing.values()
        raise InputError(
            f"{names} rate the document {document!r} for the query {query!r} differently "
            f"({grade}, ...)"
        )

    # queries without a rated hit count too
    queries = dict.fromkeys(query for response in responses for query in response.queries)
    bare = _frame([(query, "", 0) for query in queries if query not in set(rated["query"])])
    return Judgements(pl.concat([rated, bare]), names, n_grades)  # type: ignore[arg-type]


def notes_of_responses(responses: Sequence[RankEval], judged: Judgements, depth: int) -> list[str]:
    """Return notes on failures, queries without judgements, differing ratings and short lists."""
    judged_queries = set(judged.frame["query"])
    notes = []
    for response in responses:
        name = response.run.name

        # queries that failed, or have no judgement
        if response.failures:
            query, reason = next(iter(response.failures.items()))
            failed = number_of(len(response.failures), "queries")
            notes.append(f"{name}: {failed} failed there, such as {query!r} ({reason})")
        unknown = [query for query in response.queries if query not in judged_queries]
        if unknown:
            left = number_of(len(unknown), "queries")
            notes.append(f"{name}: {left} without a judgement, such as {unknown[0]!r}, left out")

        # ratings that differ
        both = response.rated.join(judged.frame, on=["query", "document"], suffix=" of judgements")
        differing = int((both["grade"] != both["grade of judgements"]).sum())
        if differing:
            ratings = number_of(differing, "ratings")
            notes.append(f"{name}: {ratings} unlike those of {judged.name}, whose grades count")

        if response.longest < depth:
            notes.append(
                f"{name}: at most {response.longest} hits a query, while the metric counts {depth} "
                'positions; ask for more by "k" in the metric of the request'
            )
    return notes
