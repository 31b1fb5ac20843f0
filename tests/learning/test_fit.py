"""The direct fit: starts, logs that say the same, and what it says of metric and judges."""

from dataclasses import replace

import numpy as np
import pytest

from dcglearn import DCG, Preferences, textbook_dcgs
from dcglearn.learning.fit import _fitted, _model, _unconverged, fit_dcg, fit_log, known_starts
from dcglearn.learning.objective import FitObjective
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import pairs_of
from dcglearn.learning.search import descend
from dcglearn.simulate import ground_truth, preference_pairs
from tests.learning.makers import plain_model
from tests.makers import random_lists, random_log, refused

LOSSES = ("robust", "logistic")

LOG = random_log(300, "free", seed=3, noise=0.1)


def judged(n: int, *, seed: int = 0) -> Preferences:
    """Return a log with three raters, three strengths, ties and sides."""
    rng = np.random.default_rng(seed)
    log = random_log(n, "free", seed=seed, noise=0.1)
    return Preferences(
        log.preferred,
        log.other,
        rater=np.array(["ann", "bob", "eve"])[rng.integers(0, 3, n)],
        strength=rng.integers(1, 4, n),
        tie=rng.random(n) < 0.2,
        swapped=rng.random(n) < 0.5,
    )


def same(fit, other, atol=1e-6):
    """Assert that two fits have the same objective and curves."""
    assert fit.objective == pytest.approx(other.objective, rel=1e-9)
    np.testing.assert_allclose(fit.dcg.gains, other.dcg.gains, atol=atol)
    np.testing.assert_allclose(fit.dcg.discounts, other.dcg.discounts, atol=atol)


# What is fitted.


@pytest.mark.parametrize("loss", LOSSES)
def test_gains_rise_discounts_fall_and_no_textbook_is_a_better_start(loss):
    log = random_log(150, "free", seed=3, noise=0.15)
    fit = fit_log(log, DCGOptions(loss))
    assert not fit.unconverged and (np.diff(fit.dcg.gains) > 0).all()
    assert fit.dcg.gains[[0, -1]].tolist() == [0, 1] and fit.dcg.discounts[0] == 1
    assert (np.diff(fit.dcg.discounts) <= 0).all()
    for name, dcg in textbook_dcgs(5, 10).items():
        there = fit_log(log, DCGOptions(loss, start=name))
        assert fit.objective <= there.objective + 1e-6
        same(there, fit_log(log, DCGOptions(loss, start=dcg)))


def test_the_fit_is_that_of_its_parameters():
    log = judged(200)
    fit = fit_log(log, DCGOptions())
    points = fit.model.points(fit.theta[None])
    used = fit.facts.log
    np.testing.assert_allclose(fit.sureness(used), fit.pairs.differences(points), atol=1e-9)
    assert fit.function.values(fit.theta[None])[0] == pytest.approx(fit.objective)
    assert fit.rater_error == dict(zip(["ann", "bob", "eve"], points.errors[0], strict=True))
    assert fit.rater_bias == dict(zip(["ann", "bob", "eve"], points.biases[0], strict=True))
    assert fit.error_rate == points.errors.mean() and fit.position_bias == points.biases.mean()
    assert fit.tie_threshold == points.thresholds[0, 1] > 0
    np.testing.assert_allclose(fit.probabilities(log).sum(axis=1), 1)

    # with no more errors than those of close pairs, by one judge
    logistic = fit_log(log, DCGOptions("logistic"))
    assert logistic.rater_error == {} and logistic.error_rate == 0 and logistic.raters == ()
    assert logistic.position_bias == logistic.points.biases[0, 0] != 0


def test_few_lists_count_as_few_judgements():
    rng = np.random.default_rng(0)
    lists = random_lists(8, "free", rng)
    first, second = rng.integers(0, 8, (2, 200))
    log = Preferences(lists[first], lists[second], n_grades=5)
    pairs = pairs_of(log)
    few = fit_dcg(pairs, DCGOptions())
    assert few.n_effective == 8
    assert few.function.share * few.pairs.total_weight == pytest.approx(8)
    assert "8 independent judgements, fewer than the 13" in few.cautions[0]


def test_the_prior_alone_gives_the_metric_it_is():
    prior = DCG([0, 0.1, 0.5, 0.6, 1], 1 / np.sqrt(np.arange(1.0, 11)))
    strong = fit_log(random_log(5, "free", seed=0), DCGOptions(prior=prior, ridge=1e6))
    np.testing.assert_allclose(strong.dcg.gains, prior.gains, atol=1e-3)
    np.testing.assert_allclose(strong.dcg.discounts, prior.discounts, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_clean_pairs_with_hardly_a_prior_have_a_finite_fit_that_respects_them(loss):
    log = random_log(60, seed=2)
    fit = fit_log(log, DCGOptions(loss, ridge=0.01))
    assert np.isfinite([fit.objective, fit.scale, *fit.dcg.gains, *fit.dcg.discounts]).all()
    assert log.agreement(fit.dcg).share > 0.95


def test_one_pair_and_ties_alone_but_for_one_are_learned_from():
    for log in (Preferences([[2, 1, 0]], [[0, 1, 1]]), random_log(40, tie=np.arange(40) > 0)):
        dcg = fit_log(log, DCGOptions()).dcg
        assert (np.diff(dcg.gains) > 0).all() and (np.diff(dcg.discounts) <= 0).all()
    one_position = fit_log(Preferences([[2], [1], [2]], [[1], [0], [0]]), DCGOptions())
    assert one_position.dcg.discounts.tolist() == [1.0]


# Logs that say the same.


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [15, 18, 20, 33, 44, 55, 59])
def test_a_log_with_each_line_twice_at_half_the_weight_has_the_same_fit(loss, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([20, 30, 50, 80, 150, 300]))
    flips = {"lists": "free", "n_flips": n // int(rng.choice([3, 4, 5, 10]))}
    log = preference_pairs(ground_truth("D1"), n, **flips, random_state=seed)
    twice = log[np.repeat(np.arange(n), 2)].changed(weight=np.full(2 * n, 0.5))
    same(*(fit_log(x, DCGOptions(loss, n_grades=5)) for x in (log, twice)))


def test_lines_twice_of_raters_with_strengths_have_the_same_fit():
    log = judged(200)
    twice = log[np.repeat(np.arange(200), 2)].changed(weight=np.full(400, 0.5))
    same(*(fit_log(x, DCGOptions()) for x in (log, twice)), atol=1e-5)


def test_the_order_of_lines_and_of_the_raters_names_changes_nothing():
    log = judged(200)
    fit = fit_log(log, DCGOptions())
    shuffled = log[np.random.default_rng(0).permutation(200)]
    renamed = log.changed(rater=np.where(log.rater == "ann", "zoe", log.rater))
    for other in (shuffled, renamed):
        same(fit, fit_log(other, DCGOptions()), atol=1e-4)


def test_the_typical_difference_counts_weights():
    log = judged(50)
    heavy = log.changed(weight=np.where(np.arange(50) < 25, 3.0, 1.0))
    lines = log[np.concatenate([np.arange(50), *[np.arange(25)] * 2])]
    options = DCGOptions().plain
    centres = [_model(pairs_of(x), options, None).centre for x in (heavy, lines, log)]
    assert centres[0] == pytest.approx(centres[1], rel=1e-12)
    assert centres[0] != pytest.approx(centres[2], rel=1e-6)


# Starts.


@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_a_start_that_stays(loss):
    log = judged(150)
    cold = fit_log(log, DCGOptions(loss))
    same(fit_log(log, DCGOptions(loss, start=cold.dcg)), cold, atol=2e-4)


def test_one_more_judgement_from_every_kind_of_start_ends_at_the_same_fit(tmp_path):
    fit = fit_log(LOG, DCGOptions())
    ends = (LOG.preferred, LOG.other), (LOG.other, LOG.preferred)
    more = Preferences(*(np.concatenate([x, y[:1]]) for x, y in ends))
    cold = fit_log(more, DCGOptions())
    fit.dcg.save(tmp_path / "dcg.json")
    for start in (fit.dcg, tmp_path / "dcg.json"):
        warm = fit_log(more, DCGOptions(start=start))
        assert warm.objective == pytest.approx(cold.objective)


def test_a_start_is_the_only_one():
    model = plain_model(10, 5)
    flat = DCG(np.arange(5.0), np.linspace(1, 0.9, 10))
    starts = known_starts(model, flat)
    assert [len(thetas) for thetas in starts] == [1, 1, 1]
    for thetas in starts:
        np.testing.assert_allclose(model.points(thetas).dcg.discounts, flat.discounts)


def test_a_fit_to_other_pairs_of_the_same_raters_is_no_higher_than_from_all_starts():
    log = judged(300)
    fit = fit_log(log, DCGOptions())
    rng = np.random.default_rng(1)
    resampled = fit.pairs.at(np.arange(300), weight=rng.exponential(1, 300))
    again = fit.on(resampled)
    assert again.function.values(again.theta[None])[0] == pytest.approx(again.objective)
    assert again.objective != fit.objective and again.raters == fit.raters
    _, cold = _fitted(replace(fit.function, pairs=resampled, share=1.0), known_starts(fit.model))
    assert again.objective <= cold.value * (1 + 1e-6)


def test_a_descent_that_stops_short_says_so():
    log = random_log(100, noise=0.3)
    model = plain_model(10, 5)
    objective = FitObjective(model, pairs_of(log), 1.0)
    start = model.starts(np.zeros((1, 15)))
    assert "stopped after 2 iterations" in _unconverged(
        descend(objective, start, model.bounds, max_steps=2)
    )
    assert not _unconverged(descend(objective, start, model.bounds))


# What is refused.


def test_parameters_that_do_not_suit_the_log_are_refused():
    few = random_log(20)
    four = DCGOptions(prior=DCG.standard(4, 10))
    refused("prior has 4 grades and 10 positions", fit_log, few, four)
    refused("start has 5 grades and 3 positions", fit_log, few, DCGOptions(start="linear-sqrt@3"))
    refused("zero=4: give 0 to 3", fit_log, few, DCGOptions(zero=4))
    refused("one grade only", fit_log, Preferences([[0, 0]], [[0, -1]]), DCGOptions())
    documents = Preferences.from_documents([["x", "y"]], [["y", "x"]])
    refused("use UtilityLearner", fit_log, documents, DCGOptions())
    light = few.changed(weight=np.full(20, 1e-4))
    refused("far less than one judgement", fit_log, light, DCGOptions())
    for name, bad in {"loss": "huber", "discounts": "rising", "zero": "bad", "ridge": -1.0}.items():
        refused(f"{name}=", DCGOptions, **{name: bad})
