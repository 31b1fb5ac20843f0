"""The margin QP on plain arrays: projected Newton, its certificate, and the same by cvxpy.

    min  ||W||^2 + C sum_i v_i xi_i^2   s.t.  <W, d_i> >= m_i - xi_i   and, if monotone,  W[k, l+1]
    >= W[k, l]

Zhou et al. 2008, eq. 1, 4 and 6, as the equivalent ``F(W) = ||W||^2 + C sum v max(0, m - <W,
d>)^2``: convex, once differentiable, piecewise quadratic. Newton's method sees the pairs only
through `QPPairs.evaluate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcglearn.foundation.sources import refuse_beyond_memory
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.learning.options import QPOptions
from dcglearn.learning.pair_sums import PairSums, QPPairs
from dcglearn.logs.thinning import SAMPLE
from dcglearn.logs.visibility import encode


@dataclass(frozen=True)
class Solution:
    """A solved QP: W, shape (K, L), the objective F(W), and how it was reached.

    `gap` is the duality gap relative to F(W), an upper bound on the relative distance to the
    optimum. `n_iter` counts Newton steps on the whole log, or iterations of cvxpy's solver.
    `curvature` is that of the last steps, from which a longer log may start.
    """

    weights: Floats
    objective: float
    gap: float
    n_iter: int
    converged: bool
    curvature: Any = None


def solve(pairs: QPPairs, options: QPOptions, start: Floats) -> Solution:
    """Solve the QP by Newton's method from an initial W, shape (K, L).

    Where that is 0 and the log is long, the solution on a subsample takes its place.

    Of the options, `C` weights the shortfalls; `monotone` asks that a better grade has at least the
    same weight at every position; `tol` is the relative duality gap to reach within `max_iter`
    Newton steps.
    Raises InputError if the Hessian, of (K L)^2 entries, does not fit in memory, or is singular in
    floating point because `C` or the weights are too large.
    """
    depth, n_grades = start.shape
    refuse_beyond_memory(
        5 * 8 * float(start.size) ** 2,
        f"the QP of {depth:,} positions and {n_grades} grades",
        "cut the lists (depth=, convert --depth), or use fewer grades",
    )

    # a long log from a rough solution on a sample, and from the curvature there
    C, curvature = options.C, None
    if not start.any() and len(pairs) >= 4 * SAMPLE:
        sample = pairs.thinned(SAMPLE)
        times = pairs.total_weight / sample.total_weight
        rough = solve(sample, replace(options, C=C * times, tol=1e-6), start)
        start, curvature = rough.weights, times * rough.curvature

    # then exactly
    try:
        return newton(pairs, options, start, curvature)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        raise InputError(
            f"C={C:g} and weights that sum to {pairs.total_weight:g} are too large together: the "
            "QP is singular in double precision; lower C, or divide all weights by a common factor"
        ) from error


def newton(pairs: QPPairs, options: QPOptions, start: Floats, curvature: Floats | None) -> Solution:
    """Minimise F by a projected semismooth Newton method; see `solve`.

    Each step minimises the local quadratic exactly over the monotone cone, then backtracks; the
    method ends at the exact optimum when the set of pairs with a shortfall stops changing. The
    curvature, which costs most of a pass, is kept while each step reduces the gap tenfold; for the
    first step it may be that of a sample.
    """
    C, monotone, tol = options.C, options.monotone, options.tol
    weights = nearest_monotone(start) if monotone and start.any() else start
    is_of_sample = curvature is not None
    sums = pairs.evaluate(weights, not is_of_sample)
    if curvature is None:
        curvature = sums.curvature
    objective, gap = certificate(sums, weights, C, monotone)

    # a gap of g leaves W within sqrt(g): where tol is small, the next step must be too
    longest = np.inf if tol > 1e-8 else 1e-8
    length = next_length = np.inf
    n_iter = 0
    while not (gap <= tol and next_length <= longest) and n_iter < options.max_iter:
        step = _newton_step(curvature, sums.moment, weights, C, monotone)
        slope = float(np.vdot(2 * weights - 2 * C * sums.moment, step))

        # backtrack until the objective falls enough, or to the precision of floating point
        size = 1.0
        while size >= 1e-10:
            sums = pairs.evaluate(weights + size * step, False)
            reached = _objective(sums, weights + size * step, C)
            if reached <= objective + 1e-4 * size * slope + 1e-13 * objective:
                break
            size /= 2
        else:
            break
        weights = weights + size * step

        # of the next step, as much shorter than this one as this is than the last
        last, length = length, float(np.abs(step).max() / max(np.abs(weights).max(), 1e-300))
        next_length = length * min(length / last, 1.0) if np.isfinite(last) else length

        # renew the curvature unless the gap fell tenfold
        before = gap
        objective, gap = certificate(sums, weights, C, monotone)
        if gap > (tol if is_of_sample else max(before / 10, tol)):
            curvature = pairs.evaluate(weights, True).curvature
            is_of_sample = False
        n_iter += 1
    return Solution(weights, objective, gap, n_iter, gap <= tol, curvature)


def certificate(sums: PairSums, weights: Floats, C: float, monotone: bool) -> tuple[float, float]:
    """Return F(W) and its duality gap relative to F(W).

    With ``alpha_i = 2 C v_i xi_i`` the dual value is ``sum alpha m - sum alpha^2 / (4 C v) - |p|^2
    / 4``, where p is ``sum alpha d`` or, with the best multipliers of the monotone constraints, its
    projection on the monotone cone (row-wise isotonic regression). The bound holds for any W.
    """
    objective = _objective(sums, weights, C)
    p = nearest_monotone(2 * C * sums.moment) if monotone else 2 * C * sums.moment
    dual = 2 * C * sums.slope - C * sums.loss - float(np.vdot(p, p)) / 4
    return objective, max(objective - dual, 0.0) / objective if objective > 0 else 0.0


def nearest_monotone(weights: Floats) -> Floats:
    """Return the nearest W whose rows do not fall, by isotonic regression."""
    from scipy.optimize import isotonic_regression

    return np.array([isotonic_regression(row).x for row in weights])


def _objective(sums: PairSums, weights: Floats, C: float) -> float:
    return float(np.vdot(weights, weights)) + C * sums.loss


def _newton_step(
    curvature: Floats, moment: Floats, weights: Floats, C: float, monotone: bool
) -> Floats:
    """Return the step to the minimum of the local quadratic, (K, L), in the monotone cone."""
    # the local quadratic, of pairs that fall short now
    depth, n_grades = weights.shape
    hessian = 2 * np.eye(weights.size) + 2 * C * curvature
    gradient = 2 * weights - 2 * C * moment

    # in the increments delta, W[k, l] = sum_{j <= l} delta[j, k], the cone is delta[j, k] >= 0 for
    # j >= 1
    blocks = hessian.reshape(depth, n_grades, depth, n_grades).transpose(1, 0, 3, 2)
    blocks = _sums_above(_sums_above(blocks, 0), 2)
    lower = -np.diff(weights).T.ravel() if monotone else np.zeros(0)
    step = bounded_minimum(blocks.reshape(hessian.shape), _sums_above(gradient.T, 0).ravel(), lower)
    return np.cumsum(step.reshape(n_grades, depth), axis=0).T


def _sums_above(array: Floats, axis: int) -> Floats:
    """Return sums over each grade and those above: from derivatives in W to those in delta."""
    return np.flip(np.cumsum(np.flip(array, axis), axis), axis)


def bounded_minimum(hessian: Floats, gradient: Floats, lower: Floats) -> Floats:
    """Return the x, (p,), that minimises ``x'Hx/2 + g'x``, its last entries at least `lower`, (m,).

    H is positive definite. With ``R'R = H``, x minimises ``|R x + R^-T g|``; as R is triangular,
    the first p - m entries make their rows zero whatever the others are. These are found by
    nonnegative least squares (Lawson and Hanson 1974).
    """
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import nnls

    root = cholesky(hessian)
    target = -solve_triangular(root, gradient, trans="T")

    # entries with a bound, above it, then those without
    n_free = len(gradient) - len(lower)
    bounded = lower
    if len(lower):
        rows = root[n_free:, n_free:]
        bounded = lower + nnls(rows, target[n_free:] - rows @ lower)[0]
    rest = target[:n_free] - root[:n_free, n_free:] @ bounded
    return np.append(solve_triangular(root[:n_free, :n_free], rest), bounded)


def solve_cvxpy(pairs: QPPairs, options: QPOptions, n_grades: int) -> Solution:
    """Solve the same QP with cvxpy and Clarabel, slowly, as a check; for parameters see `solve`.

    The options' `constraints` map the cvxpy variable W, shape (K, L), to further constraints. The
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

    from scipy.sparse import csr_array

    # the shortfalls of all pairs
    n, depth = pairs.first.shape
    W = cp.Variable((depth, n_grades))
    one, other = (encode(lists, n_grades).reshape(n, -1) for lists in (pairs.first, pairs.second))
    difference = csr_array(one - other, dtype=np.float64)
    margin = np.broadcast_to(pairs.margin, n)
    roots = np.sqrt(pairs.weights)
    shortfall = cp.pos(margin - difference @ cp.vec(W, order="C"))

    # the QP
    rules = [cp.diff(W, axis=1) >= 0] if options.monotone and n_grades > 1 else []
    if options.constraints is not None:
        rules += options.constraints(W)
    loss = cp.sum_squares(W) + options.C * cp.sum_squares(cp.multiply(roots, shortfall))
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

    # an interior point is monotone to 1e-9 only
    weights = np.asarray(W.value)
    if options.monotone:
        weights = nearest_monotone(weights)
    gap = abs(raw.obj_val - raw.obj_val_dual) / abs(problem.value)
    is_optimal = problem.status == "optimal"
    return Solution(weights, float(problem.value), gap, raw.iterations, is_optimal)
