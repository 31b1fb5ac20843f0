"""The compiled loops over judgements: differences of utilities straight from int8 grades, and sums over what changes.

All formulas of the losses are in `judgement_costs`: what is here is the reading of lists, which NumPy cannot do without
large temporary arrays.
"""

from __future__ import annotations

import numpy as np

from dcglearn.foundation.compiled import njit


@njit(cache=True, nogil=True, error_model="numpy")
def add_differences(first, second, tables, out):
    """Add to `out`, shape (B, n), the utility of each pair's first list minus that of its second at B points.

    `tables` are the utilities with a column for -1, shape (B, K, L + 1).
    """
    n_points, depth, width = tables.shape
    for b in range(n_points):
        flat = tables[b].ravel()
        for i in range(len(first)):
            z = 0.0
            for k in range(depth):
                z += flat[np.uint64(k * width + first[i, k] + 1)] - flat[np.uint64(k * width + second[i, k] + 1)]
            out[b, i] += z


@njit(cache=True, nogil=True, error_model="numpy")
def add_slopes(pairs, steps, moment):
    """Add each of A slopes in z to the slopes in the utilities, shape (B, K, L + 1).

    `pairs` are the pairs' lists, first and second, shape (n, K) each, and of each slope its point and pair, (A,).
    """
    first, second, point, pair = pairs
    for a in range(len(point)):
        b, i, step = point[a], pair[a], steps[a]
        for k in range(first.shape[1]):
            moment[b, k, first[i, k] + 1] += step
            moment[b, k, second[i, k] + 1] -= step


@njit(cache=True, nogil=True, error_model="numpy")
def add_bends(pairs, factors, bends, rows, along, joint):
    """Add A second derivatives of losses in z, and some in z and another parameter, to those in gains and discounts.

    `pairs` are as in `add_slopes`, `factors` the gains, shape (B, L + 1), and discounts, (B, K). The `bends`, (A,), go
    to the lower triangle of the first rows of `joint`, shape (B, L + 1 + K + ..., L + 1 + K); those with other
    parameters, `along`, shape (q, A), to its `rows`, shape (q, A).
    """
    first, second, point, pair = pairs
    gains, discounts = factors
    width, depth = gains.shape[1], discounts.shape[1]
    u = np.empty(width + depth)
    for a in range(len(point)):
        b, i = point[a], pair[a]
        u[:width] = 0.0
        for k in range(depth):
            better, worse = first[i, k] + 1, second[i, k] + 1
            u[better] += discounts[b, k]
            u[worse] -= discounts[b, k]
            u[width + k] = gains[b, better] - gains[b, worse]
        for x in range(len(u)):
            row, bend = joint[b, x], bends[a] * u[x]
            for y in range(x + 1):
                row[y] += bend * u[y]
        for q in range(len(rows)):
            row = joint[b, rows[q, a]]
            for y in range(len(u)):
                row[y] += along[q, a] * u[y]
