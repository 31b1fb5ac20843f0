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
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, Indices, frozen
from dcglearn.kernels.library import function
from dcglearn.learning.pairs import Points
from dcglearn.learning.prior import Prior
from dcglearn.metrics.dcg import DCG, textbook_dcgs

fill_points = function(
    "fill_points l[10] .n .p gains (depth) thresholds .judges f[n,p] f[judges] f[judges] "
    "f[n,gains]+ f[n,depth]+ f[n] f[n,thresholds]+ f[n,judges]+ f[n,judges]+"
)
"""Returns gains, (B, L), discounts times sharpness, (B, K), thresholds, errors and biases.

Taken are the layout; L, K and the number of thresholds; parameters, (B, p); judges' deviations from
the common logit of error and from the common bias, (R,) each; and powers, (B,), which are set where
they are parameters. Thresholds and errors that are none stay 0.
"""


GAIN_SLOPE = 1.0, 3.0
"""Prior mean and standard deviation of the slope of alpha per grade."""

DISCOUNT_SLOPE, FREE_SLOPE = (-1.2, 2.5), (0.0, 1.0)
"""Those of the log of the exponent q of falling discounts, and of the exponent of free ones."""

NEAR_TARGET = 4.0
"""With a target metric, slopes are this many times closer to its own."""

LEAST_EXPONENT = 0.05
"""The exponent of a flatter target counts as this."""

ERROR = -2.5, 1.5
"""Prior mean and standard deviation of the common logit of the error rate."""

BIAS_SPREAD = 2.0
"""Prior standard deviation of position bias, common and by judge, in units of judges' noise."""

OWN_SPREADS = np.array([1.0, BIAS_SPREAD])
"""Prior standard deviations of judges' own deviations, in the logit of error and the bias."""

LEAST_FALL = 3e-4
"""The least fall of a log discount, in place of none."""

POWERS = 0.1, 0.5, 0.9
"""Powers that the search of a free one starts from."""


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


@dataclass(frozen=True, eq=False)
class Model:
    """The model to fit: K positions, L grades, M levels of strength, judges and prior.

    `with_errors` tells whether to estimate error rates, `ties` whether the log holds ties, and
    `sided` whether it tells which list was shown first: then position biases are parameters. `own`,
    shape (2, R), holds by how much the logits of error and the biases of each of R judges differ
    from the common ones. `ridge` is the strength of the prior on the two curves, `centre` the prior
    mean of the log sharpness, and `target` the metric to shrink to, as `log_metric` gives it; None
    is for straight lines. `zero` is the grade with gain 0, L for none: then the gain of an empty
    place is a parameter. Discounts may rise unless they are `falling`. `power` is that of lengths,
    a parameter if it is None.
    """

    depth: int
    n_grades: int
    with_errors: bool
    n_levels: int
    ties: bool
    sided: bool
    # judges
    own: Floats
    # the prior
    ridge: float
    centre: float
    target: Floats | None
    # what is fixed
    zero: int
    falling: bool
    power: float | None

    @cached_property
    def groups(self) -> Places:
        """Number of parameters, lower and upper bound, prior mean and standard deviation.

        Those of the two curves have another prior.
        """
        # discounts fall by hardly anything, but lists of equal ones would be tied, not nearly level
        falls = float(np.log(LEAST_FALL)), 3.0
        if not self.falling:
            # free ones rise by at most e^3 a position
            falls = -min(3.0, 600 / self.depth), 20.0
        empty = 0.0 if self.target is None else float(self.target[-2])
        return Places(
            alpha=(self.n_grades - 1, -30.0, 30.0, None, None),
            delta=(self.depth - 1, *falls, None, None),
            # rather errors than near-ties
            sharpness=(1, self.centre - 8, self.centre + 4, self.centre, 2.5),
            # an error rate below 1/2; single judges may exceed it
            error=(int(self.with_errors), -9.0, -0.02, *ERROR),
            empty=(int(self.zero == self.n_grades), -4.0, 0.9, empty, 0.5),
            # nearly uniform from 0 to 1
            power=(int(self.power is None), -9.0, 9.0, 0.0, 1.6),
            bias=(int(self.sided), -30.0, 30.0, 0.0, BIAS_SPREAD),
            thresholds=(self.n_levels - 1 + self.ties, -9.0, 9.0, 0.0, 2.0),
        )

    @cached_property
    def places(self) -> Places:
        """Where the parameters stand, which depends on what the log tells."""
        ends = np.cumsum([n for n, *_ in self.groups]).tolist()
        return Places(*map(slice, [0, *ends], ends))

    @cached_property
    def layout(self) -> NDArray[np.int64]:
        """Sizes of the parts, then the first threshold that is a parameter, and what is fixed.

        As the kernels count them: the log sharpness goes with delta.
        """
        alpha, delta, sharpness, *others = (n for n, *_ in self.groups)
        first_threshold = 1 if self.ties else 2
        sizes = [alpha, delta + sharpness, *others, first_threshold, self.falling, self.zero]
        return np.array(sizes, np.int64)

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the parameters, shape (p,) each."""
        sizes, lows, highs, *_ = zip(*self.groups, strict=True)
        return np.repeat(lows, sizes), np.repeat(highs, sizes)

    @cached_property
    def of_judges(self) -> Indices:
        """Where the parameters of the judges stand; the others are those of the metric."""
        at = self.places
        return np.r_[at.sharpness, at.error, at.bias, at.thresholds]

    def with_metrics(self, theta: Floats, metrics: Floats) -> Floats:
        """Return parameters, (S, p), of metrics, (S, L + K), with judges as at theta, (p,).

        The metrics are given by `log_metric`.
        """
        # curves, then what only some models learn of a metric
        at = self.places
        thetas = np.tile(theta, (len(metrics), 1))
        thetas[:, : at.delta.stop] = metrics[:, :-2]
        thetas[:, at.empty] = metrics[:, -2:-1]
        thetas[:, at.power] = metrics[:, -1:]
        return thetas

    def starts(self, metrics: Floats, softer: float = 0.0) -> Floats:
        """Return parameters, (S, p), of metrics, (S, L + K), within bounds.

        `softer` explains noise by judges who are less sharp (by this many log units) and err less.
        """
        # judges without bias, and with thresholds a unit apart
        judges = np.zeros(self.places.n)
        judges[self.places.sharpness] = self.centre - softer
        judges[self.places.error] = -1.5 - softer
        return np.clip(self.with_metrics(judges, metrics), *self.bounds)

    def sharpened(self, theta: Floats, changes: Sequence[float]) -> Floats:
        """Return parameters, (p,), with each of C changes of the log sharpness, shape (C, p)."""
        is_sharpness = np.arange(self.places.n) == self.places.sharpness.start
        return np.clip(theta + np.outer(changes, is_sharpness), *self.bounds)

    def with_own(self, own: Floats) -> Model:
        """Return the model with other deviations of judges, and the prior, which has none."""
        model = replace(self, own=own)
        vars(model)["prior"] = self.prior
        return model

    def points(self, thetas: Floats) -> Points:
        """Return gains, discounts times sharpness, and judges at parameters, shape (B, p)."""
        # the power is no parameter where it is fixed, nor is the threshold beyond all strengths
        powers = np.full(len(thetas), self.power or 0.0)
        sizes = self.n_grades, self.depth, self.n_levels + 2
        thetas = np.ascontiguousarray(thetas)
        gains, discounts, thresholds, errors, biases = fill_points(
            self.layout, *sizes, thetas, *self.own, powers
        )
        thresholds[:, -1] = np.inf
        return Points(gains, discounts, thresholds, errors, biases, powers)

    @cached_property
    def prior(self) -> Prior:
        """Minus the log prior (up to a constant)."""
        # each parameter, and in the last column what it is less: that of a straight curve
        at = self.places
        forms = np.eye(at.n, at.n + 1)
        level = forms[at.alpha].mean(axis=0)
        falls = np.diff(np.log(np.arange(1.0, self.depth + 1)))  # of the discounts 1/r
        means = [GAIN_SLOPE, DISCOUNT_SLOPE if self.falling else FREE_SLOPE]
        if self.falling:
            forms[at.delta, -1] = np.log(falls)

        # or that of a target, which has slopes of its own
        if self.target is not None:
            forms[: at.delta.stop, -1] = self.target[:-2]
            if self.falling:
                least = np.log(LEAST_EXPONENT * falls)
                forms[at.delta, -1] = np.maximum(forms[at.delta, -1], least)
            means = [(0.0, spread / NEAR_TARGET) for _, spread in means]

        # slopes of the two curves, whose differences are bends
        scale = np.ones(self.depth - 1) if self.falling else falls
        slopes = np.diff(forms[at.alpha], axis=0), forms[at.delta] / scale[:, None]
        of_gains, of_discounts = (np.diff(of_curve, axis=0) for of_curve in slopes)
        rows = [of_gains, of_discounts]

        # their means are charged as strongly as the ridge
        for of_curve, (mean, spread) in zip(slopes, means, strict=True):
            if len(of_curve):
                row = of_curve.mean(axis=0)
                row[-1] = of_curve[:, -1].mean() + mean
                rows.append(np.sqrt(self.ridge) / spread * row[None])

        # all else is normal too; only differences of alpha matter, so their mean is held
        rows.append(level[None])
        for place, (*_, mean, spread) in [*zip(at, self.groups, strict=True)][2:]:
            forms[place, -1] = mean
            rows.append(forms[place] / spread)

        charged = np.vstack(rows)
        linear, centres = charged[:, :-1].copy(), charged[:, -1].copy()
        return Prior(linear, centres, (len(of_gains), len(of_discounts)), self.ridge)

    @property
    def cost_of_judges(self) -> float:
        """Minus the log prior of the judges' deviations, up to a constant."""
        return 0.5 * float(np.sum((self.own / OWN_SPREADS[:, None]) ** 2))


def log_metric(dcg: DCG, *, falling: bool = True) -> Floats:
    """Return the parameters of a metric, (L + K,): alpha, delta, the gain of an empty place, power.

    The last is a logit. Where a step between gains is not positive, small ones become as small as
    it; the same holds of discounts. With `falling`, discounts that rise are cut to those above
    them, and none falls by less than `LEAST_FALL`.
    """
    gains, discounts = dcg.gains, dcg.discounts

    # steps between gains, as shares of their sum
    steps = np.diff(gains)
    if steps.min() <= 0:
        steps = np.maximum(steps, 1e-4 * max(float(np.ptp(gains)), 1e-300))
    alpha = np.log(steps / steps.sum())

    # falls from one discount to the next
    if discounts.min() <= 0:
        discounts = np.maximum(discounts, 1e-3 * max(float(np.abs(discounts).max()), 1e-300))
    if falling:
        falls = -np.diff(np.log(np.minimum.accumulate(discounts)))
        delta = np.log(np.maximum(falls, LEAST_FALL))
    else:
        delta = -np.diff(np.log(discounts))

    # the value of an empty place is 0; its gain is that where gains rise from 0 to 1
    span = float(gains[-1] - gains[0])
    empty = -gains[0] / span if span > 0 else 0.0
    power = np.clip(dcg.power, 1e-4, 1 - 1e-4)
    rest = empty, np.log(power / (1 - power))
    return np.concatenate([alpha - alpha.mean(), delta, rest])


@cache
def known_metrics(n_grades: int, depth: int, falling: bool, powers: tuple[float, ...]) -> Floats:
    """Return a family of curves and the textbook DCGs of several powers, (S, L + K).

    The family has gains ``p^g - 1`` and discounts ``r^-q`` over a grid of p and q: on the scales of
    alpha and delta they are straight, or nearly. Unless `falling`, the same discounts from the
    bottom, and from both ends, follow.
    """
    # the family
    grades, ranks = np.arange(float(n_grades)), np.arange(1.0, depth + 1)
    gains = [(p**grades - 1) / (p - 1) for p in (0.5, 1.01, 1.5, 2.0, 3.0, 5.0, 8.0, 20.0)]
    discounts = [ranks**-q for q in (0.05, 0.25, 0.5, 1.0)]
    if not falling:
        for curve in discounts[:]:
            discounts += [curve[::-1], np.maximum(curve, curve[::-1])]
    family = [DCG(g, d) for g in gains for d in discounts]

    # with the textbooks, of each power
    known = [*family, *textbook_dcgs(n_grades, depth).values()]
    metrics = [replace(dcg, power=power) for dcg in known for power in powers]
    return frozen(np.array([log_metric(dcg, falling=falling) for dcg in metrics]))
