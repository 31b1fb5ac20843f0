"""Warm starts: the same fit from another place, and starts that are refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from dcglearn import DCG, DCGLearner, Preferences
from dcglearn.learning.dcg_model import Model
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.learning.starts import WarmStart, log_sharpness
from dcglearn.learning.verdicts import _binned
from dcglearn.simulate import ground_truth, preference_pairs
from tests.makers import random_log, refused

LOG = random_log(300, "free", seed=3, noise=0.1)


def judged(n: int, *, seed: int = 0) -> Preferences:
    """Return a log with three raters, three strengths and ties."""
    rng = np.random.default_rng(seed)
    log = random_log(n, "free", seed=seed, noise=0.1)
    rater = np.array(["ann", "bob", "eve"])[rng.integers(0, 3, n)]
    return Preferences(
        log.preferred,
        log.other,
        rater=rater,
        strength=rng.integers(1, 4, n),
        tie=rng.random(n) < 0.2,
    )


@pytest.fixture(scope="module")
def learner():
    return DCGLearner(loss="robust").fit(LOG)


@pytest.fixture(scope="module")
def of_judges():
    return DCGLearner().fit(judged(200))


@pytest.mark.parametrize("loss", ["robust", "logistic", "sigmoid"])
def test_the_optimum_is_a_start_that_stays(loss):
    description = DirectDescription(loss=loss)
    cold = fit_direct(judged(150), description)
    warm = fit_direct(judged(150), description, cold)
    assert warm.warm and not cold.warm
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    np.testing.assert_allclose(warm.dcg.gains, cold.dcg.gains, atol=2e-4)
    np.testing.assert_allclose(warm.dcg.discounts, cold.dcg.discounts, atol=2e-4)


def test_one_more_judgement_from_every_kind_of_start_ends_at_the_same_fit(learner, tmp_path):
    more = Preferences(
        *(
            np.concatenate([x, y[:1]])
            for x, y in ((LOG.preferred, LOG.other), (LOG.other, LOG.preferred))
        )
    )
    cold = DCGLearner(loss="robust").fit(more)
    learner.dcg_.save(tmp_path / "dcg.json")
    files = [tmp_path / "dcg.json", str(tmp_path / "dcg.json")]
    for start in [learner, learner.curves_, learner.dcg_, *files]:
        warm = DCGLearner(loss="robust").fit(more, start=start)
        assert warm.warm_
        assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_parameters_of_judges_are_taken_over_exactly(of_judges):
    """The objective at the start is that of the fit, so nothing is lost on the way through the
    curves.
    """
    again = DCGLearner(max_iter=1).fit(judged(200), start=of_judges)
    assert again.objective_ == pytest.approx(of_judges.objective_, rel=1e-9)
    assert again.rater_error_ == pytest.approx(of_judges.rater_error_, rel=1e-4)


def test_judges_are_found_by_name(of_judges):
    model = Model(depth=10, n_grades=5, n_raters=3, n_levels=3, ties=True, sided=True)
    biases = np.array([0.5, -1.0, 2.0])
    start = WarmStart.of(replace(of_judges.fit_, curves=replace(of_judges.curves_, biases=biases)))
    theta = start.parameters(model, ("ann", "bob", "eve"))[0]
    other = start.parameters(model, ("bob", "new", "ann"))[0]
    for own in (model.places.own_errors.start, model.places.own_biases.start):
        assert other[own] == theta[own + 1] and other[own + 1] == 0 and other[own + 2] == theta[own]
    curves = model.curves(theta)
    np.testing.assert_allclose(curves.errors, of_judges.curves_.errors, rtol=1e-9)
    np.testing.assert_allclose(curves.biases, biases)


@pytest.mark.filterwarnings("ignore")
def test_a_start_in_another_basin_is_left_where_that_is_worse(learner):
    contrary = replace(learner.curves_, sharpness=1e-2, errors=np.array([0.49]))
    there = DCGLearner(max_iter=1)
    assert there.fit(LOG, start=contrary).warm_
    stuck = there.objective_
    there.fit(LOG, start=contrary, refit="if_worse")
    assert not there.warm_ and there.objective_ < stuck
    assert DCGLearner().fit(LOG, start=learner, refit="if_worse").warm_


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (
            lambda _: DCG.standard(4, 10),
            "start (a DCG) has 4 grades and 10 positions, the log 5 and 10",
        ),
        (lambda _: DCG.standard(5, 9), "5 grades and 9 positions, the log 5 and 10"),
        (
            lambda _: DCG([4, 3, 2, 1, 0], np.ones(10)),
            "gains do not rise from 4, of the worst grade, to 0",
        ),
        (lambda _: DCG(range(5), -np.arange(10.0)), "no discount is positive"),
        (lambda it: replace(it.curves_, sharpness=0.0), "sharpness=0.0 must be a positive number"),
        (lambda it: replace(it.curves_, sharpness=np.nan), "sharpness=nan"),
        (lambda it: replace(it.curves_, errors=np.array([1.5])), "between 0 and 1"),
        (lambda it: replace(it.curves_, gains=np.full(5, np.nan)), "not a finite number"),
        (
            lambda it: replace(it.curves_, thresholds=np.array([0, 2.0, 1.0, np.inf])),
            "must not fall",
        ),
        (lambda _: DCGLearner(), "is no fitted DCGLearner"),
        (lambda _: 3, "is no fitted DCGLearner"),
        (lambda _: "nowhere.json", "nowhere.json does not exist"),
    ],
)
def test_impossible_starts_are_refused(learner, start, words):
    refused(re.escape(words), DCGLearner().fit, LOG, start=start(learner))


def test_a_start_of_another_loss_or_number_of_judges_is_refused(learner):
    message = 'was fitted with loss="robust", this fit has loss="logistic"'
    refused(message, DCGLearner(loss="logistic").fit, LOG, start=learner)
    message = 'was fitted with loss="blend", this fit has loss="logistic"'
    refused(message, DCGLearner(loss="logistic").fit, LOG, start=DCGLearner().fit(LOG))
    two = replace(learner.curves_, errors=np.array([0.1, 0.2]))
    refused("2 error rates, the log has 3 raters", DCGLearner().fit, judged(100), start=two)
    refused(
        "refit='always': give one of never, if_worse",
        DCGLearner().fit,
        LOG,
        start=learner,
        refit="always",
    )


@pytest.mark.parametrize("loss", ["robust", "sigmoid"])
@pytest.mark.parametrize("seed", [15, 18, 20, 33, 44, 55, 59])
def test_a_log_with_each_line_twice_at_half_the_weight_has_the_same_fit(loss, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([20, 30, 50, 80, 150, 300]))
    log = preference_pairs(
        ground_truth("D1"),
        n,
        lists="free",
        n_flips=n // int(rng.choice([3, 4, 5, 10])),
        random_state=seed,
    )
    twice = log[np.repeat(np.arange(n), 2)].changed(weight=np.full(2 * n, 0.5))
    once, again = (fit_direct(x, DirectDescription(loss=loss, n_grades=5)) for x in (log, twice))
    assert again.objective == pytest.approx(once.objective, rel=1e-9)
    assert again.dcg.gains == pytest.approx(once.dcg.gains, abs=1e-6)


def test_the_typical_difference_counts_weights():
    log = judged(50)
    heavy = log.changed(weight=np.where(np.arange(50) < 25, 3.0, 1.0))
    lines = log[np.concatenate([np.arange(50), *[np.arange(25)] * 2])]
    assert log_sharpness(heavy, None) == pytest.approx(log_sharpness(lines, None), rel=1e-12)
    assert log_sharpness(heavy, None) != pytest.approx(log_sharpness(log, None), rel=1e-6)


def test_more_strengths_than_levels_are_binned_by_weight():
    strength = np.random.default_rng(0).exponential(1, 60)
    whole, halves = (
        _binned(strength, np.ones(60), 7),
        _binned(np.repeat(strength, 2), np.full(120, 0.5), 7),
    )
    assert (halves == np.repeat(whole, 2)).all() and whole.max() == 7
