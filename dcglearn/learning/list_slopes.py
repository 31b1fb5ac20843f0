"""Slopes of list utilities: what a list is worth as a linear function near the present parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.metric.list_utility import ListUtility


def value_slopes(utility: ListUtility, lists: Grades) -> Floats:
    """Return the slopes of the values of lists in all weights and further parameters, shape (n, K * L + E).

    The first columns are those of the weight ``W[k, l] = c_k g_l`` of each grade at each position, in the order of
    ``W.ravel()``; W times these is the value itself. The others are those of the L stop probabilities or, for a share
    of the best result, of that share. `lists` has shape (n, K), -1 = no known grade.
    """
    n, depth = lists.shape
    grades = np.arange(utility.n_grades)
    at = lists[:, :, None] == grades
    worth = utility.discounts * np.append(utility.gains, 0.0)[lists]
    if utility.form == "best":
        top = np.arange(depth) == worth.argmax(axis=1)[:, None]
        weights = at * ((1 - utility.best) + utility.best * top)[:, :, None]
        return np.column_stack([weights.reshape(n, -1), worth.max(axis=1) - worth.sum(axis=1)])
    going_on = 1 - np.append(utility.stops, 0.0)[lists]
    survival = np.cumprod(np.column_stack([np.ones(n), going_on[:, :-1]]), axis=1)
    below = np.zeros((n, depth))  # what the rest of the list is worth to those who go on
    for k in range(depth - 2, -1, -1):
        below[:, k] = worth[:, k + 1] + going_on[:, k + 1] * below[:, k + 1]
    stops = -((survival * below)[:, :, None] * at).sum(axis=1)
    return np.column_stack([(at * survival[:, :, None]).reshape(n, -1), stops])
