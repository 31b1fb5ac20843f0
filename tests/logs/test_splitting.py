"""Splits, folds and merged pairs of a log."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.readers.preferences import Preferences
from tests.makers import random_log, refused
from tests.readers.log_files import rows


def test_split_is_a_partition_and_repeats():
    log = random_log(100)
    first, second = log.split(0.8, seed=1)
    assert (len(first), len(second)) == (80, 20)
    assert sorted(rows(first) + rows(second)) == sorted(rows(log))
    assert rows(log.split(0.8, seed=1)[0]) == rows(first)
    assert rows(log.split(0.8, seed=2)[0]) != rows(first)


@pytest.mark.parametrize("by", ["rater", "query"])
def test_split_keeps_clusters_whole(by):
    log = random_log(100, **{by: np.arange(100) % 7})
    first, second = log.split(0.5, seed=0, by=by)
    assert not set(getattr(first, by)) & set(getattr(second, by))
    assert len(first) + len(second) == 100


def test_split_by_pair_keeps_opposed_judgements_together():
    rng = np.random.default_rng(0)
    log = Preferences(rng.integers(0, 2, (300, 2, 3)))
    for first, second in [log.split(0.5, seed=0, by="pair"), *log.folds(3, seed=0, by="pair")]:
        seen = [{frozenset(row) for row in rows(part)} for part in (first, second)]
        assert not seen[0] & seen[1]
        assert len(first) + len(second) == 300


def test_split_by_list_shares_no_list():
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 3, (30, 4))
    pairs = rng.integers(0, 30, (500, 2))
    first, second = Preferences(lists[pairs[:, 0]], lists[pairs[:, 1]]).split(0.6, seed=0, by="list")
    seen = [{row for pair in rows(part) for row in pair} for part in (first, second)]
    assert not seen[0] & seen[1]
    assert 0 < len(first) + len(second) < 500


def test_split_that_cannot_be():
    log = random_log(4)
    for fraction in (0, 1, -1, 2):
        refused("between 0 and 1", log.split, fraction)
    refused("no rater", log.split, 0.5, by="rater")
    refused("not one of", log.split, 0.5, by="day")
    refused("one side empty", log.split, 0.01)


def test_folds_hold_out_each_pair_once():
    log = random_log(50)
    parts = log.folds(5, seed=0)
    assert sorted(row for _, held_out in parts for row in rows(held_out)) == sorted(rows(log))
    assert all(len(train) + len(held_out) == 50 for train, held_out in parts)
    refused("ask for 2 to 50", log.folds, 51)
    refused("drop most pairs", log.folds, 2, by="list")


@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.integers(1, 12))
def test_merging_adds_weights_of_identical_pairs(seed, weighted, with_ties, depth):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    lists = rng.integers(-1, 2, (2, n, depth))
    weight = rng.integers(1, 4, n) if weighted else None
    log = Preferences(*lists, n_grades=3, weight=weight, tie=rng.random(n) < 0.3 if with_ties else None)
    merged = log.merged()
    expected = {}
    for i, row in enumerate(rows(log)):
        key = (row, bool(with_ties and log.tie[i]))
        expected[key] = expected.get(key, 0.0) + (log.weight[i] if weighted else 1.0)
    ties = merged.tie if with_ties else np.zeros(len(merged), bool)
    found = {(row, bool(tie)): w for row, tie, w in zip(rows(merged), ties, merged.weight, strict=True)}
    assert found == expected
    assert list(found) == list(expected)  # in order of first appearance
