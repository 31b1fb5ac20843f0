"""Rankers: each solves what it says it solves, units change nothing, a stopped training goes on, files hold it."""

import contextlib
import dataclasses
import functools
import json
import shutil

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from dcglearn.foundation.validation import InputError
from dcglearn.losses import SDCG, SHFSDCG, ApproxNDCG, LambdaRank, RankHinge, Regression, RegSHFSDCG, SmoothNDCG
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.baselines import RankSVMRanker, RidgeRanker
from dcglearn.rankers.document_pairs import count_pairs, hinge_curvature, hinge_sums, sorted_by_score
from dcglearn.rankers.linear import LinearRanker, stages_of
from dcglearn.rankers.load_ranker import load_ranker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Design, spread_of_scores
from dcglearn.rankers.reduction import PairwiseRanker, weighted_pairs
from dcglearn.rankers.sparse import SparseRanker, soft_threshold
from dcglearn.rankers.synthetic import letor_queries

TEXTBOOK = DCG.standard(3, 10)
MINE = DCG([0.0, 1.0, 1.1], [1.0, 0.85, 0.6, 0.42, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05])


LONG = tuple(2.0**i for i in range(-2, 7))


def small(n=24, seed=0, **options):
    return letor_queries(n, n_features=12, sizes=(10, 40), seed=seed, **options)


@functools.cache
def letor(seed):
    """Return training, validation and test queries in LETOR's shape."""
    queries = letor_queries(166, seed=seed)
    return queries[:64], queries[64:85], queries[85:]


def rescaled(queries, factors):
    return Queries(queries.features * factors, queries.grades, queries.qid, queries.n_grades)


def quick(**options):
    return LinearRanker(**{"loss": ApproxNDCG(MINE), "solver": "lbfgs", "max_iter": 15, **options})


def hinge_twin(scores, grades, offsets):
    """Return the squared hinge over pairs, one pair at a time."""
    total, slope = 0.0, np.zeros_like(scores)
    for start, stop in zip(offsets[:-1], offsets[1:], strict=True):  # noqa: RUF007
        for i in range(start, stop):
            for j in range(start, stop):
                lack = 1.0 - scores[i] + scores[j]
                if grades[i] > grades[j] and lack > 0:
                    total += lack**2
                    slope[i] -= 2 * lack
                    slope[j] += 2 * lack
    return total, slope


class TestPairSums:
    @pytest.mark.parametrize("scale", [0.01, 1.0, 1e8])
    @pytest.mark.parametrize("digits", [1, 12])
    def test_as_one_pair_at_a_time(self, scale, digits):
        rng = np.random.default_rng(0)
        offsets = np.array([0, 1, 20, 20, 60])
        scores = scale * rng.normal(size=60).round(digits)
        grades = rng.integers(0, 4, 60).astype(np.int8)
        order = sorted_by_score(scores, offsets)
        value, slope = hinge_sums(scores, grades, offsets, order)
        wanted, pull = hinge_twin(scores, grades, offsets)
        assert value == pytest.approx(wanted, rel=1e-9)
        assert slope == pytest.approx(pull, rel=1e-9, abs=1e-9 * np.abs(pull).max())
        assert count_pairs(grades, offsets) == sum(
            (grades[a:b, None] > grades[None, a:b]).sum()
            for a, b in zip(offsets[:-1], offsets[1:], strict=True)  # noqa: RUF007
        )

    def test_curvature_is_the_slope_of_the_slope(self):
        rng = np.random.default_rng(1)
        offsets = np.array([0, 30, 80])
        scores, along = rng.normal(size=(2, 80))
        grades = rng.integers(0, 3, 80).astype(np.int8)
        found = hinge_curvature(along, scores, grades, offsets, sorted_by_score(scores, offsets))
        ahead, behind = (hinge_twin(scores + t * along, grades, offsets)[1] for t in (1e-7, -1e-7))
        assert found == pytest.approx((ahead - behind) / 2e-7, rel=1e-5, abs=1e-4)


class TestBaselines:
    def test_ranksvm_reaches_its_optimum_and_proves_it(self):
        queries = small()
        ranker = RankSVMRanker(C=10.0).fit(queries)
        assert ranker.gap_ < 1e-9
        design, offsets = Design(queries), queries.offsets

        def objective(v):
            value, slope = hinge_twin(design.scores(v), queries.grades, offsets)
            c = 10.0 / ranker.n_pairs_
            return v @ v / 2 + c * value, v + c * design.vjp(slope)

        other = minimize(objective, np.zeros(12), jac=True, method="L-BFGS-B", options={"maxiter": 60})
        assert ranker.objective_ <= other.fun * (1 + 1e-9)
        assert objective(ranker.coef_ * design.spread)[0] == pytest.approx(ranker.objective_, rel=1e-9)

    def test_ridge_is_least_squares_on_gains(self):
        queries = small()
        ranker = RidgeRanker(MINE, l2=1e-9, reweighted=False).fit(queries)
        table = np.column_stack([np.ones(queries.shape[0]), queries.features])
        wanted = np.linalg.lstsq(table, MINE.gains[queries.grades], rcond=None)[0]
        assert [ranker.intercept_, *ranker.coef_] == pytest.approx(wanted, rel=1e-4, abs=1e-4)

    def test_reweighted_ridge_gives_both_sides_half(self):
        queries = small()
        ranker = RidgeRanker(l2=1e-9).fit(queries)
        weight = np.where(queries.grades > 0, 0.5 / (queries.grades > 0).sum(), 0.5 / (queries.grades == 0).sum())
        table = np.column_stack([np.ones(queries.shape[0]), queries.features])
        root = np.sqrt(weight)
        wanted = np.linalg.lstsq(table * root[:, None], queries.grades * root, rcond=None)[0]
        assert [ranker.intercept_, *ranker.coef_] == pytest.approx(wanted, rel=1e-4, abs=1e-4)

    @pytest.mark.parametrize("kind", [RidgeRanker, RankSVMRanker])
    def test_sparse_is_dense(self, kind):
        queries = small()
        thin = Queries(csr_matrix(queries.features), queries.grades, queries.qid)
        assert kind().fit(thin).predict(thin) == pytest.approx(kind().fit(queries).predict(queries), abs=1e-6)


class TestTheHeart:
    def test_training_on_a_dcg_ranks_better_by_it(self):
        """By gains and discounts of one's own, on held-out queries, than one trained on the textbook's."""
        ahead = []
        for seed in range(3):
            train, _, test = letor(seed)
            own, textbook = (
                LinearRanker(loss=ApproxNDCG(dcg)).fit(train.features, train.grades, train.qid)
                for dcg in (MINE, TEXTBOOK)
            )
            ahead.append(own.evaluate(test, metric=MINE).mean() - textbook.evaluate(test, metric=MINE).mean())
        assert min(ahead) > 0
        assert np.mean(ahead) > 0.03

    @pytest.mark.parametrize("loss", [ApproxNDCG, SDCG, SmoothNDCG, SHFSDCG, RegSHFSDCG, LambdaRank])
    def test_each_direct_method_beats_its_start_by_its_own_metric(self, loss):
        """On held-out queries, the stage chosen on a validation set, mean over seeds."""
        ahead = []
        for seed in range(4):
            train, valid, test = letor(seed)
            start = RidgeRanker(TEXTBOOK, reweighted=False).fit(train)
            ranker = quick(loss=loss(TEXTBOOK), max_iter=30).fit(train, eval_set=valid)
            ahead.append(ranker.score(test) - start.score(test))
        assert np.mean(ahead) > 0.005


class TestNothingDependsOnUnits:
    def test_ten_times_the_dcg(self):
        queries = small()
        for factor, near in ((16.0, 0.0), (10.0, 1e-6)):  # a power of two changes no bit
            other = DCG(MINE.gains * factor, MINE.discounts)
            for make in (lambda d: quick(loss=ApproxNDCG(d)), lambda d: RidgeRanker(d, reweighted=False)):
                plain, scaled = make(MINE).fit(queries), make(other).fit(queries)
                ratio = scaled.coef_ / plain.coef_
                assert ratio == pytest.approx(ratio[0], rel=near)
            assert quick(loss=ApproxNDCG(other)).fit(queries).coef_ == pytest.approx(
                quick(loss=ApproxNDCG(MINE)).fit(queries).coef_, rel=near
            )

    @pytest.mark.parametrize("solver", ["cg", "lbfgs", "sgd"])
    def test_units_of_features(self, solver):
        queries = small()
        factors = 2.0 ** np.arange(-6, 6)
        plain = quick(solver=solver, max_iter=5).fit(queries)
        other = rescaled(queries, factors)
        scaled = quick(solver=solver, max_iter=5).fit(other)
        assert scaled.predict(other) == pytest.approx(plain.predict(queries), rel=1e-6, abs=1e-6)

    def test_the_size_of_the_start(self):
        queries = small()
        start = RidgeRanker(MINE).fit(queries)
        plain = quick(start=start.coef_).fit(queries)
        assert quick(start=start.coef_ * 1024).fit(queries).coef_ == pytest.approx(plain.coef_, rel=1e-9)
        assert quick(start=start).fit(queries).coef_ == pytest.approx(plain.coef_, rel=1e-9)

    def test_a_stage_begins_with_scores_of_spread_1(self):
        seen = []

        @dataclasses.dataclass(frozen=True)
        class Watched(ApproxNDCG):
            def __call__(self, scores, grades, offsets=None, weight=None):
                seen.append((self.alpha, spread_of_scores(scores, offsets)))
                return super().__call__(scores, grades, offsets, weight)

        quick(loss=Watched(MINE), annealing=[8, 16, 32, 64]).fit(small())
        first = dict(reversed(seen))
        assert list(first) == [64.0, 32.0, 16.0, 8.0]
        assert list(first.values()) == pytest.approx([1.0] * 4)

    def test_no_annealing_takes_the_loss_and_the_start_as_they_are(self):
        queries = small()
        start = RidgeRanker(MINE).fit(queries)
        seen = []

        @dataclasses.dataclass(frozen=True)
        class Watched(ApproxNDCG):
            def __call__(self, scores, grades, offsets=None, weight=None):
                seen.append((self.alpha, spread_of_scores(scores, offsets)))
                return super().__call__(scores, grades, offsets, weight)

        quick(loss=Watched(MINE), annealing=None, start=start).fit(queries)
        assert seen[0] == (10.0, pytest.approx(spread_of_scores(start.predict(queries), queries.offsets)))


class TestTraining:
    @pytest.mark.parametrize("solver", ["cg", "lbfgs", "sgd"])
    def test_each_solver_climbs(self, solver):
        queries = small()
        ranker = quick(solver=solver).fit(queries)
        assert ranker.score(queries) > RidgeRanker(MINE, reweighted=False).fit(queries).score(queries)
        assert [record["stage"] for record in ranker.history_] == [1, 2, 3]

    def test_a_strong_pull_keeps_the_start(self):
        queries = small()
        start = RidgeRanker(MINE, reweighted=False).fit(queries)
        found = quick(l2=1e6).fit(queries)
        cosine = found.coef_ @ start.coef_ / np.linalg.norm(found.coef_) / np.linalg.norm(start.coef_)
        assert cosine > 1 - 1e-6

    def test_the_lemma_of_chapelle_and_wu(self):
        """For w0 = 0, w(lambda, s) = sqrt(c) w(lambda c, s / c): a sharper loss is a smaller model under more pull."""
        queries = small(10)
        design = Design(queries)
        loss, c = ApproxNDCG(MINE, alpha=2.0), 4.0
        sharper = ApproxNDCG(MINE, alpha=2.0 * np.sqrt(c))  # alpha^2 is 1 / s

        def objective(v, loss, l2):
            return l2 * v @ v - loss(design.scores(v), queries.grades, queries.offsets)[0]

        v = np.random.default_rng(0).normal(size=12)
        assert objective(v, loss, 0.3) == pytest.approx(objective(v / np.sqrt(c), sharper, 0.3 * c), rel=1e-12)

    def test_validation_keeps_the_best_that_was_passed(self):
        queries = small(40)
        train, valid = queries[:20], queries[20:]
        ranker = quick().fit(train, eval_set=(valid.features, valid.grades, valid.qid))
        assert ranker.best_["by"] == "valid"
        assert ranker.score(valid) == pytest.approx(ranker.best_["value"], abs=1e-12)
        assert ranker.best_["value"] >= max(record["valid"] for record in ranker.history_)
        assert ranker.best_["value"] >= RidgeRanker(MINE, reweighted=False).fit(train).score(valid) - 1e-12

    def test_validation_by_another_dcg(self):
        queries = small(40)
        ranker = quick(metric=TEXTBOOK).fit(queries[:20], eval_set=queries[20:])
        assert ranker.evaluate(queries[20:], metric=TEXTBOOK).mean() == pytest.approx(ranker.best_["value"], abs=1e-12)

    def test_patience_ends_the_annealing(self):
        queries = small(40)
        long = quick(annealing=LONG).fit(queries[:20], eval_set=queries[20:])
        short = quick(annealing=LONG, patience=1).fit(queries[:20], eval_set=queries[20:])
        assert len(short.history_) < len(long.history_) == 9
        assert short.history_ == long.history_[: len(short.history_)]

    def test_restarts_keep_the_best_objective(self):
        ranker = quick(start="random", n_restarts=3, annealing=[5.0, 10.0]).fit(small())
        last = [record["objective"] for record in ranker.history_ if record["stage"] == 2]
        assert len(last) == 3
        assert ranker.best_["value"] == max(last)
        assert ranker.best_["restart"] == int(np.argmax(last))

    def test_same_seed_same_bytes(self):
        one, two, other = (
            quick(solver="sgd", start="random", max_iter=3, seed=seed).fit(small()).coef_ for seed in (0, 0, 1)
        )
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_sparse_features(self):
        queries = small()
        thin = Queries(csr_matrix(queries.features), queries.grades, queries.qid)
        for solver in ("lbfgs", "sgd"):
            plain, found = (quick(solver=solver, max_iter=4).fit(q) for q in (queries, thin))
            assert found.predict(thin) == pytest.approx(plain.predict(queries), rel=1e-5, abs=1e-5)

    def test_the_callers_data_stay_as_they_are(self):
        queries = small()
        X, y, qid = (np.array(part) for part in (queries.features, queries.grades, queries.qid))
        before = [part.copy() for part in (X, y, qid)]
        quick().fit(X, y, qid)
        assert all(np.array_equal(one, other) for one, other in zip((X, y, qid), before, strict=True))
        assert X.flags.writeable

    def test_stages(self):
        assert stages_of("auto", ApproxNDCG(MINE)) == [2.5, 5.0, 10.0]
        assert stages_of("auto", RankHinge()) == [1.0]
        assert stages_of([1, 2], Regression(MINE)) == [None]
        assert stages_of(None, ApproxNDCG(MINE)) == [None]
        with pytest.raises(InputError, match="positive numbers"):
            stages_of([1.0, 0.0], ApproxNDCG(MINE))

    def test_one_sharpness_means_the_same_to_every_loss(self):
        """Per unit of score, per squared unit, or a standard deviation: each stage sees the scores alike."""
        seen = []

        @dataclasses.dataclass(frozen=True)
        class Watched(SmoothNDCG):
            def _evaluate(self, batch):
                seen.append(self.sigma)
                return super()._evaluate(batch)

        quick(loss=Watched(MINE), annealing=[2.0, 4.0]).fit(small(6))
        assert list(dict.fromkeys(seen)) == [0.25, 0.0625]


class Stopped(Exception):
    pass


class TestResuming:
    @pytest.mark.parametrize("calls", [1, 40, 90])
    @pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
    def test_a_stopped_training_ends_in_the_same_model(self, tmp_path, monkeypatch, solver, calls):
        queries = small(40)
        train, valid = queries[:20], queries[20:]
        how = {"solver": solver, "n_restarts": 2, "max_iter": 3, "annealing": [1.0, 3.0, 9.0]}
        whole = quick(**how).fit(train, eval_set=valid)
        path, left = tmp_path / "checkpoint.npz", [calls * (20 if solver == "sgd" else 1)]
        first = quick(**how).fit(train, eval_set=valid, checkpoint=path)
        assert np.array_equal(first.coef_, whole.coef_)
        path.unlink()
        plain = ApproxNDCG.__call__

        def stopping(self, *arguments):
            left[0] -= 1
            if left[0] < 0:
                raise Stopped
            return plain(self, *arguments)

        monkeypatch.setattr(ApproxNDCG, "__call__", stopping)
        with contextlib.suppress(Stopped):
            quick(**how).fit(train, eval_set=valid, checkpoint=path)
        monkeypatch.undo()
        if not path.exists():  # stopped within the first stage
            quick(**how).fit(train, eval_set=valid, checkpoint=path)
        again = quick(**how).fit(train, eval_set=valid, checkpoint=path, resume=True)
        assert np.array_equal(again.coef_, whole.coef_)
        assert again.history_ == whole.history_
        assert again.best_ == whole.best_

    def test_only_the_same_training_goes_on(self, tmp_path):
        queries, path = small(), tmp_path / "checkpoint.npz"
        quick().fit(queries, checkpoint=path)
        for other, data, name in (
            (quick(loss=ApproxNDCG(TEXTBOOK)), queries, "loss"),
            (quick(l2=0.2), queries, "l2"),
            (quick(), small(9), "data"),
        ):
            with pytest.raises(InputError, match=f"checkpoint of another training: its {name} is"):
                other.fit(data, checkpoint=path, resume=True)
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(InputError, match="is damaged: its state is cut short"):
            quick().fit(queries, checkpoint=path, resume=True)
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(InputError, match="is not a dcglearn checkpoint, or is damaged"):
            quick().fit(queries, checkpoint=path, resume=True)
        with pytest.raises(InputError, match="no checkpoint to resume from"):
            quick().fit(queries, checkpoint=tmp_path / "none.npz", resume=True)


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
            dense = LinearRanker()  # a vessel for the model that keeps all features
            Design(train).set_model(dense, ranker.path_[0].coef)
            dense.metric_ = TEXTBOOK
            gone.append(1 - len(ranker.features_) / 45)
            kept.append(ranker.score(test) / dense.score(test))
        assert np.mean(gone) >= 0.6
        assert np.mean(kept) >= 0.97

    def test_a_given_strength(self):
        queries = small()
        none = SparseRanker(MINE, l1=1e6, max_iter=5).fit(queries)
        assert len(none.features_) == 0
        some = SparseRanker(MINE, l1=0.0, max_iter=5).fit(queries)
        assert len(some.features_) == 12

    def test_soft_threshold(self):
        assert soft_threshold(np.array([3.0, -3.0, 0.5, -0.5]), 1.0).tolist() == [2.0, -2.0, 0.0, 0.0]

    @pytest.mark.parametrize(
        "change", [{"step": 0.0}, {"step": 2.5}, {"l1": -1.0}, {"tolerance": 1.0}, {"n_points": 0}]
    )
    def test_impossible_numbers(self, change):
        with pytest.raises(InputError):
            SparseRanker(MINE, **change).fit(small())


class TestPairwise:
    def test_weights_are_what_the_order_is_worth(self):
        """The weight of a pair is the change of the normalised DCG if the two documents are swapped."""
        queries = small(3)
        scores = np.random.default_rng(0).normal(size=queries.shape[0])
        better, worse, weight = weighted_pairs(queries, 1, scores, MINE)
        before = queries.evaluate(scores, MINE)[1]
        for i, j, w in list(zip(better, worse, weight, strict=True))[:50]:
            other = scores.copy()
            other[[i, j]] = scores[[j, i]]
            assert abs(queries.evaluate(other, MINE)[1] - before) == pytest.approx(w, abs=1e-12)

    @pytest.mark.parametrize("pairs", ["difference", "both"])
    def test_any_learner(self, pairs):
        from sklearn.tree import DecisionTreeClassifier

        queries = small(12)
        ranker = PairwiseRanker(DecisionTreeClassifier(max_depth=4), MINE, pairs, n_rounds=1).fit(queries)
        positions = -ranker.predict(queries.features, queries.qid)
        sizes = np.repeat(queries.sizes, queries.sizes)
        assert (positions >= 1).all()
        assert (positions <= sizes).all()
        assert ranker.score(queries) > 0.5

    def test_a_linear_decision_is_a_score(self):
        queries = small(12)
        ranker = PairwiseRanker(metric=MINE, n_rounds=1).fit(queries)
        scores = queries.features @ ranker.learner_.coef_[0]
        for start, stop in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
            found = ranker.predict(queries)[start:stop]
            assert np.array_equal(np.argsort(-found), np.argsort(-scores[start:stop]))

    def test_a_sample_of_pairs(self):
        assert PairwiseRanker(metric=MINE, max_pairs=50, n_rounds=1).fit(small(12)).score(small(12)) > 0.3
        with pytest.raises(InputError, match="is worth anything"):
            PairwiseRanker(metric=DCG([0, 1, 2], np.ones(50))).fit(small(12))


class TestFiles:
    @pytest.mark.parametrize(
        "ranker",
        [quick(annealing=[2.5, 5.0]), RidgeRanker(MINE), RankSVMRanker(), SparseRanker(MINE, l1=1.0, max_iter=5)],
        ids=lambda ranker: type(ranker).__name__,
    )
    def test_a_model_comes_back(self, tmp_path, ranker):
        queries = small()
        ranker.fit(queries).save(tmp_path / "model")
        again = load_ranker(tmp_path / "model")
        assert type(again) is type(ranker)
        assert np.array_equal(again.predict(queries), ranker.predict(queries))
        assert again.score(queries) == ranker.score(queries)
        assert repr(again.get_params()) == repr(ranker.get_params())
        with pytest.raises(InputError, match="holds a model"):
            ranker.save(tmp_path / "model", force=False)
        ranker.save(tmp_path / "model")

    def test_a_model_of_other_gains_is_refused(self, tmp_path):
        quick().fit(small()).save(tmp_path / "model")
        assert LinearRanker.load(tmp_path / "model", metric=MINE).metric_ == MINE
        with pytest.raises(InputError, match="trained for other gains or discounts"):
            LinearRanker.load(tmp_path / "model", metric=TEXTBOOK)
        with pytest.raises(InputError, match="holds a LinearRanker, not a RidgeRanker"):
            RidgeRanker.load(tmp_path / "model")

    def test_damage_is_told(self, tmp_path):
        good = tmp_path / "good"
        quick().fit(small()).save(good)
        words = json.loads((good / "model.json").read_text())
        for change, message in (
            ({"format": "x"}, "\"format\" is 'x'"),
            ({"version": 2}, "written by another version"),
            ({"kind": "Pickle"}, "holds a Pickle, not a LinearRanker or .*load_ranker reads every kind"),
            ({"n_features": 3}, "does not belong to model.json"),
            (
                {"parameters": {**words["parameters"], "loss": {"loss": "os", "fields": {}}}},
                "no loss that this version",
            ),
        ):
            bad = tmp_path / "bad"
            shutil.copytree(good, bad)
            (bad / "model.json").write_text(json.dumps(words | change))
            with pytest.raises(InputError, match=message):
                load_ranker(bad)
            shutil.rmtree(bad)
        whole = (good / "weights.npz").read_bytes()
        for data in (b"not a zip", whole[:100], b""):
            (good / "weights.npz").write_bytes(data)
            with pytest.raises(InputError, match="damaged"):
                load_ranker(good)
        with pytest.raises(InputError, match=r"model\.json does not exist; check the name"):
            load_ranker(tmp_path / "none")

    def test_what_cannot_be_saved(self, tmp_path):
        with pytest.raises(InputError, match="not fitted"):
            quick().save(tmp_path / "model")
        with pytest.raises(InputError, match="without pickle"):
            PairwiseRanker(n_rounds=1).fit(small(5)).save(tmp_path / "model")
        fitted = RidgeRanker().fit(small())
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "thesis.txt").write_text("x")
        for path, message in ((tmp_path / "full", "holds other files"), (tmp_path / "a" / "b", "does not exist")):
            with pytest.raises(InputError, match=message):
                fitted.save(path)
        assert [file.name for file in (tmp_path / "full").iterdir()] == ["thesis.txt"]


class TestScikitLearn:
    @pytest.mark.parametrize("ranker", [quick(), RidgeRanker(), RankSVMRanker(), SparseRanker(), PairwiseRanker()])
    def test_parameters(self, ranker):
        assert clone(ranker).get_params() == ranker.get_params()
        assert not [name for name in vars(ranker) if name.endswith("_")]

    def test_grid_search_through_metadata_routing(self):
        queries = small(12)
        with sklearn.config_context(enable_metadata_routing=True):
            ranker = RidgeRanker(MINE).set_fit_request(qid=True).set_score_request(qid=True)
            search = GridSearchCV(ranker, {"l2": [1e-3, 1e3]}, cv=GroupKFold(3))
            search.fit(queries.features, queries.grades, qid=queries.qid, groups=queries.qid)
        assert search.best_params_["l2"] in (1e-3, 1e3)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()

    def test_score_without_qid_names_it(self):
        queries = small()
        ranker = RidgeRanker().fit(queries)
        for arguments, missing in (((queries.features, queries.grades), "qid"), ((queries.features,), "y")):
            with pytest.raises(InputError, match=f"{missing} is missing"):
                ranker.score(*arguments)
        with pytest.raises(InputError, match="leave y and qid out"):
            ranker.score(queries, queries.grades)


RANKERS = [quick(), RidgeRanker(MINE), RankSVMRanker(metric=MINE), SparseRanker(MINE), PairwiseRanker(metric=MINE)]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
class TestBadInput:
    X, y, qid = np.arange(8.0).reshape(4, 2), np.array([0, 1, 2, 0]), np.array([1, 1, 2, 2])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"qid": np.array([2, 2])}, "look like group sizes"),
            ({"qid": np.array([1, 2, 1, 2])}, "keep the documents of a query together"),
            ({"qid": None}, "qid is missing"),
            ({"y": None}, "y is missing"),
            ({"y": np.array([0, 3, 0, 0])}, "has grade 3, but the DCG has gains for grades 0..2"),
            ({"y": np.array([0, 0.5, 0, 0])}, "0.5 is not a grade"),
            ({"X": np.full((4, 2), np.nan)}, "not a finite number"),
            ({"y": np.array([1, 1, 1, 1])}, "same grade"),
            ({"qid": np.array([1, 2, 3, 4])}, "same grade"),
            ({"X": np.zeros((0, 2)), "y": np.zeros(0, int), "qid": np.zeros(0, int)}, "no query to learn from"),
        ],
    )
    def test_fit(self, ranker, change, message):
        given = {"X": self.X, "y": self.y, "qid": self.qid, **change}
        with pytest.raises(InputError, match=message):
            clone(ranker).fit(**given)

    def test_features_that_differ(self, ranker):
        queries = small(6)
        fitted = clone(ranker).fit(queries)
        with pytest.raises(InputError, match="X has 3 features, but the model was trained on 12"):
            fitted.predict(np.zeros((2, 3)))
        with pytest.raises(InputError, match="not a finite number"):
            fitted.predict(np.full((2, 12), np.inf))
        with pytest.raises(InputError, match="not a grade of the DCG's scale"):
            fitted.score(np.zeros((2, 12)), [0, 7], [1, 1])

    def test_queries_without_a_relevant_document_count_nothing(self, ranker):
        queries = small(6)
        grades = queries.grades.copy()
        grades[: queries.offsets[1]] = 0
        with_empty = Queries(queries.features, grades, queries.qid, 3)
        values = clone(ranker).fit(with_empty).evaluate(with_empty)
        assert values[0] == 0
        assert (values[1:] > 0).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": "adam"}, "none of lbfgs, cg, sgd"),
        ({"start": "zero"}, "none of ridge, ranksvm, random"),
        ({"start": np.zeros(3)}, "expected a finite coefficient a feature"),
        ({"start": np.zeros(12)}, "same score"),
        ({"n_restarts": 0}, "n_restarts=0"),
        ({"l2": -1.0}, "l2=-1.0 must be a non-negative"),
        ({"learning_rate": 0.0}, "must be a positive"),
        ({"loss": 3}, "is no loss"),
        ({"patience": 0}, "patience=0"),
        ({"annealing": "fast"}, "positive numbers"),
        ({"annealing": []}, "positive numbers"),
    ],
)
def test_impossible_parameters(change, message):
    with pytest.raises(InputError, match=message):
        quick(**change).fit(small(6))


def test_bad_validation_sets():
    queries = small(6)
    for eval_set, message in (
        (letor_queries(2, n_features=5, seed=0), "eval_set has 5 features, the training set 12"),
        ((queries.features, queries.grades), r"eval_set must be Queries or \(X, y, qid\)"),
        (small(6, n_grades=5), "eval_set has grade 4"),
    ):
        with pytest.raises(InputError, match=message):
            quick().fit(queries, eval_set=eval_set)
