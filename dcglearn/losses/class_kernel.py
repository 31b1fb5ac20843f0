"""Documents of a query grouped by class (equal grade, or equal gain), each class by falling score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Integers


@dataclass(frozen=True)
class Classes:
    """Sorted documents regrouped: the fields that kernels take.

    Attributes
    ----------
    order : ndarray of int64, shape (n,)
        Which document of the batch stands where.
    f : ndarray, shape (n,)
        Their scores.
    n_classes : int
    segments : ndarray of int64, shape (n_queries * n_classes + 1,)
        Ends of the classes of each query, worst class first.
    tops, bottoms : ndarray, shape (n_queries * n_classes,)
        The largest and the smallest score of each class; 0 of an empty one.
    """

    order: Integers
    f: Floats
    n_classes: int
    segments: Integers
    tops: Floats
    bottoms: Floats

    @classmethod
    def of(
        cls, order: Integers, f: Floats, offsets: Integers, grades: Integers, classes: Integers, n_classes: int
    ) -> Classes:
        """Regroup sorted documents; `classes` holds the class of each grade, shape (L,)."""
        segments, place = np.empty((len(offsets) - 1) * n_classes + 1, np.int64), np.empty(len(f), np.int64)
        by_class(order, offsets, grades, classes, n_classes, segments, place)
        moved, g = np.empty_like(order), np.empty_like(f)
        moved[place], g[place] = order, f
        held = np.diff(segments) > 0
        tops = np.where(held, g[np.minimum(segments[:-1], len(g) - 1)], 0.0)
        bottoms = np.where(held, g[segments[1:] - 1], 0.0)
        return cls(moved, g, n_classes, segments, tops, bottoms)

    def from_top(self, values: Floats) -> Floats:
        """Return ``out[s + j]``, shape (n + segments,): the sum of class s's values above j."""
        out = np.empty(len(self.f) + len(self.segments))
        sums_from_top(values, self.segments, out)
        return out

    def from_bottom(self, values: Floats) -> Floats:
        """Return ``out[s + j]``, shape (n + segments,): the sum of class s's values from j down."""
        out = np.empty(len(self.f) + len(self.segments))
        sums_from_bottom(values, self.segments, out)
        return out

    def below_top(self) -> Floats:
        """Return scores less the largest of their class, shape (n,)."""
        return self.f - np.repeat(self.tops, np.diff(self.segments))

    def above_bottom(self) -> Floats:
        """Return scores less the smallest of their class, shape (n,)."""
        return self.f - np.repeat(self.bottoms, np.diff(self.segments))


@njit(cache=True, nogil=True)
def by_class(order, offsets, grades, classes, n_classes, segments, place):
    """Group each query's sorted documents by class, worst first, each class by falling score.

    Parameters
    ----------
    classes : ndarray of int64, shape (L,)
        Class of each grade.
    segments : ndarray of int64, shape (n_queries * n_classes + 1,)
        Filled with the ends of classes.
    place : ndarray of int64, shape (n,)
        Filled with where each sorted document goes.
    """
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


@njit(cache=True, nogil=True)
def sums_from_top(values, segments, sums):
    """Fill ``sums[s + j]`` with the sum of ``values[segments[s]:j]``."""
    for s in range(len(segments) - 1):
        sums[s + segments[s]] = 0.0
        for j in range(segments[s], segments[s + 1]):
            sums[s + j + 1] = sums[s + j] + values[j]


@njit(cache=True, nogil=True)
def sums_from_bottom(values, segments, sums):
    """Fill ``sums[s + j]`` with the sum of ``values[j:segments[s + 1]]``."""
    for s in range(len(segments) - 1):
        sums[s + segments[s + 1]] = 0.0
        for j in range(segments[s + 1] - 1, segments[s] - 1, -1):
            sums[s + j] = sums[s + j + 1] + values[j]


@njit(cache=True, nogil=True)
def first_at_most(f, x, low, high):
    """Return the first j in low..high of falling scores with ``f_j <= x``."""
    while low < high:
        middle = (low + high) // 2
        if f[middle] <= x:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def first_below(f, x, low, high):
    """Return the first j in low..high of falling scores with ``f_j < x``."""
    while low < high:
        middle = (low + high) // 2
        if f[middle] < x:
            high = middle
        else:
            low = middle + 1
    return low
