"""AdaRank and precision against twins that take one query and one pair at a time."""

import numpy as np
import pytest

from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.queries import Queries
from simulations.letor.adarank import AdaRankRanker
from simulations.letor.measures import precision_by_query
from tests.makers import refused
from tests.rankers.makers import by_query, tiny

LETOR = DCG.standard(3, 10, "exponential", "letor")


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
        return (
            sum((n + 1) / (place + 1) for n, place in enumerate(places)) / len(places)
            if places
            else 0.0
        )
    gain = [2.0**g - 1 for g in ranked]
    discount = [1.0 if r <= 2 else 1 / np.log2(r) for r in range(1, 11)]
    best = sum(g * d for g, d in zip(sorted(gain, reverse=True), discount, strict=False))
    return sum(g * d for g, d in zip(gain, discount, strict=False)) / best if best else 0.0


def adarank_twin(queries, measure, n_rounds, both_signs, most):
    """Return coefficients and chosen features of Xu and Li's algorithm 1, a query at a time."""
    spread = np.sqrt(
        sum(
            ((queries.features[own] - queries.features[own].mean(axis=0)) ** 2).sum(axis=0)
            for own in by_query(queries)
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
        worth = [
            worth_twin(measure, queries.features[own] @ v, queries.grades[own])
            for own in by_query(queries)
        ]
        share = [np.exp(-e) for e in worth]
        share = [p / sum(share) for p in share]
    return v, chosen


class TestAdaRank:
    def test_a_model_comes_back(self, tmp_path):
        queries = tiny()
        ranker = AdaRankRanker("map", LETOR, n_rounds=5).fit(queries)
        ranker.save(tmp_path / "model")
        again = AdaRankRanker.load(tmp_path / "model")
        assert np.array_equal(again.predict(queries), ranker.predict(queries))
        assert repr(again.get_params()) == repr(ranker.get_params())

    @pytest.mark.parametrize("measure", ["ndcg", "map"])
    @pytest.mark.parametrize("both_signs", [True, False])
    @pytest.mark.parametrize("most", [None, 1, 2])
    def test_agrees_with_a_twin(self, measure, both_signs, most):
        queries = tiny()
        ranker = AdaRankRanker(
            measure, LETOR, n_rounds=8, both_signs=both_signs, max_in_a_row=most
        ).fit(queries)
        v, chosen = adarank_twin(queries, measure, 8, both_signs, most)
        assert ranker.chosen_ == chosen
        assert most is None or len(set(chosen)) > 1
        assert ranker.coef_ == pytest.approx(v, rel=1e-10)

    def test_validation_keeps_the_best_round_and_patience_stops(self):
        train, vali = tiny(20), tiny(10, seed=5)
        whole = AdaRankRanker(metric=LETOR, n_rounds=40).fit(train, eval_set=vali)
        values = [record["valid"] for record in whole.history_]
        assert whole.n_rounds_ == int(np.argmax(values)) + 1
        assert whole.value_by_query(vali, whole.predict(vali)).mean() == pytest.approx(max(values))
        same = AdaRankRanker(metric=LETOR, n_rounds=whole.n_rounds_).fit(train)
        assert same.coef_ == pytest.approx(whole.coef_)
        tired = AdaRankRanker(metric=LETOR, n_rounds=40, patience=3).fit(train, eval_set=vali)
        assert len(tired.history_) <= tired.n_rounds_ + 3

    def test_units_change_nothing(self):
        queries = tiny()
        factors = np.array([1e-3, 1.0, 7.0, 1e4, 0.5])
        other = Queries(queries.features * factors, queries.grades, queries.qid, 3)
        first, second = (AdaRankRanker(n_rounds=10).fit(q) for q in (queries, other))
        assert second.coef_ * factors == pytest.approx(first.coef_, rel=1e-9)

    def test_the_order_of_the_file_teaches_nothing(self):
        """A feature that is constant ranks a file sorted by grade perfectly, if the file's order
        breaks ties.
        """
        queries = Queries([[0.0, 0.1], [0.0, 0.9], [0.0, 0.3]], [2, 1, 0], [1, 1, 1])
        assert AdaRankRanker(n_rounds=1).fit(queries).chosen_ == [1]

    @pytest.mark.parametrize(
        "change", [{"measure": "err"}, {"n_rounds": 0}, {"patience": 0}, {"max_in_a_row": 0}]
    )
    def test_bad_parameters(self, change):
        refused(next(iter(change)), AdaRankRanker(**change).fit, tiny())


def test_precision_agrees_with_a_loop():
    queries = tiny(15)
    scores = np.random.default_rng(0).integers(0, 4, queries.shape[0]).astype(float)
    values = precision_by_query(scores, queries.grades, queries.offsets, [1, 3, 30], ties="worst")
    for q, own in enumerate(by_query(queries)):
        ranked = ranked_worst_first(scores[own], queries.grades[own])
        for column, k in enumerate((1, 3, 30)):
            assert values[q, column] == pytest.approx(sum(g > 0 for g in ranked[:k]) / k)
        assert values[q, -1] == pytest.approx(worth_twin("map", scores[own], queries.grades[own]))
