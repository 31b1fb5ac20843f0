"""Agreement between raters, and errors and position biases of each: check values, twins and
coverage.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from dcglearn import DCGLearner, Preferences, rater_agreement, read_preferences
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import Pairs, Points
from dcglearn.raters.alpha import krippendorff_alpha
from dcglearn.raters.rater_errors import rater_errors
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust.resampling import bootstrap_counts
from tests.makers import TRUTH, random_lists, refused
from tests.tables import table


def alpha_of(unit, verdict, rater=None, level=0.95):
    """Return alpha with its interval and number of units; without raters, each row is another's."""
    rater = np.arange(len(unit)) if rater is None else np.asarray(rater)
    return krippendorff_alpha(np.asarray(unit), np.asarray(verdict), rater, level)


def alpha_by_exchanges(unit, verdict):
    """The definition pair by pair, its numbers of verdicts being means over all ways to exchange
    the lists.
    """
    signs = np.array([*itertools.product([1, -1], repeat=unit.max() + 1)])
    exchanged = signs[:, unit] * verdict
    numbers = {level: (exchanged == level).mean(axis=0).sum() for level in (-1, 0, 1)}
    n = len(verdict)

    groups = [verdict[unit == u] for u in range(unit.max() + 1)]
    observed = sum(
        sum(c != k for c, k in itertools.permutations(group, 2)) / (len(group) - 1)
        for group in groups
    )
    pairs = itertools.permutations(numbers, 2)
    expected = sum(numbers[c] * numbers[k] for c, k in pairs)
    return 1 - (observed / n) / (expected / (n * (n - 1)))


@table("seed", range(6))
def test_alpha_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    unit = np.concatenate([np.repeat(np.arange(7), 2), rng.integers(0, 7, 12)])
    verdict = np.clip(rng.integers(-1, 2, len(unit)) + unit % 2, -1, 1)
    alpha, low, high, n_units = alpha_of(unit, verdict)
    assert alpha == pytest.approx(alpha_by_exchanges(unit, verdict), abs=1e-12)
    assert low < alpha < high and n_units == 7


def test_alpha_is_one_zero_or_not_defined():
    assert alpha_of([0, 0, 1, 1], [1, 1, -1, -1])[0] == 1
    assert np.isnan(alpha_of([0, 1, 2], [1, 1, -1])[:3]).all()
    assert np.isnan(alpha_of([0, 0, 1, 1] * 5, [0, 0, 0, 0] * 5)[:3]).all()
    rng = np.random.default_rng(0)
    _, low, high, _ = alpha_of(np.repeat(np.arange(4000), 2), rng.integers(-1, 2, 8000))
    assert low < 0 < high


def test_a_rater_who_judged_a_unit_several_times_counts_once_with_what_prevails():
    unit = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
    rater = np.array([0, 0, 0, 2, 0, 1, 1, 0, 1, 0, 1])
    verdict = np.array([1, -1, 1, 1, -1, -1, 1, 1, 1, -1, -1])
    once = [0, 3, 4, 5, 7, 8, 9, 10]
    prevailing = np.where(once == np.array(5), 0, verdict[once])
    assert alpha_of(unit, verdict, rater) == pytest.approx(
        alpha_of(unit[once], prevailing), nan_ok=True
    )


def line(query, rater, winner, docs="ab", grades=((2, 0), (0, 1)), **columns):
    """Return a judgement of two lists, whose documents are named after a letter each."""
    lists = (
        [{"doc": f"{name}{i}", "grade": grade} for i, grade in enumerate(of_list)]
        for name, of_list in zip(docs, grades, strict=True)
    )
    return dict(zip("ab", lists, strict=True)) | columns | {
        "query": query, "rater": rater, "winner": winner
    }  # fmt: skip


def flat(judgement):
    """Return a judgement whose documents stand in columns of their own."""
    columns = dict(judgement)
    for side in "ab":
        if isinstance(judgement[side][0], dict):
            columns[f"docs_{side}"] = [item["doc"] for item in judgement[side]]
            columns[side] = [item["grade"] for item in judgement[side]]
    return columns


def agreement_of(lines):
    return rater_agreement(read_preferences([*map(flat, lines)], as_is=True), errors=False)


RAGGED = {"ann": "aaaaa", "bob": "aaaaa", "cem": "aa__a", "dea": "aaaab", "eva": "a_aaa"}
"""The verdicts of five raters on five pairs, where one of them differs once."""


@table("docs", [["ab"] * 5, ["ba"] * 5, ["ab", "ba", "ba", "ab", "ba"]])
def test_alpha_of_verdicts_by_pooled_margins(docs):
    verdicts = [
        line(f"q{i}", rater, winner, docs[i])
        for rater, row in RAGGED.items()
        for i, winner in enumerate(row)
        if winner != "_"
    ]
    assert len(verdicts) == 22
    found = agreement_of(verdicts)
    expected = 1 - (2 / 22) / (2 * 11 * 11 / (22 * 21))
    assert found.alpha == pytest.approx(expected, abs=1e-12)
    assert found.alpha == pytest.approx(0.826, abs=5e-4)


def random_lines(rng, named=True):
    """Return judgements of few pairs by few raters, some repeated, both ways round, or tied."""
    n_raters, n_units, n = rng.integers(2, 5), rng.integers(1, 8), rng.integers(2, 40)
    lists = rng.integers(0, 3, (n_units, 2, 2)).tolist()
    easy = rng.choice(["a", "b", "tie"], n_units)
    lines = []
    for _ in range(n):
        unit = int(rng.integers(n_units))
        winner = easy[unit] if rng.random() < 0.6 else rng.choice(["a", "b", "tie"])
        docs = [f"u{unit}{side}" for side in "ab"]
        shown = {"swapped": bool(rng.random() < 0.5), "strength": int(rng.integers(1, 4))}
        rater = f"r{rng.integers(n_raters)}"
        lines.append(line(f"q{unit % 3}", rater, str(winner), docs, lists[unit], **shown))
    if not named:
        for one in lines:
            one |= {side: [item["grade"] for item in one[side]] for side in "ab"}
    return exchanged(lines, rng)


def exchanged(lines, rng):
    """Return judgements with the sides of some exchanged."""
    other = {"a": "b", "b": "a", "tie": "tie"}
    turned = [
        x | {"a": x["b"], "b": x["a"], "winner": other[x["winner"]], "swapped": not x["swapped"]}
        for x in lines
    ]
    return [y if rng.random() < 0.5 else x for x, y in zip(lines, turned, strict=True)]


def renamed(lines, rng):
    """Return judgements with other names of documents, in another order."""
    docs = sorted({item["doc"] for x in lines for side in "ab" for item in x[side]})
    names = dict(zip(docs, (f"d{i}" for i in rng.permutation(len(docs))), strict=True))
    return [
        x | {side: [item | {"doc": names[item["doc"]]} for item in x[side]] for side in "ab"}
        for x in lines
    ]


def shuffled(lines, rng):
    return [lines[i] for i in rng.permutation(len(lines))]


def fewer(times, n_resamples, random_state):
    return bootstrap_counts(times, 100, random_state)


def same_alpha(lines, others):
    """Assert that alpha and its interval are the same; 100 resamples show it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcglearn.raters.alpha.bootstrap_counts", fewer)
        first, second = agreement_of(lines), agreement_of(others)
    ends = ([found.alpha, found.low, found.high] for found in (first, second))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-12)
    assert first.n_units == second.n_units


@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([exchanged, renamed, shuffled]))
def test_names_sides_and_order_of_rows_do_not_change_alpha(seed, named, change):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng, named or change is renamed)
    same_alpha(lines, change(lines, rng))


@pytest.mark.long
def test_alpha_is_invariant_on_1000_random_logs():
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        lines = random_lines(rng)
        same_alpha(lines, shuffled(renamed(exchanged(lines, rng), rng), rng))


def judged_by(z, way, rater, tied=False, threshold=0.0):
    """Return arguments of `rater_errors`: verdicts on pairs with differences z, (n,), that prefer
    the first list or tie.
    """
    n_raters = rater.max() + 1
    level, lists = (
        np.where(tied, 0, np.ones(len(z))).astype(np.int8),
        np.zeros((len(z), 1), np.int8),
    )
    columns = level.astype(np.int8), rater.astype(np.int32), np.ones(1), way.astype(np.int8)
    pairs = Pairs(lists, lists, *columns)
    thresholds, none = np.array([[0.0, threshold, np.inf]]), np.zeros((1, n_raters))
    return pairs, Points(np.ones((1, 1)), np.ones((1, 1)), thresholds, none, none, np.zeros(1)), z


def observations(rng, n_raters, n, errors, biases, tie=0.0):
    """Verdicts of raters whose errors and biases are known."""
    rater = np.repeat(np.arange(n_raters), n)
    z, first_shown = rng.normal(0, 3, len(rater)), rng.random(len(rater)) < 0.5
    moved, e = z + np.where(first_shown, 1, -1) * biases[rater], errors[rater]
    ahead, behind = expit(moved - tie), expit(-moved - tie)
    share = np.cumsum(
        [(1 - e) * ahead + e * behind, (1 - e) * behind + e * ahead, 1 - ahead - behind], axis=0
    )
    verdict = (rng.random(len(rater)) > share).sum(axis=0).clip(0, 2)
    turned = verdict == 1
    way = np.where(first_shown, 1, -1) * np.where(turned, -1, 1)
    return judged_by(np.where(turned, -z, z), way, rater, verdict == 2, tie)


@table("tie", [0.0, 0.5])
def test_errors_and_biases_are_recovered_and_their_intervals_hold_their_level(tie):
    rng, n_raters = np.random.default_rng(1), 80
    errors, biases = rng.choice([0.02, 0.1, 0.25], n_raters), rng.choice([-0.8, 0.0, 0.5], n_raters)
    found = rater_errors(*observations(rng, n_raters, 300, errors, biases, tie), 0.95)
    for name, truth in (("error", errors), ("bias", biases)):
        covered = (found[f"{name}_low"] <= truth) & (truth <= found[f"{name}_high"])
        assert 0.89 < covered.mean() < 0.99
    assert np.abs(found["error"] - errors).mean() < 0.03
    assert np.abs((found["bias"] - biases).mean()) < 0.03

    # a side is named at a level of 5% for all raters together, so that hardly any is wrong
    error = (found["bias_high"] - found["bias_low"]) / 2 / norm.ppf(0.975)
    clear = np.abs(found["bias"]) > norm.ppf(1 - 0.025 / n_raters) * error
    sides = np.where(clear, np.where(found["bias"] > 0, "first", "second"), "")
    assert set(sides) == {"first", "second", ""} and (found["favours"] == sides).all()
    true_sides = np.select([biases > 0, biases < 0], ["first", "second"], "none")
    assert (sides[clear] != true_sides[clear]).sum() <= 1


def test_a_rater_who_never_errs_or_always_names_the_first_list():
    z, way, zeros = np.full(40, 8.0), np.tile([1, -1], 20), np.zeros(40, np.intp)
    found = rater_errors(*judged_by(z, way, zeros), 0.95)
    assert found["error_low"] == 0
    assert found["error_high"] == pytest.approx(1 - np.exp(-1.9207 / 40), rel=0.02)
    found = rater_errors(*judged_by(0 * z, way**2, zeros), 0.95)
    assert found["bias_low"] > 1.5 and np.isfinite(found["bias_high"])

    # of a rater without a verdict nothing is known
    found = rater_errors(*judged_by(z, way, zeros + 1), 0.95)
    assert (found["error_low"][0], found["error_high"][0]) == (0, 1) and found["favours"][0] == ""
    assert found["error_high"][1] < 0.1
    assert "bias" not in rater_errors(*judged_by(z, 0 * way, zeros), 0.95)


@pytest.fixture(scope="module")
def biased_log():
    """Pairs judged by ann, bob, and cy, who leans to the list shown first, each pair shown both
    ways.
    """
    rng, n = np.random.default_rng(3), 120
    a, b = random_lists(n, "free", rng), random_lists(n, "free", rng)
    z = np.tile(TRUTH.score(a) - TRUTH.score(b), 6)
    rater, swapped = np.repeat(["ann", "bob", "cy"], 2 * n), np.tile(np.repeat([False, True], n), 3)
    bias = np.where(rater == "cy", 2.0, 0.0)
    z += np.where(swapped, -bias, bias)
    wins = rng.random(6 * n) < 0.9 * expit(z) + 0.1 * expit(-z)
    a, b = np.tile(a, (6, 1)), np.tile(b, (6, 1))
    lists = np.where(wins[:, None], a, b), np.where(wins[:, None], b, a)
    return Preferences(*lists, n_grades=5, rater=rater, swapped=swapped ^ ~wins)


def test_a_log_of_raters_asked_twice(biased_log):
    learner = DCGLearner().fit(biased_log)
    agreement = rater_agreement(biased_log, learner)
    assert (agreement.n_units, len(agreement.table)) == (120, 3)
    ann, _, cy = agreement.table.rows(named=True)
    assert cy["rater"] == "cy" and cy["bias_low"] > 1 and cy["favours"] == "first"
    assert cy["bias"] == pytest.approx(
        learner.rater_bias_["cy"], abs=0.4
    )  # the fit's is drawn to the others
    assert ann["bias_low"] < 0 < ann["bias_high"] and ann["error_low"] < 0.1 < ann["error_high"]
    assert ann["favours"] == "" and agreement.to_dict()["table"][2]["rater"] == "cy"
    titles = [picture["title"] for picture in agreement.pictures]
    assert titles == ["error, by rater", "position bias, by rater"]
    assert agreement.pictures[1]["rows"][2] == tuple(
        cy[name] for name in ("rater", "bias", "bias_low", "bias_high")
    )
    assert "raters agree beyond chance on 120 pairs" in agreement.sentence
    assert f"{agreement.alpha:.3f}, 95% interval" in agreement.sentence
    assert agreement.notes[0].startswith("alpha is 1") and len(agreement.notes) == 4


def test_without_a_fit_and_without_raters(biased_log):
    named = rater_agreement(biased_log, errors=False)
    assert named.table.columns == ["rater", "verdicts", "ties"]
    nameless = Preferences(biased_log.preferred, biased_log.other, n_grades=5)
    agreement = rater_agreement(nameless, errors=False)
    assert agreement.n_units == 120 and agreement.pictures == []
    said = agreement.sentence
    assert said.startswith("verdicts agree beyond chance on 120 pairs with two or more of them (")
    assert agreement.table["rater"].to_list() == ["all"]
    alone = rater_agreement(nameless[:100], errors=False)
    assert "how far verdicts agree: the log holds no pair twice, and does not" in alone.sentence
    alone = rater_agreement(biased_log[:1], errors=False)
    assert "no pair was judged by two of them, so let" in alone.sentence
    refused("agreement cannot be measured", rater_agreement, biased_log[:0])


def test_a_learner_is_fitted_if_it_is_not(biased_log):
    fitted = rater_agreement(biased_log, DCGOptions()).table
    assert fitted.equals(rater_agreement(biased_log).table)
    refused("is no DCGLearner", rater_agreement, biased_log, "robust")


def test_ties_count_only_where_the_fit_has_a_probability_for_them(biased_log):
    learner = DCGLearner().fit(biased_log)
    half = np.arange(len(biased_log)) % 2 == 1
    table = rater_agreement(biased_log.changed(tie=half), learner).table
    decided = rater_agreement(biased_log[~half], learner).table
    assert table["ties"].to_list() == [120, 120, 120]
    assert table.drop("verdicts", "ties").equals(decided.drop("verdicts", "ties"))


def test_few_units_show_no_agreement():
    """By chance raters agree on each of n pairs with a probability of 2^-n."""
    rng = np.random.default_rng(0)
    for n in (1, 3, 5, 6):
        lists = rng.integers(0, 4, (2, n, 5))
        raters = np.repeat(["ann", "bob"], n)
        log = Preferences(*np.tile(lists, (1, 2, 1)), n_grades=4, rater=raters)
        found = rater_agreement(log, errors=False)
        assert found.alpha == 1
        assert np.isnan(found.low) == (n < 6)
        assert ("are not shown to agree" in found.sentence) == (n < 6)


def test_judges_of_close_pairs_are_told_from_careless_ones():
    truth = ground_truth("D1").normalised()
    noise = {"lists": "free", "n_grades": 5, "random_state": 0}
    close = preference_pairs(truth, 600, temperature=0.2, **noise)
    careless = preference_pairs(truth, 600, flip_rate=0.13, **noise)
    for log, low, high in ((close, 0, 0.05), (careless, 0.1, 0.17)):
        row = rater_agreement(log, DCGLearner().fit(log)).table.row(0, named=True)
        assert 1 - log.agreement(truth).share > 0.1
        assert low <= row["error"] <= high
