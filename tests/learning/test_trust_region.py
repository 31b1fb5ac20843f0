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
        theta = np.zeros((1, d + n_tips))
        local = local_of(whole, gradient, d)
        arrays = local.gradient, local.dense, local.cross, local.tips
        damping = np.zeros(1)
        steps(arrays, theta, low, high, np.array([1e9]), damping)
        np.testing.assert_allclose(theta[0], -np.linalg.solve(whole, gradient), atol=1e-8)
        assert damping[0] == 0
        short = np.zeros((1, d + n_tips))
        steps(arrays, short, low, high, np.array([1e-3]), damping)
        assert 0 < np.abs(short).max() <= 1e-3
        assert gradient @ short[0] < 0


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
