"""From parameters to curves and back, in C: points, the prior's cost, and derivatives.

`dcg_model` says what the parameters are. Here a layout counts them: alpha, delta with the log
sharpness, logits of error (0 or 1), gains of empty places (0 or 1), position biases (0 or 1),
threshold steps; then it names the first threshold that is a parameter, and counts the deviations of
judges' logits, which follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats
from dcglearn.kernels.library import ARRAY, COUNT, NUMBER, floats, function, int64s

Layout = NDArray[np.int64]
"""Eight counts and a flag, see above."""

_fill_points = function("fill_points", ARRAY, *[COUNT] * 5, *[ARRAY] * 5)
_add_prior = function("add_prior", *[COUNT] * 5, NUMBER, NUMBER, *[ARRAY] * 8)
_add_in_parameters = function("add_in_parameters", ARRAY, *[COUNT] * 5, NUMBER, *[ARRAY] * 9)
_work_of_parameters = function("work_of_parameters", *[COUNT] * 3, result=COUNT)


def fill_points(
    layout: Layout,
    thetas: Floats,
    gains: Floats,
    discounts: Floats,
    thresholds: Floats,
    errors: Floats,
) -> None:
    """Set gains, (B, L), discounts times sharpness, (B, K), thresholds and judges' error rates.

    What is not a parameter stays as it is: the gain of the worst grade, other thresholds, errors
    without logits. The gain of an empty place, if it is one, follows those of the grades.
    """
    n, p = thetas.shape
    n_gains, n_thresholds, n_judges = gains.shape[1], thresholds.shape[1], errors.shape[1]
    curves = floats(gains, n * n_gains), floats(discounts, discounts.size)
    judges = floats(thresholds, n * n_thresholds), floats(errors, n * n_judges)
    sizes = n, p, n_gains, n_thresholds, n_judges
    _fill_points(int64s(layout, 9), *sizes, floats(thetas, n * p), *curves, *judges)


def add_prior(
    linear: Floats,
    centre: Floats,
    normals: tuple[Floats, Floats],
    size: tuple[float, float],
    thetas: Floats,
    values: Floats,
    gradients: Floats,
    dense: Floats,
) -> None:
    """Add a `CurvePrior` and its derivatives at B points.

    Values have shape (B,), gradients (B, p), and Hessians (B, d, d).

    `linear`, shape (q, d), are the linear functions that it charges, of which the first are
    curvatures, less `centre`; `normals` holds precision and pull, (p,) each, and `size` the ridge
    and the knee.
    """
    (n, p), (n_linear, d), (precision, pull) = thetas.shape, linear.shape, normals
    charged = floats(linear, n_linear * d), floats(centre, len(centre))
    normal = floats(precision, p), floats(pull, p)
    sums = floats(values, n), floats(gradients, n * p), floats(dense, n * d * d)
    sizes = n, p, d, n_linear, len(centre)
    _add_prior(*sizes, *size, *charged, *normal, floats(thetas, n * p), *sums)


def add_in_parameters(
    layout: Layout,
    share: float,
    thetas: Floats,
    points: tuple[Floats, Floats],
    slopes: Floats,
    joint: Floats | None,
    gradient: Floats,
    dense: Floats,
) -> Floats:
    """Add derivatives of a loss, times `share`, to gradients, (B, p), and to `dense`, (B, d, d).

    `points` are gains and discounts. `slopes`, shape (B, m), and `joint`, shape (B, m, m), if there
    is one, are the first and second derivatives in gains, discounts, thresholds and, last, the
    common logit of error and position bias, where the layout has them. The Jacobian of these m in
    the first d parameters is returned, shape (B, m, d).
    """
    (n, p), d, m, (gains, discounts) = thetas.shape, dense.shape[1], slopes.shape[1], points
    at = floats(thetas, n * p), floats(gains, gains.size), floats(discounts, discounts.size)
    of_loss = floats(slopes, n * m), None if joint is None else floats(joint, n * m * m)

    # room for the Jacobian and for the kernel's own work
    jacobian, work = np.empty((n, m, d)), np.empty(_work_of_parameters(discounts.shape[1], d, m))
    sums = floats(jacobian, n * m * d), floats(gradient, n * p), floats(dense, n * d * d)
    sizes = n, p, d, m, gains.shape[1]
    _add_in_parameters(
        int64s(layout, 9), *sizes, share, *at, *of_loss, *sums, floats(work, work.size)
    )
    return jacobian
