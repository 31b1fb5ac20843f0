"""The noise ceiling of a log: the largest share of preferences that any function of the two lists' grades can respect.

People who see the same two lists disagree, so no metric respects all of them. Where lists recur, the log itself says
how often: the best any function can do is to order the lists by what they are worth to people.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtri

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.learning.list_worth import JudgedLists, RatedLists, Variances, Worth, indicators
from dcglearn.logs.preferences import Preferences, as_preferences
from dcglearn.logs.unique_rows import list_numbers, packed, unique_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.logs.counting import Metric
    from dcglearn.logs.rating_counts import RatingCounts

OF_PAIRS = ("pairs", "rows", "right", "log_likelihood")
"""Attributes of a ceiling with an entry for each pair."""

LEVEL = 0.9
"""Level of the interval."""

FOLDS = 5
"""Number of folds of the ratings or judgements."""

FEWEST_LISTS = 10
"""With fewer lists that recur there is no ceiling."""

FEWEST_UNITS = 50
"""With fewer ratings or judgements of such lists there is no ceiling."""

LEAST_COVERED = 0.05
"""If less of the log's weight is between such lists, there is no ceiling."""

MOST_JUDGED_LISTS = 500
"""Of judged pairs, the lists that were judged most often, up to this many, are used: the fit solves dense systems."""

MOST_PAIRS = 300_000
"""Of a log of more pairs, a random sample of this many is used."""

MOST_RATINGS = 50
"""More distinct ratings than this are binned by rank."""

DRAWS = 200
"""Number of draws of the worth of lists behind the interval."""

MOST_TERMS = 20_000_000
"""About this many pairs, counted once for each draw, are used at most."""

HARDLY = 1e6
"""Memorised means are shrunken as if lists differed by this many times the variance of ratings."""

FREE = (3.0, 10.0)
"""Standard deviations, in logits, of the sum and of lists beyond it, for the memorised worth of judged lists."""

BANDS = (2, 5, 10, 20, 50)
"""How often a list is rated, at least, in each band that is searched for copies."""

COPIES = 3.0
"""A band of lists holds copies of ratings if its ratings agree by this many standard errors more than those above."""


@dataclass(frozen=True, eq=False)
class NoiseCeiling:
    """The noise ceiling of a log; prints as a sentence.

    Attributes
    ----------
    share : float
        Estimated largest share of the preferences that any function of the two lists' grades can respect.
    interval : tuple of float
        Its 90% interval, for the lists of this log.
    lower : float
        Share respected by the lists' shrunken worth, cross-fitted: estimated without the ratings or judgements that it
        is counted on. A function of the grades reaches it.
    upper : float
        Share respected by the lists' mean ratings (for pairs, their worth with hardly any shrinking), memorised:
        counted on the same ratings.
    covered : float
        Share of the log's decided pairs, by weight, that lie between lists that recur.
    fewest : int
        How often a list was rated or judged, at least, to count as one that recurs.
    n_lists, n_units : int
        Number of these lists, and of their ratings or judgements.
    unit : {"rating", "judgement"}
        What the folds divide.
    pairs : Preferences
        The covered pairs: `share` is to be compared with a metric's share of these.
    rows : ndarray of int, shape (n,)
        Their rows in the log.
    right, log_likelihood : ndarray, shape (n,)
        How far the cross-fitted order respects each covered pair, from 0 to 1, and the log probability that it gives to
        the preference, in the mean over the pair's held-out ratings or judgements.
    """

    share: float
    interval: tuple[float, float]
    lower: float
    upper: float
    covered: float
    fewest: int
    n_lists: int
    n_units: int
    unit: str
    pairs: Preferences
    rows: NDArray[np.intp]
    right: Floats
    log_likelihood: Floats

    def share_of(self, metric: Metric) -> float:
        """Return the share of the covered pairs that a metric respects; its ties count half."""
        return self.pairs.agreement(metric).share

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, without those of each pair."""
        values = {name: value for name, value in vars(self).items() if name not in OF_PAIRS}
        return {**values, "interval": list(self.interval), "level": LEVEL}

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"any function of the grades respects at most about {self.share:.1%} of the preferences ({LEVEL:.0%} "
            f"interval {low:.1%} to {high:.1%}; {self.lower:.1%} reached on held-out {self.unit}s, {self.upper:.1%} "
            f"memorised), on {self.about}"
        )

    @property
    def about(self) -> str:
        """What the ceiling speaks for, in words."""
        recur = "recur" if self.fewest == BANDS[0] else f"have at least {self.fewest} {self.unit}s"
        return (
            f"the {self.covered:.0%} of the pairs between the {self.n_lists} lists that {recur}: {self.n_units:,} "
            f"{self.unit}s"
        )


def noise_ceiling(log: Preferences | ArrayLike, *, fewest: int | None = None, seed: int = 0) -> NoiseCeiling:
    """Estimate the largest share of a log's preferences that any function of the two lists' grades can respect.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log, or its held-out part. Of a log of rated lists (`read_ratings`, `Preferences.from_ratings`) the ratings
        are used, of others the judged pairs; ties are left out.
    fewest : int, optional
        How often a list is rated or judged, at least, to count as one that recurs. By default 2. For ratings it is
        more if rare lists agree with themselves far better than frequent ones, which shows copies of one rating.
    seed : int
        Seed of folds and draws.

    Returns
    -------
    NoiseCeiling
        The share, its interval, a lower and an upper value, and how much of the log they speak for.

    Raises
    ------
    InputError
        If too few lists recur.

    See Also
    --------
    compare_learners : How near the learners are to it.
    rater_agreement : How far judges agree.

    Notes
    -----
    A list's worth is its mean rating (by ranks), or its worth in a Bradley-Terry model, shrunken to what a sum over
    positions and grades says. Folds are over ratings or judgements: each pair of ratings is predicted without the folds
    of both. `share` is `lower` plus what the cross-fitted order loses to the true one, as expected over draws from the
    posterior; the slope from worth to preference is fitted to held-out preferences. The interval has the sampling error
    of ratings around their list (of judgements around their pair of lists) and the spread of the posterior.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> lists = rng.integers(0, 2, (600, 4))
    >>> ratings = np.round(lists @ [2, 1, 1, 1] + rng.normal(0, 1, 600))
    >>> ceiling = noise_ceiling(Preferences.from_ratings(lists, ratings))
    >>> ceiling.lower < ceiling.share < ceiling.upper < 1
    True
    """
    given = as_preferences(log)
    if fewest is not None:
        whole_number(fewest, "fewest", 2)
    if not len(given[given.differing].decided):
        raise InputError("no noise ceiling: the log holds no preference between two different lists")
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(given.differing if given.tie is None else given.differing & ~given.tie)
    if len(rows) > MOST_PAIRS:
        rows = np.sort(rng.choice(rows, MOST_PAIRS, replace=False))
    sample = given[rows]
    with one_blas_thread():
        units = _Ratings(sample, fewest) if sample.ratings is not None else _Judgements(sample, fewest)
        covered = units.covered
        share = float(units.weight[covered].sum() / units.weight.sum())
        if units.n_lists < FEWEST_LISTS or units.n_units < FEWEST_UNITS or share < LEAST_COVERED:
            raise InputError(
                f"no noise ceiling: only {units.n_lists} lists recur, with {units.n_units} {units.unit}s; pairs of two "
                f"such lists make up {share:.1%} of the log (it takes {FEWEST_LISTS} lists, {FEWEST_UNITS} "
                f"{units.unit}s and {LEAST_COVERED:.0%}): collect more {units.unit}s of the same lists"
            )
        return _estimated(units, share, rows, rng)


def _estimated(
    units: _Ratings | _Judgements, covered: float, rows: NDArray[np.intp], rng: np.random.Generator
) -> NoiseCeiling:
    """Return the ceiling of lists of which enough recur; `rows` are those of the units' log."""
    first, second, weight = units.first, units.second, units.weight[units.covered]
    ahead, behind = np.zeros(len(first)), np.zeros(len(first))
    held_out: list[tuple[Floats, Floats, Floats, NDArray[np.intp]]] = []
    for worth, held_weight in units.splits(rng):
        difference, variance = worth.difference(first, second)
        ahead += held_weight * (np.sign(difference) + 1) / 2
        behind += held_weight * (1 - np.sign(difference)) / 2
        seen = np.flatnonzero(held_weight)
        held_out.append((difference[seen], variance[seen], held_weight[seen], seen))
    total = float((ahead + behind).sum())
    lower = float(ahead.sum()) / total
    *evidence, pair = map(np.concatenate, zip(*held_out, strict=True))
    slope = _slope(*evidence)
    log_likelihood = np.bincount(pair, -evidence[2] * _losses(slope, *evidence[:2]), len(first))
    held = np.maximum(ahead + behind, np.finfo(float).tiny)
    lost = []
    for theta in units.fitted.draws(int(np.clip(MOST_TERMS // len(first), DRAWS // 4, DRAWS)), rng):
        lead = np.tanh(slope * (theta[first] - theta[second]) / 2)  # P(first preferred) - P(second preferred)
        lost.append((ahead @ np.maximum(-lead, 0) + behind @ np.maximum(lead, 0)) / total)
    lead = units.fitted.difference(first, second)[0]
    error = np.sqrt(units.sampling_variance((np.sign(lead) + 1) / 2, expit(slope * np.abs(lead))) + np.var(lost))
    half_width = float(ndtri((1 + LEVEL) / 2) * error)
    memorised = units.memorised().difference(first, second)[0]
    upper = max(float(weight @ (np.sign(memorised) + 1)) / 2 / float(weight.sum()), lower)
    share = min(lower + float(np.mean(lost)), upper)
    return NoiseCeiling(
        share=share,
        interval=(max(share - half_width, 0.0), min(share + half_width, 1.0)),
        lower=lower,
        upper=upper,
        covered=covered,
        fewest=units.fewest,
        n_lists=units.n_lists,
        n_units=units.n_units,
        unit=units.unit,
        pairs=units.log[units.covered],
        rows=rows[units.covered],
        right=ahead / held,
        log_likelihood=log_likelihood / held,
    )


def _slope(difference: Floats, variance: Floats, weight: Floats) -> float:
    """Return b of ``P(preferred) = sigma(b d)`` that fits held-out preferences, d being known up to a variance.

    The mean of ``sigma(b d)`` over a normal d is about ``sigma(b m / sqrt(1 + pi b^2 v / 8))`` (MacKay 1992).
    """
    unit = max(float(np.sqrt(np.average(difference**2 + variance, weights=weight))), 1e-12)

    def loss(log_slope: float) -> float:
        return float(weight @ _losses(np.exp(log_slope) / unit, difference, variance))

    return float(np.exp(minimize_scalar(loss, bounds=(-6, 6), method="bounded").x)) / unit


def _losses(slope: float, difference: Floats, variance: Floats) -> Floats:
    """Return minus the log probability of preferences for what is better by a difference with this variance."""
    return np.logaddexp(0, -slope * difference / np.sqrt(1 + np.pi * slope**2 * variance / 8))


def _folds_of(weight: Floats, rng: np.random.Generator) -> Floats:
    """Return how much of each weight is in each fold, shape (FOLDS, n).

    A whole number counts ratings or judgements, each of which falls into a fold of its own; any other weight stays
    together.
    """
    whole = bool((weight == np.round(weight)).all())
    counts = weight.astype(np.int64) if whole else np.ones(len(weight), dtype=np.int64)
    parts = rng.multinomial(counts, np.full(FOLDS, 1 / FOLDS)).T.astype(np.float64)
    return parts if whole else parts * weight


class _Ratings:
    """The lists of a log that were rated often enough, and the pairs between them.

    `first`, `second`, shape (n,), number the lists of each covered pair.
    """

    unit = "rating"

    def __init__(self, log: Preferences, fewest: int | None) -> None:
        counts = log.ratings
        assert counts is not None
        self.log = log
        self.weight = np.ones(len(log)) if log.weight is None else log.weight
        better, worse, own = counts.rows_of(log.columns)
        rank, score = _ranked(counts.rating, counts.weight)
        table = np.zeros((int(max(better.max(), worse.max(), own.max())) + 1, len(score)))
        np.add.at(table, (own, rank), counts.weight)
        group, lists = (np.zeros(len(table), dtype=np.intp) for _ in range(2))
        group[own], lists[own] = counts.group, counts.list
        self.fewest = _without_copies(log.columns.ratings or counts) if fewest is None else fewest
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
    def _fit(self) -> tuple[Worth, Any]:
        return self._rated.worth(self._counts)

    @property
    def fitted(self) -> Worth:
        """The worth of the lists, from all ratings."""
        return self._fit[0]

    def memorised(self) -> Worth:
        """Return the lists' mean scores, hardly shrunken."""
        within = self._fit[1].within
        return self._rated.worth(self._counts, Variances(within, HARDLY * within))[0]

    def splits(self, rng: np.random.Generator) -> Iterator[tuple[Worth, Floats]]:
        """Yield the worth of the lists without two folds of the ratings, and the weight of the pairs between these."""
        cells = np.nonzero(self._counts)
        parts = np.zeros((FOLDS, *self._counts.shape))
        parts[:, cells[0], cells[1]] = _folds_of(self._counts[cells], rng)
        below = np.cumsum(parts, axis=2) - parts
        whole = self._weights(parts.sum(axis=0), below.sum(axis=0))
        scale = np.divide(self.weight[self.covered], whole, out=np.zeros(len(whole)), where=whole > 0)
        for i in range(FOLDS):
            for j in range(i, FOLDS):
                held = self._weights(parts[i], below[j])
                held += self._weights(parts[j], below[i]) if j != i else 0
                train = self._counts - (parts[i] if i == j else parts[i] + parts[j])
                yield self._rated.worth(train, self._fit[1])[0], scale * held

    def sampling_variance(self, right: Floats, chance: Floats) -> float:
        """Return the variance of the share of pairs that a fixed order gets right, over ratings of the same lists.

        `right`, shape (n,), is 1 where the order agrees with the covered pair, else 0 (1/2 for none). A rating's
        influence on the share is the sum over its pairs; what counts is how it varies within a list.
        """
        weight, counts = self.weight[self.covered], self._counts
        below = np.cumsum(counts, axis=1) - counts
        above = counts.sum(axis=1, keepdims=True) - below - counts
        whole = self._weights(counts, below)
        share = weight @ right / weight.sum()
        each = np.divide(weight, whole, out=np.zeros(len(whole)), where=whole > 0) * (right - share) / weight.sum()
        influence = np.zeros(counts.shape)
        for rank in range(counts.shape[1]):
            influence[:, rank] += np.bincount(self._better, each * below[self._worse, rank], len(counts))
            influence[:, rank] += np.bincount(self._worse, each * above[self._better, rank], len(counts))
        number = counts.sum(axis=1, keepdims=True)
        within = influence - (counts * influence).sum(axis=1, keepdims=True) / number
        return float((counts * within**2 * number / np.maximum(number - 1, 1)).sum())

    def _weights(self, counts: Floats, below: Floats) -> Floats:
        """Return, for each covered pair, how often a rating of the first list lies above one of the second."""
        total = np.zeros(len(self._better))
        for rank in range(1, counts.shape[1]):
            total += counts[self._better, rank] * below[self._worse, rank]
        return total


class _Judgements:
    """The lists of a log that were judged often enough, and the pairs between them; see `_Ratings`."""

    unit = "judgement"

    def __init__(self, log: Preferences, fewest: int | None) -> None:
        self.log, self.fewest = log, fewest or BANDS[0]
        self.weight = np.ones(len(log)) if log.weight is None else log.weight
        better, worse = list_numbers(log.preferred, log.other)
        both = np.concatenate([better, worse])
        times = np.bincount(both, np.maximum(np.tile(self.weight, 2), 1))
        kept = times >= self.fewest
        most = np.argsort(-times, kind="stable")[:MOST_JUDGED_LISTS]
        kept &= np.isin(np.arange(len(times)), most)
        self.covered = kept[better] & kept[worse]
        self._weight = self.weight[self.covered]
        names, number = np.unique(np.concatenate([better[self.covered], worse[self.covered]]), return_inverse=True)
        self.first, self.second = np.split(number, 2)
        lists = unique_rows(packed(np.concatenate([log.preferred, log.other])))[1][names]
        self.n_lists, self.n_units = len(names), round(float(np.maximum(self._weight, 1).sum()))
        table = np.concatenate([log.preferred, log.other])[lists]
        self._judged = JudgedLists(self.first, self.second, indicators(table))

    @cached_property
    def _fit(self) -> tuple[Worth, Any]:
        return self._judged.worth(self._weight)

    @property
    def fitted(self) -> Worth:
        """The worth of the lists, from all judgements."""
        return self._fit[0]

    def memorised(self) -> Worth:
        """Return the worth of the lists, hardly shrunken."""
        return self._judged.worth(self._weight, FREE)[0]

    def splits(self, rng: np.random.Generator) -> Iterator[tuple[Worth, Floats]]:
        """Yield the worth of the lists without a fold of the judgements, and the weight of the pairs in this fold."""
        for held in _folds_of(self._weight, rng):
            yield self._judged.worth(self._weight - held, self._fit[1])[0], held

    def sampling_variance(self, right: Floats, chance: Floats) -> float:
        """Return the variance of the share of pairs that a fixed order gets right, over judgements of the same pairs.

        `right`, shape (n,), is 1 where the order agrees with the covered pair, else 0 (1/2 for none), `chance` how
        probable that is.
        """
        weight = self._weight
        squared = weight if (weight == np.round(weight)).all() else weight**2
        return float(squared @ (right - chance) ** 2) / float(weight.sum()) ** 2


def _ranked(rating: Floats, weight: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the rank of each rating, and the score of each rank: the share of all ratings below it, ties half.

    More than `MOST_RATINGS` distinct ratings are binned by their share.
    """
    values, rank = np.unique(rating, return_inverse=True)
    share = np.bincount(rank, weight) / weight.sum()
    if len(values) > MOST_RATINGS:
        bins = np.unique(np.floor((np.cumsum(share) - share / 2) * MOST_RATINGS), return_inverse=True)[1]
        rank, share = bins[rank], np.bincount(bins, share)
    return rank, np.cumsum(share) - share / 2


def _without_copies(counts: RatingCounts) -> int:
    """Return the smallest of `BANDS` from which on rare lists agree with themselves no better than frequent ones.

    In a log drawn with replacement, a rare list's ratings are copies of one rating: they agree, and would be predicted
    by each other.
    """
    rank, score = _ranked(counts.rating, counts.weight)
    table = np.bincount(counts.list * len(score) + rank, counts.weight, len(counts.lists) * len(score))
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
