"""Gains and discounts fitted directly to judgements, on plain arrays: parameters, prior, objective.

The parameters are logarithms. Gains rise by ``exp(alpha_m)`` from grade m - 1 to m, the logs of
the discounts fall by ``exp(delta_k)`` from position k to k + 1: increasing and decreasing by
construction. The usual curves are straight lines: ``alpha`` is linear in the grade for gains
``p^g - 1`` (constant for linear gains), ``log c`` is linear in the log of the rank for discounts
``r^-q``, nearly so for ``1/log2(r + 1)``; ``delta``, less that of 1/r, is then log q throughout, so
that flat and steep discounts are as smooth as others. The prior charges curvatures by a smooth
Huber loss, so a few sharp ones stay cheap and a step in the data is learned as a step. Where
discounts are free, their logs fall by a ``delta_k`` of either sign; a free zero is one more gain,
of an empty place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.curve_kernel import Layout, add_in_parameters, fill_points
from dcglearn.learning.curve_prior import CurvePrior, CurveShape, curve_prior
from dcglearn.learning.judgement_kernel import CURVATURE, LIKELIHOOD, SIGMOID, SLOPES, VALUE
from dcglearn.learning.pair_loss import JudgementSource, LossSums, Points
from dcglearn.learning.trust_region import Local

TwoCurves: TypeAlias = tuple[Floats, Floats]
"""Gains and discounts, or their alpha and delta."""


@dataclass(frozen=True)
class PriorNumbers:
    """Means and standard deviations of the parameters before a log is seen."""

    gain_slope: tuple[float, float] = (1.0, 3.0)  # slope of alpha per grade
    discount_slope: tuple[float, float] = (-1.2, 2.5)  # log of the exponent q of falling discounts
    free_slope: tuple[float, float] = (0.0, 1.0)  # exponent q of free discounts
    near_target: float = 4.0  # with a target metric, slopes are this many times closer to its own
    least_exponent: float = 0.05  # that of a flatter target counts as this
    sharpness_spread: float = 2.5  # around `Model.centre`: rather errors than near-ties
    error: tuple[float, float] = (-2.5, 1.5)  # common logit of the error rate
    own_error: float = 1.0  # deviations of single judges' logits
    empty_spread: float = 0.5  # gain of an empty place, with gains from 0 to 1
    threshold_spread: float = 2.0  # logs of the steps between thresholds, around 0


PRIOR = PriorNumbers()
"""The prior of every direct fit."""

LEAST_FALL = 3e-4
"""The least fall of a log discount, in place of none."""

BIAS_SPREAD = 2.0
"""Prior standard deviation of position bias, common and by judge, in units of judges' noise."""


@dataclass(frozen=True)
class Curves:
    """Gains that rise by 1 from worst to best grade, discounts of sum 1, and judges' parameters.

    `gains`, shape (L,), and `discounts`, shape (K,), are the metric; in units of the judges' noise
    two lists differ by ``z = sharpness * (DCG of one list - DCG of the other)``. `errors`, shape
    (R,), is the error rate of each judge and `biases`, shape (R,), the position bias, in units of
    the noise; none, shape (0,), where sides are not known. For `thresholds`, shape (M + 2,), see
    `pair_loss`.
    """

    gains: Floats
    discounts: Floats
    sharpness: float
    errors: Floats
    thresholds: Floats
    biases: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def weights(self) -> Floats:
        """The utility in units of the judges' noise, shape (K, L)."""
        return self.sharpness * np.outer(self.discounts, self.gains)

    @property
    def scaled(self) -> TwoCurves:
        """Gains whose best is 1, and discounts whose first is 1."""
        return self.gains / self.gains[-1], self.discounts / self.discounts[0]


class Places(NamedTuple):
    """One entry for each group of parameters of a `Model`, in their order; its slices, usually."""

    alpha: Any  # logs of the steps from gain to gain
    delta: Any  # logs of the falls of the log discounts; the falls, if these are free
    sharpness: Any  # its log
    error: Any  # common logit of the error rate
    empty: Any  # gain of an empty place
    bias: Any  # common position bias
    thresholds: Any  # logs of the steps between thresholds
    own_errors: Any  # deviations of the judges' logits from the common one
    own_biases: Any  # deviations of their biases

    @property
    def n(self) -> int:
        """The number of parameters."""
        return int(self.own_biases.stop)

    @property
    def sizes(self) -> list[int]:
        """The number of parameters of each group."""
        return [place.stop - place.start for place in self]


@dataclass(frozen=True)
class Model:
    """The model to fit: K positions, L grades, R raters, M levels of strength, loss and prior.

    `kind` is the loss of `pair_loss`, `with_errors` tells whether to estimate error rates, `ties`
    whether the log holds ties, and `sided` whether it tells which list was shown first: then
    position biases are parameters. `ridge` is the strength of the prior on the two curves (on their
    curvatures, times `straighter`), `centre` the prior mean of the log sharpness, and `target` the
    alpha, shape (L - 1,), and delta, shape (K - 1,), to shrink to (straight lines by default).
    `zero` is the grade with gain 0, L for none: then the gain of an empty place is a parameter,
    expected at `empty`. Discounts may rise unless they are `falling`.
    """

    depth: int
    n_grades: int
    kind: int = LIKELIHOOD
    with_errors: bool = True
    n_raters: int = 1
    n_levels: int = 1
    ties: bool = False
    sided: bool = False
    ridge: float = 1.0
    straighter: float = 1.0
    centre: float = 5.0
    target: TwoCurves | None = None
    zero: int = 0
    empty: float = 0.0
    falling: bool = True

    @cached_property
    def places(self) -> Places:
        """Where the parameters stand, which depends on what the log tells."""
        # thresholds that are learned, and judges with errors of their own
        thresholds = self.n_levels - 1 + self.ties
        if self.kind == SIGMOID:
            thresholds = 0
        own = self.n_raters if self.with_errors and self.n_raters > 1 else 0

        # the size of each group
        sizes = [
            self.n_grades - 1,
            self.depth - 1,
            1,
            # errors, an empty place, and the side
            int(self.with_errors),
            int(self.zero == self.n_grades),
            int(self.sided),
            # strengths, and judges
            thresholds,
            own,
            own * self.sided,
        ]
        ends = np.cumsum(sizes).tolist()
        return Places(*map(slice, [0, *ends], ends))

    @cached_property
    def layout(self) -> Layout:
        """Sizes of the parts as `add_in_parameters` counts them."""
        alpha, delta, sharpness, *common, own, _ = self.places.sizes
        first_threshold = 1 if self.ties else 2
        sizes = [alpha, delta + sharpness, *common, first_threshold, own, self.falling]
        return np.array(sizes, np.int64)

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the parameters, shape (p,) each."""
        # discounts fall; free ones rise by at most e^3 a position
        delta = (-min(3.0, 600 / self.depth), 20.0)
        if self.falling:
            # by hardly anything; but lists of equal discounts would be tied, not nearly level
            delta = (float(np.log(LEAST_FALL)), 3.0)
        ends = Places(
            alpha=(-30.0, 30.0),
            delta=delta,
            sharpness=(self.centre - 8, self.centre + 4),
            error=(-9.0, -0.02),  # an error rate below 1/2; single judges may exceed it
            empty=(-4.0, 0.9),
            bias=(-30.0, 30.0),
            thresholds=(-9.0, 9.0),
            own_errors=(-9.0, 9.0),
            own_biases=(-30.0, 30.0),
        )
        low, high = np.repeat(np.array(ends), self.places.sizes, axis=0).T
        return np.ascontiguousarray(low), np.ascontiguousarray(high)

    def starts(
        self, log_metrics: Floats, softer: float = 0.0, empty: Floats | float = 0.0
    ) -> Floats:
        """Return parameters, (S, p), of metrics given by alpha and delta, (S, L + K - 2).

        `softer` explains noise by judges who are less sharp (by this many log units) and err less;
        `empty` is the gain of an empty place, shape (S,), where it is a parameter. All are within
        bounds.
        """
        at = self.places
        thetas = np.zeros((len(log_metrics), at.n))
        thetas[:, : at.delta.stop] = log_metrics
        thetas[:, at.sharpness] = self.centre - softer
        thetas[:, at.error] = -1.5 - softer
        thetas[:, at.empty] = np.reshape(empty, (-1, 1))
        return np.clip(thetas, *self.bounds)

    def sharpened(self, thetas: Floats, changes: Sequence[float]) -> Floats:
        """Return S parameters with each of C changes of the log sharpness, shape (C S, p)."""
        changed = np.tile(thetas, (len(changes), 1))
        changed[:, self.places.sharpness] += np.repeat(changes, len(thetas))[:, None]
        return np.clip(changed, *self.bounds)

    def curves(self, theta: Floats) -> Curves:
        """Return gains, discounts and judges at parameters theta, shape (p,)."""
        points = self.points(theta[None])
        sharpness = float(np.exp(theta[self.places.sharpness.start]))
        return Curves(
            gains=self.zeroed(points.gains)[0],
            discounts=points.discounts[0] / sharpness,
            sharpness=sharpness,
            errors=points.errors[0],
            thresholds=points.thresholds[0],
            biases=np.zeros(0) if points.biases is None else points.biases[0],
        )

    def zeroed(self, gains: Floats) -> Floats:
        """Return the gains of the grades, (B, L), minus the gain that counts as 0."""
        return gains[:, : self.n_grades] - gains[:, [self.zero]]

    def points(self, thetas: Floats) -> Points:
        """Return gains, discounts times sharpness, and judges at parameters, shape (B, p).

        With a free zero, the last gain is an empty place's.
        """
        at = self.places
        n = len(thetas)

        # what is no parameter: the worst grade's gain, the outer thresholds
        gains = np.zeros((n, max(self.n_grades, self.zero + 1)))
        discounts = np.zeros((n, self.depth))
        errors = np.zeros((n, self.n_raters))
        thresholds = np.zeros((n, self.n_levels + 2))
        thresholds[:, -1] = np.inf
        fill_points(self.layout, thetas, gains, discounts, thresholds, errors)

        # a judge's bias is the common one plus the judge's own
        biases = None
        if self.sided:
            own = thetas[:, at.own_biases]
            biases = thetas[:, at.bias] + (own if own.shape[1] else np.zeros(self.n_raters))
        return Points(gains, discounts, thresholds, errors, biases)

    @cached_property
    def prior(self) -> CurvePrior:
        """Minus the log prior (up to a constant)."""
        at = self.places

        # the two curves are near straight lines, or near those of the target
        slopes = [PRIOR.gain_slope, PRIOR.discount_slope if self.falling else PRIOR.free_slope]
        falls = np.diff(np.log(np.arange(1.0, self.depth + 1)))  # of the discounts 1/r
        of_gains: Floats | float = 0.0
        of_discounts: Floats | float = np.log(falls) if self.falling else 0.0
        if self.target is not None:
            of_gains, of_discounts = self.target
            if self.falling:
                of_discounts = np.maximum(of_discounts, np.log(PRIOR.least_exponent * falls))
            slopes = [(0.0, spread / PRIOR.near_target) for _, spread in slopes]
        scale = 1.0 if self.falling else falls
        curves = [
            CurveShape(at.alpha, of_gains, 1.0, slopes[0], of_levels=True),
            CurveShape(at.delta, of_discounts, scale, slopes[1], of_levels=False),
        ]

        # all else is normal
        normals = [
            (at.sharpness, self.centre, PRIOR.sharpness_spread),
            (at.error, *PRIOR.error),
            (at.empty, self.empty, PRIOR.empty_spread),
            (at.bias, 0.0, BIAS_SPREAD),
            (at.thresholds, 0.0, PRIOR.threshold_spread),
            (at.own_errors, 0.0, PRIOR.own_error),
            (at.own_biases, 0.0, BIAS_SPREAD),
        ]

        # only differences of alpha matter: `pinned` holds their mean
        n_free = at.n - at.own_errors.start
        prior = curve_prior(at.n, n_free, curves, at.alpha, normals, self.ridge)
        return replace(prior, ridge=self.ridge * self.straighter)


def log_curves(
    gains: Floats, discounts: Floats, *, falling: bool = True, exact: bool = False
) -> TwoCurves:
    """Return alpha and delta of a metric; steps that are not positive become very small ones.

    So do small positive ones, unless they are to be `exact`. With `falling`, discounts that rise
    are cut to those above them.
    """
    # steps between gains, as shares of their sum
    steps = np.diff(gains)
    if not exact or steps.min() <= 0:
        steps = np.maximum(steps, 1e-4 * max(float(np.ptp(gains)), 1e-300))
    alpha = np.log(steps / steps.sum())

    # falls from one discount to the next
    if not exact or discounts.min() <= 0:
        discounts = np.maximum(discounts, 1e-3 * max(float(np.abs(discounts).max()), 1e-300))
    return alpha - alpha.mean(), delta_of(discounts, falling=falling)


def delta_of(discounts: Floats, *, falling: bool) -> Floats:
    """Return delta of positive discounts; with `falling`, none falls by less than `LEAST_FALL`."""
    if not falling:
        return -np.diff(np.log(discounts))
    falls = -np.diff(np.log(np.minimum.accumulate(discounts)))
    return np.log(np.maximum(falls, LEAST_FALL))


def log_metrics(metrics: Iterable[TwoCurves], *, falling: bool = True) -> Floats:
    """Return alpha and delta of S metrics, gains and discounts each, shape (S, L + K - 2)."""
    return np.array([np.concatenate(log_curves(*metric, falling=falling)) for metric in metrics])


def empty_gain(gains: Floats) -> float:
    """Return the gain of an empty place, whose value is 0, where gains rise from 0 to 1."""
    span = float(gains[-1] - gains[0])
    return -float(gains[0]) / span if span > 0 else 0.0


def family(n_grades: int, depth: int, *, falling: bool = True) -> list[TwoCurves]:
    """Return gains ``p^g - 1`` and discounts ``r^-q`` over a grid of p and q.

    On the scales of alpha and delta they are straight, or nearly. Unless `falling`, these are
    followed by the same discounts from the bottom, and from both ends.
    """
    grades, ranks = np.arange(float(n_grades)), np.arange(1.0, depth + 1)
    gains = [(p**grades - 1) / (p - 1) for p in (0.5, 1.01, 1.5, 2.0, 3.0, 5.0, 8.0, 20.0)]
    discounts = [ranks**-q for q in (0.05, 0.25, 0.5, 1.0)]
    if not falling:
        for curve in discounts[:]:
            discounts += [curve[::-1], np.maximum(curve, curve[::-1])]
    return [(g, d) for g in gains for d in discounts]


@dataclass(frozen=True, eq=False)
class DirectObjective:
    """``share * loss + prior`` of parameters, with derivatives from sums over the judgements."""

    model: Model
    judgements: JudgementSource
    share: float

    def __call__(self, thetas: Floats) -> Local:
        """Return the objective near parameters, shape (B, p)."""
        return self.at(thetas, CURVATURE)

    def thinned(self, n: int) -> DirectObjective:
        """Return the objective on about `n` judgements, which weigh as much as all together."""
        if len(self.judgements) < 2 * n:
            return self
        few = self.judgements.thinned(n)
        share = self.share * self.judgements.total_weight / few.total_weight
        return DirectObjective(self.model, few, share)

    def lowest(self, thetas: Floats, n: int) -> list[int]:
        """Return the indices of the n parameters with the lowest values, lowest first."""
        lowest: list[int] = np.argsort(self.values(thetas), kind="stable")[:n].tolist()
        return lowest

    def values(self, thetas: Floats) -> Floats:
        """Return the objective at parameters, shape (B, p)."""
        at_once = 32  # more need more memory than is near the processor
        groups = [thetas[i : i + at_once] for i in range(0, len(thetas), at_once)]
        values: Floats = np.concatenate([self.at(group, VALUE).value for group in groups])
        return values

    def with_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the objective at parameters, shape (p,), and its gradient."""
        local = self.at(theta[None], SLOPES)
        return float(local.value[0]), local.gradient[0]

    def at(self, thetas: Floats, order: int) -> Local:
        """Return the objective as far as the order of the sums goes; see `pair_loss`."""
        thetas = np.ascontiguousarray(thetas)

        # the loss and the prior
        points = self.model.points(thetas)
        sums = self.judgements.sums(points, self.model.kind, order)
        value, gradient, dense = self.model.prior.at(thetas)

        # second derivatives of what belongs to single judges
        n, d = dense.shape[:2]
        n_single = thetas.shape[1] - d
        cross, diagonal = np.zeros((n, n_single, d)), np.zeros((n, n_single))
        diagonal += self.model.prior.precision[d:]
        own_biases = self.model.places.own_biases
        coupled = np.zeros((n, own_biases.stop - own_biases.start))

        local = Local(value + self.share * sums.loss, gradient, dense, cross, diagonal, coupled)
        if order > VALUE:
            _add_loss(self.model, thetas, self.share, points, sums, local)
        return local


def _add_loss(
    model: Model, thetas: Floats, share: float, points: Points, sums: LossSums, local: Local
) -> None:
    """Add `share` times the derivatives of the loss at parameters to those of the prior."""
    at = model.places
    d = local.dense.shape[1]
    judges = _Judges.of(model, points, sums)

    # slopes in gains, discounts, thresholds and common parameters of judges
    of_gains = (points.discounts[:, None, :] @ sums.moment)[:, 0]
    of_discounts = (sums.moment @ points.gains[:, :, None])[:, :, 0]
    of_common = judges.by_kind(judges.slopes)
    slopes = np.hstack([of_gains, of_discounts, sums.thresholds, of_common])

    # slopes in judges' own parameters
    n_own = at.n - d
    local.gradient[:, d:] += share * judges.slopes[:, :n_own]

    # from curves to their parameters
    curved = sums.joint.shape[1] > 0
    joint = _joint_curvature(points, sums, judges) if curved else None
    curves = points.gains, points.discounts
    in_parameters = local.gradient, local.dense
    jacobian = add_in_parameters(
        model.layout, share, thetas, *curves, slopes, joint, *in_parameters
    )

    # second derivatives that involve judges' own parameters
    if curved and n_own:
        of_own = judges.moves[:, :, None] * (judges.crossed @ jacobian[:, : sums.joint.shape[1]])
        of_own[:, :, np.r_[at.error, at.bias]] += judges.with_common.transpose(0, 2, 1)
        local.cross[...] += share * of_own
        local.diagonal[...] += share * judges.curvatures
        local.coupled[...] += share * judges.coupled[:, : local.coupled.shape[1]]


def _joint_curvature(points: Points, sums: LossSums, judges: _Judges) -> Floats:
    """Return second derivatives in gains, discounts, thresholds and common parameters of judges.

    The shape is (B, m, m). The moment stands in it because z is a product of gains and discounts.
    """
    n, n_curves = sums.joint.shape[:2]
    n_gains = points.gains.shape[1]
    size = n_curves + len(judges.kinds)
    joint = np.zeros((n, size, size))

    # in the curves and thresholds
    joint[:, :n_curves, :n_curves] = sums.joint
    gains, discounts = slice(n_gains), slice(n_gains, n_gains + points.discounts.shape[1])
    joint[:, gains, discounts] += sums.moment.transpose(0, 2, 1)
    joint[:, discounts, gains] += sums.moment

    # in the judges, with the curves and alone
    across = (judges.kinds * judges.moves[:, None, :]) @ judges.crossed
    joint[:, n_curves:, :n_curves] = across
    joint[:, :n_curves, n_curves:] = across.transpose(0, 2, 1)
    joint[:, n_curves:, n_curves:] = judges.by_kind(judges.with_common)
    return joint


@dataclass(frozen=True)
class _Judges:
    """Derivatives of a loss in J numbers of R judges: logits of error rates, biases, or both.

    `kinds`, shape (C, J), tells which numbers belong to each of the C common parameters. `moves`
    and `turns`, shape (B, J), are the derivatives of a rate or bias in its number, once and twice;
    `first` and `second`, shape (B, J), those of the loss in rates and biases, `crossed`, (B, J, m),
    those in these and the curves, and `in_both`, shape (B, R), those in a judge's rate and bias.
    """

    kinds: Floats
    moves: Floats
    turns: Floats
    first: Floats
    second: Floats
    crossed: Floats
    in_both: Floats

    @classmethod
    def of(cls, model: Model, points: Points, sums: LossSums) -> Self:
        """Return the derivatives at points; error rates of zero are no parameters."""
        n, n_raters = points.errors.shape
        kinds = np.eye(model.with_errors + model.sided).repeat(n_raters, axis=1)

        # a rate is the sigmoid of its logit, a bias is its own number
        moves, turns = np.ones((n, kinds.shape[1])), np.zeros((n, kinds.shape[1]))
        if model.with_errors:
            moves[:, :n_raters] = points.errors * (1 - points.errors)
            turns[:, :n_raters] = 1 - 2 * points.errors

        free = slice(0 if model.with_errors else n_raters, None)
        of_judges = sums.judges[:, free], sums.judges_twice[:, free], sums.crossed[:, free]
        return cls(kinds, moves, turns, *of_judges, sums.coupled)

    @cached_property
    def slopes(self) -> Floats:
        """Slopes of the loss in the numbers, shape (B, J)."""
        return self.first * self.moves

    @cached_property
    def curvatures(self) -> Floats:
        """Second derivatives in each of the numbers, shape (B, J)."""
        return self.second * self.moves**2 + self.slopes * self.turns

    @cached_property
    def coupled(self) -> Floats:
        """Second derivatives in a judge's logit and bias, (B, R); zeros, (B, J), with one kind."""
        if len(self.kinds) < 2:
            return np.zeros(self.moves.shape)
        return self.in_both * self.moves[:, : self.in_both.shape[1]]

    @cached_property
    def with_common(self) -> Floats:
        """Second derivatives in each common parameter and each of the numbers, shape (B, C, J)."""
        coupled = np.tile(self.coupled, len(self.kinds))
        return np.where(self.kinds, self.curvatures[:, None], coupled[:, None])

    def by_kind(self, values: Floats) -> Floats:
        """Return the sums of values, shape (..., J), over the judges: shape (..., C)."""
        n_kinds, n_numbers = self.kinds.shape
        n_raters = n_numbers // max(n_kinds, 1)
        return values.reshape(*values.shape[:-1], n_kinds, n_raters).sum(axis=-1)
