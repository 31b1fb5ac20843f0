"""Learning-to-rank data whose truth is known: in the shape of LETOR's OHSUMED, and such as needs trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.rankers.queries import Queries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades, Seed


_RELEVANT = 0.3
"""Share of documents with a grade above 0."""


def letor_queries(
    n_queries: int = 106,
    n_features: int = 45,
    n_redundant: int = 0,
    n_grades: int = 3,
    sizes: tuple[int, int] = (35, 320),
    conflict: float = 1.0,
    seed: Seed = None,
) -> Queries:
    """Return queries like LETOR's OHSUMED: 106 queries, 45 features, 3 grades, 35 to 320 documents.

    Three things about a document are hidden, and every feature is a noisy view of one of them, or noise:

    - *topic* makes it relevant at all (a grade above 0);
    - *depth* makes a relevant document excellent, and is as frequent in documents that are off the topic, which it
      does not make relevant: a ranker that looks for the best grade pays in documents that are not relevant;
    - *echo*, for a few documents of a query, is large where the grade is sure to be above 0 but not the best: it
      fills the first positions safely.

    So the best linear ranker depends on the gains (does the best grade count for more?) and on the discounts (do the
    first positions count for more?), and `conflict` says how much.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_features : int
        Number of features, those below included; a third of the others views each hidden thing, scaled to 0..1 within
        the query as LETOR's are.
    n_redundant : int
        How many of the features are noise or near copies of others, in turn.
    n_grades : int
        L; the best grades are the rarest.
    sizes : (int, int)
        Fewest and most documents of a query.
    conflict : float
        Size of *depth* and *echo* against *topic* in what the features show; 0 leaves metrics nothing to disagree on.
    seed : int, Generator or None
        Same seed, same bytes.

    Returns
    -------
    Queries

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> letor_queries(seed=0).shape[1], len(letor_queries(seed=0))
    (45, 106)
    """
    whole_number(n_queries, "n_queries")
    whole_number(n_grades, "n_grades", 2, 127)
    whole_number(n_redundant, "n_redundant", 0, whole_number(n_features, "n_features", 3) - 3)
    if not 1 <= sizes[0] <= sizes[1]:
        raise InputError(f"sizes={sizes}: give the fewest and the most documents of a query, 1 or more")
    if conflict < 0:
        raise InputError(f"conflict={conflict} must not be negative")
    rng = np.random.default_rng(seed)
    views, noise, strength, copied = _feature_plan(n_features, n_redundant, rng)
    features, grades = [], []
    for size in rng.integers(sizes[0], sizes[1] + 1, size=n_queries):
        hidden, marks = _documents(int(size), n_grades, conflict, rng)
        seen = np.where(views < 3, hidden[:, np.minimum(views, 2)], 0.0) * strength
        table = seen + noise * rng.normal(size=seen.shape)
        for feature, source in copied:
            table[:, feature] = table[:, source] + 0.2 * table[:, source].std() * rng.normal(size=int(size))
        features.append(_from_0_to_1(table))
        grades.append(marks)
    counts = [len(marks) for marks in grades]
    return Queries.from_groups(np.concatenate(features), np.concatenate(grades), counts, n_grades=n_grades)


def nonlinear_queries(
    n_queries: int = 400,
    size: int = 30,
    n_features: int = 12,
    n_grades: int = 5,
    noise: float = 0.3,
    seed: Seed = None,
) -> Queries:
    """Return queries whose grades follow waves, products and steps of the features: what needs trees.

    The worth of a document is ``sin(2 x0) + x1 x2 + |x3| + 1/2 x5 1{x4 > 0} + 2/5 x6``, plus the query's own level and
    noise; the other features, standard normal like these, say nothing. Grades cut the worth of all documents at fixed
    shares: 45% are above 0, and the best grade is the rarest.

    Parameters
    ----------
    n_queries, size : int
        Number of queries, and of documents of each.
    n_features : int
        Number of features, 7 or more.
    n_grades : int
        L.
    noise : float
        Standard deviation of the judges' noise; the worth itself has about 1.5.
    seed : int, Generator or None
        Same seed, same bytes.

    Returns
    -------
    Queries

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> nonlinear_queries(10, seed=0).shape
    (300, 12)
    """
    whole_number(n_queries, "n_queries", 1)
    whole_number(size, "size", 1)
    whole_number(n_features, "n_features", 7)
    whole_number(n_grades, "n_grades", 2, 127)
    if noise < 0:
        raise InputError(f"noise={noise} must not be negative")
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_queries * size, n_features))
    worth = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + np.abs(x[:, 3]) + 0.5 * x[:, 5] * (x[:, 4] > 0) + 0.4 * x[:, 6]
    worth += 0.5 * np.repeat(rng.normal(size=n_queries), size) + noise * rng.normal(size=len(x))
    shares = 0.45 ** np.linspace(1, 4.4, n_grades - 1)
    grades = np.digitize(worth, np.quantile(worth, 1 - shares))
    return Queries.from_groups(x, grades, np.full(n_queries, size), n_grades=n_grades)


def _feature_plan(
    n_features: int, n_redundant: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], Floats, Floats, list[tuple[int, int]]]:
    """Return which hidden thing each feature views (3 = none), its noise and strength, and (copy, original) pairs."""
    informative = n_features - n_redundant
    views = np.concatenate([np.arange(informative) % 3, np.full(n_redundant, 3)])
    noise = np.concatenate([rng.uniform(1.0, 3.0, informative), np.ones(n_redundant)])
    strength = rng.uniform(0.5, 1.0, n_features)
    copied = [(informative + i, int(rng.integers(informative))) for i in range(1, n_redundant, 2)]
    return views, noise, strength, copied


def _documents(size: int, n_grades: int, conflict: float, rng: np.random.Generator) -> tuple[Floats, Grades]:
    """Return topic, depth and echo of the documents of a query, shape (size, 3), and their grades."""
    topic, depth = rng.normal(size=(2, size))
    on_topic = topic + 0.7 * rng.normal(size=size) + 0.3 * rng.normal()
    bar = np.quantile(on_topic, 1 - _RELEVANT * rng.uniform(0.5, 1.5))
    marks = (on_topic > bar).astype(np.int8)
    # The better grades lie deep, and deep documents lie a little off the topic.
    for step, cut in enumerate(np.linspace(0.6, 1.8, n_grades - 2) if n_grades > 2 else []):
        marks[(marks == step + 1) & (depth + 0.4 * rng.normal(size=size) > cut)] += 1
    echo = np.where((marks == 1) & (rng.random(size) < 0.15), 3.0, 0.0) + 0.3 * rng.normal(size=size)
    return np.column_stack([topic, conflict * (depth - 0.4 * (topic > 0)), conflict * echo]), marks


def _from_0_to_1(table: Floats) -> Floats:
    """Scale each feature to 0..1 within the query."""
    low, high = table.min(axis=0), table.max(axis=0)
    return (table - low) / np.where(high > low, high - low, 1.0)
