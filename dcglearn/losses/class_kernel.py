"""Documents of a query by class (equal grade, or equal gain), and their smoothed hinge ranks of Wu
et al. 2009.

A pair of a better and a worse document, ``x = f_better - f_worse``, adds ``A(x)`` to the rank of
the better one and ``1 + A(x)`` to that of the worse one, with ``A(x) = sigma(-alpha x)`` in the
right order (x >= 0) and ``1/2 - (alpha/4) x`` in the wrong order. Documents of one class add
``sigma(alpha (f_j - f_i))``. For one document, each other class is a range in the right order, of
which only a window counts, and a range in the wrong order, whose linear terms are a difference of
running sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int64s
from dcglearn.losses.objective import Batch
from dcglearn.losses.rank_kernel import sorted_queries

_by_class = function("by_class", COUNT, COUNT, *[ARRAY] * 7)
_sums_from_top = function("sums_from_top", COUNT, *[ARRAY] * 3)
_sums_from_bottom = function("sums_from_bottom", COUNT, *[ARRAY] * 3)
_widest_ranks = function("widest_ranks", *[COUNT] * 3, *[ARRAY] * 4)
_hinge_ranks = function("hinge_ranks", *[COUNT] * 4, NUMBER, *[ARRAY] * 11)
_hinge_ranks_vjp = function("hinge_ranks_vjp", *[COUNT] * 4, NUMBER, *[ARRAY] * 10)
_work_of_classes = function("work_of_classes", COUNT, result=COUNT)


@dataclass(frozen=True)
class Classes:
    """Documents sorted by query, class and falling score: index in the batch and score f, shape
    (n,).

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
        """Sort and group the documents of a batch; `classes` holds the class of each grade, shape
        (L,).
        """
        order, f = sorted_queries(batch.scores, batch.offsets, n_chunks)
        segments, place = by_class(order, batch.offsets, batch.grades, classes, n_classes)
        regrouped, g = np.empty_like(order), np.empty_like(f)
        regrouped[place], g[place] = order, f
        filled = np.diff(segments) > 0
        tops = np.where(filled, g[np.minimum(segments[:-1], len(g) - 1)], 0.0)
        bottoms = np.where(filled, g[segments[1:] - 1], 0.0)
        return cls(regrouped, g, n_classes, segments, tops, bottoms)

    @property
    def sizes(self) -> Integers:
        """Documents of each class, shape (n_queries * n_classes,)."""
        return np.diff(self.segments)

    def below_top(self) -> Floats:
        """Return scores minus the largest score of their class, shape (n,)."""
        return self.f - np.repeat(self.tops, self.sizes)

    def above_bottom(self) -> Floats:
        """Return scores minus the smallest score of their class, shape (n,)."""
        return self.f - np.repeat(self.bottoms, self.sizes)


def by_class(
    order: Integers, offsets: Integers, grades: Integers, classes: Integers, n_classes: int
) -> tuple[Integers, Integers]:
    """Return `Classes.segments`, and the new position of each document of `order`; `classes` has
    shape (L,).
    """
    n, n_queries = len(order), len(offsets) - 1
    segments, places = np.empty(n_queries * n_classes + 1, np.int64), np.empty(n, np.int64)
    counts = np.empty(n_classes, np.int64)
    _by_class(
        n_queries,
        n_classes,
        int64s(order, n),
        int64s(offsets, n_queries + 1),
        int64s(grades, n),
        int64s(classes, len(classes)),
        int64s(segments, len(segments)),
        int64s(places, n),
        int64s(counts, n_classes),
    )
    return segments, places


def sums_from_top(values: Floats, segments: Integers) -> Floats:
    """Return an array with the sum of ``values[segments[s]:j]`` at ``s + j``, shape (n + n_segments
    + 1,).
    """
    n, m = len(values), len(segments)
    sums = np.empty(n + m)
    _sums_from_top(m - 1, int64s(segments, m), floats(values, n), floats(sums, n + m))
    return sums


def sums_from_bottom(values: Floats, segments: Integers) -> Floats:
    """Return an array with the sum of ``values[j:segments[s + 1]]`` at ``s + j``, shape (n +
    n_segments + 1,).
    """
    n, m = len(values), len(segments)
    sums = np.empty(n + m)
    _sums_from_bottom(m - 1, int64s(segments, m), floats(values, n), floats(sums, n + m))
    return sums


def hinge_ranks(
    f: Floats,
    segments: Integers,
    n_classes: int,
    tops: Floats,
    bottoms: Floats,
    down: Floats,
    up: Floats,
    ratio: Floats,
    head: Integers,
    tail: Integers,
    alpha: float,
    first: int,
    last: int,
    ranks: Floats,
) -> None:
    """Fill the ranks of documents first..last-1, sorted by query, class and score.

    `down` sums the scores minus their class's largest from the top, `up` the scores minus the
    smallest from the bottom, so that no sum is a difference of two larger ones.
    """
    n, m = len(f), len(segments) - 1
    work = np.empty(_work_of_classes(n_classes), np.int64)
    _hinge_ranks(
        first,
        last,
        m,
        n_classes,
        float(alpha),
        floats(f, n),
        int64s(segments, m + 1),
        floats(tops, m),
        floats(bottoms, m),
        floats(down, n + m),
        floats(up, n + m),
        floats(ratio, n),
        int64s(head, n),
        int64s(tail, n),
        floats(ranks, n),
        int64s(work, len(work)),
    )


def hinge_ranks_vjp(
    f: Floats,
    segments: Integers,
    n_classes: int,
    w: Floats,
    down: Floats,
    up: Floats,
    ratio: Floats,
    head: Integers,
    tail: Integers,
    alpha: float,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Fill ``sum_i w_i dr_i/df_p``; `down` and `up` sum w from the top and from the bottom of each
    class.
    """
    n, m = len(f), len(segments) - 1
    work = np.empty(_work_of_classes(n_classes), np.int64)
    _hinge_ranks_vjp(
        first,
        last,
        m,
        n_classes,
        float(alpha),
        floats(f, n),
        int64s(segments, m + 1),
        floats(w, n),
        floats(down, n + m),
        floats(up, n + m),
        floats(ratio, n),
        int64s(head, n),
        int64s(tail, n),
        floats(out, n),
        int64s(work, len(work)),
    )


def widest_ranks(
    ranks: Floats, offsets: Integers, segments: Integers, n_classes: int, k: int, edges: Floats
) -> None:
    """Add to `edges` the largest rank of each query's k most relevant documents, among equals those
    scored higher.
    """
    n_queries = len(offsets) - 1
    _widest_ranks(
        n_queries,
        n_classes,
        k,
        floats(ranks, len(ranks)),
        int64s(offsets, n_queries + 1),
        int64s(segments, n_queries * n_classes + 1),
        floats(edges, n_queries),
    )
