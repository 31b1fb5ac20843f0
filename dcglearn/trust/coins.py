"""Test of whether the winners of a log depend on its grades at all.

Under the null hypothesis each winner is a toss of a coin or, where lists were rated, the ratings of
a group fall on its lists at random. Its distribution is drawn: by exchanging winners, or ratings
within their groups. Two statistics are tested: how well the best textbook DCG follows the winners,
and how well a free utility could (a score test).
"""

from __future__ import annotations

import warnings

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, InputError
from dcglearn.learning.usable_pairs import usable_pairs, warn_of_one_sided
from dcglearn.logs.columns import weights_of
from dcglearn.logs.preference_pairs import TIE_TOLERANCE, PreferencePairs
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import numbered
from dcglearn.logs.visibility import encode, refuse_too_deep
from dcglearn.metrics.textbook_scores import textbook_scores
from dcglearn.parts.parted_log import OpenLog, PartedLog
from dcglearn.reading.direction import CHECKED_PAIRS, check_sense, sampled

NO_SIGNAL = (
    "no metric orders new pairs of this log better than a coin: "
    "were winners, ratings or grades misread?"
)

ASSUMED = "chance and what was assumed, not what people want"
"""What gains and discounts are that were learned from a log that tells nothing."""

DRAWN = 999
"""Number of draws of the null hypothesis."""

CERTAIN = 5.0
"""A textbook DCG this many standard errors ahead of coin tosses needs no draws.

Tossed winners lead to one in less than one log of 7,000 (Hoeffding's inequality).
"""


def check_log(log: OpenLog, *, as_is: bool = False, strict: bool = False) -> None:
    """Raise InputError if lists are too long to learn, UpsideDownError if the log seems reversed.

    Warn if raters always name one side, and if no metric orders the pairs better than a coin; raise
    InputError for the latter if the check is `strict`.
    """
    refuse_too_deep(log.depth, log.n_grades)
    if len(log) and not (as_is or log.as_is):
        check_sense(log.thinned(CHECKED_PAIRS) if isinstance(log, PartedLog) else log)
    warn_of_one_sided(log)

    if tells_nothing(log):
        if strict:
            raise InputError(NO_SIGNAL, see="coins")
        warnings.warn(NO_SIGNAL, stacklevel=2)


def tells_nothing(log: OpenLog) -> bool:
    """Return whether no metric is shown to order the pairs better than a coin would.

    A log of documents, or of too few preferences, is not tested: False.
    """
    if not len(log) or not log.graded:
        return False

    # preferences, or a sample; few show little, whatever the judges
    pairs = log.thinned(CHECKED_PAIRS) if isinstance(log, PartedLog) else log
    pairs = usable_pairs(pairs).decided
    if len(pairs) < 50:
        return False

    rng = np.random.default_rng(0)
    if pairs.ratings is not None:
        return _ratings_fall_at_random(pairs.ratings, pairs.n_grades, rng)
    return _winners_are_tossed(sampled(pairs)[0], rng)


def _winners_are_tossed(pairs: PreferencePairs, rng: np.random.Generator) -> bool:
    """Return whether winners exchanged at random lead to statistics as large as the pairs'."""
    weight = weights_of(pairs)

    # the lead of each pair under each textbook DCG, bounded, so that no pair decides alone
    scores = textbook_scores(pairs.n_grades, pairs.depth)
    first, second = scores.score(pairs.preferred), scores.score(pairs.other)
    leads = _without_rounding(first - second, first)
    leads /= np.abs(leads) + np.sqrt(np.mean(leads**2, axis=1, keepdims=True)) + 1e-300

    # a clear log needs no draws
    spread = np.sqrt(leads**2 @ weight**2)
    if (leads @ weight > CERTAIN * spread).any():
        return False

    # winners exchanged at random, and the slopes of a free utility
    tosses = weight * rng.choice([-1.0, 1.0], (DRAWN, len(pairs)))
    first, second = (_encoded(x, pairs.n_grades) for x in (pairs.preferred, pairs.other))
    return _as_drawn(leads, first - second, weight, tosses)


def _ratings_fall_at_random(counts: RatingCounts, n_grades: int, rng: np.random.Generator) -> bool:
    """Return whether ratings permuted within groups lead to statistics as large as theirs."""
    # the lines, each a rating of a list, or a sample
    lines = np.repeat(np.arange(len(counts)), np.maximum(np.rint(counts.weight), 1).astype(np.intp))
    if len(lines) > CHECKED_PAIRS:
        lines = rng.choice(lines, CHECKED_PAIRS, replace=False)
    group, grades = counts.group[lines], counts.lists[counts.list[lines]]

    # the rank of each rating among all, ties at their middle, minus the mean of its group
    rating = numbered(counts.rating[lines])
    number = np.bincount(rating)
    rank = (np.cumsum(number) - number / 2)[rating] / len(lines)
    group = numbered(group)
    rank -= (np.bincount(group, rank) / np.bincount(group))[group]

    # a clear log needs no draws; ranks are bounded too, but not independent, so that twice as much
    # is asked for
    scores = textbook_scores(n_grades, grades.shape[1]).score(grades)
    values = _without_rounding(scores - scores.mean(axis=1, keepdims=True), scores)
    if (values @ rank > 2 * CERTAIN * values.std(axis=1) * np.sqrt(rank @ rank)).any():
        return False

    # the same ranks, exchanged within groups
    order = np.argsort(group, kind="stable")
    exchanged = np.empty((DRAWN, len(rank)))
    for draw in exchanged:
        draw[order] = rank[np.lexsort((rng.random(len(rank)), group))]
    return _as_drawn(values, _encoded(grades, n_grades), rank, exchanged)


def _encoded(lists: Grades, n_grades: int) -> Floats:
    """Return the slopes of lists' values in the weights of a free utility, shape (n, K * L)."""
    return encode(lists, n_grades).reshape(len(lists), -1).astype(np.float64)


def _without_rounding(differences: Floats, scores: Floats) -> Floats:
    """Return differences of scores, shape (M, n) both, 0 where they are those of rounding.

    Under a flat discount all permutations of a list have the same value.
    """
    largest = np.abs(scores).max(axis=1, keepdims=True)
    return np.where(np.abs(differences) > TIE_TOLERANCE * largest, differences, 0.0)


def _as_drawn(values: Floats, encoded: Floats, observed: Floats, drawn: Floats) -> bool:
    """Return whether neither statistic of the observed numbers, (n,), exceeds nearly all drawn.

    `values`, shape (M, n), are those of the textbook DCGs, `encoded`, (n, p), the slopes of a free
    utility, and `drawn`, (B, n), draws of the null hypothesis.
    """
    # the best textbook DCG; the two levels take at most 3% of the logs of coins for more
    at_random = drawn @ values.T
    scale = at_random.std(axis=0) + 1e-300
    best = (values @ observed / scale).max()
    if _p_value(best, (at_random / scale).max(axis=1)) <= 0.025:
        return False

    # the score test of a free utility, unless it has too many weights
    if encoded.shape[1] > 1_000:
        return True

    # its variance is estimated from the draws, with a ridge of the mean variance
    slopes = drawn @ encoded
    covariance = np.cov(slopes.T)
    ridge = np.trace(covariance) / len(covariance) + 1e-300
    covariance += ridge * np.eye(len(covariance))
    root = np.linalg.cholesky(np.linalg.inv(covariance))
    sizes = np.square(slopes @ root).sum(axis=1)
    return _p_value(float(np.square(observed @ encoded @ root).sum()), sizes) > 0.005


def _p_value(observed: float, drawn: Floats) -> float:
    return float(1 + (drawn >= observed).sum()) / (1 + len(drawn))
