"""Free curves and textbook DCGs, weighed by their evidence; the mean DCG that they make."""

import numpy as np
import pytest

from dcglearn import DCG, DCGLearner, Preferences, textbook_dcgs
from dcglearn.learning.fit import FREE, LLM, PRIOR, Member, fit_log
from dcglearn.learning.model import log_metric
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.weighing import LEAST, mean_dcg, weighed
from dcglearn.metrics.reading import metric
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust.fit_learner import fit_learner
from tests.learning.makers import value_and_slope
from tests.makers import random_lists, random_log, refused, rich_log

OTHER = DCG([0, 0.02, 0.1, 0.9, 1], [1, 0.98, 0.96, 0.3, 0.28, 0.26, 0.05, 0.04, 0.03, 0.02])
"""A DCG that is far from all textbook DCGs."""

RANDOM = DCG([0, 0.55, 0.6, 0.62, 1], [1, 0.9, 0.88, 0.5, 0.49, 0.2, 0.19, 0.18, 0.02, 0.01])
"""A DCG whose steps are random."""


def weights(fitted):
    """Return the weights of a learner or fit by member."""
    members = getattr(fitted, "members_", None) or fitted.members
    return {member.name: member.weight for member in members}


@pytest.fixture(scope="module")
def noisy():
    return DCGLearner().fit(preference_pairs(OTHER, 150, n_flips=30, random_state=0))


def test_the_answer_is_the_weighted_mean_of_the_members(noisy):
    by_name = weights(noisy)
    assert [*by_name] == [FREE, *textbook_dcgs(5, 10)]
    assert sum(by_name.values()) == pytest.approx(1) and min(by_name.values()) >= 0
    assert LEAST <= by_name[FREE] <= 1 - LEAST
    for name in ("gains", "discounts"):
        curves = np.array([getattr(member.dcg, name) for member in noisy.members_])
        of_mean = getattr(noisy.dcg_, name)
        np.testing.assert_allclose(of_mean, [*by_name.values()] @ curves, atol=1e-12)
        np.testing.assert_allclose(curves[:, 0 if name == "discounts" else -1], 1)
    assert noisy.members_[0].dcg == noisy.fit_.free
    assert (np.diff(noisy.dcg_.gains) > 0).all() and (np.diff(noisy.dcg_.discounts) < 0).all()


def test_a_mean_has_a_best_gain_and_a_first_discount_of_exactly_one():
    rng = np.random.default_rng(0)
    for _ in range(50):
        shares = rng.dirichlet(np.ones(42))
        both = zip(textbook_dcgs(5, 10).items(), shares, strict=True)
        mean = mean_dcg([Member(name, share, dcg) for (name, dcg), share in both])
        assert mean.gains[-1] == mean.discounts[0] == 1 and mean.gains[0] == 0


def test_the_judges_are_those_that_fit_best_with_the_mean(noisy):
    fit, dcg = noisy.fit_, noisy.dcg_
    at = fit.model.places
    theta = fit.model.with_metrics(fit.theta, log_metric(dcg)[None])[0]
    theta[at.sharpness] = np.log(fit.points.discounts.sum())
    theta[at.error] = np.log(noisy.error_rate_ / (1 - noisy.error_rate_))
    value, slope = value_and_slope(fit.function, theta)
    np.testing.assert_allclose(slope[[at.sharpness.start, at.error.start]], 0, atol=0.01)

    # which free curves fit better
    assert noisy.objective_ < value


@pytest.mark.parametrize("name", ["exponential-log2", "linear-reciprocal", "binary2-rbp0.8"])
def test_many_verdicts_of_a_textbook_single_it_out(name):
    log = preference_pairs(metric(name, 5, 10), 1000, lists="free", n_flips=100, random_state=0)
    found = weights(DCGLearner().fit(log))
    assert found[name] > 0.9 and found[FREE] < 0.05


@pytest.mark.parametrize("truth", [OTHER, RANDOM])
def test_many_verdicts_of_another_dcg_leave_hardly_anything_to_textbooks(truth):
    log = preference_pairs(truth, 1000, lists="free", n_flips=100, random_state=3)
    test = preference_pairs(truth, 5000, lists="free", random_state=4)
    learner = DCGLearner().fit(log)
    assert weights(learner)[FREE] > 0.99
    textbooks = textbook_dcgs(5, 10).values()
    best = max(test.agreement(dcg).share for dcg in textbooks)
    assert learner.score(test) > best + 0.02


@pytest.mark.parametrize("name", ["D1", "D2"])
def test_few_judgements_are_learned_from_as_well_as_by_a_textbook(name):
    truth, shares = ground_truth(name), []
    test = preference_pairs(truth, 2000, random_state=100)
    for seed in range(8):
        log = preference_pairs(truth, 40, n_flips=4, random_state=seed)
        learner = DCGLearner().fit(log)
        shares.append((learner.score(test), test.agreement(learner.fit_.free).share))
    of_mean, of_free = np.mean(shares, axis=0)
    assert of_mean > 0.94 and of_mean > of_free + 0.003


@pytest.mark.filterwarnings("ignore:the log tells as much")
def test_a_log_that_tells_hardly_anything_leaves_the_odds_of_a_hundred_to_one():
    learner = DCGLearner().fit(Preferences([[2, 1, 0]], [[0, 1, 1]]))
    by_name = weights(learner)
    assert sum(by_name.values()) == pytest.approx(1) and 0.005 < by_name[FREE] < 0.02
    assert max(by_name.values()) < 0.1


def test_a_prior_and_an_llm_judge_are_weighed_beside_the_textbooks():
    log = preference_pairs(OTHER, 30, random_state=5)
    for name, options in ((PRIOR, {"prior": OTHER}), (LLM, {"llm": OTHER})):
        learner = DCGLearner(**options).fit(log)
        by_name = weights(learner)
        dcg = next(member.dcg for member in learner.members_ if member.name == name)
        np.testing.assert_allclose(dcg.gains, OTHER.normalised().gains)
        assert sum(by_name.values()) == pytest.approx(1)
        assert all(by_name[name] > by_name[textbook] for textbook in textbook_dcgs(5, 10))

    # one that people contradict has no weight
    far = DCGLearner(llm=DCG([0, 0.8, 0.9, 0.95, 1], 0.3 ** np.arange(10)))
    assert weights(far.fit(preference_pairs(OTHER, 200, random_state=5)))[LLM] < 0.001


def test_one_seed_gives_the_same_bytes_and_others_nearly_the_same_weights():
    log = preference_pairs(ground_truth("D2"), 60, lists="free", n_flips=9, random_state=1)
    one, again, other = (DCGLearner(random_state=seed).fit(log) for seed in (0, 0, 1))
    assert one.dcg_.gains.tobytes() == again.dcg_.gains.tobytes()
    assert one.dcg_.discounts.tobytes() == again.dcg_.discounts.tobytes()
    assert weights(one) == weights(again) != weights(other)
    assert weights(one)[FREE] == pytest.approx(weights(other)[FREE], abs=0.2)
    np.testing.assert_allclose(one.dcg_.discounts, other.dcg_.discounts, atol=0.05)


def test_weights_of_another_fit_are_held():
    log = random_log(100, "free", noise=0.1)
    whole = fit_learner(log, DCGOptions())
    held = [member.weight for member in whole.members]
    part = weighed(fit_log(log[:50], DCGOptions()), held=held)
    assert weights(part) == weights(whole) and part.free != whole.free
    assert weights(fit_learner(log[:50], DCGOptions())) != weights(whole)


def test_free_discounts_that_rise_are_no_textbooks():
    ends = DCG([0, 0.3, 1], [1, 0.3, 0.2, 0.3, 0.9])
    log = preference_pairs(ends, 400, lists="free", n_flips=20, random_state=0)
    learner = DCGLearner(discounts="free").fit(log)
    assert weights(learner)[FREE] > 0.99
    np.testing.assert_allclose(learner.dcg_.discounts, ends.discounts, atol=0.15)
    falling = preference_pairs(metric("linear-log2", 3, 5), 400, lists="free", random_state=0)
    assert weights(DCGLearner(discounts="free").fit(falling))["linear-log2"] > 0.5


def short_lists(n, truth, worth, seed=0):
    """Return n pairs of which one list may be short, by a DCG and the gain of an empty place."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, 5, (2, n, 6))
    lists[0, np.arange(6) >= rng.integers(2, 7, n)[:, None]] = -2
    gains = np.array([*truth.gains, worth, np.nan])  # the gains of -2 and -1 come last
    lead = (gains[lists[0]] - gains[lists[1]]) @ truth.discounts
    return Preferences(*np.where((lead > 0)[:, None], lists, lists[::-1]), n_grades=5)


@pytest.mark.parametrize("zero", [2, "none"])
def test_textbooks_have_their_zero_where_the_free_curves_have_theirs(zero):
    truth = metric("exponential-log2", 5, 6).normalised()
    log = short_lists(400, truth, truth.gains[2] if zero == 2 else 0.0)
    learner = DCGLearner(zero=zero).fit(log)
    by_name = weights(learner)
    assert sum(by_name.values()) == pytest.approx(1)
    if zero == 2:
        assert all(member.dcg.gains[2] == pytest.approx(0) for member in learner.members_)
        assert learner.dcg_.gains[2] == pytest.approx(0, abs=1e-12)
        assert learner.dcg_.gains[0] < 0
    assert max(by_name, key=by_name.__getitem__) == "exponential-log2"
    assert learner.score(log) > 0.97


def test_ties_strengths_raters_and_sides_bear_out_a_textbook():
    truth = metric("exponential-log2", 5, 10)
    rng = np.random.default_rng(0)
    lists = random_lists(1200, "free", rng).reshape(2, 600, 10)
    rater, first = rng.choice(["ann", "bob", "cy"], 600), rng.random(600) < 0.5
    size = truth.score(lists[0]) - truth.score(lists[1]) + rng.logistic(0, 1, 600)
    size = size + np.where(rater == "cy", np.where(first, 2.0, -2.0), 0.0)
    ahead, behind = np.where((size > 0)[:, None], lists, lists[::-1])
    log = Preferences(
        ahead,
        behind,
        n_grades=5,
        tie=np.abs(size) < 1,
        strength=1 + (np.abs(size) > 6),
        rater=rater,
        swapped=first ^ (size > 0),
    )
    learner = DCGLearner().fit(log)
    assert weights(learner)["exponential-log2"] > 0.9
    assert learner.rater_bias_["cy"] > 1 and learner.tie_threshold_ == pytest.approx(1, rel=0.3)


def test_a_log_with_every_column_has_a_dcg():
    learner = DCGLearner().fit(rich_log(200))
    assert sum(weights(learner).values()) == pytest.approx(1)
    assert (np.diff(learner.dcg_.gains) > 0).all() and (np.diff(learner.dcg_.discounts) < 0).all()


@pytest.mark.parametrize(("n_grades", "depth"), [(2, 5), (3, 1), (2, 1)])
@pytest.mark.filterwarnings("ignore")
def test_two_grades_or_one_position_are_weighed(n_grades, depth):
    pairs = np.random.default_rng(0).integers(0, n_grades, (80, 2, depth))
    truth = DCG.standard(n_grades, depth)
    pairs = pairs[truth.score(pairs[:, 0]) > truth.score(pairs[:, 1])]
    learner = DCGLearner().fit(pairs)
    assert sum(weights(learner).values()) == pytest.approx(1) and learner.score(pairs) == 1


def test_none_is_refused():
    refused("there is nothing to learn from", DCGLearner().fit, random_log(3)[:0])
