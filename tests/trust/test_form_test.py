"""The test whether a log asks for more than a DCG: logs simulated from a fitted DCG, and the gains found on them."""

import warnings

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.direct_fit import Model, log_curves
from dcglearn.learning.fit_direct import FittedDCG
from dcglearn.learning.fits import FORMS
from dcglearn.learning.verdicts import verdicts_in_memory
from dcglearn.trust import form_choice
from dcglearn.trust.form_choice import LogsOfDCG, p_value, share_of_lists
from tests.trust.test_form_choice import judged

DCG = dl.DCG([0, 0.4, 0.7, 1], [1, 0.7, 0.5, 0.4])


def fitted_to(log, *, sharp=1.0, error=-1.5, rise=-1.0):
    """Return judgements, their model, and its parameters: `DCG`, and judges of that sharpness, error and threshold."""
    verdicts = verdicts_in_memory(log, 0)
    judgements = verdicts.judgements(one_rater=True)
    model = Model(depth=4, n_grades=4, ties=verdicts.has_ties, n_levels=verdicts.n_levels, centre=sharp)
    theta = np.zeros(model.parts[-1].stop)
    alpha, delta, sharpness, logit, thresholds, _ = model.parts
    theta[alpha], theta[delta] = log_curves(DCG.gains, DCG.discounts)
    theta[sharpness], theta[logit], theta[thresholds] = sharp, error, rise
    return judgements, model, theta


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
    judgements, model, theta = fitted_to(log)
    logs = LogsOfDCG.like(log, judgements, model, theta)
    logs = LogsOfDCG(**{**vars(logs), "shared": shared, "ratings": np.full(len(logs.row), 2)})
    first, tie, rng = np.zeros(12), np.zeros(12), np.random.default_rng(1)
    for _ in range(1500):
        drawn = logs.draw(rng)
        both = np.stack([drawn.first, drawn.second], axis=1)[:, None]
        ahead, behind = ((both == sides).all(axis=(2, 3)) for sides in (lists, lists[:, ::-1]))
        first += (drawn.weight * (drawn.level > 0)) @ ahead
        tie += (drawn.weight * (drawn.level == 0)) @ (ahead | behind)
    chance, of_tie = expected(model, theta, lists)
    np.testing.assert_allclose(first / 1500, chance, atol=0.05)
    np.testing.assert_allclose(tie / 1500, of_tie if tied else 0, atol=0.05)


def test_a_list_that_recurs_keeps_its_noise():
    lists = np.random.default_rng(0).integers(0, 4, (6, 4)).astype(np.int8)
    first, second = (x.ravel() for x in np.meshgrid(range(6), range(6)))
    log = dl.Preferences(lists[first[first < second]], lists[second[first < second]], n_grades=4)
    judgements, model, theta = fitted_to(log, sharp=-9.0, error=-9.0)
    logs, rng = LogsOfDCG.like(log, judgements, model, theta), np.random.default_rng(0)
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
    log = dl.Preferences.from_ratings(rated, np.round(2 * DCG.score(rated) + own + rng.normal(0, 1, 40)))
    judgements, model, theta = fitted_to(log)
    logs = LogsOfDCG.like(log, judgements, model, theta)
    assert (logs.ratings == 5).all() and 0 <= logs.shared < 1
    drawn = logs.draw(np.random.default_rng(0))
    assert len(np.unique(np.concatenate([drawn.first, drawn.second]), axis=0)) == logs.share * drawn.total_weight
    assert drawn.total_weight == pytest.approx(log.weight.sum())
    assert 28 < len(drawn) <= 56  # five by five ratings: most of the 28 pairs have both orders


def test_the_share_of_lists_is_that_of_the_variance():
    rng = np.random.default_rng(0)
    lists = np.unique(rng.integers(0, 3, (250, 6)), axis=0).astype(np.int8)
    rated = np.repeat(np.arange(len(lists)), 10)
    own = rng.normal(0, 1, len(lists))
    worth = own[rated] + 3 * (lists[rated] > 1).sum(axis=1)
    log = dl.Preferences.from_ratings(lists[rated], np.round(worth + rng.normal(0, 2, len(rated))))
    assert share_of_lists(log.ratings) == pytest.approx(own.var() / (own.var() + 4), abs=0.03)


def test_a_long_log_is_simulated_in_part(monkeypatch):
    monkeypatch.setattr(form_choice, "LARGEST", 16)
    lists = np.random.default_rng(0).integers(0, 4, (2, 60, 4)).astype(np.int8)
    log = dl.Preferences(*lists, n_grades=4, weight=np.full(60, 2.0))
    log = log[log.differing][:50]
    logs = LogsOfDCG.like(log, *fitted_to(log))
    assert len(logs.first) == 17 and logs.share * logs.weight.sum() == min(34, len(logs.lists))


def test_the_value_says_how_many_simulated_gains_are_as_large(monkeypatch):
    monkeypatch.setattr(form_choice, "N_SIMULATED", 2)
    lists = np.random.default_rng(0).integers(0, 4, (2, 40, 4)).astype(np.int8)
    log = dl.Preferences(*lists, n_grades=4)
    judgements, model, theta = fitted_to(log)
    dcg = FittedDCG(model, judgements, 1.0, theta, 0.0, [theta[None]], 1, 20)
    assert p_value(1e9, ["best"], dcg, log) == 1 / 3
    assert p_value(-1e9, ["best"], dcg, log) == 1.0


@pytest.mark.long
def test_users_who_stop_are_told_from_a_dcg():
    truth = dl.ListUtility([0, 0.2, 0.9, 1], 0.9 ** np.arange(6), stops=[0, 0.1, 0.95, 0.95])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        beyond = dl.DCGLearner(form="auto").fit(judged(truth, 1000, wrong=0.05))
        additive = [dl.DCGLearner(form="auto").fit(judged(dl.DCG.standard(4, 6), 300, seed=s)) for s in range(5)]
    assert beyond.form_ == "saturation" and beyond.form_scores_["saturation"].p_value == 1 / 40
    assert [learner.form_ for learner in additive].count("dcg") >= 4 and set(additive[0].form_scores_) == set(FORMS)
