"""Baselines, at which other rankers start: least squares on gains (`RidgeRanker`) and RankSVM (`RankSVMRanker`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dcglearn.foundation.validation import Floats
from dcglearn.losses.objective import positive
from dcglearn.metric.dcg import DCG, DCGLike
from dcglearn.rankers.document_pairs import count_pairs, hinge_curvature, hinge_sums, sorted_by_score
from dcglearn.rankers.linear_model import Design, LinearModel, least_squares
from dcglearn.rankers.ranker import Training


@dataclass(eq=False, repr=False)
class RidgeRanker(LinearModel):
    """Rank by a least-squares prediction of the gain.

    Parameters
    ----------
    metric : DCG, file or name, optional
        The metric whose gains are predicted, and that of `score`; by default, grades are predicted, and `score` uses
        the textbook DCG.
    l2 : float
        Weight of the squared coefficients of scaled features, relative to the mean squared error.
    reweighted : bool
        Whether documents of the worst grade weigh as much as all others together. Keep True where most are of it.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    intercept_ : float
    metric_ : DCG

    See Also
    --------
    RankSVMRanker : Pairs in order, by a margin.
    LinearRanker : Improve on either by a smooth metric.

    Notes
    -----
    Chapelle and Wu 2010, section 6.

    Examples
    --------
    >>> queries = dl.simulate.letor_queries(20, seed=0)
    >>> RidgeRanker().fit(queries).score(queries) > 0.4
    True
    """

    metric: DCGLike | None = None
    l2: float = 1e-3
    reweighted: bool = True

    _options: ClassVar[tuple[str, ...]] = ()

    def _check_parameters(self) -> None:
        positive(l2=self.l2)

    def _taught_dcg(self, loss: Any) -> DCG | None:
        return None

    def _solve(self, design: Design, training: Training) -> tuple[Floats, float]:
        dcg = None if self.metric is None else self.metric_
        v = least_squares(design, training.queries, dcg, self.l2, self.reweighted)
        return v[1:], v[0]


@dataclass(eq=False, repr=False)
class RankSVMRanker(LinearModel):
    """Rank by a linear model that orders pairs: RankSVM with the squared hinge, solved to a proven gap.

    Minimises ``|v|^2 / 2 + C mean_pairs max(0, 1 - f_i + f_j)^2`` over pairs of different grades in a query, v the
    coefficients of features in units of their spread within queries.

    Parameters
    ----------
    C : float
        Weight of the pairs' mean loss. Take 0.01 to 1 for some sixty queries; a validation set tells.
    metric : DCG, file or name, optional
        The metric of `score`; the textbook DCG by default.
    tol : float
        Stop when the gap to the optimum, relative to the objective, is at most this.
    max_iter : int
        Most Newton steps.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    intercept_ : float
    objective_, gap_ : float
        The objective, and an upper bound on its relative distance to the optimum.
    n_iter_ : int
    n_pairs_ : int

    See Also
    --------
    RidgeRanker : Least squares on gains.
    LinearRanker : Improve on either by a smooth metric.

    Notes
    -----
    Joachims 2002; Newton's method as in Chapelle and Keerthi 2010. The objective is 1-strongly convex, so
    ``|gradient|^2 / 2`` bounds the distance to the optimum. Time O(n log n) a step, memory O(n): no pair is formed.

    Examples
    --------
    >>> RankSVMRanker().fit(dl.simulate.letor_queries(20, seed=0)).gap_ < 1e-8
    True
    """

    C: float = 100.0
    metric: DCGLike | None = None
    tol: float = 1e-9
    max_iter: int = 100

    _options: ClassVar[tuple[str, ...]] = ()

    def _check_parameters(self) -> None:
        positive(C=self.C)

    def _taught_dcg(self, loss: Any) -> DCG | None:
        return None

    def _solve(self, design: Design, training: Training) -> tuple[Floats, float]:
        grades, offsets = training.queries.grades, training.queries.offsets
        self.n_pairs_ = count_pairs(grades, offsets)
        strength = self.C / self.n_pairs_

        def evaluate(v: Floats) -> tuple[float, Floats, Callable[[Floats], Floats]]:
            scores = design.scores(v)
            order = sorted_by_score(scores, offsets)
            loss, slope = hinge_sums(scores, grades, offsets, order)

            def curvature(x: Floats) -> Floats:
                return x + strength * design.vjp(hinge_curvature(design.scores(x), scores, grades, offsets, order))

            return 0.5 * float(v @ v) + strength * loss, v + strength * design.vjp(slope), curvature

        start = np.zeros(self.n_features_in_)
        v, self.objective_, self.gap_, self.n_iter_ = newton(evaluate, start, self.tol, self.max_iter)
        if self.gap_ > self.tol:
            warnings.warn(
                f"RankSVM stopped after {self.n_iter_} Newton steps with a gap of {self.gap_:.1e}; raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        return v, 0.0


def newton(
    evaluate: Callable[[Floats], tuple[float, Floats, Callable[[Floats], Floats]]], v: Floats, tol: float, max_iter: int
) -> tuple[Floats, float, float, int]:
    """Minimise a 1-strongly convex, piecewise quadratic function by Newton's method with conjugate gradients.

    `evaluate` returns value, gradient and the product with the (generalised) Hessian at v. Returns v, the objective,
    the gap ``|gradient|^2 / 2`` over the objective, which bounds the relative distance to the optimum, and the steps.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    value, slope, curvature = evaluate(v)
    for step in range(max_iter + 1):
        gap = 0.5 * float(slope @ slope) / max(value, np.finfo(float).tiny)
        if gap <= tol or step == max_iter:
            break
        operator = LinearOperator((len(v), len(v)), matvec=curvature, dtype=np.float64)
        direction, _ = cg(operator, -slope, rtol=1e-3, maxiter=max(len(v), 20))
        descent = float(slope @ direction)
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
