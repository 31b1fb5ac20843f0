"""Position dependence, segments that need DCGs of their own, folds and errors by unit."""

import numpy as np
import pytest

from dcglearn import DCG, Preferences, Utility
from dcglearn.foundation.intervals import mean_and_error
from dcglearn.learning.fit import fit_log
from dcglearn.learning.options import DCGOptions
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust import position_dependence, segment_test
from dcglearn.trust.nested_test import on_independent
from dcglearn.trust.resampling import folds
from tests.makers import random_log, refused
from tests.tables import table

LOOKERS = DCG([0, 0.1, 0.2, 0.6, 1], 1 / np.arange(1.0, 6))
READERS = DCG([0, 0.8, 0.9, 0.95, 1], np.ones(5))


def test_standard_errors_of_clusters_are_those_of_simulated_logs():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(30, 1)
    often = rng.choice(len(first), 900, p=(weight := np.exp(-(first + second) / 12)) / weight.sum())
    clusters = {
        "list": (first, second),
        "list, some in many pairs": (first[often], second[often]),
        "pair": (np.arange(len(first)),) * 2,
        "query": (first, first),
    }
    for unit, (one, two) in clusters.items():
        means, errors = [], []
        for _ in range(400):
            own = rng.normal(size=(2, len(one)))
            shared = own if unit == "pair" else rng.normal(size=(2, 30))
            values = shared[:, one] + (shared[:, two] if unit.startswith("list") else 0) + 0.3 * own
            mean, error, _ = mean_and_error(values, np.ones(len(one)), (one, two))
            means.append(mean)
            errors.append(error)
        assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(means), rel=0.15)
    assert np.array(errors).shape == (400, 2)


@table("unit", ["pair", "list", "rater"])
def test_each_pair_is_held_out_once_and_never_trained_on(unit):
    rng = np.random.default_rng(0)
    log = Preferences(rng.integers(0, 2, (200, 2, 3)), rater=rng.integers(0, 12, 200))
    log = log[log.differing]
    first, second = log.clusters(unit)
    held_out = []
    for train, test in folds(log.clusters(unit), random_state=1):
        seen = np.concatenate([first[train], second[train]])
        assert not np.isin(np.concatenate([first[test], second[test]]), seen).any()
        held_out += test.tolist()
    assert len(held_out) == len(set(held_out)) > 0.9 * len(log)


def two_segments(second, n=150, column="segment"):
    parts = [
        preference_pairs(d, n, lists="free", temperature=0.1, random_state=s)
        for s, d in enumerate((LOOKERS, second))
    ]
    preferred, other = (
        np.vstack([getattr(part, name) for part in parts]) for name in ("preferred", "other")
    )
    return Preferences(preferred, other, n_grades=5, **{column: np.repeat(["one", "two"], n)})


def test_two_populations_are_found_and_one_is_not():
    found = segment_test(two_segments(READERS))
    assert found.found and found.gain > 0 and "learn one for each" in found.sentence
    assert found.segments == {"one": 150, "two": 150}
    by_rater = segment_test(two_segments(READERS, column="rater"), by="rater")
    assert by_rater.found and by_rater.by == "rater"
    one = segment_test(two_segments(LOOKERS))
    assert not one.found and one.to_dict()["p_value"] > 0.05
    assert f"not shown to fit better than one for all (p = {one.p_value:.3f})" in one.sentence
    assert one.table.rows() == [("one", 150), ("two", 150)] and one.table.columns[0] == "segment"


def test_raters_who_judge_the_same_pairs_each_for_himself_do_not_differ():
    log = preference_pairs(LOOKERS, 100, lists="free", temperature=0.1, random_state=0)
    noise = np.random.default_rng(0).logistic(0, 0.1, 100)
    alike = (log.gaps(LOOKERS) > noise)[:, None]
    verdicts = np.where(alike, log.preferred, log.other), np.where(alike, log.other, log.preferred)
    both = Preferences(
        np.vstack([log.preferred, verdicts[0]]),
        np.vstack([log.other, verdicts[1]]),
        n_grades=5,
        rater=np.repeat(["one", "two"], 100),
    )
    assert 0.05 < alike.mean() < 0.95
    assert segment_test(both, by="rater").p_value > 0.05


def test_segments_that_cannot_be_compared_are_refused_in_words():
    log = two_segments(READERS, n=30)
    refused("all pairs are of one segment, 'one'", segment_test, log[log.segment == "one"])
    few = log[np.r_[0:30, 30:33]]
    refused(
        r"1 of 2 segment\(s\) have at least 20 decided pairs \(the largest, 'one'",
        segment_test,
        few,
    )
    refused("the log has no column 'query'", segment_test, log, by="query")
    refused("by='colour': give one of segment, rater, query", segment_test, log, by="colour")


def test_a_segment_of_three_judgements_is_left_out():
    log = two_segments(READERS, n=40)
    segment = log.segment.astype("<U5")
    segment[:3] = "three"
    several = Preferences(log.preferred, log.other, n_grades=5, segment=segment)
    result = segment_test(several)
    assert result.segments == {"two": 40, "one": 37} and result.left_out == ("three",)
    assert "left out: 1 with fewer than 20 pairs" in result.notes[-1]

    # the others gain as much without it, whatever their names
    others = several[segment != "three"]
    renamed = others.changed(segment=np.where(others.segment == "one", "b", "a"))
    assert segment_test(renamed).gain == pytest.approx(result.gain, rel=1e-6)


def test_a_small_segment_beside_a_long_one_is_tested_whole():
    log = two_segments(READERS, n=40)
    rows = np.r_[np.repeat(np.arange(40), 200), 40:80]
    result = segment_test(log[rows].changed(weight=None))
    assert result.segments == {"one": 8000, "two": 40}


def test_the_test_accepts_products_and_detects_position_dependence():
    truth = ground_truth("D1").normalised()
    weights = truth.utility.weights.copy()
    weights[5:, 1:-1] *= 0.35
    log = preference_pairs(truth, 500, lists="free", temperature=0.2, random_state=1)
    dependent = preference_pairs(
        Utility(weights), 1500, lists="free", temperature=0.1, random_state=1
    )
    quiet, again, loud = (position_dependence(one, n_resamples=39) for one in (log, log, dependent))
    assert quiet.p_value > 0.05 and "does not speak against" in quiet.sentence
    assert loud.p_value < 0.05 and "depends on its position" in loud.sentence
    assert quiet.df == 9 * 3 and loud.statistic > 2 * loud.null.mean()
    assert again.p_value == quiet.p_value


def test_free_weights_are_the_best_of_all_near_the_product():
    rng = np.random.default_rng(0)
    log = preference_pairs(
        DCG([0, 0.3, 1], [1, 0.7, 0.2]), 80, lists="free", temperature=0.3, random_state=rng
    )
    with pytest.warns(UserWarning, match="27 distinct lists"):
        result = position_dependence(log, n_resamples=1)

    def increments(weights):
        """Return B, where weights at a position are sums over it, those below, and grades."""
        steps = np.diff(weights, axis=1)
        return steps - np.vstack([steps[1:], np.zeros((1, steps.shape[1]))])

    def objective(weights):
        """Return the penalised negative log likelihood."""
        score = [weights[np.arange(3), lists].sum(axis=1) for lists in (pairs.first, pairs.second)]
        loss = np.logaddexp(0, score[1] - score[0]) @ pairs.weights
        return loss + 0.5 * ((increments(weights) - increments(product)) ** 2).sum()

    fit, _ = on_independent(fit_log(log, DCGOptions(loss="logistic")))
    pairs, points = fit.pairs, fit.model.points(fit.theta[None])
    product = np.outer(points.discounts, points.gains)
    best = result.free.weights
    assert result.statistic == pytest.approx(2 * (objective(product) - objective(best)), abs=1e-3)
    assert increments(best).min() > -1e-12
    for _ in range(200):
        b = np.maximum(increments(best) + 0.02 * rng.normal(size=(3, 2)), 0)
        moved = np.hstack([np.zeros((3, 1)), np.cumsum(np.cumsum(b[::-1], axis=0)[::-1], axis=1)])
        assert objective(moved) > objective(best) - 1e-6


def test_degrees_of_freedom_and_logs_that_can_show_nothing():
    log = random_log(200, "permutations", noise=0.1)
    assert position_dependence(log, n_resamples=1).df == 8 * 3
    few = Preferences([[1, 0, 1]] * 3, [[0, 1, 0]] * 3)
    refused(
        "the log holds 3 preferences between different lists, fewer than 20",
        position_dependence,
        few,
    )
    many = Preferences([[1, 0, 1]] * 30, [[0, 1, 0]] * 30)
    refused("nothing to test", position_dependence, many)
    refused(
        "no gains to test",
        position_dependence,
        Preferences.from_documents([["x", "y"]] * 30, [["y", "x"]] * 30),
    )
    lists = np.random.default_rng(0).integers(0, 3, (6, 4))
    i, j = np.random.default_rng(1).permuted(np.tile(np.arange(6), (60, 1)), axis=1)[:, :2].T
    repeated = Preferences(lists[i], lists[j], n_grades=3)
    heavy = log.changed(weight=np.full(len(log), 5.0))
    for weighty in (repeated, heavy):
        weight, n_lists = weighty.total_weight, weighty.n_lists
        told = f"{weight:g} judgements and has {n_lists} distinct lists.* counts as {n_lists} of"
        with pytest.warns(UserWarning, match=told):
            position_dependence(weighty, n_resamples=1)
