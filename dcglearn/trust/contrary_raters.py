"""Raters who contradict the others more often than not."""

from itertools import compress

import numpy as np

from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.validation import Floats
from dcglearn.learning.fit import Fit
from dcglearn.logs.thinning import SAMPLE

CONTRARY_LEVEL = 0.01
"""False-positive rate of the test that some rater of a log contradicts the others."""


def contrary_raters(fit: Fit) -> list[str]:
    """Return who names the worse list more often than not, beyond chance over all raters.

    Only raters with an error rate above a half can: they mistake the sides, or decide by chance.
    One-sided binomial tests of a half, by the number of judgements of equal weights that say as
    much (Kish 1965), with Bonferroni's correction.
    """
    suspect = fit.points.errors[0] > 0.5
    if not suspect.any():
        return []

    # the decided judgements, and whether they name the worse list
    pairs = fit.pairs.thinned(SAMPLE).merged()
    decided = pairs.at(np.flatnonzero(pairs.columns[0]))
    _, rater, weight, _ = decided.columns
    is_wrong = decided.differences(fit.points) < 0
    n_raters = len(suspect)

    def sums(values: Floats) -> Floats:
        return np.bincount(rater, values, n_raters).astype(np.float64)

    # how many independent judgements of each, and how many of these name the worse list
    total = np.maximum(sums(weight), 1e-300)
    n = total**2 / np.maximum(sums(weight**2), 1e-300)
    wrong = sums(weight * is_wrong) / total * n
    contrary = suspect & (binomial_tail(wrong, n) <= CONTRARY_LEVEL / n_raters)
    return [*compress(fit.raters, contrary)]
