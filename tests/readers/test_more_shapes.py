"""Logs in shapes that people have: votes, probabilities, documents as objects, nested and foreign
spellings.
"""

import importlib
import io
import json
import re
from datetime import date, datetime
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.estimators.dcg_learner import DCGLearner
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.workbooks import ENGINES
from dcglearn.raters.repeats import units
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.read_log import read_preferences
from tests.makers import columns, refused, write
from tests.readers.test_file_shapes import workbook

LISTS = {"a": [2, 0, 1], "b": [0, 1, 2]}
RNG = np.random.default_rng(5)


def lines(tmp_path, *records):
    return write(tmp_path, "log.jsonl", "".join(json.dumps(record) + "\n" for record in records))


def test_votes_are_verdicts_with_weights(tmp_path):
    votes = {**LISTS, "votes_a": 7, "votes_b": 3, "votes_tie": 1}
    read = read_preferences(lines(tmp_path, votes))
    written_out = [{**LISTS, "winner": w, "weight": n} for w, n in (("a", 7), ("b", 3), ("tie", 1))]
    assert columns(read) == columns(read_preferences(written_out))
    text = write(tmp_path, "v.csv", "a,b,votes_a,votes_b\n2 0 1,0 1 2,7,\n2 0 1,0 1 2,0,2\n")
    assert read_preferences(text).weight.tolist() == [7, 2]


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ({"votes_a": 0, "votes_b": 0}, "line 2: the votes are .0.0, 0.0, 0.0.; give numbers"),
        ({"votes_a": -1, "votes_b": 2}, "line 2: the votes are"),
        ({"votes_a": "x", "votes_b": 2}, "line 2: votes_a is 'x', which is not a number"),
        ({"votes_a": True, "votes_b": 2}, "line 2: votes_a is True"),
        ({"votes_a": 1}, "line 2: no 'votes_b' .accepted names: votes_b, b_votes, n_b."),
    ],
)
def test_wrong_votes(tmp_path, votes, message):
    refused(
        message,
        read_preferences,
        lines(tmp_path, {**LISTS, "votes_a": 1, "votes_b": 0}, {**LISTS, **votes}),
    )


def random_records(n=120):
    pairs = [RNG.integers(0, 3, (2, 3)).tolist() for _ in range(n)]
    return [{"a": a, "b": b, "query": f"q{i}"} for i, (a, b) in enumerate(pairs)]


def test_a_probability_is_a_soft_label_in_the_likelihood(tmp_path):
    records = random_records()
    shares = RNG.uniform(0, 1, len(records)).round(3).tolist()
    soft = [{**r, "probability": p} for r, p in zip(records, shares, strict=True)]
    sides = [
        (r, w, p)
        for r, share in zip(records, shares, strict=True)
        for w, p in (("a", share), ("b", 1 - share))
    ]
    written_out = [
        {**record, "winner": winner, "weight": weight} for record, winner, weight in sides
    ]
    fits = [
        DCGLearner().fit(read_preferences(log, n_grades=3)).dcg_
        for log in (lines(tmp_path, *soft), written_out)
    ]
    assert fits[0].gains.tolist() == fits[1].gains.tolist()
    assert fits[0].discounts.tolist() == fits[1].discounts.tolist()


def test_probabilities_of_nought_and_one_are_verdicts():
    read = read_preferences(
        [{**LISTS, "probability": 1}, {**LISTS, "probability": 0.0, "weight": 3}]
    )
    assert columns(read) == columns(
        read_preferences(
            [{**LISTS, "winner": "a", "weight": 1}, {**LISTS, "winner": "b", "weight": 3}]
        )
    )


def test_a_probability_of_another_name():
    read = read_preferences([{**LISTS, "p_a": 0.75}], columns={"probability": "p_a"})
    assert read.weight.tolist() == [0.75, 0.25]
    refused(
        "record 1: weight is True",
        read_preferences,
        [{**LISTS, "probability": 0.5, "weight": True}],
    )
    refused(
        "record 1: weight is 'x'", read_preferences, [{**LISTS, "probability": 0.5, "weight": "x"}]
    )


@pytest.mark.parametrize(
    ("names", "values"),
    [
        ("votes_a,votes_b", "3,1"),
        ("probability,weight", "0.75,4"),
        ("winner_a,winner_b", "1,0"),
        ("logprob_a,logprob_b", "-0.1,-2"),
    ],
)
def test_a_row_for_each_document_without_a_winner(tmp_path, names, values):
    rows = [f"side,position,grade,{names}", f"a,1,2,{values}", "a,2,0,,", "b,1,0,,", "b,2,1,,"]
    read = read_preferences(write(tmp_path, "rows.csv", "\n".join(rows)))
    lists = write(tmp_path, "lists.csv", f"a,b,{names}\n2 0,0 1,{values}\n")
    assert columns(read) == columns(read_preferences(lists))

    # without an outcome, no list is the chosen one
    without = "\n".join(",".join(row.split(",")[:3]) for row in rows)
    refused("no 'winner'", read_preferences, write(tmp_path, "none.csv", without))


def test_a_bad_row_of_votes_by_document_is_named_and_set_aside(tmp_path):
    rows = ["query,side,position,grade,votes_a,votes_b", "q1,a,1,2,3,1", "q1,b,1,0,,"]
    bad = ["q2,a,1,2,1,x", "q2,b,1,1,,"]
    path = write(tmp_path, "rows.csv", "\n".join(rows + bad))
    refused("line 4: votes_b is 'x'", read_preferences, path)
    read = read_preferences(path, skip_bad=tmp_path / "bad.csv")
    assert read.weight.tolist() == [3, 1] and read.dropped["bad lines"] == 1
    assert (tmp_path / "bad.csv").read_text().splitlines() == [rows[0], *bad]


def test_a_bad_line_of_votes_is_set_aside_once(tmp_path):
    good, bad = (
        {**LISTS, "votes_a": 3, "votes_b": 2},
        {**LISTS, "a": [2, 0, "x"], "votes_a": 1, "votes_b": 1},
    )
    path, aside = lines(tmp_path, good, bad, {**LISTS, "votes_a": "?"}), tmp_path / "bad.jsonl"
    read = read_preferences(path, skip_bad=aside)
    assert read.weight.tolist() == [3, 2]
    assert read.dropped["bad lines"] == 2
    assert aside.read_text().splitlines() == path.read_text().splitlines()[1:]


def test_logarithms_far_apart():
    read = read_preferences(
        [{**LISTS, "logprob_a": -0.1, "logprob_b": -1e5}, {**LISTS, "logprob": -1e5}]
    )
    assert read.weight.tolist() == [1, 1]
    read = read_preferences([{**LISTS, "logprob_a": -1e5, "logprob_b": -0.1}])
    assert read.preferred.tolist() == [LISTS["b"]]
    read = read_preferences([{**LISTS, "logprob_a": -1e5, "logprob_b": -1e5}])
    assert read.weight.tolist() == [0.5, 0.5]


def test_logarithms_of_probabilities():
    read = read_preferences([{**LISTS, "logprob_a": np.log(0.6), "logprob_b": np.log(0.2)}])
    np.testing.assert_allclose(read.weight, [0.75, 0.25])
    read = read_preferences([{**LISTS, "logprob": np.log(0.6)}])
    np.testing.assert_allclose(read.weight, [0.6, 0.4])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"probability": 1.5}, "record 1: probability is 1.5; give a number from 0 to 1"),
        ({"probability": None}, "record 1: probability is missing"),
        ({"probability": "likely"}, "record 1: probability is 'likely', which is not a number"),
        ({"logprob_a": 0.2}, "record 1: logprob_a: .0.2.; logarithms of probabilities are below 0"),
        ({"logprob_a": -0.2, "logprob_b": None}, "record 1: logprob_b is missing"),
    ],
)
def test_wrong_probabilities(value, message):
    refused(message, read_preferences, [{**LISTS, **value}])


def test_documents_as_objects(tmp_path):
    objects = {
        "a": [{"doc": "d1", "grade": 2}, {"doc": "d2", "grade": 0}],
        "b": [{"Doc": "d2", "Relevance": 0}],
    }
    read = read_preferences(lines(tmp_path, {**objects, "winner": "a"}))
    assert read.preferred.tolist() == [[2, 0]]
    assert read.other.tolist() == [[0, -2]]
    assert read.docs.tolist() == [["d1\td2", "d2"]]

    # in tables, where documents have the same keys
    table = pl.DataFrame([{**objects, "b": [{"docno": "d2", "grade": 0}], "winner": "a"}])
    table.write_parquet(tmp_path / "log.parquet")
    assert columns(read_preferences(tmp_path / "log.parquet")) == columns(read)

    # named grades beside a plain list
    named = {"a": [{"grade": "Good"}, {"grade": "Bad"}], "b": ["Bad"], "winner": "a"}
    read = read_preferences(lines(tmp_path, named), scale="Bad,Fair,Good")
    assert read.preferred.tolist() == [[2, 0]] and read.other.tolist() == [[0, -2]]
    bad = {**objects, "winner": "a", "a": [{"doc": "d1", "score": 2}]}
    refused(
        "line 1: the document .'doc': 'd1', 'score': 2. has no grade",
        read_preferences,
        lines(tmp_path, bad),
    )


def test_lists_of_objects_beside_plain_lists(tmp_path):
    objects = {"a": [{"doc": "x", "grade": 2}], "b": [{"doc": "y", "grade": 0}], "winner": "a"}
    plain = {"a": [1], "b": [0], "winner": "a"}
    other = {"a": [0], "b": [2], "winner": "b"}
    for log in ([objects, plain, other, plain], [plain, other, objects]):
        read = read_preferences(lines(tmp_path, *log))
        at = log.index(objects)
        assert read.preferred.tolist() == [[2] if line is not plain else [1] for line in log]
        assert [names.tolist() for names in read.docs] == [
            ["x", "y"] if row == at else ["", ""] for row in range(len(log))
        ]
        read.save(tmp_path / "saved.jsonl")
        assert columns(read_preferences(tmp_path / "saved.jsonl")) == columns(read)

    # lists without names are told apart by their grades
    assert len({*units(read).number.tolist()}) == 3
    named = {**plain, "docs_a": ["x"], "docs_b": ["y"]}
    refused("line 2: docs_a None: give it", read_preferences, lines(tmp_path, named, plain))


@pytest.mark.parametrize("write_list", [json.dumps, str])
def test_lists_of_objects_as_text_in_a_cell(tmp_path, write_list):
    first = [{"doc": "d1", "grade": 2}, {"doc": "d,2", "grade": 0}]
    second = [{"doc": "d3", "grade": 1}]
    table = pl.DataFrame(
        {"a": [write_list(first), "2 1"], "b": [write_list(second), "0 1"], "winner": ["a", "a"]}
    )
    table.write_csv(tmp_path / "log.csv")
    for log in (table, tmp_path / "log.csv"):
        read = read_preferences(log)
        assert read.preferred.tolist() == [[2, 0], [2, 1]]
        assert read.other.tolist() == [[1, -2], [0, 1]]
        assert read.docs.tolist() == [["d1\td,2", "d3"], ["", ""]]
    table.write_csv(tmp_path / "log.tsv", separator="\t")
    assert columns(read_preferences(tmp_path / "log.tsv")) == columns(read)


def test_grades_named_as_sides_are_no_names_of_systems(tmp_path):
    log = write(tmp_path, "log.csv", "a1,a2,b1,b2,winner\nA,C,C,B,a\nB,C,B,A,b\n")
    read = read_preferences(log, scale="C,B,A", as_is=True)
    assert read.preferred.tolist() == [[2, 0], [1, 2]]
    assert read.recognised.winners.names == ""


@pytest.mark.parametrize("brackets", ["[]", "()", "{}"])
def test_lists_as_databases_and_python_write_them(tmp_path, brackets):
    first, last = brackets
    text = f'a,b,winner\n"{first}2, 0{last}","{first}0,1{last}",a\n'
    assert read_preferences(write(tmp_path, "log.csv", text)).preferred.tolist() == [[2, 0]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 3, 1, 9), "2026-03-01 09:00:00"),
        (date(2026, 3, 1), "2026-03-01"),
        (1772355600.5, "1772355600.5"),
        (1772355600, "1772355600"),
    ],
)
def test_times_are_labels(tmp_path, value, text):
    record = {**LISTS, "winner": "a", "timestamp": value}
    table = pl.DataFrame([record, record])
    table.write_parquet(tmp_path / "log.parquet")
    for log in ([record, record], table, tmp_path / "log.parquet"):
        assert read_preferences(log).time[0].startswith(text)


def test_grades_of_objects_are_cut_named_and_found_as_those_of_plain_lists(tmp_path):
    def objects(*grades):
        return [{"grade": grade} for grade in grades]

    # levels of equally many grades, also beside unknown ones
    fractions = {"a": objects(0.9, 0.1, None), "b": objects(0.5, 0.05), "winner": "a"}
    text = "a,b,winner\n.9 .1 NA,.5 .05,a\n"
    for cutoffs in ("3", ".2,.5"):
        read = read_preferences([fractions], cutoffs=cutoffs)
        assert read.preferred.tolist() == [[2, 1 - (cutoffs != "3"), -1]]
        plain = read_preferences(write(tmp_path, "log.csv", text), cutoffs=cutoffs)
        assert columns(read) == columns(plain)

    # names to put in order, and the line of a stray grade
    named = {"a": objects("Top"), "b": objects("Low"), "winner": "a"}
    refused(r"in order: scale= \(--scale low,top\)", read_preferences, [named])
    stray = [{"a": objects(1, 0), "b": objects(0, 1), "winner": "a"}] * 400
    stray += [{"a": objects(9, 0), "b": objects(0, 1), "winner": "a"}]
    refused("record 401: the grade 9", read_preferences, stray)
    refused("the document .1: 2. has no grade", read_preferences, [{**named, "a": [{1: 2}]}])


def test_a_wide_table_without_a_header(tmp_path):
    log = write(tmp_path, "log.csv", "q1,2,1,0,0,1,2,a\nq2,1,0,,0,0,1,b\n")
    names = {"query": "1", "a": "2..4", "b": "5 .. 7", "winner": "8"}
    read = read_preferences(log, header=0, columns=names)
    assert read.preferred.tolist() == [[2, 1, 0], [0, 0, 1]]
    assert read.other.tolist() == [[0, 1, 2], [1, 0, -2]]
    assert read.query.tolist() == ["q1", "q2"]

    # names that have nothing in common, and those of JSON
    text = "best,then,Winner,other,last\n2,1,a,0,1\n"
    names = {"a": "best..then", "b": "Other..last"}
    assert read_preferences(write(tmp_path, "n.csv", text), columns=names).other.tolist() == [
        [0, 1]
    ]
    line = '{"x": 2, "y": 1, "z": 0, "w": 1, "winner": "a"}\n'
    names = {"a": "x..y", "b": "z..w"}
    assert read_preferences(write(tmp_path, "n.jsonl", line), columns=names).depth == 2
    twice = line.replace('"y"', '"x"')
    refused(
        "'x' occurs twice",
        read_preferences,
        write(tmp_path, "t.jsonl", line + twice),
        columns=names,
    )
    refused("no 'b'", read_preferences, log, header=0, columns={"a": "2..4", "b": "7..5"})
    overlapping = {**names, "a": "2..5", "b": "5..7", "winner": "8"}
    refused("column '5' is in two lists", read_preferences, log, header=0, columns=overlapping)
    same = write(tmp_path, "same.csv", "p,x,x,q,b,winner\n1,2,2,1,0 1 1 2,a\n")
    refused("'x' is the name of two columns of p..q", read_preferences, same, columns={"a": "p..q"})


def test_a_refused_number_is_shown_as_its_cell_has_it(tmp_path):
    log = write(tmp_path, "log.csv", 'a,b,winner,margin\n2,1,a,\n2,1,a,"1,0"\n')
    refused("line 3: margin '1,0': give it on every line", read_preferences, log)


def test_columns_by_a_path(tmp_path):
    nested = {"left": {"grades": [2, 0]}, "right": {"Grades": [0, 1]}, "answer": {"value": "a"}}
    names = {"a": "left.grades", "b": "right.grades", "winner": "answer.value"}
    path = lines(tmp_path, nested, {**nested, "right": {"grades": [1, 1]}})
    read = read_preferences(path, columns=names)
    assert read.preferred.tolist() == [[2, 0]] * 2
    assert read.other.tolist() == [[0, 1], [1, 1]]
    assert columns(read_preferences([nested], columns=names)) == columns(read[:1])

    # in tables
    pl.DataFrame([nested]).write_parquet(tmp_path / "log.parquet")
    for table in (tmp_path / "log.parquet", pl.DataFrame([nested]).to_pandas()):
        assert columns(read_preferences(table, columns=names)) == columns(read[:1])

    # a path that some lines lack
    with pytest.raises(InputError, match="line 3: no 'b'"):
        read_preferences(lines(tmp_path, nested, nested, {**nested, "right": [1]}), columns=names)


def test_lists_as_text_in_json(tmp_path):
    read = read_preferences(lines(tmp_path, {"a": "2 0 1", "b": "[0, 1, 2]", "winner": "a"}))
    assert columns(read) == columns(read_preferences([{**LISTS, "winner": "a"}]))
    one = lines(tmp_path, {"a": "2", "b": "1,0", "winner": "a"})
    assert read_preferences(one).preferred.tolist() == [[2, -2]]
    refused(
        "line 1: a holds 'd1', which is no grade; for names of documents",
        read_preferences,
        lines(tmp_path, {"a": "d1", "b": "d2", "winner": "a"}),
    )


@pytest.mark.parametrize("names", ["Very good", "very good|Bad", "Bad,Very Good"])
def test_names_of_grades_with_a_blank(tmp_path, names):
    scale = "Bad,Fair,Very good"
    grades = [{"bad": 0, "very good": 2}[name.lower()] for name in re.split("[|,]", names)]
    text = write(tmp_path, "log.csv", f'a;b;winner\n"{names}";Bad Fair;a\n')
    for log in (text, lines(tmp_path, {"a": names, "b": "Bad Fair", "winner": "a"})):
        read = read_preferences(log, scale=scale)
        assert read.preferred[0, : len(grades)].tolist() == grades
        assert read.other.tolist() == [[0, 1]]


def test_names_of_grades_that_are_numbers_with_a_point(tmp_path):
    scale = {"scale": "0.0,1.0,2.50"}
    text = write(tmp_path, "log.csv", "a;b;winner\n1.0 2.5;0 01;a\n")
    for log in (text, lines(tmp_path, {"a": [1, 2.5], "b": ["0.0", "1"], "winner": "a"})):
        read = read_preferences(log, **scale)
        assert read.preferred.tolist() == [[1, 2]] and read.other.tolist() == [[0, 1]]
        assert read.grade_names == ("0.0", "1.0", "2.50")
    refused("each by a different name", LogMapping, scale="0,0.0,1")


@pytest.mark.parametrize("missing", ["NA", "N/A", "n/a", "#N/A"])
def test_cells_that_are_not_available(tmp_path, missing):
    text = f"a;b;winner;weight;rater\n2 {missing} 1;0 1 2;a;{missing};NA\n2 0 1;0 1 2;b;1,5;x\n"
    read = read_preferences(write(tmp_path, "log.csv", text))
    assert read.preferred.tolist() == [[2, -1, 1], [0, 1, 2]]
    assert read.weight.tolist() == [1, 1.5]
    assert read.rater.tolist() == ["NA", "x"]


def test_a_word_such_as_na_is_what_an_option_says(tmp_path):
    log = write(tmp_path, "log.csv", "a,b,winner\nNA,B,b\nA,B,n/a\n")
    read = read_preferences(log, scale="NA,B,A", winner_words="n/a=a", as_is=True)
    assert read.preferred.tolist() == [[1], [2]]
    assert read.other.tolist() == [[0], [1]]


def test_a_cell_that_is_not_available_is_an_unknown_grade_wherever_it_stands(tmp_path):
    head = "a1,a2,a3,b1,b2,b3,winner\n"
    wide = write(tmp_path, "log.csv", f"{head}2,NA,1,1,2,NA,a\n1,2,,1,NA,,b\n")
    cells = write(tmp_path, "cells.csv", "a,b,winner\n2 NA 1,1 2 NA,a\n1 2,1 NA,b\n")
    for log in (wide, cells):
        read = read_preferences(log, as_is=True)
        assert read.preferred.tolist() == [[2, -1, 1], [1, -1, -2]]
        assert read.other.tolist() == [[1, 2, -1], [1, 2, -2]]

    # unless a scale names it
    named = write(tmp_path, "named.csv", f"{head}H,NA,G,G,H,NA,a\n")
    read = read_preferences(named, scale="NA,G,H", as_is=True)
    assert read.preferred.tolist() == [[2, 0, 1]]
    assert read.other.tolist() == [[1, 2, 0]]
    refused("a2 is blank", read_preferences, write(tmp_path, "gap.csv", f"{head}2,,1,1,2,0,a\n"))


def test_a_byte_order_mark_inside_a_file_is_no_blank(tmp_path):
    for quote in ("", '"'):
        text = f"a|b|winner\n\ufeff2|3|{quote}a{quote}\n"
        refused("line 2: a holds '.ufeff2'", read_preferences, write(tmp_path, "x.csv", text))


def test_lists_of_objects_and_others_are_refused():
    mixed = [{"doc": "x", "grade": 1}, 2]
    log = [{"a": mixed, "b": [{"doc": "z", "grade": 1}], "winner": "a"}]
    refused("record 1: a holds {'doc': 'x'", read_preferences, log)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csv", "Report of 2024\na,b,winner\n2,1,a\n", "by commas, .* header= .--header 2"),
        ("x.csv", "Report, 2024\na,b,winner\n2,1,a\n", "found Report, .*--header 2"),
        (
            "x.json",
            '{"judgements": [{"a": [2]}]}',
            "found judgements; give what 'judgements' holds",
        ),
    ],
)
def test_too_few_columns_are_told_of_a_title_and_of_an_object(tmp_path, name, text, words):
    message = refused(words, read_preferences, write(tmp_path, name, text))
    assert ("commas" in message) == text.startswith("Report of")


@pytest.mark.parametrize("winner", [{"x": 1}, ["a", "b"]])
def test_a_winner_that_is_no_word_gets_no_words(winner):
    log = [{"a": [1], "b": [0], "winner": winner}]
    message = refused("winner is .*, not a word or a number", read_preferences, log)
    assert "winner_words" not in message


@pytest.mark.parametrize(("text", "number"), [("0,125", 0.125), ("1,5", 1.5), ("12,3456", 12.3456)])
def test_decimal_commas(tmp_path, text, number):
    log = write(tmp_path, "log.csv", f"a;b;winner;weight\n2 0;0 1;a;{text}\n")
    assert read_preferences(log).weight.tolist() == [number]


@pytest.mark.parametrize(
    "text",
    [
        "a;b;winner\n0,5 1,0;0,25 0,1;a\n",
        "a;b;winner\n0,5|1;0,25|0,1;a\n",
        "a1;a2;b1;b2;winner\n0,5;1;0,25;0,1;a\n",
        "side;position;grade;winner\na;1;0,5;a\na;2;1,0;\nb;1;0,25;\nb;2;0,1;\n",
    ],
)
def test_grades_with_decimal_commas(tmp_path, text):
    read = read_preferences(write(tmp_path, "log.csv", text), cutoffs=".2,.5")
    assert read.preferred.tolist() == [[2, 2]] and read.other.tolist() == [[1, 0]]
    scale = "0.1,0.25,0.5,1"
    read = read_preferences(write(tmp_path, "log.csv", text), scale=scale)
    assert read.preferred.tolist() == [[2, 3]] and read.other.tolist() == [[1, 0]]


def test_a_comma_between_thousands_is_no_decimal_comma(tmp_path):
    log = write(tmp_path, "log.csv", "a;b;winner;weight\n2 0;0 1;a;1,234\n")
    refused("line 2: weight is '1,234', which is not a number", read_preferences, log)


def test_rows_by_the_name_of_a_system(tmp_path):
    rows = [
        "query,system,position,grade,winner",
        "q1,prod,1,2,prod",
        "q1,prod,2,0,",
        "q1,new,1,0,",
        "q1,new,2,1,",
    ]
    rows += ["q2,new,1,2,prod", "q2,new,2,1,", "q2,prod,1,0,", "q2,prod,2,1,"]
    read = read_preferences(write(tmp_path, "rows.csv", "\n".join(rows)))
    assert read.preferred.tolist() == [[2, 0], [0, 1]]
    assert read.other.tolist() == [[0, 1], [2, 1]]
    three = [*rows, "q2,third,1,0,"]
    refused(
        "line 6: side is 'new' on line 6; use a or left",
        read_preferences,
        write(tmp_path, "x.csv", "\n".join(three)),
    )


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("2 0,0 1,a\n0 1,2 2,b\n", {"header": 0, "columns": {"a": "1", "b": "2", "winner": "3"}}),
        (
            "left,,right,,said\n1,2,1,2,\n2,0,0,1,left\n0,1,2,2,right\n",
            {"header": "1-2", "columns": "winner=said"},
        ),
        (
            "query,left,,right,,,\n,1,2,1,2,winner,rater\nq,2,0,0,1,left,ann\nq,0,1,2,2,right,b\n",
            {"header": "1-2"},
        ),
        ("Report of May\n\nby X\na;b;winner\n2 0;0 1;a\n0 1;2 2;b\n", {"header": 4}),
    ],
)
def test_headers_of_no_line_of_two_and_further_down(tmp_path, text, options):
    path = write(tmp_path, "log.csv", text)
    read = read_preferences(path, **options)
    assert read.preferred.tolist() == [[2, 0], [2, 2]]
    assert read.other.tolist() == [[0, 1], [0, 1]]
    assert ("rater" in text) == (read.rater is not None)


def test_a_bad_line_below_a_header_further_down(tmp_path):
    path = write(tmp_path, "log.csv", "Report\na,b,winner\n2 0,0 1,a\n2 0,0 x,a\n")
    refused("line 4: b holds the grade name 'x'", read_preferences, path, header=2)
    refused("line 4: b holds the grade name 'x'", read_preferences, path, header="2")


@pytest.mark.parametrize("header", ["x", "2-1", -1, "1-", 10**9])
def test_wrong_headers(header):
    refused("header=", LogMapping, header=header)


def test_a_header_where_there_is_none(tmp_path):
    refused(
        "is beyond the last line",
        read_preferences,
        write(tmp_path, "x.csv", "a,b,winner\n2,0,a\n"),
        header=9,
    )
    refused(
        "header= .--header. is for text",
        read_preferences,
        lines(tmp_path, {**LISTS, "winner": "a"}),
        header=0,
    )


JUDGED = "2 0,0 1,a\n0 1,2 0,b\n2 1,0 1,a\n0 0,2 0,b\n".splitlines()
BELOW = "has blank cells below it, as where cells are merged: write it in every row that"
LONG = [f"{side},{position},2,a" for _ in range(2) for side in "ab" for position in (1, 2)]


def sheet(header, labels, rows):
    return header + "".join(f"\n{label},{row}" for label, row in zip(labels, rows, strict=True))


@pytest.mark.parametrize("column", ["query", "rater", "segment"])
def test_merged_cells_are_refused_and_read_once_they_are_filled(tmp_path, column):
    merged = ["one", "", "two", ""]
    text = sheet(f"{column},a,b,winner", merged, JUDGED)
    told = rf"line 2: the {column} 'one' {BELOW}"
    for name, content in (("x.csv", text), ("x.tsv", text.replace(",", "\t"))):
        refused(told, read_preferences, write(tmp_path, name, content))
    if any(map(find_spec, ENGINES.values())):
        refused(told, read_preferences, write(tmp_path, "x.xlsx", workbook(text)))

    # tables whose names are missing, but not those whose names are empty texts
    table = pl.read_csv(io.StringIO(text))
    table.write_parquet(tmp_path / "x.parquet")
    logs = [table, tmp_path / "x.parquet"]
    if find_spec("pandas"):
        logs.append(importlib.import_module("pandas").DataFrame(table.to_dicts()))
    for log in logs:
        refused(rf"row 1: the {column} 'one' {BELOW}", read_preferences, log)
    assert getattr(read_preferences(table.fill_null("")), column).tolist() == merged
    numbers = table.with_columns(pl.Series(column, [7, None, 8, None]))
    refused(rf"row 1: the {column} '7' {BELOW}", read_preferences, numbers)

    # several files, one of which has no such column
    write(tmp_path, "y.csv", text)
    refused(
        r"file .*x.csv, line 2: the", read_preferences, [tmp_path / "x.csv", tmp_path / "y.csv"]
    )
    write(tmp_path, "y.csv", sheet("id,a,b,winner", "1234", JUDGED))
    named = write(tmp_path, "z.csv", sheet(f"{column},a,b,winner", ["one"] * 4, JUDGED))
    assert len(read_preferences([named, tmp_path / "y.csv"])) == 8

    # bad lines are whole groups
    path = write(tmp_path, "x.csv", text + "\nthree,1 0,0 0,a")
    log = read_preferences(path, skip_bad=tmp_path / "bad.csv")
    assert getattr(log, column).tolist() == ["three"] and log.dropped["bad lines"] == 4

    # the remedy, and logs that lack a name here and there
    for labels in (
        ["one", "one", "two", "unknown"],
        ["", "one", "", "two"],
        ["one", "one", "two", ""],
    ):
        log = read_preferences(
            write(tmp_path, "x.csv", sheet(f"{column},a,b,winner", labels, JUDGED))
        )
        assert sorted(getattr(log, column).tolist()) == sorted(labels)
    few = ["one", "two", "one", ""]
    assert len(
        read_preferences(write(tmp_path, "x.csv", sheet(f"{column},a,b,winner", few, JUDGED)))
    )


def test_merged_cells_of_a_row_for_each_document_and_of_judgements_are_refused(tmp_path):
    for column in ("query", "pair"):
        text = sheet(f"{column},side,position,grade,winner", ["q", *[""] * 3, "r", *[""] * 3], LONG)
        told = rf"line 2: the {column} 'q' {BELOW}"
        refused(told, read_preferences, write(tmp_path, "x.csv", text))
    text = sheet("query,docid,rating", ["q1", "", "q2"], ["d1,2", "d2,0", "d1,1"])
    refused(rf"line 2: the query 'q1' {BELOW}", dl.read_judgements, write(tmp_path, "x.csv", text))


def test_text_whose_every_line_is_bad_is_refused(tmp_path):
    path = write(tmp_path, "x.csv", "query,a,b,winner\nq,2 0,0 1\n")
    refused("line 2: 3 fields where the header has 4", read_preferences, path)


def test_ids_and_statuses_are_kept_with_what_is_said_of_them(tmp_path):
    line = {**LISTS, "winner": "a", "rater": "ann", "id": 7, "status": False}
    read = read_preferences(lines(tmp_path, line, line))
    read.save(tmp_path / "saved.parquet")
    again = read_preferences(tmp_path / "saved.parquet")
    assert again.id.tolist() == ["7", "7"] and again.status.tolist() == ["False"] * 2
    assert again.recognised.remarks == read.recognised.remarks
    assert "2 of 2 lines have the" in again.recognised.remarks[0]
    assert len(read_preferences(tmp_path / "saved.parquet", leave_out="duplicates")) == 1
