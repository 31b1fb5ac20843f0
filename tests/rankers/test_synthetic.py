"""Synthetic queries: shape, repeatability, metrics that disagree."""

import numpy as np
import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.synthetic import letor_queries


class TestLetorShaped:
    def test_shape_and_repeatability(self):
        queries = letor_queries(seed=3)
        assert (len(queries), queries.shape[1], queries.n_grades) == (106, 45, 3)
        assert queries.sizes.min() >= 35
        assert queries.sizes.max() <= 320
        assert np.bincount(queries.grades).argsort().tolist() == [2, 1, 0]
        assert np.array_equal(letor_queries(seed=3).features, queries.features)

    def test_which_metric_matters(self):
        from dcglearn.rankers.linear_model import RidgeRanker

        queries = letor_queries(160, sizes=(30, 80), seed=0)
        train, test = queries[:80], queries[80:]
        top, any_grade = DCG([0, 0, 1], np.ones(5)), DCG([0, 1, 1], np.ones(5))
        rankers = {name: RidgeRanker(dcg).fit(train) for name, dcg in (("top", top), ("any", any_grade))}
        for name, other, dcg in (("top", "any", top), ("any", "top", any_grade)):
            values = [rankers[trained].evaluate(test, metric=dcg).mean() for trained in (name, other)]
            assert values[0] > values[1] + 0.1

    @pytest.mark.parametrize(
        "change", [{"n_redundant": 43}, {"n_grades": 1}, {"sizes": (5, 3)}, {"conflict": -1.0}, {"n_queries": 0}]
    )
    def test_impossible_numbers(self, change):
        with pytest.raises(InputError):
            letor_queries(**change)
