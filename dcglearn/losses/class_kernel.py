"""Documents of a query grouped by class (equal grade, or equal gain), each class sorted by falling score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.validation import Floats, Integers
from dcglearn.losses.objective import Batch
from dcglearn.losses.rank_kernel import sorted_queries


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
