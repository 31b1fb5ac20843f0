"""Soft ranks ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))`` and their vector-Jacobian product.

A query is sorted once. Scores further apart than 37 / alpha add exactly 0 or 1 in float64, so a document's sum covers
only the window of those within. There, ``exp(alpha (x - f_j))`` is a product of two exponentials, each relative to the
head of a block of scores no wider than 200 / alpha, so that neither overflows; one of the two is computed only once.
Where many documents share a narrow range of scores, the sum, an analytic function of the score, is computed at 32
Chebyshev points and interpolated. Its poles are at distance pi / alpha and the half-width is at most 2 / alpha, so the
error is ``3.4^-32``, below the precision of float64.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.threads import MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Integers

FAR = 37.0
"""Half-width of the window, in units of 1 / alpha: 1 + exp(-37) is 1 in float64."""
BLOCK = 200.0
"""Largest range of scores in a block, in units of 1 / alpha."""
BOX = 4.0
"""Largest range of scores that is interpolated at once, in units of 1 / alpha."""
NODES = 32
"""Chebyshev points of an interpolation."""
GROUP = 256
"""Documents that are interpolated together, so that the loop over them is vectorised."""
PART = 1 << 24
"""Pairs of documents in a chunk, which take some milliseconds; starting a pool of threads takes one."""
LONG = 1 << 14
"""Documents of a mean query from which NumPy sorts faster than a compiled loop over queries."""

_ANGLES = np.pi * (np.arange(NODES) + 0.5) / NODES
_COSINES = np.cos(np.outer(np.arange(NODES), _ANGLES)) * 2 / NODES
_COSINES[0] /= 2
_POINTS = np.cos(_ANGLES)
_SUMS = {"reassoc", "nsz", "contract"}
"""Flags that let the compiler add in any order, and so vectorise (as ``error_model="numpy"`` does for divisions)."""


def n_chunks_of(n_pairs: float) -> int:
    """Return the number of chunks for that many pairs of work, independent of the number of threads."""
    return int(min(max(n_pairs // PART, 1), MAX_CHUNKS))


def sorted_queries(scores: Floats, offsets: Integers, n_chunks: int) -> tuple[Integers, Floats]:
    """Return the documents of each query by falling score, ties in input order, and their scores; shapes (n,)."""
    order, f, n = np.empty(len(scores), np.int64), np.empty(len(scores)), len(offsets) - 1
    if n * LONG <= len(scores):  # one by one
        for start, stop in pairwise(offsets):
            down = -scores[start:stop]
            at = np.argsort(down)  # takes a third of the time of a stable sort, which only ties need
            if (down[at[1:]] == down[at[:-1]]).any():
                at = np.argsort(down, kind="stable")
            order[start:stop] = at + start
        return order, scores[order]
    in_chunks(lambda _, first, last: sort_queries(scores, offsets, first, last, order, f), n, min(n_chunks, n))
    return order, f


def unsorted(order: Integers, values: Floats) -> Floats:
    """Return the values of the sorted documents `order` in the order of the batch, shape (n,)."""
    out = np.empty(len(values))
    out[order] = values
    return out


class SoftRanks:
    """Soft ranks of scores f, shape (n,), falling within each segment, at sharpness `alpha`, and their VJP."""

    def __init__(self, f: Floats, segments: Integers, alpha: float, n_chunks: int) -> None:
        self.f, self.segments, self.alpha, self.n_chunks = f, segments, alpha, n_chunks
        self.blocks = np.empty(len(f)), np.empty(len(f), np.int64), np.empty(len(f), np.int64)
        prepare(f, segments, alpha, *self.blocks)

    @classmethod
    def of(cls, scores: Floats, offsets: Integers, alpha: float) -> tuple[Integers, SoftRanks]:
        """Return the documents by query and falling score, shape (n,), and their soft ranks."""
        sizes = np.diff(offsets).astype(np.float64)
        n_chunks = n_chunks_of(float(sizes @ sizes))
        order, f = sorted_queries(scores, offsets, n_chunks)
        return order, cls(f, offsets, alpha, n_chunks)

    def ranks(self, most: float = np.inf) -> Floats:
        """Return ``1 + sum_{j != i} sigma(alpha (f_j - f_i))``, shape (n,); of a rank above `most`, a lower bound."""
        arrays, out = (self.f, self.segments, *self.blocks, self.alpha, most), np.empty(len(self.f))
        in_chunks(lambda _, first, last: soft_ranks(*arrays, first, last, out), len(out), self.n_chunks)
        return out

    def vjp(self, w: Floats) -> Floats:
        """Return ``sum_i w_i dr_i/df_p``, shape (n,)."""
        arrays, out = (self.f, self.segments, *self.blocks, self.alpha, w), np.empty(len(self.f))
        in_chunks(lambda _, first, last: soft_ranks_vjp(*arrays, first, last, out), len(out), self.n_chunks)
        return out


@njit(cache=True, nogil=True)
def sort_queries(scores, offsets, first, last, order, f):
    """Sort the documents of queries first..last-1 by falling score, ties in input order, into `order` and `f`."""
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


@njit(cache=True, nogil=True, fastmath=False)  # explicit: the default is the caller's
def _from_head(x, head, below, alpha):
    """Return ``exp(alpha (x - head - below))``, subtracting in this order."""
    return math.exp(alpha * ((x - head) - below))


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def count_above(x, below, f, ratio, head, tail, low, high, alpha):
    """Return ``sum sigma(alpha (f_j - x + below))`` over j in low..high-1, all within the window of x - below.

    `x` and `below` are separate because their difference may be rounded.
    """
    total = 0.0
    j = low
    while j < high:
        h = head[j]
        end = min(tail[h], high)
        p = _from_head(x, f[h], below, alpha)
        part = 0.0
        ratios = ratio[j:end]  # indices into a slice cannot be negative, so that the loop is vectorised
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
def first_at_most(f, x, alpha, gap, low, high):
    """Return the first j in low..high of falling scores with ``alpha (f_j - x) <= gap``."""
    while low < high:
        middle = (low + high) // 2
        if alpha * (f[middle] - x) <= gap:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def first_below(f, x, alpha, gap, low, high):
    """Return the first j in low..high of falling scores with ``alpha (f_j - x) < gap``."""
    return first_at_most(f, x, alpha, np.nextafter(gap, -np.inf), low, high)


@njit(cache=True, nogil=True)
def _coefficients(values, out):
    """Fill `out` with the Chebyshev coefficients of values at the Chebyshev points."""
    for k in range(NODES):
        total = 0.0
        for m in range(NODES):
            total += _COSINES[k, m] * values[m]
        out[k] = total


@njit(cache=True, nogil=True)
def _interpolate(coefficients, f, top, half, first, last, out):
    """Fill out[first:last] with the Chebyshev series at the scores f, by Clenshaw's recurrence."""
    u, last_sum, sum_before = np.empty(GROUP), np.empty(GROUP), np.empty(GROUP)
    for start in range(first, last, GROUP):
        n = min(GROUP, last - start)
        for i in range(n):
            u[i] = 1.0 - (top - f[start + i]) / half
            last_sum[i] = 0.0
            sum_before[i] = 0.0
        for k in range(NODES - 1, 0, -1):
            c = coefficients[k]
            for i in range(n):
                new = c + 2.0 * u[i] * last_sum[i] - sum_before[i]
                sum_before[i] = last_sum[i]
                last_sum[i] = new
        for i in range(n):
            out[start + i] = coefficients[0] + u[i] * last_sum[i] - sum_before[i]


@njit(cache=True, nogil=True)
def _window(f, i, segments, s, last, alpha, low, edge, high):
    """Return i's segment, the window's start, the furthest and chosen end of the box from i on, and the window's end.

    All but the chosen end only grow with i within a segment, so that a pass over the segment takes n steps.
    """
    if segments[s + 1] <= i:
        while segments[s + 1] <= i:
            s += 1
        low, edge, high = i, i, i
    stop = segments[s + 1]
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
        end = i + 1  # one document is cheaper: the work of the sums, the coefficients and the points was measured
    high = max(high, end)
    while high < stop and alpha * (f[end - 1] - f[high]) <= FAR:
        high += 1
    return s, low, edge, end, high


@njit(cache=True, nogil=True)
def soft_ranks(f, segments, ratio, head, tail, alpha, most, first, last, ranks):
    """Fill the soft ranks of sorted documents first..last-1 in their segments, above `most` lower bounds of them."""
    values, coefficients = np.empty(NODES), np.empty(NODES)
    i = first
    s = np.searchsorted(segments, i, side="right") - 1
    low, edge, high = segments[s], i, i
    while i < last:
        s, low, edge, end, high = _window(f, i, segments, s, last, alpha, low, edge, high)
        above = low - segments[s] + 0.5
        half = 0.5 * (f[i] - f[end - 1])
        least = 0.5 * (i - segments[s])  # documents above add at least a half each
        if least > most:
            ranks[i:end] = least
        elif half == 0.0:
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
def soft_ranks_vjp(f, segments, ratio, head, tail, alpha, w, first, last, out):
    """Fill ``sum_i w_i dr_i/df_p = alpha sum_j sigma'(alpha (f_j - f_p)) (w_j - w_p)`` of sorted documents p."""
    moments, totals = np.empty(NODES), np.empty(NODES)
    moment_at, total_at, sums = np.empty(NODES), np.empty(NODES), np.zeros(GROUP)
    i = first
    s = np.searchsorted(segments, i, side="right") - 1
    low, edge, high = segments[s], i, i
    counted, used = -1, i  # the segment whose weights from `used` on are known to be zero
    while i < last:
        s, low, edge, end, high = _window(f, i, segments, s, last, alpha, low, edge, high)
        half = 0.5 * (f[i] - f[end - 1])
        if counted != s:
            counted, used = s, segments[s + 1]
            while used > low and w[used - 1] == 0.0:
                used -= 1
        upto = min(high, used) if i >= used else high
        if low >= upto:
            out[i:end] = 0.0
        elif half == 0.0:
            moment, total = slopes(f[i], 0.0, w[i], f, ratio, head, tail, low, upto, alpha, w)
            for k in range(i, end):
                out[k] = alpha * (moment - (w[k] - w[i]) * total)
        else:
            for m in range(NODES):
                below = half * (1.0 - _POINTS[m])
                moments[m], totals[m] = slopes(f[i], below, w[i], f, ratio, head, tail, low, upto, alpha, w)
            _coefficients(moments, moment_at)
            _coefficients(totals, total_at)
            _interpolate(moment_at, f, f[i], half, i, end, out)
            for k in range(i, end, GROUP):
                stop = min(k + GROUP, end)
                if i < used:
                    _interpolate(total_at, f[k:stop], f[i], half, 0, stop - k, sums)
                for m in range(k, stop):
                    out[m] = alpha * (out[m] - (w[m] - w[i]) * sums[m - k])
        i = end
