"""Intransitive triads: three lists of which a beats b, b beats c and c beats a."""

import numpy as np

from dcglearn.logs.columns import Columns, ties_of, weights_of
from dcglearn.logs.unique_rows import list_numbers, size_of


def intransitive_triads(log: Columns) -> tuple[int, int]:
    """Return how many triads of lists are intransitive, of how many whose pairs are all decided.

    A list is preferred to another by the majority of the judgements of both, by weight; ties are
    left out. Of triads that are judged by chance, a quarter are intransitive (Kendall and Babington
    Smith 1940).
    """
    from scipy.sparse import csr_array

    # weight of the judgements for a list over another
    first, second = list_numbers(log.preferred, log.other)
    weight = weights_of(log) * ~ties_of(log)
    n = max(size_of(first, second), 1)
    counts = csr_array((weight, (first, second)), shape=(n, n))

    # paths of two steps that a third closes; each triad is counted at every corner
    over = ((counts - counts.T) > 0).astype(np.int64)
    either = over + over.T
    intransitive = (over @ over).multiply(over.T).sum() // 3
    decided = (either @ either).multiply(either).sum() // 6
    return int(intransitive), int(decided)
