"""The test of position dependence."""

import numpy as np
import pytest

from dcglearn.metric.dcg import Utility
from dcglearn.readers.preferences import Preferences
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust.product_form import position_dependence
from tests.makers import random_log, refused


def test_the_test_accepts_products_and_detects_position_dependence():
    truth = ground_truth("D1").normalised()
    weights = truth.utility.weights.copy()
    weights[5:, 1:-1] *= 0.35
    log = preference_pairs(truth, 500, lists="free", temperature=0.2, seed=1)
    dependent = preference_pairs(Utility(weights), 1500, lists="free", temperature=0.1, seed=1)
    quiet, again, loud = (position_dependence(one, n_resamples=39) for one in (log, log, dependent))
    assert quiet.p_value > 0.05 and "does not speak against" in str(quiet)
    assert loud.p_value < 0.05 and "depends on its position" in str(loud)
    assert quiet.df == 9 * 3 and loud.statistic > 2 * loud.null.mean()
    assert again.p_value == quiet.p_value


def test_degrees_of_freedom_and_logs_that_can_show_nothing():
    log = random_log(200, "permutations", noise=0.1)
    assert position_dependence(log, n_resamples=1).df == 8 * 3
    refused("nothing to test", position_dependence, Preferences([[1, 0, 1]] * 3, [[0, 1, 0]] * 3))
    refused("no gains to test", position_dependence, Preferences.from_documents([["x", "y"]], [["y", "x"]]))
    lists = np.random.default_rng(0).integers(0, 3, (6, 4))
    i, j = np.random.default_rng(1).permuted(np.tile(np.arange(6), (60, 1)), axis=1)[:, :2].T
    with pytest.warns(UserWarning, match="not independent"):
        position_dependence(Preferences(lists[i], lists[j], n_grades=3), n_resamples=1)
