"""Options of reading: what they change, alone and beside a mapping."""

import inspect
import json
import re
from typing import get_type_hints

import numpy as np
import polars as pl
import pytest
import typer

from dcglearn.cli.commands import app
from dcglearn.joins.join_judgements import join_judgements
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.readers.mapping import OPTIONS, LogMapping, TableOptions
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.read_log import read_preferences, read_ratings
from tests.makers import columns, refused, write

WHOLE = LogMapping(
    *(None, 2, True, ["Bad", 'Fa"ir\\', "Gut\n\x7fé"]),
    winner_words={"Left, better": "a", "2": "b", "same": "tie"},
    columns={"a": "Result A", "winner": "Verdict", "rater": "Who?"},
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns": {"winnner": "V"}},
            "columns: 'winnner' is no column of a log; give a, b, winner",
        ),
        ({"depth": "3"}, "depth is '3'; expected int"),
        ({"n_grades": True}, "n_grades is True; expected int. Number of grades"),
        ({"pad": 1}, "pad is 1; expected bool"),
        ({"sheet": 1.5}, "sheet is 1.5; expected int or str"),
        ({"cutoffs": {"a": 1}}, "cutoffs is .*; expected str or float or Sequence"),
        ({"cutoffs": [0.5, 0.2]}, "cutoffs='0.5,0.2': give numbers above 0 and up to 1, in order"),
        ({"best_grade": 3}, "best_grade=3: give 0 or 1"),
        ({"middle": np.nan, "positive": "a"}, "middle is nan; expected float"),
        ({"scale": {"a": 1}}, "scale is .*; expected Sequence"),
        ({"scale": [1, "Good"]}, "scale=.* mixes numbers with words"),
        ({"columns": "a"}, "--columns a: give each usual name once"),
        ({"winner_words": {"x": 1}}, "winner_words: 'x' means 1; it can mean a, b, tie or open"),
        ({"winner_words": 1}, "winner_words is 1; expected Mapping"),
        (
            {"winner_words": {"x": "left?"}},
            "winner_words: 'x' means 'left\\?'; it can mean a, b, tie or open",
        ),
        ({"positive": "c"}, "positive is 'c'; expected one of \\['a', 'b'\\]"),
        ({"positive": "a", "winner_words": {"x": "a"}}, "positive= is for numbers"),
        ({"depth": 0}, "depth"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options, message):
    refused(message, LogMapping, **options)


def test_options_beside_a_mapping_count():
    deep = LogMapping(4, 2, True)
    assert LogMapping.of(5, mapping=deep, depth=3) == LogMapping(5, 3, True)
    assert LogMapping.of(mapping=deep, depth=None, pad=None) == LogMapping(4)
    best_first = LogMapping(scale=["Good", "Bad"], best_grade="Good")
    assert best_first.scale == ["Bad", "Good"]
    assert LogMapping.of(mapping=best_first, best_grade=None).scale == ["Good", "Bad"]
    cut = LogMapping(cutoffs=[0.2, 0.5])
    assert LogMapping.of(mapping=cut, cutoffs=0.3).scale == ["0-0.3", "0.3-1"]
    assert LogMapping.of(mapping=cut, cutoffs=None, scale=["Bad", "Good"]).scale == ["Bad", "Good"]
    likert = LogMapping(positive="a", middle=4)
    words = LogMapping.of(mapping=likert, positive=None, middle=None, winner_words="x=a")
    assert words == LogMapping(winner_words={"x": "a"})
    refused("give one of the two", LogMapping.of, mapping=likert, winner_words="x=a")


def test_every_option_of_a_mapping_is_undone_beside_it():
    likert = LogMapping(
        5, positive="b", middle=4, best_grade=1, sides="shown", leave_out="x", encoding="cp1252"
    )
    for told in (WHOLE, likert, LogMapping(cutoffs=3, as_is=True, sheet=2)):
        undone = dict.fromkeys(set(told.given) - {"n_grades"})
        assert LogMapping.of(mapping=told, **undone) == LogMapping(told.n_grades)
    log = [{"a": [2, 0, 1], "b": [0, 1, 1], "winner": -1}, {"a": [1, 1], "b": [0, 0], "winner": 1}]
    given = LogMapping(depth=1, pad=True, positive="b", as_is=True)
    assert read_preferences(log, mapping=given).preferred.tolist() == [[2], [0]]
    other = read_preferences(log, mapping=given, depth=None, pad=False, as_is=False, positive="a")
    assert other.preferred.tolist() == [[0, 1, 1], [1, 1, -2]] and not other.as_is
    refused(
        "say what these codes mean|sign of a number",
        read_preferences,
        log,
        mapping=given,
        positive=None,
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ({"best_grade": "1"}, {"best_grade": 1}),
        ({"cutoffs": ".2,.5"}, {"cutoffs": [0.2, 0.5]}),
        ({"scale": "Bad, Good"}, {"scale": ["Bad", "Good"]}),
        ({"scale": "0,1,10"}, {"scale": np.array([0, 1, 10])}),
        ({"winner_words": "x=a,y=b"}, {"winner_words": {"X": "a", "y": "b"}}),
        (
            {"columns": "a=Result A,winner=Verdict"},
            {"columns": {"a": "Result A", "winner": "Verdict"}},
        ),
        ({"sheet": "2"}, {"sheet": 2}),
    ],
)
def test_a_text_is_taken_as_values_are(text, values):
    assert LogMapping(**text).given.keys() == LogMapping(**values).given.keys()
    first, second = LogMapping(**text), LogMapping(**values)
    assert (first.scale, first.points if first.cutoffs else None, first.winner_words) == (
        second.scale,
        second.points if second.cutoffs else None,
        second.winner_words,
    )
    assert (first.best_grade, first.columns, first.sheet) == (
        second.best_grade,
        second.columns,
        second.sheet,
    )


def test_values_of_numpy_are_taken():
    scalars = {"n_grades": np.int64(3), "depth": np.int8(2), "pad": np.True_}
    mapping = LogMapping(**scalars, middle=np.float32(0.5), positive="a")
    assert mapping == LogMapping(3, 2, True, middle=0.5, positive="a")
    assert LogMapping(cutoffs=np.array([0.25, 0.5])).points == (0.25, 0.5)


def test_the_options_are_written_once_and_the_keywords_follow():
    rows = get_type_hints(LogMapping, include_extras=True)
    keywords = get_type_hints(TableOptions, include_extras=True)
    assert list(OPTIONS) == [name for name in rows if name != "given"]
    assert keywords.pop("mapping") and keywords | {"n_grades": int | None} == {
        name: rows[name] for name in OPTIONS
    }
    text = inspect.cleandoc(read_preferences.__doc__)
    described = re.findall(
        r"^(\w+) : (.*), optional\n    [A-Z]", text.partition("Parameters\n")[2], re.MULTILINE
    )
    assert dict(described).items() >= {name: row.written for name, row in OPTIONS.items()}.items()
    words = " ".join(text.split())
    for row in OPTIONS.values():
        entry = f"{row.name} : {row.written}, optional {row.summary} {row.details}"
        assert " ".join(entry.split()) in words
    shown = {
        parameter.name: parameter
        for parameter in typer.main.get_command(app).commands["convert"].params
    }
    for name, row in OPTIONS.items():
        there = shown[name.removeprefix("n_")]
        assert there.help == row.summary and f"--{there.name.replace('_', '-')}" in there.opts


VENDOR = "Result A;Result B;Verdict;Judge\n2 1;0 1;Left wins;ann\n0 0;1 0;right wins;bob\n"
MAPPING = LogMapping(
    columns={"a": "result a", "b": "Result B", "winner": "Verdict", "rater": "Judge"},
    winner_words={"left wins": "a", "right wins": "b"},
)


def test_every_reader_takes_a_mapping(tmp_path, parted):
    usual = Preferences([[2, 1], [1, 0]], [[0, 1], [0, 0]], rater=["ann", "bob"])
    log = write(tmp_path, "vendor.csv", VENDOR)
    assert columns(read_preferences(log, mapping=MAPPING)) == columns(usual)
    stored = tmp_path / "vendor.parquet"
    pl.read_csv(log, separator=";").write_parquet(stored)
    assert columns(read_preferences(stored, mapping=MAPPING)) == columns(usual)
    with parted(stored, mapping=MAPPING) as parts:
        assert parts.thinned(100).preferred.tolist() == usual.preferred.tolist()
    rows = [{"Stars": 5 - i, "list": [2 - i, 0]} for i in range(2)]
    assert read_ratings(
        rows, mapping=LogMapping(columns={"rating": "stars"})
    ).preferred.tolist() == [[2, 0]]


def test_columns_of_positions_and_rows_of_documents_have_own_names(tmp_path):
    wide = "first_1,first_2,second_1,second_2,winner\n2,1,0,1,a\n"
    mapping = LogMapping(columns={"a": "first", "b": "second"})
    assert read_preferences(write(tmp_path, "w.csv", wide), mapping=mapping).preferred.tolist() == [
        [2, 1]
    ]
    long = "query,side,place,stars,winner\nq,a,1,2,a\nq,b,1,0,\n"
    mapping = LogMapping(columns={"position": "place", "grade": "stars"})
    assert read_preferences(write(tmp_path, "l.csv", long), mapping=mapping).preferred.tolist() == [
        [2]
    ]


def test_documents_are_joined_by_a_mapping_with_numbers_as_winners(tmp_path):
    lines = [{"query": "q", "A": ["d1", "d2"], "B": ["d2", "d1"], "winner": -2}]
    path = write(tmp_path, "log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    log = join_judgements(
        path, {"q": {"d1": 2, "d2": 0}}, mapping=LogMapping(positive="a", depth=1)
    )
    assert (log.preferred.tolist(), log.strength.tolist()) == ([[0]], [2.0])


def test_texts_name_lists_wherever_lists_do(tmp_path):
    """A text with commas, a list, and the command line's option have one meaning."""
    log = [
        {"a": ["Good", "Bad"], "b": ["Bad", "Fair"], "winner": "a", "status": "ok", "id": 1},
        {"a": ["Bad", "Bad"], "b": ["Good", "Fair"], "winner": "a", "status": "no", "id": 2},
        {"a": ["Bad", "Fair"], "b": ["Good", "Fair"], "winner": "b", "status": "bad", "id": 3},
    ]
    read = [
        read_preferences(log, scale=scale, leave_out=statuses, as_is=True)
        for scale, statuses in [
            ("Bad,Fair,Good", "no,bad"),
            (" Bad, Fair,Good", ["no", "bad"]),
            (["Bad", "Fair", "Good"], ("no", "bad")),
        ]
    ]
    assert all(one.dropped == read[0].dropped != {} for one in read)
    assert all(one.grade_names == ("Bad", "Fair", "Good") for one in read)
    assert all(one.preferred.tolist() == [[2, 0]] for one in read)

    # levels, columns, names of grades
    fractions = [{"left": [0.1, 0.3], "right": [0.9, 0.6], "won": "b"}]
    by_text = read_preferences(fractions, cutoffs=".2,.5", columns="a=left,b=right,winner=won")
    columns = {"a": "left", "b": "right", "winner": "won"}
    by_list = read_preferences(fractions, cutoffs=[0.2, 0.5], columns=columns)
    assert by_text.preferred.tolist() == by_list.preferred.tolist() == [[2, 2]]
    for names in ("Bad, Fair,Good", ["Bad", "Fair", "Good"]):
        of_log = Preferences([[2, 0]], [[0, 1]], grade_names=names)
        dcg = DCG([0, 1, 3], [1, 0.5], grade_names=names)
        utility = Utility([[0, 1, 3]], grade_names=names)
        listed = ListUtility([0, 1, 3], [1], grade_names=names)
        for one in (of_log, dcg, utility, listed):
            assert one.grade_names == ("Bad", "Fair", "Good")
    records = [([2], [1], "a", "q1")]
    named = Preferences.from_records(records, "a,b,winner,query")
    assert named.query.tolist() == ["q1"]
