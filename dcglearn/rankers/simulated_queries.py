"""Synthetic learning-to-rank data: like LETOR's OHSUMED, and with grades that only trees learn."""

from __future__ import annotations

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, InputError, Seed, whole_number, within
from dcglearn.rankers.queries import Queries


def letor_queries(
    n_queries: int = 106,
    n_features: int = 45,
    n_redundant: int = 0,
    n_grades: int = 3,
    sizes: tuple[int, int] = (35, 320),
    conflict: float = 1.0,
    random_state: Seed = None,
) -> Queries:
    """Return queries like LETOR's OHSUMED: 106 queries, 45 features, 3 grades, 35 to 320 documents.

    A document has three hidden variables, and every feature is a noisy view of one variable, or
    noise:

    - *topic* makes it relevant at all (a grade above 0);
    - *depth* makes a relevant document excellent, and is as frequent in documents off the topic,
      which stay irrelevant;
    - *echo* is large for a few documents of a query whose grade is 1: they are safe choices for the
      first positions.

    So the best linear ranker depends on the metric, by `conflict`. Raises InputError if a number is
    out of range.

    Parameters
    ----------
    n_queries, n_grades : int
        The best of the L grades are the rarest.
    n_features, n_redundant : int
        Features are scaled to 0..1 within the query as LETOR's are. `n_redundant` of them are noise
        or near copies of others, in turn; a third of the rest views each hidden variable.
    sizes : (int, int)
        Smallest and largest number of documents of a query.
    conflict : float
        Size of *depth* and *echo* relative to *topic* in the features; with 0, all metrics prefer
        the same ranker.
    random_state : int, Generator or None
        Same seed, same bytes.

    See Also
    --------
    simulate.nonlinear_queries : Queries that need trees.

    Examples
    --------
    >>> letor_queries(random_state=0).shape[1], len(letor_queries(random_state=0))
    (45, 106)
    """
    # check the numbers
    whole_number(n_queries, "n_queries")
    whole_number(n_grades, "n_grades", 2, 127)
    whole_number(n_redundant, "n_redundant", 0, whole_number(n_features, "n_features", 3) - 3)
    if not 1 <= sizes[0] <= sizes[1]:
        raise InputError(
            f"sizes={sizes}: give the smallest and the largest number of documents of a query, 1 "
            "or more"
        )
    within(conflict, "conflict")

    # what each feature views: a hidden variable, or none (3)
    rng = np.random.default_rng(random_state)
    informative = n_features - n_redundant
    views = np.concatenate([np.arange(informative) % 3, np.full(n_redundant, 3)])
    noise = np.concatenate([rng.uniform(1.0, 3.0, informative), np.ones(n_redundant)])
    strength = rng.uniform(0.5, 1.0, n_features)
    copied = [(informative + i, int(rng.integers(informative))) for i in range(1, n_redundant, 2)]

    features, grades = [], []
    for size in rng.integers(sizes[0], sizes[1] + 1, size=n_queries):
        # noisy views of the hidden variables
        hidden, labels = _documents(int(size), n_grades, conflict, rng)
        signal = np.where(views < 3, hidden[:, np.minimum(views, 2)], 0.0) * strength
        table = signal + noise * rng.normal(size=signal.shape)
        for feature, source in copied:
            spread = 0.2 * table[:, source].std()
            table[:, feature] = table[:, source] + spread * rng.normal(size=int(size))

        # scaled to 0..1 within the query
        low, high = table.min(axis=0), table.max(axis=0)
        features.append((table - low) / np.where(high > low, high - low, 1.0))
        grades.append(labels)

    counts = [len(labels) for labels in grades]
    table, labels = np.concatenate(features), np.concatenate(grades)
    return Queries.from_groups(table, labels, counts, n_grades=n_grades)


def nonlinear_queries(
    n_queries: int = 400,
    size: int = 30,
    n_features: int = 12,
    n_grades: int = 5,
    noise: float = 0.3,
    random_state: Seed = None,
) -> Queries:
    """Return queries whose grades depend on sines, products and steps of features, for trees.

    The utility of a document is ``sin(2 x0) + x1 x2 + |x3| + 1/2 x5 1{x4 > 0} + 2/5 x6``, plus an
    offset of the query and noise; all features are standard normal, and the others have no effect.
    Grades are quantiles of the utility over all documents: 45% are above 0, and the best grade is
    the rarest.

    Parameters
    ----------
    n_queries, size, n_features : int
        Number of queries, of documents per query, and of features, 7 or more.
    noise : float
        Standard deviation of the judges' noise; the utility's is about 1.5.
    n_grades, random_state
        As in `letor_queries`.

    See Also
    --------
    simulate.letor_queries : Queries for linear models.

    Examples
    --------
    >>> nonlinear_queries(10, random_state=0).shape
    (300, 12)
    """
    # check the numbers
    whole_number(n_queries, "n_queries", 1)
    whole_number(size, "size", 1)
    whole_number(n_features, "n_features", 7)
    whole_number(n_grades, "n_grades", 2, 127)
    within(noise, "noise")

    # utility of each document, with an offset of its query
    rng = np.random.default_rng(random_state)
    x = rng.normal(size=(n_queries * size, n_features))
    x0, x1, x2, x3, x4, x5, x6 = x[:, :7].T
    utility = np.sin(2 * x0) + x1 * x2 + np.abs(x3) + 0.5 * x5 * (x4 > 0) + 0.4 * x6
    utility += 0.5 * np.repeat(rng.normal(size=n_queries), size) + noise * rng.normal(size=len(x))

    # grades by quantiles of it
    shares = 0.45 ** np.linspace(1, 4.4, n_grades - 1)
    grades = np.digitize(utility, np.quantile(utility, 1 - shares))
    return Queries.from_groups(x, grades, np.full(n_queries, size), n_grades=n_grades)


def _documents(
    size: int, n_grades: int, conflict: float, rng: np.random.Generator
) -> tuple[Floats, Grades]:
    """Return topic, depth and echo of a query's documents, shape (size, 3), and their grades."""
    # about 30% of the documents are relevant
    topic, depth = rng.normal(size=(2, size))
    on_topic = topic + 0.7 * rng.normal(size=size) + 0.3 * rng.normal()
    bar = np.quantile(on_topic, 1 - 0.3 * rng.uniform(0.5, 1.5))
    grades = (on_topic > bar).astype(np.int8)

    # depth decides between the grades above 0
    for step, threshold in enumerate(np.linspace(0.6, 1.8, n_grades - 2)):
        grades[(grades == step + 1) & (depth + 0.4 * rng.normal(size=size) > threshold)] += 1

    # echo marks some documents of grade 1
    marked = (grades == 1) & (rng.random(size) < 0.15)
    echo = np.where(marked, 3.0, 0.0) + 0.3 * rng.normal(size=size)
    hidden = topic, conflict * (depth - 0.4 * (topic > 0)), conflict * echo
    return np.column_stack(hidden), grades
