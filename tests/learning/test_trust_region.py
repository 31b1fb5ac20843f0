"""The bounded Newton descent: steps against a dense solver, arrows against dense matrices, starts side by side."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from dcglearn.learning.trust_region import Local, descend, steps


def arrow(rng, d, n_tips):
    """Return a positive definite matrix whose last `n_tips` parameters do not meet each other."""
    whole = np.zeros((d + n_tips, d + n_tips))
    root = rng.normal(size=(d + 3, d))
    whole[:d, :d] = root.T @ root + np.eye(d)
    for r in range(d, d + n_tips):
        column = np.append(rng.normal(size=d), 1.0)
        at = np.append(np.arange(d), r)
        whole[np.ix_(at, at)] += np.outer(column, column)
        whole[r, r] += 0.5
    return whole


def local_of(whole, gradient, d, value=0.0):
    tips = np.diagonal(whole)[d:].copy()
    return Local(np.array([value]), gradient[None], whole[None, :d, :d].copy(), whole[None, d:, :d].copy(), tips[None])


@pytest.mark.parametrize("n_tips", [0, 4])
def test_a_step_within_a_large_radius_is_the_bounded_minimum(n_tips):
    rng = np.random.default_rng(0)
    for _ in range(30):
        d = int(rng.integers(1, 7))
        whole, gradient = arrow(rng, d, n_tips), rng.normal(0, 3, d + n_tips)
        low, high = np.full(d + n_tips, -np.inf), np.full(d + n_tips, np.inf)
        low, high = low[None], high[None]
        local = local_of(whole, gradient, d)
        damping = np.zeros(1)
        step = steps(local, low, high, np.array([1e9]), damping)[0]
        np.testing.assert_allclose(step, -np.linalg.solve(whole, gradient), atol=1e-8)
        assert damping[0] == 0
        short = steps(local, low, high, np.array([1e-3]), damping)[0]
        assert 0 < np.abs(short).max() <= 1e-3
        assert gradient @ short < 0
        bounded = steps(local, np.full_like(low, -0.1), np.full_like(low, 0.2), np.array([1e9]), np.zeros(1))[0]
        assert bounded.min() >= -0.1 and bounded.max() <= 0.2 and gradient @ bounded < 0


def test_a_step_where_the_function_curves_down_goes_to_the_radius():
    rng = np.random.default_rng(2)
    for _ in range(20):
        whole = rng.normal(size=(5, 5))
        whole += whole.T
        whole[0, 0] = -3.0
        gradient = rng.normal(size=5)
        free = np.full((1, 5), np.inf)
        radius, damping = np.array([0.3]), np.zeros(1)
        step = steps(local_of(whole, gradient, 5), -free, free, radius, damping)[0]
        assert 0 < np.abs(step).max() <= 0.3 and damping[0] > 0
        np.testing.assert_allclose((whole + damping * np.eye(5)) @ step, -gradient, atol=1e-6)
        assert gradient @ step + 0.5 * step @ whole @ step < 0


def test_descents_end_at_the_minimum_within_bounds():
    rng = np.random.default_rng(1)
    for _ in range(20):
        whole, gradient = arrow(rng, 5, 3), rng.normal(0, 5, 8)
        low, high = np.full(8, -0.7), np.full(8, 0.9)

        def function(thetas, whole=whole, gradient=gradient):
            slopes = thetas @ whole + gradient
            value = 0.5 * ((slopes + gradient) * thetas).sum(axis=1)
            n = len(thetas)
            tips = np.tile(np.diagonal(whole)[5:], (n, 1))
            return Local(value, slopes, np.tile(whole[:5, :5], (n, 1, 1)), np.tile(whole[5:, :5], (n, 1, 1)), tips)

        starts = rng.uniform(low, high, (4, 8))
        ends = descend(function, starts, (low, high), max_iter=100)
        root = np.linalg.cholesky(whole).T
        expected = lsq_linear(root, -np.linalg.solve(root.T, gradient), (low, high), tol=1e-14, method="bvls").x
        np.testing.assert_allclose(ends.theta[ends.best], expected, atol=1e-6)
        assert ends.converged[ends.best]


def rosenbrock(thetas):
    """Rosenbrock's function plus a wall of infinite values."""
    x, y = thetas.T
    value = np.where(x > 3, np.inf, 100 * (y - x**2) ** 2 + (1 - x) ** 2)
    slopes = np.stack([-400 * x * (y - x**2) - 2 * (1 - x), 200 * (y - x**2)], axis=1)
    dense = np.array([[[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, 200.0]] for a, b in thetas])
    return Local(value, slopes, dense, np.zeros((len(x), 0, 2)), np.zeros((len(x), 0)))


def test_a_curved_valley_is_followed_and_infinite_values_are_avoided():
    bounds = np.full(2, -5.0), np.full(2, 5.0)
    ends = descend(rosenbrock, np.array([[-1.2, 1.0], [2.5, -4.0], [4.0, 0.0]]), bounds, max_iter=200, tol=1e-14)
    np.testing.assert_allclose(ends.theta[ends.best], [1, 1], atol=1e-6)
    assert ends.stopped[2] and ends.n_iter[2] == 0  # its value is infinite
    short = descend(rosenbrock, np.array([[-1.2, 1.0]]), bounds, max_iter=3)
    assert short.n_iter[0] == 3 and not short.converged[0]
