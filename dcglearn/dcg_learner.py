"""`DCGLearner`: gains and discounts straight from judgements, robust to judges who err."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcglearn.dcg import DCG, textbook_dcgs
from dcglearn.direct import SHARPNESS, Curves, Fit, Model, family, fit, log_curves
from dcglearn.learn import PairLearner, UtilityLearner, without_equal_lists
from dcglearn.pair_loss import HINGE, LIKELIHOOD, RAMP, Judgements
from dcglearn.pair_sums import one_blas_thread
from dcglearn.preferences import Preferences, as_preferences
from dcglearn.validation import InputError, whole_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dcglearn.gauge import Visibility

    Floats = NDArray[np.float64]

LOSSES = {"robust": LIKELIHOOD, "logistic": LIKELIHOOD, "ramp": RAMP, "squared_hinge": HINGE}
SOFTER = (0.0, 1.5, 3.0)
"""Starts with judges less sharp by these factors of e, who err less."""

MOST_STRENGTHS = 7
"""More distinct strengths than this are binned: each costs a parameter."""


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

    def fit(self, X: Preferences | ArrayLike, y: None = None, start: Curves | None = None) -> DCGLearner:
        """Learn from a log.

        Parameters
        ----------
        X : Preferences, or array_like of int, shape (n, 2, K)
            Pairs, the preferred list first.
        y : None
            Ignored; scikit-learn passes it.
        start : Curves, optional
            Descend from this metric alone, such as from the `curves_` of a similar log.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a parameter has no meaning, or the log cannot tell gains and discounts.
        """
        log = as_preferences(X, self.n_grades)
        self._check(log)
        self.loss_ = "robust" if self.loss == "auto" else self.loss
        log, dropped = without_equal_lists(log)
        if LOSSES[self.loss_] != LIKELIHOOD and len(log.ties):
            dropped["ties"] = len(log.ties)
            log = log.decided
        self.dropped_ = dropped
        with one_blas_thread():
            self._fit(log, start)
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

    def _check(self, log: Preferences) -> None:
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

    def _fit(self, log: Preferences, start: Curves | None) -> None:
        level, margins = _levels(log, LOSSES[self.loss_])
        raters, rater = (np.zeros(1), np.zeros(1, np.intp)) if log.rater is None else _numbered(log.rater)
        erring = self.loss_ == "robust"
        one_rater = not erring or len(raters) == 1
        weight = np.ones(1) if log.weight is None else log.weight
        judged = Judgements(
            log.preferred, log.other, level, np.zeros(1, np.int32) if one_rater else rater.astype(np.int32), weight
        )
        model = Model(
            depth=log.depth,
            n_grades=log.n_grades,
            kind=LOSSES[self.loss_],
            erring=erring,
            n_raters=1 if one_rater else len(raters),
            n_levels=int(level.max()),
            ties=bool(level.min() == 0),
            ridge=float(self.ridge),
            centre=_centre(log, self.prior),
            target=None if self.prior is None else log_curves(self.prior.gains, self.prior.discounts),
            margins=margins,
        )
        self.n_effective_ = min(log.total_weight, float(log.n_lists))
        n_free = model.n_grades - 2 + model.depth
        if self.n_effective_ < n_free:
            warnings.warn(
                f"the log counts for {self.n_effective_:g} independent judgements, fewer than the {n_free} gains and "
                "discounts to learn: what it does not show is set by the prior (see prior=)",
                UserWarning,
                stacklevel=3,
            )
        share = self.n_effective_ / log.total_weight
        starts = self._starts(model, log) if start is None else _softened(model, [(start.gains, start.discounts)])
        found = fit(model, judged, share, starts, n_starts=self.n_starts, max_iter=self.max_iter)
        self._keep(found, model, raters)

    def _starts(self, model: Model, log: Preferences) -> list[list[Floats]]:
        metrics = family(model.n_grades, model.depth)
        metrics += [(dcg.gains, dcg.discounts) for dcg in textbook_dcgs(model.n_grades, model.depth).values()]
        metrics += [(self.prior.gains, self.prior.discounts)] if self.prior is not None else []
        few = log.decided[:: max(len(log) // 20_000, 1)]
        factored = UtilityLearner(C=0.1, tol=1e-3).fit(few).factor()
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

    def _named(self, log: Preferences) -> DCG:
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


def _numbered(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    names, numbers = np.unique(labels, return_inverse=True)
    return names, numbers


def _levels(log: Preferences, kind: int) -> tuple[NDArray[np.int8], Floats | None]:
    """Return the strength of every verdict as a level, 0 for ties, and for the hinge each level's margin."""
    strength = log.strength if log.strength is not None else log.margin
    if strength is None or kind == RAMP:
        level, values = np.ones(1, np.int8), np.ones(1)
    else:
        values, level = _binned(strength, 100 if kind == HINGE else MOST_STRENGTHS)
    if log.tie is not None and log.tie.any():
        level = np.where(log.tie, 0, np.broadcast_to(level, len(log))).astype(np.int8)
    if kind != HINGE:
        return level, None
    mean = float(np.average(np.broadcast_to(values[level - 1], len(log)), weights=log.weight))
    return level, np.concatenate([[0.0], values / mean, [np.inf]])


def _binned(strength: Floats, most: int) -> tuple[Floats, NDArray[np.int8]]:
    """Return the distinct strengths and which of them each is (1 for the least), in bins where there are too many."""
    values, number = np.unique(strength, return_inverse=True)
    if len(values) > most:
        edges = np.unique(np.quantile(strength, np.arange(1, most) / most))
        number = np.searchsorted(edges, strength, side="right")
        values = np.bincount(number, strength) / np.bincount(number)
    return values, (number + 1).astype(np.int8)


def _centre(log: Preferences, prior: DCG | None) -> float:
    """Return the log sharpness at which a typical pair differs by 100 times the judges' noise."""
    reference = prior if prior is not None else DCG.standard(log.n_grades, log.depth)
    few = log[:: max(len(log) // 4096, 1)]
    size = float(reference.discounts.sum() * np.ptp(reference.gains))
    typical = np.sqrt(np.mean((reference.score(few.preferred) - reference.score(few.other)) ** 2)) / size
    if not typical > 0:
        typical = 0.1
    return float(SHARPNESS - np.log(typical))
