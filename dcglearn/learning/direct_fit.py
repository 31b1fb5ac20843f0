"""Gains and discounts fitted directly to judgements, on plain arrays: parameters, prior, objective.

The parameters are logarithms. Gains rise by ``a_m = exp(alpha_m)`` from grade m - 1 to m, discounts
fall by the factor ``exp(-delta_k)`` from position k to k + 1 with ``delta_k >= 0``: increasing and
decreasing by construction. On these scales the usual curves are straight lines: ``alpha`` is linear
in the grade for gains ``p^g - 1`` (constant for linear gains), ``log c`` is linear in the log of
the rank for discounts ``r^-q``, nearly so for ``1/log2(r + 1)``. The prior charges curvatures by a
smooth Huber loss, so a few sharp ones stay cheap and a step in the data is learned as a step. Free
discounts have a ``delta_k`` of either sign; a free zero is one more gain, of an empty place.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.curve_kernel import Layout, add_in_parameters, fill_points
from dcglearn.learning.curve_prior import CurvePrior, CurveShape, curve_prior
from dcglearn.learning.judgement_kernel import CURVATURE, LIKELIHOOD, SIGMOID, SLOPES, VALUE
from dcglearn.learning.pair_loss import JudgementSource, LossSums, Points
from dcglearn.learning.trust_region import Local

GAIN_SLOPE, DISCOUNT_SLOPE, FREE_SLOPE = (1.0, 3.0), (0.5, 1.0), (0.0, 1.0)
"""Prior mean and standard deviation of the slope of ``alpha`` per grade, and of the discounts'
exponent q: falling ones and free ones."""

EMPTY_SPREAD = 0.5
"""Prior standard deviation of the gain of an empty place, with the worst grade at 0 and the best at
1.
"""

EMPTY_GAIN, RISE = (-4.0, 0.9), 3.0
"""Bounds of that gain, and the largest rise of the log of free discounts from one position to the
next.
"""

NEAR_TARGET = 4.0
"""With a target metric, the slope prior is this many times tighter."""

SHARPNESS, SHARPNESS_SPREAD = np.log(100.0), 1.0
"""Prior mean and standard deviation of the log of a typical pair's difference in units of the
judges' noise: about 100, within a factor of e, since most noise is error rather than near-ties."""

BIAS_SPREAD = 2.0
"""Prior standard deviation of the common position bias and, around it, of single judges', in units
of their noise.
"""

ERROR, ERROR_SPREAD, RATER_SPREAD = -2.5, 1.5, 1.0
"""Prior mean and standard deviation of the logit of the error rate; standard deviation of single
judges around it.
"""

TOP_ERROR = -0.02
"""Upper bound of the common logit of the error rate, just below an error rate of 1/2; single judges
may exceed it.
"""

THRESHOLD_SPREAD = 2.0
"""Prior standard deviation of the logs of the steps between thresholds; their mean is 0."""

FURTHER_SPREAD = 1.0
"""Prior standard deviation of the further parameters, around 0."""

LEAST_FALL, MOST = 0.02, 0.99
"""In forms other than the DCG, least fall of the log discount from one position to the next, and
largest stop probability or share of the best: beyond them lists would be tied that are only nearly
level."""

GROUP = 32
"""Values are computed at this many points at once: more need more memory than is near the
processor.
"""


@dataclass(frozen=True)
class Curves:
    """Gains that rise by 1 from the worst grade to the best, discounts that sum to 1, and the
    parameters of the judges.

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


@dataclass(frozen=True)
class Model:
    """The model to fit: K positions, L grades, R raters, M levels of strength, the loss, and the
    prior.

    `kind` is the loss of `pair_loss`, `with_errors` tells whether to estimate error rates, `ties`
    whether the log holds ties, and `sided` whether it tells which list was shown first: then
    position biases are parameters. `form` is that of `ListUtility`; its further parameters are the
    last, from 0 to 1, and at 0 the model is that of the DCG. `ridge` is the strength of the prior
    on the two curves (on their curvatures, times `straighter`), `centre` the prior mean of the log
    sharpness, and `target` the alpha, shape (L - 1,), and delta, shape (K - 1,), to shrink to
    (straight lines by default). `margins` are fixed thresholds of the hinge, shape (M + 2,). `zero`
    is the grade that is worth nothing, L for none: then the gain of an empty place is a parameter,
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
    form: str = "dcg"
    ridge: float = 1.0
    straighter: float = 1.0
    centre: float = 5.0
    target: tuple[Floats, Floats] | None = None
    margins: Floats | None = None
    zero: int = 0
    empty: float = 0.0
    falling: bool = True

    @cached_property
    def parts(self) -> list[slice]:
        """Slices of alpha, delta, log sharpness, logit of error, empty places, bias, log threshold
        steps, judges' own.

        The judges' own are deviations of their logits, then of their biases. The further parameters
        follow.
        """
        thresholds = (
            0 if self.margins is not None or self.kind == SIGMOID else self.n_levels - 1 + self.ties
        )
        raters = self.n_raters if self.with_errors and self.n_raters > 1 else 0
        common = (
            self.n_grades - 1,
            self.depth - 1,
            1,
            self.with_errors,
            self.zero == self.n_grades,
            self.sided,
        )
        ends = np.cumsum([*map(int, common), thresholds, raters, raters * self.sided])
        return [
            slice(end - size, end)
            for end, size in zip(ends.tolist(), np.diff(ends, prepend=0), strict=True)
        ]

    @cached_property
    def further(self) -> slice:
        """Slice of the stop probabilities or of the share of the best result."""
        start = self.parts[-1].stop
        return slice(start, start + {"dcg": 0, "best": 1, "saturation": self.n_grades}[self.form])

    @cached_property
    def layout(self) -> Layout:
        """Sizes of the parts as `add_in_parameters` counts them."""
        alpha, delta, sharp, error, empty, bias, thresholds, raters, _ = (
            part.stop - part.start for part in self.parts
        )
        first = 1 if self.ties else 2
        return np.array(
            [alpha, delta + sharp, error, empty, bias, thresholds, first, raters], np.int64
        )

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the parameters, shape (p,) each."""
        least = (
            LEAST_FALL
            if self.form != "dcg"
            else 0.0
            if self.falling
            else -min(RISE, 600 / self.depth)
        )
        falls, sharpness = (least, 20.0), (self.centre - 8, self.centre + 4)
        judges = (-30.0, 30.0), (-9.0, 9.0), (-9.0, 9.0), (-30.0, 30.0)
        ends = (-30.0, 30.0), falls, sharpness, (-9.0, TOP_ERROR), EMPTY_GAIN, *judges, (0.0, MOST)
        sizes = [part.stop - part.start for part in (*self.parts, self.further)]
        low, high = np.repeat(np.array(ends), sizes, axis=0).T
        return np.ascontiguousarray(low), np.ascontiguousarray(high)

    def starts(
        self, log_metrics: Floats, softer: float = 0.0, empty: Floats | float = 0.0
    ) -> Floats:
        """Return the parameters of metrics given by alpha and delta, shape (S, L + K - 2), within
        bounds; shape (S, p).

        `softer` explains noise by judges who are less sharp (by this many log units) and err less;
        `empty` is the gain of an empty place, shape (S,), where it is a parameter.
        """
        _, delta, sharp, error, of_empty, *_ = self.parts
        thetas = np.zeros((len(log_metrics), self.further.stop))
        thetas[:, : delta.stop] = log_metrics
        thetas[:, sharp], thetas[:, error] = self.centre - softer, -1.5 - softer
        thetas[:, of_empty] = np.reshape(empty, (-1, 1))
        return np.clip(thetas, *self.bounds)

    def curves(self, theta: Floats) -> Curves:
        """Return gains, discounts and judges at parameters theta, shape (p,)."""
        points = self.points(theta[None])
        sharpness = float(np.exp(theta[self.parts[2].start]))
        return Curves(
            gains=self.zeroed(points.gains)[0],
            discounts=points.discounts[0] / sharpness,
            sharpness=sharpness,
            errors=points.errors[0],
            thresholds=points.thresholds[0],
            biases=np.zeros(0) if points.biases is None else points.biases[0],
        )

    def zeroed(self, gains: Floats) -> Floats:
        """Return the gains of the grades, shape (B, L), less those of what is worth nothing, from
        `Points`.
        """
        return gains[:, : self.n_grades] - gains[:, [self.zero]]

    def points(self, thetas: Floats) -> Points:
        """Return gains, discounts times sharpness, and judges at parameters, shape (B, p).

        With a free zero, the last gain is that of an empty place.
        """
        n, n_gains = len(thetas), max(self.n_grades, self.zero + 1)
        gains, discounts, errors = (
            np.zeros((n, size)) for size in (n_gains, self.depth, self.n_raters)
        )
        thresholds = np.zeros((n, self.n_levels + 2))
        thresholds[:, -1] = np.inf
        if self.margins is not None:
            thresholds[:] = self.margins
        fill_points(self.layout, thetas, gains, discounts, thresholds, errors)
        further = thetas[:, self.further]
        stops, best = (
            further if self.form == "saturation" else None,
            further[:, 0].copy() if self.form == "best" else None,
        )
        bias, own = (thetas[:, part] for part in (self.parts[5], self.parts[8]))
        biases = bias + (own if own.shape[1] else np.zeros(self.n_raters)) if self.sided else None
        return Points(gains, discounts, thresholds, errors, stops, best, biases)

    @cached_property
    def prior(self) -> CurvePrior:
        """Minus the log prior (up to a constant)."""
        alpha, delta, sharp, error, empty, bias, thresholds, raters, leanings = self.parts
        slopes = GAIN_SLOPE, DISCOUNT_SLOPE if self.falling else FREE_SLOPE
        spacing = np.diff(np.log(np.arange(1.0, self.depth + 1)))
        curves = []
        for i, (at, scale, (mean, spread)) in enumerate(
            zip((alpha, delta), (1.0, spacing), slopes, strict=True)
        ):
            near = (mean, spread) if self.target is None else (0.0, spread / NEAR_TARGET)
            target = 0.0 if self.target is None else self.target[i]
            curves.append(CurveShape(at, target, scale, near, of_levels=i == 0))
        normals = [
            (sharp, self.centre, SHARPNESS_SPREAD),
            (error, ERROR, ERROR_SPREAD),
            (empty, self.empty, EMPTY_SPREAD),
            (bias, 0.0, BIAS_SPREAD),
            (thresholds, 0.0, THRESHOLD_SPREAD),
            (raters, 0.0, RATER_SPREAD),
            (leanings, 0.0, BIAS_SPREAD),
            (self.further, 0.0, FURTHER_SPREAD),
        ]
        # only differences of alpha matter: `pinned` holds their mean
        prior = curve_prior(
            self.further.stop, self.further.stop - raters.start, curves, alpha, normals, self.ridge
        )
        return replace(prior, ridge=self.ridge * self.straighter)


def log_curves(gains: Floats, discounts: Floats, *, falling: bool = True) -> tuple[Floats, Floats]:
    """Return alpha and delta of a metric; steps that are not positive are replaced by very small
    ones.

    With `falling`, discounts that rise are cut to those above them.
    """
    steps = np.maximum(np.diff(gains), 1e-4 * max(float(np.ptp(gains)), 1e-300))
    positive = np.maximum(discounts, 1e-3 * max(float(np.abs(discounts).max()), 1e-300))
    alpha = np.log(steps / steps.sum())
    return alpha - alpha.mean(), -np.diff(
        np.log(np.minimum.accumulate(positive) if falling else positive)
    )


def empty_gain(gains: Floats) -> float:
    """Return the gain of an empty place, which is worth 0, on the scale on which gains rise from 0
    to 1.
    """
    span = float(gains[-1] - gains[0])
    return -float(gains[0]) / span if span > 0 else 0.0


def family(n_grades: int, depth: int, *, falling: bool = True) -> list[tuple[Floats, Floats]]:
    """Return gains ``p^g - 1`` and discounts ``r^-q`` over a grid of p and q: straight lines under
    the prior.

    Unless `falling`, these are followed by the same discounts from the bottom, and from both ends.
    """
    grades, ranks = np.arange(float(n_grades)), np.arange(1.0, depth + 1)
    gains = [(p**grades - 1) / (p - 1) for p in (0.5, 1.01, 1.5, 2.0, 3.0, 5.0, 8.0, 20.0)]
    discounts = [ranks**-q for q in (0.05, 0.25, 0.5, 1.0)]
    if not falling:
        discounts += [
            d for curve in discounts for d in (curve[::-1], np.maximum(curve, curve[::-1]))
        ]
    return [(g, d) for g in gains for d in discounts]


@dataclass(frozen=True)
class DirectObjective:
    """``share * loss + prior`` as a function of the parameters, with derivatives from sums over the
    judgements.
    """

    model: Model
    judgements: JudgementSource
    share: float

    def __call__(self, thetas: Floats) -> Local:
        """Return the objective near parameters, shape (B, p)."""
        return self.at(thetas, CURVATURE)

    def values(self, thetas: Floats) -> Floats:
        """Return the objective at parameters, shape (B, p)."""
        groups = [thetas[i : i + GROUP] for i in range(0, len(thetas), GROUP)]
        values: Floats = np.concatenate([self.at(group, VALUE).value for group in groups])
        return values

    def with_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the objective at parameters, shape (p,), and its gradient."""
        local = self.at(theta[None], SLOPES)
        return float(local.value[0]), local.gradient[0]

    def at(self, thetas: Floats, order: int) -> Local:
        """Return the objective as far as the order of the sums goes; see `pair_loss`."""
        model, thetas = self.model, np.ascontiguousarray(thetas)
        points = model.points(thetas)
        sums = self.judgements.sums(points, model.kind, order)
        value, gradient, dense = model.prior.at(thetas)
        n, d = dense.shape[:2]
        n_diagonal = thetas.shape[1] - d
        cross, diagonal = np.zeros((n, n_diagonal, d)), np.zeros((n, n_diagonal))
        diagonal += model.prior.precision[d:]
        coupled = np.zeros((n, model.parts[8].stop - model.parts[8].start))
        local = Local(value + self.share * sums.loss, gradient, dense, cross, diagonal, coupled)
        if order > VALUE:
            _add_loss(model, thetas, self.share, points, sums, local)
        return local


def _add_loss(
    model: Model, thetas: Floats, share: float, points: Points, sums: LossSums, local: Local
) -> None:
    """Add `share` times the derivatives of the loss at parameters, shape (B, p), to those of the
    prior.
    """
    n, d = local.dense.shape[:2]
    gains, discounts, errors = (
        points.gains,
        points.discounts,
        points.errors[:, : model.n_raters * model.with_errors],
    )
    n_curves, n_errors = gains.shape[1] + discounts.shape[1], errors.shape[1]
    free = np.s_[:, model.n_raters - n_errors :]  # an error rate of zero is no parameter
    of_kind = np.eye(model.with_errors + model.sided).repeat(
        model.n_raters, axis=1
    )  # error rates, position biases
    n_common, n_free = of_kind.shape
    slopes = np.zeros((n, n_curves + sums.thresholds.shape[1] + n_common))
    head, tail = slice(slopes.shape[1] - n_common), slice(slopes.shape[1] - n_common, None)
    slopes[:, : gains.shape[1]] = (discounts[:, None, :] @ sums.moment)[:, 0]
    slopes[:, gains.shape[1] : n_curves] = (sums.moment @ gains[:, :, None])[:, :, 0]
    slopes[:, n_curves : tail.start] = sums.thresholds
    moves, turns = np.ones((n, n_free)), np.zeros((n, n_free))
    moves[:, :n_errors], turns[:, :n_errors] = errors * (1 - errors), 1 - 2 * errors
    of_judges = sums.judges[free] * moves
    slopes[:, tail] = of_judges.reshape(n, n_common, model.n_raters).sum(axis=2)
    local.gradient[:, d : model.further.start] += share * of_judges[:, : model.further.start - d]
    local.gradient[:, model.further] += share * sums.further
    size = slopes.shape[1] if sums.joint.shape[1] else 0
    joint = np.zeros((n, size, size))
    if size:
        joint[:, head, head] = sums.joint
        joint[:, : gains.shape[1], gains.shape[1] : n_curves] += sums.moment.transpose(0, 2, 1)
        joint[:, gains.shape[1] : n_curves, : gains.shape[1]] += sums.moment
        joint[:, tail, head] = (of_kind * moves[:, None, :]) @ sums.crossed[free]
        joint[:, head, tail] = joint[:, tail, head].transpose(0, 2, 1)
        curvatures = sums.judges_twice[free] * moves**2 + of_judges * turns
        coupled = sums.coupled * moves[:, :n_errors] if n_common == 2 else np.zeros((n, n_free))
        in_kinds = np.where(of_kind, curvatures[:, None], np.tile(coupled, n_common)[:, None])
        joint[:, tail, tail] = in_kinds.reshape(n, n_common, n_common, model.n_raters).sum(axis=3)
    curves, second = (gains, discounts), joint if size else None
    jacobian = add_in_parameters(
        model.layout, share, thetas, curves, slopes, second, local.gradient, local.dense
    )
    if size and local.diagonal.shape[1]:
        of_tips = moves[:, :, None] * (sums.crossed @ jacobian[:, head])
        of_tips[:, :, np.r_[model.parts[3], model.parts[5]]] += in_kinds.transpose(0, 2, 1)
        local.cross[...] += share * of_tips
        local.diagonal[...] += share * curvatures
        local.coupled[...] += share * coupled[:, : local.coupled.shape[1]]
