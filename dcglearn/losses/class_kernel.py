"""Documents of a query grouped by class (equal grade, or equal gain), each class by falling score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


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
    origins : ndarray, shape (n_queries * n_classes,)
        The largest score of each class, from which running sums are taken.
    """

    order: Integers
    f: Floats
    n_classes: int
    segments: Integers
    origins: Floats

    @classmethod
    def of(
        cls, order: Integers, f: Floats, offsets: Integers, grades: Integers, classes: Integers, n_classes: int
    ) -> Classes:
        """Regroup sorted documents; `classes` holds the class of each grade, shape (L,)."""
        segments, place = np.empty((len(offsets) - 1) * n_classes + 1, np.int64), np.empty(len(f), np.int64)
        by_class(order, offsets, grades, classes, n_classes, segments, place)
        moved, g = np.empty_like(order), np.empty_like(f)
        moved[place], g[place] = order, f
        origins = np.where(np.diff(segments) > 0, g[np.minimum(segments[:-1], len(g) - 1)], 0.0)
        return cls(moved, g, n_classes, segments, origins)

    def sums(self, values: Floats, origins: Floats | None = None) -> Floats:
        """Return running sums of values less their class's origin (0 by default), shape (n + segments,)."""
        out = np.empty(len(self.f) + len(self.segments))
        running_sums(values, np.zeros(len(self.origins)) if origins is None else origins, self.segments, out)
        return out


@njit(cache=True, nogil=True)
def by_class(order, offsets, grades, classes, n_classes, segments, place):  # type: ignore[no-untyped-def]
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
def running_sums(values, origins, segments, sums):  # type: ignore[no-untyped-def]
    """Fill ``sums[s + j]``, shape (n + segments,), with the running sum of values less their segment's origin."""
    for s in range(len(segments) - 1):
        start = segments[s]
        sums[s + start] = 0.0
        for j in range(start, segments[s + 1]):
            sums[s + j + 1] = sums[s + j] + (values[j] - origins[s])


@njit(cache=True, nogil=True)
def first_at_most(f, x, low, high):  # type: ignore[no-untyped-def]
    """Return the first j in low..high of falling scores with ``f_j <= x``."""
    while low < high:
        middle = (low + high) // 2
        if f[middle] <= x:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def first_below(f, x, low, high):  # type: ignore[no-untyped-def]
    """Return the first j in low..high of falling scores with ``f_j < x``."""
    while low < high:
        middle = (low + high) // 2
        if f[middle] < x:
            high = middle
        else:
            low = middle + 1
    return low
