"""One frame of held-out values: a column a pair, a row a metric learned without the pair.

The values are whether a metric respects the pair and, by a link from differences to probabilities,
how likely it makes the preference.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dcglearn.foundation.intervals import Clusters, mean_and_error
from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, Indices
from dcglearn.learning.judgement_kernel import log_chances
from dcglearn.learning.minimise import minimised
from dcglearn.logs.preference_pairs import Metric, PreferencePairs

Rows = Indices
"""Numbers of pairs."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Values of M metrics on n held-out pairs.

    `rows`, shape (n,), are the pairs' places in their log, `weight`, shape (n,), their weights, and
    `clusters` number the independent unit of the two lists of each pair. `values`, shape (1 or 2,
    M, n), are `right` and, if there are two, the log probability of each verdict.
    """

    rows: Rows
    weight: Floats
    clusters: Clusters
    values: Floats

    @classmethod
    def of(cls, log: PreferencePairs, unit: str | None, rows: Rows, values: Floats) -> Self:
        """Return the values of these rows of a log."""
        first, second = log.clusters(unit)
        return cls(rows, log.weights[rows], (first[rows], second[rows]), values)

    @property
    def right(self) -> Floats:
        """How far each metric respects each pair, shape (M, n): 1, 1/2 for its ties, or 0."""
        return self.values[0]

    def means(self) -> Floats:
        """Return the mean of each value by metric, shape (1 or 2, M)."""
        return self.values @ self.weight / self.weight.sum()

    def shares(self, rows: Rows) -> Floats:
        """Return the shares of some of the pairs that the metrics respect, shape (M,)."""
        weight = self.weight[rows]
        return self.right[:, rows] @ weight / weight.sum()

    def means_and_errors(self) -> tuple[Floats, Floats, int]:
        """Return the means and their standard errors, shape (1 or 2, M) each, and the units."""
        return mean_and_error(self.values, self.weight, self.clusters)

    def leads(self) -> tuple[Floats, Floats, int]:
        """Return the means minus the first metric's, their standard errors, and the units."""
        return replace(self, values=self.values - self.values[:, :1]).means_and_errors()


def held_out_frame(
    log: PreferencePairs,
    unit: str | None,
    folds: Sequence[tuple[Rows, Rows]],
    of_folds: Iterable[Floats | None],
    title: str = "",
) -> HeldOut | None:
    """Return the values of the pairs that folds hold out, means where several do; None without any.

    `of_folds` are each fold's values of the pairs that it holds out, learned from the others: NaN
    or None where there is nothing to learn or to compare. `title` names the progress, none if it is
    empty.
    """
    sums, times = np.zeros((0, 0, 0)), np.zeros(len(log))
    of_folds = counted(of_folds, len(folds) if title else 0, title)
    for (_, test), values in zip(folds, of_folds, strict=True):
        if values is None:
            continue
        if not sums.size:
            sums = np.zeros((*values.shape[:2], len(log)))

        # add the values of pairs that have some
        valued = ~np.isnan(values[0, 0])
        sums[..., test[valued]] += values[..., valued]
        times[test[valued]] += 1
    rows = np.flatnonzero(times)
    return HeldOut.of(log, unit, rows, sums[..., rows] / times[rows]) if len(rows) else None


def respected(log: PreferencePairs, metric: Metric) -> Floats:
    """Return how far a metric respects each pair, shape (n,): 1, 1/2 for its ties, or 0.

    A metric of M scores for each list has values of shape (M, n).
    """
    return (log.verdicts(metric) + 1) / 2


def held_out_values(metric: Metric, train: PreferencePairs, test: PreferencePairs) -> Floats:
    """Return how far a metric respects each held-out pair, and its log probability, (2, n)."""
    # differences of training pairs in units of their root mean square
    trained = train.gaps(metric)
    weight = train.weights
    weight = weight / weight.sum()
    unit = max(float(np.sqrt(np.average(trained**2, weights=weight))), 1e-12)

    def loss(link: Floats) -> tuple[float, Floats]:
        log_chance, slopes = _log_chances(link, trained / unit)
        return -float(weight @ log_chance), -slopes @ weight

    # the link of the training pairs, on the held-out ones
    link = minimised(loss, np.array([0.0, -2.0]), (-10.0, 10.0)).x
    return np.stack([respected(test, metric), _log_chances(link, test.gaps(metric) / unit)[0]])


def _log_chances(link: Floats, difference: Floats) -> tuple[Floats, Floats]:
    """Return log probabilities of preferences, (n,), and their slopes in the link, (2, n).

    The link is the log of the sharpness and the logit of the error rate, between 1%, so that no
    preference is certain, and 50%.
    """
    from scipy.special import expit

    least = 0.01
    share = float(expit(link[1]))
    error = least + (0.5 - least) * share
    z = np.exp(link[0]) * difference
    log_chance, of_z, of_error = log_chances(z, error)
    of_logit = (error - least) * (1 - share) * of_error
    return log_chance, np.stack([of_z * z, of_logit])
