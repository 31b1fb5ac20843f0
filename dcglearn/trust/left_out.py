"""Fits without some verdicts of their log: to first order by influence, exactly by descents.

With the Hessian H of a fit's objective and the slope s of a judgement's part of it, the parameters
move by H^-1 s where the judgement is left out, and a function q of them by grad q' H^-1 s
(Broderick, Giordano and Meager 2020). A blend moves with its members, whose weights are held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Flags, Floats, Indices, InputError
from dcglearn.learning.dcg_model import DirectObjective
from dcglearn.learning.descriptions import DirectFit, Member
from dcglearn.learning.direct_search import warm_fit
from dcglearn.learning.fit_dcg import FittedDCG, fit_dcg
from dcglearn.learning.judgement_kernel import LIKELIHOOD
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.learning.starts import WarmStart
from dcglearn.learning.trust_region import steps
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metrics.dcg import DCG
from dcglearn.parts.parted_log import with_grades
from dcglearn.parts.usable_pairs import usable_rows
from dcglearn.trust.blend import mean_dcg

Quantity = Callable[[Sequence[DCG]], Floats]
"""From D metrics to a number of each, shape (D,)."""

Fitted = tuple[FittedDCG, Indices] | None
"""A member's parameters and judgements, with the log's row of each; None if it is no fit."""

STEP = 1e-4
"""Largest change of a parameter in a difference quotient."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A fit to a log of n verdicts, of which some can be left out.

    `members` are those of a blend, or the fit alone, and `fitted` what each was fitted to.
    """

    n: int
    members: tuple[Member, ...]
    fitted: tuple[Fitted, ...]

    @classmethod
    def of(cls, log: PreferencePairs, fit: DirectFit) -> Self:
        """Return a fit to a log; raise InputError if its form is not the DCG."""
        if fit.form != "dcg":
            raise InputError(
                f'form="{fit.form}": verdicts are left out of DCGs alone; learn with form="dcg"'
            )
        members = fit.members or (Member(fit.loss, 1.0, np.nan, np.nan, fit.dcg, fit),)
        fitted = [None if member.fit is None else _fitted(log, member.fit) for member in members]
        return cls(len(log), members, tuple(fitted))._moved(fitted)

    @cached_property
    def dcg(self) -> DCG:
        """The DCG, with the best gain and the first discount 1."""
        return mean_dcg(self.members)

    def influence(self, quantity: Quantity) -> Floats:
        """Return by how much a quantity grows, to first order, without each verdict; shape (n,)."""
        total = np.zeros(self.n)
        with one_blas_thread():
            for place, part in enumerate(self.fitted):
                if part is not None:
                    fitted, rows = part
                    direction = self._slope(quantity, place)
                    total[rows] += _influence(fitted, direction)
        return total

    def without(self, left_out: Flags) -> Self:
        """Return the fit without some verdicts, shape (n,): descents from this one."""
        with one_blas_thread():
            return self._moved([_without(part, left_out) for part in self.fitted])

    def _moved(self, fitted: Sequence[Fitted]) -> Self:
        """Return the members at other parameters, with the weights that they have."""
        members = [
            member if part is None else replace(member, dcg=_dcg(part[0], part[0].theta))
            for member, part in zip(self.members, fitted, strict=True)
        ]
        return replace(self, members=tuple(members), fitted=tuple(fitted))

    def _slope(self, quantity: Quantity, place: int) -> Floats:
        """Return the slope of a quantity in the parameters of one member, shape (p,)."""
        part = self.fitted[place]
        assert part is not None
        fitted, _ = part
        at, theta = fitted.model.places, fitted.theta
        of_curves = np.r_[: at.delta.stop, at.empty]

        # the blend on both sides of each parameter
        dcgs = []
        for sign in (1, -1):
            for i in of_curves:
                moved = theta.copy()
                moved[i] += sign * STEP
                members = [*self.members]
                members[place] = replace(members[place], dcg=_dcg(fitted, moved))
                dcgs.append(mean_dcg(members))

        # difference quotients
        above, below = np.split(quantity(dcgs), 2)
        slope = np.zeros(len(theta))
        slope[of_curves] = (above - below) / (2 * STEP)
        return slope


def _fitted(log: PreferencePairs, fit: DirectFit) -> tuple[FittedDCG, Indices]:
    """Return the parameters of a fit, and the log's row of each of its judgements."""
    with one_blas_thread():
        whole = with_grades(log, fit.dcg.n_grades)
        fitted = fit_dcg(whole, fit.description, WarmStart.of(fit))[1]

    # only likelihoods use ties
    return fitted, np.flatnonzero(usable_rows(log, ties=fitted.model.kind == LIKELIHOOD))


def _without(part: Fitted, left_out: Flags) -> Fitted:
    """Return a member fitted to the judgements that are not left out, each as heavy as before."""
    if part is None:
        return None
    start, rows = part
    kept = ~left_out[rows]
    judgements = start.judgements.at(np.flatnonzero(kept))
    end = warm_fit(start.model, judgements, start.share, [start.theta])
    moved = replace(start, judgements=judgements, theta=end.theta, objective=end.objective)
    return moved, rows[kept]


def _dcg(fitted: FittedDCG, theta: Floats) -> DCG:
    return DCG(*fitted.model.curves(theta).scaled)


def _influence(fitted: FittedDCG, slope: Floats) -> Floats:
    """Return the changes of a quantity with this slope without each judgement, shape (n,)."""
    if not slope.any():
        return np.zeros(len(fitted.judgements))
    model, theta, share = fitted.model, fitted.theta, fitted.share

    # the inverse Hessian's product with the slope; parameters at a bound stay
    local = DirectObjective(model, fitted.judgements, share)(theta[None])
    low, high = model.bounds
    room = np.where((theta <= low) | (theta >= high), 0.0, 1e9)[None]
    of_slope = replace(local, gradient=slope[None])
    direction = -steps(of_slope, -room, room, np.array([1e9]), np.zeros(1))[0]

    # each judgement's slope along it
    step = STEP / max(float(np.abs(direction).max()), 1e-300)
    points = model.points(theta + step * np.outer([1.0, -1.0], direction))
    losses = JudgedPairs(*fitted.judgements.arrays).losses(points, model.kind)
    return share * (losses[:, 0] - losses[:, 1]) / (2 * step)
