"""The evidence of a log for free curves and for fixed metrics, and draws of the curves.

The evidence of a model is the probability of the log, averaged over the model's prior. A population
goes from the prior to the log (sequential Monte Carlo: Del Moral, Doucet and Jasra 2006): its
members are draws from the posterior in the end, from all basins by their mass. Free curves have all
parameters; fixed metrics, of which one is the metric, those of the judges alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dcglearn.foundation.threads import CHUNK, MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Indices
from dcglearn.learning.model import log_metric
from dcglearn.learning.objective import FitObjective
from dcglearn.learning.pairs import SLOPES, SMALL, VALUE
from dcglearn.learning.search import descend
from dcglearn.metrics.dcg import DCG

FIRST = 64
"""Judgements that come first; then twice as many each time."""

KEPT = 0.5
"""Effective share of the population that a step of the temperature keeps."""

SWEEPS = 4
"""Moves by differences after each step, before one along the slopes."""

SNAPSHOTS = 4
"""Populations that are returned, with moves between them."""

JUMPS = 0.1
"""Share of moves by a whole difference, from basin to basin."""

REACH = 2.38
"""Scale of the other moves (ter Braak 2006, section 2)."""

JITTER = 1e-4
"""Standard deviation of what is added to each move."""

LEAPS, LEAP = 5, 0.9
"""Steps of a move along the slopes; their length, times the fourth root of the number of
parameters.
"""

DIGITS = 4
"""Decimals of members that move along slopes: else the least rounding error, another on each
processor, grows until draws are as of another seed.
"""

JUDGED = 3_000
"""Judgements of the sample that stands for a long log, at least; fewer than twice as many."""

LEAST_CURVATURE = 0.1
"""Curvatures of the objective below this count as this: the prior's are rarely smaller."""


def sampled(objective: FitObjective, n: int = JUDGED) -> FitObjective:
    """Return the objective on about `n` distinct judgements, at least n and fewer than 2n.

    They count for as much as all; those of a sample at most for one each on average, or as much as
    in the whole. Of few judgements, equal ones are summed and all are sorted, so that draws are the
    same however they come.
    """
    pairs = objective.pairs.thinned(SMALL // 2).merged().thinned(n)
    sample, one_each = objective.on(pairs), len(pairs) / pairs.total_weight
    return replace(sample, share=min(sample.share, max(objective.share, one_each)))


def free_population(
    objective: FitObjective, rng: np.random.Generator, n: int = 256, *, draws: bool = True
) -> tuple[Floats, float]:
    """Return draws of the parameters from the posterior, (S, p), and the log evidence.

    Where no `draws` are wanted, the population stops where it comes to the whole log. Parameters
    beyond the bounds have the likelihood of the nearest within.
    """
    model = objective.model

    def thetas(x: Floats) -> Floats:
        return np.clip(x, *model.bounds)

    target = _Target(objective, model.prior.at, thetas, smooth=draws)
    members = target.rounded(model.prior.draw(n, rng))
    population, log_evidence = _annealed(target, members, rng)
    return thetas(population), log_evidence


def fixed_population(
    objective: FitObjective,
    metrics: Sequence[DCG],
    shares: Floats,
    rng: np.random.Generator,
    n: int = 256,
) -> tuple[Floats, float]:
    """Return the probabilities of fixed metrics, (M,), and the log evidence of all together.

    One of them is the metric, with probabilities in proportion to `shares`, (M,), before the log
    is seen. Members have the parameters of the judges and, last, a place among the metrics, which
    repeat with the period 1.
    """
    # the metrics' parameters, and those of the judges
    model, judges = objective.model, objective.model.of_judges
    curves = np.array([log_metric(dcg, falling=model.falling) for dcg in metrics])
    known = model.with_metrics(np.zeros(model.places.n), curves)
    ends = np.cumsum(shares / shares.sum())

    # their prior
    linear = model.prior.linear[:, judges]
    scale = np.linalg.norm(linear, axis=0)
    mean = model.prior.centres @ linear / scale**2
    drawn = mean + rng.normal(size=(n, len(judges))) / scale

    def prior(x: Floats) -> tuple[Floats]:
        return (0.5 * (((x[:, :-1] - mean) * scale) ** 2).sum(axis=1),)

    def which(x: Floats) -> Indices:
        return np.searchsorted(ends[:-1], x[:, -1] % 1, side="right")

    def thetas(x: Floats) -> Floats:
        thetas = known[which(x)]
        thetas[:, judges] = x[:, :-1]
        return np.clip(thetas, *model.bounds)

    target = _Target(objective, prior, thetas)
    x = np.column_stack([drawn, rng.random(n)])
    population, log_evidence = _annealed(target, x, rng)
    return np.bincount(which(population), minlength=len(metrics)) / n, log_evidence


def laplace_evidence(objective: FitObjective, theta: Floats) -> float:
    """Return the log evidence of free curves by Laplace's approximation at the optimum near theta.

    A population tells too little if it has missed the narrow optimum of many clear judgements; this
    does if there are other optima, or walls.
    """
    ends = descend(objective, theta[None], objective.model.bounds)
    values = np.linalg.eigvalsh(ends.local.hessian[0])
    log_volume = 0.5 * np.log(2 * np.pi / np.maximum(values, LEAST_CURVATURE)).sum()

    # raters' deviations are held: their cost is no part of the evidence
    model = objective.model
    return float(model.cost_of_judges - ends.value + log_volume - model.prior.log_normaliser)


@dataclass(frozen=True)
class _Target:
    """What a population goes to: a prior times the likelihood of a log, in two parts.

    `prior` gives minus the log density of members, shape (B, q), up to a constant, and, if it is
    `smooth`, its slopes; `thetas` gives their parameters, which are the members within bounds then.
    """

    objective: FitObjective
    prior: Callable[[Floats], tuple[Floats, ...]]
    thetas: Callable[[Floats], Floats]
    smooth: bool = False
    parts: Sequence[FitObjective] = ()

    def rounded(self, x: Floats) -> Floats:
        """Return members that move along slopes with few decimals."""
        return np.round(x, DIGITS) if self.smooth else x

    def costs(self, x: Floats) -> Floats:
        """Return minus the log prior and minus the log likelihood of both parts, (B, 3)."""

        def of_members(x: Floats) -> Floats:
            inside = self.thetas(x)
            points = self.objective.model.points(inside)
            losses = [part.add_loss(inside, points, VALUE) for part in self.parts]
            return np.column_stack([self.prior(x)[0], *losses])

        return self._in_chunks(of_members, x)

    def slopes(self, x: Floats, mix: Floats) -> Floats:
        """Return the slopes of the costs, which count `mix` times, shape (3,): (B, q)."""

        def of_members(x: Floats) -> Floats:
            inside, of_log = self.thetas(x), np.zeros_like(x)
            points = self.objective.model.points(inside)
            for times, part in zip(mix[1:], self.parts, strict=True):
                replace(part, share=times * part.share).add_loss(inside, points, SLOPES, of_log)
            return self.prior(x)[1] + np.where(inside == x, of_log, 0.0)

        return self._in_chunks(of_members, x)

    def _in_chunks(self, of_members: Callable[[Floats], Floats], x: Floats) -> Floats:
        """Return values of members; threads share only what takes far longer than their start."""
        n, n_judged = len(x), sum(len(part.pairs) for part in self.parts)
        n_chunks = min(MAX_CHUNKS, n, -(-n * n_judged // (8 * CHUNK)))
        chunks = in_chunks(lambda _, start, stop: of_members(x[start:stop]), n, n_chunks)
        return np.concatenate(chunks)


def _annealed(target: _Target, x: Floats, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return a population that has gone from the prior to the log, and the log evidence.

    The n members, x, shape (n, q), with n even, are draws from the prior. The log comes in parts
    that grow, each with its likelihood tempered in steps that keep half of the population; after
    each step members move. Those of a smooth target move on, and several populations are returned
    as one.
    """
    # parts of the log that grow, in random order
    pairs: Any = target.objective.pairs
    order = rng.permutation(len(pairs))
    sizes = [len(pairs)]
    while sizes[0] > FIRST:
        sizes.insert(0, sizes[0] // 2)

    evidence = 0.0
    for done, size in pairwise([0, *sizes]):
        rows = np.sort(order[:done]), np.sort(order[done:size])
        parts = [replace(target.objective, pairs=pairs.at(part)) for part in rows]
        target = replace(target, parts=parts)
        now, beta = target.costs(x), 0.0
        while beta < 1:
            # as far towards these judgements as keeps enough of the population
            step, log_mean, chosen = _tempered(-now[:, 2], 1 - beta, rng)
            beta = 1.0 if step == 1 - beta else beta + step
            evidence += log_mean

            # move at this temperature
            x, now = x[chosen], now[chosen]
            mix = np.array([1.0, 1.0, beta])
            _move(x, now, target, mix, rng)

    populations = [x]
    while target.smooth and len(populations) <= SNAPSHOTS:
        x = x.copy()
        _move(x, now, target, mix, rng)
        populations.append(x)
    return np.concatenate(populations[-SNAPSHOTS:]), evidence


def _tempered(gain: Floats, room: float, rng: np.random.Generator) -> tuple[float, float, Indices]:
    """Return the step of the temperature, the log mean of the weights, and who is kept.

    `gain` is by how much the log likelihoods of members, (n,), rise over the `room` that is left.
    """
    # the largest step that keeps enough
    n = len(gain)
    steps = room * np.append(np.geomspace(1e-4, 0.97, 60), 1.0)
    weights = np.exp(np.outer(steps, gain - gain.max()))
    effective = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    i = int(np.flatnonzero(effective >= KEPT * n).max(initial=0))

    # members in proportion to their weights, at even steps
    ends = np.cumsum(weights[i])
    marks = ends[-1] * (np.arange(n) + rng.random()) / n
    chosen = rng.permutation(np.searchsorted(ends, marks))
    return steps[i], np.log(weights[i].mean()) + steps[i] * gain.max(), chosen


def _move(x: Floats, now: Floats, target: _Target, mix: Floats, rng: np.random.Generator) -> None:
    """Move a population, (n, q), each half by what the other is; update its costs.

    The costs of the prior and of both parts count `mix` times, shape (3,).

    Moves by differences of members (differential evolution, ter Braak 2006) go from basin to basin,
    one along the slopes (Hamiltonian Monte Carlo, Neal 2011) far within a basin, also a narrow one.
    """
    half, p = len(x) // 2, x.shape[1]
    halves = (slice(half), slice(half, None)), (slice(half, None), slice(half))

    def take(moving: slice, trial: Floats, change: Floats | float = 0.0) -> None:
        # accept by Metropolis's rule
        trial = target.rounded(trial)
        there = target.costs(trial)
        rise = (there - now[moving]) @ mix
        taken = rng.exponential(size=half) > rise + change
        x[moving][taken], now[moving][taken] = trial[taken], there[taken]

    for moving, still in SWEEPS * halves:
        # pairs of the other half
        one = rng.integers(0, half, half)
        two = (one + rng.integers(1, half, half)) % half
        scale = REACH / np.sqrt(2 * p) * rng.uniform(0.3, 1.1, (half, 1))
        scale[rng.random(half) < JUMPS] = 1.0
        trial = x[moving] + scale * (x[still][one] - x[still][two])
        take(moving, trial + JITTER * rng.normal(size=trial.shape))

    for moving, still in halves if target.smooth else ():
        # leapfrog, in units of the spread of the other half
        unit = np.linalg.cholesky(np.cov(x[still].T) + JITTER**2 * np.eye(p))
        length = LEAP / p**0.25 * rng.uniform(0.3, 1.2, (half, 1))
        trial, speed = x[moving], rng.normal(size=(half, p))
        energy = 0.5 * (speed**2).sum(axis=1)
        speed -= length / 2 * (target.slopes(trial, mix) @ unit)
        for leap in range(LEAPS):
            trial = trial + length * (speed @ unit.T)
            part = 1 if leap < LEAPS - 1 else 0.5
            speed -= part * length * (target.slopes(trial, mix) @ unit)
        take(moving, trial, 0.5 * (speed**2).sum(axis=1) - energy)
