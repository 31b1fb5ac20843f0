"""Noise ceiling: the largest share of preferences that a function of the grades can respect.

People who see the same two lists disagree, so no metric respects all of them; where lists recur, a
log says how often.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL, normal_interval
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, Indices, InputError, PolarsFrame, whole_number
from dcglearn.learning.judgement_kernel import chances, log_chances
from dcglearn.learning.minimise import minimised
from dcglearn.logs.columns import ties_of
from dcglearn.logs.preference_pairs import Metric
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.repeated_lists import BANDS, FEWEST_LISTS, RecurringJudgements, RecurringRatings

MOST_SAMPLED = 300_000
"""Of a log of more pairs, a random sample of this many is used."""


@dataclass(frozen=True, eq=False)
class NoiseCeiling(Finding):
    """The noise ceiling of a log.

    `share` is the estimated largest share of the preferences that any function of the two lists'
    grades can respect, `interval` its 90% interval, for the lists of this log. `lower` is the share
    respected by the lists' shrunken values, cross-fitted, which a function of the grades reaches;
    `upper` that by their values with hardly any shrinking, counted on the same ratings or
    judgements. A list recurs if it was rated or judged at least `min_times` times: `n_lists` counts
    these, `n_units` their ratings or judgements (the `unit` that the folds divide), and `covered`
    is the share of the log's decided pairs, by weight, that lie between them. `pairs` are these
    pairs, on which a metric's share is to be compared with `share`, and `rows`, shape (n,), their
    rows in the log.
    """

    share: float
    interval: tuple[float, float]
    lower: float
    upper: float
    covered: float
    min_times: int
    n_lists: int
    n_units: int
    unit: str
    pairs: Preferences = field(repr=False)
    rows: Indices = field(repr=False)

    def share_of(self, metric: Metric) -> float:
        """Return the share of the covered pairs that a metric respects; its ties count half."""
        return self.pairs.agreement(metric).share

    @property
    def sentence(self) -> str:
        """The ceiling, with its interval, in words."""
        low, high = self.interval
        return (
            f"any function of the grades orders at most about {self.share:.1%} of the "
            f"preferences rightly ({LEVEL:.0%} interval {low:.1%} to {high:.1%})"
        )

    @property
    def table(self) -> PolarsFrame:
        """Shares that are reached, possible, and memorised."""
        low, high = self.interval
        return table_of(
            [
                {"share": f"reached on held-out {self.unit}s", "value": self.lower},
                {"share": "noise ceiling", "value": self.share, "low": low, "high": high},
                {"share": "memorised", "value": self.upper},
            ]
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the ceiling speaks for."""
        return (f"this holds for {self.about}",)

    @property
    def about(self) -> str:
        """What the ceiling speaks for, in words."""
        recur = (
            "recur"
            if self.min_times == BANDS[0]
            else f"have at least {self.min_times} {self.unit}s"
        )
        pairs = f"the {self.covered:.1%} of the pairs between the {self.n_lists} lists"
        return f"{pairs} that {recur}: {self.n_units:,} {self.unit}s"


def noise_ceiling(
    log: Preferences | ArrayLike, *, min_times: int | None = None, random_state: int = 0
) -> NoiseCeiling:
    """Estimate the largest share of preferences that any function of the grades can respect.

    A list's value is its mean rating (by ranks), or its value in a Bradley-Terry model, shrunken to
    what a sum over positions and grades says. Each pair of ratings is predicted without the folds
    of both. `share` is `lower` plus what the cross-fitted order loses to the true one, as expected
    over draws from the posterior of the values of lists and of the slope from value to preference.
    The interval has the sampling error of ratings around their list (of judgements around their
    pair of lists) and the spread of draws. Raises InputError if too few lists recur.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log, or its held-out part. Of a log of rated lists (`read_ratings`) the ratings are
        used, of others the judged pairs; ties are left out.
    min_times, random_state : int, optional
        How often a list is rated or judged, at least, to count as one that recurs. By default 2, or
        more if rare lists agree with themselves far better than frequent ones, which shows copies
        of one rating. Seed of folds and draws.

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
    >>> ceiling.lower < ceiling.share < ceiling.upper < 1
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
    with one_blas_thread():
        of_units = RecurringJudgements if sample.ratings is None else RecurringRatings
        units = of_units(sample, min_times)
        covered = _checked_share(units)
        return _estimated(units, covered, rows, rng)


def _checked_share(units: RecurringRatings | RecurringJudgements) -> float:
    """Return the share of the log between lists that recur; raise InputError if too few do."""
    share = float(units.weight[units.covered].sum() / units.weight.sum())
    if not units.n_lists:
        raise InputError(
            f"no noise ceiling: no list has several {units.unit}s, which tell what share any "
            f"metric of the grades could reach: collect more {units.unit}s of the same lists"
        )

    # too few of them
    fewest_units, least_share = 50, 0.05
    if units.n_lists < FEWEST_LISTS or units.n_units < fewest_units or share < least_share:
        raise InputError(
            f"no noise ceiling: only {units.n_lists} lists recur, with {units.n_units} "
            f"{units.unit}s; pairs of two such lists make up {share:.1%} of the log (it takes "
            f"{FEWEST_LISTS} lists, {fewest_units} {units.unit}s and {least_share:.0%}): collect "
            f"more {units.unit}s of the same lists"
        )
    return share


def ceiling_of(log: Preferences, random_state: int) -> tuple[NoiseCeiling | None, str]:
    """Return the noise ceiling of a log, or why there is none."""
    try:
        return noise_ceiling(log, random_state=random_state), ""
    except InputError as error:
        return None, str(error)


def _estimated(
    units: RecurringRatings | RecurringJudgements,
    covered: float,
    rows: Indices,
    rng: np.random.Generator,
) -> NoiseCeiling:
    """Return the ceiling of lists of which enough recur; `rows` are those of the units' log."""
    first, second, weight = units.first, units.second, units.weight[units.covered]

    # order each pair by the values of its lists without it, in up to 8 divisions into folds
    ahead, behind = np.zeros(len(first)), np.zeros(len(first))
    held_out: list[tuple[Floats, Floats, Floats]] = []
    n_divisions = int(np.clip(2000 // units.n_units, 1, 8))
    for values, held_weight in chain.from_iterable(units.splits(rng) for _ in range(n_divisions)):
        difference, variance = values.difference(first, second)
        respected = held_weight * (np.sign(difference) + 1) / 2
        ahead += respected
        behind += held_weight - respected
        seen = np.flatnonzero(held_weight)
        held_out.append((difference[seen], variance[seen], held_weight[seen]))
    total = float((ahead + behind).sum())
    lower = float(ahead.sum()) / total

    # what this order loses to the true one, where that is drawn
    leads, variances, weights = (np.concatenate(x) for x in zip(*held_out, strict=True))
    slope, slope_error = _slope(leads, variances, weights, units.typical_slope, units.n_units)

    # fewer draws of many pairs
    n_draws = int(np.clip(20_000_000 // len(first), 50, 200))
    lost = []
    for theta in units.posterior.draws(n_draws, rng):
        drawn = slope * np.exp(slope_error * rng.standard_normal())
        # P(first preferred) - P(second preferred)
        lead = np.tanh(drawn * (theta[first] - theta[second]) / 2)
        lost.append((ahead @ np.maximum(-lead, 0) + behind @ np.maximum(lead, 0)) / total)

    # errors of sampling, and of not knowing the values
    lead = units.fitted().difference(first, second)[0]
    right = (np.sign(lead) + 1) / 2
    chance = chances(slope * np.abs(lead))[:, 0]
    error = np.sqrt(units.sampling_variance(right, chance) + np.var(lost))

    # at most what memorised values reach
    memorised = units.memorised().difference(first, second)[0]
    upper = max(float(weight @ (np.sign(memorised) + 1)) / 2 / float(weight.sum()), lower)

    # the ceiling, with its interval
    share = min(lower + float(np.mean(lost)), upper)
    low, high = normal_interval(share, float(error))
    return NoiseCeiling(
        share=share,
        interval=(max(low, 0.0), min(high, 1.0)),
        lower=lower,
        upper=upper,
        covered=covered,
        min_times=units.min_times,
        n_lists=units.n_lists,
        n_units=units.n_units,
        unit=units.unit,
        pairs=units.log[units.covered],
        rows=rows[units.covered],
    )


def _slope(
    difference: Floats, variance: Floats, weight: Floats, typical: float, n: int
) -> tuple[float, float]:
    """Return the best b of ``P(preferred) = sigma(b d)``, and its logarithm's standard error.

    It fits held-out preferences. The preferences count as `n` observations, and the d are known up
    to a variance; b is typically near `typical`. The mean of ``sigma(b d)`` over a normal d is
    about ``sigma(b m / sqrt(1 + pi b^2 v / 8))`` (MacKay 1992).
    """
    weight = weight * (n / weight.sum())
    spread, centre = 0.3, float(np.log(typical))

    def loss(log_slope: Floats) -> tuple[float, Floats]:
        """Return minus the log posterior, and its slope; the prior of the logarithm is normal."""
        slope = np.exp(log_slope)
        widened = 1 + np.pi * slope**2 * variance / 8
        z = slope * difference / np.sqrt(widened)
        logs, of_z, _ = log_chances(z, 0.0)
        off = (log_slope - centre) / spread
        return float(off @ off / 2 - weight @ logs), off / spread - weight @ (of_z * z / widened)

    best = minimised(loss, np.array([centre]), (centre - 3, centre + 3))

    # its curvature, at least that of the prior
    step = 0.05
    higher, lower = (loss(best.x + move)[0] for move in (step, -step))
    curvature = (higher - 2 * best.value + lower) / step**2
    return float(np.exp(best.x[0])), 1 / max(curvature, 1 / spread**2) ** 0.5
