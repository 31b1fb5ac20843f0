"""Kernel: the squared hinge over all pairs of documents of a query, from sorted scores in O(n log n).

For documents i, j of one query with ``grade_i > grade_j`` the loss is ``max(0, 1 - f_i + f_j)^2``. In the order of
scores, the worse documents within the margin of a better one are a run from the top, whose end moves in one direction
only. So running counts and sums by grade give every sum over pairs, and no pair is formed.
"""

from __future__ import annotations

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.validation import Floats, Grades, Integers


def count_pairs(grades: Grades, offsets: Integers) -> int:
    """Return the number of pairs of different grades within queries."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    table = np.zeros((len(offsets) - 1, int(grades.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(table, (query, grades), 1)
    sizes = table.sum(axis=1)
    return int((sizes**2 - (table**2).sum(axis=1)).sum() // 2)


def sorted_by_score(scores: Floats, offsets: Integers) -> Integers:
    """Return the documents in the order of queries, and within a query by ascending score."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((scores, query)).astype(np.int64)


def hinge_sums(scores: Floats, grades: Grades, offsets: Integers, order: Integers) -> tuple[float, Floats]:
    """Return the sum of the squared hinges, and its gradient by score, shape (n,)."""
    slope = np.zeros_like(scores)
    return _sweep(scores, scores, grades, offsets, order, 1.0, slope), slope


def hinge_curvature(along: Floats, scores: Floats, grades: Grades, offsets: Integers, order: Integers) -> Floats:
    """Return the (generalised) Hessian by score times the direction `along`, shape (n,)."""
    product = np.zeros_like(scores)
    _sweep(scores, along, grades, offsets, order, 0.0, product)
    return product


@njit(cache=True, nogil=True)
def _sweep(scores, values, grades, offsets, order, margin, slope):
    """Add ``2 (values_i - values_j - margin)`` to the slope of i, and its negative to that of j, over violating pairs.

    Returns the sum of ``(values_i - values_j - margin)^2``, which is that of squared hinges if values are scores.
    """
    total = 0.0
    n_grades = 0
    for grade in grades:
        n_grades = max(n_grades, grade + 1)
    count, first, second = np.zeros(n_grades), np.zeros(n_grades), np.zeros(n_grades)
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        if stop - start < 2:
            continue
        middle = 0.0
        for p in range(start, stop):
            middle += values[p]
        middle /= stop - start
        # Each better document i, and the worse j with scores above f_i - 1: from the top down.
        count[:], first[:], second[:] = 0.0, 0.0, 0.0
        end = stop - 1
        for p in range(stop - 1, start - 1, -1):
            i = order[p]
            while end >= start and scores[order[end]] > scores[i] - 1.0:
                j = order[end]
                x = values[j] - middle
                count[grades[j]] += 1.0
                first[grades[j]] += x
                second[grades[j]] += x * x
                end -= 1
            lack = margin - (values[i] - middle)
            for grade in range(grades[i]):
                slope[i] -= 2.0 * (count[grade] * lack + first[grade])
                total += count[grade] * lack * lack + 2.0 * lack * first[grade] + second[grade]
        # Each worse document j, and the better i with scores below f_j + 1: from the bottom up.
        count[:], first[:] = 0.0, 0.0
        end = start
        for p in range(start, stop):
            j = order[p]
            while end < stop and scores[j] > scores[order[end]] - 1.0:
                i = order[end]
                count[grades[i]] += 1.0
                first[grades[i]] += values[i] - middle
                end += 1
            over = margin + values[j] - middle
            for grade in range(grades[j] + 1, n_grades):
                slope[j] += 2.0 * (count[grade] * over - first[grade])
    return total
