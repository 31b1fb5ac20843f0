"""The noise ceiling of a log: the largest share of preferences that any function of the two lists'
grades can respect.

People who see the same two lists disagree, so no metric respects all of them; where lists recur, a
log says how often.
"""

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from dcglearn.foundation.intervals import LEVEL, normal_quantile
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, InputError, whole_number
from dcglearn.logs.preference_pairs import Metric
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.trust.recurring_lists import (
    BANDS,
    FEWEST_LISTS,
    RecurringJudgements,
    RecurringRatings,
)

PARTITIONS, FOR_PARTITIONS = 8, 2000
"""Largest number of random divisions into folds; there are as many as this number of ratings or
judgements allows.
"""

FEWEST_RATED = 50
"""With fewer ratings or judgements of such lists there is no ceiling."""

LEAST_COVERED = 0.05
"""If less of the log's weight is between such lists, there is no ceiling."""

MOST_SAMPLED = 300_000
"""Of a log of more pairs, a random sample of this many is used."""

DRAWS = 200
"""Number of draws of the values of lists behind the interval."""

MOST_TERMS = 20_000_000
"""About this many pairs, counted once for each draw, are used at most."""

SLOPE_SPREAD = 0.3
"""Prior standard deviation of the logarithm of the slope from value to preference."""

STEP = 0.05
"""Step of the logarithm of the slope in its curvature."""


@dataclass(frozen=True, eq=False)
class NoiseCeiling:
    """The noise ceiling of a log; prints as a sentence.

    `share` is the estimated largest share of the preferences that any function of the two lists'
    grades can respect, `interval` its 90% interval, for the lists of this log. `lower` is the share
    respected by the lists' shrunken values, cross-fitted, which a function of the grades reaches;
    `upper` that by their values with hardly any shrinking, counted on the same ratings or
    judgements. A list recurs if it was rated or judged at least `fewest` times: `n_lists` counts
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
    fewest: int
    n_lists: int
    n_units: int
    unit: str
    pairs: Preferences
    rows: NDArray[np.intp]

    def share_of(self, metric: Metric) -> float:
        """Return the share of the covered pairs that a metric respects; its ties count half."""
        return self.pairs.agreement(metric).share

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, without those of each pair."""
        values = {
            name: value for name, value in vars(self).items() if name not in ("pairs", "rows")
        }
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
        pairs = f"the {self.covered:.0%} of the pairs between the {self.n_lists} lists"
        return f"{pairs} that {recur}: {self.n_units:,} {self.unit}s"


def noise_ceiling(
    log: Preferences | ArrayLike, *, fewest: int | None = None, seed: int = 0
) -> NoiseCeiling:
    """Estimate the largest share of a log's preferences that any function of the two lists' grades
    can respect.

    A list's value is its mean rating (by ranks), or its value in a Bradley-Terry model, shrunken to
    what a sum over positions and grades says. Each pair of ratings is predicted without the folds
    of both. `share` is `lower` plus what the cross-fitted order loses to the true one, as expected
    over draws from the posterior of the values of lists and of the slope from value to preference.
    The interval has the sampling error of ratings around their list (of judgements around their
    pair of lists) and the spread of draws. Raises InputError if too few lists recur.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log, or its held-out part. Of a log of rated lists (`read_ratings`,
        `Preferences.from_ratings`) the ratings are used, of others the judged pairs; ties are left
        out.
    fewest, seed : int, optional
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
    >>> ceiling = noise_ceiling(Preferences.from_ratings(lists, ratings))
    >>> ceiling.lower < ceiling.share < ceiling.upper < 1
    True
    """
    whole = as_preferences(log)
    if fewest is not None:
        whole_number(fewest, "fewest", 2)
    if not len(whole[whole.differing].decided):
        raise InputError(
            "no noise ceiling: the log holds no preference between two different lists"
        )
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(whole.differing if whole.tie is None else whole.differing & ~whole.tie)
    if len(rows) > MOST_SAMPLED:
        rows = np.sort(rng.choice(rows, MOST_SAMPLED, replace=False))
    sample = whole[rows]
    with one_blas_thread():
        of_units = RecurringJudgements if sample.ratings is None else RecurringRatings
        units = of_units(sample, fewest)
        covered = units.covered
        share = float(units.weight[covered].sum() / units.weight.sum())
        if not units.n_lists:
            raise InputError(
                f"no noise ceiling: it takes lists with several {units.unit}s each, and there are none, "
                "to tell what share any metric of the grades could reach"
            )
        if units.n_lists < FEWEST_LISTS or units.n_units < FEWEST_RATED or share < LEAST_COVERED:
            raise InputError(
                f"no noise ceiling: only {units.n_lists} lists recur, with {units.n_units} {units.unit}s; pairs of two "
                f"such lists make up {share:.1%} of the log (it takes {FEWEST_LISTS} lists, {FEWEST_RATED} "
                f"{units.unit}s and {LEAST_COVERED:.0%}): collect more {units.unit}s of the same lists"
            )
        return _estimated(units, share, rows, rng)


def ceiling_of(log: Preferences, seed: int) -> tuple[NoiseCeiling | None, str]:
    """Return the noise ceiling of a log, or why there is none."""
    try:
        return noise_ceiling(log, seed=seed), ""
    except InputError as error:
        return None, str(error)


def _estimated(
    units: RecurringRatings | RecurringJudgements,
    covered: float,
    rows: NDArray[np.intp],
    rng: np.random.Generator,
) -> NoiseCeiling:
    """Return the ceiling of lists of which enough recur; `rows` are those of the units' log."""
    first, second, weight = units.first, units.second, units.weight[units.covered]
    ahead, behind = np.zeros(len(first)), np.zeros(len(first))
    held_out: list[tuple[Floats, Floats, Floats]] = []
    n_partitions = int(np.clip(FOR_PARTITIONS // units.n_units, 1, PARTITIONS))
    for values, held_weight in chain.from_iterable(units.splits(rng) for _ in range(n_partitions)):
        difference, variance = values.difference(first, second)
        ahead += held_weight * (np.sign(difference) + 1) / 2
        behind += held_weight * (1 - np.sign(difference)) / 2
        seen = np.flatnonzero(held_weight)
        held_out.append((difference[seen], variance[seen], held_weight[seen]))
    total = float((ahead + behind).sum())
    lower = float(ahead.sum()) / total
    leads, variances, weights = (np.concatenate(values) for values in zip(*held_out, strict=True))
    slope, slope_error = _slope(leads, variances, weights, units.typical_slope, units.n_units)
    lost = []
    for theta in units.posterior.draws(
        int(np.clip(MOST_TERMS // len(first), DRAWS // 4, DRAWS)), rng
    ):
        drawn = slope * np.exp(slope_error * rng.standard_normal())
        lead = np.tanh(
            drawn * (theta[first] - theta[second]) / 2
        )  # P(first preferred) - P(second preferred)
        lost.append((ahead @ np.maximum(-lead, 0) + behind @ np.maximum(lead, 0)) / total)
    lead = units.fitted().difference(first, second)[0]
    error = np.sqrt(
        units.sampling_variance((np.sign(lead) + 1) / 2, expit(slope * np.abs(lead))) + np.var(lost)
    )
    half_width = float(normal_quantile(LEVEL) * error)
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
    )


def _slope(
    difference: Floats, variance: Floats, weight: Floats, typical: float, n: int
) -> tuple[float, float]:
    """Return b of ``P(preferred) = sigma(b d)`` that fits held-out preferences, and its logarithm's
    standard error.

    The preferences count as `n` observations, and the d are known up to a variance; b is typically
    near `typical`. The mean of ``sigma(b d)`` over a normal d is about ``sigma(b m / sqrt(1 + pi
    b^2 v / 8))`` (MacKay 1992).
    """
    weight = weight * (n / weight.sum())

    def loss(log_slope: float) -> float:
        prior, slope = (log_slope - np.log(typical)) ** 2 / (2 * SLOPE_SPREAD**2), np.exp(log_slope)
        losses = np.logaddexp(0, -slope * difference / np.sqrt(1 + np.pi * slope**2 * variance / 8))
        return float(prior + weight @ losses)

    best = float(
        minimize_scalar(loss, bounds=np.log(typical) + np.array([-3.0, 3.0]), method="bounded").x
    )
    curvature = (loss(best + STEP) - 2 * loss(best) + loss(best - STEP)) / STEP**2
    return float(np.exp(best)), 1 / max(curvature, 1 / SLOPE_SPREAD**2) ** 0.5
