"""The share of wrong verdicts that a fit expects over its own log."""

import numpy as np
import pytest
from scipy.special import expit

import dcglearn as dl
from dcglearn.learning.fit import fit_log
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import Pairs, Points, wrong_chances

TRUTH = dl.DCG([0, 0.5, 1], [1, 0.6, 0.4])


def judgements(rng, n=50):
    """Return judgements by two raters whose sides are partly known, some of them ties."""
    lists = rng.integers(-1, 3, (2, n, 3)).astype(np.int8)
    columns = rng.integers(0, 2, n).astype(np.int8), rng.integers(0, 2, n).astype(np.int32)
    way = rng.integers(-1, 2, n).astype(np.int8)
    return Pairs(*lists, *columns, rng.random(n), way)


@pytest.mark.parametrize("sided", [False, True])
def test_it_is_the_mean_chance_to_name_the_worse_list(sided):
    rng = np.random.default_rng(0)
    judged, errors, biases = judgements(rng), np.array([0.1, 0.3]), np.array([0.7, -2.0])
    gains, discounts, threshold = np.array([0, 0.5, 1]), np.array([3.0, 2.0, 1.0]), 0.4
    thresholds = np.array([[0, threshold, np.inf]])
    judges = thresholds, errors[None], sided * biases[None]
    points = Points(gains[None], discounts[None], *judges, np.zeros(1))

    # verdict by verdict: which list is better, and what is thought of each
    worth = np.append(gains, 0.0)
    total = weight = 0.0
    for i in range(len(judged)):
        z = (worth[judged.first[i]] - worth[judged.second[i]]) @ discounts
        seen = z + sided * judged.way[i] * biases[judged.rater[i]]
        e = errors[judged.rater[i]]
        named = [expit(seen - threshold), expit(-seen - threshold)]  # first, second
        named = [(1 - e) * named[0] + e * named[1], (1 - e) * named[1] + e * named[0]]
        worse = named[1] if z > 0 else named[0]
        if judged.level[i]:
            total += judged.weight[i] * (worse / sum(named) if z else 0.5)
            weight += judged.weight[i]
    assert judged.wrong_share(points) == pytest.approx(total / weight)


def test_equal_lists_are_a_toss_and_far_ones_the_error_rate():
    leads = np.array([0.0, 50, -50])
    np.testing.assert_allclose(wrong_chances(leads, 0.0, np.full(3, 0.2)), [0.5, 0.2, 0.8])
    np.testing.assert_allclose(wrong_chances(leads, 0.5, np.ones(3)), [0.5, 1, 0], atol=1e-12)


def test_judges_of_close_pairs_are_told_from_careless_ones():
    truth = dl.simulate.ground_truth("D1").normalised()
    noise = {"lists": "free", "n_grades": 5, "random_state": 0}
    close = dl.simulate.preference_pairs(truth, 600, temperature=0.2, **noise)
    careless = dl.simulate.preference_pairs(truth, 600, flip_rate=0.13, **noise)
    for log, low, high in ((close, 0, 0.05), (careless, 0.1, 0.17)):
        fit = fit_log(log, DCGOptions())
        wrong = 1 - log.agreement(truth).share
        assert 0.1 < wrong < 0.17 and fit.wrong_share == pytest.approx(wrong, abs=0.03)
        assert low <= fit.error_rate <= high
