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
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs
from dcglearn.logs.unique_rows import pair_numbers, size_of
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences

FOLDS = 5
"""Number of folds of raters, queries or pairs."""

N_RESAMPLES = 500
"""Number of bootstrap samples of questions."""

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
            f"than {FEWEST_TESTED}: too few to test anything; get more judgements",
            see="too-few",
        )


def decided_pairs(log: Preferences | ArrayLike) -> Preferences:
    """Return the preferences that learners use, without those of raters who always name one side.

    Raise InputError if there are none.
    """
    pairs = usable_pairs(as_preferences(log)).decided
    if not len(pairs):
        raise InputError("the log holds no preference between two different lists")
    return pairs


def unit_of(
    log: PreferencePairs, *, fewest: int = FEWEST_UNITS, without: str = "", per_list: float = 1
) -> str:
    """Return the independent unit of a log: "rater", "query", "list" or "pair".

    Raters, or else queries, are the unit if there are at least `fewest` of them (never the column
    `without`); else lists, if there are at least `per_list` judgements for each, and more
    judgements than lists; else pairs.
    """
    for unit in ("rater", "query"):
        if unit != without and _n_labels(log, unit) >= fewest:
            return unit
    return "list" if len(log) >= max(per_list * log.n_lists, log.n_lists + 1) else "pair"


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


def divided(
    clusters: tuple[Indices, Indices],
    n_folds: int,
    rng: np.random.Generator,
    *,
    across: bool = True,
) -> list[tuple[Indices, Indices]]:
    """Return the rows to train on and to hold out, for random folds of the lists' clusters.

    A pair is held out with the folds of its two lists, and trained on where neither is held out.
    With `across`, folds are held out two at a time too, so that each pair is held out once; else
    pairs of lists in two folds never are.
    """
    first, second = clusters
    # the folds of each pair's two lists
    fold = rng.permutation(size_of(first, second)) % n_folds
    low = np.minimum(fold[first], fold[second])
    high = np.maximum(fold[first], fold[second])

    # hold out a fold, or two
    folds = []
    for i in range(n_folds):
        for j in range(i, n_folds) if across else (i,):
            test = np.flatnonzero((low == i) & (high == j))
            train = np.flatnonzero((low != i) & (low != j) & (high != i) & (high != j))
            if len(test) and len(train):
                folds.append((train, test))
    return folds


def folds_of(
    log: PreferencePairs, unit: str, random_state: int, *, fewest: int = 30
) -> list[tuple[Indices, Indices]]:
    """Return rows to train on and to hold out, each pair once; see `divided`.

    Of lists there are four folds, of which two at a time are held out. Raise InputError if fewer
    than `fewest` pairs can be held out: too few to say anything.
    """
    n_folds = 4 if unit == "list" else FOLDS
    folds = divided(log.clusters(unit), n_folds, np.random.default_rng(random_state))
    n_held_out = sum(len(test) for _, test in folds)
    if n_held_out < fewest:
        remedy = no_more_lists(log, unit, n_folds, FEWEST_HELD_OUT) or "get more judgements"
        raise InputError(
            f"{n_held_out} pairs can be held out by {unit}, fewer than {fewest}: too few to "
            f"compare anything; {remedy}",
            see="too-few",
        )
    return folds


def folds_of_units(unit: Indices, random_state: Seed) -> list[tuple[Indices, Indices]]:
    """Return rows to train on and to hold out, each once; `unit`, shape (n,), numbers units."""
    return divided((unit, unit), FOLDS, np.random.default_rng(random_state))


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


def reweighted(log: AnyLog, weight: ArrayLike) -> AnyLog:
    """Return a log with other weights, shape (n,); pairs of weight 0 are left out."""
    weights = np.asarray(weight, dtype=np.float64)
    kept = np.flatnonzero(weights)
    return log[kept].changed(weight=weights[kept])


def sampled(log: AnyLog, rng: np.random.Generator, most: int = 4_000) -> AnyLog:
    """Return a log of at most `most` judgements, drawn by weight."""
    if len(log) <= most:
        return log
    chance = None if log.weight is None else log.weight / log.weight.sum()
    drawn = np.bincount(rng.choice(len(log), most, p=chance), minlength=len(log))
    return reweighted(log, drawn)


def bootstrap_counts(times: ArrayLike, n_resamples: int, random_state: Seed) -> Integers:
    """Return how often each unit is drawn, shape (1 + B, n): first as it is, then in each sample.

    `times`, shape (n,), says how often the data hold each unit.
    """
    times = np.asarray(times, dtype=np.int64)
    n = times.sum()
    samples = np.random.default_rng(random_state).multinomial(n, times / n, n_resamples)
    return np.vstack([times, samples])


def sign_test(signs: Floats, weight: Floats, clusters: Clusters) -> float:
    """Return the two-sided p-value of signs, shape (n,), whose weighted sum is expected to be 0.

    The signs of a unit are exchanged together (`sign_flip_p`). Fewer than `FEWEST_FLIPPED` units
    are tested by Student's t, since their flips cannot reach 5%. Where pairs are in two units,
    their lists, each pair is exchanged by itself, and the value is at least that of Student's t.
    """
    # by the standard error of units
    mean, error, n_units = mean_and_error(signs, weight, clusters)
    p_t = student_test(float(mean), float(error), n_units, LEVEL)["p_t"]

    # by flips of the signs that are exchanged together
    first, second = clusters
    by_list = not np.array_equal(first, second)
    of_pair = pair_numbers(first, second) if by_list else np.unique(first, return_inverse=True)[1]
    p_flips = sign_flip_p(np.bincount(of_pair, signs * weight).astype(np.float64))
    if p_t is None:
        return p_flips
    if by_list:
        return max(p_flips, float(p_t))
    return p_flips if n_units >= FEWEST_FLIPPED else float(p_t)
