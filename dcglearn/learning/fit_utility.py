"""Fits of a utility to a log: the paper's QP and its margins, in memory, in parts, on a cluster."""

import logging
from functools import partial
from typing import Any

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Counts, Floats, InputError, filled, pointer
from dcglearn.learning.descriptions import QPDescription, QPFit
from dcglearn.learning.margin_qp import Pairs, PairSource, Solution, solve, solve_cvxpy
from dcglearn.learning.sums_over_parts import PairParts
from dcglearn.learning.usable_pairs import learnable
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metrics.dcg import Utility
from dcglearn.parts.parted_log import OpenLog, PartedLog, differing_pairs, with_grades

_LOG = logging.getLogger(__name__)


def fit_qp(log: OpenLog, description: QPDescription, start: Utility | None = None) -> QPFit:
    """Solve the QP for a log; parameters and errors are those of `UtilityLearner.fit`."""
    log = with_grades(log, description.n_grades)
    with one_blas_thread():
        pairs, dropped = _pairs(log, description)
        weights = None if start is None else start.weights
        solution = _solved(pairs, log, description, weights)
        visible = log.visible()

    level = logging.INFO if start is None else logging.DEBUG  # a search for C has many warm fits
    message = "QP with C=%g: relative duality gap %.1e after %d iterations"
    _LOG.log(level, message, description.C, solution.gap, solution.n_iter)

    # warning of a QP that stopped early
    unconverged = ""
    if not solution.converged:
        unconverged = (
            f"the QP stopped at a relative duality gap of {solution.gap:.1e}, above "
            f"tol={description.tol:g}: raise max_iter, or lower C, which is easier to solve and "
            f"better for noisy logs {pointer('convergence-warning')}"
        )

    # the solution and its duality gap
    return QPFit(
        description=description,
        utility=Utility(solution.weights, log.grade_names),
        objective=solution.objective,
        gap=solution.gap,
        n_iter=solution.n_iter,
        visible=visible,
        dropped=dropped,
        unconverged=unconverged,
    )


def qp_pairs(log: PreferencePairs, margin: Any, tie_epsilon: float | None) -> Pairs:
    """Return the decided pairs with margins, and each tie both ways with -epsilon."""
    log = differing_pairs(log)

    # the decided pairs
    decided = seen_pairs(log.decided)
    weight = np.ones(1) if decided.weight is None else decided.weight
    margin_of_pairs = margins(decided, margin)
    decided = decided.filled()
    ties = log.ties.filled()
    if tie_epsilon is None or not len(ties):
        return Pairs(decided.preferred, decided.other, margin_of_pairs, weight)

    # and each tie in both orders
    n, n_ties = len(decided), len(ties)
    tied = ties.weights
    return Pairs(
        np.concatenate([decided.preferred, ties.preferred, ties.other]),
        np.concatenate([decided.other, ties.other, ties.preferred]),
        np.concatenate([np.broadcast_to(margin_of_pairs, n), np.full(2 * n_ties, -tie_epsilon)]),
        np.concatenate([np.broadcast_to(weight, n), tied, tied]),
    )


def seen_pairs(log: PreferencePairs) -> PreferencePairs:
    """Return the pairs that differ not only between -1 and -2, which both have value 0."""
    seen = log.filled().differing
    return log if seen.all() else log[seen]


def _n_unseen(log: PreferencePairs) -> int:
    """Return the number of decided pairs whose lists differ, but not for a utility."""
    decided = differing_pairs(log).decided
    return len(decided) - len(seen_pairs(decided))


def margins(log: PreferencePairs, margin: Any) -> Floats:
    """Return margins by name, or by a metric, shape (n,) or (1,); or raise InputError."""
    if not isinstance(margin, str):
        return np.abs(log.gaps(margin))
    if margin == "unit":
        return np.ones(1)
    if margin == "hamming":
        return (filled(log.preferred) != filled(log.other)).sum(axis=1).astype(np.float64)
    column = log.strength if log.margin is None else log.margin
    if column is None and len(log):
        raise InputError(
            'margin="log" needs a log with margins or strengths; use "unit" or "hamming"'
        )
    return np.ones(1) if column is None else column


def _pairs(log: OpenLog, description: QPDescription) -> tuple[PairSource, Counts]:
    """Return the QP's pairs, and the numbers of pairs left out."""
    epsilon = description.tie_epsilon
    margin = description.margin_of(log.n_grades, log.depth)
    if isinstance(log, PartedLog) and description.solver == "cvxpy":
        raise InputError(
            'solver="cvxpy" needs the whole log in memory: give Preferences, without engine=',
            see="whole-log",
        )

    # in parts
    log, dropped = learnable(log)
    if isinstance(log, PartedLog):
        # counted and made part by part
        n_ties, n_unseen = log.facts.n_ties, log.parts.total(_n_unseen)
        to_pairs = partial(qp_pairs, margin=margin, tie_epsilon=epsilon)
        pairs: PairSource = PairParts.of(log.parts.mapped(to_pairs), depth=log.depth)

    # or in memory
    else:
        n_ties, n_unseen = len(log.ties), _n_unseen(log)
        pairs = qp_pairs(log, margin, epsilon)

    # refuse what W = 0 satisfies
    if isinstance(pairs, Pairs):
        satisfied = not len(pairs) or not (pairs.margin > 0).any()
    else:
        satisfied = pairs.evaluate(np.zeros((log.depth, log.n_grades)), False).loss == 0
    if description.constraints is None and satisfied:
        raise InputError(
            "no pair asks for a difference of utility above 0: the margins are 0 or less, or the "
            "lists differ only between unknown grades (-1) and no result (-2); give positive "
            'margins, or margin="unit"'
        )

    # count what is left out
    if epsilon is None and n_ties:
        dropped["ties"] = n_ties
    if n_unseen:
        dropped["pairs that differ between -1 and -2 only"] = n_unseen
    return pairs, dropped


def _solved(
    pairs: PairSource, log: OpenLog, description: QPDescription, start: Floats | None
) -> Solution:
    """Solve the QP as the description says."""
    problem = log.n_grades, description.C
    monotone = description.monotone and log.graded
    if description.solver == "cvxpy":
        assert isinstance(pairs, Pairs)
        own = description.constraints
        return solve_cvxpy(pairs, *problem, monotone=monotone, constraints=own)
    tol, max_iter = description.tol, description.max_iter
    return solve(pairs, *problem, monotone=monotone, start=start, tol=tol, max_iter=max_iter)
