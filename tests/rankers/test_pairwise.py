"""PairwiseRanker: weights of pairs, any learner."""

import numpy as np
import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.pairwise import PairwiseRanker, weighted_pairs
from tests.rankers.makers import MINE, by_query, small


class TestPairwise:
    def test_weights_are_what_the_order_is_worth(self):
        """The weight of a pair is the change of the normalised DCG if the two documents are
        swapped."""
        queries = small(3)
        scores = np.random.default_rng(0).normal(size=queries.shape[0])
        better, worse, weight = weighted_pairs(queries, 1, scores, MINE)
        before = queries.evaluate(scores, MINE)[1]
        for i, j, w in list(zip(better, worse, weight, strict=True))[:50]:
            other = scores.copy()
            other[[i, j]] = scores[[j, i]]
            assert abs(queries.evaluate(other, MINE)[1] - before) == pytest.approx(w, abs=1e-12)

    def test_any_learner(self):
        from sklearn.tree import DecisionTreeClassifier

        queries = small(12)
        ranker = PairwiseRanker(DecisionTreeClassifier(max_depth=4), MINE, n_rounds=1).fit(queries)
        positions = -ranker.predict(queries)
        assert ((positions >= 1) & (positions <= np.repeat(queries.sizes, queries.sizes))).all()
        assert ranker.score(queries) > 0.5

    def test_a_linear_decision_is_a_score(self):
        queries = small(12)
        ranker = PairwiseRanker(metric=MINE, n_rounds=1).fit(queries)
        scores = queries.features @ ranker.learner_.coef_[0]
        for own in by_query(queries):
            assert np.array_equal(
                np.argsort(-ranker.predict(queries)[own]), np.argsort(-scores[own])
            )

    def test_pairs_that_do_not_matter(self):
        with pytest.raises(
            InputError,
            match="the order of no pair of documents matters; are the discounts all equal",
        ):
            PairwiseRanker(metric=DCG([0, 1, 2], np.ones(50))).fit(small(12))
