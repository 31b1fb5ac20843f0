"""Average precision at soft ranks: the mean over relevant documents of (rank among the relevant) / (rank among all)."""

from __future__ import annotations

import numpy as np

from dcglearn.foundation.compiled import njit


@njit(cache=True, nogil=True)
def relevant_of(order, grades, offsets, min_grade):
    """Return the positions of relevant documents in the sorted order, and the offsets of queries among these."""
    ends = np.zeros_like(offsets)
    relevant = np.empty(len(order), np.int64)
    n = 0
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            if grades[order[i]] >= min_grade:
                relevant[n] = i
                n += 1
        ends[q + 1] = n
    return relevant[:n].copy(), ends


@njit(cache=True, nogil=True)
def precision(ranks, relevant, among, ends, weight, slope, inner):
    """Return the weighted sum of average precisions; fill its derivatives with respect to both kinds of rank.

    The sorted document ``relevant[m]`` has rank ``among[m]`` among relevant documents and ``ranks[relevant[m]]`` among
    all; `inner` takes the derivative with respect to the former, `slope` that with respect to the latter.
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
