"""Candidates from two runs: what each ranks for a query, with grades from judgements and texts from documents."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dcglearn.evaluation.ranked import in_order
from dcglearn.evaluation.tables import JudgementsLike, RunsLike, read_judgements, read_runs
from dcglearn.foundation.validation import InputError
from dcglearn.judge.candidates import TEXT_LIMITS, Candidates, Item, Pair, distinct
from dcglearn.readers.line_formats import shown

if TYPE_CHECKING:
    import polars as pl

    PathLike = str | os.PathLike[str]

NAMES = ("docno", "doc_id", "docid", "document", "_id", "id")
TITLES = ("title", "headline", "name")
SNIPPETS = ("snippet", "text", "body", "abstract", "contents")
"""Names that the fields of a document may have."""

POLICIES = ("worst", "best", "drop")
"""What a document without a judgement counts as, as in `evaluate`."""

SNIPPET = 300
"""Characters of a document's text that are shown."""


def candidates_from_runs(
    runs: RunsLike,
    qrels: JudgementsLike,
    documents: PathLike | None = None,
    topics: PathLike | None = None,
    *,
    depth: int = 10,
    n_grades: int | None = None,
    unjudged: str = "worst",
) -> Candidates:
    """Return the pairs that two runs make: the first K documents of each, a pair a query.

    Parameters
    ----------
    runs, qrels
        Two runs and their judgements, as for `read_runs` and `read_judgements`.
    documents : path, optional
        JSON lines with a name (`docno`, `doc_id`, `id`), a `title`, and a `snippet` or `text`; `url` and `image`.
        Without it, lists are shown as grades.
    topics : path, optional
        Texts of the queries, a line each: name, tab, text.
    depth, n_grades : int, optional
        K (shorter lists end in positions without a grade), and L where it is larger than that of the judgements.
    unjudged : {"worst", "best", "drop"}
        The grade of documents that nobody has judged; "drop" leaves them out of both lists.

    Raises
    ------
    InputError
        If there are not two runs, they share no judged query, or a file cannot be read.
    """
    systems = read_runs(runs)
    if len(systems) != 2:
        raise InputError(f"{len(systems)} runs ({', '.join(run.name for run in systems)}); give two to compare")
    if unjudged not in POLICIES:
        raise InputError(f"unjudged={unjudged!r}: lists hold grades, so give one of {', '.join(POLICIES)}")
    judged = read_judgements(qrels).frame
    top = max(int(judged["grade"].max() or 0), 1)  # type: ignore[arg-type]
    names = tuple(run.name for run in systems)
    tops = [_top(run.frame, judged, depth, unjudged, top) for run in systems]
    common = [query for query in tops[0] if query in tops[1]]
    if not common:
        raise InputError(f"the runs {names[0]} and {names[1]} have no judged query in common; do the names agree?")
    wanted = {document for lists in tops for query in common for document, _ in lists[query]}
    texts = None if documents is None else _texts(documents, wanted)
    queries = {} if topics is None else dict(_topics(topics))
    pairs = []
    for query in common:
        sides: list[Any] = [_side(lists[query], depth, texts) for lists in tops]
        (a, items_a), (b, items_b) = sides
        pairs.append(Pair(query, a, b, items_a, items_b, text=queries.get(query, "")))
    found = distinct(pairs, max(n_grades or 0, top + 1), (names[0], names[1]))
    counts = Counter(found.dropped)
    counts["queries of one run only"] = len({*tops[0], *tops[1]}) - len(common)
    counts["documents without a text"] = 0 if texts is None else len(wanted - texts.keys())
    found.dropped.update({reason: count for reason, count in counts.items() if count})
    return found


def _top(
    run: pl.DataFrame, judged: pl.DataFrame, depth: int, unjudged: str, top: int
) -> dict[str, list[tuple[str, int]]]:
    """Return the first documents of each judged query, as trec_eval ranks them, with their grades."""
    import polars as pl

    ranked = run.join(judged.select("query").unique(), on="query", how="semi").join(
        judged.select("query", "document", "grade"), on=["query", "document"], how="left"
    )
    if unjudged == "drop":
        ranked = ranked.filter(pl.col("grade").is_not_null())
    counted = pl.col("grade").cast(pl.Int64).clip(0).fill_null(top if unjudged == "best" else 0)
    first = in_order(ranked.with_columns(counted)).group_by("query", maintain_order=True).head(depth)
    lists: dict[str, list[tuple[str, int]]] = {}
    for query, document, grade in first.select("query", "document", "grade").iter_rows():
        lists.setdefault(query, []).append((document, grade))
    return lists


def _side(
    documents: Sequence[tuple[str, int]], depth: int, texts: Mapping[str, Item] | None
) -> tuple[tuple[int, ...], tuple[Item, ...] | None]:
    """Return grades and items of one list, filled to `depth` with positions that hold nothing."""
    missing = depth - len(documents)
    grades = tuple(grade for _, grade in documents) + (-1,) * missing
    if texts is None:
        return grades, None
    items = tuple(texts.get(document, {"title": document}) for document, _ in documents)
    return grades, items + ({},) * missing


def _texts(path: PathLike, wanted: set[str]) -> dict[str, Item]:
    """Return the items of the wanted documents; the file is read line by line, since collections are large."""
    found: dict[str, Item] = {}
    for number, line in _lines(path):
        try:
            document = json.loads(line)
            name = next(str(document[key]) for key in NAMES if key in document)
        except (ValueError, RecursionError, TypeError, StopIteration) as error:
            raise InputError(
                f"{path}, line {number}: {shown(line[:80])} is not a document; give JSON with {', '.join(NAMES[:3])}"
            ) from error
        if name in wanted:
            found[name] = _item(document, name)
            if len(found) == len(wanted):
                break
    return found


def _item(document: dict[str, Any], name: str) -> Item:
    texts = {key: _first(document, keys) for key, keys in (("title", TITLES), ("snippet", SNIPPETS))}
    texts |= {key: _first(document, (key,)) for key in ("url", "image")}
    snippet = texts["snippet"]
    texts["snippet"] = snippet if len(snippet) <= SNIPPET else snippet[: SNIPPET - 3].rsplit(" ", 1)[0] + " ..."
    texts["title"] = texts["title"][: TEXT_LIMITS["title"]] or name
    return {key: text for key, text in texts.items() if text and len(text) <= TEXT_LIMITS[key]}


def _first(document: dict[str, Any], keys: Sequence[str]) -> str:
    return next((" ".join(str(document[key]).split()) for key in keys if document.get(key)), "")


def _topics(path: PathLike) -> Iterator[tuple[str, str]]:
    for number, line in _lines(path):
        name, tab, text = line.decode(errors="replace").strip("\r\n").partition("\t")
        if not tab:
            raise InputError(f"{path}, line {number}: no tab; write a query's name, a tab and its text")
        yield name, text[: TEXT_LIMITS["title"]]


def _lines(path: PathLike) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a plain or gzip file that are not blank, with their numbers."""
    opener: Any = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
