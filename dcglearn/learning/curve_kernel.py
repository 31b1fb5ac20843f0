"""The compiled steps between parameters and curves: points, what the prior charges, and derivatives.

`direct_fit` says what the parameters are. Here a layout counts them: alpha, delta with the log sharpness, logits of
error (0 or 1), gains of empty places (0 or 1), position biases (0 or 1), threshold steps; then it names the first
threshold that is a parameter, and counts the deviations of judges' logits, which follow.
"""

import math

from dcglearn.foundation.compiled import njit


@njit(cache=True, nogil=True, error_model="numpy")
def fill_points(layout, thetas, gains, discounts, thresholds, errors):
    """Set gains, shape (B, L), discounts times sharpness, (B, K), thresholds and judges' error rates of B points.

    What is not a parameter stays as it is: the gain of the worst grade, other thresholds, errors without logits. The
    gain of an empty place, if it is one, follows those of the grades.
    """
    n_alpha, n_falls, n_error, n_empty, n_bias, n_rises, first, n_judges = layout
    sharp = n_alpha + n_falls - 1
    judges = sharp + 1 + n_error + n_empty + n_bias + n_rises
    for b in range(len(thetas)):
        total = 0.0
        for j in range(n_alpha):
            total += math.exp(thetas[b, j])
            gains[b, j + 1] = total
        for g in range(n_alpha + 1):
            gains[b, g] /= total
        for j in range(n_empty):
            gains[b, n_alpha + 1 + j] = thetas[b, sharp + 1 + n_error + j]
        fallen, total = 0.0, 0.0
        for k in range(n_falls):
            discounts[b, k] = math.exp(-fallen)
            total += discounts[b, k]
            fallen += thetas[b, n_alpha + k]
        size = math.exp(thetas[b, sharp]) / total
        for k in range(n_falls):
            discounts[b, k] *= size
        for r in range(errors.shape[1] if n_error else 0):
            logit = thetas[b, sharp + 1] + (thetas[b, judges + r] if n_judges else 0.0)
            errors[b, r] = 1.0 / (1.0 + math.exp(-logit))
        total = 0.0
        for j in range(n_rises):
            total += math.exp(thetas[b, judges - n_rises + j])
            thresholds[b, first + j] = total


@njit(cache=True, nogil=True, error_model="numpy")
def add_prior(linear, centre, normals, size, thetas, values, gradients, dense):
    """Add a `CurvePrior` at B points, with derivatives, to values, (B,), gradients, (B, p), and Hessians, (B, d, d).

    `linear`, shape (q, d), are the linear functions that it charges, of which the first are curvatures, less `centre`;
    `normals` holds precision and pull, (p,) each, and `size` the ridge and the knee.
    """
    precision, pull = normals
    ridge, knee = size
    for b in range(len(thetas)):
        for x in range(thetas.shape[1]):
            values[b] += (0.5 * precision[x] * thetas[b, x] - pull[x]) * thetas[b, x]
            gradients[b, x] += precision[x] * thetas[b, x] - pull[x]
        for x in range(linear.shape[1]):
            dense[b, x, x] += precision[x]
        for q in range(len(linear)):
            slope, curvature = 0.0, 1.0
            for x in range(linear.shape[1]):
                slope += linear[q, x] * thetas[b, x]
            if q < len(centre):
                slope -= centre[q]
                root = math.sqrt(1.0 + slope * slope / (knee * knee))
                values[b] += ridge * knee * knee * (root - 1.0)
                slope, curvature = ridge * slope / root, ridge / (root * root * root)
            else:
                values[b] += 0.5 * slope * slope
            for x in range(linear.shape[1]):
                if linear[q, x] != 0.0:
                    gradients[b, x] += slope * linear[q, x]
                    for y in range(linear.shape[1]):
                        dense[b, x, y] += curvature * linear[q, x] * linear[q, y]


@njit(cache=True, nogil=True, error_model="numpy")
def add_in_parameters(layout, share, thetas, gains, discounts, slopes, joint, jacobian, gradients, dense, work):
    """Add derivatives of a loss at B points, times `share`, to the gradients, shape (B, p), and to `dense`, (B, d, d).

    `slopes`, shape (B, m), and `joint`, shape (B, m, m) or (B, 0, 0), are the first and second derivatives in gains,
    discounts, thresholds and, last, the common logit of error and position bias, where the layout has them. `jacobian`,
    shape (B, m, d), is zero, and becomes that of these m in the first d parameters. `work` is memory of shapes (m, d),
    (d,) and, zero, (K,).
    """
    n_all, d = slopes.shape[1], dense.shape[2]
    whole, slope, beyond = work
    for b in range(len(thetas)):
        _fill_jacobian(layout, b, thetas, gains, discounts, beyond, jacobian)
        for x in range(d):
            slope[x] = 0.0
            for z in range(n_all):
                slope[x] += share * slopes[b, z] * jacobian[b, z, x]
            gradients[b, x] += slope[x]
        if not joint.shape[1]:
            continue
        for z in range(n_all):
            for y in range(d):
                whole[z, y] = 0.0
            for x in range(n_all):
                if joint[b, z, x] != 0.0:
                    for y in range(d):
                        whole[z, y] += share * joint[b, z, x] * jacobian[b, x, y]
            for x in range(d):
                if jacobian[b, z, x] != 0.0:
                    for y in range(d):
                        dense[b, x, y] += jacobian[b, z, x] * whole[z, y]
        _add_curvature_of_curves(layout, b, gains, beyond, slope, dense)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _fill_jacobian(layout, b, thetas, gains, discounts, beyond, jacobian):
    """Set the Jacobian of point b, and the share of the discounts beyond each position."""
    n_alpha, n_falls, n_error, n_empty, n_bias, n_rises, first, _ = layout
    n_grades, sharp, n_all, d = n_alpha + 1 + n_empty, n_alpha + n_falls - 1, jacobian.shape[1], jacobian.shape[2]
    for j in range(n_alpha):
        for g in range(n_alpha + 1):
            jacobian[b, g, j] = (gains[b, j + 1] - gains[b, j]) * (int(g > j) - gains[b, g])
    for j in range(n_empty):
        jacobian[b, n_alpha + 1 + j, sharp + 1 + n_error + j] = 1.0
    size = math.exp(thetas[b, sharp])  # the sum of the discounts
    for k in range(n_falls - 1, -1, -1):
        for r in range(n_falls):
            fallen = int(r > k) - beyond[k]
            jacobian[b, n_grades + r, n_alpha + k] = -discounts[b, r] * (fallen if k < n_falls - 1 else -1.0)
        if k:
            beyond[k - 1] = beyond[k] + discounts[b, k] / size
    for j in range(n_rises):  # threshold j moves with every step up to j
        for i in range(n_grades + n_falls + first + j, n_all - n_error - n_bias - 1):
            jacobian[b, i, d - n_rises + j] = math.exp(thetas[b, d - n_rises + j])
    if n_error:
        jacobian[b, n_all - n_bias - 1, sharp + 1] = 1.0
    if n_bias:
        jacobian[b, n_all - 1, sharp + 1 + n_error + n_empty] = 1.0


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _add_curvature_of_curves(layout, b, gains, beyond, slope, dense):
    """Add the loss's slopes in the parameters of point b times the curvature of what they make."""
    n_alpha, n_falls, n_error, n_empty, n_bias, _, _, _ = layout
    sharp = n_alpha + n_falls - 1
    for x in range(len(slope)):
        for y in range(len(slope)):
            if x < n_alpha and y < n_alpha:  # the steps of the gains are shares
                dense[b, x, y] -= slope[x] * (gains[b, y + 1] - gains[b, y])
                dense[b, x, y] -= slope[y] * (gains[b, x + 1] - gains[b, x])
            elif n_alpha <= x < sharp and n_alpha <= y < sharp:  # and so are the discounts
                dense[b, x, y] += beyond[x - n_alpha] * slope[y] + beyond[y - n_alpha] * slope[x] - slope[max(x, y)]
            elif max(x, y) == sharp and min(x, y) >= n_alpha:
                dense[b, x, y] += slope[min(x, y)]
        if x < n_alpha or x > sharp + n_error + n_empty + n_bias:
            dense[b, x, x] += slope[x]
