"""What the direct fit minimises: ``share * loss + prior`` of parameters, with derivatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.kernels.library import function
from dcglearn.learning.model import Model
from dcglearn.learning.pairs import CURVATURE, VALUE, Pairs, Points

add_in_parameters = function(
    "add_in_parameters l[10] .n .p .m .gains #share f[n,p] f[n,gains] f[n,depth] f[n,m] f[n*m*m]? "
    "f[n,p] f[n,p,p]? f[work_of_parameters(depth,p,m)]~"
)
"""Adds derivatives of a loss in the parameters.

Taken are the layout of a `Model`, a factor, parameters, gains and discounts; derivatives of the
loss, first, shape (B, m), and second, (B, m, m) or None, as in `LossSums`; and what these times the
factor are added to, gradients, (B, p), and Hessians, (B, p, p) or None.
"""


class Local(NamedTuple):
    """A function near B points: values (B,), gradients (B, p) and Hessians (B, p, p)."""

    value: Floats
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True)
class FitObjective:
    """The objective of a model on judgements, in memory or as workers of a cluster keep them.

    `share` is the factor of the loss: the number of independent judgements that a unit of weight
    counts for.
    """

    model: Model
    pairs: Pairs
    share: float

    def __call__(self, thetas: Floats, order: int = CURVATURE) -> Local:
        """Return the objective near parameters, (B, p), as far as the order of the sums goes."""
        thetas = np.ascontiguousarray(thetas)
        value, gradient, hessian = self.model.prior.at(thetas, curved=order == CURVATURE)
        to = gradient, hessian if order == CURVATURE else None
        value += self.add_loss(thetas, self.model.points(thetas), order, *to)
        return Local(value + self.model.cost_of_judges, gradient, hessian)

    def add_loss(
        self,
        thetas: Floats,
        points: Points,
        order: int,
        gradient: Floats | None = None,
        hessian: Floats | None = None,
    ) -> Floats:
        """Return the loss at parameters, (B,), and add its derivatives as far as the order goes."""
        sums = self.pairs.sums(points, order)
        if order > VALUE:
            of_sums = sums.slopes, sums.joint if order == CURVATURE else None
            at = thetas, points.gains, points.discounts
            add_in_parameters(self.model.layout, self.share, *at, *of_sums, gradient, hessian)
        return self.share * sums.loss

    def values(self, thetas: Floats) -> Floats:
        """Return the objective at parameters, shape (B, p)."""
        return self(thetas, VALUE).value

    def lowest(self, thetas: Floats, n: int) -> Floats:
        """Return the n parameters with the lowest values, lowest first."""
        return thetas[np.argsort(self.values(thetas), kind="stable")[:n]]

    def thinned(self, n: int) -> FitObjective:
        """Return the objective on about `n` judgements, which weigh as much as all together."""
        return self if len(self.pairs) < 2 * n else self.on(self.pairs.thinned(n))

    def on(self, sample: Pairs) -> FitObjective:
        """Return the objective on a sample, which weighs as much as all judgements."""
        share = self.share * self.pairs.total_weight / sample.total_weight
        return replace(self, pairs=sample, share=share)
