"""Units of a log (pairs, raters, queries or lists): folds, samples and exact tests."""

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.intervals import (
    FEWEST_UNITS,
    LEVEL,
    Clusters,
    mean_and_error,
    sign_flip_p,
    student_test,
)
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Floats, Indices, InputError, Integers, Seed
from dcglearn.learning.usable_pairs import usable_pairs
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.unique_rows import pair_numbers, size_of
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences

FOLDS = 5
"""Number of folds of raters, queries or pairs."""

FOLDS_OF_LISTS = 4
"""Number of folds of lists, of which two at a time are held out."""

FEWEST_HELD_OUT = 10
"""With fewer raters or queries than this, others are held out to choose between metrics."""


FEWEST_FLIPPED = 6
"""Fewer units have too few patterns of signs for a p-value of 5%: 2^(1 - 5) is above it."""

FEWEST_TESTED = 20
"""Fewer preferences between different lists show nothing of gains and discounts."""


def check_enough(pairs: PreferencePairs) -> None:
    """Raise InputError if preferences are too few to test."""
    if len(pairs) < FEWEST_TESTED:
        raise InputError(
            f"the log holds {number_of(len(pairs), 'preferences')} between different lists, fewer "
            f"than {FEWEST_TESTED}: too few to test anything; get more judgements"
        )


def decided_pairs(log: Preferences | ArrayLike) -> Preferences:
    """Return the preferences that learners use, without those of raters who always name one side.

    Raise InputError if there are none.
    """
    pairs = usable_pairs(as_preferences(log)).decided
    if not len(pairs):
        raise InputError("the log holds no preference between two different lists")
    return pairs


def unit_of(log: PreferencePairs, *, fewest: int = FEWEST_UNITS) -> str:
    """Return the independent unit of a log: "rater", "query", "list" or "pair".

    Raters, or else queries, are the unit if there are at least `fewest` of them; else lists, if
    there are more judgements than lists; else pairs.
    """
    for unit in ("rater", "query"):
        if _n_labels(log, unit) >= fewest:
            return unit
    return "list" if len(log) > log.n_lists else "pair"


def speaks_of(log: PreferencePairs, unit: str) -> str:
    """Return of whom a mean over the units of a log speaks, such as "new queries of 2 raters".

    Of raters or queries that are too few to be a unit, it speaks of these alone.
    """
    few = []
    for name, plural in (("rater", "raters"), ("query", "queries")):
        n = 0 if name == unit else _n_labels(log, name)
        if 0 < n < FEWEST_UNITS:
            few.append(f"this {name}" if n == 1 else f"these two {plural}")
    new = {"rater": "new raters", "query": "new queries", "list": "new lists"}
    words = new.get(unit, "new pairs of lists")
    return f"{words} of {' and '.join(few)}" if few else words


def _n_labels(log: PreferencePairs, column: str) -> int:
    """Return how many raters or queries a log names; 0 without the column."""
    labels = getattr(log, column)
    return 0 if labels is None else len(np.unique(labels))


def no_more_lists(log: PreferencePairs, unit: str, n: int, fewest: int) -> str:
    """Return why n lists cannot be had, with a remedy; empty if they can, or lists are no unit.

    From `fewest` raters or queries on, these are the unit.
    """
    without_grade = min(int(log.preferred.min()), int(log.other.min())) < 0
    possible = (log.n_grades + without_grade) ** log.depth
    if unit != "list" or n <= possible:
        return ""
    return (
        f"no more than {possible:,} lists can exist of {number_of(log.n_grades, 'grades')} at "
        f"{number_of(log.depth, 'positions')}; {fewest} raters or queries or more, named in a "
        "column rater or query, would count in place of lists"
    )


def folds(
    clusters: Clusters, random_state: Seed, *, fewest: int = 1, remedy: str = ""
) -> list[tuple[Indices, Indices]]:
    """Return the rows to train on and to hold out, for random folds of units.

    Units are divided into five folds. Where the two units of a pair are its lists there are four,
    held out alone and two at a time: each pair is held out once, with the folds of its two lists,
    and trained on where neither is held out. Raises InputError, with the remedy, if fewer than
    `fewest` pairs can be held out.
    """
    # the folds of each pair's two units
    first, second = clusters
    n_folds = FOLDS if np.array_equal(first, second) else FOLDS_OF_LISTS
    fold = np.random.default_rng(random_state).permutation(size_of(first, second)) % n_folds
    low = np.minimum(fold[first], fold[second])
    high = np.maximum(fold[first], fold[second])

    # hold out a fold, or two
    parts = []
    for i in range(n_folds):
        for j in range(i, n_folds):
            test = np.flatnonzero((low == i) & (high == j))
            train = np.flatnonzero(~np.isin(low, (i, j)) & ~np.isin(high, (i, j)))
            if len(test) and len(train):
                parts.append((train, test))

    # too few say nothing
    n_held_out = sum(len(test) for _, test in parts)
    if n_held_out < fewest:
        raise InputError(
            f"{n_held_out} pairs can be held out, fewer than {fewest}: too few to compare anything;"
            f" {remedy or 'get more judgements, of more raters, queries or lists'}"
        )
    return parts


def counts_in_folds(weight: Floats, rng: np.random.Generator) -> Floats:
    """Return how much of each weight is in each fold, shape (FOLDS, n).

    Whole numbers are divided between the folds, other weights are not.
    """
    whole = is_whole(weight)
    counts = weight.astype(np.int64) if whole else np.ones(len(weight), dtype=np.int64)
    parts = rng.multinomial(counts, np.full(FOLDS, 1 / FOLDS)).T.astype(np.float64)
    return parts if whole else parts * weight


def is_whole(weight: Floats) -> bool:
    """Return whether weights are whole numbers, so that they count judgements."""
    return bool((weight == np.round(weight)).all())


def bootstrap_counts(times: ArrayLike, n_resamples: int, random_state: Seed) -> Integers:
    """Return how often each unit is drawn, shape (1 + B, n): first as it is, then in each sample.

    `times`, shape (n,), says how often the data hold each unit.
    """
    times = np.asarray(times, dtype=np.int64)
    n = times.sum()
    samples = np.random.default_rng(random_state).multinomial(n, times / n, n_resamples)
    return np.vstack([times, samples])


def half_test(signs: Floats, weight: Floats, clusters: Clusters) -> tuple[float, float]:
    """Return the two-sided p-value of a test of a half, and the share of positive signs.

    Signs, shape (n,), are 1 and -1; 0 is neither. Those of a unit are exchanged together
    (`sign_flip_p`). Fewer than `FEWEST_FLIPPED` units are tested by Student's t, since their flips
    cannot reach 5%. Where pairs are in two units, their lists, each pair is exchanged by itself,
    and the p-value is at least that of Student's t.
    """
    # the pairs with a sign
    apart = np.flatnonzero(signs)
    if not len(apart):
        return 1.0, 0.5
    signs, weight = signs[apart], weight[apart]
    first, second = (numbers[apart] for numbers in clusters)
    share = float(np.average(signs > 0, weights=weight))

    # by the standard error of units
    mean, error, n_units = mean_and_error(signs, weight, (first, second))
    p_t = student_test(float(mean), float(error), n_units, LEVEL)["p_t"]

    # by flips of the signs that are exchanged together
    sums = np.bincount(pair_numbers(first, second), signs * weight)
    p_value = sign_flip_p(sums.astype(np.float64))
    if p_t is not None:
        by_list = not np.array_equal(first, second)
        if by_list:
            p_value = max(p_value, p_t)
        elif n_units < FEWEST_FLIPPED:
            p_value = p_t
    return p_value, share
