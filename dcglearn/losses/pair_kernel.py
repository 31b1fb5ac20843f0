"""Losses and lambdas of pairs of a better and a worse document of one query."""

import math

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.validation import Floats, Grades, Integers
from dcglearn.losses.rank_kernel import FAR, first_at_most, first_below

LOG_LOSS, MODIFIED_HUBER = range(2)
"""Losses of a pair with margin v: ``log(1 + exp(-v))``, and ``-4v`` for v < -1, ``(v - 1)^2`` up to 1, then 0."""

BELL, HINGE, LOGISTIC = range(3)
"""Slopes of a pair's comparison: ``4 sigma(x) sigma(-x)`` of soft ranks, the smoothed hinge, ``2 sigma(-x)``."""
NEAR = 0.001
"""Added to the distance in a lambda, in units of 1 / alpha, so that ties have finite lambdas."""
PAST = 1.5
"""Distance by which a Newton step overtakes, in units of 1 / alpha: with less trees learn slowly, with more noise."""
WIDE = 600.0
"""exp(-600) is a normal number. In queries of a wider range of scores each row computes exponentials of its own."""


@njit(cache=True, nogil=True)
def over_pairs(segments, n_classes, weight):
    """Return each query's weight over its number of pairs of documents of different classes, at least 1."""
    factors = np.empty(len(weight))
    for q in range(len(weight)):
        n_pairs = 0
        for s in range(q * n_classes, (q + 1) * n_classes):
            n_pairs += (segments[s + 1] - segments[s]) * (segments[s] - segments[q * n_classes])
        factors[q] = weight[q] / max(n_pairs, 1)
    return factors


@njit(cache=True, nogil=True)
def hinge(f, segments, n_classes, tops, bottoms, down, squares, up, factor, margin, squared, first, last, out):
    """Return the sum of ``max(0, margin - (f_better - f_worse))`` over the better documents first..last-1.

    If `squared`, the terms are halves of the squares. `out` takes minus the derivative of the sum over all pairs.
    Documents are sorted by query, class and score. `down` and `squares` sum the scores minus their class's largest, and
    the squares of these, from the top; `up` sums the scores minus the smallest from the bottom.
    """
    value = 0.0
    s = np.searchsorted(segments, first, side="right") - 1
    for i in range(first, last):
        while segments[s + 1] <= i:
            s += 1
        x = f[i]
        query = s // n_classes
        push = 0.0
        for other in range(query * n_classes, (query + 1) * n_classes):
            start, stop = segments[other], segments[other + 1]
            if other == s or start == stop:
                continue
            if other < s:
                turn = first_at_most(f, x - margin, 1.0, 0.0, start, stop)
                n = turn - start
                a = margin - x + tops[other]
                total = n * a + down[other + turn]
                push += total if squared else n
                if squared:
                    square = n * a * a + 2.0 * a * down[other + turn] + squares[other + turn]
                    value += factor[query] * 0.5 * max(square, 0.0)
                else:
                    value += factor[query] * total
            else:
                turn = first_below(f, x + margin, 1.0, 0.0, start, stop)
                n = stop - turn
                total = n * (margin + x - bottoms[other]) - up[other + turn]
                push -= total if squared else n
        out[i] = factor[query] * push
    return value


@njit(cache=True, nogil=True)
def phi(kind, v):
    """Return the loss of a pair with margin v, and its derivative."""
    if kind == LOG_LOSS:
        e = math.exp(-abs(v)) if abs(v) <= 2.0 * FAR else 0.0
        value = math.log1p(e) + max(-v, 0.0)
        return value, (-e if v >= 0.0 else -1.0) / (1.0 + e)
    if v < -1.0:
        return -4.0 * v, -4.0
    if v <= 1.0:
        return (v - 1.0) * (v - 1.0), 2.0 * (v - 1.0)
    return 0.0, 0.0


@njit(cache=True, nogil=True)
def weighted_pairs(f, gain, offsets, discounts, factor, kind, steepness, first, last, out):
    """Return ``sum |(G_a - G_b)(D_a - D_b)| phi(steepness v)`` over pairs whose upper document is among first..last-1.

    v is the score of the better document minus that of the worse one, and D the discount at the rank in the sort, 0
    past `discounts`. `out`, shape (n,), takes minus the derivative.
    """
    value = 0.0
    depth = len(discounts)
    q = np.searchsorted(offsets, first, side="right") - 1
    for a in range(first, last):
        while offsets[q + 1] <= a:
            q += 1
        position = a - offsets[q]
        if position >= depth or factor[q] == 0.0:
            continue
        for b in range(a + 1, offsets[q + 1]):
            span = gain[a] - gain[b]
            if span == 0.0:
                continue
            below = b - offsets[q]
            drop = discounts[position] - (discounts[below] if below < depth else 0.0)
            weight = factor[q] * abs(span * drop)
            sign = 1.0 if span > 0.0 else -1.0
            loss, change = phi(kind, sign * steepness * (f[a] - f[b]))
            value += weight * loss
            step = weight * change * sign * steepness
            out[a] -= step
            out[b] += step
    return value


@njit(cache=True, nogil=True)
def worst_first(scores, classes, n_classes, start, stop, order):
    """Fill `order` with documents start..stop-1 by falling score, ties by rising class, independent of their order."""
    ends = np.zeros(n_classes + 1, np.int64)
    for i in range(start, stop):
        ends[classes[i] + 1] += 1
    for c in range(n_classes):
        ends[c + 1] += ends[c]
    rising = np.empty(stop - start, np.int64)
    for i in range(start, stop):
        rising[ends[classes[i]]] = i
        ends[classes[i]] += 1
    places = np.argsort(-scores[rising], kind="mergesort")
    for p in range(stop - start):
        order[p] = rising[places[p]]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"}, error_model="numpy")
def _row(x, e, gain, discounts, p, m, hinge, logistic, row, curvatures):
    """Fill the signed lambdas of position p with each position below it, and their curvatures; return their sums."""
    top, scale, own, level = x[p], 1.0 / e[p], gain[p], discounts[p]
    total, curvature, size = 0.0, 0.0, 0.0
    for r in range(p + 1, m):
        far = top - x[r]
        t = e[r] * scale
        s = 1.0 / (1.0 + t)
        span = own - gain[r]
        slope = 4.0 * t * s * s
        up = 1.0 if hinge else slope
        if logistic:
            up, slope = 2.0 * s, 2.0 * t * s
        signed = (slope if span > 0.0 else up) * span * abs(level - discounts[r]) / (far + NEAR)
        unsigned = abs(signed)
        curve = unsigned / (far + PAST)
        row[r] = signed
        curvatures[r] = curve
        total += signed
        curvature += curve
        size += unsigned
    return total, curvature, size


@njit(cache=True, nogil=True)
def lambdas(scores, classes, n_classes, gains, offsets, c, alpha, step, damped, factor, first, last, out, curvature):
    """Fill the lambdas of the documents of queries first..last-1, towards higher scores, and their curvature.

    `c` are discounts by position. If `damped`, the lambdas of a query that sum to S are scaled to log2(1 + S).
    """
    longest = 1
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    # Rows of one array, far apart: whether the compiled `_row` takes its vectorised loop, which adds in another order,
    # depends on the distance of its arrays in memory, and so must not change between calls.
    rows = np.empty((8, 3 * longest))
    x, e, gain, level = rows[0, :longest], rows[1, :longest], rows[2, :longest], rows[3, :longest]
    row, curvatures, sums, curvature_sums = rows[4, :longest], rows[5, :longest], rows[6, :longest], rows[7, :longest]
    level[:] = c[:longest]
    order = np.empty(longest, np.int64)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        m = stop - start
        if factor[q] == 0.0 or m < 2:
            out[start:stop] = 0.0
            curvature[start:stop] = 0.0
            continue
        worst_first(scores, classes, n_classes, start, stop, order)
        best = scores[order[0]]
        for p in range(m):
            i = order[p]
            x[p], gain[p] = alpha * (scores[i] - best), gains[i]
            e[p] = math.exp(max(x[p], -WIDE))
            sums[p], curvature_sums[p] = 0.0, 0.0
        wide = x[m - 1] < -WIDE
        total = 0.0
        for p in range(m):
            if wide:
                for r in range(p, m):
                    e[r] = math.exp(max(x[r] - x[p], -WIDE))
            up, curve, size = _row(x, e, gain, level, p, m, step == HINGE, step == LOGISTIC, row, curvatures)
            sums[p] += up
            curvature_sums[p] += curve
            total += size
            for r in range(p + 1, m):
                sums[r] -= row[r]
                curvature_sums[r] += curvatures[r]
        scale = factor[q]
        if damped and total > 0.0:
            total *= 2.0 * factor[q]
            scale *= math.log2(1.0 + total) / total
        for p in range(m):
            out[order[p]] = scale * alpha * sums[p]
            curvature[order[p]] = scale * alpha * alpha * curvature_sums[p]


def count_pairs(grades: Grades, offsets: Integers) -> int:
    """Return the number of pairs of different grades within queries."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    table = np.zeros((len(offsets) - 1, int(grades.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(table, (query, grades), 1)
    sizes = table.sum(axis=1)
    return int((sizes**2 - (table**2).sum(axis=1)).sum() // 2)


def sorted_by_score(scores: Floats, offsets: Integers) -> Integers:
    """Return the documents in the order of queries, and within a query by ascending score."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((scores, query)).astype(np.int64)


def hinge_sums(scores: Floats, grades: Grades, offsets: Integers, order: Integers) -> tuple[float, Floats]:
    """Return the sum of ``max(0, 1 - f_i + f_j)^2`` over pairs with ``grade_i > grade_j``, and its gradient, (n,)."""
    slope = np.zeros_like(scores)
    return _sweep(scores, scores, grades, offsets, order, 1.0, slope), slope


def hinge_curvature(along: Floats, scores: Floats, grades: Grades, offsets: Integers, order: Integers) -> Floats:
    """Return the (generalised) Hessian by score times the direction `along`, shape (n,)."""
    product = np.zeros_like(scores)
    _sweep(scores, along, grades, offsets, order, 0.0, product)
    return product


@njit(cache=True, nogil=True)
def _sweep(scores, values, grades, offsets, order, margin, slope):
    """Add ``2 (values_i - values_j - margin)`` to the slope of i, and its negative to that of j, over violating pairs.

    In the order of scores, the worse documents within the margin of a better one are a run from the top, whose end
    moves in one direction only: running counts and sums by grade give every sum over pairs in O(n log n).
    Returns the sum of ``(values_i - values_j - margin)^2``, which is that of squared hinges if values are scores.
    """
    total = 0.0
    n_grades = 0
    for grade in grades:
        n_grades = max(n_grades, grade + 1)
    count, first, second = np.zeros(n_grades), np.zeros(n_grades), np.zeros(n_grades)
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        if stop - start < 2:
            continue
        middle = 0.0
        for p in range(start, stop):
            middle += values[p]
        middle /= stop - start
        # Each better document i, and the worse j with scores above f_i - 1: from the top down.
        count[:], first[:], second[:] = 0.0, 0.0, 0.0
        end = stop - 1
        for p in range(stop - 1, start - 1, -1):
            i = order[p]
            while end >= start and scores[order[end]] > scores[i] - 1.0:
                j = order[end]
                x = values[j] - middle
                count[grades[j]] += 1.0
                first[grades[j]] += x
                second[grades[j]] += x * x
                end -= 1
            lack = margin - (values[i] - middle)
            for grade in range(grades[i]):
                slope[i] -= 2.0 * (count[grade] * lack + first[grade])
                total += count[grade] * lack * lack + 2.0 * lack * first[grade] + second[grade]
        # Each worse document j, and the better i with scores below f_j + 1: from the bottom up.
        count[:], first[:] = 0.0, 0.0
        end = start
        for p in range(start, stop):
            j = order[p]
            while end < stop and scores[j] > scores[order[end]] - 1.0:
                i = order[end]
                count[grades[i]] += 1.0
                first[grades[i]] += values[i] - middle
                end += 1
            over = margin + values[j] - middle
            for grade in range(grades[j] + 1, n_grades):
                slope[j] += 2.0 * (count[grade] * over - first[grade])
    return total
