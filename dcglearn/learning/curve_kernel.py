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
    sums: tuple[Floats, Floats, Floats],
) -> None:
    """Add a `CurvePrior` and its derivatives at B points to `sums`.

    These are values, shape (B,), gradients, (B, p), and Hessians, (B, d, d), of the first d
    parameters. `linear`, shape (q, d), are the linear functions that the prior charges, of which
    the first are curvatures, less `centre`; `normals` holds precision and pull, (p,) each, and
    `size` the ridge and the knee.
    """
    n_linear, d = linear.shape
    sizes = *thetas.shape, d, n_linear, len(centre)
    _add_prior(*sizes, *size, linear, centre, *normals, thetas, *sums)


def add_in_parameters(
    layout: Layout,
    share: float,
    thetas: Floats,
    points: tuple[Floats, Floats],
    derivatives: tuple[Floats, Floats | None],
    sums: tuple[Floats, Floats],
) -> Floats:
    """Add derivatives of a loss in the parameters, times `share`, to `sums`.

    `points` are gains and discounts. The `derivatives`, first, shape (B, m), and second, (B, m, m),
    if there are any, are those in gains, discounts, thresholds and, last, the common logit of error
    and position bias, where the layout has them. The Jacobian of these m in the first d parameters
    is returned, shape (B, m, d). `sums` are gradients, (B, p), and Hessians, (B, d, d).
    """
    n, p = thetas.shape
    n_gains, n_positions = (curve.shape[1] for curve in points)
    m, d = derivatives[0].shape[1], sums[1].shape[1]

    # room for the Jacobian and for the kernel's own work
    jacobian, work = np.empty((n, m, d)), np.empty(_work_of_parameters(n_positions, d, m))
    arrays = thetas, *points, *derivatives, jacobian, *sums, work
    _add_in_parameters(layout, n, p, d, m, n_gains, share, *arrays)
    return jacobian
