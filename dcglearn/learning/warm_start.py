"""Warm starts of `DCGLearner`: a fitted learner, its file, `Curves` or a DCG as parameters to descend from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from dcglearn.estimators.saved_learner import SavedLearner
from dcglearn.foundation.files import is_path, read_json_object
from dcglearn.foundation.validation import InputError, finite_array
from dcglearn.learning.direct_fit import ERROR, ERROR_SPREAD, RATER_SPREAD, Curves, log_curves
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcglearn.foundation.arrays import Floats
    from dcglearn.learning.direct_fit import Model

SOFTER = (0.0, 1.5, 3.0)
"""Each metric is tried with judges less sharp by these log units, who err less."""


@dataclass(frozen=True)
class WarmStart:
    """Gains and discounts to start from, with the judges where they are known.

    `name` stands for the start in messages. `curves` is None for a metric without judges; `loss` and `raters` are those
    of a fitted learner.
    """

    name: str
    gains: Floats
    discounts: Floats
    curves: Curves | None = None
    loss: str | None = None
    raters: tuple[str, ...] = ()

    @classmethod
    def of(cls, start: Any) -> WarmStart:
        """Return the start that a fitted `DCGLearner`, its saved file, `Curves`, a DCG or its file stands for.

        Raises
        ------
        InputError
            If it is none of these, the learner is not fitted, or a number is impossible.
        """
        name = f"start {start}" if is_path(start) else f"start (a {type(start).__name__})"
        if is_path(start):
            file = Path(start)
            is_metric = read_json_object(file).get("format") == f"dcglearn.{DCG._kind}"
            start = DCG.load(file) if is_metric else SavedLearner.load(file)
        if isinstance(start, Curves):
            found = cls(name, start.gains, start.discounts, start)
        elif isinstance(start, DCG):
            found = cls(name, start.gains, start.discounts)
        elif isinstance(start, SavedLearner):
            found = cls(name, start.curves.gains, start.curves.discounts, start.curves, start.loss, start.raters)
        elif hasattr(start, "curves_"):
            raters = tuple(start.rater_error_)
            found = cls(name, start.curves_.gains, start.curves_.discounts, start.curves_, start.loss_, raters)
        else:
            raise InputError(f"{name} is no fitted DCGLearner, saved file of one, Curves or DCG; fit or load it first")
        found._check()
        return found

    def _check(self) -> None:
        gains = finite_array(self.gains, f"{self.name}: gains", 1)
        discounts = finite_array(self.discounts, f"{self.name}: discounts", 1)
        if gains[-1] <= gains[0]:
            raise InputError(
                f"{self.name}: the gains do not rise from {gains[0]:g}, of the worst grade, to {gains[-1]:g}"
            )
        if discounts.max() <= 0:
            raise InputError(f"{self.name}: no discount is positive")
        if self.curves is None:
            return
        sharpness, errors, thresholds = self.curves.sharpness, self.curves.errors, self.curves.thresholds
        if not (np.isfinite(sharpness) and sharpness > 0):
            raise InputError(f"{self.name}: sharpness={sharpness!r} must be a positive number")
        if not len(errors) or not ((errors >= 0) & (errors <= 1)).all():
            raise InputError(f"{self.name}: errors={errors} must lie between 0 and 1")
        if not (np.diff(thresholds[:-1]) >= 0).all():
            raise InputError(f"{self.name}: thresholds={thresholds} must not fall")

    def check_fit(self, shape: tuple[int, int], loss: str) -> None:
        """Raise InputError unless the start has the log's numbers of grades and positions, and the loss of the fit."""
        mine = len(self.gains), len(self.discounts)
        if mine != shape:
            raise InputError(
                f"{self.name} has {mine[0]} grades and {mine[1]} positions, the log {shape[0]} and {shape[1]}: fit "
                "without start, or read the log with the same n_grades= and depth="
            )
        if self.loss not in (None, loss):
            raise InputError(
                f'{self.name} was fitted with loss="{self.loss}", this fit has loss="{loss}": use the same loss, or '
                "start from its DCG"
            )

    def parameters(self, model: Model, raters: Sequence[str]) -> list[Floats]:
        """Return the parameters to start from, shape (p,), within the bounds: one vector where the judges are known.

        Gains that fall, discounts that rise and other numbers outside the bounds are moved to the nearest allowed. A
        judge whom the start does not name starts from the common error rate. Thresholds start afresh where the log has
        other strengths, or ties that it had not.

        Raises
        ------
        InputError
            If `Curves` hold as many error rates as neither one judge nor the log's.
        """
        if self.curves is None:
            metric = np.concatenate(log_curves(self.gains, self.discounts))[None]
            return [model.starts(metric, softer)[0] for softer in SOFTER]
        alpha, delta, sharp, error, thresholds, each_rater = model.parts
        theta = np.zeros(each_rater.stop)
        theta[alpha], theta[delta] = _logs_of(self.gains, self.discounts)
        theta[sharp] = np.log(self.curves.sharpness)
        if model.with_errors:
            logits = self._logits(self.curves.errors, raters if model.n_raters > 1 else ())
            theta[error], theta[each_rater] = logits[0], logits[1:]
        logs = _threshold_logs(self.curves.thresholds, model.ties)
        if len(logs) == thresholds.stop - thresholds.start:
            theta[thresholds] = logs
        return [np.clip(theta, *model.bounds)]

    def _logits(self, errors: Floats, raters: Sequence[str]) -> Floats:
        """Return the common logit of error and, for several raters, each one's distance from it."""
        with np.errstate(divide="ignore"):
            logits = np.clip(logit(errors), -9.0, 9.0)
        if not len(raters):
            return np.array([logits.mean()])
        if not self.raters and len(errors) not in (1, len(raters)):
            raise InputError(
                f"{self.name} holds {len(errors)} error rates, the log has {len(raters)} raters; start from a fitted "
                "learner, which knows its raters by name"
            )
        if not self.raters:
            each = np.broadcast_to(logits, len(raters))
        else:
            known = dict(zip(self.raters, logits, strict=True))
            each = np.array([known.get(str(name), np.nan) for name in raters])
        # At the optimum the common logit is the prior's mean of itself given the judges' own.
        precision = np.array([ERROR_SPREAD**-2, *[RATER_SPREAD**-2] * len(logits)])
        common = float(precision @ np.array([ERROR, *logits]) / precision.sum()) if self.raters else logits.mean()
        return np.concatenate([[common], np.nan_to_num(each - common)])


def _logs_of(gains: Floats, discounts: Floats) -> tuple[Floats, Floats]:
    """Return alpha and delta of a metric exactly, unless a step or discount is not positive: then see `log_curves`."""
    alpha, delta = log_curves(gains, discounts)
    steps = np.diff(gains)
    if (steps > 0).all():
        logs = np.log(steps)
        alpha = logs - logs.mean()
    if (discounts > 0).all():
        delta = -np.diff(np.log(discounts))
    return alpha, delta


def _threshold_logs(thresholds: Floats, ties: bool) -> Floats:
    """Return the logs of the steps between thresholds; the first threshold is a parameter where there are ties."""
    rises = np.diff(thresholds[:-1])
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(rises if ties else rises[1:])
    return logs
