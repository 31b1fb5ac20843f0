"""Count pairs of rankings by how two metrics order them, in O(n log n)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.metric_coherence.regret import TIE

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Integers


def pair_counts(first: Floats, second: Floats, weight: Floats | None = None) -> Floats:
    """Return the numbers of pairs ordered differently, alike, tied by the first only, the second only, by both.

    `first` and `second` hold the values of the rankings under each metric, on a span of 1, shape (n,). Each entry
    stands for `weight` rankings, by default one, which both metrics tie.
    """
    n_second, ranks = _ranks(second)
    key = _ranks(first)[1] * n_second + ranks
    size = np.ones(len(key)) if weight is None else weight[np.argsort(key, kind="stable")]
    key.sort()
    pairs = _pairs_of(size.sum())
    tied_both = _pairs_in_runs(key, size)
    key, ranks = np.divmod(key, n_second)
    tied_first = _pairs_in_runs(key, size)
    different = _inversions(ranks, size)  # sorts ranks, and size with them
    tied_second = _pairs_in_runs(ranks, size)
    alike = pairs - different - tied_first - tied_second + tied_both
    return np.array([different, alike, tied_first - tied_both, tied_second - tied_both, tied_both])


def _ranks(values: Floats) -> tuple[int, Integers]:
    """Return the number of different values and the dense rank of each; values within `TIE` of the next are equal."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > TIE
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order[0]] = 0
    ranks[order[1:]] = np.cumsum(steps)
    return int(steps.sum()) + 1, ranks


def _pairs_of(weight: Floats | float) -> float:
    """Return the number of pairs within groups of `weight` rankings each."""
    return float(np.sum(weight * (weight - 1) / 2))


def _pairs_in_runs(keys: Integers, size: Floats) -> float:
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    return _pairs_of(np.add.reduceat(size, starts))


@njit(cache=True, nogil=True)
def _inversions(keys: Integers, size: Floats) -> float:
    """Sort both arrays by key, in place, and return the number of inversions, weighted by the products of sizes."""
    n = len(keys)
    merged, merged_size = np.empty_like(keys), np.empty_like(size)
    inversions = 0.0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            left = 0.0
            for i in range(start, middle):
                left += size[i]
            i, j = start, middle
            for out in range(start, stop):
                if i < middle and (j == stop or keys[i] <= keys[j]):
                    merged[out], merged_size[out] = keys[i], size[i]
                    left -= size[i]
                    i += 1
                else:
                    merged[out], merged_size[out] = keys[j], size[j]
                    inversions += left * size[j]
                    j += 1
        keys[:], size[:] = merged, merged_size
        width *= 2
    return inversions
