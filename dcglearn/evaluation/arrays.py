"""DCG and NDCG of plain arrays of scores and grades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.evaluation.top_kernel import mean_positions
from dcglearn.foundation.threads import in_chunks, threads
from dcglearn.foundation.validation import InputError, finite_array, graded_lists
from dcglearn.metric.dcg import DCG, normalised_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats, Grades, Integers


DEEP = 8
"""Rows up to so many times longer than the metrics are deep are sorted whole."""

BLOCK = 1 << 24
"""So many shares of grades at positions are held at once."""


def evaluate_arrays(
    grades: ArrayLike,
    scores: ArrayLike,
    metrics: DCG | Mapping[str, DCG],
    *,
    normalise: bool = True,
    ties: str = "average",
    empty: float = 0.0,
) -> Floats | dict[str, Floats]:
    """Return what rankings by score are worth, query by query.

    Parameters
    ----------
    grades : array_like of int, shape (Q, N)
        A row a query; -1 = no document.
    scores : array_like, shape (Q, N)
        By which documents are ranked, highest first.
    metrics : DCG, or mapping of str to DCG
        One, or several of one number of grades.
    normalise : bool
        Divide by the best DCG that the row's documents allow (NDCG); else plain DCG.
    ties : {"average", "stable"}
        Whether documents of one score share their positions, as scikit-learn has it, or stand as in the row.
    empty : float
        NDCG where the best ranking is worth nothing.

    Returns
    -------
    ndarray, shape (Q,), or a dict of them

    Raises
    ------
    InputError
        If shapes differ, a grade is above a metric's, a score of a document is not finite, or `ties` is unknown.

    Examples
    --------
    >>> evaluate_arrays([[3, 1, 0]], [[0.2, 0.9, 0.2]], DCG.standard(4, 3, "linear")).round(4)
    array([0.7426])
    """
    several = {"": metrics} if isinstance(metrics, DCG) else dict(metrics)
    sizes = {dcg.n_grades for dcg in several.values()}
    if len(sizes) != 1:
        raise InputError(f"give one metric or more, all of one number of grades, not of {sorted(sizes)}")
    table = np.atleast_2d(graded_lists(grades, "grades", sizes.pop()))
    values = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    if table.shape != values.shape:
        raise InputError(f"grades {table.shape} and scores {values.shape} must have one shape, (Q, N)")
    if not np.isfinite(values).all():
        finite_array(np.where(table >= 0, values, 0.0), "scores", 2)
    if ties not in ("average", "stable"):
        raise InputError(f"ties={ties!r}: give average or stable")
    if ties == "stable":
        values = _without_ties(values)
    found = _evaluated(table, values, several, normalise, empty)
    return found[""] if isinstance(metrics, DCG) else found


def _without_ties(scores: Floats) -> Floats:
    """Return whole numbers in the same order, the first of equal scores ahead."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty_like(scores)
    np.put_along_axis(ranks, order, -np.arange(float(scores.shape[1]))[None, :], axis=1)
    return ranks


def _evaluated(
    grades: Grades, scores: Floats, metrics: Mapping[str, DCG], normalise: bool, empty: float
) -> dict[str, Floats]:
    n_queries, width = grades.shape
    n_grades = next(iter(metrics.values())).n_grades
    depth = min(max(dcg.depth for dcg in metrics.values()), width)
    weights = [dcg.utility.weights[:depth].ravel() for dcg in metrics.values()]
    values, counts = np.empty((n_queries, len(weights))), np.zeros((n_queries, n_grades))
    deep = depth * DEEP > width
    step = n_queries if deep else max(1, BLOCK // (depth * n_grades))
    for first in range(0, n_queries, step):
        part = slice(first, min(first + step, n_queries))
        if deep:
            _by_sorting(scores[part], grades[part], list(metrics.values()), values[part])
            continue
        shares = np.zeros((part.stop - first, depth, n_grades))
        _fill(scores[part], grades[part], shares, counts[part])
        flat = shares.reshape(len(shares), -1)
        for m, weight in enumerate(weights):
            values[part, m] = flat[:, : len(weight)] @ weight
    if not normalise:
        return {name: values[:, m] for m, name in enumerate(metrics)}
    if deep:
        for grade in range(n_grades):
            counts[:, grade] = (grades == grade).sum(axis=1)
    found = {}
    for m, (name, dcg) in enumerate(metrics.items()):
        found[name] = normalised_values(values[:, m], dcg.ideal_of_counts(counts), empty)
    return found


def _by_sorting(scores: Floats, grades: Grades, metrics: list[DCG], values: Floats) -> None:
    """Write what every row is worth under every metric, looking at all of it."""

    def part(_: int, start: int, stop: int) -> None:
        ranked, near = _sorted_with_grades(scores[start:stop], grades[start:stop])
        for m, dcg in enumerate(metrics):
            depth = min(dcg.depth, ranked.shape[1])
            values[start:stop, m] = np.append(dcg.gains, 0.0)[ranked[:, :depth]] @ dcg.discounts[:depth]
        rows = start + np.flatnonzero(near)
        if len(rows):
            values[rows] = _with_ties(scores[rows], grades[rows], metrics)

    in_chunks(part, len(scores), min(4 * threads(), len(scores)) if scores.size > 1 << 14 else 1)


def _sorted_with_grades(scores: Floats, grades: Grades) -> tuple[Integers, NDArray[np.bool_]]:
    """Return grades in order of scores, highest first, and which rows hold scores too near for this.

    A score's bits, read as a whole number, keep the order of scores; its last seven make room for the grade. Sorting
    such numbers is several times faster than sorting places by score.
    """
    bits = (scores + 0.0).view(np.int64)  # -0.0 becomes 0.0
    ordered = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    keys = np.where(grades >= 0, ~ordered, np.int64(0x7FFFFFFFFFFFFFFF)) & ~np.int64(127)
    keys |= grades.astype(np.int64) & 127
    keys.sort(axis=1)
    ranked = (keys & 127).astype(np.int64)
    ranked[ranked == 127] = -1
    near = (np.diff(keys >> 7, axis=1) == 0) & (ranked[:, 1:] >= 0)
    return ranked, near.any(axis=1)


def _with_ties(scores: Floats, grades: Grades, metrics: list[DCG]) -> Floats:
    """Return what every row is worth under every metric, documents of one score sharing their positions."""
    keys = np.where(grades >= 0, -scores, np.inf)
    order = np.argsort(keys, axis=1)
    keys, ranked = np.take_along_axis(keys, order, axis=1), np.take_along_axis(grades, order, axis=1)
    same = np.zeros(keys.shape, dtype=bool)
    same[:, 1:] = keys[:, 1:] == keys[:, :-1]
    group = np.cumsum(~same).reshape(same.shape) - 1
    values = np.empty((len(scores), len(metrics)))
    for m, dcg in enumerate(metrics):
        gains = np.append(dcg.gains, 0.0)[ranked]
        gains = (np.bincount(group.ravel(), gains.ravel()) / np.bincount(group.ravel()))[group]
        depth = min(dcg.depth, gains.shape[1])
        values[:, m] = gains[:, :depth] @ dcg.discounts[:depth]
    return values


def _fill(scores: Floats, grades: Grades, shares: Floats, counts: Floats) -> None:
    depth = shares.shape[1]
    n_chunks = min(4 * threads(), len(scores)) if scores.size > 1 << 14 else 1
    in_chunks(lambda _, i, j: mean_positions(scores, grades, depth, i, j, shares, counts), len(scores), n_chunks)
