"""Logs and starts that leave a fit little to go by: a finite result, a warning or a clear error, never a hang."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from dcglearn.estimators.dcg_learner import DCGLearner
from dcglearn.learning.direct_fit import Model, family, log_curves
from dcglearn.learning.direct_search import fit
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.readers.preferences import Preferences
from tests.makers import random_log, refused


def is_a_dcg(dcg):
    gains, discounts = dcg.gains, dcg.discounts
    return np.isfinite([*gains, *discounts]).all() and (np.diff(gains) >= 0).all() and (np.diff(discounts) <= 0).all()


@pytest.mark.parametrize("loss", ["robust", "logistic", "sigmoid", "squared_hinge"])
def test_clean_pairs_without_a_prior_have_a_finite_fit_that_respects_them(loss):
    log = random_log(60, seed=2)
    learner = DCGLearner(loss, ridge=0.0).fit(log)
    assert is_a_dcg(learner.dcg_) and np.isfinite(learner.objective_) and np.isfinite(learner.scale_)
    assert learner.score(log) > 0.95


def test_one_pair_is_learned_from_with_a_warning():
    with pytest.warns(UserWarning, match="counts for 1 independent judgements, fewer than the 4"):
        learner = DCGLearner().fit(Preferences([[2, 1, 0]], [[0, 1, 1]]))
    assert is_a_dcg(learner.dcg_)


def test_all_but_one_pair_tied():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = DCGLearner().fit(random_log(40, tie=np.arange(40) > 0))
    assert is_a_dcg(learner.dcg_) and learner.tie_threshold_ > 1


def test_a_start_outside_the_bounds_is_moved_inside():
    log = random_log(100, noise=0.2)
    cold = DCGLearner().fit(log)
    far = replace(cold.curves_, sharpness=1e30, errors=np.ones(1))
    assert DCGLearner().fit(log, start=far).objective_ == pytest.approx(cold.objective_, rel=0.05)


def test_a_fit_that_stops_short_warns():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        DCGLearner(max_iter=2).fit(random_log(100, noise=0.3))


def test_an_objective_that_is_not_finite_is_refused():
    log = random_log(20)
    one = np.ones(1)
    judged = JudgedPairs(log.preferred, log.other, one.astype(np.int8), np.zeros(1, np.int32), one)
    model = Model(10, 5)
    starts = [model.starts(np.array([np.concatenate(log_curves(*curves)) for curves in family(5, 10)]))]
    refused("not finite at any start", fit, model, judged, np.inf, starts)
