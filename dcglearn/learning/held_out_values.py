"""Held-out preferences: folds in which each pair is held out once, and how a metric predicts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.logs.counting import Metric
    from dcglearn.logs.preferences import Preferences

N_FOLDS = 5
"""Number of folds of raters, queries or pairs."""

N_LIST_FOLDS = 4
"""Number of folds of lists, of which two at a time are held out."""

FEWEST_PAIRS = 30
"""With fewer held-out preferences nothing is said."""

LEAST_ERROR = 0.01
"""Smallest error rate of the link, so that no preference is predicted with certainty."""


def folds_of(log: Preferences, unit: str, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the rows to train on and to hold out; each pair is held out once.

    Lists are held out two folds at a time, so that pairs of lists in different folds are held out too. Raises
    InputError if the log lacks the column of the unit, or too few pairs can be held out.
    """
    first, second = log.clusters(unit)
    n = int(max(first.max(), second.max())) + 1
    n_folds = N_LIST_FOLDS if unit == "list" else N_FOLDS
    fold = np.random.default_rng(seed).permutation(n) % n_folds
    low, high = np.minimum(fold[first], fold[second]), np.maximum(fold[first], fold[second])
    folds = []
    for i in range(n_folds):
        for j in range(i, n_folds):
            test = np.flatnonzero((low == i) & (high == j))
            train = np.flatnonzero(~np.isin(low, (i, j)) & ~np.isin(high, (i, j)))
            if len(test) and len(train):
                folds.append((train, test))
    n_held_out = sum(len(test) for _, test in folds)
    if n_held_out < FEWEST_PAIRS:
        raise InputError(
            f"{n_held_out} pairs can be held out by {unit}, fewer than {FEWEST_PAIRS}: too few to compare "
            "anything; get more judgements"
        )
    return folds


def held_out_values(metric: Metric, train: Preferences, test: Preferences) -> Floats:
    """Return how far a metric respects each held-out pair, and its log probability of the preference, shape (2, n).

    The probability of a utility difference d is ``e + (1 - 2 e) sigma(b d)``; e and b are fitted to the training pairs.
    """
    right = (test.verdicts(metric) + 1) / 2
    trained = metric.score(train.preferred) - metric.score(train.other)
    weight = np.ones(len(train)) if train.weight is None else train.weight
    unit = max(float(np.sqrt(np.average(trained**2, weights=weight))), 1e-12)

    def chance(parameters: Floats, difference: Floats) -> Floats:
        slope, error = np.exp(parameters[0]), LEAST_ERROR + (0.5 - LEAST_ERROR) * expit(parameters[1])
        return error + (1 - 2 * error) * expit(slope * difference / unit)

    def loss(parameters: Floats) -> float:
        return -float(weight @ np.log(chance(parameters, trained)))

    link = minimize(loss, np.array([0.0, -2.0]), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-6}).x
    held_out = metric.score(test.preferred) - metric.score(test.other)
    return np.stack([right, np.log(chance(link, held_out))])
