"""Pages for raters without a server: who is asked what, and what the files hold."""

import base64
import hashlib
import json
import re
from collections import Counter
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.judge.candidates import read_candidates
from dcglearn.judge.exported import asked_by_file, dealt, page_names, page_of
from dcglearn.judge.study import Rules, Study
from dcglearn.metrics.dcg import DCG
from dcglearn.trust.next_pairs import values_of
from tests.judge.makers import candidates, verdict
from tests.makers import refused, write_lines

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


@pytest.fixture
def opened(tmp_path):
    studies = []

    def open_study(pairs=None, name="verdicts.jsonl", **rules):
        studies.append(Study(pairs or candidates(12), tmp_path / name, Rules(**rules)))
        return studies[-1]

    yield open_study
    for study in studies:
        study.close()


@given(st.data())
def test_each_pair_goes_to_as_many_files_as_wanted_and_files_are_equal(data):
    n_files = data.draw(st.integers(1, 9))
    wanted = data.draw(st.lists(st.integers(1, n_files), max_size=60))
    seed = data.draw(st.integers(0, 99))
    files = dealt(wanted, n_files, np.random.default_rng(seed))
    assert Counter(number for file in files for number in file) == dict(enumerate(wanted))
    assert all(file == sorted(set(file)) for file in files)
    sizes = [len(file) for file in files]
    assert max(sizes) - min(sizes) <= 1
    assert files == dealt(wanted, n_files, np.random.default_rng(seed))


def test_files_of_two_raters_are_mixed():
    files = dealt([2] * 400, 5, np.random.default_rng(0))
    shared = {len({*a} & {*b}) for i, a in enumerate(files) for b in files[:i]}
    assert min(shared) > 20 and max(shared) < 60  # 40 on average


def test_pairs_are_in_the_order_in_which_the_server_would_ask(opened):
    study = opened(seed=3)
    metric = DCG.standard(5, 5).normalised()
    asked = []
    for pair, n_raters in study.in_order():
        assert n_raters == 1
        left = [other for other in study.candidates.pairs if other not in asked]
        lists = np.array([(other.a, other.b) for other in left], np.int8)
        before = np.array([(other.a, other.b) for other in asked], np.int8).reshape(-1, 2, 5)
        values = values_of(lists, before, metric)
        assert values[left.index(pair)] >= values.max() * (1 - 1e-5)
        asked.append(pair)
    assert {pair.key for pair in asked} == study.candidates.index.keys()
    assert [pair for pair, _ in study.in_order(4)] == asked[:4]


def test_queries_are_asked_equally_often_and_at_random_if_wanted(opened):
    balanced = opened(candidates(30), seed=1, balanced=True)
    first = [pair.query for pair, _ in balanced.in_order()]
    assert all(len({*first[i : i + 6]}) == 6 for i in (0, 6, 12))
    by_chance = [
        [pair.key for pair, _ in opened(name=f"{i}.jsonl", active=False, seed=i // 2).in_order()]
        for i in range(4)
    ]
    assert by_chance[0] == by_chance[1] != by_chance[2] == by_chance[3]


def test_judged_pairs_are_left_out_and_begun_ones_are_asked_of_fewer(opened, tmp_path):
    pairs = candidates(12)
    once, twice = pairs.pairs[:2]

    def line(number, pair, rater):
        items = {"items_a": list(pair.items_a), "items_b": list(pair.items_b)}
        return verdict(number, pair.a, pair.b, query=pair.query, rater=rater, **items)

    log = [line(1, once, "ann"), line(2, twice, "ann"), line(3, twice, "bob")]
    write_lines(tmp_path / "verdicts.jsonl", log)
    study = opened(pairs, redundancy=2)
    wanted = {pair.key: n for pair, n in study.in_order()}
    assert wanted == {key: 2 for key in pairs.index if key != twice.key} | {once.key: 1}
    files = asked_by_file(study, 3)
    assert Counter(one.pair.key for file in files for one in file) == wanted


def test_practice_comes_first_and_checks_in_between(opened):
    study = opened(candidates(40), practice=True, checks=0.3, seed=2)
    kinds = [[one.known for one in file] for file in asked_by_file(study, 2)]
    for own in kinds:
        assert own[:3] == ["practice"] * 3 and "practice" not in own[3:]
        assert 2 <= own.count("check") <= 12
    sides = [one.left for file in asked_by_file(study, 2) for one in file]
    assert 20 < sides.count("a") < len(sides) - 20


def test_the_command_writes_a_page_a_file(dcglearn, here):
    words = ("judge", EXAMPLE, "--export", "page.html", "--files", 5, "--redundancy", 2)
    status, out, err = dcglearn(*words, "--seed", 7)
    assert (status, out) == (0, "")
    assert "wrote: page-1.html (96 pairs, 3 pairs of practice; 0.1" in err
    assert "next: dcglearn convert verdicts-*.jsonl --verdicts -o all.jsonl" in err
    pages = [read(f"page-{i}.html").data for i in range(1, 6)]
    counts = Counter(p["pair"] for page in pages for p in page["pairs"] if not p["known"])
    assert len(counts) == 240 and {*counts.values()} == {2}
    assert len({page["study"] for page in pages}) == 5
    assert [page["name"] for page in pages] == [f"page-{i}" for i in range(1, 6)]
    left = [{p["pair"]: p["left"] for p in page["pairs"]} for page in pages]
    both = [left[i][key] == left[0][key] for i in range(1, 5) for key in left[i].keys() & left[0]]
    assert 0.3 < np.mean(both) < 0.7

    # the same seed, the same bytes; nothing is replaced unasked
    before = Path("page-3.html").read_bytes()
    assert "page-1.html exists" in dcglearn(*words)[2]
    assert dcglearn(*words, "--seed", 7, "--force")[0] == 0
    assert Path("page-3.html").read_bytes() == before
    assert dcglearn(*words, "--seed", 8, "--force")[0] == 0
    assert Path("page-3.html").read_bytes() != before


def test_few_pairs_first(dcglearn, here):
    words = ("judge", EXAMPLE, "--export", "one.htm", "--no-practice", "--seed", 1)
    assert "wrote: one.htm (9 pairs; " in dcglearn(*words, "--pairs", 9)[2]
    nine = read("one.htm").data["pairs"]
    assert dcglearn(*words, "--force")[0] == 0
    assert read("one.htm").data["pairs"][:3] == nine[:3]
    assert {p["pair"] for p in nine} == {p["pair"] for p in read("one.htm").data["pairs"][:9]}


def test_a_page_is_ascii_and_asks_for_nothing(opened):
    text = "</script><!--\u2028\x85 \ud83d\u00fc <b>"
    pairs = candidates(4).pairs
    items = ({"title": text, "url": "javascript:1", "image": "https://x.example/a.png"},) * 5
    pair = type(pairs[0])(text, pairs[0].a, pairs[0].b, items, pairs[0].items_b, text)
    study = opened(type(candidates(4))((pair, *pairs[1:]), 5))
    page = Reader(page_of(study, asked_by_file(study, 1)[0], "p\"'><b>"))
    hostile = next(p for p in page.data["pairs"] if p["query"] == text)
    assert page.data["name"] == "p\"'><b>"
    (number,) = {*hostile["items_a"]}
    assert page.data["items"][number] == {"title": text}
    assert page.data["whole"] == {str(number): items[0]}

    # from elsewhere comes nothing: no address but that of the empty icon
    addresses = [value for _, name, value in page.attributes if name in ("src", "href", "action")]
    assert addresses == ["data:,"]
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]
    (policy,) = [v for _, name, v in page.attributes if name == "content" and "default-src" in v]
    assert policy.startswith("default-src 'none'; ") and "http" not in policy
    for where in (("script", "module"), ("style", None)):
        digest = base64.b64encode(hashlib.sha256(page.texts[where].encode()).digest()).decode()
        assert f"{where[0]}-src 'sha256-{digest}'" in policy


def test_the_server_s_page_has_nothing_of_it(opened):
    pytest.importorskip("starlette")
    from dcglearn.foundation.markup import rendered

    page = rendered("judge/page/page.html")
    assert not re.search(r"hand-over|id=\"rater\"|content-security-policy|{[{%]", page)
    assert 'src="/page.js"' in page and 'id="learned"' in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--export p.html --redundancy 2", "--redundancy 2 --files 1: a file holds each pair once"),
        ("--export p.html --files 2 --redundancy 3", "give --files 3 or more"),
        ("--export p.html --files 300", "--files 300: there are pairs for 240 only"),
        ("--export p.json", "a page is an HTML file; name it p.html"),
        ("--export none/p.html", "the folder none does not exist"),
        ("--export p.html --images", "--images does not go with --export"),
        ("--export p.html --port 80", "--port does not go with --export"),
        ("--export p.html --width 0.2", "--width does not go with --export"),
        ("--export p.html --llm log.jsonl", "--llm with --export goes with --log"),
        ("--export p.html --log none.jsonl", "--log none.jsonl does not exist"),
        ("--log v.jsonl --files 2", "--files goes with --export"),
        ("--log v.jsonl --pairs 2", "--pairs goes with --export"),
        ("--log v.jsonl --force", "--force goes with --export"),
        ("", "name the file for the verdicts"),
    ],
)
def test_what_cannot_be_is_refused(dcglearn, here, words, message):
    status, out, err = dcglearn("judge", EXAMPLE, *words.split())
    assert (status, out) == (2, "") and message in err
    assert [*here.iterdir()] == []


def test_nothing_left_and_names_of_pages(opened, tmp_path):
    pair = candidates(1)
    one = pair.pairs[0]
    items = {"items_a": list(one.items_a), "items_b": list(one.items_b)}
    line = verdict(1, one.a, one.b, query=one.query, **items)
    write_lines(tmp_path / "verdicts.jsonl", [line])
    refused("every pair is judged already", asked_by_file, opened(pair), 1)
    assert page_names(Path("a/b.html"), 1) == [Path("a/b.html")]
    assert page_names(Path("a/b.html"), 2) == [Path("a/b-1.html"), Path("a/b-2.html")]


def test_a_dry_run_checks_and_writes_nothing(dcglearn, here):
    status, _, err = dcglearn("judge", EXAMPLE, "--export", "page.html", "--dry-run")
    assert status == 0 and "240 pairs" in err and "wrote" not in err
    assert [*here.iterdir()] == []


def test_it_is_said_whether_raters_see_the_grades(dcglearn, here):
    assert "grades, unseen" in dcglearn("judge", EXAMPLE, "--export", "page.html")[2]
    write_lines(here / "bare.jsonl", [{"a": [1, 0], "b": [0, 1]}, {"a": [2, 0], "b": [0, 1]}])
    err = dcglearn("judge", "bare.jsonl", "--export", "bare.html", "--no-practice")[2]
    assert "without documents: 2 pairs, of which raters see grades alone; --documents" in err
    assert "unseen" not in err


def test_a_log_gives_the_dcg_that_chooses(learning, tmp_path):
    pairs = read_candidates(EXAMPLE)
    log = tmp_path / "verdicts.jsonl"
    rng = np.random.default_rng(0)
    written = []
    for number in rng.permutation(len(pairs))[:80]:
        pair = pairs.pairs[number]
        one, other = (sum(1.0 * (g == 3) for g in side[:1]) for side in (pair.a, pair.b))
        winner = "tie" if one == other else "a" if one > other else "b"
        items = {"items_a": list(pair.items_a), "items_b": list(pair.items_b)}
        written.append(verdict(number, pair.a, pair.b, winner, query=pair.query, **items))
    write_lines(log, written)
    with closing(Study(pairs, log, Rules(seed=1))) as study:
        after = [pair.key for pair, _ in study.in_order()]
        assert study.learned.latest.n == 80
    with closing(Study(pairs, tmp_path / "none.jsonl", Rules(seed=1))) as study:
        before = [pair.key for pair, _ in study.in_order()]
    assert len(after) == 160 and {*after} < {*before}
    assert after != [key for key in before if key in {*after}]
