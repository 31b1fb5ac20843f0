"""Fits without some verdicts of their log: to first order by influence, exactly by descents.

With the Hessian H of a fit's objective and the slope s of a judgement's part of it, the parameters
move by H^-1 s where the judgement is left out, and a function q of them by grad q' H^-1 s
(Broderick, Giordano and Meager 2020). A blend moves with its members, whose weights are held.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Flags, Floats, Indices, InputError
from dcglearn.learning.dcg_model import PRIOR
from dcglearn.learning.descriptions import DirectFit, Member
from dcglearn.learning.direct_search import search_near
from dcglearn.learning.fit_dcg import FittedDCG, fit_dcg
from dcglearn.learning.judgement_kernel import LIKELIHOOD
from dcglearn.learning.starts import WarmStart, squared_gaps
from dcglearn.learning.trust_region import steps
from dcglearn.learning.usable_pairs import usable_rows
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metrics.dcg import DCG
from dcglearn.parts.parted_log import with_grades
from dcglearn.trust.blend import mean_dcg

Quantity = Callable[[Sequence[DCG]], Floats]
"""From D metrics to a number of each, shape (D,)."""

STEP = 1e-4
"""Largest change of a parameter in a difference quotient."""


@dataclass(frozen=True, eq=False)
class FittedMember:
    """A fit to judgements of a log, each as heavy as in the whole log.

    `rows`, shape (m,), are the judgements' rows of the log. The prior of the judges' sharpness
    depends on the log: its mean is `offset` less half the log of the mean of `squares`, shape (m,).
    """

    fitted: FittedDCG
    rows: Indices
    squares: Floats
    offset: float

    @classmethod
    def of(cls, log: PreferencePairs, fit: DirectFit) -> Self:
        """Return the fit to the judgements of a log that a fit uses."""
        whole = with_grades(log, fit.dcg.n_grades)
        fitted = fit_dcg(whole, fit.description, WarmStart.of(fit))[1]

        # only likelihoods use ties
        rows = np.flatnonzero(usable_rows(log, ties=fitted.model.kind == LIKELIHOOD))
        assert fitted.pairs is not None
        shape = fitted.model.n_grades, fitted.model.depth
        reference = fit.description.prior_of(*shape) or DCG.standard(*shape)
        part = cls(fitted, rows, squared_gaps(fitted.pairs, reference), 0.0)
        return replace(part, offset=fitted.model.centre - part.centre)

    @property
    def weight(self) -> Floats:
        """The weights, shape (m,)."""
        return np.broadcast_to(self.fitted.judgements.weight, len(self.rows))

    @property
    def centre(self) -> float:
        """The prior mean of the log sharpness."""
        square = max(float(np.average(self.squares, weights=self.weight)), 1e-300)
        return self.offset - 0.5 * float(np.log(square))

    def dcg(self, theta: Floats | None = None) -> DCG:
        """Return the DCG at parameters, by default the fit's."""
        curves = self.fitted.model.curves(self.fitted.theta if theta is None else theta)
        return DCG(*curves.scaled)

    def refitted(self) -> Self:
        """Return the fit by a descent from its parameters."""
        fitted = self.fitted
        model = replace(fitted.model, centre=self.centre)
        moved = replace(fitted, model=model)
        end = search_near(moved, [np.clip(fitted.theta, *model.bounds)])
        return replace(self, fitted=moved.at_end(end))

    def without(self, left_out: Flags) -> Self:
        """Return the fit to the rows that are not left out; raise InputError if none is left."""
        kept = np.flatnonzero(~left_out[self.rows])
        if not len(kept):
            raise InputError(
                "the log is too small to leave verdicts out: nothing is left to learn from; "
                "get more judgements"
            )
        judgements = self.fitted.judgements.at(kept)
        fitted = replace(self.fitted, judgements=judgements, pairs=None)
        part = replace(self, fitted=fitted, rows=self.rows[kept], squares=self.squares[kept])
        return part.refitted()

    def influence(self, slope: Floats) -> Floats:
        """Return the changes of a number of this slope, (p,), without each judgement, (m,)."""
        fitted = self.fitted
        model = fitted.model
        theta = fitted.theta

        # the inverse Hessian's product with the slope; parameters at a bound stay
        local = fitted(theta[None])
        low, high = model.bounds
        room = np.where((theta <= low) | (theta >= high), 0.0, 1e9)[None]
        of_slope = replace(local, gradient=slope[None])
        direction = -steps(of_slope, -room, room, np.array([1e9]), np.zeros(1))[0]

        # each judgement's slope along it
        step = STEP / max(float(np.abs(direction).max()), 1e-300)
        points = model.points(theta + step * np.outer([1.0, -1.0], direction))
        losses = fitted.judgements.losses(points, model.kind)
        of_loss = fitted.share * (losses[:, 0] - losses[:, 1]) / (2 * step)

        # the prior's mean moves with the mean square
        total = max(float(self.weight @ self.squares), 1e-300)
        moved = 0.5 * self.weight * (self.squares / total - 1 / self.weight.sum())
        changes: Floats = (
            of_loss + direction[model.places.sharpness] * moved / PRIOR.sharpness_spread**2
        )
        return changes


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A fit to a log of n verdicts, of which some can be left out.

    `members` are those of a blend, or the fit alone, and `fitted` the fit of each; None for a
    member that is none.
    """

    n: int
    members: tuple[Member, ...]
    fitted: tuple[FittedMember | None, ...]

    @classmethod
    def of(cls, log: PreferencePairs, fit: DirectFit) -> Self:
        """Return a fit to a log."""
        members = fit.members or (Member(fit.loss, 1.0, np.nan, np.nan, fit.dcg, fit),)
        with one_blas_thread():
            fits = [member.fit for member in members]
            fitted = [None if one is None else FittedMember.of(log, one) for one in fits]
        return cls(len(log), members, ())._moved(fitted)

    @cached_property
    def dcg(self) -> DCG:
        """The DCG, with the best gain and the first discount 1."""
        return mean_dcg(self.members)

    def influence(self, quantity: Quantity) -> Floats:
        """Return by how much a quantity grows, to first order, without each verdict; shape (n,)."""
        total = np.zeros(self.n)
        with one_blas_thread():
            for place, part in enumerate(self.fitted):
                slope = None if part is None else self._slope(quantity, place, part)
                if part is not None and slope is not None and slope.any():
                    total[part.rows] += part.influence(slope)
        return total

    def without(self, left_out: Flags) -> Self:
        """Return the fit without some verdicts, shape (n,): descents from this one."""
        with one_blas_thread():
            fitted = [None if part is None else part.without(left_out) for part in self.fitted]
        return self._moved(fitted)

    def _moved(self, fitted: Sequence[FittedMember | None]) -> Self:
        """Return the members at other parameters, with the weights that they have."""
        members = [
            member if part is None else replace(member, dcg=part.dcg())
            for member, part in zip(self.members, fitted, strict=True)
        ]
        return replace(self, members=tuple(members), fitted=tuple(fitted))

    def _slope(self, quantity: Quantity, place: int, part: FittedMember) -> Floats:
        """Return the slope of a quantity in the parameters of one member, shape (p,)."""
        at = part.fitted.model.places
        theta = part.fitted.theta
        of_curves = np.r_[: at.delta.stop, at.empty]

        # the blend on both sides of each parameter
        dcgs = []
        for sign in (1, -1):
            for i in of_curves:
                moved = theta.copy()
                moved[i] += sign * STEP
                members = [*self.members]
                members[place] = replace(members[place], dcg=part.dcg(moved))
                dcgs.append(mean_dcg(members))

        # difference quotients
        above, below = np.split(quantity(dcgs), 2)
        slope = np.zeros(len(theta))
        slope[of_curves] = (above - below) / (2 * STEP)
        return slope
