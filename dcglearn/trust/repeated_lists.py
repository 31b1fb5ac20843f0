"""The lists of a log that recur, the pairs between them, and folds of ratings or judgements."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from dcglearn.foundation.validation import Floats, Indices
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import list_numbers, packed, size_of, unique_rows
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.list_values import (
    JudgedLists,
    ListValues,
    Posterior,
    RatedLists,
    Variances,
    indicators,
)
from dcglearn.trust.resampling import FOLDS, counts_in_folds, is_whole

FEWEST_LISTS = 10
"""With fewer lists that recur there is no ceiling, and bands of fewer lists are not compared."""

BANDS = (2, 5, 10, 20, 50)
"""How often a list is rated, at least, in each band that is searched for copies."""


class RecurringRatings:
    """The lists that were rated often enough, and the pairs between them.

    `first` and `second`, shape (n,), number the lists of each pair.
    """

    unit = "rating"

    def __init__(self, log: Preferences, min_times: int | None) -> None:
        counts, units = log.ratings, log.units
        assert counts is not None and units is not None, "a log of rated lists"
        self.log, self.weight = log, log.weights
        self.min_times = _without_copies(log.rated or counts) if min_times is None else min_times

        # count the ratings of each rated list at each rank
        better, worse = units.T
        own = counts.unit
        rank, score = _ranked(counts.rating, counts.weight)
        table = np.zeros((size_of(own), len(score)))
        np.add.at(table, (own, rank), counts.weight)
        group, lists = np.zeros((2, len(table)), dtype=np.intp)
        group[own], lists[own] = counts.group, counts.list

        # keep the lists that recur, and the pairs between them
        recurs = np.bincount(counts.list, counts.weight) >= self.min_times
        kept = recurs[lists] & (table.sum(axis=1) > 0)
        self.covered = kept[better] & kept[worse]
        place = np.cumsum(kept) - 1
        self._better, self._worse = place[better[self.covered]], place[worse[self.covered]]
        self._counts = table[kept]

        # number them again
        number = np.unique(lists[kept], return_inverse=True)[1]
        self.first, self.second = number[self._better], number[self._worse]
        self.n_lists = int(recurs.sum())
        self.n_units = round(float(self._counts.sum()))
        group = np.unique(group[kept], return_inverse=True)[1]
        self._rated = RatedLists(group, number, score, indicators(counts.lists[recurs]))

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
        # sigma(1.7 x) is nearly the normal distribution
        return 1.7 / float(np.sqrt(2 * self._fit[1].within))

    def fitted(self) -> ListValues:
        """Return the lists' values from all ratings, with the expected variance between lists."""
        return self._rated.estimated(self._counts, self._fit[1])

    def memorised(self) -> ListValues:
        """Return the lists' mean scores, hardly shrunken.

        They are shrunken as if lists differed a million times more than their ratings.
        """
        within = self._fit[1].within
        return self._rated.estimated(self._counts, Variances(within, 1e6 * within))

    def splits(self, rng: np.random.Generator) -> Iterator[tuple[ListValues, Floats]]:
        """Yield the lists' values without one or two folds, and the weights held out.

        Folds are of ratings. The weights, shape (n,), are of pairs between ratings in these folds.
        """
        # divide the ratings
        cells = np.nonzero(self._counts)
        parts = np.zeros((FOLDS, *self._counts.shape))
        parts[:, cells[0], cells[1]] = counts_in_folds(self._counts[cells], rng)
        below = np.cumsum(parts, axis=2) - parts
        scale = self._scale(parts.sum(axis=0), below.sum(axis=0))

        # leave out every fold, and every two of them
        for i in range(FOLDS):
            for j in range(i, FOLDS):
                held, left_out = self._weights(parts[i], below[j]), parts[i]
                if j != i:
                    held, left_out = held + self._weights(parts[j], below[i]), left_out + parts[j]
                values = self._rated.estimated(self._counts - left_out, self._fit[1])
                yield values, scale * held

    def sampling_variance(self, right: Floats, chance: Floats) -> float:
        """Return the variance of the share of pairs that a fixed order gets right.

        The variance is over ratings of the same lists. `right`, shape (n,), is 1 where the order
        agrees with the covered pair, else 0 (1/2 for none). What counts is how a rating's influence
        on the share, the sum over its pairs, varies within a list.
        """
        # what each comparison of two ratings adds to the share
        weight = self.weight[self.covered]
        counts = self._counts
        below = np.cumsum(counts, axis=1) - counts
        above = counts.sum(axis=1, keepdims=True) - below - counts
        share = weight @ right / weight.sum()
        each = self._scale(counts, below) * (right - share) / weight.sum()

        # the influence of each rating
        influence = np.zeros(counts.shape)
        n = len(counts)
        for rank in range(counts.shape[1]):
            wins, losses = each * below[self._worse, rank], each * above[self._better, rank]
            influence[:, rank] += np.bincount(self._better, wins, n)
            influence[:, rank] += np.bincount(self._worse, losses, n)

        # its variance within lists
        number = counts.sum(axis=1, keepdims=True)
        within = influence - (counts * influence).sum(axis=1, keepdims=True) / number
        return float((counts * within**2 * number / np.maximum(number - 1, 1)).sum())

    def _scale(self, counts: Floats, below: Floats) -> Floats:
        """Return the weight of each comparison of two ratings of a covered pair, shape (n,)."""
        n_wins = self._weights(counts, below)
        weight = self.weight[self.covered]
        return np.divide(weight, n_wins, out=np.zeros(len(n_wins)), where=n_wins > 0)

    def _weights(self, counts: Floats, below: Floats) -> Floats:
        """Return how often the first list of each covered pair is rated above the second."""
        total = np.zeros(len(self._better))
        for rank in range(1, counts.shape[1]):
            total += counts[self._better, rank] * below[self._worse, rank]
        return total


class RecurringJudgements:
    """The lists that were judged often enough, and the pairs between them.

    See `RecurringRatings`.
    """

    unit = "judgement"
    typical_slope = 1.0

    def __init__(self, log: Preferences, min_times: int | None) -> None:
        self.log = log
        self.min_times = min_times or BANDS[0]
        self.weight = log.weights

        # keep the lists that recur, at most 500: the fit solves dense systems
        better, worse = list_numbers(log.preferred, log.other)
        both = np.concatenate([better, worse])
        times = np.bincount(both, np.maximum(np.tile(self.weight, 2), 1))
        most = np.argsort(-times, kind="stable")[:500]
        kept = (times >= self.min_times) & np.isin(np.arange(len(times)), most)
        self.covered = kept[better] & kept[worse]
        self._weight = self.weight[self.covered]

        # number them again
        ends = np.concatenate([better[self.covered], worse[self.covered]])
        names, number = np.unique(ends, return_inverse=True)
        self.first, self.second = np.split(number, 2)
        self.n_lists = len(names)
        self.n_units = round(float(np.maximum(self._weight, 1).sum()))
        lists = np.concatenate([log.preferred, log.other])
        table = lists[unique_rows(packed(lists))[1][names]]
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
        """Return the values of the lists, hardly shrunken.

        The sum, and what a list is worth beyond it, have standard deviations of 3 and 10 logits.
        """
        return self._judged.estimated(self._weight, (3.0, 10.0))

    def splits(self, rng: np.random.Generator) -> Iterator[tuple[ListValues, Floats]]:
        """Yield the lists' values without a fold of judgements, and the weights in this fold."""
        start = self.fitted().mean
        for held in counts_in_folds(self._weight, rng):
            yield self._judged.estimated(self._weight - held, self._fit[1], start), held

    def sampling_variance(self, right: Floats, chance: Floats) -> float:
        """Return the variance as for ratings, over judgements of the same pairs.

        `right` has the probability `chance`.
        """
        weight = self._weight
        squared = weight if is_whole(weight) else weight**2
        return float(squared @ (right - chance) ** 2) / float(weight.sum()) ** 2


def _ranked(rating: Floats, weight: Floats, most: int = 50) -> tuple[Indices, Floats]:
    """Return the rank of each rating, and the score of each rank: the share below it.

    Beyond `most` ranks, ratings are binned.
    """
    values, rank = np.unique(rating, return_inverse=True)
    share = np.bincount(rank, weight) / weight.sum()
    if len(values) > most:
        middle = np.cumsum(share) - share / 2
        bins = np.unique(np.floor(middle * most), return_inverse=True)[1]
        rank, share = bins[rank], np.bincount(bins, share)
    return rank, np.cumsum(share) - share / 2


def _without_copies(counts: RatingCounts) -> int:
    """Return the smallest of `BANDS` at which the ratings show no copies.

    From it on, rare lists agree with themselves no better than frequent ones.
    """
    # how often two ratings of a list are the same
    rank, score = _ranked(counts.rating, counts.weight)
    cell = counts.list * len(score) + rank
    n_cells = len(counts.lists) * len(score)
    table = np.bincount(cell, counts.weight, n_cells).reshape(-1, len(score))
    n = table.sum(axis=1)
    agree = (table * (table - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)

    # a band holds copies if its lists agree by three standard errors more than those above
    for low, high in pairwise(BANDS):
        rare, frequent = agree[(n >= low) & (n < high)], agree[n >= high]
        if min(len(rare), len(frequent)) < FEWEST_LISTS:
            return low
        error = np.hypot(*(part.std(ddof=1) / np.sqrt(len(part)) for part in (rare, frequent)))
        if rare.mean() - frequent.mean() <= 3 * error:
            return low
    return BANDS[-1]
