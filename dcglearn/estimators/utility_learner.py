"""`UtilityLearner`: a log of preferences in, a utility out, by the QP of Zhou et al. 2008."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, pointer
from dcglearn.learning.checkpoint import Checkpoint
from dcglearn.learning.factoring import Factoring, factor
from dcglearn.learning.margin_qp import Pairs, PairSource, Solution, solve, solve_cvxpy
from dcglearn.learning.sums_over_parts import PairParts
from dcglearn.logs.counting import Agreement
from dcglearn.metric.dcg import DCG, Utility
from dcglearn.parts.open_log import dropped_of, log_fingerprint, opened_log, without_equal_lists
from dcglearn.parts.parts import PartedLog
from dcglearn.readers.preferences import Preferences, as_preferences

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.parts.open_log import Log

_LOG = logging.getLogger(__name__)


class PairLearner(BaseEstimator):
    """Base class of learners: the verdicts of the learned metric."""

    @property
    def metric_(self) -> DCG | Utility:
        """The learned metric."""
        raise NotImplementedError

    def decision_function(self, X: Preferences | ArrayLike) -> Floats:
        """Return the score of the first list of each pair minus that of the second, shape (n,)."""
        check_is_fitted(self)
        log = as_preferences(X, self.metric_.n_grades)
        difference: Floats = self.metric_.score(log.preferred) - self.metric_.score(log.other)
        return difference

    def predict(self, X: Preferences | ArrayLike) -> Grades:
        """Return 1 where the first list of a pair is better, -1 where the second is, 0 for a tie; shape (n,)."""
        check_is_fitted(self)
        return as_preferences(X, self.metric_.n_grades).verdicts(self.metric_)

    def agreement(self, X: Preferences | PartedLog | ArrayLike) -> Agreement:
        """Return the weight of pairs respected, tied by the metric, and violated."""
        check_is_fitted(self)
        log = X if isinstance(X, PartedLog) else as_preferences(X, self.metric_.n_grades)
        return log.agreement(self.metric_)

    def score(self, X: Preferences | PartedLog | ArrayLike, y: None = None) -> float:
        """Return the share of preferences respected; a tie of the metric counts half (`agreement` counts it apart)."""
        return self.agreement(X).share

    def _identity(self, log: Preferences | PartedLog, **more: str) -> dict[str, Any]:
        """Return what must be equal when a fit is resumed."""
        settings = {name: str(value) for name, value in self.get_params().items()}
        return {"learner": type(self).__name__, **settings, **more, **log_fingerprint(log)}


def qp_pairs(log: Preferences, margin: str | DCG | Utility, tie_epsilon: float | None) -> Pairs:
    """Return the QP's pairs of a log, or of a part of one: the decided pairs with their margins, then the ties.

    A tie asks for ``|<W, d>| <= epsilon``: the two pairs (d, -epsilon) and (-d, -epsilon).
    """
    log = log if log.differing.all() else log[log.differing]
    decided, ties = log.decided, log.ties
    weight = np.ones(1) if decided.weight is None else decided.weight
    margin_of_pairs = margins(decided, margin)
    if tie_epsilon is None or not len(ties):
        return Pairs(decided.preferred, decided.other, margin_of_pairs, weight)
    n, n_ties = len(decided), len(ties)
    tied = np.ones(n_ties) if ties.weight is None else ties.weight
    return Pairs(
        np.concatenate([decided.preferred, ties.preferred, ties.other]),
        np.concatenate([decided.other, ties.other, ties.preferred]),
        np.concatenate([np.broadcast_to(margin_of_pairs, n), np.full(2 * n_ties, -tie_epsilon)]),
        np.concatenate([np.broadcast_to(weight, n), tied, tied]),
    )


def margins(log: Preferences, margin: str | DCG | Utility) -> Floats:
    """Return the margin of each pair of a log, shape (n,), or (1,) where one stands for all.

    Raise InputError if `margin` is unknown, or the log does not have the columns that it needs.
    """
    if isinstance(margin, (DCG, Utility)):
        return np.abs(margin.score(log.preferred) - margin.score(log.other))
    if margin == "unit":
        return np.ones(1)
    if margin == "hamming":
        return (log.preferred != log.other).sum(axis=1).astype(np.float64)
    if margin == "log":
        column = log.strength if log.margin is None else log.margin
        if column is None and len(log):
            raise InputError('margin="log" needs a log with margins or strengths; use "unit" or "hamming"')
        return np.ones(1) if column is None else column
    raise InputError(f"margin={margin!r} is not one of unit, hamming, log, a DCG or a Utility")


class UtilityLearner(PairLearner):
    """Learn the worth of each grade at each position from preferences, by the paper's QP.

    Parameters
    ----------
    C : float
        Weight of the shortfalls against the norm of W. 1 suits clean logs; noisy ones need a smaller C, which
        `choose_C` finds.
    margin : {"unit", "hamming", "log"} or DCG or Utility
        By how much the preferred list should win: 1; the number of positions whose grades differ; the log's own
        `margin` column (its `strength` where there is none); or the difference of the two under that metric. A metric
        that is about right beats 1 if you have one; "hamming" does not.
    monotone : bool
        Whether a better grade must be worth at least as much (ignored for logs of documents). Turn it off to see
        whether the log itself shows that better grades are worth more.
    solver : {"newton", "cvxpy"}
        Newton's method on the counts, or the independent slow reference. Take "cvxpy" for `constraints`, or to check a
        result.
    tie_epsilon : float, optional
        Largest difference that a tie of the log allows; None leaves ties out, counted in `dropped_`.
    constraints : callable, optional
        For ``solver="cvxpy"``: from the cvxpy variable W, shape (K, L), to a list of further constraints.
    n_grades : int, optional
        L where it is larger than the log's.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Maximum Newton steps.

    Attributes
    ----------
    utility_ : Utility
        W, shape (K, L), columns worst to best.
    objective_ : float
        ``||W||^2 + C sum v xi^2`` at W.
    gap_ : float
        Duality gap relative to the objective: no W can be better by more (the solver's own gap with `constraints`).
    n_iter_ : int
        Newton steps.
    visible_ : Visibility
        What the log can and cannot tell.
    dropped_ : dict of str to int
        Number of pairs left out, by reason.

    See Also
    --------
    DCGLearner : Gains and discounts directly; needs fewer judgements.
    choose_C : Choose C by cross-validation.
    identifiable_similarity : Compare two utilities by what a log can tell.

    Notes
    -----
    Zhou et al. 2008, eq. 1 (unit margin), 4 (Hamming margin), 6 (documents).

    Examples
    --------
    >>> from dcglearn.simulate import ground_truth, preference_pairs
    >>> truth = ground_truth("D1")
    >>> log = preference_pairs(truth, 500, seed=0)
    >>> learner = UtilityLearner(C=1.0).fit(log)
    >>> learner.gap_ < 1e-8
    True
    >>> learner.score(preference_pairs(truth, 2000, seed=1)) > 0.9
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        margin: str | DCG | Utility = "unit",
        monotone: bool = True,
        solver: str = "newton",
        tie_epsilon: float | None = None,
        constraints: Callable[[Any], list[Any]] | None = None,
        n_grades: int | None = None,
        tol: float = 1e-9,
        max_iter: int = 200,
    ) -> None:
        self.C = C
        self.margin = margin
        self.monotone = monotone
        self.solver = solver
        self.tie_epsilon = tie_epsilon
        self.constraints = constraints
        self.n_grades = n_grades
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: Log,
        y: None = None,
        start: Utility | None = None,
        *,
        engine: Any = None,
        memory: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> UtilityLearner:
        """Learn from a log.

        Parameters
        ----------
        X : Preferences, array_like of int, shape (n, 2, K), path, ParquetLog, DaskLog or Dask dataframe
            Pairs, the preferred list first; or Parquet files, a folder or a pattern of them, however large.
        y : None
            Ignored; scikit-learn passes it.
        start : Utility, optional
            Initial W, such as the solution at another `C`.
        engine : distributed.Client, str or int, optional
            Learn on a Dask cluster: a client, a scheduler's address, or a number of processes on this machine.
        memory : str or int, optional
            Memory limit of this process, such as ``"2GB"``, where `X` is a path; grades beyond it are kept on disk.
        checkpoint : path, optional
            A file that keeps the sums of every pass.
        resume : bool
            Continue from `checkpoint`, to the same bytes.

        Raises
        ------
        InputError
            If a parameter has no meaning, the log cannot tell any two lists apart, a file is damaged, or the
            checkpoint is of another fit.
        RuntimeError
            If the cluster is lost.
        """
        self._check_parameters()
        with opened_log(X, self.n_grades, engine=engine, memory=memory) as log, one_blas_thread():
            pairs, self.dropped_ = self._pairs(log)
            with Checkpoint.optional(checkpoint, resume, partial(self._identity, log)) as kept:
                solution = self._solve(kept.pairs(pairs), log, None if start is None else start.weights)
            self.visible_ = log.visible()
            self.utility_ = Utility(solution.weights, log.grade_names)
        self.objective_ = solution.objective
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        level = logging.INFO if start is None else logging.DEBUG  # a search for C has many warm fits
        words = "QP with C=%g: relative duality gap %.1e after %d iterations"
        _LOG.log(level, words, self.C, self.gap_, self.n_iter_)
        if not solution.converged:
            warnings.warn(
                f"the QP stopped at a relative duality gap of {solution.gap:.1e}, above tol={self.tol:g}: "
                "raise max_iter, or lower C, which is easier to solve and better for noisy logs "
                + pointer("convergence-warning"),
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def factor(self, *, normalise_gains: bool = False) -> Factoring:
        """Return the nearest gains and discounts, and how near they are; see `factoring.factor`."""
        check_is_fitted(self)
        return factor(self.utility_, self.visible_, normalise_gains=normalise_gains)

    @property
    def metric_(self) -> Utility:
        """The utility."""
        return self.utility_

    def _check_parameters(self) -> None:
        if isinstance(self.C, str) or not (np.isfinite(self.C) and self.C > 0):
            raise InputError(f"C={self.C!r} must be a positive number; small for noisy logs, large for clean ones")
        if self.solver not in ("newton", "cvxpy"):
            raise InputError(f"solver={self.solver!r} is not one of newton, cvxpy")
        if self.constraints is not None and self.solver != "cvxpy":
            raise InputError('constraints= needs solver="cvxpy"')
        if self.tie_epsilon is not None and not (np.isfinite(self.tie_epsilon) and self.tie_epsilon >= 0):
            raise InputError(f"tie_epsilon={self.tie_epsilon!r} must be a number of at least 0, or None")

    def _pairs(self, log: Preferences | PartedLog) -> tuple[PairSource, dict[str, int]]:
        """Return the QP's pairs, and the numbers of pairs left out."""
        epsilon = self.tie_epsilon
        if isinstance(log, PartedLog):
            if self.solver == "cvxpy":
                raise InputError(
                    'solver="cvxpy" needs the whole log in memory: give Preferences, without engine=', see="whole-log"
                )
            dropped, n_ties = dropped_of(log), log.facts.n_ties
            to_pairs = partial(qp_pairs, margin=self.margin, tie_epsilon=epsilon)
            pairs: PairSource = PairParts.of(log.parts.mapped(to_pairs), depth=log.depth)
        else:
            log, dropped = without_equal_lists(log)
            n_ties = len(log.ties)
            pairs = qp_pairs(log, self.margin, epsilon)
        return pairs, dropped | ({"ties": n_ties} if n_ties and epsilon is None else {})

    def _solve(self, pairs: PairSource, log: Preferences | PartedLog, start: Floats | None) -> Solution:
        monotone = self.monotone and log.graded
        if self.solver == "cvxpy":
            assert isinstance(pairs, Pairs)
            return solve_cvxpy(pairs, log.n_grades, self.C, monotone=monotone, constraints=self.constraints)
        options: dict[str, Any] = {"start": start, "tol": self.tol, "max_iter": self.max_iter}
        return solve(pairs, log.n_grades, self.C, monotone=monotone, **options)
