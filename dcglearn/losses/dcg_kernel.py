"""A DCG and an average precision at real-valued ranks, and weights over the ideal value of each query."""

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.metric.smooth_discount import GEOMETRIC, LOG2, RECIPROCAL, SQRT

NEGLIGIBLE = 40.0
"""exp(-40) is below the precision of float64, relative to 1."""

ZERO = 746.0
"""exp(-746) is zero in float64."""


@njit(cache=True, nogil=True)
def discount_at(kind, numbers, r):
    """Return the discount and its derivative at the real-valued rank r >= 1."""
    if kind == LOG2:
        log = math.log(r + 1.0)
        value = numbers[0] * 0.6931471805599453 / log
        return value, -value / (log * (r + 1.0))
    if kind == RECIPROCAL:
        value = numbers[0] / r
        return value, -value / r
    if kind == SQRT:
        value = numbers[0] / math.sqrt(r)
        return value, -0.5 * value / r
    if kind == GEOMETRIC:
        value = numbers[0] * math.exp(numbers[1] * r)
        return value, value * numbers[1]
    depth = len(numbers) // 4
    if r >= depth:
        log = math.log(r + 1.0)
        value = numbers[4 * depth - 4] / log
        return value, -value / (log * (r + 1.0))
    k = max(int(r) - 1, 0)
    x = r - (k + 1.0)
    a, b, c, d = numbers[4 * k], numbers[4 * k + 1], numbers[4 * k + 2], numbers[4 * k + 3]
    return a + x * (b + x * (c + x * d)), b + x * (2.0 * c + x * 3.0 * d)


@njit(cache=True, nogil=True)
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@njit(cache=True, nogil=True)
def truncated_discount(kind, numbers, edge, beta, r):
    """Return ``D(r) sigma(beta (edge - r))`` and its derivative in r; no truncation if `edge` is infinite."""
    value, slope = discount_at(kind, numbers, r)
    if edge == np.inf:
        return value, slope
    kept = sigmoid(beta * (edge - r))
    return value * kept, (slope - value * beta * sigmoid(beta * (r - edge))) * kept


@njit(cache=True, nogil=True)
def truncated_sums(kind, numbers, edge, beta, longest):
    """Return the running sums of the truncated discounts at ranks 1..longest, shape (longest + 1,)."""
    sums = np.zeros(longest + 1)
    for r in range(longest):
        if beta * (r + 1.0 - edge) > NEGLIGIBLE:
            sums[r + 1 :] = sums[r]
            break
        sums[r + 1] = sums[r] + truncated_discount(kind, numbers, edge, beta, r + 1.0)[0]
    return sums


@njit(cache=True, nogil=True)
def _counts(grades, start, stop, n_grades):
    """Return the number of documents start..stop-1 of each grade."""
    counts = np.zeros(n_grades, np.int64)
    for i in range(start, stop):
        counts[grades[i]] += 1
    return counts


@njit(cache=True, nogil=True)
def over_soft_rank_ideals(grades, offsets, gains, by_gain, sums, weight):
    """Return each query's weight over its value with the largest gains first, or 0; `sums` add up discounts."""
    factors = np.zeros(len(weight))
    for q in range(len(offsets) - 1):
        counts = _counts(grades, offsets[q], offsets[q + 1], len(gains))
        total = 0.0
        rank = 0
        for grade in by_gain:
            if counts[grade] > 0:
                total += max(gains[grade], 0.0) * (sums[rank + counts[grade]] - sums[rank])
                rank += counts[grade]
        if total > 0.0:
            factors[q] = weight[q] / total
    return factors


@njit(cache=True, nogil=True)
def over_whole_rank_ideals(grades, offsets, gains, by_gain, discounts, weight):
    """Return each query's weight over its `DCG.ideal`, or 0 unless that is positive; `discounts` fall.

    Positive discounts take the largest gains above 0, negative ones the smallest below; other positions stay empty.
    """
    factors = np.zeros(len(weight))
    depth = len(discounts)
    for q in range(len(offsets) - 1):
        size = offsets[q + 1] - offsets[q]
        counts = _counts(grades, offsets[q], offsets[q + 1], len(gains))
        falling = np.zeros(max(size, depth))  # gains, with a 0 for each position without a document
        empty = len(falling) - size
        at = 0
        for grade in by_gain:
            if gains[grade] < 0.0:
                at += empty
                empty = 0
            falling[at : at + counts[grade]] = gains[grade]
            at += counts[grade]
        total = 0.0
        for p in range(depth):
            last = falling[len(falling) - depth + p]
            total += discounts[p] * (max(falling[p], 0.0) if discounts[p] >= 0.0 else min(last, 0.0))
        if total > 0.0:
            factors[q] = weight[q] / total
    return factors


@njit(cache=True, nogil=True)
def dcg_of_ranks(ranks, order, grades, offsets, gains, kind, numbers, edges, beta, factor, slope):
    """Return ``sum_q factor_q sum_i G_i D(r_i) sigma(beta (edge_q - r_i))``; fill `slope` with its derivative in r.

    Ranks are those of the documents `order`, sorted by query. `edges` holds one value for each query, or one for all.
    """
    total = 0.0
    for q in range(len(offsets) - 1):
        edge = edges[q] if len(edges) > 1 else edges[0]
        part = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            slope[i] = 0.0
            gain = factor[q] * gains[grades[order[i]]]
            if gain != 0.0 and not beta * (ranks[i] - edge) > ZERO:
                value, change = truncated_discount(kind, numbers, edge, beta, ranks[i])
                part += gain * value
                slope[i] = gain * change
        total += part
    return total


@njit(cache=True, nogil=True)
def relevant_of(order, grades, offsets, min_grade):
    """Return the positions of relevant documents in the sorted order, and the offsets of queries among these."""
    ends = np.zeros_like(offsets)
    relevant = np.empty(len(order), np.int64)
    n = 0
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            if grades[order[i]] >= min_grade:
                relevant[n] = i
                n += 1
        ends[q + 1] = n
    return relevant[:n].copy(), ends


@njit(cache=True, nogil=True)
def precision(ranks, relevant, among, ends, weight, slope, inner):
    """Return the weighted sum of average precisions; fill its derivatives with respect to both kinds of rank.

    It is the mean over relevant documents of (rank among the relevant) / (rank among all). The sorted document
    ``relevant[m]`` has the former rank ``among[m]``, to which `inner` takes the derivative, and the latter
    ``ranks[relevant[m]]``, to which `slope` does.
    """
    total = 0.0
    for q in range(len(ends) - 1):
        n = ends[q + 1] - ends[q]
        part = 0.0
        for m in range(ends[q], ends[q + 1]):
            r = ranks[relevant[m]]
            part += among[m] / r
            inner[m] = weight[q] / (n * r)
            slope[relevant[m]] = -inner[m] * among[m] / r
        if n > 0:
            total += weight[q] * part / n
    return total
