"""Where direct fits start: at a former fit, curves or a DCG; or at many metrics, with sharp and
with softer judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.validation import Floats, InputError, finite_array, frozen
from dcglearn.learning.direct_fit import PRIOR, Curves, Model, empty_gain, family, log_curves
from dcglearn.learning.fit_qp import fit_qp
from dcglearn.learning.fits import DirectFit, Member, QPDescription
from dcglearn.learning.list_utility_fit import parameters_of
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metric.dcg import DCG, textbook_dcgs

if TYPE_CHECKING:
    from dcglearn.learning.verdicts import Verdicts

SOFTER = (0.0, 1.5, 3.0)
"""Each metric is tried with judges less sharp by these log units, who err less."""


@dataclass(frozen=True)
class WarmStart:
    """Gains and discounts to start from, with the judges where they are known.

    `name` stands for the start in messages. `curves` is None for a metric without judges; `loss`
    and `raters` are those of a fit; `in_form` has the form, the start of its own curves, and its
    further parameters, if beyond the DCG; `members` and `weighed_on` are those of a blend.
    """

    name: str
    gains: Floats
    discounts: Floats
    curves: Curves | None = None
    loss: str | None = None
    raters: tuple[str, ...] = ()
    in_form: tuple[str, WarmStart, Floats] | None = None
    members: tuple[Member, ...] = ()
    weighed_on: float = 0.0

    @classmethod
    def of(cls, start: Any, name: str | None = None) -> WarmStart:
        """Return the start that a direct fit, a learner that holds one, `Curves` or a DCG stands
        for.

        Raise InputError if it is none of these, the learner is not fitted, or a number is
        impossible.
        """
        if isinstance(start, WarmStart):
            return start
        name = name or f"start (a {type(start).__name__})"
        start = getattr(start, "fit_", start)
        if isinstance(start, Curves):
            warm = cls(name, start.gains, start.discounts, start)
        elif isinstance(start, DCG):
            warm = cls(name, start.gains, start.discounts)
        elif isinstance(start, DirectFit):
            warm = cls(
                name,
                start.curves.gains,
                start.curves.discounts,
                start.curves,
                start.loss,
                start.raters,
                members=start.members,
                weighed_on=start.weighed_on,
            )
            if (
                start.list_utility is not None
            ):  # a DCG is near the one that fits best, not near the form's curves
                warm._check()
                in_form = start.form, warm, parameters_of(start.list_utility, start.form)
                warm = cls(name, start.dcg.gains, start.dcg.discounts, in_form=in_form)
        else:
            raise InputError(
                f"{name} is no fitted DCGLearner, saved file of one, Curves or DCG; fit or load it first"
            )
        warm._check()
        return warm

    def _check(self) -> None:
        gains = finite_array(self.gains, f"{self.name}: gains", 1)
        discounts = finite_array(self.discounts, f"{self.name}: discounts", 1)
        if gains[-1] <= gains[0]:
            raise InputError(
                f"{self.name}: gains do not rise from {gains[0]:g}, of the worst grade, to {gains[-1]:g}"
            )
        if discounts.max() <= 0:
            raise InputError(f"{self.name}: no discount is positive")
        if self.curves is None:
            return
        sharpness, errors, thresholds = (
            self.curves.sharpness,
            self.curves.errors,
            self.curves.thresholds,
        )
        if not (np.isfinite(sharpness) and sharpness > 0):
            raise InputError(f"{self.name}: sharpness={sharpness!r} must be a positive number")
        if not len(errors) or not ((errors >= 0) & (errors <= 1)).all():
            raise InputError(f"{self.name}: errors={errors} must lie between 0 and 1")
        if not (np.diff(thresholds[:-1]) >= 0).all():
            raise InputError(f"{self.name}: thresholds={thresholds} must not fall")

    def of_loss(self, loss: str) -> WarmStart:
        """Return the start of a fit with this loss: that of a blend's member, if there is one, or
        the start itself.
        """
        fits = [
            member.fit for member in self.members if member.fit is not None and member.name == loss
        ]
        return WarmStart.of(fits[0], f"{self.name}, {loss} loss") if fits else self

    def check_fit(self, shape: tuple[int, int], loss: str) -> None:
        """Raise InputError unless the start has the log's numbers of grades and positions, and the
        loss of the fit.
        """
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

    def in_its_form(self, form: str, model: Model, raters: Sequence[str]) -> Floats | None:
        """Return the parameters of a fit in this form to start from, its further ones last; None
        for any other.
        """
        if self.in_form is None or self.in_form[0] != form:
            return None
        return np.append(self.in_form[1].parameters(model, raters)[0], self.in_form[2])

    def parameters(self, model: Model, raters: Sequence[str]) -> list[Floats]:
        """Return the parameters to start from, shape (p,), within the bounds: one vector where the
        judges are known.

        Numbers outside the bounds are moved to the nearest allowed. A judge whom the start does not
        name starts from the common error rate, thresholds afresh where the log has other strengths
        or new ties. Raise InputError if `Curves` hold as many error rates as neither one judge nor
        the log's.
        """
        if self.curves is None:
            metric = np.concatenate(log_curves(self.gains, self.discounts, falling=model.falling))[
                None
            ]
            return [model.starts(metric, softer, empty_gain(self.gains))[0] for softer in SOFTER]
        _, _, sharp, error, _, bias, thresholds, each_rater, each_bias, _ = model.places
        theta = with_curves(model, np.zeros(each_bias.stop), self.gains, self.discounts)
        theta[sharp] = np.log(self.curves.sharpness)
        if model.with_errors:
            with np.errstate(divide="ignore"):
                logits = np.clip(np.log(self.curves.errors / (1 - self.curves.errors)), -9.0, 9.0)
            logits = self._of_raters(
                logits,
                raters if model.n_raters > 1 else (),
                PRIOR.error[0],
                PRIOR.error[1] / PRIOR.own_error,
            )
            theta[error], theta[each_rater] = logits[0], logits[1:]
        if model.sided and len(self.curves.biases):
            biases = self._of_raters(
                self.curves.biases, raters if model.n_raters > 1 else (), 0.0, 1.0
            )
            theta[bias], theta[each_bias] = biases[0], biases[1:]
        rises = np.diff(self.curves.thresholds[:-1])[0 if model.ties else 1 :]
        if len(rises) == thresholds.stop - thresholds.start:
            with np.errstate(divide="ignore"):
                theta[thresholds] = np.log(rises)
        return [np.clip(theta, *model.bounds)]

    def _of_raters(
        self, numbers: Floats, raters: Sequence[str], mean: float, spread: float
    ) -> Floats:
        """Return the common logit of error, or bias, and, for several raters, each one's distance
        from it.

        `mean` is the prior's of the common one, and `spread` its deviation in units of that of
        raters.
        """
        if not len(raters):
            return np.array([numbers.mean()])
        if not self.raters and len(numbers) not in (1, len(raters)):
            raise InputError(
                f"{self.name} holds {len(numbers)} error rates, the log has {len(raters)} raters; start from a fitted "
                "learner, which knows its raters by name"
            )
        if not self.raters:
            each = np.broadcast_to(numbers, len(raters))
        else:
            of_rater = dict(zip(self.raters, numbers, strict=True))
            each = np.array([of_rater.get(str(name), np.nan) for name in raters])
        # At the optimum the common number is the prior's mean of itself given the judges' own.
        precision = np.array([spread**-2, *[1.0] * len(numbers)])
        common = (
            float(precision @ np.array([mean, *numbers]) / precision.sum())
            if self.raters
            else numbers.mean()
        )
        return np.concatenate([[common], np.nan_to_num(each - common)])


def with_curves(model: Model, theta: Floats, gains: Floats, discounts: Floats) -> Floats:
    """Return parameters, shape (p,), with the curves of a metric, in which an empty place is worth
    0.

    They are exact unless a step or discount is not positive, see `log_curves`.
    """
    alpha, delta, _, _, empty, *_ = model.places
    theta = theta.copy()
    theta[alpha], theta[delta] = log_curves(gains, discounts, falling=model.falling)
    steps = np.diff(gains)
    if (steps > 0).all():
        logs = np.log(steps)
        theta[alpha] = logs - logs.mean()
    if (discounts > 0).all():
        theta[delta] = -np.diff(np.log(discounts))
    theta[empty] = empty_gain(gains)
    return theta


def cold_starts(model: Model, verdicts: Verdicts, prior: DCG | None) -> list[Floats]:
    """Return the parameters of all starts by softness, (S, p): curves, textbooks, the prior, the QP
    of a sample.
    """
    sample = verdicts.sample(20_000).decided
    C = 0.1 / max(1.0, sample.total_weight / 1e9)
    dcgs = [] if prior is None else [prior]
    qp = fit_qp(sample, QPDescription(C, tol=1e-3))
    try:
        dcgs.append(qp.factor().dcg)
    except InputError as error:  # a utility that tells no two lists apart
        if 2 * sample.n_contradicted() >= sample.total_weight:
            problem = "every preference is contradicted as often as it is given: there is nothing to learn from"
            raise InputError(problem) from error
    of_log = [
        np.concatenate(log_curves(dcg.gains, dcg.discounts, falling=model.falling)) for dcg in dcgs
    ]
    known = _known_curves(model.n_grades, model.depth, model.falling)
    empty = np.concatenate([np.zeros(len(known)), [empty_gain(dcg.gains) for dcg in dcgs]])
    return [model.starts(np.vstack([known, *of_log]), softer, empty) for softer in SOFTER]


def known_starts(model: Model) -> list[Floats]:
    """Return the parameters of the starts that do not depend on the log, as `cold_starts` does."""
    curves = _known_curves(model.n_grades, model.depth, model.falling)
    return [model.starts(curves, softer) for softer in SOFTER]


def log_sharpness(sample: PreferencePairs, prior: DCG | None) -> float:
    """Return the log sharpness at which a typical pair differs by 100 times the judges' noise."""
    reference = prior if prior is not None else DCG.standard(sample.n_grades, sample.depth)
    size = float(reference.discounts.sum() * np.ptp(reference.gains))
    squares = (reference.score(sample.preferred) - reference.score(sample.other)) ** 2
    typical = np.sqrt(np.average(squares, weights=sample.weight)) / size
    return float(np.log(100.0) - np.log(typical if typical > 0 else 0.1))


@cache
def _known_curves(n_grades: int, depth: int, falling: bool) -> Floats:
    """Return alpha and delta of a family of curves and of the textbook DCGs, shape (S, L + K -
    2).
    """
    dcgs = textbook_dcgs(n_grades, depth).values()
    metrics = family(n_grades, depth, falling=falling) + [
        (dcg.gains, dcg.discounts) for dcg in dcgs
    ]
    return frozen(
        np.array([np.concatenate(log_curves(*metric, falling=falling)) for metric in metrics])
    )
