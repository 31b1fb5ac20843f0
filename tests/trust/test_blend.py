"""The default learner: members, weights, judges, warm starts, and logs that a member cannot be
fitted to.
"""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn import DCG, DCGLearner, InputError, textbook_dcgs
from dcglearn.foundation.intervals import mean_and_error, unit_residuals
from dcglearn.learning.dcg_model import DirectObjective
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_dcg, fit_direct
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust import blend
from dcglearn.trust.blend import LEAST, Shares, chance_of_fixed, held_out_members
from dcglearn.trust.resampling import divided
from tests.makers import random_log, refused

OTHER = DCG([0, 0.02, 0.1, 0.9, 1], [1, 0.98, 0.96, 0.3, 0.28, 0.26, 0.05, 0.04, 0.03, 0.02])
"""A DCG that is far from all textbook DCGs."""


@pytest.fixture(scope="module")
def noisy():
    return DCGLearner().fit(preference_pairs(OTHER, 150, n_flips=30, random_state=0))


def test_the_blend_is_the_weighted_mean_of_its_members(noisy):
    weights = [member.weight for member in noisy.members_]
    assert noisy.loss_ == "blend" and sum(weights) == pytest.approx(1) and min(weights) >= LEAST
    for name in ("gains", "discounts"):
        curves = np.array([getattr(member.dcg, name) for member in noisy.members_])
        np.testing.assert_allclose(getattr(noisy.dcg_, name), weights @ curves, atol=1e-12)
        np.testing.assert_allclose(curves[:, 0 if name == "discounts" else -1], 1)
    assert [member.name for member in noisy.members_][:2] == ["robust", "sigmoid"]
    assert noisy.members_[2].name in textbook_dcgs(5, 10)


def test_the_judges_are_those_that_fit_best_with_the_curves(noisy):
    log = preference_pairs(OTHER, 150, n_flips=30, random_state=0)
    _, single = fit_dcg(log, DirectDescription(loss="robust"))
    objective = DirectObjective(single.model, single.judgements, single.share)
    theta = single.theta.copy()
    gains, discounts = noisy.dcg_.gains, noisy.dcg_.discounts
    steps = np.log(np.diff(gains))
    curves, (sharp, error) = slice(0, 13), (13, 14)
    falls = -np.diff(np.log(discounts))
    theta[curves] = np.concatenate([steps - steps.mean(), np.log(falls)])
    theta[sharp] = np.log(noisy.curves_.sharpness)
    theta[error] = np.log(noisy.error_rate_ / (1 - noisy.error_rate_))
    value, slope = objective.with_gradient(theta)
    assert value == pytest.approx(noisy.objective_, rel=1e-9)
    np.testing.assert_allclose(slope[[sharp, error]], 0, atol=0.01)


@given(st.floats(-3, 3), st.floats(0.1, 2))
def test_the_chance_to_be_the_best_of_two(lead, error):
    covariance = np.array([[error**2, 0], [0, 0]])
    first = Shares(np.array([lead, 0.0]), covariance).chances()[0]
    assert first == pytest.approx(NormalDist().cdf(lead / error), abs=0.03)


def test_members_that_cannot_be_told_apart_share_the_chance():
    np.testing.assert_allclose(Shares(np.full(3, 0.9), np.full((3, 3), 0.01)).chances(), 1 / 3)
    np.testing.assert_allclose(
        Shares(np.array([1.0, 1.0, 0.5]), np.zeros((3, 3))).chances(), [0.5, 0.5, 0]
    )


def test_the_covariance_of_means_is_that_of_their_errors():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=(3, 40)), rng.integers(1, 4, 40).astype(float)
    cluster = rng.integers(0, 8, 40)
    means, off, _ = unit_residuals(values, weight, (cluster, cluster))
    covariance = off @ off.T
    np.testing.assert_allclose(
        np.sqrt(np.diag(covariance)), mean_and_error(values, weight, (cluster, cluster))[1]
    )
    difference = mean_and_error(values[:1] - values[1:2], weight, (cluster, cluster))[1][0]
    assert covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1] == pytest.approx(
        difference**2
    )
    np.testing.assert_allclose(means, values @ weight / weight.sum())
    lists = rng.integers(0, 8, (2, 40))
    _, off, _ = unit_residuals(values, weight, tuple(lists))
    _, errors, _ = mean_and_error(values, weight, tuple(lists))
    np.testing.assert_allclose(np.sqrt(np.diag(off @ off.T)), errors)


def test_members_are_asked_for_judgements_that_they_were_not_learned_from():
    log = preference_pairs(ground_truth("D1"), 60, n_flips=12, random_state=1)
    learner = DCGLearner().fit(log)
    shares = held_out_members(learner.members_, log, DirectDescription()).means()[0]
    right = np.zeros(len(log))
    for train, test in divided(log.clusters("pair"), 5, np.random.default_rng(0)):
        best = max(textbook_dcgs(5, 10).values(), key=lambda dcg: log[train].agreement(dcg).share)
        right[test] = 0.5 + 0.5 * log[test].verdicts(best)
    assert shares[2] == pytest.approx(right.mean())
    assert (
        shares[0] < log.agreement(learner.members_[0].dcg).share
    )  # its own judgements flatter a fit
    assert learner.members_[2].share == pytest.approx(right.mean())


def test_the_likelihood_knows_a_textbook_where_judgements_are_independent():
    def chance(truth, n, lists="free", **options):
        log = preference_pairs(truth, n, lists=lists, random_state=2, **options)
        return chance_of_fixed(
            fit_dcg(log, DirectDescription(loss="robust"))[1], DirectDescription()
        )

    assert chance(ground_truth("D2"), 100, n_flips=10) > 0.9
    assert chance(OTHER, 300, n_flips=30) < 0.1
    log = preference_pairs(ground_truth("D2"), 100, random_state=2)
    single = fit_dcg(log, DirectDescription(loss="robust"))[1]
    assert chance_of_fixed(replace(single, share=1e-6), DirectDescription()) == pytest.approx(
        0.5, abs=1e-3
    )


@pytest.mark.parametrize("name", ["D1", "D2"])
def test_few_judgements_are_learned_from_as_well_as_by_a_textbook(name):
    truth, shares = ground_truth(name), []
    for seed in range(4):
        log = preference_pairs(truth, 40, n_flips=4, random_state=seed)
        learner, test = DCGLearner().fit(log), preference_pairs(truth, 2000, random_state=100)
        single = DCGLearner("robust").fit(log)
        shares.append((test.agreement(learner.dcg_).share, test.agreement(single.dcg_).share))
    of_blend, robust = np.mean(shares, axis=0)
    assert of_blend > 0.95 and of_blend > robust


def test_what_no_textbook_says_is_learned():
    log, test = (
        preference_pairs(OTHER, 300, n_flips=30, random_state=3),
        preference_pairs(OTHER, 2000, random_state=4),
    )
    learner = DCGLearner().fit(log)
    assert sum(member.weight for member in learner.members_ if member.fit is None) < 0.05
    assert test.agreement(learner.dcg_).share > max(
        test.agreement(dcg).share for dcg in textbook_dcgs(5, 10).values()
    )


def test_discounts_fall_strictly():
    truth = DCG([0, 1, 2, 3, 4], [1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    learner = DCGLearner().fit(preference_pairs(truth, 400, random_state=0))
    assert (np.diff(learner.dcg_.discounts) < 0).all()


def test_a_warm_start_starts_each_member_and_keeps_the_weights_of_nearly_the_same_log():
    log = random_log(220, "free", seed=3, noise=0.1)
    start = DCGLearner().fit(log[:200])
    near = DCGLearner().fit(log[:210], start=start)
    assert near.warm_ and [m.weight for m in near.members_] == [m.weight for m in start.members_]
    for loss, member in zip(("robust", "sigmoid"), near.members_, strict=False):
        alone = fit_direct(log[:210], DirectDescription(loss=loss, n_grades=5), start)
        assert alone.warm and alone.objective == member.fit.objective
    grown, again = (
        DCGLearner().fit(random_log(260, "free", seed=3, noise=0.1), start=near),
        DCGLearner(),
    )
    assert grown.fit_.weighed_on == 260 and near.fit_.weighed_on == 200
    again.fit(log[:210], start=start, refit="if_worse")
    assert again.fit_.weighed_on == 210
    assert [m.weight for m in again.members_] == pytest.approx(
        [m.weight for m in DCGLearner().fit(log[:210]).members_], abs=0.05
    )
    assert again.members_[0].share != start.members_[0].share


def test_the_prior_is_a_member_and_the_target_of_the_others():
    log = preference_pairs(OTHER, 30, random_state=5)
    learner = DCGLearner(prior=OTHER).fit(log)
    names = [member.name for member in learner.members_]
    assert (
        names[:3] == ["robust", "sigmoid", "prior"]
        and learner.members_[2].dcg == OTHER.normalised()
    )
    assert learner.members_[2].weight > learner.members_[3].weight
    assert learner.members_[0].fit.description.prior == OTHER


def test_where_one_member_cannot_be_fitted_the_others_serve(monkeypatch):
    def refusing(log, description, *arguments, **options):
        raise InputError("no start is finite")

    monkeypatch.setattr(blend, "fit_direct", refusing)
    with pytest.warns(
        UserWarning, match="the blend has no fit with the sigmoid loss: no start is finite"
    ):
        learner = DCGLearner().fit(random_log(60, "free", seed=0))
    assert learner.members_[0].name == "robust" and len(learner.members_) == 2
    assert np.isnan(learner.members_[0].share)


@pytest.mark.parametrize(("n_grades", "depth"), [(2, 5), (3, 1), (2, 1)])
@pytest.mark.filterwarnings("ignore")
def test_two_grades_or_one_position_are_blended(n_grades, depth):
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, n_grades, (80, 2, depth))
    truth = DCG.standard(n_grades, depth)
    ahead = truth.score(pairs[:, 0]) - truth.score(pairs[:, 1])
    pairs = pairs[ahead > 0]
    learner = DCGLearner().fit(pairs)
    assert len(learner.members_) == 3 and learner.score(pairs) == 1


def test_three_judgements_are_blended_and_none_refused():
    log = random_log(3, seed=0)
    with pytest.warns(UserWarning, match="tells as much as 3 independent judgements"):
        learner = DCGLearner().fit(log)
    assert sum(member.weight for member in learner.members_) == pytest.approx(1)
    refused("there is nothing to learn from", DCGLearner().fit, log[:0])
