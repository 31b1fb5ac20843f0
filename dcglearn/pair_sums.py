"""The kernel of the QP: sums over pairs of graded lists, straight from int8 grades.

With ``d_i = s(a_i) - s(b_i)`` the difference of two lists' binary encodings (K x L, never formed), weights
``v_i`` and shortfalls ``xi_i = max(0, m_i - <W, d_i>)`` from margins ``m_i``, everything that a squared hinge
needs is linear in the pairs: ``sum v xi^2``, ``sum v xi m``, ``sum v xi d`` and ``sum v d d^T`` over the pairs with
``xi_i > 0``. So sums over parts of a log add up to the sums over the log.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Grades = NDArray[np.int8]

CHUNK = 1 << 15
MAX_CHUNKS = 16
"""Chunks depend on the number of pairs alone, so that no result depends on the number of threads."""
BLOCK = 2048
MAX_TABLE = 1 << 19
"""Largest table of joint counts (entries a chunk); wider scales scatter into the Hessian itself."""


@dataclass(frozen=True)
class PairSums:
    """Sums over pairs at one W; parts add with ``+``.

    Attributes
    ----------
    loss : float
        ``sum v xi^2``.
    slope : float
        ``sum v xi m``.
    moment : ndarray, shape (K, L)
        ``sum v xi d``.
    curvature : ndarray, shape (K*L, K*L), or None where it was not asked for
        ``sum v d d^T`` over the pairs with ``xi > 0``.
    """

    loss: float
    slope: float
    moment: Floats
    curvature: Floats | None = None

    def __add__(self, other: PairSums) -> PairSums:
        both = self.curvature is not None and other.curvature is not None
        return PairSums(
            self.loss + other.loss,
            self.slope + other.slope,
            self.moment + other.moment,
            self.curvature + other.curvature if both else None,  # type: ignore[operator]
        )


def pair_sums(
    first: Grades,
    second: Grades,
    margin: Floats,
    weight: Floats,
    weights: Floats,
    *,
    curvature: bool = True,
) -> PairSums:
    """Return the sums over pairs (`first` preferred to `second`) at the utility `weights`.

    Parameters
    ----------
    first, second : ndarray of int8, shape (n, K), C-contiguous
        Grades by position, -1 = no known grade.
    margin, weight : ndarray of float64, shape (n,) or (1,)
        Per pair, or one value for all.
    weights : ndarray, shape (K, L)
        W.
    curvature : bool
        Whether to sum ``v d d^T`` too, which costs some ten times the rest.

    Returns
    -------
    PairSums

    Notes
    -----
    Linear in n and, but for one fixed-size table a chunk, free of temporary memory. The same bytes
    come out whatever the number of threads: chunks are fixed and added in order.
    """
    n = len(first)
    n_chunks = min(MAX_CHUNKS, -(-n // CHUNK))
    if n == 0:
        size = weights.size
        return PairSums(0.0, 0.0, np.zeros(weights.shape), np.zeros((size, size)) if curvature else None)
    bounds = [n * i // n_chunks for i in range(n_chunks + 1)]
    table = np.hstack([np.zeros((len(weights), 1)), weights])  # column g + 1 for grade g, so that -1 is worth 0

    def part(i: int) -> PairSums:
        return _chunk_sums(first, second, margin, weight, table, bounds[i], bounds[i + 1], curvature)

    if n_chunks == 1:
        return part(0)
    with ThreadPoolExecutor(_threads()) as pool:
        return reduce(PairSums.__add__, pool.map(part, range(n_chunks)))


def _threads() -> int:
    return min(MAX_CHUNKS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _chunk_sums(
    first: Grades,
    second: Grades,
    margin: Floats,
    weight: Floats,
    table: Floats,
    start: int,
    stop: int,
    curvature: bool,
) -> PairSums:
    depth, width = table.shape
    n_codes = width * width
    pulled = np.zeros((depth, n_codes))
    single = np.zeros((depth if curvature else 0, n_codes))
    counted = depth * (depth - 1) // 2 * n_codes**2 <= MAX_TABLE
    joint = np.zeros((depth * (depth - 1) // 2, n_codes, n_codes) if curvature and counted else (0, 1, 1))
    scattered = np.zeros((depth * width,) * 2 if curvature and not counted else (0, 1))
    loss, slope = _hinge(first, second, margin, weight, table, start, stop, pulled, single, joint, scattered)
    sign = _code_signs(width)
    hessian = None
    if curvature:
        hessian = _contract(single, joint, sign) if counted else scattered
        known = np.arange(depth * width) % width > 0
        hessian = hessian[np.ix_(known, known)]
    return PairSums(loss, slope, (pulled @ sign)[:, 1:], hessian)


def _code_signs(width: int) -> Floats:
    """Return what each code a * width + b adds to its position of d: +1 at a, -1 at b; shape (width^2, width)."""
    unit = np.eye(width)
    return (unit[:, None, :] - unit[None, :, :]).reshape(width * width, width)


def _contract(single: Floats, joint: Floats, sign: Floats) -> Floats:
    """Turn counts of codes at one and at two positions into ``sum v d d^T``."""
    depth, width = len(single), sign.shape[1]
    blocks = np.zeros((depth, depth, width, width))
    blocks[np.arange(depth), np.arange(depth)] = np.einsum("cl,kc,cm->klm", sign, single, sign, optimize=True)
    if depth > 1:
        rows, columns = np.tril_indices(depth, -1)
        between = sign.T @ joint @ sign
        blocks[rows, columns] = between
        blocks[columns, rows] = between.transpose(0, 2, 1)
    return blocks.transpose(0, 2, 1, 3).reshape(depth * width, depth * width)


@njit(cache=True, nogil=True)
def _hinge(first, second, margin, weight, table, start, stop, pulled, single, joint, scattered):  # type: ignore[no-untyped-def]
    """Return loss and slope; add ``v xi`` by code to `pulled`, ``v`` by code to `single`, by two codes to `joint`.

    Pairs with a shortfall are gathered in blocks and counted two positions at a time, so that each
    table of joint counts stays in the nearest cache. Empty `single`, `joint` or `scattered` are left out.
    """
    depth, width = table.shape
    codes = np.empty((depth, BLOCK), np.uint16)
    pull = np.empty(BLOCK)
    v = np.empty(BLOCK)
    loss = 0.0
    slope = 0.0
    held = 0
    for i in range(start, stop):
        m = margin[i] if len(margin) > 1 else margin[0]
        xi = m
        for k in range(depth):
            xi += table[k, second[i, k] + 1] - table[k, first[i, k] + 1]
        if xi > 0.0:
            v[held] = weight[i] if len(weight) > 1 else weight[0]
            pull[held] = v[held] * xi
            loss += pull[held] * xi
            slope += pull[held] * m
            for k in range(depth):
                codes[k, held] = (first[i, k] + 1) * width + second[i, k] + 1
            held += 1
        if held == BLOCK or (i == stop - 1 and held > 0):
            _count(codes, pull, held, pulled)
            if len(single) > 0:
                _count(codes, v, held, single)
            if len(joint) > 0:
                _count_joint(codes, v, held, joint)
            if len(scattered) > 0:
                _scatter(codes, v, held, width, scattered)
            held = 0
    return loss, slope


@njit(cache=True, nogil=True)
def _count(codes, v, held, single):  # type: ignore[no-untyped-def]
    for k in range(codes.shape[0]):
        for i in range(held):
            single[k, codes[k, i]] += v[i]


@njit(cache=True, nogil=True)
def _count_joint(codes, v, held, joint):  # type: ignore[no-untyped-def]
    pair = 0
    for k in range(codes.shape[0]):
        for j in range(k):
            for i in range(held):
                joint[pair, codes[k, i], codes[j, i]] += v[i]
            pair += 1


@njit(cache=True, nogil=True)
def _scatter(codes, v, held, width, scattered):  # type: ignore[no-untyped-def]
    """Add every d d^T itself, for scales too wide to count joint codes."""
    depth = codes.shape[0]
    for i in range(held):
        for k in range(depth):
            a = k * width + codes[k, i] // width
            b = k * width + codes[k, i] % width
            for j in range(depth):
                c = j * width + codes[j, i] // width
                d = j * width + codes[j, i] % width
                scattered[a, c] += v[i]
                scattered[a, d] -= v[i]
                scattered[b, c] -= v[i]
                scattered[b, d] += v[i]
