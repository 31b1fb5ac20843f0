"""Objectives without ranks: regression on gains, and ListNet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.validation import Floats, Integers
from dcglearn.losses.objective import Batch, Lambdas, Objective, ValueAndGradient
from dcglearn.metrics.dcg import DCG


@dataclass(frozen=True)
class Regression(Objective):
    """Minus the mean over a query's documents of ``(f_i - G_i / max |G|)^2``, G the DCG's gains.

    See Also
    --------
    losses.RegSHFSDCG : A regression that turns into a metric.

    Examples
    --------
    >>> Regression(dl.DCG.standard(3, 10, "linear"))([0.5, 0.0], [2, 0])
    (-0.125, array([ 0.5, -0. ]))
    """

    dcg: DCG

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        # gains over the largest
        top = np.abs(self.dcg.gains).max()
        targets = self.dcg.gains / top if top > 0 else self.dcg.gains
        difference = batch.scores - targets[batch.grades]
        weighted = _weight_over_size(batch) * difference
        value = (weighted * difference).sum()  # BLAS's dot would wake threads
        return -float(value), -2 * weighted

    def _lambdas(self, batch: Batch) -> Lambdas:
        return self._evaluate(batch)[1], 2 * _weight_over_size(batch)


@dataclass(frozen=True)
class ListNet(Objective):
    """Minus the cross entropy of top-one probabilities, ``sum_i p_i log q_i``.

    p and q are the softmax of a query's targets and of its scores. The targets are the gains of
    `dcg`, rescaled linearly to the range 0..L-1 of its L grades; without it, the grades. Source:
    Cao et al. 2007.

    See Also
    --------
    losses.ApproxNDCG : A smooth form of the metric itself.

    Examples
    --------
    >>> value, gradient = ListNet()([0.0, 0.0], [1, 0])
    >>> round(value, 4), gradient.round(4)
    (-0.6931, array([ 0.2311, -0.2311]))
    """

    dcg: DCG | None = None

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        # targets: grades, or gains on their scale
        targets = batch.grades.astype(np.float64)
        if self.dcg is not None:
            span = np.ptp(self.dcg.gains)
            scale = (self.dcg.n_grades - 1) / span if span > 0 else 0.0
            targets = ((self.dcg.gains - self.dcg.gains.min()) * scale)[batch.grades]

        # top-one probabilities of targets and scores
        filled = batch.sizes > 0
        starts, sizes = batch.offsets[:-1][filled], batch.sizes[filled]
        p = np.exp(_log_softmax(targets, starts, sizes))
        log_q = _log_softmax(batch.scores, starts, sizes)

        weight = np.repeat(batch.weight, batch.sizes)
        return float((weight * p) @ log_q), weight * (p - np.exp(log_q))


def _weight_over_size(batch: Batch) -> Floats:
    """Return the weight of each document's query over the query's size, shape (n,)."""
    return np.repeat(batch.weight / np.maximum(batch.sizes, 1), batch.sizes)


def _log_softmax(values: Floats, starts: Integers, sizes: Integers) -> Floats:
    """Return the logarithm of the softmax within each non-empty query."""
    # without the largest value, no exponential overflows
    shifted = values - np.repeat(np.maximum.reduceat(values, starts), sizes)
    return shifted - np.repeat(np.log(np.add.reduceat(np.exp(shifted), starts)), sizes)
