"""The kernel of the QP: sums over pairs of graded lists, computed from int8 grades.

Let ``d_i = s(a_i) - s(b_i)`` be the difference of two lists' binary encodings (K x L, never formed), ``v_i`` the weight
of the pair, ``m_i`` its margin and ``xi_i = max(0, m_i - <W, d_i>)`` its shortfall. A squared hinge needs
``sum v xi^2``, ``sum v xi m``, ``sum v xi d``, and ``sum v d d^T`` over the pairs with ``xi_i > 0``. Sums over parts of
a log add up to the sums over the log.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.threads import over_chunks
from dcglearn.foundation.validation import Floats, Grades

BLOCK = 2048
"""Pairs that are gathered before they are counted."""

MAX_TABLE = 1 << 19
"""Maximum entries of a chunk's table of joint counts; on wider scales each pair is added to the Hessian directly."""


@dataclass(frozen=True)
class PairSums:
    """Sums over pairs at one W; parts add with ``+``.

    `loss` is ``sum v xi^2``, `slope` ``sum v xi m``, `moment` ``sum v xi d``, shape (K, L), and `curvature` ``sum v d
    d^T`` over the pairs with ``xi > 0``, shape (K*L, K*L), or (0, 0) if it was not computed.
    """

    loss: float
    slope: float
    moment: Floats
    curvature: Floats

    def __add__(self, other: Self) -> Self:
        moment, curvature = self.moment + other.moment, self.curvature + other.curvature
        return type(self)(self.loss + other.loss, self.slope + other.slope, moment, curvature)


def pair_sums(
    first: Grades, second: Grades, margin: Floats, weight: Floats, weights: Floats, *, curvature: bool = True
) -> PairSums:
    """Return the sums over pairs (`first` preferred to `second`) at the utility `weights`, shape (K, L).

    The lists hold grades by position, -1 = no known grade, shape (n, K), C-contiguous; `margin` and `weight` have shape
    (n,) or (1,). The `curvature` takes about ten times as long as the rest. Linear in n; the only temporary memory is
    one table of fixed size a chunk. Chunks depend on n alone and are added in order: threads do not change a byte.
    """
    n = len(first)
    if n == 0:
        size = weights.size if curvature else 0
        return PairSums(0.0, 0.0, np.zeros(weights.shape), np.zeros((size, size)))
    table = np.hstack([np.zeros((len(weights), 1)), weights])  # column g + 1 for grade g, so that -1 is worth 0
    depth, width = table.shape
    n_codes, n_joint = width * width, depth * (depth - 1) // 2
    unit = np.eye(width)  # the row of d of a code a * width + b holds +1 at a, -1 at b
    sign = (unit[:, None, :] - unit[None, :, :]).reshape(n_codes, width)
    pairs = _read_only(first), _read_only(second), _read_only(margin), _read_only(weight)
    flat = table.ravel()

    def part(start: int, stop: int) -> PairSums:
        shortfalls = np.zeros((depth, n_codes))
        counted = curvature and n_joint * n_codes**2 <= MAX_TABLE
        single = np.zeros((depth if counted else 0, n_codes))
        joint = np.zeros((n_joint if counted else 0, n_codes, n_codes))
        block = np.empty((depth, BLOCK), np.uint16), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.intp)
        sums = shortfalls.reshape(-1), single, joint
        loss, slope = _add_sums(*pairs, flat, width, start, stop, block, *sums)
        hessian = np.zeros((0, 0))
        if curvature:
            graded = np.arange(depth * width) % width > 0
            both = _contract(single, joint, sign) if counted else np.zeros((depth * width,) * 2)
            if not counted:
                _scatter(*pairs, flat, width, start, stop, both)
            hessian = both[np.ix_(graded, graded)]
        return PairSums(loss, slope, (shortfalls @ sign)[:, 1:], hessian)

    return reduce(PairSums.__add__, over_chunks(part, n))


def _read_only(array: Any) -> Any:
    """Return a read-only view, so that each kernel is compiled once rather than for every mix of flags."""
    view = array.view()
    view.flags.writeable = False
    return view


def _contract(single: Floats, joint: Floats, sign: Floats) -> Floats:
    """Return ``sum v d d^T`` from the counts of codes at one position and of pairs of codes at two."""
    depth, width = len(single), sign.shape[1]
    blocks = np.zeros((depth, depth, width, width))
    blocks[np.arange(depth), np.arange(depth)] = sign.T @ (single[:, :, None] * sign)
    if depth > 1:
        rows, columns = np.tril_indices(depth, -1)
        between = sign.T @ joint @ sign
        blocks[rows, columns] = between
        blocks[columns, rows] = between.transpose(0, 2, 1)
    return blocks.transpose(0, 2, 1, 3).reshape(depth * width, depth * width)


@njit(inline="always")
def _shortfall(first, second, margin, flat, width, i):
    """Return m - <W, d> of pair i; unsigned indices need no check for negative ones, which takes half the time."""
    ahead = 0.0
    behind = 0.0
    for k in range(first.shape[1]):
        ahead += flat[np.uint64(k * width + first[i, k] + 1)]
        behind += flat[np.uint64(k * width + second[i, k] + 1)]
    return (margin[i] if len(margin) > 1 else margin[0]) - (ahead - behind)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_sums(first, second, margin, weight, flat, width, start, stop, block, sums, single, joint):
    """Return loss and slope; add ``v xi`` by position and code to `sums`, and counts of the pairs that fall short.

    `sums` has the shape (K * width^2,). The ``v`` of these pairs are added by code to `single`, by two codes to
    `joint`, unless these are empty. In each block, the pairs that fall short are found without a branch; then they are
    counted two positions at a time, so that each table of joint counts stays in the nearest cache.
    """
    codes, v, short, at = block
    loss, slope = 0.0, 0.0
    for begin in range(start, stop, len(v)):
        held = 0
        for i in range(begin, min(begin + len(v), stop)):
            at[held], short[held] = i, _shortfall(first, second, margin, flat, width, i)
            held += int(short[held] > 0.0)
        for p in range(held):
            i = at[p]
            v[p] = weight[i] if len(weight) > 1 else weight[0]
            weighted = short[p] * v[p]
            loss += weighted * short[p]
            slope += weighted * (margin[i] if len(margin) > 1 else margin[0])
            for k in range(len(codes)):
                codes[k, p] = (first[i, k] + 1) * width + second[i, k] + 1
                sums[np.uint64(k * width * width) + codes[k, p]] += weighted
        pair = 0
        for k in range(len(single)):
            here, at_one = codes[k], single[k]
            for p in range(held):
                at_one[here[p]] += v[p]
            for j in range(k):
                there, at_both = codes[j], joint[pair]
                for p in range(held):
                    at_both[here[p], there[p]] += v[p]
                pair += 1
    return loss, slope


@njit(cache=True, nogil=True)
def _scatter(first, second, margin, weight, flat, width, start, stop, both):
    """Add ``v d d^T`` of each pair that falls short, on scales too wide for a table of joint counts."""
    for i in range(start, stop):
        if _shortfall(first, second, margin, flat, width, i) <= 0.0:
            continue
        v = weight[i] if len(weight) > 1 else weight[0]
        for k in range(first.shape[1]):
            a = k * width + first[i, k] + 1
            b = k * width + second[i, k] + 1
            for j in range(first.shape[1]):
                c = j * width + first[i, j] + 1
                d = j * width + second[i, j] + 1
                both[a, c] += v
                both[a, d] -= v
                both[b, c] -= v
                both[b, d] += v
