"""The log: checks, indexing, splits, folds, merged pairs, documents, contradictions, and agreement
with a metric.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.foundation.validation import InputError
from dcglearn.logs.visibility import encode
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from tests.makers import TRUTH, random_log, refused, rows
from tests.tables import table


def test_the_papers_vector():
    paper = [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0]
    assert encode([4, 0, 2], 5)[:, ::-1].ravel().tolist() == paper
    assert encode([[4, -1]], 5).sum() == 1


def test_pairs_as_one_array_or_two():
    pairs = np.random.default_rng(0).integers(0, 4, (6, 2, 3))
    assert rows(Preferences(pairs)) == rows(Preferences(pairs[:, 0], pairs[:, 1]))


@table(
    ("index", "expected"),
    [
        (2, [2]),
        (-1, [5]),
        (slice(1, 4), [1, 2, 3]),
        ([0, 5], [0, 5]),
        (np.array([True, False] * 3), [0, 2, 4]),
        ((np.array([3, 1]), Ellipsis), [3, 1]),
    ],
)
def test_indexing_is_that_of_an_array(index, expected):
    log = random_log(6, weight=np.arange(1.0, 7), rater=list("aabbcc"))
    part = log[index]
    assert rows(part) == [rows(log)[i] for i in expected]
    assert part.weight.tolist() == [i + 1 for i in expected]
    assert part.n_grades == log.n_grades
    assert part.rater.tolist() == [log.rater[i] for i in expected]


@table(("index", "message"), [(6, "6"), ((0, 1), "too many indices")])
def test_indexing_that_has_no_meaning(index, message):
    with pytest.raises(IndexError, match=message):
        random_log(6)[index]


def test_scikit_learn_cross_validates_and_searches():
    from sklearn.model_selection import GridSearchCV, cross_val_score

    from dcglearn.estimators.learners import UtilityLearner

    log = random_log(200)
    assert cross_val_score(UtilityLearner(), log, cv=4).mean() > 0.8
    search = GridSearchCV(UtilityLearner(), {"C": [0.01, 1.0]}, cv=3).fit(log)
    assert search.best_params_["C"] in (0.01, 1.0)
    pairs = np.stack([log.preferred, log.other], axis=1)
    assert cross_val_score(UtilityLearner(n_grades=5), pairs, cv=4).mean() > 0.8


def test_documents_become_columns():
    log = Preferences.from_documents([["c", "a", "b"]], [["a", "b", "c"]], weight=[2])
    assert log.documents == ("a", "b", "c")
    assert log.preferred.tolist() == [[2, 0, 1]]
    assert not log.graded
    assert "documents" in repr(log)
    assert log[:1].documents == log.documents
    for other in (["a", "b", "d"], ["a", "b", "a"]):
        refused("same 3 documents", Preferences.from_documents, [["c", "a", "b"]], [other])


@table(
    ("columns", "words"),
    [
        ({"weight": [1, 0]}, r"weight\[1\]: 0 is not positive"),
        ({"weight": [1, -2]}, "-2 is not positive"),
        ({"weight": [1, np.inf]}, "inf is not a finite number"),
        ({"weight": [1, np.nan]}, "nan is not a finite number"),
        ({"weight": [1]}, r"expected one value per pair, \(2,\)"),
        ({"strength": [0, 1]}, "strength"),
        ({"margin": [np.nan, 1]}, "margin"),
        ({"tie": [0, 2]}, "booleans"),
        ({"tie": [True]}, "one value per pair"),
        ({"rater": ["ann"]}, "one value per pair"),
        ({"n_grades": 2}, r"preferred\[0, 0\]: grade 2 lies outside -2..1"),
        ({"n_grades": 0}, "n_grades=0: give 1 to 127"),
        ({"n_grades": 2.5}, "not an integer"),
        ({"grade_names": ["Bad", "Good"]}, "grade 2 lies outside"),
        ({"grade_names": ["Bad", "Good"], "n_grades": 3}, "2 grade names for n_grades=3"),
    ],
)
def test_bad_columns_are_refused(columns, words):
    refused(words, Preferences, [[2, 1], [1, 0]], [[0, 1], [0, 1]], **columns)


def test_bad_shapes_are_refused():
    refused("must both have the shape", Preferences, [[1, 0]], [[1]])
    refused(r"list of shape \(1, 2\); give .* \(n, 2, K\)", Preferences, [[1, 0]])
    refused("different lengths", Preferences, [[[1, 0], [1]]])


def test_a_log_cannot_be_changed_behind_its_back():
    grades = np.zeros((2, 3), dtype=np.int8)
    log = Preferences(grades, grades)
    grades[0, 0] = 1
    assert log.preferred[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        log.preferred[0, 0] = 1


def test_a_larger_scale_can_be_asked_for():
    log = random_log(5, weight=np.ones(5), tie=[True] + [False] * 4)
    wider = as_preferences(log, 7)
    assert (wider.n_grades, rows(wider), wider.tie.sum()) == (7, rows(log), 1)
    refused("outside", as_preferences, log, 2)


def test_files_are_read_and_frames_of_dask_are_not(tmp_path):
    log = random_log(5)
    log.save(tmp_path / "log.parquet")
    assert rows(as_preferences(tmp_path / "log.parquet", 7)) == rows(log)
    frame = SimpleNamespace(to_delayed=list)
    refused(r"its compute\(\) returns", as_preferences, frame)


def test_split_is_a_partition_and_repeats():
    log = random_log(100)
    first, second = log.split(0.8, random_state=1)
    assert (len(first), len(second)) == (80, 20)
    assert sorted(rows(first) + rows(second)) == sorted(rows(log))
    assert rows(log.split(0.8, random_state=1)[0]) == rows(first)
    assert rows(log.split(0.8, random_state=2)[0]) != rows(first)


def test_a_log_knows_what_differs_and_who_judged_together():
    log = Preferences([[1, 0], [2, 1], [0, 2]], [[1, 1], [2, 1], [1, 0]], weight=[1.0, 2.0, 0.5])
    assert log.differing.tolist() == [True, False, True]
    assert repr(log).startswith("Preferences(3 pairs of total weight 3.5, ")
    for by, numbers in ((None, [0, 1, 2]), ("pair", [0, 1, 2])):
        first, second = log.clusters(by)
        assert first.tolist() == second.tolist() and len(set(first.tolist())) == len(numbers)
    first, second = log.clusters("list")
    assert first[0] == second[2] and first[1] == second[1] and first[2] != second[2]


@table("by", ["rater", "query"])
def test_split_keeps_clusters_whole(by):
    log = random_log(100, **{by: np.arange(100) % 7})
    first, second = log.split(0.5, random_state=0, by=by)
    assert not set(getattr(first, by)) & set(getattr(second, by))
    assert len(first) + len(second) == 100


def test_split_by_pair_keeps_opposed_judgements_together():
    rng = np.random.default_rng(0)
    log = Preferences(rng.integers(0, 2, (300, 2, 3)))
    first, second = log.split(0.5, random_state=0, by="pair")
    seen = [{frozenset(row) for row in rows(part)} for part in (first, second)]
    assert not seen[0] & seen[1]
    assert len(first) + len(second) == 300


def test_split_by_list_shares_no_list():
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 3, (30, 4))
    pairs = rng.integers(0, 30, (500, 2))
    first, second = Preferences(lists[pairs[:, 0]], lists[pairs[:, 1]]).split(
        0.6, random_state=0, by="list"
    )
    seen = [{row for pair in rows(part) for row in pair} for part in (first, second)]
    assert not seen[0] & seen[1]
    assert 0 < len(first) + len(second) < 500


def test_split_that_cannot_be():
    log = random_log(4)
    for fraction in (0, 1, -1, 2):
        refused("above 0 and below 1", log.split, fraction)
    refused("no rater", log.split, 0.5, by="rater")
    refused("by='day': give one of pair, rater", log.split, 0.5, by="day")
    refused("one part empty at 0.01: give more", log.split, 0.01)


@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.integers(1, 12))
def test_merging_adds_weights_of_identical_pairs(seed, weighted, with_ties, depth):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    lists = rng.integers(-1, 2, (2, n, depth))
    weight = rng.integers(1, 4, n) if weighted else None
    log = Preferences(
        *lists, n_grades=3, weight=weight, tie=rng.random(n) < 0.3 if with_ties else None
    )
    merged = log.merged()
    expected = {}
    for i, row in enumerate(rows(log)):
        key = (row, bool(with_ties and log.tie[i]))
        expected[key] = expected.get(key, 0.0) + (log.weight[i] if weighted else 1.0)
    ties = merged.tie if with_ties else np.zeros(len(merged), bool)
    found = {
        (row, bool(tie)): w for row, tie, w in zip(rows(merged), ties, merged.weight, strict=True)
    }
    assert found == expected
    assert list(found) == list(expected)  # in order of first appearance


def test_contradictions_are_counted_by_weight():
    a, b, c = [1, 0], [0, 1], [1, 1]
    log = Preferences([a, b, a, a], [b, a, c, b], weight=[3, 2, 1, 1])
    assert log.n_contradicted() == 2
    assert Preferences([a], [b]).n_contradicted() == 0


def test_agreement_counts_ties_apart():
    log = Preferences([[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 0], [0, 0]], weight=[1, 2, 4])
    agreement = log.agreement(DCG([0, 1], [1, 0.5]))
    assert (agreement.respected, agreement.violated, agreement.tied) == (1, 2, 4)
    assert agreement.share == pytest.approx(3 / 7)
    assert agreement.precision == pytest.approx(1 / 7)


def test_verdicts_call_rounding_error_a_tie():
    metric = DCG([0, 0.1, 0.2, 0.3], [1, 1, 1])
    log = Preferences([[1, 2, 0], [3, 0, 0], [0, 0, 0]], [[3, 0, 0], [1, 1, 0], [1, 0, 0]])
    assert metric.score([1, 2, 0]) != metric.score([3, 0, 0])  # .1 + .2 is not .3
    assert log.verdicts(metric).tolist() == [0, 1, -1]
    assert log[:0].verdicts(metric).tolist() == []


def test_agreement_leaves_out_the_logs_ties():
    log = Preferences([[1], [0]], [[0], [1]], tie=[False, True])
    assert log.agreement(DCG([0, 1], [1])).share == 1
    with pytest.raises(InputError, match="no pair with a winner"):
        _ = log[[1]].agreement(TRUTH).share
