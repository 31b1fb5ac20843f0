"""The parameters of the direct fit: gains, discounts and judges, and their prior.

The parameters are logarithms. Gains rise by ``exp(alpha_m)`` from grade m - 1 to m, the logs of
the discounts fall by ``exp(delta_k)`` from position k to k + 1: increasing and decreasing by
construction. The usual curves are straight lines: ``alpha`` is linear in the grade for gains ``p^g
- 1`` (constant for linear gains), ``log c`` is linear in the log of the rank for discounts
``r^-q``, nearly so for ``1/log2(r + 1)``; ``delta``, less that of 1/r, is then log q throughout, so
that flat and steep discounts are as smooth as others. The prior charges bends by a smooth Huber
loss, so a few sharp ones stay cheap and a step in the data is learned as a step. Where discounts
are free, their logs fall by a ``delta_k`` of either sign. A free zero is the gain, among those from
0 to 1, that is worth as much as an empty place. The value of a list with n results counts ``n^-p``
times: p = 0 adds up, p = 1 averages; where p is free, its logit is a parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, frozen
from dcglearn.kernels.library import function
from dcglearn.learning.pairs import Points
from dcglearn.learning.prior import Normal, Prior
from dcglearn.metrics.dcg import DCG, textbook_dcgs

fill_points = function(
    "fill_points l[10] .n .p .gains .thresholds .judges f[n,p] f[judges] f[judges] f[n,gains] f[0] "
    "f[n] f[n,thresholds] f[n,judges] f[n,judges]"
)
"""Sets gains, (B, L), discounts times sharpness, (B, K), powers, thresholds, errors and biases.

Taken are the layout, parameters, (B, p), judges' deviations from the common logit of error and from
the common bias, (R,) each, and these six. What is not a parameter stays as it is: the power, other
thresholds, errors without logits.
"""


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
    power: tuple[float, float] = (0.0, 1.6)  # its logit: nearly uniform from 0 to 1
    threshold_spread: float = 2.0  # logs of the steps between thresholds, around 0


PRIOR = PriorNumbers()
"""The prior of every direct fit."""

LEAST_FALL = 3e-4
"""The least fall of a log discount, in place of none."""

POWERS = np.array([0.1, 0.5, 0.9])
"""Powers that the search of a free one starts from."""

BIAS_SPREAD = 2.0
"""Prior standard deviation of position bias, common and by judge, in units of judges' noise."""

OWN_SPREADS = np.array([PRIOR.own_error, BIAS_SPREAD])
"""Prior standard deviations of judges' own deviations, in the logit of error and the bias."""


class Places(NamedTuple):
    """One entry for each group of parameters of a `Model`, in their order; its slices, usually."""

    alpha: Any  # logs of the steps from gain to gain
    delta: Any  # logs of the falls of the log discounts; the falls, if these are free
    sharpness: Any  # its log
    error: Any  # common logit of the error rate
    empty: Any  # gain that an empty place is worth
    power: Any  # logit of the power of lengths
    bias: Any  # common position bias
    thresholds: Any  # logs of the steps between thresholds

    @property
    def n(self) -> int:
        """The number of parameters."""
        return int(self.thresholds.stop)

    @property
    def sizes(self) -> list[int]:
        """The number of parameters of each group."""
        return [place.stop - place.start for place in self]


@dataclass(frozen=True, eq=False)
class Model:
    """The model to fit: K positions, L grades, M levels of strength, judges and prior.

    `with_errors` tells whether to estimate error rates, `ties` whether the log holds ties, and
    `sided` whether it tells which list was shown first: then position biases are parameters. `own`,
    shape (2, R), holds by how much the logits of error and the biases of each of R judges differ
    from the common ones. `ridge` is the strength of the prior on the two curves, `centre` the prior
    mean of the log sharpness, and `target` the alpha and delta to shrink to, shape (L + K - 2,);
    None is for straight lines. `zero` is the grade with gain 0, L for none: then the gain of an
    empty place is a parameter, expected at `empty`. Discounts may rise unless they are `falling`.
    `power` is that of lengths, a parameter if it is None.
    """

    depth: int
    n_grades: int
    with_errors: bool = True
    n_levels: int = 1
    ties: bool = False
    sided: bool = False
    # judges
    own: Floats = field(default_factory=lambda: np.zeros((2, 1)))
    # the prior
    ridge: float = 1.0
    centre: float = 5.0
    target: Floats | None = None
    # what is fixed
    zero: int = 0
    empty: float = 0.0
    falling: bool = True
    power: float | None = 0.0

    @cached_property
    def places(self) -> Places:
        """Where the parameters stand, which depends on what the log tells."""
        sizes = [
            self.n_grades - 1,
            self.depth - 1,
            1,
            # errors, an empty place, and the side
            int(self.with_errors),
            int(self.zero == self.n_grades),
            int(self.power is None),
            int(self.sided),
            # strengths
            self.n_levels - 1 + self.ties,
        ]
        ends = np.cumsum(sizes).tolist()
        return Places(*map(slice, [0, *ends], ends))

    @cached_property
    def layout(self) -> NDArray[np.int64]:
        """Sizes of the parts, then the first threshold that is a parameter, and what is fixed.

        As the kernels count them: the log sharpness goes with delta.
        """
        alpha, delta, sharpness, *others = self.places.sizes
        first_threshold = 1 if self.ties else 2
        sizes = [alpha, delta + sharpness, *others, first_threshold, self.falling, self.zero]
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
            power=(-9.0, 9.0),
            bias=(-30.0, 30.0),
            thresholds=(-9.0, 9.0),
        )
        low, high = np.repeat(np.array(ends), self.places.sizes, axis=0).T
        return np.ascontiguousarray(low), np.ascontiguousarray(high)

    def starts(
        self, log_metrics: Floats, softer: float = 0.0, empty: Floats | float = 0.0
    ) -> Floats:
        """Return parameters, (S, p), of metrics given by alpha and delta, (S, L + K - 2).

        `softer` explains noise by judges who are less sharp (by this many log units) and err less;
        `empty` is the gain of an empty place, shape (S,), where it is a parameter; where the power
        is one, each metric comes with `POWERS`. All are within bounds.
        """
        at = self.places
        thetas = np.zeros((len(log_metrics), at.n))
        thetas[:, : at.delta.stop] = log_metrics
        thetas[:, at.sharpness] = self.centre - softer
        thetas[:, at.error] = -1.5 - softer
        thetas[:, at.empty] = np.reshape(empty, (-1, 1))
        if self.power is None:
            thetas = np.repeat(thetas, len(POWERS), axis=0)
            thetas[:, at.power] = np.tile(logit_of(POWERS), len(log_metrics))[:, None]
        return np.clip(thetas, *self.bounds)

    def sharpened(self, thetas: Floats, changes: Sequence[float]) -> Floats:
        """Return S parameters with each of C changes of the log sharpness, shape (C S, p)."""
        changed = np.tile(thetas, (len(changes), 1))
        changed[:, self.places.sharpness] += np.repeat(changes, len(thetas))[:, None]
        return np.clip(changed, *self.bounds)

    def points(self, thetas: Floats) -> Points:
        """Return gains, discounts times sharpness, and judges at parameters, shape (B, p)."""
        n, n_judges = len(thetas), self.own.shape[1]

        # what is no parameter: the worst grade's gain, the power, the outer thresholds
        gains = np.zeros((n, self.n_grades))
        powers = np.full(n, self.power or 0.0)
        discounts = np.zeros((n, self.depth))
        thresholds = np.zeros((n, self.n_levels + 2))
        thresholds[:, -1] = np.inf
        errors, biases = np.zeros((2, n, n_judges))
        at = gains, discounts, powers, thresholds, errors, biases
        fill_points(self.layout, np.ascontiguousarray(thetas), *self.own, *at)
        return Points(gains, discounts, thresholds, errors, biases, powers)

    @cached_property
    def prior(self) -> Prior:
        """Minus the log prior (up to a constant)."""
        at = self.places
        unit = np.eye(at.n)

        # slopes of the two curves, less those of straight lines
        falls = np.diff(np.log(np.arange(1.0, self.depth + 1)))  # of the discounts 1/r
        means = [PRIOR.gain_slope, PRIOR.discount_slope if self.falling else PRIOR.free_slope]
        of_gains = np.zeros(self.n_grades - 1)
        of_discounts = np.log(falls) if self.falling else np.zeros(self.depth - 1)

        # a target has slopes of its own
        if self.target is not None:
            of_gains, of_discounts = np.split(self.target, [self.n_grades - 1])
            if self.falling:
                of_discounts = np.maximum(of_discounts, np.log(PRIOR.least_exponent * falls))
            means = [(0.0, spread / PRIOR.near_target) for _, spread in means]
        scale = np.ones(self.depth - 1) if self.falling else falls
        slopes = [
            (np.diff(unit[at.alpha], axis=0), np.diff(of_gains)),
            (unit[at.delta] / scale[:, None], of_discounts / scale),
        ]

        # their differences are bends; their means are charged as strongly as the ridge
        bends = [(np.diff(rows, axis=0), np.diff(offsets)) for rows, offsets in slopes]
        normals: list[Normal] = []
        for (rows, offsets), (mean, spread) in zip(slopes, means, strict=True):
            if len(rows):
                strength = np.sqrt(self.ridge) / spread
                whole = strength * rows.mean(axis=0)[None]
                normals.append((whole, strength * (offsets.mean() + mean), 1.0))

        # all else is normal too; only differences of alpha matter, so their mean is held
        normals += [
            (unit[at.alpha].mean(axis=0)[None], 0.0, 1.0),
            (unit[at.sharpness], self.centre, PRIOR.sharpness_spread),
            (unit[at.error], *PRIOR.error),
            (unit[at.empty], self.empty, PRIOR.empty_spread),
            (unit[at.power], *PRIOR.power),
            (unit[at.bias], 0.0, BIAS_SPREAD),
            (unit[at.thresholds], 0.0, PRIOR.threshold_spread),
        ]
        return Prior.of(bends, normals, self.ridge)

    @property
    def cost_of_judges(self) -> float:
        """Minus the log prior of the judges' deviations, up to a constant."""
        return 0.5 * float(np.sum((self.own / OWN_SPREADS[:, None]) ** 2))


def log_curves(
    gains: Floats, discounts: Floats, *, falling: bool = True, exact: bool = False
) -> Floats:
    """Return alpha and delta of a metric, (L + K - 2,); steps that are not positive become small.

    So do small positive ones, unless they are to be `exact`. With `falling`, discounts that rise
    are cut to those above them, and none falls by less than `LEAST_FALL`.
    """
    # steps between gains, as shares of their sum
    steps = np.diff(gains)
    if not exact or steps.min() <= 0:
        steps = np.maximum(steps, 1e-4 * max(float(np.ptp(gains)), 1e-300))
    alpha = np.log(steps / steps.sum())

    # falls from one discount to the next
    if not exact or discounts.min() <= 0:
        discounts = np.maximum(discounts, 1e-3 * max(float(np.abs(discounts).max()), 1e-300))
    if falling:
        falls = -np.diff(np.log(np.minimum.accumulate(discounts)))
        delta = np.log(np.maximum(falls, LEAST_FALL))
    else:
        delta = -np.diff(np.log(discounts))
    return np.concatenate([alpha - alpha.mean(), delta])


def with_curves(model: Model, theta: Floats, dcg: DCG) -> Floats:
    """Return parameters, shape (p,), with a DCG's curves, in which an empty place has value 0.

    They are exact unless a step or discount is not positive, see `log_curves`.
    """
    at = model.places
    theta = theta.copy()
    curves = log_curves(dcg.gains, dcg.discounts, falling=model.falling, exact=True)
    theta[: at.delta.stop] = curves
    theta[at.empty] = empty_gain(dcg.gains)
    theta[at.power] = logit_of(dcg.power)
    return theta


def logit_of(power: Floats | float) -> Floats:
    """Return the parameters of powers, within their bounds."""
    inside = np.clip(power, 1e-4, 1 - 1e-4)
    return np.log(inside / (1 - inside))


def empty_gain(gains: Floats) -> float:
    """Return the gain of an empty place, whose value is 0, where gains rise from 0 to 1."""
    span = float(gains[-1] - gains[0])
    return -float(gains[0]) / span if span > 0 else 0.0


def family(n_grades: int, depth: int, *, falling: bool = True) -> list[tuple[Floats, Floats]]:
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


@cache
def known_curves(n_grades: int, depth: int, falling: bool) -> Floats:
    """Return alpha and delta of a family of curves and of the textbook DCGs, (S, L + K - 2)."""
    textbooks = [(dcg.gains, dcg.discounts) for dcg in textbook_dcgs(n_grades, depth).values()]
    metrics = [*family(n_grades, depth, falling=falling), *textbooks]
    return frozen(np.array([log_curves(*metric, falling=falling) for metric in metrics]))
