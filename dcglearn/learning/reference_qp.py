"""The margin QP by cvxpy: an independent reference, which takes constraints of one's own."""

from __future__ import annotations

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.learning.margin_qp import Solution, nearest_monotone
from dcglearn.learning.options import QPOptions
from dcglearn.learning.pair_sums import QPPairs
from dcglearn.logs.visibility import encode


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
