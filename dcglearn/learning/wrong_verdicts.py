"""The share of wrong verdicts that a fit expects over its own log: careless ones and near-ties.

A judge's error rate is the part that does not depend on how close two lists are; judges whose
errors come from close pairs have a small one, however often they are wrong.
"""

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.pairs import Pairs, Points, chances


def wrong_chances(lead: Floats, threshold: float, errors: Floats) -> Floats:
    """Return the probabilities that decided verdicts on pairs name the worse list, shape (n,).

    `lead` is by how much judges see the better list ahead, in units of their noise; `threshold` is
    that of ties, and the error rates have the shape (n,), or (1,).
    """
    shares = chances(lead, threshold, np.full_like(lead, errors))
    wrong: Floats = shares[:, 2] / (shares[:, 0] + shares[:, 2])
    return wrong


def wrong_share(pairs: Pairs, points: Points) -> float:
    """Return the share of decided judgements that is expected to name the worse list."""
    decided = pairs.at(np.flatnonzero(pairs.columns[0]))
    if not len(decided):
        return 0.0

    # what judges add to the difference of the lists
    z = decided.differences(points)
    _, rater, weight, way = decided.columns
    lead = np.sign(z) * (z + way * points.biases[0][rater])
    threshold = float(points.thresholds[0, 1])
    wrong = wrong_chances(lead, threshold, points.errors[0][rater])
    return float(np.average(wrong, weights=weight))
