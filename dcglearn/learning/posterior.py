"""Posterior draws of a fit's gains, discounts and judges, and how far judgements are dependent.

The draws are a population that went from the prior to the log (`evidence`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dcglearn.foundation.validation import Floats, Indices
from dcglearn.learning.curves import Model
from dcglearn.learning.evidence import free_population, sampled
from dcglearn.learning.fit import Fit
from dcglearn.learning.pairs import SLOPES, Points
from dcglearn.metrics.judges import JudgeDraws

FEW, MANY = 256, 384
"""Members of the populations behind draws, each of which gives four of them at most."""

JUDGED = 6_000
"""Draws are from about so many judgements: of a log of twice as many from a sample by weight."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the parameters of a model, `thetas`, shape (B, p), from what a log allows."""

    thetas: Floats
    model: Model

    @classmethod
    def of(
        cls,
        fit: Fit,
        n_draws: int,
        random_state: int,
        dispersion: float = 1.0,
        n_judged: int = JUDGED,
    ) -> Self:
        """Draw from the posterior of a fit.

        Raters' own deviations stay as fitted. A judgement counts as one, less where lists recur,
        and at most as ``1 / dispersion``. Of a long log a sample of about `n_judged` stands for
        all, whose judgements count for more, up to one each. If that is less than the log counts
        for, the draws are moved to the fit, and towards it by the root of the part: rather too
        wide.
        """
        # how much a judgement counts for
        function = replace(fit.function, share=min(fit.function.share, 1 / dispersion))
        sample = sampled(function, n_judged)

        n = FEW if n_draws <= 4 * FEW else MANY
        draws, _ = free_population(sample, np.random.default_rng(random_state), n)
        draws = draws[np.linspace(0, len(draws) - 1, n_draws).round().astype(int)]
        part = sample.share * sample.pairs.total_weight
        part /= function.share * function.pairs.total_weight
        if part < 1 - 1e-9:
            moved = fit.theta + (draws - draws.mean(axis=0)) * part**0.5
            draws = np.clip(moved, *function.model.bounds)
        return cls(draws, fit.model)

    def dcgs(self) -> tuple[Floats, Floats]:
        """Return gains up to 1, shape (B, L), and discounts from 1, shape (B, K)."""
        return self._points.scaled

    @property
    def powers(self) -> Floats | None:
        """The powers of lengths, shape (B,); None where they are all 0."""
        return self._points.powers if self._points.powers.any() else None

    def judges(self) -> JudgeDraws:
        """Return the draws as a metric's file holds them, with judges in the unit of `dcgs`."""
        points, n = self._points, len(self.thetas)
        return JudgeDraws(
            *self.dcgs(),
            scale=points.discounts[:, 0] * points.gains[:, -1],
            tie_threshold=points.thresholds[:, 1] if self.model.ties else np.zeros(n),
            error_rate=points.errors.mean(axis=1),
            bias=points.biases.mean(axis=1),
            powers=points.powers,
        )

    @cached_property
    def _points(self) -> Points:
        return self.model.points(self.thetas)


def dispersion(fit: Fit, cluster: Indices, random_state: int) -> float:
    """Return how many times the slopes vary more by cluster than by judgement, at least 1.

    `cluster`, shape (n,), numbers the cluster of each judgement. Both variances are those of sums
    over 64 random groups of clusters, in units of the curvature: the magnitude adjustment of
    Ribatet, Cooley and Davison (2012).
    """
    rng = np.random.default_rng(random_state)
    n_groups = 64

    # units in which the curvature is 1
    values, vectors = np.linalg.eigh(fit.hessian)
    root = vectors / np.sqrt(np.maximum(values, 1e-6 * values.max()))

    # variance of the total slope, by clusters and by judgements
    variances = []
    for of_judgement in (cluster, np.arange(len(cluster))):
        groups = rng.permutation(np.arange(of_judgement.max() + 1) % n_groups)
        slopes = _slopes(fit, groups[of_judgement]) @ root
        variances.append(float(len(slopes) * slopes.var(axis=0, ddof=1).sum()))
    return max(variances[0] / variances[1], 1.0)


def _slopes(fit: Fit, group: Indices) -> Floats:
    """Return the slopes of each group's loss at the fit, shape (G, p)."""
    function, theta = fit.function, fit.theta[None]
    parts = [fit.pairs.at(np.flatnonzero(group == g)) for g in range(group.max() + 1)]
    slopes = [replace(function, pairs=part).at(theta, SLOPES).gradient[0] for part in parts]
    return np.array(slopes) - function.model.prior.at(theta)[1]
