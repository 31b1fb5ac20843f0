"""The search for the best gains, discounts and judges: multistart with successive halving, then
basin hopping.

The objective is not convex. All starts are evaluated in one pass over a few pairs; descents from
the best of them go on side by side, fewer and fewer of them; then from hops around the lowest end.
Long logs are learned from samples first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.learning.direct_fit import Curves, DirectObjective, Model
from dcglearn.learning.judgement_kernel import SIGMOID
from dcglearn.learning.pair_loss import JudgementSource
from dcglearn.learning.trust_region import Descents, descend
from dcglearn.metric.list_utility import ListUtility


@dataclass(frozen=True)
class Schedule:
    """How the search goes on: samples, steps, descents that go on, and hops."""

    first_sample: int = (
        1 << 12
    )  # logs of at least twice so many pairs are learned from about so many first,
    growth: int = 8  # then from samples that grow by this factor
    largest_sample: int = 1 << 18  # to at most so many, then from all
    compared_on: int = 1 << 8  # starts are compared on at most twice so many pairs
    rough: float = 1e-5  # least relative fall of the objective that a step must promise while basins are compared,
    exact: float = 1e-9  # and on the whole log
    first_steps: int = 14  # the descents from all starts stop after so many steps,
    kept: int = 2  # and so many of the lowest go on, beside the hops
    rungs: Mapping[int, int] = field(
        default_factory=lambda: {8: 12, 12: 8}
    )  # from steps to descents that go on then
    rungs_of_hops: Mapping[int, int] = field(default_factory=lambda: {12: 10})
    rounds: int = 4  # how often one hops from ever lower ends
    sharper: tuple[float, ...] = (
        -0.7,
        0.7,
        -2.0,
        2.0,
    )  # hops: changes of the log sharpness of the lowest end,
    spreads: tuple[float, ...] = (
        0.5,
        1.0,
        0.3,
        0.7,
    )  # and, in turn, spreads of random changes of all curves
    random_hops: int = 4000  # the number of the latter times that of pairs,
    fewest_hops: int = 4  # with at least
    most_hops: int = 16  # and at most so many
    softened: tuple[float, ...] = (
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
    )  # falls of a sample's log sharpness, for a larger one
    near: float = 0.01  # ends go on if their objectives are within this share of the lowest
    apart: float = 0.05  # and a parameter differs by more than this,
    most_ends: int = 3  # but at most so many of them


SCHEDULE = Schedule()


@dataclass(frozen=True)
class Fit:
    """A model, the parameters found, shape (p,), their objective, and the last descent's steps and
    convergence.
    """

    model: Model
    theta: Floats
    objective: float
    n_iter: int
    converged: bool

    @property
    def curves(self) -> Curves:
        """Metric and judges."""
        return self.model.curves(self.theta)

    def utility(self, grade_names: tuple[str, ...] | None, notes: tuple[str, ...]) -> ListUtility:
        """Return the metric, with gains from 0 to 1 and discounts from 1."""
        curves, points = self.curves, self.model.points(self.theta[None])
        gains, discounts = curves.gains / curves.gains[-1], curves.discounts / curves.discounts[0]
        stops = np.zeros(len(gains)) if points.stops is None else points.stops[0]
        best = 0.0 if points.best is None else float(points.best[0])
        return ListUtility(gains, discounts, stops, best, grade_names, notes)


def fit(
    model: Model,
    judgements: JudgementSource,
    share: float,
    starts: Sequence[Floats],
    *,
    n_starts: int = 2,
    max_iter: int = 2000,
) -> Fit:
    """Descend from the best of several starts; the objective of the result is at most that of every
    descent.

    `share` is the factor of the loss: the number of independent judgements that a unit of weight
    counts for. `starts` holds groups of parameters, shape (S, p) each; `n_starts` of each group are
    descended from, in at most `max_iter` iterations. A long log is learned from samples that grow,
    and its start is where the last one ended.
    """
    steps = _steps(len(judgements))
    samples = [judgements.every(step) if step > 1 else judgements for step in steps]
    factors = [share * judgements.total_weight / sample.total_weight for sample in samples]
    objective = DirectObjective(model, samples[0], factors[0])
    thetas = _chosen(objective, starts, n_starts)
    ends = _searched(objective, thetas, max_iter, several=sum(map(len, starts)) > len(starts))
    grown = list(zip(samples[1:], factors[1:], strict=True))
    for sample, factor in counted(grown, len(grown), "larger samples"):
        objective = DirectObjective(model, sample, factor)
        thetas = np.array([_softened(objective, ends.theta[i]) for i in _distinct(ends)])
        tol = SCHEDULE.exact if sample is judgements else SCHEDULE.exact**0.5
        ends = descend(objective, thetas, model.bounds, max_iter=max_iter, tol=tol)
    return _fit_of(model, ends)


def warm_fit(
    model: Model,
    judgements: JudgementSource,
    share: float,
    starts: Sequence[Floats],
    *,
    max_iter: int = 2000,
) -> Fit:
    """Descend from each of a few starts near the optimum, over all judgements, and keep the best;
    see `fit`.
    """
    objective = DirectObjective(model, judgements, share)
    to_beat = np.inf if len(starts) > 1 else None
    ends = descend(
        objective,
        np.array(starts),
        model.bounds,
        max_iter=max_iter,
        tol=SCHEDULE.exact,
        to_beat=to_beat,
    )
    return _fit_of(model, ends)


def fit_from(
    near: Sequence[Floats] | None,
    starts_of: Callable[[], Sequence[Floats]],
    model: Model,
    judgements: JudgementSource,
    share: float,
    *,
    n_starts: int,
    max_iter: int,
    if_worse: bool,
) -> tuple[Fit, bool]:
    """Return the fit from `near`, or from all starts if there is none or (`if_worse`) these end
    lower; and which.
    """
    warm = None if near is None else warm_fit(model, judgements, share, near, max_iter=max_iter)
    if warm is not None and not if_worse:
        return warm, True
    starts = starts_of()
    if warm is not None:
        objective = DirectObjective(model, judgements, share)
        lowest = _chosen(objective, [np.concatenate(starts)], 1)  # of all starts, on a few pairs
        if warm.objective <= objective.values(lowest)[0]:
            return warm, True
    cold = fit(model, judgements, share, starts, n_starts=n_starts, max_iter=max_iter)
    return (warm, True) if warm is not None and warm.objective <= cold.objective else (cold, False)


def _steps(n: int) -> list[int]:
    """Return the strides of the samples that a log of n pairs is learned from, the last of which is
    1.
    """
    steps = [n // SCHEDULE.first_sample]
    while steps[-1] >= 2:
        steps.append(
            steps[-1] // SCHEDULE.growth
            if n * SCHEDULE.growth <= SCHEDULE.largest_sample * steps[-1]
            else 1
        )
    return [*(step for step in steps if step >= 2), 1]


def _chosen(objective: DirectObjective, starts: Sequence[Floats], n_starts: int) -> Floats:
    """Return the parameters of the lowest starts of each group, all evaluated in one pass over a
    few pairs.
    """
    step = len(objective.judgements) // SCHEDULE.compared_on
    if step >= 2:
        few = objective.judgements.every(step)
        factor = objective.judgements.total_weight / few.total_weight
        objective = DirectObjective(objective.model, few, objective.share * factor)
    values = np.split(
        objective.values(np.concatenate(starts)), np.cumsum([len(group) for group in starts])[:-1]
    )
    best = [np.argsort(value, kind="stable")[:n_starts] for value in values]
    return np.concatenate([group[i] for group, i in zip(starts, best, strict=True)])


def _softened(objective: DirectObjective, theta: Floats) -> Floats:
    """Return the parameters with the best of some lower sharpnesses: curves of a sample are less
    exact than it is.
    """
    sharp = objective.model.parts[2]
    thetas = np.tile(theta, (len(SCHEDULE.softened), 1))
    thetas[:, sharp] -= np.array(SCHEDULE.softened)[:, None]
    thetas = np.clip(thetas, *objective.model.bounds)
    best: Floats = thetas[np.argmin(objective.values(thetas))]
    return best


def _fit_of(model: Model, ends: Descents) -> Fit:
    i = ends.best
    if not np.isfinite(ends.local.value[i]):
        raise InputError(
            "the objective is not finite at any start: weights, strengths or the ridge are too large"
        )
    x = ends.theta[i]
    return Fit(model, x, float(ends.local.value[i]), int(ends.n_iter[i]), bool(ends.converged[i]))


def _searched(
    objective: DirectObjective, thetas: Floats, max_iter: int, *, several: bool
) -> Descents:
    """Descend, roughly at first, then from around the lowest as long as that leads lower; then to
    the end.
    """
    model = objective.model
    for softer in (3.0, 1.5) if model.kind == SIGMOID else ():  # flat far from the optimum
        blunt = replace(model, centre=model.centre - softer)
        thetas[:, model.parts[2]] = blunt.centre
        thetas = descend(
            replace(objective, model=blunt),
            thetas,
            blunt.bounds,
            max_iter=max_iter,
            tol=SCHEDULE.rough,
        ).theta
    if several:
        competing = partial(
            descend, objective, bounds=model.bounds, tol=SCHEDULE.rough, to_beat=np.inf
        )
        ends = competing(
            np.clip(thetas, *model.bounds),
            max_iter=min(SCHEDULE.first_steps, max_iter),
            rungs=SCHEDULE.rungs,
        )
        kept = ends.theta[np.lexsort((ends.local.value, ~ends.leads))[: SCHEDULE.kept]]
        rng = np.random.default_rng(0)
        for _ in range(SCHEDULE.rounds):
            hops = ends.theta[ends.best] + _hops(model, len(objective.judgements), rng)
            thetas = np.concatenate([kept, np.clip(hops, *model.bounds)])
            ends = competing(thetas, max_iter=max_iter, rungs=SCHEDULE.rungs_of_hops, spared=1)
            value = ends.local.value
            if (
                ends.led_from(0) == ends.best
                or not value[ends.best] < (1 - 10 * SCHEDULE.rough) * value[0]
            ):
                break
            kept = ends.theta[[ends.best]]
        thetas = ends.theta[_distinct(ends)]
    return descend(
        objective,
        np.clip(thetas, *model.bounds),
        model.bounds,
        max_iter=max_iter,
        tol=SCHEDULE.exact,
    )


def _hops(model: Model, n: int, rng: np.random.Generator) -> Floats:
    """Return changes of the parameters to hop from an end with, the more the fewer pairs there
    are.
    """
    n_random = min(max(SCHEDULE.random_hops // max(n, 1), SCHEDULE.fewest_hops), SCHEDULE.most_hops)
    hops = np.zeros((len(SCHEDULE.sharper) + n_random, model.parts[-1].stop))
    hops[: len(SCHEDULE.sharper), model.parts[2].start] = SCHEDULE.sharper
    random = hops[len(SCHEDULE.sharper) :, : model.parts[2].stop]
    random[:] = rng.normal(size=random.shape) * np.resize(SCHEDULE.spreads, n_random)[:, None]
    return hops


def _distinct(ends: Descents) -> list[int]:
    """Return the lowest end, and others that are not near it but so low that they may be lower on
    the whole log.
    """
    value = ends.local.value
    kept = [ends.best]
    for i in np.argsort(value, kind="stable"):
        apart = np.abs(ends.theta[kept] - ends.theta[i]).max(axis=1)
        if (
            value[i] <= value[kept[0]] + SCHEDULE.near * abs(value[kept[0]])
            and (apart > SCHEDULE.apart).all()
        ):
            kept.append(int(i))
    return kept[: SCHEDULE.most_ends]
