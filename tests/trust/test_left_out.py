"""Verdicts left out of a fit: influence against refits, and against derivatives by weights."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

import dcglearn as dl
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.left_out import LeftOut
from tests.makers import random_log, rich_log


def gain(dcgs):
    return np.array([dcg.gains[2] for dcg in dcgs])


def discount(dcgs):
    return np.array([dcg.discounts[2] for dcg in dcgs])


def noisy(n, seed=0, **options):
    """Return n verdicts of people who often err where lists are close."""
    truth = dl.simulate.ground_truth("D1")
    return dl.simulate.preference_pairs(
        truth, n, lists="free", temperature=1.0, random_state=seed, **options
    )


def fitted(log, loss):
    return fit_learner(log, DirectDescription(loss=loss))


def reweighted(left, factor):
    """Return a fit with the weight of each verdict multiplied by a factor, shape (n,)."""

    def with_weights(part):
        judgements = replace(part.fitted.judgements, weight=factor[part.rows] * part.weight)
        return replace(part, fitted=replace(part.fitted, judgements=judgements))

    parts = [None if part is None else with_weights(part) for part in left.fitted]
    return replace(left, fitted=tuple(parts)).without(np.zeros(left.n, bool))


@pytest.mark.parametrize("loss", ["robust", "logistic", "auto"])
@pytest.mark.parametrize("quantity", [gain, discount])
def test_influence_is_the_derivative_in_the_weight(loss, quantity):
    log = rich_log(150, seed=3)
    left = LeftOut.of(log, fitted(log, loss))
    influence = left.influence(quantity)
    strongest = np.argsort(-np.abs(influence))[:6]
    for row in strongest:
        step = 0.02 * (np.arange(len(log)) == row)
        above, below = (reweighted(left, 1 + sign * step).dcg for sign in (1, -1))
        slope = (quantity([above]) - quantity([below])) / 0.04
        assert -slope == pytest.approx(influence[row], rel=0.02, abs=1e-6)


@pytest.mark.parametrize("loss", ["robust", "auto"])
@pytest.mark.parametrize("quantity", [gain, discount])
@pytest.mark.parametrize("careless", [False, True])
def test_influence_ranks_verdicts_as_refits_do(loss, quantity, careless):
    log = noisy(500) if not careless else random_log(500, noise=0.1)
    fit = fitted(log, loss)
    influence = LeftOut.of(log, fit).influence(quantity)
    rows = np.random.default_rng(3).choice(len(log), 40, replace=False)
    moves = []
    for row in rows:
        others = np.arange(len(log)) != row
        without = fit_learner(log[others], fit.description, fit)
        moves.append(quantity([without.dcg])[0] - quantity([fit.dcg])[0])
    assert spearmanr(influence[rows], moves)[0] >= 0.9


def test_a_fit_without_verdicts_is_the_fit_of_the_others():
    log = noisy(300)
    fit = fitted(log, "robust")
    left_out = np.arange(300) % 7 == 0
    left = LeftOut.of(log, fit)
    assert left.dcg.gains == pytest.approx(fit.dcg.gains, abs=1e-4)
    without, others = left.without(left_out).dcg, fit_learner(log[~left_out], fit.description, fit)
    assert without.gains == pytest.approx(others.dcg.gains, abs=1e-3)
    assert without.discounts == pytest.approx(others.dcg.discounts, abs=1e-3)
    assert np.abs(without.gains - fit.dcg.gains).max() > 0.005


def test_the_weights_of_a_blend_are_held():
    log = noisy(300)
    fit = fitted(log, "auto")
    without = LeftOut.of(log, fit).without(np.arange(300) < 100)
    assert [member.weight for member in without.members] == [x.weight for x in fit.members]
    assert without.members[0].dcg != fit.members[0].dcg
    assert without.members[-1].dcg == fit.members[-1].dcg


def test_verdicts_that_no_learner_uses_have_no_influence():
    log = random_log(120, noise=0.2)
    same = np.arange(120) % 10 == 0
    other = np.where(same[:, None], log.preferred, log.other)
    tie = np.arange(120) % 4 == 1
    log = dl.Preferences(log.preferred, other, n_grades=5, tie=tie)
    influence = LeftOut.of(log, fitted(log, "robust")).influence(gain)
    assert np.array_equal(influence == 0, same)

    # ties only in likelihoods
    fit = fit_direct(log, DirectDescription(loss="sigmoid"))
    assert not LeftOut.of(log, fit).influence(gain)[same | tie].any()


def test_a_weight_is_that_many_verdicts():
    log = noisy(80)
    twice = log[np.repeat(np.arange(80), 2)]
    heavy = log.changed(weight=np.full(80, 2.0))
    of_twice, of_heavy = (
        LeftOut.of(one, fitted(one, "logistic")).influence(gain) for one in (twice, heavy)
    )
    assert of_heavy == pytest.approx(of_twice.reshape(80, 2).sum(axis=1), rel=1e-3, abs=1e-7)
    assert heavy.weights.sum() == 160


def test_repeated_lists_count_as_in_the_fit():
    log = noisy(200)
    often = log[np.tile(np.arange(200), 30)]  # summed by list
    left = LeftOut.of(often, fitted(often, "logistic"))
    influence = left.influence(gain)
    assert left.fitted[0].fitted.share < 0.1
    row = int(np.argmax(np.abs(influence)))
    copies = np.arange(len(often)) % 200 == row % 200
    moved = gain([left.without(copies).dcg])[0] - gain([left.dcg])[0]
    assert moved == pytest.approx(influence[copies].sum(), rel=0.3)
