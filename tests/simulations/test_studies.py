"""The reasons that the studies' claims give, checked without their tables."""

import numpy as np
import pytest

import dcglearn as dl
from simulations import study_f_two_similarities as study_f
from simulations import study_g_margins as study_g
from simulations.run import recovery


@pytest.mark.parametrize("truth", ["D1", "D2"])
def test_f_similarity_stalls_at_the_cosine_of_shifted_discounts(truth):
    true = dl.simulate.ground_truth(truth)
    log = dl.simulate.preference_pairs(true, 20_000, seed=0)
    learner = dl.UtilityLearner(C=100.0).fit(log)
    weights = learner.utility_.weights
    assert recovery(learner, true, log)["similarity"] == pytest.approx(study_f.similarity_limit(truth), abs=0.005)
    assert np.ptp(weights[-1]) < 1e-3 * np.ptp(weights[0])  # the last position has equal weights for all grades
    unconstrained = dl.UtilityLearner(C=100.0, monotone=False).fit(log)
    assert recovery(unconstrained, true, log)["similarity"] < 0.5  # all constants are zero, which is another limit


def test_b_flips_shift_the_solution_for_d2_more_than_for_d1():
    similarity = {}
    for truth in ("D1", "D2"):
        true = dl.simulate.ground_truth(truth)
        test = dl.simulate.preference_pairs(true, 5000, seed=1)
        log = dl.simulate.preference_pairs(true, 100_000, n_flips=10_000, seed=0)
        similarity[truth] = recovery(dl.UtilityLearner(C=1.0).fit(log), true, test)["gauge_free"]
    assert similarity["D1"] > 0.999
    assert 0.98 < similarity["D2"] < 0.996


def test_g_only_a_margin_that_is_a_dcg_has_a_precision():
    true = dl.simulate.ground_truth("D1")
    test = dl.simulate.preference_pairs(true, 2000, seed=0)
    assert study_g.margin_precision(true, test) == 1.0
    assert study_g.margin_precision("hamming", test) is None
    assert 0.85 < study_g.margin_precision(dl.DCG.standard(5, 10, "exponential", "log2"), test) < 0.95
