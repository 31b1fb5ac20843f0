"""Tests of the mean of paired differences by query, and intervals of it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from dcglearn.evaluation.prediction_powered import powered_mean
from dcglearn.foundation.validation import Fields, Floats

Draws: TypeAlias = tuple[float, int, int]
"""Confidence level of intervals, number of bootstrap samples, and their seed."""

MAX_RESAMPLES = 10_000_000
"""Most bootstrap samples and permutations."""


def plain_tests(values: Floats, draws: Draws) -> tuple[Fields, float]:
    """Return the mean and the tests of differences by query, and their standard deviation.

    Tests are the mean difference, its bootstrap interval, and p-values by t-test and by sign
    permutation. `values` are those of each query.
    """
    from scipy.stats import permutation_test, ttest_1samp

    differences = values[0, ~np.isnan(values[0])]
    mean = float(differences.mean())
    low, high = interval_of_mean(differences, *draws)
    if np.ptp(differences) <= 1e-12:  # no spread: nothing to resample
        p_t = 1.0 if abs(mean) <= 1e-12 else 0.0
        p_permutation = max(p_t, 2.0 ** (1 - len(differences)))
    else:
        p_t = float(ttest_1samp(differences, 0.0).pvalue)

        # as many permutations as samples
        test = permutation_test(
            (differences,), np.mean, permutation_type="samples", **_draws(differences, *draws[1:])
        )
        p_permutation = float(test.pvalue)

    of_run = float(np.nanmean(values[1])) if len(values) > 1 else None
    interval = {"mean": of_run, "difference": mean, "low": low, "high": high}
    p_values = {"p_t": p_t, "p_permutation": p_permutation}
    return interval | p_values, float(differences.std(ddof=1))


def powered_tests(
    values: Floats, by_machine: Floats, level: float, topics: str
) -> tuple[Fields, float]:
    """Return what `plain_tests` does, by a machine's values too; further queries are last."""
    kept, n = ~np.isnan(values[0]), values.shape[1]
    shared, further = by_machine[:, :n][:, kept], by_machine[:, n:]
    further = further[:, ~np.isnan(further[0])]
    difference, *of_run = (
        powered_mean(*outcomes, these=topics == "these")
        for outcomes in zip(values[:, kept], shared, further, strict=True)
    )
    mean = of_run[0].mean if of_run else None
    return {"mean": mean} | difference.tests(level), difference.error * difference.n**0.5


def turning_queries(divided: Floats, plain: Floats) -> list[int]:
    """Return the fewest queries without which two mean differences would have one sign.

    `divided` and `plain`, shape (n,), are the differences by query after and before they are
    divided by the ideal, which keeps their signs. None is returned where the means have one sign,
    or one is 0.
    """
    if not len(plain) or plain.mean() * divided.mean() >= 0:
        return []

    # of either, those that weigh most for the sign of the mean, until it has the other one
    turning: list[list[int]] = []
    for values in (plain, divided):
        signed = values * np.sign(values.mean())
        order = np.argsort(-signed, kind="stable")
        n = int(np.argmax(signed.sum() - np.cumsum(signed[order]) < 0)) + 1
        turning.append(order[:n].tolist())
    return min(turning, key=len)


def interval_of_mean(
    differences: Floats, level: float, n_resamples: int, random_state: int
) -> tuple[float, float]:
    """Return the bootstrap interval (percentiles) of the mean of paired differences, shape (n,).

    It is the mean itself where all differences are alike.
    """
    from scipy.stats import bootstrap

    if np.ptp(differences) <= 1e-12:
        return float(differences.mean()), float(differences.mean())
    draws = _draws(differences, n_resamples, random_state)
    result = bootstrap(
        (differences,), np.mean, confidence_level=level, method="percentile", **draws
    )
    low, high = result.confidence_interval
    return float(low), float(high)


def _draws(differences: Floats, n_resamples: int, random_state: int) -> dict[str, Any]:
    batch = max(1, (1 << 25) // len(differences))  # samples drawn at once
    return {"n_resamples": n_resamples, "batch": batch, "rng": np.random.default_rng(random_state)}


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
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
