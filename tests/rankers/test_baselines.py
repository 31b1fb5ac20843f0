"""Ridge and RankSVM: optima, LIBLINEAR on explicit pairs, sparse features."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from dcglearn.rankers.baselines import RankSVMRanker, RidgeRanker
from dcglearn.rankers.linear_model import Design
from dcglearn.rankers.queries import Queries
from tests.rankers.makers import MINE, by_query, small, tiny
from tests.rankers.test_document_pairs import hinge_twin


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
