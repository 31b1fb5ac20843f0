"""Distinct graded lists and pairs of lists: numbered in their order, or counted."""

from typing import Any

import numpy as np

from dcglearn.foundation.validation import Grades, Indices, Integers


def packed(lists: Grades) -> Integers:
    """Return lists as int64 columns of eight grades each, which sort fast; shape (n, ceil(K/8))."""
    n_more = -lists.shape[1] % 8
    padded = np.pad(lists, [(0, 0), (0, n_more)], constant_values=-1)
    return np.ascontiguousarray(padded).view(np.int64)


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
    # number the rows up to each column, which sorts faster than all columns at once
    number = numbered(keys[:, 0])
    for column in keys.T[1:]:
        code = numbered(column)
        number = numbered(number * size_of(code) + code)

    # of the rows with a number, the first is written last
    first = np.empty(size_of(number), dtype=np.intp)
    first[number[::-1]] = np.arange(len(keys))[::-1]
    return keys[first], first, number


def list_numbers(first: Grades, second: Grades) -> tuple[Indices, Indices]:
    """Return the numbers, among distinct lists, of each pair's two lists, shape (n,) each."""
    numbers = unique_rows(packed(np.concatenate([first, second])))[2]
    return numbers[: len(first)], numbers[len(first) :]


def pair_numbers(first: Indices, second: Indices) -> Indices:
    """Return the number of each distinct pair of `list_numbers`, in either order, shape (n,)."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return numbered(low * size_of(high) + high)


def hashed(rows: Integers | Grades) -> Integers:
    """Return a hash of each row of small integers, shape (n, m); shape (n,).

    It is the sum of a row's values times random odd numbers. Two rows of 10^6 share a hash in one
    case of a million. Hashes are counted in a tenth of the time of `unique_rows`.
    """
    odd = 2 * np.random.default_rng(0).integers(1 << 62, size=rows.shape[1]) + 1
    hashes: Integers = np.einsum("nk,k", rows, odd)  # overflow wraps around
    return hashes
