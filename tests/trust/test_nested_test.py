"""Nested tests: how often they speak against logs of DCGs, by the number of judgements."""

import os
import warnings

import numpy as np
import pytest
from scipy.stats import binom

import dcglearn as dl
from dcglearn.learning.dcg_model import Model, log_curves
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import FittedDCG, fit_dcg
from dcglearn.learning.verdicts import verdicts_of
from dcglearn.trust.nested_test import (
    FALSE_POSITIVE_RATE,
    LogsOfDCG,
    blunter_draws,
    nested_test,
    share_of_lists,
)
from dcglearn.trust.resampling import reweighted
from tests.makers import rated_pairs

N_LOGS = int(os.environ.get("DCGLEARN_LEVEL_LOGS", "40"))
"""Number of logs of each test and size; 200 tell a rate of 10% from one of 5%."""


def p_of_segments(log):
    """Return the p-value of two segments, of every other pair."""
    segments = np.resize(["one", "two"], len(log))
    return dl.trust.segment_test(log.changed(segment=segments)).p_value


P_VALUES = {
    "positions": lambda log: dl.trust.position_dependence(log, n_resamples=39).p_value,
    "segments": p_of_segments,
}


@pytest.mark.long
@pytest.mark.parametrize("n", [100, 200, 500])
@pytest.mark.parametrize("truth", ["D1", "D2"])
@pytest.mark.parametrize("name", P_VALUES)
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
    assert rejected <= binom.ppf(0.975, N_LOGS, FALSE_POSITIVE_RATE)


def test_a_long_log_is_simulated_on_pairs_that_are_drawn_by_weight():
    log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 300, random_state=0)
    log = reweighted(log, 1.0 + np.arange(300) % 7)
    _, fitted = fit_dcg(log, DirectDescription(loss="robust", n_starts=1))

    logs = LogsOfDCG.like(fitted, most=60)
    assert 50 <= len(logs.first) <= 60
    assert logs.weight.sum() == pytest.approx(log.total_weight * 60 / 300)
    assert len(LogsOfDCG.like(fitted).first) == 300


def test_judges_share_the_noise_of_a_list_unless_it_is_their_own():
    # random verdicts, on the same pairs by two judges
    lists = np.random.default_rng(0).integers(0, 4, (2, 150, 8)).astype(np.int8)
    log = dl.Preferences(*np.tile(lists, (2, 1)), n_grades=4, rater=np.repeat(["one", "two"], 150))
    _, fitted = fit_dcg(log, DirectDescription(loss="robust", n_starts=1))

    for of_judge in (False, True):
        logs = LogsOfDCG.like(fitted, of_judge=of_judge)
        assert logs.share == fitted.share
        drawn = logs.draw(np.random.default_rng(0))
        one, two = (drawn.at(np.flatnonzero(drawn.rater == judge)).first for judge in range(2))
        assert ((one == two).all(axis=1).mean() > 0.95) != of_judge


def free_log(n, **columns):
    """Return preferences by D1 with noise, and weights."""
    truth = dl.simulate.ground_truth("D1")
    log = dl.simulate.preference_pairs(truth, n, lists="free", temperature=0.3, random_state=0)
    return log.changed(**columns)


def logs_like(log):
    """Return the fit of a log, and logs like it."""
    _, fitted = fit_dcg(log, DirectDescription(loss="robust", n_starts=1))
    return fitted, LogsOfDCG.like(fitted)


def test_a_verdict_counts_once_in_draws_whatever_its_weight():
    weight = np.exp(1.5 * np.random.default_rng(0).normal(size=300))
    widths = []
    for log in (free_log(300), free_log(300, weight=weight)):
        fitted, logs = logs_like(log)
        np.testing.assert_allclose(logs.told, 1)
        widths.append(blunter_draws(fitted, logs, 64).std(axis=0).mean())
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_a_weight_is_so_many_verdicts_where_these_disagree():
    # five verdicts on each pair, by coins
    lists = np.random.default_rng(0).integers(0, 4, (2, 150, 8)).astype(np.int8)
    ahead = np.random.default_rng(1).binomial(5, 0.5, 150).astype(float)
    both = np.concatenate([lists, lists[::-1]], axis=1)
    counts = np.concatenate([ahead, 5 - ahead])
    given = counts > 0
    coins = dl.Preferences(*both[:, given], n_grades=4, weight=counts[given])
    _, logs = logs_like(coins)
    assert logs.shared < 0.3 and logs.told.sum() == pytest.approx(coins.n_lists)

    # one verdict that weighs as much
    _, logs = logs_like(dl.Preferences(*lists, n_grades=4, weight=np.full(150, 5.0)))
    assert logs.shared == 1 and logs.told.sum() == pytest.approx(150)


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
    whole, apart = (logs_like(log)[1] for log in (opposed, written))

    # the same logs are simulated, up to their order
    assert whole.shared == pytest.approx(apart.shared, rel=1e-3) and whole.shared < 1
    assert whole.told.sum() == pytest.approx(apart.told.sum(), rel=1e-3)
    np.testing.assert_array_equal(np.sort(whole.weight), np.sort(apart.weight))

    # and the p-values agree, of which five larger gains leave a standard error of p / 5^.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one, other = (
            dl.trust.position_dependence(log, n_resamples=99) for log in (opposed, written)
        )
    assert one.statistic == pytest.approx(other.statistic, rel=1e-3)
    assert abs(np.log(one.p_value / other.p_value)) < 2.5 * (2 / 5) ** 0.5


DCG = dl.DCG([0, 0.4, 0.7, 1], [1, 0.7, 0.5, 0.4])


def fitted_to(log, *, sharp=1.0, error=-1.5, rise=-1.0):
    """Return `DCG` as if fitted to a log, with judges of that sharpness, error and threshold."""
    verdicts = verdicts_of(log, 0)
    judgements = verdicts.judgements(one_rater=True)
    model = Model(
        depth=4, n_grades=4, ties=verdicts.has_ties, n_levels=verdicts.n_levels, centre=sharp
    )
    theta = np.zeros(model.places.own_biases.stop)
    alpha, delta, sharpness, logit, _, _, thresholds, *_ = model.places
    theta[alpha], theta[delta] = log_curves(DCG.gains, DCG.discounts)
    theta[sharpness], theta[logit], theta[thresholds] = sharp, error, rise
    return FittedDCG(model, judgements, 1.0, log, theta, 0.0, [theta[None]], 1, 20)


def expected(model, theta, lists):
    """Return the chance that the first list of each pair is named, and that of a tie."""
    curves = model.curves(theta)
    z = curves.sharpness * (curves.gains[lists] @ curves.discounts @ [1, -1])
    cut, error = curves.thresholds[1] if model.ties else 0.0, curves.errors[0]
    ahead, behind = 1 / (1 + np.exp(cut - z)), 1 / (1 + np.exp(cut + z))
    return (1 - error) * ahead + error * behind, 1 - ahead - behind


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("shared", [1.0, 0.3])
def test_verdicts_have_the_probabilities_of_the_model(shared, tied):
    lists = np.random.default_rng(0).integers(0, 4, (12, 2, 4)).astype(np.int8)
    log = dl.Preferences(lists, n_grades=4, tie=[tied, *[False] * 11])
    fitted = fitted_to(log)
    logs = LogsOfDCG.like(fitted)
    logs = LogsOfDCG(**{**vars(logs), "shared": shared, "ratings": np.full(len(logs.row), 2)})
    first, tie, rng = np.zeros(12), np.zeros(12), np.random.default_rng(1)
    for _ in range(1500):
        drawn = logs.draw(rng)
        both = np.stack([drawn.first, drawn.second], axis=1)[:, None]
        ahead, behind = ((both == sides).all(axis=(2, 3)) for sides in (lists, lists[:, ::-1]))
        first += (drawn.weight * (drawn.level > 0)) @ ahead
        tie += (drawn.weight * (drawn.level == 0)) @ (ahead | behind)
    chance, of_tie = expected(fitted.model, fitted.theta, lists)
    np.testing.assert_allclose(first / 1500, chance, atol=0.05)
    np.testing.assert_allclose(tie / 1500, of_tie if tied else 0, atol=0.05)


def test_a_list_that_recurs_keeps_its_noise():
    lists = np.random.default_rng(0).integers(0, 4, (6, 4)).astype(np.int8)
    first, second = (x.ravel() for x in np.meshgrid(range(6), range(6)))
    log = dl.Preferences(lists[first[first < second]], lists[second[first < second]], n_grades=4)
    fitted = fitted_to(log, sharp=-9.0, error=-9.0)
    logs, rng = LogsOfDCG.like(fitted), np.random.default_rng(0)
    assert logs.share == 6 / 15
    orders = []
    for _ in range(50):
        drawn = logs.draw(rng)
        wins = (drawn.first[:, None] == lists).all(axis=2).sum(axis=0)
        orders.append(tuple(wins))
        assert sorted(wins) == list(range(6))  # judged by noise alone, and still in one order
    assert len(set(orders)) > 30


def test_rated_lists_are_rated_anew():
    rng = np.random.default_rng(0)
    lists = np.unique(rng.integers(0, 4, (20, 4)), axis=0)[:8].astype(np.int8)
    rated, own = lists[np.repeat(np.arange(8), 5)], np.repeat(rng.normal(0, 0.5, 8), 5)
    log = rated_pairs(rated, np.round(2 * DCG.score(rated) + own + rng.normal(0, 1, 40)))
    fitted = fitted_to(log)
    logs = LogsOfDCG.like(fitted)
    assert (logs.ratings == 5).all() and 0 <= logs.shared < 1
    drawn = logs.draw(np.random.default_rng(0))
    assert (
        len(np.unique(np.concatenate([drawn.first, drawn.second]), axis=0))
        == logs.share * drawn.total_weight
    )
    assert drawn.total_weight == pytest.approx(log.weight.sum())
    assert 28 < len(drawn) <= 56  # five by five ratings: most of the 28 pairs have both orders


def test_the_share_of_lists_is_that_of_the_variance():
    rng = np.random.default_rng(0)
    lists = np.unique(rng.integers(0, 3, (250, 6)), axis=0).astype(np.int8)
    rated = np.repeat(np.arange(len(lists)), 10)
    own = rng.normal(0, 1, len(lists))
    worth = own[rated] + 3 * (lists[rated] > 1).sum(axis=1)
    log = rated_pairs(lists[rated], np.round(worth + rng.normal(0, 2, len(rated))))
    assert share_of_lists(log.ratings) == pytest.approx(own.var() / (own.var() + 4), abs=0.03)


def test_a_long_log_is_simulated_in_part():
    lists = np.random.default_rng(0).integers(0, 4, (2, 60, 4)).astype(np.int8)
    log = dl.Preferences(*lists, n_grades=4, weight=np.full(60, 2.0))
    log = log[log.differing][:50]
    logs = LogsOfDCG.like(fitted_to(log), most=16)
    assert len(logs.first) == 17 and logs.share * logs.weight.sum() == min(34, len(logs.lists))


def test_the_value_says_how_many_simulated_gains_are_as_large():
    lists = np.random.default_rng(0).integers(0, 4, (2, 40, 4)).astype(np.int8)
    log = dl.Preferences(*lists, n_grades=4)
    dcg = fitted_to(log)

    def gain_of(judgements, share):
        return dcg.on(judgements, share).objective

    logs = LogsOfDCG.like(dcg)
    thetas = np.tile(dcg.theta, (2, 1))
    p_value, null = nested_test(1e9, gain_of, logs, thetas)
    assert p_value == 1 / 3 and len(null) == 2
    p_value, null = nested_test(-1e9, gain_of, logs, thetas)
    assert p_value == 1.0 and len(null) == 1
