"""LETOR's measures: NDCG@1..10, P@1..10 and average precision of each query, by a named convention."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, InputError
from dcglearn.metric.dcg import DCG
from dcglearn.metric.reading import metric_or_name, read_metric
from dcglearn.metric.scales import warn_of_scale
from dcglearn.metric.textbook import MetricName
from dcglearn.rankers.queries import Queries, precision_by_query

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
        """Return a convention by its name: ``letor``, ``standard``, a DCG's file, or a name, 10
        deep without ``@K``.
        """
        if name == "letor":
            return cls(name, DCG.standard(n_grades, DEPTH, "exponential", "letor"))
        if name == "standard":
            return cls(name, DCG.standard(n_grades, DEPTH), counts_empty=False)
        try:
            metric = metric_or_name(name)
        except InputError as error:
            raise InputError(
                f"{error}; give letor, standard, such a name, or the file of a DCG"
            ) from error
        if isinstance(metric, MetricName):
            name = metric.at(DEPTH)
        convention = cls(name, read_metric(metric, n_grades, DEPTH))
        warn_of_scale({name: convention.dcg.n_grades}, n_grades, "the data", 3)
        if convention.dcg.n_grades < n_grades:
            raise InputError(
                f"metric {name}: the data have grade {n_grades - 1}, but it has gains for grades "
                f"0..{convention.dcg.n_grades - 1}; give a metric with as many grades as the labels have"
            )
        return convention

    def measures(self, queries: Queries, scores: ArrayLike) -> Floats:
        """Return the measures of each query, shape (m, 21), columns as in `MEASURES`; NaN if a
        query does not count.
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
        """Return the mean of each measure over the queries that count, shape (21,); 0 where none
        does.
        """
        counted = ~np.isnan(values[:, 0])
        return values[counted].mean(axis=0) if counted.any() else np.zeros(values.shape[1])
