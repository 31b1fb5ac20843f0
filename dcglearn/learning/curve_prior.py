"""The prior on log curves and judges, at many parameters at once, with derivatives.

The curvatures of the two log curves cost ``KNEE^2 (sqrt(1 + (curvature / KNEE)^2) - 1)``, so a few
sharp ones stay cheap; all else is a normal distribution of linear functions of the parameters.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.curve_kernel import add_prior

Normal = tuple[slice, float, float]
"""Some parameters, their mean, and their standard deviation."""

KNEE = 0.3
"""Curvatures of the log curves beyond this size cost linearly rather than quadratically."""


@dataclass(frozen=True)
class CurvePrior:
    """Minus the log density of parameters theta, shape (p,), up to a constant.

    ``0.5 theta' precision theta - pull theta + level + ridge KNEE^2 sum (sqrt(1 + (curvatures /
    KNEE)^2) - 1)`` with ``curvatures = rows theta - centre``. The `precision`, shape (p,), is
    diagonal but for the rank-one terms `functionals`, shape (q, p), each with the weight 1. All but
    the diagonal are zero beyond the first d parameters.
    """

    precision: Floats
    pull: Floats
    level: float
    functionals: Floats
    rows: Floats
    centre: Floats
    ridge: float

    def at(self, thetas: Floats) -> tuple[Floats, Floats, Floats]:
        """Return values (B,), gradients (B, p), Hessians (B, d, d) of the first d parameters."""
        n, d = len(thetas), self.rows.shape[1]
        sums = np.full(n, self.level), np.zeros(thetas.shape), np.zeros((n, d, d))
        normals = self.precision, self.pull
        add_prior(self.ridge, KNEE, self._linear, self.centre, *normals, thetas, *sums)
        return sums

    @cached_property
    def _linear(self) -> Floats:
        """The linear functions that are charged, curvatures first."""
        return np.concatenate([self.rows, self.functionals])


@dataclass(frozen=True)
class CurveShape:
    """What one log curve costs: the curvatures, differences of its slopes, and their mean.

    `at` is the slice of its parameters. Their slopes are ``(parameters - target) / scale`` or, with
    `of_levels`, their differences. Mean and standard deviation of the mean slope are
    `expected`.
    """

    at: slice
    target: Floats | float
    scale: Floats | float
    expected: tuple[float, float]
    of_levels: bool

    def forms(self, n: int) -> tuple[Floats, Floats]:
        """Return the slopes as ``rows theta - offset``: shapes (s, n) and (s,)."""
        size = self.at.stop - self.at.start
        rows = np.zeros((size, n))
        rows[:, self.at] = np.eye(size) / np.broadcast_to(self.scale, size)[:, None]
        offset = np.broadcast_to(self.target / self.scale, size)
        return (np.diff(rows, axis=0), np.diff(offset)) if self.of_levels else (rows, offset)


def curve_prior(
    n: int,
    n_free: int,
    curves: Iterable[CurveShape],
    pinned: slice,
    normals: Iterable[Normal],
    ridge: float,
) -> CurvePrior:
    """Return the prior of n parameters, of which the last `n_free` are independent of all others.

    The mean of the parameters at `pinned` is standard normal; `normals` holds slices, means and
    deviations.
    """
    d = n - n_free

    # independent normal distributions
    precision, pull, level = np.zeros(n), np.zeros(n), 0.0
    for at, mean, spread in normals:
        precision[at] = 1 / spread**2
        pull[at] = mean / spread**2
        level += 0.5 * (at.stop - at.start) * (mean / spread) ** 2

    # one of the mean of those pinned
    pinned_mean = np.zeros(d)
    pinned_mean[pinned] = 1 / (pinned.stop - pinned.start)
    functionals, rows, centres = [pinned_mean], [np.zeros((0, d))], [np.zeros(0)]

    for curve in curves:
        slopes, offset = curve.forms(d)
        if not len(slopes):
            continue

        # of the mean slope of the curve, as strong as the ridge
        mean, spread = curve.expected
        strength = np.sqrt(ridge) / spread
        form, centre = strength * slopes.mean(axis=0), strength * (offset.mean() + mean)
        functionals.append(form)
        pull[:d] += centre * form
        level += 0.5 * centre**2

        # and its curvatures
        rows.append(np.diff(slopes, axis=0))
        centres.append(np.diff(offset))

    charged = np.array(functionals), np.concatenate(rows), np.concatenate(centres)
    return CurvePrior(precision, pull, level, *charged, ridge)
