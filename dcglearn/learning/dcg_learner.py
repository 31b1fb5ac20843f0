"""`DCGLearner`: gains and discounts learned directly from judgements, with the judges' error rates."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcglearn.foundation.renamed import current_word, warn_of_rename
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.learning.checkpoint import Checkpoint
from dcglearn.learning.direct_fit import SHARPNESS, Curves, Fit, Model, family, fit, log_curves
from dcglearn.learning.pair_loss import HINGE, LIKELIHOOD, SIGMOID
from dcglearn.learning.utility_learner import PairLearner, UtilityLearner
from dcglearn.learning.verdicts import verdicts_in_memory, verdicts_in_parts
from dcglearn.logs.open_log import opened_log
from dcglearn.logs.parts import PartedLog
from dcglearn.logs.preferences import Preferences
from dcglearn.metric.dcg import DCG, textbook_dcgs

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.logs.open_log import Log
    from dcglearn.logs.visibility import Visibility


LOSSES = {"robust": LIKELIHOOD, "logistic": LIKELIHOOD, "sigmoid": SIGMOID, "squared_hinge": HINGE}
"""Losses by name, and the kernel of each."""

SOFTER = (0.0, 1.5, 3.0)
"""Each start is tried with judges less sharp by these log units, who err less."""


class DCGLearner(PairLearner):
    """Learn gains and discounts directly from preferences, clean or noisy.

    Parameters
    ----------
    loss : {"auto", "robust", "logistic", "sigmoid", "squared_hinge"}
        "robust" (the meaning of "auto") is a logistic likelihood that also estimates the judges' error rate: near 0 it
        is "logistic" (Bradley and Terry), near 1/2 it is "sigmoid", a soft count of the violated pairs. So the noise
        is learned from the log. "squared_hinge" is the paper's loss.
    ridge : float
        Strength of the prior that gains and discounts follow smooth curves; 0 leaves them free.
    prior : DCG, optional
        A metric to shrink to, for logs of a few dozen pairs: bends and slopes are then measured from its own.
    n_starts : int
        Number of descents from the best of the starts (textbook DCGs, a family of curves, the factored QP, `prior`),
        for sharp judges who err and again for softer judges who err less.
    n_grades : int, optional
        L where it is larger than the log's.
    random_state : int, optional
        Deprecated: nothing here is random.
    max_iter : int
        Maximum iterations of each descent.

    Attributes
    ----------
    dcg_ : DCG
        Gains from 0 to 1, decreasing discounts from 1.
    scale_ : float
        Size of a difference of 1 in `dcg_`, in units of the judges' noise.
    error_rate_ : float
        How often judges name the wrong list of a clear pair (mean over judges); 0 where it is not estimated.
    rater_error_ : dict of str to float
        The same for each rater, where the log names more than one.
    tie_threshold_ : float
        Utility difference, in units of the judges' noise, up to which ties are likely; 0 without ties.
    loss_ : str
        The loss used.
    objective_ : float
        Loss of `n_effective_` judgements plus prior; no higher than that of any start.
    n_effective_ : float
        Number of independent judgements in the log: its weight, but at most its number of distinct lists.
    n_iter_ : int
        Iterations of the last descent.
    visible_ : Visibility
        What the log can and cannot tell.
    dropped_ : dict of str to int
        Number of pairs left out, by reason.
    curves_ : Curves
        The fitted metric and judges.

    Notes
    -----
    Case 1 of Zhou et al. 2008, section 5, with the likelihood in place of the margin. Pairs of the same few lists are
    not independent (all pairs of a list share its worth beyond its grades), hence `n_effective_`. Strengths of
    preference are ordered verdicts; ties lie between them (Rao and Kupper 1967).

    Examples
    --------
    >>> from dcglearn.simulate import ground_truth, preference_pairs
    >>> truth = ground_truth("D1")
    >>> learner = DCGLearner().fit(preference_pairs(truth, 100, n_flips=10, seed=0))
    >>> learner.score(preference_pairs(truth, 2000, seed=1)) > 0.9
    True
    """

    def __init__(
        self,
        loss: str = "auto",
        ridge: float = 2.0,
        prior: DCG | None = None,
        n_starts: int = 2,
        n_grades: int | None = None,
        random_state: int | None = None,
        max_iter: int = 2000,
    ) -> None:
        self.loss = loss
        self.ridge = ridge
        self.prior = prior
        self.n_starts = n_starts
        self.n_grades = n_grades
        self.random_state = random_state
        self.max_iter = max_iter

    def fit(
        self,
        X: Log,
        y: None = None,
        start: Curves | None = None,
        *,
        engine: Any = None,
        memory: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> DCGLearner:
        """Learn from a log.

        Parameters
        ----------
        X, y
            As in `UtilityLearner.fit`.
        start : Curves, optional
            The only start, such as the `curves_` of a similar log.
        engine, memory, checkpoint, resume
            As in `UtilityLearner.fit`.

        Raises
        ------
        InputError
            If a parameter has no meaning, the log cannot tell gains and discounts, a file is damaged, or the
            checkpoint is of another fit.
        RuntimeError
            If the cluster is lost.
        """
        loss = current_word(self.loss, "loss", {"ramp": "sigmoid"})
        if self.random_state is not None:
            message = "random_state does nothing and will be removed in the next release"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        with opened_log(X, self.n_grades, engine=engine, memory=memory) as log, one_blas_thread():
            self._check(log, loss)
            self.loss_ = "robust" if loss == "auto" else loss
            with Checkpoint.optional(checkpoint, resume, partial(self._identity, log, start=str(start))) as kept:
                self._fit(log, start, kept)
            self.visible_ = log.visible()
        gains, discounts = self.curves_.gains, self.curves_.discounts
        self.dcg_ = DCG(gains / gains[-1], discounts / discounts[0], log.grade_names, _notes(self.visible_))
        return self

    @property
    def metric_(self) -> DCG:
        """The DCG."""
        return self.dcg_

    @property
    def tie_cut_(self) -> float:
        """Old name of `tie_threshold_`."""
        warn_of_rename("tie_cut_", "tie_threshold_")
        return self.tie_threshold_

    def predict_proba(self, X: Preferences | ArrayLike) -> Floats:
        """Return the probabilities that a judge prefers the first list, calls a tie, prefers the second; shape (n, 3).

        Raises
        ------
        InputError
            If the loss is not a likelihood, so that verdicts have no probabilities.
        """
        check_is_fitted(self)
        if LOSSES[self.loss_] != LIKELIHOOD:
            raise InputError(f'loss="{self.loss_}" gives no probabilities; "robust" and "logistic" do')
        z = self.scale_ * self.decision_function(X)
        ahead, behind = expit(z - self.tie_threshold_), expit(-z - self.tie_threshold_)
        wrong = self.error_rate_
        first, second = (1 - wrong) * ahead + wrong * behind, (1 - wrong) * behind + wrong * ahead
        return np.column_stack([first, np.maximum(1 - first - second, 0.0), second])

    def _check(self, log: Preferences | PartedLog, loss: str) -> None:
        if loss not in ("auto", *LOSSES):
            raise InputError(f"loss={loss!r} is not one of auto, {', '.join(LOSSES)}")
        if not (np.isfinite(self.ridge) and self.ridge >= 0):
            raise InputError(f"ridge={self.ridge!r} must be a number of at least 0; 2 is the default")
        whole_number(self.n_starts, "n_starts", 1)
        if not log.graded:
            raise InputError("a log of documents has no grades, so no gains: use UtilityLearner")
        if log.n_grades < 2:
            raise InputError("the log has one grade only, so there is no gain to learn; give n_grades= or more grades")
        if self.prior is not None and (self.prior.n_grades, self.prior.depth) != (log.n_grades, log.depth):
            raise InputError(
                f"prior has {self.prior.n_grades} grades and {self.prior.depth} positions, the log has "
                f"{log.n_grades} and {log.depth}"
            )

    def _fit(self, log: Preferences | PartedLog, start: Curves | None, kept: Any) -> None:
        kind = LOSSES[self.loss_]
        verdicts = verdicts_in_parts(log, kind) if isinstance(log, PartedLog) else verdicts_in_memory(log, kind)
        self.dropped_ = verdicts.dropped
        with_errors = self.loss_ == "robust"
        n_raters = len(verdicts.raters) if with_errors else 1
        judgements = verdicts.judgements(one_rater=n_raters == 1)
        model = Model(
            depth=log.depth,
            n_grades=log.n_grades,
            kind=kind,
            with_errors=with_errors,
            n_raters=n_raters,
            n_levels=verdicts.n_levels,
            ties=verdicts.has_ties,
            ridge=float(self.ridge),
            centre=_log_sharpness(verdicts.sample(4096), self.prior),
            target=None if self.prior is None else log_curves(self.prior.gains, self.prior.discounts),
            margins=verdicts.margins,
        )
        total = judgements.total_weight
        self.n_effective_ = min(total, float(verdicts.n_lists()))
        n_free = model.n_grades - 2 + model.depth
        if self.n_effective_ < n_free:
            warnings.warn(
                f"the log counts for {self.n_effective_:g} independent judgements, fewer than the {n_free} gains and "
                "discounts to learn: what it does not show is set by the prior (see prior=)",
                UserWarning,
                stacklevel=3,
            )
        if start is None:
            metrics = self._start_metrics(model, verdicts.sample(20_000))
        else:
            metrics = [(start.gains, start.discounts)]
        starts = [[model.start(*metric, softer=softer) for metric in metrics] for softer in SOFTER]
        share = self.n_effective_ / total
        result = fit(model, kept.pairs(judgements), share, starts, n_starts=self.n_starts, max_iter=self.max_iter)
        self._keep(result, model, verdicts.raters)

    def _start_metrics(self, model: Model, sample: Preferences) -> list[tuple[Floats, Floats]]:
        """Return gains and discounts to start from: curves, textbook DCGs, the prior, the factored QP of a sample."""
        dcgs = [*textbook_dcgs(model.n_grades, model.depth).values(), *([] if self.prior is None else [self.prior])]
        dcgs.append(UtilityLearner(C=0.1, tol=1e-3).fit(sample.decided).factor().dcg)
        return family(model.n_grades, model.depth) + [(dcg.gains, dcg.discounts) for dcg in dcgs]

    def _keep(self, result: Fit, model: Model, raters: NDArray[Any]) -> None:
        curves = self.curves_ = result.curves
        self.scale_ = curves.sharpness * float(curves.discounts[0])
        self.error_rate_ = float(curves.errors.mean())
        errors = zip(raters, curves.errors, strict=True) if model.n_raters > 1 else ()
        self.rater_error_ = {str(name): float(error) for name, error in errors}
        self.tie_threshold_ = float(curves.thresholds[1]) if model.ties else 0.0
        self.objective_, self.n_iter_ = result.objective, result.n_iter
        if not result.converged:
            warnings.warn(
                f"the descent stopped after {result.n_iter} iterations, before a stationary point: raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        contrary = [name for name, error in self.rater_error_.items() if error > 0.5]
        if contrary:
            warnings.warn(
                f"raters who contradict the others more often than not: {', '.join(contrary)}; their verdicts are "
                "counted reversed: check whether they mistook the sides",
                UserWarning,
                stacklevel=4,
            )


def _notes(visible: Visibility) -> tuple[str, ...]:
    """Return notes on the parts of the curves that pairs of such lists cannot show."""
    notes = []
    if visible.unseen_grades:
        names = ", ".join(str(grade) for grade in visible.unseen_grades)
        notes.append(f"grade {names} never occurs in the log; its gain continues the curve of the others")
    if visible.free_columns:
        notes.append(
            "the two lists of a pair never differ in their mix of grades, so the log shows the discounts' differences "
            "only; their level is that of the smoothest curve"
        )
    return tuple(notes)


def _log_sharpness(sample: Preferences, prior: DCG | None) -> float:
    """Return the log sharpness at which a typical pair differs by 100 times the judges' noise."""
    reference = prior if prior is not None else DCG.standard(sample.n_grades, sample.depth)
    size = float(reference.discounts.sum() * np.ptp(reference.gains))
    typical = np.sqrt(np.mean((reference.score(sample.preferred) - reference.score(sample.other)) ** 2)) / size
    return float(SHARPNESS - np.log(typical if typical > 0 else 0.1))
