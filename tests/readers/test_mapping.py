"""Mappings: what they change of the reading of a log, and their files."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.joins.join_judgements import join_judgements
from dcglearn.parts.parquet_log import ParquetLog
from dcglearn.readers.mapping import KINDS, LogMapping
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.readers import read_preferences, read_ratings
from tests.makers import columns, refused, write

WHOLE = LogMapping(
    *(None, 2, True, ["Bad", 'Fa"ir\\', "Gut\n\x7fé"]),
    winner_words={"Left, better": "a", "2": "b", "same": "tie"},
    columns={"a": "Result A", "winner": "Verdict", "rater": "Who?"},
)


def test_a_saved_mapping_is_the_same(tmp_path):
    WHOLE.save(tmp_path / "vendor.toml")
    read = LogMapping.load(tmp_path / "vendor.toml")
    assert (read.depth, read.pad, read.scale, read.columns) == (2, True, WHOLE.scale, WHOLE.columns)
    assert read.own_words == WHOLE.own_words
    LogMapping(5, positive="b").save(tmp_path / "vendor.toml")
    assert LogMapping.load(tmp_path / "vendor.toml") == LogMapping(5, positive="b")
    refused("exists", WHOLE.save, tmp_path / "vendor.toml", force=False)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: "{}" not in name)


@given(st.dictionaries(st.sampled_from(["a", "b", "winner", "rating"]), names))
def test_any_name_of_a_column_is_saved(tmp_path_factory, named):
    path = tmp_path_factory.mktemp("mapping") / "m.toml"
    LogMapping(columns=named).save(path)
    assert LogMapping.load(path).columns == named


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums = {}", r"m.toml: unknown key 'colums'; the keys of a mapping are n_grades, depth, pad"),
        ("[columns]\nwinnner = 'V'", "m.toml: columns: 'winnner' is no column of a log; give a, b, winner"),
        ("depth = '3'", "m.toml: depth is '3'; expected a whole number"),
        ("depth = true", "m.toml: depth is True; expected a whole number"),
        ("scale = [1, 2]", "m.toml: scale is .*; expected a list of texts"),
        ("winner_words = {x = 1}", "m.toml: winner_words is .*; expected a table of texts"),
        ("winner_words = {x = 'left?'}", "m.toml: winner_words: 'x' means 'left\\?'; it can mean a, b, tie or open"),
        ("positive = 'c'", "m.toml: positive='c': give a or b"),
        ("positive = 'a'\nwinner_words = {x = 'a'}", "m.toml: positive= is for numbers"),
        ("depth = 0", "m.toml: depth"),
        ("depth =", "m.toml: not valid TOML .*end of document"),
        ("depth = 1\ndepth = 2", "m.toml: not valid TOML"),
        ("", "m.toml is empty"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path, text, message):
    refused(message, LogMapping.load, write(tmp_path, "m.toml", text))


def test_options_beside_a_mapping_count(tmp_path):
    path = write(tmp_path, "m.toml", "n_grades = 4\ndepth = 2\npad = true")
    assert set(KINDS) == set(vars(LogMapping()))
    assert LogMapping.of(mapping=path) == LogMapping(4, 2, True)
    assert LogMapping.of(5, mapping=path, depth=3, pad=False) == LogMapping(5, 3, True)


VENDOR = "Result A;Result B;Verdict;Judge\n2 1;0 1;Left wins;ann\n0 0;1 0;right wins;bob\n"
MAPPING = """
[columns]
a = "result a"
b = "Result B"
winner = "Verdict"
rater = "Judge"
[winner_words]
"left wins" = "a"
"right wins" = "b"
"""


def test_every_reader_takes_a_mapping(tmp_path):
    mapping = write(tmp_path, "vendor.toml", MAPPING)
    usual = Preferences([[2, 1], [1, 0]], [[0, 1], [0, 0]], rater=["ann", "bob"])
    log = write(tmp_path, "vendor.csv", VENDOR)
    assert columns(read_preferences(log, mapping=mapping)) == columns(usual)
    assert columns(read_preferences(log, mapping=LogMapping.load(mapping))) == columns(usual)
    stored = tmp_path / "vendor.parquet"
    pl.read_csv(log, separator=";").write_parquet(stored)
    assert columns(read_preferences(stored, mapping=mapping)) == columns(usual)
    with ParquetLog(stored, mapping=mapping) as parts:
        assert parts.sample().preferred.tolist() == usual.preferred.tolist()
    rows = [{"Stars": 5 - i, "list": [2 - i, 0]} for i in range(2)]
    assert read_ratings(rows, mapping=LogMapping(columns={"rating": "stars"})).preferred.tolist() == [[2, 0]]


def test_columns_of_positions_and_rows_of_documents_have_own_names(tmp_path):
    wide = "first_1,first_2,second_1,second_2,winner\n2,1,0,1,a\n"
    mapping = LogMapping(columns={"a": "first", "b": "second"})
    assert read_preferences(write(tmp_path, "w.csv", wide), mapping=mapping).preferred.tolist() == [[2, 1]]
    long = "query,side,place,stars,winner\nq,a,1,2,a\nq,b,1,0,\n"
    mapping = LogMapping(columns={"position": "place", "grade": "stars"})
    assert read_preferences(write(tmp_path, "l.csv", long), mapping=mapping).preferred.tolist() == [[2]]


def test_documents_are_joined_by_a_mapping_with_numbers_as_winners(tmp_path):
    lines = [{"query": "q", "A": ["d1", "d2"], "B": ["d2", "d1"], "winner": -2}]
    path = write(tmp_path, "log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    log = join_judgements(path, {"q": {"d1": 2, "d2": 0}}, mapping=LogMapping(positive="a", depth=1))
    assert (log.preferred.tolist(), log.strength.tolist()) == ([[0]], [2.0])
