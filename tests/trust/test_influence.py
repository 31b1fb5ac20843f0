"""Influence of verdicts: against refits, and against derivatives by weights."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import dcglearn as dl
from dcglearn import DCG
from dcglearn.learning.fit import fit_log
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.weighing import weighed
from dcglearn.trust.influence import influence, numbers_of, refitted
from tests.makers import random_log, refused, rich_log
from tests.tables import table

GAIN, DISCOUNT = 2, 7
"""Places of the gain of grade 2, and of the discount at 3, among the numbers of 5 grades."""


def noisy(n, seed=0, **options):
    """Return n verdicts of people who follow no textbook, and often err where lists are close."""
    truth = DCG([0, 0.3, 3.5, 3.8, 6], [1, 0.95, 0.9, 0.35, 0.3, 0.28, 0.1, 0.08, 0.06, 0.05])
    return dl.simulate.preference_pairs(
        truth, n, lists="free", temperature=1.0, random_state=seed, **options
    )


WEIGHTS = [0.7, *np.full(42, 0.3 / 42)]
"""Weights of free curves and textbooks, so that both count whatever the log."""


def fitted(log, loss, weights=WEIGHTS):
    return weighed(fit_log(log, DCGOptions(loss=loss)), held=weights)


@table("loss", ["robust", "logistic"])
@table("place", [GAIN, DISCOUNT])
def test_influence_is_the_derivative_in_the_weight(loss, place):
    log = rich_log(150, seed=3).changed(rater=None)
    fit = fitted(log, loss)
    changes = influence(log, fit, place)
    for row in np.argsort(-np.abs(changes))[:6]:
        steps = 0.02 * log.weights * (np.arange(150) == row)
        above, below = (
            numbers_of(refitted(log.changed(weight=log.weights + sign * steps), fit).dcg)[place]
            for sign in (1, -1)
        )
        assert (below - above) / 0.04 == pytest.approx(changes[row], rel=0.02)


@table("loss", ["robust", "logistic"])
@table("place", [GAIN, DISCOUNT])
def test_influence_ranks_verdicts_as_refits_do(loss, place):
    log = noisy(500)
    fit = fitted(log, loss)
    changes = influence(log, fit, place)
    rows = np.random.default_rng(3).choice(500, 40, replace=False)
    moves = []
    for row in rows:
        without = refitted(log[np.arange(500) != row], fit).dcg
        moves.append(numbers_of(without)[place] - numbers_of(fit.dcg)[place])
    assert spearmanr(changes[rows], moves)[0] >= 0.95


def test_verdicts_that_no_learner_uses_have_no_influence():
    log = random_log(120, noise=0.2)
    same = np.arange(120) % 10 == 0
    other = np.where(same[:, None], log.preferred, log.other)
    tie = np.arange(120) % 4 == 1
    log = dl.Preferences(log.preferred, other, n_grades=5, tie=tie)
    assert np.array_equal(influence(log, fitted(log, "robust"), GAIN) == 0, same)


def test_a_weight_is_that_many_verdicts():
    log = noisy(80)
    twice = log[np.repeat(np.arange(80), 2)]
    heavy = log.changed(weight=np.full(80, 2.0))
    of_twice, of_heavy = (influence(one, fitted(one, "logistic"), GAIN) for one in (twice, heavy))
    assert of_heavy == pytest.approx(of_twice.reshape(80, 2).sum(axis=1), rel=1e-3, abs=1e-7)


def test_textbooks_do_not_move_and_free_curves_count_by_their_weight():
    log = noisy(200)
    few, many = (
        fitted(log, "robust", [share, *np.full(42, (1 - share) / 42)]) for share in (0.1, 1.0)
    )
    discount = len(few.dcg.gains) + 1
    ratio = influence(log, few, discount) / influence(log, many, discount)
    assert ratio == pytest.approx(np.full(200, 0.1), rel=1e-3)
    assert not influence(log, few, len(few.dcg.gains) - 1).any()  # the best gain is 1


def test_repeated_lists_count_as_in_the_fit():
    log = noisy(200)
    often = log[np.tile(np.arange(200), 30)]  # summed by list
    fit = fitted(often, "logistic")
    changes = influence(often, fit, GAIN)
    assert fit.function.share < 0.1
    copies = np.arange(len(often)) % 200 == int(np.argmax(np.abs(changes))) % 200
    moved = numbers_of(refitted(often[~copies], fit).dcg)[GAIN] - fit.dcg.gains[GAIN]
    assert moved == pytest.approx(changes[copies].sum(), rel=0.3)


def test_a_fit_of_another_log_is_refused():
    fit = fitted(noisy(60), "logistic")
    refused("fitted to another log", influence, noisy(70), fit, GAIN)
