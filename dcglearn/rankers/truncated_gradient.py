"""Linear models of few features: truncated gradients along a path of rising l1 penalties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Fields, Floats
from dcglearn.rankers.linear_model import Design
from dcglearn.rankers.ranker import Training

SLACK = 0.02
"""Share of the best normalised DCG that the chosen model of a path may lose, as in the paper."""

STEP = 0.3
"""Step in units of one over the largest curvature at a point's start (the paper's eta)."""


def l1_path(ranker: Any, design: Design, training: Training, v: Floats) -> Iterator[Fields]:
    """Yield the points of a linear ranker's path from v: without penalty, then to no feature.

    It has one point if the ranker's `l1` is a weight. Each point starts from the last. Source: Sun,
    Qin, Tao and Wang 2009, algorithm 1.
    """
    queries, valid, loss = training.queries, training.valid, training.loss

    def slope(v: Floats) -> Floats:
        _, by_score = loss(design.scores(v), queries.grades, queries.offsets)
        return design.vjp(by_score) / len(queries)

    def point(l1: float, v: Floats) -> Fields:
        record = {"l1": l1, "n_features": int(np.count_nonzero(v)), "coef": v / design.spread}
        record["train"] = ranker._mean_ndcg(design, queries, v)
        if valid is not None:
            record["valid"] = ranker._mean_ndcg(design, valid, v)
        return record

    # penalties up to the one that leaves no feature
    penalties = [ranker.l1]
    if ranker.l1 == "path":
        v = _converged(ranker, slope, v, 0.0)
        yield point(0.0, v)
        top = float(np.abs(slope(np.zeros_like(v))).max()) or 1.0
        penalties = np.geomspace(top / 1000, top, ranker.n_points - 1).tolist()

    for l1 in counted(penalties, "points"):
        v = _converged(ranker, slope, v, l1)
        yield point(l1, v)
        if not v.any():
            return


def smallest_near_best(path: list[Fields], by: str) -> Fields:
    """Return the point with the fewest features whose value is within `SLACK` of the best."""
    best = max(point[by] for point in path)
    near = [point for point in path if point[by] >= (1 - SLACK) * best]
    return min(near, key=lambda point: (point["n_features"], -point[by]))


def _converged(ranker: Any, slope: Any, v: Floats, l1: float) -> Floats:
    """Step and truncate until no coefficient changes by more than the ranker's `tol`."""
    step = STEP / largest_curvature(slope, v)
    for _ in range(ranker.max_iter):
        before = v
        v = soft_threshold(v + step * slope(v), step * l1)
        if np.abs(v - before).max() <= ranker.tol:
            break
    return v


def soft_threshold(v: Floats, by: float) -> Floats:
    """Move each coefficient towards 0 by `by`, and not past it."""
    return np.sign(v) * np.maximum(np.abs(v) - by, 0.0)


def largest_curvature(slope: Any, v: Floats) -> float:
    """Estimate the largest curvature at v, by power iteration on differences of the slope."""
    here = slope(v)
    direction = np.where(here != 0, here, 1.0)
    size = 0.0
    for _ in range(12):
        direction = direction / np.linalg.norm(direction)
        change = (here - slope(v + 1e-7 * direction)) / 1e-7
        size = float(np.linalg.norm(change))
        if not size > 0:
            return max(size, 1.0)
        direction = change
    return 1.1 * size  # power iteration underestimates
