"""Values of metrics, such as NDCG, of plain arrays of scores and grades."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.evaluation.ranked import averaged
from dcglearn.foundation.threads import in_chunks, threads
from dcglearn.foundation.validation import (
    Floats,
    Grades,
    InputError,
    Integers,
    finite_array,
    graded_lists,
    one_of,
    query_labels,
    similar_sizes,
)
from dcglearn.kernels.library import function
from dcglearn.metrics.dcg import DCG, normalised_values
from dcglearn.metrics.reading import (
    SCORING,
    MetricLike,
    MetricsLike,
    labelled,
    metric_or_name,
    read_metric,
)
from dcglearn.metrics.textbook import NamedMetric
from dcglearn.metrics.textbook_lists import ListMetric

_shares_of_grades = function(
    "grade_shares first last width depth grades f[last*width] b[last*width] f[last*depth*grades] "
    "f[last*grades] f[work_of_shares(depth,width)]~"
)
"""Writes the share of each grade at each of the first positions, and the count of each grade.

Scores and grades (-1 = no document) have shape (Q, N); the zeros of shares, (Q, K, L), and counts,
(Q, L), are written to. Documents with equal scores have equal shares of their positions.
"""


def evaluate_arrays(
    grades: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    metrics: MetricsLike = "nDCG@10",
    *,
    normalise: bool = True,
    ties: str = "average",
    empty: float = 0.0,
) -> Floats | dict[str, Floats]:
    """Return the value of each query's ranking by score, such as NDCG, shape (Q,), or by metric.

    Where no scores of a query are equal, values are those of `evaluate`.

    Raises InputError if shapes differ, flat arrays have no `qid`, a grade is above a metric's, a
    score is not finite, `ties` is unknown, or documents of different grades tie under "average" and
    a metric that is no DCG.

    Parameters
    ----------
    grades : array_like of int, shape (n,) or (Q, N)
        The grade of each document, 0 = worst, -1 = no document; flat with `qid`, else one row per
        query.
    scores : array_like, shape of `grades`
        Documents are ranked by score, highest first.
    qid : array_like, shape (n,), optional
        The query of each document of flat arrays, numbers or texts, in any order. Values are in the
        order in which queries first appear.
    metrics : DCG, ListUtility, file or name, a mapping of names to metrics, or a list of these
        What `metric` reads: one, or several with the same number of grades. A name without ``@K``
        is as deep as the longest query.
    normalise, empty
        As in `evaluate`.
    ties : {"average", "stable"}
        Documents with equal scores share their positions, as in scikit-learn, or keep the order in
        which they are given ("stable"), if that is the order that users saw.

    See Also
    --------
    evaluate : Runs and judgements by name.

    Examples
    --------
    >>> grades, scores = [3, 1, 0, 0, 2], [0.2, 0.9, 0.1, 0.8, 0.3]
    >>> evaluate_arrays(grades, scores, qid=["a", "a", "a", "b", "b"]).round(4)
    array([0.7967, 0.6309])
    >>> evaluate_arrays([[3, 1, 0]], [[0.2, 0.9, 0.2]], metrics="nDCG@3").round(4)
    array([0.7426])
    """
    # grades and scores of one shape
    labels, keys = graded_lists(grades, "grades"), np.asarray(scores, dtype=np.float64)
    if labels.shape != keys.shape:
        raise InputError(
            f"grades {labels.shape} and scores {keys.shape} must have one shape, (n,) or (Q, N)"
        )
    one_of(ties, "ties", ("average", "stable"))

    # the documents of each query
    names, order = np.arange(len(labels)), np.arange(0)
    sizes = np.full(len(labels), labels.shape[-1])
    if labels.ndim == 1:
        names, order, sizes = _by_query(qid, len(labels))
    elif qid is not None:
        raise InputError(
            "qid is for flat arrays, one grade per document; a table has a row for each query. "
            "A metric is given by name: metrics="
        )

    # metrics of one number of grades
    single = isinstance(metrics, (*SCORING, str, os.PathLike))
    by_name = _read(labelled(metrics), int(labels.max(initial=0)) + 1, int(sizes.max(initial=1)))
    scales = {metric.n_grades for metric in by_name.values()}
    if len(scales) != 1:
        raise InputError(
            f"give one metric or more, all of one number of grades, not of {sorted(scales)}"
        )
    graded_lists(labels, "grades", scales.pop())

    # scores must be finite where a document is
    if not np.isfinite(keys).all():
        finite_array(np.where(labels >= 0, keys, 0.0), "scores", labels.ndim)

    # flat arrays become tables of queries of similar size
    evaluated = partial(_table_values, by_name, normalise=normalise, ties=ties, empty=empty)
    values = {name: np.empty(len(sizes)) for name in by_name}
    if labels.ndim == 2:
        values = evaluated(labels, keys, names)
    for queries in similar_sizes(sizes) if labels.ndim == 1 else ():
        tables = _tables(labels, keys, order, sizes, queries)
        for name, found in evaluated(*tables, names[queries]).items():
            values[name][queries] = found
    return next(iter(values.values())) if single else values


def _by_query(qid: ArrayLike | None, n: int) -> tuple[NDArray[Any], Integers, Integers]:
    """Return queries, shape (Q,), all rows, those of a query together, (n,), and sizes, (Q,)."""
    if qid is None:
        raise InputError(
            "grades has a grade for each document, and nothing says which are of one query: give "
            "qid, the query of each, or [grades] and [scores] for one query"
        )

    # runs of rows of one query
    labels = query_labels(qid, n)
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    lengths = np.diff(np.append(starts, n))

    # queries by their first row
    names, first, of_run = np.unique(labels[starts], return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    query = np.argsort(appearance)[of_run]
    order = np.argsort(np.repeat(query, lengths), kind="stable")
    return names[appearance], order, np.bincount(query, lengths).astype(np.int64)


def _tables(
    grades: Grades, scores: Floats, order: Integers, sizes: Integers, queries: Integers
) -> tuple[Grades, Floats]:
    """Return grades (-1 = no document) and scores of some queries, a row for each."""
    width = np.arange(sizes[queries].max())
    present = width < sizes[queries][:, None]
    first = np.cumsum(sizes) - sizes
    rows = order[(first[queries][:, None] + width)[present]]

    table, keys = np.full(present.shape, -1, dtype=np.int8), np.zeros(present.shape)
    table[present], keys[present] = grades[rows], scores[rows]
    return table, keys


def _table_values(
    metrics: Mapping[str, ListMetric],
    table: Grades,
    keys: Floats,
    queries: NDArray[Any],
    normalise: bool,
    ties: str,
    empty: float,
) -> dict[str, Floats]:
    """Return the values of each row by metric; grades and scores have the shape (Q, N)."""
    if ties == "stable":
        keys = _without_ties(keys)

    # values of DCGs, which are sums, and of others
    dcgs = [metric for metric in metrics.values() if isinstance(metric, DCG)]
    n_grades = next(iter(metrics.values())).n_grades
    sums, counts = _values_and_counts(keys, table, dcgs, n_grades)
    columns = iter(sums.T)
    values = {
        name: next(columns)
        if isinstance(metric, DCG)
        else _list_values(name, metric, keys, table, queries)
        for name, metric in metrics.items()
    }

    # divided by the best ones
    for name, metric in metrics.items():
        if normalise and not metric.plain:
            values[name] = normalised_values(values[name], metric.ideal_of_counts(counts), empty)
    return values


def _read(metrics: Mapping[str, MetricLike], n_grades: int, longest: int) -> dict[str, ListMetric]:
    """Return metrics by name; words take the others' number of grades, or else the data's."""
    parsed = {name: metric_or_name(metric, accept=SCORING) for name, metric in metrics.items()}
    own = [one.n_grades for one in parsed.values() if not isinstance(one, NamedMetric)]
    size = max(own, default=n_grades)
    return {name: read_metric(metric, size, longest) for name, metric in parsed.items()}


def _list_values(
    name: str, metric: ListMetric, scores: Floats, grades: Grades, queries: NDArray[Any]
) -> Floats:
    """Return the values of lists whose documents have different scores, or equal grades, (Q,)."""
    # grades as ranked, places without a document last
    keys = np.where(grades >= 0, -scores, np.inf)
    order = np.argsort(keys, axis=1, kind="stable")
    keys, ranked = (np.take_along_axis(table, order, axis=1) for table in (keys, grades))

    # gains cannot be shared
    tied = (keys[:, 1:] == keys[:, :-1]) & (ranked[:, 1:] != ranked[:, :-1])
    if tied.any():
        raise InputError(
            f"{name} is not a DCG, so documents of equal score cannot share gains, as those of "
            f'query {queries[tied.any(axis=1).argmax()]} would: give ties="stable"'
        )
    return np.atleast_1d(metric.score(ranked))


def _without_ties(scores: Floats) -> Floats:
    """Return whole numbers in the same order, the first of equal scores ahead."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty_like(scores)
    np.put_along_axis(ranks, order, -np.arange(float(scores.shape[1]))[None, :], axis=1)
    return ranks


def _values_and_counts(
    scores: Floats,
    grades: Grades,
    metrics: Sequence[DCG],
    n_grades: int,
    most_entries: int = 1 << 24,
) -> tuple[Floats, Floats]:
    """Return DCGs by row and metric, shape (Q, M), and numbers of documents by grade, (Q, L).

    `most_entries` bounds the query x position x grade table of long rows, 8 bytes each.
    """
    width = grades.shape[1]
    depth = min(max((dcg.depth for dcg in metrics), default=1), width)
    values, counts = np.empty((len(grades), len(metrics))), np.zeros((len(grades), n_grades))

    # short rows are sorted
    def sort(start: int, stop: int) -> None:
        values[start:stop] = _sorted_values(scores[start:stop], grades[start:stop], metrics)
        for grade in range(n_grades):
            counts[start:stop, grade] = (grades[start:stop] == grade).sum(axis=1)

    if 8 * depth > width:
        _in_parts(sort, scores)
        return values, counts

    # longer rows are sorted at the top only, some of them at once
    weights = [dcg.utility.weights[:depth].ravel() for dcg in metrics]
    step = max(1, most_entries // (depth * n_grades))
    for first in range(0, len(grades), step):
        block = slice(first, first + step)
        shares = np.zeros((len(grades[block]), depth, n_grades))

        # write shares of grades, and weigh them
        arrays = scores[block], grades[block], shares, counts[block]
        _in_parts(_shares_of_grades, scores[block], width, depth, n_grades, *arrays)
        flat = shares.reshape(len(shares), -1)
        for m, weight in enumerate(weights):
            values[block, m] = flat[:, : len(weight)] @ weight
    return values, counts


def _in_parts(part: Callable[..., None], scores: Floats, *arguments: Any) -> None:
    """Call ``part(start, stop, *arguments)`` for all rows, in threads where they are many."""
    n_parts = min(4 * threads(), len(scores)) if scores.size > 1 << 14 else 1
    in_chunks(lambda _, start, stop: part(start, stop, *arguments), len(scores), n_parts)


def _sorted_values(scores: Floats, grades: Grades, metrics: Sequence[DCG]) -> Floats:
    """Return DCGs by row and metric, shape (Q, M); equal scores share their positions."""
    # sort each row, places without a document last
    width = scores.shape[1]
    keys = np.where(grades >= 0, -scores, np.inf)
    order = np.argsort(keys, axis=1)
    order += width * np.arange(len(order))[:, None]
    keys, ranked = keys.ravel().take(order), grades.ravel().take(order)

    # rows with ties, and a number for each group of equal scores
    equal = (keys[:, 1:] == keys[:, :-1]) & (ranked[:, 1:] >= 0)
    tied = np.flatnonzero(equal.any(axis=1))
    groups = np.cumsum(np.insert(~equal[tied], 0, True, axis=1)).reshape(-1, width)

    # discounted sums of gains, averaged over ties
    values = np.empty((len(scores), len(metrics)))
    for m, dcg in enumerate(metrics):
        gain_of_grade, depth = np.append(dcg.gains, 0.0), min(dcg.depth, width)
        gains = gain_of_grade.take(ranked[:, :depth])
        if len(tied):
            gains[tied] = averaged(gain_of_grade[ranked[tied]], groups)[:, :depth]
        values[:, m] = gains @ dcg.discounts[:depth]
    return values
