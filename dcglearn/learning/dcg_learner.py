"""`DCGLearner`: gains and discounts straight from judgements, robust to judges who err."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.learning.checkpoint import Checkpoint
from dcglearn.learning.direct_fit import SHARPNESS, Curves, Fit, Model, family, fit, log_curves
from dcglearn.learning.pair_loss import HINGE, LIKELIHOOD, RAMP
from dcglearn.learning.utility_learner import PairLearner, UtilityLearner
from dcglearn.learning.verdicts import verdicts_in_memory, verdicts_in_parts
from dcglearn.logs.open_log import log_fingerprint, opened_log
from dcglearn.logs.parts import PartedLog
from dcglearn.logs.preferences import Preferences
from dcglearn.metric.dcg import DCG, textbook_dcgs

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.logs.open_log import Log
    from dcglearn.logs.visibility import Visibility


LOSSES = {"robust": LIKELIHOOD, "logistic": LIKELIHOOD, "ramp": RAMP, "squared_hinge": HINGE}
SOFTER = (0.0, 1.5, 3.0)
"""Starts with judges less sharp by these factors of e, who err less."""


class DCGLearner(PairLearner):
    """Learn gains and discounts directly from preferences, whatever their noise.

    Parameters
    ----------
    loss : {"auto", "robust", "logistic", "ramp", "squared_hinge"}
        "robust", which is what "auto" stands for, is a logistic likelihood with an error rate that is estimated
        too: near 0 it is "logistic" (Bradley and Terry), near 1/2 it is "ramp", a soft count of the violated pairs.
        So the log itself says how much noise to expect. "squared_hinge" is the paper's loss.
    ridge : float
        Strength of the prior that gains and discounts follow smooth curves; 0 leaves them free.
    prior : DCG, optional
        A metric to shrink to, for logs of a few dozen pairs: bends and slopes are then counted from its own.
    n_starts : int
        How many of the starts (textbook DCGs, a family of curves, the factored QP, `prior`) are descended from, for
        sharp judges who err and for softer ones who err less.
    n_grades : int, optional
        L where it is larger than the log's.
    random_state : int, optional
        Taken for scikit-learn's sake: nothing here is random.
    max_iter : int
        Steps of each descent at most.

    Attributes
    ----------
    dcg_ : DCG
        Gains from 0 to 1, decreasing discounts from 1.
    scale_ : float
        A difference of 1 in `dcg_` is so many units of the judges' noise.
    error_rate_ : float
        How often judges name the wrong list of a clear pair (mean over judges); 0 where it is not estimated.
    rater_error_ : dict of str to float
        The same for each rater, where the log names more than one.
    tie_cut_ : float
        Utility differences, in units of the judges' noise, up to which ties are likely; 0 without ties.
    loss_ : str
        The loss used.
    objective_ : float
        Loss, of `n_effective_` judgements, plus prior; no higher than that of any start.
    n_effective_ : float
        For how many independent judgements the log counts: its weight, but at most its number of distinct lists.
    n_iter_ : int
        Steps of the last descent.
    visible_ : Visibility
        What the log can and cannot tell.
    dropped_ : dict of str to int
        Pairs that were left out, and why.
    curves_ : Curves
        Metric and judges as fitted.

    Notes
    -----
    Case 1 of Zhou et al. 2008, section 5, with the likelihood in place of the margin. Pairs of the same few lists are
    not independent (what a list is worth beyond its grades is shared by all its pairs), hence `n_effective_`.
    Strengths of preference are ordered verdicts, ties lie between them (Rao and Kupper 1967).

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
        X : Preferences, array_like of int, shape (n, 2, K), path, ParquetLog, DaskLog or Dask dataframe
            Pairs, the preferred list first; or Parquet files, a folder or a pattern of them, however large.
        y : None
            Ignored; scikit-learn passes it.
        start : Curves, optional
            Descend from this metric alone, such as from the `curves_` of a similar log.
        engine, memory, checkpoint, resume
            As in `UtilityLearner.fit`.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a parameter has no meaning, the log cannot tell gains and discounts, a file is damaged, or the
            checkpoint is of another fit.
        RuntimeError
            If the cluster is lost.
        """
        with opened_log(X, self.n_grades, engine=engine, memory=memory) as log, one_blas_thread():
            self._check(log)
            self.loss_ = "robust" if self.loss == "auto" else self.loss
            identity = partial(self._identity, log, start)
            with Checkpoint.optional(checkpoint, resume, identity) as kept:
                self._fit(log, start, kept)
            self.visible_ = log.visible()
            self.dcg_ = self._named(log)
        return self

    @property
    def metric_(self) -> DCG:
        """The DCG."""
        return self.dcg_

    def predict_proba(self, X: Preferences | ArrayLike) -> Floats:
        """Return the probabilities that a judge prefers the first list, calls a tie, prefers the second; shape (n, 3).

        Raises
        ------
        InputError
            If the loss is not a likelihood, so that nothing says how probable a verdict is.
        """
        check_is_fitted(self)
        if LOSSES[self.loss_] != LIKELIHOOD:
            raise InputError(f'loss="{self.loss_}" gives no probabilities; "robust" and "logistic" do')
        z = self.scale_ * self.decision_function(X)
        ahead, behind = expit(z - self.tie_cut_), expit(-z - self.tie_cut_)
        wrong = self.error_rate_
        first, second = (1 - wrong) * ahead + wrong * behind, (1 - wrong) * behind + wrong * ahead
        return np.column_stack([first, np.maximum(1 - first - second, 0.0), second])

    def _check(self, log: Preferences | PartedLog) -> None:
        if self.loss not in ("auto", *LOSSES):
            raise InputError(f"loss={self.loss!r} is not one of auto, {', '.join(LOSSES)}")
        if not (np.isfinite(self.ridge) and self.ridge >= 0):
            raise InputError(f"ridge={self.ridge!r} must be a number of at least 0; 2 is the default")
        whole_number(self.n_starts, "n_starts", 1)
        if not log.graded:
            raise InputError("a log of documents has no grades, so no gains: use UtilityLearner")
        if log.n_grades < 2:
            raise InputError(
                "the log knows one grade only, so there is no gain to learn; give n_grades= or more grades"
            )
        if self.prior is not None and (self.prior.n_grades, self.prior.depth) != (log.n_grades, log.depth):
            raise InputError(
                f"prior has {self.prior.n_grades} grades and {self.prior.depth} positions, the log has "
                f"{log.n_grades} and {log.depth}"
            )

    def _identity(self, log: Preferences | PartedLog, start: Curves | None) -> dict[str, Any]:
        """Return what must be the same when a fit is resumed."""
        settings = {name: str(value) for name, value in self.get_params().items()}
        return {"learner": "DCGLearner", **settings, "start": str(start), **log_fingerprint(log)}

    def _fit(self, log: Preferences | PartedLog, start: Curves | None, kept: Any) -> None:
        kind = LOSSES[self.loss_]
        found = verdicts_in_parts(log, kind) if isinstance(log, PartedLog) else verdicts_in_memory(log, kind)
        self.dropped_ = found.dropped
        erring = self.loss_ == "robust"
        judged = found.judgements(one_rater=not erring or len(found.raters) == 1)
        raters = found.raters
        model = Model(
            depth=log.depth,
            n_grades=log.n_grades,
            kind=kind,
            erring=erring,
            n_raters=len(raters) if erring else 1,
            n_levels=found.n_levels,
            ties=found.has_ties,
            ridge=float(self.ridge),
            centre=_centre(found.sample(4096), self.prior),
            target=None if self.prior is None else log_curves(self.prior.gains, self.prior.discounts),
            margins=found.margins,
        )
        total = judged.total_weight
        self.n_effective_ = min(total, float(found.n_lists()))
        n_free = model.n_grades - 2 + model.depth
        if self.n_effective_ < n_free:
            warnings.warn(
                f"the log counts for {self.n_effective_:g} independent judgements, fewer than the {n_free} gains and "
                "discounts to learn: what it does not show is set by the prior (see prior=)",
                UserWarning,
                stacklevel=3,
            )
        share = self.n_effective_ / total
        given = None if start is None else [(start.gains, start.discounts)]
        starts = self._starts(model, found.sample(20_000)) if given is None else _softened(model, given)
        done = fit(model, kept.pairs(judged), share, starts, n_starts=self.n_starts, max_iter=self.max_iter)
        self._keep(done, model, raters)

    def _starts(self, model: Model, few: Preferences) -> list[list[Floats]]:
        metrics = family(model.n_grades, model.depth)
        metrics += [(dcg.gains, dcg.discounts) for dcg in textbook_dcgs(model.n_grades, model.depth).values()]
        metrics += [(self.prior.gains, self.prior.discounts)] if self.prior is not None else []
        factored = UtilityLearner(C=0.1, tol=1e-3).fit(few.decided).factor()
        metrics.append((factored.gains, factored.discounts))
        return _softened(model, metrics)

    def _keep(self, found: Fit, model: Model, raters: NDArray[Any]) -> None:
        curves = self.curves_ = found.curves
        self.scale_ = curves.sharpness * float(curves.discounts[0])
        self.error_rate_ = float(curves.errors.mean())
        self.rater_error_ = (
            {str(name): float(error) for name, error in zip(raters, curves.errors, strict=True)}
            if model.n_raters > 1
            else {}
        )
        self.tie_cut_ = float(curves.cuts[1]) if model.ties else 0.0
        self.objective_, self.n_iter_ = found.objective, found.n_iter
        if not found.converged:
            warnings.warn(
                f"the descent stopped after {found.n_iter} steps short of a stationary point: raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        contrary = [name for name, error in self.rater_error_.items() if error > 0.5]
        if contrary:
            warnings.warn(
                f"raters who contradict the others more often than not: {', '.join(contrary)}; their verdicts count "
                "the other way round, so check whether they mistook the sides",
                UserWarning,
                stacklevel=4,
            )

    def _named(self, log: Preferences | PartedLog) -> DCG:
        gains, discounts = self.curves_.gains, self.curves_.discounts
        return DCG(gains / gains[-1], discounts / discounts[0], log.grade_names, _notes(self.visible_))


def _softened(model: Model, metrics: list[tuple[Floats, Floats]]) -> list[list[Floats]]:
    """Return the parameters of each metric, in a group for every way to explain noise."""
    return [[model.start(*metric, softer=softer) for metric in metrics] for softer in SOFTER]


def _notes(visible: Visibility) -> tuple[str, ...]:
    """Say which parts of the curves no pair of such lists can show."""
    found = []
    if visible.unseen_grades:
        names = ", ".join(str(grade) for grade in visible.unseen_grades)
        found.append(f"grade {names} never occurs in the log; its gain continues the curve of the others")
    if visible.free_columns:
        found.append(
            "the two lists of a pair never differ in their mix of grades, so the log shows the discounts' differences "
            "only; their level is that of the smoothest curve"
        )
    return tuple(found)


def _centre(few: Preferences, prior: DCG | None) -> float:
    """Return the log sharpness at which a typical pair differs by 100 times the judges' noise."""
    reference = prior if prior is not None else DCG.standard(few.n_grades, few.depth)
    size = float(reference.discounts.sum() * np.ptp(reference.gains))
    typical = np.sqrt(np.mean((reference.score(few.preferred) - reference.score(few.other)) ** 2)) / size
    if not typical > 0:
        typical = 0.1
    return float(SHARPNESS - np.log(typical))
