"""Newton's method with a trust region and bounds, from several starts at once.

The function is seen only through its value, gradient and Hessian at many points in one call. The Hessian has the shape
of an arrow: dense in the first d parameters, while the others (one a judge) meet these but not each other. So a step
costs O(p d^2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from dcglearn.foundation.compiled import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats


RADIUS, MOST_RADIUS = 1.0, 8.0
"""Largest change of a parameter in the first step, and in any."""

CLOSE = 0.02
"""A descent ends where it comes this near, in every parameter, to a lower one."""


@dataclass(frozen=True)
class Local:
    """A function near B points: values (B,), gradients (B, p) and Hessians.

    The Hessians' parts are `dense`, shape (B, d, d), `cross`, shape (B, p - d, d), and `tips`, shape (B, p - d).
    """

    value: Floats
    gradient: Floats
    dense: Floats
    cross: Floats
    tips: Floats

    def __getitem__(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Local:
        return Local(*(getattr(self, x.name)[index] for x in fields(self)))

    def put(self, index: NDArray[np.intp], other: Local) -> None:
        """Replace the function at the points `index`."""
        for x in fields(self):
            getattr(self, x.name)[index] = getattr(other, x.name)


REACH, FAIR = 50.0, 8
"""After this many steps, a descent is expected to fall by at most this many times what its next step promises."""

Function = Callable[["Floats"], Local]
"""From points, shape (B, p), to the function near them."""


@dataclass
class Descents:
    """B descents: where they are, shape (B, p), and how they came there, shape (B,) each."""

    theta: Floats
    local: Local
    radius: Floats
    damping: Floats
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    stopped: NDArray[np.bool_]

    @classmethod
    def at(cls, theta: Floats, local: Local) -> Self:
        """Return descents that have not moved; those whose value is not finite have stopped."""
        n = len(theta)
        stopped = ~np.isfinite(local.value)
        numbers = np.full(n, RADIUS), np.zeros(n), np.zeros(n, np.intp), np.zeros(n, np.bool_)
        return cls(theta.copy(), local, *numbers, stopped)

    @property
    def best(self) -> int:
        """The descent that has come furthest down."""
        return int(np.argmin(np.where(np.isfinite(self.local.value), self.local.value, np.inf)))


def descend(
    function: Function,
    theta: Floats,
    bounds: tuple[Floats, Floats],
    *,
    max_iter: int,
    tol: float = 1e-9,
    to_beat: float | None = None,
) -> Descents:
    """Descend from every row of `theta`, shape (B, p), between lower and upper bounds, shape (p,) each.

    A descent has converged if the quadratic that it steps to the minimum of promised less than `tol` of the value. With
    a value `to_beat`, descents stop that are not likely to fall below it and the lowest of them.
    """
    low, high = bounds
    go = Descents.at(theta, function(theta))
    while len(active := np.flatnonzero(~go.stopped)):
        here = go.local[active]
        trial = go.theta[active]
        arrays = here.gradient, here.dense, here.cross, here.tips
        radius, damping = go.radius[active], go.damping[active]
        steps(arrays, trial, low, high, radius, damping)
        step = trial - go.theta[active]
        promise = -_change(here, step)
        there = function(trial)
        noise = 1e-14 * np.abs(here.value)
        fell = here.value - there.value
        taken = np.isfinite(there.value) & (fell >= 1e-4 * promise - noise)
        length = np.abs(step).max(axis=1)
        go.radius[active] = _radius(radius, length, fell, promise, taken)
        go.damping[active] = damping
        moved = active[taken]
        go.theta[moved] = trial[taken]
        go.local.put(moved, there[taken])
        go.n_iter[active] += 1
        small = promise <= tol * (1 + np.abs(here.value))
        inside = (length < radius) & (damping == 0.0)
        ended = (small & (inside | ~taken)) | (promise <= noise) | (go.radius[active] < 1e-9)
        go.converged[active] = small & ended
        if to_beat is not None:
            behind = go.local.value[active] - min(to_beat, go.local.value[go.best])
            ended |= (behind > REACH * np.maximum(promise, fell)) & (go.n_iter[active] >= FAIR)
        go.stopped[active] = ended | (go.n_iter[active] >= max_iter)
        _leave_followers(go)
    return go


def _change(local: Local, step: Floats) -> Floats:
    """Return the change of the local quadratic along a step, shape (B,)."""
    d = local.dense.shape[1]
    head, tail = step[:, :d], step[:, d:]
    bent = (head[:, None, :] @ local.dense @ head[:, :, None])[:, 0, 0] + (local.tips * tail**2).sum(axis=1)
    bent += 2 * (tail[:, None, :] @ local.cross @ head[:, :, None])[:, 0, 0]
    change: Floats = (local.gradient * step).sum(axis=1) + 0.5 * bent
    return change


def _radius(radius: Floats, length: Floats, fell: Floats, promise: Floats, taken: NDArray[np.bool_]) -> Floats:
    """Return the next radius: larger after a long step that kept its promise, smaller after one that did not."""
    kept = np.where(taken, fell / np.maximum(promise, 1e-300), -1.0)
    grown = np.where((kept > 0.75) & (length > 0.4 * radius), np.minimum(2 * radius, MOST_RADIUS), radius)
    return np.where(kept < 0.25, 0.25 * length, grown)


def _leave_followers(go: Descents) -> None:
    """Stop descents that come near a lower one."""
    if len(go.theta) == 1:
        return
    order = np.argsort(go.local.value, kind="stable")
    for place, i in enumerate(order):
        if not go.stopped[i] and place:
            apart = np.abs(go.theta[order[:place]] - go.theta[i]).max(axis=1)
            go.stopped[i] = bool((apart < CLOSE).any())


@njit(cache=True, nogil=True, error_model="numpy")
def steps(local, theta, low, high, radius, damping):
    """Add to each row of `theta` a step to the minimum of its quadratic within radius and bounds.

    `local` holds gradients and Hessians. Rows end within the bounds. `damping`, what is added to the Hessian's
    diagonal, is the last step's; it becomes this one's: 0 for a full Newton step.
    """
    gradients, denses, crosses, tips = local
    n, p = theta.shape
    d = denses.shape[1]
    matrix = np.empty((d, d))
    for b in range(n):
        gradient, dense, cross, tip = gradients[b], denses[b], crosses[b], tips[b]
        size = 1e-300
        for x in range(p):
            size = max(size, abs(dense[x, x] if x < d else tip[x - d]))
        least = 1e-7 * size
        damp = damping[b] / 16.0 if damping[b] / 16.0 > least else 0.0
        step = np.zeros(p)
        while True:
            fixed = np.zeros(p, np.bool_)
            for x in range(p):
                step[x] = 0.0
                down = gradient[x] > 0.0
                fixed[x] = (theta[b, x] <= low[x] and down) or (theta[b, x] >= high[x] and not down)
            while True:  # one call compiles in half the time of two
                good = _solved(gradient, dense, cross, tip, damp, fixed, step, matrix)
                if not (good and _hit_bounds(theta[b], low, high, fixed, step)):
                    break
            if good:
                length = 0.0
                for x in range(p):
                    length = max(length, abs(step[x]))
                if length <= radius[b] and _promise(gradient, dense, cross, tip, step) >= 0.0:
                    break
            damp = max(3.0 * damp, least)
            if damp > 1e30 * size:
                step[:] = 0.0
                break
        damping[b] = damp
        for x in range(p):
            theta[b, x] = min(max(theta[b, x] + step[x], low[x]), high[x])


@njit(cache=True, nogil=True, error_model="numpy")
def _hit_bounds(theta, low, high, fixed, step):
    """Fix the free parameters that a step takes beyond their bounds there; return whether there are any."""
    hit = False
    for x in range(len(theta)):
        if not fixed[x]:
            end = min(max(theta[x] + step[x], low[x]), high[x])
            if end != theta[x] + step[x]:
                step[x] = end - theta[x]
                fixed[x] = True
                hit = True
    return hit


@njit(cache=True, nogil=True, error_model="numpy")
def _promise(gradient, dense, cross, tip, step):
    """Return by how much the quadratic falls along a step."""
    d = len(dense)
    change = 0.0
    for x in range(len(step)):
        along = gradient[x]
        if x < d:
            for y in range(d):
                along += 0.5 * dense[x, y] * step[y]
        else:
            along += 0.5 * tip[x - d] * step[x]
            for y in range(d):
                along += cross[x - d, y] * step[y]
        change += step[x] * along
    return -change


@njit(cache=True, nogil=True, error_model="numpy")
def _solved(gradient, dense, cross, tip, damp, fixed, step, matrix):
    """Set the free entries of `step` to the minimum of the damped quadratic; return False if it has none.

    The tips are eliminated first, then a Cholesky factorisation solves for the rest. Fixed entries stay; in the
    matrices they have the rows of the identity, and zeros on the right.
    """
    d, p = len(dense), len(step)
    right = _right(gradient, dense, cross, fixed, step)
    for x in range(d):
        for y in range(x + 1):
            matrix[x, y] = 0.0 if fixed[x] or fixed[y] else dense[x, y]
        matrix[x, x] = 1.0 if fixed[x] else dense[x, x] + damp
    if not (_without_tips(matrix, right, cross, tip, damp, fixed) and _factored(matrix)):
        return False
    _substitute(matrix, right[:d])
    for x in range(d):
        if not fixed[x]:
            step[x] = right[x]
    for r in range(d, p):
        if not fixed[r]:
            step[r] = right[r] / (tip[r - d] + damp)
            for x in range(d):
                if not fixed[x]:
                    step[r] -= cross[r - d, x] * step[x] / (tip[r - d] + damp)
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _without_tips(matrix, right, cross, tip, damp, fixed):
    """Eliminate the free tips from the lower triangle and the right-hand side; return False if one is not positive."""
    d = len(matrix)
    for r in range(d, len(right)):
        if not fixed[r]:
            pivot = tip[r - d] + damp
            if pivot <= 1e-14 * abs(tip[r - d]):
                return False
            for x in range(d):
                share = 0.0 if fixed[x] else cross[r - d, x] / pivot
                right[x] -= share * right[r]
                for y in range(x + 1):
                    matrix[x, y] -= 0.0 if fixed[y] else share * cross[r - d, y]
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _right(gradient, dense, cross, fixed, step):
    """Return minus the slopes where the fixed entries of `step` have been taken; zeros for these."""
    d, p = len(dense), len(step)
    right = np.zeros(p)
    for x in range(p):
        if not fixed[x]:
            right[x] = -gradient[x]
            for y in range(d):
                if fixed[y]:
                    right[x] -= (dense[x, y] if x < d else cross[x - d, y]) * step[y]
            for r in range(d, p if x < d else d):
                if fixed[r]:
                    right[x] -= cross[r - d, x] * step[r]
    return right


@njit(cache=True, nogil=True, error_model="numpy")
def _factored(matrix):
    """Replace the lower triangle by its Cholesky factor; return False unless it is positive definite."""
    for x in range(len(matrix)):
        before = matrix[x, x]
        for y in range(x + 1):
            total = matrix[x, y]
            for z in range(y):
                total -= matrix[x, z] * matrix[y, z]
            if x == y:
                if not total > 1e-14 * abs(before):
                    return False
                matrix[x, x] = np.sqrt(total)
            else:
                matrix[x, y] = total / matrix[y, y]
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _substitute(factor, right):
    """Replace the right-hand side by the solution, given the Cholesky factor."""
    for x in range(len(right)):
        for y in range(x):
            right[x] -= factor[x, y] * right[y]
        right[x] /= factor[x, x]
    for x in range(len(right) - 1, -1, -1):
        for y in range(x + 1, len(right)):
            right[x] -= factor[y, x] * right[y]
        right[x] /= factor[x, x]
