"""Judging pages: pairs to judge, practice and checks in an HTML file that needs no server."""

import base64
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.markup import rendered
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError, Integers
from dcglearn.judge.candidates import Candidates, Pair, known_pairs
from dcglearn.reading.preferences import Preferences

KINDS = {None: "pairs", "practice": "pairs of practice", "check": "checks of attention"}
"""What is asked, by what a known answer is for."""

N_PRACTICE = 3
"""Pairs with a known answer with which a page begins."""


class Asked(NamedTuple):
    """A pair of a page: which list stands on the left, and, of a known answer, what it is for."""

    pair: Pair
    left: str
    known: str | None = None


def page_names(path: Path, n_pages: int) -> list[Path]:
    """Return the names of the pages: the path, or with a number each if there are several."""
    if n_pages == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{i}{path.suffix}") for i in range(1, n_pages + 1)]


def raters_lacking(
    candidates: Candidates, log: Preferences | None, redundancy: int = 1
) -> Integers:
    """Return how many raters each pair lacks of those wanted, shape (m,).

    A pair is judged where the log has its two lists, in either order, for its query. Judgements
    without a rater count as those of one.
    """
    rows = [] if log is None else log.to_polars().to_dicts()
    with_query = any("query" in row for row in rows)

    # queries tell pairs apart where the log has them
    def asked(row: Fields) -> Hashable:
        lists = frozenset((tuple(row["a"]), tuple(row["b"])))
        return (row["query"], lists) if with_query else lists

    # who judged each pair
    raters: dict[Hashable, set[str]] = defaultdict(set)
    for row in rows:
        raters[asked(row)].add(row.get("rater", ""))
    lacking = [max(redundancy - len(raters[asked(row)]), 0) for row in candidates.open_rows]
    return np.array(lacking, dtype=np.intp)


def dealt(n_raters: Sequence[int], n_pages: int, random: np.random.Generator) -> list[list[int]]:
    """Return the numbers of the pairs on each page, where pair i is on `n_raters[i]` pages.

    Each pair goes to the pages with the fewest pairs, so that pages differ by at most one.
    """
    pages: list[list[int]] = [[] for _ in range(n_pages)]
    for number, n in enumerate(n_raters):
        order = random.permutation(n_pages)
        for i in sorted(order, key=lambda i: len(pages[i]))[:n]:
            pages[i].append(number)
    return pages


def asked_by_page(
    candidates: Candidates,
    chosen: Integers,
    n_raters: Sequence[int],
    n_pages: int = 1,
    *,
    checks: float = 0.0,
    random_state: int = 0,
) -> list[list[Asked]]:
    """Return what each page asks, in order: practice, then pairs with checks among them.

    `chosen` are the numbers of the pairs to ask, the first one first; each is on as many pages as
    `n_raters` says. `checks` is the share of pairs with a known answer beside the others. Raises
    InputError if a page would hold no pair.
    """
    # deal the pairs out
    random = np.random.default_rng(random_state)
    dealt_out = dealt(n_raters, n_pages, random)
    if not all(dealt_out):
        raise InputError(
            f"--pages {n_pages}: there are pairs for {sum(n_raters)} only; give fewer pages"
        )

    # practice at the beginning, checks in between
    def asked(pair: Pair, known: str | None = None) -> Asked:
        return Asked(pair, "a" if random.random() < 0.5 else "b", known)

    known = known_pairs(candidates)
    pages = []
    for numbers in dealt_out:
        page = [asked(pair, "practice") for pair in known[:N_PRACTICE]]

        # pairs with a known answer stand between others
        checking = iter(known[N_PRACTICE:])
        for number in numbers:
            if random.random() < checks and (check := next(checking, None)) is not None:
                page.append(asked(check, "check"))
            page.append(asked(candidates.pairs[chosen[number]]))
        pages.append(page)
    return pages


def write_page(candidates: Candidates, asked: Sequence[Asked], path: Path) -> str:
    """Write a page, and return what it holds, in words."""
    content = page_of(candidates, asked, path.stem)
    with written_beside(path) as beside:
        beside.write_bytes(content)

    # pairs of each kind
    counts = Counter(one.known for one in asked)
    kinds = [number_of(counts[kind], name) for kind, name in KINDS.items() if counts[kind]]
    return f"{', '.join(kinds)}; {len(content) / 1e6:.2f} MB"


def page_of(candidates: Candidates, asked: Sequence[Asked], name: str) -> bytes:
    """Return a page in ASCII, so that no host can tell a browser a wrong encoding.

    `name` is part of the names of the files that raters hand over.
    """
    pairs = [
        {**asdict(one.pair), "pair": one.pair.key, "left": one.left, "known": one.known}
        for one in asked
    ]
    data = {
        "name": name,
        "n_grades": candidates.n_grades,
        "scale": candidates.grade_names,
        "pairs": pairs,
    }
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    held = json.dumps({"study": digest, **data}, separators=(",", ":")).replace("<", "\\u003c")

    # one script, allowed by its digest as the style is
    script = (Path(__file__).parent / "page" / "page.js").read_text(encoding="utf-8")
    script = script.encode("ascii", "backslashreplace").decode()
    style = rendered("judge/page/page.css")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {"data": held, "script": script, "style": style, "policy": policy}
    return rendered("judge/page/page.html", **parts).encode("ascii", "xmlcharrefreplace")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
