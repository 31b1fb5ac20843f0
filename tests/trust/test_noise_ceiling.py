"""The noise ceiling: against known noise, against brute force, and where there is none."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from dcglearn import Preferences, noise_ceiling
from dcglearn.trust import ceiling as module
from dcglearn.trust.list_values import JudgedLists, RatedLists, Variances, indicators
from dcglearn.trust.repeated_lists import RecurringJudgements, RecurringRatings
from tests.makers import random_log, rated_pairs, refused

POOL = np.array(list(itertools.product(range(2), repeat=5)), dtype=np.int8)


def worth_of_pool(rng, own):
    """Return the values of each list of the pool: a sum over positions, and something of its
    own."""
    return POOL @ np.array([1.0, 0.6, 0.5, 0.4, 0.3]) + rng.normal(0, own, len(POOL))


def rated_log(rng, n, own=0.4, noise=1.0, groups=None):
    """Return a log of n ratings, and the values of the lists of the pool."""
    worth = worth_of_pool(rng, own)
    lists = rng.integers(0, len(POOL), n)
    group = None if groups is None else rng.integers(0, groups, n)
    level = 0 if groups is None else rng.normal(0, 1, groups)[group]
    ratings = np.clip(np.round(worth[lists] + level + rng.normal(0, noise, n)), -2, 4)
    return rated_pairs(POOL[lists], ratings, group), worth


def judged_log(rng, n, own=0.4, scale=2.0):
    """Return a log of n judged pairs, and the values of the lists in logits."""
    worth = scale * worth_of_pool(rng, own)
    first, second = rng.integers(0, len(POOL), (2, n))
    swap = rng.random(n) > expit(worth[first] - worth[second])
    better, worse = np.where(swap, second, first), np.where(swap, first, second)
    return Preferences(POOL[better], POOL[worse]), worth


def place(lists):
    return lists @ (2 ** np.arange(4, -1, -1))


def true_share(log, worth, p_above):
    """Return the expected share that the true order respects, p_above(i, j) being P(i preferred |
    decided).
    """
    first, second = place(log.preferred), place(log.other)
    return np.average(
        np.maximum(p_above(first, second), p_above(second, first)), weights=log.weight
    )


def rating_chances(worth, noise=1.0):
    """Return a function of two lists: the chance that the first is rated above the second, if they
    are not tied.
    """
    cuts = np.concatenate([[-np.inf], np.arange(-1.5, 4), [np.inf]])
    chance = np.diff(ndtr((cuts[None, :] - worth[:, None]) / noise), axis=1)
    above = chance @ (np.cumsum(chance, axis=1) - chance).T
    return lambda i, j: (above / (above + above.T))[i, j]


def judgement_chances(worth):
    return lambda i, j: expit(worth[i] - worth[j])


@pytest.mark.parametrize(
    ("log_of", "chances", "seeds", "near", "unit"),
    [
        (rated_log, rating_chances, range(12), 0.04, "rating"),
        (judged_log, judgement_chances, range(8), 0.05, "judgement"),
    ],
)
def test_the_ceiling_is_right_where_the_noise_is_known(log_of, chances, seeds, near, unit):
    hits = []
    for seed in seeds:
        log, worth = log_of(np.random.default_rng(seed), 400)
        ceiling = noise_ceiling(log, random_state=seed)
        truth = true_share(ceiling.pairs, worth, chances(worth))
        assert ceiling.lower < ceiling.share < ceiling.upper and ceiling.covered > 0.95
        assert abs(ceiling.share - truth) < near
        hits.append(ceiling.interval[0] <= truth <= ceiling.interval[1])
    assert np.mean(hits) >= 0.7
    assert ceiling.n_units == pytest.approx(400, abs=15) and ceiling.unit == unit
    assert np.isclose(ceiling.pairs.total_weight / log[log.differing].total_weight, ceiling.covered)


def test_levels_of_groups_do_not_count_as_worth():
    log, worth = rated_log(np.random.default_rng(0), 1200, groups=100)
    ceiling = noise_ceiling(log)
    order = np.sign(worth[place(ceiling.pairs.preferred)] - worth[place(ceiling.pairs.other)])
    reached = np.average((order + 1) / 2, weights=ceiling.pairs.weight)
    assert ceiling.lower < reached + 0.02 and ceiling.share > reached - 0.03


def test_more_ratings_bring_the_lower_and_the_upper_value_together():
    gap = [
        (c := noise_ceiling(rated_log(np.random.default_rng(1), n)[0])).upper - c.lower
        for n in (200, 3000)
    ]
    assert gap[1] < gap[0] / 3


def test_each_pair_of_ratings_is_held_out_once():
    log, _ = rated_log(np.random.default_rng(2), 150, groups=4)
    ratings = RecurringRatings(log, 2)
    held = sum(weight for _, weight in ratings.splits(np.random.default_rng(0)))
    assert np.allclose(held, log.weight[ratings.covered])
    judged = RecurringJudgements(judged_log(np.random.default_rng(0), 80)[0], 2)
    assert np.allclose(
        sum(w for _, w in judged.splits(np.random.default_rng(0))), judged.weight[judged.covered]
    )


def test_the_shrunken_means_are_those_of_the_mixed_model():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 4, (12, 4)).astype(float)
    lists, score = POOL[:12], np.arange(4.0)
    table = indicators(lists)
    model = RatedLists(np.zeros(12, np.intp), np.arange(12), score, table)
    worth = model.estimated(counts, Variances(0.8, 0.3))
    # The same by one solve: y = X b + u + e with u ~ N(0, .3), e ~ N(0, .8 / n), b with the ridge
    # of the estimate.
    n = counts.sum() and counts.sum(axis=1) * (1 - 1 / counts.sum())
    y = counts @ score / counts.sum(axis=1) - (counts @ score).sum() / counts.sum()
    precision = 1 / (0.3 + 0.8 / n)
    gram = table.T @ (precision[:, None] * table)
    gram += 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
    b = np.linalg.solve(gram, table.T @ (precision * y))
    u = 0.3 * precision * (y - table @ b)
    assert np.allclose(worth.mean, table @ b + u)
    assert np.allclose(worth.covariance, 1 / (1 / 0.3 + n / 0.8))
    of_b = (1 - 0.3 * precision)[
        :, None
    ] * table  # the share of the regression in each list's worth
    assert np.allclose(worth.shared @ worth.shared.T, of_b @ np.linalg.inv(gram) @ of_b.T)
    variance = worth.difference(np.array([0]), np.array([5]))[1]
    drawn = worth.draws(40_000, np.random.default_rng(0))
    assert np.var(drawn[:, 0] - drawn[:, 5]) == pytest.approx(variance[0], rel=0.03)


def test_the_worth_of_judged_lists_is_the_mode_and_its_covariance_the_inverse_hessian():
    log, _ = judged_log(np.random.default_rng(4), 120)
    first, second = place(log.preferred), place(log.other)
    table = indicators(POOL)
    model = JudgedLists(first, second, table)
    worth = model.estimated(np.ones(len(log)), (1.0, 0.5))
    prior = np.linalg.inv(table @ table.T + 0.25 * np.eye(len(POOL)))

    def loss(theta):
        return np.logaddexp(0, theta[second] - theta[first]).sum() + theta @ prior @ theta / 2

    found = minimize(loss, np.zeros(len(POOL)), method="BFGS", options={"gtol": 1e-7})
    assert np.allclose(worth.mean, found.x, atol=1e-4)
    step, inverse = 1e-3, np.linalg.inv(worth.covariance)
    for i, j in ((0, 0), (3, 7), (5, 5)):
        e_i, e_j = step * np.eye(len(POOL))[i], step * np.eye(len(POOL))[j]
        m = worth.mean
        curvature = (
            loss(m + e_i + e_j) - loss(m + e_i - e_j) - loss(m - e_i + e_j) + loss(m - e_i - e_j)
        ) / 4e-6
        assert inverse[i, j] == pytest.approx(curvature, abs=2e-3)


def test_the_variance_between_lists_is_found_the_better_the_more_ratings_there_are():
    rng, score = np.random.default_rng(8), np.linspace(0, 1, 40)
    worth = 0.3 + POOL @ np.full(5, 0.05) + rng.normal(0, 0.1, 32)
    model = RatedLists(np.zeros(32, np.intp), np.arange(32), score, indicators(POOL))
    doubt = []
    for n in (3, 60):
        ratings = np.round(39 * np.clip(worth[:, None] + rng.normal(0, 0.1, (32, n)), 0, 1)).astype(
            int
        )
        posterior, variances = model.posterior(
            np.array([np.bincount(row, minlength=40) for row in ratings], float)
        )
        assert posterior.chances.sum() == pytest.approx(1) and len(posterior.draws(50, rng)) == 50
        logs = np.arange(len(posterior.chances))  # the grid is even on the logarithmic scale
        doubt.append(posterior.chances @ logs**2 - (posterior.chances @ logs) ** 2)
    assert np.sqrt(variances.between) == pytest.approx(0.1, rel=0.3) and doubt[1] < doubt[0]


def test_copies_of_ratings_are_noticed():
    rng = np.random.default_rng(5)
    lists = rng.integers(0, 3, (200, 8))  # hardly any list twice
    ratings = rng.integers(0, 5, 200)
    common = POOL[rng.integers(0, 32, 1500)]
    lists = np.vstack([np.repeat(lists, 3, axis=0), np.hstack([common, np.zeros((1500, 3), int)])])
    ratings = np.concatenate([np.repeat(ratings, 3), rng.integers(0, 5, 1500)])
    log = rated_pairs(lists, ratings)
    ceiling = noise_ceiling(log)
    assert ceiling.min_times == 5 and ceiling.share < 0.56 and "at least 5 ratings" in ceiling.about
    assert ceiling.notes == (f"this holds for {ceiling.about}",)
    assert ceiling.table["value"].to_list() == [ceiling.lower, ceiling.share, ceiling.upper]
    low, high = ceiling.interval
    assert (
        f"at most about {ceiling.share:.1%} of the preferences rightly (90% interval {low:.1%}"
        in (ceiling.sentence)
    )
    assert ceiling.pictures[0]["rows"] == [("noise ceiling", ceiling.share, low, high)]
    assert noise_ceiling(log, min_times=2).share > 0.7


def test_without_lists_that_recur_there_is_none():
    refused("no noise ceiling: no list has several judgements", noise_ceiling, random_log(200))
    few = rated_pairs(POOL[:6].repeat(30, axis=0), np.tile([0, 1, 2], 60))
    refused("only 6 lists recur, with 180 ratings", noise_ceiling, few)
    refused(
        "no preference between two different lists",
        noise_ceiling,
        Preferences([[1, 0]], [[0, 1]], tie=[True]),
    )
    refused("min_times=1", noise_ceiling, random_log(20), min_times=1)


def test_large_logs_and_many_ratings_are_sampled_and_binned(monkeypatch):
    rng = np.random.default_rng(6)
    worth = worth_of_pool(rng, 0.3)
    lists = rng.integers(0, 32, 500)
    log = rated_pairs(POOL[lists], worth[lists] + rng.normal(0, 1, 500))
    whole = noise_ceiling(log)
    monkeypatch.setattr(module, "MOST_SAMPLED", 300)
    sample = noise_ceiling(log)
    assert len(sample.pairs) <= 300 < len(whole.pairs) and sample.share == pytest.approx(
        whole.share, abs=0.05
    )


def test_weights_count_ratings():
    log, _ = rated_log(np.random.default_rng(7), 300)
    rated = log.ratings.lists[log.ratings.list], log.ratings.rating
    doubled, uneven = (
        rated_pairs(*rated, weight=factor * log.ratings.weight) for factor in (2, 0.7)
    )
    assert noise_ceiling(doubled).n_units == 2 * noise_ceiling(log).n_units
    assert noise_ceiling(uneven, min_times=2).lower > 0.5
