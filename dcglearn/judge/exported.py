"""Pages for raters without a server: the judging page with its pairs inside, an HTML file each."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dcglearn.foundation.markup import rendered
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.judge.candidates import Item, Pair, seen_items
from dcglearn.judge.study import Study


@dataclass(frozen=True)
class Asked:
    """A pair of a page: which list stands on the left, and, of a known answer, what it is for."""

    pair: Pair
    left: str
    known: str | None = None


def page_names(path: Path, n_files: int) -> list[Path]:
    """Return the names of the pages: the path, or with a number each if there are several."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--export {path}: a page is an HTML file; name it {path.stem}.html")
    if n_files == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{i}{path.suffix}") for i in range(1, n_files + 1)]


def dealt(n_raters: Sequence[int], n_files: int, random: np.random.Generator) -> list[list[int]]:
    """Return the numbers of the pairs in each file, where pair i is in `n_raters[i]` files.

    Each pair goes to the files with the fewest pairs, so that files differ by at most one.
    """
    files: list[list[int]] = [[] for _ in range(n_files)]
    for number, n in enumerate(n_raters):
        order = random.permutation(n_files)
        for i in sorted(order, key=lambda i: len(files[i]))[:n]:
            files[i].append(number)
    return files


def asked_by_file(study: Study, n_files: int, most: int | None = None) -> list[list[Asked]]:
    """Return what each file asks, in order: the practice round, then pairs and checks among them.

    At most `most` pairs are taken, the first to ask. Each is in as many files as it lacks raters,
    which are at most `n_files`. Raises InputError if a file would hold no pair, or every pair is
    judged.
    """
    # what there is to ask
    rules = study.rules
    pairs = study.in_order(most)
    if not pairs:
        raise InputError("every pair is judged already; give more candidates or --redundancy")

    # deal it out
    random = np.random.default_rng(rules.seed)
    files = dealt([n for _, n in pairs], n_files, random)
    if not all(files):
        total = sum(map(len, files))
        raise InputError(f"--files {n_files}: there are pairs for {total} only; give fewer files")

    # practice at the beginning, checks in between
    def asked(pair: Pair, known: str | None = None) -> Asked:
        return Asked(pair, "a" if random.random() < 0.5 else "b", known)

    pages = []
    for numbers in files:
        page = [asked(pair, kind) for pair, kind in study.known() if kind == "practice"]
        checks = [(pair, kind) for pair, kind in study.known() if kind == "check"]
        for number in numbers:
            if checks and random.random() < rules.checks:
                page.append(asked(*checks.pop(0)))
            page.append(asked(pairs[number][0]))
        pages.append(page)
    return pages


def page_of(study: Study, asked: Sequence[Asked], name: str) -> bytes:
    """Return a page in ASCII, so that no host can tell a browser a wrong encoding.

    `name` is part of the names of the files that raters hand over.
    """
    data = _data(study, asked, name)
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    held = json.dumps({"study": digest, **data}, separators=(",", ":")).replace("<", "\\u003c")

    # one script, allowed by its digest as the style is
    script = "".join(page_part(part) for part in ("exported.js", "page.js"))
    script = script.encode("ascii", "backslashreplace").decode()
    style = rendered("judge/page/page.css")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {"data": held, "script": script, "style": style, "policy": policy}
    return rendered("judge/page/page.html", **parts).encode("ascii", "xmlcharrefreplace")


def page_part(name: str) -> str:
    """Return a file of the page."""
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _data(study: Study, asked: Sequence[Asked], name: str) -> Fields:
    """Return what the page needs; an item that several lists hold is there once.

    `items` are as raters see them, `whole` are those that have more, by number.
    """
    numbers: dict[str, int] = {}

    def numbered(items: Sequence[Item] | None) -> list[int] | None:
        if items is None:
            return None
        return [numbers.setdefault(json.dumps(item), len(numbers)) for item in items]

    # pairs with numbers for items
    pairs = []
    for one in asked:
        pair = one.pair
        of_pair = {key: getattr(pair, key) for key in ("query", "text", "intent", "a", "b")}
        items = {key: numbered(getattr(pair, key)) for key in ("items_a", "items_b")}
        own = {"pair": pair.key, "left": one.left, "known": one.known}
        pairs.append({**own, **of_pair, **items})

    # items, the raters and the scale
    whole = [json.loads(item) for item in numbers]
    seen = seen_items(whole, images=False)
    rules, candidates = study.rules, study.candidates
    return {
        "name": name,
        "raters": rules.raters,
        "strengths": rules.strengths,
        "n_grades": candidates.n_grades,
        "scale": candidates.grade_names,
        "items": seen,
        "whole": {i: item for i, item in enumerate(whole) if item != seen[i]},
        "pairs": pairs,
    }
