"""The compiled derivatives of the objective in the parameters, from the sums over judgements at many points.

`direct_fit` says what the parameters are; here they are counted by a layout: the numbers of alpha, delta, logits of
error (0 or 1), threshold steps and judges' deviations, and the first threshold that is a parameter. The log sharpness
stands after delta.
"""

from __future__ import annotations

import math

import numpy as np

from dcglearn.foundation.compiled import njit


@njit(cache=True, nogil=True, error_model="numpy")
def add_derivatives_in_parameters(layout, share, order, thetas, points, sums, local):
    """Add `share` times the derivatives of the losses at B points to those of the prior.

    `points` are the arrays of `Points`, `sums` those of `LossSums` without the loss. `local` are the gradients, shape
    (B, p), and the second derivatives `dense`, (B, d, d), `cross`, (B, p - d, d), and `tips`, (B, p - d), of `Local`;
    the latter three are left alone unless the order is 2.
    """
    n_alpha, n_delta, n_error, n_rises, n_tips, first = layout
    gains, discounts, thresholds, errors = points
    moments, of_thresholds, of_errors, joints, crossed, bends = sums
    gradients, denses, crosses, all_tips = local
    n_curves = n_alpha + 1 + n_delta + 1
    sharp = n_alpha + n_delta
    d = sharp + 1 + n_error + n_rises
    n_grades, depth = n_alpha + 1, n_delta + 1
    slope = np.empty(d)
    jacobian, whole = np.empty((n_curves + thresholds.shape[1], d)), np.empty((n_curves + thresholds.shape[1], d))
    of_steps, of_logs = np.empty(n_alpha), np.empty(depth)
    for b in range(len(thetas)):
        gain, discount, moment = gains[b], discounts[b], moments[b]
        slope[:] = 0.0
        _slopes_of_curves(gain, discount, moment, slope, of_steps, of_logs)
        size = discount.sum()
        for j in range(n_rises):  # threshold j moves with every step up to j
            total = 0.0
            for i in range(first + j, thresholds.shape[1] - 1):
                total += of_thresholds[b, i]
            slope[sharp + 1 + n_error + j] = total * math.exp(thetas[b, sharp + 1 + n_error + j])
        for r in range(errors.shape[1] if n_error else 0):
            of_logit = of_errors[b, r] * errors[b, r] * (1.0 - errors[b, r])
            slope[sharp + 1] += of_logit
            if n_tips:
                gradients[b, d + r] += share * of_logit
        for x in range(d):
            gradients[b, x] += share * slope[x]
        if order < 2:
            continue
        _fill_jacobian(gain, discount, size, thetas[b], layout, jacobian)
        dense = denses[b]
        joint = joints[b]
        for x in range(len(jacobian)):
            for y in range(d):
                whole[x, y] = 0.0
            for z in range(len(jacobian)):
                value = joint[x, z]
                if x < n_grades and n_grades <= z < n_curves:
                    value += moment[z - n_grades, x]
                elif z < n_grades and n_grades <= x < n_curves:
                    value += moment[x - n_grades, z]
                if value != 0.0:
                    for y in range(d):
                        whole[x, y] += value * jacobian[z, y]
        for x in range(d):
            for z in range(len(jacobian)):
                value = share * jacobian[z, x]
                if value != 0.0:
                    for y in range(d):
                        dense[x, y] += value * whole[z, y]
        _add_bends_of_curves(gain, discount, size, share, slope, of_steps, of_logs, dense)
        for x in range(sharp + 1 + n_error, d):
            dense[x, x] += share * slope[x]
        for r in range(errors.shape[1] if n_error else 0):
            e = errors[b, r]
            move = e * (1.0 - e)
            of_logit = share * (bends[b, r] * move * move + of_errors[b, r] * move * (1.0 - 2.0 * e))
            dense[sharp + 1, sharp + 1] += of_logit
            for y in range(d):
                value = 0.0
                for z in range(len(jacobian)):
                    value += crossed[b, r, z] * jacobian[z, y]
                value *= share * move
                dense[sharp + 1, y] += value
                dense[y, sharp + 1] += value
                if n_tips:
                    crosses[b, r, y] += value
            if n_tips:
                crosses[b, r, sharp + 1] += of_logit
                all_tips[b, r] += of_logit


@njit(nogil=True, error_model="numpy")
def _slopes_of_curves(gain, discount, moment, slope, of_steps, of_logs):
    """Set the slopes in alpha, delta and log sharpness, in the gains' steps and in the logs of the discounts."""
    n_alpha, n_delta = len(of_steps), len(of_logs) - 1
    beyond, mean = 0.0, 0.0
    for j in range(n_alpha - 1, -1, -1):
        for k in range(len(discount)):
            beyond += discount[k] * moment[k, j + 1]
        of_steps[j] = beyond
        mean += (gain[j + 1] - gain[j]) * beyond
    for j in range(n_alpha):
        of_steps[j] -= mean
        slope[j] = (gain[j + 1] - gain[j]) * of_steps[j]
    total, size = 0.0, 0.0
    for k in range(len(discount)):
        value = 0.0
        for g in range(len(gain)):
            value += moment[k, g] * gain[g]
        of_logs[k] = discount[k] * value
        total += of_logs[k]
        size += discount[k]
    beyond = 0.0
    for k in range(n_delta, -1, -1):
        of_logs[k] -= discount[k] / size * total
        if k < n_delta:
            slope[n_alpha + k] = -beyond
        beyond += of_logs[k]
    slope[n_alpha + n_delta] = total


@njit(nogil=True, error_model="numpy")
def _fill_jacobian(gain, discount, size, theta, layout, jacobian):
    """Set the derivatives of gains, discounts and thresholds in the parameters but the judges' own."""
    n_alpha, n_delta, n_error, n_rises, _, first = layout
    jacobian[:] = 0.0
    for j in range(n_alpha):
        step = gain[j + 1] - gain[j]
        for g in range(n_alpha + 1):
            jacobian[g, j] = step * ((1.0 if g > j else 0.0) - gain[g])
    beyond = 0.0
    for k in range(n_delta - 1, -1, -1):
        beyond += discount[k + 1]
        for r in range(n_delta + 1):
            jacobian[n_alpha + 1 + r, n_alpha + k] = -discount[r] * ((1.0 if r > k else 0.0) - beyond / size)
    for r in range(n_delta + 1):
        jacobian[n_alpha + 1 + r, n_alpha + n_delta] = discount[r]
    for j in range(n_rises):
        at = n_alpha + n_delta + 1 + n_error + j
        for i in range(n_alpha + n_delta + 2 + first + j, len(jacobian) - 1):
            jacobian[i, at] = math.exp(theta[at])


@njit(nogil=True, error_model="numpy")
def _add_bends_of_curves(gain, discount, size, share, slope, of_steps, of_logs, dense):
    """Add the second derivatives of the curves in their parameters, times the loss's slopes in the curves."""
    n_alpha, n_delta = len(of_steps), len(of_logs) - 1
    sharp = n_alpha + n_delta
    for i in range(n_alpha):
        for j in range(n_alpha):
            bend = (gain[i + 1] - gain[i]) * slope[j] + (gain[j + 1] - gain[j]) * slope[i]
            dense[i, j] += share * ((slope[i] if i == j else 0.0) - bend)
    last = 0.0  # of the discounts' shares beyond a position, and of their slopes
    for i in range(n_delta - 1, -1, -1):
        last += discount[i + 1] / size
        other = 0.0
        for j in range(n_delta - 1, -1, -1):
            other += discount[j + 1] / size
            bend = last * slope[n_alpha + j] + other * slope[n_alpha + i] - slope[n_alpha + max(i, j)]
            dense[n_alpha + i, n_alpha + j] += share * bend
        dense[n_alpha + i, sharp] += share * slope[n_alpha + i]
        dense[sharp, n_alpha + i] += share * slope[n_alpha + i]
    dense[sharp, sharp] += share * slope[sharp]
