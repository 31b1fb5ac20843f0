"""Raters' own errors and position biases: given the curves, they do not depend on each other.

So a fit alternates between the raters, here, and all else (`fit`).
"""

from dataclasses import replace

import numpy as np

from dcglearn.foundation.validation import Floats, Indices
from dcglearn.learning.model import OWN_SPREADS, Model
from dcglearn.learning.objective import FitObjective

LIMITS = np.array([[-9.0, -30.0], [9.0, 30.0]])
"""Bounds of raters' deviations from the common logit of error and position bias."""


def with_raters(objective: FitObjective, theta: Floats) -> tuple[FitObjective, Floats]:
    """Return the objective and parameters, (p,), with the raters that fit best with the curves.

    The common logit and bias move with the raters' deviations from them, by Newton's method: what
    is common meets every rater, a rater nothing else. Where the loss curves down, it is taken to
    curve up.
    """
    value = objective.values(theta[None])[0]
    size = 1.0
    for _ in range(100):
        step = _step(objective, theta)
        length = float(np.abs(step).max())

        # halve the step until the value does not rise
        while True:
            moved, there = _moved(objective, theta, size * step)
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


def _step(objective: FitObjective, theta: Floats) -> Floats:
    """Return Newton's step of the raters' deviations and, last, of what is common, (2, R + 1).

    The rows are the logit of error and the position bias, which stays 0 unless sides are known.
    """
    model, share = objective.model, objective.share
    sums = objective.pairs.sums_of_raters(model.points(theta[None]))
    slopes = share * sums.slopes
    curvature = _made_convex(share * sums.curvature)

    # eliminate the raters, whose deviations have a prior
    of_own = np.diag(OWN_SPREADS**-2.0)
    slopes_of_own = slopes + model.own.T @ of_own
    eliminated = np.linalg.solve(curvature + of_own, np.dstack([curvature, slopes_of_own]))

    # what is common meets all of them, and its own prior
    rest = (np.dstack([curvature, slopes]) - curvature @ eliminated).sum(axis=0)
    _, gradient, hessian = model.prior.at(theta[None], curved=True)
    at, common = _common(model), np.zeros(2)
    c = len(at)
    whole = rest[:c, :c] + hessian[0][np.ix_(at, at)]
    common[:c] = -np.linalg.solve(whole, rest[:c, -1] + gradient[0, at])

    # and substitute it back
    step = np.column_stack([-(eliminated @ np.append(common, 1.0)).T, common])
    return step / max(float(np.abs(step).max()), 1.0)


def _common(model: Model) -> Indices:
    """Return the places of the common logit and, where sides are known, of the common bias."""
    return np.r_[model.places.error, model.places.bias]


def _made_convex(curvature: Floats) -> Floats:
    """Return matrices, (R, 2, 2), with eigenvalues of the same size, none of them negative."""
    values, vectors = np.linalg.eigh(curvature)
    return (vectors * np.abs(values)[:, None, :]) @ vectors.transpose(0, 2, 1)


def _moved(objective: FitObjective, theta: Floats, step: Floats) -> tuple[FitObjective, Floats]:
    """Return the objective and parameters after a step, within bounds."""
    model, theta = objective.model, theta.copy()
    at = _common(model)
    theta[at] += step[: len(at), -1]
    model = model.with_own(np.clip(model.own + step[:, :-1], *LIMITS[:, :, None]))
    return replace(objective, model=model), np.clip(theta, *model.bounds)
