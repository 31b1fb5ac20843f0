"""The evidence of a log: against integrals over all parameters, and samples of long logs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from dcglearn import DCG, textbook_dcgs
from dcglearn.learning.evidence import fixed_population, free_population, laplace_evidence, sampled
from dcglearn.learning.fit import fit_log
from dcglearn.learning.model import DISCOUNT_SLOPE, ERROR, log_metric
from dcglearn.learning.options import DCGOptions
from dcglearn.simulate import preference_pairs
from tests.makers import random_log

TRUTH = DCG([0, 1], [1, 0.5])

SHARPNESS, LOGITS = np.linspace(-6, 14, 161), np.linspace(-9, -0.02, 101)
FALLS = np.arange(-9, 9, 0.1)
"""Grids of the log sharpness, the logit of error and the log of a fall."""


def log_normal(x, mean, spread):
    return -0.5 * ((x - mean) / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi))


def likelihoods(log, share, discounts):
    """Return the log likelihood on the grid of sharpness and logit of error; gains are 0 and 1."""
    leads = discounts / discounts.sum() @ (log.preferred - log.other).T
    right = expit(np.exp(SHARPNESS)[:, None, None] * leads)
    error = expit(LOGITS)[None, :, None]
    return share * np.log((1 - error) * right + error * (1 - right)).sum(axis=2)


@pytest.fixture(scope="module", params=[0, 3])
def binary(request):
    """Return a log of two grades and positions, its fit, and the prior of the judges."""
    flips = request.param
    log = preference_pairs(TRUTH, 25, lists="free", n_flips=flips, random_state=4)
    fit = fit_log(log, DCGOptions(n_grades=2))
    of_judges = log_normal(SHARPNESS, fit.model.centre, 2.5)[:, None]
    of_judges = of_judges + log_normal(LOGITS, *ERROR)
    steps = np.diff(SHARPNESS)[0] * np.diff(LOGITS)[0]
    return log, fit, of_judges + np.log(steps)


def test_the_evidence_of_a_metric_is_the_integral_over_its_judges(binary):
    log, fit, of_judges = binary
    metrics = [DCG([0, 1], [1, x]) for x in (0.9, 0.5, 0.1)]
    expected = [
        np.logaddexp.reduce((of_judges + likelihoods(log, fit.function.share, x.discounts)).ravel())
        for x in metrics
    ]
    shares = np.array([0.2, 0.5, 0.3])
    logs = np.log(shares) + expected
    evidence = np.logaddexp.reduce(logs)
    populations = [
        fixed_population(fit.function, metrics, 3 * shares, np.random.default_rng(seed))
        for seed in range(8)
    ]
    assert np.mean([found for _, found in populations]) == pytest.approx(evidence, abs=0.15)
    probabilities = np.array([found for found, _ in populations])
    np.testing.assert_allclose(probabilities.mean(axis=0), np.exp(logs - evidence), atol=0.05)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_the_evidence_of_free_curves_is_the_integral_over_all_parameters(binary):
    log, fit, of_judges = binary
    mean, spread = DISCOUNT_SLOPE
    of_falls = log_normal(FALLS, np.log(np.log(2)) + mean, spread / np.sqrt(fit.model.ridge))
    parts = []
    inside_bounds = np.clip(FALLS, *(end[1] for end in fit.model.bounds))
    for fall, log_density in zip(np.exp(inside_bounds), of_falls, strict=True):
        discounts = np.array([1, np.exp(-fall)])
        inside = of_judges + likelihoods(log, fit.function.share, discounts)
        parts.append(np.logaddexp.reduce(inside.ravel()) + log_density)
    expected = np.logaddexp.reduce(parts) + np.log(0.1)
    found = [free_population(fit.function, np.random.default_rng(seed))[1] for seed in range(8)]
    assert np.logaddexp.reduce(found) - np.log(8) == pytest.approx(expected, abs=0.15)


def test_a_population_has_the_evidence_of_the_mean_likelihood_over_the_prior():
    log = random_log(40, "free", seed=3, noise=0.1)
    log = log.changed(tie=np.arange(40) % 5 == 0, strength=1 + np.arange(40) % 2)
    fit = fit_log(log, DCGOptions())
    objective = replace(fit.function, share=0.4)
    draws = fit.model.prior.draw(100_000, np.random.default_rng(0))
    inside = np.clip(draws, *fit.model.bounds)
    losses = objective.values(inside) - fit.model.prior.at(inside)[0]
    expected = np.logaddexp.reduce(-losses) - np.log(len(losses))
    found = [free_population(objective, np.random.default_rng(seed))[1] for seed in range(8)]
    assert np.logaddexp.reduce(found) - np.log(8) == pytest.approx(expected, abs=0.5)


def test_metrics_have_the_evidence_of_the_mean_likelihood_over_judges():
    log = random_log(40, "free", seed=3, noise=0.1)
    log = log.changed(tie=np.arange(40) % 5 == 0, strength=1 + np.arange(40) % 2)
    fit = fit_log(log, DCGOptions())
    objective = replace(fit.function, share=0.4)
    metrics = [*textbook_dcgs(log.n_grades, log.depth).values()][:4]
    draws = fit.model.prior.draw(20_000, np.random.default_rng(0))
    curves = fit.model.places.delta.stop
    logs = []
    for metric in metrics:
        draws[:, :curves] = log_metric(metric)[:curves]
        inside = np.clip(draws, *fit.model.bounds)
        losses = objective.values(inside) - fit.model.prior.at(inside)[0]
        logs.append(np.logaddexp.reduce(-losses) - np.log(4 * len(losses)))
    expected = np.logaddexp.reduce(logs)
    populations = [
        fixed_population(objective, metrics, np.ones(4), np.random.default_rng(seed))
        for seed in range(8)
    ]
    assert np.mean([found for _, found in populations]) == pytest.approx(expected, abs=0.25)
    probabilities = np.mean([found for found, _ in populations], axis=0)
    np.testing.assert_allclose(probabilities, np.exp(logs - expected), atol=0.06)


def test_a_log_that_comes_in_parts_has_the_evidence_of_the_whole():
    log = preference_pairs(TRUTH, 1100, lists="free", n_flips=100, random_state=1)
    fit = fit_log(log, DCGOptions(n_grades=2))
    assert len(fit.pairs) == 1100
    objective = replace(fit.function, share=0.02)  # so that the prior's draws tell
    draws = np.clip(fit.model.prior.draw(5_000, np.random.default_rng(0)), *fit.model.bounds)
    losses = objective.values(draws) - fit.model.prior.at(draws)[0]
    expected = np.logaddexp.reduce(-losses) - np.log(len(losses))
    found = [
        free_population(objective, np.random.default_rng(seed), draws=False)[1] for seed in range(4)
    ]
    assert np.mean(found) == pytest.approx(expected, abs=0.2)


def test_a_population_depends_on_the_seed_alone():
    fit = fit_log(random_log(300, "free", seed=2, noise=0.1), DCGOptions())
    draws, evidence = free_population(fit.function, np.random.default_rng(7))
    same, again = free_population(fit.function, np.random.default_rng(7))
    np.testing.assert_array_equal(draws, same)
    assert evidence == again
    assert free_population(fit.function, np.random.default_rng(8))[1] != evidence


def test_laplace_is_near_the_population_where_there_is_one_optimum():
    truth = DCG([0, 0.4, 1], [1, 0.5, 0.3])
    log = preference_pairs(truth, 300, lists="free", temperature=0.3, random_state=3)
    fit = fit_log(log, DCGOptions(n_grades=3))
    found = [
        free_population(fit.function, np.random.default_rng(seed), draws=False)[1]
        for seed in range(2)
    ]
    assert laplace_evidence(fit.function, fit.theta) == pytest.approx(np.mean(found), abs=4)

    # from elsewhere it descends to the optimum
    near = fit.theta + 0.1
    assert laplace_evidence(fit.function, near) == pytest.approx(
        laplace_evidence(fit.function, fit.theta), abs=0.01
    )


def test_a_sample_counts_for_the_whole_log_and_each_judgement_at_most_once():
    log = random_log(300, "free", seed=1, noise=0.1)
    fit = fit_log(log.changed(weight=np.resize([1.0, 4.0], 300)), DCGOptions())
    sample = sampled(fit.function, 60)
    whole = sampled(fit.function, 300)
    assert 60 <= len(sample.pairs) < 120 and len(whole.pairs) == 300
    assert whole.share == pytest.approx(fit.function.share)
    counted = [x.share * x.pairs.total_weight for x in (sample, fit.function)]
    of_rows = sample.share * sample.pairs.weights
    assert counted[0] < counted[1] and of_rows.mean() == pytest.approx(fit.function.share * 2.5)
    unscaled = sampled(replace(fit.function, share=0.3), 60)
    assert unscaled.share * unscaled.pairs.total_weight == pytest.approx(len(unscaled.pairs))

    # heavy judgements are drawn more often
    level = replace(fit.function, share=0.01)
    sample = sampled(level, 60)
    assert sample.share * sample.pairs.total_weight == pytest.approx(
        0.01 * log.changed(weight=np.resize([1.0, 4.0], 300)).total_weight
    )
