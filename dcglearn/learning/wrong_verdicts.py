"""The share of wrong verdicts that a fit expects over its own log: careless ones and near-ties.

A judge's error rate is the part that does not depend on how close two lists are; judges whose
errors come from close pairs have a small one, however often they are wrong.
"""

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.judgement_kernel import chances
from dcglearn.learning.list_kernel import list_values
from dcglearn.learning.pair_loss import JudgedPairs, Points


def wrong_chances(
    z: Floats, pull: Floats | float, threshold: float, errors: Floats | float
) -> Floats:
    """Return the probabilities that decided verdicts on pairs name the worse list, shape (n,).

    `z` is the difference of a pair's utilities, first less second list, in units of the judges'
    noise, and `pull` what position bias adds to it. `threshold` and `errors` are as in `chances`.
    """
    # the chance of a right verdict by a rater who is always wrong would be 0
    errors = np.minimum(errors, 1.0 - np.finfo(float).eps)
    shares = chances(np.sign(z) * (z + pull), threshold, errors)
    wrong: Floats = shares[:, 2] / (shares[:, 0] + shares[:, 2])
    return wrong


def wrong_share(judgements: JudgedPairs, points: Points) -> float:
    """Return the share of decided judgements that is expected to name the worse list."""
    decided = judgements.at(np.flatnonzero(np.broadcast_to(judgements.level, len(judgements))))
    n = len(decided)
    if not n:
        return 0.0

    # how far the lists are apart, and what judges add to that
    first, second = (list_values(x, points.tables)[0] for x in (decided.first, decided.second))
    rater = np.broadcast_to(decided.rater, n)
    pull = 0.0 if points.biases is None else decided.way * points.biases[0][rater]

    threshold = float(points.thresholds[0, 1])
    errors = points.errors[0][rater]
    wrong = wrong_chances(first - second, pull, threshold, errors)
    return float(np.average(wrong, weights=np.broadcast_to(decided.weight, n)))
