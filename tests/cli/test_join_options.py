"""Judgements, runs and sides on the command line."""

import json

import pytest

from dcglearn.reading.read import read_preferences
from tests.makers import write_lines

QRELS = "q 0 d1 2\nq 0 d2 1\nq 0 d3 0\n"
LINES = [
    {"query": "q", "a": ["d1", "d2"], "b": ["d2", "d3"], "winner": "a"},
    {"query": "q", "a": ["d3", "d1"], "b": ["d1", "d9"], "winner": "b"},
]
RUNS = ["--run-a", "old.txt", "--run-b", "new.txt"]


@pytest.fixture
def folder(here):
    (here / "qrels.txt").write_text(QRELS)
    write_lines(here / "log.jsonl", LINES)
    (here / "old.txt").write_text("q Q0 d1 1 2 old\nq Q0 d2 2 1 old\n")
    (here / "new.txt").write_text("q Q0 d3 1 2 new\nq Q0 d1 2 1 new\n")
    (here / "verdicts.csv").write_text("query,winner,rater\nq,old,ann\nq,old,bob\n")
    return here


@pytest.mark.filterwarnings("ignore:no judgement of 1 of 8 documents")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["log.jsonl", "--qrels", "qrels.txt"], [[[2, 1], [1, 0]], [[2, -1], [0, 2]]]),
        (["log.jsonl", "--qrels", "qrels.txt", "--depth", "1"], [[[2], [1]], [[2], [0]]]),
        (["verdicts.csv", "--qrels", "qrels.txt", *RUNS, "--depth", "2"], [[[2, 1], [0, 2]]] * 2),
    ],
)
def test_convert_joins(dcglearn, folder, options, expected):
    status, _, words = dcglearn("convert", *options, "-o", "joined.jsonl")
    assert status == 0 and "winners: " in words and "wrote: joined.jsonl" in words
    log = read_preferences(folder / "joined.jsonl")
    assert [
        [a, b] for a, b in zip(log.preferred.tolist(), log.other.tolist(), strict=True)
    ] == expected
    assert log.docs is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["log.jsonl"], "a holds the grade 'd1'"),
        (["log.jsonl", "--run-a", "old.txt"], "--run-a, --run-b and --qrels go together"),
        (["log.jsonl", *RUNS], "--run-a, --run-b and --qrels go together"),
        (["log.jsonl", "--qrels", "qrels.txt", "--ratings"], "no 'rating'"),
        (["log.jsonl", "--qrels", "qrels.txt", "--scale", "Bad,Good"], "qrels.txt"),
        (["log.jsonl", "--qrels", "qrels.txt", "-o", "qrels.txt", "--force"], "qrels.txt"),
    ],
)
def test_options_that_do_not_fit_are_refused(misuse, folder, options, message):
    misuse(message, "convert", *options)


SHEETS = {
    "letters": ("query,left,right,winner", "q,A,B,A", "q,B,A,A"),
    "sides": ("query,left,right,winner", "q,old,new,left", "q,new,old,right"),
    "names of systems": ("query,left_model,right_model,winner", "q,A,B,old", "q,B,A,old"),
    "systems of a and b": ("query,system_a,system_b,winner", "q,old,new,a", "q,new,old,b"),
    "ties too": ("query,Left,Right,winner", "q,A,B,A", "q,B,A,Right", "q,B,A,tie"),
}


@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sheet_that_says_which_run_stood_where_is_read_by_it(dcglearn, folder, sheet):
    (folder / "sheet.csv").write_text("\n".join(SHEETS[sheet]))
    joined = ("--qrels", "qrels.txt", *RUNS, "--depth", "2", "-o", "log2.jsonl")
    status, _, words = dcglearn("convert", "sheet.csv", *joined)
    assert status == 0 and "old won 2 of 2" in words
    _, first, second, _ = SHEETS[sheet][0].split(",")
    told = f"columns: a is the run in the column {first}, b is the run in the column {second}"
    assert told in words
    log = read_preferences(folder / "log2.jsonl", as_is=True)
    assert log.preferred[:2].tolist() == [[2, 1]] * 2 and log.other[:2].tolist() == [[0, 2]] * 2


def test_own_names_of_columns_hold_beside_judgements(dcglearn, folder):
    lines = ["Query ID,Left docs,Right docs,Verdict,Prüfer", "q,d1 d2,d2 d3,Links,Jörg"]
    (folder / "own.csv").write_text("\n".join(lines))
    for a, b in (("a", "b"), ("docs_a", "docs_b")):
        columns = f"{a}=Left docs,{b}=Right docs,winner=Verdict,rater=Prüfer"
        options = ("--qrels", "qrels.txt", "--columns", columns, "--winner-words", "Links=a")
        status, out, words = dcglearn("convert", "own.csv", *options)
        line = json.loads(out)
        assert status == 0 and "columns: " in words and "Links = a (1)" in words
        assert (line["a"], line["b"], line["rater"]) == ([2, 1], [1, 0], "Jörg")


def test_a_sheet_may_have_two_columns_of_one_meaning_if_one_is_named(dcglearn, folder):
    lines = ["Query,Query ID,Left,Right,Best,Verdict", "how to,q,A,B,A,sure", "what is,q,B,A,A,no"]
    (folder / "sheet.csv").write_text("\n".join(lines))
    columns = ("--columns", "query=Query ID,winner=Best", "--depth", "2", "-o", "log2.jsonl")
    with pytest.warns(UserWarning, match="columns that are not used: Query, Verdict"):
        status, _, words = dcglearn("convert", "sheet.csv", "--qrels", "qrels.txt", *RUNS, *columns)
    assert status == 0 and "old won 2 of 2" in words


REFUSED_SHEETS = {
    "the list or the run": ("query,left,right,winner", "q,old,new,A", "q,new,old,A"),
    "both say what was shown left": ("query,left,right,swapped,winner", "q,A,B,no,A"),
    "a and b are not the two runs": ("query,left,right,winner", "q,Alpha,Beta,Alpha"),
    "which run stood on one side": ("query,left,winner", "q,A,left"),
    "has not the query": ("query,winner", "r,A"),
}


@pytest.mark.parametrize("words", REFUSED_SHEETS)
def test_a_sheet_that_could_mean_either_run_is_refused(misuse, folder, words):
    (folder / "sheet.csv").write_text("\n".join(REFUSED_SHEETS[words]))
    misuse(words, "convert", "sheet.csv", "--qrels", "qrels.txt", *RUNS)


def test_a_name_of_a_column_that_no_table_has_is_refused(misuse, folder):
    (folder / "own.csv").write_text("query,left,right,winner\nq,A,B,A\n")
    for columns in ("rater=Prüfer", "winner=winner,time=Zeit"):
        words = ("own.csv", "--qrels", "qrels.txt", *RUNS, "--columns", columns)
        misuse("names no column of the judgements, and none of the log", "convert", *words)
