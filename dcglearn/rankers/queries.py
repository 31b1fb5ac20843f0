"""Documents grouped by query: features, grades and where each query begins (`Queries`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.evaluation.kernel import values_by_query
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import (
    MAX_GRADES,
    Fields,
    Flags,
    Floats,
    Grades,
    InputError,
    Integers,
    frozen,
    one_of,
    query_offsets,
    refuse_where,
    scale_size,
)
from dcglearn.losses.objective import checked_grades
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import SCORING, MetricLike, read_metric
from dcglearn.rankers.feature_columns import from_frame, is_table

LARGEST_FEATURE = 1e100
"""Largest size of a feature: the squares of larger ones overflow when they are summed."""


@dataclass(frozen=True, eq=False, repr=False)
class Queries:
    """Documents with features and grades, the documents of one query together.

    Raises InputError if a feature is infinite, a grade is not an integer of the scale, or the
    documents of a query are not next to each other; it names the row.

    Parameters
    ----------
    features : array_like, scipy.sparse matrix or data frame, shape (n, d)
        Floats, sparse ones become CSR. NaN is a missing value, which trees take, linear models do
        not. A frame of pandas or polars brings names.
    grades : array_like of int, shape (n,)
        0 = worst.
    qid : array_like, shape (n,)
        The query of each document, numbers or texts, equal ones next to each other.
    n_grades, documents : int, sequence of str, optional
        L, by default the largest grade + 1; and the names of the documents, for runs.
    columns : tuple of str, optional
        Names of the features; those of a frame.

    Attributes
    ----------
    offsets, names : ndarray of int64, shape (m + 1,); ndarray, shape (m,)
        Query q holds rows ``offsets[q]:offsets[q + 1]`` and has the `qid` ``names[q]``.

    See Also
    --------
    read_queries : Read svmlight text.

    Examples
    --------
    >>> queries = Queries([[0.1], [0.9], [0.4]], [0, 2, 1], qid=[7, 7, 8])
    >>> queries
    Queries(2 queries, 3 documents, 1 feature, 3 grades)
    >>> queries[1].grades
    array([1], dtype=int8)
    """

    features: Any
    grades: Grades
    qid: NDArray[Any]
    n_grades: int | None = None
    documents: Sequence[str] | None = None
    columns: tuple[str, ...] | None = None
    offsets: Integers = field(init=False)
    names: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        # features and their names
        fields: Fields = {}
        fields["features"], fields["columns"] = checked_features(self.features, self.columns)

        # grades, queries and names of documents
        _refuse_exchanged(np.asarray(self.grades), np.asarray(self.qid))
        top = scale_size(self.n_grades, MAX_GRADES - 1) - 1
        n = fields["features"].shape[0]
        grades = checked_grades(self.grades, n, top, "the scale").astype(np.int8)
        offsets, names = query_offsets(self.qid, len(grades))
        fields |= {"grades": frozen(grades), "offsets": frozen(offsets), "names": frozen(names)}
        fields["n_grades"] = scale_size(self.n_grades, int(grades.max(initial=0)))
        fields["qid"] = np.repeat(names, np.diff(offsets))
        if self.documents is not None and len(self.documents) != len(grades):
            raise InputError(f"{len(self.documents)} document names for {len(grades)} documents")

        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_groups(
        cls, features: Any, grades: ArrayLike, sizes: ArrayLike, n_grades: int | None = None
    ) -> Self:
        """Build from the number of documents of each query; queries are named 1, 2, ..."""
        counts, n = np.asarray(sizes), len(np.asarray(grades))
        whole = counts.ndim == 1 and counts.dtype.kind in "iu"
        if not whole or (counts < 1).any() or counts.sum() != n:
            raise InputError(
                f"group sizes must be whole numbers above 0, one per query, that sum to the {n} "
                f"documents, not {counts}; give the query of each document as qid"
            )
        qid = np.repeat(np.arange(1, len(counts) + 1), counts)
        return cls(features, grades, qid, n_grades)  # type: ignore[arg-type]

    @property
    def sizes(self) -> Integers:
        """Number of documents of each query, shape (m,)."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int, int]:
        """(n documents, d features)."""
        return self.features.shape[0], self.features.shape[1]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.names)

    def __getitem__(self, chosen: Any) -> Queries:
        """Return the queries chosen by an index, a slice, a mask or indices (each query once)."""
        index = np.atleast_1d(np.arange(len(self))[chosen])
        rows = np.concatenate(
            [np.arange(self.offsets[q], self.offsets[q + 1]) for q in index] or [np.zeros(0, int)]
        )
        documents = None if self.documents is None else [self.documents[row] for row in rows]
        labels = self.grades[rows], self.qid[rows], self.n_grades
        return Queries(self.features[rows], *labels, documents, self.columns)

    def evaluate(
        self, scores: ArrayLike, metric: MetricLike, empty: float = 0.0, ties: str = "stable"
    ) -> Floats:
        """Return the normalised value of each query, ranked by `scores`, shape (m,).

        That of a `ListUtility`, such as ERR, is not divided by an ideal. A name has the queries'
        grades, and without ``@K`` the depth of the longest. Documents of equal scores keep their
        order, as in LightGBM and XGBoost; with `ties` "average" they share their positions, as in
        scikit-learn and by default in `evaluate_arrays`. A query without a relevant document counts
        as `empty`: 1 in LightGBM and XGBoost.
        """
        one_of(ties, "ties", ("stable", "average"))
        own = read_metric(metric, *self.scale, accept=SCORING)
        self.check_scale(own)

        # a score for each document
        values = np.asarray(scores, dtype=np.float64)
        if values.shape != self.grades.shape:
            raise InputError(
                f"scores has shape {values.shape}; expected one score per document, "
                f"{self.grades.shape}"
            )
        problem = "is no score, without which a document cannot be ranked"
        refuse_where(np.isnan(values), values, "scores", problem)
        one = {"metric": own}
        divided = [] if isinstance(own, ListUtility) else one
        found = values_by_query(
            one, self.offsets, values, self.grades, ties, empty, divided=divided
        )
        return found["metric"]

    def run_lines(self, scores: Floats, tag: str) -> Iterator[str]:
        """Yield a TREC run's lines, best document first; unnamed documents are called ``QID-1``."""
        tag = "-".join(tag.split()) or "dcglearn"
        query = np.repeat(np.arange(len(self)), self.sizes)
        first = self.offsets[query]
        for place, row in enumerate(np.lexsort((-scores, query))):
            label, start = self.qid[row], first[row]
            document = f"{label}-{row - start + 1}"
            if self.documents is not None:
                document = self.documents[row]
            yield f"{label} Q0 {document} {place - start + 1} {float(scores[row])!r} {tag}"

    def check_scale(self, metric: Any) -> None:
        """Raise InputError if a metric has no gain for a grade."""
        top = int(self.grades.max(initial=0))
        if top >= metric.n_grades:
            raise InputError(
                f"the data have grade {top}, but the metric has gains for grades "
                f"0..{metric.n_grades - 1}; give one with {top + 1} gains, or map it to the data's "
                "grades (DCG.map_grades)"
            )

    @property
    def scale(self) -> tuple[int, int]:
        """The number of grades and the longest query, at which a metric's name is taken."""
        return self.n_grades or 1, int(self.sizes.max(initial=1))

    def __repr__(self) -> str:
        n, d = self.shape
        sizes = number_of(len(self), "queries", ","), number_of(n, "documents", ",")
        others = number_of(d, "features"), number_of(self.n_grades or 1, "grades")
        return f"Queries({', '.join([*sizes, *others])})"


def _refuse_exchanged(grades: NDArray[Any], qid: NDArray[Any]) -> None:
    """Raise InputError if the rows of each of many grades are together, and of few qid not."""
    if grades.ndim != 1 or grades.shape != qid.shape or qid.dtype.kind not in "iu" or not qid.size:
        return

    # numbers of values, and of runs of them
    most = 10  # more are no grades
    names = np.unique(qid)
    n_grades, n_qid = (1 + np.count_nonzero(x[1:] != x[:-1]) for x in (grades, qid))
    few = n_qid > len(names) and names[0] >= 0 and names[-1] <= most
    if few and most < n_grades == len(np.unique(grades)):
        raise InputError(
            f"y and qid seem exchanged: qid has the values {names[0]} to {names[-1]} in any order, "
            f"and y {n_grades:,}, each in rows of its own; give the grades first, fit(X, y, qid)"
        )


def checked_features(
    features: Any, columns: tuple[str, ...] | None = None
) -> tuple[Any, tuple[str, ...] | None]:
    """Return float64 features (NaN = missing), shape (n, d), dense (read-only) or CSR, and names.

    The names are those of a data frame, or `columns`.
    """
    from sklearn.utils import check_array

    # numbers in a table
    if is_table(features):
        features, columns = from_frame(features)
    kinds = {"accept_sparse": "csr", "dtype": np.float64}
    try:
        table = check_array(features, **kinds, ensure_all_finite=False, ensure_min_samples=0)
    except ValueError as error:
        expected = "features must be numbers in a table of shape (documents, features)"
        problem = " ".join(str(error).split())
        raise InputError(f"{expected}: {problem}") from error

    problem = (
        f"is not a finite number up to {LARGEST_FEATURE:g}; scale the features before training"
    )
    _refuse_where(table, np.abs(_values(table)) > LARGEST_FEATURE, problem)  # not where NaN
    return table if hasattr(table, "tocsr") else frozen(table.view()), columns


def _values(features: Any) -> Floats:
    """Return the values of a table, or those that are stored of a CSR matrix."""
    return features.data if hasattr(features, "tocsr") else features


def refuse_missing(features: Any) -> None:
    """Raise InputError, with the place, if a checked feature is NaN."""
    problem = (
        "is missing, and a linear model takes no missing (NaN) values: fill it in, or train a "
        "BoostedRanker without a start"
    )
    _refuse_where(features, np.isnan(_values(features)), problem)


def _refuse_where(features: Any, wrong: Flags, problem: str) -> None:
    """Raise InputError, with place and value, for the first of `_values` that is wrong."""
    if not wrong.any():
        return
    if hasattr(features, "tocoo"):
        stored, place = features.tocoo(), wrong.argmax()
        row, column = stored.row[place], stored.col[place]
    else:
        row, column = np.argwhere(wrong)[0]
    raise InputError(f"features[{row}, {column}] = {features[row, column]} {problem}")
