"""Base class of the learners: a fit kept in attributes, and the verdicts of the learned metric."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcglearn.foundation.validation import Floats, Grades
from dcglearn.learning.fits import DirectFit, QPFit, warn_of
from dcglearn.logs.counting import Agreement
from dcglearn.parts.parts import PartedLog
from dcglearn.readers.preferences import Preferences, as_preferences


class PairLearner(BaseEstimator):
    """Base class of learners: the verdicts of the learned metric."""

    fit_: QPFit | DirectFit

    def decision_function(self, X: Preferences | ArrayLike) -> Floats:
        """Return the score of the first list of each pair minus that of the second, shape (n,)."""
        check_is_fitted(self)
        metric = self.fit_.metric
        log = as_preferences(X, metric.n_grades)
        return metric.score(log.preferred) - metric.score(log.other)

    def predict(self, X: Preferences | ArrayLike) -> Grades:
        """Return 1 where the first list of a pair is better, -1 where the second is, 0 for a tie; shape (n,)."""
        check_is_fitted(self)
        return as_preferences(X, self.fit_.metric.n_grades).verdicts(self.fit_.metric)

    def agreement(self, X: Preferences | PartedLog | ArrayLike) -> Agreement:
        """Return the weight of pairs respected, tied by the metric, and violated."""
        check_is_fitted(self)
        log = X if isinstance(X, PartedLog) else as_preferences(X, self.fit_.metric.n_grades)
        return log.agreement(self.fit_.metric)

    def score(self, X: Preferences | PartedLog | ArrayLike, y: None = None) -> float:
        """Return the share of preferences respected; a tie of the metric counts half (`agreement` counts it apart)."""
        return self.agreement(X).share

    def _take(self, fit: QPFit | DirectFit) -> None:
        """Set what the fit returned as attributes, and warn as it says, at the line that called `fit`."""
        self.fit_ = fit
        for name in fit.results:
            if getattr(fit, name) is not None:
                setattr(self, f"{name}_", getattr(fit, name))
        warn_of(fit, ConvergenceWarning, stacklevel=4)
