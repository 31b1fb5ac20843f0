"""Influence of raters: how far gains and discounts move when one of them is left out."""

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats
from dcglearn.learning.descriptions import DirectFit
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.left_out import LeftOut


def influence_of_raters(log: Preferences, fit: DirectFit) -> dict[str, Floats]:
    """Return gains and discounts of the whole log minus those without each rater, shape (L + K,).

    The largest difference comes first. At most ten raters, those with the most judgements, are left
    out in turn, by descents from the fit of the whole log; a blend's weights are held. A rater
    without whom nothing can be learned is left out of the result.
    """
    if log.rater is None:
        return {}
    names, number, judged = np.unique(log.rater, return_inverse=True, return_counts=True)
    if len(names) < 2:
        return {}

    # leave out each rater
    whole = LeftOut.of(log, fit)
    moves = {}
    busiest = np.argsort(-judged, kind="stable")[:10].tolist()
    for rater in counted(busiest, len(busiest), "without each rater"):
        left_out = number == rater
        if not len(log[~left_out].decided):
            continue

        # how far the numbers move
        without = whole.without(left_out).dcg
        gains, discounts = whole.dcg.gains - without.gains, whole.dcg.discounts - without.discounts
        moves[str(names[rater])] = np.concatenate([gains, discounts])
    return dict(sorted(moves.items(), key=lambda item: -np.abs(item[1]).max()))
