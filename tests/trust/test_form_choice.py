"""Forms beyond the DCG: gradients, corners, fits to logs whose truth is known, the choice, its
test, files, errors.
"""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import dcglearn as dl
from dcglearn.estimators.dcg_learner import save_fit
from dcglearn.foundation.validation import InputError
from dcglearn.learning.dcg_model import DirectObjective, Model, log_curves
from dcglearn.learning.descriptions import FORMS, FormScore
from dcglearn.learning.fit_dcg import FittedDCG
from dcglearn.learning.judgement_kernel import HINGE, LIKELIHOOD, SIGMOID
from dcglearn.learning.list_kernel import list_slopes, list_values, value_slopes
from dcglearn.learning.listed_judgements import ListedJudgements
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.learning.verdicts import verdicts_of
from dcglearn.readers.preferences import Preferences
from dcglearn.trust import form_choice
from dcglearn.trust.form_choice import FormChoice, candidate, form_of
from dcglearn.trust.nested_test import LogsOfDCG, nested_test, share_of_lists
from tests.makers import refused

ERR = dl.evaluation.textbook_list_metrics(4, 6)["ERR"]["ERR@6"]


def judged(metric, n=400, seed=0, wrong=0.1, **columns):
    """Return judgements of random lists of four grades and six positions, some of them wrong."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, 4, (2, n, 6)).astype(np.int8)
    first = (metric.score(lists[0]) > metric.score(lists[1])) ^ (rng.random(n) < wrong)
    ahead, behind = np.where(first[:, None], lists, lists[::-1])
    return Preferences(ahead, behind, n_grades=4, **columns)


def drawn(kind, seed=0, *, n=60, ties=True, with_errors=True, ridge=1.0):
    """Return a model of judges with strengths and ties, judgements, and parameters of it."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(-1, 4, (2, n, 5)).astype(np.int8)
    level = rng.integers(0 if ties and kind == LIKELIHOOD else 1, 3, n).astype(np.int8)
    rater, way = rng.integers(0, 2, n).astype(np.int32), rng.integers(-1, 2, n).astype(np.int8)
    judgements = JudgedPairs(*lists, level, rater, rng.random(n) + 0.5, way)
    margins = np.array([0.0, 0.5, 1.5, np.inf]) if kind == HINGE else None
    shape = {
        "depth": 5,
        "n_grades": 4,
        "n_raters": 2,
        "n_levels": 2,
        "ties": ties and kind == LIKELIHOOD,
    }
    sided = {"sided": kind == LIKELIHOOD, "with_errors": with_errors}
    model = Model(**shape, kind=kind, **sided, ridge=ridge, centre=2.0, margins=margins)
    theta = 0.3 * rng.normal(size=model.places.own_biases.stop)
    theta[model.places.delta] = rng.random(4)
    theta[model.places.sharpness] = 2.0
    theta[model.places.error] = -1.5
    return model, judgements, theta


def objectives(form, kind, with_errors):
    """Return the objectives of a DCG and of a form, the latter over the judgements by list, and
    parameters.
    """
    model, judgements, theta = drawn(kind, with_errors=with_errors)
    of_form = DirectObjective(
        replace(model, form=form), ListedJudgements.of(judgements).merged(), 0.7
    )
    return DirectObjective(model, judgements, 0.7), of_form, theta


@pytest.mark.parametrize("form", ["saturation", "best"])
@pytest.mark.parametrize(
    ("kind", "with_errors"),
    [(LIKELIHOOD, True), (LIKELIHOOD, False), (SIGMOID, False), (HINGE, False)],
)
def test_gradients_are_those_of_finite_differences_and_at_zero_of_the_dcg(form, kind, with_errors):
    of_dcg, objective, theta = objectives(form, kind, with_errors)
    further = np.random.default_rng(1).random(objective.model.places.n - len(theta))
    value, gradient = objective.with_gradient(np.append(theta, 0 * further))
    expected, slopes = of_dcg.with_gradient(theta)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient[: len(theta)], slopes, atol=1e-9)
    theta = np.append(theta, further)
    steps = 1e-6 * np.eye(len(theta))
    numeric = [
        np.subtract(*(objective.with_gradient(theta + sign * step)[0] for sign in (1, -1)))
        for step in steps
    ]
    np.testing.assert_allclose(
        objective.with_gradient(theta)[1], np.array(numeric) / 2e-6, atol=1e-6
    )


def test_kernels_are_their_definitions():
    rng = np.random.default_rng(0)
    lists = rng.integers(-1, 4, (30, 5)).astype(np.int8)
    zero = np.zeros((2, 1))
    gains, stops = (
        np.hstack([zero, rng.random((2, 4))]),
        np.hstack([zero, rng.random((2, 4)) * [[1], [0]]]),
    )
    discounts, best = -np.sort(-rng.random((2, 5))), np.array([0.0, 0.4])
    tables = gains, discounts, stops, best
    values = list_values(lists, *tables)
    for b in range(2):
        utility = dl.ListUtility(gains[b, 1:], discounts[b], stops[b, 1:], best[b])
        np.testing.assert_allclose(values[b], utility.score(lists), rtol=1e-12)
    slopes = rng.normal(size=(2, 30))
    moment, _, _ = list_slopes(lists, slopes, tables)
    np.testing.assert_allclose(
        (moment * discounts[:, :, None] * gains[:, None, 1:]).sum((1, 2)), (slopes * values).sum(1)
    )


def test_identical_judgements_are_merged():
    first = np.array([[1, 0], [1, 0], [0, 1], [1, 1]], np.int8)
    second = np.array([[0, 1], [0, 1], [1, 0], [0, 0]], np.int8)
    judgements = JudgedPairs(
        first, second, np.ones(1, np.int8), np.zeros(1, np.int32), np.array([1.0, 2, 4, 8])
    )
    pairs = ListedJudgements.of(judgements).merged()
    assert sorted(pairs.weight) == [3, 4, 8] and len(pairs.lists) == 4
    assert pairs.total_weight == 15 and len(pairs.thinned(1)) == 1


@pytest.fixture(scope="module")
def saturated():
    """A log of users whom one good result is enough, and its learner."""
    truth = dl.ListUtility([0, 0.2, 0.9, 1], 0.9 ** np.arange(6), stops=[0, 0.1, 0.95, 0.95])
    log = judged(truth, 1000, wrong=0.05)
    return truth, log, dl.DCGLearner(form="saturation").fit(log)


def test_saturation_is_found(saturated):
    truth, log, learner = saturated
    assert (
        learner.form_ == "saturation"
        and learner.form_scores_ == {}
        and isinstance(learner.metric_, dl.ListUtility)
    )
    assert (learner.utility_.stops[2:] > 0.7).all() and learner.utility_.stops[0] < 0.2
    fresh = judged(truth, 4000, seed=5, wrong=0)
    assert learner.score(fresh) > fresh.agreement(learner.dcg_).share + 0.02
    chances = learner.predict_proba(log)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert ((chances[:, 0] > chances[:, 2]) == (learner.decision_function(log) > 0)).all()


def test_a_share_of_the_best_is_found():
    log = judged(dl.ListUtility([0, 0.3, 0.6, 1], 0.9 ** np.arange(6), best=0.9), 600, wrong=0.02)
    learner = dl.DCGLearner(form="best").fit(log)
    assert learner.utility_.form == "best" and learner.utility_.best > 0.5
    assert learner.score(log) > log.agreement(learner.dcg_).share


def test_a_fit_starts_from_a_fitted_one(saturated, tmp_path):
    _, log, learner = saturated
    learner.save(tmp_path / "learner.json")
    for start in (learner, tmp_path / "learner.json"):
        again = dl.DCGLearner(form="saturation").fit(log, start=start)
        assert again.warm_ and again.objective_ <= learner.objective_ + 1e-6
        np.testing.assert_allclose(again.utility_.stops, learner.utility_.stops, atol=0.05)
    other = dl.DCGLearner(form="best").fit(log, start=learner)
    assert not other.warm_ and other.dcg_.gains == pytest.approx(learner.dcg_.gains, abs=1e-4)


def test_files_hold_the_form(saturated, tmp_path):
    _, log, learner = saturated
    scores = {
        "dcg": FormScore(-0.5, 0.1, 0.7, 0.0, 0.0),
        "best": FormScore(-1, 0.1, 0.7, 1, 1, 2, 0.1),
    }
    save_fit(replace(learner.fit_, form_scores=scores), tmp_path / "learner.json")
    again = dl.DCGLearner.load(tmp_path / "learner.json")
    assert (again.form, again.form_, again.utility_) == (
        "saturation",
        "saturation",
        learner.utility_,
    )
    assert again.form_scores_ == scores and again.dcg_ == learner.dcg_
    np.testing.assert_array_equal(again.predict_proba(log), learner.predict_proba(log))
    values = json.loads((tmp_path / "learner.json").read_text())
    for damage in ({"form": "dcg"}, {"form": "sum"}, {"list_utility": None}):
        (tmp_path / "damaged.json").write_text(json.dumps({**values, **damage}))
        refused(r"with(out)? a list utility", dl.DCGLearner.load, tmp_path / "damaged.json")


def test_a_dcg_is_its_own_list_utility():
    learner = dl.DCGLearner().fit(judged(dl.DCG.standard(4, 6), 60))
    assert learner.form_ == learner.utility_.form == "dcg" and learner.metric_ is learner.dcg_


def test_raters_ties_and_strengths_are_kept():
    rng = np.random.default_rng(0)
    rater, tie, strength = (
        rng.choice(["ann", "bob"], 300),
        rng.random(300) < 0.1,
        rng.integers(1, 3, 300),
    )
    columns = {"rater": rater, "tie": tie, "strength": strength}
    learner = dl.DCGLearner(form="saturation", prior=dl.DCG.standard(4, 6)).fit(
        judged(ERR, 300, **columns)
    )
    assert set(learner.rater_error_) == {"ann", "bob"} and learner.tie_threshold_ > 0
    assert len(learner.curves_.thresholds) == 4


@pytest.mark.parametrize("loss", ["sigmoid", "squared_hinge", "logistic"])
def test_other_losses_have_the_forms(loss):
    log = judged(ERR, 150)
    learner = dl.DCGLearner(loss=loss, form="saturation").fit(log)
    assert learner.score(log) > 0.75


def test_the_form_with_the_largest_gain_is_chosen_if_it_is_significant(saturated, monkeypatch):
    asked = []
    monkeypatch.setattr(
        form_choice,
        "nested_test",
        lambda *arguments: asked.append(arguments) or (0.025, np.zeros(0)),
    )
    learner = dl.DCGLearner(form="auto", n_starts=1).fit(saturated[1][:200])
    (gain, _, logs, thetas), scores = asked[0], learner.form_scores_
    assert thetas.shape == (39, len(logs.theta)) and np.ptp(thetas, axis=0).max() > 0
    assert learner.form_ == "saturation" and list(scores) == list(FORMS)
    assert (
        gain == scores["saturation"].gain > scores["best"].gain
        and scores["saturation"].p_value == 0.025
    )
    assert scores["dcg"].ahead == scores["dcg"].gain == 0 and scores["saturation"].ahead_error > 0
    dcg = dl.DCGLearner(form="dcg", loss="robust", n_starts=1).fit(saturated[1][:200])
    assert learner.objective_ == pytest.approx(dcg.objective_ - gain) and logs.weight.sum() == 200


def test_the_dcg_is_left_for_a_significant_gain_that_held_out_judgements_do_not_contradict():
    def chosen(ahead, p_value, gain=8.0):
        scores = {
            "best": FormScore(-0.5, 0.1, 0.5, 0.1, 0.01, 7.0),
            "dcg": FormScore(-0.5, 0.1, 0.5, 0, 0),
        }
        scores["saturation"] = FormScore(-0.5, 0.1, 0.5, ahead, 0.02, gain, p_value)
        return candidate(scores), form_of(scores)

    assert chosen(-0.01, 0.05) == ("saturation", "saturation")
    assert chosen(-0.01, 0.051) == chosen(-0.01, None) == ("saturation", "dcg")
    assert chosen(-0.03, 0.01) == ("dcg", "dcg")
    assert chosen(0.03, 0.01, gain=6.0) == ("best", "dcg")  # no value was asked for


def test_the_table_says_what_was_tested():
    scores = {
        "dcg": FormScore(-0.5, 0.1, 0.8, 0, 0),
        "best": FormScore(-0.4, 0.1, 0.8, 0.1, 0.02, 7.0),
    }
    one = FormChoice(scores, "dcg")
    assert "no other value of a list is shown" in one.sentence and len(one.notes) == 2
    scores["best"] = FormScore(-0.4, 0.1, 0.8, 0.1, 0.02, 7.0, 0.025)
    choice = FormChoice(scores, "best")
    assert "a DCG mixed with the gain of the best result (best): it fits better" in choice.sentence
    assert choice.sentence.endswith("(p = 0.025)")
    dcg, row = choice.table.rows(named=True)
    assert dcg["value_of_a_list"] == "a DCG" and dcg["minus_the_DCGs"] is None and not dcg["chosen"]
    assert row["chosen"] and (row["log_probability"], row["p"]) == (-0.4, 0.025)
    assert row["low"] == pytest.approx(0.1 - 1.8331 * 0.02, abs=1e-4)
    assert choice.cells[2][-5:] == ["-0.4000", "+0.1000", "+0.0633 to +0.1367", "7.00", "0.025"]
    assert [note[:8] for note in choice.notes] == ["ordered ", "better f", "the p-va"]


def test_impossible_forms_are_refused():
    refused("one of dcg", dl.DCGLearner(form="sum").fit, judged(ERR, 50))
    refused("likelihoods", dl.DCGLearner(form="auto", loss="sigmoid").fit, judged(ERR, 50))


def test_what_is_only_true_of_a_dcg_is_refused_by_name(saturated, tmp_path):
    _, log, learner = saturated
    refused("checkpoint", clone(learner).fit, log, checkpoint=tmp_path / "fit")
    with pytest.raises(InputError, match="fewer than 10"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        dl.DCGLearner(form="auto").fit(log[:8])
    message = r"only (for |true of )?a DCG"
    refused(message, dl.coherence, learner.utility_, learner.dcg_)
    for call in (dl.losses.ApproxNDCG, dl.exports.to_lightgbm):
        refused(message, call, learner.utility_)


def test_disagreement_is_sampled():
    dcg = dl.DCG.standard(4, 6)
    same = dl.disagreement(dl.ListUtility.of_dcg(dcg), dcg, n_pairs=2000)
    assert (same.share, same.exact) == (0, False)
    lists = np.random.default_rng(1).integers(0, 4, (2, 20_000, 6))
    ours, other = (
        np.sign(metric.score(lists[0]) - metric.score(lists[1])) for metric in (ERR, dcg)
    )
    found = dl.disagreement(ERR, dcg, n_pairs=20_000)
    assert found.share == pytest.approx((ours * other == -1).mean(), abs=0.02)


def test_the_held_out_table_has_the_utility_first_and_the_textbook_metrics():
    log = judged(ERR, 300)
    found = dl.compare_learners(
        *log.split(0.6, random_state=0), dl.DCGLearner(form="saturation"), C=1.0
    )
    names = [row.name.partition("(")[0].partition("@")[0].strip() for row in found.rows]
    assert names[:2] == ["learned utility", "learned DCG"]
    assert names[-6:] == ["ERR", "RBP", "INST", "BPM", "BestGrade", "BestGradeRank"]
    assert (
        "the learned utility" in str(found)
        and found["learned DCG"].share < found.rows[0].share + 0.05
    )


@pytest.mark.parametrize("beyond", [{"stops": [0, 0.1, 0.6, 0.9]}, {"best": 0.4}])
def test_slopes_of_values_are_those_of_finite_differences(beyond):
    rng = np.random.default_rng(0)
    gains, discounts = np.array([0.1, 0.3, 0.7, 1]), np.array([1, 0.8, 0.5, 0.3, 0.3])
    utility, lists = (
        dl.ListUtility(gains, discounts, **beyond),
        rng.integers(-1, 4, (20, 5)).astype(np.int8),
    )
    slopes = value_slopes(utility, lists)
    np.testing.assert_allclose(
        slopes[:, :20] @ np.outer(discounts, gains).ravel(), utility.score(lists), rtol=1e-12
    )
    name, step = next(iter(beyond)), 1e-6
    for i in range(slopes.shape[1] - 20):
        moves = step * np.eye(4)[i] if name == "stops" else step
        up, down = (
            dl.ListUtility(gains, discounts, **{name: beyond[name] + sign * moves})
            for sign in (1, 0)
        )
        numeric = (up.score(lists) - down.score(lists)) / step
        np.testing.assert_allclose(slopes[:, 20 + i], numeric, atol=1e-4)


@pytest.mark.parametrize(
    ("form", "names"), [("saturation", ["stop at grade 0"]), ("best", ["share of the best"])]
)
def test_bands_of_a_form_hold_its_further_parameters(saturated, form, names):
    bands = dl.bands(saturated[1][:120], dl.DCGLearner(form=form), n_resamples=4)
    rows = {row["parameter"]: row for row in bands.table.to_dicts()}
    assert bands.form == form and set(names) < set(rows) and names[0] in str(bands)
    low, high = bands.further_band[:, 0]
    assert low <= high and (low, high) == (rows[names[0]]["low"], rows[names[0]]["high"])
    if form == "saturation":  # a stop common to all grades is a discount
        assert (bands.further[:, 0] == 0).all() and "grade 0 is taken never to stop" in bands.notes[
            -1
        ]


def test_pairs_to_judge_are_near_ties_of_the_list_utility(saturated):
    _, log, learner = saturated
    asked = dl.suggest_pairs(log[:100], log[100:], 10, learner=learner)
    utility, rest = learner.utility_, log[100:]
    np.testing.assert_allclose(
        asked.difference, utility.score(asked.pairs[:, 0]) - utility.score(asked.pairs[:, 1])
    )
    usual = np.abs(utility.score(rest.preferred) - utility.score(rest.other))
    assert np.median(np.abs(asked.difference)) < np.median(usual) / 2 and (asked.value > 0).all()
    assert (
        len(
            dl.suggest_pairs(log[:60], log[100:], 2, learner=dl.DCGLearner(form="best", n_starts=1))
        )
        == 2
    )


DCG = dl.DCG([0, 0.4, 0.7, 1], [1, 0.7, 0.5, 0.4])


def fitted_to(log, *, sharp=1.0, error=-1.5, rise=-1.0):
    """Return `DCG` as if fitted to a log, with judges of that sharpness, error and threshold."""
    verdicts = verdicts_of(log, 0)
    judgements = verdicts.judgements(one_rater=True)
    model = Model(
        depth=4, n_grades=4, ties=verdicts.has_ties, n_levels=verdicts.n_levels, centre=sharp
    )
    theta = np.zeros(model.places.own_biases.stop)
    alpha, delta, sharpness, logit, _, _, thresholds, *_ = model.places
    theta[alpha], theta[delta] = log_curves(DCG.gains, DCG.discounts)
    theta[sharpness], theta[logit], theta[thresholds] = sharp, error, rise
    return FittedDCG(model, judgements, 1.0, log, theta, 0.0, [theta[None]], 1, 20)


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
    fitted = fitted_to(log)
    logs = LogsOfDCG.like(fitted)
    logs = LogsOfDCG(**{**vars(logs), "shared": shared, "ratings": np.full(len(logs.row), 2)})
    first, tie, rng = np.zeros(12), np.zeros(12), np.random.default_rng(1)
    for _ in range(1500):
        drawn = logs.draw(rng)
        both = np.stack([drawn.first, drawn.second], axis=1)[:, None]
        ahead, behind = ((both == sides).all(axis=(2, 3)) for sides in (lists, lists[:, ::-1]))
        first += (drawn.weight * (drawn.level > 0)) @ ahead
        tie += (drawn.weight * (drawn.level == 0)) @ (ahead | behind)
    chance, of_tie = expected(fitted.model, fitted.theta, lists)
    np.testing.assert_allclose(first / 1500, chance, atol=0.05)
    np.testing.assert_allclose(tie / 1500, of_tie if tied else 0, atol=0.05)


def test_a_list_that_recurs_keeps_its_noise():
    lists = np.random.default_rng(0).integers(0, 4, (6, 4)).astype(np.int8)
    first, second = (x.ravel() for x in np.meshgrid(range(6), range(6)))
    log = dl.Preferences(lists[first[first < second]], lists[second[first < second]], n_grades=4)
    fitted = fitted_to(log, sharp=-9.0, error=-9.0)
    logs, rng = LogsOfDCG.like(fitted), np.random.default_rng(0)
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
    log = dl.Preferences.from_ratings(
        rated, np.round(2 * DCG.score(rated) + own + rng.normal(0, 1, 40))
    )
    fitted = fitted_to(log)
    logs = LogsOfDCG.like(fitted)
    assert (logs.ratings == 5).all() and 0 <= logs.shared < 1
    drawn = logs.draw(np.random.default_rng(0))
    assert (
        len(np.unique(np.concatenate([drawn.first, drawn.second]), axis=0))
        == logs.share * drawn.total_weight
    )
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


def test_a_long_log_is_simulated_in_part():
    lists = np.random.default_rng(0).integers(0, 4, (2, 60, 4)).astype(np.int8)
    log = dl.Preferences(*lists, n_grades=4, weight=np.full(60, 2.0))
    log = log[log.differing][:50]
    logs = LogsOfDCG.like(fitted_to(log), most=16)
    assert len(logs.first) == 17 and logs.share * logs.weight.sum() == min(34, len(logs.lists))


def test_the_value_says_how_many_simulated_gains_are_as_large():
    lists = np.random.default_rng(0).integers(0, 4, (2, 40, 4)).astype(np.int8)
    log = dl.Preferences(*lists, n_grades=4)
    dcg = fitted_to(log)

    def gain_of(judgements, share):
        again = dcg.on(judgements, share)
        return again.objective - again.search_form("best").objective

    logs = LogsOfDCG.like(dcg)
    thetas = np.tile(dcg.theta, (2, 1))
    p_value, null = nested_test(1e9, gain_of, logs, thetas)
    assert p_value == 1 / 3 and len(null) == 2
    p_value, null = nested_test(-1e9, gain_of, logs, thetas)
    assert p_value == 1.0 and len(null) == 1


@pytest.mark.long
def test_users_who_stop_are_told_from_a_dcg():
    truth = dl.ListUtility([0, 0.2, 0.9, 1], 0.9 ** np.arange(6), stops=[0, 0.1, 0.95, 0.95])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        beyond = dl.DCGLearner(form="auto").fit(judged(truth, 1000, wrong=0.05))
        additive = [
            dl.DCGLearner(form="auto").fit(judged(dl.DCG.standard(4, 6), 300, seed=s))
            for s in range(5)
        ]
    assert beyond.form_ == "saturation" and beyond.form_scores_["saturation"].p_value == 1 / 40
    assert [learner.form_ for learner in additive].count("dcg") >= 4 and set(
        additive[0].form_scores_
    ) == set(FORMS)


def test_a_chosen_form_is_a_start_of_the_next_fit():
    learner = dl.DCGLearner(form="auto").fit(judged(ERR, 60))
    assert learner.fit(judged(ERR, 61), start=learner).form_ in FORMS
