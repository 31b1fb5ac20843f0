"""Documents grouped by query: features, grades and where each query begins (`Queries`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.evaluation.kernel import values_by_query
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import (
    MAX_GRADES,
    Flags,
    Floats,
    Grades,
    InputError,
    InputTypeError,
    Integers,
    Seed,
    frozen,
    one_of,
    query_offsets,
    scale_size,
    within,
)
from dcglearn.losses.objective import checked_grades
from dcglearn.metrics.reading import SCORING, MetricLike, read_metric
from dcglearn.rankers.feature_columns import FeatureColumns, from_frame, is_table

LARGEST_FEATURE = 1e100
"""Largest size of a feature: the squares of larger ones overflow when they are summed."""


@dataclass(frozen=True, eq=False, repr=False)
class Queries:
    """Documents with features and grades, the documents of one query together.

    Raises InputError if a feature is not finite, a grade is not an integer of the scale, or the
    documents of a query are not next to each other; it names the row.

    Parameters
    ----------
    features : array_like, scipy.sparse matrix or data frame, shape (n, d)
        Finite floats; sparse ones become CSR. A frame of pandas or polars brings names.
    grades : array_like of int, shape (n,)
        0 = worst.
    qid : array_like, shape (n,)
        The query of each document, numbers or texts, equal ones next to each other.
    n_grades, documents : int, sequence of str, optional
        L, by default the largest grade + 1; and the names of the documents, for runs.
    missing : bool
        Whether features may be NaN, which stands for a missing value; trees take these, linear
        models do not.
    columns : FeatureColumns, optional
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
    missing: bool = False
    columns: FeatureColumns | None = None
    offsets: Integers = field(init=False)
    names: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        # features and their names
        features, columns = self.features, self.columns
        if is_table(features):
            features, columns = from_frame(features)
        fields = {"features": checked_features(features, missing=self.missing), "columns": columns}

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
        cls,
        features: Any,
        grades: ArrayLike,
        sizes: ArrayLike,
        n_grades: int | None = None,
        documents: Sequence[str] | None = None,
        missing: bool = False,
        columns: FeatureColumns | None = None,
    ) -> Queries:
        """Build from the number of documents of each query; queries are named 1, 2, ..."""
        labels = np.asarray(grades)
        qid = group_labels(sizes, len(labels))
        return cls(features, labels, qid, n_grades, documents, missing, columns)

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
        return Queries(self.features[rows], *labels, documents, self.missing, self.columns)

    def split(self, fraction: float = 0.8, *, random_state: Seed = 0) -> tuple[Queries, Queries]:
        """Return a random `fraction` of the queries, and the others, each in the order given."""
        within(fraction, "fraction", 1, above=True, below=True)
        n_first = round(fraction * len(self))
        first = np.random.default_rng(random_state).permutation(len(self)) < n_first
        if first.all() or not first.any():
            raise InputError(
                f"fraction={fraction} of {len(self)} queries leaves one part empty; give more "
                "queries"
            )
        return self[first], self[~first]

    def evaluate(
        self, scores: ArrayLike, metric: MetricLike, empty: float = 0.0, ties: str = "stable"
    ) -> Floats:
        """Return the normalised value of each query, ranked by `scores`, shape (m,).

        A name has the queries' grades, and without ``@K`` the depth of the longest. Documents of
        equal scores keep their order, as in LightGBM and XGBoost; with `ties` "average" they share
        their positions, as in scikit-learn and by default in `evaluate_arrays`. A query without a
        relevant document counts as `empty`: 1 in LightGBM and XGBoost.
        """
        one_of(ties, "ties", ("stable", "average"))
        own = read_metric(metric, *self.scale, accept=SCORING)
        checked_grades(self.grades, len(self.grades), own.n_grades - 1)

        # a score for each document
        values = np.asarray(scores, dtype=np.float64)
        if values.shape != self.grades.shape:
            raise InputError(
                f"scores has shape {values.shape}; expected one score per document, "
                f"{self.grades.shape}"
            )
        if np.isnan(values).any():
            place = np.isnan(values).argmax()
            raise InputError(f"scores[{place}] is NaN; documents without a score cannot be ranked")
        one = {"metric": own}
        found = values_by_query(one, self.offsets, values, self.grades, ties, empty, divided=one)
        return found["metric"]

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
    """Raise InputError if the rows of each of many grades are together, and those of few qid not.

    The qid are small integers, as grades are.
    """
    if grades.ndim != 1 or grades.shape != qid.shape or qid.dtype.kind not in "iu":
        return

    # changes from row to row: more between grades than between queries
    n_grades, n_qid = (1 + np.count_nonzero(x[1:] != x[:-1]) for x in (grades, qid))
    if n_qid <= n_grades:
        return
    most = 10  # more are no grades
    names = np.unique(qid)
    few = n_qid > len(names) <= most and names[0] >= 0 and names[-1] <= most
    if few and most < n_grades == len(np.unique(grades)):
        raise InputError(
            f"y and qid seem exchanged: qid has the values {names[0]} to {names[-1]} in any order, "
            f"and y {n_grades:,}, each in rows of its own; give the grades first, fit(X, y, qid)"
        )


def checked_features(features: Any, *, missing: bool = False) -> Any:
    """Return finite float64 features (or NaN if `missing`), (n, d), dense (read-only) or CSR."""
    # sparse features
    if hasattr(features, "tocsr"):
        matrix = features.tocsr().astype(np.float64)
        for row, column, value in unusable_features(matrix, missing=missing):
            _refuse_feature(row, column, value)
        return matrix

    # numbers in a table
    if np.iscomplexobj(features):
        raise InputError("features must be real numbers: Complex data not supported")
    try:
        table = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        expected = "numbers in a table of shape (documents, features)"
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(f"features must be {expected}: {error}") from error

    shape = table.shape
    if table.ndim != 2:
        expected = "expected (documents, features): Reshape your data"
        raise InputError(f"features have shape {shape}; {expected}")
    if shape[1] == 0:
        raise InputError(
            f"features have 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )

    usable = _are_usable(table, missing)
    if not usable.all():
        row, column = np.argwhere(~usable)[0]
        _refuse_feature(int(row), int(column), table[row, column])
    return frozen(table.view())


def unusable_features(matrix: Any, *, missing: bool) -> Iterator[tuple[int, int, float]]:
    """Yield row, column and value of what is no feature in a CSR matrix."""
    for at in np.flatnonzero(~_are_usable(matrix.data, missing)):
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        yield row, int(matrix.indices[at]), matrix.data[at]


def _are_usable(values: Floats, missing: bool) -> Flags:
    """Return which values are numbers with a finite square, or NaN if `missing`."""
    usable = np.abs(values) <= LARGEST_FEATURE  # not NaN
    return usable | np.isnan(values) if missing else usable


def has_missing(features: Any) -> bool:
    """Return whether a checked feature is NaN."""
    return bool(np.isnan(features.data if hasattr(features, "tocsr") else features).any())


def group_labels(sizes: ArrayLike, n: int) -> Integers:
    """Return the query of each of `n` documents, numbered from 1, from sizes of queries."""
    # whole numbers, one per query
    counts = np.asarray(sizes)
    if counts.ndim != 1 or counts.dtype.kind not in "iuf" or (counts != np.floor(counts)).any():
        raise InputError("group sizes must be whole numbers, one per query")
    if len(counts) == n and counts.sum() != n:
        raise InputError(
            f"{n} group sizes for {n} documents: looks like the query of each document; give it as "
            "qid"
        )

    # that sum to the documents
    if (counts < 1).any():
        raise InputError(
            f"group size {int((counts < 1).argmax())} is {counts.min():g}; leave empty queries out"
        )
    if counts.sum() != n:
        raise InputError(f"group sizes sum to {int(counts.sum())}, but there are {n} documents")
    return np.repeat(np.arange(1, len(counts) + 1), counts.astype(np.int64))


def _refuse_feature(row: int, column: int, value: float) -> None:
    raise InputError(
        f"features[{row}, {column}] = {value} is not a finite number up to {LARGEST_FEATURE:g}; "
        "fill missing values (NaN) in (trees take them: missing=True), and scale the others, "
        "before training"
    )
