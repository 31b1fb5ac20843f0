"""Fits to the mean encodings of experiments whose better arm is known: the QP, and gains and
discounts directly.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

from dcglearn.foundation.validation import Floats
from dcglearn.learning.direct_fit import DirectObjective, Model, family, log_curves
from dcglearn.learning.margin_qp import newton
from dcglearn.learning.pair_loss import LossSums, Points
from dcglearn.logs.pair_sums import PairSums
from dcglearn.metric.dcg import DCG, Utility

STARTS = 4
"""The number of the best starts that are descended from."""


@dataclass(frozen=True)
class MeanEncodings:
    """Differences of mean encodings, the better arm's first, shape (n, K, L), and their
    covariances, (n, K L, K L).
    """

    difference: Floats
    covariance: Floats
    grade_names: tuple[str, ...] | None = None

    def qp(self, C: float = 1.0) -> Utility:
        """Return the utility of the QP, whose d are the differences in units of the root of their
        total variance.
        """
        total = np.trace(self.covariance, axis1=1, axis2=2)
        d = self.difference.reshape(len(total), -1) / np.sqrt(total)[:, None]

        def sums(weights: Floats, _: bool) -> PairSums:
            short = np.maximum(1 - d @ weights.ravel(), 0)
            active = d[short > 0]
            return PairSums(
                short @ short, short.sum(), (short @ d).reshape(weights.shape), active.T @ active
            )

        return Utility(newton(sums, self.difference.shape[1:], C).weights, self.grade_names)

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return ``-sum log(e + (1 - 2 e) Phi(z))`` and its slopes, z being differences in standard
        errors.

        Without e, the share of wrong outcomes, these would make the DCG insensitive: a large z is
        punished most.
        """
        (n_points, n_gains), (n, depth, n_grades) = points.gains.shape, self.difference.shape
        of_empty = np.eye(n_grades, n_gains)
        of_empty[:, n_grades:] = -1.0  # what an arm has more of is missing from its empty places
        d, loss, judges = (
            self.difference.reshape(n, -1),
            np.zeros(n_points),
            np.zeros((n_points, 1)),
        )
        moment = np.zeros((n_points, depth, n_gains))
        for b in range(n_points):
            w = np.outer(points.discounts[b], of_empty @ points.gains[b]).ravel()
            with_covariance = self.covariance @ w
            error = np.sqrt(with_covariance @ w)
            z = d @ w / error
            e, right = points.errors[b, 0], ndtr(z)
            chance = e + (1 - 2 * e) * right
            loss[b], judges[b] = -np.log(chance).sum(), ((2 * right - 1) / chance).sum()
            slope = -(1 - 2 * e) * np.exp(-0.5 * z**2) / chance / np.sqrt(2 * np.pi) / error
            of_w = slope @ (d - (z / error)[:, None] * with_covariance)
            moment[b] = of_w.reshape(depth, n_grades) @ of_empty
        none, flat = np.zeros((n_points, 0, 0)), np.zeros((n_points, 0))
        return LossSums(
            loss, moment, np.zeros(points.thresholds.shape), judges, none, none, flat, flat, flat
        )

    def dcg(self, ridge: float) -> DCG:
        """Return the DCG that is most likely to have the signs of all outcomes, under the prior of
        `Model`.
        """
        depth, n_grades = self.difference.shape[1:]
        full = np.abs(self.difference.sum(axis=2)).max() < 1e-4  # shares may be rounded
        model = Model(depth, n_grades, ridge=ridge, zero=0 if full else n_grades)
        objective = DirectObjective(model, self, 1.0)  # type: ignore[arg-type]
        starts = model.starts(
            np.array([np.concatenate(log_curves(*curves)) for curves in family(n_grades, depth)])
        )
        bounds = np.column_stack(model.bounds)
        ends = [
            minimize(objective.with_gradient, starts[i], jac=True, method="L-BFGS-B", bounds=bounds)
            for i in np.argsort(objective.values(starts), kind="stable")[:STARTS]
        ]
        curves = model.curves(min(ends, key=lambda end: float(end.fun)).x)
        notes = (
            ("the lists are full: the worst grade is worth nothing by convention",) if full else ()
        )
        return DCG(
            curves.gains / curves.gains[-1],
            curves.discounts / curves.discounts[0],
            self.grade_names,
            notes,
        )
