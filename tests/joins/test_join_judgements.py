"""Logs of documents, and runs with verdicts, joined with judgements."""

import json

import numpy as np
import polars as pl
import pytest

from dcglearn.evaluation.run_values import evaluate
from dcglearn.evaluation.tables import read_judgements, read_runs
from dcglearn.foundation.validation import InputError
from dcglearn.joins.join_judgements import join_judgements, preferences_from_runs
from dcglearn.metrics.dcg import DCG
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.read_log import read_preferences
from tests.makers import refused, write_lines

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 0\nq2 0 7 2\nq2 0 d9 -2\n"
LINES = [
    {
        "query": "q1",
        "a": ["d1", "d2", "d3"],
        "b": ["d2", "d3", "d1"],
        "winner": "a",
        "rater": "x",
        "swapped": True,
    },
    {
        "query": "q2",
        "a": ["d1", "d9"],
        "b": ["7", "d1"],
        "winner": "right",
        "rater": "y",
        "swapped": False,
    },
    {
        "query": "q1",
        "a": ["d4", "d1"],
        "b": ["d3", "d5"],
        "winner": "tie",
        "rater": "x",
        "swapped": False,
    },
]


@pytest.fixture
def files(tmp_path):
    """A log of documents and judgements; returns a function that writes the log with other
    lines."""
    (tmp_path / "qrels.txt").write_text(QRELS)

    def written(lines=LINES, name="log.jsonl"):
        return write_lines(tmp_path / name, lines), tmp_path / "qrels.txt"

    return written


def test_documents_become_their_grades(files):
    log = join_judgements(*files())
    assert log.preferred.tolist() == [[2, 0, 1], [2, 0, -2], [0, 2, -2]]
    assert log.other.tolist() == [[0, 1, 2], [0, 0, -2], [1, 0, -2]]
    assert log.tie.tolist() == [False, False, True] and log.swapped.tolist() == [True, True, False]
    assert (
        log.counted == {"documents": 14, "documents without a judgement": 2} and log.dropped == {}
    )
    assert log.docs[1].tolist() == ["7\td1", "d1\td9"] and log.n_grades == 3


@pytest.mark.parametrize(
    ("unjudged", "expected"),
    [
        ("worst", [0, 2, -2]),
        ("best", [2, 2, -2]),
        ("unknown", [-1, 2, -2]),
        (1, [1, 2, -2]),
        ("drop", [2, -2, -2]),
    ],
)
def test_what_an_unjudged_document_counts_as(files, unjudged, expected):
    assert join_judgements(*files(), unjudged=unjudged).preferred[2].tolist() == expected


def test_documents_that_move_up_are_cut_afterwards(files):
    log = join_judgements(*files(), unjudged="drop", depth=1)
    assert log.preferred.tolist() == [[2], [2], [2]] and log.other.tolist() == [[0], [0], [1]]


def test_tables_records_frames_and_lists_beside_grades(files, tmp_path):
    path, qrels = files()
    expected = join_judgements(path, qrels)
    table = tmp_path / "log.csv"
    rows = [
        f"{x['query']};{' '.join(x['a'])};{' '.join(x['b'])};{x['winner']};{x['swapped']}"
        for x in LINES
    ]
    table.write_text("\n".join(["query;a;b;winner;swapped", *rows]) + "\n")
    beside = [
        {
            "docs_a": x["a"],
            "docs_b": x["b"],
            "a": [0],
            "b": [1],
            **{k: x[k] for k in ("query", "winner")},
        }
        for x in LINES
    ]
    for log in (table, LINES, pl.DataFrame(LINES), beside):
        joined = join_judgements(log, qrels)
        assert (joined.preferred == expected.preferred).all() and (
            joined.docs == expected.docs
        ).all()
    expected.save(tmp_path / "native.jsonl")
    again = read_preferences(tmp_path / "native.jsonl")
    assert (again.docs == expected.docs).all() and (again.swapped == expected.swapped).all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            {"query": "q9"},
            "log.jsonl, line 3: the query 'q9' has no judgement in .*qrels.txt "
            ".1 of 3 queries have none.*skip",
        ),
        ({"query": None}, "the query '' has no judgement"),
        ({"a": [["d1"], "d2"]}, r"line 3: a holds \['d1'\]; name a document by a text"),
        ({"a": 1}, "line 3: a is 1, not a list of names"),
        ({"winner": "x"}, "line 3: winner is 'x'"),
        ({"swapped": None}, "line 3: swapped None: give it on every line or on none .line 1"),
    ],
)
def test_a_line_that_cannot_be_joined_is_named(files, line, message):
    refused(message, join_judgements, *files([*LINES[:2], LINES[2] | line]))


def test_queries_and_pairs_without_judgements_are_left_out_and_counted(files):
    lines = [
        *LINES,
        LINES[0] | {"query": "q9"},
        LINES[0] | {"a": ["d7", "d8", "d6"], "b": ["d6", "d7", "d8"]},
    ]
    log = join_judgements(*files(lines), missing="skip")
    assert len(log) == 3
    assert log.dropped == {
        "pairs of queries without judgements": 1,
        "pairs without a judged document": 1,
    }
    assert log.counted == {"documents": 20, "documents without a judgement": 8}
    with pytest.raises(
        InputError, match=r"line 1: no document has a judgement .* nor has 'd7' for the query 'q1'"
    ):
        join_judgements(*files(lines[-1:]))
    with pytest.raises(
        InputError, match=r"the query 'q9' has no judgement .*Add judgements \(see \S+#names\)$"
    ):
        join_judgements(*files(lines[3:4]), missing="skip")


def test_wrong_settings_are_refused(files):
    for setting, message in (
        ({"unjudged": "zero"}, "give a grade, or one of worst, best, drop, unknown"),
        ({"unjudged": 0.5}, "unjudged=0.5 is not an integer"),
        ({"unjudged": 5, "n_grades": 3}, "grade 5 lies outside 0..2"),
        ({"missing": "zero"}, "give one of error, skip"),
        ({"n_grades": 2}, "grade 2 lies outside 0..1; raise n_grades=2"),
    ):
        refused(message, join_judgements, *files(), **setting)


def test_names_of_documents_where_grades_are_expected_point_to_the_judgements(files):
    refused(
        r"a holds 'd1', which is no grade; .*dl.io.join_judgements", read_preferences, files()[0]
    )


RUNS = {
    "old": {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "q2": {"d1": 1.0}},
    "new": {"q1": {"d3": 1.0, "d1": 1.0}, "q2": {"7": 1}},
}


def test_runs_with_verdicts(files, tmp_path):
    _, qrels = files()
    sides = (qrels, {"old": RUNS["old"]}, {"new": RUNS["new"]})
    log = preferences_from_runs(*sides, {"q1": "old", "q2": "b"}, depth=3)
    assert log.preferred.tolist() == [[2, 0, 1], [2, -2, -2]]
    assert log.other.tolist() == [[1, 2, -2], [0, -2, -2]], (
        "equal scores: names in descending order"
    )
    table = tmp_path / "verdicts.csv"
    table.write_text("query,winner,rater,strength\nq1,b,ann,2\nq1,tie,bob,1\nq2,new,ann,1\n")
    log = preferences_from_runs(*sides, table, depth=3)
    assert log.rater.tolist() == ["ann", "bob", "ann"] and log.strength.tolist() == [2, 1, 1]
    assert log.preferred[0].tolist() == [1, 2, -2] and log.tie.tolist() == [False, True, False]
    table.write_text("query,votes_a,votes_b\nq1,1,3\nq2,0,2\n")
    log = preferences_from_runs(*sides, table, depth=3)
    assert log.weight.tolist() == [1, 3, 2]
    assert log.preferred.tolist() == [[2, 0, 1], [1, 2, -2], [2, -2, -2]]


def test_verdicts_that_do_not_fit_the_runs_are_named(files, tmp_path):
    _, qrels = files()
    sides = (qrels, RUNS["old"], RUNS["new"])
    table = tmp_path / "verdicts.csv"
    table.write_text("query,winner\nq1,a\nq3,b\n")
    refused(
        r"verdicts.csv, line 3: the query 'q3' is not in the run",
        preferences_from_runs,
        *sides,
        table,
    )
    table.write_text("query,winner\nq1,best\n")
    refused("line 2: winner is 'best'", preferences_from_runs, *sides, table)
    refused(
        "the first run holds 2 systems",
        preferences_from_runs,
        qrels,
        RUNS,
        RUNS["new"],
        {"q1": "a"},
    )
    refused(
        "ties='average': give one of docno-desc, stable",
        preferences_from_runs,
        *sides,
        {"q1": "a"},
        ties="average",
    )


def test_documents_and_grades_apart_give_back_real_grades(shared, tmp_path):
    path = shared / "urbano_music" / "side_by_side.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    grades = {
        (x["query"], document): grade
        for x in lines
        for s in "ab"
        for document, grade in zip(x[f"docs_{s}"], x[s], strict=True)
    }
    apart = [
        {"query": x["query"], "a": x["docs_a"], "b": x["docs_b"], "winner": x["winner"]}
        for x in lines
    ]
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(
        "".join(f"{query} 0 {document} {grade}\n" for (query, document), grade in grades.items())
    )
    joined, log = join_judgements(apart, qrels), read_preferences(path)
    assert (joined.preferred == log.preferred).all() and (joined.other == log.other).all()
    assert (joined.tie == log.tie).all() and (joined.docs == log.docs).all() and len(log) == 4115


def test_pairs_from_real_runs_are_scored_as_evaluate_scores_the_runs(shared):
    folder = shared / "trec_dl2021_passage"
    judged = read_judgements(folder / "qrels-pass.txt")
    old, new = read_runs(folder / "runs_judged53.txt.xz")[:2]
    queries = sorted(judged.frame["query"].unique())
    dcg = DCG.standard(judged.n_grades, 10, "linear")
    for unjudged in ("worst", "drop"):
        log: Preferences = preferences_from_runs(
            judged, old, new, dict.fromkeys(queries, "a"), unjudged=unjudged
        )
        values = evaluate(
            judged, [old, new], {"DCG": dcg}, normalise=False, unjudged=unjudged
        ).values[:, 0]
        np.testing.assert_allclose(
            [dcg.score(log.preferred), dcg.score(log.other)], values, atol=1e-12
        )
        assert len(log) == len(queries) == 53


def test_an_empty_list_of_documents_is_refused_in_any_form(tmp_path):
    rows = [LINES[0], {**LINES[1], "a": []}]
    table = tmp_path / "log.parquet"
    pl.DataFrame(rows).write_parquet(table)
    lines = write_lines(tmp_path / "log.jsonl", rows)
    for log, place in ((table, "row 2"), (lines, "line 2"), (rows, "record 2")):
        message = f"{place}: a is an empty list; leave the line out"
        refused(message, join_judgements, log, {"q1": {"d1": 1}}, missing="skip")


def test_judgements_have_the_scale_of_the_options(files, tmp_path):
    log, _ = files()
    names = {"0": "Bad", "1": "Fair", "2": "Good", "-2": "-1"}
    rows = [line.split() for line in QRELS.splitlines()]
    path = tmp_path / "named.txt"
    path.write_text("".join(f"{q} {i} {d} {names[g]}\n" for q, i, d, g in rows))
    joined = join_judgements(log, path, scale="Bad,Fair,Good")
    expected = join_judgements(*files())
    assert joined.grade_names == ("Bad", "Fair", "Good")
    np.testing.assert_array_equal(joined.preferred, expected.preferred)

    # fractions too
    fractions = {"0": 0.1, "1": 0.5, "2": 0.9}
    path.write_text("".join(f"{q} 0 {d} {fractions.get(g, 0)}\n" for q, _, d, g in rows))
    joined = join_judgements(log, path, cutoffs=".4,.6", pad=True)
    assert joined.preferred.max() == 2
    assert joined.preferred.min() == -1


def test_codes_among_judgements_are_refused_and_insisted_on(files, tmp_path):
    log, _ = files()
    path = tmp_path / "codes.txt"
    path.write_text(QRELS.replace("d1 2", "d1 100").replace("7 2", "7 10"))
    refused("codes.txt: the grade 100 .*--scale 0,1,10,100", join_judgements, log, path)
    assert join_judgements(log, path, n_grades=101).n_grades == 101
    assert join_judgements(log, path, scale="0,1,10,100").n_grades == 4


def test_verdicts_on_runs_are_read_by_the_options(tmp_path):
    path = tmp_path / "verdicts.csv"
    path.write_text("Report of May\nFrage;Sieger\nq;links\n")
    runs = [{"q": {"d1": 2.0, "d2": 1.0}}, {"q": {"d1": 1.0, "d2": 2.0}}]
    log = preferences_from_runs(
        {"q": {"d1": 2, "d2": 0}},
        *runs,
        path,
        depth=2,
        header=2,
        columns={"query": "Frage", "winner": "Sieger"},
        winner_words={"links": "a"},
    )
    assert log.preferred.tolist() == [[2, 0]]
