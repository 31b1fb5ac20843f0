"""Average precision as (soft rank among the relevant documents) / (soft rank among all)."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def relevant_of(order, grades, offsets, min_grade):
    """Return which sorted documents are relevant, query after query, and the queries' offsets among these."""
    ends = np.zeros_like(offsets)
    found = np.empty(len(order), np.int64)
    n = 0
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            if grades[order[i]] >= min_grade:
                found[n] = i
                n += 1
        ends[q + 1] = n
    return found[:n].copy(), ends


@njit(cache=True, nogil=True)
def precision(ranks, relevant, among, ends, weight, slope, inner):
    """Return the weighted sum of average precisions; fill its derivative in both kinds of rank.

    ``among[m]`` is the rank among relevant documents of sorted document ``relevant[m]``, which has rank
    ``ranks[relevant[m]]`` among all; `slope` (by document) and `inner` (by relevant document) take the derivatives.
    """
    total = 0.0
    for q in range(len(ends) - 1):
        n = ends[q + 1] - ends[q]
        part = 0.0
        for m in range(ends[q], ends[q + 1]):
            r = ranks[relevant[m]]
            part += among[m] / r
            inner[m] = weight[q] / (n * r)
            slope[relevant[m]] = -inner[m] * among[m] / r
        if n > 0:
            total += weight[q] * part / n
    return total
