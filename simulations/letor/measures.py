"""LETOR's measures of each query: NDCG@1..10, P@1..10, average precision, by named conventions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import MAX_GRADES, Floats, InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, metric_or_name
from dcglearn.metrics.reading import metric as read_metric
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.metrics.textbook import NamedMetric
from dcglearn.rankers.queries import Queries, as_ranked

DEPTH = 10
MEASURES = (
    *(f"NDCG@{k}" for k in range(1, DEPTH + 1)),
    *(f"P@{k}" for k in range(1, DEPTH + 1)),
    "MAP",
)
"""Names of the measures, in the order of columns."""
SUMMARY = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
"""Columns of the published tables."""


@dataclass(frozen=True, eq=False)
class Convention:
    """How rankings are measured: by a DCG of at most 10 positions.

    ``letor``: gain ``2^g - 1``, discount 1 at ranks 1 and 2, then ``1 / log2(rank)``; a query
    without a relevant document scores 0 and counts, `counts_empty` (Eval-Score-3.0 of LETOR), as
    with any other DCG. ``standard``: discount ``1 / log2(rank + 1)``, and such a query is left out
    of every mean. Documents of grade 1 or better are relevant for precision, and documents of equal
    score keep the order of the file, as with LETOR's stable sort.
    """

    name: str
    dcg: DCG
    counts_empty: bool = True

    @classmethod
    def named(cls, name: str, n_grades: int) -> Self:
        """Return a convention by its name.

        The name is ``letor``, ``standard``, the file of a DCG, or the name of a metric, which is 10
        deep without ``@K``. Raise InputError for another name, or if the metric has fewer than
        `n_grades` grades.
        """
        if name == "letor":
            return cls(name, DCG.standard(n_grades, DEPTH, "exponential", "letor"))
        if name == "standard":
            return cls(name, DCG.standard(n_grades, DEPTH), counts_empty=False)
        try:
            metric = metric_or_name(name, accept=ONLY_DCG)
        except InputError as error:
            raise InputError(
                f"{error}; give letor, standard, such a name, or the file of a DCG"
            ) from error
        if isinstance(metric, NamedMetric):
            name = metric.at(DEPTH)
        convention = cls(name, read_metric(metric, n_grades, DEPTH))
        warn_of_scale({name: convention.dcg.n_grades}, n_grades, "the data", 3)
        if convention.dcg.n_grades < n_grades:
            raise InputError(
                f"metric {name}: the data have grade {n_grades - 1}, but it has gains for grades "
                f"0..{convention.dcg.n_grades - 1}; "
                "give a metric with as many grades as the labels have"
            )
        return convention

    def measures(self, queries: Queries, scores: ArrayLike) -> Floats:
        """Return the measures of each query, shape (m, 21); NaN if a query does not count.

        The columns are those of `MEASURES`.
        """
        depths = range(1, DEPTH + 1)
        ndcg = [
            queries.evaluate(scores, DCG(self.dcg.gains, self.dcg.discounts[:k])) for k in depths
        ]
        values = np.column_stack(
            [*ndcg, precision_by_query(scores, queries.grades, queries.offsets, depths)]
        )
        if not self.counts_empty:
            values[np.maximum.reduceat(queries.grades, queries.offsets[:-1]) == 0] = np.nan
        return values

    def means(self, values: Floats) -> Floats:
        """Return each measure's mean over the queries that count, shape (21,); 0 if none counts."""
        counted = ~np.isnan(values[:, 0])
        return values[counted].mean(axis=0) if counted.any() else np.zeros(values.shape[1])


def precision_by_query(
    scores: ArrayLike,
    grades: ArrayLike,
    offsets: ArrayLike,
    ks: Sequence[int] = (),
    ties: str = "stable",
) -> Floats:
    """Return each query's precision at each of `ks`, then its average precision.

    The shape is (m, len(ks) + 1). Arguments are as in `ndcg_by_query`. Documents of grade 1 or
    better are relevant; positions past the last document count as not relevant. All values of a
    query without a relevant document are 0.

    Examples
    --------
    >>> precision_by_query([0.2, 0.7, 0.1], [1, 0, 2], [0, 3], ks=[1, 3]).round(3)
    array([[0.   , 0.667, 0.583]])
    """
    ranked, place, query = as_ranked(scores, grades, offsets, MAX_GRADES, ties)
    ends = np.asarray(offsets, dtype=np.int64)
    relevant = (ranked > 0).astype(np.float64)

    def total(values: Floats) -> Any:
        """Return the sum of each query, 0 for empty ones."""
        return np.diff(np.concatenate([[0.0], np.cumsum(values)])[ends])

    # relevant documents down to each rank
    before = np.concatenate([[0.0], np.cumsum(relevant)])
    hits = before[1:] - before[ends[query]]

    n_relevant = total(relevant)
    average = total(relevant * hits / (place + 1)) / np.maximum(n_relevant, 1)
    return np.column_stack([*(total(relevant * (place < k)) / k for k in ks), average])
