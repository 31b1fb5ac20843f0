"""Search for gains, discounts and judges: descents from several starts, of which one counts.

The objective is not convex. Many known metrics are evaluated on a few pairs, with sharp judges and
with soft ones; the best of each are descended from side by side, by Newton's method with a trust
region. Long logs are learned from samples first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Flags, Floats, InputError
from dcglearn.kernels.library import function
from dcglearn.learning.objective import FitObjective, Local

dense_steps = function(
    "dense_steps .n .p f[n,p] f[n,p,p] f[n,p] f[n,p] f[n] f[n] f[n,p]! f[p*(p+1)]~ l[p]~"
)
"""Returns steps to minima, (B, p), damped to keep to the radii.

Taken are gradients, shape (B, p), Hessians, (B, p, p), the lower and upper bounds of the steps, (B,
p) each, radii, (B,), and the dampings of the steps before, (B,), which are updated to these steps'.
"""

STARTS_OF_EACH = 3
"""Metrics of each softness that are descended from."""

FIRST_STEPS, KEPT = 15, 4
"""Steps of the first descents, and how many of these continue."""

COMPARED_ON = 1 << 8
"""Pairs on which starts are compared."""

SAMPLES = 1 << 12, 1 << 15
"""Pairs of the samples on which a log of twice as many is learned, one after the other, before it
is learned whole.
"""

ROUGH, EXACT = 1e-5, 1e-9
"""Least relative fall that a step must promise, while ends are compared, and in the end."""

MAX_STEPS = 2000
"""Most steps of a descent; far fewer are needed."""

SOFTENED = (0.0, -0.5, -1.0, -1.5, -2.0, -3.0)
"""Changes of the log sharpness from a sample to a larger one: a sample is fitted too exactly."""


@dataclass
class Ends:
    """B descents: where they are, shape (B, p), the function there, and whether they converged."""

    theta: Floats
    local: Local
    converged: Flags
    n_iter: int = 0

    @property
    def best(self) -> int:
        """The lowest descent; of equal ones, one that has converged."""
        return int(np.lexsort((~self.converged, self.local.value))[0])

    @property
    def value(self) -> float:
        """The value of the lowest."""
        return float(self.local.value[self.best])


def search(whole: FitObjective, starts: Sequence[Floats]) -> Ends:
    """Return the lowest end of descents from the best of several starts.

    `starts` holds groups of parameters, shape (S, p) each, of which `STARTS_OF_EACH` are descended
    from. A long log is learned from samples that grow, and its start is where the last one ended.
    """
    # the lowest of each group on a few pairs
    n = len(whole.pairs)
    objectives = [*map(whole.thinned, [size for size in SAMPLES if n >= 2 * size]), whole]
    few = objectives[0].thinned(COMPARED_ON)
    thetas = np.concatenate([few.lowest(group, STARTS_OF_EACH) for group in starts])

    # descend from each for some steps, then from the lowest ends
    bounds = whole.model.bounds
    if len(thetas) > KEPT:
        ends = descend(objectives[0], thetas, bounds, max_steps=FIRST_STEPS, tol=ROUGH)
        thetas = ends.theta[np.argsort(ends.local.value, kind="stable")[:KEPT]]
    ends = descend(objectives[0], thetas, bounds)

    # on larger samples from where the last descents ended
    for objective in counted(objectives[1:], "larger samples"):
        softer = whole.model.sharpened(ends.theta[ends.best], SOFTENED)
        ends = descend(objective, objective.lowest(softer, 1), bounds)

    if not np.isfinite(ends.value):
        raise InputError(
            "the objective is not finite at any start: weights, strengths or the ridge are too "
            "large"
        )
    return ends


def descend(
    function: Callable[[Floats], Local],
    theta: Floats,
    bounds: Iterable[Floats],
    *,
    max_steps: int = MAX_STEPS,
    tol: float = EXACT,
) -> Ends:
    """Descend from every row of `theta`, (B, p), between bounds of shape (p,) or (B, p).

    A descent has converged if the quadratic that it steps to the minimum of promised less than
    `tol` of the value.
    """
    lows, highs = (np.broadcast_to(end, theta.shape) for end in bounds)
    theta = np.clip(theta, lows, highs)
    local = function(theta)
    ends = Ends(theta, local, np.zeros(len(theta), np.bool_))
    radii, dampings = np.ones(len(theta)), np.zeros(len(theta))
    active = np.flatnonzero(np.isfinite(local.value))
    while len(active) and ends.n_iter < max_steps:
        # step to the minimum of the local quadratic within bounds and radius
        here, before = Local(*(x[active] for x in local)), theta[active]
        low, high = lows[active], highs[active]
        radius, damping = radii[active], dampings[active]
        rooms = low - before, high - before
        step = dense_steps(here.gradient, here.hessian, *rooms, radius, damping)
        trial = np.clip(before + step, low, high)
        step = trial - before

        # compare the fall with what the quadratic promised, up to rounding
        bent = (step[:, None, :] @ here.hessian @ step[:, :, None])[:, 0, 0]
        promise = -(here.gradient * step).sum(axis=1) - 0.5 * bent
        there = function(trial)
        noise = 1e-14 * np.abs(here.value)
        fell = here.value - there.value
        taken = np.isfinite(there.value) & (fell >= 1e-4 * promise - noise)

        # move, and adapt the radius
        theta[active[taken]] = trial[taken]
        for own, new in zip(local, there, strict=True):
            own[active[taken]] = new[taken]
        length = np.abs(step).max(axis=1)
        radii[active] = _radius(radius, length, fell, promise, taken)
        dampings[active] = damping
        ends.n_iter += 1

        # end at a minimum, or where rounding errors are larger than what is left
        small = promise <= tol * (1 + np.abs(here.value))
        inside = (length < radius) & (damping == 0.0)
        ended = (small & (inside | ~taken)) | (promise <= noise) | (radii[active] < 1e-9)
        ends.converged[active] = small & ended
        active = active[~ended]
    return ends


def _radius(radius: Floats, length: Floats, fell: Floats, promise: Floats, taken: Flags) -> Floats:
    """Return the next radius, larger after a long step that kept its promise, else smaller."""
    largest = 8.0
    kept = np.where(taken, fell / np.maximum(promise, 1e-300), -1.0)
    long = (kept > 0.75) & (length > 0.4 * radius)
    grown = np.where(long, np.minimum(2 * radius, largest), radius)
    return np.where(kept < 0.25, 0.25 * length, grown)
