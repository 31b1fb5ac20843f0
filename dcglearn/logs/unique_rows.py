"""Distinct graded lists and pairs of lists, numbered by sorting rows packed into integers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Grades, Indices, Integers


def packed(lists: Grades) -> Integers:
    """Return lists as int64 columns of eight grades each, which sort fast; shape (n, ceil(K/8))."""
    n, depth = lists.shape
    columns = -(-depth // 8)
    padded = np.full((n, columns * 8), -1, dtype=np.int8)
    padded[:, :depth] = lists
    return padded.view(np.int64)


def places(sizes: Integers) -> Integers:
    """Return 0, 1, ... for each of groups of these sizes, shape (sum of sizes,)."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def numbered(labels: Any) -> Indices:
    """Return the number of each label among the distinct ones, sorted, shape (n,)."""
    return np.unique(labels, return_inverse=True)[1]


def size_of(*numbers: Integers | Grades) -> int:
    """Return how many things are numbered from 0, by the largest number in any of the arrays."""
    return 1 + max(int(one.max(initial=-1)) for one in numbers)


def unique_rows(keys: Integers) -> tuple[Integers, Indices, Indices]:
    """Return the distinct rows, sorted, where each first occurs, and the number of each row."""
    # the sort is stable, so the first of equal rows stays the first
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)

    # the number of each row, in its own place
    inverse = np.empty(len(keys), dtype=np.intp)
    inverse[order] = np.cumsum(new) - 1
    return ordered[new], order[new], inverse


def may_repeat(*columns: NDArray[Any]) -> bool:
    """Return whether rows of columns, shape (n,), (n, K) or (1,), may be equal; else all differ.

    A row is hashed to a sum of its values times random odd numbers, which takes a tenth of the time
    of `unique_rows`.
    """
    values = [row for column in columns if len(column) > 1 for row in np.atleast_2d(column.T)]
    odd = np.random.default_rng(0).integers(0, 1 << 62, len(values)) * 2 + 1

    # the hash of each row; overflow wraps around
    hashed = np.zeros(max(map(len, columns)), dtype=np.int64)
    for value, factor in zip(values, odd, strict=True):
        hashed += value * factor

    # equal rows have equal hashes
    hashed.sort()
    return bool((hashed[1:] == hashed[:-1]).any())


def list_numbers(first: Grades, second: Grades) -> tuple[Indices, Indices]:
    """Return the numbers, among distinct lists, of each pair's two lists, shape (n,) each."""
    numbers = unique_rows(np.concatenate([packed(first), packed(second)]))[2]
    return numbers[: len(first)], numbers[len(first) :]


def pair_numbers(first: Indices, second: Indices) -> Indices:
    """Return the number of each distinct pair of `list_numbers`, in either order, shape (n,)."""
    n = size_of(first, second)
    return numbered(np.minimum(first, second) * n + np.maximum(first, second))


def count_lists(first: Grades, second: Grades, n_grades: int) -> int:
    """Return the number of distinct lists in two arrays, shape (n, K) each."""
    # too many for numbers whose digits are the grades and the codes -1 and -2
    depth = first.shape[1]
    base = n_grades + 2
    if base**depth >= 1 << 63:
        return len(unique_rows(np.concatenate([packed(first), packed(second)]))[0])

    # each list as one number
    n = len(first)
    codes = np.zeros(2 * n, dtype=np.int64)
    for k in range(depth):
        codes *= base
        codes[:n] += first[:, k]
        codes[n:] += second[:, k]

    # how often the sorted numbers change
    codes.sort()
    return int((codes[1:] != codes[:-1]).sum()) + min(n, 1)
