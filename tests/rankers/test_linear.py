"""LinearRanker: each solver climbs, units change nothing, the best model is kept."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from dcglearn.losses import (
    SDCG,
    SHFSDCG,
    ApproxNDCG,
    LambdaRank,
    ListNet,
    RankHinge,
    Regression,
    RegSHFSDCG,
    SmoothNDCG,
)
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.linear import LinearRanker, annealing_stages
from dcglearn.rankers.linear_model import Design, RidgeRanker, spread_of_scores
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.simulated_queries import letor_queries
from tests.makers import refused
from tests.rankers.makers import MINE, TEXTBOOK, assert_refused, by_query, letor, quick, small, tiny
from tests.tables import table

LONG = tuple(2.0**i for i in range(-2, 7))


class TestTheHeart:
    def test_training_on_a_dcg_ranks_better_by_it(self):
        """By gains and discounts of one's own, on held-out queries, than one trained on the
        textbook's."""
        ahead = []
        for seed in range(2):
            train, _, test = letor(seed)
            own, textbook = (
                LinearRanker(loss=ApproxNDCG(dcg)).fit(train.features, train.grades, train.qid)
                for dcg in (MINE, TEXTBOOK)
            )
            ahead.append(
                own.evaluate(test, metric=MINE).mean() - textbook.evaluate(test, metric=MINE).mean()
            )
        assert min(ahead) > 0
        assert np.mean(ahead) > 0.03

    @table("loss", [ApproxNDCG, SDCG, SmoothNDCG, SHFSDCG, RegSHFSDCG, LambdaRank])
    def test_each_direct_method_beats_its_start_by_its_own_metric(self, loss):
        """On held-out queries, the stage chosen on a validation set, mean over seeds."""
        ahead = []
        for seed in range(3):
            train, valid, test = letor(seed)
            start = RidgeRanker(TEXTBOOK, reweighted=False).fit(train)
            ranker = quick(loss=loss(TEXTBOOK), max_iter=15).fit(train, eval_set=valid)
            ahead.append(ranker.score(test) - start.score(test))
        assert np.mean(ahead) > 0.005


class TestNothingDependsOnUnits:
    def test_ten_times_the_dcg(self):
        queries = small()
        for factor, near in ((16.0, 0.0), (10.0, 1e-6)):  # a power of two changes no bit
            other = DCG(MINE.gains * factor, MINE.discounts)
            for make in (
                lambda d: quick(loss=ApproxNDCG(d)),
                lambda d: RidgeRanker(d, reweighted=False),
            ):
                plain, scaled = make(MINE).fit(queries), make(other).fit(queries)
                ratio = scaled.coef_ / plain.coef_
                assert ratio == pytest.approx(ratio[0], rel=near)
            plain, scaled = (
                quick(loss=ApproxNDCG(dcg)).fit(queries).coef_ for dcg in (MINE, other)
            )
            assert scaled == pytest.approx(plain, rel=near)

    @table("solver", ["cg", "lbfgs", "sgd"])
    def test_units_of_features(self, solver):
        queries = small()
        factors = 2.0 ** np.arange(-6, 6)
        plain = quick(solver=solver, max_iter=5).fit(queries)
        other = Queries(queries.features * factors, queries.grades, queries.qid, queries.n_grades)
        scaled = quick(solver=solver, max_iter=5).fit(other)
        assert scaled.predict(other) == pytest.approx(plain.predict(queries), rel=1e-6, abs=1e-6)

    def test_the_size_of_the_start(self):
        queries = small()
        start = RidgeRanker(MINE).fit(queries)
        plain = quick(start=start.coef_).fit(queries)
        assert quick(start=start.coef_ * 1024).fit(queries).coef_ == pytest.approx(
            plain.coef_, rel=1e-9
        )
        assert quick(start=start).fit(queries).coef_ == pytest.approx(plain.coef_, rel=1e-9)

    def test_a_stage_begins_with_scores_of_spread_1_and_without_annealing_with_those_of_the_start(
        self,
    ):
        queries, seen = small(), []

        @dataclasses.dataclass(frozen=True)
        class Watched(ApproxNDCG):
            def __call__(self, scores, grades, offsets=None, weight=None):
                seen.append((self.alpha, spread_of_scores(scores, offsets)))
                return super().__call__(scores, grades, offsets, weight)

        quick(loss=Watched(MINE), annealing=[8, 16, 32, 64]).fit(queries)
        first = dict(reversed(seen))
        assert list(first) == [64.0, 32.0, 16.0, 8.0]
        assert list(first.values()) == pytest.approx([1.0] * 4)
        seen.clear()
        start = RidgeRanker(MINE).fit(queries)
        quick(loss=Watched(MINE), annealing=None, start=start).fit(queries)
        assert seen[0] == (
            10.0,
            pytest.approx(spread_of_scores(start.predict(queries), queries.offsets)),
        )


class TestTraining:
    @table("solver", ["cg", "lbfgs", "sgd"])
    def test_each_solver_climbs(self, solver):
        queries = small()
        ranker = quick(solver=solver).fit(queries)
        assert ranker.score(queries) > RidgeRanker(MINE, reweighted=False).fit(queries).score(
            queries
        )
        assert [record["stage"] for record in ranker.history_] == [1, 2, 3]

    def test_a_large_penalty_keeps_the_start(self):
        queries = small()
        start = RidgeRanker(MINE, reweighted=False).fit(queries)
        ranker = quick(l2=1e6).fit(queries)
        cosine = (
            ranker.coef_ @ start.coef_ / np.linalg.norm(ranker.coef_) / np.linalg.norm(start.coef_)
        )
        assert cosine > 1 - 1e-6

    def test_the_lemma_of_chapelle_and_wu(self):
        """For w0 = 0, w(lambda, s) = sqrt(c) w(lambda c, s / c): a sharper loss is a smaller model
        under a larger penalty.
        """
        queries = small(10)
        design = Design(queries)
        loss, c = ApproxNDCG(MINE, alpha=2.0), 4.0
        sharper = ApproxNDCG(MINE, alpha=2.0 * np.sqrt(c))  # alpha^2 is 1 / s

        def objective(v, loss, l2):
            return l2 * v @ v - loss(design.scores(v), queries.grades, queries.offsets)[0]

        v = np.random.default_rng(0).normal(size=12)
        assert objective(v, loss, 0.3) == pytest.approx(
            objective(v / np.sqrt(c), sharper, 0.3 * c), rel=1e-12
        )

    def test_validation_keeps_the_best_that_was_passed(self):
        queries = small(40)
        train, valid = queries[:20], queries[20:]
        ranker = quick().fit(train, eval_set=(valid.features, valid.grades, valid.qid))
        assert ranker.best_["by"] == "valid"
        assert ranker.score(valid) == pytest.approx(ranker.best_["value"], abs=1e-12)
        assert ranker.best_["value"] >= max(record["valid"] for record in ranker.history_)
        assert (
            ranker.best_["value"]
            >= RidgeRanker(MINE, reweighted=False).fit(train).score(valid) - 1e-12
        )
        other = quick(metric=TEXTBOOK).fit(train, eval_set=valid)
        assert other.evaluate(valid, metric=TEXTBOOK).mean() == pytest.approx(
            other.best_["value"], abs=1e-12
        )

    def test_restarts_keep_the_best_objective(self):
        ranker = quick(start="random", n_restarts=3, annealing=[5.0, 10.0]).fit(small())
        last = [record["objective"] for record in ranker.history_ if record["stage"] == 2]
        assert len(last) == 3
        assert ranker.best_["value"] == max(last)
        assert ranker.best_["restart"] == int(np.argmax(last))

    def test_same_seed_same_bytes(self):
        how = {"solver": "sgd", "start": "random", "max_iter": 3}
        one, two, other = (quick(**how, random_state=seed).fit(small()).coef_ for seed in (0, 0, 1))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_sparse_features(self):
        queries = small()
        thin = Queries(csr_matrix(queries.features), queries.grades, queries.qid)
        for solver in ("lbfgs", "sgd"):
            plain, sparse = (quick(solver=solver, max_iter=4).fit(q) for q in (queries, thin))
            assert sparse.predict(thin) == pytest.approx(plain.predict(queries), rel=1e-5, abs=1e-5)

    def test_the_callers_data_stay_as_they_are(self):
        queries = small()
        X, y, qid = (np.array(part) for part in (queries.features, queries.grades, queries.qid))
        before = [part.copy() for part in (X, y, qid)]
        quick().fit(X, y, qid)
        assert all(
            np.array_equal(one, other) for one, other in zip((X, y, qid), before, strict=True)
        )
        assert X.flags.writeable

    def test_stages(self):
        assert annealing_stages("auto", ApproxNDCG(MINE)) == [2.5, 5.0, 10.0]
        assert annealing_stages("auto", RankHinge()) == [1.0]
        assert annealing_stages([1, 2], Regression(MINE)) == [None]
        assert annealing_stages(None, ApproxNDCG(MINE)) == [None]
        refused("positive numbers", annealing_stages, [1.0, 0.0], ApproxNDCG(MINE))

    def test_one_sharpness_means_the_same_to_every_loss(self):
        """Per unit of score, per squared unit, or a standard deviation: each stage sees the scores
        alike.
        """
        seen = []

        @dataclasses.dataclass(frozen=True)
        class Watched(SmoothNDCG):
            def _evaluate(self, batch):
                seen.append(self.sigma)
                return super()._evaluate(batch)

        quick(loss=Watched(MINE), annealing=[2.0, 4.0]).fit(small(6))
        assert list(dict.fromkeys(seen)) == [0.25, 0.0625]


def test_listnet_agrees_with_a_twin():
    queries, l2 = tiny(), 0.05
    start = RidgeRanker(l2=0.1).fit(queries)
    ranker = LinearRanker(
        ListNet(), annealing=None, start=start, l2=l2, solver="lbfgs", max_iter=2000, tol=1e-9
    )
    ranker.fit(queries)
    design = Design(queries)
    v0 = start.coef_ * design.spread

    def objective(v):
        total = 0.0
        for own in by_query(queries):
            scores = queries.features[own] @ (v / design.spread)
            wanted = np.exp(queries.grades[own].astype(float))
            model = np.exp(scores - scores.max())
            total -= np.sum(wanted / wanted.sum() * np.log(model / model.sum()))
        return total / len(queries) + l2 * np.sum((v - v0) ** 2)

    optimum = minimize(
        objective, v0, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10}
    )
    assert ranker.coef_ * design.spread == pytest.approx(optimum.x, abs=1e-4)
    assert objective(ranker.coef_ * design.spread) == pytest.approx(optimum.fun, rel=1e-10)


def test_impossible_parameters():
    queries = small(6)
    assert_refused(
        lambda **change: quick(**change).fit(queries),
        [
            ({"solver": "adam"}, "give one of lbfgs, cg, sgd"),
            ({"start": "zero"}, "give one of ridge, ranksvm, random, coefficients"),
            ({"start": np.zeros(3)}, "expected a coefficient a feature"),
            ({"start": np.zeros(12)}, "same score"),
            ({"n_restarts": 0}, "n_restarts=0"),
            ({"l2": -1.0}, "l2=-1.0 must be a finite number of at least 0"),
            ({"learning_rate": 0.0}, "must be a finite number above 0"),
            ({"loss": 3}, "is no loss"),
            ({"annealing": "fast"}, "annealing must be numbers"),
            ({"annealing": []}, "annealing has shape"),
            ({"annealing": [1.0, 0.0]}, "positive numbers"),
        ],
    )


def test_bad_validation_sets():
    queries = small(6)
    for eval_set, message in (
        (
            letor_queries(2, n_features=5, random_state=0),
            "eval_set: X has 5 features, but LinearRanker is expecting 12",
        ),
        ((queries.features, queries.grades), r"eval_set must be Queries or \(X, y, qid\)"),
        (small(6, n_grades=5), "eval_set: the data have grade 4"),
    ):
        refused(message, quick().fit, queries, eval_set=eval_set)
