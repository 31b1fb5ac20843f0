"""Queries that the tests of LETOR's protocol share."""

from dcglearn.rankers.synthetic import letor_queries


def small(n=20, **options):
    return letor_queries(n, n_features=6, sizes=(8, 20), seed=0, **options)
