"""The logistic likelihood of answers to questions that were each asked with one list.

An answer from a list of utility u is right with probability ``sigma(u + b)``, where the question's
difficulty b is normal, with mean mu and standard deviation tau. Gauss-Hermite quadrature integrates
b out; mu and tau are the best at every u.
"""

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, frozen
from dcglearn.learning.judgement_kernel import log_chances
from dcglearn.learning.list_kernel import list_factors, list_slopes, list_values
from dcglearn.learning.objective import Local
from dcglearn.learning.pairs import CURVATURE, VALUE, LossSums, Pairs, Points
from dcglearn.learning.search import descend

SPREADS = np.array([5.0, 1.0])
"""Standard deviations of the priors of mu and log tau around 0: single answers say little of tau.
"""


LIMITS = np.array([-1e3, -9.0]), np.array([1e3, 9.0])
"""Bounds of mu and log tau, which their priors keep far from these."""


Derivatives: TypeAlias = tuple[float, Floats, Floats, Floats, Floats, Floats]
"""A log likelihood, with the prior of mu and tau, and its derivatives.

The slopes are in (mu, log tau), (2,), and in n utilities, (n,); the second derivatives are in the
utilities, (n,), in them and (mu, log tau), (n, 2), and in (mu, log tau), (2, 2).
"""


@dataclass(frozen=True)
class JudgedAnswers:
    """Comparisons within questions, and single answers: list, sum of how right, and number."""

    pairs: Pairs
    lists: Grades
    right: Floats
    count: Floats

    def __len__(self) -> int:
        return len(self.pairs) + len(self.lists)

    def sums(self, points: Points, order: int) -> LossSums:
        """Return the losses at the points, as `Pairs.sums`, with the profile's curvature."""
        sums = self.pairs.sums(points, order)
        tables = points.tables

        # the best mu and tau at each point
        values = list_values(self.lists, *tables)
        profiles = [profiled(row, self.right, self.count) for row in values]
        sums.loss[:] -= [value for value, *_ in profiles]

        # slopes in gains and discounts
        if order > VALUE:
            of_values = np.array([-slope for _, _, slope, *_ in profiles])
            factors = list_factors(self.lists, *tables)
            size, n_grades = factors.shape[2], points.gains.shape[1]
            sums.slopes[:, :size] += (of_values[:, None, :] @ factors)[:, 0]

        # second derivatives, less what mu and tau make up for
        if order == CURVATURE:
            moment = list_slopes(self.lists, of_values, n_grades)
            sums.joint[:, :n_grades, n_grades:size] += moment.transpose(0, 2, 1)
            sums.joint[:, n_grades:size, :n_grades] += moment
            for b, (_, _, _, curvature, across, inner) in enumerate(profiles):
                plain = (factors[b].T * curvature) @ factors[b]
                shared = factors[b].T @ across
                made_up = shared @ np.linalg.solve(inner, shared.T)
                sums.joint[b, :size, :size] -= plain - made_up
        return sums


def profiled(utility: Floats, right: Floats, count: Floats) -> Derivatives:
    """Return the log likelihood with the best mu and tau, and its derivatives there."""

    def loss(at: Floats) -> Local:
        value, gradient, *_, inner = integrated(utility, right, count, at[0])
        return Local(-np.array([value]), -gradient[None], -inner[None])

    # from the mu of the share of right answers
    share = (right.sum() + 0.5) / (count.sum() + 1)
    start = np.array([[np.log(share / (1 - share)) - utility.mean(), 0.0]])
    best = descend(loss, start, LIMITS, tol=1e-16).theta[0]
    return integrated(utility, right, count, best)


def integrated(utility: Floats, right: Floats, count: Floats, at: Floats) -> Derivatives:
    """Return the log likelihood with the prior at (mu, log tau), and its derivatives."""
    nodes, log_weights = _quadrature()
    spread = np.exp(at[1]) * nodes
    logit = utility[:, None] + at[0] + spread

    # log likelihood of each question at each node; log(1 - sigma(x)) = log(sigma(x)) - x
    log_right, wrong_chance, _ = log_chances(logit.ravel(), 0.0)
    wrong = (count - right)[:, None]
    logs = log_weights + count[:, None] * log_right.reshape(logit.shape)
    logs -= wrong * logit

    # posterior of the nodes
    top = logs.max(axis=1, keepdims=True)
    posterior = np.exp(logs - top)
    total = posterior.sum(axis=1, keepdims=True)
    posterior /= total

    # mean derivatives in the logit, and with log tau
    chance_wrong = wrong_chance.reshape(logit.shape)
    first = count[:, None] * chance_wrong - wrong
    second = first**2 - count[:, None] * chance_wrong * (1 - chance_wrong)
    columns = first, first * spread, second, second * spread, second * spread**2 + first * spread
    slope, of_tau, curvature, with_tau, in_tau = (
        (posterior * values).sum(axis=1) for values in columns
    )

    # second derivatives of the logarithm of the integral
    curvature = curvature - slope**2
    with_tau = with_tau - slope * of_tau
    in_tau = in_tau - of_tau**2
    across = np.column_stack([curvature, with_tau])
    inner = np.array([across.sum(axis=0), [with_tau.sum(), in_tau.sum()]]) - np.diag(SPREADS**-2)

    # with the prior
    value = float((np.log(total) + top).sum() - 0.5 * np.sum((at / SPREADS) ** 2))
    gradient = np.array([slope.sum(), of_tau.sum()]) - at / SPREADS**2
    return value, gradient, slope, curvature, across, inner


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Return nodes of a standard normal, and the logarithms of their weights, shape (48,) each.

    With 48 nodes, 10 answers to a question have their log likelihood to 1e-3 up to tau = 2.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(48)
    return frozen(nodes), frozen(np.log(weights / weights.sum()))
