"""The small minimiser: minima within bounds and without, by slopes and by curvatures."""

import numpy as np
import pytest

from dcglearn.learning.minimise import minimised, minimised_by_newton


def banana(x):
    """Return Rosenbrock's function, with the minimum 0 at (1, 1), its gradient and its Hessian."""
    a, b = 1 - x[0], x[1] - x[0] ** 2
    gradient = np.array([-2 * a - 400 * x[0] * b, 200 * b])
    hessian = np.array([[2 - 400 * b + 800 * x[0] ** 2, -400 * x[0]], [-400 * x[0], 200.0]])
    return float(a**2 + 100 * b**2), gradient, hessian


def test_both_methods_find_the_minimum():
    by_slopes = minimised(lambda x: banana(x)[:2], np.array([-1.2, 1.0]), tol=1e-15)
    by_newton = minimised_by_newton(banana, np.array([-1.2, 1.0]))
    for end in (by_slopes, by_newton):
        assert end.converged
        assert end.n_iter > 0
        np.testing.assert_allclose(end.x, 1.0, atol=1e-4)
        assert end.value == pytest.approx(0.0, abs=1e-8)
    assert by_newton.gap < 1e-6


def test_bounds_hold_and_a_held_slope_is_no_gap():
    end = minimised(lambda x: banana(x)[:2], np.array([-1.2, 1.0]), (-2.0, np.array([0.5, 2.0])))
    np.testing.assert_allclose(end.x, [0.5, 0.25], atol=1e-4)
    assert end.gap < 1e-3
    assert abs(banana(end.x)[1][0]) > 0.5


def test_a_limit_of_iterations_is_told():
    start = np.array([-1.2, 1.0])
    assert not minimised(lambda x: banana(x)[:2], start, max_iter=2).converged
    stopped = minimised_by_newton(banana, start, max_iter=2)
    assert (stopped.n_iter, stopped.converged) == (2, False)


def test_newton_leaves_a_saddle_and_takes_diagonal_hessians():
    def two_valleys(x):
        return float((x**4 / 4 - x**2 / 2).sum()), x**3 - x, 3 * x**2 - 1

    end = minimised_by_newton(two_valleys, np.array([0.1, -0.2, 3.0]))
    np.testing.assert_allclose(end.x, [1.0, -1.0, 1.0], atol=1e-8)
    assert end.converged


def test_newton_leaves_a_saddle_along_the_axes_of_a_full_hessian():
    def two_valleys(x):
        value = float((x**4 / 4 - x**2 / 2).sum())
        return value, x**3 - x, np.diag(3 * x**2 - 1)

    end = minimised_by_newton(two_valleys, np.array([0.1, -0.2, 3.0]))
    np.testing.assert_allclose(end.x, [1.0, -1.0, 1.0], atol=1e-8)
    assert end.converged
