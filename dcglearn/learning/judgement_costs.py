"""The losses of judgements, with their slopes and second derivatives, as formulas on arrays.

`pair_loss` describes the losses. Those of preferences without strengths, in logs without ties, are in
`judgement_kernel` too. A judgement depends on the difference z of two utilities, the thresholds ``t_j`` and
``t_(j+1)`` around its level j, named low and high here (of a tie, low is ``t_1``), and its judge's error rate e.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, log_expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats

LIKELIHOOD, SIGMOID, HINGE = 0, 1, 2
"""Losses."""

VALUE, SLOPES, CURVATURE = 0, 1, 2
"""What is computed: the loss alone, its slopes too, or its second derivatives too."""

TAIL = 40.0
"""Slopes in z that fall as ``exp(-|z|)`` are left out beyond this |z|, where they are below 1e-17."""


@dataclass(frozen=True)
class Costs:
    """Losses of n judgements at B points, with derivatives.

    Attributes
    ----------
    loss : ndarray, shape (B, n)
        Losses.
    slopes : dict of str to ndarray, shape (B, n) or (A,)
        Slopes in "z", "low" and "high", as far as they are not zero throughout.
    bends : dict of str to ndarray, shape (B, n) or (A,)
        Second derivatives, by the names of two variables, such as "z low", as far as they are not zero throughout.
    of_error : ndarray, shape (B, n), optional
        Slope of all losses in e. The second derivative in e is its square.
    near : tuple of ndarray, shape (A,) each, optional
        Point and judgement of the slopes and bends, where only those that are not negligible are given.
    """

    loss: Floats
    slopes: dict[str, Floats] = field(default_factory=dict)
    bends: dict[str, Floats] = field(default_factory=dict)
    of_error: Floats | None = None
    near: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    def whole(self, values: Floats) -> Floats:
        """Return slopes or bends at all points and judgements, shape (B, n)."""
        if self.near is None:
            return values
        whole = np.zeros(self.loss.shape)
        whole[self.near] = values
        return whole


def sigmoid_costs(z: Floats, order: int) -> Costs:
    """Return ``sigma(-z)`` of differences z, shape (B, n)."""
    loss = expit(-z)
    if order == VALUE:
        return Costs(loss)
    slope = np.where(np.abs(z) < TAIL, loss * (loss - 1), 0.0)
    return Costs(loss, {"z": slope}, {"z z": slope * (2 * loss - 1)})


def hinge_costs(z: Floats, margin: Floats, order: int) -> Costs:
    """Return ``max(0, margin - z)^2`` of differences z, shape (B, n); `margin` broadcasts to them."""
    short = np.maximum(margin - z, 0.0)
    if order == VALUE:
        return Costs(short * short)
    slope, two = 2 * short, np.where(short > 0, 2.0, 0.0)
    return Costs(short * short, {"z": -slope, "low": slope}, {"z z": two, "z low": -two, "low low": two})


def verdict_costs(z: Floats, low: Floats, high: Floats, tie: NDArray[np.bool_], error: Floats, order: int) -> Costs:
    """Return minus the log probabilities of ties and of preferences of any strength.

    All broadcast to z, shape (B, n). The error of ties does not matter, and is no variable where it is zero.
    """
    wide = np.broadcast_to(error, z.shape)
    distance = z if not error.any() else np.where(wide > 0, np.abs(z), z)
    near = _where((distance <= TAIL + low) | (high < np.inf) | tie)
    forward = z > 0
    certain = np.where(forward, 1 - error, error)
    certain[near] = 1.0
    loss = -np.log(certain)
    tie = _at(np.atleast_2d(tie), near)
    low, high, e = (_at(x, near) for x in (low, high, error))
    z, e = z[near], np.where(tie, 0.0, e)
    with np.errstate(over="ignore"):
        log_chance, (up, down, uu, ll, ul) = _interval(np.where(tie, z + low, z - low), z - np.where(tie, low, high))
        log_wrong, (up_w, down_w, uu_w, ll_w, ul_w) = _interval(-z - low, -z - high)
    chance, wrong = np.exp(log_chance), np.exp(log_wrong)
    total = np.maximum((1 - e) * chance + e * wrong, 1e-300)
    loss[near] = -np.where(e == 0, log_chance, np.log(total))
    if order == VALUE:
        return Costs(loss)
    of_error = -1 / np.where(forward, wide - 1, np.where(wide > 0, wide, 1.0))
    p, q = np.where(e == 0, 1.0, (1 - e) * chance / total), e * wrong / total
    share, share_w = np.where(tie, 0.0, chance / total), np.where(tie, 0.0, wrong / total)
    a, b = up + down, -(up_w + down_w)
    g_z, g_low, g_high, g_e = p * a + q * b, -(p * up + q * up_w), -(p * down + q * down_w), share_w - share
    slopes = {"z": -g_z, "low": np.where(tie, down - up, -g_low), "high": np.where(tie, 0.0, -g_high)}
    z_low = g_z * g_low - p * (-(uu + ul) - a * up) - q * (uu_w + ul_w - b * up_w)
    z_high = g_z * g_high - p * (-(ul + ll) - a * down) - q * (ul_w + ll_w - b * down_w)
    low_low = g_low * g_low - p * (uu + up * up) - q * (uu_w + up_w * up_w)
    low_high = g_low * g_high - p * (ul + up * down) - q * (ul_w + up_w * down_w)
    high_high = g_high * g_high - p * (ll + down * down) - q * (ll_w + down_w * down_w)
    bends = {
        "z z": g_z * g_z - p * (uu + 2 * ul + ll + a * a) - q * (uu_w + 2 * ul_w + ll_w + b * b),
        "z low": np.where(tie, ll - uu, z_low),
        "z high": np.where(tie, 0.0, z_high),
        "z e": g_z * g_e - share_w * b + share * a,
        "low low": np.where(tie, 2 * ul - uu - ll, low_low),
        "low high": np.where(tie, 0.0, low_high),
        "high high": np.where(tie, 0.0, high_high),
        "low e": g_low * g_e + share_w * up_w - share * up,
        "high e": g_high * g_e + share_w * down_w - share * down,
    }
    of_error[near] = -g_e
    return Costs(loss, slopes, bends, of_error, near)


def _where(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the true entries, faster than `numpy.nonzero` does for two axes."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return rows, columns


def _at(values: NDArray[Any], near: tuple[NDArray[np.intp], NDArray[np.intp]]) -> NDArray[Any]:
    """Return the values, of which one row or column may stand for all, at points and judgements."""
    point, pair = near
    return values[point if len(values) > 1 else 0, pair if values.shape[1] > 1 else 0]


def _interval(upper: Floats, lower: Floats) -> tuple[Floats, tuple[Floats, ...]]:
    """Return ``log(sigma(upper) - sigma(lower))``, its slopes in both, and uu, ll, ul: its second derivatives."""
    above, below, gap = expit(upper), expit(lower), upper - lower
    near = 1 / np.expm1(gap)
    bend = near * (1 + near)
    log = log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(-gap))
    slopes = expit(-upper) + near, -below - near
    return log, (*slopes, -above * (1 - above) - bend, -below * (1 - below) - bend, bend)
