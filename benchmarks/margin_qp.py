"""Time and optimum of the Newton solver compared with other solvers of the same QP.

One JSON line per solver and size: seconds (best of the repeats), the objective divided by
dcglearn's minus 1, and the time divided by dcglearn's in the same run.

    python benchmarks/margin_qp.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import piqp
from scipy.sparse import csc_array, csc_matrix, diags_array, eye_array, hstack, kron, vstack

from dcglearn import Preferences, UtilityLearner, simulate
from dcglearn.io import encode

C, DEPTH, N_GRADES = 1.0, 10, 5


def log_of(n: int) -> Preferences:
    """Return n distinct pairs of permutations of the paper's list, a tenth of them flipped."""
    log = simulate.preference_pairs(
        simulate.ground_truth("D1"), int(n * 1.001) + 10, flip_rate=0.1, random_state=0
    )
    distinct = log.merged()[:n]
    return Preferences(distinct.preferred, distinct.other, N_GRADES)


def differences(log: Preferences) -> csc_array:
    """Return the differences of the lists' encodings, shape (n, K L)."""
    both = (encode(lists, N_GRADES) for lists in (log.preferred, log.other))
    return csc_array(np.subtract(*both).reshape(len(log), -1), dtype=float)


def newton(log: Preferences) -> np.ndarray:
    return UtilityLearner(C=C).fit(log).utility_.weights


def increments() -> csc_array:
    """Return the matrix M of the monotone constraints M w >= 0."""
    steps = diags_array([-1.0, 1.0], offsets=[0, 1], shape=(N_GRADES - 1, N_GRADES))
    return csc_array(kron(eye_array(DEPTH), steps))


def piqp_sparse(log: Preferences) -> np.ndarray:
    n, size = len(log), DEPTH * N_GRADES
    d = differences(log)
    pairs = hstack([d, eye_array(n, format="csc")], format="csc")
    order = hstack([increments(), csc_array((DEPTH * (N_GRADES - 1), n))], format="csc")
    rows = csc_array(np.ones((0, size + n)))
    P = diags_array(np.r_[np.full(size, 2.0), np.full(n, 2 * C)], format="csc")
    G = csc_matrix(vstack([pairs, order]))
    lower = np.r_[np.ones(n), np.zeros(DEPTH * (N_GRADES - 1))]
    solver = piqp.SparseSolver()
    solver.setup(csc_matrix(P), np.zeros(size + n), csc_matrix(rows), np.zeros(0), G, lower, None)
    solver.solve()
    return solver.result.x[:size].reshape(DEPTH, N_GRADES)


def through_cvxpy(solver: str) -> Callable[[Preferences], np.ndarray]:
    def solve(log: Preferences) -> np.ndarray:
        W = cp.Variable((DEPTH, N_GRADES))
        d = differences(log)
        xi = cp.pos(1 - d @ cp.vec(W, order="C"))
        problem = cp.Problem(
            cp.Minimize(cp.sum_squares(W) + C * cp.sum_squares(xi)), [cp.diff(W, axis=1) >= 0]
        )
        problem.solve(solver=solver)
        return W.value

    return solve


def objective(log: Preferences, weights: np.ndarray) -> float:
    difference = sum(
        weights[k][log.preferred[:, k]] - weights[k][log.other[:, k]] for k in range(DEPTH)
    )
    return float((weights**2).sum() + C * (np.maximum(0, 1 - difference) ** 2).sum())


def timed(solve: Callable[[], np.ndarray], repeats: int) -> tuple[float, np.ndarray]:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        weights = solve()
        seconds.append(time.perf_counter() - began)
    return min(seconds), weights


def race(
    n: int, peers: dict[str, Callable[[], np.ndarray]], log: Preferences
) -> Iterator[dict[str, Any]]:
    own, weights = timed(lambda: newton(log), 5)
    best = objective(log, weights)
    gap = UtilityLearner(C=C).fit(log).gap_
    yield {
        "question": "margin_qp",
        "n": n,
        "solver": "dcglearn",
        "seconds": own,
        "gap": gap,
        "times_faster": 1.0,
    }
    for name, solve in peers.items():
        seconds, weights = timed(solve, 1)
        excess = objective(log, weights) / best - 1
        row = {"question": "margin_qp", "n": n, "solver": name, "seconds": seconds}
        yield {**row, "relative_objective": excess, "times_faster": seconds / own}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 and 2,000 pairs only")
    quick = parser.parse_args().quick
    newton(log_of(100))  # compile
    for n in (200, 2_000) if quick else (200, 2_000, 20_000):
        log = log_of(n)
        peers = {f"cvxpy {name}": through_cvxpy(name) for name in ("CLARABEL", "OSQP")}
        bound = {name: (lambda solve=solve, log=log: solve(log)) for name, solve in peers.items()}
        bound["PIQP sparse"] = lambda log=log: piqp_sparse(log)
        for row in race(n, bound, log):
            print(json.dumps(row), flush=True)
    if quick:
        return
    n = 1_000_000
    log = log_of(n)
    for row in race(n, {"PIQP sparse": lambda: piqp_sparse(log)}, log):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
