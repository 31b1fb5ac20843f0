"""Why the studies come out as they do: what their claims give as reasons, checked apart from their tables."""

import numpy as np
import pytest

import dcglearn as dl
from simulations import study_f_two_similarities as study_f
from simulations import study_g_margins as study_g
from simulations.run import recovery


@pytest.mark.parametrize("truth", ["D1", "D2"])
def test_f_the_stall_is_at_the_level_of_lowered_discounts(truth):
    true = dl.simulate.ground_truth(truth)
    log = dl.simulate.preference_pairs(true, 20_000, seed=0)
    found = dl.UtilityLearner(C=100.0).fit(log)
    weights = found.utility_.weights
    assert recovery(found, true, log)["similarity"] == pytest.approx(study_f.level(truth), abs=0.005)
    assert np.ptp(weights[-1]) < 1e-3 * np.ptp(weights[0])  # the last position tells no grade from another
    plain = dl.UtilityLearner(C=100.0, monotone=False).fit(log)
    assert recovery(plain, true, log)["similarity"] < 0.5  # all constants at zero would be another level altogether


def test_b_flips_turn_the_solution_for_d2_more_than_for_d1():
    found = {}
    for truth in ("D1", "D2"):
        true = dl.simulate.ground_truth(truth)
        test = dl.simulate.preference_pairs(true, 5000, seed=1)
        log = dl.simulate.preference_pairs(true, 100_000, n_flips=10_000, seed=0)
        found[truth] = recovery(dl.UtilityLearner(C=1.0).fit(log), true, test)["gauge_free"]
    assert found["D1"] > 0.999
    assert 0.98 < found["D2"] < 0.996


def test_g_only_a_dcg_has_a_precision_of_its_own():
    true = dl.simulate.ground_truth("D1")
    test = dl.simulate.preference_pairs(true, 2000, seed=0)
    assert study_g.alone(true, test) == 1.0
    assert study_g.alone("hamming", test) is None
    assert 0.85 < study_g.alone(dl.DCG.standard(5, 10, "exponential", "log2"), test) < 0.95
