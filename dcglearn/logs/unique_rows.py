"""Distinct graded lists: rows packed into integers, sorted, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Grades, Integers


def packed(lists: Grades) -> Integers:
    """Return lists as few int64 columns, eight grades each, so that rows can be sorted fast; shape (n, ceil(K/8))."""
    n, depth = lists.shape
    columns = -(-depth // 8)
    padded = np.full((n, columns * 8), -1, dtype=np.int8)
    padded[:, :depth] = lists
    return padded.view(np.int64)


def unique_rows(keys: Integers) -> tuple[Integers, NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct rows, where each first occurs, and which one each row is."""
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.cumsum(new) - 1
    inverse = np.empty(len(keys), dtype=np.intp)
    inverse[order] = number
    return ordered[new], order[new], inverse  # lexsort is stable, so order[new] is the first of each
