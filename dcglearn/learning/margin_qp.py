"""The margin QP on plain arrays: projected Newton, its certificate, and cvxpy as reference.

    min  ||W||^2 + C sum_i v_i xi_i^2   s.t.  <W, d_i> >= m_i - xi_i   and, if monotone,  W[k, l+1]
    >= W[k, l]

Zhou et al. 2008, eq. 1, 4 and 6, as the equivalent ``F(W) = ||W||^2 + C sum v max(0, m - <W,
d>)^2``: convex, once differentiable, piecewise quadratic. Newton's method sees the pairs only
through ``evaluate(W, curvature)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.validation import Floats, Grades, InputError
from dcglearn.learning.minimise import solved_definite
from dcglearn.learning.pair_sums import PairSums, pair_sums
from dcglearn.logs.thinning import Weighted


class PairSource(Protocol):
    """What `solve` needs of pairs, which may be in memory, on disk or on a cluster."""

    def __len__(self) -> int:
        """Return their number."""

    @property
    def depth(self) -> int:
        """K."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at W, shape (K, L)."""

    def thinned(self, n: int) -> Pairs:
        """Return about `n` of the pairs that stand for all, the same ones every time."""


@dataclass(frozen=True)
class Solution:
    """A solved QP: W, shape (K, L), the objective F(W), and how it was reached.

    `gap` is the duality gap relative to F(W), an upper bound on the relative distance to the
    optimum. `n_iter` counts Newton steps on the whole log, or iterations of cvxpy's solver.
    `curvature` is ``sum v d d^T`` over the pairs with a shortfall at W or at an earlier iterate,
    shape (K*L, K*L).
    """

    weights: Floats
    objective: float
    gap: float
    n_iter: int
    converged: bool
    curvature: Floats | None = None


@dataclass(frozen=True)
class Pairs(Weighted):
    """Preferred and other lists, int8, (n, K); margins and weights, (n,), or (1,) for all."""

    first: Grades
    second: Grades
    margin: Floats
    weight: Floats

    def __len__(self) -> int:
        return len(self.first)

    @property
    def depth(self) -> int:
        """K."""
        return int(self.first.shape[1])

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at W, shape (K, L)."""
        return pair_sums(
            self.first, self.second, self.margin, self.weight, weights, curvature=curvature
        )


def solve(
    pairs: PairSource,
    n_grades: int,
    C: float,
    *,
    monotone: bool = True,
    start: Floats | None = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> Solution:
    """Solve the QP by Newton's method, from the solution on a subsample where the log is long.

    `C` weights the shortfalls; `monotone` asks that a better grade has at least the same weight at
    every position; `start` is an initial W, shape (K, L); `tol` is the relative duality gap to
    reach within `max_iter` Newton steps (then as many again from the solution at a smaller C).
    Raises InputError if the Hessian, of (K L)^2 entries, does not fit in memory, or is singular in
    floating point because `C` or the weights are too large.
    """
    shape = (pairs.depth, n_grades)
    refuse_beyond_memory(
        5 * 8 * float(pairs.depth * n_grades) ** 2,
        f"the QP of {pairs.depth:,} positions and {n_grades} grades",
        "cut the lists (depth=, convert --depth), or use fewer grades",
    )
    try:
        return _solved(pairs, shape, C, start, monotone=monotone, tol=tol, max_iter=max_iter)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        raise InputError(
            f"C={C:g} and weights that sum to {pairs.total_weight:g} are too large together: the "
            "QP is singular in double precision; lower C, or divide all weights by a common factor"
        ) from error


def _solved(
    pairs: PairSource, shape: tuple[int, int], C: float, start: Floats | None, **options: Any
) -> Solution:
    """Solve the QP, of a long log from the solution on a sample of about 32,768 pairs."""
    n_sampled = 1 << 15
    curvature = None

    # a sample whose shortfalls count as much as those of the whole log
    if start is None and len(pairs) >= 4 * n_sampled:
        sample = pairs.thinned(n_sampled)
        factor = pairs.total_weight / sample.total_weight
        of_sample = newton(sample.evaluate, shape, C * factor, **{**options, "tol": 1e-6})
        start = of_sample.weights
        if of_sample.curvature is not None:
            curvature = factor * of_sample.curvature

    # the whole log, for which a C of at most 1 always suffices to converge
    solution = newton(pairs.evaluate, shape, C, start=start, curvature=curvature, **options)
    if solution.converged or C <= 1.0:
        return solution

    # with a large C and little noise, Newton steps far from the solution become tiny: approach it
    # by way of smaller C
    with_smaller = _solved(pairs, shape, C / 10, start, **options)
    return newton(pairs.evaluate, shape, C, start=with_smaller.weights, **options)


def newton(
    evaluate: Callable[[Floats, bool], PairSums],
    shape: tuple[int, int],
    C: float,
    *,
    monotone: bool = True,
    start: Floats | None = None,
    curvature: Floats | None = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> Solution:
    """Minimise F by a projected semismooth Newton method; see `solve`.

    Each step minimises the local quadratic exactly over the monotone cone, then backtracks; the
    method ends at the exact optimum when the set of pairs with a shortfall stops changing. The
    curvature, which costs most of a pass, is kept while each step reduces the gap tenfold; for
    the first step, it may come from a sample.
    """
    weights = np.zeros(shape)
    if start is not None:
        weights = _monotone(start) if monotone else start.copy()

    # the sums there, with the curvature unless a sample gave it
    sampled = curvature is not None
    sums = evaluate(weights, not sampled)
    if curvature is None:
        curvature = sums.curvature
    objective, gap = certificate(sums, weights, C, monotone)

    # a gap of g leaves W within sqrt(g): where tol is small, the last step must be too
    longest = 1e-8
    n_iter = 0
    settled = tol > longest
    length = 0.0
    while not (gap <= tol and settled) and n_iter < max_iter:
        step = _newton_step(curvature, sums.moment, weights, C, monotone)
        slope = float(np.vdot(2 * weights - 2 * C * sums.moment, step))

        # backtrack until the objective falls enough, or to the precision of floating point
        size = 1.0
        while True:
            sums = evaluate(weights + size * step, False)
            reached = _objective(sums, weights + size * step, C)
            if reached <= objective + 1e-4 * size * slope + 1e-13 * objective:
                break
            size /= 2
            if size < 1e-10:
                return Solution(weights, objective, gap, n_iter, gap <= tol, curvature)
        weights = weights + size * step

        # the length of the next step, extrapolated from the last two
        last, length = length, float(np.abs(step).max())
        next_length = min(length, 100 * length**2 / max(last, length, 1e-300))
        settled = tol > longest or next_length <= longest * float(np.abs(weights).max())

        # renew the curvature unless the gap fell tenfold
        before = gap
        objective, gap = certificate(sums, weights, C, monotone)
        enough = tol if sampled and not n_iter else max(before / 10, tol)
        if gap > enough:
            curvature = evaluate(weights, True).curvature
        n_iter += 1
    return Solution(weights, objective, gap, n_iter, gap <= tol, curvature)


def certificate(sums: PairSums, weights: Floats, C: float, monotone: bool) -> tuple[float, float]:
    """Return F(W) and its duality gap relative to F(W).

    With ``alpha_i = 2 C v_i xi_i`` the dual value is ``sum alpha m - sum alpha^2 / (4 C v) - |p|^2
    / 4``, where p is ``sum alpha d`` or, with the best multipliers of the monotone constraints, its
    projection on the monotone cone (row-wise isotonic regression). The bound holds for any W.
    """
    objective = _objective(sums, weights, C)
    p = _monotone(2 * C * sums.moment) if monotone else 2 * C * sums.moment
    dual = 2 * C * sums.slope - C * sums.loss - float(np.vdot(p, p)) / 4
    return objective, max(objective - dual, 0.0) / objective if objective > 0 else 0.0


def solve_cvxpy(
    pairs: Pairs,
    n_grades: int,
    C: float,
    *,
    monotone: bool = True,
    constraints: Callable[[Any], list[Any]] | None = None,
) -> Solution:
    """Solve the same QP with cvxpy and Clarabel, slowly, as a check; for parameters see `solve`.

    `constraints` maps the cvxpy variable W, shape (K, L), to further constraints; with them, the
    gap is between the solver's own primal and dual values. Raise RuntimeError, with the solver's
    status, if it reaches no optimum.
    """
    try:
        import clarabel  # noqa: F401  # cvxpy calls it
        import cvxpy as cp
    except ImportError as error:
        raise InputError(
            "solver=\"cvxpy\" needs cvxpy and Clarabel: pip install 'dcglearn[cvxpy]'"
        ) from error

    # the shortfalls of all pairs
    n, depth = pairs.first.shape
    W = cp.Variable((depth, n_grades))
    difference = difference_matrix(pairs.first, pairs.second, n_grades)
    margin = np.broadcast_to(pairs.margin, n)
    roots = np.sqrt(np.broadcast_to(pairs.weight, n))
    shortfall = cp.pos(margin - difference @ cp.vec(W, order="C"))

    # the QP
    rules = [cp.diff(W, axis=1) >= 0] if monotone and n_grades > 1 else []
    if constraints is not None:
        rules += constraints(W)
    loss = cp.sum_squares(W) + C * cp.sum_squares(cp.multiply(roots, shortfall))
    problem = cp.Problem(cp.Minimize(loss), rules)

    # solve it
    data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts={})
    raw = chain.solve_via_data(problem, data)
    try:
        problem.unpack_results(raw, chain, inverse)
    except cp.error.SolverError as error:
        raise RuntimeError(
            f"Clarabel failed on the QP ({raw.status}); a smaller C is easier to solve"
        ) from error

    # refuse what is no optimum
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise RuntimeError(
            f"the problem is {problem.status}: no utility satisfies the constraints that were added"
        )

    # certify it, by the solver's own values where constraints were added
    weights = np.asarray(W.value)
    if constraints is None:
        if monotone:
            weights = _monotone(weights)  # an interior point is monotone to 1e-9 only
        objective, gap = certificate(pairs.evaluate(weights, False), weights, C, monotone)
    else:
        objective = float(problem.value)
        gap = abs(raw.obj_val - raw.obj_val_dual) / abs(problem.value)
    return Solution(weights, objective, gap, raw.iterations, problem.status == "optimal")


def difference_matrix(first: Grades, second: Grades, n_grades: int) -> Any:
    """Return the encodings' differences d_i as a sparse CSR matrix, shape (n, K*L)."""
    from scipy.sparse import csr_array

    n, depth = first.shape
    rows = np.repeat(np.arange(n), depth)
    matrix = csr_array((n, depth * n_grades))
    for lists, sign in ((first, 1.0), (second, -1.0)):
        graded = lists.ravel() >= 0
        columns = np.tile(np.arange(depth) * n_grades, n) + lists.ravel()
        part = (np.full(int(graded.sum()), sign), (rows[graded], columns[graded]))
        matrix = matrix + csr_array(part, shape=matrix.shape)
    matrix.eliminate_zeros()
    return matrix


def _monotone(weights: Floats) -> Floats:
    """Return the nearest W whose rows do not fall: isotonic regression by max-min."""
    width = weights.shape[1]
    sums = np.cumsum(weights, axis=1)
    before = sums - weights
    size = np.arange(width) - np.arange(width)[:, None] + 1
    means = (sums[:, None, :] - before[:, :, None]) / np.maximum(size, 1)
    means[:, np.arange(width), np.arange(width)] = weights
    least = np.minimum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    return np.where(size > 0, least, -np.inf).max(axis=1)


def _objective(sums: PairSums, weights: Floats, C: float) -> float:
    return float(np.vdot(weights, weights)) + C * sums.loss


def _newton_step(
    curvature: Floats, moment: Floats, weights: Floats, C: float, monotone: bool
) -> Floats:
    """Return the step to the minimum of the local quadratic, (K, L), in the monotone cone."""
    depth, n_grades = weights.shape

    # the local quadratic
    hessian = 2 * np.eye(weights.size) + 2 * C * curvature
    gradient = 2 * weights - 2 * C * moment
    if not monotone:
        return -solved_definite(hessian, gradient.ravel()).reshape(weights.shape)

    # in the increments delta, W[k, l] = sum_{j <= l} delta[k, j], the cone is delta[k, j] >= 0 for
    # j >= 1
    increments = np.diff(weights, axis=1, prepend=0.0)
    lower = np.where(np.arange(n_grades) > 0, -increments, -np.inf)
    blocks = _sums_above(_sums_above(hessian.reshape(depth, n_grades, depth, n_grades), 1), 3)
    step = bounded_minimum(
        blocks.reshape(hessian.shape), _sums_above(gradient, 1).ravel(), lower.ravel()
    )
    return np.cumsum(step.reshape(weights.shape), axis=1)


def _sums_above(array: Floats, axis: int) -> Floats:
    """Return sums over each grade and those above: from derivatives in W to those in delta."""
    return np.flip(np.cumsum(np.flip(array, axis), axis), axis)


def bounded_minimum(hessian: Floats, gradient: Floats, lower: Floats) -> Floats:
    """Return the x, shape (p,), that minimises ``x'Hx/2 + g'x`` subject to ``x >= lower <= 0``.

    H is positive definite; `lower` is ``-inf`` where there is no bound. Block principal pivoting
    (Judice and Pires 1994) exchanges all variables of the wrong sign (beyond rounding error) at
    once, while their number falls or for three rounds more. If it cycles, the slower bounded least
    squares of Stark and Parker (1995) takes over.
    """
    free = lower < 0
    size = np.abs(hessian)
    best = len(gradient) + 1
    patience = 3
    while patience > 0:
        # solve for the free variables
        x = np.where(free, 0.0, lower)
        if free.any():
            rest = gradient[free] + hessian[np.ix_(free, ~free)] @ x[~free]
            x[free] = -solved_definite(hessian[np.ix_(free, free)], rest)

        # find those of the wrong sign, beyond rounding error
        slope = hessian @ x + gradient
        rounding = 1e-14 * (size @ np.abs(x) + np.abs(gradient))
        wrong = np.where(free, x < lower - 1e-13 * np.abs(x).max(), slope < -rounding)
        n_wrong = int(wrong.sum())
        if n_wrong == 0:
            return np.maximum(x, lower)

        # exchange all wrong signs
        patience = 3 if n_wrong < best else patience - 1
        best = min(best, n_wrong)
        free ^= wrong
    return _by_least_squares(hessian, gradient, lower)


def _by_least_squares(hessian: Floats, gradient: Floats, lower: Floats) -> Floats:
    """Solve `bounded_minimum` as ``min |R x + R^-T g|`` with ``R'R = H``, by an active set."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import lsq_linear

    root = np.linalg.cholesky(hessian).T
    target = -solve_triangular(root, gradient, trans="T")
    most = 10 * len(gradient)
    end = lsq_linear(root, target, (lower, np.inf), method="bvls", tol=1e-15, max_iter=most)
    x: Floats = end.x
    return x
