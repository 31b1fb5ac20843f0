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
    "discounts": lambda log: dl.trust.rising_discounts(log).p_value,
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


def test_draws_are_as_wide_as_the_verdicts_that_weigh_most_leave_them():
    log = dl.simulate.preference_pairs(
        dl.simulate.ground_truth("D1"), 300, lists="free", temperature=0.3, random_state=0
    )
    widths = []
    for heavy in (log[:40], log.reweighted(np.where(np.arange(300) < 40, 14.0, 0.05))):
        _, fitted = fit_dcg(heavy, DirectDescription(loss="robust", n_starts=1))
        draws = blunter_draws(fitted, LogsOfDCG.like(fitted), 64)
        widths.append(draws.std(axis=0).mean())
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
