"""The bounded Newton descent: steps against a dense solver, arrows against dense matrices, starts
side by side.
"""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from dcglearn.learning import trust_region
from dcglearn.learning.trust_region import Descents, Local, descend, leave_followers, steps


def arrow(rng, d, n_diagonal, coupled=False):
    """Return a positive definite matrix whose last `n_diagonal` parameters do not meet each other,
    but for pairs.
    """
    whole = np.zeros((d + n_diagonal, d + n_diagonal))
    root = rng.normal(size=(d + 3, d))
    whole[:d, :d] = root.T @ root + np.eye(d)
    for r in range(d, d + n_diagonal):
        column = np.append(rng.normal(size=d), 1.0)
        at = np.append(np.arange(d), r)
        whole[np.ix_(at, at)] += np.outer(column, column)
        whole[r, r] += 0.5
    for r in range(d, d + n_diagonal // 2 if coupled else d):
        whole[r, r + n_diagonal // 2] = whole[r + n_diagonal // 2, r] = rng.uniform(-0.4, 0.4)
    return whole


def local_of(whole, gradient, d, coupled=False):
    diagonal, half = np.diagonal(whole)[d:].copy(), (len(whole) - d) // 2 if coupled else 0
    coupled = np.diagonal(whole[d : d + half, d + half :]).copy()
    parts = whole[None, :d, :d].copy(), whole[None, d:, :d].copy(), diagonal[None], coupled[None]
    return Local(np.zeros(1), gradient[None], *parts)


@pytest.mark.parametrize(("n_diagonal", "coupled"), [(0, False), (4, False), (6, True)])
def test_a_step_within_a_large_radius_is_the_bounded_minimum(n_diagonal, coupled):
    rng = np.random.default_rng(0)
    for _ in range(30):
        d = int(rng.integers(1, 7))
        whole, gradient = arrow(rng, d, n_diagonal, coupled), rng.normal(0, 3, d + n_diagonal)
        low, high = np.full((1, d + n_diagonal), -np.inf), np.full((1, d + n_diagonal), np.inf)
        local = local_of(whole, gradient, d, coupled)
        damping = np.zeros(1)
        step = steps(local, low, high, np.array([1e9]), damping)[0]
        np.testing.assert_allclose(step, -np.linalg.solve(whole, gradient), atol=1e-8)
        assert damping[0] == 0
        short = steps(local, low, high, np.array([1e-3]), damping)[0]
        assert 0 < np.abs(short).max() <= 1e-3
        assert gradient @ short < 0
        change = gradient @ step + 0.5 * step @ whole @ step
        assert trust_region._change(local, step[None])[0] == pytest.approx(change)
        bounded = steps(
            local, np.full_like(low, -0.1), np.full_like(low, 0.2), np.array([1e9]), np.zeros(1)
        )[0]
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
            diagonal = np.tile(np.diagonal(whole)[5:], (n, 1))
            parts = (
                np.tile(whole[:5, :5], (n, 1, 1)),
                np.tile(whole[5:, :5], (n, 1, 1)),
                diagonal,
                np.zeros((n, 0)),
            )
            return Local(value, slopes, *parts)

        starts = rng.uniform(low, high, (4, 8))
        ends = descend(function, starts, (low, high), max_iter=100)
        root = np.linalg.cholesky(whole).T
        expected = lsq_linear(
            root, -np.linalg.solve(root.T, gradient), (low, high), tol=1e-14, method="bvls"
        ).x
        np.testing.assert_allclose(ends.theta[ends.best], expected, atol=1e-6)
        assert ends.converged[ends.best]


def rosenbrock(thetas):
    """Rosenbrock's function plus a wall of infinite values."""
    x, y = thetas.T
    value = np.where(x > 3, np.inf, 100 * (y - x**2) ** 2 + (1 - x) ** 2)
    slopes = np.stack([-400 * x * (y - x**2) - 2 * (1 - x), 200 * (y - x**2)], axis=1)
    dense = np.array(
        [[[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, 200.0]] for a, b in thetas]
    )
    return Local(value, slopes, dense, np.zeros((len(x), 0, 2)), *np.zeros((2, len(x), 0)))


def test_a_curved_valley_is_followed_and_infinite_values_are_avoided():
    bounds = np.full(2, -5.0), np.full(2, 5.0)
    ends = descend(
        rosenbrock,
        np.array([[-1.2, 1.0], [2.5, -4.0], [4.0, 0.0]]),
        bounds,
        max_iter=200,
        tol=1e-14,
    )
    np.testing.assert_allclose(ends.theta[ends.best], [1, 1], atol=1e-6)
    assert ends.stopped[2] and ends.n_iter[2] == 0  # its value is infinite
    short = descend(rosenbrock, np.array([[-1.2, 1.0]]), bounds, max_iter=3)
    assert short.n_iter[0] == 3 and not short.converged[0]


def bowl(thetas):
    """Return the squared distance to the origin, where one full Newton step ends."""
    n = len(thetas)
    dense = np.tile(2 * np.eye(2), (n, 1, 1))
    return Local(
        (thetas**2).sum(axis=1), 2 * thetas, dense, np.zeros((n, 0, 2)), *np.zeros((2, n, 0))
    )


def test_a_follower_has_its_leaders_end_and_convergence():
    bounds = np.full(2, -9.0), np.full(2, 9.0)
    ends = descend(bowl, np.array([[1.005, 0.0], [0.5, 0.0]]), bounds, max_iter=50)
    np.testing.assert_array_equal(ends.leads, [False, True])
    np.testing.assert_array_equal(ends.theta[0], ends.theta[1])
    assert ends.local.value[0] == ends.local.value[1]
    assert ends.converged.all() and ends.best == 1


def test_the_best_of_equal_ends_has_converged():
    ends = Descents.at(np.zeros((3, 2)), bowl(np.zeros((3, 2))))
    ends.converged[1] = True
    assert ends.best == 1
    ends.local.value[2] = -1.0
    assert ends.best == 2


def test_descents_at_the_same_point_do_not_follow_each_other_in_turn():
    ends = Descents.at(np.zeros((2, 2)), bowl(np.zeros((2, 2))))
    ends.leader[1] = 0
    ends.stopped[1] = True
    ends.local.value[0] = 1e-300  # by rounding, the leader ends above its follower
    leave_followers(ends)
    np.testing.assert_array_equal(ends.leader, [0, 0])
    assert not ends.stopped[0]
