"""Starts of direct fits: a former fit, curves or a DCG; or many metrics, sharp and soft judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.validation import Floats, InputError, InputTypeError, finite_array, frozen
from dcglearn.learning.dcg_model import (
    PRIOR,
    Curves,
    Model,
    empty_gain,
    family,
    log_curves,
    log_metrics,
)
from dcglearn.learning.descriptions import DirectFit, Member, QPDescription
from dcglearn.learning.fit_utility import fit_qp
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metrics.dcg import DCG, textbook_dcgs

if TYPE_CHECKING:
    from dcglearn.learning.verdicts import Verdicts

SOFTER = (0.0, 1.5, 3.0)
"""Each metric is tried with judges less sharp by these log units, who err less."""


@dataclass(frozen=True)
class WarmStart:
    """Gains and discounts to start from, with the judges where they are known.

    `name` stands for the start in messages. `curves` is None for a metric without judges; `loss`
    and `raters` are those of a fit; `members` and `weighed_on` are those of a blend.
    """

    name: str
    gains: Floats
    discounts: Floats
    curves: Curves | None = None
    loss: str | None = None
    raters: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    weighed_on: float = 0.0

    @classmethod
    def of(cls, start: Any, name: str | None = None) -> WarmStart:
        """Return the start from a direct fit, a learner that holds one, `Curves` or a DCG.

        Raise InputError if it is another object, the learner is not fitted, or a number is
        impossible.
        """
        if isinstance(start, WarmStart):
            return start

        # what kind of start it is
        name = name or f"start (a {type(start).__name__})"
        start = getattr(start, "fit_", start)
        if isinstance(start, Curves):
            warm = cls(name, start.gains, start.discounts, start)
        # a metric, whose judges are not known
        elif isinstance(start, DCG):
            warm = cls(name, start.gains, start.discounts)
        elif isinstance(start, DirectFit):
            warm = cls._of_fit(name, start)
        # other objects
        else:
            raise InputTypeError(
                f"{name} is no fitted DCGLearner, Curves or DCG; fit it first, or read its file"
            )
        warm._check()
        return warm

    @classmethod
    def _of_fit(cls, name: str, fit: DirectFit) -> WarmStart:
        """Return the start of a fit."""
        curves = fit.curves
        return cls(
            name,
            curves.gains,
            curves.discounts,
            curves,
            fit.loss,
            fit.raters,
            # of a blend
            members=fit.members,
            weighed_on=fit.weighed_on,
        )

    def _check(self) -> None:
        """Raise InputError if a number is impossible."""
        # the metric
        gains = finite_array(self.gains, f"{self.name}: gains", 1)
        discounts = finite_array(self.discounts, f"{self.name}: discounts", 1)
        if gains[-1] <= gains[0]:
            raise InputError(
                f"{self.name}: gains do not rise from {gains[0]:g}, of the worst grade, to "
                f"{gains[-1]:g}"
            )
        if discounts.max() <= 0:
            raise InputError(f"{self.name}: no discount is positive")

        # the judges
        curves = self.curves
        if curves is None:
            return
        if not (np.isfinite(curves.sharpness) and curves.sharpness > 0):
            raise InputError(
                f"{self.name}: sharpness={curves.sharpness!r} must be a positive number"
            )

        # their error rates and thresholds
        if not len(curves.errors) or not ((curves.errors >= 0) & (curves.errors <= 1)).all():
            raise InputError(f"{self.name}: errors={curves.errors} must lie between 0 and 1")
        if not (np.diff(curves.thresholds[:-1]) >= 0).all():
            raise InputError(f"{self.name}: thresholds={curves.thresholds} must not fall")

    def of_loss(self, loss: str) -> WarmStart:
        """Return the start with this loss: a blend's member, or the start itself."""
        for member in self.members:
            if member.fit is not None and member.name == loss:
                return WarmStart.of(member.fit, f"{self.name}, {loss} loss")
        return self

    def check_fit(self, shape: tuple[int, int], loss: str) -> None:
        """Raise InputError unless the start has the log's shape and the loss of the fit."""
        n_grades, depth = len(self.gains), len(self.discounts)
        if (n_grades, depth) != shape:
            raise InputError(
                f"{self.name} has {n_grades} grades and {depth} positions, the log {shape[0]} and "
                f"{shape[1]}: fit without start, or read the log with the same n_grades= and depth="
            )
        if self.loss not in (None, loss):
            raise InputError(
                f'{self.name} was fitted with loss="{self.loss}", this fit has loss="{loss}": use '
                "the same loss, or start from its DCG"
            )

    def parameters(self, model: Model, raters: Sequence[str]) -> list[Floats]:
        """Return start parameters, (p,), within the bounds: one vector if judges are known.

        Numbers outside the bounds are moved to the nearest allowed. A judge whom the start does not
        name starts from the common error rate, thresholds afresh where the log has other strengths
        or new ties. Raise InputError if `Curves` hold as many error rates as neither one judge nor
        the log's.
        """
        curves = self.curves
        at = model.places

        # a metric without judges is tried with sharp and with softer ones
        if curves is None:
            metric = log_metrics([(self.gains, self.discounts)], falling=model.falling)
            return [model.starts(metric, softer, empty_gain(self.gains))[0] for softer in SOFTER]

        # the curves, and how sharply the judges see
        theta = with_curves(model, np.zeros(at.n), self.gains, self.discounts)
        theta[at.sharpness] = np.log(curves.sharpness)

        # error rates and position biases, by rater
        if model.n_raters < 2:
            raters = ()
        with np.errstate(divide="ignore"):
            logits = np.clip(np.log(curves.errors / (1 - curves.errors)), -9.0, 9.0)
            rises = np.log(np.diff(curves.thresholds[:-1])[0 if model.ties else 1 :])

        # common numbers, and each rater's distance from them
        if model.with_errors:
            mean, spread = PRIOR.error
            logits = self._of_raters(logits, raters, mean, spread / PRIOR.own_error)
            theta[at.error], theta[at.own_errors] = logits[0], logits[1:]
        if model.sided and len(curves.biases):
            biases = self._of_raters(curves.biases, raters, 0.0, 1.0)
            theta[at.bias], theta[at.own_biases] = biases[0], biases[1:]

        # thresholds of the same strengths
        if len(rises) == len(theta[at.thresholds]):
            theta[at.thresholds] = rises
        return [np.clip(theta, *model.bounds)]

    def _of_raters(
        self, numbers: Floats, raters: Sequence[str], mean: float, spread: float
    ) -> Floats:
        """Return the common logit of error, or bias, and raters' distances from it, if several.

        `mean` is the prior mean of the common one, and `spread` its prior deviation in units of the
        raters' deviation.
        """
        if not len(raters):
            return np.array([numbers.mean()])

        # without names, one number a rater or one for all
        if not self.raters:
            if len(numbers) not in (1, len(raters)):
                raise InputError(
                    f"{self.name} holds {len(numbers)} error rates, the log has {len(raters)} "
                    "raters; start from a fitted learner, which knows its raters by name"
                )
            each = np.broadcast_to(numbers, len(raters))
            common = float(numbers.mean())

        # at the optimum the common number is the prior's mean of itself given the judges' own
        else:
            of_rater = dict(zip(self.raters, numbers, strict=True))
            each = np.array([of_rater.get(str(name), np.nan) for name in raters])
            precision = np.append(spread**-2, np.ones(len(numbers)))
            common = float(precision @ np.append(mean, numbers) / precision.sum())
        return np.append(common, np.nan_to_num(each - common))


def with_curves(model: Model, theta: Floats, gains: Floats, discounts: Floats) -> Floats:
    """Return parameters, shape (p,), with a metric's curves, in which an empty place has value 0.

    They are exact unless a step or discount is not positive, see `log_curves`.
    """
    at = model.places
    theta = theta.copy()
    curves = log_curves(gains, discounts, falling=model.falling, exact=True)
    theta[at.alpha], theta[at.delta] = curves
    theta[at.empty] = empty_gain(gains)
    return theta


def cold_starts(model: Model, verdicts: Verdicts, prior: DCG | None) -> list[Floats]:
    """Return all starts by softness, (S, p): curves, textbooks, the prior, a sample's QP."""
    # the prior, and the DCG nearest to the QP's utility
    dcgs = [] if prior is None else [prior]
    sample = verdicts.thinned(20_000).decided
    C = 0.1 / max(1.0, sample.total_weight / 1e9)
    qp = fit_qp(sample, QPDescription(C, tol=1e-3))

    # a log may tell no two lists apart
    try:
        dcgs.append(qp.factor().dcg)
    except InputError as error:
        if 2 * sample.n_contradicted() >= sample.total_weight:
            raise InputError(
                "every preference is contradicted as often as it is given: there is nothing to "
                "learn from"
            ) from error

    # behind the curves that do not depend on the log
    known = _known_curves(model.n_grades, model.depth, model.falling)
    empty = np.concatenate([np.zeros(len(known)), [empty_gain(dcg.gains) for dcg in dcgs]])
    if dcgs:
        metrics = [(dcg.gains, dcg.discounts) for dcg in dcgs]
        known = np.vstack([known, log_metrics(metrics, falling=model.falling)])
    return [model.starts(known, softer, empty) for softer in SOFTER]


def known_starts(model: Model) -> list[Floats]:
    """Return the parameters of the starts that do not depend on the log, as `cold_starts` does."""
    curves = _known_curves(model.n_grades, model.depth, model.falling)
    return [model.starts(curves, softer) for softer in SOFTER]


def log_sharpness(sample: PreferencePairs, prior: DCG | None) -> float:
    """Return the log sharpness at which a typical pair differs by 100 times the judges' noise."""
    reference = prior if prior is not None else DCG.standard(sample.n_grades, sample.depth)
    size = float(reference.discounts.sum() * np.ptp(reference.gains))
    squares = squared_gaps(sample, reference)
    typical = np.sqrt(np.average(squares, weights=sample.weight)) / size
    return float(np.log(100.0) - np.log(typical if typical > 0 else 0.1))


def squared_gaps(pairs: PreferencePairs, reference: DCG) -> Floats:
    """Return squares of the differences of pairs by a DCG, shape (n,)."""
    return pairs.gaps(reference) ** 2


@cache
def _known_curves(n_grades: int, depth: int, falling: bool) -> Floats:
    """Return alpha and delta of a family of curves and of the textbook DCGs, (S, L + K - 2)."""
    textbooks = [(dcg.gains, dcg.discounts) for dcg in textbook_dcgs(n_grades, depth).values()]
    curves = family(n_grades, depth, falling=falling)
    return frozen(log_metrics([*curves, *textbooks], falling=falling))
