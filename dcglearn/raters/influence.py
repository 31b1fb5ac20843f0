"""Influence of raters: how far gains and discounts move when one of them is left out."""

from dataclasses import replace

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.learning.descriptions import DirectFit
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.blend import LOSSES_OF_MEMBERS


def influence_of_raters(log: Preferences, fit: DirectFit) -> dict[str, Floats]:
    """Return gains and discounts of the whole log minus those without each rater, shape (L + K,).

    The largest difference comes first. At most ten raters, those with the most judgements, are left
    out in turn. Each refit starts from the fit of the whole log; for a blend, both use the robust
    loss. A rater without whom nothing can be learned is left out of the result.
    """
    if log.rater is None:
        return {}
    names, number, judged = np.unique(log.rater, return_inverse=True, return_counts=True)
    if len(names) < 2:
        return {}

    # refit the whole log as a plain DCG, to compare like with like
    loss = LOSSES_OF_MEMBERS[0] if fit.members else fit.loss
    description = replace(fit.description, loss=loss, form="dcg")
    whole = fit_direct(log, description, fit)

    # leave out each rater
    moves = {}
    busiest = np.argsort(-judged, kind="stable")[:10].tolist()
    for rater in counted(busiest, len(busiest), "without each rater"):
        try:
            without = fit_direct(log[number != rater], description, whole).dcg
        except InputError:  # the others' judgements are all ties, say
            continue
        gains = whole.dcg.gains - without.gains
        discounts = whole.dcg.discounts - without.discounts
        moves[str(names[rater])] = np.concatenate([gains, discounts])
    return dict(sorted(moves.items(), key=lambda item: -np.abs(item[1]).max()))
