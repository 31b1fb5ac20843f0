"""Soft ranks ``r_i = 1 + sum_{j != i} sigma(alpha (f_j - f_i))`` and their vector-Jacobian product.

A query is sorted once and cut into boxes of scores at most 4 / alpha wide. There, a term is an
analytic function of either score: its poles are at distance pi / alpha and the half-width is at
most 2 / alpha, so a polynomial through 32 Chebyshev points has an error of ``3.4^-32``, below the
precision of float64. A box of many documents is read at these points, and counts as 32 points of
suitable weight: the time is linear in the documents. Scores further apart than 37 / alpha add
exactly 0 or 1 in float64, so a document's sum covers only the window of those within. It multiplies
exponentials relative to the head of a block of scores some 200 / alpha wide, so that none
overflows.
"""

from __future__ import annotations

import numpy as np

from dcglearn.foundation.threads import MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int64s

_sort_queries = function("sort_queries", COUNT, COUNT, *[ARRAY] * 5)
_fill_cosines = function("fill_cosines", ARRAY)
_prepare = function("prepare", COUNT, COUNT, NUMBER, *[ARRAY] * 10)
_condense = function("condense", COUNT, COUNT, *[ARRAY] * 6)
_soft_ranks = function("soft_ranks", *[COUNT] * 3, NUMBER, NUMBER, *[ARRAY] * 12)
_soft_ranks_vjp = function("soft_ranks_vjp", *[COUNT] * 3, NUMBER, *[ARRAY] * 14)

FAR = 37.0
"""Half-width of the window, in units of 1 / alpha: 1 + exp(-37) is 1 in float64."""
NODES = 32
"""Chebyshev points of a box."""
FEWEST = 3 * NODES // 2
"""Documents of a box that may count as `NODES` points; it does so where that saves time."""
PART = 1 << 24
"""Pairs of documents in a chunk, which take some milliseconds; starting a pool of threads takes
one.
"""

_COSINES = np.empty((NODES, NODES // 2))
_OF_COSINES = floats(_COSINES, _COSINES.size)
_fill_cosines(_OF_COSINES)


def n_chunks_of(n_pairs: float) -> int:
    """Return the number of chunks for that many pairs of work, independent of the number of
    threads.
    """
    return int(min(max(n_pairs // PART, 1), MAX_CHUNKS))


def sorted_queries(scores: Floats, offsets: Integers, n_chunks: int) -> tuple[Integers, Floats]:
    """Return the documents of each query by falling score, ties in input order, and their scores;
    shapes (n,).
    """
    n, n_queries = len(scores), len(offsets) - 1
    order, f = np.empty(n, np.int64), np.empty(n)
    arrays = floats(scores, n), int64s(offsets, n_queries + 1), int64s(order, n), floats(f, n)

    def sort(_: int, first: int, last: int) -> None:
        work = np.empty(4 * (offsets[last] - offsets[first]))
        _sort_queries(first, last, *arrays, floats(work, work.size))

    in_chunks(sort, n_queries, min(n_chunks, n_queries))
    return order, f


def unsorted(order: Integers, values: Floats) -> Floats:
    """Return the values of the sorted documents `order` in the order of the batch, shape (n,)."""
    out = np.empty(len(values))
    out[order] = values
    return out


class SoftRanks:
    """Soft ranks of scores f, shape (n,), falling within each segment, at sharpness `alpha`, and
    their VJP.
    """

    def __init__(self, f: Floats, segments: Integers, alpha: float, n_chunks: int) -> None:
        self.f, self.n_chunks = f, n_chunks
        starts, slots, cuts, self.points, ratio, head, tail = prepare(f, segments, alpha, FEWEST)
        n, n_points, n_segments, self._n_boxes = (
            len(f),
            len(self.points),
            len(cuts),
            len(starts) - 1,
        )
        self._boxes = (
            floats(f, n),
            int64s(starts, self._n_boxes + 1),
            int64s(slots, self._n_boxes + 1),
        )
        ends, blocks = (
            (int64s(array, n_segments) for array in (segments, cuts)),
            (ratio, head, tail),
        )
        of_points = (
            floats(self.points, n_points),
            floats(ratio, n_points),
            *(int64s(a, n_points) for a in blocks[1:]),
        )
        counts = None
        if n_points < n:
            counts = floats(self._condensed(np.ones(n)), n_points)
        self._sums = *self._boxes, *ends, *of_points, counts
        self._sizes = n_segments - 1, float(alpha)

    @classmethod
    def of(cls, scores: Floats, offsets: Integers, alpha: float) -> tuple[Integers, SoftRanks]:
        """Return the documents by query and falling score, shape (n,), and their soft ranks."""
        sizes = np.diff(offsets)
        n_chunks = n_chunks_of(float(sizes @ sizes))
        order, f = sorted_queries(scores, offsets, n_chunks)
        return order, cls(f, offsets, alpha, n_chunks)

    def _condensed(self, values: Floats) -> Floats:
        """Return the weights of the points that stand for documents with values, shape
        (n_points,).
        """
        n, n_points = len(self.f), len(self.points)
        if n_points == n:
            return values
        weights = np.empty(n_points)
        arrays = _OF_COSINES, *self._boxes, floats(values, n), floats(weights, n_points)
        in_chunks(
            lambda _, first, last: _condense(first, last, *arrays), self._n_boxes, self.n_chunks
        )
        return weights

    def ranks(self, most: float = np.inf) -> Floats:
        """Return ``1 + sum_{j != i} sigma(alpha (f_j - f_i))``, shape (n,); of a rank above `most`,
        a lower bound.
        """
        out = np.empty(len(self.f))
        arrays = *self._sizes, float(most), _OF_COSINES, *self._sums, floats(out, len(out))
        in_chunks(
            lambda _, first, last: _soft_ranks(first, last, *arrays), self._n_boxes, self.n_chunks
        )
        return out

    def vjp(self, w: Floats) -> Floats:
        """Return ``sum_i w_i dr_i/df_p``, shape (n,)."""
        n, n_points, pulls = len(self.f), len(self.points), self._condensed(w)
        out = np.empty(n)
        weights = floats(w, n), floats(pulls, n_points)
        arrays = *self._sizes, _OF_COSINES, *self._sums, *weights, floats(out, n)
        in_chunks(
            lambda _, first, last: _soft_ranks_vjp(first, last, *arrays),
            self._n_boxes,
            self.n_chunks,
        )
        return out


def prepare(
    f: Floats, segments: Integers, alpha: float, fewest: int
) -> tuple[Integers, Integers, Integers, Floats, Floats, Integers, Integers]:
    """Cut sorted segments into boxes no wider than 4 / alpha, and replace boxes of `fewest`
    documents where that pays.

    Returns the documents and the points where boxes start, those where segments do, and of each
    point the score, the ratio ``exp(alpha (f[head] - f[j]))``, the start `head` of its block, and
    ``tail[head]``, the block's end.
    """
    n, n_segments, sizes = len(f), len(segments) - 1, np.empty(2, np.int64)
    starts, slots, cuts = (
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(n_segments + 1, np.int64),
    )
    points, ratio, head, tail = (
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    _prepare(
        n_segments,
        fewest,
        float(alpha),
        floats(f, n),
        int64s(segments, n_segments + 1),
        int64s(starts, n + 1),
        int64s(slots, n + 1),
        int64s(cuts, n_segments + 1),
        floats(points, n),
        floats(ratio, n),
        int64s(head, n),
        int64s(tail, n),
        int64s(sizes, 2),
    )
    b, k = sizes
    return starts[: b + 1], slots[: b + 1], cuts, points[:k], ratio[:k], head[:k], tail[:k]
