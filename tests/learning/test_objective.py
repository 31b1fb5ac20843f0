"""The model and its objective: points and prior by their formulas, derivatives by finite
differences.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from dcglearn import DCG
from dcglearn.learning.model import (
    BIAS_SPREAD,
    DISCOUNT_SLOPE,
    ERROR,
    FREE_SLOPE,
    GAIN_SLOPE,
    NEAR_TARGET,
    OWN_SPREADS,
    known_metrics,
    log_metric,
)
from dcglearn.learning.objective import FitObjective
from dcglearn.learning.pairs import CURVATURE, SLOPES, VALUE
from dcglearn.metrics.dcg import textbook_dcgs
from tests.learning.makers import EVERY_KIND, plain_model, random_model, value_and_slope


@pytest.mark.parametrize("seed", EVERY_KIND)
def test_gradient_and_hessian_are_those_of_the_objective(seed):
    model, pairs, theta = random_model(np.random.default_rng(seed))
    objective = FitObjective(model, pairs, 0.7)
    value, gradient = value_and_slope(objective, theta)
    local = objective(theta[None])
    assert objective.values(theta[None])[0] == local.value[0] == value
    np.testing.assert_array_equal(local.gradient[0], gradient)

    size = 1 + np.abs(local.hessian).max()
    for i, step in enumerate(1e-5 * np.eye(len(theta))):
        ends = objective(np.array([theta + step, theta - step]), SLOPES)
        slope, row = (np.subtract(*x) / 2e-5 for x in (ends.value, ends.gradient))
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6 * (1 + abs(value)))
        np.testing.assert_allclose(local.hessian[0, i], row, rtol=1e-5, atol=1e-7 * size)


@pytest.mark.parametrize("seed", EVERY_KIND)
def test_points_are_those_of_their_formulas(seed):
    model, _, theta = random_model(np.random.default_rng(seed))
    alpha, delta, sharp, error, empty, power, bias, rises = (theta[part] for part in model.places)
    points = model.points(theta[None])

    # the two curves
    falls = np.exp(delta) if model.falling else delta
    steps, discounts = np.exp(alpha), np.exp(-np.append(0, np.cumsum(falls)))
    gains = np.concatenate([[0], np.cumsum(steps) / steps.sum(), empty])
    gains = gains[: model.n_grades] - gains[model.zero]  # what is worth nothing has none
    np.testing.assert_allclose(points.gains[0], gains, atol=1e-12)
    np.testing.assert_allclose(points.discounts[0], np.exp(sharp) * discounts / discounts.sum())

    # the power of lengths
    wanted = expit(power) if model.power is None else [model.power]
    np.testing.assert_allclose(points.powers, wanted)

    # the judges
    rates = expit(error + model.own[0]) if model.with_errors else 0
    np.testing.assert_allclose(points.errors[0], np.broadcast_to(rates, model.own.shape[1]))
    biases = bias + model.own[1] if model.sided else np.zeros(model.own.shape[1])
    np.testing.assert_allclose(points.biases[0], biases)
    rising = np.cumsum(np.exp(rises))
    inner = np.concatenate([np.zeros(1 if model.ties else 2), rising, [np.inf]])
    np.testing.assert_allclose(points.thresholds[0], inner)


def charge(slopes, mean, spread, ridge):
    """Return what the slopes of a log curve cost."""
    if not len(slopes):
        return 0.0
    bends = np.diff(slopes)
    h = 0.3**2 * (np.sqrt(1 + (bends / 0.3) ** 2) - 1).sum()
    of_bends = (4.0 + len(bends)) * np.log(1 + ridge * h / 4.0)
    return of_bends + 0.5 * ridge * ((slopes.mean() - mean) / spread) ** 2


@pytest.mark.parametrize("seed", EVERY_KIND)
def test_the_prior_is_that_of_its_formula(seed):
    model, pairs, theta = random_model(np.random.default_rng(seed))
    alpha, delta, sharp, error, empty, power, bias, rises = (theta[part] for part in model.places)
    ranks = np.arange(1.0, model.depth + 1)
    falls = np.diff(np.log(ranks))

    # slopes of the two curves, less those of the target
    (gain_mean, gain_spread), (fall_mean, fall_spread) = GAIN_SLOPE, DISCOUNT_SLOPE
    if not model.falling:
        fall_mean, fall_spread = FREE_SLOPE
    near, target = 1.0, (np.zeros(len(alpha)), np.log(falls) if model.falling else 0 * falls)
    if model.target is not None:
        gain_mean = fall_mean = 0.0
        near, target = NEAR_TARGET, np.split(model.target[:-2], [len(alpha)])
    expected = target[1]
    if model.target is not None and model.falling:
        expected = np.maximum(expected, np.log(0.05 * falls))  # a flatter one counts as r^-0.05
    of_falls = (delta - expected) / (1 if model.falling else falls)
    total = charge(np.diff(alpha - target[0]), gain_mean, gain_spread / near, model.ridge)
    total += charge(of_falls, fall_mean, fall_spread / near, model.ridge)

    # all else
    for x, mean, spread in (
        (alpha.mean(), 0.0, 1.0),
        (sharp, model.centre, 2.5),
        (error, *ERROR),
        (empty, 0.0 if model.target is None else model.target[-2], 0.5),
        (power, 0.0, 1.6),
        (bias, 0.0, BIAS_SPREAD),
        (rises, 0.0, 2.0),
    ):
        total += 0.5 * np.sum(((x - mean) / spread) ** 2)
    assert model.prior.at(theta[None])[0][0] == pytest.approx(total)

    # of raters, by how much each differs; the objective is the sum
    own = np.sum((model.own / OWN_SPREADS[:, None]) ** 2)
    loss = pairs.sums(model.points(theta[None]), VALUE).loss[0]
    value = FitObjective(model, pairs, 0.7).values(theta[None])[0]
    assert value == pytest.approx(0.7 * loss + total + 0.5 * own)


@pytest.mark.parametrize("seed", EVERY_KIND)
def test_points_side_by_side_have_the_bytes_of_each_alone(seed):
    model, pairs, theta = random_model(np.random.default_rng(seed))
    objective = FitObjective(model, pairs, 0.7)
    thetas = np.outer(np.linspace(-1, 1, 19), theta)
    together, alone = objective(thetas, CURVATURE), objective(theta[None])
    for x, other in zip(together, alone, strict=True):
        assert x[18].tobytes() == other[0].tobytes()
    np.testing.assert_array_equal(objective.values(thetas), together.value)


def test_a_sample_weighs_as_much_as_all():
    rng = np.random.default_rng(5)
    model, pairs, theta = random_model(rng)
    rows = rng.integers(0, len(pairs), 4000)
    objective = FitObjective(model, pairs.at(rows, weight=rng.exponential(1, 4000)), 0.3)
    sample = objective.thinned(900)
    assert objective.thinned(2001) is objective and len(sample.pairs) < 1800
    weight, wanted = (x.share * x.pairs.total_weight for x in (sample, objective))
    assert weight == pytest.approx(wanted)
    lowest = objective.lowest(np.array([theta + 1, theta, theta - 1]), 2)
    assert (np.diff(objective.values(lowest)) > 0).all()


def test_curves_and_their_logarithms_are_the_same_metric():
    model = plain_model(10, 5)
    rng = np.random.default_rng(0)
    for _ in range(5):
        gains = np.cumsum(rng.exponential(1, 5))
        discounts = np.sort(rng.exponential(1, 10))[::-1]
        start = model.starts(np.zeros((1, 15)), 1.0)[0]
        thetas = model.with_metrics(start, log_metric(DCG(gains, discounts))[None])
        dcg = model.points(thetas).dcg
        wanted = (gains - gains[0]) / (gains[-1] - gains[0])
        np.testing.assert_allclose(dcg.gains, wanted, atol=1e-12)
        np.testing.assert_allclose(dcg.discounts, discounts / discounts[0], rtol=1e-9)

    # free discounts rise and fall; with falling ones, those that rise are cut
    free = replace(model, falling=False)
    rising = DCG(gains, discounts[::-1])
    dcg = free.points(free.with_metrics(start, log_metric(rising, falling=False)[None])).dcg
    np.testing.assert_allclose(dcg.discounts, (discounts / discounts[-1])[::-1], rtol=1e-9)
    cut = log_metric(rising)[4:-2]
    assert np.exp(cut).max() == pytest.approx(3e-4)


def test_starts_lie_within_bounds():
    model = plain_model(10, 5, ties=True, sided=True, zero=5, n_levels=2)
    low, high = model.bounds
    known = known_metrics(5, 10, True, (0.0,))
    thetas = model.starts(known + 3.0, 50.0)
    assert (low <= thetas).all() and (thetas <= high).all() and (thetas == high).any()
    sharper = model.sharpened(thetas[0], (0.5, -1.0))
    assert sharper.shape == (2, len(low)) and (sharper <= high).all()


def test_the_family_holds_the_lists_own_curves():
    powers = (0.0,)
    textbooks = len(textbook_dcgs(5, 10))
    known = known_metrics(5, 10, True, powers)
    assert len(known) == 32 + textbooks
    assert len(known_metrics(5, 10, False, powers)) == 96 + textbooks

    # straight on the scales of alpha and, less that of 1/r, of delta
    log_falls = np.log(np.diff(np.log(np.arange(1.0, 11))))
    np.testing.assert_allclose(np.diff(known[:32, 4:13] - log_falls), 0, atol=1e-9)
    np.testing.assert_allclose(np.diff(known[:32, :4], 2), 0, atol=1e-9)
