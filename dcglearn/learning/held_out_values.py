"""How a metric predicts held-out preferences, by a link from differences to probabilities."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dcglearn.foundation.validation import Floats
from dcglearn.learning.judgement_kernel import log_chances
from dcglearn.logs.preference_pairs import Metric, PreferencePairs

LEAST_ERROR = 0.01
"""Smallest error rate of the link, so that no preference is predicted with certainty."""


def held_out_values(metric: Metric, train: PreferencePairs, test: PreferencePairs) -> Floats:
    """Return how far a metric respects each held-out pair, and the log probability of that
    preference, shape (2, n).
    """
    right = (test.verdicts(metric) + 1) / 2
    trained = metric.score(train.preferred) - metric.score(train.other)
    weight = np.ones(len(train)) if train.weight is None else train.weight
    weight = weight / weight.sum()
    unit = max(float(np.sqrt(np.average(trained**2, weights=weight))), 1e-12)

    def predicted(
        link: Floats, difference: Floats
    ) -> tuple[Floats, float, tuple[Floats, Floats, Floats]]:
        """Return scaled differences, the error rate, and log probabilities with their slopes in
        both.
        """
        z, error = (
            np.exp(link[0]) * difference / unit,
            LEAST_ERROR + (0.5 - LEAST_ERROR) * float(expit(link[1])),
        )
        return z, error, log_chances(z, error)

    def loss(link: Floats) -> tuple[float, Floats]:
        z, error, (log_chance, of_z, of_error) = predicted(link, trained)
        of_logit = (error - LEAST_ERROR) * (1 - expit(link[1])) * of_error
        return -float(weight @ log_chance), -np.array([weight @ (of_z * z), weight @ of_logit])

    link = minimize(
        loss, np.array([0.0, -2.0]), jac=True, method="L-BFGS-B", bounds=[(-10, 10), (-10, 10)]
    ).x
    held_out = metric.score(test.preferred) - metric.score(test.other)
    return np.stack([right, predicted(link, held_out)[2][0]])
