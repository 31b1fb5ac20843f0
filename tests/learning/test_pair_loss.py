"""The direct learner's kernel against a slow NumPy twin, finite differences, and probabilities that
add to one.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from dcglearn.foundation import threads
from dcglearn.learning import judgement_kernel
from dcglearn.learning.judgement_kernel import CURVATURE, LIKELIHOOD, SIGMOID, SLOPES
from dcglearn.learning.list_kernel import list_slopes, list_values
from dcglearn.learning.pair_loss import JudgedPairs, Points, pair_loss
from dcglearn.logs.visibility import encode
from dcglearn.metrics.dcg import DCG

INDEX = np.zeros(1, np.int32)
"""The only judge."""


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


def twin(judged, weights, thresholds, errors, kind):
    n = len(judged)
    n_grades = weights.shape[1]
    d = encode(judged.first, n_grades).astype(float) - encode(judged.second, n_grades)
    z = np.tensordot(d, weights, 2)
    level, rater, v = (np.broadcast_to(x, n) for x in (judged.level, judged.rater, judged.weight))
    if kind == SIGMOID:
        return (v * expit(-z)).sum()
    chances = probabilities(z, thresholds, errors[rater])
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-9)
    return -(v * np.log(chances[np.arange(n), level])).sum()


@st.composite
def problems(draw):
    depth, n_grades, n_levels = (
        draw(st.integers(1, 5)),
        draw(st.integers(1, 5)),
        draw(st.integers(1, 4)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_raters = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    each, ties = draw(st.booleans()), draw(st.booleans())
    lists = rng.integers(-1, n_grades, (2, n, depth)).astype(np.int8)
    level = rng.integers(0 if ties else 1, n_levels + 1, n).astype(np.int8)
    rater = rng.integers(0, n_raters, n if each else 1).astype(np.int32)
    judged = JudgedPairs(*lists, level, rater, rng.exponential(1, n if each else 1))
    first = rng.exponential(1) if ties else 0.0
    thresholds = np.concatenate([[0.0], first + np.cumsum(rng.exponential(1, n_levels)), [np.inf]])
    return judged, rng.normal(0, 1, (depth, n_grades)), thresholds, rng.uniform(0.01, 0.9, n_raters)


@given(problems(), st.sampled_from([LIKELIHOOD, SIGMOID]))
def test_equals_the_twin_and_finite_differences(problem, kind):
    judged, weights, thresholds, errors = problem
    sums = pair_loss(judged, weights, thresholds, errors, kind)
    assert sums.loss == pytest.approx(
        twin(judged, weights, thresholds, errors, kind), rel=1e-10, abs=1e-12
    )

    def moved(which, index, step):
        arrays = {
            "weights": weights.copy(),
            "thresholds": thresholds.copy(),
            "errors": errors.copy(),
        }
        arrays[which][index] += step
        return pair_loss(judged, **arrays, kind=kind).loss

    size = 1 + abs(sums.loss)
    for which, slopes in (
        ("weights", sums.moment),
        ("thresholds", sums.thresholds),
        ("errors", sums.judges),
    ):
        for index in np.ndindex(slopes.shape):
            if which == "thresholds" and index[0] in (0, len(thresholds) - 1):
                assert slopes[index] == 0
                continue
            step = 1e-6
            difference = (moved(which, index, step) - moved(which, index, -step)) / (2 * step)
            assert slopes[index] == pytest.approx(difference, rel=1e-5, abs=1e-5 * size)


def test_hopeless_pairs_cost_their_distance_without_errors_and_at_most_an_error_with_them():
    rng, one = np.random.default_rng(0), np.ones(1)
    lists, weights = rng.integers(0, 5, (2, 50, 10)).astype(np.int8), rng.normal(0, 1, (10, 5))
    judged, thresholds = (
        JudgedPairs(*lists, one.astype(np.int8), INDEX, one),
        np.array([0.0, 0.0, np.inf]),
    )
    d = encode(judged.first, 5).astype(float) - encode(judged.second, 5)
    z = np.tensordot(d, weights, 2)
    exact = pair_loss(judged, 1e4 * weights, thresholds, np.zeros(1)).loss
    assert exact == pytest.approx(1e4 * np.maximum(-z, 0).sum(), rel=1e-3)
    assert (
        pair_loss(judged, 1e4 * weights, thresholds, np.full(1, 0.1)).loss
        <= -50 * np.log(0.1) + 1e-9
    )


def verdicts(z, low, high, tie, error):
    """Return the log probability and the derivatives of the loss, shape (13, n), of verdicts at
    differences z.
    """
    logs, slopes, second = judgement_kernel.verdicts(z, low, high, tie, error)
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
        np.testing.assert_allclose(
            judgement_kernel.chances(z, threshold, error), expected, rtol=1e-9, atol=1e-15
        )
    logs, of_z, of_error = judgement_kernel.log_chances(z, 0.2)
    np.testing.assert_allclose(logs, np.log(0.2 + 0.6 * expit(z)))
    np.testing.assert_allclose(of_z, 0.6 * expit(z) * expit(-z) / np.exp(logs))
    np.testing.assert_allclose(of_error, (1 - 2 * expit(z)) / np.exp(logs))


def sums_at(z, low, error):
    """Return the losses of preferences above a threshold at differences z, and their slopes in z,
    from the kernel.
    """
    rows, one = [], np.ones(1)
    for x in z:
        judged = JudgedPairs(
            np.ones((1, 1), np.int8), np.zeros((1, 1), np.int8), one.astype(np.int8), INDEX, one
        )
        points = Points(
            np.array([[0.0, 1.0]]),
            np.array([[x]]),
            np.array([[0.0, low, np.inf]]),
            np.full((1, 1), error),
        )
        sums = judged.sums(points, LIKELIHOOD, CURVATURE)
        rows.append([sums.loss[0], sums.moment[0, 0, 1]])
    return np.array(rows).T


@pytest.mark.parametrize("low", [0.0, 0.5])
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_what_is_left_out_far_away_is_negligible(error, low):
    z = np.array([-45.0, -41.0, 41.0, 45.0])
    below, at, above = (sums_at(z + step, low, error) for step in (-1e-3, 0, 1e-3))
    far = at[1] == 0
    assert z[far].tolist() == ([41.0, 45.0] if error == 0 else z.tolist())
    assert np.abs((above[0] - below[0])[far] / 2e-3).max() < 1e-12


def few_lists(rng, n, n_lists, depth=4, n_grades=3):
    """Return plain judgements of few lists, some without a grade, by one judge."""
    lists = rng.integers(-1, n_grades, (n_lists, depth)).astype(np.int8)
    first, second = rng.integers(0, n_lists, (2, n))
    weight = rng.exponential(1, n)
    return JudgedPairs(
        lists[np.sort(first)], lists[second], np.ones(1, np.int8), np.zeros(1, np.int32), weight
    )


def points_of(rng, n, depth=4, n_grades=3, error=0.1):
    gains = np.cumsum(rng.exponential(1, (n, n_grades)), axis=1)
    discounts = np.sort(rng.exponential(10, (n, depth)), axis=1)[:, ::-1].copy()
    return Points(gains, discounts, np.tile([0.0, 0.0, np.inf], (n, 1)), np.full((n, 1), error))


def test_a_position_bias_is_added_to_the_utility_of_the_list_shown_first():
    rng, n, n_raters = np.random.default_rng(5), 200, 3
    lists = rng.integers(-1, 3, (2, n, 4)).astype(np.int8)
    level, rater, way = rng.integers(0, 3, n), rng.integers(0, n_raters, n), rng.integers(-1, 2, n)
    judged = JudgedPairs(
        *lists, level.astype(np.int8), rater.astype(np.int32), np.ones(1), way.astype(np.int8)
    )
    points = points_of(rng, 1)
    points = replace(
        points, discounts=points.discounts / 20, thresholds=np.array([[0.0, 0.4, 1.5, np.inf]])
    )
    points = replace(
        points, errors=np.array([[0.05, 0.3, 0.2]]), biases=np.array([[1.0, -2.0, 0.3]])
    )
    sums = judged.sums(points, LIKELIHOOD, SLOPES)
    d = np.subtract(*(encode(x, 3).astype(float) for x in lists))
    z = (
        np.tensordot(d, points.discounts[0][:, None] * points.gains[0], 2)
        + way * points.biases[0][rater]
    )
    chances = probabilities(z, points.thresholds[0], points.errors[0][rater])
    assert sums.loss[0] == pytest.approx(-np.log(chances[np.arange(n), level]).sum())
    assert sums.judges.shape == (1, 2 * n_raters) and (sums.judges != 0).all()


@pytest.mark.parametrize("n", [100, 3 * threads.CHUNK])
def test_bytes_do_not_depend_on_threads_or_other_points(n, monkeypatch):
    rng = np.random.default_rng(2)
    judged, points = few_lists(rng, n, 50), points_of(rng, 3)
    results = []
    for n_threads in (1, 2, 5):
        monkeypatch.setattr(threads, "threads", lambda n=n_threads: n)
        sums = judged.sums(points, LIKELIHOOD, CURVATURE)
        results.append([getattr(sums, x.name).tobytes() for x in fields(sums)])
    assert results[0] == results[1] == results[2]
    alone = judged.sums(Points(*(x[:1].copy() for x in points.arrays)), LIKELIHOOD, CURVATURE)
    for x in fields(alone):
        assert getattr(alone, x.name)[0].tobytes() == getattr(sums, x.name)[0].tobytes()


def test_merged_judgements_have_the_sums_of_all():
    rng = np.random.default_rng(0)
    judged = few_lists(rng, 400, 6)
    points = points_of(rng, 2)
    for merged in (judged.merged(), judged.merged(in_order=True)):
        assert len(merged) <= 36 and merged.total_weight == pytest.approx(judged.total_weight)
        values = [x.sums(points, LIKELIHOOD, SLOPES) for x in (judged, merged)]
        assert values[1].loss == pytest.approx(values[0].loss)
        assert values[1].moment == pytest.approx(values[0].moment)
    assert (merged.first[0] == judged.first[0]).all() and (
        merged.second[0] == judged.second[0]
    ).all()


def test_values_and_slopes_of_lists_are_those_of_the_dcg():
    rng = np.random.default_rng(0)
    points = points_of(rng, 2)
    lists, slopes = rng.integers(-1, 3, (30, 4)).astype(np.int8), rng.normal(size=(2, 30))
    values = list_values(lists, *points.tables)
    for b in range(2):
        dcg = DCG(points.gains[b], points.discounts[b])
        np.testing.assert_allclose(values[b], dcg.score(lists), rtol=1e-12)

    # a value is the sum of discounts times gains
    moment = list_slopes(lists, slopes, 3)
    weights = points.discounts[:, :, None] * points.gains[:, None]
    np.testing.assert_allclose((moment * weights).sum((1, 2)), (slopes * values).sum(1))
