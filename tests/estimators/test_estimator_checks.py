"""scikit-learn's own checks of estimators. They give tables of numbers, which are made pairs of graded lists here."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from dcglearn import DCGLearner, UtilityLearner

NO_TABLE = "X holds pairs of lists, shape (n, 2, K), so it has no columns of features to count"
NO_NUMBERS = "grades are whole numbers, and pairs that are none are refused in words of their own"

DO_NOT_APPLY = {
    "check_n_features_in_after_fitting": NO_TABLE,
    "check_n_features_in": NO_TABLE,
    "check_fit2d_1feature": NO_TABLE,
    "check_fit2d_predict1d": NO_TABLE,
    "check_estimators_empty_data_messages": NO_TABLE,
    "check_complex_data": NO_NUMBERS,
    "check_dtype_object": NO_NUMBERS,
    "check_estimators_nan_inf": NO_NUMBERS,
    "check_estimator_sparse_tag": NO_NUMBERS,
    "check_estimator_sparse_array": NO_NUMBERS,
    "check_estimator_sparse_matrix": NO_NUMBERS,
}


def pairs_of(X):
    """Return a pair for each row of a table of numbers: its entries as grades, and the same shifted by a position."""
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiu" or X.shape[1] < 2:
        return X
    grades = (np.floor(3 * np.abs(X)) % 4).astype(np.int8)
    return np.stack([grades, np.roll(grades, 1, axis=1)], axis=1)


class OfTables:
    """A learner that takes tables."""

    def fit(self, X, y=None):
        return super().fit(pairs_of(X), y)

    def decision_function(self, X):
        return super().decision_function(pairs_of(X))

    def predict(self, X):
        return super().predict(pairs_of(X))

    def agreement(self, X):
        return super().agreement(pairs_of(X))


class DCGOfTables(OfTables, DCGLearner):
    __init__ = DCGLearner.__init__

    def predict_proba(self, X):
        return super().predict_proba(pairs_of(X))


class UtilityOfTables(OfTables, UtilityLearner):
    __init__ = UtilityLearner.__init__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "learner", [DCGOfTables(n_starts=1, max_iter=5, n_grades=4), UtilityOfTables(n_grades=4)], ids=type
)
def test_scikit_learns_checks(learner):
    checks = check_estimator(learner, expected_failed_checks=DO_NOT_APPLY, on_fail=None)
    failed = {check["check_name"]: str(check["exception"]) for check in checks if check["status"] == "failed"}
    assert not failed
    assert {check["check_name"] for check in checks if check["status"] == "xfail"} == set(DO_NOT_APPLY)
    assert sum(check["status"] == "passed" for check in checks) >= 25
