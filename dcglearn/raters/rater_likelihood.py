"""Error and position bias of raters by maximum likelihood, given how clear each pair is.

`judgement_kernel.chances` are the probabilities without error and bias: A of the preferred list, B of the other, and 1
- A - B of a tie. A rater with error rate e names the preferred list with ``p = (1 - e) A + e B``, the other with
``q = (1 - e) B + e A``.
The position bias b multiplies the odds of the list shown first by ``exp(b)`` (Davidson and Beaver 1977).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.intervals import normal_quantile
from dcglearn.foundation.validation import Floats
from dcglearn.learning.judgement_kernel import chances

LOGITS = np.linspace(-9.0, 9.0, 145)
"""Logits of the error rate at which the likelihood is computed; between them it is interpolated."""

FINE = np.linspace(-9.0, 9.0, 3601)
"""Logits of the error rate at which the interpolated likelihood is looked up."""

BIAS_SPREAD = 2.0
"""Prior standard deviation of the position bias, which is infinite without one if a rater always names the first."""

NEWTON_STEPS = 30
"""Maximum Newton steps for the biases; the likelihood is concave in them, and most need four."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Verdicts with what a rater without error and bias would say; an entry a judgement, R raters.

    `ahead`, `tied` and `behind` are A, 1 - A - B and B, `tie` tells the ties, `way` is 1 where the preferred list was
    shown first, -1 where the other was and 0 where this is not known.
    """

    ahead: Floats
    tied: Floats
    behind: Floats
    tie: NDArray[np.bool_]
    way: Floats
    weight: Floats
    rater: NDArray[np.intp]
    n_raters: int

    @classmethod
    def of(cls, z: Floats, threshold: float, *judged: Any) -> Observations:
        """Return the observations of pairs of utility differences z; `judged` are the fields from `tie` on."""
        return cls(*np.ascontiguousarray(chances(z, float(threshold), np.zeros(len(z))).T), *judged)

    def likelihood(self, errors: Floats, biases: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log likelihood of every rater, its slope and its curvature in the bias, shape (R,) each."""
        e, grown = errors[self.rater], np.exp(biases / 2)
        lean = np.where(self.way > 0, grown[self.rater], np.where(self.way < 0, 1 / grown[self.rater], 1.0))
        named = ((1 - e) * self.ahead + e * self.behind) * lean
        other = ((1 - e) * self.behind + e * self.ahead) / lean
        total = named + other + self.tied
        chosen = np.where(self.tie, self.tied, named)
        mean = (named - other) / total
        log = self._summed(np.log(np.maximum(chosen / total, 1e-300)))
        slope = self._summed(self.way / 2 * (np.where(self.tie, 0.0, 1.0) - mean))
        curvature = self._summed(self.way**2 / 4 * (mean**2 - (named + other) / total))
        prior = 1 / BIAS_SPREAD**2
        return log - prior * biases**2 / 2, slope - prior * biases, curvature - prior

    def best_biases(self, errors: Floats, start: Floats) -> tuple[Floats, Floats]:
        """Return the biases that fit best at given error rates, and the log likelihood there, shape (R,) each."""
        biases = start
        for _ in range(NEWTON_STEPS if self.way.any() else 0):
            _, slope, curvature = self.likelihood(errors, biases)
            step = np.clip(-slope / curvature, -1.0, 1.0)
            biases = biases + step
            if np.abs(step).max(initial=0.0) < 1e-9:
                break
        return biases, self.likelihood(errors, biases)[0]

    def _summed(self, values: Floats) -> Floats:
        return np.bincount(self.rater, self.weight * values, minlength=self.n_raters).astype(np.float64)


def fitted_raters(observations: Observations, level: float) -> tuple[Floats, Floats]:
    """Return error rates and biases of highest likelihood with their intervals, (R, 3) each; NaN without judgements."""
    from scipy.interpolate import PchipInterpolator
    from scipy.special import expit

    n, quantile = observations.n_raters, normal_quantile(level)
    biases, profile, paths = np.zeros(n), np.empty((len(LOGITS), n)), np.empty((len(LOGITS), n))
    for i, logit in enumerate(LOGITS):
        biases, profile[i] = observations.best_biases(np.full(n, expit(logit)), biases)
        paths[i] = biases
    curve = PchipInterpolator(LOGITS, profile)(FINE)
    best = curve.argmax(axis=0)
    within = curve >= curve.max(axis=0) - quantile**2 / 2
    ends = np.stack([within.argmax(axis=0), len(FINE) - 1 - within[::-1].argmax(axis=0)])
    rates = np.where(ends == 0, 0.0, np.where(ends == len(FINE) - 1, 1.0, expit(FINE[ends])))
    errors = expit(FINE[best])
    near = paths[np.abs(LOGITS[:, None] - FINE[best]).argmin(axis=0), np.arange(n)]
    biases, _ = observations.best_biases(errors, near)
    half = quantile * _standard_errors(observations, FINE[best], biases)
    error, bias = np.column_stack([errors, *rates]), np.column_stack([biases, biases - half, biases + half])
    silent = np.bincount(observations.rater, minlength=n) == 0
    error[silent], bias[silent] = np.nan, np.nan
    return error, bias


def _standard_errors(observations: Observations, logits: Floats, biases: Floats) -> Floats:
    """Return the standard error of every bias, the error rate unknown too, shape (R,)."""
    from scipy.special import expit

    h = 1e-3
    low, middle, high = (observations.likelihood(expit(logits + step), biases) for step in (-h, 0.0, h))
    of_bias = -middle[2]
    of_logit = np.maximum(-(high[0] - 2 * middle[0] + low[0]) / h**2, 0.0)
    mixed = -(high[1] - low[1]) / (2 * h)
    information = of_bias - np.where(of_logit > 1e-6, mixed**2 / np.maximum(of_logit, 1e-6), 0.0)
    return 1 / np.sqrt(np.maximum(information, 1 / BIAS_SPREAD**2))
