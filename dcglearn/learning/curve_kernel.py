"""From parameters to curves and back, in C: points, the prior's cost, and derivatives.

`dcg_model` says what the parameters are. Here a layout counts them: alpha, delta with the log
sharpness, logits of error (0 or 1), gains of empty places (0 or 1), position biases (0 or 1),
threshold steps; then it names the first threshold that is a parameter, and counts the deviations of
judges' logits, which follow.
"""

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats
from dcglearn.kernels.library import function

Layout = NDArray[np.int64]
"""Eight counts and a flag, see above."""

_fill_points = function(
    "fill_points l[9] n p gains thresholds judges f[n*p] f[n*gains] f[0] f[n*thresholds] "
    "f[n*judges]"
)
_add_prior = function(
    "add_prior n p d linear curves #ridge #knee f[linear*d] f[curves] f[p] f[p] f[n*p] f[n] f[n*p] "
    "f[n*d*d]"
)
_add_in_parameters = function(
    "add_in_parameters l[9] n p d m gains #share f[n*p] f[0] f[0] f[n*m] f[n*m*m]? f[n*m*d] f[n*p] "
    "f[n*d*d] f[0]"
)
_work_of_parameters = function("work_of_parameters depth d m -> n")


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
    sizes = *thetas.shape, gains.shape[1], thresholds.shape[1], errors.shape[1]
    _fill_points(layout, *sizes, thetas, gains, discounts, thresholds, errors)


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
    n_linear, d = linear.shape
    sizes = *thetas.shape, d, n_linear, len(centre)
    _add_prior(*sizes, *size, linear, centre, *normals, thetas, values, gradients, dense)


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

    # room for the Jacobian and for the kernel's own work
    jacobian, work = np.empty((n, m, d)), np.empty(_work_of_parameters(discounts.shape[1], d, m))
    sizes, at = (n, p, d, m, gains.shape[1]), (thetas, gains, discounts, slopes, joint)
    _add_in_parameters(layout, *sizes, share, *at, jacobian, gradient, dense, work)
    return jacobian
