"""Fits to mean encodings of experiments whose better arm is known: the QP, and a DCG directly."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from dcglearn.foundation.validation import Floats
from dcglearn.learning.dcg_model import DirectObjective, Model, family, log_metrics
from dcglearn.learning.judgement_kernel import log_chances
from dcglearn.learning.margin_qp import newton
from dcglearn.learning.minimise import minimised
from dcglearn.learning.pair_loss import LossSums, Points
from dcglearn.logs.pair_sums import PairSums
from dcglearn.metrics.dcg import DCG, Utility


@dataclass(frozen=True)
class MeanEncodings:
    """Differences of mean encodings, better arm less worse, (n, K, L); covariances (n, KL, KL)."""

    difference: Floats
    covariance: Floats
    grade_names: tuple[str, ...] | None = None

    def qp(self, C: float = 1.0) -> Utility:
        """Return the QP's utility, for differences in units of the root of their total variance."""
        total = np.trace(self.covariance, axis1=1, axis2=2)
        d = self.difference.reshape(len(total), -1) / np.sqrt(total)[:, None]

        def sums(weights: Floats, _: bool) -> PairSums:
            short = np.maximum(1 - d @ weights.ravel(), 0)
            active = d[short > 0]
            moment = (short @ d).reshape(weights.shape)
            return PairSums(short @ short, short.sum(), moment, active.T @ active)

        return Utility(newton(sums, self.difference.shape[1:], C).weights, self.grade_names)

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the loss of the outcomes at each point, and its slopes.

        The loss is ``-sum log(e + (1 - 2 e) Phi(z))``, where z is the difference of the metric in
        standard errors and e the share of wrong outcomes. Without e, wrong outcomes would make the
        DCG insensitive: a large z is punished most.
        """
        (n_points, n_gains), (n, depth, n_grades) = points.gains.shape, self.difference.shape
        d = self.difference.reshape(n, -1)
        loss, judges = np.zeros(n_points), np.zeros((n_points, 1))
        moment = np.zeros((n_points, depth, n_gains))

        # what an arm has more of is missing from its empty places
        of_empty = np.eye(n_grades, n_gains)
        of_empty[:, n_grades:] = -1.0

        for b in range(n_points):
            # differences of the metric, in standard errors
            w = np.outer(points.discounts[b], of_empty @ points.gains[b]).ravel()
            with_covariance = self.covariance @ w
            error = np.sqrt(with_covariance @ w)
            z = d @ w / error

            # outcomes are preferences at the logit of Phi(z)
            below, above = log_ndtr(z), log_ndtr(-z)
            logs, of_logit, of_error = log_chances(below - above, points.errors[b, 0])
            loss[b], judges[b] = -logs.sum(), -of_error.sum()

            # slopes in z, then in the utility
            of_z = of_logit * np.exp(-0.5 * z**2 - below - above) / np.sqrt(2 * np.pi)
            of_w = -(of_z / error) @ (d - (z / error)[:, None] * with_covariance)
            moment[b] = of_w.reshape(depth, n_grades) @ of_empty

        # there are no thresholds, and no second derivatives
        thresholds, flat = np.zeros(points.thresholds.shape), np.zeros((n_points, 0))
        none = np.zeros((n_points, 0, 0))
        return LossSums(loss, moment, thresholds, judges, none, none, flat, flat, flat)

    def dcg(self, ridge: float) -> DCG:
        """Return the DCG that makes all outcomes most likely, under the prior of `Model`."""
        depth, n_grades = self.difference.shape[1:]
        full = np.abs(self.difference.sum(axis=2)).max() < 1e-4  # shares may be rounded
        model = Model(depth, n_grades, ridge=ridge, zero=0 if full else n_grades)

        # descend from the four best of many metrics
        objective = DirectObjective(model, self, 1.0)  # type: ignore[arg-type]
        starts = model.starts(log_metrics(family(n_grades, depth)))
        chosen = starts[objective.lowest(starts, 4)]
        ends = [minimised(objective.with_gradient, start, model.bounds) for start in chosen]
        curves = model.curves(min(ends, key=lambda end: end.value).x)

        notes: tuple[str, ...] = ()
        if full:
            notes = ("the lists are full: the worst grade is worth nothing by convention",)
        return DCG(*curves.scaled, self.grade_names, notes)
