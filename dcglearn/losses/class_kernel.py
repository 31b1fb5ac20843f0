"""Documents of a query by class (equal grade, or equal gain), and their smoothed hinge ranks of Wu et al. 2009.

A pair of a better and a worse document, ``x = f_better - f_worse``, adds ``A(x)`` to the rank of the better one and
``1 + A(x)`` to that of the worse one, with ``A(x) = sigma(-alpha x)`` in the right order (x >= 0) and
``1/2 - (alpha/4) x`` in the wrong order. Documents of one class add ``sigma(alpha (f_j - f_i))``. For one document,
each other class is a range in the right order, of which only a window counts, and a range in the wrong order, whose
linear terms are a difference of running sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.validation import Floats, Integers
from dcglearn.losses.objective import Batch
from dcglearn.losses.rank_kernel import FAR, count_above, first_at_most, first_below, slopes, sorted_queries


@dataclass(frozen=True)
class Classes:
    """Documents sorted by query, class and falling score: index in the batch and score f, shape (n,).

    `segments` are the ends of each query's classes, worst first, shape (n_queries * n_classes + 1,); `tops` and
    `bottoms` the largest and the smallest score of each class, 0 for an empty one.
    """

    order: Integers
    f: Floats
    n_classes: int
    segments: Integers
    tops: Floats
    bottoms: Floats

    @classmethod
    def of(cls, batch: Batch, classes: Integers, n_classes: int, n_chunks: int) -> Classes:
        """Sort and group the documents of a batch; `classes` holds the class of each grade, shape (L,)."""
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        segments, place = by_class(order, batch.offsets, batch.grades, classes, n_classes)
        regrouped, g = np.empty_like(order), np.empty_like(f)
        regrouped[place], g[place] = order, f
        filled = np.diff(segments) > 0
        tops = np.where(filled, g[np.minimum(segments[:-1], len(g) - 1)], 0.0)
        bottoms = np.where(filled, g[segments[1:] - 1], 0.0)
        return cls(regrouped, g, n_classes, segments, tops, bottoms)

    @property
    def sizes(self) -> Integers:
        """Documents of each class, shape (n_queries * n_classes,)."""
        return np.diff(self.segments)

    def below_top(self) -> Floats:
        """Return scores minus the largest score of their class, shape (n,)."""
        return self.f - np.repeat(self.tops, self.sizes)

    def above_bottom(self) -> Floats:
        """Return scores minus the smallest score of their class, shape (n,)."""
        return self.f - np.repeat(self.bottoms, self.sizes)


@njit(cache=True, nogil=True)
def by_class(order, offsets, grades, classes, n_classes):
    """Return `Classes.segments`, and the new position of each document of `order`; `classes` has shape (L,)."""
    segments, place = np.empty((len(offsets) - 1) * n_classes + 1, np.int64), np.empty(len(order), np.int64)
    filled = np.empty(n_classes, np.int64)
    for q in range(len(offsets) - 1):
        counts = np.zeros(n_classes, np.int64)
        for i in range(offsets[q], offsets[q + 1]):
            counts[classes[grades[order[i]]]] += 1
        at = offsets[q]
        for c in range(n_classes):
            segments[q * n_classes + c] = at
            filled[c] = at
            at += counts[c]
        for i in range(offsets[q], offsets[q + 1]):
            c = classes[grades[order[i]]]
            place[i] = filled[c]
            filled[c] += 1
    segments[-1] = offsets[-1]
    return segments, place


@njit(cache=True, nogil=True)
def sums_from_top(values, segments):
    """Return an array with the sum of ``values[segments[s]:j]`` at ``s + j``, shape (n + n_segments,)."""
    sums = np.empty(len(values) + len(segments))
    for s in range(len(segments) - 1):
        sums[s + segments[s]] = 0.0
        for j in range(segments[s], segments[s + 1]):
            sums[s + j + 1] = sums[s + j] + values[j]
    return sums


@njit(cache=True, nogil=True)
def sums_from_bottom(values, segments):
    """Return an array with the sum of ``values[j:segments[s + 1]]`` at ``s + j``, shape (n + n_segments,)."""
    sums = np.empty(len(values) + len(segments))
    for s in range(len(segments) - 1):
        sums[s + segments[s + 1]] = 0.0
        for j in range(segments[s + 1] - 1, segments[s] - 1, -1):
            sums[s + j] = sums[s + j + 1] + values[j]
    return sums


@njit(cache=True, nogil=True)
def hinge_ranks(f, segments, n_classes, tops, bottoms, down, up, ratio, head, tail, counts, alpha, first, last, ranks):
    """Fill the ranks of documents first..last-1, sorted by query, class and score.

    `down` sums the scores minus their class's largest from the top, `up` the scores minus the smallest from the bottom,
    so that no sum is a difference of two larger ones.
    """
    s = np.searchsorted(segments, first, side="right") - 1
    for i in range(first, last):
        while segments[s + 1] <= i:
            s += 1
        x = f[i]
        own = s % n_classes
        low = first_at_most(f, x, alpha, FAR, segments[s], segments[s + 1])
        high = first_below(f, x, alpha, -FAR, low, segments[s + 1])
        rank = 1.0 + (low - segments[s] - 0.5 + count_above(x, 0.0, f, ratio, head, tail, counts, low, high, alpha))
        for other in range(s - own, s - own + n_classes):
            start, stop = segments[other], segments[other + 1]
            if other == s or start == stop:
                continue
            if other < s:  # worse documents, in the right order if they score at most x
                turn = first_at_most(f, x, 1.0, 0.0, start, stop)
                high = first_below(f, x, alpha, -FAR, turn, stop)
                wrong = turn - start
                gap = down[other + turn] - wrong * (x - tops[other])
                rank += count_above(x, 0.0, f, ratio, head, tail, counts, turn, high, alpha)
            else:  # better documents, in the right order if they score at least x
                turn = first_below(f, x, 1.0, 0.0, start, stop)
                low = first_at_most(f, x, alpha, FAR, start, turn)
                wrong = stop - turn
                gap = wrong * (x - bottoms[other]) - up[other + turn]
                rank += (stop - start) + (turn - low)
                rank -= count_above(x, 0.0, f, ratio, head, tail, counts, low, turn, alpha)
            if wrong > 0:
                rank += 0.5 * wrong + 0.25 * alpha * gap
        ranks[i] = rank


@njit(cache=True, nogil=True)
def hinge_ranks_vjp(f, segments, n_classes, w, down, up, ratio, head, tail, counts, alpha, first, last, out):
    """Fill ``sum_i w_i dr_i/df_p``; `down` and `up` sum w from the top and from the bottom of each class."""
    s = np.searchsorted(segments, first, side="right") - 1
    for i in range(first, last):
        while segments[s + 1] <= i:
            s += 1
        x = f[i]
        own = s % n_classes
        low = first_at_most(f, x, alpha, FAR, segments[s], segments[s + 1])
        high = first_below(f, x, alpha, -FAR, low, segments[s + 1])
        total = slopes(x, 0.0, w[i], f, ratio, head, tail, counts, low, high, alpha, w)[0]
        for other in range(s - own, s - own + n_classes):
            start, stop = segments[other], segments[other + 1]
            if other == s or start == stop:
                continue
            if other < s:  # A'(x) is -alpha times the slope of sigma, and -alpha/4 where the order is wrong
                turn = first_at_most(f, x, 1.0, 0.0, start, stop)
                high = first_below(f, x, alpha, -FAR, turn, stop)
                total -= slopes(x, 0.0, -w[i], f, ratio, head, tail, counts, turn, high, alpha, w)[0]
                total -= 0.25 * (down[other + turn] + (turn - start) * w[i])
            else:
                turn = first_below(f, x, 1.0, 0.0, start, stop)
                low = first_at_most(f, x, alpha, FAR, start, turn)
                total += slopes(x, 0.0, -w[i], f, ratio, head, tail, counts, low, turn, alpha, w)[0]
                total += 0.25 * (up[other + turn] + (stop - turn) * w[i])
        out[i] = alpha * total


@njit(cache=True, nogil=True)
def widest_ranks(ranks, offsets, segments, n_classes, k, edges):
    """Add to `edges` the largest rank of each query's k most relevant documents, among equals those scored higher."""
    for q in range(len(offsets) - 1):
        left = min(k, offsets[q + 1] - offsets[q])
        widest = 0.0
        for c in range(n_classes - 1, -1, -1):
            s = q * n_classes + c
            taken = min(left, segments[s + 1] - segments[s])
            for i in range(segments[s], segments[s] + taken):
                widest = max(widest, ranks[i])
            left -= taken
        edges[q] += widest
