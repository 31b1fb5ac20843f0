"""Newton's method with a trust region and bounds, from several starts at once.

The function is seen only through its value, gradient and Hessian at many points in one call. The
Hessian has the shape of an arrow: dense in the first d parameters, while the others (one or two a
judge) meet these but not those of other judges. So a step costs O(p d^2).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import numpy as np

from dcglearn.foundation.validation import Flags, Floats, Indices
from dcglearn.kernels.library import function

dense_steps = function(
    "dense_steps .n .p .d .columns f[n,p] f[n,d,d] f[n,d] f[n,d] f[n] f[n] f[n,columns] "
    "f[d*(d+1)]~ l[d]~"
)
"""Sets the first d columns of its last array to steps to minima, damped to keep to the radii.

Taken are gradients, shape (B, p), of which the first d columns count, Hessians, (B, d, d), the
lower and upper bounds of the steps, (B, d) each, radii, (B,), and the dampings of the steps before,
(B,), which are updated to these steps'.
"""


@dataclass(frozen=True)
class Local:
    """A function near B points: values (B,), gradients (B, p) and Hessians.

    The Hessians' parts are `dense`, shape (B, d, d), `cross`, shape (B, p - d, d), `diagonal`,
    shape (B, p - d), and `coupled`: the entries of the first half of the last p - d parameters with
    the second half, shape (B, (p - d) / 2), or (B, 0).
    """

    value: Floats
    gradient: Floats
    dense: Floats
    cross: Floats
    diagonal: Floats
    coupled: Floats

    def __getitem__(self, index: Indices | Flags) -> Self:
        return type(self)(*(x[index] for x in vars(self).values()))


Function = Callable[["Floats"], Local]
"""From points, shape (B, p), to the function near them."""


@dataclass
class Descents:
    """B descents: where they are, shape (B, p), and how they came there, shape (B,) each."""

    theta: Floats
    local: Local
    radius: Floats
    damping: Floats
    n_iter: Indices
    converged: Flags
    stopped: Flags
    leader: Indices

    @classmethod
    def at(cls, theta: Floats, local: Local) -> Self:
        """Return descents that have not moved; those whose value is not finite have stopped."""
        n = len(theta)
        radius = 1.0
        stopped = ~np.isfinite(local.value)
        numbers = np.full(n, radius), np.zeros(n), np.zeros(n, np.intp), np.zeros(n, np.bool_)
        return cls(theta.copy(), local, *numbers, stopped, np.arange(n))

    @property
    def rank(self) -> Indices:
        """The place of each descent in the order of values."""
        return np.argsort(np.argsort(self.local.value, kind="stable"))

    def move(self, index: Indices, theta: Floats, local: Local) -> None:
        """Move the descents `index`."""
        self.theta[index] = theta
        for name, x in vars(local).items():
            getattr(self.local, name)[index] = x

    def led_from(self, i: int) -> int:
        """Return the descent that descent i, and those that it followed, came near to."""
        while self.leader[i] != i:
            i = int(self.leader[i])
        return i

    @property
    def leads(self) -> Flags:
        """Which descents followed no other, shape (B,)."""
        return self.leader == np.arange(len(self.leader))

    @property
    def best(self) -> int:
        """The lowest descent; of several, one that has converged and followed no other."""
        value = np.where(np.isfinite(self.local.value), self.local.value, np.inf)
        return int(np.lexsort((~self.leads, ~self.converged, value))[0])


def descend(
    function: Function,
    theta: Floats,
    bounds: tuple[Floats, Floats],
    *,
    max_iter: int,
    tol: float = 1e-9,
    to_beat: float | None = None,
    spared: int = 0,
    rungs: Mapping[int, int] = MappingProxyType({}),
) -> Descents:
    """Descend from every row of `theta`, (B, p), between bounds of shape (p,) or (B, p).

    A descent has converged if the quadratic that it steps to the minimum of promised less than
    `tol` of the value. One that comes near a lower one follows it: it stops, and has the end and
    the convergence of its leader. With a value `to_beat`, descents stop that are not likely to fall
    below it and the lowest descent. `rungs` holds numbers of steps, and how many of the lowest
    descents continue after each, with the first few that are `spared`.
    """
    lows, highs = (np.broadcast_to(end, theta.shape) for end in bounds)
    descents = Descents.at(theta, function(theta))
    while len(active := np.flatnonzero(~descents.stopped)):
        # those that have not stopped
        all_active = len(active) == len(theta)
        here = descents.local if all_active else descents.local[active]
        before = descents.theta[active]
        low, high = lows[active], highs[active]
        radius, damping = descents.radius[active], descents.damping[active]

        # step to the minimum of the local quadratic within bounds and radius
        step = steps(here, low - before, high - before, radius, damping)
        trial = np.clip(before + step, low, high)
        step = trial - before

        # compare the fall with what the quadratic promised, up to rounding
        promise = -_change(here, step)
        there = function(trial)
        noise = 1e-14 * np.abs(here.value)
        fell = here.value - there.value
        taken = np.isfinite(there.value) & (fell >= 1e-4 * promise - noise)

        # move, and adapt the radius
        length = np.abs(step).max(axis=1)
        descents.radius[active] = _radius(radius, length, fell, promise, taken)
        descents.damping[active] = damping
        descents.n_iter[active] += 1
        descents.move(active[taken], trial[taken], there if taken.all() else there[taken])

        # end at a minimum, or where rounding errors are larger than what is left
        small = promise <= tol * (1 + np.abs(here.value))
        inside = (length < radius) & (damping == 0.0)
        ended = (small & (inside | ~taken)) | (promise <= noise) | (descents.radius[active] < 1e-9)
        descents.converged[active] = small & ended

        # end without hope: from the 8th step on, a fall of 50 times the last is not expected
        if to_beat is not None:
            value = descents.local.value
            behind = value[active] - min(to_beat, value[descents.best])
            ended |= (behind > 50.0 * np.maximum(promise, fell)) & (descents.n_iter[active] >= 8)

        # end the highest, where fewer are to continue
        n_steps = int(descents.n_iter.max())
        if n_steps in rungs:
            ended |= (descents.rank[active] >= rungs[n_steps]) & (active >= spared)
        descents.stopped[active] = ended | (descents.n_iter[active] >= max_iter)
        if len(theta) > 1:
            leave_followers(descents)
    _end_with_leaders(descents)
    return descents


def _change(local: Local, step: Floats) -> Floats:
    """Return the change of the local quadratic along a step, shape (B,)."""
    d = local.dense.shape[1]
    head, tail = step[:, :d], step[:, d:]
    change: Floats = (local.gradient * step).sum(axis=1)

    # the dense part, then the others with it, alone and in pairs
    curved = (head[:, None, :] @ local.dense @ head[:, :, None])[:, 0, 0]
    if tail.shape[1]:
        curved += (local.diagonal * tail**2).sum(axis=1)
        curved += 2 * (tail[:, None, :] @ local.cross @ head[:, :, None])[:, 0, 0]
        half = local.coupled.shape[1]
        curved += 2 * (local.coupled * tail[:, :half] * tail[:, half : 2 * half]).sum(axis=1)
    return change + 0.5 * curved


def _radius(radius: Floats, length: Floats, fell: Floats, promise: Floats, taken: Flags) -> Floats:
    """Return the next radius, larger after a long step that kept its promise, else smaller."""
    largest = 8.0
    kept = np.where(taken, fell / np.maximum(promise, 1e-300), -1.0)
    long = (kept > 0.75) & (length > 0.4 * radius)
    grown = np.where(long, np.minimum(2 * radius, largest), radius)
    return np.where(kept < 0.25, 0.25 * length, grown)


def leave_followers(descents: Descents) -> None:
    """Stop descents that come near a lower one, and note which."""
    # the lowest descent that is this near in every parameter, perhaps itself
    close = 0.02
    going = np.flatnonzero(~descents.stopped)
    near = np.abs(descents.theta[going, None, :] - descents.theta).max(axis=2) < close
    lowest = np.argmin(np.where(near, descents.rank, len(descents.theta)), axis=1)

    # within rounding, a leader can end above one that follows it
    for i, lower in zip(going[lowest != going], lowest[lowest != going], strict=True):
        if descents.led_from(int(lower)) != i:
            descents.leader[i] = lower
            descents.stopped[i] = True


def _end_with_leaders(descents: Descents) -> None:
    """Move the descents that followed leaders to the leaders' ends, converged or not."""
    followers = np.flatnonzero(~descents.leads)
    leaders = np.array([descents.led_from(int(i)) for i in followers], np.intp)
    descents.move(followers, descents.theta[leaders], descents.local[leaders])
    descents.converged[followers] = descents.converged[leaders]


def steps(local: Local, low: Floats, high: Floats, radius: Floats, damping: Floats) -> Floats:
    """Return steps near each quadratic's minimum, within `low`, `high` and the radius; (B, p).

    `low` and `high`, shape (B, p), are bounds of the steps and hold 0 between them. `damping`, what
    is added to the Hessian's diagonal, is updated from the last steps to these steps: 0 for full
    Newton steps. The diagonal part is eliminated first; where an entry curves down, it is taken to
    curve up as much.
    """
    n, p = local.gradient.shape
    d, half = local.dense.shape[1], local.coupled.shape[1]
    step, head = np.zeros((n, p)), np.zeros((n, d))
    rooms = np.ascontiguousarray(low[:, :d]), np.ascontiguousarray(high[:, :d])
    if p == d:
        dense_steps(local.gradient, local.dense, *rooms, radius, damping, step)
        return step

    # parameters at a bound that their slope leads beyond stay there
    tail, cross, diagonal = local.gradient[:, d:], local.cross, local.diagonal
    held = np.where(tail > 0, low[:, d:], high[:, d:]) == 0

    # of a judge's two, eliminate the first before the second
    if half:
        size = np.maximum(np.abs(diagonal[:, :half]), 1e-300)
        link = np.where(held[:, :half], 0.0, local.coupled / size)
        tail, cross, diagonal = tail.copy(), cross.copy(), diagonal.copy()
        tail[:, half:] -= link * tail[:, :half]
        cross[:, half:] -= link[:, :, None] * cross[:, :half]
        diagonal[:, half:] -= link * local.coupled

    share = np.where(held, 0.0, 1 / np.maximum(np.abs(diagonal), 1e-300))
    for _ in range(4 if half else 1):
        # eliminate the diagonal part, and solve the dense rest
        shared = share[:, :, None] * cross
        eliminated = local.gradient[:, :d] - (tail[:, None, :] @ shared)[:, 0]
        rest = local.dense - cross.transpose(0, 2, 1) @ shared
        dense_steps(eliminated, rest, *rooms, radius, damping, head)

        # substitute back
        ends = -share * tail - (shared @ head[:, :, None])[:, :, 0]
        if not half:
            break
        ends[:, :half] -= link * ends[:, half:]

        # where a judge's two would move beyond the radius, curve them more and solve again: they
        # meet the curves so strongly that the others' moves are wrong without theirs
        length = np.maximum(np.abs(ends[:, :half]), np.abs(ends[:, half:]))
        stiff = np.tile(np.maximum(length / radius[:, None], 1.0), 2)
        if (stiff == 1.0).all():
            break
        share, ends = share / stiff, ends / stiff

    # keep within bounds and radius
    least = np.maximum(low[:, d:], -radius[:, None])
    most = np.minimum(high[:, d:], radius[:, None])
    step[:, :d], step[:, d:] = head, np.clip(ends, least, most)
    return step
