"""Held-out preferences: folds in which each pair is held out once, and how a metric predicts them."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import InputError
from dcglearn.learning.judgement_kernel import log_chances
from dcglearn.readers.preferences import Preferences, as_preferences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.logs.counting import Metric

N_FOLDS = 5
"""Number of folds of raters, queries or pairs."""

N_LIST_FOLDS = 4
"""Number of folds of lists, of which two at a time are held out."""

FEWEST_PAIRS = 30
"""With fewer held-out preferences nothing is said."""

LEAST_ERROR = 0.01
"""Smallest error rate of the link, so that no preference is predicted with certainty."""


SAMPLE = 4_000
"""Utilities are learned from a random sample of this many judgements, drawn by weight, where there are more."""


def decided_pairs(log: Preferences | ArrayLike) -> Preferences:
    """Return the preferences between two different lists; raise InputError if there are none."""
    given = as_preferences(log)
    given = given[given.differing].decided
    if not len(given):
        raise InputError("the log holds no preference between two different lists")
    return given


@contextlib.contextmanager
def quiet_stage(name: str) -> Iterator[None]:
    """Show the bars of `counted` with the stage's name, and no warnings of the many fits."""
    with stage(name), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


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
            "anything; get more judgements",
            see="too-few",
        )
    return folds


def sampled(log: Preferences, rng: np.random.Generator) -> Preferences:
    """Return a log of at most `SAMPLE` judgements, drawn by weight."""
    if len(log) <= SAMPLE:
        return log
    chance = None if log.weight is None else log.weight / log.weight.sum()
    return log.reweighted(np.bincount(rng.choice(len(log), SAMPLE, p=chance), minlength=len(log)))


def held_out_values(metric: Metric, train: Preferences, test: Preferences) -> Floats:
    """Return how far a metric respects each held-out pair, and its log probability of the preference, shape (2, n).

    The probability of a utility difference d is ``e + (1 - 2 e) sigma(b d)``; e and b are fitted to the training pairs.
    """
    right = (test.verdicts(metric) + 1) / 2
    trained = metric.score(train.preferred) - metric.score(train.other)
    weight = np.ones(len(train)) if train.weight is None else train.weight
    weight = weight / weight.sum()
    unit = max(float(np.sqrt(np.average(trained**2, weights=weight))), 1e-12)

    def predicted(link: Floats, difference: Floats) -> tuple[Floats, float, tuple[Floats, Floats, Floats]]:
        """Return scaled differences, the error rate, and log probabilities with their slopes in both."""
        z, error = np.exp(link[0]) * difference / unit, LEAST_ERROR + (0.5 - LEAST_ERROR) * float(expit(link[1]))
        return z, error, log_chances(z, error)

    def loss(link: Floats) -> tuple[float, Floats]:
        z, error, (log_chance, of_z, of_error) = predicted(link, trained)
        of_logit = (error - LEAST_ERROR) * (1 - expit(link[1])) * of_error
        return -float(weight @ log_chance), -np.array([weight @ (of_z * z), weight @ of_logit])

    link = minimize(loss, np.array([0.0, -2.0]), jac=True, method="L-BFGS-B", bounds=[(-10, 10), (-10, 10)]).x
    held_out = metric.score(test.preferred) - metric.score(test.other)
    return np.stack([right, predicted(link, held_out)[2][0]])
