"""Sums over pairs of a better and a worse document of one query."""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.losses.rank_kernel import FAR, first_at_most, first_below

LOGISTIC, MODIFIED_HUBER = range(2)
"""Losses of a pair with margin v: ``log(1 + exp(-v))``, and ``-4v`` for v < -1, ``(v - 1)^2`` up to 1, then 0."""


@njit(cache=True, nogil=True)
def over_pairs(segments, n_classes, weight):
    """Return each query's weight over its number of pairs of documents of different classes, at least 1."""
    factors = np.empty(len(weight))
    for q in range(len(weight)):
        n_pairs = 0
        for s in range(q * n_classes, (q + 1) * n_classes):
            n_pairs += (segments[s + 1] - segments[s]) * (segments[s] - segments[q * n_classes])
        factors[q] = weight[q] / max(n_pairs, 1)
    return factors


@njit(cache=True, nogil=True)
def hinge(f, segments, n_classes, tops, bottoms, down, squares, up, factor, margin, squared, first, last, out):
    """Return the sum of ``max(0, margin - (f_better - f_worse))`` over the better documents first..last-1.

    If `squared`, the terms are halves of the squares. `out` takes minus the derivative of the sum over all pairs.
    Documents are sorted by query, class and score. `down` and `squares` sum the scores minus their class's largest, and
    the squares of these, from the top; `up` sums the scores minus the smallest from the bottom.
    """
    value = 0.0
    s = np.searchsorted(segments, first, side="right") - 1
    for i in range(first, last):
        while segments[s + 1] <= i:
            s += 1
        x = f[i]
        query = s // n_classes
        push = 0.0
        for other in range(query * n_classes, (query + 1) * n_classes):
            start, stop = segments[other], segments[other + 1]
            if other == s or start == stop:
                continue
            if other < s:
                turn = first_at_most(f, x - margin, 1.0, 0.0, start, stop)
                n = turn - start
                a = margin - x + tops[other]
                total = n * a + down[other + turn]
                push += total if squared else n
                if squared:
                    square = n * a * a + 2.0 * a * down[other + turn] + squares[other + turn]
                    value += factor[query] * 0.5 * max(square, 0.0)
                else:
                    value += factor[query] * total
            else:
                turn = first_below(f, x + margin, 1.0, 0.0, start, stop)
                n = stop - turn
                total = n * (margin + x - bottoms[other]) - up[other + turn]
                push -= total if squared else n
        out[i] = factor[query] * push
    return value


@njit(cache=True, nogil=True)
def phi(kind, v):
    """Return the loss of a pair with margin v, and its derivative."""
    if kind == LOGISTIC:
        e = math.exp(-abs(v)) if abs(v) <= 2.0 * FAR else 0.0
        value = math.log1p(e) + max(-v, 0.0)
        return value, (-e if v >= 0.0 else -1.0) / (1.0 + e)
    if v < -1.0:
        return -4.0 * v, -4.0
    if v <= 1.0:
        return (v - 1.0) * (v - 1.0), 2.0 * (v - 1.0)
    return 0.0, 0.0


@njit(cache=True, nogil=True)
def weighted_pairs(f, gain, offsets, discounts, factor, kind, steepness, first, last, out):
    """Return ``sum |(G_a - G_b)(D_a - D_b)| phi(steepness v)`` over pairs whose upper document is among first..last-1.

    v is the score of the better document minus that of the worse one, and D the discount at the rank in the sort, 0
    past `discounts`. `out`, shape (n,), takes minus the derivative.
    """
    value = 0.0
    depth = len(discounts)
    q = np.searchsorted(offsets, first, side="right") - 1
    for a in range(first, last):
        while offsets[q + 1] <= a:
            q += 1
        position = a - offsets[q]
        if position >= depth or factor[q] == 0.0:
            continue
        for b in range(a + 1, offsets[q + 1]):
            span = gain[a] - gain[b]
            if span == 0.0:
                continue
            below = b - offsets[q]
            drop = discounts[position] - (discounts[below] if below < depth else 0.0)
            weight = factor[q] * abs(span * drop)
            sign = 1.0 if span > 0.0 else -1.0
            loss, change = phi(kind, sign * steepness * (f[a] - f[b]))
            value += weight * loss
            step = weight * change * sign * steepness
            out[a] -= step
            out[b] += step
    return value
