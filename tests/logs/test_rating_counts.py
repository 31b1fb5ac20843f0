"""The ratings kept beside the pairs of a log of rated lists."""

from collections import Counter

import numpy as np
import polars as pl

from dcglearn.reading.preferences import Preferences
from dcglearn.reading.read import native_frame, read_ratings
from tests.makers import rated_pairs, refused

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


def test_the_pairs_of_ratings_are_not_saved_without_them(tmp_path):
    log = rated_pairs(LISTS, RATINGS, GROUPS)
    for write in (log.to_polars, lambda: log.save(tmp_path / "log.jsonl")):
        refused("say less than the ratings: keep these, which read_ratings reads", write)


def test_rated_lists_are_written_row_for_row():
    rows = {
        "list": LISTS.tolist(),
        "rating": RATINGS,
        "user": GROUPS,
        "segment": ["new", "old"] * 30,
    }
    source = pl.DataFrame(rows, strict=False)
    frame, _ = native_frame(source, ratings=True, as_is=True)
    log, again = (read_ratings(one, as_is=True) for one in (source, frame))
    assert frame.columns == ["list", "rating", "group", "segment"] and len(frame) == 60
    assert counted(again) == counted(log) and again.weight.tolist() == log.weight.tolist()


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
    assert log.filled().ratings is None
    full = rated_pairs(LISTS, RATINGS)
    assert full.filled().ratings is full.ratings
