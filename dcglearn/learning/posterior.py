"""Draws of gains, discounts and judges from the posterior of a direct fit, by a population of
Markov chains.

A chain moves by the difference of two others (differential evolution, ter Braak 2006), so that
nothing is tuned to the log. Half of the chains start around the fit, half at textbook curves: noisy
logs have several basins.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import CHUNK, MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats
from dcglearn.learning.direct_fit import DirectObjective
from dcglearn.learning.fit_direct import FittedDCG
from dcglearn.learning.listed_judgements import ListedJudgements
from dcglearn.learning.pair_loss import JudgedPairs, JudgementSource

STRAIGHTER = 2.0
"""The prior on curvatures is this many times stronger than in a fit. The fit is where the posterior
is highest; draws are where most of it is, and under the fit's prior that is among curves that bend
more than any in use."""

CHAINS, WARM_UP, EVERY = 64, 250, 10
"""Number of chains, steps that are left out, and one in how many steps is kept."""

JUMPS, REACH, JITTER = 0.1, 2.38, 1e-4
"""Share of the moves by a whole difference, which lead from basin to basin; scale of the others
(ter Braak 2006, section 2); spread of what is added to each."""

OUTLYING = 2.0
"""Chains whose value is this many times p above the lowest, halfway through the warm-up, go on from
others.
"""

FURTHER = 0.2
"""Spread of the further parameters of the starts around the fit."""

MOST_JUDGED = 1 << 13
"""Draws are from at most so many judgements: of longer logs from a sample in which heavy ones are
more often.
"""

GROUPS = 64
"""Clusters of judgements are put into so many groups, whose slopes say how much they depend on each
other.
"""


def posterior_draws(
    fitted: FittedDCG, theta: Floats, n_draws: int, seed: int, dispersion: float = 1.0
) -> Floats:
    """Return parameters drawn from the posterior of a model, shape (n_draws, p).

    `theta`, shape (p,), are those of its fit; judges' own deviations stay as fitted. A judgement
    counts as one, less where lists recur, and at most as ``1 / dispersion``. Of a log of more than
    `MOST_JUDGED` judgements a sample stands for all, whose judgements count for more, up to one
    each. If that is less than the log counts for, the draws are moved to the fit, and towards it by
    the root of the part: rather too wide.
    """
    rng = np.random.default_rng(seed)
    model = replace(fitted.model, straighter=STRAIGHTER)
    judgements = _sample(fitted.judgements, MOST_JUDGED)
    share = min(fitted.share, 1 / dispersion)
    for_all = share * fitted.judgements.total_weight / judgements.total_weight
    objective = DirectObjective(model, judgements, min(for_all, max(share, 1.0)))
    dense = replace(objective, model=replace(model, form="dcg"))(
        theta[None, : model.places.further.start]
    ).dense[0]
    listed = ListedJudgements.of(judgements)
    if model.form != "dcg" or len(listed.lists) < len(judgements):
        objective = replace(objective, judgements=listed.merged())
    draws = _chains(
        objective,
        _starts(objective, theta, dense, np.concatenate(fitted.starts), rng),
        n_draws,
        rng,
    )
    part = objective.share / for_all
    return (
        draws
        if part == 1
        else np.clip(theta + (draws - draws.mean(axis=0)) * part**0.5, *model.bounds)
    )


def _sample(judgements: JudgementSource, size: int) -> JudgedPairs:
    """Return the judgements, or if they are more than `size` those at as many even steps of their
    total weight.
    """
    near = judgements.every(max(len(judgements) // (16 * size), 1))
    if len(near) <= size:
        return near
    ends = np.cumsum(np.broadcast_to(near.weight, len(near)))
    at, times = np.unique(
        np.searchsorted(ends, ends[-1] * (np.arange(size) + 0.5) / size), return_counts=True
    )
    return replace(near.at(at), weight=times.astype(np.float64))


def _chains(
    objective: DirectObjective, points: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return the last draws of chains that start at points, shape (CHAINS, p); shape (n_draws,
    p).
    """
    (low, high), half = objective.model.bounds, CHAINS // 2
    free = np.flatnonzero(np.ptp(points, axis=0) > 0)
    values, kept = _values(objective, points), []
    n_steps = WARM_UP + EVERY * -(-n_draws // CHAINS)
    for step in counted(range(n_steps), n_steps, "posterior"):
        if step == WARM_UP // 2:
            near = np.flatnonzero(values <= values.min() + OUTLYING * len(free))
            chosen = np.where(
                np.isin(np.arange(CHAINS), near), np.arange(CHAINS), rng.choice(near, CHAINS)
            )
            points, values = points[chosen], values[chosen]
        for moving, still in ((slice(half), half), (slice(half, CHAINS), 0)):
            trial = points[moving] + _moves(points[still : still + half], free, rng)
            trial = np.where(
                trial < low, 2 * low - trial, np.where(trial > high, 2 * high - trial, trial)
            )
            inside = ((trial >= low) & (trial <= high)).all(axis=1)
            there = np.where(inside, _values(objective, np.clip(trial, low, high)), np.inf)
            taken = np.flatnonzero(-rng.exponential(size=half) < values[moving] - there)
            points[moving][taken], values[moving][taken] = trial[taken], there[taken]
        if step >= WARM_UP and step % EVERY == 0:
            kept.append(points.copy())
    return np.concatenate(kept)[-n_draws:]


def _values(objective: DirectObjective, points: Floats) -> Floats:
    """Return the objective at points, shape (B, p), which threads share."""
    n_parts = min(MAX_CHUNKS, len(points), -(-len(points) * len(objective.judgements) // CHUNK))
    parts = in_chunks(
        lambda _, start, stop: objective.values(points[start:stop]), len(points), n_parts
    )
    return np.concatenate(parts)


def _starts(
    objective: DirectObjective,
    theta: Floats,
    dense: Floats,
    known: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Return starts of the chains, shape (CHAINS, p): around a fit of this curvature, and the best
    of those known.
    """
    model, half, n_known = objective.model, CHAINS // 2, len(known)
    judges, n_further = model.places.own_errors.start, model.places.sizes[-1]
    values, vectors = np.linalg.eigh(dense)
    around, others = (np.tile(theta, (n, 1)) for n in (half, n_known))
    root = (
        vectors / np.sqrt(np.maximum(values, 1.0)) @ vectors.T
    )  # the same whatever the signs of the vectors
    around[:, :judges] += rng.normal(size=(half, judges)) @ root
    around[:, model.places.further] += FURTHER * rng.normal(size=(half, n_further))
    others[:, :judges], others[:, model.places.further] = (
        known[:, :judges],
        rng.random((n_known, n_further)),
    )
    around, others = (np.clip(points, *model.bounds) for points in (around, others))
    return np.concatenate(
        [around, others[np.argsort(_values(objective, others), kind="stable")[: CHAINS - half]]]
    )


def _moves(others: Floats, free: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """Return a move for each of as many chains: a multiple of the difference of two others, in the
    free parameters.
    """
    n = len(others)
    first = rng.integers(0, n, n)
    second = (first + rng.integers(1, n, n)) % n
    scale = np.where(
        rng.random(n) < JUMPS, 1.0, REACH / np.sqrt(2 * len(free)) * rng.uniform(0.5, 1.1, n)
    )
    moves = np.zeros(others.shape)
    difference = others[first] - others[second]
    moves[:, free] = scale[:, None] * difference[:, free] + JITTER * rng.normal(size=(n, len(free)))
    return moves


def dispersion(fitted: FittedDCG, cluster: NDArray[np.intp], seed: int) -> float:
    """Return how many times more the slopes of the loss vary by cluster than by judgement, at least
    1.

    `cluster`, shape (n,), numbers the cluster of each judgement. Both variances are those of sums
    over `GROUPS` random groups, in units of the curvature: the magnitude adjustment of Ribatet,
    Cooley and Davison (2012).
    """
    rng = np.random.default_rng(seed)
    curvature = DirectObjective(fitted.model, fitted.judgements, fitted.share)(
        fitted.theta[None]
    ).dense[0]
    values, vectors = np.linalg.eigh(curvature)
    root = vectors / np.sqrt(np.maximum(values, 1e-6 * values.max()))
    both = []
    for of in (cluster, np.arange(len(cluster))):
        sums = (
            _slopes(fitted, rng.permutation(np.arange(of.max() + 1) % GROUPS)[of])[:, : len(root)]
            @ root
        )
        both.append(
            float(len(sums) * sums.var(axis=0, ddof=1).sum())
        )  # the variance of their total
    return max(both[0] / both[1], 1.0)


def _slopes(fitted: FittedDCG, group: NDArray[np.intp]) -> Floats:
    """Return the slopes of each group's loss at the fit, shape (G, p)."""
    judgements, theta, model = fitted.judgements, fitted.theta, fitted.model
    weight = np.broadcast_to(judgements.weight, len(judgements))
    of_prior = model.prior.at(theta[None])[1][0]
    parts = (
        replace(judgements, weight=np.where(group == g, weight, 0.0))
        for g in range(group.max() + 1)
    )
    return np.array(
        [
            DirectObjective(model, part, fitted.share).with_gradient(theta)[1] - of_prior
            for part in parts
        ]
    )
