"""Calibration: whether verdicts are as sure as the learned metric and its judges say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import (
    FEWEST_UNITS,
    Clusters,
    interval_text,
    mean_and_error,
    student_interval,
)
from dcglearn.foundation.validation import Fields, Floats, PolarsFrame
from dcglearn.metrics.judges import Judges

STEEPEST = 10.0
"""Slope that stands for one without end, where the metric foretells every verdict."""

OVERFIT = 15.0
"""The slope of new verdicts is expected to be ``n / (n + OVERFIT)`` after n judgements.

With the truths and judges of `simulations.calibration`, slopes are .59, .72, .86, .97 and 1.01 on
average after 20, 40, 100, 300 and 1,000 judgements.
"""
SPREAD = 0.15
"""Standard deviation of slopes around their expectation.

It is that of these slopes up to 100 judgements. They differ by less after more judgements, and
people by more than simulated judges.
"""


@dataclass(frozen=True, eq=False)
class Calibration(Finding):
    """How sure the judges are said to be of held-out verdicts, and how sure they are.

    Of each decided pair, the chance of the list that the metric puts first is predicted. `brier` is
    the mean squared error of these chances (0.25 for a coin). `slope` is that of the verdicts on
    the predicted log-odds, a logistic regression, with its standard `error` by `n_units`: 1 where
    calibrated, below 1 where the judges are less sure than predicted. `table` has a row for each
    range of chances: ``n`` pairs, their mean chance ``predicted`` and the share ``observed``.
    """

    table: PolarsFrame = field(repr=False)
    n: int
    brier: float
    slope: float
    error: float
    n_units: int

    _formats: ClassVar = {"predicted": ".3f", "observed": ".3f"}

    @classmethod
    def of(cls, chances: Floats, weight: Floats, clusters: Clusters) -> Self:
        """Return the calibration of the chances of the lists that judges preferred, shape (n,)."""
        from scipy.optimize import brentq
        from scipy.special import expit, logit

        odds = logit(np.clip(chances, 1e-9, 1 - 1e-9))

        def score(slope: float) -> float:
            """Return the derivative of the verdicts' log likelihood, which falls in the slope."""
            return float(weight @ (odds * expit(-slope * odds)))

        # slope of verdicts on log-odds; beyond a bound the bound is best
        slope = STEEPEST if score(0.0) > 0 else 0.0
        if score(0.0) > 0 > score(STEEPEST):
            slope = float(brentq(score, 0.0, STEEPEST))

        # its standard error, by the independent unit
        missed = expit(-slope * odds)
        curvature = float(weight @ (odds**2 * missed * (1 - missed)))
        _, of_mean, n_units = mean_and_error(odds * missed, weight, clusters)
        error = np.inf  # of verdicts that are all as predicted, or predicted by coins
        if curvature and slope < STEEPEST:
            error = float(of_mean) * float(weight.sum()) / curvature

        # predicted and observed, for the list that is predicted to win
        likelier = np.maximum(chances, 1 - chances)
        both = np.stack([likelier, np.where(chances == 0.5, 0.5, chances > 0.5)])
        tenth = np.minimum(np.floor(10 * likelier + 1e-9), 9)
        rows = []
        for low in np.unique(tenth):
            inside = tenth == low
            predicted, observed = np.average(both[:, inside], axis=1, weights=weight[inside])
            row = {"chance": f"{low / 10:.1f} to {low / 10 + 0.1:.1f}", "n": int(inside.sum())}
            rows.append(row | {"predicted": float(predicted), "observed": float(observed)})
        brier = float(np.average((1 - chances) ** 2, weights=weight))
        return cls(table_of(rows), len(chances), brier, slope, error, n_units)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the slope's interval, of `LEVEL`."""
        low, high, _ = student_interval(self.slope, self.error, self.n_units)
        return max(float(low), 0.0), float(high)

    @property
    def overconfident(self) -> bool:
        """Whether people are shown to be less sure than predicted."""
        return self.interval[1] < 1

    @property
    def sentence(self) -> str:
        """Whether the prediction is too sure, by the slope, and the Brier score."""
        # the verdict
        low, high = self.interval
        verdict = "people are as sure as predicted, as far as these can tell"
        if self.overconfident:
            verdict = "people are less sure than predicted"
        elif low > 1:
            verdict = "people are surer than predicted"
        elif not low > 0:
            verdict = "these cannot tell whether people are as sure as predicted"

        # its numbers
        interval = interval_text(low, high, ".2f", "no interval of so few")
        if np.isinf(high):
            interval = "which these do not limit"
        return (
            f"by {self.n:,} held-out verdicts, {verdict} (a slope of {self.slope:.2f}, {interval}, "
            f"where 1 is as sure; a Brier score of {self.brier:.3f}, where a coin has "
            ".250); learn and audits allow for it in shares of people"
        )

    @property
    def notes(self) -> list[str]:
        """What the slope and the table are."""
        return [
            "slope: of verdicts on the predicted log-odds, 1 where calibrated, below 1 where "
            "people are less sure",
            "predicted, observed: the chance that people prefer the list with the higher value, "
            "and how often they do",
        ]

    @property
    def pictures(self) -> list[Fields]:
        """Observed beside predicted chances."""
        lines = {name: self.table[name].to_list() for name in ("observed", "predicted")}
        title = "how sure people are of held-out pairs"
        return [{"title": title, "ticks": [*self.table["chance"]], "lines": lines, "start": 0.5}]


def shrunk(judges: Judges, held_out: Calibration | None) -> Judges:
    """Return judges with the posterior mean of their slope and its standard deviation.

    The prior is normal around ``n / (n + OVERFIT)``, for n judgements, with the standard deviation
    `SPREAD`; the measured slope is normal around the true one, with its standard error. Where
    nothing was held out, too few units to know the error, or no limit of the slope, the prior
    stays.
    """
    expected = judges.n_judgements / (judges.n_judgements + OVERFIT)
    if held_out is None or held_out.n_units < FEWEST_UNITS:
        return replace(judges, slope=expected, slope_error=SPREAD)

    # normal prior, normal measurement
    by_log = SPREAD**2 / (SPREAD**2 + held_out.error**2)
    slope = expected + by_log * (held_out.slope - expected)
    return replace(judges, slope=slope, slope_error=SPREAD * float(np.sqrt(1 - by_log)))
