"""Ridge and RankSVM: optima, LIBLINEAR on explicit pairs, sparse features; paths of rising l1."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from dcglearn.losses import RSRank
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.linear_model import Design, RankSVMRanker, RidgeRanker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.simulated_queries import letor_queries
from dcglearn.rankers.truncated_gradient import SLACK, soft_threshold
from tests.makers import refused
from tests.rankers.makers import MINE, TEXTBOOK, by_query, small, tiny
from tests.tables import table


class TestBaselines:
    @table(
        ("ranker", "gains"),
        [
            (RidgeRanker(MINE, l2=1e-9, reweighted=False), MINE.gains),
            (RidgeRanker(l2=1e-9), np.arange(3)),
        ],
    )
    def test_ridge_is_least_squares_on_gains_where_reweighted_with_half_the_weight_a_side(
        self, ranker, gains
    ):
        queries = small()
        ranker.fit(queries)
        good = queries.grades > 0
        root = (
            np.sqrt(np.where(good, 0.5 / good.sum(), 0.5 / (~good).sum()))
            if ranker.reweighted
            else np.ones(len(good))
        )
        table = np.column_stack([np.ones(len(good)), queries.features])
        wanted = np.linalg.lstsq(table * root[:, None], gains[queries.grades] * root, rcond=None)[0]
        assert [ranker.intercept_, *ranker.coef_] == pytest.approx(wanted, rel=1e-4, abs=1e-4)

    @table("kind", [RidgeRanker, RankSVMRanker])
    def test_sparse_is_dense(self, kind):
        queries = small()
        thin = Queries(csr_matrix(queries.features), queries.grades, queries.qid)
        assert kind().fit(thin).predict(thin) == pytest.approx(
            kind().fit(queries).predict(queries), abs=1e-6
        )


@table("C", [0.1, 1.0, 100.0])
def test_ranksvm_agrees_with_liblinear_on_the_pairs(C):
    queries = tiny(15, seed=3)
    ranker, design = RankSVMRanker(C=C).fit(queries), Design(queries)
    columns, pairs = design.scaled(), []
    for own in by_query(queries):
        better, worse = np.nonzero(queries.grades[own][:, None] > queries.grades[own][None, :])
        pairs.append(columns[own][better] - columns[own][worse])
    differences = np.concatenate(pairs)
    assert ranker.n_pairs_ == len(differences)
    signs = np.where(
        np.arange(len(differences)) % 2, -1, 1
    )  # LIBLINEAR needs two classes: half of the pairs turn
    settings = {
        "loss": "squared_hinge",
        "dual": False,
        "fit_intercept": False,
        "tol": 1e-10,
        "max_iter": 100_000,
    }
    peer = LinearSVC(C=C / len(differences), **settings).fit(differences * signs[:, None], signs)

    def objective(v):
        return 0.5 * v @ v + C / len(differences) * np.sum(np.maximum(0, 1 - differences @ v) ** 2)

    theirs = objective(peer.coef_[0])
    assert objective(ranker.coef_ * design.spread) == pytest.approx(theirs, rel=1e-6)
    assert ranker.objective_ == pytest.approx(theirs, rel=1e-6)
    assert ranker.gap_ < 1e-9


def rsrank(dcg, **options):
    """Return a linear ranker along the path of RSRank."""
    loss = RSRank(dcg, depth=None)
    return LinearRanker(loss, **{"l1": "path", "tol": 1e-4, **options})


class TestSparse:
    def test_the_path_goes_to_no_feature(self):
        queries = small(30, n_redundant=6)
        ranker = rsrank(MINE, max_iter=40, n_points=12).fit(queries[:20], eval_set=queries[20:])
        counts = [point["n_features"] for point in ranker.history_]
        assert counts[0] == 12
        assert counts[-1] < 4

        # the smallest of those near the best
        near = (1 - SLACK) * max(point["valid"] for point in ranker.history_)
        smallest = min(point["n_features"] for point in ranker.history_ if point["valid"] >= near)
        assert ranker.best_["value"] >= near
        assert np.count_nonzero(ranker.coef_) == smallest

    def test_three_in_five_features_go_for_three_in_a_hundred(self):
        gone, kept = [], []
        for seed in range(3):
            queries = letor_queries(140, n_redundant=30, sizes=(20, 60), random_state=seed)
            train, valid, test = queries[:50], queries[50:80], queries[80:]
            ranker = rsrank(TEXTBOOK, n_points=15, max_iter=80).fit(train, eval_set=valid)
            dense = test.evaluate(test.features @ ranker.history_[0]["coef"], TEXTBOOK).mean()
            gone.append(1 - np.count_nonzero(ranker.coef_) / 45)
            kept.append(ranker.score(test) / dense)
        assert np.mean(gone) >= 0.6
        assert np.mean(kept) >= 0.97

    def test_a_given_strength(self):
        queries = small()
        for l1, n_features in ((1e6, 0), (0.0, 12)):
            ranker = rsrank(MINE, l1=l1, max_iter=5).fit(queries)
            assert np.count_nonzero(ranker.coef_) == n_features
            assert [point["l1"] for point in ranker.history_] == [l1]

    def test_a_given_start(self):
        first, second = (
            rsrank(MINE, l1=0.0, max_iter=1, start=start).fit(small())
            for start in ("ranksvm", "random")
        )
        assert not np.allclose(first.coef_, second.coef_)

    def test_soft_threshold(self):
        assert soft_threshold(np.array([3.0, -3.0, 0.5, -0.5]), 1.0).tolist() == [
            2.0,
            -2.0,
            0.0,
            0.0,
        ]

    @pytest.mark.parametrize(
        "change", [{"l1": "paht"}, {"l1": -1.0}, {"l1": [0.1, 1.0]}, {"n_points": 0}]
    )
    def test_impossible_numbers(self, change):
        refused(next(iter(change)), rsrank(MINE, **change).fit, small())
