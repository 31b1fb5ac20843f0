"""What null, blank cells, NA, -1 and -2 mean: each cell of the table in docs/logs.md is run."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl

PAGE = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
TABLE = PAGE.split("### Null, blank, -1 and -2")[1].split("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLE.splitlines()
    if line.startswith("| ")
][2:]
"""The rows of the table: where, and what null, NA, -1 and -2 mean there."""

REFUSED = dl.InputError


def of_row(**cells):
    """Return a log of a row with these cells, and of another row without doubt."""
    row = {"a": [2, 0, 1], "b": [0, 1, 2], "winner": "a"}
    return dl.read_preferences([row | cells, row | {"winner": "b"}], as_is=True)


def grade_of_list(value):
    return of_row(a=[2, value, 1]).preferred[0].tolist()


def list_of_text(value):
    rows = [{"a": text, "b": "0 1 2", "winner": "a"} for text in (value, "2 0 1")]
    return dl.read_preferences(rows, as_is=True).preferred[0].tolist()


def grade_of_text(value):
    return list_of_text(f"2 {value} 1")


def grade_of_position(value, where=2):
    cells = ["2", "0", "1"]
    cells[where] = value
    text = f"a_1,a_2,a_3,b,winner\n{','.join(cells)},0 1 2,a\n1,1,1,1 0 0,b\n"
    Path("log.csv").write_text(text)
    return dl.read_preferences("log.csv", as_is=True).preferred[0].tolist()


def label(role):
    def read(value):
        row = {"a": [2, 0], "b": [0, 2], "winner": "a"}
        rows = [row | {role: name} for name in ("x", "y", value)]
        return getattr(dl.read_preferences(rows, as_is=True), role)[2]

    return read


def number(role):
    def read(value):
        rows = [{"a": [2, 0], "b": [0, 2], "winner": "a", role: cell} for cell in (2, value)]
        return getattr(dl.read_preferences(rows, as_is=True), role)[1]

    return read


def document(value):
    log = [{"query": "q", "a": ["d1", value], "b": ["d2", "d1"], "winner": "a"}]
    return dl.read_preferences(dl.with_grades(log, judged({}))).preferred[0].tolist()


def judged(more):
    return dl.read_judgements({"q": {"d1": 2, "d2": 1, **more}})


FORMS = ("q.txt", "q.jsonl", "dictionary")


def grade_of_document(form):
    def read(value):
        judged = {"q": {"d1": 2, "d2": value}}
        rows = [("q", document, grade) for document, grade in judged["q"].items()]
        names = ("query", "doc", "grade")
        text = {
            "q.txt": "".join(f"{q} 0 {d} {g}\n" for q, d, g in rows),
            "q.jsonl": "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows),
        }
        if form in text:
            judged = form
            Path(form).write_text(text[form])
        read = dl.read_judgements(judged)
        log = [{"query": "q", "a": ["d1"], "b": ["d2"], "winner": "a"}]
        with_grades = dl.read_preferences(dl.with_grades(log, read)).other[0, 0]
        value = dl.evaluate(read, {"q": {"d2": 1.0}}, ["DCG@1"]).means[0]
        return with_grades, float(np.squeeze(value))

    return read


def array(value):
    return dl.Preferences(np.array([[2, value]]), np.array([[0, 1]])).preferred[0].tolist()


UNKNOWN, NO_RESULT = [2, -1, 1], [2, -2, 1]
CASES = {
    "a grade in a list": (
        (grade_of_list, None, UNKNOWN),
        (grade_of_list, "NA", UNKNOWN),
        (grade_of_text, "NA", UNKNOWN),
        (grade_of_text, "N/A", UNKNOWN),
        (grade_of_list, -1, UNKNOWN),
        (grade_of_text, -1, UNKNOWN),
        (grade_of_list, -2, NO_RESULT),
        (grade_of_text, -2, NO_RESULT),
    ),
    "a grade in a column for each position": (
        (grade_of_position, "", [2, 0, -2]),
        (lambda value: grade_of_position(value, 1), "", REFUSED),
        (grade_of_position, "NA", [2, 0, -1]),
        (grade_of_position, "-1", [2, 0, -1]),
        (grade_of_position, "-2", [2, 0, -2]),
    ),
    "a whole list": (
        (lambda value: of_row(a=value), None, REFUSED),
        (list_of_text, "", REFUSED),
        (list_of_text, "NA", REFUSED),
        (lambda value: of_row(a=[value]).preferred[0].tolist(), -1, [-1, -2, -2]),
        (lambda value: of_row(a=[value]).preferred[0].tolist(), -2, [-2, -2, -2]),
    ),
    "below the end": (
        (lambda _: of_row(a=[2]).preferred[0].tolist(), None, [2, -2, -2]),
        (
            lambda _: (
                dl.read_preferences([{"a": [2], "b": [0, 1], "winner": "a"}], pad=True)
                .preferred[0]
                .tolist()
            ),
            None,
            [2, -1],
        ),
    ),
    "winner": tuple(
        (lambda value: of_row(winner=value), value, REFUSED) for value in (None, "", "NA", -1, -2)
    ),
    "query, rater, segment": (
        (label("query"), None, REFUSED),
        *(
            (label(role), value, str(value))
            for role in ("query", "rater", "segment")
            for value in ("NA", -1, -2)
        ),
    ),
    "weight, strength": tuple(
        (number(role), value, expected)
        for role in ("weight", "strength")
        for value, expected in ((None, 1), ("", 1), ("NA", 1), (-1, REFUSED), (-2, REFUSED))
    ),
    "margin": (
        (number("margin"), None, REFUSED),
        (number("margin"), "NA", REFUSED),
        (number("margin"), -1, -1),
        (number("margin"), -2, -2),
    ),
    "swapped, shown_first": tuple(
        (lambda value, role=role: of_row(**{role: value}), value, REFUSED)
        for role in ("swapped", "shown_first")
        for value in ("NA", -1, -2)
    ),
    "a document of a list": (
        (document, None, [2, -2]),
        (document, "", [2, -2]),
        (document, "NA", [2, -1]),
        (document, "-1", [2, -1]),
    ),
    "the grade of a document, in a table, a TREC file or a dictionary": (
        *((grade_of_document(form), "NA", (-1, 0)) for form in FORMS),
        *((grade_of_document(form), None, (-1, 0)) for form in ("q.jsonl", "dictionary")),
        *((grade_of_document(form), -1, (0, 0)) for form in FORMS),
        *((grade_of_document(form), -2, (0, 0)) for form in FORMS),
    ),
    "a document without a judgement": (
        (lambda _: document("d9"), None, [2, -1]),
        (lambda _: dl.evaluate(judged({}), {"q": {"d9": 1.0}}, ["DCG@1"]).means[0], None, [0]),
    ),
    "an array of grades": ((array, math.nan, REFUSED), (array, -1, [2, -1]), (array, -2, [2, -2])),
}
"""For each row of the table: how a value is read, the value, and what it becomes."""


def test_each_row_of_the_table_is_run():
    names = [re.split(r"[:,] in|[:,] `|, in| of grades,| that is", row[0])[0] for row in ROWS]
    assert all(any(row[0].startswith(case) for case in CASES) for row in ROWS), names
    assert len(ROWS) == len(CASES)


@pytest.mark.filterwarnings("ignore:.*have no (judgement|grade)")
@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [pytest.param(*case, id=f"{name}: {case[1]}") for name, its in CASES.items() for case in its],
)
def test_a_cell_means_what_the_table_says(read, value, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if expected is REFUSED:
        with pytest.raises(REFUSED):
            read(value)
    else:
        assert np.array_equal(read(value), expected), read(value)


def test_a_winner_without_an_answer_is_refused_with_what_makes_it_an_open_question():
    rows = [{"a": [2, 0], "b": [0, 1], "best": best} for best in ("left", None)]
    with pytest.raises(REFUSED, match=r"winner_words=\{' ': 'open'\} says") as refused:
        dl.read_preferences(rows, columns={"winner": "best"})
    assert "row 2" in str(refused.value)
    log = dl.read_preferences(rows, columns={"winner": "best"}, winner_words={" ": "open"})
    assert len(log) == 1
