"""The loss of utilities on judgements, with slopes and curvature: what `DCGLearner` sees of a log.

With ``z = <W, d>`` the utility of a pair's first list minus that of its second, a judgement costs

- likelihood: minus the log of its probability. A preference of strength j = 1..M has probability
  ``P(j) = sigma(z - t_j) - sigma(z - t_(j+1))``, a tie ``sigma(z + t_1) - sigma(z - t_1)``, with thresholds t (Rao and
  Kupper 1967; without ties and strengths this is Bradley and Terry's ``sigma(z)``); with probability e, the judge's
  error rate, the other list is named;
- sigmoid: ``sigma(-z)``, the soft count of violated pairs;
- hinge: ``max(0, t_j - z)^2``, the paper's loss with the margin ``t_j``.

The loss of a log is the sum of the losses of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dcglearn.foundation.threads import over_chunks
from dcglearn.learning.judgement_costs import (
    CURVATURE,
    HINGE,
    LIKELIHOOD,
    SIGMOID,
    SLOPES,
    VALUE,
    Costs,
    hinge_costs,
    sigmoid_costs,
    verdict_costs,
)
from dcglearn.learning.judgement_kernel import RUN, add_derivatives, add_differences, add_preferences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades


BLOCK = 1 << 15
"""Judgements whose losses are in temporary memory at once."""

PLACES = {"low": 0, "high": 1}
"""Where the thresholds around a judgement stand, from the lower."""


@dataclass(frozen=True)
class Points:
    """B models of judges and their metric, at which losses are summed in one pass.

    Attributes
    ----------
    gains : ndarray, shape (B, L)
        Gains.
    discounts : ndarray, shape (B, K)
        Discounts, in units that make ``discounts * gains`` the utility in units of the judges' noise.
    thresholds : ndarray, shape (B, M + 2)
        ``t[1..M]`` for the strengths; ``t[0]`` is not used, ``t[M + 1]`` is infinite.
    errors : ndarray, shape (B, R)
        Error rate of each judge.
    """

    gains: Floats
    discounts: Floats
    thresholds: Floats
    errors: Floats

    def __len__(self) -> int:
        return len(self.gains)

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All arrays."""
        return self.gains, self.discounts, self.thresholds, self.errors


class JudgementSource(Protocol):
    """What `direct_fit.fit` needs of judgements, which may be in memory, on disk or on a cluster."""

    def __len__(self) -> int:
        """Return their number."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points and, as far as the order goes, their slopes and curvature."""

    def every(self, step: int) -> Judgements:
        """Return every `step`-th judgement."""


@dataclass(frozen=True)
class Judgements:
    """Pairs of lists with their verdicts, checked elsewhere.

    Attributes
    ----------
    first, second : ndarray of int8, shape (n, K), C-contiguous
        Preferred and other list, -1 = no known grade.
    level : ndarray of int8, shape (n,) or (1,)
        Strength of the preference, 1..M; 0 = tie.
    rater : ndarray of int32, shape (n,) or (1,)
        Index of the judge.
    weight : ndarray of float64, shape (n,) or (1,)
        Weight of each pair.
    """

    first: Grades
    second: Grades
    level: Grades
    rater: NDArray[np.int32]
    weight: Floats

    def __len__(self) -> int:
        return len(self.first)

    def every(self, step: int, first: int = 0) -> Judgements:
        """Return every `step`-th pair, from `first` on, copied."""
        return Judgements(*(x if x.ndim == 1 and len(x) == 1 else x[first::step].copy() for x in self.arrays))

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points, with slopes if the order is SLOPES, and curvature if it is CURVATURE.

        Linear in n, without temporary memory; the bytes depend neither on the number of threads nor on the other
        points.
        """
        gains = with_unknown(points.gains)
        tables = points.discounts[:, :, None] * gains[:, None, :]
        return _sums(self, _Utilities(tables, gains, points.discounts, points.thresholds, points.errors), kind, order)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All columns."""
        return self.first, self.second, self.level, self.rater, self.weight

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight[0] * len(self) if len(self.weight) == 1 else self.weight.sum())


@dataclass(frozen=True)
class LossSums:
    """Losses at B points, with their slopes and curvature; parts add with ``+``.

    Attributes
    ----------
    loss : ndarray, shape (B,)
        Weighted sum over the pairs.
    moment : ndarray, shape (B, K, L)
        Its slope in W, ``sum v loss'(z) d``.
    thresholds : ndarray, shape (B, M + 2)
        Its slope in the thresholds (zero for the sigmoid).
    errors : ndarray, shape (B, R)
        Its slope in each judge's error rate (zero unless a likelihood).
    joint : ndarray, shape (B, m, m)
        ``sum v loss'' u u^T`` for the slopes u of z in the L gains and K discounts, and the second derivatives that
        involve the M + 2 thresholds, in this order.
    crossed, bends : ndarray, shapes (B, R, m) and (B, R)
        Second derivatives in each error rate and these parameters; in each error rate.
    """

    loss: Floats
    moment: Floats
    thresholds: Floats
    errors: Floats
    joint: Floats
    crossed: Floats
    bends: Floats

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(*(getattr(self, x.name) + getattr(other, x.name) for x in fields(self)))


def pair_loss(
    judgements: Judgements, weights: Floats, thresholds: Floats, errors: Floats, kind: int = LIKELIHOOD
) -> LossSums:
    """Return the loss of one utility `weights`, shape (K, L), in units of the judges' noise, and its slopes.

    `thresholds`, shape (M + 2,), and `errors`, shape (R,), are those of one of the `Points`; `kind` is LIKELIHOOD,
    SIGMOID or HINGE. The sums have no axis of points; there is no curvature, for want of gains and discounts.
    """
    table = with_unknown(weights[None])
    at = _Utilities(table, np.zeros(table[:, 0].shape), np.zeros(table[:, :, 0].shape), thresholds[None], errors[None])
    sums = _sums(judgements, at, kind, SLOPES)
    return LossSums(*(getattr(sums, x.name)[0] for x in fields(sums)))


def with_unknown(values: Floats) -> Floats:
    """Return values of the L grades after a zero for -1, the grade that is not known."""
    padded = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    padded[..., 1:] = values
    return padded


@dataclass(frozen=True)
class _Utilities:
    """`Points` with their utilities, shape (B, K, L + 1), and gains, shape (B, L + 1), that have a column for -1."""

    tables: Floats
    gains: Floats
    discounts: Floats
    thresholds: Floats
    errors: Floats


def _sums(judgements: Judgements, at: _Utilities, kind: int, order: int) -> LossSums:
    """Return the sums at points, added up block by block."""

    def part(start: int, stop: int) -> LossSums:
        total = _Totals(at, kind, order)
        for i in range(start, stop, BLOCK):
            total.add(judgements, slice(i, min(i + BLOCK, stop)))
        return total.sums()

    n = len(judgements)
    return reduce(LossSums.__add__, over_chunks(part, n)) if n else part(0, 0)


class _Totals:
    """Sums at B points that grow block by block.

    The second derivatives with gains (and -1), discounts and thresholds are `curved`: the rows are these and the
    errors. In the columns of the thresholds, only the last rows are filled.
    """

    def __init__(self, at: _Utilities, kind: int, order: int) -> None:
        self.at, self.kind, self.order = at, kind, order
        n, n_errors = at.errors.shape
        self.n_thresholds, self.size = at.thresholds.shape[1], at.gains.shape[1] + at.discounts.shape[1]
        sloped, bent = order > VALUE, order == CURVATURE
        self.loss = np.zeros(n)
        self.moment = np.zeros((*at.tables.shape[:2], at.tables.shape[2] if sloped else 1))
        self.of_thresholds = np.zeros((n, self.n_thresholds if sloped else 0))
        self.of_errors = np.zeros((n, n_errors if sloped else 0))
        n_columns = self.size + self.n_thresholds
        self.curved = np.zeros((n, n_columns + n_errors, n_columns) if bent else (n, 0, 0))
        self.bends = np.zeros((n, n_errors if bent else 0))
        far, u, products = np.zeros((n_errors, 2)), np.empty((self.size, RUN)), np.empty((self.size + 1, RUN))
        self.work = far, u, np.empty(RUN), products, np.empty(RUN, np.intp)

    def add(self, judgements: Judgements, block: slice) -> None:
        """Add a block of judgements."""
        at = self.at
        first, second, level, rater, weight = (x[block] if len(x) > 1 else x for x in judgements.arrays)
        first, second = first.view(), second.view()
        first.flags.writeable = second.flags.writeable = False  # one compiled kernel serves all
        of_tables = self.moment.reshape(len(self.loss), -1)
        tables = at.tables.reshape(len(self.loss), -1)
        if self.kind == LIKELIHOOD and self.n_thresholds == 3 and not at.thresholds[:, 1].any():
            judged = first, second, rater, weight
            sums = self.loss, of_tables, self.of_errors, self.bends, self.curved
            add_preferences(*judged, tables, at.gains, at.discounts, at.errors, self.order, sums, self.work)
            return
        z = np.zeros((len(self.loss), len(first)))
        add_differences(first, second, tables, z)
        low = np.maximum(level, 1).astype(np.intp)
        costs = self._costs(z, level, low, at.errors[:, rater])
        self.loss += (weight * costs.loss).sum(axis=1)
        if self.order == VALUE:
            return
        v = weight if costs.near is None or len(weight) == 1 else weight[costs.near[1]]
        slopes = {name: v * slope for name, slope in costs.slopes.items()}
        bends = {name: v * bend for name, bend in costs.bends.items()} if self.order == CURVATURE else {}
        rows = {"low": self.size + low, "high": self.size + low + 1, "e": self.size + self.n_thresholds + rater}
        of_z = {name: costs.whole(bend) for name, bend in bends.items() if name.startswith("z ")}
        self._add_of_z(first, second, rows, costs.whole(slopes["z"]), of_z)
        for name, place in PLACES.items():
            if name in slopes:
                self.of_thresholds += _binned((low + place,), slopes[name], self.of_thresholds.shape, costs.near)
        for name, bend in bends.items():
            one, other = (rows.get(x) for x in name.split())
            if one is not None and other is not None:
                cells = ((other, one),) if one is other or name.endswith("e") else ((one, other), (other, one))
                for cell in cells:
                    self.curved += _binned(cell, bend, self.curved.shape, costs.near)
        if costs.of_error is not None:
            self.of_errors += _binned((rater,), weight * costs.of_error, self.of_errors.shape)
            if self.order == CURVATURE:
                self.bends += _binned((rater,), weight * costs.of_error**2, self.bends.shape)

    def _costs(self, z: Floats, level: Grades, low: NDArray[np.intp], error: Floats) -> Costs:
        thresholds = self.at.thresholds
        if self.kind == SIGMOID:
            return sigmoid_costs(z, self.order)
        if self.kind == HINGE:
            return hinge_costs(z, thresholds[:, low], self.order)
        return verdict_costs(z, thresholds[:, low], thresholds[:, low + 1], level == 0, error, self.order)

    def _add_of_z(
        self, first: Grades, second: Grades, rows: dict[str, NDArray[Any]], slope: Floats, bends: dict[str, Floats]
    ) -> None:
        """Add slopes in z, and second derivatives named by z and a variable, which has `rows` unless it is z."""
        at, (n, n_pairs) = self.at, slope.shape
        others = [name for name in bends if name != "z z"]
        places = np.empty((len(others), n_pairs), np.intp)
        along = np.empty((len(others), n, n_pairs))
        for q, name in enumerate(others):
            places[q], along[q] = rows[name[2:]], bends[name]
        bend = bends.get("z z", np.empty((n, 0)))
        of_tables = self.moment.reshape(n, -1)
        add_derivatives(first, second, at.gains, at.discounts, slope, bend, along, places, of_tables, self.curved)

    def sums(self) -> LossSums:
        """Return the sums, without what belongs to -1."""
        size, m = self.size, self.curved.shape[2]
        if m:
            self.curved[:, :size, size:] = self.curved[:, size:m, :size].transpose(0, 2, 1)
        known = self.moment[:, :, 1:], self.curved[:, 1:m, 1:], self.curved[:, m:, 1:]
        moment, joint, crossed = map(np.ascontiguousarray, known)
        return LossSums(self.loss, moment, self.of_thresholds, self.of_errors, joint, crossed, self.bends)


def _binned(
    cells: tuple[NDArray[Any], ...],
    values: Floats,
    shape: tuple[int, ...],
    near: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None,
) -> Floats:
    """Return the sums at each point in the cells, shape (n,) or (1,), of arrays of a shape.

    The values have the shape (B, n) or, of the points and judgements `near`, (A,).
    """
    if near is None and all(len(cell) == 1 for cell in cells):
        sums = np.zeros(shape)
        sums[:, *(cell[0] for cell in cells)] = values.sum(axis=1)
        return sums
    if near is None:
        flat = np.ravel_multi_index((np.arange(shape[0])[:, None], *cells), shape)
    else:
        point, pair = near
        flat = np.ravel_multi_index((point, *(cell[pair] if len(cell) > 1 else cell for cell in cells)), shape)
    counts = np.bincount(np.broadcast_to(flat, values.shape).ravel(), values.ravel(), int(np.prod(shape)))
    return counts.astype(np.float64).reshape(shape)
