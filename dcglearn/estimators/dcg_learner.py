"""`DCGLearner`: gains and discounts learned directly from judgements, with the judges' error rates."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dcglearn.estimators.saved_learner import BEYOND, Beyond, SavedLearner
from dcglearn.estimators.utility_learner import PairLearner
from dcglearn.foundation.files import is_path, read_json_object
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.learning.checkpoint import Checkpoint
from dcglearn.learning.cold_starts import cold_starts, known_starts, log_sharpness
from dcglearn.learning.direct_fit import Curves, Model, log_curves
from dcglearn.learning.direct_search import fit_from
from dcglearn.learning.fit_warnings import notes_of, warn_of_contrary_raters, warn_of_descent, warn_of_few_judgements
from dcglearn.learning.forms import FORMS, FormScore, candidate, cross_validated_forms, form_of, with_gains
from dcglearn.learning.judgement_kernel import HINGE, LIKELIHOOD, SIGMOID, chances
from dcglearn.learning.list_utility_fit import parameters_of
from dcglearn.learning.pair_loss import Judgements
from dcglearn.learning.verdicts import verdicts_in_memory, verdicts_in_parts
from dcglearn.learning.warm_start import WarmStart
from dcglearn.metric.dcg import DCG
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.reading import read_metric
from dcglearn.parts.open_log import opened_log
from dcglearn.parts.parts import PartedLog
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.form_test import FittedDCG, p_value

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats
    from dcglearn.learning.pair_loss import JudgementSource
    from dcglearn.metric.dcg import DCGLike
    from dcglearn.parts.open_log import Log


_LOG = logging.getLogger(__name__)

REFITS = ("never", "if_worse")
"""When a warm fit is done again from all starts."""

LEAST_WEIGHT = 0.01
"""Smallest sum of the weights of a log."""

LOSSES = {"robust": LIKELIHOOD, "logistic": LIKELIHOOD, "sigmoid": SIGMOID, "squared_hinge": HINGE}
"""Losses by name, and the kernel of each."""


class DCGLearner(PairLearner):
    """Learn gains and discounts directly from preferences, clean or noisy.

    Parameters
    ----------
    loss : {"auto", "robust", "logistic", "sigmoid", "squared_hinge"}
        "robust" (the meaning of "auto") is a logistic likelihood that also estimates the judges' error rate: near 0 it
        is "logistic" (Bradley and Terry), near 1/2 it is "sigmoid", a soft count of the violated pairs. So the noise is
        learned from the log. "squared_hinge" is the paper's loss. Keep "auto"; the others are for comparisons.
    ridge : float
        Strength of the prior that gains and discounts follow smooth curves; 0 leaves them free. Keep 2, or let
        `ridge_path` choose. For a metric with one large step between grades and a few dozen pairs, 0.1 is better.
    prior : DCG, file or name, optional
        A metric to shrink to, for logs of a few dozen pairs: bends and slopes are then measured from its own. Take the
        metric that you use now.
    n_starts : int
        Number of descents from the best of the starts (textbook DCGs, a family of curves, the factored QP, `prior`),
        for sharp judges who err and again for softer judges who err less. More take longer and can find a lower
        objective.
    n_grades : int, optional
        L where it is larger than the log's.
    max_iter : int
        Maximum iterations of each descent. Raise it after a ConvergenceWarning.
    form : {"dcg", "saturation", "best", "auto"}
        What a list is worth: the sum of gains times discounts, or a `ListUtility` with stop probabilities, or with a
        share of the best result, each of which contains DCG. "auto" leaves the DCG only for a form that fits the log
        better than it fits nearly all logs simulated from the DCG, and predicts held-out judgements no worse.
        Keep "dcg" unless `lack_of_fit` names another form.

    Attributes
    ----------
    dcg_ : DCG
        Gains from 0 to 1, decreasing discounts from 1; whatever the form, the DCG that fits the log best.
    utility_ : ListUtility
        The metric in the form chosen, on the same scale.
    form_ : str
        The form chosen.
    form_scores_ : dict of str to FormScore
        With ``form="auto"`` how well each form fits and predicts; else empty.
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
        Loss of `n_effective_` judgements plus prior.
    n_effective_ : float
        Number of independent judgements in the log: its weight, but at most its number of distinct lists.
    n_iter_ : int
        Iterations of the last descent.
    warm_ : bool
        Whether the fit is that from the `start` given.
    visible_ : Visibility
        What the log can and cannot tell; not saved.
    dropped_ : dict of str to int
        Number of pairs left out, by reason.
    curves_ : Curves
        The fitted metric and judges.

    See Also
    --------
    UtilityLearner : The paper's quadratic programme.
    bootstrap_bands : How exactly the log determines the result.
    ridge_path : Choose the strength of the prior.
    suggest_pairs : Choose the next pairs to judge.
    compare_learners : Compare learners on held-out pairs.

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

    _utility: ListUtility | None

    def __init__(
        self,
        loss: str = "auto",
        ridge: float = 2.0,
        prior: DCGLike | None = None,
        n_starts: int = 6,
        n_grades: int | None = None,
        max_iter: int = 2000,
        form: str = "dcg",
    ) -> None:
        self.loss = loss
        self.ridge = ridge
        self.prior = prior
        self.n_starts = n_starts
        self.n_grades = n_grades
        self.max_iter = max_iter
        self.form = form

    def fit(
        self,
        X: Log,
        y: None = None,
        start: DCGLearner | Curves | DCG | str | os.PathLike[str] | None = None,
        *,
        refit: str = "never",
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
        start : DCGLearner, path, Curves or DCG, optional
            The only start: a fitted learner or its saved file, its `curves_`, or a DCG or its file. A learner that was
            fitted to nearly the same log saves most of the time.
        refit : {"never", "if_worse"}
            With a `start`: "if_worse" tries all starts too if one of them has a lower objective than the warm fit, and
            keeps the better fit. The objective is not convex, so that a start far from the log's optimum may lead to
            another one.
        engine, memory, checkpoint, resume
            As in `UtilityLearner.fit`.

        Raises
        ------
        InputError
            If a parameter has no meaning, the log cannot tell gains and discounts, the start has other numbers of
            grades or positions, another loss or impossible values, a file is damaged, or the checkpoint is of another
            fit; if a form beyond the DCG is asked of a log in parts, or with a checkpoint.
        RuntimeError
            If the cluster is lost.
        """
        start, beyond = self._starts_of(start)
        warm = None if start is None else WarmStart.of(start)
        if refit not in REFITS:
            raise InputError(f"refit={refit!r} is not one of {', '.join(REFITS)}")
        with opened_log(X, self.n_grades, engine=engine, memory=memory) as log, one_blas_thread():
            self.loss_ = "robust" if self.loss == "auto" else self.loss
            self._check(log, checkpoint)
            if warm is not None:
                warm.check_fit((log.n_grades, log.depth), self.loss_)
            identity = partial(self._identity_from, log, warm, refit)
            with Checkpoint.optional(checkpoint, resume, identity) as kept:
                model, judgements, theta = self._fit(log, warm, kept, refit)
            self.visible_ = log.visible()
            gains, discounts = self.curves_.gains, self.curves_.discounts
            self.dcg_ = DCG(gains / gains[-1], discounts / discounts[0], log.grade_names, notes_of(self.visible_))
            self.form_, self._utility = self.form, None
            self.form_scores_: dict[str, FormScore] = {}
            if self.form != "dcg" and isinstance(log, Preferences) and isinstance(judgements, Judgements):
                share = self.n_effective_ / judgements.total_weight
                objective, search = self.objective_, (known_starts(model), self.n_starts, self.max_iter)
                self._fit_form(log, FittedDCG(model, judgements, share, theta, objective, *search), beyond)
        level = logging.INFO if warm is None else logging.DEBUG  # a bootstrap has hundreds of warm fits
        words = "%s loss: objective %.6g after %d iterations, the log counts as %.0f judgements"
        _LOG.log(level, words, self.loss_, self.objective_, self.n_iter_, self.n_effective_)
        return self

    @property
    def utility_(self) -> ListUtility:
        """The metric as a `ListUtility`."""
        check_is_fitted(self)
        return ListUtility.of_dcg(self.dcg_) if self._utility is None else self._utility

    @property
    def metric_(self) -> DCG | ListUtility:  # type: ignore[override]
        """The DCG or, in another form, the list utility."""
        return self.dcg_ if self._utility is None else self._utility

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
        return chances(z, self.tie_threshold_, np.full(len(z), self.error_rate_))

    def save(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the fitted learner, without its log, as strict JSON; ``force=False`` refuses an existing file.

        Raises
        ------
        NotFittedError
            If the learner is not fitted.
        InputError
            If the file cannot be written, or exists and `force` is false.
        """
        check_is_fitted(self)
        SavedLearner(
            parameters={**self.get_params(), "prior": self._prior(self.dcg_.n_grades, self.dcg_.depth)},
            loss=self.loss_,
            dcg=self.dcg_,
            curves=self.curves_,
            raters=tuple(self.rater_error_),
            ties=self.tie_threshold_ > 0,
            objective=self.objective_,
            n_effective=self.n_effective_,
            n_iter=self.n_iter_,
            dropped=self.dropped_,
            warm=self.warm_,
            beyond=None if self.form == "dcg" else Beyond(self.form_, self.form_scores_, self._utility),
        ).save(path, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DCGLearner:
        """Read what `save` wrote: a fitted learner that predicts, and from which a fit can start.

        Raises
        ------
        InputError
            If the file is damaged, of another kind, or of a later version; it names the file.
        """
        saved = SavedLearner.load(path)
        try:
            learner = cls(**saved.parameters)
        except TypeError as error:
            raise InputError(f"{path}: the parameters are not those of a DCGLearner ({error})") from error
        learner.loss_, learner.dcg_ = saved.loss, saved.dcg
        learner.objective_, learner.n_effective_ = float(saved.objective), float(saved.n_effective)
        learner.n_iter_, learner.dropped_, learner.warm_ = saved.n_iter, saved.dropped, saved.warm
        beyond = saved.beyond or Beyond("dcg", {}, None)
        learner.form_, learner.form_scores_, learner._utility = beyond.form, beyond.scores, beyond.utility
        learner._keep(saved.curves, saved.raters, ties=saved.ties)
        return learner

    def _starts_of(self, start: Any) -> tuple[Any, DCGLearner | None]:
        """Return what the DCG starts from, and the learner that the form starts from, where it has the same form."""
        if is_path(start) and read_json_object(start).get("format") == f"dcglearn.{BEYOND}":
            start = type(self).load(start)
        if getattr(start, "_utility", None) is None:
            return start, None
        return start.dcg_, start if start.form_ == self.form else None

    def _check(self, log: Preferences | PartedLog, checkpoint: Any = None) -> None:
        if self.loss not in ("auto", *LOSSES):
            raise InputError(f"loss={self.loss!r} is not one of auto, {', '.join(LOSSES)}")
        if not (np.isfinite(self.ridge) and self.ridge >= 0):
            raise InputError(f"ridge={self.ridge!r} must be a number of at least 0; 2 is the default")
        whole_number(self.n_starts, "n_starts", 1)
        self._check_form(log, checkpoint)
        if not log.graded:
            raise InputError("a log of documents has no grades, so no gains: use UtilityLearner")
        if log.n_grades < 2:
            raise InputError("the log has one grade only, so there is no gain to learn; give n_grades= or more grades")
        prior = self._prior(log.n_grades, log.depth)
        if prior is not None and (prior.n_grades, prior.depth) != (log.n_grades, log.depth):
            raise InputError(
                f"prior has {prior.n_grades} grades and {prior.depth} positions, the log has {log.n_grades} and "
                f"{log.depth}"
            )

    def _check_form(self, log: Preferences | PartedLog, checkpoint: Any) -> None:
        if self.form not in (*FORMS, "auto"):
            raise InputError(f"form={self.form!r} is not one of {', '.join(FORMS)}, auto")
        if self.form == "dcg":
            return
        if isinstance(log, PartedLog) or checkpoint is not None:
            raise InputError(
                f'form="{self.form}" needs the log in memory, without checkpoint=; form="dcg" does not', see="whole-log"
            )
        if self.form == "auto" and LOSSES.get(self.loss_) != LIKELIHOOD:
            raise InputError(
                f'form="auto" compares likelihoods, and loss="{self.loss}" is none: '
                'give form="dcg", "saturation" or "best", or loss="robust"'
            )

    def _prior(self, n_grades: int, depth: int) -> DCG | None:
        """Return the prior as a DCG; one without a depth of its own is as deep as the lists."""
        return None if self.prior is None else read_metric(self.prior, n_grades, depth, name="prior")

    def _identity_from(self, log: Preferences | PartedLog, warm: WarmStart | None, refit: str) -> dict[str, Any]:
        """Return what must be equal when a fit from a start is resumed."""
        identity = self._identity(log, start=str(warm), **({} if warm is None else {"refit": refit}))
        del identity["form"]  # a checkpoint is that of a DCG
        return identity

    def _fit(
        self, log: Preferences | PartedLog, warm: WarmStart | None, kept: Any, refit: str
    ) -> tuple[Model, JudgementSource, Floats]:
        """Fit the DCG; return the model, the judgements and the parameters."""
        kind = LOSSES[self.loss_]
        verdicts = verdicts_in_parts(log, kind) if isinstance(log, PartedLog) else verdicts_in_memory(log, kind)
        self.dropped_ = verdicts.dropped
        with_errors = self.loss_ == "robust"
        n_raters = len(verdicts.raters) if with_errors else 1
        judgements = verdicts.judgements(one_rater=n_raters == 1)
        prior = self._prior(log.n_grades, log.depth)
        model = Model(
            depth=log.depth,
            n_grades=log.n_grades,
            kind=kind,
            with_errors=with_errors,
            n_raters=n_raters,
            n_levels=verdicts.n_levels,
            ties=verdicts.has_ties,
            ridge=float(self.ridge),
            centre=log_sharpness(verdicts.sample(4096), prior),
            target=None if prior is None else log_curves(prior.gains, prior.discounts),
            margins=verdicts.margins,
        )
        total = judgements.total_weight
        self.n_effective_ = min(total, float(verdicts.n_lists()))
        if total < LEAST_WEIGHT:
            raise InputError(
                f"the weights of the log sum to {total:g}, far less than one judgement: multiply all of them by a "
                "common factor, so that they count judgements"
            )
        warn_of_few_judgements(self.n_effective_, model.n_grades - 2 + model.depth, stacklevel=3)
        raters = tuple(map(str, verdicts.raters)) if n_raters > 1 else ()
        near = None if warm is None else warm.parameters(model, raters)
        starts_of = partial(cold_starts, model, verdicts, prior)
        search: dict[str, Any] = {"n_starts": self.n_starts, "max_iter": self.max_iter, "if_worse": refit == "if_worse"}
        result, self.warm_ = fit_from(
            near, starts_of, model, kept.pairs(judgements), self.n_effective_ / total, **search
        )
        self._keep(result.curves, raters, ties=model.ties)
        self.objective_, self.n_iter_ = result.objective, result.n_iter
        warn_of_descent(result.converged, result.n_iter, stacklevel=3)
        warn_of_contrary_raters(self.rater_error_, stacklevel=3)
        return model, judgements, result.theta

    def _fit_form(self, log: Preferences, dcg: FittedDCG, beyond: DCGLearner | None) -> None:
        """Fit the form, from the DCG or from the learner to start from; or choose it."""
        raters, start = tuple(self.rater_error_), None
        if beyond is not None:
            curves = WarmStart.of(beyond).parameters(dcg.model, raters)[0]
            start = np.append(curves, parameters_of(beyond.utility_, self.form_))
        fits = {form: dcg.with_form(form, start) for form in (FORMS[1:] if self.form == "auto" else [self.form])}
        if self.form == "auto":
            gains = {form: dcg.objective - result.objective for form, result in fits.items()}
            scores = with_gains(cross_validated_forms(self, log), gains)
            best = candidate(scores)
            if best != "dcg":
                found = p_value(gains[best], list(fits), dcg, log[log.differing])
                scores[best] = replace(scores[best], p_value=found)
            self.form_scores_, self.form_ = scores, form_of(scores)
        if self.form_ == "dcg":
            return
        result = fits[self.form_]
        self._keep(result.curves, raters, ties=dcg.model.ties)
        self.objective_, self.n_iter_, self.warm_ = result.objective, result.n_iter, start is not None
        self._utility = result.utility(self.dcg_.grade_names, self.dcg_.notes)
        warn_of_descent(result.converged, result.n_iter, stacklevel=3)

    def _keep(self, curves: Curves, raters: Sequence[str], *, ties: bool) -> None:
        """Set the attributes that follow from the curves; `raters` names several judges."""
        self.curves_ = curves
        self.scale_ = curves.sharpness * float(curves.discounts[0])
        self.error_rate_ = float(curves.errors.mean())
        self.rater_error_ = (
            {name: float(error) for name, error in zip(raters, curves.errors, strict=True)} if raters else {}
        )
        self.tie_threshold_ = float(curves.thresholds[1]) if ties else 0.0
