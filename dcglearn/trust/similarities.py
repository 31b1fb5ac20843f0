"""Similarity of two utilities: the paper's cosine, and the cosine of their identifiable parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, InputError
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.reading import MetricLike, as_weights, resolved


def similarity(a: MetricLike | ArrayLike, b: MetricLike | ArrayLike) -> float:
    """Return the paper's similarity, ``cos(T(W), T(W'))`` (Zhou et al. 2008, eq. 3).

    T subtracts the worst grade's weight from each row. Raises InputError if the shapes differ, or
    one of the two is constant in every row, so that its T is zero.

    See Also
    --------
    trust.identifiable_similarity : Leaves out what a log cannot tell.
    disagreement : Share of pairs of lists that are ordered differently.

    Examples
    --------
    >>> round(similarity(dl.DCG.standard(5, 10, "linear"), "exponential-log2"), 4)
    0.9534
    """
    return _cosine(a, b, lambda weights: weights - weights[:, :1])


def identifiable_similarity(
    a: MetricLike | ArrayLike, b: MetricLike | ArrayLike, visible: Visibility
) -> float:
    """Return the cosine of two utilities after removing the directions that a log cannot identify.

    The two are metrics or arrays of one shape (K, L); `visible` is ``learner.visible_`` or
    ``log.visible()``. Raises InputError if the shapes differ, or one of the two has no visible
    part.

    See Also
    --------
    trust.similarity : The paper's, which depends on what no log can tell.
    Preferences.visible : What a log can tell.

    Examples
    --------
    >>> dcg = dl.DCG.standard(3, 2)
    >>> visible = dl.Preferences([[2, 0], [1, 2]], [[0, 2], [2, 0]]).visible()
    >>> double = dl.DCG(dcg.gains, 2 * dcg.discounts)
    >>> round(dl.trust.identifiable_similarity(dcg, double, visible), 6)
    1.0
    """
    return _cosine(a, b, visible.project)


def _cosine(
    a: MetricLike | ArrayLike, b: MetricLike | ArrayLike, part: Callable[[Floats], Floats]
) -> float:
    """Return the cosine of a part of the weights, (K, L), of two metrics.

    Raise InputError if their shapes differ, or one of the parts is zero.
    """
    names = "a", "b"
    left, right = map(as_weights, resolved([a, b], names)[0], names)
    if left.shape != right.shape:
        raise InputError(
            f"utilities of shapes {left.shape} and {right.shape} (positions, grades) cannot be "
            "compared"
        )

    left, right = part(left), part(right)
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    if norms == 0:
        raise InputError("a utility that tells no two lists apart has no similarity to another")
    return float(np.vdot(left, right)) / norms
