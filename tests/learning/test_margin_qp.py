"""The QP: optimality certificates, finite differences, brute force, cvxpy as referee."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn import DCG
from dcglearn.io import encode
from dcglearn.learning.margin_qp import bounded_minimum, certificate, solve, solve_cvxpy
from dcglearn.learning.options import QPOptions
from dcglearn.learning.pair_sums import QPPairs
from dcglearn.simulate import preference_pairs
from tests.makers import random_log

ONE = np.ones(1)


def pairs_of(log, margin=ONE, weight=ONE):
    return QPPairs(log.preferred, log.other, margin, weight)


def solved(pairs, n_grades, C, *, start=None, **options):
    start = np.zeros((pairs.first.shape[1], n_grades)) if start is None else start
    return solve(pairs, QPOptions(C=C, **options), start)


def solved_by_cvxpy(pairs, n_grades, C, **options):
    return solve_cvxpy(pairs, QPOptions(C=C, solver="cvxpy", **options), n_grades)


def brute_force_bounded(hessian, gradient, lower):
    """Try every set of active bounds; the minimum is the feasible candidate of least value."""
    best, best_value = None, np.inf
    bounded = np.arange(len(gradient) - len(lower), len(gradient))
    lower = np.append(np.full(len(gradient) - len(lower), -np.inf), lower)
    for size in range(len(bounded) + 1):
        for active in itertools.combinations(bounded, size):
            free = np.setdiff1d(np.arange(len(gradient)), active)
            x = np.where(np.isin(np.arange(len(gradient)), active), lower, 0.0)
            if len(free):
                fixed = hessian[np.ix_(free, list(active))] @ x[list(active)]
                x[free] = np.linalg.solve(hessian[np.ix_(free, free)], -gradient[free] - fixed)
            value = x @ hessian @ x / 2 + gradient @ x
            if (x >= lower - 1e-9).all() and value < best_value:
                best, best_value = x, value
    return best


@given(st.integers(1, 7), st.integers(0, 2**32), st.integers(0, 7))
def test_bounded_minimum_is_the_brute_force_one(size, seed, bounded):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    hessian, gradient = root @ root.T + 0.1 * np.eye(size), rng.normal(size=size)
    lower = (-rng.exponential(size=size) * (rng.random(size) < 0.7))[:bounded]
    expected = brute_force_bounded(hessian, gradient, lower)
    np.testing.assert_allclose(bounded_minimum(hessian, gradient, lower), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("seed", "n", "depth", "n_grades", "C"), [(62, 177, 9, 6, 8.5e4), (170, 660, 10, 7, 1.1e6)]
)
def test_clean_logs_with_a_large_c_are_solved_too(seed, n, depth, n_grades, C):
    rng = np.random.default_rng(seed)
    truth = DCG(np.sort(rng.random(n_grades)), np.sort(rng.random(depth))[::-1])
    log = preference_pairs(truth, n, lists="free", random_state=seed)
    assert solved(pairs_of(log), n_grades, C, max_iter=200).gap <= 1e-8


def test_gradient_and_hessian_are_those_of_the_objective():
    pairs, rng = pairs_of(random_log(60)), np.random.default_rng(1)
    weights = rng.normal(0, 0.1, (10, 5))

    def objective(w):
        return (w**2).sum() + 3.0 * pairs.evaluate(w, False).loss

    sums = pairs.evaluate(weights)
    gradient = 2 * weights - 6.0 * sums.moment
    direction = rng.normal(size=weights.shape)
    numeric = (objective(weights + 1e-6 * direction) - objective(weights - 1e-6 * direction)) / 2e-6
    assert numeric == pytest.approx(np.vdot(gradient, direction), rel=1e-6)
    flat = direction.ravel()
    second = flat @ (2 * np.eye(50) + 6.0 * sums.curvature) @ flat
    ahead, behind = (pairs.evaluate(weights + s * 1e-7 * direction).moment for s in (1, -1))
    assert 2 * flat @ flat - 6.0 * np.vdot(ahead - behind, direction) / 2e-7 == pytest.approx(
        second, rel=1e-5
    )


@pytest.mark.parametrize("kind", ["permutations", "free", "unknown"])
@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_same_optimum_as_cvxpy(kind, monotone, C, noise):
    log = random_log(120, kind, seed=3, noise=noise)
    mine = solved(pairs_of(log), 5, C, monotone=monotone)
    theirs = solved_by_cvxpy(pairs_of(log), 5, C, monotone=monotone)
    assert mine.gap <= 1e-8
    assert mine.converged
    # Clarabel stops at an absolute gap of 1e-8
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-7, abs=2e-8)
    if (
        C >= 1
    ):  # at a small C the norm hardly matters to the objective, and an interior point stays loose
        np.testing.assert_allclose(
            mine.weights, theirs.weights, atol=1e-3 * np.abs(mine.weights).max()
        )
    if monotone:
        assert (np.diff(mine.weights, axis=1) >= 0).all()


@given(st.integers(0, 2**32), st.floats(-5, 6), st.booleans(), st.sampled_from([0.0, 0.3]))
def test_gap_proves_the_optimum_whatever_margins_and_weights(seed, power, monotone, noise):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    log = random_log(n, "unknown", seed=seed, noise=noise)
    pairs = pairs_of(log, rng.normal(0.5, 1, n), rng.exponential(1, n) + 1e-3)
    assert solved(pairs, 5, 10.0**power, monotone=monotone).gap <= 1e-8


@given(st.integers(0, 2**32), st.booleans())
def test_gap_bounds_the_distance_to_the_optimum_at_any_point(seed, monotone):
    pairs, rng = pairs_of(random_log(40, seed=seed, noise=0.2)), np.random.default_rng(seed)
    best = solved(pairs, 5, 1.0, monotone=monotone).objective
    anywhere = np.sort(rng.normal(0, 0.3, (10, 5)), axis=1)
    objective, gap = certificate(pairs.evaluate(anywhere, False), anywhere, 1.0, monotone)
    assert objective - best <= gap * objective * (1 + 1e-12)


def test_duplicate_is_weight_two_and_order_is_nothing():
    log = random_log(80, noise=0.1)
    twice = solved(
        QPPairs(np.tile(log.preferred, (2, 1)), np.tile(log.other, (2, 1)), ONE, ONE), 5, 0.7
    )
    double = solved(pairs_of(log, weight=np.full(1, 2.0)), 5, 0.7)
    half_C = solved(pairs_of(log), 5, 1.4)
    shuffled = solved(
        pairs_of(log[np.random.default_rng(0).permutation(80)], weight=np.full(80, 2.0)), 5, 0.7
    )
    for other in (double, half_C, shuffled):
        np.testing.assert_allclose(twice.weights, other.weights, atol=1e-9)


def test_margins_scale_the_answer():
    pairs = random_log(80, noise=0.1)
    once, thrice = (solved(pairs_of(pairs, margin=np.full(1, m)), 5, 1.0) for m in (1.0, 3.0))
    np.testing.assert_allclose(3 * once.weights, thrice.weights, atol=1e-8)


def test_single_pair_by_hand():
    # One pair, one position, grades 1 > 0: W = (-x, x), F = 2 x^2 + C (1 - 2x)^2, so x = C / (1 +
    # 2C).
    pairs = QPPairs(np.array([[1]], np.int8), np.array([[0]], np.int8), ONE, ONE)
    for C in (0.01, 1.0, 50.0):
        x = C / (1 + 2 * C)
        np.testing.assert_allclose(solved(pairs, 2, C).weights, [[-x, x]], rtol=1e-10)


def test_linear_svc_has_the_same_optimum_without_monotonicity():
    from sklearn.svm import LinearSVC

    log = random_log(300, noise=0.1)
    d = (encode(log.preferred, 5) - encode(log.other, 5)).reshape(len(log), -1)
    X, y = np.vstack([d, -d]).astype(float), np.repeat([1, -1], len(log))
    svc = LinearSVC(dual=False, C=0.25, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(
        solved(pairs_of(log), 5, 1.0, monotone=False).weights.ravel(), svc.coef_[0], atol=1e-5
    )


def test_long_logs_start_from_a_subsample_and_end_the_same():
    log = random_log(70_000, noise=0.1)
    from_subsample = solved(pairs_of(log), 5, 1.0, tol=1e-13)
    from_zero = solved(pairs_of(log), 5, 1.0, start=np.zeros((10, 5)), tol=1e-13)
    assert from_subsample.gap <= 1e-8
    np.testing.assert_allclose(from_subsample.weights, from_zero.weights, atol=1e-9)


def test_any_start_ends_at_the_same_optimum():
    pairs = pairs_of(random_log(100, noise=0.2))
    best = solved(pairs, 5, 1.0, tol=1e-13).weights
    for monotone in (True, False):
        start = np.random.default_rng(0).normal(size=(10, 5))  # not monotone itself
        solution = solved(pairs, 5, 1.0, monotone=monotone, start=start, tol=1e-13)
        assert solution.converged
        assert np.allclose(solution.weights, best, atol=1e-8) == monotone


def test_own_constraints_and_their_gap():
    log = random_log(100, noise=0.2)
    decreasing = solved_by_cvxpy(
        pairs_of(log), 5, 1.0, constraints=lambda W: [W[:-1, 4] - W[:-1, 0] >= W[1:, 4] - W[1:, 0]]
    )
    spans = decreasing.weights[:, 4] - decreasing.weights[:, 0]
    assert (np.diff(spans) <= 1e-6).all()
    assert 0 <= decreasing.gap < 1e-6
    assert decreasing.objective >= solved(pairs_of(log), 5, 1.0).objective - 1e-6


def test_impossible_constraints_are_named():
    with pytest.raises(RuntimeError, match="infeasible"):
        solved_by_cvxpy(
            pairs_of(random_log(20)), 5, 1.0, constraints=lambda W: [W[0, 0] >= 1, W[0, 0] <= 0]
        )
