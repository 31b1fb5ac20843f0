"""SparseRanker: its path, the point that is kept, impossible parameters."""

import numpy as np
import pytest

from dcglearn.rankers.linear_model import Design
from dcglearn.rankers.sparse import SparseRanker, soft_threshold
from dcglearn.rankers.synthetic import letor_queries
from tests.makers import refused
from tests.rankers.makers import MINE, TEXTBOOK, small


class TestSparse:
    def test_the_path_goes_to_no_feature(self):
        queries = small(30, n_redundant=6)
        ranker = SparseRanker(MINE, max_iter=40, n_points=12).fit(queries[:20], eval_set=queries[20:])
        counts = [point.n_features for point in ranker.path_]
        assert counts[0] == 12
        assert counts[-1] < 4
        best = max(point.valid for point in ranker.path_)
        assert ranker.chosen_.valid >= (1 - ranker.tolerance) * best
        assert np.array_equal(np.flatnonzero(ranker.coef_), ranker.features_)
        assert "features" in str(ranker.chosen_)

    def test_three_in_five_features_go_for_three_in_a_hundred(self):
        gone, kept = [], []
        for seed in range(3):
            queries = letor_queries(140, n_redundant=30, sizes=(20, 60), seed=seed)
            train, valid, test = queries[:50], queries[50:80], queries[80:]
            ranker = SparseRanker(TEXTBOOK, n_points=15, max_iter=80).fit(train, eval_set=valid)
            dense = test.evaluate(test.features @ (ranker.path_[0].coef / Design(train).spread), TEXTBOOK).mean()
            gone.append(1 - len(ranker.features_) / 45)
            kept.append(ranker.score(test) / dense)
        assert np.mean(gone) >= 0.6
        assert np.mean(kept) >= 0.97

    def test_a_given_strength(self):
        queries = small()
        for l1, n_features in ((1e6, 0), (0.0, 12)):
            assert len(SparseRanker(MINE, l1=l1, max_iter=5).fit(queries).features_) == n_features

    def test_soft_threshold(self):
        assert soft_threshold(np.array([3.0, -3.0, 0.5, -0.5]), 1.0).tolist() == [2.0, -2.0, 0.0, 0.0]

    @pytest.mark.parametrize(
        "change", [{"step": 0.0}, {"step": 2.5}, {"l1": -1.0}, {"tolerance": 1.0}, {"n_points": 0}]
    )
    def test_impossible_numbers(self, change):
        refused(next(iter(change)), SparseRanker(MINE, **change).fit, small())
