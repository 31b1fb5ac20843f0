"""Candidates from files and from runs, and the command that reads them."""

import gzip
import io
import runpy
from pathlib import Path

import polars as pl
import pytest

from dcglearn.foundation.sources import zstd
from dcglearn.judge.candidates import candidates_from_runs, known_pairs, read_candidates
from tests.makers import refused, write_lines
from tests.tables import table

ITEMS = [{"title": "One", "snippet": "s", "url": "https://example.org/1"}, {"title": "Two"}]
LINE = {
    "query": "q",
    "query_text": "what",
    "intent": "why",
    "a": [2, 0],
    "b": [1, 1],
    "items_a": ITEMS,
    "items_b": ["Three", None],
}


def written(folder, *lines):
    return write_lines(folder / "pairs.jsonl", lines)


def test_items_come_with_their_grades(tmp_path):
    found = read_candidates(written(tmp_path, LINE, {"a": [0, 2], "b": [1, 0]}))
    pair, bare = found.pairs
    assert (pair.query, pair.text, pair.intent) == ("q", "what", "why")
    assert (pair.a, pair.b) == ((2, 0), (1, 1))
    assert pair.items_a == tuple(ITEMS)
    assert pair.items_b == ({"title": "Three"}, {})
    assert (bare.query, bare.items_a, found.n_grades, found.lists.shape[2]) == ("", None, 3, 2)
    table = tmp_path / "pairs.parquet"
    pl.DataFrame([{**LINE, "items_b": ITEMS}], infer_schema_length=None).write_parquet(table)
    assert read_candidates(table).pairs[0].items_b == tuple(ITEMS)
    csv = tmp_path / "pairs.csv"
    csv.write_text("a,b\n3 0,1 1\n")
    assert read_candidates(csv).n_grades == 4


def test_lists_of_different_length_have_an_item_for_each_result(tmp_path):
    found = read_candidates(written(tmp_path, {**LINE, "a": [1], "items_a": ITEMS[:1]}))
    assert (found.pairs[0].a, found.pairs[0].items_a) == ((1, -2), (ITEMS[0], {}))
    assert known_pairs(found) == []

    # of the longer list alone, best and worst first
    found = read_candidates(
        written(tmp_path, {**LINE, "a": [1, 2, 0], "b": [2], "items_a": None, "items_b": None})
    )
    (known,) = known_pairs(found)
    assert (known.a, known.b) == ((2, 1, 0), (0, 1, 2))


def test_the_example_is_what_its_program_prints(capsys):
    examples = Path(__file__).parents[2] / "examples"
    runpy.run_path(str(examples / "lists_to_judge.py"), run_name="__main__")
    assert capsys.readouterr().out == (examples / "lists_to_judge.jsonl").read_text()
    found = read_candidates(examples / "lists_to_judge.jsonl")
    assert len(found) >= 200
    assert len({pair.query for pair in found.pairs}) == 40
    assert found.dropped == {}


@table(
    ("change", "words"),
    [
        ({"items_a": ITEMS[:1]}, r"row 2: items_a has 1 item for 2 grades"),
        ({"items_a": None}, "items for one list only"),
        ({"items_a": "x"}, "not a list of objects"),
        ({"items_a": [1, 2]}, r"items_a\[0\] is 1, not an object"),
        ({"items_a": [{"title": [3]}, {}]}, r"items_a\[0\].title is \[3\]; use text"),
        ({"items_a": [{"text": {"of": 3}}, {}]}, r"items_a\[0\].text is {'of': 3}; use text"),
        ({"query": "x" * 201}, "more than 200"),
    ],
)
def test_bad_candidates_are_named(tmp_path, change, words):
    refused(words, read_candidates, written(tmp_path, LINE, {**LINE, **change}))


WORDS = "word " * 1000
LONG = {"title": f"{WORDS[:495]}...", "snippet": f"{WORDS[:1995]}..."}


def test_items_and_documents_are_read_alike_and_long_texts_shortened(tmp_path):
    texts = [
        {"docno": "d1", "title": WORDS, "snippet": WORDS, "url": f"https://example.org/{WORDS}"},
        {"docno": "d2", "headline": "Two\n lines", "text": WORDS, "url": "https://example.org"},
        {"docno": "d3", "title": "", "name": "Three", "snippet": "", "body": " short\u00a0text "},
    ]
    names = [text["docno"] for text in texts]
    line = {"query": "q", "query_text": WORDS, "intent": WORDS, "a": [2, 1, 0], "b": [0, 1, 2]}
    lines = [
        {**line, "items_a": texts, "items_b": texts[::-1]},
        {**line, "docs_a": names, "docs_b": names[::-1]},
    ]
    with pytest.warns(UserWarning, match="texts of more than 500 characters are shown without"):
        given = read_candidates(written(tmp_path, lines[0]))
    named = read_candidates(written(tmp_path, lines[1]), documents=pl.DataFrame(texts))
    assert given.pairs == named.pairs
    (pair,) = given.pairs
    short = {"title": "Two lines", "snippet": f"{WORDS[:295]}...", "url": "https://example.org"}
    assert pair.items_a == (LONG, short, {"title": "Three", "snippet": "short text"})
    assert (pair.text, pair.intent) == (LONG["title"], LONG["snippet"])

    # half a character is none, and words without blanks are cut, too
    cell = '"[{""title"": ""\\ud800 x""}, {""snippet"": ""%s""}]"' % ("\u7bc7" * 3000)
    csv = tmp_path / "pairs.csv"
    csv.write_text(f"a,b,items_a,items_b\n3 0,1 1,{cell},{cell}\n", encoding="utf-8")
    (pair,) = read_candidates(csv).pairs
    assert pair.items_a == ({"title": "? x"}, {"snippet": "\u7bc7" * 1996 + " ..."})


def test_only_web_addresses_are_shown(tmp_path, trec):
    bad = [
        "javascript:alert(1)",
        "data:x",
        "http://[",
        "https:///x",
        "ftp://a.example",
        "//a.example",
        "https://a.example;script-src *",
        "http://a b",
        "http://a.example:port/x",
        " http://a.example",
        "http://@",
        "http://ä.example",
    ]
    good = ["https://user:pw@a.example:8443/x", "HTTP://a.example?q=ä b", "http://10.0.0.1#top"]
    lines = [
        {
            "query": url,
            "a": [1],
            "b": [0],
            "items_a": [{"title": "t", "url": url}],
            "items_b": ["u"],
        }
        for url in bad + good
    ]
    found = read_candidates(written(tmp_path, *lines)).pairs
    assert [pair.items_a[0].get("url") for pair in found] == [None] * len(bad) + good

    # nor are others of documents
    documents = pl.DataFrame({"id": ["d1", "d2"], "url": [bad[0], good[0]]})
    (shown, _) = of_runs(trec, documents=documents).pairs
    assert shown.items_a == ({"title": "d1"}, {"title": "d2", "url": good[0]})


@pytest.fixture
def trec(tmp_path):
    files = {
        "old.txt": "1 Q0 d1 1 9 old\n1 Q0 d2 2 8 old\n2 Q0 d3 1 5 old\n9 Q0 d1 1 1 old\n",
        "new.txt": (
            "1 Q0 d2 1 9 new\n1 Q0 d9 2 8 new\n1 Q0 d1 3 7 new\n2 Q0 d4 1 5 new\n3 Q0 d4 1 5 new\n"
        ),
        "qrels.txt": "1 0 d1 2\n1 0 d2 0\n2 0 d3 1\n2 0 d4 3\n3 0 d4 1\n",
        "docs.jsonl": '{"docno": "d1", "title": "One", "text": "'
        + "word " * 100
        + '"}\n{"id": "d3", "title": ""}\n{"query": "1", "text": "first query"}\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def of_runs(folder, **options):
    runs = [folder / "old.txt", folder / "new.txt"]
    return candidates_from_runs(folder / "qrels.txt", runs, depth=2, **options)


def test_runs_become_pairs(trec):
    found = of_runs(trec, documents=trec / "docs.jsonl")
    first, second = found.pairs
    assert (first.query, first.text, first.a, first.b) == ("1", "first query", (2, 0), (0, 0))
    assert (second.text, second.a, second.b) == ("", (1, -2), (3, -2))
    assert found.n_grades == 4
    assert first.items_a[0]["title"] == "One"
    assert len(first.items_a[0]["snippet"]) <= 300
    assert first.items_b == ({"title": "d2"}, {"title": "d9"})
    assert second.items_a == ({"title": "d3"}, {})
    assert found.dropped == {"queries of one run only": 1, "documents without a text": 3}
    assert of_runs(trec).pairs[0].items_a is None


@table(("suffix", "compress"), [("gz", gzip.compress), ("zst", zstd.compress)])
def test_texts_of_documents_may_be_compressed(trec, suffix, compress):
    path = trec / f"packed.{suffix}"
    path.write_bytes(compress((trec / "docs.jsonl").read_bytes()))
    assert of_runs(trec, documents=path).pairs[0].items_a[0]["title"] == "One"
    path.write_bytes(path.read_bytes()[:-9])
    refused(f"packed.{suffix}: cannot be decompressed", of_runs, trec, documents=path)
    path.with_suffix(".bz2").write_bytes(b"BZh91AY&SY")
    refused("packed.bz2 has no row", of_runs, trec, documents=path.with_suffix(".bz2"))


def test_runs_that_do_not_fit_are_refused(trec):
    refused("1 run ", candidates_from_runs, trec / "qrels.txt", [trec / "old.txt"])
    (trec / "new.txt").write_text("7 Q0 d1 1 1 new\n")
    refused("no judged query in common", of_runs, trec)
    (trec / "new.txt").write_text("1 Q0 d2 1 1 new\n")
    (trec / "bad.jsonl").write_text('{"title": "x"}\n')
    refused(
        "bad.jsonl, row 1: names no document; give docno, doc_id",
        of_runs,
        trec,
        documents=trec / "bad.jsonl",
    )
    refused("none.jsonl does not exist", of_runs, trec, documents=trec / "none.jsonl")


def test_documents_are_a_table_of_any_form(trec):
    lines = of_runs(trec, documents=trec / "docs.jsonl").pairs
    frame = pl.read_ndjson(trec / "docs.jsonl")
    assert of_runs(trec, documents=frame).pairs == lines
    frame.write_csv(trec / "docs.csv")
    assert of_runs(trec, documents=trec / "docs.csv").pairs == lines
    nested = frame.with_columns(title=pl.concat_list("title"))
    words = r"the data frame, row 1: d1.title is \['One'\]; use text"
    refused(words, of_runs, trec, documents=nested)

    # names and texts may be numbers
    numbers = pl.DataFrame({"id": [1, 2], "title": ["One", "Two"], "text": [1.5, None]})
    for name in ("old.txt", "new.txt", "qrels.txt"):
        path = trec / name
        path.write_text(path.read_text().replace(" d", " "))
    (pair, _) = of_runs(trec, documents=numbers).pairs
    assert pair.items_a == ({"title": "One", "snippet": "1.5"}, {"title": "Two"})


def test_candidates_may_be_standard_input(tmp_path, dcglearn, monkeypatch, here):
    given = io.BytesIO(written(tmp_path, LINE).read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
    assert "1 pair, 1 query" in dcglearn("ask", "-", "-o", "page.html")[2]
    assert (here / "page.html").exists()


def test_the_command_takes_a_file_or_two_runs(trec, dcglearn, misuse, here):
    pairs = written(trec, LINE)
    err = dcglearn("ask", pairs, "-o", "page.html")[2]
    assert "1 pair, 1 query; 2 positions, 3 grades" in err
    runs, qrels = (trec / "old.txt", trec / "new.txt"), ("--qrels", trec / "qrels.txt")
    err = dcglearn("ask", *runs, *qrels, "-o", "runs.html")[2]
    assert "2 pairs, 2 queries; 10 positions, 4 grades" in err
    status, out, _ = dcglearn("ask", *runs, *qrels, "-n", 2)
    assert status == 0 and out.count('"winner":"open"') == 2
    for arguments, words in [
        ((pairs, *runs, *qrels), "give a file of CANDIDATES, or two runs"),
        ((), "Missing argument"),
        (runs, "give a file of CANDIDATES, or two runs and --qrels"),
        ((trec / "none.jsonl",), "does not exist"),
    ]:
        misuse(words, "ask", *arguments, "-o", "other.html")
    assert not (here / "other.html").exists()


@pytest.mark.parametrize("scale", [["bad", "fair", "good", "great"], ["0", "1", "10", "100"]])
def test_the_names_of_grades_come_with_the_candidates(tmp_path, scale):
    line = {"a": [2, 0], "b": [0, 1], "scale": scale}
    found = read_candidates(write_lines(tmp_path / "c.jsonl", [line]))
    assert ([*found.grade_names], found.n_grades, found.pairs[0].a) == (scale, 4, (2, 0))
