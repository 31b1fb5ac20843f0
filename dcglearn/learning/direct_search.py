"""Search for gains, discounts and judges: multistart, successive halving, then basin hopping.

The objective is not convex. All starts are evaluated in one pass over a few pairs. The best starts
descend side by side, in ever smaller numbers; then descents follow from hops around the lowest end.
Long logs are learned from samples first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.learning.dcg_model import Curves, DirectObjective, Model
from dcglearn.learning.judgement_kernel import SIGMOID
from dcglearn.learning.trust_region import Descents, descend


@dataclass(frozen=True)
class Schedule:
    """Samples, steps, descents that continue, and hops of the search."""

    # a log of 2n pairs or more is first fitted on a sample of about n,
    first_sample: int = 1 << 12
    # then on samples that grow by this factor to at most this size, then whole
    growth: int = 8
    largest_sample: int = 1 << 18
    # starts are compared on about this number of pairs
    compared_on: int = 1 << 8

    # least relative fall that a step must promise while basins are compared, and on the whole log
    rough: float = 1e-5
    exact: float = 1e-9
    # steps of the descents from all starts, of which the lowest few are kept beside the hops
    first_steps: int = 14
    kept: int = 2
    # descents that continue after this number of steps
    rungs: Mapping[int, int] = field(default_factory=lambda: {8: 12, 12: 8})
    rungs_of_hops: Mapping[int, int] = field(default_factory=lambda: {12: 10})

    # rounds of hops from ever lower ends: changes of the log sharpness,
    rounds: int = 4
    sharper: tuple[float, ...] = (-0.7, 0.7, -2.0, 2.0)
    # and random changes of all curves, with these standard deviations in turn
    spreads: tuple[float, ...] = (0.5, 1.0, 0.3, 0.7)
    # the product of the numbers of random hops and pairs, and the limits of the former
    random_hops: int = 4000
    fewest_hops: int = 4
    most_hops: int = 16

    # changes of the log sharpness from a sample to a larger one
    softer: tuple[float, ...] = (0.0, -0.5, -1.0, -1.5, -2.0, -3.0)
    # ends continue within this share of the lowest objective, if a parameter differs by more
    near: float = 0.01
    apart: float = 0.05
    most_ends: int = 3


SCHEDULE = Schedule()
"""The schedule of every search."""


@dataclass(frozen=True)
class Optimum:
    """A model, its parameters, (p,), their objective, and the last descent's steps and end."""

    model: Model
    theta: Floats
    objective: float
    n_iter: int
    converged: bool

    @property
    def curves(self) -> Curves:
        """Metric and judges."""
        return self.model.curves(self.theta)


def search(
    whole: DirectObjective, starts: Sequence[Floats], *, n_starts: int = 2, max_iter: int = 2000
) -> Optimum:
    """Descend from the best of several starts; no descent ends below the result's objective.

    `share` is the factor of the loss: the number of independent judgements that a unit of weight
    counts for. `starts` holds groups of parameters, shape (S, p) each; `n_starts` of each group are
    descended from, in at most `max_iter` iterations. A long log is learned from samples that grow,
    and its start is where the last one ended.
    """
    # samples that grow, each weighing as much as the log
    objectives = [*map(whole.thinned, _sample_sizes(len(whole.judgements)))]

    # search on the smallest
    thetas = _chosen(objectives[0], starts, n_starts)
    several = sum(map(len, starts)) > len(starts)
    ends = _searched(objectives[0], thetas, max_iter, several=several)

    # descend on the larger ones from where the last descents ended
    larger = objectives[1:]
    for objective in counted(larger, len(larger), "larger samples"):
        thetas = np.array([_softened(objective, ends.theta[i]) for i in _distinct(ends)])
        tol = SCHEDULE.exact if objective is objectives[-1] else SCHEDULE.exact**0.5
        ends = descend(objective, thetas, whole.model.bounds, max_iter=max_iter, tol=tol)
    return _optimum_of(whole.model, ends)


def search_near(
    objective: DirectObjective, starts: Sequence[Floats], *, max_iter: int = 2000
) -> Optimum:
    """Descend from a few starts near the optimum, over all judgements, and keep the best end."""
    ends = descend(
        objective,
        np.array(starts),
        objective.model.bounds,
        max_iter=max_iter,
        tol=SCHEDULE.exact,
        to_beat=np.inf if len(starts) > 1 else None,
    )
    return _optimum_of(objective.model, ends)


def search_from(
    near: Sequence[Floats] | None,
    starts_of: Callable[[], Sequence[Floats]],
    objective: DirectObjective,
    *,
    n_starts: int,
    max_iter: int,
    if_worse: bool,
) -> tuple[Optimum, bool]:
    """Return the optimum from `near`, or from all starts if there is none or these end lower.

    Last, whether it is that from `near`.
    """
    # from nearby alone
    warm = None
    if near is not None:
        warm = search_near(objective, near, max_iter=max_iter)
        if not if_worse:
            return warm, True

    # no start is lower than the end, on all judgements
    starts = starts_of()
    if warm is not None:
        lowest = _chosen(objective, [np.concatenate(starts)], 1)  # of all starts, on a few pairs
        if warm.objective <= objective.values(lowest)[0]:
            return warm, True

    # from all starts
    cold = search(objective, starts, n_starts=n_starts, max_iter=max_iter)
    if warm is not None and warm.objective <= cold.objective:
        return warm, True
    return cold, False


def _sample_sizes(n: int) -> list[int]:
    """Return the sizes of the samples that a log of n pairs is fitted on; the last is n."""
    sizes = []
    size = SCHEDULE.first_sample
    while n >= 2 * size:
        sizes.append(size)
        if n * SCHEDULE.growth > SCHEDULE.largest_sample * (n // size):
            break
        size *= SCHEDULE.growth
    return [*sizes, n]


def _chosen(objective: DirectObjective, starts: Sequence[Floats], n_starts: int) -> Floats:
    """Return the lowest starts of each group, all evaluated in one pass over a few pairs."""
    # compare on a few pairs
    objective = objective.thinned(SCHEDULE.compared_on)
    values = objective.values(np.concatenate(starts))

    # take the lowest of each group
    ends = np.cumsum([len(group) for group in starts])
    chosen = []
    for group, of_group in zip(starts, np.split(values, ends[:-1]), strict=True):
        chosen.append(group[np.argsort(of_group, kind="stable")[:n_starts]])
    return np.concatenate(chosen)


def _softened(objective: DirectObjective, theta: Floats) -> Floats:
    """Return the parameters less sharp, if that is better: a sample is fitted too exactly."""
    thetas = objective.model.sharpened(theta[None], SCHEDULE.softer)
    return thetas[objective.lowest(thetas, 1)[0]]


def _optimum_of(model: Model, ends: Descents) -> Optimum:
    i = ends.best
    if not np.isfinite(ends.local.value[i]):
        raise InputError(
            "the objective is not finite at any start: weights, strengths or the ridge are too "
            "large"
        )
    x = ends.theta[i]
    return Optimum(
        model, x, float(ends.local.value[i]), int(ends.n_iter[i]), bool(ends.converged[i])
    )


def _searched(
    objective: DirectObjective, thetas: Floats, max_iter: int, *, several: bool
) -> Descents:
    """Descend roughly, hop from the lowest end while that leads lower, then descend to the end."""
    model = objective.model
    if model.kind == SIGMOID:
        thetas = _sharpened(objective, thetas, max_iter)
    if several:
        thetas = _hopped(objective, np.clip(thetas, *model.bounds), max_iter)
    thetas = np.clip(thetas, *model.bounds)
    return descend(objective, thetas, model.bounds, max_iter=max_iter, tol=SCHEDULE.exact)


def _sharpened(objective: DirectObjective, thetas: Floats, max_iter: int) -> Floats:
    """Return the ends of descents with softer losses: a sharp one is flat far from its optimum."""
    model = objective.model
    for softer in (3.0, 1.5):
        blunt = replace(model, centre=model.centre - softer)
        thetas[:, model.places.sharpness] = blunt.centre
        of_blunt = replace(objective, model=blunt)
        ends = descend(of_blunt, thetas, blunt.bounds, max_iter=max_iter, tol=SCHEDULE.rough)
        thetas = ends.theta
    return thetas


def _hopped(objective: DirectObjective, thetas: Floats, max_iter: int) -> Floats:
    """Return the lowest ends of competing descents, then of basin hopping (Wales and Doye 1997)."""
    model = objective.model
    rng = np.random.default_rng(0)
    competing = partial(descend, objective, bounds=model.bounds, tol=SCHEDULE.rough, to_beat=np.inf)

    # from all starts, in ever smaller numbers
    few_steps = min(SCHEDULE.first_steps, max_iter)
    ends = competing(thetas, max_iter=few_steps, rungs=SCHEDULE.rungs)
    lowest = np.lexsort((ends.local.value, ~ends.leads))
    kept = ends.theta[lowest[: SCHEDULE.kept]]

    # from hops around the lowest end, as long as one leads lower
    for _ in range(SCHEDULE.rounds):
        hops = ends.theta[ends.best] + _hops(model, len(objective.judgements), rng)
        thetas = np.concatenate([kept, np.clip(hops, *model.bounds)])
        ends = competing(thetas, max_iter=max_iter, rungs=SCHEDULE.rungs_of_hops, spared=1)
        value = ends.local.value
        lower = value[ends.best] < (1 - 10 * SCHEDULE.rough) * value[0]
        if ends.led_from(0) == ends.best or not lower:
            break
        kept = ends.theta[[ends.best]]
    return ends.theta[_distinct(ends)]


def _hops(model: Model, n: int, rng: np.random.Generator) -> Floats:
    """Return changes of the parameters to hop from an end, the more the fewer pairs there are."""
    n_random = min(max(SCHEDULE.random_hops // max(n, 1), SCHEDULE.fewest_hops), SCHEDULE.most_hops)
    n_sharper = len(SCHEDULE.sharper)
    sharpness = model.places.sharpness
    hops = np.zeros((n_sharper + n_random, model.places.own_biases.stop))

    # first judges who are more or less sharp, then random changes of curves and sharpness
    hops[:n_sharper, sharpness.start] = SCHEDULE.sharper
    random = hops[n_sharper:, : sharpness.stop]
    random[:] = rng.normal(size=random.shape) * np.resize(SCHEDULE.spreads, n_random)[:, None]
    return hops


def _distinct(ends: Descents) -> list[int]:
    """Return the lowest end, and others so low and far that they may be lower on the whole log."""
    value = ends.local.value
    kept = [ends.best]
    highest = value[ends.best] + SCHEDULE.near * abs(value[ends.best])
    for i in np.argsort(value, kind="stable"):
        distance = np.abs(ends.theta[kept] - ends.theta[i]).max(axis=1)
        if value[i] <= highest and (distance > SCHEDULE.apart).all():
            kept.append(int(i))
    return kept[: SCHEDULE.most_ends]
