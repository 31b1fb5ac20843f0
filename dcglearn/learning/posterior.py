"""Posterior draws of a fit's gains, discounts and judges by a population of Markov chains.

A chain moves by the difference of two others (differential evolution, ter Braak 2006), so that
nothing is tuned to the log. Half of the chains start around the fit, half at textbook curves: noisy
logs have several basins.
"""

from dataclasses import dataclass, replace

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import CHUNK, MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Indices
from dcglearn.learning.dcg_model import DirectObjective
from dcglearn.learning.fit_dcg import FittedDCG
from dcglearn.learning.pair_loss import JudgedPairs, JudgementSource

STRAIGHTER = 2.0
"""Factor on the curvature prior during sampling.

Under the fit's own prior, most posterior mass lies on curves rougher than any in use.
"""

MOST_JUDGED = 1 << 13
"""Draws are from at most this many judgements: of a longer log from a sample by weight."""


@dataclass(frozen=True)
class ChainSchedule:
    """Numbers and moves of the chains."""

    n: int = 64
    warm_up: int = 250  # steps that are left out
    every: int = 10  # one in this many later steps is kept
    outlying: float = 2.0  # chains this many times p above the lowest are dropped in the warm-up
    jumps: float = 0.1  # share of moves by a whole difference, from basin to basin
    reach: float = 2.38  # scale of the other moves (ter Braak 2006, section 2)
    jitter: float = 1e-4  # standard deviation of what is added to each move


CHAINS = ChainSchedule()
"""The schedule of all chains."""


def posterior_draws(
    fitted: FittedDCG,
    theta: Floats,
    n_draws: int,
    random_state: int,
    dispersion: float = 1.0,
    most: int = MOST_JUDGED,
) -> Floats:
    """Return parameters drawn from the posterior of a model, shape (n_draws, p).

    `theta`, shape (p,), are those of its fit; judges' own deviations stay as fitted. A judgement
    counts as one, less where lists recur, and at most as ``1 / dispersion``. Of a log of more than
    `most` judgements a sample stands for all, whose judgements count for more, up to one
    each. If that is less than the log counts for, the draws are moved to the fit, and towards it by
    the root of the part: rather too wide.
    """
    rng = np.random.default_rng(random_state)
    model = replace(fitted.model, straighter=STRAIGHTER)
    judgements = _sample(fitted.judgements, most)

    # how much a judgement counts for, if the sample stands for all
    share = min(fitted.share, 1 / dispersion)
    for_all = share * fitted.judgements.total_weight / judgements.total_weight
    objective = DirectObjective(model, judgements, min(for_all, max(share, 1.0)))

    # curvature of the fitted DCG
    curvature = objective(theta[None]).dense[0]

    # repeated judgements are summed once
    objective = replace(objective, judgements=judgements.merged(in_order=True))

    starts = _starts(objective, theta, curvature, np.concatenate(fitted.starts), rng)
    draws = _chains(objective, starts, n_draws, rng)
    part = objective.share / for_all
    if part == 1:
        return draws
    return np.clip(theta + (draws - draws.mean(axis=0)) * part**0.5, *model.bounds)


def _sample(judgements: JudgementSource, size: int) -> JudgedPairs:
    """Return at most `size` judgements, at even steps of the total weight."""
    near = judgements.thinned(16 * size)
    if len(near) <= size:
        return near
    ends = np.cumsum(np.broadcast_to(near.weight, len(near)))
    steps = ends[-1] * (np.arange(size) + 0.5) / size
    rows, times = np.unique(np.searchsorted(ends, steps), return_counts=True)
    return replace(near.at(rows), weight=times.astype(np.float64))


def _chains(
    objective: DirectObjective, points: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return the last draws of chains that start at points, shape (C, p); shape (n_draws, p)."""
    low, high = objective.model.bounds
    n, half = CHAINS.n, CHAINS.n // 2
    free = np.flatnonzero(np.ptp(points, axis=0) > 0)
    values = _values(objective, points)
    kept = []
    n_steps = CHAINS.warm_up + CHAINS.every * -(-n_draws // n)
    for step in counted(range(n_steps), n_steps, "posterior"):
        # outlying chains continue from others
        if step == CHAINS.warm_up // 2:
            near = np.flatnonzero(values <= values.min() + CHAINS.outlying * len(free))
            chosen = np.where(np.isin(np.arange(n), near), np.arange(n), rng.choice(near, n))
            points, values = points[chosen], values[chosen]

        # each half moves by differences of the other, reflected at the bounds
        for moving, still in ((slice(half), half), (slice(half, n), 0)):
            trial = points[moving] + _moves(points[still : still + half], free, rng)
            below, above = trial < low, trial > high
            trial = np.where(below, 2 * low - trial, trial)
            trial = np.where(above, 2 * high - trial, trial)
            inside = ((trial >= low) & (trial <= high)).all(axis=1)

            # accept by Metropolis's rule
            there = np.where(inside, _values(objective, np.clip(trial, low, high)), np.inf)
            taken = np.flatnonzero(-rng.exponential(size=half) < values[moving] - there)
            points[moving][taken], values[moving][taken] = trial[taken], there[taken]

        if step >= CHAINS.warm_up and step % CHAINS.every == 0:
            kept.append(points.copy())
    return np.concatenate(kept)[-n_draws:]


def _values(objective: DirectObjective, points: Floats) -> Floats:
    """Return the objective at points, shape (B, p), which threads share."""
    n = len(points)
    n_parts = min(MAX_CHUNKS, n, -(-n * len(objective.judgements) // CHUNK))
    parts = in_chunks(lambda _, start, stop: objective.values(points[start:stop]), n, n_parts)
    return np.concatenate(parts)


def _starts(
    objective: DirectObjective,
    theta: Floats,
    curvature: Floats,
    known: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Return starts of the chains, shape (C, p): around a fit, and the best of those known."""
    model = objective.model
    half = CHAINS.n // 2
    n_known = len(known)
    n_common = model.places.own_errors.start
    around, others = (np.tile(theta, (n, 1)) for n in (half, n_known))

    # draws around the fit; the symmetric root does not depend on the signs of eigenvectors
    values, vectors = np.linalg.eigh(curvature)
    root = vectors / np.sqrt(np.maximum(values, 1.0)) @ vectors.T
    around[:, :n_common] += rng.normal(size=(half, n_common)) @ root

    # known curves
    others[:, :n_common] = known[:, :n_common]

    around, others = (np.clip(points, *model.bounds) for points in (around, others))
    order = np.argsort(_values(objective, others), kind="stable")
    return np.concatenate([around, others[order[: CHAINS.n - half]]])


def _moves(others: Floats, free: Indices, rng: np.random.Generator) -> Floats:
    """Return moves of as many chains: multiples of differences of others, where they are free."""
    # two different others for each move
    n = len(others)
    first = rng.integers(0, n, n)
    second = (first + rng.integers(1, n, n)) % n
    difference = others[first] - others[second]

    # a whole difference now and then, else about half of one over the root of the dimension
    jumps = rng.random(n) < CHAINS.jumps
    near = CHAINS.reach / np.sqrt(2 * len(free)) * rng.uniform(0.5, 1.1, n)
    scale = np.where(jumps, 1.0, near)

    moves = np.zeros(others.shape)
    jitter = CHAINS.jitter * rng.normal(size=(n, len(free)))
    moves[:, free] = scale[:, None] * difference[:, free] + jitter
    return moves


def dispersion(fitted: FittedDCG, cluster: Indices, random_state: int) -> float:
    """Return how many times the slopes vary more by cluster than by judgement, at least 1.

    `cluster`, shape (n,), numbers the cluster of each judgement. Both variances are those of sums
    over 64 random groups of clusters, in units of the curvature: the magnitude adjustment of
    Ribatet, Cooley and Davison (2012).
    """
    rng = np.random.default_rng(random_state)
    n_groups = 64

    # units in which the curvature is 1
    curvature = fitted(fitted.theta[None]).dense[0]
    values, vectors = np.linalg.eigh(curvature)
    root = vectors / np.sqrt(np.maximum(values, 1e-6 * values.max()))

    # variance of the total slope, by clusters and by judgements
    variances = []
    for of_judgement in (cluster, np.arange(len(cluster))):
        groups = rng.permutation(np.arange(of_judgement.max() + 1) % n_groups)
        slopes = _slopes(fitted, groups[of_judgement])[:, : len(root)] @ root
        variances.append(float(len(slopes) * slopes.var(axis=0, ddof=1).sum()))
    return max(variances[0] / variances[1], 1.0)


def _slopes(fitted: FittedDCG, group: Indices) -> Floats:
    """Return the slopes of each group's loss at the fit, shape (G, p)."""
    judgements = fitted.judgements
    theta = fitted.theta
    weight = np.broadcast_to(judgements.weight, len(judgements))
    of_prior = fitted.model.prior.at(theta[None])[1][0]
    slopes = []
    for g in range(group.max() + 1):
        part = replace(judgements, weight=np.where(group == g, weight, 0.0))
        whole = replace(fitted, judgements=part).with_gradient(theta)[1]
        slopes.append(whole - of_prior)
    return np.array(slopes)
