"""Documents of a query by class (equal grade or gain), and their smoothed hinge ranks.

Source of the ranks: Wu et al. 2009, equations 12-17.

A pair of a better and a worse document, ``x = f_better - f_worse``, adds ``A(x)`` to the rank of
the better one and ``1 + A(x)`` to the worse one's, with ``A(x) = sigma(-alpha x)`` in the
right order (x >= 0) and ``1/2 - (alpha/4) x`` in the wrong order. Documents of one class add
``sigma(alpha (f_j - f_i))``. For one document, each other class is a range in the right order, of
which only a window counts, and a range in the wrong order, whose linear terms are a difference of
running sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import Kernel, function
from dcglearn.losses.objective import Batch
from dcglearn.losses.rank_kernel import filled, prepare, sorted_queries

by_class = function(
    "by_class .m classes l[n] l[m+1] l[n] l[grades] l[m*classes+1]! l[n]! l[classes]~"
)
"""`Classes.segments`, and the new position of each document of `order`.

Taken are the number of classes, order, offsets, grades, and the class of each grade.
"""

_sums_from_top = function("sums_from_top .segments l[segments+1] f[n] f[n+segments+1]!")
_sums_from_bottom = function("sums_from_bottom .segments l[segments+1] f[n] f[n+segments+1]!")
_widest_ranks = function("widest_ranks .m classes k f[n] l[m+1] l[m*classes+1] f[m]")
_hinge_ranks = function(
    "hinge_ranks first last .segments classes #alpha f[n] l[segments+1] f[segments] f[segments] "
    "f[n+segments] f[n+segments] f[n] l[n] l[n] f[n] l[work_of_classes(classes)]~"
)
_hinge_ranks_vjp = function(
    "hinge_ranks_vjp first last .segments classes #alpha f[n] l[segments+1] f[n] f[n+segments] "
    "f[n+segments] f[n] l[n] l[n] f[n] l[work_of_classes(classes)]~"
)


@dataclass(frozen=True)
class Classes:
    """Documents sorted by query, class and falling score: index in the batch and score f, (n,).

    `segments` are the ends of each query's classes, worst first, shape (n_queries * n_classes +
    1,); `tops` and `bottoms` the largest and the smallest score of each class, 0 for an empty one.
    """

    order: Integers
    f: Floats
    n_classes: int
    segments: Integers
    tops: Floats
    bottoms: Floats

    @classmethod
    def of(cls, batch: Batch, classes: Integers, n_classes: int, n_chunks: int) -> Classes:
        """Sort and group a batch's documents; `classes`, shape (L,), is the class of each grade."""
        # order documents by query, class and score
        by_score, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        segments, place = by_class(n_classes, by_score, batch.offsets, batch.grades, classes)
        order, g = np.empty_like(by_score), np.empty_like(f)
        order[place], g[place] = by_score, f

        # extreme scores of each class
        filled = np.diff(segments) > 0
        tops = np.where(filled, g[np.minimum(segments[:-1], len(g) - 1)], 0.0)
        bottoms = np.where(filled, g[segments[1:] - 1], 0.0)
        return cls(order, g, n_classes, segments, tops, bottoms)

    def below_top(self) -> Floats:
        """Return scores minus the largest score of their class, shape (n,)."""
        return self.f - np.repeat(self.tops, np.diff(self.segments))

    def above_bottom(self) -> Floats:
        """Return scores minus the smallest score of their class, shape (n,)."""
        return self.f - np.repeat(self.bottoms, np.diff(self.segments))

    def from_top(self, values: Floats) -> Floats:
        """Return an array with the sum of ``values[segments[s]:j]`` at ``s + j``."""
        return _sums_from_top(self.segments, values)

    def from_bottom(self, values: Floats) -> Floats:
        """Return an array with the sum of ``values[j:segments[s + 1]]`` at ``s + j``."""
        return _sums_from_bottom(self.segments, values)

    def widest_ranks(self, ranks: Floats, offsets: Integers, k: int, shift: float) -> Floats:
        """Return `shift` plus the largest rank of each query's k most relevant documents.

        Of equally relevant ones, those scored higher count.
        """
        edges = np.full(len(offsets) - 1, shift)
        _widest_ranks(self.n_classes, k, ranks, offsets, self.segments, edges)
        return edges


class HingeRanks:
    """Smoothed hinge ranks of documents by class at sharpness `alpha`, and their VJP."""

    def __init__(self, documents: Classes, alpha: float, n_chunks: int) -> None:
        c = self.documents = documents
        self.n_chunks = n_chunks
        self._documents = c.n_classes, float(alpha), c.f, c.segments
        points_pay = len(c.f) + 1  # every document is a point
        self._blocks = prepare(c.f, c.segments, alpha, points_pay)[-3:]

    def ranks(self) -> Floats:
        """Return the ranks, shape (n,).

        Sums of the scores minus their class's largest go from the top, and those of the scores
        minus the smallest from the bottom, so that no sum is a difference of two larger ones.
        """
        c = self.documents
        running = c.from_top(c.below_top()), c.from_bottom(c.above_bottom())
        return self._filled(_hinge_ranks, c.tops, c.bottoms, *running)

    def vjp(self, w: Floats) -> Floats:
        """Return ``sum_i w_i dr_i/df_p``, shape (n,)."""
        c = self.documents
        return self._filled(_hinge_ranks_vjp, w, c.from_top(w), c.from_bottom(w))

    def _filled(self, kernel: Kernel, *arrays: Floats) -> Floats:
        """Return an array, shape (n,), that a kernel fills from running sums."""
        n = len(self.documents.f)
        return filled(kernel, n, n, self.n_chunks, *self._documents, *arrays, *self._blocks)
