"""Influence of verdicts: the change of learned gains and discounts without each, to first order.

Without a verdict whose part of the objective has the slope s, a fit with the Hessian H moves by
H^-1 s, and a number q by grad q . H^-1 s (Broderick, Giordano and Meager 2020). The prior, the
weights of free curves and textbooks, and raters' deviations from the common judge are held.
"""

from dataclasses import replace

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.learning.fit import Fit, fit_log
from dcglearn.learning.usable_pairs import usable_rows
from dcglearn.learning.weighing import mean_dcg, weighed
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metrics.dcg import DCG

STEP = 1e-4
"""Largest change of a parameter in a difference quotient."""


def influence(log: PreferencePairs, fit: Fit, place: int) -> Floats:
    """Return the change of a gain or discount without each verdict of a fit's log, shape (n,).

    Gains are at the first places, discounts behind them.
    """
    rows = np.flatnonzero(usable_rows(log))
    function, theta, model = fit.function, fit.theta, fit.model
    if len(rows) != len(fit.pairs):
        raise InputError("the learner was fitted to another log: fit it to this one")

    # slope of the number in the parameters of the free curves
    steps = STEP * np.eye(len(theta))
    above, below = (
        np.array([_number(fit, theta + sign * step, place) for step in steps]) for sign in (1, -1)
    )
    slope = (above - below) / (2 * STEP)

    # the direction H^-1 grad q, in which parameters at a bound stay
    low, high = model.bounds
    free = np.flatnonzero((theta > low) & (theta < high))
    direction = np.zeros(len(theta))
    with one_blas_thread():
        hessian = fit.hessian[np.ix_(free, free)]
        direction[free] = np.linalg.lstsq(hessian, slope[free], rcond=1e-9)[0]

    # slope of each verdict's loss along it
    step = STEP / max(float(np.abs(direction).max()), 1e-300)
    above, below = (
        fit.pairs.losses(model.points((theta + sign * step * direction)[None])) for sign in (1, -1)
    )
    changes = np.zeros(len(log))
    changes[rows] = function.share * (above - below) / (2 * step)
    return changes


def refitted(log: PreferencePairs, fit: Fit) -> Fit:
    """Return the fit to a part of its log, from its free curves, with its members' weights."""
    again = fit_log(log, replace(fit.form, start=fit.free))
    return weighed(again, held=[member.weight for member in fit.members])


def numbers_of(dcg: DCG) -> Floats:
    """Return gains and discounts, shape (L + K,)."""
    return np.concatenate([dcg.gains, dcg.discounts])


def _number(fit: Fit, theta: Floats, place: int) -> float:
    """Return a gain or discount of the mean with free curves at parameters."""
    first, *others = fit.members
    mean = mean_dcg([replace(first, dcg=fit.curves_at(theta)), *others])
    return float(numbers_of(mean)[place])
