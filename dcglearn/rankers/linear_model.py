"""Base of linear rankers, and the rankers at which others start: ridge regression and RankSVM."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    Fields,
    Floats,
    InputError,
    Integers,
    finite_array,
    flag,
    within,
)
from dcglearn.losses.objective import positive
from dcglearn.losses.pair_kernel import count_pairs, hinge_curvature, hinge_sums
from dcglearn.losses.rank_kernel import sorted_queries
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Ranker, Training

Coefficients: TypeAlias = tuple[Floats, float]
"""Coefficients of the scaled features, shape (d,), and the intercept."""


class LinearModel(Ranker):
    """A weighted sum of features; subclasses have `_solve`."""

    coef_: Floats
    intercept_: float

    def _fit(self, training: Training) -> None:
        with one_blas_thread():
            design = Design(training.queries)
            v, intercept = self._solve(design, training)
        self.coef_ = v / design.spread
        self.intercept_ = float(intercept - design.mean @ self.coef_)

    def _solve(self, design: Design, training: Training) -> Coefficients:
        """Return the coefficients and the intercept."""
        raise NotImplementedError

    def _mean_ndcg(self, design: Design, queries: Queries, v: Floats) -> float:
        """Return the mean normalised DCG over queries that are ranked by scaled coefficients."""
        return float(queries.evaluate(queries.features @ (v / design.spread), self.metric_).mean())

    def _scores(self, features: Any) -> Any:
        return features @ self.coef_ + self.intercept_

    def _numbers(self) -> Fields:
        return {"coef": self.coef_.tolist(), "intercept": self.intercept_}

    def _set_numbers(self, numbers: Fields) -> None:
        self.coef_ = start_coefficients(numbers["coef"], self.n_features_in_)
        self.intercept_ = numbers["intercept"]


def start_coefficients(start: Any, n_features: int) -> Floats:
    """Return the coefficients of a start, a fitted linear ranker or an array, shape (d,)."""
    coefficients = finite_array(getattr(start, "coef_", start), "start", 1)
    if len(coefficients) != n_features:
        raise InputError(
            f"start has shape {coefficients.shape}; expected a coefficient a feature, "
            f"({n_features},)"
        )
    return coefficients


class Design:
    """Features scaled by their spread within queries: v scores ``(X - mean) @ (v / spread)``."""

    def __init__(self, queries: Queries) -> None:
        X, self.offsets = queries.features, queries.offsets
        self.features = X
        self.mean = np.asarray(X.mean(axis=0)).ravel()
        self.spread = _spread_within(X, queries.offsets)
        self._rows = X.T.tocsr() if hasattr(X, "tocsr") else X.T

    def scores(self, v: Floats) -> Floats:
        """Return the scores of all documents, shape (n,)."""
        w = v / self.spread
        return self.features @ w - self.mean @ w

    def vjp(self, slope: Floats) -> Floats:
        """Return the gradient by scaled coefficient, (d,), of a gradient by score, (n,)."""
        return (self._rows @ slope - self.mean * slope.sum()) / self.spread

    def scaled(self) -> Any:
        """Return the features divided by their spread (a copy)."""
        if hasattr(self.features, "tocsr"):
            from scipy.sparse import diags

            return (self.features @ diags(1 / self.spread)).tocsr()
        return (self.features - self.mean) / self.spread

    def score_spread(self, v: Floats) -> float:
        """Return the spread of the scores of `v`, which is the unit of sharpness."""
        return spread_of_scores(self.scores(v), self.offsets)


def spread_of_scores(scores: Floats, offsets: Integers) -> float:
    """Return the root mean square of scores about the mean of their query."""
    sizes = np.diff(offsets)
    centred = scores - np.repeat(np.add.reduceat(scores, offsets[:-1]) / sizes, sizes)
    return float(np.sqrt(np.mean(centred**2)))


def _spread_within(X: Any, offsets: Integers) -> Floats:
    """Return each feature's standard deviation within queries, 1 where that is 0 in all."""
    n, sizes = X.shape[0], np.diff(offsets)
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_array

        # squares less those of the queries' sums
        member = csr_array((np.ones(n), np.arange(n), offsets), shape=(len(sizes), n))
        sums = member @ X
        total = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        between = np.asarray(sums.multiply(sums).multiply(1 / sizes[:, None]).sum(axis=0)).ravel()
        squares = np.where(total - between > 1e-12 * total, total - between, 0.0)
    else:
        # squares about each query's mean
        squares, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for start, stop in pairwise(offsets):
            block = X[start:stop]
            squares += ((block - block.mean(axis=0)) ** 2).sum(axis=0)
            total += (block**2).sum(axis=0)
        squares = np.where(squares > 1e-24 * total, squares, 0.0)
    return np.where(squares > 0, np.sqrt(squares / n), 1.0)


def least_squares(
    design: Design, queries: Queries, dcg: DCG | None, l2: float, reweighted: bool
) -> Floats:
    """Return intercept and scaled coefficients of the ridge regression on gains, or on grades."""
    from sklearn.linear_model import Ridge

    # gains, in units of their range
    grades = queries.grades
    target = grades.astype(np.float64) if dcg is None else dcg.gains[grades]
    unit = float(np.ptp(target))
    if unit == 0:
        raise InputError(
            "the DCG's gains are the same for all grades in the data: it prefers no order"
        )

    # both halves of the grades weigh the same
    weight = np.full(len(grades), 1.0 / len(grades))
    if reweighted:
        relevant = grades > 0
        share = relevant.mean()
        if 0 < share < 1:
            weight = np.where(relevant, 0.5 / share, 0.5 / (1 - share)) / len(grades)

    # sparse features are scaled, but not centred
    ridge = Ridge(alpha=l2, tol=1e-10).fit(design.scaled(), target / unit, sample_weight=weight)
    offset = ridge.intercept_
    if hasattr(design.features, "tocsr"):
        offset += design.mean / design.spread @ ridge.coef_
    return np.concatenate([[offset], ridge.coef_]) * unit


@dataclass(eq=False, repr=False)
class RidgeRanker(LinearModel):
    """Rank by a least-squares prediction of the gain.

    Source: Chapelle and Wu 2010, section 6.

    Parameters
    ----------
    metric : DCG, file or name, optional
        The metric whose gains are predicted, also for `score`; by default, grades and the
        textbook DCG.
    l2 : float
        Weight of the squared coefficients of scaled features, relative to the mean squared error.
    reweighted : bool
        Whether documents of the worst grade weigh as much as all others together. Keep True where
        most are of it.

    Attributes
    ----------
    coef_, intercept_, metric_ : ndarray, shape (d,); float; DCG

    See Also
    --------
    LinearRanker : Improve on it by a smooth metric.

    Examples
    --------
    >>> queries = dl.simulate.letor_queries(20, random_state=0)
    >>> RidgeRanker().fit(queries).score(queries) > 0.4
    True
    """

    metric: MetricLike | None = None
    l2: float = 1e-3
    reweighted: bool = True

    def _check_parameters(self) -> None:
        positive(l2=self.l2)
        flag(self.reweighted, "reweighted")

    def _solve(self, design: Design, training: Training) -> Coefficients:
        dcg = None if self.metric is None else self.metric_
        v = least_squares(design, training.queries, dcg, self.l2, self.reweighted)
        return v[1:], v[0]


@dataclass(eq=False, repr=False)
class RankSVMRanker(LinearModel):
    """Rank by a linear model that orders pairs: RankSVM with the squared hinge, to a proven gap.

    Minimises ``|v|^2 / 2 + C mean_pairs max(0, 1 - f_i + f_j)^2`` over pairs of different grades in
    a query, v the coefficients of features in units of their spread within queries. Source:
    Joachims 2002; Newton's method as in Chapelle and Keerthi 2010. The objective is 1-strongly
    convex, so ``|gradient|^2 / 2`` bounds the distance to the optimum. Time O(n log n) a step,
    memory O(n): no pair is formed.

    Parameters
    ----------
    C : float
        Weight of the pairs' mean loss. Take 0.01 to 1 for some sixty queries; a validation set
        tells.
    metric : DCG, file or name, optional
        The metric of `score`; the textbook DCG by default.
    tol, max_iter : float, int
        Stop when the gap to the optimum, relative to the objective, is at most `tol`, or after
        `max_iter` Newton steps.

    Attributes
    ----------
    coef_, intercept_ : ndarray, shape (d,); float
    objective_, gap_ : float
        The objective, and an upper bound on its relative distance to the optimum.
    n_iter_, n_pairs_ : int
        Newton steps, and pairs of documents.

    See Also
    --------
    rankers.RidgeRanker : Least squares on gains.

    Examples
    --------
    >>> RankSVMRanker().fit(dl.simulate.letor_queries(20, random_state=0)).gap_ < 1e-8
    True
    """

    C: float = 100.0
    metric: MetricLike | None = None
    tol: float = 1e-9
    max_iter: int = 100

    def _check_parameters(self) -> None:
        positive(C=self.C)
        within(self.tol, "tol")
        self._check_whole("max_iter")

    def _solve(self, design: Design, training: Training) -> Coefficients:
        grades, offsets = training.queries.grades, training.queries.offsets
        self.n_pairs_ = count_pairs(grades, offsets)
        strength = self.C / self.n_pairs_

        def evaluate(v: Floats) -> Evaluation:
            scores = design.scores(v)
            order, _ = sorted_queries(-scores, offsets, 1)
            loss, slope = hinge_sums(scores, grades, offsets, order)
            value, gradient = 0.5 * float(v @ v) + strength * loss, v + strength * design.vjp(slope)

            def curvature(x: Floats) -> Floats:
                curved = hinge_curvature(design.scores(x), scores, grades, offsets, order)
                return x + strength * design.vjp(curved)

            return value, gradient, curvature

        # solve, and prove how well
        start = np.zeros(self.n_features_in_)
        solution = newton(evaluate, start, self.tol, self.max_iter)
        v, self.objective_, self.gap_, self.n_iter_ = solution
        if self.gap_ > self.tol:
            warnings.warn(
                f"RankSVM stopped after {self.n_iter_} Newton steps with a gap of {self.gap_:.1e}; "
                "raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        return v, 0.0


Evaluation: TypeAlias = tuple[float, Floats, Callable[[Floats], Floats]]
"""Value, gradient, and the product with the (generalised) Hessian at a point."""


def newton(
    evaluate: Callable[[Floats], Evaluation], v: Floats, tol: float, max_iter: int
) -> tuple[Floats, float, float, int]:
    """Minimise a 1-strongly convex, piecewise quadratic function by Newton's method.

    Conjugate gradients find each step. Returns v, the objective, its gap (see `RankSVMRanker`) and
    the number of steps.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    value, slope, curvature = evaluate(v)
    for step in range(max_iter + 1):
        # |gradient|^2 / 2 bounds the distance to the optimum
        gap = 0.5 * float(slope @ slope) / max(value, np.finfo(float).tiny)
        if gap <= tol or step == max_iter:
            break

        # Newton's direction
        operator = LinearOperator((len(v), len(v)), matvec=curvature, dtype=np.float64)
        direction, _ = cg(operator, -slope, rtol=1e-3, maxiter=max(len(v), 20))
        descent = float(slope @ direction)

        # halve the step until the value falls (Armijo)
        length = 1.0
        while length > 1e-10:
            tried = evaluate(v + length * direction)
            if tried[0] <= value + 1e-4 * length * descent:
                break
            length /= 2
        else:
            break  # no step improves, because of rounding

        v = v + length * direction
        value, slope, curvature = tried
    return v, value, gap, step
