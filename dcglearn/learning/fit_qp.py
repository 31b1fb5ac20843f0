"""Fits of a utility to a log: the paper's QP and its margins."""

import logging
from dataclasses import dataclass, replace

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Counts, Floats, Indices, InputError, filled
from dcglearn.learning.factoring import Factoring, factor
from dcglearn.learning.margin_qp import solve, solve_cvxpy
from dcglearn.learning.options import MARGINS, QPOptions
from dcglearn.learning.pair_sums import QPPairs
from dcglearn.learning.usable_pairs import learnable
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.thinning import joined
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.dcg import Utility
from dcglearn.metrics.reading import MetricLike, read_metric

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class QPFit:
    """What the QP returns: the attributes of a fitted `UtilityLearner`.

    `unconverged` is the warning of a QP that stopped before its tolerance, empty for any other.
    """

    options: QPOptions
    utility: Utility
    objective: float
    gap: float
    n_iter: int
    visible: Visibility
    dropped: Counts
    unconverged: str = ""
    cautions: tuple[str, ...] = ()

    @property
    def metric(self) -> Utility:
        """The utility."""
        return self.utility

    def factor(self, *, normalise_gains: bool = False) -> Factoring:
        """Return the nearest gains and discounts, and how near they are; see `factoring.factor`."""
        return factor(self.utility, self.visible, normalise_gains=normalise_gains)


def fit_qp(log: PreferencePairs, options: QPOptions, start: Utility | None = None) -> QPFit:
    """Solve the QP for a log; parameters and errors are those of `UtilityLearner.fit`."""
    log = log.rescaled(options.n_grades)
    kept, dropped = learnable(log)
    with one_blas_thread():
        return fit_pairs(*qp_part(kept, options), dropped, log.visible(), options, start)


def qp_part(log: PreferencePairs, options: QPOptions) -> tuple[QPPairs, Indices]:
    """Return the QP's pairs of a log or a part, and three counts, shape (3,).

    The pairs are the decided ones with margins, without those that no utility tells apart, and each
    tie both ways with -epsilon. Counted are ties, the pairs left out, and those that ask for a
    difference above 0.
    """
    decided, ties = log.decided, log.ties.filled()

    # -1 and -2 both have value 0
    seen = decided.filled().differing
    n_unseen = int((~seen).sum())
    decided = decided[seen] if n_unseen else decided

    # the decided pairs
    margin = margins(decided, options.margin)
    weight = np.ones(1) if decided.weight is None else decided.weight
    decided = decided.filled()
    pairs = QPPairs(decided.preferred, decided.other, margin, weight)
    n_asking = int((np.broadcast_to(margin, len(pairs)) > 0).sum())
    counts = np.array([len(ties), n_unseen, n_asking])
    if options.tie_epsilon is None or not len(ties):
        return pairs, counts

    # and each tie in both orders
    allowed = np.array([-options.tie_epsilon])
    both = (ties.preferred, ties.other), (ties.other, ties.preferred)
    return joined([pairs, *(QPPairs(*lists, allowed, ties.weights) for lists in both)]), counts


def fit_pairs(
    pairs: QPPairs,
    counts: Indices,
    dropped: Counts,
    visible: Visibility,
    options: QPOptions,
    start: Utility | None = None,
) -> QPFit:
    """Solve the QP for pairs, given the counts of `qp_part`, and what else is known of the log."""
    # refuse what W = 0 satisfies
    n_ties, n_unseen, n_asking = counts.tolist()
    if options.constraints is None and not n_asking:
        raise InputError(
            "no pair asks for a difference of utility above 0: the margins are 0 or less, or the "
            "lists differ only between unknown grades (-1) and no result (-2); give positive "
            'margins, or margin="unit"'
        )

    # solve it
    weights = np.zeros(visible.open_cells.shape) if start is None else start.weights
    problem = replace(options, monotone=options.monotone and visible.graded)
    if options.solver == "cvxpy":
        solution = solve_cvxpy(pairs.thinned(len(pairs)), problem, weights.shape[1])
    else:
        solution = solve(pairs, problem, weights)

    # a search for C has many warm fits
    tell = _LOG.info if start is None else _LOG.debug
    tell(
        "QP with C=%g: relative duality gap %.1e after %d iterations",
        options.C,
        solution.gap,
        solution.n_iter,
    )

    # count what is left out
    dropped = dict(dropped)
    if options.tie_epsilon is None and n_ties:
        dropped["ties"] = n_ties
    if n_unseen:
        dropped["pairs that differ between -1 and -2 only"] = n_unseen

    # warning of a QP that stopped early
    unconverged = ""
    if not solution.converged:
        unconverged = (
            f"the QP stopped at a relative duality gap of {solution.gap:.1e}, above "
            f"tol={options.tol:g}: raise max_iter, or lower C, which is easier to solve and "
            "better for noisy logs"
        )

    # the solution and its duality gap
    return QPFit(
        options=options,
        utility=Utility(solution.weights, visible.grade_names),
        objective=solution.objective,
        gap=solution.gap,
        n_iter=solution.n_iter,
        visible=visible,
        dropped=dropped,
        unconverged=unconverged,
    )


def margins(log: PreferencePairs, margin: MetricLike) -> Floats:
    """Return margins by name, or by a metric as deep as the lists, (n,) or (1,).

    Raise InputError if the log has none of that name.
    """
    if not (isinstance(margin, str) and margin in MARGINS):
        return np.abs(log.gaps(read_metric(margin, log.n_grades, log.depth, name="margin")))
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
