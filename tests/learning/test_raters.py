"""Raters' own errors and biases: optima over raters and all else, against joint referees."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from dcglearn import Preferences
from dcglearn.learning.fit import fit_log
from dcglearn.learning.model import OWN_SPREADS
from dcglearn.learning.objective import FitObjective
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.raters import LIMITS, with_raters
from tests.learning.makers import value_and_slope
from tests.makers import random_log

KINDS = [(sided, verdicts) for sided in (False, True) for verdicts in (False, True)]
"""Whether a log tells sides, and whether it has strengths and ties."""

REFEREE = {"maxiter": 5000, "maxfun": 10**5, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20}
"""Options of L-BFGS-B."""


def judged(n, seed, *, sided, verdicts, n_raters=5):
    """Return a log of raters who err at all rates from .02 to .6."""
    rng = np.random.default_rng(seed)
    log = random_log(n, "free", seed=seed)
    rater = rng.integers(0, n_raters, n)
    wrong = (rng.random(n) < np.linspace(0.02, 0.6, n_raters)[rater])[:, None]
    first, second = np.where(wrong, (log.other, log.preferred), (log.preferred, log.other))
    columns = {"rater": np.char.add("r", rater.astype(str)), "weight": rng.exponential(1, n)}
    if sided:
        columns["swapped"] = rng.random(n) < 0.5
    if verdicts:
        columns |= {"tie": rng.random(n) < 0.15, "strength": rng.integers(1, 3, n).astype(float)}
    return Preferences(first, second, n_grades=5, **columns)


class Joint:
    """An objective over the parameters and all raters' deviations, in one vector."""

    def __init__(self, objective: FitObjective) -> None:
        self.objective = objective
        model = objective.model
        self.kinds = np.flatnonzero([model.with_errors, model.sided])
        self.n = model.places.n
        own = LIMITS[:, self.kinds].repeat(model.own.shape[1], axis=1)
        self.bounds = [np.append(a, b) for a, b in zip(model.bounds, own, strict=True)]

    def vector(self, objective, theta):
        return np.append(theta, objective.model.own[self.kinds])

    def parts(self, x):
        own = np.zeros(self.objective.model.own.shape)
        own[self.kinds] = x[self.n :].reshape(len(self.kinds), -1)
        model = replace(self.objective.model, own=own)
        return replace(self.objective, model=model), x[: self.n]

    def value(self, x):
        objective, theta = self.parts(x)
        return objective.values(theta[None])[0]

    def with_gradient(self, x):
        objective, theta = self.parts(x)
        value, gradient = value_and_slope(objective, theta)
        model = objective.model
        sums = objective.pairs.sums_of_raters(model.points(theta[None]))
        own = objective.share * sums.slopes.T + model.own / OWN_SPREADS[:, None] ** 2
        return value, np.append(gradient, own[self.kinds])

    def differences(self, x):
        """Return the gradient by finite differences of the value."""
        steps = 1e-5 * np.eye(len(x))
        return np.array([(self.value(x + h) - self.value(x - h)) / 2e-5 for h in steps])

    def lowest(self, x, free):
        """Return the minimum over some of the entries from x on, by L-BFGS-B."""

        def function(some):
            whole = x.copy()
            whole[free] = some
            value, gradient = self.with_gradient(whole)
            return value, gradient[free]

        bounds = [*zip(*(end[free] for end in self.bounds), strict=True)]
        end = minimize(function, x[free], (), "L-BFGS-B", True, bounds=bounds, options=REFEREE)
        return end.fun, end.x


@pytest.mark.parametrize(("sided", "verdicts"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_raters_and_what_is_common_are_the_best_with_given_curves(seed, sided, verdicts):
    log = judged((60, 200, 600)[seed], seed, sided=sided, verdicts=verdicts)
    fit = fit_log(log, DCGOptions())
    model = fit.function.model
    nobody = replace(model, own=np.zeros((2, 5)))
    start = replace(fit.function, model=nobody)
    at = model.places
    found, theta = with_raters(start, fit.theta)

    # the curves and thresholds stay
    joint = Joint(start)
    free = np.r_[at.error, at.bias, joint.n : len(joint.bounds[0])]
    x = joint.vector(found, theta)
    np.testing.assert_array_equal(np.delete(x, free), np.delete(fit.theta, free[free < joint.n]))

    # another method finds nothing better from the same start, nor from where this ends
    for begin in (joint.vector(start, fit.theta), x):
        value, _ = joint.lowest(begin, free)
        assert joint.value(x) <= value + 1e-8 * abs(value)
    gradient = joint.differences(x)[free]
    low, high = (end[free] for end in joint.bounds)
    moved = np.clip(x[free] - gradient, low, high) - x[free]
    np.testing.assert_allclose(moved, 0, atol=1e-3)


@pytest.mark.parametrize(("sided", "verdicts"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_alternation_ends_at_the_minimum_over_all_parameters(seed, sided, verdicts):
    log = judged((600, 60, 200)[seed], seed, sided=sided, verdicts=verdicts)
    fit = fit_log(log, DCGOptions())
    assert not fit.unconverged
    joint = Joint(fit.function)
    x = joint.vector(fit.function, fit.theta)
    assert joint.value(x) == pytest.approx(fit.objective, rel=1e-12)

    # the gradient in curves, common numbers and raters
    low, high = joint.bounds
    gradient = joint.differences(x)
    np.testing.assert_allclose(gradient, joint.with_gradient(x)[1], atol=1e-4)
    moved = np.clip(x - gradient, low, high) - x
    np.testing.assert_allclose(moved, 0, atol=3e-3)
    value, _ = joint.lowest(x, np.arange(len(x)))
    assert fit.objective <= value + 1e-6 * abs(value)


def test_raters_who_err_are_told_from_others():
    fit = fit_log(judged(2000, 0, sided=True, verdicts=False), DCGOptions())
    rates = [fit.rater_error[f"r{i}"] for i in range(5)]
    np.testing.assert_allclose(rates, np.linspace(0.02, 0.6, 5), atol=0.1)
    assert fit.error_rate == np.mean(rates)
    assert np.abs([*fit.rater_bias.values()]).max() < 1.0
