"""The loss of utilities on judgements, with slopes and curvature: what `DCGLearner` sees of a log.

With ``z = <W, d>`` the utility of a pair's first list minus its second list's, a judgement costs

- likelihood: minus the log of its probability. A preference of strength j = 1..M has probability
  ``P(j) = sigma(z - t_j) - sigma(z - t_(j+1))``, a tie ``sigma(z + t_1) - sigma(z - t_1)``, with
  thresholds t (Rao and Kupper 1967; without ties and strengths this is Bradley and Terry's
  ``sigma(z)``); with probability e, the judge's error rate, the other list is named; a judge's
  position bias b is added to z where the preferred list was shown first, and taken from it where
  the other was;
- sigmoid: ``sigma(-z)``, the soft count of violated pairs, the loss of a member of the blend.

The loss of a log is the sum of the losses of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.added import AddedByField
from dcglearn.foundation.threads import over_chunks
from dcglearn.foundation.validation import Fields, Floats, Grades
from dcglearn.kernels.library import Bound
from dcglearn.learning.judgement_kernel import LIKELIHOOD, SLOPES, VALUE, bound_log, judgement_sums
from dcglearn.logs.thinning import Weighted
from dcglearn.logs.unique_rows import packed, unique_rows


@dataclass(frozen=True)
class Points:
    """B models of judges and their metric, at which losses are summed in one pass.

    With gains, shape (B, L), and discounts, (B, K), ``discounts * gains`` is the utility in units
    of the judges' noise. Of the thresholds, (B, M + 2), ``t[1..M]`` are those of the strengths;
    ``t[0]`` is not used, ``t[M + 1]`` infinite. `errors`, (B, R), are the judges' error rates;
    `biases`, (B, R), their position biases, in units of their noise, or None where sides are not
    known.
    """

    gains: Floats
    discounts: Floats
    thresholds: Floats
    errors: Floats
    biases: Floats | None = None

    def __len__(self) -> int:
        return len(self.gains)

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All arrays that are not None."""
        arrays = [getattr(self, column.name) for column in fields(self)]
        return tuple(array for array in arrays if array is not None)

    @property
    def tables(self) -> tuple[Floats, Floats]:
        """Values of grades and positions, as kernels over lists take them: see `list_kernel`."""
        padded = np.zeros((len(self), self.gains.shape[1] + 1))
        padded[:, 1:] = self.gains  # behind a zero for -1, the grade that is not known
        return padded, self.discounts

    @property
    def judges(self) -> Floats:
        """Error rates and, where sides are known, position biases, shape (B, J)."""
        return self.errors if self.biases is None else np.hstack([self.errors, self.biases])


class JudgementSource(Protocol):
    """Judgements in memory, on disk or on a cluster, as a search sees them."""

    def __len__(self) -> int:
        """Return their number."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points and, up to the order, slopes and curvature."""

    def thinned(self, n: int) -> JudgedPairs:
        """Return about `n` judgements that stand for all, in memory."""


@dataclass(frozen=True)
class JudgedPairs(Weighted):
    """Pairs of lists with their verdicts, checked elsewhere.

    The preferred and the other lists, int8 of shape (n, K), are C-contiguous, -1 = no known grade.
    The strength of each preference is 1..M, 0 for a tie; this, the index of the judge, the weight,
    and the `way`, 1 where the first of the lists was shown first, -1 where the second was, and 0
    where this is not known, have the shape (n,), or (1,).
    """

    first: Grades
    second: Grades
    level: Grades
    rater: NDArray[np.int32]
    weight: Floats
    way: NDArray[np.int8] = field(default_factory=lambda: np.zeros(1, np.int8))

    @classmethod
    def plain(cls, first: Grades, second: Grades, weight: Floats) -> JudgedPairs:
        """Return preferences of one judge, without strengths."""
        return JudgedPairs(first, second, np.ones(1, np.int8), np.zeros(1, np.int32), weight)

    def __len__(self) -> int:
        return len(self.first)

    def merged(self, *, in_order: bool = False) -> JudgedPairs:
        """Return the distinct judgements, weights added, sorted or in order of appearance."""
        # number the distinct rows
        n = len(self)
        verdict = [np.broadcast_to(x, n) for x in (self.level, self.rater, self.way)]
        columns = np.column_stack([packed(self.first), packed(self.second), *verdict])
        _, at, same = unique_rows(columns.astype(np.int64))

        # add the weights of each
        weight = np.bincount(same, np.broadcast_to(self.weight, n)).astype(np.float64)
        order = np.argsort(at) if in_order else np.arange(len(at))
        return self.at(at[order], weight=weight[order])

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return losses at the points, with slopes from SLOPES on, and curvature for CURVATURE.

        Linear in n, without temporary memory; the bytes depend on neither the number of threads nor
        other points.
        """
        return _sums(self, _arguments(points, kind, order))

    def losses(self, points: Points, kind: int) -> Floats:
        """Return the loss of each judgement at the points, shape (n, B)."""
        log, arguments = self.bound.address, _arguments(points, kind, VALUE)
        rows = [judgement_sums(log, i, i + 1, *arguments)[0] for i in range(len(self))]
        return np.array(rows).reshape(len(self), len(points))

    @cached_property
    def bound(self) -> Bound:
        """The columns as the kernel takes them."""
        return bound_log((self.first, self.second), self.level, self.rater, self.weight, self.way)

    def __getstate__(self) -> Fields:
        """Return the columns alone: addresses mean nothing to another process."""
        return {column.name: getattr(self, column.name) for column in fields(self)}


@dataclass(frozen=True)
class LossSums(AddedByField):
    """Losses at B points, with their slopes and curvature; parts add with ``+``.

    `loss`, shape (B,), is the weighted sum over the pairs, `moment`, (B, K, L), its slope in W,
    ``sum v loss'(z) d``, and `thresholds`, (B, M + 2), and `judges`, (B, J), those in the
    thresholds and error rates (and then, where J is 2 R, biases). `joint`, (B, m, m), is ``sum v
    loss'' u u^T`` for the slopes u of z in the L gains and K discounts, and the second derivatives
    that involve the M + 2 thresholds, in this order; `crossed`, (B, J, m), `judges_twice`, (B, J),
    and `coupled`, (B, R) or (B, 0), are those that involve judges: the last those in an error rate
    and a bias.
    """

    loss: Floats
    moment: Floats
    thresholds: Floats
    judges: Floats
    joint: Floats
    crossed: Floats
    judges_twice: Floats
    coupled: Floats


def _arguments(points: Points, kind: int, order: int) -> tuple[Any, ...]:
    """Return what `judgement_sums` takes behind the rows."""
    columns = map(np.ascontiguousarray, (points.gains, points.discounts, points.thresholds))
    gains, discounts, thresholds = columns
    sizes = gains.shape[1], points.errors.shape[1], kind, order, discounts.shape[1]
    return *sizes, gains, discounts, None, thresholds, points.judges


def pair_loss(
    judgements: JudgedPairs,
    weights: Floats,
    thresholds: Floats,
    errors: Floats,
    kind: int = LIKELIHOOD,
) -> LossSums:
    """Return loss and slopes of one utility `weights`, (K, L), in units of the judges' noise.

    `thresholds`, shape (M + 2,), and `errors`, shape (R,), are those of one of the `Points`; `kind`
    is LIKELIHOOD or SIGMOID. The sums have no axis of points; there is no curvature, for
    want of gains and discounts.
    """
    depth, n_grades = weights.shape
    at = None, None, np.ascontiguousarray(weights[None]), thresholds[None], errors[None]
    sums = _sums(judgements, (n_grades, len(errors), kind, SLOPES, depth, *at))
    return LossSums(*(getattr(sums, x.name)[0] for x in fields(sums)))


def _sums(judgements: JudgedPairs, arguments: tuple[Any, ...]) -> LossSums:
    """Return the sums for arguments of `judgement_sums` behind the rows."""

    def part(start: int, stop: int) -> LossSums:
        *sums, _ = judgement_sums(judgements.bound.address, start, stop, *arguments)
        return LossSums(*sums)

    n = len(judgements)
    return reduce(LossSums.__add__, over_chunks(part, n)) if n else part(0, 0)
