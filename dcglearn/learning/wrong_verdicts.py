"""The share of wrong verdicts that a fit expects over its own log: careless ones and near-ties.

A judge's error rate is the part that does not depend on how close two lists are; judges whose
errors come from close pairs have a small one, however often they are wrong.
"""

import numpy as np

from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.validation import Flags, Floats
from dcglearn.learning.pairs import Pairs, Points
from dcglearn.learning.verdicts import chances

CONTRARY_LEVEL = 0.01
"""False-positive rate of the test that some rater of a log contradicts the others."""


def wrong_chances(lead: Floats, threshold: float, errors: Floats) -> Floats:
    """Return the probabilities that decided verdicts on pairs name the worse list, shape (n,).

    `lead` is by how much judges see the better list ahead, in units of their noise; `threshold` is
    that of ties, and the error rates have the shape (n,), or (1,).
    """
    # the chance of a right verdict by a rater who is always wrong would be 0
    errors = np.full_like(lead, np.minimum(errors, 1.0 - np.finfo(float).eps))
    shares = chances(lead, threshold, errors)
    wrong: Floats = shares[:, 2] / (shares[:, 0] + shares[:, 2])
    return wrong


def wrong_share(pairs: Pairs, points: Points) -> float:
    """Return the share of decided judgements that is expected to name the worse list."""
    decided, z = _decided(pairs, points)
    if not len(z):
        return 0.0

    # what judges add to the difference of the lists
    _, rater, weight, way = decided.columns
    lead = np.sign(z) * (z + way * points.biases[0][rater])
    threshold = float(points.thresholds[0, 1])
    wrong = wrong_chances(lead, threshold, points.errors[0][rater])
    return float(np.average(wrong, weights=weight))


def contrary_raters(pairs: Pairs, points: Points) -> Flags:
    """Return which raters name the worse list more often than not, beyond chance over all of them.

    Only raters with an error rate above a half can: they mistake the sides, or decide by chance.
    One-sided binomial tests of a half, by the number of judgements of equal weights that say as
    much (Kish 1965), with Bonferroni's correction.
    """
    contrary: Flags = points.errors[0] > 0.5
    if not contrary.any():
        return contrary
    decided, z = _decided(pairs.merged(), points)
    n_raters = len(contrary)
    _, rater, weight, _ = decided.columns

    def sums(values: Floats) -> Floats:
        return np.bincount(rater, values, n_raters).astype(np.float64)

    # how many independent judgements of each, and how many of these name the worse list
    total = np.maximum(sums(weight), 1e-300)
    n = total**2 / np.maximum(sums(weight**2), 1e-300)
    wrong = sums(weight * (z < 0)) / total * n
    return contrary & (binomial_tail(wrong, n) <= CONTRARY_LEVEL / n_raters)


def _decided(pairs: Pairs, points: Points) -> tuple[Pairs, Floats]:
    """Return the decided judgements, and the differences of their lists in units of the noise."""
    decided = pairs.at(np.flatnonzero(pairs.columns[0]))
    return decided, decided.differences(points)
