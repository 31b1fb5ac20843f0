"""Judging pages: who is asked what, what the files hold, and the command that writes them."""

import base64
import hashlib
import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.estimators.learners import DCGLearner
from dcglearn.judge.candidates import known_pairs
from dcglearn.judge.pages import asked_by_page, dealt, page_names, page_of, raters_lacking
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.read import read_preferences
from tests.judge.makers import candidates
from tests.makers import refused, write_lines
from tests.tables import table

EXAMPLE = Path(__file__).parents[2] / "examples" / "lists_to_judge.jsonl"


class Reader(HTMLParser):
    """What a browser finds in a page: scripts, styles and attributes."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.texts, self.attributes = None, Counter(), []
        self.texts = {}
        self.feed(page.decode("ascii"))

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.inside = (tag, dict(attrs).get("type"))

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside and self.inside[0] in ("script", "style"):
            self.texts[self.inside] = self.texts.get(self.inside, "") + data

    @property
    def data(self):
        return json.loads(self.texts["script", "application/json"])


def read(path):
    return Reader(Path(path).read_bytes())


@given(st.data())
def test_each_pair_goes_to_as_many_pages_as_wanted_and_pages_are_equal(data):
    n_pages = data.draw(st.integers(1, 9))
    wanted = data.draw(st.lists(st.integers(1, n_pages), max_size=60))
    seed = data.draw(st.integers(0, 99))
    files = dealt(wanted, n_pages, np.random.default_rng(seed))
    assert Counter(number for file in files for number in file) == dict(enumerate(wanted))
    assert all(file == sorted(set(file)) for file in files)
    sizes = [len(file) for file in files]
    assert max(sizes) - min(sizes) <= 1
    assert files == dealt(wanted, n_pages, np.random.default_rng(seed))


def test_files_of_two_raters_are_mixed():
    files = dealt([2] * 400, 5, np.random.default_rng(0))
    shared = {len({*a} & {*b}) for i, a in enumerate(files) for b in files[:i]}
    assert min(shared) > 20 and max(shared) < 60  # 40 on average


def judged(pair, **more):
    return {"query": pair.query, "a": pair.a, "b": pair.b, "winner": "a", **more}


def test_pairs_that_enough_raters_have_judged_are_left_out():
    pairs = candidates(12)
    once, twice, turned = pairs.pairs[:3]
    log = read_preferences(
        [
            judged(once, rater="ann"),
            judged(once, rater="ann"),
            judged(twice, rater="ann"),
            judged(twice, rater="bob"),
            judged(turned, a=turned.b, b=turned.a, rater="ann", winner="tie"),
            judged(pairs.pairs[3], query="another", rater="ann"),
            judged(pairs.pairs[4], rater="ann", winner="open"),
        ]
    )
    assert raters_lacking(pairs, log, 2).tolist() == [1, 0, 1] + [2] * 9
    assert raters_lacking(pairs, log).tolist() == [0, 0, 0] + [1] * 9
    assert raters_lacking(pairs, None, 3).tolist() == [3] * 12

    # a log without queries tells pairs by their lists
    bare = read_preferences([{"a": once.a, "b": once.b, "winner": "b"}])
    assert raters_lacking(pairs, bare).tolist() == [0] + [1] * 11


def test_practice_comes_first_and_checks_in_between():
    pairs = candidates(40)
    pages = asked_by_page(pairs, np.arange(40)[::-1], [2] * 40, 2, checks=0.3, random_state=2)
    for page in pages:
        kinds = [one.known for one in page]
        assert kinds[:3] == ["practice"] * 3 and "practice" not in kinds[3:]
        assert 2 <= kinds.count("check") <= 20
        asked = [one.pair for one in page if one.known is None]
        assert asked == [*pairs.pairs[::-1]]
        known = [one.pair.key for one in page if one.known]
        assert known == [pair.key for pair in known_pairs(pairs)][: len(known)]
    sides = [one.left for page in pages for one in page]
    assert 20 < sides.count("a") < len(sides) - 20
    assert pages == asked_by_page(
        pairs, np.arange(40)[::-1], [2] * 40, 2, checks=0.3, random_state=2
    )


def test_the_command_writes_a_page_a_file(dcglearn, here):
    words = ("ask", EXAMPLE, "--pages", 5, "--redundancy", 2, "-o", "page.html")
    status, out, err = dcglearn(*words, "-n", 240, "--seed", 7)
    assert (status, out) == (0, "")
    assert "candidates: 240 pairs, 40 queries; 5 positions, 4 grades" in err
    assert "wrote: page-1.html (96 pairs, 3 pairs of practice, " in err
    assert "next: dcglearn learn verdicts-*.jsonl --grades 4, with" in err
    pages = [read(f"page-{i}.html").data for i in range(1, 6)]
    counts = Counter(p["pair"] for page in pages for p in page["pairs"] if not p["known"])
    assert len(counts) == 240 and {*counts.values()} == {2}
    assert len({page["study"] for page in pages}) == 5
    assert [page["name"] for page in pages] == [f"page-{i}" for i in range(1, 6)]
    left = [{p["pair"]: p["left"] for p in page["pairs"]} for page in pages]
    both = [left[i][key] == left[0][key] for i in range(1, 5) for key in left[i].keys() & left[0]]
    assert 0.3 < np.mean(both) < 0.7

    # by default twenty pairs a page
    assert dcglearn(*words, "--seed", 7, "--force")[2].count("(20 pairs, 3 pairs of practice") == 5

    # the same seed, the same bytes; nothing is replaced unasked
    before = Path("page-3.html").read_bytes()
    assert "page-1.html exists" in dcglearn(*words)[2]
    assert dcglearn(*words, "--seed", 7, "--force")[0] == 0
    assert Path("page-3.html").read_bytes() == before
    assert dcglearn(*words, "--seed", 8, "--force")[0] == 0
    assert Path("page-3.html").read_bytes() != before


def test_the_pairs_of_a_page_are_those_of_a_table(dcglearn, here):
    for output in ("one.htm", "asked.jsonl"):
        assert dcglearn("ask", EXAMPLE, "-o", output, "-n", 9)[0] == 0
    page = [p for p in read("one.htm").data["pairs"] if not p["known"]]
    lists = [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]
    assert [(p["a"], p["b"]) for p in page] == [(p["a"], p["b"]) for p in lists]


def test_the_judgements_so_far_choose_the_next_page(dcglearn, here):
    first, second = "page.html", "next.html"
    assert dcglearn("ask", EXAMPLE, "-o", first)[0] == 0
    asked = [p for p in read(first).data["pairs"] if not p["known"]]
    lines = [
        {"query": p["query"], "a": p["a"], "b": p["b"], "winner": "ab"[i % 2], "rater": "ann"}
        for i, p in enumerate(asked)
    ]
    write_lines(here / "verdicts-1.jsonl", lines[:10])
    write_lines(here / "verdicts-2.jsonl", lines[10:])
    words = ("ask", EXAMPLE, "--log", "verdicts-*.jsonl")
    assert dcglearn(*words, "-o", second)[0] == 0
    after = [p for p in read(second).data["pairs"] if not p["known"]]
    assert len(after) == 20 and not {p["pair"] for p in after} & {p["pair"] for p in asked}
    machine = write_lines(here / "llm.jsonl", [{**line, "winner": "a"} for line in lines])
    assert dcglearn(*words, "--llm", machine, "-o", "third.html")[0] == 0
    again = [p["pair"] for p in read("third.html").data["pairs"] if not p["known"]]
    assert len(again) == 20 and again != [p["pair"] for p in after]


def test_three_pages_teach_the_judge_s_metric(dcglearn, here):
    truth = DCG([0, 0.2, 0.5, 1], [1, 0.7, 0.5, 0.35, 0.25])
    log = []
    for name in ("one.html", "two.html", "three.html"):
        more = ("--log", "log.jsonl") if log else ()
        assert dcglearn("ask", EXAMPLE, *more, "-o", name)[0] == 0
        for pair in (p for p in read(name).data["pairs"] if not p["known"]):
            a, b = truth.score([pair["a"], pair["b"]])
            line = {"query": pair["query"], "a": pair["a"], "b": pair["b"]}
            log.append({**line, "winner": "a" if a > b else "b", "rater": "ann"})
        write_lines(here / "log.jsonl", log)
    learned = DCGLearner(n_grades=4).fit(read_preferences(log, n_grades=4)).dcg_

    # the share of new pairs that it orders as the judge does
    pairs = np.random.default_rng(0).integers(0, 4, (2000, 2, 5))
    true, found = (m.score(pairs[:, 0]) - m.score(pairs[:, 1]) for m in (truth, learned))
    differ = np.abs(true) > 1e-9
    share = (np.sign(true) == np.sign(found))[differ].mean()
    print(f"{len(log)} verdicts: {share:.3f} of new pairs")
    assert len(log) == 60 and share > 0.95


def test_a_page_is_ascii_and_asks_for_nothing():
    text = "</script><!--\u2028\x85 \ud83d\u00fc <b>"
    pairs = candidates(4).pairs
    items = ({"title": text},) * 5
    pair = type(pairs[0])(text, pairs[0].a, pairs[0].b, items, pairs[0].items_b, text)
    found = type(candidates(4))((pair, *pairs[1:]), 5)
    page = Reader(page_of(found, asked_by_page(found, np.arange(4), [1] * 4)[0], "p\"'><b>"))
    hostile = next(p for p in page.data["pairs"] if p["query"] == text)
    assert page.data["name"] == "p\"'><b>"
    assert hostile["items_a"] == [{"title": text}] * 5

    # from elsewhere comes nothing: no address but that of the empty icon
    addresses = [value for _, name, value in page.attributes if name in ("src", "href", "action")]
    assert addresses == ["data:,"]
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]
    (policy,) = [v for _, name, v in page.attributes if name == "content" and "default-src" in v]
    assert policy.startswith("default-src 'none'; ") and "http" not in policy
    for where in (("script", "module"), ("style", None)):
        digest = base64.b64encode(hashlib.sha256(page.texts[where].encode()).digest()).decode()
        assert f"{where[0]}-src 'sha256-{digest}'" in policy


@table(
    ("words", "message"),
    [
        ("-o p.html --redundancy 2", "--redundancy 2 --pages 1: a page holds each pair once"),
        ("-o p.html --pages 2 --redundancy 3", "give --pages 3 or more"),
        ("-o p.html --pages 300 -n 240", "--pages 300: there are pairs for 240 only"),
        ("-o none/p.html", "the folder none does not exist"),
        ("-o p.html --llm log.jsonl", "--llm goes with --log"),
        ("-o p.html --log none.jsonl", "none.jsonl does not exist"),
        ("-o p.html --model m", "--model goes with -o prompts.jsonl"),
        ("-o p.html --qrels qrels.txt", "give a file of CANDIDATES, or two runs and --qrels"),
        ("-o p.jsonl --pages 2", "--pages, --redundancy and --checks go with -o page.html"),
        ("-o p.jsonl --checks 0.1", "--checks go with -o page.html"),
        ("-o p.parquet --model m", "--model goes with -o prompts.jsonl"),
        ("--model m", "--model goes with -o prompts.jsonl"),
        ("-o p.csv", "p.csv"),
    ],
)
def test_what_cannot_be_is_refused(dcglearn, here, words, message):
    status, out, err = dcglearn("ask", EXAMPLE, *words.split())
    assert (status, out) == (2, "") and message in err
    assert [*here.iterdir()] == []


def test_nothing_left_and_names_of_pages(dcglearn, here):
    lines = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    write_lines(here / "log.jsonl", [{**line, "winner": "a"} for line in lines])
    err = dcglearn("ask", EXAMPLE, "--log", "log.jsonl", "-o", "page.html")[2]
    assert "every pair is judged already" in err
    assert page_names(Path("a/b.html"), 1) == [Path("a/b.html")]
    assert page_names(Path("a/b.html"), 2) == [Path("a/b-1.html"), Path("a/b-2.html")]
    refused("there are pairs for 4 only", asked_by_page, candidates(4), np.arange(4), [1] * 4, 9)


def test_it_is_said_whether_raters_see_the_grades(dcglearn, here):
    assert "grades, unseen" in dcglearn("ask", EXAMPLE, "-o", "page.html")[2]
    write_lines(here / "bare.jsonl", [{"a": [1, 0], "b": [0, 1]}, {"a": [2, 0], "b": [0, 1]}])
    err = dcglearn("ask", "bare.jsonl", "-o", "bare.html")[2]
    assert "without documents: 2 pairs, of which raters see grades alone; --documents" in err
    assert "unseen" not in err
