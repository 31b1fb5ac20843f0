"""Time of fits: other solvers of the same QP, and DCGLearner beside the QP.

One JSON line per solver and size: seconds (of dcglearn the best of five), the objective divided by
dcglearn's minus 1, and the time divided by dcglearn's in the same run. Then one per number of
pairs, and one per use of a log of 500 pairs: processor time, divided by that of the QP in turn
with it.

    python benchmarks/fit.py [--quick]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import cvxpy as cp
import numpy as np
import piqp
from measuring import QUICK, least, show
from scipy.sparse import (
    csc_array,
    csc_matrix,
    csr_matrix,
    diags_array,
    eye_array,
    hstack,
    kron,
    vstack,
)
from sklearn.svm import LinearSVC

import dcglearn as dl
from dcglearn.io import encode

C, DEPTH, N_GRADES = 1.0, 10, 5
Solver = Callable[[dl.Preferences], np.ndarray]


def log_of(n: int) -> dl.Preferences:
    """Return n distinct pairs of permutations of the paper's list, a tenth of them flipped."""
    truth, more = dl.simulate.ground_truth("D1"), int(n * 1.001) + 10
    drawn = dl.simulate.preference_pairs(truth, more, flip_rate=0.1, random_state=0)
    distinct = drawn.merged()[:n]
    return dl.Preferences(distinct.preferred, distinct.other, N_GRADES)


def differences(log: dl.Preferences) -> csc_array:
    """Return the differences of the lists' encodings, shape (n, K L)."""
    both = (encode(lists, N_GRADES) for lists in (log.preferred, log.other))
    return csc_array(np.subtract(*both).reshape(len(log), -1), dtype=float)


def piqp_sparse(log: dl.Preferences) -> np.ndarray:
    n, size, steps = len(log), DEPTH * N_GRADES, DEPTH * (N_GRADES - 1)

    # a slack for each pair, and weights that rise with the grade
    rise = diags_array([-1.0, 1.0], offsets=[0, 1], shape=(N_GRADES - 1, N_GRADES))
    increments = csc_array(kron(eye_array(DEPTH), rise))
    pairs = hstack([differences(log), eye_array(n, format="csc")], format="csc")
    order = hstack([increments, csc_array((steps, n))], format="csc")
    G, lower = csc_matrix(vstack([pairs, order])), np.r_[np.ones(n), np.zeros(steps)]

    # the objective, and no equations
    P = diags_array(np.r_[np.full(size, 2.0), np.full(n, 2 * C)], format="csc")
    rows = csc_matrix(np.ones((0, size + n)))
    solver = piqp.SparseSolver()
    solver.setup(csc_matrix(P), np.zeros(size + n), rows, np.zeros(0), G, lower, None)
    solver.solve()
    return solver.result.x[:size].reshape(DEPTH, N_GRADES)


def through_cvxpy(solver: str) -> Solver:
    def solve(log: dl.Preferences) -> np.ndarray:
        W = cp.Variable((DEPTH, N_GRADES))
        xi = cp.pos(1 - differences(log) @ cp.vec(W, order="C"))
        objective = cp.Minimize(cp.sum_squares(W) + C * cp.sum_squares(xi))
        cp.Problem(objective, [cp.diff(W, axis=1) >= 0]).solve(solver=solver)
        return W.value

    return solve


def liblinear(log: dl.Preferences) -> np.ndarray:
    """Return the best weights of any signs: LIBLINEAR cannot let them rise with the grade."""
    # half of the pairs the other way round, since a classifier wants two classes
    signs = np.where(np.arange(len(log)) % 2, 1.0, -1.0)
    machine = LinearSVC(C=C / 2, dual=False, fit_intercept=False, tol=1e-6, max_iter=10_000)
    machine.fit(csr_matrix(differences(log).multiply(signs[:, None])), signs)
    return machine.coef_.reshape(DEPTH, N_GRADES)


PEERS: dict[str, Solver] = {
    "cvxpy CLARABEL": through_cvxpy("CLARABEL"),
    "cvxpy OSQP": through_cvxpy("OSQP"),
    "PIQP sparse": piqp_sparse,
    "LIBLINEAR, weights free to fall": liblinear,
}


def objective(log: dl.Preferences, weights: np.ndarray) -> float:
    gaps = dl.Utility(weights).score(log.preferred) - dl.Utility(weights).score(log.other)
    return float((weights**2).sum() + C * (np.maximum(0, 1 - gaps) ** 2).sum())


def beside_solvers(n: int) -> None:
    """Print a row of the QP on n pairs, and one of each other solver; cvxpy's need few pairs."""
    log, own = log_of(n), []
    for _ in range(5):
        began = time.perf_counter()
        learner = dl.UtilityLearner(C=C).fit(log)
        own.append(time.perf_counter() - began)
    row = {"n": n, "solver": "dcglearn", "seconds": min(own), "gap": learner.gap_}
    show("other solvers", **row, times_ours=1.0)
    best = objective(log, learner.utility_.weights)

    for name, solve in PEERS.items():
        if n > 20_000 and name.startswith("cvxpy"):
            continue
        began = time.perf_counter()
        weights = solve(log)
        seconds = time.perf_counter() - began
        row = {"n": n, "solver": name, "seconds": seconds, "times_ours": seconds / min(own)}
        show("other solvers", **row, relative_objective=objective(log, weights) / best - 1)


def beside_the_qp(n: int, repeats: int) -> None:
    """Print the time of a fit of gains and discounts to n pairs, divided by that of the QP."""
    log = log_of(n)
    both = {"direct": lambda: dl.DCGLearner().fit(log), "qp": lambda: dl.UtilityLearner().fit(log)}
    direct, qp = least(both, repeats)
    show("DCGLearner", pairs=n, seconds=direct, times_the_qp=direct / qp)


def uses_of_a_log(n: int, repeats: int) -> None:
    """Print the time of each use of a log of n pairs, divided by that of the QP."""
    log, rng = log_of(n), np.random.default_rng(1)
    learner = dl.DCGLearner().fit(log)
    candidates = rng.integers(0, N_GRADES, (20_000, 2, DEPTH)).astype(np.int8)
    uses = {
        "QP": lambda: dl.UtilityLearner().fit(log),
        "bands": lambda: dl.bands(log, learner),
        "suggest_pairs, 20,000 candidates": lambda: dl.suggest_pairs(log, candidates, 5, learner),
    }
    qp, *seconds = least(uses, repeats)
    for what, of_use in zip([*uses][1:], seconds, strict=True):
        show("uses of a fitted log", what=what, pairs=n, seconds=of_use, times_the_qp=of_use / qp)


def main() -> None:
    for n in (200, 2_000) if QUICK else (200, 2_000, 20_000, 1_000_000):
        beside_solvers(n)
    warnings.simplefilter("ignore", UserWarning)  # 50 pairs are few for 14 gains and discounts
    for n in (50, 300) if QUICK else (50, 500, 10_000, 100_000, 1_000_000):
        beside_the_qp(n, 2 if QUICK or n > 10_000 else 5)
    uses_of_a_log(50 if QUICK else 500, 1 if QUICK else 3)


if __name__ == "__main__":
    main()
