"""The direct learner's kernel against a slow NumPy twin, finite differences, and probabilities that add to one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from dcglearn.foundation import threads as chunks
from dcglearn.learning.judgement_costs import CURVATURE, HINGE, LIKELIHOOD, SIGMOID, preference_costs, verdict_costs
from dcglearn.learning.pair_loss import Judgements, pair_loss
from dcglearn.logs.preferences import encode


def probabilities(z, thresholds, error):
    """Chances of a tie (column 0), of each strength for the first list, and of each for the second; rows sum to 1."""
    n_levels = len(thresholds) - 2
    ahead = np.stack([expit(z - thresholds[j]) - expit(z - thresholds[j + 1]) for j in range(1, n_levels + 1)], axis=1)
    behind = np.stack(
        [expit(-z - thresholds[j]) - expit(-z - thresholds[j + 1]) for j in range(1, n_levels + 1)], axis=1
    )
    tie = (expit(z + thresholds[1]) - expit(z - thresholds[1]))[:, None]
    error = error[:, None]
    return np.hstack([tie, (1 - error) * ahead + error * behind, (1 - error) * behind + error * ahead])


def twin(judged, weights, thresholds, errors, kind):
    n = len(judged)
    n_grades = weights.shape[1]
    d = encode(judged.first, n_grades).astype(float) - encode(judged.second, n_grades)
    z = np.tensordot(d, weights, 2)
    level, rater, v = (np.broadcast_to(x, n) for x in (judged.level, judged.rater, judged.weight))
    if kind == SIGMOID:
        return (v * expit(-z)).sum()
    if kind == HINGE:
        return (v * np.maximum(0, thresholds[level] - z) ** 2).sum()
    chance = probabilities(z, thresholds, errors[rater])[np.arange(n), level]
    return -(v * np.log(chance)).sum()


@st.composite
def problems(draw):
    depth, n_grades, n_levels = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_raters, each, ties = (
        draw(st.integers(1, 30)),
        draw(st.integers(1, 3)),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    lists = rng.integers(-1, n_grades, (2, n, depth)).astype(np.int8)
    judged = Judgements(
        lists[0],
        lists[1],
        rng.integers(0 if ties else 1, n_levels + 1, n).astype(np.int8),
        rng.integers(0, n_raters, n if each else 1).astype(np.int32),
        rng.exponential(1, n if each else 1),
    )
    first = rng.exponential(1) if ties else 0.0
    thresholds = np.concatenate([[0.0], first + np.cumsum(rng.exponential(1, n_levels)), [np.inf]])
    return judged, rng.normal(0, 1, (depth, n_grades)), thresholds, rng.uniform(0.01, 0.9, n_raters)


@given(problems(), st.sampled_from([LIKELIHOOD, SIGMOID, HINGE]))
def test_equals_the_twin_and_finite_differences(problem, kind):
    judged, weights, thresholds, errors = problem
    if kind == HINGE:  # a tie has no margin
        judged = Judgements(judged.first, judged.second, np.maximum(judged.level, 1), *rest(judged))
    sums = pair_loss(judged, weights, thresholds, errors, kind)
    assert sums.loss == pytest.approx(twin(judged, weights, thresholds, errors, kind), rel=1e-10, abs=1e-12)

    def moved(which, index, step):
        arrays = {"weights": weights.copy(), "thresholds": thresholds.copy(), "errors": errors.copy()}
        arrays[which][index] += step
        return pair_loss(judged, **arrays, kind=kind).loss

    size = 1 + abs(sums.loss)
    for which, slopes in (("weights", sums.moment), ("thresholds", sums.thresholds), ("errors", sums.errors)):
        for index in np.ndindex(slopes.shape):
            if which == "thresholds" and index[0] in (0, len(thresholds) - 1):
                assert slopes[index] == 0
                continue
            step = 1e-6
            difference = (moved(which, index, step) - moved(which, index, -step)) / (2 * step)
            assert slopes[index] == pytest.approx(difference, rel=1e-5, abs=1e-5 * size)


@given(problems())
def test_probabilities_of_all_verdicts_add_to_one(problem):
    judged, weights, thresholds, errors = problem
    one = Judgements(judged.first[:1], judged.second[:1], judged.level[:1], judged.rater[:1], np.ones(1))
    swapped = Judgements(one.second, one.first, one.level, one.rater, one.weight)
    total = np.exp(-pair_loss(Judgements(one.first, one.second, np.zeros(1, np.int8), *rest(one)), *problem[1:]).loss)
    for level in range(1, len(thresholds) - 1):
        for pair in (one, swapped):
            said = Judgements(pair.first, pair.second, np.full(1, level, np.int8), *rest(pair))
            total += np.exp(-pair_loss(said, weights, thresholds, errors).loss)
    assert total == pytest.approx(1, abs=1e-9)


def rest(judged):
    return judged.rater, judged.weight


def plain(n, seed=0, depth=10, n_grades=5):
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, n_grades, (2, n, depth)).astype(np.int8)
    one = np.ones(1)
    judged = Judgements(lists[0], lists[1], one.astype(np.int8), np.zeros(1, np.int32), one)
    return judged, rng.normal(0, 1, (depth, n_grades)), np.array([0.0, 0.0, np.inf])


def test_hopeless_pairs_cost_their_distance_where_nobody_errs_and_no_more_than_an_error_where_some_do():
    judged, weights, thresholds = plain(50)
    d = encode(judged.first, 5).astype(float) - encode(judged.second, 5)
    z = np.tensordot(d, weights, 2)
    exact = pair_loss(judged, 1e4 * weights, thresholds, np.zeros(1)).loss
    assert exact == pytest.approx(1e4 * np.maximum(-z, 0).sum(), rel=1e-3)
    assert pair_loss(judged, 1e4 * weights, thresholds, np.full(1, 0.1)).loss <= -50 * np.log(0.1) + 1e-9


@pytest.mark.parametrize("n", [100, 3 * chunks.CHUNK])
def test_bytes_do_not_depend_on_threads(n, monkeypatch):
    judged, weights, thresholds = plain(n)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(chunks, "threads", lambda threads=threads: threads)
        sums = pair_loss(judged, weights, thresholds, np.full(1, 0.1))
        results.append((sums.loss, sums.moment.tobytes(), sums.errors.tobytes()))
    assert len(set(results)) == 1


def test_a_weight_of_two_is_the_pair_twice():
    judged, weights, thresholds = plain(20)
    twice = Judgements(*(np.concatenate([x, x]) for x in (judged.first, judged.second)), judged.level, *rest(judged))
    heavy = Judgements(judged.first, judged.second, judged.level, judged.rater, np.full(1, 2.0))
    left, right = (pair_loss(x, weights, thresholds, np.full(1, 0.1)) for x in (twice, heavy))
    assert left.loss == pytest.approx(right.loss)
    np.testing.assert_allclose(left.moment, right.moment, atol=1e-9)


@pytest.mark.parametrize("error", [0.0, 1e-4, 0.1, 0.45])
def test_preferences_without_strengths_are_a_case_of_all_verdicts(error):
    z = np.concatenate([np.linspace(-60, 60, 601), [-1e3, -39.9, 39.9, 1e3]])[None]
    errors, no = np.full((1, 1), error), np.zeros(1, bool)
    short = preference_costs(z, errors, CURVATURE)
    whole = verdict_costs(z, np.zeros((1, 1)), np.full((1, 1), np.inf), no, errors, CURVATURE)
    np.testing.assert_allclose(short.loss, whole.loss, rtol=1e-12, atol=1e-15)

    def spread(costs, values):
        dense = np.zeros(z.shape)
        dense[costs.near] = values
        return dense

    for of_short, of_whole in ((short.slopes, whole.slopes), (short.bends, whole.bends)):
        for name, values in of_short.items():
            tiny = 1e-15 / error**2 if error else 1e-13  # curvature in e is up to 1 / e^2
            np.testing.assert_allclose(spread(short, values), spread(whole, of_whole[name]), rtol=1e-9, atol=tiny)
    if error:
        np.testing.assert_allclose(short.of_error, whole.of_error, rtol=1e-9)


@pytest.mark.parametrize("error", [0.0, 0.1])
def test_what_is_left_out_far_away_is_negligible(error):
    z = np.array([[-45.0, -41.0, 41.0, 45.0]])
    for cost in (preference_costs, lambda z, e, order: verdict_costs(z, *END, e, order)):
        costs = cost(z, np.full((1, 1), error), CURVATURE)
        far = z[0, np.setdiff1d(np.arange(4), costs.near[1])]
        assert far.tolist() == ([41.0, 45.0] if error == 0 else [-45.0, -41.0, 41.0, 45.0])
        ends = [cost(z + step, np.full((1, 1), error), CURVATURE).loss for step in (-1e-3, 1e-3)]
        slopes = np.diff(ends, axis=0)[0, 0] / 2e-3
        assert np.abs(slopes[np.isin(z[0], far)]).max() < 1e-12


END = np.zeros((1, 1)), np.full((1, 1), np.inf), np.zeros(1, bool)
"""Thresholds of the only level, and no tie."""
