"""Pairs and their loss: against a slow NumPy twin, finite differences, and probabilities that add
to one; pairs of a log, their merging and samples.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.special import expit

from dcglearn import DCG, Preferences
from dcglearn.foundation import threads
from dcglearn.learning import pairs as pairs_module
from dcglearn.learning.pairs import CURVATURE, SLOPES, SMALL, VALUE, Points, chances, pairs_of
from dcglearn.logs.visibility import encode
from tests.learning.makers import EVERY_KIND, at_point, plain_pairs, random_pairs, random_points
from tests.makers import random_log, refused

# Losses and their derivatives.


def probabilities(z, thresholds, error):
    """Chances of a tie (column 0), of each strength for the first list, and of each for the second;
    rows sum to 1.
    """
    low, high = thresholds[1:-1], thresholds[2:]
    ahead, behind = (expit(side[:, None] - low) - expit(side[:, None] - high) for side in (z, -z))
    tie = (expit(z + thresholds[1]) - expit(z - thresholds[1]))[:, None]
    error = error[:, None]
    return np.hstack(
        [tie, (1 - error) * ahead + error * behind, (1 - error) * behind + error * ahead]
    )


def column(pairs, name):
    """Return a column with an entry for each judgement."""
    return np.broadcast_to(getattr(pairs, name), len(pairs))


def utilities(pairs, weights, power=0.0):
    """Return the utility of each first list minus that of the second, by a table W."""
    sides = []
    for lists in (pairs.first, pairs.second):
        lengths = np.maximum((lists >= 0).sum(axis=1), 1)
        value = np.tensordot(encode(lists, weights.shape[1]), weights, 2)
        sides.append(value / lengths**power)
    return sides[0] - sides[1]


def twin(pairs, z, thresholds, errors, biases):
    """Return the loss at differences z, without position bias."""
    rater = column(pairs, "rater")
    z = z + column(pairs, "way") * biases[rater]
    chances = probabilities(z, thresholds, errors[rater])
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-9)
    named = chances[np.arange(len(pairs)), column(pairs, "level")]
    return -(column(pairs, "weight") * np.log(named)).sum()


def problem(seed):
    """Return judgements and points of one kind of log, and the number of its levels."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    kinds = {"n_levels": seed % 4 + 1, "n_raters": seed % 3 + 1, "ties": seed % 2 == 1}
    pairs = random_pairs(rng, int(rng.integers(1, 300)), *shape, **kinds)
    return pairs, random_points(rng, 2, *shape, **kinds, sided=seed % 5 > 1), seed % 4 + 1


def moved(points, b, i, step):
    """Return points of which b is moved along gains, discounts, thresholds, logit or bias i."""
    columns = [points.gains.copy(), points.discounts.copy(), points.powers.copy()[:, None]]
    columns.append(points.thresholds.copy())
    logits, biases = np.log(points.errors / (1 - points.errors)), points.biases
    for array in columns:
        if 0 <= i < array.shape[1]:
            array[b, i] += step
        i -= array.shape[1]
    gains, discounts, powers, thresholds = columns
    if i == 0:
        logits[b] += step
    elif i == 1:
        biases = biases.copy()
        biases[b] += step
    return Points(gains, discounts, thresholds, expit(logits), biases, powers[:, 0])


@pytest.mark.parametrize("seed", EVERY_KIND)
def test_losses_are_those_of_the_twin(seed):
    pairs, points, _ = problem(seed)
    sums = pairs.sums(points, CURVATURE)
    for b in range(2):
        z = utilities(pairs, np.outer(points.discounts[b], points.gains[b]), points.powers[b])
        wanted = twin(pairs, z, points.thresholds[b], points.errors[b], points.biases[b])
        assert sums.loss[b] == pytest.approx(wanted, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(pairs.differences(at_point(points, b)), z, atol=1e-12)
        losses = pairs.losses(at_point(points, b))
        assert losses.sum() == pytest.approx(sums.loss[b], rel=1e-10, abs=1e-12)

    # without derivatives
    for order in (VALUE, SLOPES):
        np.testing.assert_array_equal(pairs.sums(points, order).loss, sums.loss)
    np.testing.assert_array_equal(pairs.sums(points, SLOPES).slopes, sums.slopes)


@pytest.mark.parametrize("seed", EVERY_KIND)
def test_slopes_and_joint_curvature_are_finite_differences(seed):
    pairs, points, n_levels = problem(seed)
    sums = pairs.sums(points, CURVATURE)
    first_threshold = points.gains.shape[1] + points.discounts.shape[1] + 1
    n = sums.slopes.shape[1]

    # thresholds that no judgement meets, powers of 0, and biases of no side, are no variables
    fixed = {first_threshold, first_threshold + n_levels + 1}
    if not points.powers.any():
        fixed.add(first_threshold - 1)
    if n_levels == 1 and points.thresholds[0, 1] == 0:
        fixed.add(first_threshold + 1)
    if not pairs.way.any():
        fixed.add(n - 1)
    for i in fixed:
        assert not sums.slopes[:, i].any() and not sums.joint[:, i].any()

    others = sorted({*range(n)} - fixed)
    size = 1 + np.abs(sums.joint).max()
    np.testing.assert_array_equal(sums.joint, sums.joint.transpose(0, 2, 1))
    for i in others:
        up, down = (
            pairs.sums(moved(points, slice(None), i, step), SLOPES) for step in (1e-5, -1e-5)
        )
        slope = (up.loss - down.loss) / 2e-5
        np.testing.assert_allclose(sums.slopes[:, i], slope, rtol=1e-6, atol=1e-7 * size)
        row = ((up.slopes - down.slopes) / 2e-5)[:, others]
        np.testing.assert_allclose(sums.joint[:, i][:, others], row, rtol=1e-5, atol=1e-7 * size)


@pytest.mark.parametrize("seed", EVERY_KIND)
def test_sums_of_raters_are_finite_differences_and_add_to_the_whole(seed):
    pairs, points, _ = problem(seed)
    points = at_point(points, 0)
    sums, whole = pairs.sums_of_raters(points), pairs.sums(points, CURVATURE)
    assert sums.loss.sum() == pytest.approx(whole.loss[0], rel=1e-12)
    np.testing.assert_allclose(sums.slopes.sum(axis=0), whole.slopes[0, -2:], atol=1e-9)
    np.testing.assert_allclose(sums.curvature.sum(axis=0), whole.joint[0, -2:, -2:], atol=1e-9)

    # move the logit and the bias of one rater
    logits = np.log(points.errors / (1 - points.errors))
    for r in range(points.errors.shape[1]):
        for which in range(2):
            ends = []
            for step in (1e-5, -1e-5):
                both = np.stack([logits, points.biases])
                both[which, 0, r] += step
                there = replace(points, errors=expit(both[0]), biases=both[1])
                ends.append((pairs.sums(there, VALUE).loss[0], pairs.sums_of_raters(there).slopes))
            slope, bent = ((up - down) / 2e-5 for up, down in zip(*ends, strict=True))
            assert sums.slopes[r, which] == pytest.approx(slope, rel=1e-6, abs=1e-6)
            np.testing.assert_allclose(sums.curvature[r, which], bent[r], rtol=1e-5, atol=1e-6)
            assert not np.delete(bent, r, axis=0).any()


def test_no_judgements_cost_nothing():
    pairs, points, _ = problem(3)
    none = pairs.at(np.arange(0))
    assert not none.sums(points, CURVATURE).joint.any()
    assert not none.sums_of_raters(points).slopes.any()


def test_hopeless_pairs_cost_their_distance_without_errors_and_at_most_an_error_with_them():
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 5, (2, 50, 10)).astype(np.int8)
    gains, discounts = rng.normal(0, 1, (1, 5)), rng.normal(0, 1, (1, 10))
    pairs, thresholds, none = plain_pairs(*lists), np.array([[0.0, 0.0, np.inf]]), np.zeros((1, 1))

    def loss(error):
        judges = thresholds, np.full((1, 1), error), none
        return pairs.sums(Points(gains, 1e4 * discounts, *judges, none[0]), VALUE).loss[0]

    distance = np.maximum(-utilities(pairs, np.outer(discounts, gains)), 0).sum()
    assert loss(0.0) == pytest.approx(1e4 * distance, rel=1e-3)
    assert loss(0.1) <= -50 * np.log(0.1) + 1e-9


@pytest.mark.parametrize("low", [0.0, 0.5])
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_what_is_left_out_far_away_is_negligible(error, low):
    one = plain_pairs(np.ones((1, 1), np.int8), np.zeros((1, 1), np.int8))
    judges = np.array([[0.0, low, np.inf]]), np.full((1, 1), error), np.zeros((1, 1))

    def at(z):
        points = Points(np.array([[0.0, 1.0]]), np.array([[z]]), *judges, np.zeros(1))
        sums = one.sums(points, CURVATURE)
        return sums.loss[0], sums.slopes[0, 2]  # in the discount

    for z in (-45.0, -41.0, 41.0, 45.0):
        (up, _), (_, slope), (down, _) = at(z + 1e-3), at(z), at(z - 1e-3)
        assert (slope == 0) == (z > 0 or error > 0)
        if slope == 0:
            assert abs(up - down) / 2e-3 < 1e-12


# The probability of a verdict.


def verdicts(z, low, high, tie, error):
    """Return the log probability and the derivatives of the loss, shape (13, n), of verdicts at
    differences z.
    """
    z, low, high, error = (np.full(len(z), x, float) for x in (z, low, high, error))
    is_tie = np.full(len(z), tie, np.int8)
    logs, slopes, second = pairs_module.verdicts(z, low, high, is_tie, error)
    return logs, np.hstack([slopes, second]).T


@pytest.mark.parametrize("error", [0.0, 0.02, 0.1, 0.45, 0.8])
@pytest.mark.parametrize(
    ("tie", "low", "high"),
    [
        (False, 0.0, np.inf),
        (False, 0.7, np.inf),
        (False, 0.7, 1.9),
        (False, 0.0, 0.4),
        (True, 0.7, np.inf),
    ],
)
def test_derivatives_of_a_verdict_are_finite_differences_of_its_twin(error, tie, low, high):
    z, h = np.linspace(-6, 6, 13), 1e-5

    def twin_log(z, low, high, error):
        chance = (expit(z + low) - expit(z - low)) if tie else (expit(z - low) - expit(z - high))
        wrong = chance if tie else expit(-z - low) - expit(-z - high)
        return np.log((1 - error) * chance + error * wrong)

    at = [z, low, high, error]
    logs, derivatives = verdicts(z, low, high, tie, error)
    np.testing.assert_allclose(logs, twin_log(*at), rtol=1e-9)

    def moved(function, name):
        up, down = (
            function(*(x + sign * h * (i == name) for i, x in enumerate(at))) for sign in (1, -1)
        )
        return (up - down) / (2 * h)

    # a rate of zero is no variable, and a tie has none; without strengths and ties, `low` is no
    # variable
    fixed = ({3} if error == 0 or tie else set()) | ({1} if low == 0 and high == np.inf else set())
    for i in set(range(4)) - fixed:
        np.testing.assert_allclose(
            derivatives[i], -moved(twin_log, i), rtol=1e-6, atol=1e-7, err_msg=str(i)
        )
    pairs = [(i, j) for i in range(3) for j in range(i, 4)]
    for (i, j), value in zip(pairs, derivatives[4:], strict=True):
        if not {i, j} & fixed:
            numeric = moved(lambda *at, i=i: verdicts(*at[:3], tie, at[3])[1][i], j)
            np.testing.assert_allclose(value, numeric, rtol=1e-4, atol=1e-6, err_msg=f"{i} {j}")


@pytest.mark.parametrize("error", [0.0, 1e-4, 0.1, 0.45])
def test_preferences_without_strengths_are_a_case_of_all_verdicts(error):
    z = np.concatenate([np.linspace(-60, 60, 61), [-1e3, -39.9, 39.9, 1e3]])
    logs, derivatives = verdicts(z, 0.0, np.inf, False, error)
    expected, general = verdicts(
        z, 5e-324, np.inf, False, error
    )  # the least threshold that is not zero
    np.testing.assert_allclose(logs, expected, rtol=1e-12, atol=1e-15)
    tiny = 1e-15 / error**2 if error else 1e-13  # curvature in e is up to 1 / e^2
    for i in [0, 4] + [3, 7] * (error > 0):
        np.testing.assert_allclose(derivatives[i], general[i], rtol=1e-9, atol=tiny)


def test_chances_are_those_of_verdicts():
    z, error = np.linspace(-50, 50, 41), np.linspace(0, 0.9, 41)
    for threshold in (0.0, 0.8):
        tie, first, second = probabilities(z, np.array([0, threshold, np.inf]), error).T
        expected = np.column_stack([first, tie, second])
        np.testing.assert_allclose(chances(z, threshold, error), expected, rtol=1e-9, atol=1e-15)


# Parts, merging and samples.


@pytest.mark.parametrize("n", [100, 3 * threads.CHUNK])
def test_bytes_do_not_depend_on_threads_or_other_points(n, monkeypatch):
    rng = np.random.default_rng(2)
    kinds = {"n_levels": 2, "n_raters": 3, "ties": True}
    pairs = random_pairs(rng, n, 4, 3, **kinds)
    points = random_points(rng, 3, 4, 3, **kinds, sided=True)
    alone = at_point(points, 0)
    results = []
    for n_threads in (1, 2, 5):
        monkeypatch.setattr(threads, "threads", lambda n=n_threads: n)
        sums, of_raters = pairs.sums(points, CURVATURE), pairs.sums_of_raters(alone)
        arrays = [*vars(sums).values(), *vars(of_raters).values()]
        results.append([np.asarray(array).tobytes() for array in arrays])
    assert results[0] == results[1] == results[2]

    sums_alone = pairs.sums(alone, CURVATURE)
    for x in fields(sums):
        assert getattr(sums_alone, x.name)[0].tobytes() == getattr(sums, x.name)[0].tobytes()


def repeated(seed, n=400):
    """Return judgements of few kinds, each column with an entry for each, and points."""
    rng = np.random.default_rng(seed)
    kinds = {"n_levels": 2, "n_raters": 2, "ties": True}
    few = random_pairs(rng, 30, 4, 3, **kinds)
    for name in ("level", "rater", "way"):
        few = few.changed(**{name: column(few, name).copy()})
    rows = rng.integers(0, 30, n)
    return few.at(rows, weight=rng.exponential(1, n)), random_points(rng, 2, 4, 3, **kinds), rows


def test_merged_judgements_have_the_sums_of_all():
    pairs, points, rows = repeated(0)
    _, first = np.unique(rows, return_index=True)
    for merged in (pairs.merged(), pairs.merged(in_order=True), pairs.distinct()):
        assert len(merged) == len(first)
        assert merged.total_weight == pytest.approx(pairs.total_weight)
        whole, of_merged = (x.sums(points, CURVATURE) for x in (pairs, merged))
        np.testing.assert_allclose(of_merged.loss, whole.loss)
        np.testing.assert_allclose(of_merged.joint, whole.joint, atol=1e-9)

    # in order of appearance
    for name in ("first", "second", "level", "rater", "way"):
        in_order = getattr(pairs, name)[np.sort(first)]
        np.testing.assert_array_equal(getattr(merged, name), in_order)


def test_judgements_that_differ_in_one_column_stay_apart():
    pairs, *_ = repeated(1)
    twice = pairs.at([0, 0])
    assert len(twice.merged()) == 1
    for name in ("first", "second", "level", "rater", "way"):
        other = getattr(twice, name).copy()
        other[(1,) * other.ndim] = other[(1,) * other.ndim] + 1
        assert len(twice.changed(**{name: other}).merged()) == 2, name


def test_distinct_judgements_and_long_logs_are_left_as_they_are():
    pairs, *_ = repeated(2)
    merged = pairs.merged()
    again = merged.distinct()
    for name in ("first", "second", "level", "rater", "way", "weights"):
        np.testing.assert_array_equal(getattr(again, name), getattr(merged, name))
    long = pairs.at(np.arange(SMALL + 1) % len(pairs))
    assert long.distinct() is long


def test_samples_stand_for_all():
    pairs, points, _ = repeated(3, 4000)
    sample = pairs.thinned(900)
    assert 900 <= len(sample) < 1800 and pairs.thinned(3000) is pairs
    whole, part = (x.sums(points, VALUE).loss / x.total_weight for x in (pairs, sample))
    np.testing.assert_allclose(part, whole, rtol=0.1)


# Pairs of a log.


def test_verdicts_judges_and_sides_of_a_log_are_told_in_numbers():
    log = Preferences(
        [[2, 1], [1, 0], [0, 1], [2, 2], [1, 1]],
        [[1, 0], [0, 2], [2, 0], [2, 2], [0, 0]],
        strength=[2.5, 1.0, 1.0, 1.0, 9.0],
        tie=[False, False, True, False, False],
        rater=["eve", "bob", "bob", "ann", "eve"],
        swapped=[True, False, False, True, False],
        weight=[1.0, 2.0, 3.0, 4.0, 5.0],
    )
    pairs = pairs_of(log)
    assert pairs.level.tolist() == [2, 1, 0, 3]  # the pair of equal lists is left out
    assert pairs.rater.tolist() == [1, 0, 0, 1] and pairs.facts.raters == ("bob", "eve")
    assert pairs.way.tolist() == [-1, 1, 1, 1] and pairs.weight.tolist() == [1.0, 2.0, 3.0, 5.0]
    np.testing.assert_array_equal(pairs.first, [[2, 1], [1, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(pairs.facts.log.other, pairs.second)
    facts = pairs.facts
    assert facts.visible.open_cells.shape == (2, 3) and facts.n_lists == 7
    assert len(facts.steps) == 2
    assert facts.ties and facts.sided and sum(facts.dropped.values()) == 1

    # nobody knows who judged, how strongly, or on which side
    plain = pairs_of(log.changed(rater=None, strength=None, tie=None, swapped=None))
    one_judge = pairs_of(log, loss="logistic")
    for x in (plain, one_judge):
        assert x.facts.raters == () and not x.rater.any()
    assert plain.level.tolist() == [1] and not plain.way.any()
    assert (len(plain.facts.steps), plain.facts.ties, plain.facts.sided) == (0, False, False)


def test_a_margin_is_a_strength_where_none_is_said():
    log = random_log(6)
    margin = np.array([3.0, 1.0, 2.0, 3.0, 1.0, 1.0])
    assert pairs_of(log.changed(margin=margin)).level.tolist() == [3, 1, 2, 3, 1, 1]
    both = log.changed(margin=margin, strength=np.array([1.0, 1, 2, 2, 1, 1]))
    assert pairs_of(both).level.tolist() == [1, 1, 2, 2, 1, 1]


def test_unknown_grades_are_the_worst_and_empty_places_are_no_results():
    log = Preferences([[2, 1], [-1, -2]], [[1, -2], [0, -2]], n_grades=3)
    pairs = pairs_of(log)
    np.testing.assert_array_equal(pairs.first, [[2, 1], [0, -1]])
    np.testing.assert_array_equal(pairs.second, [[1, -1], [0, -1]])
    assert pairs.facts.n_empty == (2, 1)
    none = np.zeros((1, 1))
    for dcg in (DCG([-1, 1, 3], [1, 0.5]), DCG([-1, 1, 3], [1, 0.5], power=0.5)):
        curves, powers = (dcg.gains[None], dcg.discounts[None]), np.array([dcg.power])
        gaps = pairs.differences(Points(*curves, none, none, none, powers))
        np.testing.assert_allclose(gaps, dcg.score(log.preferred) - dcg.score(log.other))


def test_nothing_to_learn_from_is_refused():
    refused("nothing to learn from", pairs_of, Preferences([[1, 0]], [[1, 0]]))
    refused("nothing to learn from", pairs_of, Preferences([[1, 0]], [[0, 1]], tie=[True]))


def test_more_strengths_than_levels_are_binned_by_weight():
    log, strength = random_log(60), np.random.default_rng(0).exponential(1, 60)
    log = log.changed(strength=strength)
    halves = log[np.repeat(np.arange(60), 2)].changed(weight=np.full(120, 0.5))
    level = pairs_of(log).level
    np.testing.assert_array_equal(pairs_of(halves).level, np.repeat(level, 2))
    in_order = level[np.argsort(strength)]
    assert (np.diff(in_order) >= 0).all()
    assert np.bincount(level)[1:].tolist() == pytest.approx(7 * [60 / 7], abs=1.5)


def test_strengths_are_binned_without_an_empty_bin():
    strength = np.append(np.ones(40), np.linspace(2, 3, 60))
    pairs = pairs_of(random_log(100).changed(strength=strength))
    assert {*pairs.level.tolist()} == {*range(1, len(pairs.facts.steps) + 2)}


def test_raters_who_are_numbers_are_told_apart():
    log = Preferences([[1], [2], [2]], [[0], [0], [1]], rater=[10, 2, 10])
    pairs = pairs_of(log)
    names = [pairs.facts.raters[i] for i in pairs.rater]
    assert names == ["10", "2", "10"]
