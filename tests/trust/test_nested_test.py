"""Nested tests: how often they speak against logs of DCGs, by the number of judgements."""

import os
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import dcglearn as dl
from dcglearn.learning.fit import fit_log
from dcglearn.learning.model import log_metric
from dcglearn.learning.options import DCGOptions
from dcglearn.trust.nested_test import (
    FALSE_POSITIVE_RATE,
    agreement,
    blunter_draws,
    lists_of_judges,
    nested_test,
    on_independent,
    simulated,
    single_verdicts,
)
from dcglearn.trust.product_form import increments_of, weights_of_increments
from tests.learning.makers import plain_model, random_pairs
from tests.makers import rated_pairs
from tests.tables import table

N_LOGS = int(os.environ.get("DCGLEARN_LEVEL_LOGS", "40"))
"""Number of logs of each test and size; 200 tell a rate of 10% from one of 5%."""


def test_increments_count_as_the_weights_that_they_make():
    rng = np.random.default_rng(0)
    pairs, increments = random_pairs(rng, 40, 5, 4), rng.exponential(1, (3, 5))
    weights = np.hstack([weights_of_increments(increments), np.zeros((5, 1))])  # the last of -1
    values = [weights[np.arange(5), lists].sum(axis=1) for lists in (pairs.first, pairs.second)]
    z = increments_of(pairs, 4) @ increments.ravel()
    np.testing.assert_allclose(z, values[0] - values[1], atol=1e-12)


def p_of_segments(log):
    """Return the p-value of two segments, of every other pair."""
    segments = np.resize(["one", "two"], len(log))
    return dl.trust.segment_test(log.changed(segment=segments)).p_value


P_VALUES = {
    "positions": lambda log: dl.trust.position_dependence(log, n_resamples=39).p_value,
    "segments": p_of_segments,
}


@pytest.mark.long
@table("n", [100, 200, 500])
@table("truth", ["D1", "D2"])
@table("name", P_VALUES)
def test_a_test_rejects_at_most_five_percent_of_logs_of_dcgs(name, truth, n):
    truth = dl.simulate.ground_truth(truth).normalised()
    rejected = 0
    for seed in range(N_LOGS):
        rng = np.random.default_rng([n, seed])
        log = dl.simulate.preference_pairs(
            truth, n, lists="free", temperature=0.1, random_state=rng
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            rejected += P_VALUES[name](log) <= FALSE_POSITIVE_RATE
    # of these twelve cases none is beyond in 19 of 20 runs
    assert rejected <= binom.ppf(1 - 0.05 / 12, N_LOGS, FALSE_POSITIVE_RATE)


DCG = dl.DCG([0, 0.4, 0.7, 1], [1, 0.7, 0.5, 0.4])


@pytest.mark.long
@table("own", [0.0, 1.0])
def test_lists_that_were_rated_are_not_called_dependent_on_positions(own):
    rejected = 0
    for seed in range(N_LOGS // 2):
        # lists whose ratings vary by list, by as much as `own`, and by rating
        rng = np.random.default_rng(seed)
        lists = rng.integers(0, 4, (25, 4)).astype(np.int8)
        rated = np.repeat(np.arange(25), 6)
        worth = 3 * DCG.score(lists) + own * rng.normal(size=25)
        ratings = np.clip(np.round(1 + worth[rated] + rng.normal(size=150)), 0, 6)
        log = rated_pairs(lists[rated], ratings, rng.integers(0, 18, 150))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            rejected += P_VALUES["positions"](log) <= FALSE_POSITIVE_RATE
    assert rejected <= binom.ppf(0.95, N_LOGS // 2, FALSE_POSITIVE_RATE)


def test_raters_share_the_noise_of_a_list_unless_each_is_a_judge():
    # random verdicts, on the same pairs by two raters
    lists = np.random.default_rng(0).integers(0, 4, (2, 150, 8)).astype(np.int8)
    log = dl.Preferences(*np.tile(lists, (2, 1)), n_grades=4, rater=np.repeat(["one", "two"], 150))
    for loss, agree in (("logistic", True), ("robust", False)):
        fit = fit_log(log, DCGOptions(loss=loss))
        drawn = simulated(fit, 1.0, fit.theta, np.random.default_rng(0))
        one, two = drawn.first[:150], drawn.first[150:]
        assert ((one == two).all(axis=1).mean() > 0.95) == agree


def free_log(n, **columns):
    """Return preferences by D1 with noise, and weights."""
    truth = dl.simulate.ground_truth("D1")
    log = dl.simulate.preference_pairs(truth, n, lists="free", temperature=0.3, random_state=0)
    return log.changed(**columns)


def test_a_verdict_counts_once_whatever_its_weight():
    weight = np.exp(1.5 * np.random.default_rng(0).normal(size=300))
    widths = []
    for log in (free_log(300), free_log(300, weight=weight)):
        fit, _ = on_independent(fit_log(log, DCGOptions()))
        np.testing.assert_allclose(fit.pairs.weights, 1)
        widths.append(blunter_draws(fit, 512, 0).std(axis=0).mean())
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_verdicts_on_a_pair_are_alike_unless_they_disagree():
    # five verdicts on each pair, by coins
    lists = np.random.default_rng(0).integers(0, 4, (2, 150, 8)).astype(np.int8)
    ahead = np.random.default_rng(1).binomial(5, 0.5, 150).astype(float)
    both = np.concatenate([lists, lists[::-1]], axis=1)
    counts = np.concatenate([ahead, 5 - ahead])
    given = counts > 0
    coins = dl.Preferences(*both[:, given], n_grades=4, weight=counts[given])
    rng = np.random.default_rng(0)
    rows = single_verdicts(coins, rng)
    assert len(rows) == 750 and len(single_verdicts(coins, rng, 100)) == 100

    # more verdicts than can be drawn one by one
    many = coins.changed(weight=coins.weights * 1e9)
    assert 50 <= len(single_verdicts(many, rng, 100)) < 100
    assert agreement(fit_log(rows, DCGOptions())) < 0.1

    # one verdict that weighs as much, or weights that are not whole
    for weight in (5.0, 0.3):
        log = dl.Preferences(*lists, n_grades=4, weight=np.full(150, weight))
        assert agreement(fit_log(single_verdicts(log, rng), DCGOptions())) == 1


def test_verdicts_on_a_pair_agree_as_often_as_they_are_alike():
    lists = np.random.default_rng(0).integers(0, 4, (2, 40, 4)).astype(np.int8)
    fit = fitted_to(dl.Preferences(*np.tile(lists, (2, 1)), n_grades=4), sharp=-9.0, error=-9.0)
    rng = np.random.default_rng(1)
    for alike in (0.0, 0.5, 1.0):
        drawn = [simulated(fit, alike, fit.theta, rng).first for _ in range(150)]
        agree = np.mean([(first[:40] == first[40:]).all(axis=1).mean() for first in drawn])
        assert agree == pytest.approx((1 + alike) / 2, abs=0.03)


def test_a_weight_of_three_tests_as_three_rows_do():
    counts = free_log(150, weight=np.resize([1.0, 3.0, 2.0], 150))
    flipped = np.arange(0, 150, 7)
    opposed = dl.Preferences(
        np.concatenate([counts.preferred, counts.other[flipped]]),
        np.concatenate([counts.other, counts.preferred[flipped]]),
        n_grades=counts.n_grades,
        weight=np.concatenate([counts.weight, np.ones(len(flipped))]),
    )
    rows = np.repeat(np.arange(len(opposed)), opposed.weight.astype(int))
    written = opposed[rows].changed(weight=None)

    # the p-values agree, of which five larger gains leave a standard error of p / 5^.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one, other = (
            dl.trust.position_dependence(log, n_resamples=99) for log in (opposed, written)
        )
    assert one.statistic == pytest.approx(other.statistic, rel=1e-3)
    assert abs(np.log(one.p_value / other.p_value)) < 2.5 * (2 / 5) ** 0.5


def fitted_to(log, *, sharp=1.0, error=-1.5, rise=-1.0):
    """Return `DCG` as if fitted to a log, with judges of that sharpness, error and threshold."""
    fit = fit_log(log, DCGOptions())
    model = plain_model(
        depth=4, n_grades=4, ties=fit.facts.ties, n_levels=fit.model.n_levels, centre=sharp
    )
    at, theta = model.places, np.zeros(model.places.n)
    theta[: at.delta.stop] = log_metric(DCG)[:-2]
    theta[at.sharpness], theta[at.error], theta[at.thresholds] = sharp, error, rise
    return replace(fit, function=replace(fit.function, model=model, share=1.0), theta=theta)


def expected(model, theta, lists):
    """Return the chance that the first list of each pair is named, and that of a tie."""
    points = model.points(theta[None])
    z = points.gains[0][lists] @ points.discounts[0] @ [1, -1]
    cut, error = points.thresholds[0, 1] if model.ties else 0.0, points.errors[0, 0]
    ahead, behind = 1 / (1 + np.exp(cut - z)), 1 / (1 + np.exp(cut + z))
    return (1 - error) * ahead + error * behind, 1 - ahead - behind


@table("tied", [False, True])
@table("alike", [1.0, 0.3])
def test_verdicts_have_the_probabilities_of_the_model(alike, tied):
    lists = np.random.default_rng(0).integers(0, 4, (12, 2, 4)).astype(np.int8)
    fit = fitted_to(dl.Preferences(lists, n_grades=4, tie=[tied, *[False] * 11]))
    first, tie, rng = np.zeros(12), np.zeros(12), np.random.default_rng(1)
    for _ in range(1500):
        drawn = simulated(fit, alike, fit.theta, rng)
        decided = drawn.level > 0
        first += decided & (drawn.first == lists[:, 0]).all(axis=1)
        tie += ~decided
    chance, of_tie = expected(fit.model, fit.theta, lists)
    np.testing.assert_allclose(first / 1500, chance, atol=0.05)
    np.testing.assert_allclose(tie / 1500, of_tie if tied else 0, atol=0.05)


def test_a_list_that_recurs_keeps_its_noise():
    lists = np.random.default_rng(0).integers(0, 4, (6, 4)).astype(np.int8)
    first, second = (x.ravel() for x in np.meshgrid(range(6), range(6)))
    log = dl.Preferences(lists[first[first < second]], lists[second[first < second]], n_grades=4)
    fit = fitted_to(log, sharp=-9.0, error=-9.0)
    rng = np.random.default_rng(0)
    orders = []
    for _ in range(50):
        drawn = simulated(fit, 1.0, fit.theta, rng)
        wins = (drawn.first[:, None] == lists).all(axis=2).sum(axis=0)
        orders.append(tuple(wins))
        assert sorted(wins) == list(range(6))  # judged by noise alone, and still in one order
    assert len(set(orders)) > 30


def test_simulated_logs_have_the_pairs_of_the_log_and_its_independent_verdicts():
    log = free_log(60, weight=np.resize([1.0, 3.0], 60), rater=np.resize(["a", "b", "c"], 60))
    fit, alike = on_independent(fit_log(log, DCGOptions()))
    soft = fit.model.sharpened(fit.theta, (-4.0,))[0]
    drawn = simulated(fit, alike, soft, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.weights, 1)
    np.testing.assert_array_equal(drawn.rater, fit.pairs.rater)
    for one, other in zip(lists_of_judges(drawn), lists_of_judges(fit.pairs), strict=True):
        assert not np.array_equal(one, other)
    both = (np.sort(lists_of_judges(pairs), axis=0) for pairs in (drawn, fit.pairs))
    np.testing.assert_array_equal(*both)


def test_the_value_says_how_many_simulated_gains_are_as_large():
    lists = np.random.default_rng(0).integers(0, 4, (2, 40, 4)).astype(np.int8)
    fit = fit_log(dl.Preferences(*lists, n_grades=4), DCGOptions())

    def gains(*values):
        """Return a statistic with the given values, the log's own first."""
        values = iter(values)
        return lambda pairs: next(values)

    gain, p_value, null = nested_test(fit, 1.0, gains(1, 0, 0), 2)
    assert (gain, p_value) == (1, 1 / 3) and len(null) == 2

    # of 39, one may be as large; with the second the simulation ends
    assert nested_test(fit, 1.0, gains(1, *[0] * 38, 1), 39)[1] == 2 / 40
    _, p_value, null = nested_test(fit, 1.0, gains(1, 0, 1, 0, 1), 39)
    assert p_value == 2 / 4 and len(null) == 4
