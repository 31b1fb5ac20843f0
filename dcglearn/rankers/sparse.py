"""Sparse linear rankers: RSRank, importance-weighted pairs with truncated gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, within
from dcglearn.losses import RSRank
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.linear_model import Coefficients, Design, LinearModel, least_squares
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Training, ValidatedRanker


@dataclass(frozen=True)
class PathPoint:
    """One model of a regularisation path, with the weight `l1` of the penalty (the paper's g).

    `train` and `valid` are mean normalised DCGs (`valid` is None without a validation set), and
    `coef`, shape (d,), the coefficients in units of the features' spread within queries,
    `n_features` of them not 0.
    """

    l1: float
    n_features: int
    train: float
    valid: float | None
    coef: Floats = field(repr=False)

    @property
    def value(self) -> float:
        """Mean normalised DCG on the validation set, or on the training set without one."""
        return self.train if self.valid is None else self.valid


@dataclass(eq=False, repr=False)
class SparseRanker(ValidatedRanker, LinearModel):
    """Rank by a linear model of few features: RSRank.

    Follows the gradient of importance-weighted pairs (``w = Z |(a_i - a_j)(D(r_i) - D(r_j))|``
    under the modified Huber loss), and every `truncate_every` steps moves each coefficient towards
    0 by ``step * l1``. A path of increasing `l1`, each model starting from the last, ends when no
    feature is left. The model with the fewest features is kept whose normalised DCG is within
    `slack` of the best. Source: Sun, Qin, Tao and Wang 2009, algorithm 1, with the absolute
    value of the weights, see `RSRank`.

    Parameters
    ----------
    metric : DCG, file or name, optional
        Gains and discounts, and the metric of `score`; the textbook DCG by default.
    l1 : float or None
        Weight of the penalty; None computes a path of weights.
    slack : float
        Share of the best normalised DCG (on the validation set, if any) that may be lost; 0 keeps
        the best model.
    n_points : int
        Points of the path. More find the smallest model more exactly.
    step, truncate_every : float, int
        Step, in units of one over the largest curvature at the start of a point (the paper's eta,
        without its unit), and the steps between two truncations (its K).
    max_iter, tol : int, float
        A point ends after `max_iter` steps, or when no coefficient changes by more than `tol`.
    loss : loss, optional
        Another loss; by default ``losses.RSRank(metric, depth=None)``. With weights truncated at
        the DCG's depth, documents take turns in the first positions, and the steps do not converge.

    Attributes
    ----------
    coef_, intercept_, metric_ : ndarray, shape (d,); float; DCG
    features_ : ndarray of int
        Columns that remain.
    path_, chosen_ : list of PathPoint, PathPoint
        The path, from all features to none, and its point that is kept.

    See Also
    --------
    LinearRanker : All features, any loss.

    Examples
    --------
    >>> queries = dl.simulate.letor_queries(30, n_redundant=30, random_state=0)
    >>> ranker = SparseRanker(n_points=10, max_iter=50).fit(queries[:20], eval_set=queries[20:])
    >>> len(ranker.features_) < 45
    True
    """

    metric: MetricLike | None = None
    l1: float | None = None
    slack: float = 0.02
    n_points: int = 30
    step: float = 0.3
    truncate_every: int = 1
    max_iter: int = 200
    tol: float = 1e-4
    loss: Any = None

    _default_loss = RSRank

    def _check_parameters(self) -> None:
        self._check_whole("n_points", "truncate_every", "max_iter")
        within(self.slack, "slack", 1.0, below=True)
        within(self.step, "step", 2.0, above=True, below=True)
        within(self.tol, "tol")
        if self.l1 is not None:
            within(self.l1, "l1", remedy="or None")

    def _objective(self, queries: Queries) -> Any:
        if self.loss is None:
            return RSRank(self.metric_, depth=None)
        return super()._objective(queries)

    def _solve(self, design: Design, training: Training) -> Coefficients:
        self.path_ = list(self._path(design, training))
        best = max(point.value for point in self.path_)
        near = [point for point in self.path_ if point.value >= (1 - self.slack) * best]
        self.chosen_ = min(near, key=lambda point: (point.n_features, -point.value))
        self.features_ = np.flatnonzero(self.chosen_.coef)
        return self.chosen_.coef, 0.0

    def _path(self, design: Design, training: Training) -> Iterator[PathPoint]:
        """Yield the points of the path: without penalty, then with larger ones, to no feature."""
        queries, valid, loss = training.queries, training.valid, training.loss

        def slope(v: Floats) -> Floats:
            _, by_score = loss(design.scores(v), queries.grades, queries.offsets)
            return design.vjp(by_score) / len(queries)

        def point(l1: float, v: Floats) -> PathPoint:
            held_out = None if valid is None else self._mean_ndcg(design, valid, v)
            train = self._mean_ndcg(design, queries, v)
            return PathPoint(l1, int(np.count_nonzero(v)), train, held_out, v)

        # begin at a ridge regression, with a spread of 1
        v = least_squares(design, queries, self.metric_, 1e-3, reweighted=False)[1:]
        v /= design.score_spread(v) or 1.0

        # penalties up to the one that leaves no feature
        penalties: list[Any] = [self.l1]
        if self.l1 is None:
            v = self._converged(slope, v, 0.0)
            yield point(0.0, v)
            top = float(np.abs(slope(np.zeros_like(v))).max()) or 1.0
            penalties = np.geomspace(top / 1000, top, self.n_points - 1).tolist()

        # each point starts from the last
        for l1 in counted(penalties, len(penalties), "points"):
            v = self._converged(slope, v, l1)
            yield point(l1, v)
            if not v.any():
                return

    def _converged(self, slope: Any, v: Floats, l1: float) -> Floats:
        """Step and truncate until no coefficient changes by more than `tol`."""
        step = self.step / largest_curvature(slope, v)
        for _ in range(-(-self.max_iter // self.truncate_every)):
            before = v
            for _ in range(self.truncate_every):
                v = v + step * slope(v)
            v = soft_threshold(v, step * l1)
            if np.abs(v - before).max() <= self.tol:
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
