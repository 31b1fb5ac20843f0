"""Lists of different lengths: sums, averages and what is between; a worst grade that costs."""

from dataclasses import replace

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.audits.inputs import Inputs
from dcglearn.audits.questions import sum_or_average
from dcglearn.learning.fit import fit_log
from dcglearn.metrics.dcg import POWER
from dcglearn.trust.comparison import ADDED_UP, LEARNED
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out import cross_fitted
from dcglearn.trust.influence import refitted
from tests.makers import refused

USUAL = dl.DCG.standard(5, 10).normalised()
AVERAGE = dl.DCG(USUAL.gains, USUAL.discounts, power=1.0)
COSTLY = dl.DCG([-0.6, *USUAL.gains[1:]], USUAL.discounts)


def log_of(truth, n, seed, shortest=3, wrong=0.1):
    """Return preferences between lists of random grades and lengths, a tenth of them wrong."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, truth.n_grades, (2, n, truth.depth))
    lists[rng.integers(shortest, truth.depth + 1, (2, n, 1)) <= np.arange(truth.depth)] = -2
    return dl.simulate.judge(truth, *lists, n_flips=round(wrong * n), random_state=rng)


@pytest.fixture(scope="module")
def averaged():
    """A log of people who average, and the default fit."""
    log = log_of(AVERAGE, 150, 0)
    return log, fit_learner(log, dl.DCGLearner().options)


def test_people_who_average_are_found_out(averaged):
    log, fit = averaged
    assert fit.lead > 5 and fit.dcg.power > 0.9 and fit.form.power == "free"
    plain = dl.DCGLearner(power=0.0, zero=0).fit(log)
    test = log_of(AVERAGE, 3000, 1, wrong=0.0)
    assert test.agreement(fit.dcg).share > test.agreement(plain.dcg_).share + 0.1


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_people_who_add_up_are_left_with_a_sum(gain):
    log = log_of(dl.DCG.standard(5, 10, gain), 150, 2)
    learner = dl.DCGLearner().fit(log)
    assert learner.dcg_.power == 0 and learner.dcg_.gains[0] == 0 and learner.fit_.lead < 0
    same = dl.DCGLearner(power=0.0, zero=0).fit(log)
    np.testing.assert_allclose(learner.dcg_.gains, same.dcg_.gains, atol=0.1)


def test_a_worst_grade_that_costs_is_found():
    dcg = dl.DCGLearner().fit(log_of(COSTLY, 600, 3)).dcg_
    assert -0.9 < dcg.gains[0] < -0.25 and dcg.power < 0.4


def test_a_power_between_is_found_and_lies_in_its_band():
    between = dl.DCG(USUAL.gains, USUAL.discounts, power=0.5)
    log = log_of(between, 600, 4)
    drawn = dl.bands(log)
    low, high = drawn.power_band
    assert low < 0.5 < high and high - low < 0.5 and low <= drawn.dcg.power <= high
    row = drawn.table.row(-1, named=True)
    assert (
        row["parameter"] == POWER
        and (row["low"], row["high"]) == (low, high)
        and row["estimate"] == drawn.dcg.power
    )
    assert drawn.gain_band.shape == (2, 5) and drawn.discount_band.shape == (2, 10)


def test_lists_of_one_length_have_one_fit():
    log = log_of(USUAL, 100, 5, shortest=10)
    default, plain = (dl.DCGLearner(**how).fit(log) for how in ({}, {"power": 0.0, "zero": 0}))
    assert default.fit_.lead is None and default.dcg_ == plain.dcg_
    assert dl.bands(log).power_band is None


def test_power_and_zero_can_be_fixed():
    log = log_of(AVERAGE, 100, 6)
    fixed = dl.DCGLearner(power=1.0).fit(log)
    assert fixed.dcg_.power == 1.0 and fixed.fit_.form.power == 1.0
    for member in fixed.members_[1:]:
        assert member.dcg.power == 1.0 and member.name.endswith(" / n")
        assert member.meaning.endswith("divided by the number of results")
    free = dl.DCGLearner(power="free", zero=0).fit(log)
    assert free.fit_.lead is None and free.dcg_.power > 0.7 and free.dcg_.gains[0] == 0
    for power in (2, -0.5, np.nan, True, "half"):
        refused("power", dl.DCGLearner(power=power).fit, log)


def test_with_a_prior_the_sum_is_learned_and_another_power_refused():
    log = log_of(AVERAGE, 100, 7)
    assert dl.DCGLearner(prior="linear-log2").fit(log).dcg_.power == 0
    refused("give power=1", dl.DCGLearner(prior=AVERAGE).fit, log)
    assert dl.DCGLearner(prior=AVERAGE, power=1.0).fit(log).dcg_.power == 1


def test_a_refit_keeps_the_form(averaged):
    log, fit = averaged
    again = refitted(log[:-1], fit)
    assert (again.form.zero, again.form.power) == (fit.form.zero, fit.form.power)
    assert again.dcg.power == pytest.approx(fit.dcg.power, abs=0.05)
    assert again.objective <= fit_log(log[:-1], fit.form).objective + 1e-6


def test_a_prior_may_have_any_power_where_that_is_free():
    log = log_of(AVERAGE, 100, 7)
    assert dl.DCGLearner(prior=AVERAGE, power="free").fit(log).dcg_.power > 0.5


def test_the_sentence_says_what_people_do_and_the_rows_what_it_gains(averaged):
    log, fit = averaged
    known = Inputs(log, USUAL, "usual", USUAL, fit, dl.bands(log, fit), "", 0)
    said = sum_or_average(known).sentence
    assert "come nearer to averaging what they find than to adding it up (p = 1.00, 90%" in said

    # beside the same learner as a sum
    compared = cross_fitted(log, fit)
    assert [row.name for row in compared.rows[:2]] == [LEARNED, ADDED_UP]
    assert compared[ADDED_UP].low > 0 and "the learned DCG that adds up" in compared.sentence

    plain = dl.DCGLearner().fit(log_of(USUAL, 150, 2)).fit_
    known = replace(known, log=log_of(USUAL, 150, 2), fit=plain, bands=None)
    assert "the log does not show that people average" in sum_or_average(known).sentence
    assert ADDED_UP not in [row.name for row in cross_fitted(log_of(USUAL, 150, 2), plain).rows]


def test_values_of_pairs_are_those_of_the_metric(averaged):
    log, fit = averaged
    chances = fit.probabilities(log)
    ahead = fit.dcg.score(log.preferred) > fit.dcg.score(log.other)
    assert ((chances[:, 0] > 0.5) == ahead).all()


def test_a_prior_whose_worst_grade_costs_keeps_that():
    log = log_of(COSTLY, 40, 8)
    assert dl.DCGLearner(prior=COSTLY).fit(log).dcg_.gains[0] < -0.2
    assert dl.DCGLearner(prior="exponential-log2").fit(log).dcg_.gains[0] == 0
    full = log_of(COSTLY, 40, 8, shortest=10)
    assert dl.DCGLearner(prior=COSTLY).fit(full).dcg_.gains[0] == 0  # a convention
