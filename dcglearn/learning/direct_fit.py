"""Gains and discounts fitted directly to judgements, on plain arrays: parameters, prior, objective, multi-start.

The parameters are logarithms. Gains rise by ``a_m = exp(alpha_m)`` from grade m - 1 to m, discounts fall by the factor
``exp(-delta_k)`` from position k to k + 1 with ``delta_k >= 0``: increasing and decreasing by construction. On these
scales the curves that people use are straight lines: ``alpha`` is linear in the grade for gains ``p^g - 1`` (and
constant for linear ones), ``log c`` is linear in the log of the rank for discounts ``r^-q``, nearly so for
``1/log2(r + 1)``. So the prior charges bends, by a Huber loss, which leaves a few sharp bends cheap: data that show a
step get a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dcglearn.learning.pair_loss import LIKELIHOOD, RAMP, JudgementSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcglearn.foundation.arrays import Floats


KNEE = 0.3
"""Bends of the log curves beyond this size cost linearly."""

GAIN_SLOPE, DISCOUNT_SLOPE = (1.0, 3.0), (0.5, 1.0)
"""Mean and spread that the prior expects of log-gain increments per grade, and of discounts' exponents."""

NEAR_TARGET = 4.0
"""Slopes are expected so many times nearer to those of a metric to shrink to."""

SHARPNESS, SHARPNESS_SPREAD = np.log(100.0), 1.0
"""A typical pair differs by about 100 times the judges' noise, give or take a factor of e: what noise a log has is
mostly error, not near-ties."""

ERROR, ERROR_SPREAD, RATER_SPREAD = -2.5, 1.5, 1.0
"""The logit of the error rate, its spread, and that of judges about it."""

TOP_ERROR = -0.02
"""Bound on the common logit of the error rate, just below one half; single judges may err more often."""

CUT_SPREAD = 2.0

SUBSAMPLE = 1 << 14
"""Logs of more than twice this many pairs choose among starts on about this many of them."""


@dataclass(frozen=True)
class Curves:
    """Gains from 0 to 1 and discounts that sum to 1, with the parameters of the judges.

    Attributes
    ----------
    gains, discounts : ndarray, shapes (L,) and (K,)
        The metric.
    sharpness : float
        Utility differences in units of the judges' noise: ``z = sharpness * (DCG of one list - DCG of the other)``.
    errors : ndarray, shape (R,)
        Error rate of each judge.
    cuts : ndarray, shape (M + 2,)
        See `pair_loss`.
    """

    gains: Floats
    discounts: Floats
    sharpness: float
    errors: Floats
    cuts: Floats

    @property
    def weights(self) -> Floats:
        """The utility in units of the judges' noise, shape (K, L)."""
        return self.sharpness * np.outer(self.discounts, self.gains)


@dataclass(frozen=True)
class Model:
    """What is fitted: shapes, loss, prior.

    Attributes
    ----------
    depth, n_grades : int
        K and L.
    kind : int
        The loss, see `pair_loss`.
    erring : bool
        Whether error rates are estimated.
    n_raters, n_levels : int
        R and M.
    ties : bool
        Whether the log holds ties.
    ridge : float
        Strength of the prior on the two curves.
    centre : float
        Log sharpness that the prior expects.
    target : (ndarray, ndarray), optional
        alpha, shape (L - 1,), and delta, shape (K - 1,), to shrink to; straight lines by default.
    margins : ndarray, optional
        Fixed cuts, shape (M + 2,), of the hinge.
    """

    depth: int
    n_grades: int
    kind: int = LIKELIHOOD
    erring: bool = True
    n_raters: int = 1
    n_levels: int = 1
    ties: bool = False
    ridge: float = 1.0
    centre: float = 5.0
    target: tuple[Floats, Floats] | None = None
    margins: Floats | None = None

    @property
    def parts(self) -> list[slice]:
        """Where alpha, delta, log sharpness, logits of error (common, then each judge's own) and cuts stand."""
        raters = (self.n_raters + 1 if self.n_raters > 1 else 1) if self.erring else 0
        cuts = 0 if self.margins is not None or self.kind == RAMP else self.n_levels - 1 + self.ties
        ends = np.cumsum([self.n_grades - 1, self.depth - 1, 1, raters, cuts])
        return [slice(end - size, end) for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)]

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the parameters."""
        alpha, delta, sharp, error, cuts = (part.stop - part.start for part in self.parts)
        errors = [(-9.0, TOP_ERROR)] + [(-9.0, 9.0)] * (error - 1)
        near = [(self.centre - 8, self.centre + 4)] * sharp
        return [(-30.0, 30.0)] * alpha + [(0.0, 20.0)] * delta + near + errors[:error] + [(-9.0, 9.0)] * cuts

    def start(self, gains: Floats, discounts: Floats, softer: float = 0.0) -> Floats:
        """Return the parameters of a metric, its curves clipped to what increases and decreases, shape (p,).

        Judges are sharp who err, or else (`softer`, in log units) less sharp and err less: two ways to explain noise.
        """
        alpha, delta = log_curves(gains, discounts)
        theta = np.zeros(self.parts[-1].stop)
        theta[self.parts[0]], theta[self.parts[1]] = alpha, delta
        theta[self.parts[2]] = self.centre - softer
        if self.erring:
            theta[self.parts[3].start] = -1.5 - softer
        low, high = np.transpose(self.bounds)
        return np.clip(theta, low, high)

    def curves(self, theta: Floats) -> Curves:
        """Return gains, discounts and judges at parameters theta, shape (p,)."""
        alpha, delta, sharp, error, cuts = (theta[part] for part in self.parts)
        steps = np.exp(alpha - alpha.max())
        discounts = np.exp(-np.concatenate([[0.0], np.cumsum(delta)]))
        return Curves(
            gains=np.concatenate([[0.0], np.cumsum(steps / steps.sum())]),
            discounts=discounts / discounts.sum(),
            sharpness=float(np.exp(sharp[0])),
            errors=self._errors(error),
            cuts=self._cuts(cuts),
        )

    def _errors(self, logits: Floats) -> Floats:
        if not self.erring:
            return np.zeros(self.n_raters)
        errors: Floats = expit(logits[:1] + logits[1:]) if self.n_raters > 1 else expit(logits)
        return errors

    def _cuts(self, logs: Floats) -> Floats:
        if self.margins is not None:
            return self.margins
        rises = np.exp(logs) if self.ties else np.concatenate([[0.0], np.exp(logs)])
        if self.kind == RAMP:
            rises = np.zeros(self.n_levels)
        return np.concatenate([[0.0], np.cumsum(rises), [np.inf]])

    def objective(self, theta: Floats, judged: JudgementSource, share: float) -> tuple[float, Floats]:
        """Return ``share * loss + prior`` and its gradient, shape (p,)."""
        alpha, delta, sharp, error, cuts = self.parts
        now = self.curves(theta)
        sums = judged.loss(now.weights, now.cuts, now.errors, self.kind)
        gradient = np.zeros(len(theta))
        pull = share * sums.moment
        of_gains, of_discounts = now.sharpness * (now.discounts @ pull), now.sharpness * (pull @ now.gains)
        of_steps, steps = np.cumsum(of_gains[::-1])[::-1][1:], np.diff(now.gains)
        gradient[alpha] = steps * (of_steps - steps @ of_steps)
        of_logs = now.discounts * (of_discounts - now.discounts @ of_discounts)
        gradient[delta] = -np.cumsum(of_logs[::-1])[::-1][1:]
        gradient[sharp] = np.vdot(pull, now.weights)
        if self.erring:
            each = share * sums.errors * now.errors * (1 - now.errors)
            gradient[error.start] = each.sum()
            gradient[error.start + 1 : error.stop] = each if self.n_raters > 1 else ()
        if cuts.stop > cuts.start:
            later = share * np.cumsum(sums.cuts[-2:0:-1])[::-1]  # cut j moves with every rise up to j
            gradient[cuts] = later[0 if self.ties else 1 :] * np.exp(theta[cuts])
        value, slope = self.prior(theta)
        return share * sums.loss + value, gradient + slope

    def prior(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the log prior (up to a constant) and its gradient, shape (p,)."""
        alpha, delta, sharp, error, cuts = self.parts
        gradient = np.zeros(len(theta))
        spacing = np.diff(np.log(np.arange(1.0, self.depth + 1)))
        centres = (GAIN_SLOPE, DISCOUNT_SLOPE)
        value = 0.0
        for part, scale, expected, at in ((alpha, 1.0, centres[0], 0), (delta, spacing, centres[1], 1)):
            slopes, usual = theta[part] / scale, expected
            if self.target is not None:
                slopes, usual = slopes - self.target[at] / scale, (0.0, expected[1] / NEAR_TARGET)
            cost, slope = _straight(slopes, usual, of_levels=at == 0)
            value += self.ridge * cost
            gradient[part] = self.ridge * slope / scale
        level = theta[alpha].mean()  # only differences of alpha matter: this pins their mean
        value += 0.5 * level**2
        gradient[alpha] += level / (alpha.stop - alpha.start)
        normal = [(sharp, self.centre, SHARPNESS_SPREAD), (cuts, 0.0, CUT_SPREAD)]
        if self.erring:
            common = slice(error.start, error.start + 1)
            normal += [(common, ERROR, ERROR_SPREAD), (slice(common.stop, error.stop), 0.0, RATER_SPREAD)]
        for part, mean, spread in normal:
            off = (theta[part] - mean) / spread
            value += 0.5 * float(off @ off)
            gradient[part] += off / spread
        return value, gradient


def log_curves(gains: Floats, discounts: Floats) -> tuple[Floats, Floats]:
    """Return alpha and delta of a metric; steps that are not positive are taken as very small ones."""
    steps = np.maximum(np.diff(gains), 1e-4 * max(float(np.ptp(gains)), 1e-300))
    falling = np.minimum.accumulate(np.maximum(discounts, 1e-3 * max(float(np.abs(discounts).max()), 1e-300)))
    alpha = np.log(steps / steps.sum())
    return alpha - alpha.mean(), -np.diff(np.log(falling))


def family(n_grades: int, depth: int) -> list[tuple[Floats, Floats]]:
    """Return gains ``p^g - 1`` and discounts ``r^-q`` over a grid of p and q: the straight lines of the prior."""
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
        At theta.
    n_iter : int
        Steps of the last descent.
    converged : bool
        Whether it ended at a stationary point.
    """

    curves: Curves
    theta: Floats
    objective: float
    n_iter: int
    converged: bool


def fit(
    model: Model,
    judged: JudgementSource,
    share: float,
    starts: Sequence[Sequence[Floats]],
    *,
    n_starts: int = 2,
    max_iter: int = 2000,
    tol: float = 1e-8,
) -> Fit:
    """Descend from the best of several starts.

    Parameters
    ----------
    model : Model
        What to fit.
    judged : JudgementSource
        The log, such as `Judgements`.
    share : float
        Factor of the loss: how many independent judgements a unit of weight is worth.
    starts : sequence of sequences of ndarray, shape (p,)
        Parameters to try, in groups; the best `n_starts` of each group are descended from.
    n_starts : int
        How many.
    max_iter, tol : int, float
        Of each descent.

    Returns
    -------
    Fit
        Its objective is at most that of every start.
    """
    step = len(judged) // SUBSAMPLE
    few = judged.every(step) if step >= 2 else judged
    scaled = share * judged.total_weight / few.total_weight
    best = []
    for group in starts:
        values = [model.objective(theta, few, scaled)[0] for theta in group]
        best += [group[i] for i in np.argsort(values, kind="stable")[:n_starts]]
    found = min((_descend(model, few, scaled, theta, max_iter, tol) for theta in best), key=lambda one: one.objective)
    if few is judged:
        return found
    whole = _descend(model, judged, share, found.theta, max_iter, tol)
    better = [theta for theta in best if model.objective(theta, judged, share)[0] < whole.objective]
    return min([whole, *(_descend(model, judged, share, x, max_iter, tol) for x in better)], key=lambda x: x.objective)


def _descend(model: Model, judged: JudgementSource, share: float, theta: Floats, max_iter: int, tol: float) -> Fit:
    """Descend by L-BFGS-B; a ramp, which is flat far off, first at lower sharpness."""
    for softer in (3.0, 1.5) if model.kind == RAMP else ():
        near = replace(model, centre=model.centre - softer)
        theta = _minimised(near, judged, share, near.start(*_metric(near, theta)), max_iter, tol).x
    done = _minimised(model, judged, share, theta, max_iter, tol)
    start_value = model.objective(theta, judged, share)[0]
    x = done.x if done.fun <= start_value else theta
    return Fit(model.curves(x), x, float(min(done.fun, start_value)), int(done.nit), bool(done.success))


def _metric(model: Model, theta: Floats) -> tuple[Floats, Floats]:
    now = model.curves(theta)
    return now.gains, now.discounts


def _minimised(model: Model, judged: JudgementSource, share: float, theta: Floats, max_iter: int, tol: float) -> Any:
    options = {"maxiter": max_iter, "ftol": tol * 1e-3, "gtol": 1e-6, "maxcor": 20}
    arguments = (judged, share)
    return minimize(
        model.objective, theta, arguments, jac=True, method="L-BFGS-B", bounds=model.bounds, options=options
    )


def _straight(slopes: Floats, expected: tuple[float, float], *, of_levels: bool) -> tuple[float, Floats]:
    """Charge a curve for bends and for an unlikely slope.

    `slopes` holds the curve's levels at equal spacing (``of_levels``), whose differences are its slopes, or the slopes.
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
