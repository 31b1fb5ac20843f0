"""Forces between documents of a query: what exchanging two of them would change in a DCG, by how far they lie apart."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

BELL, HINGE, LOGISTIC = range(3)
"""Slope of the step in a pair's difference of scores: soft ranks, smoothed hinge ranks, the logistic loss."""
NEAR = 0.001
"""Added to the distance, in units of the width of a step: documents much closer than that pull no harder."""
PAST = 1.5
"""By how much a pair's step goes past its distance, in the same units; less is slower, more learns noise."""
WIDE = 600.0
"""exp(-600) is no subnormal number; scores further apart than 600 / alpha take the slow way."""


@njit(cache=True, nogil=True)
def worst_first(scores, classes, n_classes, start, stop, order):
    """Fill `order` with documents start..stop-1 by falling score, ties by rising class: whatever order they come in."""
    ends = np.zeros(n_classes + 1, np.int64)
    for i in range(start, stop):
        ends[classes[i] + 1] += 1
    for c in range(n_classes):
        ends[c + 1] += ends[c]
    rising = np.empty(stop - start, np.int64)
    for i in range(start, stop):
        rising[ends[classes[i]]] = i
        ends[classes[i]] += 1
    places = np.argsort(-scores[rising], kind="mergesort")
    for p in range(stop - start):
        order[p] = rising[places[p]]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"}, error_model="numpy")
def _row(x, e, gain, discounts, p, m, hinge, logistic, pulls, bends):
    """Fill the pull of each document below position p on that at p, signed, and its bend; return their sums."""
    top, scale, own, level = x[p], 1.0 / e[p], gain[p], discounts[p]
    pull, bend, size = 0.0, 0.0, 0.0
    for r in range(p + 1, m):
        far = top - x[r]
        t = e[r] * scale
        s = 1.0 / (1.0 + t)
        span = own - gain[r]
        slope = 4.0 * t * s * s
        up = 1.0 if hinge else slope
        if logistic:
            up, slope = 2.0 * s, 2.0 * t * s
        force = (slope if span > 0.0 else up) * span * abs(level - discounts[r]) / (far + NEAR)
        hard = abs(force)
        curve = hard / (far + PAST)
        pulls[r] = force
        bends[r] = curve
        pull += force
        bend += curve
        size += hard
    return pull, bend, size


@njit(cache=True, nogil=True)
def exchange(scores, classes, n_classes, gains, offsets, c, alpha, kind, damped, factor, first, last, out, bend):
    """Fill the forces on the documents of queries first..last-1, towards higher scores, and their curvature.

    `classes` and `gains` are by document, in the same order; the discounts `c` by position. Forces of a
    query that sum to S are brought to log2(1 + S) where `damped`.
    """
    longest = 1
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    # Rows of one array, far apart: whether the compiled `_row` takes its vectorised loop, which adds in another order,
    # depends on the distance of its arrays in memory, and so must not change between calls.
    rows = np.empty((8, 3 * longest))
    x, e, gain, level = rows[0, :longest], rows[1, :longest], rows[2, :longest], rows[3, :longest]
    pulls, bends, pull, bent = rows[4, :longest], rows[5, :longest], rows[6, :longest], rows[7, :longest]
    level[:] = c[:longest]
    order = np.empty(longest, np.int64)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        m = stop - start
        if factor[q] == 0.0 or m < 2:
            out[start:stop] = 0.0
            bend[start:stop] = 0.0
            continue
        worst_first(scores, classes, n_classes, start, stop, order)
        best = scores[order[0]]
        for p in range(m):
            i = order[p]
            x[p], gain[p] = alpha * (scores[i] - best), gains[i]
            e[p] = math.exp(max(x[p], -WIDE))
            pull[p], bent[p] = 0.0, 0.0
        wide = x[m - 1] < -WIDE
        total = 0.0
        for p in range(m):
            if wide:
                for r in range(p, m):
                    e[r] = math.exp(max(x[r] - x[p], -WIDE))
            up, curve, size = _row(x, e, gain, level, p, m, kind == HINGE, kind == LOGISTIC, pulls, bends)
            pull[p] += up
            bent[p] += curve
            total += size
            for r in range(p + 1, m):
                pull[r] -= pulls[r]
                bent[r] += bends[r]
        scale = factor[q]
        if damped and total > 0.0:
            total *= 2.0 * factor[q]
            scale *= math.log2(1.0 + total) / total
        for p in range(m):
            out[order[p]] = scale * alpha * pull[p]
            bend[order[p]] = scale * alpha * alpha * bent[p]
