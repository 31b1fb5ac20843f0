"""Empty places, the grade that is worth nothing, and free discounts."""

import numpy as np
import pytest

import dcglearn as dl
from tests.makers import refused

TRUTH = dl.DCG([-0.4, -0.1, 0.5, 1], [1, 0.5, 0.35, 0.6, 0.9])
FALLING = dl.DCG(TRUTH.gains, [1, 0.63, 0.5, 0.43, 0.38])


def log_of(truth, n, seed, shortest=1):
    """Return preferences between lists of at least so many results, by judges with logistic
    noise."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, truth.n_grades, (2, n, truth.depth))
    lists[rng.integers(shortest, truth.depth + 1, (2, n))[..., None] <= np.arange(truth.depth)] = -2
    ahead = truth.score(lists[0]) - truth.score(lists[1]) + rng.logistic(0, 0.3, n) > 0
    return dl.Preferences(
        *(np.where(ahead[:, None], *order) for order in (lists, lists[::-1])), truth.n_grades
    )


@pytest.mark.parametrize("loss", ["auto", "robust", "logistic"])
def test_a_distractor_costs_where_lists_differ_in_length(loss):
    learner = dl.DCGLearner(loss, zero="none").fit(log_of(FALLING, 1200, seed=0))
    np.testing.assert_allclose(learner.dcg_.gains, FALLING.gains, atol=0.2)
    assert learner.dcg_.gains[0] < -0.2
    held_out = log_of(FALLING, 4000, seed=1)
    assert (
        learner.score(held_out)
        > dl.DCGLearner(loss).fit(log_of(FALLING, 1200, seed=0)).score(held_out) + 0.005
    )


@pytest.mark.parametrize("loss", ["auto", "robust"])
def test_of_full_lists_the_zero_is_a_convention_and_the_result_says_so(loss):
    log, kept = log_of(FALLING, 300, 0, shortest=5), log_of(FALLING, 200, 1, shortest=5)
    usual = dl.DCGLearner(loss).fit(log)
    other, free = dl.DCGLearner(loss, zero=1).fit(log), dl.DCGLearner(loss, zero="none").fit(log)
    gains = usual.dcg_.gains
    np.testing.assert_allclose(other.dcg_.gains, (gains - gains[1]) / (1 - gains[1]), atol=1e-9)
    np.testing.assert_allclose(
        other.decision_function(kept) * other.scale_, usual.decision_function(kept) * usual.scale_
    )
    assert other.dcg_.notes == (
        "grade 1 is worth nothing, by convention: the lists are full, so any grade could be",
    )
    assert "the lists are full, so the log cannot tell" in free.dcg_.notes[0]
    np.testing.assert_array_equal(free.dcg_.gains, gains)


def test_lists_of_equal_length_within_each_pair_do_not_tell_the_zero():
    log = log_of(FALLING, 300, 0, shortest=5)
    first, second = log.preferred.copy(), log.other.copy()
    first[:100, 3:] = second[:100, 3:] = -2
    learner = dl.DCGLearner("robust", zero="none").fit(dl.Preferences(first, second, 4))
    assert (
        learner.dcg_.gains[0] == 0
        and "no pair has a result in one list only" in learner.dcg_.notes[0]
    )


def test_an_empty_place_is_worth_what_the_zero_says():
    log = log_of(FALLING, 300, 0)
    unknown = dl.Preferences(*(np.where(x == -2, -1, x) for x in (log.preferred, log.other)), 4)
    as_worst, as_zero = (dl.DCGLearner("robust").fit(x).dcg_ for x in (unknown, log))
    np.testing.assert_array_equal(as_worst.gains, as_zero.gains)
    as_first = dl.DCGLearner("robust", zero=1).fit(log)
    of_first = dl.DCGLearner("robust", zero=1).fit(log.filled(1))
    np.testing.assert_allclose(
        as_first.dcg_.gains, of_first.dcg_.gains, atol=0.02
    )  # which has fewer distinct lists
    assert as_first.dcg_.gains[1] == 0 and as_first.dcg_.gains[0] < 0
    # an unknown grade counts as the worst in the fit and in the DCG; an empty place counts nothing
    assert (
        as_first.dcg_.score([-1, 3]) == as_first.dcg_.score([0, 3]) < as_first.dcg_.score([-2, 3])
    )


def test_free_discounts_follow_readers_who_read_both_ends():
    log, held_out = log_of(TRUTH, 800, 0, shortest=5), log_of(TRUTH, 4000, 1, shortest=5)
    falling, free = dl.DCGLearner().fit(log), dl.DCGLearner(discounts="free").fit(log)
    assert (np.diff(falling.dcg_.discounts) <= 0).all()
    np.testing.assert_allclose(free.dcg_.discounts, TRUTH.discounts, atol=0.15)
    assert free.score(held_out) > falling.score(held_out) + 0.01


def test_free_discounts_cost_little_where_they_fall():
    held_out = log_of(FALLING, 4000, 9, shortest=5)
    logs = [log_of(FALLING, 150, seed, shortest=5) for seed in range(5)]
    shares = [
        [dl.DCGLearner("robust", discounts=word).fit(log).score(held_out) for log in logs]
        for word in ("falling", "free")
    ]
    assert np.mean(shares[1]) > np.mean(shares[0]) - 0.02


def test_bands_and_starts_hold_both():
    learner = dl.DCGLearner("robust", zero="none", discounts="free").fit(log_of(TRUTH, 500, 3))
    bands = dl.bands(log_of(TRUTH, 500, 3), learner, n_resamples=30)
    low, high = bands.simultaneous.gain_band
    assert (low <= TRUTH.gains).all() and (TRUTH.gains <= high).all() and high[0] < 0
    warm = dl.DCGLearner("robust", zero="none", discounts="free").fit(
        log_of(TRUTH, 500, 3), start=learner
    )
    np.testing.assert_allclose(warm.dcg_.gains, learner.dcg_.gains, atol=1e-4)


def test_a_zero_that_leaves_nothing_to_gain_is_refused():
    log = log_of(FALLING, 50, 0)
    refused(
        "zero=3: give 0 to 2; zero= must lie below the best grade", dl.DCGLearner(zero=3).fit, log
    )
    refused(
        "zero='Bad': give one of none, or the number of a grade", dl.DCGLearner(zero="Bad").fit, log
    )
    refused(
        "discounts='rising': give one of falling, free", dl.DCGLearner(discounts="rising").fit, log
    )
