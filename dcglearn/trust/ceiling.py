"""Noise ceiling: how many preferences a function of the grades can respect, between two shares.

People who see the same two lists disagree, so no metric respects all of them; where lists recur, a
log says how often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    Floats,
    Grades,
    Indices,
    InputError,
    PolarsFrame,
    whole_number,
)
from dcglearn.logs.columns import ties_of
from dcglearn.logs.preference_pairs import Metric, RatingCounts
from dcglearn.logs.unique_rows import list_numbers, numbered, pair_numbers, size_of
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.resampling import FOLDS, counts_in_folds

MOST_SAMPLED = 300_000
"""Of a log of more pairs, a random sample of this many is used."""

FEWEST_LISTS = 10
"""With fewer lists that recur there is no ceiling, and bands of fewer lists are not compared."""

BANDS = (2, 5, 10, 20, 50)
"""How often a list is rated, at least, in each band that is searched for copies."""


@dataclass(frozen=True, eq=False)
class NoiseCeiling(Finding):
    """The noise ceiling of a log, between two shares.

    `below` is the share of verdicts that a table of list values respects which is learned without
    them: a function of the grades, so that the ceiling of new verdicts on these pairs lies above it
    in expectation. `above` is the share that is respected where each pair of lists is decided as
    most of its verdicts are: no function of the grades respects more of these verdicts, and the
    ceiling of new ones lies below it in expectation.

    A list recurs if it was rated or judged at least `min_times` times: `n_lists` counts these,
    `n_units` their ratings or judgements (the `unit` that the folds divide), and `covered` is the
    share of the log's decided pairs, by weight, that lie between them. `pairs` are these pairs, on
    which a metric's share is to be compared with both, `rows`, shape (n,), their rows in the log,
    and `right`, shape (n,), the share of each pair's verdicts that the table respects.
    """

    below: float
    above: float
    covered: float
    min_times: int
    n_lists: int
    n_units: int
    unit: str
    pairs: Preferences = field(repr=False)
    rows: Indices = field(repr=False)
    right: Floats = field(repr=False)

    def share_of(self, metric: Metric) -> float:
        """Return the share of the covered pairs that a metric respects; its ties count half."""
        return self.pairs.agreement(metric).share

    @property
    def sentence(self) -> str:
        """Both shares and the pairs that they speak for, in words."""
        return (
            f"on {self.about}, a table of list values orders {self.below:.1%} of the preferences "
            f"rightly without having seen them, and no function of the grades more than "
            f"{self.above:.1%}"
        )

    @property
    def table(self) -> PolarsFrame:
        """Shares that are reached on held-out verdicts, and possible on these."""
        return table_of(
            [
                {"share": f"list values, on held-out {self.unit}s", "value": self.below},
                {"share": "each pair as most of its verdicts", "value": self.above},
            ]
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What lies between the two shares."""
        return (
            f"what a function of the grades can reach on new {self.unit}s lies between: the table "
            "is such a function, and most verdicts of a pair are partly chance",
        )

    @property
    def about(self) -> str:
        """The pairs that the ceiling speaks for, in words."""
        times = f"have at least {self.min_times} {self.unit}s"
        recur = "recur" if self.min_times == BANDS[0] else times
        return (
            f"the {len(self.pairs):,} pairs ({self.covered:.1%} by weight) between the "
            f"{self.n_lists} lists that {recur}, by {self.n_units:,} {self.unit}s"
        )


def noise_ceiling(
    log: Preferences | ArrayLike, *, min_times: int | None = None, random_state: int = 0
) -> NoiseCeiling:
    """Return two shares between which the noise ceiling lies: what functions of grades can respect.

    The lower one is reached by values of lists, which are learned from the other folds of ratings
    or judgements: of a pair of ratings, without the folds of both. They are the shrunken
    least-squares values (Massey 1997) of lists that win or lose against each other; a list of few
    verdicts has the value that a sum over positions and grades gives it. The upper one decides
    each pair of lists as most of its verdicts do. Raises InputError if too few lists recur.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log, or its held-out part. Of a log of rated lists (`read_ratings`) the ratings are
        divided into folds, of others the judged pairs; ties are left out.
    min_times, random_state : int, optional
        How often a list is rated or judged, at least, to count as one that recurs; of these, the
        500 most frequent are used. By default 2, or more if rare lists agree with themselves far
        better than frequent ones, which shows copies of one rating. Seed of the folds.

    See Also
    --------
    compare_learners : How near the learners are to it.
    rater_agreement : How far judges agree.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> lists = rng.integers(0, 2, (600, 4))
    >>> ratings = np.round(lists @ [2, 1, 1, 1] + rng.normal(0, 1, 600))
    >>> rated = [{"list": x, "rating": y} for x, y in zip(lists.tolist(), ratings.tolist())]
    >>> ceiling = noise_ceiling(dl.read_ratings(rated))
    >>> 0.8 < ceiling.below < ceiling.above < 0.9
    True
    """
    whole = as_preferences(log)
    if min_times is not None:
        whole_number(min_times, "min_times", 2)
    rows = np.flatnonzero(whole.differing & ~ties_of(whole))
    if not len(rows):
        raise InputError(
            "no noise ceiling: the log holds no preference between two different lists"
        )

    # the decided pairs, or a sample of them
    rng = np.random.default_rng(random_state)
    if len(rows) > MOST_SAMPLED:
        rows = np.sort(rng.choice(rows, MOST_SAMPLED, replace=False))
    sample = whole[rows]

    # the lists that recur, at most 500: values solve a dense system
    lists = np.stack(list_numbers(sample.preferred, sample.other))
    times = _times(sample, lists)
    if min_times is None:
        min_times = BANDS[0] if sample.ratings is None else _without_copies(sample.rated)
    kept = times >= min_times
    kept[np.argsort(-times, kind="stable")[500:]] = False

    # the pairs between them
    among = kept[lists].all(axis=0)
    pairs = sample[among]
    unit = "judgement" if sample.ratings is None else "rating"
    of_lists = float(_times(pairs, lists[:, among]).sum())
    n_units = round(of_lists / 2 if sample.ratings is None else of_lists)
    covered = pairs.total_weight / sample.total_weight
    _check_enough(len(np.unique(lists[:, among])), n_units, covered, unit)

    # what is reached without the verdicts
    first, second = numbered(lists[:, among]).reshape(2, -1)
    weight, total = pairs.weights, pairs.total_weight
    with one_blas_thread():
        right = _held_out_right(pairs, first, second, 2 * total / of_lists, rng)

    # and at most with them: the majority of each pair
    most = (np.sign(weight_ahead(first, second, weight)) + 1) / 2
    return NoiseCeiling(
        below=float(weight @ right) / total,
        above=float(weight @ most) / total,
        covered=covered,
        min_times=min_times,
        n_lists=size_of(first, second),
        n_units=n_units,
        unit=unit,
        pairs=pairs,
        rows=rows[among],
        right=right,
    )


def ceiling_of(log: Preferences, random_state: int) -> tuple[NoiseCeiling | None, str]:
    """Return the noise ceiling of a log, or why there is none."""
    try:
        return noise_ceiling(log, random_state=random_state), ""
    except InputError as error:
        return None, str(error)


def weight_ahead(first: Indices, second: Indices, weight: Floats) -> Floats:
    """Return by how much weight verdicts on the same two lists are as each says, shape (n,).

    `first`, shape (n,), number the lists that are preferred to the `second`.
    """
    pair, sign = pair_numbers(first, second), np.sign(second - first)
    ahead: Floats = sign * np.bincount(pair, sign * weight)[pair]
    return ahead


def indicators(lists: Grades) -> Floats:
    """Return indicators of the lists' grades at each position, shape (L, p).

    A column is 1 where a list has one of the grades above the worst at one position. Columns of
    zeros are left out.
    """
    grades = np.arange(1, max(int(lists.max(initial=0)), 1) + 1)
    table = (lists[:, :, None] == grades).reshape(len(lists), -1)
    return table[:, table.any(axis=0)].astype(np.float64)


def _check_enough(n_lists: int, n_units: int, share: float, unit: str) -> None:
    """Raise InputError if too few lists recur; `share` is that of the log between them."""
    if not n_lists:
        raise InputError(
            f"no noise ceiling: no list has several {unit}s, which tell what share any metric of "
            f"the grades could reach: collect more {unit}s of the same lists"
        )

    # too few of them
    fewest_units, least_share = 50, 0.05
    if n_lists < FEWEST_LISTS or n_units < fewest_units or share < least_share:
        raise InputError(
            f"no noise ceiling: only {n_lists} lists recur, with {n_units} {unit}s; pairs of two "
            f"such lists make up {share:.1%} of the log (it takes {FEWEST_LISTS} lists, "
            f"{fewest_units} {unit}s and {least_share:.0%}): collect more {unit}s of the same lists"
        )


def _times(pairs: Preferences, lists: Indices) -> Floats:
    """Return how often each list was rated or judged; `lists`, shape (2, n), numbers them."""
    counts = pairs.ratings
    if counts is None:
        weight = np.maximum(pairs.weights, 1)
        return np.bincount(lists.ravel(), np.tile(weight, 2)).astype(np.float64)
    of_unit = np.zeros(size_of(counts.unit), dtype=np.intp)
    of_unit[pairs.units.T.ravel()] = lists.ravel()
    return np.bincount(of_unit[counts.unit], counts.weight).astype(np.float64)


def _without_copies(counts: RatingCounts) -> int:
    """Return the smallest of `BANDS` at which the ratings show no copies.

    From it on, rare lists agree with themselves no better than frequent ones.
    """
    # how often two ratings of a list are the same
    rating = numbered(counts.rating)
    cell, times = np.unique(counts.list * size_of(rating) + rating, return_inverse=True)
    times = np.bincount(times, counts.weight)
    of_list = cell // size_of(rating)
    n = np.bincount(of_list, times)
    agree = np.bincount(of_list, times * (times - 1)) / np.maximum(n * (n - 1), 1)

    # a band holds copies if its lists agree by three standard errors more than those above
    for low, high in pairwise(BANDS):
        rare, frequent = agree[(n >= low) & (n < high)], agree[n >= high]
        if min(len(rare), len(frequent)) < FEWEST_LISTS:
            return low
        error = np.hypot(*(part.std(ddof=1) / np.sqrt(len(part)) for part in (rare, frequent)))
        if rare.mean() - frequent.mean() <= 3 * error:
            return low
    return BANDS[-1]


def _held_out_right(
    pairs: Preferences, first: Indices, second: Indices, unit: float, rng: np.random.Generator
) -> Floats:
    """Return the share of each pair's verdicts that values learned without them respect.

    `first` and `second`, shape (n,), number the lists of each pair. A rating or judgement of a list
    has the weight `unit` in its pairs; the ridge is that of ten, on what each grade at a position
    is worth and on what a list is worth beyond their sum.
    """
    # lists are alike as far as their grades are
    lists = np.zeros((size_of(first, second), pairs.depth), dtype=np.int8)
    lists[first], lists[second] = pairs.preferred, pairs.other
    table = indicators(lists)
    prior = np.eye(len(lists)) + table @ table.T

    # by values from the other folds
    right, total = np.zeros((2, len(pairs)))
    for others, held in _folds(pairs, rng):
        value = _list_values(first, second, others, prior, 10 * unit)
        right += held * (np.sign(value[first] - value[second]) + 1) / 2
        total += held
    return np.divide(right, total, out=np.full(len(pairs), 0.5), where=total > 0)


def _list_values(
    better: Indices, worse: Indices, weight: Floats, prior: Floats, ridge: float
) -> Floats:
    """Return the values v that minimise ``sum w (v_better - v_worse - 1)^2 + ridge v' prior^-1 v``.

    `prior`, shape (L, L), is positive definite.
    """
    n = len(prior)
    wins = np.bincount(better * n + worse, weight, n * n).reshape(n, n)
    both = wins + wins.T
    laplacian = np.diag(both.sum(axis=0)) - both
    lead = (wins - wins.T).sum(axis=1)
    values: Floats = prior @ np.linalg.solve(laplacian @ prior + ridge * np.eye(n), lead)
    return values


def _folds(pairs: Preferences, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Yield each pair's weight of other verdicts and of held-out ones, shape (n,) each.

    Verdicts are judgements, or comparisons of two ratings, of which each is held out with the folds
    of both.
    """
    weight, counts = pairs.weights, pairs.ratings
    if counts is None:
        yield from ((weight - held, held) for held in counts_in_folds(weight, rng))
        return

    # count each list's ratings at each of at most 50 ranks
    rank = numbered(counts.rating)
    n_ranks = min(size_of(rank), 50)
    rank = rank * n_ranks // size_of(rank)
    parts = np.zeros((FOLDS, size_of(counts.unit), n_ranks))
    for part, number in zip(parts, counts_in_folds(counts.weight, rng), strict=True):
        np.add.at(part, (counts.unit, rank), number)

    # hold out every fold, and every two of them
    whole = parts.sum(axis=0)
    n_wins = _n_wins(pairs, whole, whole)
    scale = np.divide(weight, n_wins, out=np.zeros(len(pairs)), where=n_wins > 0)
    for i in range(FOLDS):
        for j in range(i, FOLDS):
            held, others = _n_wins(pairs, parts[i], parts[j]), whole - parts[i]
            if j != i:
                held, others = held + _n_wins(pairs, parts[j], parts[i]), others - parts[j]
            yield scale * _n_wins(pairs, others, others), scale * held


def _n_wins(pairs: Preferences, ratings: Floats, below: Floats) -> Floats:
    """Return how often one of a pair's first list's ratings is above one of `below` of the second.

    Both count the ratings of each unit at each rank.
    """
    better, worse = pairs.units.T
    lower = np.cumsum(below, axis=1) - below
    total = np.zeros(len(pairs))
    for rank in range(1, ratings.shape[1]):
        total += ratings[better, rank] * lower[worse, rank]
    return total
