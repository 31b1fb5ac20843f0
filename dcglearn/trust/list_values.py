"""Values of lists that recur, shrunken and with errors: from ratings, or from judged pairs.

Both models say that a list is worth the sum over its grades and positions plus something of its
own: ``theta ~ N(X beta, tau^2 I)``. A log of few lists tells tau only roughly: draws of the values
of lists are over its likely sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import softmax

from dcglearn.foundation.validation import Floats, Grades, Indices
from dcglearn.learning.judgement_kernel import log_chances
from dcglearn.learning.minimise import minimised_by_newton

OWN_RATIOS = np.geomspace(0.03, 3.0, 14)
"""Standard deviations of what a rated list is worth beyond the sum, over that of ratings, among
which is averaged.
"""

SCALES = tuple((of_sum, own) for of_sum in (0.5, 2.0) for own in (0.1, 0.3, 0.9))
"""Standard deviations, in logits, of the entries of the sum and of what a judged list is worth
beyond it, among which is averaged.
"""


@dataclass(frozen=True, eq=False)
class ListValues:
    """Estimated values of L lists.

    `mean` has shape (L,), `covariance` (L, L), or (L,) where it is diagonal; `shared`, shape (L,
    q), adds the covariance ``shared shared^T`` of errors that lists have in common.
    """

    mean: Floats
    covariance: Floats
    shared: Floats | None = None

    def difference(self, first: Indices, second: Indices) -> tuple[Floats, Floats]:
        """Return the mean and the variance of the difference of lists, shape (n,) each."""
        # of each list
        covariance = self.covariance
        variance = covariance if covariance.ndim == 1 else np.diag(covariance)
        total = variance[first] + variance[second]

        # less what the two have in common
        if covariance.ndim == 2:
            total = np.maximum(total - 2 * covariance[first, second], 0)
        if self.shared is not None:
            total = total + ((self.shared[first] - self.shared[second]) ** 2).sum(axis=1)
        return self.mean[first] - self.mean[second], total

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n draws of the values of all lists, shape (n, L)."""
        noise = rng.standard_normal((n, len(self.mean)))
        if self.covariance.ndim == 1:
            drawn = self.mean + noise * np.sqrt(self.covariance)
            if self.shared is None:
                return drawn
            return drawn + rng.standard_normal((n, self.shared.shape[1])) @ self.shared.T
        values, vectors = np.linalg.eigh(self.covariance)
        return self.mean + (noise * np.sqrt(np.maximum(values, 0))) @ vectors.T


@dataclass(frozen=True, eq=False)
class Posterior:
    """The values of lists under several settings of the model.

    `chances`, shape (m,), holds the probabilities of the settings.
    """

    values: Sequence[ListValues]
    chances: Floats

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n draws of the values of all lists, shape (n, L)."""
        times = rng.multinomial(n, self.chances).tolist()
        settings = zip(self.values, times, strict=True)
        return np.vstack([values.draws(k, rng) for values, k in settings if k])


def indicators(lists: Grades) -> Floats:
    """Return indicators of the lists' grades at each position, and a constant; shape (L, p).

    A column is 1 where a list has one of the grades above the worst at one position. Columns of
    zeros are left out.
    """
    columns = [lists == grade for grade in range(1, int(lists.max(initial=0)) + 1)]
    table = np.hstack([*columns, np.ones((len(lists), 1), dtype=bool)])
    return table[:, table.any(axis=0)].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Variances:
    """Variance of ratings of a list (`within`), and of list values around the sum (`between`)."""

    within: float
    between: float


@dataclass(frozen=True, eq=False)
class RatedLists:
    """Lists that were rated in groups.

    `group` and `list` number the group and the list of each of the N rated lists, `score` holds the
    score of each of R ratings, shape (R,), and `indicators` those of the lists, shape (L, p).
    """

    group: Indices
    list: Indices
    score: Floats
    indicators: Floats

    def posterior(self, counts: Floats) -> tuple[Posterior, Variances]:
        """Return the posterior of the values of lists, and the expected variances.

        The values are under several variances between lists. `counts`, shape (N, R), says how often
        each rated list got each rating; the prior of the deviation is flat.
        """
        y, n, variances = self._mean_scores(counts, None)
        choices, chances = self._variances_between(y, n, variances.within)
        values = [self._shrunken(y, n, Variances(variances.within, between)) for between in choices]
        return Posterior(values, chances), variances

    def estimated(self, counts: Floats, variances: Variances) -> ListValues:
        """Return the shrunken mean score of each list."""
        return self._shrunken(*self._mean_scores(counts, variances)[:2], variances)

    def _mean_scores(
        self, counts: Floats, variances: Variances | None
    ) -> tuple[Floats, Floats, Variances]:
        """Return each list's mean score, its effective number of ratings, and the variances.

        Scores count from the level of their group, and a rating in a group of m tells as much as 1
        - 1/m ratings whose group is known. Levels and the values of lists are estimated in turn,
        and the variances if None.
        """
        # how many ratings of a known group each rated list is worth
        number = counts.sum(axis=1)
        n_lists = len(self.indicators)
        row_mean = counts @ self.score / np.maximum(number, 1e-12)
        size = np.bincount(self.group, number)
        informed = number * (1 - 1 / np.maximum(size, 1))[self.group]
        n = np.bincount(self.list, informed, n_lists).astype(np.float64)
        mean = np.zeros(n_lists)
        for _ in range(5 if len(size) > 1 else 1):
            # levels of groups, then mean scores above them
            above = number * (row_mean - mean[self.list])
            level = np.bincount(self.group, above) / np.maximum(size, 1e-12)
            own = informed * (row_mean - level[self.group])
            y = np.bincount(self.list, own, n_lists) / np.maximum(n, 1e-12)

            # variances, then the values of lists
            spread = variances or self._variances(counts, level, y, n)
            mean = self._shrunken(y, n, spread).mean
        return y, n, spread

    def _variances(self, counts: Floats, level: Floats, y: Floats, n: Floats) -> Variances:
        """Return the expected variances, given levels of groups and mean scores of lists."""
        residual = self.score - (level[self.group] + y[self.list])[:, None]
        freedom = max(counts.sum() - (n > 0).sum() - len(level) + 1, 1.0)
        within = max(float((counts * residual**2).sum() / freedom), 1e-12)
        choices, chances = self._variances_between(y, n, within)
        return Variances(within, float(chances @ np.sqrt(choices)) ** 2)

    def _shrunken(self, y: Floats, n: Floats, variances: Variances) -> ListValues:
        """Shrink the means of n scores to their regression on the indicators.

        All lists share the regression's error.
        """
        precision = n / (variances.between * n + variances.within)
        kept = variances.between * precision
        expected, lower = self._expected(y, precision)
        shared = solve_triangular(lower, ((1 - kept)[:, None] * self.indicators).T, lower=True).T
        return ListValues(expected + kept * (y - expected), variances.between * (1 - kept), shared)

    def _expected(self, y: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """Fit the regression of mean scores on the indicators.

        Return its value for each list, and the Cholesky factor of the coefficients' precision.
        """
        # a small ridge, as a share of the mean of the diagonal
        table = self.indicators
        gram = (table * precision[:, None]).T @ table
        gram += 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
        expected: Floats = table @ np.linalg.solve(gram, table.T @ (precision * y))
        return expected, np.linalg.cholesky(gram).astype(np.float64, copy=False)

    def _variances_between(self, y: Floats, n: Floats, within: float) -> tuple[Floats, Floats]:
        """Return possible variances between lists, and their probabilities.

        The probabilities follow from the restricted likelihood.
        """
        choices: Floats = within * OWN_RATIOS**2
        seen = n > 0
        evidence = []
        for between in choices:
            precision = n / (between * n + within)
            expected, lower = self._expected(y, precision)
            fit = np.log(precision[seen]).sum() - precision @ (y - expected) ** 2
            evidence.append(fit / 2 - np.log(np.diag(lower)).sum())

        # the grid is even on the logarithmic scale
        chances: Floats = softmax(np.array(evidence) + np.log(OWN_RATIOS))
        return choices, chances


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """Lists that were judged in pairs, under the model of Bradley and Terry.

    `better` and `worse`, shape (n,), number the lists of each pair.
    """

    better: Indices
    worse: Indices
    indicators: Floats

    def posterior(self, weight: Floats) -> tuple[Posterior, tuple[float, float]]:
        """Return the values of lists under several priors, and the scales of the best prior.

        The scales are the standard deviations of the sum and of lists around it. `weight` says how
        often each pair was judged so, shape (n,). Priors are as probable as their evidence.
        """
        fits = [self._posterior(weight, *scales) for scales in SCALES]
        values, evidence = zip(*fits, strict=True)
        return Posterior(values, softmax(np.array(evidence))), SCALES[int(np.argmax(evidence))]

    def estimated(
        self, weight: Floats, scales: tuple[float, float], start: Floats | None = None
    ) -> ListValues:
        """Return the value of each list under the prior with these scales.

        The scales are the standard deviations of the sum and of lists around it.
        """
        return self._posterior(weight, *scales, start)[0]

    def _posterior(
        self, weight: Floats, of_sum: float, own: float, start: Floats | None = None
    ) -> tuple[ListValues, float]:
        """Return Laplace's approximation of the values' posterior, and its log evidence."""
        n_lists = len(self.indicators)
        table = self.indicators
        ratio = (own / of_sum) ** 2

        # the inverse of the prior covariance of_sum^2 X X' + own^2 I, by Woodbury's identity
        inner = table.T @ table + ratio * np.eye(table.shape[1])
        precision = (np.eye(n_lists) - table @ np.linalg.solve(inner, table.T)) / own**2

        def loss(values: Floats) -> tuple[float, Floats, Floats]:
            """Return minus the log posterior up to a constant, with its slope and Hessian."""
            logs, wrong, _ = log_chances(values[self.better] - values[self.worse], 0.0)
            push = weight * wrong
            pull = precision @ values
            slope = np.bincount(self.better, push, n_lists) - np.bincount(self.worse, push, n_lists)
            hessian = precision + self._curvature(push * (1 - wrong))
            return float(values @ pull / 2 - weight @ logs), pull - slope, hessian

        # the values that are most probable
        first = np.zeros(n_lists) if start is None else start
        best = minimised_by_newton(loss, first, max_iter=20, longest=np.inf)

        # a normal posterior has the Hessian as its precision
        _, _, hessian = loss(best.x)
        covariance = np.linalg.inv(hessian)

        # the evidence is narrowed by the log determinants of posterior and prior precision
        of_prior = len(inner) * np.log(ratio) - 2 * n_lists * np.log(own)
        narrowed = sum(np.linalg.slogdet(x)[1] for x in (hessian, inner)) - of_prior
        evidence = -best.value - float(narrowed) / 2
        return ListValues(best.x, (covariance + covariance.T) / 2), evidence

    def _curvature(self, weight: Floats) -> Floats:
        """Return the Hessian of the pairs' loss, shape (L, L)."""
        n = len(self.indicators)
        table = np.bincount(self.better * n + self.worse, weight, n * n).reshape(n, n)
        both = table + table.T
        return np.diag(both.sum(axis=0)) - both
