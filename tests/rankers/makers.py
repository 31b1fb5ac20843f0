"""Queries and rankers that several tests of rankers use."""

import functools
import re

from dcglearn.foundation.validation import InputError
from dcglearn.losses import ApproxNDCG
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.simulated_queries import letor_queries

TEXTBOOK = DCG.standard(3, 10)
MINE = DCG([0.0, 1.0, 1.1], [1.0, 0.85, 0.6, 0.42, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05])


def small(n=24, seed=0, **options):
    return letor_queries(n, n_features=12, sizes=(10, 40), random_state=seed, **options)


def tiny(n=12, seed=0, **options):
    return letor_queries(n, **{"n_features": 5, "sizes": (6, 15), "random_state": seed, **options})


@functools.cache
def letor(seed):
    """Return training, validation and test queries in LETOR's shape."""
    queries = letor_queries(166, random_state=seed)
    return queries[:64], queries[64:85], queries[85:]


def quick(**options):
    return LinearRanker(**{"loss": ApproxNDCG(MINE), "solver": "lbfgs", "max_iter": 15, **options})


def assert_refused(call, cases):
    """Assert that a call refuses each of the changed arguments, in words that match its pattern."""
    wrong = []
    for arguments, pattern in cases:
        try:
            wrong.append((arguments, call(**arguments)))
        except InputError as error:
            if not re.search(pattern, str(error)):
                wrong.append((arguments, str(error)))
    assert wrong == []


def by_query(queries):
    return [slice(a, b) for a, b in zip(queries.offsets[:-1], queries.offsets[1:], strict=True)]
