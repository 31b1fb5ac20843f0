"""Discounts at real-valued ranks: positive, strictly decreasing, with a derivative."""

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Fields, Floats, InputError, finite_array, frozen
from dcglearn.kernels.library import function
from dcglearn.metrics.textbook import textbook_discounts

_fill_discounts = function("fill_discounts kind .size f[size] .n f[n] f[n]! f[n]!")


class Curve(IntEnum):
    """Kinds of discounts: polynomial pieces, and four closed forms."""

    TABLE, LOG2, RECIPROCAL, SQRT, GEOMETRIC = range(5)


TILT = 1e-3
"""Most that tilting plateaus adds to a discount, as a share of the largest discount."""


@dataclass(frozen=True)
class SmoothDiscount:
    """A discount vector as a function of real-valued ranks from 1 to infinity.

    `kind` is a `Curve`: a table, with the raveled (K, 4) polynomial pieces as `numbers`, or one of
    four closed forms, with ``[factor]`` or ``[factor, log p]``. `knots`, shape (K,), holds the
    values at ranks 1..K. ``1/log2(r+1)``, ``1/r``, ``1/sqrt(r)`` and ``p^r`` (each times any
    factor) are recognised by their values and keep their closed form. Every other vector is first
    made positive and strictly decreasing: negative discounts become 0, a vector that rises
    somewhere is replaced by the nearest non-increasing one, and drops smaller than ``TILT / K`` of
    the largest discount are made that large. A piecewise cubic goes through these knots (PCHIP; the
    slope at rank 1 is the first secant's, at rank K the tail's or three times the last
    secant, if that is less steep), and after rank K follows the tail ``c[K-1] log2(K+1) /
    log2(r+1)``.
    """

    kind: int
    numbers: Floats
    knots: Floats

    @classmethod
    def of(cls, discounts: ArrayLike) -> Self:
        """Return the smooth form of discounts, shape (K,), one of which must be positive."""
        c = finite_array(discounts, "discounts", 1)
        if c.max() <= 0:
            raise InputError("no discount is positive; a smooth metric needs at least one that is")
        return cls._of(tuple(c.tolist()))

    @classmethod
    @lru_cache(maxsize=64)
    def _of(cls, discounts: tuple[float, ...]) -> Self:
        """Return the form of checked discounts; scheduled losses ask for it at every step."""
        c = finite_array(discounts, "discounts", 1)
        if (closed := _closed_form(c)) is not None:
            return cls(closed[0], frozen(np.array(closed[1])), c)
        knots = _strictly_decreasing(c)
        return cls(Curve.TABLE, frozen(_pieces(knots).ravel()), frozen(knots))

    def __call__(self, ranks: ArrayLike) -> Floats:
        """Return the discounts at real-valued ranks >= 1, any shape."""
        return self.with_slope(ranks)[0]

    def with_slope(self, ranks: ArrayLike) -> tuple[Floats, Floats]:
        """Return the discounts and their derivatives at real-valued ranks >= 1, any shape."""
        ranks = np.asarray(ranks, dtype=np.float64)
        flat = np.ascontiguousarray(ranks).ravel()
        value, slope = _fill_discounts(self.kind, self.numbers, flat)
        return value.reshape(ranks.shape)[()], slope.reshape(ranks.shape)[()]


def _closed_form(c: Floats) -> tuple[int, list[float]] | None:
    """Return kind and numbers of the closed form that `c` is a multiple of, or None."""
    if c[0] <= 0:
        return None
    same: Fields = {"rtol": 1e-12, "atol": 0.0}  # the factor may have been rounded
    for kind in (Curve.LOG2, Curve.RECIPROCAL, Curve.SQRT):
        textbook = textbook_discounts(kind.name.lower(), len(c))
        if np.allclose(c, c[0] * textbook, **same):
            return kind, [c[0]]
    # a factor times p^r
    if len(c) > 2:
        p = c[1] / c[0]
        if 0 < p < 1 and np.allclose(c, c[0] * p ** np.arange(len(c)), **same):
            return Curve.GEOMETRIC, [c[0] / p, math.log(p)]
    return None


def _strictly_decreasing(c: Floats) -> Floats:
    """Return the nearest non-increasing non-negative vector, with drops of at least TILT / K."""
    # the nearest that does not increase
    c = np.maximum(c, 0.0)
    if (np.diff(c) > 0).any():
        from scipy.optimize import isotonic_regression

        c = isotonic_regression(c, increasing=False).x

    # larger drops, of a share of the largest discount
    least = TILT * c[0] / len(c)
    drops = -np.diff(c, append=0.0)
    if (drops < least).any():
        c = np.cumsum(np.maximum(drops, least)[::-1])[::-1]
    return c.copy()


def _pieces(c: Floats) -> Floats:
    """Return cubic pieces between ranks 1..K and the tail's factor, (K, 4), constant term first."""
    from scipy.interpolate import CubicHermiteSpline

    # the tail's factor
    depth = len(c)
    pieces = np.zeros((depth, 4))
    pieces[-1, 0] = c[-1] * math.log(depth + 1)
    if depth == 1:
        return pieces

    # slopes at the knots: harmonic means of secants (PCHIP)
    secant = np.diff(c)
    slope = np.empty(depth)
    slope[0] = secant[0]
    slope[1:-1] = 2 * secant[:-1] * secant[1:] / (secant[:-1] + secant[1:])
    slope[-1] = max(-c[-1] / ((depth + 1) * math.log(depth + 1)), 3 * secant[-1])

    # Hermite's cubics, constant term first
    pieces[:-1] = CubicHermiteSpline(np.arange(depth), c, slope).c[::-1].T
    return pieces
