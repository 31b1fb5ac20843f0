"""The likelihood of answers against brute force, its derivatives, and the truth that it finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_expit

from dcglearn.learning.answer_likelihood import SPREADS, JudgedAnswers, integrated, profiled
from dcglearn.learning.curves import Model
from dcglearn.learning.objective import Objective
from dcglearn.learning.pairs import Pairs
from tests.learning.makers import value_and_slope
from tests.makers import random_lists


def answered(n, seed, most=4):
    rng = np.random.default_rng(seed)
    utility, count = rng.normal(size=n), rng.integers(1, most, n)
    right = rng.binomial(count, 1 / (1 + np.exp(-utility - rng.normal(-0.5, 1.5, n))))
    return utility, right.astype(float), count.astype(float)


@given(
    st.floats(-3, 3),
    st.floats(-2, 2),
    st.floats(-1.5, 0.7),
    st.integers(1, 8).flatmap(lambda m: st.tuples(st.just(m), st.floats(0, m))),
)
def test_quadrature_agrees_with_brute_force(utility, mu, log_tau, answers):
    count, right = answers
    tau = np.exp(log_tau)

    def density(b):
        normal = np.exp(-0.5 * ((b - mu) / tau) ** 2) / (tau * np.sqrt(2 * np.pi))
        return normal * np.exp(
            right * log_expit(utility + b) + (count - right) * log_expit(-utility - b)
        )

    expected = np.log(quad(density, mu - 12 * tau, mu + 12 * tau, epsabs=1e-14, limit=300)[0])
    at = np.array([mu, log_tau])
    value = integrated(np.array([utility]), np.array([right]), np.array([count]), at)[0]
    assert value + 0.5 * np.sum((at / SPREADS) ** 2) == pytest.approx(expected, abs=2e-3)


def test_the_profile_is_a_maximum_with_the_derivatives_that_it_names():
    utility, right, count = answered(40, 1)
    value, _, slope, curvature, across, inner = profiled(utility, right, count)
    hessian = np.diag(curvature) - across @ np.linalg.solve(inner, across.T)
    for mu in np.linspace(-3, 3, 13):
        for log_tau in np.linspace(-2, 2, 9):
            assert integrated(utility, right, count, np.array([mu, log_tau]))[0] <= value + 1e-9
    for i in (0, 17):
        step = 1e-5 * (np.arange(40) == i)
        up, down = profiled(utility + step, right, count), profiled(utility - step, right, count)
        assert slope[i] == pytest.approx((up[0] - down[0]) / 2e-5, abs=1e-6)
        assert hessian[i] == pytest.approx((up[2] - down[2]) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("n_pairs", [0, 12])
def test_the_objective_has_the_right_gradient_and_hessian(n_pairs):
    rng = np.random.default_rng(0)
    lists = random_lists(30 + 2 * n_pairs, "unknown", rng, depth=3, n_grades=4)
    _, right, count = answered(30, 2)
    pairs = Pairs.plain(lists[30 : 30 + n_pairs], lists[30 + n_pairs :], np.ones(1))
    judged = JudgedAnswers(pairs, lists[:30], right, count)
    objective = Objective(Model(3, 4, with_errors=False), judged, 1.0)
    theta = np.array([0.3, -0.2, 0.1, 0.4, 0.2, 1.0])
    local = objective(theta[None])
    for i in range(len(theta)):
        step = 1e-5 * (np.arange(len(theta)) == i)
        (up, slope_up), (down, slope_down) = (
            value_and_slope(objective, theta + step),
            value_and_slope(objective, theta - step),
        )
        assert local.gradient[0, i] == pytest.approx((up - down) / 2e-5, abs=1e-5)
        assert local.hessian[0, i] == pytest.approx((slope_up - slope_down) / 2e-5, abs=1e-5)
