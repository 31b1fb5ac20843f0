"""Random judgements, points and models for the tests of the direct fit."""

from typing import Any

import numpy as np

from dcglearn.learning.model import Model, log_metric
from dcglearn.learning.pairs import SLOPES, Pairs, Points
from dcglearn.metrics.dcg import DCG

EVERY_KIND = range(24)
"""Seeds of `random_pairs` and `random_model`, over which each kind of log and model occurs."""


def random_pairs(
    rng: np.random.Generator,
    n: int,
    depth: int,
    n_grades: int,
    *,
    n_levels: int = 1,
    n_raters: int = 1,
    ties: bool = False,
) -> Pairs:
    """Return judgements; each column has an entry for each, or at times one for all."""

    def column(low: int, high: int, dtype: type) -> np.ndarray:
        return rng.integers(low, high, rng.choice([1, n])).astype(dtype)

    lists = rng.integers(-1, n_grades, (2, n, depth)).astype(np.int8)
    verdicts = column(0 if ties else 1, n_levels + 1, np.int8), column(0, n_raters, np.int32)
    weight, way = rng.exponential(1, rng.choice([1, n])), column(-1, 2, np.int8)
    return Pairs(*lists, *verdicts, weight, way)


def plain_pairs(first: np.ndarray, second: np.ndarray) -> Pairs:
    """Return preferences of one judge, without strengths."""
    level, rater, way = np.ones(1, np.int8), np.zeros(1, np.int32), np.zeros(1, np.int8)
    return Pairs(first, second, level, rater, np.ones(1), way)


def plain_model(depth: int, n_grades: int, **fields: Any) -> Model:
    """Return a model of preferences of one judge who may err, with some other fields."""
    judges = {"with_errors": True, "n_levels": 1, "ties": False, "sided": False}
    prior = {"own": np.zeros((2, 1)), "ridge": 1.0, "centre": 5.0, "target": None}
    fixed = {"zero": 0, "falling": True, "power": 0.0}
    return Model(depth, n_grades, **judges | prior | fixed | fields)


def random_points(
    rng: np.random.Generator,
    n: int,
    depth: int,
    n_grades: int,
    *,
    n_levels: int = 1,
    n_raters: int = 1,
    ties: bool = False,
    sided: bool = False,
) -> Points:
    """Return points of about the size of the judges' noise."""
    thresholds = np.zeros((n, n_levels + 2))
    steps = rng.exponential(1, (n, n_levels))
    steps[:, 0] *= ties
    thresholds[:, 1:-1] = np.cumsum(steps, axis=1)
    thresholds[:, -1] = np.inf
    errors, biases = rng.uniform(0.01, 0.9, (n, n_raters)), rng.normal(0, 1, (n, n_raters))
    curves = rng.normal(0, 1, (n, n_grades)), rng.normal(0, 1, (n, depth))
    powers = rng.uniform(0, 1, n) if rng.integers(2) else np.zeros(n)
    return Points(*curves, thresholds, errors, sided * biases, powers)


def at_point(points: Points, b: int) -> Points:
    """Return one of the points alone."""
    return Points(*(x[b : b + 1].copy() for x in vars(points).values()))


def random_model(rng: np.random.Generator) -> tuple[Model, Pairs, np.ndarray]:
    """Return a model, judgements that it suits, and parameters."""
    depth, n_grades = int(rng.integers(1, 7)), int(rng.integers(2, 6))
    n_raters, n_levels, ties = int(rng.integers(1, 4)), int(rng.integers(1, 4)), rng.random() < 0.5
    target = None
    if rng.integers(2):
        discounts = np.sort(rng.exponential(1, depth))[::-1]
        target = log_metric(DCG(np.cumsum(rng.exponential(1, n_grades)), discounts))
    with_errors, sided = rng.random(2) < 0.7
    model = Model(
        depth,
        n_grades,
        bool(with_errors),
        n_levels,
        ties,
        bool(sided),
        np.array([rng.normal(0, kind, n_raters) for kind in (with_errors, sided)]),
        # the prior
        ridge=rng.choice([0.0, 1.0, 10.0]),
        centre=5.0,
        target=target,
        zero=rng.choice([0, 1, n_grades]),
        falling=bool(rng.integers(2)),
        power=rng.choice([0.0, 0.7, None]),
    )
    kinds = {"n_levels": n_levels, "n_raters": n_raters, "ties": ties}
    theta = rng.normal(0, 0.7, model.places.n)
    theta[model.places.sharpness] = rng.normal(1, 1)
    return model, random_pairs(rng, 12, depth, n_grades, **kinds), theta


def value_and_slope(objective, theta):
    """Return an objective at parameters, shape (p,), and its gradient."""
    local = objective(theta[None], SLOPES)
    return float(local.value[0]), local.gradient[0]
