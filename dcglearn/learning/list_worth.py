"""The worth of each list that recurs, as a shrunken estimate with its error: from ratings, or from judged pairs.

Both models say that a list is worth what the sum over its grades and positions says, plus something of its own:
``theta ~ N(X beta, tau^2 I)``. How large the second part is, is estimated from the log (empirical Bayes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades

STEPS = 20
"""Iterations of the variances of rated lists, and of Newton's method for judged ones."""

ROUNDS = 5
"""Rounds in which the levels of groups and the worth of lists are estimated in turn."""

SHRINK = 1e-3
"""Ridge of the regression on the indicators, as a share of the mean of the Gram matrix's diagonal."""

TOLERANCE = 1e-8
"""Newton's method ends where no entry of a step is larger."""

OWN_SCALES = (0.1, 0.3, 0.9)
"""Standard deviations of what a judged list is worth beyond the sum, in logits, among which the evidence chooses."""

SUM_SCALES = (0.5, 2.0)
"""Standard deviations of the entries of the sum, in logits, among which the evidence chooses."""


@dataclass(frozen=True, eq=False)
class Worth:
    """Estimated worth of L lists: `mean`, shape (L,), and `covariance`, shape (L, L), or (L,) where it is diagonal."""

    mean: Floats
    covariance: Floats

    def difference(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the mean and the variance of the difference of lists, shape (n,) each."""
        covariance = self.covariance
        variance = covariance if covariance.ndim == 1 else np.diag(covariance)
        total = variance[first] + variance[second]
        if covariance.ndim == 2:
            total = np.maximum(total - 2 * covariance[first, second], 0)
        return self.mean[first] - self.mean[second], total

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n draws of the worth of all lists, shape (n, L)."""
        noise = rng.standard_normal((n, len(self.mean)))
        if self.covariance.ndim == 1:
            return self.mean + noise * np.sqrt(self.covariance)
        values, vectors = np.linalg.eigh(self.covariance)
        return self.mean + (noise * np.sqrt(np.maximum(values, 0))) @ vectors.T


def indicators(lists: Grades) -> Floats:
    """Return whether each list has each grade but the worst at each position, and a constant; shape (L, p)."""
    grades = range(1, int(lists.max(initial=0)) + 1)
    columns = [lists == grade for grade in grades]
    table = np.hstack([*columns, np.ones((len(lists), 1), dtype=bool)])
    return table[:, table.any(axis=0)].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Variances:
    """Variance of the ratings of one list (`within`), and of the worth of lists around the sum (`between`)."""

    within: float
    between: float


@dataclass(frozen=True, eq=False)
class RatedLists:
    """Lists that were rated in groups.

    `group` and `list` number the group and the list of each of the N rated lists, `score` holds the score of each of R
    ratings, shape (R,), and `indicators` those of the lists, shape (L, p).
    """

    group: NDArray[np.intp]
    list: NDArray[np.intp]
    score: Floats
    indicators: Floats

    def worth(self, counts: Floats, variances: Variances | None = None) -> tuple[Worth, Variances]:
        """Return the shrunken mean score of each list, and the variances, which are estimated if not given.

        `counts` says how often each rated list got each rating, shape (N, R). Scores count from the level of their
        group, and a rating in a group of m tells as much as 1 - 1/m ratings whose group is known.
        """
        number, n_lists = counts.sum(axis=1), len(self.indicators)
        row_mean = counts @ self.score / np.maximum(number, 1e-12)
        size = np.bincount(self.group, number)
        informed = number * (1 - 1 / np.maximum(size, 1))[self.group]
        n = np.bincount(self.list, informed, n_lists).astype(np.float64)
        worth = Worth(np.zeros(n_lists), np.zeros(n_lists))
        for _ in range(ROUNDS if len(size) > 1 else 1):
            above = number * (row_mean - worth.mean[self.list])
            level = np.bincount(self.group, above) / np.maximum(size, 1e-12)
            own = informed * (row_mean - level[self.group])
            y = np.bincount(self.list, own, n_lists) / np.maximum(n, 1e-12)
            if variances is None:
                residual = self.score - (level[self.group] + y[self.list])[:, None]
                freedom = max(counts.sum() - (n > 0).sum() - len(level) + 1, 1.0)
                variances = self._variances(y, n, max(float((counts * residual**2).sum() / freedom), 1e-12))
            worth = self._shrunken(y, n, variances)
        assert variances is not None
        return worth, variances

    def _shrunken(self, y: Floats, n: Floats, variances: Variances) -> Worth:
        """Shrink the means of n scores to their regression on the indicators."""
        precision = n / (variances.between * n + variances.within)
        kept = variances.between * precision
        expected = self._expected(y, precision)
        return Worth(expected + kept * (y - expected), variances.between * (1 - kept))

    def _expected(self, y: Floats, precision: Floats) -> Floats:
        gram = (self.indicators * precision[:, None]).T @ self.indicators
        gram += SHRINK * np.trace(gram) / len(gram) * np.eye(len(gram))
        return self.indicators @ np.linalg.solve(gram, self.indicators.T @ (precision * y))

    def _variances(self, y: Floats, n: Floats, within: float) -> Variances:
        """Estimate the variance between lists by EM."""
        seen, between = n > 0, within
        for _ in range(STEPS):
            worth = self._shrunken(y, n, Variances(within, between))
            own = worth.mean - self._expected(y, n / (between * n + within))
            between = max(float((own**2 + worth.covariance)[seen].mean()), 1e-9 * within)
        return Variances(within, between)


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """Lists that were judged in pairs; `better`, `worse` number the two lists of each pair, shape (n,).

    The model is that of Bradley and Terry: P(first preferred) = sigma(theta_first - theta_second).
    """

    better: NDArray[np.intp]
    worse: NDArray[np.intp]
    indicators: Floats

    def worth(self, weight: Floats, scales: tuple[float, float] | None = None) -> tuple[Worth, tuple[float, float]]:
        """Return the worth of each list under the prior with these standard deviations: of the sum, of lists.

        Without `scales` those with the largest evidence (by Laplace's approximation) are taken. `weight` says how
        often each pair was judged so, shape (n,).
        """
        if scales is not None:
            return self._posterior(weight, *scales)[0], scales
        choices = [(of_sum, own) for of_sum in SUM_SCALES for own in OWN_SCALES]
        fits = [self._posterior(weight, *choice) for choice in choices]
        best = int(np.argmax([evidence for _, evidence in fits]))
        return fits[best][0], choices[best]

    def _posterior(self, weight: Floats, of_sum: float, own: float) -> tuple[Worth, float]:
        """Return the posterior of the worth of lists by Laplace's approximation, and the logarithm of its evidence."""
        n_lists = len(self.indicators)
        prior = of_sum**2 * self.indicators @ self.indicators.T + own**2 * np.eye(n_lists)
        mean = np.zeros(n_lists)
        for _ in range(STEPS):
            wrong = expit(mean[self.worse] - mean[self.better])
            slope = self._sums(weight * wrong, -weight * wrong)
            curvature = self._curvature(weight * wrong * (1 - wrong))
            # The Newton step (K^-1 + H)^-1 (H m + g) without the inverse of K: K (I + H K)^-1.
            system = np.eye(n_lists) + curvature @ prior
            new = prior @ np.linalg.solve(system, curvature @ mean + slope)
            step, mean = float(np.abs(new - mean).max(initial=0)), new
            if step < TOLERANCE:
                break
        covariance = prior @ np.linalg.inv(system)
        difference = mean[self.better] - mean[self.worse]
        penalty = mean @ np.linalg.solve(prior, mean)
        log_likelihood = -float(weight @ np.logaddexp(0, -difference))
        evidence = float(log_likelihood - 0.5 * penalty - 0.5 * np.linalg.slogdet(system)[1])
        return Worth(mean, (covariance + covariance.T) / 2), evidence

    def _sums(self, of_better: Floats, of_worse: Floats) -> Floats:
        n = len(self.indicators)
        both = np.bincount(self.better, of_better, n) + np.bincount(self.worse, of_worse, n)
        return both.astype(np.float64)

    def _curvature(self, weight: Floats) -> Floats:
        """Return the Hessian of the pairs' loss, shape (L, L)."""
        n = len(self.indicators)
        table = np.bincount(self.better * n + self.worse, weight, n * n).reshape(n, n)
        both = table + table.T
        return np.diag(both.sum(axis=0)) - both
