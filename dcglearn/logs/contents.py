"""What a log holds, counted in words."""

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import EMPTY
from dcglearn.logs.preference_pairs import PreferencePairs


def contents(log: PreferencePairs) -> str:
    """Return the numbers of a log's pairs, ties, raters, queries, positions and grades."""
    # pairs, and what they weigh
    sizes = f"{number_of(log.depth, 'positions')}, {number_of(log.n_grades, 'grades')}"
    counts = [number_of(len(log), "pairs", ",")]
    if log.ratings is not None:
        counts[0] = f"{number_of(log.n_judgements, 'ratings', ',')} as {counts[0]}"
    if round(log.total_weight) != len(log):
        counts.append(f"total weight {log.total_weight:,.0f}")

    # what they carry
    counts += [] if log.tie is None else [number_of(log.tie.sum(), "ties", ",")]
    for name, values in (("raters", log.rater), ("queries", log.query)):
        if values is not None:
            counts.append(number_of(len(np.unique(values)), name, ","))

    # lists that are shorter than others
    short = (np.concatenate([log.preferred, log.other]) == EMPTY).any(axis=1).sum()
    if short:
        sizes += f"; {short:,} of {2 * len(log):,} lists are shorter"
    return f"{', '.join(counts)}; {sizes}"
