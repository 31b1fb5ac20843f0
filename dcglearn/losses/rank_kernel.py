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

from typing import Any

import numpy as np

from dcglearn.foundation.threads import MAX_CHUNKS, in_chunks
from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import Kernel, function

_sort_queries = function("sort_queries first last f[n] l[m+1] l[n] f[n] f[0]")
_prepare = function(
    "prepare .segments points_pay #alpha f[n] l[segments+1] l[n+1]! l[n+1]! l[segments+1]! f[n]! "
    "f[n]! l[n]! l[n]! l[2]!"
)
_condense = function("condense first last f[512] f[n] l[boxes] l[boxes] f[n] f[points]")
_soft_ranks = function(
    "soft_ranks first last .segments #alpha #most f[512] f[n] l[boxes] "
    "l[boxes] l[segments+1] l[segments+1] f[points] f[points] l[points] l[points] f[points]? f[n]"
)
_soft_ranks_vjp = function(
    "soft_ranks_vjp first last .segments #alpha f[512] f[n] l[boxes] l[boxes] "
    "l[segments+1] l[segments+1] f[points] f[points] l[points] l[points] f[points]? f[n] f[points] "
    "f[n]"
)

NODES = 32
"""Chebyshev points of a box."""

POINTS_PAY = 3 * NODES // 2
"""Documents of a box that may count as `NODES` points; it does so where that saves time."""

CHUNK_PAIRS = 1 << 24
"""Pairs of documents in a chunk: some milliseconds of work, where starting threads takes one."""

_COSINES = function("fill_cosines f[512]!")()


def chunk_count(n_pairs: float) -> int:
    """Return the number of chunks for `n_pairs` of work, however many threads there are."""
    return int(min(max(n_pairs // CHUNK_PAIRS, 1), MAX_CHUNKS))


def over_chunks(kernel: Kernel, n: int, n_chunks: int, *arguments: Any) -> list[Any]:
    """Return ``kernel(first, last, *arguments)`` of each chunk of ``range(n)``, in order."""
    return in_chunks(lambda _, first, last: kernel(first, last, *arguments), n, n_chunks)


def filled(kernel: Kernel, size: int, n: int, n_chunks: int, *arguments: Any) -> Floats:
    """Return an array of a size that a kernel fills chunk by chunk of ``range(n)``."""
    out = np.empty(size)
    over_chunks(kernel, n, n_chunks, *arguments, out)
    return out


def sorted_queries(scores: Floats, offsets: Integers, n_chunks: int) -> tuple[Integers, Floats]:
    """Return each query's documents by falling score, and their scores, shapes (n,).

    Documents whose scores tie keep their order.
    """
    n, n_queries = len(scores), len(offsets) - 1
    order, f = np.empty(n, np.int64), np.empty(n)

    def sort(_: int, first: int, last: int) -> None:
        work = np.empty(4 * (offsets[last] - offsets[first]))
        _sort_queries(first, last, scores, offsets, order, f, work)

    in_chunks(sort, n_queries, min(n_chunks, n_queries))
    return order, f


def unsorted(order: Integers, values: Floats) -> Floats:
    """Return the values of the sorted documents `order` in the order of the batch, shape (n,)."""
    out = np.empty(len(values))
    out[order] = values
    return out


class SoftRanks:
    """Soft ranks of scores f, shape (n,), that fall within each segment, and their VJP."""

    def __init__(
        self,
        f: Floats,
        segments: Integers,
        alpha: float,
        n_chunks: int,
        points_pay: int = POINTS_PAY,
    ) -> None:
        starts, slots, cuts, self.points, *blocks = prepare(f, segments, alpha, points_pay)
        self.f, self.n_chunks, self._n_boxes = f, n_chunks, len(starts) - 1

        # arguments of all kernels: boxes, segments, points, and how many each point stands for
        self._boxes = f, starts, slots
        counts = self._condensed(np.ones(len(f))) if len(self.points) < len(f) else None
        self._sums = _COSINES, *self._boxes, segments, cuts, self.points, *blocks, counts
        self.alpha = float(alpha)

    @classmethod
    def of(cls, scores: Floats, offsets: Integers, alpha: float) -> tuple[Integers, SoftRanks]:
        """Return the documents by query and falling score, shape (n,), and their soft ranks."""
        sizes = np.diff(offsets)
        n_chunks = chunk_count(float(sizes @ sizes))
        order, f = sorted_queries(scores, offsets, n_chunks)
        return order, cls(f, offsets, alpha, n_chunks)

    def ranks(self, most: float = np.inf) -> Floats:
        """Return ``1 + sum_{j != i} sigma(alpha (f_j - f_i))``, shape (n,).

        Of a rank above `most`, it is a lower bound.
        """
        return self._filled(len(self.f), _soft_ranks, self.alpha, float(most), *self._sums)

    def vjp(self, w: Floats) -> Floats:
        """Return ``sum_i w_i dr_i/df_p``, shape (n,)."""
        arguments = self.alpha, *self._sums, w, self._condensed(w)
        return self._filled(len(w), _soft_ranks_vjp, *arguments)

    def _condensed(self, values: Floats) -> Floats:
        """Return weights of points for documents with values, shape (n_points,)."""
        if len(self.points) == len(self.f):
            return values
        return self._filled(len(self.points), _condense, _COSINES, *self._boxes, values)

    def _filled(self, size: int, kernel: Kernel, *arguments: Any) -> Floats:
        """Return an array of a size that a kernel fills box by box."""
        return filled(kernel, size, self._n_boxes, self.n_chunks, *arguments)


def prepare(
    f: Floats, segments: Integers, alpha: float, points_pay: int
) -> tuple[Integers, Integers, Integers, Floats, Floats, Integers, Integers]:
    """Cut sorted segments into boxes no wider than 4 / alpha.

    Boxes of `points_pay` documents or more become points where that saves time. Returns the
    documents and the points where boxes start, the points where segments do, and of each point the
    score, the ratio ``exp(alpha (f[head] - f[j]))``, the start `head` of its block, and
    ``tail[head]``, the block's end.
    """
    # keep what is used of the room for as many boxes and points as documents
    starts, slots, cuts, *of_points, (b, k) = _prepare(points_pay, float(alpha), f, segments)
    return starts[: b + 1], slots[: b + 1], cuts, *(values[:k] for values in of_points)
