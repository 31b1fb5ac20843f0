"""The kernel of `DCGLearner`: the loss of a utility on judgements, with its slopes, straight from int8 grades.

With ``z = <W, d>`` the utility of a pair's first list minus that of its second, a judgement costs

- likelihood: minus the log of its probability. A preference of strength j = 1..M has probability
  ``P(j) = sigma(z - t_j) - sigma(z - t_(j+1))``, a tie ``sigma(z + t_1) - sigma(z - t_1)``, with thresholds t (Rao and
  Kupper 1967; without ties and strengths this is Bradley and Terry's ``sigma(z)``); with probability e, the judge's
  error rate, the other list is named;
- sigmoid: ``sigma(-z)``, the soft count of violated pairs;
- hinge: ``max(0, t_j - z)^2``, the paper's loss with the margin ``t_j``.

The loss of a log is the sum of the losses of its parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dcglearn.foundation.compiled import njit
from dcglearn.foundation.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades


LIKELIHOOD, SIGMOID, HINGE = 0, 1, 2
"""Losses of the kernel."""


class JudgementSource(Protocol):
    """What `direct_fit.fit` needs of judgements, which may be in memory, on disk or on a cluster."""

    def __len__(self) -> int:
        """Return their number."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""

    def loss(self, weights: Floats, thresholds: Floats, errors: Floats, kind: int) -> LossSums:
        """Return the loss and its slopes; see `pair_loss`."""

    def every(self, step: int) -> Judgements:
        """Return every `step`-th judgement."""


@dataclass(frozen=True)
class Judgements:
    """Pairs of lists with their verdicts, checked elsewhere.

    Attributes
    ----------
    first, second : ndarray of int8, shape (n, K), C-contiguous
        Preferred and other list, -1 = no known grade.
    level : ndarray of int8, shape (n,) or (1,)
        Strength of the preference, 1..M; 0 = tie.
    rater : ndarray of int32, shape (n,) or (1,)
        Index of the judge.
    weight : ndarray of float64, shape (n,) or (1,)
        Weight of each pair.
    """

    first: Grades
    second: Grades
    level: Grades
    rater: NDArray[np.int32]
    weight: Floats

    def __len__(self) -> int:
        return len(self.first)

    def every(self, step: int, first: int = 0) -> Judgements:
        """Return every `step`-th pair, from `first` on, copied."""
        return Judgements(*(x if x.ndim == 1 and len(x) == 1 else x[first::step].copy() for x in self._arrays))

    def loss(self, weights: Floats, thresholds: Floats, errors: Floats, kind: int) -> LossSums:
        """Return the loss and its slopes; see `pair_loss`."""
        return pair_loss(self, weights, thresholds, errors, kind)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.first, self.second, self.level, self.rater, self.weight

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight[0] * len(self) if len(self.weight) == 1 else self.weight.sum())


@dataclass(frozen=True)
class LossSums:
    """A loss and its slopes; parts add with ``+``.

    Attributes
    ----------
    loss : float
        Weighted sum over the pairs.
    moment : ndarray, shape (K, L)
        Its slope in W, ``sum v loss'(z) d``.
    thresholds : ndarray, shape (M + 2,)
        Its slope in the thresholds (zero for the sigmoid).
    errors : ndarray, shape (R,)
        Its slope in each judge's error rate (zero unless a likelihood).
    """

    loss: float
    moment: Floats
    thresholds: Floats
    errors: Floats

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(
            self.loss + other.loss,
            self.moment + other.moment,
            self.thresholds + other.thresholds,
            self.errors + other.errors,
        )


def pair_loss(
    judgements: Judgements, weights: Floats, thresholds: Floats, errors: Floats, kind: int = LIKELIHOOD
) -> LossSums:
    """Return the loss of the utility `weights`, shape (K, L), and its slopes.

    `weights` is in units of the judges' noise. `thresholds` has shape (M + 2,): ``t[1..M]`` for the strengths,
    ``t[0]`` not used, ``t[M + 1]`` infinite. `errors` holds the error rate of each judge, shape (R,). `kind` is
    LIKELIHOOD, SIGMOID or HINGE. Linear in n, without temporary memory; the bytes do not depend on the number of
    threads.
    """
    if not len(judgements):
        return LossSums(0.0, np.zeros(weights.shape), np.zeros(len(thresholds)), np.zeros(len(errors)))
    table = np.hstack([np.zeros((len(weights), 1)), weights])  # column g + 1 for grade g, so that -1 is worth 0

    def part(start: int, stop: int) -> LossSums:
        moment, of_thresholds, of_errors = np.zeros(table.shape), np.zeros(len(thresholds)), np.zeros(len(errors))
        pairs = (judgements.first, judgements.second, judgements.level, judgements.rater, judgements.weight)
        loss = _add_up(*pairs, table, thresholds, errors, kind, start, stop, moment, of_thresholds, of_errors)
        return LossSums(loss, moment[:, 1:], of_thresholds, of_errors)

    return reduce(LossSums.__add__, over_chunks(part, len(judgements)))


@njit(inline="always")
def _sigma(x):
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)


@njit(inline="always")
def _log_sigma(x):
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


@njit(inline="always")
def _log_interval(upper, lower):
    """Return the log of sigma(upper) - sigma(lower), and its slopes in both; exact where the difference underflows."""
    if lower == -math.inf:
        return _log_sigma(upper), _sigma(-upper), 0.0
    gap = upper - lower
    near = 1.0 / math.expm1(gap) if gap < 700.0 else 0.0
    log = _log_sigma(upper) + _log_sigma(-lower) + math.log(-math.expm1(-gap))
    return log, _sigma(-upper) + near, -_sigma(lower) - near


@njit(inline="always")
def _negative_log_likelihood(z, j, r, v, thresholds, errors, of_thresholds, of_errors):
    """Return minus the log probability of a verdict and its slope in z; add v times its other slopes to the arrays."""
    if j == 0:
        log, up, down = _log_interval(z + thresholds[1], z - thresholds[1])
        of_thresholds[1] -= v * (up - down)
        return -log, -(up + down)
    log, up, down = _log_interval(z - thresholds[j], z - thresholds[j + 1])
    e = errors[r]
    if e == 0.0:
        of_thresholds[j] += v * up
        of_thresholds[j + 1] += v * down
        return -log, -(up + down)
    mirrored, up_m, down_m = _log_interval(-z - thresholds[j], -z - thresholds[j + 1])
    right, wrong = math.exp(log), math.exp(mirrored)
    probability = max((1.0 - e) * right + e * wrong, 1e-300)
    share, share_m = (1.0 - e) * right / probability, e * wrong / probability
    of_thresholds[j] += v * (share * up + share_m * up_m)
    of_thresholds[j + 1] += v * (share * down + share_m * down_m)
    of_errors[r] -= v * (wrong - right) / probability
    return -math.log(probability), -share * (up + down) + share_m * (up_m + down_m)


@njit(cache=True, nogil=True)
def _add_up(
    first, second, level, rater, weight, table, thresholds, errors, kind, start, stop, moment, of_thresholds, of_errors
):
    """Return the loss of one chunk; add the slopes into the last three arrays."""
    depth, width = table.shape
    flat, slopes = table.ravel(), moment.ravel()
    loss = 0.0
    for i in range(start, stop):
        z = 0.0
        for k in range(depth):
            z += flat[np.uint64(k * width + first[i, k] + 1)] - flat[np.uint64(k * width + second[i, k] + 1)]
        v = weight[i] if len(weight) > 1 else weight[0]
        j = level[i] if len(level) > 1 else level[0]
        if kind == SIGMOID:
            cost = _sigma(-z)
            slope = -cost * (1.0 - cost)
        elif kind == HINGE:
            short = max(0.0, thresholds[j] - z)
            cost = short * short
            slope = -2.0 * short
            of_thresholds[j] -= v * slope
        else:
            cost, slope = _negative_log_likelihood(
                z, j, rater[i] if len(rater) > 1 else rater[0], v, thresholds, errors, of_thresholds, of_errors
            )
        loss += v * cost
        step = v * slope
        for k in range(depth):
            slopes[np.uint64(k * width + first[i, k] + 1)] += step
            slopes[np.uint64(k * width + second[i, k] + 1)] -= step
    return loss
