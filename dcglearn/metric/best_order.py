"""The best order of documents under saturation, by dynamic programming over counts of grades."""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Integers


MOST_STATES = 500_000
"""Maximum number of states of the dynamic programme."""

AT_ONCE = 1 << 22
"""Maximum number of values (states times queries) held at a time."""


def best_by_counts(gains: Floats, discounts: Floats, stops: Floats, counts: Integers) -> Floats:
    """Return the largest saturation utility of documents counted by grade, shape (Q,); see `ListUtility`.

    `counts` has shape (Q, L). Raise InputError if there are more than `MOST_STATES` states.
    """
    depth = len(discounts)
    distinct, query = np.unique(np.minimum(counts, depth), axis=0, return_inverse=True)
    used = np.flatnonzero(distinct.any(axis=0))
    if not len(used):
        return np.zeros(len(counts))
    n_states = comb(depth + len(used), len(used))
    if n_states > MOST_STATES:
        raise InputError(
            f"the best order of {len(used)} grades at {depth} positions has {n_states:,} states, more than the "
            f"{MOST_STATES:,} that are searched: give the metric a smaller depth, or do not normalise"
        )
    states, following = _states(depth, len(used))
    size = max(AT_ONCE // n_states, 1)
    parts = np.split(distinct[:, used], range(size, len(distinct), size))
    values = [_values(gains[used], discounts, 1 - stops[used], states, following, part) for part in parts]
    best: Floats = np.concatenate(values)[query.ravel()]
    return best


def _values(
    gains: Floats, discounts: Floats, going_on: Floats, states: Integers, following: NDArray[np.intp], counts: Integers
) -> Floats:
    """Return the value of the empty list before documents counted by grade, shape (Q, L); states are lists so far."""
    value = np.zeros((len(states), len(counts)))
    length = states.sum(axis=1)
    for k in range(len(discounts) - 1, -1, -1):
        at = np.flatnonzero(length == k)
        best = np.zeros((len(at), len(counts)))
        for a, (gain, survival) in enumerate(zip(gains, going_on, strict=True)):
            worth = discounts[k] * gain + survival * value[following[at, a]]
            np.maximum(best, np.where(states[at, a, None] < counts[:, a], worth, 0.0), out=best)
        value[at] = best
    return value[0]


@lru_cache(maxsize=8)
def _states(depth: int, n_grades: int) -> tuple[Integers, NDArray[np.intp]]:
    """Return the counts of documents of each grade with a sum of at most K, and where one more of a grade leads.

    Shapes (S, L) and (S, L), in lexicographic order; from a sum of K nothing leads on, and 0 stands there.
    """
    left, columns = np.array([depth]), np.zeros((1, 0), dtype=np.int64)
    for _ in range(n_grades):
        rows = np.repeat(np.arange(len(left)), left + 1)
        starts = np.cumsum(left + 1) - (left + 1)
        chosen = np.arange(len(rows)) - starts[rows]
        columns, left = np.column_stack([columns[rows], chosen]), left[rows] - chosen
    counted = np.array([[comb(r + d, d) for d in range(n_grades + 1)] for r in range(depth + 1)])
    following = np.zeros(columns.shape, dtype=np.intp)
    short = np.flatnonzero(left > 0)
    for grade in range(n_grades):
        more = columns[short].copy()
        more[:, grade] += 1
        before = depth - np.cumsum(more, axis=1) + more
        dims = n_grades - np.arange(n_grades)
        following[short, grade] = (counted[before, dims] - counted[before - more, dims]).sum(axis=1)
    return columns, following
