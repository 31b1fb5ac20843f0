"""The noise ceiling: between both shares where the noise is known, by brute force, and none."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, ndtr

from dcglearn import Preferences, compare_learners, noise_ceiling
from dcglearn.trust import ceiling as module
from tests.makers import random_log, rated_pairs, refused
from tests.tables import table

POOL = np.array(list(itertools.product(range(2), repeat=5)), dtype=np.int8)


def worth_of_pool(rng, own=0.4):
    """Return the values of each list of the pool: a sum over positions, and their own."""
    return POOL @ np.array([1.0, 0.6, 0.5, 0.4, 0.3]) + rng.normal(0, own, len(POOL))


def rated_log(rng, n, worth, groups=None):
    """Return a log of n ratings, with levels of groups if there are any."""
    lists = rng.integers(0, len(POOL), n)
    group = None if groups is None else rng.integers(0, groups, n)
    level = 0 if groups is None else rng.integers(-3, 4, groups)[group]
    ratings = np.clip(np.round(worth[lists] + rng.normal(0, 1, n)), -2, 4) + level
    return rated_pairs(POOL[lists], ratings, group)


def judged_log(rng, n, worth):
    """Return a log of n judged pairs of different lists."""
    first, step = rng.integers(0, len(POOL), n), rng.integers(1, len(POOL), n)
    second = (first + step) % len(POOL)
    swap = rng.random(n) > expit(2 * (worth[first] - worth[second]))
    better, worse = np.where(swap, second, first), np.where(swap, first, second)
    return Preferences(POOL[better], POOL[worse])


def rating_chances(worth):
    """Return the chance that the first of two lists is rated above the second, if not as high."""
    cuts = np.concatenate([[-np.inf], np.arange(-1.5, 4), [np.inf]])
    chance = np.diff(ndtr(cuts[None, :] - worth[:, None]), axis=1)
    above = chance @ (np.cumsum(chance, axis=1) - chance).T
    return above / (above + above.T)


def judgement_chances(worth):
    """Return the chance that the first of two lists is preferred."""
    return expit(2 * (worth[:, None] - worth))


KINDS = [(rated_log, rating_chances), (judged_log, judgement_chances)]


def off(log_of, chances, seed, n, worth=None):
    """Return how far both shares of a simulated log are from its ceiling."""
    rng = np.random.default_rng((seed, n))
    worth = worth_of_pool(rng) if worth is None else worth
    found = noise_ceiling(log_of(rng, n, worth), random_state=seed)
    first, second = (
        x @ (2 ** np.arange(4, -1, -1)) for x in (found.pairs.preferred, found.pairs.other)
    )
    best = np.maximum(chances(worth), chances(worth).T)[first, second]
    true = np.average(best, weights=found.pairs.weights)
    return np.array([found.below - true, found.above - true])


@table(("log_of", "chances"), KINDS)
def test_the_ceiling_lies_between_on_average_and_both_shares_come_near(log_of, chances):
    few, many = (
        np.array([off(log_of, chances, seed, n) for seed in range(20)]) for n in (200, 4000)
    )
    assert -0.06 < few[:, 0].mean() < 0 < few[:, 1].mean()
    below, above = many.mean(axis=0)
    assert -0.012 < below < 0 < above < (0.005 if log_of is rated_log else 0.03)


@table(("log_of", "chances"), KINDS)
def test_of_pure_noise_lists_reach_a_half_without_the_verdict(log_of, chances):
    shares = [off(log_of, chances, seed, 200, np.zeros(32))[0] for seed in range(80)]
    assert abs(np.mean(shares)) < 3 * np.std(shares) / np.sqrt(80)
    assert np.std(shares) < 0.06


def test_levels_of_groups_are_no_worth_of_lists():
    rng = np.random.default_rng(0)
    worth = worth_of_pool(rng)
    found = noise_ceiling(rated_log(rng, 1500, worth, groups=100))
    order = np.array([found.share_of(Worth(worth)), found.share_of(Worth(-worth))])
    assert abs(found.below - order[0]) < 0.02 and order[1] < 0.4
    assert found.above > order[0] and found.unit == "rating"


class Worth:
    """Values of the lists of the pool, as a metric."""

    def __init__(self, worth):
        self.worth = worth

    def score(self, lists):
        return self.worth[np.asarray(lists) @ (2 ** np.arange(4, -1, -1))]


@st.composite
def logs(draw):
    """Return a log of lists that recur, judged with weights or rated in groups, and values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(80, 200))
    if draw(st.booleans()):
        groups = draw(st.sampled_from([None, 3]))
        log = rated_log(rng, n, rng.normal(0, 1, 32), groups)
    else:
        log = judged_log(rng, n, rng.normal(0, 1, 32))
        log = log.changed(weight=rng.choice([1, 2.5, 4], n), tie=rng.random(n) < 0.1)
    return log, rng.normal(0, 1, 32)


@given(logs())
def test_no_values_respect_more_than_the_majority_of_each_pair(drawn):
    log, values = drawn
    found = noise_ceiling(log, min_times=2)
    assert found.above >= found.share_of(Worth(values)) - 1e-9
    assert 0 <= found.below <= found.above + 1e-9

    # the majority, pair by pair, and the rows in the log
    votes = {}
    sides = zip(found.pairs.preferred.tolist(), found.pairs.other.tolist(), strict=True)
    for (better, worse), weight in zip(sides, found.pairs.weights, strict=True):
        low, high = sorted([better, worse])
        split = votes.setdefault((*low, *high), [0.0, 0.0])
        split[better == low] += weight
    most = sum(map(max, votes.values()))
    assert found.above == pytest.approx(most / found.pairs.total_weight)
    assert (log[found.rows].preferred == found.pairs.preferred).all()


@given(logs())
def test_each_verdict_is_held_out_once_and_never_among_the_others(drawn):
    log = drawn[0].decided
    pairs = log[log.differing]
    folds = list(module._folds(pairs, np.random.default_rng(0)))
    np.testing.assert_allclose(sum(held for _, held in folds), pairs.weights)
    assert all((others + held <= pairs.weights + 1e-9).all() for others, held in folds)
    assert len(folds) == (5 if log.ratings is None else 15)


def test_comparisons_of_ratings_are_counted_one_by_one():
    rng = np.random.default_rng(1)
    pairs = rated_log(rng, 60, rng.normal(0, 1, 32), groups=2)
    counts = rng.integers(0, 3, (2, pairs.units.max() + 1, 4)).astype(float)
    found = module._n_wins(pairs, *counts)
    for (better, worse), wins in list(zip(pairs.units, found, strict=True))[:40]:
        ratings = np.repeat(np.arange(4), counts[0][better].astype(int))
        others = np.repeat(np.arange(4), counts[1][worse].astype(int))
        assert wins == (ratings[:, None] > others).sum()


def test_values_of_lists_are_the_least_squares():
    rng = np.random.default_rng(2)
    better, worse = rng.integers(0, 6, (2, 40))
    weight, root = rng.random(40), rng.normal(0, 1, (6, 6))
    rows = np.sqrt(weight)[:, None] * (np.eye(6)[better] - np.eye(6)[worse])
    system = np.vstack([rows, np.sqrt(0.7) * np.linalg.inv(root)])
    values = np.linalg.lstsq(system, np.append(np.sqrt(weight), np.zeros(6)))[0]
    found = module._list_values(better, worse, weight, root @ root.T, 0.7)
    np.testing.assert_allclose(found, values)


def test_copies_of_ratings_are_noticed():
    rng = np.random.default_rng(5)
    lists = rng.integers(0, 3, (200, 8))  # hardly any list twice
    ratings = rng.integers(0, 5, 200)
    common = POOL[rng.integers(0, 32, 1500)]
    lists = np.vstack([np.repeat(lists, 3, axis=0), np.hstack([common, np.zeros((1500, 3), int)])])
    ratings = np.concatenate([np.repeat(ratings, 3), rng.integers(0, 5, 1500)])
    log = rated_pairs(lists, ratings)
    found = noise_ceiling(log)
    assert found.min_times == 5 and abs(found.below - 0.5) < 0.04 < found.above - 0.5 < 0.09
    copied = noise_ceiling(log, min_times=2)
    assert copied.below > found.below + 0.04 and copied.above > 0.7


def test_the_scope_stands_in_the_sentence():
    rng = np.random.default_rng(6)
    found = noise_ceiling(judged_log(rng, 300, worth_of_pool(rng)))
    assert found.sentence == (
        "on the 300 pairs (100.0% by weight) between the 32 lists that recur, by 300 judgements, "
        f"a table of list values orders {found.below:.1%} of the preferences rightly without "
        f"having seen them, and no function of the grades more than {found.above:.1%}"
    )
    assert found.table["value"].to_list() == [found.below, found.above]
    assert len(found.notes) == 1 and found.pictures == []


def test_without_lists_that_recur_there_is_none():
    refused("no noise ceiling: no list has several judgements", noise_ceiling, random_log(200))
    few = rated_pairs(POOL[:6].repeat(30, axis=0), np.tile([0, 1, 2], 60))
    refused("only 6 lists recur, with 180 ratings", noise_ceiling, few)
    tied = Preferences([[1, 0]], [[0, 1]], tie=[True])
    refused("no preference between two different lists", noise_ceiling, tied)
    refused("min_times=1", noise_ceiling, random_log(20), min_times=1)


def test_large_logs_are_sampled_and_ratings_of_any_number_are_ranked(monkeypatch):
    rng = np.random.default_rng(6)
    worth = worth_of_pool(rng)
    lists = rng.integers(0, 32, 500)
    log = rated_pairs(POOL[lists], worth[lists] + rng.normal(0, 1, 500))
    whole = noise_ceiling(log)
    monkeypatch.setattr(module, "MOST_SAMPLED", 300)
    sample = noise_ceiling(log)
    assert len(sample.pairs) <= 300 < len(whole.pairs)
    assert sample.below == pytest.approx(whole.below, abs=0.06)


def test_weights_count_ratings_and_judgements():
    rng = np.random.default_rng(7)
    log = rated_log(rng, 300, worth_of_pool(rng))
    rated = log.ratings.lists[log.ratings.list], log.ratings.rating
    once, doubled, uneven = (
        noise_ceiling(rated_pairs(*rated, weight=factor * log.ratings.weight), min_times=2)
        for factor in (1, 2, 0.7)
    )
    assert doubled.n_units == 2 * once.n_units == 600
    assert doubled.above == pytest.approx(once.above) and uneven.below > 0.5

    # a weight of two is the judgement twice
    judged = judged_log(rng, 100, worth_of_pool(rng))
    merged = noise_ceiling(judged.changed(weight=np.full(100, 2)))
    twice = noise_ceiling(judged[np.tile(np.arange(100), 2)])
    assert merged.n_units == twice.n_units == 200 and merged.above == pytest.approx(twice.above)


@table("enough", [True, False])
def test_a_dcg_is_below_the_ceiling_where_one_good_answer_is_enough(enough):
    rng = np.random.default_rng(8)
    lists = rng.integers(0, 32, 1200)
    worth = 2.0 * POOL.any(axis=1) + POOL[:, 0] - 0.4 * POOL[:, 1:].sum(axis=1)
    worth = worth if enough else worth_of_pool(rng, 0.0)
    log = rated_pairs(POOL[lists], np.round(2 * (worth[lists] + rng.normal(0, 0.5, 1200))))
    train, held_out = log.split(0.5, random_state=0, by="list")
    found = compare_learners(train, held_out, C=1.0)
    learned, of_lists = found.recurring
    assert found.below_ceiling == enough == (of_lists.share > learned.share + 0.02)
    assert of_lists.share == pytest.approx(found.ceiling.below)
    assert learned.share <= found.ceiling.above

    # said with the scope, on the same pairs
    assert found.ceiling.about in found.room and found.room == found.notes[-1]
    assert f"the learned DCG orders {learned.share:.1%} as people did" in found.room
    assert f"no function of the grades more than {found.ceiling.above:.1%}" in found.room
    verdict = "which is better" if enough else "not clearly different"
    assert f"a table of list values {of_lists.share:.1%}, {verdict}" in found.room
