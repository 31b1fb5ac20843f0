"""Units of a log, standard errors by unit, and intervals of shares."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from dcglearn import Preferences
from dcglearn.foundation.intervals import mean_and_error, normal_interval, normal_quantile, wilson
from dcglearn.trust.resampling import divided, folds_of_units, speaks_of, unit_of
from tests.makers import random_log


def test_the_unit_is_the_coarsest_of_which_there_are_three():
    log = random_log(30)
    assert unit_of(log) == "pair" and speaks_of(log, "pair") == "new pairs of lists"
    three, two, one = (np.array([*raters] * (30 // len(raters))) for raters in ("abc", "ab", "a"))
    for columns, unit, of in (
        ({"rater": three}, "rater", "new raters"),
        ({"rater": two}, "pair", "new pairs of lists of these two raters"),
        ({"rater": one, "query": three}, "query", "new queries of this rater"),
        ({"rater": two, "query": three}, "query", "new queries of these two raters"),
        ({"rater": three, "query": one}, "rater", "new raters of this query"),
        ({"rater": two, "query": two}, "pair", None),
    ):
        named = Preferences(log.preferred, log.other, **columns)
        assert unit_of(named) == unit
        assert of is None or speaks_of(named, unit) == of
    lists = np.eye(3, dtype=int)
    pairs = np.array([[i, j] for i in range(3) for j in range(i)] * 4)
    assert unit_of(Preferences(lists[pairs[:, 0]], lists[pairs[:, 1]])) == "list"


def test_errors_are_those_of_dependent_pairs():
    rng = np.random.default_rng(0)
    values, weight, cluster = 1 + rng.normal(size=200), rng.random(200), np.arange(200) // 4
    mean, error, n_units = mean_and_error(values, weight, (cluster, cluster))
    off = weight * (values - mean)
    assert mean == pytest.approx(np.average(values, weights=weight))
    assert error == pytest.approx(
        np.sqrt(50 / 49 * sum(off[cluster == c].sum() ** 2 for c in range(50))) / weight.sum()
    )
    assert n_units == 50
    first, second = rng.integers(0, 20, 200), rng.integers(20, 40, 200)
    _, error, n_units = mean_and_error(values, weight, (first, second))
    assert n_units == len(np.unique([first, second]))
    without = [(first != i) & (second != i) for i in range(40)]
    moved = [np.average(values[rest], weights=weight[rest]) - mean for rest in without]
    assert error == pytest.approx(np.linalg.norm(moved))
    for train, test in divided((first, second), 2, rng, across=False):
        assert not set(first[train]) & set(first[test]) and not set(second[train]) & set(
            second[test]
        )
    held_out = np.concatenate([test for _, test in divided((first, second), 4, rng)])
    assert sorted(held_out) == list(range(200))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("successes", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 30), (123_456, 1_000_000)]
)
def test_intervals_are_those_of_scipy(successes, n, level):
    assert wilson(successes, n, level) == tuple(
        binomtest(successes, n).proportion_ci(level, method="wilson")
    )
    assert normal_quantile(level) == pytest.approx(norm.ppf((1 + level) / 2), rel=1e-14)


def test_a_normal_interval_reaches_its_quantile_of_errors_on_both_sides():
    low, high = normal_interval(np.array([0.0, 2.0]), np.array([1.0, 0.5]), 0.95)
    np.testing.assert_allclose(low, norm.ppf(0.025, [0.0, 2.0], [1.0, 0.5]))
    np.testing.assert_allclose(high, norm.ppf(0.975, [0.0, 2.0], [1.0, 0.5]))


def test_folds_of_units_hold_each_out_once_and_whole():
    unit = np.repeat(np.arange(12), 3)
    folds = folds_of_units(unit, random_state=0)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(unit)))
    assert all(not set(unit[train]) & set(unit[test]) for train, test in folds)
