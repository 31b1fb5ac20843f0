"""What LETOR's tables hold: NDCG@1..10, P@1..10 and average precision of each query, by a named convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG, is_metric_file
from dcglearn.rankers.queries import precision_by_query

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats
    from dcglearn.rankers.queries import Queries


DEPTH = 10
MEASURES = (*(f"NDCG@{k}" for k in range(1, DEPTH + 1)), *(f"P@{k}" for k in range(1, DEPTH + 1)), "MAP")
"""What is measured, in the order of columns."""
SUMMARY = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
"""The columns of the published tables; their mean is what the methods aim at."""


@dataclass(frozen=True, eq=False)
class Convention:
    """How rankings are judged.

    Attributes
    ----------
    name : str
    dcg : DCG
        Gains, and discounts of the first 10 positions or fewer (the last ones then count nothing).
    counts_empty : bool
        Whether a query without a relevant document (a grade above 0) counts as 0, or is left out of every mean.

    Notes
    -----
    ``letor``: gain ``2^g - 1``, discount 1 at ranks 1 and 2, then ``1 / log2(rank)``; a query without a relevant
    document scores 0 and counts (Eval-Score-3.0 of LETOR). ``standard``: discount ``1 / log2(rank + 1)``, and such a
    query is left out. Any other DCG counts such queries as 0. In all of them documents of grade 1 or better are
    relevant for precision, and documents of equal score keep the order of the file, as LETOR's stable sort leaves them.
    """

    name: str
    dcg: DCG
    counts_empty: bool = True

    @classmethod
    def named(cls, name: str, n_grades: int) -> Convention:
        """Return ``letor``, ``standard``, a DCG's file, or ``GAIN-DISCOUNT[@K]``, for so many grades.

        Raises
        ------
        InputError
            If it is none of them, or a file's metric has no gain for a grade.
        """
        if name == "letor":
            return cls(name, DCG.standard(n_grades, DEPTH, "exponential", "letor"))
        if name == "standard":
            return cls(name, DCG.standard(n_grades, DEPTH), counts_empty=False)
        if "-" not in name and not is_metric_file(name):
            raise InputError(f"metric {name!r}: give letor, standard, GAIN-DISCOUNT[@K], or the file of a DCG")
        found = cls(name, DCG.parse(name, n_grades, DEPTH))
        if found.dcg.n_grades < n_grades:
            raise InputError(
                f"metric {name}: the data have grade {n_grades - 1}, but it has gains for grades "
                f"0..{found.dcg.n_grades - 1}; give a metric with as many grades as the labels have"
            )
        return found

    def measures(self, queries: Queries, scores: ArrayLike) -> Floats:
        """Return what each query's ranking is worth, shape (m, 21), columns as in `MEASURES`.

        Rows of queries that do not count are NaN.

        Examples
        --------
        >>> from dcglearn import Queries
        >>> queries = Queries([[0.0]] * 3, [0, 2, 1], qid=[1, 1, 1])
        >>> found = Convention.named("letor", 3).measures(queries, [3, 2, 1])
        >>> dict(zip(MEASURES, found[0].round(4).tolist()))["NDCG@3"]
        0.9077
        """
        worth = [queries.evaluate(scores, cut(self.dcg, k)) for k in range(1, DEPTH + 1)]
        precise = precision_by_query(scores, queries.grades, queries.offsets, range(1, DEPTH + 1))
        found = np.column_stack([*worth, precise])
        if not self.counts_empty:
            found[np.maximum.reduceat(queries.grades, queries.offsets[:-1]) == 0] = np.nan
        return found

    def means(self, values: Floats) -> Floats:
        """Return the mean of each measure over the queries that count, shape (21,); 0 where none does."""
        counted = ~np.isnan(values[:, 0])
        return values[counted].mean(axis=0) if counted.any() else np.zeros(values.shape[1])


def cut(dcg: DCG, k: int) -> DCG:
    """Return the DCG of the first k positions."""
    return DCG(dcg.gains, dcg.discounts[:k])
