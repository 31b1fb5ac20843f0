"""The gradient and the Hessian's diagonal that a booster such as LightGBM asks of an objective."""

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, one_of
from dcglearn.losses.objective import Lambdas, Objective

DIRECTIONS = ("lambdas", "gradient")
"""Directions that trees can follow."""
CURVATURES = ("diagonal", "constant")
"""Curvatures by which leaves divide the direction."""


def check_words(follow: str, curvature: str) -> None:
    """Raise InputError unless the words are among `DIRECTIONS` and `CURVATURES`."""
    one_of(follow, "follow", DIRECTIONS)
    one_of(curvature, "curvature", CURVATURES)


def descent(
    objective: Objective,
    scores: Floats,
    grades: NDArray[np.integer],
    offsets: NDArray[np.integer],
    weight: Floats | None = None,
    follow: str = "lambdas",
    curvature: str = "diagonal",
) -> Lambdas:
    """Return minus the ascent direction, of mean size 1, and its curvature, for a booster; (n,).

    The trees depend neither on the size of gains, nor on the number of queries, nor on the unit of
    scores. `follow` is "lambdas", the objective's `lambdas` and their curvature, or "gradient",
    with a curvature in proportion to its size; `curvature` is "diagonal", each document's own, or
    "constant", the objective's sharpness for all (Friedman 2001). The others are as in a call of
    the objective.
    """
    check_words(follow, curvature)

    # the ascent direction and its curvature
    if follow == "lambdas":
        direction, curvatures = objective.lambdas(scores, grades, offsets, weight)
    else:
        _, direction = objective(scores, grades, offsets, weight)
        curvatures = objective.per_score * np.abs(direction)

    # the unit of both
    size = np.abs(direction).sum() / len(direction)
    if size == 0:
        return np.zeros_like(direction), np.ones_like(direction)

    # LightGBM counts documents by their curvature: at least a tenth of the mean
    least = 0.1 * curvatures.sum() / len(direction)
    if curvature == "constant":
        return -direction / size, np.full_like(direction, objective.per_score)
    return -direction / size, np.maximum(curvatures, least) / size
