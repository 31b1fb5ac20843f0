"""Informative pairs, and a test of whether the winners of a log depend on its grades at all.

Pairs of equal lists and raters who always pick one side tell nothing. Under the null hypothesis of
the test each winner is a toss of a coin or, where lists were rated, the ratings of a group fall on
its lists at random. Its distribution is drawn: by exchanging winners, or ratings within their
groups. Two statistics are tested: how well the best textbook DCG follows the winners, and how well
a free utility could (a score test).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Counts, Flags, Floats, Grades, InputError, shortened
from dcglearn.logs.columns import ties_of, weights_of
from dcglearn.logs.preference_pairs import TIE_TOLERANCE, AnyLog, PreferencePairs, encode
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import numbered
from dcglearn.metrics.textbook_scores import textbook_scores
from dcglearn.parts.parted_log import OpenLog, PartedLog, differing_pairs, facts_of
from dcglearn.readers.shown_order import Sides
from dcglearn.readers.upside_down import CHECKED_PAIRS, sampled

Learned = TypeVar("Learned", bound=OpenLog)
"""A log that learners take."""

REASON = "verdicts of raters who always name one side"


def one_sided_raters(log: OpenLog) -> NDArray[Any]:
    """Return the names of raters who always name one side."""
    if not isinstance(log, PartedLog):
        return _sides(log).always_one()
    if not log.facts.sided:
        return np.zeros(0, np.int64)
    return log.parts.total(_sides).always_one()


def warn_of_one_sided(log: OpenLog) -> None:
    """Warn if raters are left out since they always name one side."""
    names = [*map(repr, sorted(map(str, one_sided_raters(log))))]
    if names:
        some = ", ".join(names if len(names) <= 3 else [*names[:3], "..."])
        warnings.warn(
            shortened(
                f"of {number_of(len(names), 'raters')} ({some}) nearly every verdict names one "
                "side, the others name both: theirs are left out; leave the sides out of the log "
                "(--columns swapped=) to have them counted"
            ),
            stacklevel=2,
        )


def usable_pairs(log: AnyLog) -> AnyLog:
    """Return the informative pairs of a log."""
    used = usable_rows(log)
    return log if used.all() else log[used]


def usable_rows(log: PreferencePairs, *, ties: bool = True) -> Flags:
    """Return which pairs of a log are informative, shape (n,), with or without its ties."""
    used = log.differing if ties else log.differing & ~ties_of(log)
    raters = one_sided_raters(log)
    return used if log.rater is None else used & ~np.isin(log.rater, raters)


def usable_parts(log: PartedLog) -> PartedLog:
    """Return a log in parts without the raters who always name one side; no part is copied."""
    raters = one_sided_raters(log)
    if not len(raters):
        return log

    # facts of what is left; pairs of equal lists were not judged by side
    parts = log.parts.mapped(partial(_without, raters=raters))
    facts = parts.total(facts_of)
    facts = replace(
        facts,
        n=facts.n + log.facts.n_equal - facts.n_equal,
        n_equal=log.facts.n_equal,
        raters=(log.facts.raters or frozenset()) - {*map(str, raters)},
        dropped=log.facts.dropped,
    )
    return PartedLog(parts, facts, log.n_grades, log.grade_names)


def learnable(log: Learned) -> tuple[Learned, Counts]:
    """Return the pairs that learners use, and the numbers of the others by reason.

    A log in parts may still hold pairs of equal lists. Raise InputError if none with a winner is
    left.
    """
    kept: Any
    if isinstance(log, PartedLog):
        n_equal, n_differing = log.facts.n_equal, len(log)
        kept = usable_parts(log)
        n_ties = kept.facts.n_ties
    else:
        n_differing = int(log.differing.sum())
        n_equal = len(log) - n_differing
        kept = usable_pairs(log)
        n_ties = len(kept.ties)

    # something to learn from
    if n_ties == len(kept):
        raise InputError(
            "no pair with a winner and two different lists is left "
            f"({number_of(n_equal, 'pairs of equal lists')}, {number_of(n_ties, 'ties')}): there "
            "is nothing to learn from"
        )
    left_out = {"pairs of equal lists": n_equal, REASON: n_differing - len(kept)}
    return kept, {reason: count for reason, count in left_out.items() if count}


def _sides(log: PreferencePairs) -> Sides:
    log = differing_pairs(log).decided
    if log.rater is None or log.swapped is None:
        nobody = np.zeros(0, np.int64)
        return Sides(nobody, nobody, nobody)
    return Sides.of(log.rater, log.swapped)


def _without(log: AnyLog, raters: NDArray[Any]) -> AnyLog:
    return log if log.rater is None else log[~np.isin(log.rater, raters)]


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


def warn_of_coins(log: OpenLog, *, strict: bool = False) -> None:
    """Warn if a log tells nothing; raise InputError instead if the check is `strict`."""
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
