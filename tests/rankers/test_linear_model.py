"""Ridge and RankSVM: optima, LIBLINEAR on explicit pairs, sparse features."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from dcglearn.rankers.linear_model import Design, RankSVMRanker, RidgeRanker
from dcglearn.rankers.queries import Queries
from tests.rankers.makers import MINE, by_query, small, tiny


class TestBaselines:
    @pytest.mark.parametrize(
        ("ranker", "gains"),
        [(RidgeRanker(MINE, l2=1e-9, reweighted=False), MINE.gains), (RidgeRanker(l2=1e-9), np.arange(3))],
    )
    def test_ridge_is_least_squares_on_gains_where_reweighted_with_half_the_weight_a_side(self, ranker, gains):
        queries = small()
        ranker.fit(queries)
        good = queries.grades > 0
        root = (
            np.sqrt(np.where(good, 0.5 / good.sum(), 0.5 / (~good).sum())) if ranker.reweighted else np.ones(len(good))
        )
        table = np.column_stack([np.ones(len(good)), queries.features])
        wanted = np.linalg.lstsq(table * root[:, None], gains[queries.grades] * root, rcond=None)[0]
        assert [ranker.intercept_, *ranker.coef_] == pytest.approx(wanted, rel=1e-4, abs=1e-4)

    @pytest.mark.parametrize("kind", [RidgeRanker, RankSVMRanker])
    def test_sparse_is_dense(self, kind):
        queries = small()
        thin = Queries(csr_matrix(queries.features), queries.grades, queries.qid)
        assert kind().fit(thin).predict(thin) == pytest.approx(kind().fit(queries).predict(queries), abs=1e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_ranksvm_agrees_with_liblinear_on_the_pairs(C):
    queries = tiny(15, seed=3)
    ranker, design = RankSVMRanker(C=C).fit(queries), Design(queries)
    columns, pairs = design.scaled(), []
    for own in by_query(queries):
        better, worse = np.nonzero(queries.grades[own][:, None] > queries.grades[own][None, :])
        pairs.append(columns[own][better] - columns[own][worse])
    differences = np.concatenate(pairs)
    assert ranker.n_pairs_ == len(differences)
    signs = np.where(np.arange(len(differences)) % 2, -1, 1)  # LIBLINEAR needs two classes: half of the pairs turn
    settings = {"loss": "squared_hinge", "dual": False, "fit_intercept": False, "tol": 1e-10, "max_iter": 100_000}
    peer = LinearSVC(C=C / len(differences), **settings).fit(differences * signs[:, None], signs)

    def objective(v):
        return 0.5 * v @ v + C / len(differences) * np.sum(np.maximum(0, 1 - differences @ v) ** 2)

    theirs = objective(peer.coef_[0])
    assert objective(ranker.coef_ * design.spread) == pytest.approx(theirs, rel=1e-6)
    assert ranker.objective_ == pytest.approx(theirs, rel=1e-6)
    assert ranker.gap_ < 1e-9
