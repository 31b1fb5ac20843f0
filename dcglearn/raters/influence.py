"""How much one rater decides: by how far gains and discounts move when the rater is left out."""

from dataclasses import replace

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.learning.descriptions import DirectFit
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.blend import LOSSES_OF_MEMBERS


def influence_of_raters(log: Preferences, fit: DirectFit) -> dict[str, Floats]:
    """Return by how much gains and discounts move without each rater, shape (L + K,), the largest
    move first.

    At most ten raters, those with the most judgements, are left out in turn. Each fit starts from
    that of all, of a blend from its robust fit. A rater without whom nothing can be learned is left
    out of the result.
    """
    names, number, judged = np.unique(
        [] if log.rater is None else log.rater, return_inverse=True, return_counts=True
    )
    if len(names) < 2:
        return {}
    description = replace(
        fit.description, loss=LOSSES_OF_MEMBERS[0] if fit.members else fit.loss, form="dcg"
    )
    whole, moves = fit_direct(log, description, fit), {}
    most = np.argsort(-judged, kind="stable")[:10].tolist()
    for r in counted(most, len(most), "without each rater"):
        try:
            rest = fit_direct(log[number != r], description, whole)
        except InputError:  # the others' judgements are all ties, say
            continue
        sides = (
            getattr(whole.dcg, side) - getattr(rest.dcg, side) for side in ("gains", "discounts")
        )
        moves[str(names[r])] = np.concatenate([*sides])
    return dict(sorted(moves.items(), key=lambda item: -np.abs(item[1]).max()))
