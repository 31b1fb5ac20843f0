"""Numba kernel of evaluation on arrays: the share of each grade at each of the first positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.compiled import njit

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Grades, Integers


@njit(cache=True, nogil=True)
def grade_shares(
    scores: Floats, grades: Grades, depth: int, shares: Floats, counts: Floats, start: int, stop: int
) -> None:
    """Write the share of each grade at each of the first positions, and the count of each grade, of some queries.

    Documents with equal scores share their positions: each stands at each of them with the same probability. `scores`
    and `grades` (-1 = no document) have shape (Q, N). The zeros of `shares`, shape (Q, K, L), and `counts`, shape (Q,
    L), are written to for the queries from `start` to `stop`.
    """
    heap = np.empty(depth)
    places = np.empty(depth, dtype=np.int64)
    for q in range(start, stop):
        size = _highest(scores[q], grades[q], heap, counts[q])
        if size == 0:
            continue
        least = heap[0]
        above, tied = _places_above(scores[q], grades[q], least, places)
        for i in range(scores.shape[1]):
            if grades[q, i] >= 0 and scores[q, i] == least:
                for k in range(above, min(depth, above + tied)):
                    shares[q, k, grades[q, i]] += 1.0 / tied
        _share_above(scores[q], grades[q], places[:above], shares[q])


@njit(cache=True, nogil=True)
def _highest(scores: Floats, grades: Grades, heap: Floats, counts: Floats) -> int:
    """Keep the highest scores in a heap, the lowest of them first, and count grades; return the size of the heap."""
    size = 0
    for i in range(len(scores)):
        if grades[i] < 0:
            continue
        counts[grades[i]] += 1.0
        if size < len(heap):
            size = _pushed(heap, size, scores[i])
        elif scores[i] > heap[0]:
            _replaced(heap, size, scores[i])
    return size


@njit(cache=True, nogil=True)
def _places_above(scores: Floats, grades: Grades, least: float, places: Integers) -> tuple[int, int]:
    """Write the places of scores above `least`; return how many there are, and how many scores are equal to it."""
    above, tied = 0, 0
    for i in range(len(scores)):
        if grades[i] >= 0:
            if scores[i] > least:
                places[above] = i
                above += 1
            elif scores[i] == least:
                tied += 1
    return above, tied


@njit(cache=True, nogil=True)
def _share_above(scores: Floats, grades: Grades, places: Integers, shares: Floats) -> None:
    """Write the shares of the documents at `places`, which fill the first positions."""
    places = places[np.argsort(-scores[places])]
    first = 0
    while first < len(places):
        last = first + 1
        while last < len(places) and scores[places[last]] == scores[places[first]]:
            last += 1
        part = 1.0 / (last - first)
        for k in range(first, last):
            for i in range(first, last):
                shares[k, grades[places[i]]] += part
        first = last


@njit(cache=True, nogil=True)
def _pushed(heap: Floats, size: int, value: float) -> int:
    """Add a value to a min-heap; return its new size."""
    child = size
    while child > 0 and heap[(child - 1) // 2] > value:
        heap[child] = heap[(child - 1) // 2]
        child = (child - 1) // 2
    heap[child] = value
    return size + 1


@njit(cache=True, nogil=True)
def _replaced(heap: Floats, size: int, value: float) -> None:
    """Replace the least value of a min-heap."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = value
