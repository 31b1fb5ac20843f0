"""DCGLearner: invariances, judges, the figures that it must reach, and logs that say little."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from dcglearn import DCG, DCGLearner, Preferences, UtilityLearner
from dcglearn.learning import fit as fit_module
from dcglearn.simulate import ground_truth, preference_pairs
from tests.makers import TRUTH, random_lists, random_log, refused
from tests.tables import table

LOSSES = ("robust", "logistic")


def test_logs_that_say_the_same_have_the_same_metric():
    log = random_log(80, "free", seed=1, noise=0.1)
    rows = np.arange(80)
    plain, *others = (
        DCGLearner().fit(x).dcg_
        for x in (
            log,
            log[np.random.default_rng(0).permutation(80)],
            log[np.repeat(rows, 2)].changed(weight=np.full(160, 0.5)),
            log.changed(weight=np.ones(80)),
        )
    )
    for dcg in others:
        np.testing.assert_allclose(dcg.gains, plain.gains, atol=1e-3)
        np.testing.assert_allclose(dcg.discounts, plain.discounts, atol=1e-3)

    # a weight of two is two lines
    twice, heavy = (
        DCGLearner().fit(x).dcg_
        for x in (log[np.append(rows, rows)], log.changed(weight=np.full(80, 2.0)))
    )
    np.testing.assert_allclose(twice.gains, heavy.gains, atol=1e-3)


def test_a_prior_may_be_a_name_or_a_file(tmp_path):
    few, path = random_log(60, seed=3), tmp_path / "prior.json"
    DCG.standard(5, 10, "linear", "sqrt").save(path)
    fitted = [
        DCGLearner(prior=prior).fit(few)
        for prior in (DCG.load(path), path, "linear-sqrt", "linear-sqrt@10")
    ]
    assert len({learner.dcg_ for learner in fitted}) == 1
    refused("prior has 5 grades and 3 positions", DCGLearner(prior="linear-sqrt@3").fit, few)


def test_thirty_judgements_learn_more_with_a_prior_near_the_truth():
    truth = DCG([0, 0.9, 1.9, 3.1, 4], TRUTH.discounts)
    test = preference_pairs(truth, 3000, lists="free", random_state=99)
    gains = []
    for seed in range(8):
        log = preference_pairs(truth, 30, lists="free", n_flips=6, random_state=seed)
        gains.append(
            DCGLearner(prior=TRUTH).fit(log).score(test) - DCGLearner().fit(log).score(test)
        )
    assert np.mean(gains) > 0.01


def test_a_step_is_learned_as_a_step():
    truth = DCG.standard(5, 10, "binary2")
    log = preference_pairs(truth, 1000, lists="free", n_flips=100, random_state=0)
    learner = DCGLearner().fit(log)
    assert learner.dcg_.gains[1] < 0.06 and learner.dcg_.gains[2] > 0.9
    assert learner.score(preference_pairs(truth, 3000, lists="free", random_state=1)) > 0.98


def one_sided(n, seed=0, always=1.0):
    """Return a log of ann and bob, of whom each errs now and then, and of cy, who nearly always
    names the first list.

    In the share `always` of his verdicts he names the list shown first.
    """
    rng = np.random.default_rng(seed)
    lists, rater = (
        random_lists(2 * n, "free", rng).reshape(2, n, 10),
        rng.choice(["ann", "bob", "cy"], n),
    )
    first = rng.random(n) < 0.5
    wins = rng.random(n) < 0.05 + 0.9 * expit(TRUTH.score(lists[0]) - TRUTH.score(lists[1]))
    wins = np.where((rater == "cy") & (rng.random(n) < always), first, wins)
    ahead, behind = np.where(wins[:, None], lists, lists[::-1])
    return Preferences(ahead, behind, n_grades=5, rater=rater, swapped=first ^ wins)


def test_a_rater_who_always_names_the_list_shown_first_has_no_influence():
    log = one_sided(150)
    of_cy = log.rater == "cy"
    for learner in (DCGLearner(), UtilityLearner()):
        with pytest.warns(
            UserWarning, match=r"of 1 rater \('cy'\) nearly every verdict names one side"
        ):
            learner.fit(log)
        assert learner.dropped_ == {"verdicts of raters who always name one side": of_cy.sum()}
        alone = clone(learner).fit(log[~of_cy])
        worth = "dcg_" if isinstance(learner, DCGLearner) else "utility_"
        assert (
            getattr(learner, worth) == getattr(alone, worth)
            and learner.objective_ == alone.objective_
        )
    without_sides = DCGLearner(loss="robust").fit(log.changed(swapped=None))
    assert (
        without_sides.position_bias_ == 0
        and without_sides.rater_bias_ == {}
        and not without_sides.dropped_
    )


def test_a_rater_who_mostly_names_the_list_shown_first_has_little_influence():
    log = one_sided(450, always=0.8)
    learner = DCGLearner(loss="robust").fit(log)
    assert (
        learner.rater_bias_["cy"] > 3
        and max(abs(learner.rater_bias_[name]) for name in ("ann", "bob")) < 1.5
    )
    assert learner.position_bias_ == np.mean([*learner.rater_bias_.values()])
    way, of_cy = np.where(log.swapped, -1, 1), log.rater == "cy"
    bias, error = (
        np.array([x[name] for name in log.rater])
        for x in (learner.rater_bias_, learner.rater_error_)
    )
    right = expit(learner.fit_.sureness(log) + way * bias)
    slope = (1 - 2 * error) * right * (1 - right) / (error + (1 - 2 * error) * right)
    assert slope[of_cy].mean() < 0.5 * slope[~of_cy].mean()


def test_one_judge_may_have_a_bias():
    log = one_sided(300, always=0.7)
    for loss in LOSSES:
        nameless = DCGLearner(loss=loss).fit(log.changed(rater=None))
        assert nameless.position_bias_ > 0.3 and nameless.rater_bias_ == {}


def test_error_rates_are_estimated_and_a_contrary_rater_is_named():
    rng = np.random.default_rng(5)
    log = random_log(1200, "free", seed=5)
    rater = rng.choice(["ann", "bob", "carl"], 1200)
    wrong = rng.random(1200) < np.select([rater == "ann", rater == "bob"], [0.02, 0.25], 0.9)
    sides = (log.other, log.preferred)
    first, second = (np.where(wrong[:, None], x, y) for x, y in (sides, sides[::-1]))
    with pytest.warns(UserWarning, match="others.*carl.*took the worse for the better"):
        learner = DCGLearner().fit(Preferences(first, second, rater=rater))
    assert learner.rater_error_["ann"] == pytest.approx(0.02, abs=0.025)
    assert learner.rater_error_["bob"] == pytest.approx(0.25, abs=0.06)
    assert learner.rater_error_["carl"] == pytest.approx(0.90, abs=0.05)
    blind = DCGLearner().fit(Preferences(first, second))
    test = random_log(3000, "free", seed=6)
    assert learner.score(test) > blind.score(test)


def test_ties_and_strengths_help():
    truth = ground_truth("D2").normalised()
    test = preference_pairs(truth, 4000, lists="free", random_state=50)
    rng = np.random.default_rng(0)
    ahead, without = [], []
    for _ in range(6):
        lists = rng.integers(0, 5, (2, 60, 10))
        difference = truth.score(lists[0]) - truth.score(lists[1]) + rng.logistic(0, 0.05, 60)
        swap = (difference < 0)[:, None]
        first, second = np.where(swap, lists[1], lists[0]), np.where(swap, lists[0], lists[1])
        size = np.abs(difference)
        strength = 1.0 + (size > 0.3) + (size > 0.8)
        tie = size < 0.1
        learner = DCGLearner().fit(
            Preferences(first, second, tie=tie, strength=strength, n_grades=5)
        )
        assert learner.tie_threshold_ > 0
        ahead.append(learner.score(test))
        without.append(DCGLearner().fit(Preferences(first, second, n_grades=5)[~tie]).score(test))
    assert np.mean(ahead) > np.mean(without) + 0.002


def test_probabilities_are_those_of_the_judges():
    truth = ground_truth("D1").normalised()
    log = preference_pairs(
        truth, 3000, lists="free", temperature=0.3, tie_below=0.1, random_state=0
    )
    learner = DCGLearner().fit(log)
    fresh = preference_pairs(
        truth, 4000, lists="free", temperature=0.3, tie_below=0.1, random_state=1
    )
    turned = np.arange(4000) % 2 == 1
    sides = (fresh.preferred, fresh.other)
    both = [np.where(turned[:, None], y, x) for x, y in (sides, sides[::-1])]
    chances = learner.predict_proba(Preferences(*both, n_grades=5))
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-9)
    assert chances[:, 1].mean() == pytest.approx(fresh.tie.mean(), abs=0.02)
    sure = chances[:, 0] > 0.7
    assert sure.sum() > 500
    assert (~turned & ~fresh.tie)[sure].mean() == pytest.approx(chances[sure, 0].mean(), abs=0.04)


def test_it_keeps_scikit_learns_contract():
    log = random_log(120, "free", seed=2, noise=0.1)
    search = GridSearchCV(DCGLearner(), {"ridge": [0.1, 10.0]}, cv=3).fit(log)
    assert search.best_score_ > 0.7
    both = np.stack([log.preferred, log.other], axis=1)
    assert DCGLearner().fit(both).dcg_ == DCGLearner().fit(log).dcg_
    assert DCGLearner(n_grades=7).fit(log).dcg_.n_grades == 7


def test_unseen_grades_and_positions_are_named():
    log = random_log(100, "permutations")
    learner = DCGLearner().fit(Preferences(log.preferred, log.other, n_grades=6))
    assert any("grade 5 never occurs" in note for note in learner.dcg_.notes)
    assert any("only the steps between discounts" in note for note in learner.dcg_.notes)
    one = DCGLearner().fit(Preferences([[2], [1], [2]], [[1], [0], [0]]))
    assert one.dcg_.discounts.tolist() == [1.0]


@table(
    ("parameters", "log", "message"),
    [
        ({"loss": "huber"}, random_log(20), "loss='huber': give one of robust, logistic"),
        ({"ridge": -1.0}, random_log(20), "above 0"),
        ({"ridge": 0.0}, random_log(20), "above 0"),
        ({"prior": DCG.standard(4, 10)}, random_log(20), "prior has 4 grades"),
        ({}, Preferences([[0, 0]], [[0, -1]]), "one grade only"),
        ({}, Preferences([[1, 0]], [[1, 0]]), "nothing to learn from"),
        ({}, Preferences([[1, 0]], [[0, 1]], tie=[True]), "nothing to learn from"),
        ({}, Preferences.from_documents([["x", "y"]], [["y", "x"]]), "use UtilityLearner"),
    ],
)
def test_bad_input_says_why(parameters, log, message):
    refused(message, DCGLearner(**parameters).fit, log)


def test_it_needs_far_fewer_pairs_than_the_qp():
    for name in ("D1", "D2"):
        truth = ground_truth(name)
        test = preference_pairs(truth, 5000, random_state=10_000)
        for n, least in ((100, 0.97), (200, 0.98)):  # goals: .945 and .97
            logs = [preference_pairs(truth, n, random_state=seed) for seed in range(5)]
            assert (
                np.mean([test.agreement(DCGLearner().fit(log).dcg_).precision for log in logs])
                >= least
            )


def is_a_dcg(dcg):
    gains, discounts = dcg.gains, dcg.discounts
    return (
        np.isfinite([*gains, *discounts]).all()
        and (np.diff(gains) >= 0).all()
        and (np.diff(discounts) <= 0).all()
    )


@table("loss", LOSSES)
def test_clean_pairs_with_hardly_a_prior_have_a_finite_fit_that_respects_them(loss):
    log = random_log(60, seed=2)
    learner = DCGLearner(loss, ridge=0.01).fit(log)
    assert (
        is_a_dcg(learner.dcg_) and np.isfinite(learner.objective_) and np.isfinite(learner.scale_)
    )
    assert learner.score(log) > 0.95


def test_one_pair_is_learned_from_with_a_warning():
    with pytest.warns(
        UserWarning, match="tells as much as 1 independent judgement, fewer than the 4"
    ):
        learner = DCGLearner().fit(Preferences([[2, 1, 0]], [[0, 1, 1]]))
    assert is_a_dcg(learner.dcg_)


def test_a_fit_that_stops_short_warns(monkeypatch):
    monkeypatch.setattr(fit_module, "_unconverged", lambda end: f"stopped after {end.n_iter} steps")
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        DCGLearner().fit(random_log(100, noise=0.3))
