"""Tests of the mean of paired differences by query, and intervals of it."""

from __future__ import annotations

import numpy as np

from dcglearn.evaluation.prediction_powered import powered_mean
from dcglearn.foundation.intervals import sign_flip_p, student_test
from dcglearn.foundation.validation import Fields, Floats

MAX_RESAMPLES = 10_000_000
"""Most patterns of signs that can be drawn."""


def plain_tests(values: Floats, level: float, n_resamples: int, random_state: int) -> Fields:
    """Return the tests of a run's differences by query.

    They are the run's mean, the mean difference, its interval and p-value by Student's t, the exact
    p-value by sign flips, of which `n_resamples` are drawn above 15 queries, and the differences'
    standard deviation. `values`, shape (2, Q), holds the differences, NaN where a run lacks the
    query, and the values of the run.
    """
    differences = values[0, ~np.isnan(values[0])]
    n, mean = len(differences), float(differences.mean())
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    return {
        "mean": float(np.nanmean(values[1])),
        "difference": mean,
        **student_test(mean, spread / n**0.5, n, level),
        "p_permutation": sign_flip_p(differences, n_resamples, random_state),
        "spread": spread,
    }


def powered_tests(values: Floats, by_machine: Floats, level: float, topics: str) -> Fields:
    """Return what `plain_tests` does, by a machine's values too; further queries are last."""
    kept, n = ~np.isnan(values[0]), values.shape[1]
    shared, further = by_machine[:, :n][:, kept], by_machine[:, n:]
    further = further[:, ~np.isnan(further[0])]
    difference, of_run = (
        powered_mean(*outcomes, these=topics == "these")
        for outcomes in zip(values[:, kept], shared, further, strict=True)
    )
    spread = difference.error * difference.n**0.5
    return {"mean": of_run.mean, **difference.tests(level), "spread": spread}


def corrected(values: Floats, correction: str) -> Floats:
    """Return p-values after a correction for multiple tests, see `compare_systems`."""
    from scipy.stats import false_discovery_control

    if correction == "none":
        return values
    if correction == "bh":
        return np.asarray(false_discovery_control(values))

    # Holm's, step down
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return np.minimum(stepped, 1.0)[np.argsort(order)]
