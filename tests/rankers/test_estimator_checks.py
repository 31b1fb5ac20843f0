"""scikit-learn's own checks of estimators, all of them, on every kind of ranker."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import dcglearn as dl


class OneQuery:
    """A ranker of documents that are one query where `qid` is missing, since scikit-learn's checks give X and y."""

    def fit(self, X, y=None, qid=None, **options):
        return super().fit(X, y, self.one(y, qid), **options)

    def score(self, X, y=None, qid=None):
        return super().score(X, y, self.one(y, qid))

    @staticmethod
    def one(y, qid):
        return np.zeros(len(y)) if qid is None and np.ndim(y) == 1 else qid


SMALL = {
    dl.LinearRanker: {"max_iter": 3},
    dl.SparseRanker: {"n_points": 4, "max_iter": 5},
    dl.RidgeRanker: {},
    dl.RankSVMRanker: {},
    dl.AdaRankRanker: {"n_rounds": 3},
    dl.PairwiseRanker: {"n_rounds": 1},
    dl.BoostedRanker: {"n_trees": 3},
}
KINDS = {kind.__name__: type(kind.__name__, (OneQuery, kind), {"__module__": __name__}) for kind in SMALL}
globals().update(KINDS)  # a class is pickled by its name

NOT_APPLICABLE = {
    "Ranker": {
        "check_dtype_object": "a feature that is no number is an InputError, which is a ValueError, no TypeError"
    },
    "PairwiseRanker": {"check_methods_subset_invariance": "a score is a position among the documents ranked with it"},
    "BoostedRanker": {
        "check_do_not_raise_errors_in_init_or_set_params": "LightGBM's names are checked where they are set"
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.__name__)
def test_the_checks_of_scikit_learn(kind):
    name = kind.__name__
    if name == "BoostedRanker":
        pytest.importorskip("lightgbm")
    expected = NOT_APPLICABLE["Ranker"] | NOT_APPLICABLE.get(name, {})
    check_estimator(KINDS[name](**SMALL[kind]), expected_failed_checks=expected, on_skip=None)
