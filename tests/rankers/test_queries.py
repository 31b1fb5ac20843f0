"""Queries, their evaluation, and synthetic ones: shape, repeatability, metrics that disagree."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import dcglearn as dl
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.simulated_queries import letor_queries
from tests.makers import refused
from tests.rankers.makers import assert_refused
from tests.tables import table


class TestQueries:
    def test_rows_of_a_query_stay_together(self):
        queries = Queries([[0.0], [1.0], [2.0]], [0, 1, 0], qid=["b", "b", "a"])
        assert queries.offsets.tolist() == [0, 2, 3]
        assert queries.names.tolist() == ["b", "a"]
        assert queries[[1, 0]].qid.tolist() == ["a", "b", "b"]
        assert len(queries[np.array([True, False])]) == 1
        assert queries[:0].shape == (0, 1)

    def test_what_is_wrong_is_named(self):
        good = {"features": [[0.0], [1.0], [2.0]], "grades": [0, 1, 0], "qid": [1, 1, 2]}
        infinite = csr_matrix([[0, 0], [0, np.inf], [1, 0]])
        assert_refused(
            lambda **change: Queries(**{**good, **change}),
            [
                ({"qid": [2, 1]}, "of group sizes give np.repeat"),
                ({"qid": [1, 2, 1]}, r"qid\[2\] = 1: this query appears again.*sort"),
                ({"qid": None}, "qid is missing"),
                ({"qid": [1.0, np.nan, 2.0]}, r"qid\[1\] is a missing value"),
                ({"grades": [0, 1.5, 0]}, r"grades\[1\]: 1.5 is not a grade: grades are integers"),
                ({"grades": [0, -1, 0]}, "leave unjudged documents out"),
                ({"grades": [0, 3, 0], "n_grades": 3}, r"not a grade of the scale, 0..2"),
                ({"grades": [0, 1]}, "expected one per document"),
                ({"features": [[0], [np.inf], [1]]}, r"features\[1, 0\] = inf is not a finite"),
                ({"features": infinite}, r"features\[1, 1\] = inf"),
                ({"features": [0, 1, 2]}, r"shape \(documents, features\): Expected 2D array"),
                ({"features": [["x"], ["y"], ["z"]]}, "must be numbers"),
                ({"documents": ["A"]}, "1 document names for 3"),
            ],
        )

    def test_group_sizes(self):
        for sizes in ([1, 1, 2], [2, 2], [3, 0], [1.5, 1.5], [[3]], ["3"]):
            refused("whole numbers above 0", Queries.from_groups, [[0], [1], [2]], [0, 1, 0], sizes)


def queries_of(grades, sizes, n_grades=None):
    return Queries.from_groups(np.zeros((len(grades), 1)), grades, sizes, n_grades=n_grades)


class TestEvaluation:
    @given(st.integers(0, 10_000))
    def test_as_one_list_at_a_time(self, seed):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 8, 6)
        scores, grades = rng.normal(size=sizes.sum()), rng.integers(0, 3, sizes.sum())
        dcg = DCG(rng.normal(size=3), rng.normal(size=4))
        values = queries_of(grades, sizes, 3).evaluate(scores, dcg, empty=-7.0)
        for q, (start, stop) in enumerate(pairwise(np.append(0, np.cumsum(sizes)))):
            marks = grades[start:stop][np.argsort(-scores[start:stop])]
            wanted = dcg.ndcg(marks, empty=-7.0)
            assert values[q] == pytest.approx(float(wanted), abs=1e-12)

    def test_many_sizes_share_little_memory(self, monkeypatch):
        queries = letor_queries(30, n_features=3, sizes=(1, 200), random_state=0)
        scores = np.random.default_rng(0).normal(size=queries.shape[0])
        dcg = DCG.standard(3, 10)
        whole = queries.evaluate(scores, dcg)
        monkeypatch.setattr("dcglearn.evaluation.kernel.TABLE_CELLS", 100)
        assert np.allclose(queries.evaluate(scores, dcg), whole, atol=1e-14, rtol=0)

    def test_ties(self):
        dcg = DCG([0, 1], [1.0, 0.5])
        for grades, stable in (([1, 0], 1.0), ([0, 1], 0.5)):
            queries = queries_of(grades, [2])
            assert queries.evaluate([0, 0], dcg)[0] == stable
            assert queries.evaluate([0, 0], dcg, ties="average")[0] == 0.75
        refused("give one of stable, average", queries.evaluate, [0, 0], dcg, ties="docno-desc")

    def test_nan_scores_and_foreign_grades(self):
        queries, dcg = queries_of([1, 0], [2]), DCG([0, 1], [1.0])
        refused(r"scores\[1\]: nan is no score", queries.evaluate, [0, np.nan], dcg)
        refused("one score per document", queries.evaluate, [0], dcg)
        refused(
            "have grade 2, but the metric has gains for grades 0..1",
            queries_of([2, 0], [2]).evaluate,
            [0, 1],
            dcg,
        )


class TestLetorShaped:
    def test_shape_and_repeatability(self):
        queries = letor_queries(random_state=3)
        assert (len(queries), queries.shape[1], queries.n_grades) == (106, 45, 3)
        assert queries.sizes.min() >= 35
        assert queries.sizes.max() <= 320
        assert np.bincount(queries.grades).argsort().tolist() == [2, 1, 0]
        assert np.array_equal(letor_queries(random_state=3).features, queries.features)

    def test_which_metric_matters(self):
        from dcglearn.rankers.linear_model import RidgeRanker

        queries = letor_queries(160, sizes=(30, 80), random_state=0)
        train, test = queries[:80], queries[80:]
        top, any_grade = DCG([0, 0, 1], np.ones(5)), DCG([0, 1, 1], np.ones(5))
        rankers = {
            name: RidgeRanker(dcg).fit(train) for name, dcg in (("top", top), ("any", any_grade))
        }
        for name, other, dcg in (("top", "any", top), ("any", "top", any_grade)):
            values = [
                rankers[trained].evaluate(test, metric=dcg).mean() for trained in (name, other)
            ]
            assert values[0] > values[1] + 0.1

    @table(
        "change",
        [
            {"n_redundant": 43},
            {"n_grades": 1},
            {"sizes": (5, 3)},
            {"conflict": -1.0},
            {"n_queries": 0},
        ],
    )
    def test_impossible_numbers(self, change):
        with pytest.raises(InputError):
            letor_queries(**change)


def test_scores_are_evaluated_by_a_word_as_by_its_metric():
    queries = letor_queries(6, n_grades=5, random_state=0)
    scores = queries.features[:, 0]
    for word in ("exponential-log2@5", "nDCG", "ERR@3"):
        metric = dl.metric(word, *queries.scale)
        np.testing.assert_array_equal(
            queries.evaluate(scores, word), queries.evaluate(scores, metric)
        )


def test_grades_and_queries_that_are_exchanged_are_named_where_that_is_certain():
    grades = np.tile([0, 2, 1, 0, 1, 2], 10)
    qid = np.repeat(np.arange(100, 112), 5)
    features = np.zeros((60, 1))
    Queries(features, grades, qid)
    for y in (qid, qid.astype(str)):
        refused(
            r"y and qid seem exchanged: qid has .* 0 to 2 .* y 12, each",
            Queries,
            features,
            y,
            grades,
        )

    # others are told to sort
    few = np.repeat(np.arange(10), 6)
    for y, q in ((few, grades), (qid, grades + 9), (np.roll(qid, 1) % 12, grades)):
        refused("this query appears again", Queries, features, y % 100, q)
