"""Pairs of lists that could be judged, from a file or two runs: grades, and what a rater sees."""

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import lines_of
from dcglearn.foundation.validation import (
    Counts,
    Fields,
    Grades,
    InputError,
    PathLike,
    PolarsFrame,
    errors_in,
)
from dcglearn.reading.judgements import JudgementsLike, read_judgements
from dcglearn.reading.runs import RunsLike, in_order, read_runs

TEXT_LIMITS = {"title": 500, "snippet": 2000, "url": 2000}
"""The fields of an item that are shown, and the most characters of each."""

DOCUMENT = {
    "name": ("docno", "doc_id", "docid", "document", "_id", "id"),
    "title": ("title", "headline", "name"),
    "snippet": ("snippet", "text", "body", "abstract", "contents"),
    "url": ("url",),
}
"""The keys of a document in a collection, by what they hold."""

Item = dict[str, str]


@dataclass(frozen=True)
class Pair:
    """Two lists that could be judged; `key` is equal for equal lists and query in runs and logs."""

    query: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    items_a: tuple[Item, ...] | None = None
    items_b: tuple[Item, ...] | None = None
    intent: str = ""
    text: str = ""

    @cached_property
    def key(self) -> str:
        """Digest of the query and the two lists, in either order."""
        return pair_key(self.query, self.a, self.b, self.items_a, self.items_b)

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of both lists."""
        return (*(self.items_a or ()), *(self.items_b or ()))


def pair_key(
    query: str, a: Sequence[int], b: Sequence[int], items_a: Any = None, items_b: Any = None
) -> str:
    """Return a digest of a query and two lists that does not depend on the order of the lists."""
    sides = sorted(
        json.dumps([list(grades), items], sort_keys=True)
        for grades, items in ((a, items_a), (b, items_b))
    )
    return hashlib.sha256(json.dumps([query, sides]).encode()).hexdigest()[:20]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Distinct pairs that could be judged, of one depth.

    With them stand the names of the grades, and what was left out.
    """

    pairs: tuple[Pair, ...]
    n_grades: int
    dropped: Counts = field(default_factory=dict)
    grade_names: list[str] | None = None

    @cached_property
    def lists(self) -> Grades:
        """The grades, int8 of shape (m, 2, K)."""
        return np.array([(pair.a, pair.b) for pair in self.pairs], np.int8)

    @property
    def depth(self) -> int:
        """K."""
        return int(self.lists.shape[2])

    @property
    def about(self) -> list[str]:
        """Lines on the number of pairs and queries, and on those without documents."""
        queries = number_of(len({pair.query for pair in self.pairs}), "queries")
        sizes = f"{number_of(self.depth, 'positions')}, {number_of(self.n_grades, 'grades')}"
        lines = [f"candidates: {number_of(len(self), 'pairs')}, {queries}; {sizes}"]
        if bare := sum(pair.items_a is None for pair in self.pairs):
            lines.append(
                f"without documents: {number_of(bare, 'pairs')}, of which raters see grades alone; "
                "--documents, or items_a and items_b, show more"
            )
        return lines

    def __len__(self) -> int:
        return len(self.pairs)


def known_pairs(candidates: Candidates) -> list[Pair]:
    """Return pairs with a sure winner: a list best and worst first; most informative ahead."""
    pairs = []
    for pair in candidates.pairs:
        # the first list in both orders, with its items
        places = range(len(pair.a))
        orders = [sorted(places, key=lambda i: sign * pair.a[i]) for sign in (-1, 1)]
        a, b = (tuple(pair.a[i] for i in order) for order in orders)
        items_a, items_b = (
            pair.items_a and tuple(pair.items_a[i] for i in order) for order in orders
        )
        pairs.append(replace(pair, a=a, b=b, items_a=items_a, items_b=items_b))

    # those of unequal grades that are no candidates
    asked = {pair.key for pair in candidates.pairs}
    new = (pair for pair in pairs if pair.a != pair.b and pair.key not in asked)
    return sorted(new, key=lambda pair: (pair.b[0] - pair.a[0], pair.key))


def distinct(
    pairs: Iterable[Pair], n_grades: int | None, lacking: Mapping[str, int] = {}
) -> Candidates:
    """Return informative pairs, each once, and count others; raise InputError if none is left.

    `lacking` counts what else was left out.
    """
    kept: dict[str, Pair] = {}
    dropped = Counter[str]()
    for pair in pairs:
        if pair.a == pair.b:
            dropped["pairs of equal grades"] += 1
        elif pair.key in kept:
            dropped["repeated pairs"] += 1
        else:
            kept[pair.key] = pair

    # there is something to judge
    if not kept:
        raise InputError(
            "no pair to judge: the two lists have equal grades in every candidate "
            f"({dropped.total()}), which tells nothing of a DCG; give candidates whose lists "
            "differ in grades"
        )
    top = max(max(pair.a + pair.b) for pair in kept.values())
    size = max(n_grades or 0, top + 1, 2)
    return Candidates(tuple(kept.values()), size, {**dropped, **lacking})


def read_candidates(path: PathLike, documents: PathLike | None = None) -> Candidates:
    """Read pairs that could be judged.

    A line of JSON is ``{"query": "q1", "query_text": "...", "intent": "...", "a": [3, 0], "b": [2,
    1], "items_a": [{"title": "...", "snippet": "...", "url": "https://..."}, ...], "items_b":
    [...]}``; only `a` and `b` are required. Parquet has such columns; CSV and TSV have grades and
    queries only. With `documents`, as in `candidates_from_runs`, the items are looked up by the
    names in `docs_a` and `docs_b`. Raises InputError, naming file, row and value, if the file
    cannot be read, is larger than 256 MB, or a line is bad: items of another length than the
    grades, say.
    """
    most_bytes = 256 << 20
    if str(path) == "-":
        raise InputError("candidates for a page or prompts are read from a file; name one")
    if Path(path).exists() and Path(path).stat().st_size > most_bytes:
        raise InputError(f"{path} is larger than {most_bytes >> 20} MB; give a sample of its pairs")

    # the columns of a log, and what a rater sees
    from dcglearn.reading.contract import CANDIDATE
    from dcglearn.reading.read import rows_of
    from dcglearn.reading.tables import table_of

    table = table_of(path)
    read = rows_of(table, CANDIDATE)
    values, levels = read.values, read.scale

    # each row is a pair
    rows = zip(values["a"].tolist(), values["b"].tolist(), strict=True)
    pairs = []
    for number, (a, b) in enumerate(rows):
        with errors_in(table.place(number)):
            row = {role: value[number] for role, value in values.items()}
            extra = _extras(row, len(a), named=documents is not None)
            pairs.append(Pair(str(row.get("query", "")), tuple(a), tuple(b), **extra))

    pairs, lacking = _look_up(pairs, documents)
    candidates = distinct(pairs, levels.n_grades, lacking)
    return replace(candidates, grade_names=None if levels.names is None else list(levels.names))


def _extras(row: Fields, n_items: int, *, named: bool) -> Fields:
    """Return the texts and items of a row; with `named`, items are names of documents."""
    items = {}
    for side in ("a", "b"):
        role = f"docs_{side}" if named else f"items_{side}"
        cell = row.get(role)
        its: Any = cell.split("\t") if named and cell else plain_json(cell)
        items[f"items_{side}"] = checked_items(its or None, role, n_items)
    if (items["items_a"] is None) != (items["items_b"] is None):
        raise InputError("items for one list only; give items_a and items_b, or neither")
    text = _text(row.get("text"), "query_text", TEXT_LIMITS["title"])
    return {"text": text, "intent": _text(row.get("intent"), "intent", 2000), **items}


def plain_json(cell: str | None) -> Any:
    """Return what JSON in a cell holds, an object or a list; other text as it is."""
    if cell and cell.startswith(("{", "[")):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(cell, strict=False)
    return cell


def _look_up(pairs: list[Pair], documents: PathLike | None) -> tuple[list[Pair], Counts]:
    """Return the pairs with texts of documents and queries, and how many documents have none."""
    if documents is None:
        return pairs, {}
    items = [item for pair in pairs for item in pair.items]
    if not items:
        raise InputError(
            "the candidates name no documents: give docs_a and docs_b, or leave --documents out"
        )

    # texts in place of names
    wanted = {item["title"] for item in items if item}
    texts, queries = texts_of(documents, wanted, {pair.query for pair in pairs if not pair.text})
    for item in items:
        item.update(texts.get(item.get("title", ""), {}))
    lacking = len(wanted - texts.keys())
    pairs = [replace(pair, text=pair.text or queries.get(pair.query, "")) for pair in pairs]
    return pairs, {"documents without a text": lacking} if lacking else {}


def checked_items(items: Any, role: str, n_items: int) -> tuple[Item, ...] | None:
    """Return a list's items by position, or None; raise InputError if wrong.

    Items have the fields of `TEXT_LIMITS`.
    """
    if items is None:
        return None
    if not isinstance(items, list):
        raise InputError(f"{role} is {items!r}, not a list of objects with title, snippet, url")

    # one for each grade
    if len(items) != n_items:
        raise InputError(
            f"{role} has {len(items)} items for {n_items} grades; "
            "give one a grade, {} where unknown"
        )
    return tuple(_item(item, f"{role}[{position}]") for position, item in enumerate(items))


def _item(item: Any, role: str) -> Item:
    if item is None:
        return {}
    if isinstance(item, str):
        item = {"title": item}
    if not isinstance(item, dict):
        raise InputError(f"{role} is {item!r}, not an object with title, snippet, url")
    texts = {
        name: _text(item.get(name), f"{role}.{name}", most) for name, most in TEXT_LIMITS.items()
    }
    return {name: text for name, text in texts.items() if text}


def _text(value: Any, role: str, most: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{role} is {value!r}; use text")
    if len(value) > most:
        raise InputError(
            f"{role} has {len(value)} characters; at most {most} are shown: shorten it"
        )

    # half a surrogate pair is no text
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{role} is {value!r}; use plain text") from error
    return value


def is_web_address(url: str) -> bool:
    """Return whether a page may link to an address: plain http or https."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    plain = host.isascii() and all(mark.isalnum() or mark in ".-:" for mark in host)
    return parts.scheme in ("http", "https") and host != "" and plain


def seen_items(items: Sequence[Mapping[str, str]]) -> list[Item]:
    """Return the items as a page may show them: with http(s) addresses only."""
    return [
        {name: text for name, text in item.items() if name != "url" or is_web_address(text)}
        for item in items
    ]


def candidates_from_runs(
    judgements: JudgementsLike,
    runs: RunsLike,
    documents: PathLike | None = None,
    *,
    depth: int = 10,
) -> Candidates:
    """Return the pairs that two runs make: the first K documents of each, a pair a query.

    `documents` are JSON lines with a name (`docno`, `doc_id`, `id`), a `title`, a `snippet` or
    `text`, and a `url`; without them, lists are shown as grades. Lines without a name hold the text
    of a query: `query` and `text`. A document without a judgement counts as grade 0; lists shorter
    than `depth` end in positions without a grade. Raises InputError if there are not two runs, they
    share no judged query, or a file cannot be read.
    """
    systems = read_runs(runs)
    if len(systems) != 2:
        raise InputError(
            f"{len(systems)} runs ({', '.join(run.name for run in systems)}); give two to compare"
        )

    # the first documents of both runs
    judged = read_judgements(judgements).frame
    top = max(int(judged["grade"].max() or 0), 1)  # type: ignore[arg-type]
    first, second = (_top(run.frame, judged, depth) for run in systems)
    names = (systems[0].name, systems[1].name)
    common = [query for query in first if query in second]
    if not common:
        raise InputError(
            f"the runs {names[0]} and {names[1]} have no judged query in common; "
            "do the names agree?"
        )

    # a pair a query
    pairs = []
    for query in common:
        (a, items_a), (b, items_b) = first[query], second[query]
        pair = Pair(query, a, b)
        pairs.append(pair if documents is None else replace(pair, items_a=items_a, items_b=items_b))

    of_one = len(first.keys() ^ second.keys())
    pairs, lacking = _look_up(pairs, documents)
    lacking = ({"queries of one run only": of_one} if of_one else {}) | {**lacking}
    return distinct(pairs, top + 1, lacking)


def _top(
    run: PolarsFrame, judged: PolarsFrame, depth: int
) -> dict[str, tuple[tuple[int, ...], tuple[Item, ...]]]:
    """Return grades and names of the first documents of each judged query.

    Documents rank as in trec_eval; positions without one are filled up to `depth`.
    """
    import polars as pl

    # the lines of judged queries with their grades
    ranked = run.join(judged.select("query").unique(), on="query", how="semi").join(
        judged.select("query", "document", "grade"), on=["query", "document"], how="left"
    )
    counted = pl.col("grade").cast(pl.Int64).clip(0).fill_null(0)

    # the first of each query
    by_query = in_order(ranked.with_columns(counted)).group_by("query", maintain_order=True)
    first = by_query.agg(pl.col("document", "grade").head(depth))
    lists = {}
    for query, names, grades in first.iter_rows():
        n_empty = depth - len(names)
        items = [*({"title": name} for name in names), *({} for _ in range(n_empty))]
        lists[query] = (*grades, *[-1] * n_empty), tuple(items)
    return lists


def texts_of(
    path: PathLike, wanted: set[str], queries: set[str]
) -> tuple[dict[str, Item], dict[str, str]]:
    """Return the items of documents, and the texts of queries, that are wanted, by name.

    Lines are read one by one, since collections are large, until all are there.
    """
    items: dict[str, Item] = {}
    texts: dict[str, str] = {}
    keys = DOCUMENT["name"]
    for number, line in lines_of(path):
        try:
            document = json.loads(line)
            name = next((str(document[key]) for key in keys if key in document), None)
            query = str(document["query"]) if name is None else ""

        # neither a document nor a query
        except (ValueError, RecursionError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}, line {number}: {line[:80]!r} is not a document; "
                f"give JSON with {', '.join(keys[:3])}, or the text of a query"
            ) from error

        # stop when all are there
        if name is None and query in queries:
            texts[query] = _item_of(document, query).get("snippet", "")
        elif name in wanted:
            items[name] = _item_of(document, name)
        if len(items) == len(wanted) and len(texts) == len(queries):
            break
    return items, texts


def _item_of(document: Fields, name: str) -> Item:
    """Return the fields of a document that are shown, of long texts the first 300 characters."""
    texts = {}
    for part, most in TEXT_LIMITS.items():
        text = next((str(document[key]) for key in DOCUMENT[part] if document.get(key)), "")
        text = " ".join(text.split())
        if part == "title":
            text = text[:most] or name
        if part == "snippet" and len(text) > 300:
            text = text[:297].rsplit(" ", 1)[0] + " ..."
        if text and len(text) <= most:
            texts[part] = text
    return texts
