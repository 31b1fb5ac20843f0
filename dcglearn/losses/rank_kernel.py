"""Soft ranks ``r_i = 1 + sum_j sigma(alpha (f_j - f_i))`` and the pull that a change of them exerts on the scores.

A query is sorted once. Scores further apart than 37 / alpha add exactly 0 or 1 in float64 and cost nothing. Within the
window, ``exp(alpha (x - f_j))`` is a product of two exponentials computed beforehand, each relative to the head of a
block of scores no wider than 200 / alpha, so that neither overflows. Where many documents share a narrow range of
scores, the sum, which is an analytic function of the score, is computed at 32 Chebyshev points and interpolated: poles
at distance pi / alpha and a half-width of at most 2 / alpha make the error ``3.4^-32``, below float64's own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from dcglearn.foundation.threads import MAX_CHUNKS, in_chunks

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Integers


FAR = 37.0
"""1 + exp(-37) is 1 in float64."""
BLOCK = 200.0
BOX = 4.0
NODES = 32
GROUP = 256
PART = 1 << 24
"""Pairs that are worth a chunk: some milliseconds, where a pool of threads costs one."""

_ANGLES = np.pi * (np.arange(NODES) + 0.5) / NODES
_COSINES = np.cos(np.outer(np.arange(NODES), _ANGLES)) * 2 / NODES
_COSINES[0] /= 2
_POINTS = np.cos(_ANGLES)
_SUMS = {"reassoc", "nsz", "contract"}
"""Sums may be taken in any order, so that they use vector instructions (as does division that never raises)."""


def parts_of(n_pairs: float) -> int:
    """Return into how many parts a batch is cut: a function of the batch alone."""
    return int(min(max(n_pairs // PART, 1), MAX_CHUNKS))


def sorted_queries(scores: Floats, offsets: Integers, n_chunks: int) -> tuple[Integers, Floats]:
    """Return the documents of each query by falling score, ties as they come, and their scores; shapes (n,)."""
    order, f = np.empty(len(scores), np.int64), np.empty(len(scores))
    in_chunks(
        lambda _, first, last: sort_queries(scores, offsets, first, last, order, f),
        len(offsets) - 1,
        min(n_chunks, len(offsets) - 1),
    )
    return order, f


class SoftRanks:
    """Soft ranks within segments of sorted scores, and the pull of their changes back on the scores.

    Parameters
    ----------
    f : ndarray, shape (n,)
        Scores, falling within each segment.
    segments : ndarray of int64, shape (m + 1,)
    alpha : float
    n_chunks : int
        Parts to work in.
    """

    def __init__(self, f: Floats, segments: Integers, alpha: float, n_chunks: int) -> None:
        self.f, self.segments, self.alpha, self.n_chunks = f, segments, alpha, n_chunks
        self.ratio = np.empty(len(f))
        self.head, self.tail = np.empty(len(f), np.int64), np.empty(len(f), np.int64)
        prepare(f, segments, alpha, self.ratio, self.head, self.tail)
        self.blocks = (self.ratio, self.head, self.tail)

    def ranks(self) -> Floats:
        """Return ``1 + sum_{j != i} sigma(alpha (f_j - f_i))``, shape (n,)."""
        out = np.empty(len(self.f))

        def part(_: int, first: int, last: int) -> None:
            soft_ranks(self.f, self.segments, *self.blocks, self.alpha, first, last, out)

        in_chunks(part, len(out), self.n_chunks)
        return out

    def pull(self, w: Floats) -> Floats:
        """Return the derivative in the scores of what changes by `w` per unit of each rank, shape (n,)."""
        out = np.empty(len(self.f))

        def part(_: int, first: int, last: int) -> None:
            pull(self.f, self.segments, *self.blocks, self.alpha, w, first, last, out)

        in_chunks(part, len(out), self.n_chunks)
        return out


@njit(cache=True, nogil=True)
def sort_queries(scores, offsets, first, last, order, f):
    """Fill `order` (documents by falling score, ties as they come) and `f` (their scores) of queries first..last-1."""
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        order[start:stop] = np.argsort(-scores[start:stop], kind="mergesort") + start
        for i in range(start, stop):
            f[i] = scores[order[i]]


@njit(cache=True, nogil=True)
def prepare(f, segments, alpha, ratio, head, tail):
    """Cut each sorted segment into blocks no wider than BLOCK / alpha.

    ``ratio[j] = exp(alpha (f[head] - f[j]))`` with ``head[j]`` the start of j's block, and ``tail[head]`` its end.
    """
    for s in range(len(segments) - 1):
        start, stop = segments[s], segments[s + 1]
        h = start
        for j in range(start, stop):
            if alpha * (f[h] - f[j]) > BLOCK:
                tail[h] = j
                h = j
            head[j] = h
            ratio[j] = math.exp(alpha * (f[h] - f[j]))
        if stop > start:
            tail[h] = stop


@njit(cache=True, nogil=True, fastmath=False)  # said, since a function otherwise takes this from its caller
def _from_head(x, head, below, alpha):
    """Return ``exp(alpha (x - head - below))``, subtracting in this order."""
    return math.exp(alpha * ((x - head) - below))


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def count_above(x, below, f, ratio, head, tail, low, high, alpha):
    """Return ``sum sigma(alpha (f_j - x + below))`` over j in low..high-1, all within the window of x - below.

    The point is given in two parts, a score and what it lies below that, since their difference may be rounded.
    """
    total = 0.0
    j = low
    while j < high:
        h = head[j]
        end = min(tail[h], high)
        p = _from_head(x, f[h], below, alpha)
        part = 0.0
        ratios = ratio[j:end]  # a slice: indices into it need no check for negative ones, and the loop is vectorised
        for k in range(end - j):
            part += 1.0 / (1.0 + p * ratios[k])
        total += part
        j = end
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def slopes(x, below, shift, f, ratio, head, tail, low, high, alpha, w):
    """Return ``sum sigma'(alpha (f_j - x + below)) (w_j - shift)`` and ``sum sigma'`` over j in low..high-1."""
    moment = 0.0
    total = 0.0
    j = low
    while j < high:
        h = head[j]
        end = min(tail[h], high)
        p = _from_head(x, f[h], below, alpha)
        part = 0.0
        other = 0.0
        ratios, weights = ratio[j:end], w[j:end]
        for k in range(end - j):
            t = p * ratios[k]
            y = 1.0 / (1.0 + t)
            d = t * y * y
            part += d * (weights[k] - shift)
            other += d
        moment += part
        total += other
        j = end
    return moment, total


@njit(cache=True, nogil=True)
def first_within(f, x, alpha, far, low, high):
    """Return the first j in low..high of falling scores with ``alpha (f_j - x) <= far``."""
    while low < high:
        middle = (low + high) // 2
        if alpha * (f[middle] - x) <= far:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def first_beyond(f, x, alpha, far, low, high):
    """Return the first j in low..high of falling scores with ``alpha (x - f_j) > far``."""
    while low < high:
        middle = (low + high) // 2
        if alpha * (x - f[middle]) > far:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def _coefficients(values, out):
    """Turn values at the Chebyshev points into coefficients."""
    for k in range(NODES):
        total = 0.0
        for m in range(NODES):
            total += _COSINES[k, m] * values[m]
        out[k] = total


@njit(cache=True, nogil=True)
def _interpolate(coefficients, f, top, half, first, last, out):
    """Fill out[first:last] with the Chebyshev series at scores f: Clenshaw's recurrence, some documents at a time."""
    u, one, two = np.empty(GROUP), np.empty(GROUP), np.empty(GROUP)
    for start in range(first, last, GROUP):
        n = min(GROUP, last - start)
        for i in range(n):
            u[i] = 1.0 - (top - f[start + i]) / half
            one[i] = 0.0
            two[i] = 0.0
        for k in range(NODES - 1, 0, -1):
            c = coefficients[k]
            for i in range(n):
                new = c + 2.0 * u[i] * one[i] - two[i]
                two[i] = one[i]
                one[i] = new
        for i in range(n):
            out[start + i] = coefficients[0] + u[i] * one[i] - two[i]


@njit(cache=True, nogil=True)
def _window(f, i, stop, last, alpha, low, edge, high):
    """Return where the window of a box of documents from i on begins, where the box could and does end, and the window.

    All but the end of the box only grow with i within a segment, so that a pass over the segment takes n steps.
    """
    while alpha * (f[low] - f[i]) > FAR:
        low += 1
    edge = max(edge, i + 1)
    limit = min(stop, last)
    while edge < limit and alpha * (f[i] - f[edge]) <= BOX:
        edge += 1
    while high < stop and alpha * (f[i] - f[high]) <= FAR:
        high += 1
    end = edge
    if f[i] > f[end - 1] and (end - i - NODES) * (high - low + 100) < 3000 + 100 * (end - i):
        end = i + 1  # cheaper one by one: the work of a sum, of the coefficients and of a point, in terms of a sum
    high = max(high, end)
    while high < stop and alpha * (f[end - 1] - f[high]) <= FAR:
        high += 1
    return low, edge, end, high


@njit(cache=True, nogil=True)
def soft_ranks(f, segments, ratio, head, tail, alpha, first, last, ranks):
    """Fill the soft ranks of sorted documents first..last-1 within their segments."""
    values, coefficients = np.empty(NODES), np.empty(NODES)
    i = first
    s = np.searchsorted(segments, i, side="right") - 1
    low, edge, high = segments[s], i, i
    while i < last:
        if segments[s + 1] <= i:
            while segments[s + 1] <= i:
                s += 1
            low, edge, high = i, i, i
        low, edge, end, high = _window(f, i, segments[s + 1], last, alpha, low, edge, high)
        above = low - segments[s] + 0.5
        half = 0.5 * (f[i] - f[end - 1])
        if half == 0.0:
            ranks[i:end] = above + count_above(f[i], 0.0, f, ratio, head, tail, low, high, alpha)
        else:
            for m in range(NODES):
                below = half * (1.0 - _POINTS[m])
                values[m] = count_above(f[i], below, f, ratio, head, tail, low, high, alpha)
            _coefficients(values, coefficients)
            coefficients[0] += above
            _interpolate(coefficients, f, f[i], half, i, end, ranks)
        i = end


@njit(cache=True, nogil=True)
def pull(f, segments, ratio, head, tail, alpha, w, first, last, out):
    """Fill ``sum_i w_i dr_i/df_p = alpha sum_j sigma'(alpha (f_j - f_p)) (w_j - w_p)`` of sorted documents p."""
    moments, totals = np.empty(NODES), np.empty(NODES)
    moment_at, total_at, sums = np.empty(NODES), np.empty(NODES), np.empty(GROUP)
    i = first
    s = np.searchsorted(segments, i, side="right") - 1
    low, edge, high = segments[s], i, i
    while i < last:
        if segments[s + 1] <= i:
            while segments[s + 1] <= i:
                s += 1
            low, edge, high = i, i, i
        low, edge, end, high = _window(f, i, segments[s + 1], last, alpha, low, edge, high)
        half = 0.5 * (f[i] - f[end - 1])
        if half == 0.0:
            moment, total = slopes(f[i], 0.0, w[i], f, ratio, head, tail, low, high, alpha, w)
            for k in range(i, end):
                out[k] = alpha * (moment - (w[k] - w[i]) * total)
        else:
            for m in range(NODES):
                below = half * (1.0 - _POINTS[m])
                moments[m], totals[m] = slopes(f[i], below, w[i], f, ratio, head, tail, low, high, alpha, w)
            _coefficients(moments, moment_at)
            _coefficients(totals, total_at)
            _interpolate(moment_at, f, f[i], half, i, end, out)
            for k in range(i, end, GROUP):
                upto = min(k + GROUP, end)
                _interpolate(total_at, f[k:upto], f[i], half, 0, upto - k, sums)
                for m in range(k, upto):
                    out[m] = alpha * (out[m] - (w[m] - w[i]) * sums[m - k])
        i = end
