"""The bounded Newton descent and the search: steps against solvers, ends against referees."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from dcglearn.learning import search as search_module
from dcglearn.learning.model import known_metrics
from dcglearn.learning.objective import FitObjective, Local
from dcglearn.learning.pairs import Pairs
from dcglearn.learning.search import Ends, dense_steps, descend, search
from tests.learning.makers import plain_model, plain_pairs, value_and_slope
from tests.makers import random_log, refused

KNOWN = known_metrics(5, 10, True, (0.0,))
"""Metrics from which all descents start."""


def steps(gradient, hessian, low, high, radius, damping=0.0):
    """Return one step, and its damping."""
    n, dampings = len(gradient), np.array([damping])
    bounds = (np.broadcast_to(end, (1, n)).copy() for end in (low, high))
    step = dense_steps(gradient[None], hessian[None], *bounds, np.array([radius]), dampings)
    return step[0], dampings[0]


def random_quadratic(rng, n):
    """Return the gradient at 0, and a positive definite Hessian."""
    root = rng.normal(size=(n + 3, n))
    return rng.normal(0, 3, n), root.T @ root + np.eye(n)


def bounded_minimum(gradient, hessian, low, high):
    """Return the minimum of a quadratic within bounds, by another method."""
    root = np.linalg.cholesky(hessian).T
    found = lsq_linear(
        root, -np.linalg.solve(root.T, gradient), (low, high), tol=1e-14, method="bvls"
    )
    return found.x


@pytest.mark.parametrize("seed", range(30))
def test_a_step_within_a_large_radius_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    gradient, hessian = random_quadratic(rng, int(rng.integers(1, 12)))
    step, damping = steps(gradient, hessian, -np.inf, np.inf, 1e9)
    np.testing.assert_allclose(step, -np.linalg.solve(hessian, gradient), atol=1e-8)
    assert damping == 0

    # within a small one it is damped, within bounds it stays
    short, damping = steps(gradient, hessian, -np.inf, np.inf, 1e-3)
    assert 0 < np.abs(short).max() <= 1e-3 and damping > 0 and gradient @ short < 0
    bounded, _ = steps(gradient, hessian, -0.1, 0.2, 1e9)
    assert bounded.min() >= -0.1 and bounded.max() <= 0.2 and gradient @ bounded < 0


def test_a_step_where_the_function_curves_down_goes_to_the_radius():
    rng = np.random.default_rng(2)
    for _ in range(20):
        hessian = rng.normal(size=(5, 5))
        hessian += hessian.T
        hessian[0, 0] = -3.0
        gradient = rng.normal(size=5)
        step, damping = steps(gradient, hessian, -np.inf, np.inf, 0.3)
        assert 0.5 * 0.3 < np.abs(step).max() <= 0.3 and damping > 0
        np.testing.assert_allclose((hessian + damping * np.eye(5)) @ step, -gradient, atol=1e-6)
        assert gradient @ step + 0.5 * step @ hessian @ step < 0


@pytest.mark.parametrize("seed", range(20))
def test_descents_end_at_the_minimum_within_bounds(seed):
    rng = np.random.default_rng(seed)
    gradient, hessian = random_quadratic(rng, 8)
    low, high = np.full(8, -0.7), rng.uniform(-0.5, 0.9, 8)

    def function(thetas):
        slopes = thetas @ hessian + gradient
        value = 0.5 * ((slopes + gradient) * thetas).sum(axis=1)
        return Local(value, slopes, np.tile(hessian, (len(thetas), 1, 1)))

    ends = descend(function, rng.uniform(low, high, (4, 8)), (low, high))
    assert ends.converged.all()
    expected = bounded_minimum(gradient, hessian, low, high)
    for theta in ends.theta:
        np.testing.assert_allclose(theta, expected, atol=1e-6)


def rosenbrock(thetas):
    """Rosenbrock's function plus a wall of infinite values."""
    x, y = thetas.T
    value = np.where(x > 3, np.inf, 100 * (y - x**2) ** 2 + (1 - x) ** 2)
    slopes = np.stack([-400 * x * (y - x**2) - 2 * (1 - x), 200 * (y - x**2)], axis=1)
    hessian = [[[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, 200.0]] for a, b in thetas]
    return Local(value, slopes, np.array(hessian))


BOX = np.full(2, -5.0), np.full(2, 5.0)


def test_a_curved_valley_is_followed_and_infinite_values_are_avoided():
    starts = np.array([[-1.2, 1.0], [2.9, -4.0], [4.0, 0.0]])
    ends = descend(rosenbrock, starts, BOX, tol=1e-14)
    np.testing.assert_allclose(ends.theta[:2], 1.0, atol=1e-6)
    assert ends.best < 2 and ends.converged.tolist() == [True, True, False]
    np.testing.assert_array_equal(ends.theta[2], starts[2])  # there is no way from infinity
    short = descend(rosenbrock, starts[:1], BOX, max_steps=3)
    assert short.n_iter == 3 and not short.converged[0]


def test_a_saddle_is_left():
    def two_valleys(thetas):
        value = (thetas**4 / 4 - thetas**2 / 2).sum(axis=1)
        curvature = 3 * thetas**2 - 1
        return Local(value, thetas**3 - thetas, curvature[:, None] * np.eye(2))

    ends = descend(two_valleys, np.array([[0.1, -0.2], [3.0, 0.01]]), BOX)
    np.testing.assert_allclose(ends.theta, [[1, -1], [1, 1]], atol=1e-4)
    assert ends.converged.all()


def test_the_best_of_equal_ends_has_converged():
    local = Local(np.zeros(4), np.zeros((4, 2)), np.zeros((4, 2, 2)))
    ends = Ends(np.zeros((4, 2)), local, np.array([False, True, False, False]))
    assert ends.best == 1
    local.value[2:] = [-1.0, np.nan]
    assert ends.best == 2 and ends.value == -1.0


# The search on logs.


def random_objective(seed):
    """Return the objective of a random log with strengths, and at times ties."""
    rng = np.random.default_rng(seed)
    log = random_log(int(rng.integers(5, 150)), "free", seed=seed, noise=0.2)
    n, ties = len(log), seed % 4 == 0
    level = rng.integers(0 if ties else 1, 3, n).astype(np.int8)
    weight = rng.exponential(1, n)
    pairs = Pairs(
        log.preferred, log.other, level, np.zeros(1, np.int32), weight, np.zeros(1, np.int8)
    )
    errors = seed % 2 == 1
    model = plain_model(10, 5, with_errors=errors, n_levels=2, ties=ties, ridge=2.0, centre=3.0)
    return FitObjective(model, pairs, 1.0)


def beyond_referee(seed):
    """Return by what share the search ends above its referee from the lowest starts.

    Assert that it ended where nothing is left to gain within bounds.
    """
    objective = random_objective(seed)
    model = objective.model
    starts = [model.starts(KNOWN, softer) for softer in (0.0, 1.5, 3.0)]
    found = search(objective, starts)
    theta, value = found.theta[found.best], found.value
    _, gradient = value_and_slope(objective, theta)
    moved = np.clip(theta - gradient, *model.bounds) - theta
    assert found.converged[found.best] and np.abs(moved).max() <= 1e-3

    bounds = [*zip(*model.bounds, strict=True)]
    options = {"maxiter": 5000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20}
    how = {"method": "L-BFGS-B", "jac": True, "bounds": bounds, "options": options}
    lowest = objective.lowest(np.concatenate(starts), 2)
    referee = min(
        minimize(partial(value_and_slope, objective), start, **how).fun for start in lowest
    )
    return (value - referee) / abs(referee)


@pytest.mark.parametrize("seed", range(20))
def test_the_search_ends_no_higher_than_its_referee_from_the_same_starts(seed):
    assert beyond_referee(seed) <= 1e-7


@pytest.mark.long
def test_the_search_ends_higher_than_its_referee_in_hardly_any_log():
    beyond = np.array([beyond_referee(seed) for seed in range(20, 320)])
    assert (beyond > 1e-7).mean() <= 0.01 and beyond.max() <= 0.01
    assert beyond.mean() < 0


def test_long_logs_are_searched_on_samples_and_descended_on_whole(monkeypatch):
    # the end is that of the whole log, and as low as without samples
    log = random_log(3000, "free", seed=1, noise=0.2)
    pairs = plain_pairs(log.preferred, log.other)
    objective = FitObjective(plain_model(10, 5, ridge=2.0), pairs, 1.0)
    starts = [objective.model.starts(KNOWN, softer) for softer in (0.0, 1.5)]
    whole = search(objective, starts)
    searched = []

    def descend_on(objective, *given, **options):
        searched.append(len(objective.pairs))
        return descend(objective, *given, **options)

    monkeypatch.setattr(search_module, "descend", descend_on)
    monkeypatch.setattr(search_module, "SAMPLES", (200, 1600))
    sampled = search(objective, starts)
    assert searched == [200, 200, 3000]
    assert sampled.value == objective.values(sampled.theta[[sampled.best]])[0]
    assert sampled.value == pytest.approx(whole.value, rel=1e-3)


def test_an_objective_that_is_not_finite_is_refused():
    log = random_log(20)
    pairs, model = plain_pairs(log.preferred, log.other), plain_model(10, 5)
    starts = [model.starts(KNOWN)]
    refused("not finite at any start", search, FitObjective(model, pairs, np.inf), starts)
