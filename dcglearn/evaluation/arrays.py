"""Values of metrics, such as NDCG, of plain arrays of scores and grades."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.evaluation.ranked import averaged
from dcglearn.foundation.threads import in_chunks, threads
from dcglearn.foundation.validation import (
    Floats,
    Grades,
    InputError,
    finite_array,
    graded_lists,
    one_of,
)
from dcglearn.kernels.library import ARRAY, COUNT, floats, function, int8s
from dcglearn.metrics.dcg import DCG, normalised_values
from dcglearn.metrics.reading import (
    EVALUATED,
    SCORING,
    MetricLike,
    MetricsLike,
    labelled,
    metric_or_name,
)
from dcglearn.metrics.reading import metric as read_metric
from dcglearn.metrics.textbook import NamedMetric
from dcglearn.metrics.textbook_lists import ListMetric

_shares_of_grades = function("grade_shares", *[COUNT] * 5, *[ARRAY] * 5)
_work_of_shares = function("work_of_shares", COUNT, COUNT, result=COUNT)


def evaluate_arrays(
    grades: ArrayLike,
    scores: ArrayLike,
    metrics: MetricsLike,
    *,
    normalise: bool = True,
    ties: str = "average",
    empty: float = 0.0,
) -> Floats | dict[str, Floats]:
    """Return the value of each query's ranking by score, such as NDCG, shape (Q,), or by metric.

    Raises InputError if shapes differ, a grade is above a metric's, a score is not finite, `ties`
    is unknown, or documents of different grades tie under "average" and a metric that is no DCG.

    Parameters
    ----------
    grades : array_like of int, shape (Q, N)
        One row per query; -1 = no document.
    scores : array_like, shape (Q, N)
        Documents are ranked by score, highest first.
    metrics : DCG, ListUtility, file or name, a mapping of names to metrics, or a list of these
        What `metric` reads: one, or several with the same number of grades. A name without ``@K``
        is N deep.
    normalise, empty
        As in `evaluate`.
    ties : {"average", "stable"}
        Documents with equal scores share their positions, as in scikit-learn, or keep the order of
        the row ("stable"), if that is the order that users saw.

    See Also
    --------
    evaluate : Runs and judgements by name.

    Examples
    --------
    >>> evaluate_arrays([[3, 1, 0]], [[0.2, 0.9, 0.2]], DCG.standard(4, 3, "linear")).round(4)
    array([0.7426])
    """
    # metrics of one number of grades
    single = isinstance(metrics, (*EVALUATED, str, os.PathLike))
    by_name = _read(labelled(metrics), grades)
    sizes = {metric.n_grades for metric in by_name.values()}
    if len(sizes) != 1:
        raise InputError(
            f"give one metric or more, all of one number of grades, not of {sorted(sizes)}"
        )

    # grades and scores of one shape
    n_grades = sizes.pop()
    table = np.atleast_2d(graded_lists(grades, "grades", n_grades))
    keys = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    if table.shape != keys.shape:
        raise InputError(
            f"grades {table.shape} and scores {keys.shape} must have one shape, (Q, N)"
        )

    # scores must be finite where a document is
    if not np.isfinite(keys).all():
        finite_array(np.where(table >= 0, keys, 0.0), "scores", 2)
    one_of(ties, "ties", ("average", "stable"))
    if ties == "stable":
        keys = _without_ties(keys)

    # values of DCGs, which are sums, and of others
    dcgs = [metric for metric in by_name.values() if isinstance(metric, DCG)]
    sums, counts = _values_and_counts(keys, table, dcgs, n_grades)
    columns = iter(sums.T)
    values = {
        name: next(columns) if isinstance(metric, DCG) else _list_values(name, metric, keys, table)
        for name, metric in by_name.items()
    }

    # divided by the best ones
    for name, metric in by_name.items():
        if normalise and isinstance(metric, SCORING) and not metric.plain:
            values[name] = normalised_values(values[name], metric.ideal_of_counts(counts), empty)
    return next(iter(values.values())) if single else values


def _read(metrics: Mapping[str, MetricLike], grades: ArrayLike) -> dict[str, ListMetric]:
    """Return metrics by name; words take the others' number of grades, or else the data's."""
    parsed = {name: metric_or_name(metric, accept=EVALUATED) for name, metric in metrics.items()}
    own = [one.n_grades for one in parsed.values() if not isinstance(one, NamedMetric)]
    if len(own) == len(parsed):
        return parsed
    table = graded_lists(grades, "grades")
    size = max(own, default=int(table.max(initial=0)) + 1)
    return {name: read_metric(metric, size, table.shape[-1]) for name, metric in parsed.items()}


def _list_values(name: str, metric: ListMetric, scores: Floats, grades: Grades) -> Floats:
    """Return the values of lists whose documents have different scores, or equal grades, (Q,)."""
    # grades as ranked, places without a document last
    keys = np.where(grades >= 0, -scores, np.inf)
    order = np.argsort(keys, axis=1, kind="stable")
    keys, ranked = (np.take_along_axis(table, order, axis=1) for table in (keys, grades))

    # gains cannot be shared
    tied = (np.diff(keys, axis=1) == 0) & (np.diff(ranked, axis=1) != 0)
    if tied.any():
        raise InputError(
            f"{name} is not a DCG, so documents of equal score cannot share gains, as those of "
            f'query {tied.any(axis=1).argmax()} would: give ties="stable"'
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
        arrays = scores[block], grades[block], depth, shares, counts[block]
        _in_parts(partial(_grade_shares, *arrays), scores[block])
        flat = shares.reshape(len(shares), -1)
        for m, weight in enumerate(weights):
            values[block, m] = flat[:, : len(weight)] @ weight
    return values, counts


def _in_parts(part: Callable[[int, int], None], scores: Floats) -> None:
    """Call ``part(start, stop)`` for all rows, in threads where they are many."""
    n_parts = min(4 * threads(), len(scores)) if scores.size > 1 << 14 else 1
    in_chunks(lambda _, start, stop: part(start, stop), len(scores), n_parts)


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


def _grade_shares(
    scores: Floats,
    grades: Grades,
    depth: int,
    shares: Floats,
    counts: Floats,
    start: int,
    stop: int,
) -> None:
    """Write the share of each grade at each of the first positions, and the count of each grade.

    `scores` and `grades` (-1 = no document) have shape (Q, N); the zeros of `shares`, (Q, K, L),
    and `counts`, (Q, L), are written to. Documents with equal scores have equal shares of their
    positions.
    """
    n, width = scores.shape
    n_grades, work = counts.shape[1], np.empty(_work_of_shares(depth, width))
    _shares_of_grades(
        start,
        stop,
        width,
        depth,
        n_grades,
        floats(scores, n * width),
        int8s(grades, n * width),
        floats(shares, n * depth * n_grades),
        floats(counts, n * n_grades),
        floats(work, work.size),
    )
