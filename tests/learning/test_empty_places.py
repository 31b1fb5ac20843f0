"""Empty places, the grade that is worth nothing, and free discounts."""

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.fit import fit_log
from dcglearn.learning.options import DCGOptions

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


def fitted(log, *loss, **options):
    return fit_log(log, DCGOptions(*loss, **options))


@pytest.mark.parametrize("loss", ["robust", "logistic"])
def test_a_distractor_costs_where_lists_differ_in_length(loss):
    fit = fitted(log_of(FALLING, 1200, seed=0), loss, zero="none")
    np.testing.assert_allclose(fit.dcg.gains, FALLING.gains, atol=0.2)
    assert fit.dcg.gains[0] < -0.2
    held_out = log_of(FALLING, 4000, seed=1)
    share, usual = (
        held_out.agreement(x.dcg).share for x in (fit, fitted(log_of(FALLING, 1200, seed=0), loss))
    )
    assert share > usual + 0.005


def test_of_full_lists_the_zero_is_a_convention_and_the_result_says_so():
    log, kept = log_of(FALLING, 300, 0, shortest=5), log_of(FALLING, 200, 1, shortest=5)
    usual, other, free = fitted(log), fitted(log, zero=1), fitted(log, zero="none")
    gains = usual.dcg.gains
    np.testing.assert_allclose(other.dcg.gains, (gains - gains[1]) / (1 - gains[1]), atol=1e-9)
    np.testing.assert_allclose(other.sureness(kept), usual.sureness(kept))
    assert other.dcg.notes == (
        "grade 1 is worth nothing, by convention: the lists are full, so any grade could be",
    )
    assert "the lists are full, so the log cannot tell" in free.dcg.notes[0]
    np.testing.assert_array_equal(free.dcg.gains, gains)


def test_lists_of_equal_length_within_each_pair_do_not_tell_the_zero():
    log = log_of(FALLING, 300, 0, shortest=5)
    first, second = log.preferred.copy(), log.other.copy()
    first[:100, 3:] = second[:100, 3:] = -2
    dcg = fitted(dl.Preferences(first, second, 4), zero="none").dcg
    assert dcg.gains[0] == 0 and "no pair has a result in one list only" in dcg.notes[0]


def test_an_empty_place_is_worth_what_the_zero_says():
    log = log_of(FALLING, 300, 0)
    unknown, as_ones = (
        dl.Preferences(*(np.where(x == -2, grade, x) for x in (log.preferred, log.other)), 4)
        for grade in (-1, 1)
    )
    as_worst, as_zero = (fitted(x).dcg for x in (unknown, log))
    np.testing.assert_allclose(as_worst.gains, as_zero.gains, atol=1e-6)
    as_first = fitted(log, zero=1).dcg
    of_first = fitted(as_ones, zero=1).dcg
    np.testing.assert_allclose(
        as_first.gains, of_first.gains, atol=0.02
    )  # which has fewer distinct lists
    assert as_first.gains[1] == 0 and as_first.gains[0] < 0
    # an unknown grade counts as the worst in the fit and in the DCG; an empty place counts nothing
    assert as_first.score([-1, 3]) == as_first.score([0, 3]) < as_first.score([-2, 3])


def test_free_discounts_follow_readers_who_read_both_ends():
    log, held_out = log_of(TRUTH, 800, 0, shortest=5), log_of(TRUTH, 4000, 1, shortest=5)
    falling, free = fitted(log).dcg, fitted(log, discounts="free").dcg
    assert (np.diff(falling.discounts) <= 0).all()
    np.testing.assert_allclose(free.discounts, TRUTH.discounts, atol=0.15)
    assert held_out.agreement(free).share > held_out.agreement(falling).share + 0.01


def test_free_discounts_cost_little_where_they_fall():
    held_out = log_of(FALLING, 4000, 9, shortest=5)
    logs = [log_of(FALLING, 150, seed, shortest=5) for seed in range(5)]
    shares = [
        [held_out.agreement(fitted(log, discounts=word).dcg).share for log in logs]
        for word in ("falling", "free")
    ]
    assert np.mean(shares[1]) > np.mean(shares[0]) - 0.02


def test_a_free_zero_and_free_discounts_are_taken_over_by_a_start():
    log = log_of(TRUTH, 500, 3)
    free = {"zero": "none", "discounts": "free"}
    cold = fitted(log, **free)
    warm = fitted(log, **free, start=cold.dcg)
    assert cold.dcg.gains[0] < 0 and (np.diff(cold.dcg.discounts) > 0).any()
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
    np.testing.assert_allclose(warm.dcg.gains, cold.dcg.gains, atol=1e-4)
