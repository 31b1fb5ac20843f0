"""Gains and discounts fitted directly to judgements, on plain arrays: parameters, prior, objective, multi-start.

The parameters are logarithms. Gains rise by ``a_m = exp(alpha_m)`` from grade m - 1 to m, discounts fall by the factor
``exp(-delta_k)`` from position k to k + 1 with ``delta_k >= 0``: increasing and decreasing by construction. On these
scales the usual curves are straight lines: ``alpha`` is linear in the grade for gains ``p^g - 1`` (constant for linear
gains), ``log c`` is linear in the log of the rank for discounts ``r^-q``, nearly so for ``1/log2(r + 1)``. The prior
charges bends by a smooth Huber loss, so a few sharp bends stay cheap and a step in the data is learned as a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dcglearn.foundation.progress import counted
from dcglearn.learning.pair_loss import LIKELIHOOD, SIGMOID, JudgementSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcglearn.foundation.arrays import Floats


KNEE = 0.3
"""Bends of the log curves beyond this size cost linearly rather than quadratically."""

GAIN_SLOPE, DISCOUNT_SLOPE = (1.0, 3.0), (0.5, 1.0)
"""Prior mean and standard deviation of the slope of ``alpha`` per grade, and of the discounts' exponent q."""

NEAR_TARGET = 4.0
"""With a target metric, the slope prior is this many times tighter."""

SHARPNESS, SHARPNESS_SPREAD = np.log(100.0), 1.0
"""Prior mean and standard deviation of the log of a typical pair's difference in units of the judges' noise: about 100,
within a factor of e, since most noise is error rather than near-ties."""

ERROR, ERROR_SPREAD, RATER_SPREAD = -2.5, 1.5, 1.0
"""Prior mean and standard deviation of the logit of the error rate; standard deviation of single judges around it."""

TOP_ERROR = -0.02
"""Upper bound of the common logit of the error rate, just below an error rate of 1/2; single judges may exceed it."""

THRESHOLD_SPREAD = 2.0
"""Prior standard deviation of the logs of the steps between thresholds; their mean is 0."""

SUBSAMPLE = 1 << 14
"""Logs of at least twice this many pairs compare starts on about this many of them."""


@dataclass(frozen=True)
class Curves:
    """Gains from 0 to 1, discounts that sum to 1, and the parameters of the judges.

    Attributes
    ----------
    gains, discounts : ndarray, shapes (L,) and (K,)
        The metric.
    sharpness : float
        Utility differences in units of the judges' noise: ``z = sharpness * (DCG of one list - DCG of the other)``.
    errors : ndarray, shape (R,)
        Error rate of each judge.
    thresholds : ndarray, shape (M + 2,)
        See `pair_loss`.
    """

    gains: Floats
    discounts: Floats
    sharpness: float
    errors: Floats
    thresholds: Floats

    @property
    def weights(self) -> Floats:
        """The utility in units of the judges' noise, shape (K, L)."""
        return self.sharpness * np.outer(self.discounts, self.gains)


@dataclass(frozen=True)
class Model:
    """The model to fit: K positions, L grades, R raters, M levels of strength, the loss, and the prior.

    `kind` is the loss of `pair_loss`, `with_errors` tells whether to estimate error rates, `ties` whether the log
    holds ties. `ridge` is the strength of the prior on the two curves, `centre` the prior mean of the log
    sharpness, and `target` the alpha, shape (L - 1,), and delta, shape (K - 1,), to shrink to (straight lines by
    default). `margins` are fixed thresholds of the hinge, shape (M + 2,).
    """

    depth: int
    n_grades: int
    kind: int = LIKELIHOOD
    with_errors: bool = True
    n_raters: int = 1
    n_levels: int = 1
    ties: bool = False
    ridge: float = 1.0
    centre: float = 5.0
    target: tuple[Floats, Floats] | None = None
    margins: Floats | None = None

    @property
    def parts(self) -> list[slice]:
        """Slices of alpha, delta, log sharpness, logits of error (common, then one a judge), log threshold steps."""
        raters = (self.n_raters + 1 if self.n_raters > 1 else 1) if self.with_errors else 0
        thresholds = 0 if self.margins is not None or self.kind == SIGMOID else self.n_levels - 1 + self.ties
        ends = np.cumsum([self.n_grades - 1, self.depth - 1, 1, raters, thresholds])
        return [slice(end - size, end) for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)]

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the parameters."""
        alpha, delta, sharp, error, thresholds = (part.stop - part.start for part in self.parts)
        errors = [(-9.0, TOP_ERROR)] + [(-9.0, 9.0)] * (error - 1)
        near = [(self.centre - 8, self.centre + 4)] * sharp
        return [(-30.0, 30.0)] * alpha + [(0.0, 20.0)] * delta + near + errors[:error] + [(-9.0, 9.0)] * thresholds

    def start(self, gains: Floats, discounts: Floats, softer: float = 0.0) -> Floats:
        """Return the parameters of a metric, clipped to increasing gains and decreasing discounts, shape (p,).

        `softer` explains noise by judges who are less sharp (by this many log units) and err less.
        """
        alpha, delta = log_curves(gains, discounts)
        theta = np.zeros(self.parts[-1].stop)
        theta[self.parts[0]], theta[self.parts[1]] = alpha, delta
        theta[self.parts[2]] = self.centre - softer
        if self.with_errors:
            theta[self.parts[3].start] = -1.5 - softer
        low, high = np.transpose(self.bounds)
        return np.clip(theta, low, high)

    def curves(self, theta: Floats) -> Curves:
        """Return gains, discounts and judges at parameters theta, shape (p,)."""
        alpha, delta, sharp, error, thresholds = (theta[part] for part in self.parts)
        steps = np.exp(alpha - alpha.max())
        discounts = np.exp(-np.concatenate([[0.0], np.cumsum(delta)]))
        return Curves(
            gains=np.concatenate([[0.0], np.cumsum(steps / steps.sum())]),
            discounts=discounts / discounts.sum(),
            sharpness=float(np.exp(sharp[0])),
            errors=self._errors(error),
            thresholds=self._thresholds(thresholds),
        )

    def _errors(self, logits: Floats) -> Floats:
        if not self.with_errors:
            return np.zeros(self.n_raters)
        errors: Floats = expit(logits[:1] + logits[1:]) if self.n_raters > 1 else expit(logits)
        return errors

    def _thresholds(self, logs: Floats) -> Floats:
        if self.margins is not None:
            return self.margins
        rises = np.exp(logs) if self.ties else np.concatenate([[0.0], np.exp(logs)])
        if self.kind == SIGMOID:
            rises = np.zeros(self.n_levels)
        return np.concatenate([[0.0], np.cumsum(rises), [np.inf]])

    def objective(self, theta: Floats, judgements: JudgementSource, share: float) -> tuple[float, Floats]:
        """Return ``share * loss + prior`` and its gradient, shape (p,)."""
        alpha, delta, sharp, error, thresholds = self.parts
        curves = self.curves(theta)
        sums = judgements.loss(curves.weights, curves.thresholds, curves.errors, self.kind)
        gradient = np.zeros(len(theta))
        moment = share * sums.moment
        of_gains, of_discounts = (
            curves.sharpness * (curves.discounts @ moment),
            curves.sharpness * (moment @ curves.gains),
        )
        of_steps, steps = np.cumsum(of_gains[::-1])[::-1][1:], np.diff(curves.gains)
        gradient[alpha] = steps * (of_steps - steps @ of_steps)
        of_logs = curves.discounts * (of_discounts - curves.discounts @ of_discounts)
        gradient[delta] = -np.cumsum(of_logs[::-1])[::-1][1:]
        gradient[sharp] = np.vdot(moment, curves.weights)
        if self.with_errors:
            each = share * sums.errors * curves.errors * (1 - curves.errors)
            gradient[error.start] = each.sum()
            gradient[error.start + 1 : error.stop] = each if self.n_raters > 1 else ()
        if thresholds.stop > thresholds.start:
            later = share * np.cumsum(sums.thresholds[-2:0:-1])[::-1]  # threshold j moves with every step up to j
            gradient[thresholds] = later[0 if self.ties else 1 :] * np.exp(theta[thresholds])
        value, slope = self.prior(theta)
        return share * sums.loss + value, gradient + slope

    def prior(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the log prior (up to a constant) and its gradient, shape (p,)."""
        alpha, delta, sharp, error, thresholds = self.parts
        gradient = np.zeros(len(theta))
        spacing = np.diff(np.log(np.arange(1.0, self.depth + 1)))
        value = 0.0
        for i, (part, scale, (mean, spread)) in enumerate(((alpha, 1.0, GAIN_SLOPE), (delta, spacing, DISCOUNT_SLOPE))):
            slopes, expected = theta[part] / scale, (mean, spread)
            if self.target is not None:
                slopes, expected = slopes - self.target[i] / scale, (0.0, spread / NEAR_TARGET)
            cost, slope = _bend_cost(slopes, expected, of_levels=i == 0)
            value += self.ridge * cost
            gradient[part] = self.ridge * slope / scale
        level = theta[alpha].mean()  # only differences of alpha matter: this pins their mean
        value += 0.5 * level**2
        gradient[alpha] += level / (alpha.stop - alpha.start)
        normal = [(sharp, self.centre, SHARPNESS_SPREAD), (thresholds, 0.0, THRESHOLD_SPREAD)]
        if self.with_errors:
            common = slice(error.start, error.start + 1)
            normal += [(common, ERROR, ERROR_SPREAD), (slice(common.stop, error.stop), 0.0, RATER_SPREAD)]
        for part, mean, spread in normal:
            off = (theta[part] - mean) / spread
            value += 0.5 * float(off @ off)
            gradient[part] += off / spread
        return value, gradient


def log_curves(gains: Floats, discounts: Floats) -> tuple[Floats, Floats]:
    """Return alpha and delta of a metric; steps that are not positive are replaced by very small ones."""
    steps = np.maximum(np.diff(gains), 1e-4 * max(float(np.ptp(gains)), 1e-300))
    falling = np.minimum.accumulate(np.maximum(discounts, 1e-3 * max(float(np.abs(discounts).max()), 1e-300)))
    alpha = np.log(steps / steps.sum())
    return alpha - alpha.mean(), -np.diff(np.log(falling))


def family(n_grades: int, depth: int) -> list[tuple[Floats, Floats]]:
    """Return gains ``p^g - 1`` and discounts ``r^-q`` over a grid of p and q: straight lines under the prior."""
    grades, ranks = np.arange(float(n_grades)), np.arange(1.0, depth + 1)
    bases = (0.5, 1.01, 1.5, 2.0, 3.0, 5.0, 8.0, 20.0)
    return [((p**grades - 1) / (p - 1), ranks**-q) for p in bases for q in (0.05, 0.25, 0.5, 1.0)]


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes
    ----------
    curves : Curves
        Metric and judges.
    theta : ndarray, shape (p,)
        The parameters.
    objective : float
        Objective at theta.
    n_iter : int
        Iterations of the last descent.
    converged : bool
        Whether the last descent ended at a stationary point.
    """

    curves: Curves
    theta: Floats
    objective: float
    n_iter: int
    converged: bool


def fit(
    model: Model,
    judgements: JudgementSource,
    share: float,
    starts: Sequence[Sequence[Floats]],
    *,
    n_starts: int = 2,
    max_iter: int = 2000,
    tol: float = 1e-8,
) -> Fit:
    """Descend from the best of several starts; the objective of the result is at most that of every start.

    `share` is the factor of the loss: the number of independent judgements that a unit of weight counts for.
    `starts` holds parameters, shape (p,), in groups; `n_starts` of each group are descended from, in at most
    `max_iter` iterations to the tolerance `tol`.
    """
    step = len(judgements) // SUBSAMPLE
    sample = judgements.every(step) if step >= 2 else judgements
    sample_share = share * judgements.total_weight / sample.total_weight
    chosen = []
    for group in starts:
        values = [model.objective(theta, sample, sample_share)[0] for theta in group]
        chosen += [group[i] for i in np.argsort(values, kind="stable")[:n_starts]]
    objective = attrgetter("objective")
    descents = counted(chosen, len(chosen), "starts")
    best = min((_descend(model, sample, sample_share, theta, max_iter, tol) for theta in descents), key=objective)
    if sample is judgements:
        return best
    (whole,) = (
        _descend(model, judgements, share, theta, max_iter, tol) for theta in counted([best.theta], 1, "all pairs")
    )
    better = [theta for theta in chosen if model.objective(theta, judgements, share)[0] < whole.objective]
    return min([whole, *(_descend(model, judgements, share, theta, max_iter, tol) for theta in better)], key=objective)


def warm_fit(
    model: Model,
    judgements: JudgementSource,
    share: float,
    starts: Sequence[Floats],
    *,
    max_iter: int = 2000,
    tol: float = 1e-8,
) -> Fit:
    """Descend from each of a few starts near the optimum, over all judgements, and keep the best; see `fit`."""
    fits = (_descend_from(model, judgements, share, theta, max_iter, tol) for theta in starts)
    return min(fits, key=attrgetter("objective"))


def lowest_objective(
    model: Model, judgements: JudgementSource, share: float, starts: Sequence[Sequence[Floats]]
) -> float:
    """Return the objective over all judgements of the start, in groups as for `fit`, that is best on the sample."""
    step = len(judgements) // SUBSAMPLE
    sample = judgements.every(step) if step >= 2 else judgements
    sample_share = share * judgements.total_weight / sample.total_weight
    each = [theta for group in starts for theta in group]
    best = min(each, key=lambda theta: model.objective(theta, sample, sample_share)[0])
    return model.objective(best, judgements, share)[0]


def _descend(model: Model, judgements: JudgementSource, share: float, theta: Floats, max_iter: int, tol: float) -> Fit:
    """Descend by L-BFGS-B; for the sigmoid loss, which is flat far from the optimum, first at lower sharpness."""
    for softer in (3.0, 1.5) if model.kind == SIGMOID else ():
        blunt = replace(model, centre=model.centre - softer)
        curves = blunt.curves(theta)
        theta = _minimised(blunt, judgements, share, blunt.start(curves.gains, curves.discounts), max_iter, tol).x
    return _descend_from(model, judgements, share, theta, max_iter, tol)


def _descend_from(
    model: Model, judgements: JudgementSource, share: float, theta: Floats, max_iter: int, tol: float
) -> Fit:
    done = _minimised(model, judgements, share, theta, max_iter, tol)
    start_value = model.objective(theta, judgements, share)[0]
    x = done.x if done.fun <= start_value else theta
    return Fit(model.curves(x), x, float(min(done.fun, start_value)), int(done.nit), bool(done.success))


def _minimised(
    model: Model, judgements: JudgementSource, share: float, theta: Floats, max_iter: int, tol: float
) -> Any:
    options = {"maxiter": max_iter, "ftol": tol * 1e-3, "gtol": 1e-6, "maxcor": 20}
    arguments = {"args": (judgements, share), "bounds": model.bounds, "options": options}
    return minimize(model.objective, theta, jac=True, method="L-BFGS-B", **arguments)


def _bend_cost(slopes: Floats, expected: tuple[float, float], *, of_levels: bool) -> tuple[float, Floats]:
    """Charge a curve for bends and for an unlikely slope.

    `slopes` holds the slopes of the curve or, with `of_levels`, its levels at equal spacing.
    """
    tilt = np.diff(slopes) if of_levels else slopes
    gradient = np.zeros(len(tilt))
    if not len(tilt):
        return 0.0, np.zeros(len(slopes))
    off = (tilt.mean() - expected[0]) / expected[1]
    value = 0.5 * off**2
    gradient += off / expected[1] / len(tilt)
    bends = np.diff(tilt)
    root = np.sqrt(1 + (bends / KNEE) ** 2)
    value += KNEE**2 * float((root - 1).sum())
    gradient[1:] += bends / root
    gradient[:-1] -= bends / root
    if not of_levels:
        return float(value), gradient
    levels = np.zeros(len(slopes))
    levels[1:] += gradient
    levels[:-1] -= gradient
    return float(value), levels
