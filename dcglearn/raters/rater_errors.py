"""Error and position bias of raters by maximum likelihood, given how clear each pair is.

The judges are those of the fit (`learning.pairs`): the position bias b of a rater is added to the
utility of the list shown first.
"""

from dataclasses import replace

import numpy as np

from dcglearn.foundation.intervals import normal_quantile
from dcglearn.foundation.validation import Fields, Floats
from dcglearn.learning.model import BIAS_SPREAD
from dcglearn.learning.pairs import Pairs, Points, RaterSums

PRECISION = BIAS_SPREAD**-2
"""Curvature of the prior of a bias."""


def rater_errors(pairs: Pairs, points: Points, z: Floats, level: float) -> Fields:
    """Return each rater's `error` rate of highest likelihood and, where sides are known, `bias`.

    The ends of their intervals are in ``error_low`` and so on; all have the shape (R,). `points`
    hold the thresholds, which stay as they are, and judges without bias, and `z`, shape (n,), the
    differences of the pairs in units of the judges' noise.
    """
    from scipy.interpolate import PchipInterpolator
    from scipy.special import expit

    # profile the likelihood over logits of the error rate
    logits, losses = np.linspace(-9.0, 9.0, 145), []
    at = points
    for error in expit(logits):
        at, sums = _with_best_biases(pairs, at, error, z)
        losses.append(sums.loss + PRECISION / 2 * at.biases[0] ** 2)

    # its lowest point, interpolated
    fine = np.linspace(-9.0, 9.0, 3601)
    profile = PchipInterpolator(logits, losses)(fine)
    rates = expit(fine)
    errors = rates[profile.argmin(axis=0)]
    rates[0], rates[-1] = 0, 1

    # where it rises by half the squared quantile
    quantile = normal_quantile(level)
    inside = profile <= profile.min(axis=0) + quantile**2 / 2
    low, high = rates[inside.argmax(axis=0)], rates[::-1][inside[::-1].argmax(axis=0)]
    columns: Fields = {"error": errors, "error_low": low, "error_high": high}
    if not pairs.way.any():
        return columns

    # the biases there, and their standard errors, the error rates unknown too
    at, sums = _with_best_biases(pairs, points, errors, z)
    (of_error, both), (_, of_bias) = sums.curvature.transpose(1, 2, 0)
    known = of_bias - both**2 / np.where(of_error > 1e-6, of_error, np.inf)
    reach = quantile / np.sqrt(PRECISION + np.maximum(known, 0.0))
    bias = at.biases[0]
    columns |= {"bias": bias, "bias_low": bias - reach, "bias_high": bias + reach}

    # a side is favoured at the level for all raters together (Bonferroni)
    clear = reach * normal_quantile(1 - (1 - level) / len(bias)) / quantile
    columns["favours"] = np.select([bias > clear, bias < -clear], ["first", "second"], "")
    return columns


def _with_best_biases(
    pairs: Pairs, points: Points, error: Floats, z: Floats
) -> tuple[Points, RaterSums]:
    """Return the points with each rater's best bias at an error rate, and the sums there.

    `error` is that of all raters, or of each, shape (R,). Without known sides, the biases stay 0.
    `z`, shape (n,), are the differences of the pairs.
    """
    points = replace(points, errors=np.full_like(points.errors, error))
    for _ in range(30):
        sums, bias = RaterSums.of(pairs, points, z), points.biases
        slope = sums.slopes[:, 1] + PRECISION * bias
        curvature = sums.curvature[:, 1, 1] + PRECISION

        # Newton's step, as if the loss curved up everywhere
        step = np.clip(slope / np.maximum(np.abs(curvature), 1e-9), -1, 1)
        if np.abs(step).max() <= 1e-9:
            break
        points = replace(points, biases=bias - step)
    return points, sums
