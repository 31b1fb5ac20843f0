"""Resampling of a log's units (pairs, raters, queries or lists): folds, bootstrap, errors."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Floats, Indices, InputError, Integers, Seed
from dcglearn.logs.columns import weights_of
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs, divided
from dcglearn.logs.unique_rows import pair_numbers
from dcglearn.parts.usable_pairs import usable_pairs
from dcglearn.readers.preferences import Preferences, as_preferences

FOLDS = 5
"""Number of folds of raters, queries or pairs."""

N_RESAMPLES = 500
"""Number of bootstrap samples of questions, or of experiments."""

FEWEST_UNITS = 10
"""With fewer raters or queries than this, others are held out."""


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
    log: PreferencePairs, *, fewest: int = 2, without: str = "", per_list: float = 1
) -> str:
    """Return the independent unit of a log: "rater", "query", "list" or "pair".

    Raters, or else queries, are the unit if there are at least `fewest` of them (never the column
    `without`); else lists, if there are at least `per_list` judgements for each, and more
    judgements than lists; else pairs.
    """
    for unit in ("rater", "query"):
        labels = None if unit == without else getattr(log, unit)
        if labels is not None and len(np.unique(labels)) >= fewest:
            return unit
    return "list" if len(log) >= max(per_list * log.n_lists, log.n_lists + 1) else "pair"


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
        remedy = no_more_lists(log, unit, n_folds, FEWEST_UNITS) or "get more judgements"
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


def sampled(log: AnyLog, rng: np.random.Generator, most: int = 4_000) -> AnyLog:
    """Return a log of at most `most` judgements, drawn by weight."""
    if len(log) <= most:
        return log
    chance = None if log.weight is None else log.weight / log.weight.sum()
    return log.reweighted(np.bincount(rng.choice(len(log), most, p=chance), minlength=len(log)))


def bootstrap_counts(times: ArrayLike, n_resamples: int, random_state: Seed) -> Integers:
    """Return how often each unit is drawn, shape (1 + B, n): first as it is, then in each sample.

    `times`, shape (n,), says how often the data hold each unit.
    """
    times = np.asarray(times, dtype=np.int64)
    n = times.sum()
    samples = np.random.default_rng(random_state).multinomial(n, times / n, n_resamples)
    return np.vstack([times, samples])


def resampled_weights(
    log: PreferencePairs, by: str, n_resamples: int, random_state: Seed
) -> Iterator[Floats]:
    """Yield the weights of the log's pairs in each bootstrap sample, shape (n,).

    Pairs that were not drawn have the weight 0. `by` is the unit to draw with replacement: "pair",
    "rater", "query" or "list". A pair whose lists are drawn i and j times counts i * j times, so
    the value of a list beyond its grades, which all its pairs share, is drawn as a whole. Raise
    InputError if the log lacks the column, or has only one such unit.
    """
    first, second = log.clusters(by)
    n = int(max(first.max(), second.max())) + 1
    if n < 2:
        remedy = "give more pairs" if by == "pair" else "draw by pair"
        raise InputError(f"a bootstrap by {by} needs two or more; these pairs have one: {remedy}")
    weight = weights_of(log)
    rng = np.random.default_rng(random_state)
    for _ in range(n_resamples):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        times = drawn[first] * drawn[second] if by == "list" else drawn[first]
        yield weight * times


Clusters = tuple[Indices, Indices]
"""Numbers of what the two lists of each pair belong to; the same twice unless these are lists."""


def sign_test(
    signs: Floats,
    weight: Floats,
    clusters: Clusters,
    *,
    most_enumerated: int = 12,
    n_draws: int = 9_999,
) -> float:
    """Return the two-sided p-value of signs, shape (n,), whose weighted sum is expected to be 0.

    The signs of a cluster are exchanged together, in all ways for up to `most_enumerated` clusters,
    else in `n_draws` that are drawn. Where pairs are in two clusters, their lists, each pair is
    exchanged by itself, and the value is at least that of the normal distribution with the standard
    error of dependent pairs.
    """
    # sum the signs that are exchanged together
    first, second = clusters
    by_list = not np.array_equal(first, second)
    of_pair = pair_numbers(first, second) if by_list else np.unique(first, return_inverse=True)[1]
    sums = np.bincount(of_pair, signs * weight)
    sums = sums[sums != 0]
    if not len(sums):
        return 1.0

    # all signs, or many drawn ones and those observed
    if len(sums) <= most_enumerated:
        flips = 1.0 - 2 * (np.arange(1 << len(sums))[:, None] >> np.arange(len(sums)) & 1)
    else:
        flips = np.random.default_rng(0).choice([-1.0, 1.0], (n_draws, len(sums)))
        flips = np.vstack([np.ones(len(sums)), flips])
    p_value = float(np.mean(np.abs(flips @ sums) >= abs(sums.sum()) - 1e-9 * np.abs(sums).sum()))
    if not by_list:
        return p_value

    # pairs that share a list are dependent
    from scipy.special import ndtr

    mean, error = mean_and_error(signs[None], weight, clusters)
    return max(p_value, 2 * float(ndtr(-abs(mean[0]) / max(error[0], 1e-300))))


def mean_and_covariance(
    values: Floats, weight: Floats, clusters: Clusters
) -> tuple[Floats, Floats]:
    """Return the weighted means of values, shape (M, n), and their covariance.

    Pairs of one cluster are dependent.
    """
    means, off = _off_by_cluster(values, weight, clusters)
    return means, off @ off.T


def mean_and_error(values: Floats, weight: Floats, clusters: Clusters) -> tuple[Floats, Floats]:
    """Return the weighted means of values of pairs, and their standard errors.

    Pairs of one cluster are dependent. `values` has the shape (..., n), `weight` (n,), and
    `clusters` number those of the two lists of each pair. Where these are lists, the variance is
    that of the jackknife, which leaves out a list with all its pairs (Efron and Stein 1981): that
    of dyadic data (Aronow, Samii and Assenova 2015) is too small where a few lists are in many
    pairs.
    """
    means, off = _off_by_cluster(values, weight, clusters)

    # as shares of the weight that is left without each list
    if not np.array_equal(*clusters):
        n = off.shape[1]
        first, second = (np.bincount(end, weight / weight.sum(), n) for end in clusters)
        off = off / np.maximum(1 - first - second, 1 / n)
    return means, np.sqrt((off**2).sum(axis=1)).reshape(means.shape)


def _off_by_cluster(values: Floats, weight: Floats, clusters: Clusters) -> tuple[Floats, Floats]:
    """Return the weighted means of values, shape (..., n), and each cluster's part of the error.

    The parts have a row for each mean.
    """
    # means, and each pair's part
    share = weight / weight.sum()
    means = values @ share
    off = share * (values - means[..., None])

    # sum these by cluster
    first, second = clusters
    n = int(max(first.max(), second.max())) + 1
    ends = (first,) if np.array_equal(first, second) else (first, second)
    rows = off.reshape(-1, len(share))
    return means, np.array([sum(np.bincount(end, row, n) for end in ends) for row in rows])
