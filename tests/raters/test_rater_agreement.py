"""Agreement between raters, and errors and position biases of each: check values, twins and
coverage.
"""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from dcglearn import DCGLearner, Preferences, rater_agreement
from dcglearn.raters.rater_agreement import Estimate, krippendorff_alpha
from dcglearn.raters.rater_likelihood import Observations, fitted_raters
from tests.makers import TRUTH, random_lists, refused

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


@pytest.mark.parametrize("ordinal", [False, True])
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


@pytest.mark.parametrize("tie", [0.0, 0.5])
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
    learner = DCGLearner(n_starts=1).fit(biased_log)
    agreement = rater_agreement(biased_log, learner)
    assert (agreement.n_units, agreement.both_ways, len(agreement.raters)) == (120, 360, 3)
    ann, bob, cy = agreement.raters
    assert cy.bias.low > 1 and cy.first.low > 0.53
    assert cy.bias.value == pytest.approx(
        learner.rater_bias_["cy"], abs=0.4
    )  # the fit's is drawn to the others
    assert cy.consistency.value < min(ann.consistency.value, bob.consistency.value)
    assert ann.bias.low < 0 < ann.bias.high and ann.error.low < 0.1 < ann.error.high
    assert agreement.to_dict()["raters"][2]["rater"] == "cy"
    row = agreement.table.row(2, named=True)
    assert (row["rater"], row["bias"], row["bias_low"]) == ("cy", cy.bias.value, cy.bias.low)
    assert "raters agree beyond chance on 120 pairs" in agreement.sentence
    assert f"{agreement.nominal.value:.3f}, 95% interval" in agreement.sentence
    assert agreement.favouring == {
        "favour the list shown first": ["cy"],
        "favour the list shown second": [],
    }
    assert [note for note in agreement.notes if note.startswith("favour")] == [
        "favour the list shown first: cy"
    ]


def test_without_a_fit_and_without_raters(biased_log):
    named = rater_agreement(biased_log, errors=False)
    assert np.isnan(named.raters[0].error.value) and "error" not in named.table.columns
    assert named.to_dict()["raters"][0]["error"]["value"] is None
    nameless = Preferences(biased_log.preferred, biased_log.other, n_grades=5)
    agreement = rater_agreement(nameless, errors=False)
    assert (
        agreement.n_units == 120 and agreement.both_ways == 0 and agreement.raters[0].rater == "all"
    )
    alone = rater_agreement(nameless[:100], errors=False)
    assert "does not say by the column rater who judged" in alone.sentence
    alone = rater_agreement(biased_log[:1], errors=False)
    assert "no pair was judged by two of them, so let" in alone.sentence
    refused("agreement cannot be measured", rater_agreement, biased_log[:0])
    hinge = DCGLearner("squared_hinge", n_starts=1, max_iter=5).fit(biased_log[:40])
    refused("no likelihood", rater_agreement, biased_log, hinge)


def test_wilsons_interval():
    assert np.allclose(
        [Estimate.of_share(8, 10, 0.95).low, Estimate.of_share(8, 10, 0.95).high],
        [0.4902, 0.9433],
        atol=1e-4,
    )
    assert Estimate.of_share(0, 10, 0.95).low == 0 and np.isnan(Estimate.of_share(0, 0, 0.95).value)
