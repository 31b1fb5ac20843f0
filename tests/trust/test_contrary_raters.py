"""Raters who contradict the others, and raters who do so by chance alone."""

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.fit import fit_log
from dcglearn.learning.options import DCGOptions
from dcglearn.trust.fit_learner import contrary_raters
from tests.makers import random_log


def test_a_rater_who_mistakes_the_better_for_the_worse_is_contrary():
    rng = np.random.default_rng(5)
    log = random_log(1200, "free", seed=5)
    rater = rng.choice(["ann", "bob", "carl"], 1200)
    wrong = rng.random(1200) < np.select([rater == "ann", rater == "bob"], [0.02, 0.25], 0.9)
    first, second = np.where(wrong[:, None], (log.other, log.preferred), (log.preferred, log.other))
    fit = fit_log(dl.Preferences(first, second, rater=rater), DCGOptions())
    assert contrary_raters(fit) == ["carl"]
    rates = [fit.rater_error[name] for name in ("ann", "bob", "carl")]
    np.testing.assert_allclose(rates, [0.02, 0.25, 0.9], atol=0.06)


@pytest.mark.parametrize("flips", ["one rater's", "weak", "all"])
def test_chance_makes_no_contrary_rater(flips):
    rater = np.array([f"r{i % 20}" for i in range(500)])
    highest = []
    for seed in range(3):
        # coin flips in place of some verdicts
        rng = np.random.default_rng(seed)
        log = random_log(500, "free", seed=seed)
        of_coins = {"one rater's": rater == "r0", "weak": rng.random(500) < 0.9, "all": True}
        flip = (of_coins[flips] & (rng.random(500) < 0.5))[:, None]
        first, second = np.where(flip, (log.other, log.preferred), (log.preferred, log.other))
        fit = fit_log(dl.Preferences(first, second, rater=rater), DCGOptions())
        assert contrary_raters(fit) == []
        highest.append(max(fit.rater_error.values()))
    assert max(highest) > 0.5 or flips == "one rater's"
