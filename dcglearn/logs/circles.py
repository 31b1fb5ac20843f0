"""Circles of preferences: triples of lists of which each is preferred to the next, and the last to
the first.
"""

import numpy as np

from dcglearn.logs.columns import Columns
from dcglearn.logs.unique_rows import list_numbers


def circular_triples(log: Columns) -> tuple[int, int]:
    """Return how many triples of lists go in a circle, of how many whose three pairs are all
    decided.

    A list is preferred to another by the majority of the judgements of both, by weight; ties are
    left out. Of three lists that are judged by chance, a quarter go in a circle (Kendall and
    Babington Smith 1940).
    """
    from scipy.sparse import csr_array

    first, second = list_numbers(log.preferred, log.other)
    weight = np.ones(len(log)) if log.weight is None else log.weight
    n = int(max(first.max(initial=0), second.max(initial=0))) + 1
    counts = csr_array(
        (weight if log.tie is None else weight * ~log.tie, (first, second)), shape=(n, n)
    )
    over = ((counts - counts.T) > 0).astype(np.int64)
    either = over + over.T
    return int((over @ over).multiply(over.T).sum()) // 3, int(
        (either @ either).multiply(either).sum()
    ) // 6
