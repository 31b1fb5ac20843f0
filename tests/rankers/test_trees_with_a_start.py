"""BoostedRanker that adds to a linear model."""

import numpy as np
import pytest

from dcglearn.losses import SHFSDCG
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker
from dcglearn.rankers.load_ranker import load_ranker
from tests.makers import refused
from tests.rankers.makers import tiny

LETOR = DCG.standard(3, 10, "exponential", "letor")


class TestTreesWithAStart:
    @pytest.fixture(autouse=True)
    def _lightgbm(self):
        pytest.importorskip("lightgbm")

    @staticmethod
    def ranker(start, n_trees=25, **options):
        from dcglearn.rankers.trees import BoostedRanker

        shape = {"num_leaves": 4, "min_data_in_leaf": 5, "num_threads": 1}
        return BoostedRanker(SHFSDCG(LETOR), n_trees=n_trees, start=start, **shape, **options)

    def test_small_trees_leave_the_start_as_it_is(self):
        queries = tiny(20)
        start = RidgeRanker(LETOR).fit(queries)
        ranker = self.ranker(start, n_trees=1, learning_rate=1e-9).fit(queries)
        before, after = start.predict(queries), ranker.predict(queries)
        assert np.corrcoef(before, after)[0, 1] == pytest.approx(1, abs=1e-9)
        top = LETOR.gains.max()
        slope, shift = np.polyfit(before, LETOR.gains[queries.grades] / top, 1)
        assert ranker.base_[:-1] == pytest.approx(slope * start.coef_, rel=1e-9)
        assert after == pytest.approx(slope * (before - start.intercept_) + shift + slope * start.intercept_, abs=1e-7)

    def test_scores_of_validation_are_those_of_the_model(self):
        train, vali = tiny(20), tiny(10, seed=5)
        start = RidgeRanker(LETOR).fit(train)
        ranker = self.ranker(start, metric=LETOR).fit(train, eval_set=vali)
        assert ranker.score(vali) == pytest.approx(max(ranker.validation_))

    def test_files_and_checkpoints(self, tmp_path):
        train, vali = tiny(20), tiny(10, seed=5)
        start = RidgeRanker(LETOR).fit(train)
        whole = self.ranker(start).fit(train, eval_set=vali, checkpoint_every=10)
        whole.save(tmp_path / "model")
        assert np.array_equal(load_ranker(tmp_path / "model").predict(vali), whole.predict(vali))
        how = {"eval_set": vali, "checkpoint": tmp_path / "state", "checkpoint_every": 10}
        assert len(self.ranker(start, n_trees=25).fit(train, **how).validation_) == 25
        again = self.ranker(start).fit(train, **how, resume=True)
        assert np.array_equal(again.predict(vali), whole.predict(vali))
        other = self.ranker(RankSVMRanker().fit(train))
        refused("of another training: its start is", other.fit, train, **how, resume=True)

    def test_a_start_of_other_features(self):
        refused(r"start has shape \(2,\); expected a finite coefficient a feature", self.ranker([1.0, 2.0]).fit, tiny())
