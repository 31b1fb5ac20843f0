"""The lists of a log that recur, the pairs between them, and folds of their ratings or judgements."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import list_numbers, packed, unique_rows
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.resampling import FOLDS
from dcglearn.trust.values_of_lists import (
    JudgedLists,
    ListValues,
    Posterior,
    RatedLists,
    Variances,
    indicators,
)

FEWEST_LISTS = 10
"""With fewer lists that recur there is no ceiling, and bands of fewer lists are not compared."""

BANDS = (2, 5, 10, 20, 50)
"""How often a list is rated, at least, in each band that is searched for copies."""

MOST_JUDGED_LISTS = 500
"""Of judged pairs, the lists that were judged most often, up to this many, are used: the fit solves
dense systems.
"""

MOST_RATINGS = 50
"""More distinct ratings than this are binned by rank."""

HARDLY = 1e6
"""Memorised means are shrunken as if lists differed by this many times the variance of ratings."""

FREE = (3.0, 10.0)
"""Standard deviations, in logits, of the sum and of lists beyond it, for the memorised values of
judged lists.
"""

COPIES = 3.0
"""A band of lists holds copies of ratings if its ratings agree by this many standard errors more
than those above.
"""


def _folds_of(weight: Floats, rng: np.random.Generator) -> Floats:
    """Return how much of each weight is in each fold, shape (FOLDS, n): whole numbers are divided,
    others not.
    """
    whole = bool((weight == np.round(weight)).all())
    counts = weight.astype(np.int64) if whole else np.ones(len(weight), dtype=np.int64)
    parts = rng.multinomial(counts, np.full(FOLDS, 1 / FOLDS)).T.astype(np.float64)
    return parts if whole else parts * weight


class RecurringRatings:
    """The lists that were rated often enough, and the pairs between them, of lists `first` and
    `second`, shape (n,).
    """

    unit = "rating"

    def __init__(self, log: Preferences, fewest: int | None) -> None:
        counts = log.ratings
        assert counts is not None
        self.log = log
        self.weight = np.ones(len(log)) if log.weight is None else log.weight
        better, worse, own = counts.rows_of(log)
        rank, score = _ranked(counts.rating, counts.weight)
        table = np.zeros((int(max(better.max(), worse.max(), own.max())) + 1, len(score)))
        np.add.at(table, (own, rank), counts.weight)
        group, lists = np.zeros((2, len(table)), dtype=np.intp)
        group[own], lists[own] = counts.group, counts.list
        self.fewest = _without_copies(log.rated or counts) if fewest is None else fewest
        recurs = np.bincount(counts.list, counts.weight) >= self.fewest
        rows = np.flatnonzero(recurs[lists] & (table.sum(axis=1) > 0))
        kept = np.isin(np.arange(len(table)), rows)
        self.covered = kept[better] & kept[worse]
        place = np.cumsum(kept) - 1
        self._better, self._worse = place[better[self.covered]], place[worse[self.covered]]
        number = np.unique(lists[rows], return_inverse=True)[1]
        self.first, self.second = number[self._better], number[self._worse]
        self._counts = table[rows]
        self._group = np.unique(group[rows], return_inverse=True)[1]
        self.n_lists, self.n_units = int(recurs.sum()), round(float(self._counts.sum()))
        self._rated = RatedLists(self._group, number, score, indicators(counts.lists[recurs]))

    @cached_property
    def _fit(self) -> tuple[Posterior, Variances]:
        return self._rated.posterior(self._counts)

    @property
    def posterior(self) -> Posterior:
        """The values of the lists, from all ratings, under several variances between lists."""
        return self._fit[0]

    @property
    def typical_slope(self) -> float:
        """Slope from value to preference if ratings of a list are normal."""
        return 1.7 / float(
            np.sqrt(2 * self._fit[1].within)
        )  # sigma(1.7 x) is nearly the normal distribution

    def fitted(self) -> ListValues:
        """Return the values of the lists, from all ratings, under the expected variance between
        lists.
        """
        return self._rated.estimated(self._counts, self._fit[1])

    def memorised(self) -> ListValues:
        """Return the lists' mean scores, hardly shrunken."""
        within = self._fit[1].within
        return self._rated.estimated(self._counts, Variances(within, HARDLY * within))

    def splits(self, rng: np.random.Generator) -> Iterator[tuple[ListValues, Floats]]:
        """Yield the values of the lists without two folds of the ratings, and the weight of the
        pairs between these.
        """
        cells = np.nonzero(self._counts)
        parts = np.zeros((FOLDS, *self._counts.shape))
        parts[:, cells[0], cells[1]] = _folds_of(self._counts[cells], rng)
        below = np.cumsum(parts, axis=2) - parts
        whole = self._weights(parts.sum(axis=0), below.sum(axis=0))
        scale = np.divide(
            self.weight[self.covered], whole, out=np.zeros(len(whole)), where=whole > 0
        )
        for i in range(FOLDS):
            for j in range(i, FOLDS):
                held = self._weights(parts[i], below[j])
                held += self._weights(parts[j], below[i]) if j != i else 0
                train = self._counts - (parts[i] if i == j else parts[i] + parts[j])
                yield self._rated.estimated(train, self._fit[1]), scale * held

    def sampling_variance(self, right: Floats, chance: Floats) -> float:
        """Return the variance of the share of pairs that a fixed order gets right, over ratings of
        the same lists.

        `right`, shape (n,), is 1 where the order agrees with the covered pair, else 0 (1/2 for
        none). What counts is how a rating's influence on the share, the sum over its pairs, varies
        within a list.
        """
        weight, counts = self.weight[self.covered], self._counts
        below = np.cumsum(counts, axis=1) - counts
        above = counts.sum(axis=1, keepdims=True) - below - counts
        whole = self._weights(counts, below)
        share = weight @ right / weight.sum()
        each = (
            np.divide(weight, whole, out=np.zeros(len(whole)), where=whole > 0)
            * (right - share)
            / weight.sum()
        )
        influence = np.zeros(counts.shape)
        for rank in range(counts.shape[1]):
            influence[:, rank] += np.bincount(
                self._better, each * below[self._worse, rank], len(counts)
            )
            influence[:, rank] += np.bincount(
                self._worse, each * above[self._better, rank], len(counts)
            )
        number = counts.sum(axis=1, keepdims=True)
        within = influence - (counts * influence).sum(axis=1, keepdims=True) / number
        return float((counts * within**2 * number / np.maximum(number - 1, 1)).sum())

    def _weights(self, counts: Floats, below: Floats) -> Floats:
        """Return, for each covered pair, how often a rating of the first list lies above one of the
        second.
        """
        total = np.zeros(len(self._better))
        for rank in range(1, counts.shape[1]):
            total += counts[self._better, rank] * below[self._worse, rank]
        return total


class RecurringJudgements:
    """The lists of a log that were judged often enough, and the pairs between them; see
    `RecurringRatings`.
    """

    unit = "judgement"
    typical_slope = 1.0

    def __init__(self, log: Preferences, fewest: int | None) -> None:
        self.log, self.fewest = log, fewest or BANDS[0]
        self.weight = np.ones(len(log)) if log.weight is None else log.weight
        better, worse = list_numbers(log.preferred, log.other)
        both = np.concatenate([better, worse])
        times = np.bincount(both, np.maximum(np.tile(self.weight, 2), 1))
        most = np.argsort(-times, kind="stable")[:MOST_JUDGED_LISTS]
        kept = (times >= self.fewest) & np.isin(np.arange(len(times)), most)
        self.covered = kept[better] & kept[worse]
        self._weight = self.weight[self.covered]
        names, number = np.unique(
            np.concatenate([better[self.covered], worse[self.covered]]), return_inverse=True
        )
        self.first, self.second = np.split(number, 2)
        lists = unique_rows(packed(np.concatenate([log.preferred, log.other])))[1][names]
        self.n_lists, self.n_units = len(names), round(float(np.maximum(self._weight, 1).sum()))
        table = np.concatenate([log.preferred, log.other])[lists]
        self._judged = JudgedLists(self.first, self.second, indicators(table))

    @cached_property
    def _fit(self) -> tuple[Posterior, tuple[float, float]]:
        return self._judged.posterior(self._weight)

    @property
    def posterior(self) -> Posterior:
        """The values of the lists, from all judgements, under several priors."""
        return self._fit[0]

    def fitted(self) -> ListValues:
        """Return the values of the lists, from all judgements, under the best prior."""
        return self.posterior.values[int(np.argmax(self.posterior.chances))]

    def memorised(self) -> ListValues:
        """Return the values of the lists, hardly shrunken."""
        return self._judged.estimated(self._weight, FREE)

    def splits(self, rng: np.random.Generator) -> Iterator[tuple[ListValues, Floats]]:
        """Yield the values of the lists without a fold of the judgements, and the weight of the
        pairs in this fold.
        """
        start = self.fitted().mean
        for held in _folds_of(self._weight, rng):
            yield self._judged.estimated(self._weight - held, self._fit[1], start), held

    def sampling_variance(self, right: Floats, chance: Floats) -> float:
        """Return the variance as for ratings, over judgements of the same pairs; `right` is as
        probable as `chance`.
        """
        weight = self._weight
        squared = weight if (weight == np.round(weight)).all() else weight**2
        return float(squared @ (right - chance) ** 2) / float(weight.sum()) ** 2


def _ranked(rating: Floats, weight: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the rank of each rating, and the score of each rank: the share below it; binned beyond
    `MOST_RATINGS`.
    """
    values, rank = np.unique(rating, return_inverse=True)
    share = np.bincount(rank, weight) / weight.sum()
    if len(values) > MOST_RATINGS:
        bins = np.unique(
            np.floor((np.cumsum(share) - share / 2) * MOST_RATINGS), return_inverse=True
        )[1]
        rank, share = bins[rank], np.bincount(bins, share)
    return rank, np.cumsum(share) - share / 2


def _without_copies(counts: RatingCounts) -> int:
    """Return the smallest of `BANDS` from which on rare lists agree with themselves no better than
    frequent ones.
    """
    rank, score = _ranked(counts.rating, counts.weight)
    table = np.bincount(
        counts.list * len(score) + rank, counts.weight, len(counts.lists) * len(score)
    )
    table = table.reshape(-1, len(score))
    n = table.sum(axis=1)
    agree = (table * (table - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)
    for low, high in pairwise(BANDS):
        rare, frequent = agree[(n >= low) & (n < high)], agree[n >= high]
        if min(len(rare), len(frequent)) < FEWEST_LISTS:
            return low
        error = np.hypot(*(part.std(ddof=1) / np.sqrt(len(part)) for part in (rare, frequent)))
        if rare.mean() - frequent.mean() <= COPIES * error:
            return low
    return BANDS[-1]
