"""The ratings kept beside the pairs of a log of rated lists."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from dcglearn.reading.preferences import Preferences
from dcglearn.reading.read import read_preferences, read_ratings
from tests.makers import rated_pairs, refused
from tests.tables import table

LISTS = np.random.default_rng(0).integers(0, 3, (60, 2))
RATINGS = np.random.default_rng(1).integers(1, 5, 60) / 2
GROUPS = np.repeat(["ann", "bob", "cy"], 20)


def counted(log):
    """Return the number of ratings by rater and segment of the group, list and rating."""
    ratings, lists = log.ratings, log.ratings.lists.tolist()
    empty = np.full(len(log), "")
    labels = [empty if x is None else x for x in (log.rater, log.segment)]
    group_of = dict(zip(ratings.unit.tolist(), ratings.group.tolist(), strict=True))
    numbers = [group_of[unit] for unit in log.units[:, 0].tolist()]
    groups = dict(zip(numbers, zip(*labels, strict=True), strict=True))
    columns = (ratings.group.tolist(), ratings.list.tolist(), ratings.rating.tolist())
    keys = [(*groups[g], *lists[u], r) for g, u, r in zip(*columns, strict=True)]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, ratings.weight.tolist(), strict=True))


def brute_force(rows):
    return Counter((GROUPS[row], "", *LISTS[row].tolist(), RATINGS[row]) for row in rows)


def test_the_counts_are_those_of_the_lines_and_a_subset_keeps_those_of_its_lists():
    log = rated_pairs(LISTS, RATINGS, GROUPS)
    assert counted(log) == brute_force(range(60))
    assert (log.ratings.weight.sum(), len(log.ratings.lists)) == (60, 9)
    ann = log[log.rater == "ann"]
    assert counted(ann) == brute_force(range(20))
    pair = log[:1]
    kept = {tuple(pair.preferred[0].tolist()), tuple(pair.other[0].tolist())}
    rows = [i for i in range(60) if GROUPS[i] == pair.rater[0] and tuple(LISTS[i].tolist()) in kept]
    assert counted(pair) == brute_force(rows)
    assert log.merged().ratings is None and Preferences(log.preferred, log.other).ratings is None


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
def test_saving_keeps_the_counts(tmp_path, suffix):
    log = rated_pairs(LISTS, RATINGS, GROUPS, segment=np.tile(["new", "old"], 30))
    path = tmp_path / f"log.{suffix}"
    if suffix == "csv":
        texts = [pl.col(side).cast(pl.List(pl.String)).list.join(" ") for side in ("a", "b")]
        log.to_polars().with_columns(texts).write_csv(path, separator="\t")
    else:
        log.save(path)
    again = read_preferences(path)
    assert counted(again) == counted(log)
    assert again.segment.tolist() == log.segment.tolist()
    before = log.to_polars().drop("ratings_a", "ratings_b", "segment")
    assert read_preferences(before).ratings is None and read_preferences(before).segment is None


def test_the_winner_says_which_list_the_counts_belong_to():
    rows = [
        {"a": [1], "b": [0], "winner": "a", "ratings_a": "3:1 4:2", "ratings_b": "1:1"},
        {"a": [1], "b": [2], "winner": "b", "ratings_a": "3:1 4:2", "ratings_b": "5:7"},
    ]
    log = read_preferences(rows)
    assert counted(log) == {
        ("", "", 1, 3.0): 1,
        ("", "", 1, 4.0): 2,
        ("", "", 0, 1.0): 1,
        ("", "", 2, 5.0): 7,
    }


@table("text", ["3", "3:0", 3])
def test_bad_counts_are_refused(text):
    row = {"a": [1], "b": [0], "winner": "a", "ratings_a": text, "ratings_b": "1:1"}
    refused(f"'{text}' is no count of ratings such as '2:1 4:12'", read_preferences, [row])


def test_every_row_has_counts_or_none_has():
    row = {"a": [1], "b": [0], "winner": "a", "ratings_a": "3:1", "ratings_b": "1:1"}
    rows = [row, row | {"ratings_a": None}]
    refused(
        r"the list \[1\] has the ratings '3:1' on one line and '' on another",
        read_preferences,
        rows,
    )


def test_counts_of_one_side_and_counts_that_contradict_each_other_are_refused():
    row = {"a": [1], "b": [0], "winner": "a", "ratings_a": "3:1"}
    refused("ratings_a and ratings_b go together", read_preferences, [row])
    rows = [row | {"ratings_b": "1:1"}, row | {"b": [2], "ratings_a": "3:2", "ratings_b": "2:2"}]
    refused(
        r"list \[1\] has the ratings '3:1' on one line and '3:2' on another", read_preferences, rows
    )


def test_lists_are_compared_within_their_segment(tmp_path):
    text = "list,rating,segment\n1,4,new\n0,1,new\n1,1,old\n0,3,old\n"
    (tmp_path / "x.csv").write_text(text)
    log = read_ratings(tmp_path / "x.csv")
    assert log.segment.tolist() == ["new", "old"] and log.preferred.tolist() == [[1], [0]]
    assert log.dropped == {"pairs of different segments": 4} and log.rater is None
    assert list(counted(log[log.segment == "old"])) == [("", "old", 0, 3.0), ("", "old", 1, 1.0)]


def test_the_counts_do_not_depend_on_the_names_of_raters():
    log = rated_pairs(LISTS, RATINGS, GROUPS)
    renamed = log.changed(
        rater=np.char.add("rater ", np.unique(log.rater, return_inverse=True)[1].astype(str))
    )
    assert list(counted(renamed).values()) == list(counted(log).values())
    assert counted(renamed[:1]).keys() == {("rater 0", *key[1:]) for key in counted(log[:1])}


def test_a_log_whose_empty_places_are_filled_has_other_lists_than_were_rated():
    log = rated_pairs([[1, -2], [0, 1], [1, 1]], [1, 2, 3])
    assert log.filled(0).ratings is None
    full = rated_pairs(LISTS, RATINGS)
    assert full.filled(0).ratings is full.ratings
