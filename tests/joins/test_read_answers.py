"""Logs of answers: what their columns may hold, the comparisons in them, and what is refused."""

import json
import re

import numpy as np
import pytest

import dcglearn as dl
from tests.makers import write, write_lines

LINES = [
    {"question": "q1", "list": [2, 0, 1], "right": True, "configuration": "three"},
    {"question": "q1", "list": [0, 0], "right": False, "configuration": "two"},
    {"question": "q2", "list": [1], "right": "wrong", "configuration": "two"},
    {"question": "q3", "list": [1, 1], "right": 0.25, "configuration": "two"},
    {"question": "q3", "list": [1, 1], "right": "yes", "configuration": "two"},
]


def test_words_scores_and_lists_of_any_length_are_read():
    answers = dl.io.read_answers(LINES)
    assert answers.lists.tolist()[1] == [0, 0, answers.lists[2, 1]] and answers.lists.min() < 0
    assert answers.right.tolist() == [1, 0, 0, 0.25, 1] and answers.counted == {"configurations": 2}
    assert answers.varied.tolist() == [True, True, False, False, False]


def test_a_table_may_have_a_row_for_each_document(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(
        "qid,config,position,grade,correct\nq,a,1,2,yes\nq,a,2,0,yes\nq,b,1,0,no\nr,b,1,1,1\n"
    )
    answers = dl.io.read_answers(path)
    assert answers.question.tolist() == ["q", "q", "r"] and answers.right.tolist() == [1, 0, 1]
    assert answers.lists[0].tolist() == [2, 0] and answers.lists[:, 0].tolist() == [2, 0, 1]


def test_columns_may_have_names_of_their_own(tmp_path):
    names = {"question": "Frage", "right": "Richtig", "list": "Noten"}
    path = write(tmp_path, "log.csv", "Frage;Noten;Richtig\nf;2 0;1\nf;0 1;0\n")
    read = dl.io.read_answers(path, columns=names)
    assert read.question.tolist() == ["f", "f"] and read.right.tolist() == [1, 0]
    assert read.lists.tolist() == [[2, 0], [0, 1]]


def test_documents_are_looked_up(tmp_path):
    lines = [
        {"question": "q", "list": ["d1", "d2"], "right": 1},
        {"question": "q", "list": ["d3"], "right": 0},
    ]
    answers = dl.io.read_answers(
        write_lines(tmp_path / "x.jsonl", lines), judgements={"q": {"d1": 2, "d2": 1}}
    )
    assert answers.lists[0].tolist() == [2, 1] and answers.lists[1, 0] == 0
    assert answers.counted == {"documents": 3, "documents without a judgement": 1}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            {"question": "q", "list": [1], "right": 1.5},
            "x.jsonl, line 6: right is 1.5; use true or false",
        ),
        ({"question": "q", "list": [1], "right": "maybe"}, "line 6: right is 'maybe'"),
        (
            {"question": "q", "list": [1]},
            "line 6: no 'right' (accepted names: right, correct, score, outcome)",
        ),
        ({"list": [1], "right": True}, "line 6: no 'question'"),
        (
            {"question": "q", "list": ["d1"], "right": True},
            "line 6: list holds 'd1', which is no grade",
        ),
    ],
)
def test_a_bad_line_is_named_or_set_aside(tmp_path, line, words):
    path = write_lines(tmp_path / "x.jsonl", [*LINES, line])
    with pytest.raises(dl.InputError, match=re.escape(words)):
        dl.io.read_answers(path)
    answers = dl.io.read_answers(path, skip_bad=tmp_path / "bad.jsonl")
    assert len(answers) == 5 and answers.dropped["bad lines"] == 1
    assert json.loads((tmp_path / "bad.jsonl").read_text()) == line


def test_answers_that_are_all_right_are_refused():
    with pytest.raises(dl.InputError, match="all 2 are equally right"):
        dl.io.read_answers([{**line, "right": 1} for line in LINES[:2]])


def test_comparisons_are_of_one_question_and_weigh_as_the_answers_say():
    rng = np.random.default_rng(0)
    lines = [
        {
            "question": int(q),
            "list": rng.integers(0, 3, 2).tolist(),
            "right": float(rng.choice([0, 0.3, 1])),
        }
        for q in rng.integers(0, 20, 80)
    ]
    answers = dl.io.read_answers(lines)
    expected = {}
    for i, one in enumerate(lines):
        for j, other in enumerate(lines):
            weight = one["right"] * (1 - other["right"])
            if one["question"] == other["question"] and one["list"] != other["list"] and weight:
                expected[i, j] = (
                    2 / sum(line["question"] == one["question"] for line in lines) * weight
                )
    right, wrong, weights = (values.tolist() for values in answers.within_questions)
    found = dict(zip(zip(right, wrong, strict=True), weights, strict=True))
    assert found == pytest.approx(expected)
    log = answers.preferences()
    assert log.query.tolist() == [str(lines[i]["question"]) for i, _ in found]


def test_pairs_across_questions_are_of_questions_with_one_list():
    answers = dl.io.read_answers([*LINES, {"question": "q4", "list": [2], "right": 1}])
    right, wrong, weight = answers.across_questions
    assert not answers.varied[[*right, *wrong]].any() and weight.sum() == pytest.approx(3)
    assert (answers.right[right] > 0).all() and (
        answers.question[right] != answers.question[wrong]
    ).all()


def test_an_empty_list_is_a_question_asked_without_any_passage(tmp_path):
    closed = {"question": "q1", "list": [], "right": False}
    answers = dl.io.read_answers([*LINES, closed, {**closed, "question": "q7"}])
    assert answers.closed_book.tolist() == [False] * 5 + [True]
    assert answers.lists[5].tolist() == [-2, -2, -2]
    left_out = {"closed-book answers to questions without another line": 1}
    assert answers.dropped == left_out and "q7" not in answers.question

    # in every form, and beside a list of which no grade is known
    path = tmp_path / "x.csv"
    path.write_text('question,list,right\nq,"[2, 0]",1\nq,[],0\nq,[-1],1\n')
    assert dl.io.read_answers(path).lists.tolist() == [[2, 0], [-2, -2], [-1, -2]]
    path.write_text("qid,config,position,grade,correct\nq,a,1,2,yes\nq,a,2,0,yes\nq,b,1,-2,no\n")
    assert dl.io.read_answers(path).closed_book.tolist() == [False, True]
    named = [
        {"question": "q", "list": ["d"], "right": 1},
        {"question": "q", "list": [], "right": 0},
    ]
    answers = dl.io.read_answers(named, judgements={"q": {"d": 2}})
    assert answers.lists.tolist() == [[2], [-2]]


def test_closed_book_lines_alone_and_empty_lists_of_other_logs_are_refused():
    closed = [{"question": q, "list": [], "right": q} for q in (0, 1)]
    with pytest.raises(dl.InputError, match=r"all 2 lists are empty \(closed book\)"):
        dl.io.read_answers(closed)
    with pytest.raises(dl.InputError, match="a is an empty list; leave the line out"):
        dl.Preferences.from_records([{"a": [], "b": [1], "winner": "b"}])
