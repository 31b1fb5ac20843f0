"""Soft ranks ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))`` and their vector-Jacobian product.

A query is sorted once and cut into boxes of scores at most 4 / alpha wide. There, a term is an analytic function of
either score: its poles are at distance pi / alpha and the half-width is at most 2 / alpha, so a polynomial through 32
Chebyshev points has an error of ``3.4^-32``, below the precision of float64. A box of many documents is read at these
points, and counts as 32 points of suitable weight: the time is linear in the documents. Scores further apart than
37 / alpha add exactly 0 or 1 in float64, so a document's sum covers only the window of those within. It multiplies
exponentials relative to the head of a block of scores some 200 / alpha wide, so that none overflows.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.threads import MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Integers

FAR = 37.0
"""Half-width of the window, in units of 1 / alpha: 1 + exp(-37) is 1 in float64."""
BLOCK = 200.0
"""Largest range of scores in a block, in units of 1 / alpha."""
BOX = 4.0
"""Largest range of scores in a box, in units of 1 / alpha."""
NODES = 32
"""Chebyshev points of a box."""
FEWEST = 4 * NODES
"""Documents of a box that counts as `NODES` points."""
GROUP = 256
"""Documents of a box that are read together, so that the loop over them is vectorised."""
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
        self.f, self.n_chunks = f, n_chunks
        *self.boxes, cuts, self.points, ratio, head, tail = prepare(f, segments, alpha, FEWEST)
        counts = self._condensed(np.ones(len(f)))
        self.sums = segments, cuts, self.points, ratio, head, tail, counts, alpha

    @classmethod
    def of(cls, scores: Floats, offsets: Integers, alpha: float) -> tuple[Integers, SoftRanks]:
        """Return the documents by query and falling score, shape (n,), and their soft ranks."""
        sizes = np.diff(offsets)
        n_chunks = n_chunks_of(float(sizes @ sizes))
        order, f = sorted_queries(scores, offsets, n_chunks)
        return order, cls(f, offsets, alpha, n_chunks)

    def _filled(self, kernel: Any, n: int, *arrays: Any) -> Floats:
        """Return an array of n values that the kernel fills from arrays, by chunks of boxes."""
        out, n_boxes = np.empty(n), len(self.boxes[0]) - 1
        in_chunks(lambda _, *chunk: kernel(self.f, *self.boxes, *arrays, *chunk, out), n_boxes, self.n_chunks)
        return out

    def _condensed(self, values: Floats) -> Floats:
        return values if len(self.points) == len(self.f) else self._filled(condense, len(self.points), values)

    def ranks(self, most: float = np.inf) -> Floats:
        """Return ``1 + sum_{j != i} sigma(alpha (f_j - f_i))``, shape (n,); of a rank above `most`, a lower bound."""
        return self._filled(soft_ranks, len(self.f), *self.sums, most)

    def vjp(self, w: Floats) -> Floats:
        """Return ``sum_i w_i dr_i/df_p``, shape (n,)."""
        return self._filled(soft_ranks_vjp, len(self.f), *self.sums, w, self._condensed(w))


@njit(cache=True, nogil=True)
def sort_queries(scores, offsets, first, last, order, f):
    """Sort the documents of queries first..last-1 by falling score, ties in input order, into `order` and `f`."""
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        order[start:stop] = np.argsort(-scores[start:stop], kind="mergesort") + start
        f[start:stop] = scores[order[start:stop]]


@njit(cache=True, nogil=True)
def prepare(f, segments, alpha, fewest):
    """Cut sorted segments into boxes no wider than BOX / alpha, and replace boxes of `fewest` documents or more.

    Returns the documents and the points where boxes start, those where segments do, and of each point the score, the
    ratio ``exp(alpha (f[head] - f[j]))``, the start `head` of its block, and ``tail[head]``, the block's end.
    """
    n = len(f)
    starts, slots, cuts = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.zeros(len(segments), np.int64)
    points, ratio, head, tail = np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    b = k = 0
    for s in range(len(segments) - 1):
        i, h, top = segments[s], k, 0.0
        while i < segments[s + 1]:
            end = i + 1
            while end < segments[s + 1] and alpha * (f[i] - f[end]) <= BOX:
                end += 1
            starts[b], slots[b] = i, k
            b += 1
            if k == cuts[s] or alpha * (top - f[i]) > BLOCK:
                h, top = k, f[i]
            half, size = 0.5 * (f[i] - f[end - 1]), end - i
            if size < fewest:
                for m in range(size):
                    points[k + m] = f[i + m]
                    ratio[k + m] = math.exp(alpha * (top - f[i + m]))
            else:
                size = NODES if half > 0.0 else 1
                for m in range(size):
                    below = half * (1.0 - _POINTS[m])
                    points[k + m] = f[i] - below
                    ratio[k + m] = math.exp(alpha * ((top - f[i]) + below))
                points[k] = f[i]  # the head of a block has to be exact
            head[k : k + size] = h
            tail[h] = k + size
            i, k = end, k + size
        cuts[s + 1] = k
    starts[b], slots[b] = n, k
    return starts[: b + 1], slots[: b + 1], cuts, points[:k], ratio[:k], head[:k], tail[:k]


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def _moments(values, f, top, half, first, last, out):
    """Fill `out` with ``sum_j values_j T_k(u_j)``, T_k the Chebyshev polynomials of scores f in first..last-1."""
    u, this, before = np.empty(GROUP), np.empty(GROUP), np.empty(GROUP)
    out[:] = 0.0
    for start in range(first, last, GROUP):
        n = min(GROUP, last - start)
        if not values[start : start + n].any():
            continue
        for i in range(n):
            u[i] = 1.0 - (top - f[start + i]) / half
            this[i] = values[start + i]
            before[i] = u[i] * values[start + i]
        for k in range(NODES):
            total = 0.0
            for i in range(n):
                total += this[i]
                new = 2.0 * u[i] * this[i] - before[i]
                before[i] = this[i]
                this[i] = new
            out[k] += total


@njit(cache=True, nogil=True)
def condense(f, starts, slots, values, first, last, out):
    """Fill the weights of the points of boxes first..last-1: with them, a sum over points is that over documents."""
    moments = np.empty(NODES)
    for b in range(first, last):
        i, end, k, size = starts[b], starts[b + 1], slots[b], slots[b + 1] - slots[b]
        if size == end - i:
            out[k : k + size] = values[i:end]
        elif size == 1:
            out[k] = values[i:end].sum()
        else:
            _moments(values, f, f[i], 0.5 * (f[i] - f[end - 1]), i, end, moments)
            for m in range(NODES):
                out[k + m] = (_COSINES[:, m] * moments).sum()


@njit(cache=True, nogil=True, fastmath=False)  # explicit: the default is the caller's
def _from_head(x, head, below, alpha):
    """Return ``exp(alpha (x - head - below))``, subtracting in this order."""
    return math.exp(alpha * ((x - head) - below))


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def count_above(x, below, f, ratio, head, tail, counts, low, high, alpha):
    """Return ``sum counts_j sigma(alpha (f_j - x + below))`` over j in low..high-1, all in the window of x - below.

    `x` and `below` are separate because their difference may be rounded.
    """
    total = 0.0
    j = low
    while j < high:
        h = head[j]
        end = min(tail[h], high)
        p = _from_head(x, f[h], below, alpha)
        part = 0.0
        ratios, count = ratio[j:end], counts[j:end]  # indices into a slice cannot be negative: the loop is vectorised
        for k in range(end - j):
            part += count[k] / (1.0 + p * ratios[k])
        total += part
        j = end
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def slopes(x, below, shift, f, ratio, head, tail, counts, low, high, alpha, w):
    """Return ``sum d_j (w_j - shift counts_j)`` and ``sum d_j counts_j``, ``d_j = sigma'(alpha (f_j - x + below))``."""
    moment = 0.0
    total = 0.0
    j = low
    while j < high:
        h = head[j]
        end = min(tail[h], high)
        p = _from_head(x, f[h], below, alpha)
        part = 0.0
        other = 0.0
        ratios, count, weights = ratio[j:end], counts[j:end], w[j:end]
        for k in range(end - j):
            t = p * ratios[k]
            y = 1.0 / (1.0 + t)
            d = t * y * y
            part += d * (weights[k] - shift * count[k])
            other += d * count[k]
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
def _window(points, top, bottom, alpha, low, high, stop):
    """Move the ends of the points that count for scores from top down to bottom; they only grow within a segment."""
    while alpha * (points[low] - top) > FAR:
        low += 1
    while high < stop and alpha * (bottom - points[high]) <= FAR:
        high += 1
    return low, high


@njit(cache=True, nogil=True)
def _is_read_at_nodes(n, n_points):
    """Return whether sums over so many points take longer for n documents than for the Chebyshev points (measured)."""
    return (n - NODES) * (n_points + 100) >= 1500 + 50 * n


@njit(cache=True, nogil=True)
def soft_ranks(f, starts, slots, segments, cuts, points, ratio, head, tail, counts, alpha, most, first, last, ranks):
    """Fill the soft ranks of boxes first..last-1 in their segments, above `most` lower bounds of them."""
    values, coefficients = np.empty(NODES), np.empty(NODES)
    s = np.searchsorted(segments, starts[first], side="right") - 2  # the loop enters the next one
    low = high = at = 0
    for b in range(first, last):
        i, end = starts[b], starts[b + 1]
        while segments[s + 1] <= i:
            s += 1
            low = high = cuts[s]
        half = 0.5 * (f[i] - f[end - 1])
        least = 0.5 * (i - segments[s])  # documents above add at least a half each
        if least > most:
            ranks[i:end] = least
            continue
        low, high = _window(points, f[i], f[end - 1], alpha, low, high, cuts[s + 1])
        while slots[at + 1] <= low:  # the box of the window's first point
            at += 1
        above = starts[at] + counts[slots[at] : low].sum() - segments[s] + 0.5
        if half > 0.0 and _is_read_at_nodes(end - i, high - low):
            for m in range(NODES):
                below = half * (1.0 - _POINTS[m])
                values[m] = count_above(f[i], below, points, ratio, head, tail, counts, low, high, alpha)
            _coefficients(values, coefficients)
            coefficients[0] += above
            _interpolate(coefficients, f, f[i], half, i, end, ranks)
        else:
            for j in range(i, end):
                if j == i or f[j] != f[j - 1]:
                    rank = above + count_above(f[j], 0.0, points, ratio, head, tail, counts, low, high, alpha)
                ranks[j] = rank


@njit(cache=True, nogil=True)
def soft_ranks_vjp(
    f, starts, slots, segments, cuts, points, ratio, head, tail, counts, alpha, w, pulls, first, last, out
):
    """Fill ``sum_i w_i dr_i/df_p = alpha sum_j sigma'(alpha (f_j - f_p)) (w_j - w_p)`` of the documents p of boxes.

    `pulls` are the weights w of the points.
    """
    moments, totals = np.empty(NODES), np.empty(NODES)
    moment_at, total_at, sums = np.empty(NODES), np.empty(NODES), np.zeros(GROUP)
    s = np.searchsorted(segments, starts[first], side="right") - 2
    low = high = used = 0
    for b in range(first, last):
        i, end = starts[b], starts[b + 1]
        while segments[s + 1] <= i:
            s += 1
            low = high = cuts[s]
            used = cuts[s + 1]
            while used > low and pulls[used - 1] == 0.0:
                used -= 1
        low, high = _window(points, f[i], f[end - 1], alpha, low, high, cuts[s + 1])
        pulled = slots[b] < used
        upto = high if pulled else min(high, used)
        half = 0.5 * (f[i] - f[end - 1])
        if low >= upto:
            out[i:end] = 0.0
        elif half > 0.0 and _is_read_at_nodes(end - i, upto - low):
            for m in range(NODES):
                below = half * (1.0 - _POINTS[m])
                moments[m], totals[m] = slopes(
                    f[i], below, w[i], points, ratio, head, tail, counts, low, upto, alpha, pulls
                )
            _coefficients(moments, moment_at)
            _coefficients(totals, total_at)
            _interpolate(moment_at, f, f[i], half, i, end, out)
            for j in range(i, end, GROUP):
                stop = min(j + GROUP, end)
                if pulled:
                    _interpolate(total_at, f[j:stop], f[i], half, 0, stop - j, sums)
                for m in range(j, stop):
                    out[m] = alpha * (out[m] - (w[m] - w[i]) * sums[m - j])
        else:
            for j in range(i, end):
                if j == i or f[j] != f[j - 1]:
                    shift, x = w[j], f[j]
                    moment, total = slopes(x, 0.0, shift, points, ratio, head, tail, counts, low, upto, alpha, pulls)
                out[j] = alpha * (moment - (w[j] - shift) * total)
