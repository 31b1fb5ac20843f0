"""Logs whose winners do not depend on grades are told from logs of judges who err."""

import numpy as np
import pytest

from dcglearn import DCG, DCGLearner, Preferences, UtilityLearner
from dcglearn.trust import coins
from dcglearn.trust.coins import NO_SIGNAL, tells_nothing
from tests.makers import rated_pairs, refused
from tests.tables import table

KINDS = ("a textbook", "random", "flat", "steep", "one grade")


def truth(kind, rng, n_grades, depth):
    """Return a DCG with falling discounts."""
    if kind == "a textbook":
        return DCG.standard(n_grades, depth)
    gains = np.append(0.0, np.cumsum(rng.exponential(1, n_grades - 1)))
    if kind == "one grade":
        gains = np.append(0.01 * np.arange(n_grades - 1), 1.0)
    discounts = {
        "flat": np.linspace(1, 0.8, depth),
        "steep": 0.5 ** np.arange(depth),
        "random": np.sort(rng.random(depth) + 0.02)[::-1],
        "one grade": 1 / np.log2(np.arange(depth) + 2),
    }
    return DCG(gains, discounts[kind])


def judged(seed, n, wrong, kind="random", n_grades=5, depth=10):
    """Return n pairs of free lists, a share of their verdicts wrong."""
    rng = np.random.default_rng(seed)
    dcg = truth(kind, rng, n_grades, depth)
    lists = rng.integers(0, n_grades, (n, 2, depth)).astype(np.int8)
    flip = (dcg.score(lists[:, 0]) < dcg.score(lists[:, 1])) ^ (rng.random(n) < wrong)
    lists[flip] = lists[flip, ::-1]
    return Preferences(lists, n_grades=n_grades)


def rated(seed, spread):
    """Return the pairs of sixty rated lists, in three groups; without a spread, ratings are
    tossed."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, 4, (60, 5))
    value = truth("random", rng, 4, 5).score(lists)
    ratings = np.round(spread * value / value.std() + rng.normal(0, 3, 60))
    return rated_pairs(lists, ratings, rng.integers(0, 3, 60), n_grades=4)


def test_coins_are_said_and_refused_if_asked():
    log = judged(3, 120, 0.5)
    assert tells_nothing(log)
    for learner in (DCGLearner(loss="robust"), UtilityLearner()):
        with pytest.warns(UserWarning, match="were winners, ratings or grades misread"):
            learner.fit(log)
    assert not tells_nothing(judged(3, 120, 0.2))
    assert not tells_nothing(judged(3, 40, 0.5))  # too few to say anything
    assert tells_nothing(log.changed(weight=np.linspace(0.5, 2, 120)))


def test_learning_ends_with_two_unless_the_log_is_taken_as_it_is(here, dcglearn):
    judged(3, 120, 0.5).save(here / "log.jsonl")
    with pytest.warns(UserWarning, match="than a coin"):
        status, out, err = dcglearn("learn", "log.jsonl")
        assert (status, out) == (2, "") and NO_SIGNAL in err.splitlines()[-1]
        status, out, err = dcglearn("learn", "log.jsonl", "--as-is", "-o", "dcg.json")
        assert status == 0 and NO_SIGNAL not in err and "no gain or discount" in out
    judged(3, 120, 0.1).save(here / "good.jsonl")
    status, out, err = dcglearn("learn", "good.jsonl", "--bands", 0)
    assert status == 0 and NO_SIGNAL not in out + err


def test_a_log_of_documents_is_not_tested():
    rng = np.random.default_rng(0)
    first, second = (rng.permuted(np.tile(["x", "y", "z"], (60, 1)), axis=1) for _ in range(2))
    assert not tells_nothing(Preferences.from_documents(first, second))


def test_ratings_that_fall_at_random_are_said_without_sides():
    assert tells_nothing(rated(0, 0.0)) and "side" not in NO_SIGNAL
    assert not tells_nothing(rated(0, 4.0))


@table("grouped", [False, True])
def test_permutations_of_one_list_are_not_told_apart_by_rounding(grouped):
    said = []
    for seed in range(20):
        rng = np.random.default_rng([60, seed])
        lists = rng.permuted(np.tile([0, 1, 1, 2, 3, 3, 4], (80, 1)), axis=1)
        ratings, group = rng.integers(1, 6, 80), rng.integers(0, 3, 80) if grouped else None
        said.append(tells_nothing(rated_pairs(lists, ratings, group)))
        assert not tells_nothing(
            rated_pairs(lists, np.round(lists @ np.arange(7, 0, -1) / 5.0), group)
        )
    assert sum(said) >= 18


def test_logs_of_clear_leads_need_no_draws(monkeypatch):
    logs = [judged(seed, 200, wrong) for seed in range(6) for wrong in (0.0, 0.2, 0.5)]
    monkeypatch.setattr(coins, "DRAWN", 0)  # against which everything tells nothing
    clear = [not tells_nothing(log) for log in logs]
    monkeypatch.undo()
    monkeypatch.setattr(coins, "CERTAIN", np.inf)
    by_draws = [not tells_nothing(log) for log in logs]
    assert clear[::3] == [True] * 6 and clear[2::3] == [False] * 6
    assert all(drawn for drawn, sure in zip(by_draws, clear, strict=True) if sure)


@pytest.mark.long
def test_coins_are_said_in_nearly_all_logs():
    rng = np.random.default_rng(1017)
    sizes, depths, grades = (
        rng.integers(50, 501, 400),
        rng.choice([3, 5, 10], 400),
        rng.choice([2, 3, 5], 400),
    )
    cases = enumerate(zip(sizes.tolist(), depths.tolist(), grades.tolist(), strict=True))
    said = [
        tells_nothing(judged([1017, i], n, 0.5, depth=depth, n_grades=size))
        for i, (n, depth, size) in cases
    ]
    assert np.mean(said) >= 0.95
    assert np.mean([tells_nothing(rated([1018, i], 0.0)) for i in range(200)]) >= 0.95


@pytest.mark.long
@table(("n", "wrong"), [(100, 0.2), (200, 0.3)])
@table("kind", KINDS)
def test_coins_are_said_in_hardly_any_log_of_judges_who_err(kind, n, wrong):
    said = [tells_nothing(judged([1019, i], n, wrong, kind)) for i in range(400)]
    assert np.mean(said) <= 0.01


def test_a_strict_check_raises_the_sentence():
    from dcglearn.trust.coins import check_log

    refused("than a coin", check_log, judged(3, 120, 0.5), strict=True)
