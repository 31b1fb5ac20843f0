"""Units of a log, standard errors by unit, and intervals of shares."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm, ttest_1samp
from scipy.stats import t as student

from dcglearn import Preferences
from dcglearn.foundation.intervals import mean_and_error, normal_quantile, wilson
from dcglearn.trust.resampling import folds, half_test, speaks_of, unit_of
from tests.makers import random_log, refused
from tests.tables import table


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
    parts = folds((first, second), 0)
    for train, test in parts:
        assert not set(first[train]) & set(first[test])
        assert not set(second[train]) & set(second[test])
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(200))


@table("level", [0.5, 0.9, 0.95, 0.999])
@table(("successes", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 30), (123_456, 1_000_000)])
def test_intervals_are_those_of_scipy(successes, n, level):
    assert wilson(successes, n, level) == tuple(
        binomtest(successes, n).proportion_ci(level, method="wilson")
    )
    assert normal_quantile(level) == pytest.approx(norm.ppf((1 + level) / 2), rel=1e-14)


def test_folds_of_units_hold_each_out_once_and_whole():
    unit = np.repeat(np.arange(12), 3)
    parts = folds((unit, unit), random_state=0)
    assert len(parts) == 5 and sorted(np.concatenate([test for _, test in parts])) == list(
        range(len(unit))
    )
    assert all(not set(unit[train]) & set(unit[test]) for train, test in parts)
    refused("0 pairs can be held out, fewer than 1", folds, (np.zeros(9, int),) * 2, 0)
    refused("36 pairs can be held out, fewer than 37", folds, (unit, unit), 0, fewest=37)


def test_a_half_is_tested_by_flips_of_units_or_by_t_where_they_are_few():
    # one sign a unit, zeros aside: the binomial test
    signs = np.array([1.0] * 10 + [-1.0] * 3 + [0.0] * 5)
    unit, ones = np.arange(18), np.ones(18)
    p_value, share = half_test(signs, ones, (unit, unit))
    assert p_value == pytest.approx(binomtest(10, 13).pvalue)
    assert share == pytest.approx(10 / 13)
    assert half_test(-signs, ones, (unit, unit)) == pytest.approx((p_value, 3 / 13))
    assert half_test(0 * signs, ones, (unit, unit)) == (1.0, 0.5)

    # signs of a unit are flipped together: seven units that all say the same
    seven = np.repeat(np.arange(7), 4)
    assert half_test(np.ones(28), np.ones(28), (seven, seven))[0] == pytest.approx(2 / 2**7)

    # five units have too few patterns
    rng = np.random.default_rng(0)
    signs, five = np.sign(rng.random(50) - 0.3), np.arange(50) % 5
    t = ttest_1samp(np.bincount(five, signs) / 10, 0).pvalue
    assert half_test(signs, np.ones(50), (five, five))[0] == pytest.approx(t)

    # of pairs of few lists, no less than by the jackknife of lists
    first, second = np.triu_indices(6, 1)
    signs = np.where(first == 0, -1.0, 1.0)
    means = [signs[(first != i) & (second != i)].mean() - signs.mean() for i in range(6)]
    t = 2 * student.sf(signs.mean() / np.linalg.norm(means), 5)
    p_value, _ = half_test(signs, np.ones(15), (first, second))
    assert p_value == pytest.approx(max(t, binomtest(10, 15).pvalue))
