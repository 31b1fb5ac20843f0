"""Shapes that are made of whole columns agree with a referee that reads judgement by judgement."""

import json

import numpy as np
import polars as pl
import pytest

from dcglearn.readers.column_roles import PREFERENCE
from dcglearn.readers.line_formats import JsonLines, TextLines
from dcglearn.readers.long_tables import open_shaped
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.read_log import read_preferences
from dcglearn.readers.rebuilt import Rebuilt
from tests.makers import refused, write
from tests.readers.test_cells import both_passes
from tests.readers.test_file_shapes import long

LISTS = {"a": [2, 0, 1], "b": [0, 1, 2]}
OTHERS = {"a": [1, 0, 0], "b": [1, 1, 0]}


def lines(*objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


NAMED = "query,system,position,grade,winner\n" + "".join(
    f"q{q},{system},{at},{grade},{'new' if at == 1 else ''}\n"
    for q in range(2)
    for system, grades in (("prod", (0, 1)), ("new", (2, 0)))
    for at, grade in enumerate(grades, 1)
)
STATUS = [
    {**LISTS, "winner": "a", "id": "1", "rater": "x", "status": "Approved"},
    {**OTHERS, "winner": "b", "id": "1", "rater": "x", "status": "Rejected"},
    {**OTHERS, "winner": "b", "id": "1", "rater": "x", "status": "Approved"},
    {**OTHERS, "winner": "b", "id": "1", "rater": "x", "status": "Approved"},
    {**OTHERS, "winner": "b", "rater": "x", "status": "Approved"},
]
SHAPES = {
    "rows of documents": (long(0, seed=3), {}),
    "rows of documents, one damaged": (long().replace("q1,left,2", "q1,left,x"), {}),
    "rows of documents, a gap": (long().replace("q1,left,2,0,right\n", ""), {}),
    "rows by names of systems": (NAMED, {}),
    "rows of grades by name": (
        long().replace(",0,", ",Bad,").replace(",2,", ",Good,"),
        {"scale": ["Bad", "1", "Good"]},
    ),
    "outcomes": (
        lines(
            {**LISTS, "winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0},
            {**OTHERS, "winner_model_a": 0, "winner_model_b": 0, "winner_tie": 1},
        ),
        {},
    ),
    "two outcomes": (lines({**LISTS, "winner_a": 1, "winner_b": 1}), {}),
    "chosen and rejected": ("chosen;rejected\n2 0;0 1\n1 1;0 2\n", {}),
    "votes": (
        lines({**LISTS, "votes_a": 2, "votes_b": 1}, {**OTHERS, "votes_a": 0, "votes_b": 3}),
        {},
    ),
    "bad votes": (lines({**LISTS, "votes_a": 0, "votes_b": 0}), {}),
    "probabilities": ("a;b;probability;weight\n2 0;0 1;.25;2\n1 1;0 2;1;\n", {}),
    "names of systems": (
        lines(
            {**LISTS, "model_a": "X", "model_b": "Y", "winner": "Y"},
            {**OTHERS, "model_a": "Y", "model_b": "X", "winner": "tie"},
        ),
        {},
    ),
    "a status": (lines(*STATUS), {"leave_out": "rejected"}),
    "repeated lines": (lines(*STATUS), {"leave_out": "duplicates,rejected"}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_agree_with_judgements_one_by_one(tmp_path, shape):
    text, options = SHAPES[shape]
    name = "x.jsonl" if text.startswith("{") else "x.csv"
    at_once, one_by_one = both_passes(
        read_preferences, write(tmp_path, name, text), as_is=True, **options
    )
    assert at_once == one_by_one


def opened(kind, text, **options):
    return open_shaped(
        lambda roles: kind(text.encode(), roles), PREFERENCE, LogMapping(as_is=True, **options)
    )


def test_the_line_of_several_judgements_is_named_for_each():
    votes = [{**LISTS, "votes_a": 2, "votes_b": 1}, {**OTHERS, "votes_a": 1, "votes_b": 0}]
    source = opened(JsonLines, lines(*votes))
    assert isinstance(source, Rebuilt)
    assert [number for number, _ in source] == [1, 1, 2]
    assert [source.record(item)["winner"] for _, item in source] == ["a", "b", "a"]
    assert {source.raw(item) for _, item in source} == {*lines(*votes).encode().splitlines()}


def test_the_rows_of_a_judgement_are_named_by_the_first_and_given_back():
    text = long(seed=1)
    source = opened(TextLines, text)
    numbers = [number for number, _ in source]
    assert numbers == sorted(numbers)
    rows = [row for _, item in source for row in source.raw(item).decode().splitlines()]
    assert sorted(rows) == sorted(text.splitlines()[1:])


def test_lines_that_are_left_out_are_counted_by_reason(tmp_path):
    path = write(tmp_path, "x.jsonl", lines(*STATUS))
    log = read_preferences(path, as_is=True, leave_out="rejected,duplicates")
    expected = {"lines of status Rejected": 1, "lines that repeat an earlier one": 1}
    assert expected.items() <= log.dropped.items()
    assert len(log) == 3


def test_a_table_of_which_no_row_can_be_read_is_refused_in_words(tmp_path):
    text = "list_id,position,grade,winner,side\nx,top,1,a,left\n"
    refused("line 2: position is 'top'", read_preferences, write(tmp_path, "x.csv", text))
    without = long().replace(",left\n", ",\n").replace(",right\n", ",\n").replace(",same\n", ",\n")
    refused("line 2: winner is missing", read_preferences, write(tmp_path, "y.csv", without))


def test_a_far_position_is_a_gap(tmp_path):
    text = long().replace("q1,left,3,", f"q1,left,{10**30},")
    path = write(tmp_path, "x.csv", text.replace(str(10**30), "999999999999999999"))
    refused("line 8: position 3 of a is missing", read_preferences, path)
    table = [{"query": "q", "side": s, "position": 10**30, "grade": 1, "winner": "a"} for s in "ab"]
    refused("record 1: position 1 of a is missing", read_preferences, table)


def test_logarithms_of_a_line_without_those_of_b():
    both = {**LISTS, "logprob_a": np.log(0.3), "logprob_b": np.log(0.1)}
    read = read_preferences([both, {**OTHERS, "logprob_a": np.log(0.3)}], as_is=True)
    np.testing.assert_allclose(sorted(read.weight), [0.25, 0.3, 0.7, 0.75])
    refused("record 2: logprob_b is missing", read_preferences, [both, {**both, "logprob_b": None}])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
@pytest.mark.parametrize("role", ["votes_a", "probability", "logprob_a", "logprob_b", "weight"])
def test_numbers_that_are_not_finite_are_refused(role, value):
    columns = {"votes_a": [1.0], "votes_b": [1.0]}
    if role != "votes_a":
        columns = {"logprob_a": [-1.0]} if role.startswith("log") else {"probability": [0.5]}
    table = pl.DataFrame({"a": [[2, 0]], "b": [[0, 1]], **columns, role: [value]})
    refused(f"row 1: {role} is {value}, which is not a finite number", read_preferences, table)


def test_a_long_table_of_which_no_row_with_a_side_can_be_read_is_refused(tmp_path):
    log = write(tmp_path, "log.csv", "query,side,position,grade,winner\nq\nq\n")
    refused("line 2: 1 fields where the header has 5", read_preferences, log)
