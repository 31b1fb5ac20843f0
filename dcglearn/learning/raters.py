"""Raters' own errors and position biases: given the curves, they do not depend on each other.

So a fit alternates between the raters, here, and all else (`fit`).
"""

from dataclasses import replace

import numpy as np

from dcglearn.foundation.validation import Floats, Indices
from dcglearn.learning.curves import BIAS_SPREAD, ERROR, OWN_SPREADS, Model
from dcglearn.learning.objective import Objective

LIMITS = np.array([[-9.0, -30.0], [9.0, 30.0]])
"""Bounds of raters' deviations from the common logit of error and position bias."""


def with_raters(objective: Objective, theta: Floats) -> tuple[Objective, Floats]:
    """Return the objective and parameters, (p,), with the raters that fit best with the curves.

    The common logit and bias move with the raters' deviations from them, by Newton's method: what
    is common meets every rater, a rater nothing else. Where the loss curves down, it is taken to
    curve up.
    """
    value = objective.values(theta[None])[0]
    size = 1.0
    for _ in range(100):
        of_raters, common = _step(objective, theta)
        length = max(float(np.abs(step).max(initial=0.0)) for step in (of_raters, common))

        # halve the step until the value does not rise
        while True:
            moved, there = _moved(objective, theta, size * of_raters, size * common)
            lower = moved.values(there[None])[0]
            if lower <= value or size * length < 1e-9:
                break
            size /= 2

        # take it, and try a longer one next
        if lower <= value:
            objective, theta, value = moved, there, lower
        if size * length < 1e-7:
            break
        size = min(1.0, 2 * size)
    return objective, theta


def _step(objective: Objective, theta: Floats) -> tuple[Floats, Floats]:
    """Return Newton's step of the raters' deviations, (2, R), and of what is common, (2,).

    Where sides are not known, nothing moves biases from 0.
    """
    model, share = objective.model, objective.share
    sums = objective.pairs.sums_of_raters(model.points(theta[None]))

    # what is common, and its prior
    common = np.zeros(2)
    at = _common(model)
    common[: len(at)] = theta[at]
    mean, spread = np.array([ERROR, (0.0, BIAS_SPREAD)]).T
    of_own = np.diag(OWN_SPREADS**-2.0)

    # eliminate the raters
    slopes, met = share * sums.slopes, _up(share * sums.curvature)
    curved = met + of_own
    back = np.linalg.solve(curved, (slopes + model.own.T @ of_own)[:, :, None])[:, :, 0]
    rest = np.diag(spread**-2) + (met - met @ np.linalg.solve(curved, met)).sum(axis=0)
    slope = (common - mean) / spread**2 + (slopes - (met @ back[:, :, None])[:, :, 0]).sum(axis=0)

    # and substitute them back
    step = -np.linalg.solve(rest, slope)
    of_raters = -back - np.linalg.solve(curved, met @ step[:, None])[:, :, 0]
    longest = max(float(np.abs(of_raters).max()), float(np.abs(step).max()), 1.0)
    return of_raters.T.copy() / longest, step / longest


def _common(model: Model) -> Indices:
    """Return the places of the common logit and, where sides are known, of the common bias."""
    return np.r_[model.places.error, model.places.bias]


def _up(curvature: Floats) -> Floats:
    """Return matrices, (R, c, c), with eigenvalues of the same size, none of them negative."""
    values, vectors = np.linalg.eigh(curvature)
    return (vectors * np.abs(values)[:, None, :]) @ vectors.transpose(0, 2, 1)


def _moved(
    objective: Objective, theta: Floats, of_raters: Floats, common: Floats
) -> tuple[Objective, Floats]:
    """Return the objective and parameters after a step, within bounds."""
    model, at = objective.model, _common(objective.model)
    own = np.clip(model.own + of_raters, *LIMITS[:, :, None])
    theta = theta.copy()
    theta[at] += common[: len(at)]
    return replace(objective, model=replace(model, own=own)), np.clip(theta, *model.bounds)
