"""Agreement between raters, and errors and position biases of each: check values, twins and
coverage.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from dcglearn import DCGLearner, Preferences, rater_agreement, read_preferences
from dcglearn.raters.rater_agreement import Estimate, krippendorff_alpha
from dcglearn.raters.rater_likelihood import Observations, fitted_raters
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust.resampling import bootstrap_counts
from tests.makers import TRUTH, random_lists, refused
from tests.tables import table

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section D: four observers, twelve
# units.
PUBLISHED = """\
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 ."""


def published():
    cells = [
        (u, int(x)) for row in PUBLISHED.split("\n") for u, x in enumerate(row.split()) if x != "."
    ]
    return np.array(cells).T


def test_alpha_has_the_published_values():
    assert krippendorff_alpha(*published()).value == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(*published(), ordinal=True).value == pytest.approx(0.815, abs=5e-4)


def alpha_by_pairs(unit, value, ordinal):
    """The definition, pair by pair."""
    groups = [value[unit == u] for u in np.unique(unit) if (unit == u).sum() > 1]
    everything = np.concatenate(groups)

    def distance(c, k):
        low, high = min(c, k), max(c, k)
        between = ((everything >= low) & (everything <= high)).sum()
        middle = ((everything == c).sum() + (everything == k).sum()) / 2
        return float(between - middle) ** 2 if ordinal else float(c != k)

    observed = sum(
        sum(distance(c, k) for c, k in itertools.permutations(g, 2)) / (len(g) - 1) for g in groups
    )
    expected = sum(distance(c, k) for c, k in itertools.permutations(everything, 2))
    n = len(everything)
    return 1 - (observed / n) / (expected / (n * (n - 1)))


@table("ordinal", [False, True])
def test_alpha_is_its_definition(ordinal):
    rng = np.random.default_rng(0)
    unit = rng.integers(0, 12, 40)
    value = (unit + rng.integers(0, 4, 40)) % 5
    alpha = krippendorff_alpha(unit, value, ordinal=ordinal)
    assert alpha.value == pytest.approx(alpha_by_pairs(unit, value, ordinal), abs=1e-12)
    assert alpha.low < alpha.value < alpha.high


def test_alpha_is_one_zero_or_not_defined():
    assert krippendorff_alpha([0, 0, 1, 1], [1, 1, 2, 2]).value == 1
    assert np.isnan(krippendorff_alpha([0, 1, 2], [1, 1, 2]).value)
    assert not krippendorff_alpha([0, 0, 1, 1], [1, 1, 1, 1]).is_known
    rng = np.random.default_rng(0)
    by_chance = krippendorff_alpha(np.repeat(np.arange(4000), 2), rng.integers(0, 3, 8000))
    assert by_chance.low < 0 < by_chance.high


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
    assert found.nominal.value == pytest.approx(expected, abs=1e-12)
    assert found.ordinal.value == pytest.approx(expected, abs=1e-12)
    assert found.nominal.value == pytest.approx(0.826, abs=5e-4)


def alpha_by_exchanges(unit, value, ordinal):
    """The definition, its numbers of values being means over all ways to exchange the lists."""
    n_units = unit.max() + 1
    levels = np.union1d(value, -value)
    signs = np.array([*itertools.product([1, -1], repeat=n_units)])
    exchanged = signs[:, unit] * value
    numbers = np.array([(exchanged == level).mean(axis=0).sum() for level in levels])
    n = len(value)

    def distance(c, k):
        between = numbers[(levels >= min(c, k)) & (levels <= max(c, k))].sum()
        ends = numbers[(levels == c) | (levels == k)].sum() / (2 if c != k else 1)
        return (between - ends) ** 2 if ordinal else float(c != k)

    groups = [value[unit == u] for u in range(n_units)]
    observed = sum(
        sum(distance(c, k) for c, k in itertools.permutations(g, 2)) / (len(g) - 1) for g in groups
    )
    pairs = [*zip(levels, numbers, strict=True)]
    expected = sum(x * y * distance(c, k) for (c, x), (k, y) in itertools.product(pairs, pairs))
    return 1 - (observed / n) / (expected / (n * (n - 1)))


@table("ordinal", [False, True])
@table("seed", range(4))
def test_alpha_of_exchangeable_values_is_the_mean_field_formula(ordinal, seed):
    rng = np.random.default_rng(seed)
    unit = np.concatenate([np.repeat(np.arange(6), 2), rng.integers(0, 6, 8)])
    value = rng.integers(-2, 3, len(unit)) + unit % 2
    alpha = krippendorff_alpha(unit, value, ordinal=ordinal, exchangeable=True)
    assert alpha.value == pytest.approx(alpha_by_exchanges(unit, value, ordinal), abs=1e-12)

    # the formula of nominal values, by their number n and that of ties
    signs = np.sign(value)
    n, ties = len(signs), (signs == 0).sum()
    half = (n - ties) / 2
    margins = np.unique(signs, return_counts=True)[1]
    by_margins = 1 - (margins * (margins - 1)).sum() / (n * (n - 1))
    observed = (1 - krippendorff_alpha(unit, signs).value) * by_margins
    expected = 1 - (2 * half * (half - 1) + ties * (ties - 1)) / (n * (n - 1))
    alpha = krippendorff_alpha(unit, signs, exchangeable=True)
    assert alpha.value == pytest.approx(1 - observed / expected, abs=1e-12)


@table("ordinal", [False, True])
@table("exchangeable", [False, True])
def test_a_rater_who_judged_a_unit_several_times_counts_as_the_mean_over_choices(
    ordinal, exchangeable
):
    how = {"ordinal": ordinal, "exchangeable": exchangeable}
    unit = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
    rater = np.array([0, 0, 1, 2, 0, 1, 1, 0, 1, 0, 1])
    value = np.array([1, -1, 1, 2, -1, -1, 0, 1, 1, -2, -1])
    rows = [np.flatnonzero((unit == u) & (rater == r)) for u, r in {*zip(unit, rater, strict=True)}]
    choices = np.array([*itertools.product(*rows)])

    # one value of each rater on each unit in all ways, as so many logs in one
    copies = 4 * np.repeat(np.arange(len(choices)), len(rows))
    whole = krippendorff_alpha(unit[choices].ravel() + copies, value[choices].ravel(), **how)
    n, n_whole = len(rows), choices.size
    factor = (1 - 1 / n) / (1 - 1 / n_whole)
    alpha = krippendorff_alpha(unit, value, rater, **how)
    assert 1 - alpha.value == pytest.approx((1 - whole.value) * factor, abs=1e-12)


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
    """Assert that value and interval of both alphas are the same; 100 resamples show it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcglearn.raters.rater_agreement.bootstrap_counts", fewer)
        first, second = agreement_of(lines), agreement_of(others)
    for name in ("nominal", "ordinal"):
        one, other = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(
            [one.value, one.low, one.high], [other.value, other.low, other.high], rtol=0, atol=1e-12
        )
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


def observations(rng, n_raters, n, errors, biases, tie=0.0):
    """Verdicts of raters whose errors and biases are known, the preferred list first in each
    row."""
    rater = np.repeat(np.arange(n_raters), n)
    z, first_shown = rng.normal(0, 3, len(rater)), rng.random(len(rater)) < 0.5
    moved, e = z + np.where(first_shown, 1, -1) * biases[rater], errors[rater]
    ahead, behind = expit(moved - tie), expit(-moved - tie)
    share = np.cumsum(
        [(1 - e) * ahead + e * behind, (1 - e) * behind + e * ahead, 1 - ahead - behind], axis=0
    )
    verdict = (rng.random(len(rater)) > share).sum(axis=0).clip(0, 2)
    turned = verdict == 1
    way = np.where(first_shown, 1.0, -1.0) * np.where(turned, -1, 1)
    return Observations(
        np.where(turned, -z, z), tie, verdict == 2, way, np.ones(len(z)), rater, n_raters
    )


def test_slope_and_curvature_of_the_likelihood():
    rng = np.random.default_rng(0)
    some = observations(rng, 3, 50, np.full(3, 0.1), np.array([0.0, 1.0, -0.5]), tie=0.3)
    errors, biases, h = np.array([0.05, 0.2, 0.4]), np.array([0.3, -0.2, 1.0]), 1e-5
    up, down = (some.likelihood(errors, biases + step) for step in (h, -h))
    _, slope, curvature = some.likelihood(errors, biases)
    np.testing.assert_allclose((up[0] - down[0]) / (2 * h), slope, rtol=1e-6)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * h), curvature, rtol=1e-6)


@table("tie", [0.0, 0.5])
def test_errors_and_biases_are_recovered_and_their_intervals_hold_their_level(tie):
    rng, n_raters = np.random.default_rng(1), 80
    errors, biases = rng.choice([0.02, 0.1, 0.25], n_raters), rng.choice([-0.8, 0.0, 0.5], n_raters)
    error, bias = fitted_raters(observations(rng, n_raters, 300, errors, biases, tie), 0.95)
    for estimates, truth in ((error, errors), (bias, biases)):
        covered = (estimates[:, 1] <= truth) & (truth <= estimates[:, 2])
        assert 0.89 < covered.mean() < 0.99
    assert np.abs(error[:, 0] - errors).mean() < 0.03
    assert np.abs((bias[:, 0] - biases).mean()) < 0.03


def test_a_rater_who_never_errs_or_always_names_the_first_list():
    z, way = np.full(40, 8.0), np.tile([1.0, -1.0], 20)
    zeros, no_tie = np.zeros(40, np.intp), np.zeros(40, bool)
    error, _ = fitted_raters(Observations(z, 0.0, no_tie, way, np.ones(40), zeros, 1), 0.95)
    assert error[0, 1] == 0 and error[0, 2] == pytest.approx(1 - np.exp(-1.9207 / 40), rel=0.02)
    _, bias = fitted_raters(
        Observations(np.zeros(40), 0.0, no_tie, np.ones(40), np.ones(40), zeros, 1), 0.95
    )
    assert bias[0, 1] > 1.5 and np.isfinite(bias).all()
    error, _ = fitted_raters(Observations(z, 0.0, no_tie, way, np.ones(40), zeros + 1, 2), 0.95)
    assert np.isnan(error[0]).all() and np.isfinite(error[1]).all()


def test_one_clear_verdict_leaves_every_share_of_errors_possible():
    one = Observations(
        np.array([-400.0]), 0.0, np.zeros(1, bool), np.zeros(1), np.ones(1), np.zeros(1, int), 1
    )
    assert one.wrong(np.ones(1), np.zeros(1)) == pytest.approx(1)
    assert one.wrong(np.zeros(1), np.zeros(1)) == pytest.approx(0)


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
    assert (agreement.n_units, agreement.both_ways, len(agreement.table)) == (120, 360, 3)
    ann, bob, cy = agreement.table.rows(named=True)
    assert cy["rater"] == "cy" and cy["bias_low"] > 1 and cy["first_low"] > 0.53
    assert cy["bias"] == pytest.approx(
        learner.rater_bias_["cy"], abs=0.4
    )  # the fit's is drawn to the others
    assert cy["consistency"] < min(ann["consistency"], bob["consistency"])
    assert ann["bias_low"] < 0 < ann["bias_high"] and ann["error_low"] < 0.1 < ann["error_high"]
    assert agreement.to_dict()["table"][2]["rater"] == "cy"
    assert [picture["title"] for picture in agreement.pictures][2] == "position bias, by rater"
    assert "raters agree beyond chance on 120 pairs" in agreement.sentence
    assert f"{agreement.nominal.value:.3f}, 95% interval" in agreement.sentence
    assert agreement.favoured == ["favour the list shown first: cy"]
    assert [note for note in agreement.notes if note.startswith("favour")] == agreement.favoured


def test_without_a_fit_and_without_raters(biased_log):
    named = rater_agreement(biased_log, errors=False)
    assert named.known == ["first", "consistency"]
    nameless = Preferences(biased_log.preferred, biased_log.other, n_grades=5)
    agreement = rater_agreement(nameless, errors=False)
    assert agreement.n_units == 120 and agreement.both_ways == 0
    assert agreement.table["rater"].to_list() == ["all"] and agreement.known == []
    alone = rater_agreement(nameless[:100], errors=False)
    assert "does not say by the column rater who judged" in alone.sentence
    alone = rater_agreement(biased_log[:1], errors=False)
    assert "no pair was judged by two of them, so let" in alone.sentence
    refused("agreement cannot be measured", rater_agreement, biased_log[:0])


def test_wilsons_interval():
    assert np.allclose(
        [Estimate.of_share(8, 10, 0.95).low, Estimate.of_share(8, 10, 0.95).high],
        [0.4902, 0.9433],
        atol=1e-4,
    )
    assert Estimate.of_share(0, 10, 0.95).low == 0 and np.isnan(Estimate.of_share(0, 0, 0.95).value)


def test_few_units_show_no_agreement():
    """By chance raters agree on each of n pairs with a probability of 2^-n."""
    rng = np.random.default_rng(0)
    for n in (1, 3, 5, 6):
        lists = rng.integers(0, 4, (2, n, 5))
        raters = np.repeat(["ann", "bob"], n)
        log = Preferences(*np.tile(lists, (1, 2, 1)), n_grades=4, rater=raters)
        found = rater_agreement(log, errors=False)
        assert found.nominal.value == 1
        assert np.isnan(found.nominal.low) == (n < 6)
        assert ("are not shown to agree" in found.sentence) == (n < 6)


def test_judges_of_close_pairs_are_told_from_careless_ones():
    truth = ground_truth("D1").normalised()
    noise = {"lists": "free", "n_grades": 5, "random_state": 0}
    close = preference_pairs(truth, 600, temperature=0.2, **noise)
    careless = preference_pairs(truth, 600, flip_rate=0.13, **noise)
    for log, low, high in ((close, 0, 0.05), (careless, 0.1, 0.17)):
        wrong = 1 - log.agreement(truth).share
        row = rater_agreement(log, DCGLearner().fit(log)).table.row(0, named=True)
        assert row["wrong"] == pytest.approx(wrong, abs=0.03)
        assert row["wrong_low"] <= row["wrong"] <= row["wrong_high"]
        assert low <= row["error"] <= high
