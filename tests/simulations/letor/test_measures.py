"""LETOR's measures, by hand."""

import numpy as np
import pytest

from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.queries import Queries
from simulations.letor.measures import MEASURES, Convention
from tests.makers import refused
from tests.rankers.makers import letor_like


def measured(convention, grades, scores=None, n_grades=3):
    queries = Queries([[0.0]] * len(grades), grades, [1] * len(grades), n_grades)
    values = Convention.named(convention, n_grades).measures(
        queries, scores or -np.arange(len(grades))
    )
    return dict(zip(MEASURES, values[0], strict=True))


class TestMeasures:
    def test_letor_by_hand(self):
        row = measured("letor", [1, 0, 2, 1])
        log3, log4 = 1 / np.log2(3), 0.5
        best = [3, 4, 4 + log3, 4 + log3]
        reached = [1, 1, 1 + 3 * log3, 1 + 3 * log3 + log4]
        for k in range(4):
            assert row[f"NDCG@{k + 1}"] == pytest.approx(reached[k] / best[k], rel=1e-14)
        assert row["NDCG@10"] == row["NDCG@4"]
        assert [row[f"P@{k}"] for k in (1, 2, 3, 4, 10)] == pytest.approx(
            [1, 1 / 2, 2 / 3, 3 / 4, 3 / 10], rel=1e-14
        )
        assert row["MAP"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 3, rel=1e-14)

    def test_standard_discounts_rank_two(self):
        values = measured("standard", [0, 2])
        assert values["NDCG@2"] == pytest.approx(1 / np.log2(3), rel=1e-14)
        assert measured("letor", [0, 2])["NDCG@2"] == 1.0

    def test_a_query_without_relevant_documents(self):
        assert set(measured("letor", [0, 0]).values()) == {0.0}
        assert np.isnan(list(measured("standard", [0, 0]).values())).all()
        convention = Convention.named("standard", 3)
        assert convention.means(np.array([[np.nan] * 21, [0.5] * 21]))[0] == 0.5
        assert Convention.named("letor", 3).means(np.array([[0.0] * 21, [0.5] * 21]))[0] == 0.25

    def test_equal_scores_keep_the_order_of_the_file(self):
        assert measured("letor", [0, 2, 1], [1, 1, 1])["NDCG@1"] == 0
        assert measured("letor", [2, 0, 1], [1, 1, 1])["NDCG@1"] == 1

    def test_any_dcg(self, tmp_path):
        DCG([0, 1, 1], [1.0, 0.5]).save(tmp_path / "mine.json")
        values = measured(str(tmp_path / "mine.json"), [0, 2, 1])
        assert values["NDCG@2"] == values["NDCG@10"] == pytest.approx(0.5 / 1.5)
        assert (
            measured("linear-log2@3", [0, 2, 1])["NDCG@10"]
            == measured("linear-log2", [0, 2, 1])["NDCG@3"]
        )
        for name, text in (
            ("letter", "give letor, standard"),
            (str(tmp_path / "mine.json"), "gains for grades 0..2"),
        ):
            refused(text, Convention.named, name, 4)

    def test_many_queries_agree_with_one_at_a_time(self):
        queries, convention = letor_like(), Convention.named("letor", 3)
        scores = np.random.default_rng(0).integers(0, 5, queries.shape[0]).astype(float)
        together = convention.measures(queries, scores)
        for q in range(len(queries)):
            own = slice(queries.offsets[q], queries.offsets[q + 1])
            assert convention.measures(queries[q], scores[own])[0] == pytest.approx(
                together[q], abs=1e-12
            )
