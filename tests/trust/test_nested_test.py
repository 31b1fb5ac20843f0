"""Nested tests: how often they speak against logs of DCGs, by the number of judgements."""

import os
import warnings

import numpy as np
import pytest
from scipy.stats import binom

import dcglearn as dl
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_dcg
from dcglearn.trust.nested_test import FALSE_POSITIVE_RATE, LogsOfDCG, blunter_draws

N_LOGS = int(os.environ.get("DCGLEARN_LEVEL_LOGS", "40"))
"""Number of logs of each test and size; 200 tell a rate of 10% from one of 5%."""


def p_of_form(log):
    """Return the p-value of the form that may be chosen, 1 where none may be."""
    scores = dl.DCGLearner(form="auto", loss="robust").fit(log).form_scores_
    return min((s.p_value for s in scores.values() if s.p_value is not None), default=1.0)


def p_of_segments(log):
    """Return the p-value of two segments, of every other pair."""
    segments = np.resize(["one", "two"], len(log))
    return dl.trust.segment_test(log.changed(segment=segments)).p_value


P_VALUES = {
    "form": p_of_form,
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
    log = log.reweighted(1.0 + np.arange(300) % 7)
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
