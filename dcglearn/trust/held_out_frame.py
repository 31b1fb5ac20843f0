"""One frame of held-out values: a column a pair, a row a metric learned without the pair.

The values are whether a metric respects the pair and, by its judges, how likely the verdict is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dcglearn.foundation.intervals import Clusters, mean_and_error
from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, Indices
from dcglearn.logs.columns import ties_of
from dcglearn.logs.preference_pairs import Metric, PreferencePairs

Rows = Indices
"""Numbers of pairs."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Values of M metrics on n held-out pairs: right or wrong, and how likely.

    `rows`, shape (n,), are the pairs' places in their log, `weight`, shape (n,), their weights, and
    `clusters` number the independent unit of the two lists of each pair. `values`, shape (1 or 2,
    M, n), are `right` and, if there are two, the log chance of each verdict, NaN without judges.
    """

    rows: Rows
    weight: Floats
    clusters: Clusters
    values: Floats

    @classmethod
    def of(cls, log: PreferencePairs, clusters: Clusters, rows: Rows, values: Floats) -> Self:
        """Return the values of these rows of a log, whose pairs have all these clusters."""
        first, second = clusters
        return cls(rows, log.weights[rows], (first[rows], second[rows]), values)

    @property
    def right(self) -> Floats:
        """How far each metric respects each pair, shape (M, n): 1, 1/2 for its ties, or 0."""
        return self.values[0]

    def means_and_errors(self) -> tuple[Floats, Floats, int]:
        """Return the means and their standard errors, shape (1 or 2, M) each, and the units."""
        return mean_and_error(self.values, self.weight, self.clusters)

    def leads(self) -> tuple[Floats, Floats, int]:
        """Return the means minus the first metric's, their standard errors, and the units."""
        return replace(self, values=self.values - self.values[:, :1]).means_and_errors()


def held_out_frame(
    log: PreferencePairs,
    clusters: Clusters,
    folds: Sequence[tuple[Any, Rows]],
    of_folds: Iterable[Floats],
    title: str,
) -> HeldOut:
    """Return the values of the pairs that folds hold out, each once; `clusters` are those of all.

    `of_folds` are each fold's values of the pairs that it holds out, learned from the others, NaN
    for ties of the log, which are left out. `title` names the progress.
    """
    rows = np.concatenate([test for _, test in folds])
    values = np.concatenate([*counted(of_folds, title, len(folds))], axis=-1)

    # pairs that have values, in the order of the log
    order = np.argsort(rows)
    order = order[~np.isnan(values[0, 0, order])]
    return HeldOut.of(log, clusters, rows[order], values[..., order])


def values_of(metric: Metric, pairs: PreferencePairs) -> Floats:
    """Return how far a metric respects each pair, and its log chance of the verdict, shape (2, n).

    It respects a pair by 1, by 1/2 where it ties the lists, or by 0. The chance is that its judges
    prefer as the pair says, where they prefer: NaN for a metric without judges. Pairs that are ties
    of the log have no values, but NaN.
    """
    values = np.full((2, len(pairs)), np.nan)
    values[0] = (pairs.verdicts(metric) + 1) / 2
    judges = getattr(metric, "judges", None)
    if judges is not None:
        better, _, worse = judges.chances(pairs.gaps(metric)).T
        values[1] = np.log(np.clip(better / (better + worse), 1e-9, 1 - 1e-9))
    values[:, ties_of(pairs)] = np.nan
    return values
