"""A DCG at real-valued ranks: its value, its ideal, and its derivative in the ranks."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dcglearn.metric.smooth_discount import discount_at


@njit(cache=True, nogil=True)
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@njit(cache=True, nogil=True)
def cut_discount(kind, numbers, edge, beta, r):
    """Return ``D(r) sigma(beta (edge - r))`` and its derivative in r; an infinite edge cuts nothing."""
    value, slope = discount_at(kind, numbers, r)
    if edge == np.inf:
        return value, slope
    kept = sigmoid(beta * (edge - r))
    return value * kept, (slope - value * beta * sigmoid(beta * (r - edge))) * kept


@njit(cache=True, nogil=True)
def ideal_sums(kind, numbers, edge, beta, longest):
    """Return the running sums of the cut discounts at ranks 1..longest, shape (longest + 1,)."""
    sums = np.zeros(longest + 1)
    for r in range(longest):
        if beta * (r + 1.0 - edge) > 40.0:  # what is left adds less than float64 can tell
            sums[r + 1 :] = sums[r]
            break
        sums[r + 1] = sums[r] + cut_discount(kind, numbers, edge, beta, r + 1.0)[0]
    return sums


@njit(cache=True, nogil=True)
def ideal_of(grades, start, stop, gains, by_gain, sums):
    """Return the largest value that documents start..stop-1 can have: the largest gains at the first ranks."""
    counts = np.zeros(len(gains), np.int64)
    for i in range(start, stop):
        counts[grades[i]] += 1
    total = 0.0
    rank = 0
    for grade in by_gain:
        if counts[grade] > 0:
            total += gains[grade] * (sums[rank + counts[grade]] - sums[rank])
            rank += counts[grade]
    return total


@njit(cache=True, nogil=True)
def query_factors(grades, offsets, gains, by_gain, sums, weight, normalise, factor):
    """Fill what each query's DCG is multiplied by: its weight, over its ideal; 0 where the ideal is not positive."""
    for q in range(len(offsets) - 1):
        factor[q] = weight[q]
        if normalise:
            ideal = ideal_of(grades, offsets[q], offsets[q + 1], gains, by_gain, sums)
            factor[q] = weight[q] / ideal if ideal > 0.0 else 0.0


@njit(cache=True, nogil=True)
def dcg_of_ranks(ranks, order, grades, offsets, gains, kind, numbers, edges, beta, factor, slope):
    """Return ``sum_q factor_q sum_i G_i D(r_i) T(r_i)`` over sorted documents; fill its derivative in the ranks."""
    total = 0.0
    for q in range(len(offsets) - 1):
        edge = edges[q] if len(edges) > 1 else edges[0]
        part = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            slope[i] = 0.0
            gain = factor[q] * gains[grades[order[i]]]
            if gain != 0.0:
                value, change = cut_discount(kind, numbers, edge, beta, ranks[i])
                part += gain * value
                slope[i] = gain * change
        total += part
    return total


@njit(cache=True, nogil=True)
def _hard_ideal(grades, start, stop, gains, by_gain, discounts):
    """Return what `DCG.ideal` does of documents start..stop-1; `discounts` fall."""
    depth = len(discounts)
    counts = np.zeros(len(gains), np.int64)
    for i in range(start, stop):
        counts[grades[i]] += 1
    items = np.zeros(max(stop - start, depth))  # gains, falling, with a 0 for each position that stays empty
    empty = len(items) - (stop - start)
    at = 0
    for grade in by_gain:
        if gains[grade] < 0.0:
            at += empty
            empty = 0
        items[at : at + counts[grade]] = gains[grade]
        at += counts[grade]
    total = 0.0
    for p in range(depth):
        total += discounts[p] * (items[p] if discounts[p] >= 0.0 else items[len(items) - depth + p])
    return total


@njit(cache=True, nogil=True)
def hard_factors(grades, offsets, gains, by_gain, discounts, weight, normalise, factor):
    """Fill what `query_factors` does, for ideals at whole ranks."""
    for q in range(len(offsets) - 1):
        factor[q] = weight[q]
        if normalise:
            ideal = _hard_ideal(grades, offsets[q], offsets[q + 1], gains, by_gain, discounts)
            factor[q] = weight[q] / ideal if ideal > 0.0 else 0.0
