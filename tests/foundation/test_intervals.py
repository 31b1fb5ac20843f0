"""Intervals of means over units, and exact tests of sign flips."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import permutation_test, ttest_1samp

from dcglearn.foundation.intervals import (
    mean_and_error,
    sign_flip_p,
    student_interval,
    student_quantile,
    student_test,
)
from tests.tables import table


def interval(values, level=0.9):
    """Return the interval of the mean of values, each a unit, and its p-value."""
    unit = np.arange(len(values))
    mean, error, n_units = mean_and_error(values, np.ones(len(values)), (unit, unit))
    return student_interval(mean, error, n_units, level)


@table("n", [3, 5, 30])
@table("level", [0.8, 0.95])
def test_the_interval_and_the_test_are_those_of_scipy(n, level):
    values = np.random.default_rng(n).normal(0.3, 1, n)
    expected = ttest_1samp(values, 0.0)
    ends = expected.confidence_interval(level)
    np.testing.assert_allclose(interval(values, level), [*ends, expected.pvalue])
    found = student_test(values.mean(), values.std(ddof=1) / n**0.5, n, level)
    np.testing.assert_allclose([found["low"], found["high"]], ends)
    assert found["p_t"] == pytest.approx(expected.pvalue)


def test_fewer_than_three_units_and_no_spread_have_no_interval():
    for values in ([1.0, 2.0], [0.3, 0.3, 0.3, 0.3], [0.0] * 50):
        assert np.isnan(interval(np.array(values))).all()
    nothing = {"low": None, "high": None, "p_t": None}
    assert student_test(0.3691, 0.0, 4, 0.95) == nothing
    assert student_test(0.2, 0.1, 2, 0.95) == nothing
    assert np.isnan(student_quantile(2))


def test_units_of_several_values_count_once():
    rng = np.random.default_rng(0)
    of_unit = rng.normal(size=8)
    unit = np.repeat(np.arange(8), 5)
    weight = np.full(40, 0.7)
    mean, error, n_units = mean_and_error(of_unit[unit], weight, (unit, unit))
    assert n_units == 8
    np.testing.assert_allclose(student_interval(mean, error, n_units), interval(of_unit))

    # numbers of units that hold nothing do not count
    _, same, n_units = mean_and_error(of_unit[unit], weight, (3 * unit, 3 * unit))
    assert n_units == 8 and same == pytest.approx(error)


KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "half zeros": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.5),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "one outlier": lambda rng, n: rng.normal(size=n) * np.where(np.arange(n) == 0, 10, 1),
}


@table("kind", KINDS)
@table("n", [3, 5, 10, 30])
def test_ninety_percent_intervals_cover_with_few_units(kind, n):
    rng, n_draws = np.random.default_rng(n), 1000
    ends = np.array([interval(KINDS[kind](rng, n)) for _ in range(n_draws)])
    ends = ends[~np.isnan(ends[:, 0])]
    covered = np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0))
    assert covered >= 0.88 - 2.5 * np.sqrt(0.1 * 0.9 / n_draws)


def by_enumeration(values, two_sided):
    """Return the p-value by all patterns of signs."""
    sums = [np.dot(signs, values) for signs in product((-1, 1), repeat=len(values))]
    sums, observed = np.array(sums), values.sum()
    if two_sided:
        sums, observed = abs(sums), abs(observed)
    return np.mean(sums >= observed - 1e-9 * abs(values).sum())


@given(arrays(float, st.integers(1, 9), elements=st.integers(-4, 4).map(float)), st.booleans())
def test_sign_flips_are_enumerated(values, two_sided):
    assert sign_flip_p(values, two_sided=two_sided) == by_enumeration(values, two_sided)


@given(arrays(float, st.integers(1, 40), elements=st.floats(-3, 3, width=16)))
def test_sign_flips_do_not_depend_on_zeros_side_or_unit(values):
    p_value = sign_flip_p(values, 500)
    assert sign_flip_p(np.append(values, [0.0, 0.0]), 500) == p_value
    assert sign_flip_p(4 * values, 500) == p_value
    assert 0 < p_value <= 1
    if np.count_nonzero(values) <= 15:
        assert sign_flip_p(-values[::-1]) == p_value
        above, below = (sign_flip_p(sign * values, two_sided=False) for sign in (1, -1))
        assert above + below >= 1


def test_drawn_sign_flips_are_those_of_scipy_up_to_chance():
    for shift in (0.0, 0.3, 0.6):
        values = np.random.default_rng(1).normal(shift, 1, 24)
        drawn = permutation_test(
            (values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=3
        ).pvalue
        found = sign_flip_p(values, 20_000)
        assert found == pytest.approx(drawn, abs=4 * np.sqrt(drawn * (1 - drawn) / 10_000))
        assert sign_flip_p(values, 999) >= 1e-3


def test_four_equal_differences_have_the_exact_p_of_an_eighth():
    assert sign_flip_p(np.full(4, 0.3691)) == 0.125
    assert sign_flip_p(np.full(6, -0.2), two_sided=False) == 1
    assert sign_flip_p(np.full(6, 0.2), two_sided=False) == 2**-6
    assert sign_flip_p(np.zeros(5)) == 1
