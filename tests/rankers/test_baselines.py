"""AdaRank and ListNet against small twins; RankSVM against LIBLINEAR on explicit pairs; trees that add to a start."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from dcglearn.foundation.validation import InputError
from dcglearn.losses import SHFSDCG, ListNet
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.adarank import AdaRankRanker
from dcglearn.rankers.baselines import RankSVMRanker, RidgeRanker
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.load_ranker import load_ranker
from dcglearn.rankers.queries import Queries, precision_by_query
from dcglearn.rankers.ranker import Design
from dcglearn.rankers.synthetic import letor_queries

LETOR = DCG.standard(3, 10, "exponential", "letor")


def small(n=12, seed=0, **options):
    return letor_queries(n, **{"n_features": 5, "sizes": (6, 15), "seed": seed, **options})


def by_query(queries):
    return [slice(a, b) for a, b in zip(queries.offsets[:-1], queries.offsets[1:], strict=True)]


def ranked_worst_first(scores, grades):
    """Return grades by falling score, equal scores worst grade first, by comparing pairs."""
    left, ranked = list(range(len(scores))), []
    while left:
        best = left[0]
        for i in left[1:]:
            if scores[i] > scores[best] or (scores[i] == scores[best] and grades[i] < grades[best]):
                best = i
        left.remove(best)
        ranked.append(int(grades[best]))
    return ranked


def worth_twin(measure, scores, grades):
    ranked = ranked_worst_first(scores, grades)
    if measure == "map":
        places = [i for i, g in enumerate(ranked) if g > 0]
        return sum((n + 1) / (place + 1) for n, place in enumerate(places)) / len(places) if places else 0.0
    gain = [2.0**g - 1 for g in ranked]
    discount = [1.0 if r <= 2 else 1 / np.log2(r) for r in range(1, 11)]
    best = sum(g * d for g, d in zip(sorted(gain, reverse=True), discount, strict=False))
    return sum(g * d for g, d in zip(gain, discount, strict=False)) / best if best else 0.0


def adarank_twin(queries, measure, n_rounds, both_signs, most):
    """Return coefficients and chosen features of Xu and Li's algorithm 1, a query at a time."""
    spread = np.sqrt(
        sum(
            ((queries.features[own] - queries.features[own].mean(axis=0)) ** 2).sum(axis=0) for own in by_query(queries)
        )
        / len(queries.grades)
    )
    share = [1 / len(queries)] * len(queries)
    v, chosen = np.zeros(queries.shape[1]), []
    for _ in range(n_rounds):
        best = None
        for sign in (1, -1) if both_signs else (1,):
            for k in range(queries.shape[1]):
                if most and chosen[-most:] == [k] * most:
                    continue
                worth = [
                    worth_twin(measure, sign * queries.features[own, k], queries.grades[own])
                    for own in by_query(queries)
                ]
                total = sum(p * e for p, e in zip(share, worth, strict=True))
                if best is None or total > best[0] + 1e-13:
                    best = total, sign, k
        total, sign, k = best
        v[k] += sign * 0.5 * np.log((1 + total) / (1 - total)) / spread[k]
        chosen.append(k)
        worth = [worth_twin(measure, queries.features[own] @ v, queries.grades[own]) for own in by_query(queries)]
        share = [np.exp(-e) for e in worth]
        share = [p / sum(share) for p in share]
    return v, chosen


class TestAdaRank:
    @pytest.mark.parametrize("measure", ["ndcg", "map"])
    @pytest.mark.parametrize("both_signs", [True, False])
    @pytest.mark.parametrize("most", [None, 1, 2])
    def test_agrees_with_a_twin(self, measure, both_signs, most):
        queries = small()
        ranker = AdaRankRanker(measure, LETOR, n_rounds=8, both_signs=both_signs, max_in_a_row=most).fit(queries)
        v, chosen = adarank_twin(queries, measure, 8, both_signs, most)
        assert ranker.chosen_ == chosen
        assert most is None or len(set(chosen)) > 1
        assert ranker.coef_ == pytest.approx(v, rel=1e-10)

    def test_validation_keeps_the_best_round_and_patience_stops(self):
        train, vali = small(20), small(10, seed=5)
        whole = AdaRankRanker(metric=LETOR, n_rounds=40).fit(train, eval_set=vali)
        values = [record["valid"] for record in whole.history_]
        assert whole.n_rounds_ == int(np.argmax(values)) + 1
        assert whole.measured(vali, whole.predict(vali)).mean() == pytest.approx(max(values))
        same = AdaRankRanker(metric=LETOR, n_rounds=whole.n_rounds_).fit(train)
        assert same.coef_ == pytest.approx(whole.coef_)
        tired = AdaRankRanker(metric=LETOR, n_rounds=40, patience=3).fit(train, eval_set=vali)
        assert len(tired.history_) <= tired.n_rounds_ + 3

    def test_units_change_nothing(self):
        queries = small()
        factors = np.array([1e-3, 1.0, 7.0, 1e4, 0.5])
        other = Queries(queries.features * factors, queries.grades, queries.qid, 3)
        first, second = (AdaRankRanker(n_rounds=10).fit(q) for q in (queries, other))
        assert second.coef_ * factors == pytest.approx(first.coef_, rel=1e-9)

    def test_the_order_of_the_file_teaches_nothing(self):
        """A feature that is constant ranks a file sorted by grade perfectly, if the file's order breaks ties."""
        queries = Queries([[0.0, 0.1], [0.0, 0.9], [0.0, 0.3]], [2, 1, 0], [1, 1, 1])
        assert AdaRankRanker(n_rounds=1).fit(queries).chosen_ == [1]

    def test_files(self, tmp_path):
        ranker = AdaRankRanker("map", LETOR, n_rounds=5).fit(small())
        ranker.save(tmp_path / "model")
        again = load_ranker(tmp_path / "model")
        assert np.array_equal(again.predict(small()), ranker.predict(small()))
        assert again.measure == "map"

    @pytest.mark.parametrize("change", [{"measure": "err"}, {"n_rounds": 0}, {"patience": 0}, {"max_in_a_row": 0}])
    def test_bad_parameters(self, change):
        with pytest.raises(InputError, match=next(iter(change))):
            AdaRankRanker(**change).fit(small())


def test_precision_agrees_with_a_loop():
    queries = small(15)
    scores = np.random.default_rng(0).integers(0, 4, queries.shape[0]).astype(float)
    found = precision_by_query(scores, queries.grades, queries.offsets, [1, 3, 30], ties="worst")
    for q, own in enumerate(by_query(queries)):
        ranked = ranked_worst_first(scores[own], queries.grades[own])
        for column, k in enumerate((1, 3, 30)):
            assert found[q, column] == pytest.approx(sum(g > 0 for g in ranked[:k]) / k)
        assert found[q, -1] == pytest.approx(worth_twin("map", scores[own], queries.grades[own]))


def test_listnet_agrees_with_a_twin():
    queries, l2 = small(), 0.05
    start = RidgeRanker(l2=0.1).fit(queries)
    ranker = LinearRanker(ListNet(), annealing=None, start=start, l2=l2, solver="lbfgs", max_iter=2000, tol=1e-9)
    ranker.fit(queries)
    design = Design(queries)
    v0 = start.coef_ * design.spread

    def objective(v):
        total = 0.0
        for own in by_query(queries):
            scores = queries.features[own] @ (v / design.spread)
            wanted = np.exp(queries.grades[own].astype(float))
            given = np.exp(scores - scores.max())
            total -= np.sum(wanted / wanted.sum() * np.log(given / given.sum()))
        return total / len(queries) + l2 * np.sum((v - v0) ** 2)

    found = minimize(objective, v0, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10})
    assert ranker.coef_ * design.spread == pytest.approx(found.x, abs=1e-4)
    assert objective(ranker.coef_ * design.spread) == pytest.approx(found.fun, rel=1e-10)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_ranksvm_agrees_with_liblinear_on_the_pairs(C):
    queries = small(15, seed=3)
    ranker, design = RankSVMRanker(C=C).fit(queries), Design(queries)
    columns, pairs = design.scaled(), []
    for own in by_query(queries):
        better, worse = np.nonzero(queries.grades[own][:, None] > queries.grades[own][None, :])
        pairs.append(columns[own][better] - columns[own][worse])
    differences = np.concatenate(pairs)
    assert ranker.n_pairs_ == len(differences)
    signs = np.where(
        np.arange(len(differences)) % 2, -1, 1
    )  # LIBLINEAR wants two classes: half of the pairs are turned
    peer = LinearSVC(
        loss="squared_hinge", dual=False, C=C / len(differences), fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(differences * signs[:, None], signs)

    def objective(v):
        return 0.5 * v @ v + C / len(differences) * np.sum(np.maximum(0, 1 - differences @ v) ** 2)

    theirs = objective(peer.coef_[0])
    assert objective(ranker.coef_ * design.spread) == pytest.approx(theirs, rel=1e-6)
    assert ranker.objective_ == pytest.approx(theirs, rel=1e-6)


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
        queries = small(20)
        start = RidgeRanker(LETOR).fit(queries)
        found = self.ranker(start, n_trees=1, learning_rate=1e-9).fit(queries)
        before, after = start.predict(queries), found.predict(queries)
        assert np.corrcoef(before, after)[0, 1] == pytest.approx(1, abs=1e-9)
        top = LETOR.gains.max()
        slope, shift = np.polyfit(before, LETOR.gains[queries.grades] / top, 1)
        assert found.base_[:-1] == pytest.approx(slope * start.coef_, rel=1e-9)
        assert after == pytest.approx(slope * (before - start.intercept_) + shift + slope * start.intercept_, abs=1e-7)

    def test_scores_of_validation_are_those_of_the_model(self):
        train, vali = small(20), small(10, seed=5)
        start = RidgeRanker(LETOR).fit(train)
        found = self.ranker(start, metric=LETOR).fit(train, eval_set=vali)
        assert found.score(vali) == pytest.approx(max(found.validation_))

    def test_files_and_checkpoints(self, tmp_path):
        train, vali = small(20), small(10, seed=5)
        start = RidgeRanker(LETOR).fit(train)
        whole = self.ranker(start).fit(train, eval_set=vali, checkpoint_every=10)
        whole.save(tmp_path / "model")
        assert np.array_equal(load_ranker(tmp_path / "model").predict(vali), whole.predict(vali))
        part = self.ranker(start, n_trees=25)
        part.fit(train, eval_set=vali, checkpoint=tmp_path / "state", checkpoint_every=10)
        words = json.loads((tmp_path / "state").read_text())
        assert len(words["history"]) == 25
        again = self.ranker(start).fit(
            train, eval_set=vali, checkpoint=tmp_path / "state", checkpoint_every=10, resume=True
        )
        assert np.array_equal(again.predict(vali), whole.predict(vali))
        with pytest.raises(InputError, match="is of another training"):
            self.ranker(RankSVMRanker().fit(train)).fit(
                train, eval_set=vali, checkpoint=tmp_path / "state", checkpoint_every=10, resume=True
            )

    def test_a_start_of_other_features(self):
        with pytest.raises(InputError, match=r"start has shape \(2,\); expected a finite coefficient a feature"):
            self.ranker([1.0, 2.0]).fit(small())
