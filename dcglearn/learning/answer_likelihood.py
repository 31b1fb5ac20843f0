"""The likelihood of answers to questions that were each asked with one list: logistic, with a
difficulty by question.

An answer from a list of utility u is right with probability ``sigma(u + b)``, where the question's
b is normal, with mean mu and standard deviation tau. Gauss-Hermite quadrature integrates b out; mu
and tau are the best at every u.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from dcglearn.foundation.validation import Floats, Grades
from dcglearn.learning.judgement_kernel import CURVATURE, VALUE
from dcglearn.learning.list_kernel import fill_factors, fill_values, spread_slopes
from dcglearn.learning.pair_loss import JudgedPairs, LossSums, Points, with_unknown

NODES = 48
"""Nodes of the quadrature: the log likelihood of a question with 10 answers is exact to 1e-3 up to
tau = 2.
"""

SPREADS = np.array([5.0, 1.0])
"""Standard deviations of the priors of mu and log tau around 0: single answers say little of tau.
"""


@dataclass(frozen=True)
class JudgedAnswers:
    """Comparisons within questions; of the others the lists, sums of how right answers are, and
    numbers of answers.
    """

    pairs: JudgedPairs
    lists: Grades
    right: Floats
    count: Floats

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points, as `JudgedPairs.sums` does; the curvature is that of the
        profile.
        """
        sums = self.pairs.sums(points, kind, order)
        n, depth, n_grades = sums.moment.shape
        tables = (
            with_unknown(points.gains),
            points.discounts,
            np.zeros((n, n_grades + 1)),
            np.zeros(n),
        )
        values, factors = (
            np.empty((n, len(self.lists))),
            np.zeros((n, len(self.lists), n_grades + depth)),
        )
        fill_values(self.lists, *tables, values)
        local = [profiled(row, self.right, self.count) for row in values]
        sums.loss[:] -= [value for value, *_ in local]
        if order > VALUE:
            moment, slopes = (
                np.zeros((n, depth, n_grades + 1)),
                np.array([-slope for _, slope, *_ in local]),
            )
            spread_slopes(self.lists, slopes, *tables, moment, np.zeros((n, 0)), np.zeros(n))
            sums.moment[:] += moment[:, :, 1:]
        if order == CURVATURE:
            fill_factors(self.lists, *tables[:2], factors)
            size = factors.shape[2]
            for b, (_, _, curvature, across, inner) in enumerate(local):
                shared = factors[b].T @ across
                plain = (factors[b].T * curvature) @ factors[b]
                sums.joint[b, :size, :size] -= plain - shared @ np.linalg.solve(inner, shared.T)
        return sums


def profiled(
    utility: Floats, right: Floats, count: Floats
) -> tuple[float, Floats, Floats, Floats, Floats]:
    """Return the log likelihood with the best mu and tau: its value, slopes in the utilities, and
    second derivatives.

    These are in the utilities, (n,), in them and (mu, log tau), (n, 2), and in (mu, log tau), (2,
    2), with the prior.
    """
    share = (right.sum() + 0.5) / (count.sum() + 1)
    at = np.array([np.log(share / (1 - share)) - utility.mean(), 0.0])
    value, (gradient, *derivatives) = integrated(utility, right, count, at)
    for _ in range(100):
        curvatures, axes = np.linalg.eigh(derivatives[-1])
        step = axes @ (axes.T @ gradient / np.maximum(np.abs(curvatures), 1e-9))
        step *= min(1.0, 1 / max(float(np.abs(step).max()), 1e-300))
        while (there := integrated(utility, right, count, at + step))[0] < value and np.abs(
            step
        ).max() > 1e-9:
            step /= 2
        at, (value, (gradient, *derivatives)) = at + step, there
        if np.abs(step).max() <= 1e-8:
            break
    slope, curvature, across, inner = derivatives
    return value, slope, curvature, across, inner


def integrated(
    utility: Floats, right: Floats, count: Floats, at: Floats
) -> tuple[float, list[Floats]]:
    """Return the log likelihood with the prior at (mu, log tau), its gradient there and derivatives
    as `profiled`.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    spread = np.exp(at[1]) * nodes
    logit = utility[:, None] + at[0] + spread
    logs = np.log(weights / weights.sum()) + right[:, None] * log_expit(logit)
    logs += (count - right)[:, None] * log_expit(-logit)
    top = logs.max(axis=1, keepdims=True)
    posterior = np.exp(logs - top)
    total = posterior.sum(axis=1, keepdims=True)
    chance = expit(logit)
    first = right[:, None] - count[:, None] * chance
    second = first**2 - count[:, None] * chance * (1 - chance)
    columns = first, first * spread, second, second * spread, second * spread**2 + first * spread
    slope, of_tau, curvature, with_tau, in_tau = (
        (posterior * values / total).sum(axis=1) for values in columns
    )
    curvature, with_tau, in_tau = (
        curvature - slope**2,
        with_tau - slope * of_tau,
        in_tau - of_tau**2,
    )
    across = np.column_stack([curvature, with_tau])
    inner = np.array([across.sum(axis=0), [with_tau.sum(), in_tau.sum()]]) - np.diag(SPREADS**-2)
    value = float((np.log(total) + top).sum() - 0.5 * np.sum((at / SPREADS) ** 2))
    return value, [
        np.array([slope.sum(), of_tau.sum()]) - at / SPREADS**2,
        slope,
        curvature,
        across,
        inner,
    ]
