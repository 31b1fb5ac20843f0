"""Losses of scores alone, without ranks: ListNet and regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.losses.objective import Batch, Loss
from dcglearn.losses.squared_kernel import squared_error

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Integers
    from dcglearn.metric.dcg import DCG


@dataclass(frozen=True)
class Regression(Loss):
    """Minus each query's mean squared difference between scores and gains over the top gain.

    Parameters
    ----------
    dcg : DCG
        Where the gains come from.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> value, gradient = Regression(DCG.standard(3, 10, "linear"))([0.5, 0.0], [2, 0])
    >>> value, gradient
    (-0.125, array([ 0.5, -0. ]))
    """

    dcg: DCG

    @property
    def _top_grade(self) -> int:
        return self.dcg.n_grades - 1

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        top = np.abs(self.dcg.gains).max()
        targets = (self.dcg.gains / top if top > 0 else self.dcg.gains)[batch.grades]
        error, change = squared_error(batch.scores, targets, batch.offsets, batch.weight)
        return -error, -change

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        sizes = np.diff(batch.offsets)
        return self._evaluate(batch)[1], 2 * np.repeat(batch.weight / np.maximum(sizes, 1), sizes)


@dataclass(frozen=True)
class ListNet(Loss):
    """Minus the cross entropy between the top-one probabilities of grades and of scores.

    Parameters
    ----------
    dcg : DCG, optional
        With it, targets are its gains, brought to the range 0..L-1 that its grades have (linear gains are the paper's
        form); without, the grades themselves.

    Notes
    -----
    Cao et al. 2007: ``sum_i p_i log q_i``, p and q the softmax of targets and of scores within a query.

    Examples
    --------
    >>> value, gradient = ListNet()([0.0, 0.0], [1, 0])
    >>> round(value, 4), gradient.round(4)
    (-0.6931, array([ 0.2311, -0.2311]))
    """

    dcg: DCG | None = None

    @property
    def _top_grade(self) -> int:
        return super()._top_grade if self.dcg is None else self.dcg.n_grades - 1

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        targets = batch.grades.astype(np.float64)
        if self.dcg is not None:
            span = np.ptp(self.dcg.gains)
            scale = (self.dcg.n_grades - 1) / span if span > 0 else 0.0
            targets = ((self.dcg.gains - self.dcg.gains.min()) * scale)[batch.grades]
        sizes = np.diff(batch.offsets)
        starts, weight = batch.offsets[:-1][sizes > 0], np.repeat(batch.weight, sizes)
        wanted = np.exp(_log_softmax(targets, starts, sizes[sizes > 0]))
        log_given = _log_softmax(batch.scores, starts, sizes[sizes > 0])
        return float((weight * wanted) @ log_given), weight * (wanted - np.exp(log_given))


def _log_softmax(values: Floats, starts: Integers, sizes: Integers) -> Floats:
    """Return the logarithm of the softmax within each non-empty query."""
    moved = values - np.repeat(np.maximum.reduceat(values, starts), sizes)
    return moved - np.repeat(np.log(np.add.reduceat(np.exp(moved), starts)), sizes)
