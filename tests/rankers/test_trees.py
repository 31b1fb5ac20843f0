"""Boosted trees against any loss: parameters, schedules, weights, files, bad input."""

import os
import subprocess
import sys
import textwrap
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dcglearn.losses import (
    SDCG,
    SHFSDCG,
    ApproxNDCG,
    GBRank,
    LambdaRank,
    Regression,
    RegSHFSDCG,
    SmoothNDCG,
)
from dcglearn.losses.descent import CURVATURES, DIRECTIONS, descent
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.linear_model import RidgeRanker
from dcglearn.rankers.model_files import load_ranker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.trees import BoostedRanker
from tests.makers import refused
from tests.rankers.makers import tiny
from tests.tables import table

pytest.importorskip("lightgbm")
STEEP = DCG([0, 1, 9], [1, 0.95, 0.9, 0.85, 0.8])
TOP = DCG([0, 1, 1.1], [1, 0.4, 0.2, 0.1, 0.05])


def bumpy(n_queries=60, size=20, seed=0):
    """Return queries whose grades need more than a linear model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * size, 6))
    worth = (
        np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.3 * rng.normal(size=len(X))
    )
    grades = np.digitize(worth, np.quantile(worth, [0.6, 0.9]))
    return Queries(X, grades, np.repeat(np.arange(n_queries), size))


TRAIN, TEST = bumpy(), bumpy(seed=1)
LOSSES = [RegSHFSDCG, SHFSDCG, SDCG, ApproxNDCG, SmoothNDCG, LambdaRank]


def small(loss, **settings):
    return BoostedRanker(loss, **{"n_trees": 40, "num_leaves": 7, "num_threads": 1, **settings})


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("follow", DIRECTIONS)
def test_every_loss_learns_what_no_linear_model_can(kind, follow, curvature):
    ranker = small(kind(STEEP), n_trees=80, follow=follow, curvature=curvature).fit(TRAIN)
    assert ranker.score(TEST) > RidgeRanker(STEEP).fit(TRAIN).score(TEST) + 0.03
    assert ranker.feature_importances_.argmin() in (4, 5) and ranker.n_trees_ == 80


def test_regression_and_pairs():
    for loss in (Regression(STEEP), GBRank()):
        ranker = small(loss, metric=STEEP, n_trees=80).fit(TRAIN)
        assert ranker.score(TEST) > small(loss, metric=STEEP, n_trees=1).fit(TRAIN).score(TEST)


def test_slopes_are_in_their_own_unit():
    scores = np.random.default_rng(0).normal(size=TRAIN.shape[0])
    ten = DCG(10 * STEEP.gains, STEEP.discounts)
    for kind, follow, curvature in product(LOSSES, DIRECTIONS, CURVATURES):
        call = scores, TRAIN.grades, TRAIN.offsets, None, follow, curvature
        slope, curve = descent(kind(STEEP), *call)
        np.testing.assert_allclose((slope, curve), descent(kind(ten), *call), rtol=1e-9, atol=1e-12)
        assert np.abs(slope).mean() == pytest.approx(1) and (curve > 0).all()
    flat = descent(SDCG(STEEP), np.zeros(3), np.zeros(3, int), np.array([0, 3]))
    assert not flat[0].any()


def test_the_schedule_gets_tree_and_total():
    seen = []

    class Watched(RegSHFSDCG):
        def at(self, iteration, total):
            seen.append((iteration, total))
            return super().at(iteration, total)

    small(Watched(STEEP), n_trees=7).fit(TRAIN)
    assert seen == [(m, 7) for m in range(1, 8)]


def test_two_boosters_do_not_disturb_each_other_and_a_seed_is_a_model():
    alone = [
        small(RegSHFSDCG(dcg), feature_fraction=0.5).fit(TRAIN).predict(TEST)
        for dcg in (STEEP, TOP)
    ]
    first, second = (
        small(RegSHFSDCG(STEEP), feature_fraction=0.5),
        small(RegSHFSDCG(TOP), feature_fraction=0.5),
    )
    first.fit(TRAIN), second.fit(TRAIN)
    np.testing.assert_array_equal(first.predict(TEST), alone[0])
    np.testing.assert_array_equal(second.predict(TEST), alone[1])
    other = small(RegSHFSDCG(STEEP), feature_fraction=0.5, random_state=5).fit(TRAIN).predict(TEST)
    assert (other != alone[0]).any()
    scaled = (
        small(RegSHFSDCG(DCG(16 * STEEP.gains, STEEP.discounts)), feature_fraction=0.5)
        .fit(TRAIN)
        .predict(TEST)
    )
    np.testing.assert_allclose(scaled, alone[0], rtol=1e-9)


def test_validation_and_patience():
    ranker = small(SHFSDCG(STEEP), n_trees=120, patience=15, learning_rate=0.5).fit(
        TRAIN, eval_set=TEST
    )
    assert ranker.n_trees_ == np.argmax(ranker.validation_) + 1
    assert len(ranker.validation_) == min(120, ranker.n_trees_ + 15)
    assert ranker.booster_.num_trees() == ranker.n_trees_
    assert ranker.score(TEST) == pytest.approx(max(ranker.validation_), abs=1e-12)


def test_parameters_pass_through_by_name():
    ranker = BoostedRanker(SDCG(STEEP), n_trees=5, min_data_in_leaf=7, feature_fraction=0.5)
    assert ranker.get_params()["min_data_in_leaf"] == 7
    again = clone(ranker).set_params(num_leaves=3, lambda_l2=2.0)
    assert again.get_params() == {**ranker.get_params(), "num_leaves": 3, "lambda_l2": 2.0}
    assert "feature_fraction=0.5" in repr(again)
    assert clone(ranker).set_params(loss__alpha=3.0).loss.alpha == 3.0
    assert "[min_data_in_leaf: 7]" in again.fit(TRAIN).booster_.model_to_string()
    for name in ("num_iterations", "n_estimators", "number_of_leafs"):
        refused(f"{name} is neither a parameter of BoostedRanker", BoostedRanker, **{name: 10})
    refused("objective is neither a parameter", again.set_params, objective="lambdarank")


def test_files(tmp_path):
    ranker = small(RegSHFSDCG(STEEP), min_data_in_leaf=5).fit(TRAIN, eval_set=TEST)
    ranker.save(tmp_path / "model.json")
    again = load_ranker(tmp_path / "model.json", STEEP)
    np.testing.assert_array_equal(again.predict(TEST), ranker.predict(TEST))
    assert again.get_params() == ranker.get_params() and again.n_trees_ == ranker.n_trees_
    refused("other gains", load_ranker, tmp_path / "model.json", TOP)
    with pytest.raises(NotFittedError, match="not fitted"):
        small(SDCG(STEEP)).save(tmp_path / "other.json")


def test_long_queries_have_no_limit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 2))
    queries = Queries(X, (X[:, 0] > 1).astype(int), np.zeros(12_000, dtype=int))
    assert small(SHFSDCG(DCG([0, 1], [1, 0.5])), n_trees=3).fit(queries).score(queries) == 1.0


@table(
    ("settings", "words"),
    [
        ({"n_trees": 0}, "n_trees"),
        ({"curvature": "newton"}, "curvature"),
        ({"follow": "lambda"}, "follow"),
        ({"patience": 0}, "patience"),
        ({"loss": SDCG(DCG([0, 1], [1.0]))}, "has gains for grades 0..1"),
    ],
)
def test_bad_settings(settings, words):
    refused(words, BoostedRanker(**{"loss": SDCG(STEEP), **settings}).fit, TRAIN)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    refused(r"pip install 'dcglearn\[trees\]'", BoostedRanker().fit, TRAIN)


@pytest.mark.posix
def test_a_forked_process_trains_and_ranks_as_its_parent():
    # GNU's OpenMP waits without end in a fork of a process that used its threads.
    code = (
        """
        import os, signal, time
        import dcglearn as dl
        queries = dl.simulate.letor_queries(20, random_state=0)
        ranker = dl.BoostedRanker(n_trees=5, num_threads=2).fit(queries)
        scores = ranker.predict(queries)
        child = os.fork()
        if child == 0:
            again = dl.BoostedRanker(n_trees=5, num_threads=2).fit(queries)
            os._exit(0 if (again.predict(queries) == scores).all() """
        """and (ranker.predict(queries) == scores).all() else 1)
        until, ended = time.monotonic() + 60, 0
        while not ended and time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.05)
        if not ended:
            os.kill(child, signal.SIGKILL)
        raise SystemExit(status if ended else "the forked process hangs")
    """
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    call = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


OF_LETOR = DCG.standard(3, 10, "exponential", "letor")


class TestTreesWithAStart:
    @staticmethod
    def ranker(start, n_trees=25, **options):
        shape = {"num_leaves": 4, "min_data_in_leaf": 5, "num_threads": 1}
        return BoostedRanker(SHFSDCG(OF_LETOR), n_trees=n_trees, start=start, **shape, **options)

    def test_small_trees_leave_the_start_as_it_is(self):
        queries = tiny(20)
        start = RidgeRanker(OF_LETOR).fit(queries)
        ranker = self.ranker(start, n_trees=1, learning_rate=1e-9).fit(queries)
        before, after = start.predict(queries), ranker.predict(queries)
        assert np.corrcoef(before, after)[0, 1] == pytest.approx(1, abs=1e-9)
        top = OF_LETOR.gains.max()
        slope, shift = np.polyfit(before, OF_LETOR.gains[queries.grades] / top, 1)
        assert ranker.base_[:-1] == pytest.approx(slope * start.coef_, rel=1e-9)
        assert after == pytest.approx(
            slope * (before - start.intercept_) + shift + slope * start.intercept_, abs=1e-7
        )

    def test_scores_of_validation_are_those_of_the_model(self):
        train, vali = tiny(20), tiny(10, seed=5)
        start = RidgeRanker(OF_LETOR).fit(train)
        ranker = self.ranker(start, metric=OF_LETOR).fit(train, eval_set=vali)
        assert ranker.score(vali) == pytest.approx(max(ranker.validation_))

    def test_files(self, tmp_path):
        train, vali = tiny(20), tiny(10, seed=5)
        start = RidgeRanker(OF_LETOR).fit(train)
        whole = self.ranker(start).fit(train, eval_set=vali)
        whole.save(tmp_path / "model.json")
        assert np.array_equal(
            load_ranker(tmp_path / "model.json").predict(vali), whole.predict(vali)
        )

    def test_a_start_of_other_features(self):
        refused(
            r"start has shape \(2,\); expected a coefficient a feature",
            self.ranker([1.0, 2.0]).fit,
            tiny(),
        )
