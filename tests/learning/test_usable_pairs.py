"""Tests for the pairs that say something of their lists."""

import numpy as np
import pytest
from scipy.stats import binom

from dcglearn import Preferences
from dcglearn.foundation.added import Tally
from dcglearn.learning.usable_pairs import one_sided_raters, usable_pairs
from dcglearn.logs.sides import ONE_SIDED_LEVEL, Sides
from tests.makers import random_log


def judged(n, left, seed=0):
    """Return a log of raters of n verdicts each, who say "left" in such shares of them, and prefer
    at random else.
    """
    rng = np.random.default_rng(seed)
    raters = len(left)
    log = random_log(n * raters, "free", seed=seed)
    swapped = (rng.random((raters, n)) >= np.asarray(left)[:, None]).ravel()
    return log.changed(rater=np.repeat([f"r{i}" for i in range(raters)], n), swapped=swapped)


@pytest.mark.parametrize("side", ["left", "right"])
def test_raters_of_one_side_are_left_out_if_the_others_name_both(side):
    log = judged(30, [0.5, 1, 0.6, 1])
    log = log if side == "left" else log.changed(swapped=~log.swapped)
    assert one_sided_raters(log).tolist() == ["r1", "r3"]
    assert set(usable_pairs(log).rater) == {"r0", "r2"} and len(usable_pairs(log)) == 60


@pytest.mark.parametrize(
    ("n", "left"),
    [
        (30, [0.97, 1.0, 1.0]),
        (30, [1.0]),
        (9, [0.5, 1, 0.5]),
        (30, [0.5, 0.8, 0.5]),
        (30, [0.85, 1, 0.85]),
    ],
    ids=[
        "everybody",
        "alone",
        "few verdicts",
        "now and then the other side",
        "as the others nearly do",
    ],
)
def test_raters_are_kept_who_may_have_meant_it(n, left):
    log = judged(n, left, seed=3)
    assert usable_pairs(log) is log


def test_sides_or_raters_that_are_unknown_leave_nothing_out():
    log = judged(30, [0.5, 1])
    for without in ("swapped", "rater"):
        blind = log.changed(**{without: None})
        assert usable_pairs(blind) is blind


def test_the_rule_is_a_binomial_test_against_the_other_raters():
    rng = np.random.default_rng(0)
    decided = set()
    for _ in range(300):
        n, bias = rng.integers(10, 60, 5), rng.uniform(0.3, 0.9)
        second = np.append(rng.binomial(n[:-1], bias), n[-1] - rng.integers(2))
        raters = np.arange(5)
        sides = Sides(Tally(raters, n), Tally(raters, second))
        lone = np.minimum(second, n - second) <= 0.05 * n
        if not lone[-1] or lone[:-1].any():
            continue
        share = (second[:-1].sum() + 0.5) / (n[:-1].sum() + 1)
        rare = bool(binom.sf(second[-1] - 1, n[-1], share) <= ONE_SIDED_LEVEL / 5)
        assert sides.always_one().tolist() == [4] * rare
        decided.add(rare)
    assert decided == {True, False}


def test_logs_without_sides_or_pairs_are_as_they_were():
    log = judged(30, [0.5, 1])
    assert not len(usable_pairs(log[:0])) and not len(
        one_sided_raters(Preferences([[1, 0]], [[0, 1]]))
    )
