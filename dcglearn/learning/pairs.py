"""`Pairs`: what learning takes of a log, and the loss of utilities on them, with its derivatives.

With ``z = <W, d>`` the utility of a pair's first list minus its second list's, a verdict costs
minus the log of its probability. A preference of strength j = 1..M has probability ``P(j) = sigma(z
- t_j) - sigma(z - t_(j+1))``, a tie ``sigma(z + t_1) - sigma(z - t_1)``, with thresholds t (Rao and
Kupper 1967; without ties and strengths this is Bradley and Terry's ``sigma(z)``); with probability
e, the judge's error rate, the other list is named; a judge's position bias b is added to z where
the preferred list was shown first, and taken from it where the other was. The loss of a log is the
sum of the losses of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.added import AddedByField, Tally
from dcglearn.foundation.threads import sum_over_chunks
from dcglearn.foundation.validation import EMPTY, Counts, Floats, Grades, Indices
from dcglearn.kernels.library import function
from dcglearn.learning.usable_pairs import learnable
from dcglearn.logs.columns import ties_of
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.thinning import Weighted
from dcglearn.logs.unique_rows import hashed
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.dcg import DCG

VALUE, SLOPES, CURVATURE = 0, 1, 2
"""What is computed: the loss alone, its slopes too, or its second derivatives too."""

MOST_LEVELS = 7
"""Most levels of strength: each costs a parameter."""

SMALL = 1 << 15
"""Of fewer judgements than this, equal ones are merged; samples of more are alike anyway."""

verdicts = function("verdicts .n f[n] f[n] f[n] b[n] f[n] f[n]! f[n,4]! f[n,9]!")
"""Returns the log probabilities of n verdicts, shape (n,), and the derivatives of their losses.

Taken are z, low, high, 1 for a tie and 0 else, and the error rate, shape (n,) each. The loss is
minus the log probability. The first derivatives, shape (n, 4), are in z, low, high and the error
rate. The second derivatives, shape (n, 9), are in z and each of z, low, high, error; low and each
of low, high, error; high and each of high, error. The one in the error twice is the square of the
slope. A tie has one threshold, `low`.
"""

chances = function("chances .n f[n] #threshold f[n] f[n,3]!")
"""Returns the probabilities of first list preferred, tie, second list preferred; shape (n, 3).

Taken are z, shape (n,), the tie threshold, 0 without ties, and the error rates, (n,).
"""

judgement_sums = function(
    "add_judgements start stop levels raters weights ways .n .depth .grades .thresholds .judges "
    "order b[stop*depth] b[stop*depth] b[min(stop,stop**levels)] i[min(stop,stop**raters)] "
    "f[min(stop,stop**weights)] b[min(stop,stop**ways)] "
    "f[n,grades] f[n,depth] f[n]? f[n,thresholds] f[n,judges] f[n*judges]? "
    # the loss, its slopes, and its second derivatives
    "f[n;n,(order>0)*(grades+depth+thresholds+3);"
    "n,(order>1)*(grades+depth+thresholds+3),(order>1)*(grades+depth+thresholds+3);"
    # the kernel's own work
    "work_of_judgements(depth,grades,thresholds,judges)]!"
)
"""The loss of judgements at B points and its derivatives: fields of `LossSums`, and working memory.

Taken are the first judgement and the end, whether level, rater, weight and way vary, and the order;
lists and these columns, as in `Pairs`; gains, shape (B, L), discounts, (B, K), and powers, (B,), or
None for 0; thresholds, (B, M + 2); error rates and position biases, (B, R) each, or None for the
latter.
"""


@dataclass(frozen=True)
class Points:
    """B models of judges and their metric, at which losses are summed in one pass.

    With gains, shape (B, L), and discounts, (B, K), ``discounts * gains`` is the utility in units
    of the judges' noise; that of a list with n results counts ``n^-p`` times, where `powers`, (B,),
    holds p. Of the thresholds, (B, M + 2), ``t[1..M]`` are those of the strengths; ``t[0]`` is not
    used, ``t[M + 1]`` infinite. `errors`, (B, R), are the judges' error rates; `biases`, (B, R),
    their position biases, in units of their noise.
    """

    gains: Floats
    discounts: Floats
    thresholds: Floats
    errors: Floats
    biases: Floats
    powers: Floats

    @property
    def scaled(self) -> tuple[Floats, Floats]:
        """Gains up to 1, shape (B, L), and discounts from 1, shape (B, K)."""
        return self.gains / self.gains[:, -1:], self.discounts / self.discounts[:, :1]

    @property
    def dcg(self) -> DCG:
        """The DCG of the first point, with the best gain and the first discount 1."""
        gains, discounts = self.scaled
        return DCG(gains[0], discounts[0], power=self.powers[0])


@dataclass(frozen=True)
class LossSums(AddedByField):
    """Losses at B points, with their derivatives; parts add with ``+``.

    `loss`, shape (B,), is the weighted sum over the pairs, and `slopes`, (B, m), and `joint`, (B,
    m, m), are its first and second derivatives in the L gains, the K discounts, the power, the M +
    2 thresholds, and the logit of error and the position bias that the judges have in common, in
    this order.
    """

    loss: Floats
    slopes: Floats
    joint: Floats


@dataclass(frozen=True)
class RaterSums(AddedByField):
    """Losses of each of R raters at one point, with derivatives; parts add with ``+``.

    `loss` has shape (R,); `slopes`, shape (R, 2), and `curvature`, (R, 2, 2), are those in the
    rater's logit of error and position bias.
    """

    loss: Floats
    slopes: Floats
    curvature: Floats

    @classmethod
    def of(cls, pairs: Pairs, points: Points, z: Floats) -> Self:
        """Return the sums over pairs at one point, given their `differences` there, shape (n,)."""
        _, rater, weight, way = pairs.columns
        n_raters, error = points.errors.shape[1], points.errors[0][rater]
        logs, first, second = pairs.verdicts(points, z)

        # an error rate is the sigmoid of its logit
        move = error * (1 - error)
        of_logit, of_bias = move * first[:, 3], way * first[:, 0]
        logit_twice = of_logit**2 + of_logit * (1 - 2 * error)
        both, bias_twice = way * move * second[:, 3], way**2 * second[:, 0]

        # by rater
        columns = -logs, of_logit, of_bias, logit_twice, both, bias_twice
        sums = np.array([np.bincount(rater, weight * x, n_raters) for x in columns]).T
        return cls(sums[:, 0], sums[:, 1:3], sums[:, [3, 4, 4, 5]].reshape(-1, 2, 2))


@dataclass(frozen=True, eq=False)
class Facts:
    """What a fit must know of a log beside its pairs.

    `visible` is what the log identifies, which also tells its positions, grades and their names.
    `raters` names its judges, sorted, if there are several. `steps`, shape (M - 1,), are the
    strengths at which the levels of preference from 2 on begin; `ties` and `sided` tell whether it
    holds ties and which list was shown first. `n_lists` is its number of distinct lists; `n_empty`
    that of pairs with an empty place, and with one in one list only. `dropped` counts the pairs
    that are left out, by reason. `log` are the pairs that are used, row by row those of the
    `Pairs`; None where these are on other machines.
    """

    visible: Visibility
    n_lists: int
    raters: tuple[str, ...]
    # verdicts
    steps: Floats
    ties: bool
    sided: bool
    n_empty: tuple[int, int]
    dropped: Counts
    log: PreferencePairs | None = None


@dataclass(frozen=True, eq=False)
class Pairs(Weighted):
    """Pairs of lists with their verdicts, and the facts of their log; checked elsewhere.

    The preferred and the other lists, int8 of shape (n, K), are C-contiguous, -1 = no result. The
    strength of each preference is 1..M, 0 for a tie; this, the index of the judge, the weight, and
    the `way`, 1 where the first of the lists was shown first, -1 where the second was, and 0 where
    this is not known, have the shape (n,), or (1,). `facts` are the `Facts` of their log.
    """

    first: Grades
    second: Grades
    level: Grades
    rater: NDArray[np.int32]
    weight: Floats
    way: NDArray[np.int8]
    facts: Any = None

    def __len__(self) -> int:
        return len(self.first)

    @property
    def columns(self) -> tuple[Any, ...]:
        """Level, rater, weight and way of each judgement, shape (n,) each."""
        own = self.level, self.rater, self.weight, self.way
        return tuple(np.broadcast_to(column, len(self)) for column in own)

    def distinct(self) -> Pairs:
        """Return the distinct judgements of few, so that a fit is the same however they repeat."""
        return self if len(self) > SMALL else self.merged(in_order=True)

    def sums(self, points: Points, order: int) -> LossSums:
        """Return losses at the points, with slopes from SLOPES on, and curvature for CURVATURE.

        Linear in n, without temporary memory; the bytes depend on neither the number of threads nor
        other points.
        """
        columns = self.level, self.rater, self.weight, self.way
        varies = [int(len(column) > 1) for column in columns]
        metric = points.gains, points.discounts, points.powers if points.powers.any() else None
        # without known sides, there are no biases
        judges = points.thresholds, points.errors, points.biases if self.way.any() else None

        def part(start: int, stop: int) -> LossSums:
            rows = start, stop, *varies, order, self.first, self.second, *columns
            *sums, _ = judgement_sums(*rows, *metric, *judges)
            return LossSums(*sums)

        return sum_over_chunks(part, len(self))

    def sums_of_raters(self, points: Points) -> RaterSums:
        """Return the sums over each rater's judgements at one point."""

        def part(start: int, stop: int) -> RaterSums:
            rows = self.at(np.arange(start, stop))
            return RaterSums.of(rows, points, rows.differences(points))

        return sum_over_chunks(part, len(self))

    def verdicts(self, points: Points, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log probabilities and derivatives at one point, given the `differences` there.

        They are those of the kernel `verdicts`, in z with the position bias.
        """
        level, rater, _, way = self.columns
        z = z + way * points.biases[0][rater]

        # a tie lies within the first threshold
        thresholds = points.thresholds[0]
        low, high = thresholds[np.maximum(level, 1)], thresholds[np.maximum(level, 1) + 1]
        is_tie = (level == 0).astype(np.int8)
        of_each: tuple[Floats, Floats, Floats]
        of_each = verdicts(z, low, high, is_tie, points.errors[0][rater])
        return of_each

    def losses(self, points: Points) -> Floats:
        """Return the loss of each judgement at one point, shape (n,)."""
        return -self.weights * self.verdicts(points, self.differences(points))[0]

    def differences(self, points: Points) -> Floats:
        """Return z of each pair at the first point, without position bias, shape (n,)."""
        dcg = DCG(points.gains[0], points.discounts[0], power=points.powers[0])
        first, second = (np.where(x < 0, EMPTY, x) for x in (self.first, self.second))
        return dcg.score(first) - dcg.score(second)

    def wrong_share(self, points: Points) -> float:
        """Return the share of decided judgements that is expected to name the worse list.

        These are careless ones, and those on lists that are nearly as good.
        """
        decided = self.at(np.flatnonzero(self.columns[0]))
        if not len(decided):
            return 0.0

        # what judges add to the difference of the lists
        z = decided.differences(points)
        _, rater, weight, way = decided.columns
        lead = np.sign(z) * (z + way * points.biases[0][rater])
        threshold = float(points.thresholds[0, 1])
        wrong = wrong_chances(lead, threshold, points.errors[0][rater])
        return float(np.average(wrong, weights=weight))


def wrong_chances(lead: Floats, threshold: float, errors: Floats) -> Floats:
    """Return the probabilities that decided verdicts on pairs name the worse list, shape (n,).

    `lead` is by how much judges see the better list ahead, in units of their noise; `threshold` is
    that of ties, and the error rates have the shape (n,), or (1,). A judge's error rate is the part
    that does not depend on how close two lists are.
    """
    shares = chances(lead, threshold, np.full_like(lead, errors))
    wrong: Floats = shares[:, 2] / (shares[:, 0] + shares[:, 2])
    return wrong


# from a log


def pairs_of(log: PreferencePairs, loss: str = "robust") -> Pairs:
    """Return the pairs of a log that learners use; too many distinct strengths are binned.

    Raters are told apart where the `loss` is robust. Raise InputError if nothing can be learned.
    """
    visible = log.visible()
    log, dropped = learnable(log)
    sums = VerdictSums.of(log)
    facts = facts_of(sums, log, visible, dropped, loss)
    return coded(log, replace(facts, log=log))


@dataclass(frozen=True)
class VerdictSums(AddedByField):
    """What pairs tell of their log; parts add with ``+``.

    `lists` tallies hashes of the lists, `raters` their names, `strengths` strengths of preference;
    `n_ties` counts ties, `n_empty`, shape (2,), pairs with an empty place, and with one in one list
    only.
    """

    lists: Tally
    raters: Tally
    strengths: Tally
    n_ties: int
    n_empty: Indices

    @classmethod
    def of(cls, log: PreferencePairs) -> Self:
        """Return the sums over the pairs of a log."""
        strength = _strength(log)
        one, other = (lists == EMPTY for lists in (log.preferred, log.other))
        places = one | other, one ^ other
        return cls(
            Tally.of(hashed(np.concatenate([log.preferred, log.other]))),
            Tally.of(np.zeros(0, np.str_) if log.rater is None else log.rater),
            Tally.of(np.zeros(0)) if strength is None else Tally.of(strength, log.weights),
            len(log.ties),
            np.array([at.any(axis=1).sum() for at in places]),
        )


def facts_of(
    sums: VerdictSums, part: PreferencePairs, visible: Visibility, dropped: Counts, loss: str
) -> Facts:
    """Return the facts of a log, of which `part` is all or a part; see `pairs_of`."""
    raters = tuple(map(str, sums.raters.values)) if loss == "robust" else ()
    return Facts(
        visible,
        len(sums.lists.values),
        raters=raters if len(raters) > 1 else (),
        # verdicts
        steps=_steps(sums.strengths),
        ties=sums.n_ties > 0,
        sided=part.swapped is not None,
        n_empty=tuple(sums.n_empty.tolist()),
        dropped=dropped,
    )


def coded(log: PreferencePairs, facts: Facts) -> Pairs:
    """Return the pairs of a log, or of a part of it, as a fit takes them."""
    # levels of strength, 0 for ties
    level = np.ones(1, np.intp)
    strength = _strength(log)
    if strength is not None:
        level = np.searchsorted(facts.steps, strength, side="right") + 1
    if facts.ties:
        level = np.where(ties_of(log), 0, level)

    # judges by number, and the side shown first
    rater, way = np.zeros(1, np.intp), np.zeros(1, np.intp)
    if facts.raters and log.rater is not None:
        rater = np.searchsorted(np.array(facts.raters), log.rater)
    if log.swapped is not None:
        way = np.where(log.swapped, -1, 1)

    # unknown grades count as the worst, -1 is no result
    first, second = (
        np.ascontiguousarray(np.where(lists == EMPTY, -1, np.maximum(lists, 0)))
        for lists in (log.preferred, log.other)
    )

    # each column as the kernels take it
    return Pairs(
        first,
        second,
        level.astype(np.int8),
        rater.astype(np.int32),
        np.ones(1) if log.weight is None else log.weight,
        way.astype(np.int8),
        facts=facts,
    )


def _strength(log: PreferencePairs) -> Floats | None:
    """Return how clearly each winner wins, shape (n,), if the log says so."""
    return log.margin if log.strength is None else log.strength


def _steps(strengths: Tally) -> Floats:
    """Return the strengths at which levels from 2 on begin, `MOST_LEVELS` - 1 at most."""
    values, weight = strengths.values, strengths.weight
    if len(values) <= MOST_LEVELS:
        return values[1:]
    shares = np.arange(1, MOST_LEVELS) / MOST_LEVELS
    steps = np.unique(np.quantile(values, shares, weights=weight, method="inverted_cdf"))
    return steps[steps > values[0]]
