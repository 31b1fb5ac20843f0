"""What a library of boosted trees takes of a loss: slopes to go down, and what they are divided by in a leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.losses.objective import Loss


DIRECTIONS = ("exchange", "gradient")
CURVATURES = ("diagonal", "constant")
FLOOR = 0.1
"""The curvature of a document is at least this share of the mean one: LightGBM counts documents by it."""


def descent(
    loss: Loss,
    scores: Floats,
    grades: NDArray[np.integer],
    offsets: NDArray[np.integer],
    weight: Floats | None = None,
    follow: str = "exchange",
    curvature: str = "diagonal",
    total: Callable[[Floats], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Return minus a direction of rising values, of mean size 1, and its curvature, for a booster that minimises.

    Neither the size of gains nor the number of queries, nor the unit of scores, changes the trees.

    Parameters
    ----------
    loss : Loss
    scores, grades, offsets, weight
        As in a call of the loss.
    follow : {"exchange", "gradient"}
        The loss's `forces`, or its gradient, which bends in proportion to its size.
    curvature : {"diagonal", "constant"}
        As that direction bends, or the loss's sharpness (Friedman 2001).
    total : callable, optional
        Adds sums over these documents to those over the documents that others hold: means are over all.

    Returns
    -------
    slope, curvature : ndarray, shapes (n,)

    Raises
    ------
    InputError
        If there is no such option.
    """
    for name, given, known in (("follow", follow, DIRECTIONS), ("curvature", curvature, CURVATURES)):
        if given not in known:
            raise InputError(f"{name}={given!r}: give one of {', '.join(known)}")
    if follow == "exchange":
        direction, bend = loss.forces(scores, grades, offsets, weight)
    else:
        _, direction = loss(scores, grades, offsets, weight)
        bend = loss.per_score * np.abs(direction)
    sums = np.array([len(direction), np.abs(direction).sum(), bend.sum()])
    n, sizes, bends = sums if total is None else total(sums)
    if sizes == 0:
        return np.zeros_like(direction), np.ones_like(direction)
    size = sizes / n
    if curvature == "constant":
        return -direction / size, np.full_like(direction, loss.per_score)
    return -direction / size, np.maximum(bend, FLOOR * bends / n) / size
