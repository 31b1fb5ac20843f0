"""Test of whether the winners of a log depend on its grades at all.

Under the null hypothesis each winner is a toss of a coin or, where lists were rated, the ratings of
a group fall on its lists at random. Its distribution is drawn: by exchanging winners, or ratings
within their groups. The statistic is how well the textbook DCG that they follow, or contradict,
most goes with them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, InputError, shortened
from dcglearn.learning.usable_pairs import one_sided_raters, usable_pairs
from dcglearn.logs.preference_pairs import TIE_TOLERANCE, PreferencePairs, RatingCounts
from dcglearn.logs.unique_rows import numbered
from dcglearn.logs.visibility import n_weights
from dcglearn.metrics.textbook import textbook_scores
from dcglearn.reading.direction import CHECKED_PAIRS, check_sense
from dcglearn.reading.preferences import Preferences

NO_SIGNAL = (
    "no metric orders new pairs of this log better than a coin: "
    "were winners, ratings or grades misread?"
)

ASSUMED = "chance and what was assumed, not what people want"
"""What gains and discounts are that were learned from a log that tells nothing."""

DRAWN = 399
"""Number of draws of the null hypothesis."""

LEVEL = 0.035
"""Share of the logs of coins that are taken for others."""

CERTAIN = 5.0
"""A lead so many standard errors from none needs no draws: tossed winners give one to a textbook
DCG in less than one log of 3,000 (Hoeffding's inequality).
"""


def check_log(
    log: Preferences,
    *,
    as_is: bool = False,
    strict: bool = False,
    one_sided: NDArray[Any] | None = None,
) -> None:
    """Raise InputError if lists are too long to learn, UpsideDownError if the log seems reversed.

    Warn if raters always name one side, and if no metric orders the pairs better than a coin; raise
    InputError for the latter if the check is `strict`. Of a sample, `one_sided` names these raters.
    """
    n_weights(log.depth, log.n_grades)
    # threads of BLAS would still spin when the fit begins
    with one_blas_thread():
        if len(log) and not (as_is or log.as_is):
            check_sense(log)
        _warn_of_one_sided(one_sided_raters(log) if one_sided is None else one_sided)
        is_coins = tells_nothing(log)

    if is_coins:
        if strict:
            raise InputError(NO_SIGNAL)
        warnings.warn(NO_SIGNAL, stacklevel=2)


def _warn_of_one_sided(raters: NDArray[Any]) -> None:
    """Warn if raters are left out since they always name one side."""
    names = [*map(repr, sorted(map(str, raters)))]
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


def tells_nothing(log: Preferences) -> bool:
    """Return whether no metric is shown to order the pairs better than a coin would.

    A log of documents, or of too few preferences, is not tested: False.
    """
    if not len(log) or not log.graded:
        return False

    # preferences, or a sample; few show little, whatever the judges
    pairs = usable_pairs(log.thinned(CHECKED_PAIRS)).decided
    if len(pairs) < 50:
        return False

    # the sums of the textbook DCGs, without those that differ by rounding alone
    rng = np.random.default_rng(0)
    rated = pairs.ratings
    if rated is not None:
        values, draws = _ratings(rated, pairs.n_grades, rng)
    else:
        # a clear log needs no draws
        values, weight = _leads(pairs), pairs.weights
        if (np.abs(values @ weight) > CERTAIN * np.sqrt(values**2 @ weight**2)).any():
            return False

        # winners as they are, and exchanged
        signs = rng.choice([-1.0, 1.0], (1 + DRAWN, len(pairs)))
        signs[0] = 1
        draws = weight * signs
    sums = draws @ values.T
    spread = sums.std(axis=0)
    spread[spread <= TIE_TOLERANCE * np.abs(values) @ np.abs(draws[0])] = np.inf

    # the largest as it is, among those drawn
    largest = np.abs((sums - sums.mean(axis=0)) / spread).max(axis=1)
    return bool((largest >= largest[0]).mean() > LEVEL)


def _leads(pairs: PreferencePairs) -> Floats:
    """Return the lead of each pair under each textbook DCG, (M, n), so that none decides alone."""
    leads = pairs.leads(textbook_scores(pairs.n_grades, pairs.depth))
    usual = np.sqrt(np.mean(leads**2, axis=1, keepdims=True))
    return leads / (np.abs(leads) + 0.5 * usual + 1e-300)


def _ratings(
    counts: RatingCounts, n_grades: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return scores, shape (M, n), and numbers of ratings as they are and exchanged."""
    # the lines, each a rating of a list, or a sample
    lines = np.repeat(
        np.arange(len(counts.weight)), np.maximum(np.rint(counts.weight), 1).astype(np.intp)
    )
    if len(lines) > CHECKED_PAIRS:
        lines = rng.choice(lines, CHECKED_PAIRS, replace=False)
    group, grades = counts.group[lines], counts.lists[counts.list[lines]]

    # the number of each rating, and the same numbers exchanged within groups
    rank = numbered(counts.rating[lines]).astype(np.float64)
    order = np.argsort(group, kind="stable")
    ranks = np.tile(rank, (1 + DRAWN, 1))
    for draw in ranks[1:]:
        draw[order] = rank[np.lexsort((rng.random(len(rank)), group))]
    return textbook_scores(n_grades, grades.shape[1]).score(grades), ranks
