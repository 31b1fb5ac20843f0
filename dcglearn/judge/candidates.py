"""Pairs of lists that could be judged, from a file or two runs: grades, and what a rater sees."""

import contextlib
import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import EMPTY, Counts, Fields, Grades, InputError, errors_in
from dcglearn.reading.contract import CANDIDATE
from dcglearn.reading.judgements import JudgementsLike, read_judgements
from dcglearn.reading.read import rows_of
from dcglearn.reading.run_lists import with_runs
from dcglearn.reading.runs import RunsLike, read_runs
from dcglearn.reading.shapes import with_grades
from dcglearn.reading.tables import table_of

NAMES = ("docno", "doc_id", "docid", "document", "_id", "id")
"""The keys of a document's name."""

SHOWN = (
    ("title", "title headline name", 500),
    ("snippet", "snippet", 2000),
    ("snippet", "text body abstract contents", 300),
    ("url", "url", 2000),
)
"""The parts of an item, the keys of a document that fill each, and how many characters at most."""

WEB_ADDRESS = re.compile(
    r"(?=.{,2000}\Z)https?://([^\s/?#@]*@)?[a-z0-9.-]+(:\d{1,5})?([/?#].*)?", re.I | re.A
)
"""An address of the web: a user if any, a host, a port if any, and what follows."""

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
        sides = sorted(
            json.dumps([grades, items], sort_keys=True)
            for grades, items in ((self.a, self.items_a), (self.b, self.items_b))
        )
        return hashlib.sha256(json.dumps([self.query, sides]).encode()).hexdigest()[:20]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Distinct pairs that could be judged, of one depth.

    With them stand the names of the grades, and what was left out.
    """

    pairs: tuple[Pair, ...]
    n_grades: int
    dropped: Counts = field(default_factory=dict)
    grade_names: Sequence[str] | None = None

    @cached_property
    def lists(self) -> Grades:
        """The grades, int8 of shape (m, 2, K)."""
        return np.array([(pair.a, pair.b) for pair in self.pairs], np.int8)

    @property
    def n_bare(self) -> int:
        """The number of pairs without documents."""
        return sum(pair.items_a is None for pair in self.pairs)

    @property
    def open_rows(self) -> list[Fields]:
        """The pairs as rows of a log, whose `winner` is open."""
        return [
            {"query": pair.query, "a": pair.a, "b": pair.b, "winner": "open"} for pair in self.pairs
        ]

    @property
    def about(self) -> list[str]:
        """Lines on the number of pairs and queries, and on those without documents."""
        queries = {pair.query for pair in self.pairs}
        lines = [
            f"candidates: {number_of(len(self), 'pairs')}, {number_of(len(queries), 'queries')}; "
            f"{number_of(self.lists.shape[2], 'positions')}, {number_of(self.n_grades, 'grades')}"
        ]
        if self.n_bare:
            lines.append(
                f"without documents: {number_of(self.n_bare, 'pairs')}, of which raters see "
                "grades alone; --documents, or items_a and items_b, show more"
            )
        return lines

    def __len__(self) -> int:
        return len(self.pairs)


def known_pairs(candidates: Candidates) -> list[Pair]:
    """Return pairs with a sure winner: a list best and worst first; most informative ahead."""
    pairs = []
    for pair in candidates.pairs:
        # the results of the first list, best and worst first
        places = range(len(pair.a) - pair.a.count(EMPTY))
        best = sorted(places, key=lambda i: -pair.a[i])
        orders = best, best[::-1]
        a, b = (tuple(pair.a[i] for i in order) for order in orders)
        items_a, items_b = (
            pair.items_a and tuple(pair.items_a[i] for i in order) for order in orders
        )
        pairs.append(replace(pair, a=a, b=b, items_a=items_a, items_b=items_b))

    # those of unequal grades that are no candidates
    asked = {pair.key for pair in candidates.pairs}
    new = (pair for pair in pairs if pair.a != pair.b and pair.key not in asked)
    return sorted(new, key=lambda pair: (pair.b[0] - pair.a[0], pair.key))


def distinct(pairs: Iterable[Pair], n_grades: int | None) -> Candidates:
    """Return informative pairs, each once, and count others; raise InputError if none is left."""
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
    return Candidates(tuple(kept.values()), max(n_grades or 0, top + 1, 2), {**dropped})


def read_candidates(source: Any, documents: Any = None, **options: Any) -> Candidates:
    """Read pairs that could be judged, from a file or a table; options are those of `rows_of`.

    A line of JSON is ``{"query": "q1", "query_text": "...", "intent": "...", "a": [3, 0], "b": [2,
    1], "items_a": [{"title": "...", "snippet": "...", "url": "https://..."}, ...], "items_b":
    [...]}``; only `a` and `b` are required. Parquet has such columns; CSV and TSV have grades and
    queries only. With `documents`, as in `candidates_from_runs`, the items are looked up by the
    names in `docs_a` and `docs_b`. Raises InputError, naming file, row and value, if the file
    cannot be read, or a line is bad: items of another length than the grades, say.
    """
    table = table_of(source)
    read = rows_of(table, CANDIDATE, **options)
    named, queries = texts_of(documents, read.values)

    # each row is a pair
    pairs = []
    for number in range(len(read.values["a"])):
        with errors_in(table.place(number)):
            row = {role: value[number] for role, value in read.values.items()}
            a, b = (tuple(row[side].tolist()) for side in "ab")
            items_a, items_b = _items(row, "a", named), _items(row, "b", named)
            if (items_a is None) != (items_b is None):
                raise InputError("items for one list only; give items_a and items_b, or neither")

            # its words
            query = str(row.get("query", ""))
            asked = shortened(row.get("text") or queries.get(query, ""), 500)
            intent = shortened(row.get("intent", ""), 2000)
            pairs.append(Pair(query, a, b, items_a, items_b, intent, asked))

    candidates = distinct(pairs, read.scale.n_grades)
    dropped = dict(candidates.dropped)
    if named:
        dropped["documents without a text"] = [*named.values()].count(None)
    return replace(candidates, dropped=dropped, grade_names=read.scale.names)


def _items(row: Fields, side: str, named: Mapping[str, Item | None]) -> tuple[Item, ...] | None:
    """Return the items of a row's list by position, or None; raise InputError if wrong.

    They are JSON, with the keys of `SHOWN`, or names of documents. The places at the end
    that hold no result need none.
    """
    # objects, or the documents of these names
    role = f"docs_{side}" if named else f"items_{side}"
    cell, grades = row.get(role, ""), row[side].tolist()
    items: Any = plain_json(cell)
    if named and cell:
        items = [named.get(name) or name for name in cell.split("\t")]
    if not items:
        return None
    if not isinstance(items, list):
        raise InputError(f"{role} is {items!r}, not a list of objects with title, snippet, url")

    # one for each grade
    n_empty = len(grades) - len(items)
    if n_empty not in (0, grades.count(EMPTY)):
        raise InputError(
            f"{role} has {number_of(len(items), 'items')} for {number_of(len(grades), 'grades')}; "
            "give one a grade, {} where unknown"
        )
    items = [*items, *[None] * n_empty]
    return tuple(item_of(item, f"{role}[{position}]") for position, item in enumerate(items))


def plain_json(cell: str) -> Any:
    """Return what JSON in a cell holds, an object or a list; other text as it is."""
    if cell.startswith(("{", "[")):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(cell, strict=False)
    return cell


def item_of(document: Any, place: str) -> Item:
    """Return the parts of a document that are shown, of long texts the beginning.

    A document is an object with keys of `SHOWN`, or its title. A page may link to its address, so
    only one of the web is shown.
    """
    if document is None or isinstance(document, str):
        document = {"title": document}
    if not isinstance(document, dict):
        raise InputError(f"{place} is {document!r}, not an object with title, snippet, url")

    # the first key that fills a part counts
    item: Item = {}
    for part, keys, most in SHOWN:
        for key in keys.split():
            value = document.get(key)
            if value in (None, "") or part in item:
                continue
            if not isinstance(value, str | float | int):
                raise InputError(f"{place}.{key} is {value!r}; use text")
            if part != "url" or WEB_ADDRESS.fullmatch(str(value)):
                item[part] = shortened(str(value), most)
    return item


def shortened(text: str, most: int) -> str:
    """Return a text in one line, at most so many characters of it; warn where it is longer.

    Half a character is a "?".
    """
    line = " ".join(text.encode(errors="replace").decode().split())
    if len(line) <= most:
        return line
    warnings.warn(f"texts of more than {most} characters are shown without their end", stacklevel=2)
    return f"{line[: most - 4].rsplit(' ', 1)[0]} ..."


def candidates_from_runs(
    judgements: JudgementsLike, runs: RunsLike, documents: Any = None, *, depth: int = 10
) -> Candidates:
    """Return the pairs that two runs make: the first K documents of each, a pair a query.

    `documents` is a table with a name (`docno`, `doc_id`, `id`), a `title`, a `snippet` or `text`,
    and a `url`; without it, lists are shown as grades. Rows without a name hold the text of a
    query: `query` and `text`. A document without a judgement counts as grade 0; lists shorter
    than `depth` end in places without a result. Raises InputError if there are not two runs, they
    share no judged query, or a file cannot be read.
    """
    systems, judged = read_runs(runs), read_judgements(judgements)
    if len(systems) != 2:
        raise InputError(
            f"{number_of(len(systems), 'runs')} ({', '.join(run.name for run in systems)}); give "
            "two to compare"
        )

    # the judged queries of both runs
    asked = set(judged.frame["query"])
    first, second = (asked.intersection(run.frame["query"]) for run in systems)
    common = first & second
    if not common:
        raise InputError(
            f"the runs {' and '.join(run.name for run in systems)} have no judged query in common; "
            "do the names agree?"
        )

    # the first documents of both with their grades
    shown = with_runs(dict.fromkeys(sorted(common), "open"), *systems, depth=depth)
    graded = table_of(with_grades(shown, judged, unjudged=0))
    candidates = read_candidates(graded, documents, n_grades=judged.n_grades, depth=depth)
    of_one = {"queries of one run only": len(first ^ second)}
    return replace(candidates, dropped=of_one | candidates.dropped)


def texts_of(documents: Any, candidates: Fields) -> tuple[dict[str, Item | None], dict[str, str]]:
    """Return the items of the documents that candidates name, and the texts of queries, by name.

    `documents` is a table of both, as `candidates_from_runs` takes it; one that is not there is
    None. Without a table there are none. Raises InputError if the candidates name no document.
    """
    if documents is None:
        return {}, {}

    # the documents that are wanted
    cells = [cell for side in "ab" for cell in candidates.get(f"docs_{side}", ())]
    names = {name for cell in cells for name in cell.split("\t") if name}
    items: dict[str, Item | None] = dict.fromkeys(names)
    if not items:
        raise InputError(
            "the candidates name no documents: give docs_a and docs_b, or leave --documents out"
        )

    # each row has one of them, or a query
    queries: dict[str, str] = {}
    table = table_of(documents)
    for number, row in enumerate(table.frame.iter_rows(named=True)):
        name = next((str(row[key]) for key in NAMES if row.get(key) is not None), None)
        query = row.get("query")
        if name in items:
            with errors_in(table.place(number)):
                items[name] = {"title": name} | item_of(row, name)
        elif name is None and query is not None:
            queries[str(query)] = item_of(row, str(query)).get("snippet", "")
        elif name is None:
            raise InputError(
                f"{table.place(number)}: names no document; give {', '.join(NAMES[:3])}, or query "
                "and text"
            )
    return items, queries
