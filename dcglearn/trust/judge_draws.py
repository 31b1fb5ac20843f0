"""Judges of a learned metric, and draws of both from the posterior of a log.

The draws are a population that went from the prior to the log (`learning.evidence`).
"""

import logging
from dataclasses import replace

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import EMPTY, Floats, Indices
from dcglearn.learning.evidence import free_population, sampled
from dcglearn.learning.fit import Fit
from dcglearn.learning.pairs import SLOPES
from dcglearn.logs.thinning import SAMPLE
from dcglearn.metrics.judges import JudgeDraws, Judges
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.resampling import is_whole

_LOG = logging.getLogger(__name__)

FEW, MANY = 256, 384
"""Members of the populations behind draws, each of which gives four of them at most."""

JUDGED = 6_000
"""Draws are from about so many judgements: of a log of twice as many from a sample by weight."""


LEAST_LEFT = 1 / 3
"""Least share of the variance between clusters that a fit is taken to leave."""


def with_judges(fit: Fit, log: Preferences) -> Fit:
    """Return a fit whose metric knows its judges."""
    sample = log.thinned(SAMPLE)
    lists = np.concatenate([sample.preferred, sample.other])
    grades = np.unique(lists)
    gaps = np.abs(sample.gaps(fit.metric))
    judges = Judges(
        scale=fit.scale,
        tie_threshold=fit.tie_threshold,
        error_rate=fit.error_rate,
        bias=fit.position_bias,
        chose=log.ratings is None,
        # what the log holds
        n_judgements=round(fit.pairs.total_weight),
        largest=float(gaps.max(initial=0.0)),
        grades=tuple(grades[grades >= 0].tolist()),
        depth=int(np.flatnonzero((lists > EMPTY).any(axis=0)).max(initial=-1)) + 1,
    )
    return replace(fit, dcg=replace(fit.dcg, judges=judges))


def posterior_of(
    log: Preferences, fit: Fit, unit: str, n: int, random_state: int, n_judged: int = JUDGED
) -> JudgeDraws:
    """Return n draws from the posterior of a fit to a log, whose units are independent.

    They are from about `n_judged` judgements, see `drawn`; judges are in the unit of the metric.
    """
    with one_blas_thread():
        # how much the judgements of a unit depend on each other
        used, apart = fit.facts.log, 1.0
        assert used is not None, "a fit to a log in memory"
        if unit not in ("pair", "list"):
            apart = dispersion(fit, used.clusters(unit)[0], random_state)

        # weights that are no counts: one judgement each, however much it weighs (Kish 1965)
        weight = np.ones(1) if log.weight is None else log.weight
        if log.ratings is None and not is_whole(weight):
            apart *= max(float(weight @ weight / weight.sum()), 1.0)

        _LOG.info(
            "%d draws of the posterior by %s, which count %.2f times less than alone",
            n,
            unit,
            apart,
        )
        points = fit.model.points(drawn(fit, n, random_state, apart, n_judged))

    return JudgeDraws(
        *points.scaled,
        scale=points.discounts[:, 0] * points.gains[:, -1],
        tie_threshold=points.thresholds[:, 1],
        error_rate=points.errors.mean(axis=1),
        bias=points.biases.mean(axis=1),
        powers=points.powers,
    )


def drawn(
    fit: Fit, n: int, random_state: int, dispersion: float = 1.0, n_judged: int = JUDGED
) -> Floats:
    """Return n draws of the parameters from the posterior of a fit, shape (n, p).

    Raters' own deviations stay as fitted. A judgement counts as one, less where lists recur, and at
    most as ``1 / dispersion``. Of a long log a sample of about `n_judged` stands for all, whose
    judgements count for more, up to one each. If that is less than the log counts for, the draws
    are moved to the fit, and towards it by the root of the part: rather too wide.
    """
    # how much a judgement counts for
    function = replace(fit.function, share=min(fit.function.share, 1 / dispersion))
    sample = sampled(function, n_judged)

    n_members = FEW if n <= 4 * FEW else MANY
    draws, _ = free_population(sample, np.random.default_rng(random_state), n_members)
    draws = draws[np.linspace(0, len(draws) - 1, n).round().astype(int)]
    part = sample.share * sample.pairs.total_weight
    part /= function.share * function.pairs.total_weight
    if part < 1 - 1e-9:
        moved = fit.theta + (draws - draws.mean(axis=0)) * part**0.5
        draws = np.clip(moved, *function.model.bounds)
    return draws


def dispersion(fit: Fit, cluster: Indices, random_state: int) -> float:
    """Return how many times curves vary more by cluster than by judgement, at least 1.

    `cluster`, shape (n,), numbers the cluster of each judgement. Both variances are those of the
    changes of the curves, to first order, by 256 random groups of clusters, in units of their
    covariance: the magnitude adjustment of Ribatet, Cooley and Davison (2012). A fit bends to the
    few clusters that it is made of: with k free directions it takes about k / G of the variance
    between G clusters (Bell and McCaffrey 2002), which is added here.
    """
    rng = np.random.default_rng(random_state)
    n_groups = 256

    # the directions of the curves in which their covariance is 1
    inverse = np.linalg.pinv(fit.hessian)
    curves = np.delete(np.arange(len(inverse)), fit.model.of_judges)
    values, vectors = np.linalg.eigh(inverse[np.ix_(curves, curves)])
    root = inverse[:, curves] @ (vectors / np.sqrt(np.maximum(values, 1e-6 * values.max())))

    # variance of the total change, by clusters and by judgements
    variances = []
    for of_judgement in (cluster, np.arange(len(cluster))):
        groups = rng.permutation(np.arange(of_judgement.max() + 1) % n_groups)
        changes = _slopes(fit, groups[of_judgement]) @ root
        variances.append(float(len(changes) * changes.var(axis=0, ddof=1).sum()))

    # judgements that are all alike do not tell how they vary
    if variances[1] <= 1e-9 * np.square(changes).sum():
        return 1.0

    # what the fit has taken of that between clusters; large ones count as several
    size = np.bincount(cluster)
    n_clusters = size.sum() ** 2 / (size @ size)
    of_prior = fit.model.prior.at(fit.theta[None], curved=True)[2][0]
    n_free = np.trace(inverse @ (fit.hessian - of_prior))
    left = max(1 - n_free / n_clusters, LEAST_LEFT)
    return max(variances[0] / variances[1] / left, 1.0)


def _slopes(fit: Fit, group: Indices) -> Floats:
    """Return the slopes of each group's loss at the fit, shape (G, p)."""
    function, theta = fit.function, fit.theta[None]
    parts = [fit.pairs.at(np.flatnonzero(group == g)) for g in range(group.max() + 1)]
    slopes = [replace(function, pairs=part)(theta, SLOPES).gradient[0] for part in parts]
    return np.array(slopes) - function.model.prior.at(theta)[1]
