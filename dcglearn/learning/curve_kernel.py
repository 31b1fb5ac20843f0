"""From parameters to curves and back, in C: points, the prior's cost, and derivatives.

`dcg_model` says what the parameters are. Here a layout counts them: alpha, delta with the log
sharpness, logits of error (0 or 1), gains of empty places (0 or 1), position biases (0 or 1),
threshold steps; then it names the first threshold that is a parameter, and counts the deviations of
judges' logits, which follow.
"""

import numpy as np
from numpy.typing import NDArray

from dcglearn.kernels.library import function

Layout = NDArray[np.int64]
"""Eight counts and a flag, see above."""

fill_points = function(
    "fill_points l[9] .n .p .gains .thresholds .judges f[n,p] f[n,gains] f[0] f[n,thresholds] "
    "f[n,judges]"
)
"""Sets gains, (B, L), discounts times sharpness, (B, K), thresholds and judges' error rates.

Taken are the layout, parameters, (B, p), and these four. What is not a parameter stays as it is:
the gain of the worst grade, other thresholds, errors without logits. The gain of an empty place, if
it is one, follows those of the grades.
"""

add_prior = function(
    "add_prior .n .p .d .linear .curves #ridge #knee f[linear,d] f[curves] f[p] f[p] f[n,p] f[n] "
    "f[n,p] f[n,d,d]"
)
"""Adds a `CurvePrior` and its derivatives at B points.

Taken are ridge and knee; the linear functions that the prior charges, shape (q, d), of which the
first are curvatures, less a centre; precision and pull, (p,) each; and parameters. Added to are the
last three: values, shape (B,), gradients, (B, p), and Hessians, (B, d, d), of the first d
parameters.
"""

add_in_parameters = function(
    "add_in_parameters l[9] .n .p .d .m .gains #share f[n,p] f[n,gains] f[n,depth] f[n,m] "
    "f[n*m*m]? f[n,m,d]! f[n,p] f[n,d,d] f[work_of_parameters(depth,d,m)]~"
)
"""Adds derivatives of a loss in the parameters, and returns a Jacobian, shape (B, m, d).

Taken are the layout, a factor, parameters, gains and discounts; derivatives of the loss, first,
shape (B, m), and second, (B, m, m) or None, in gains, discounts, thresholds and, last, the common
logit of error and position bias, where the layout has them; and what these times the factor are
added to, gradients, (B, p), and Hessians, (B, d, d). The Jacobian is that of these m in the first d
parameters.
"""
