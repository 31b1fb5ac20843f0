"""One frame of held-out values: a column a pair, a row a metric learned without the pair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, Indices
from dcglearn.logs.columns import weights_of
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.trust.resampling import Clusters, mean_and_error

Rows = Indices
"""Numbers of pairs."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Values of M metrics on n held-out pairs.

    `rows`, shape (n,), are the pairs' places in their log, `weight`, shape (n,), their weights, and
    `clusters` number the independent unit of the two lists of each pair. `values`, shape (1 or 2,
    M, n), are `right` and, if there are two, `log_likelihood`.
    """

    rows: Rows
    weight: Floats
    clusters: Clusters
    values: Floats

    @classmethod
    def of(cls, log: PreferencePairs, unit: str, rows: Rows, values: Floats) -> Self:
        """Return the values of these rows of a log."""
        first, second = log.clusters(unit)
        return cls(rows, weights_of(log)[rows], (first[rows], second[rows]), values)

    @property
    def right(self) -> Floats:
        """How far each metric respects each pair, shape (M, n): 1, 1/2 for its ties, or 0."""
        return self.values[0]

    @property
    def log_likelihood(self) -> Floats:
        """The log probability of each verdict, shape (M, n)."""
        return self.values[1]

    def means(self) -> Floats:
        """Return the mean of each value by metric, shape (1 or 2, M)."""
        return self.values @ self.weight / self.weight.sum()

    def shares(self, rows: Rows) -> Floats:
        """Return the shares of some of the pairs that the metrics respect, shape (M,)."""
        weight = self.weight[rows]
        return self.right[:, rows] @ weight / weight.sum()

    def leads(self) -> tuple[Floats, Floats]:
        """Return the means minus the first metric's, paired, and their standard errors.

        Standard errors are by unit.
        """
        return mean_and_error(self.values - self.values[:, :1], self.weight, self.clusters)


def held_out_frame(
    log: PreferencePairs,
    unit: str,
    folds: Sequence[tuple[Rows, Rows]],
    values_of: Callable[[Rows, Rows], Floats | None],
    title: str,
) -> HeldOut | None:
    """Return the values of the pairs that folds hold out, means where several do; None without any.

    `values_of` learns from the rows of a fold and returns the values of those it holds out, NaN or
    None where nothing can be learned. `title` names the progress, none if it is empty.
    """
    sums, times = np.zeros((0, 0, 0)), np.zeros(len(log))
    for train, test in counted(folds, len(folds) if title else 0, title):
        values = values_of(train, test)
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
