"""Values of metrics, such as NDCG, of plain arrays of scores and grades."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.evaluation.kernel import Grading, at_grades, values_by_query
from dcglearn.foundation.validation import (
    EMPTY,
    MAX_GRADES,
    UNKNOWN,
    Floats,
    InputError,
    Integers,
    errors_in,
    finite_array,
    first_place,
    graded_lists,
    number_lists,
    one_of,
    query_labels,
    refuse_where,
)
from dcglearn.metrics.names import ListMetric, MetricName
from dcglearn.metrics.reading import SCORING, MetricsLike, labelled, metric_or_name

NEGATIVE = 'negative="zero" counts all below 0 as 0'
"""Remedy for grades below 0 that are none of the marks."""

LEVELS = "np.digitize(grades, [0.5, 1.5]) makes levels of numbers"
"""Remedy for a metric that needs levels."""


def evaluate_arrays(
    grades: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    metrics: MetricsLike = "nDCG@10",
    *,
    normalise: bool = True,
    ties: str = "average",
    empty: float = 0.0,
    negative: str = "error",
) -> Floats | dict[str, Floats]:
    """Return the value of each query's ranking by score, such as NDCG, shape (Q,), or by metric.

    Where no scores of a query are equal, values are those of `evaluate`. Scores are compared as
    float64; `evaluate` compares them as float32, as trec_eval does.

    Raises InputError if shapes differ, flat arrays have no `qid`, a grade is above a metric's or
    below 0, a metric needs levels where grades are fractions, a score is not finite, `ties` is
    unknown, or documents of different grades tie under "average" and a metric that is no DCG. Warns
    of a -2 that stands where a document may be.

    Parameters
    ----------
    grades : array_like, shape (n,) or (Q, N)
        The grade of each document, 0 = worst; flat with `qid`, else one row per query. Any number
        is a grade of ``nDCG`` and other linear names, whose gain it is; other metrics take whole
        numbers. -1 is a grade that is not known, which counts as the worst; -2 is no document.
    scores : array_like, shape of `grades`
        Documents are ranked by score, highest first.
    qid : array_like, shape (n,), optional
        The query of each document of flat arrays, numbers or texts, in any order. Values are in the
        order in which queries first appear.
    metrics : DCG, ListUtility, file or name, a mapping of names to metrics, or a list of these
        What `metric` reads. A name without ``@K`` is as deep as the longest query.
    normalise, empty
        As in `evaluate`. LightGBM and XGBoost count 1 for a query without a relevant document
        (``empty=1``).
    ties : {"average", "stable"}
        Documents with equal scores share their positions, as in scikit-learn, or keep the order in
        which they are given ("stable"), as in LightGBM and XGBoost.
    negative : {"error", "zero"}
        Refuse other grades below 0, or count all below 0 as 0, -1 and -2 too, as `evaluate` does
        with judgements: TREC has -2 for junk.

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
    table, keys = _graded(grades, negative), np.asarray(scores, dtype=np.float64)
    if table.shape != keys.shape:
        raise InputError(
            f"grades {table.shape} and scores {keys.shape} must have one shape, (n,) or (Q, N)"
        )
    one_of(ties, "ties", ("average", "stable"))
    if not np.isfinite(keys).all():
        finite_array(np.where(table != EMPTY, keys, 0.0), "scores", keys.ndim)

    # the documents of each query, those of all queries in a row
    labels, sizes = table, np.full(len(table), table.shape[-1])
    if table.ndim == 1:
        order, sizes = _by_query(qid, len(table))
        labels, keys = labels[order], keys[order]
    elif qid is not None:
        raise InputError(
            "qid is for flat arrays, one grade per document; a table has a row for each query. "
            "A metric is given by name: metrics="
        )
    labels, keys, offsets = labels.ravel(), keys.ravel(), np.append(0, np.cumsum(sizes))

    # without empty places; a grade that is not known is the worst
    if labels.min(initial=0) < 0:
        present = labels != EMPTY
        labels, keys = np.maximum(labels, 0)[present], keys[present]
        offsets = np.append(0, np.cumsum(present))[offsets]

    by_name = _read(metrics, table, int(sizes.max(initial=1)))
    divided = [name for name, metric in by_name.items() if normalise and not metric.plain]
    values = values_by_query(by_name, offsets, keys, labels, ties, empty, divided=divided)
    single = isinstance(metrics, (*SCORING, str, os.PathLike))
    return next(iter(values.values())) if single else values


def _graded(grades: ArrayLike, negative: str) -> NDArray[Any]:
    """Return checked grades, as integers if all are whole; -1 is not known, -2 no document."""
    one_of(negative, "negative", ("error", "zero"))
    table = number_lists(grades, "grades")
    if table.dtype.kind == "f":
        not_known = "is not a grade; -1 stands for one that is not known"
        refuse_where(~np.isfinite(table), table, "grades", not_known)
        if (table == np.floor(table)).all():
            table = table.astype(np.int64)

    # all below 0 as 0, or nothing is below 0
    if negative == "zero":
        return np.maximum(table, 0)
    if table.min(initial=0) >= 0:
        return table

    # no other numbers below 0
    absent = table == EMPTY
    unusable = (table < 0) & ~np.isin(table, (UNKNOWN, EMPTY))
    below = f"is below 0, where -1 is a grade that is not known and -2 no document; {NEGATIVE}"
    refuse_where(unusable, table, "grades", below)

    # empty places stand at the end of a row
    if table.ndim == 2:
        absent[:, :-1] &= ~absent[:, 1:]
        absent[:, -1] = False
    if absent.any():
        place = first_place("grades", table, absent)
        warnings.warn(f"{place} is left out as no document; {NEGATIVE}", stacklevel=3)
    return table


def _read(metrics: MetricsLike, table: NDArray[Any], longest: int) -> dict[str, ListMetric]:
    """Return metrics by name; words take the others' number of grades, or else the data's."""
    parsed = {
        name: metric_or_name(metric, accept=SCORING) for name, metric in labelled(metrics).items()
    }
    if not parsed:
        raise InputError("give one metric or more")

    # levels are whole numbers
    top = table.max(initial=0)
    own = [one.n_grades for one in parsed.values() if not isinstance(one, MetricName)]
    has_levels = table.dtype.kind in "iu" and top < MAX_GRADES
    grading = Grading(max(own, default=int(top) + 1) if has_levels else None, float(top), LEVELS)

    # metrics, with a gain of each grade
    read = {}
    for name, metric in parsed.items():
        with errors_in(name):
            read[name] = at_grades(metric, grading, longest)
        if has_levels and top >= read[name].n_grades:
            graded_lists(table, "grades", read[name].n_grades)
    return read


def _by_query(qid: ArrayLike | None, n: int) -> tuple[Integers, Integers]:
    """Return all rows, those of each query together, shape (n,), and the queries' sizes, (Q,)."""
    if qid is None:
        raise InputError(
            "grades has a grade for each document, and nothing says which are of one query: give "
            "qid, the query of each, or [grades] and [scores] for one query"
        )

    # number queries by their first row; rows of a query often adjoin
    labels = query_labels(qid, n)
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    _, first, of_run = np.unique(labels[starts], return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[of_run]
    query = np.repeat(number, np.diff(starts, append=n))
    return np.argsort(query, kind="stable"), np.bincount(query)
