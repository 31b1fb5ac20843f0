"""What every loss shares: the shape of its call, and the check of what it is called with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dcglearn.foundation.validation import MAX_GRADES, InputError
from dcglearn.losses import gain_kernel
from dcglearn.metric.smooth_discount import SmoothDiscount

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats, Integers
    from dcglearn.metric.dcg import DCG


@dataclass(frozen=True)
class Batch:
    """Checked documents of all queries, one after the other.

    Attributes
    ----------
    scores : ndarray of float64, shape (n,)
    grades : ndarray of int64, shape (n,)
    offsets : ndarray of int64, shape (n_queries + 1,)
        Query q holds documents ``offsets[q]:offsets[q + 1]``.
    weight : ndarray of float64, shape (n_queries,)
    """

    scores: Floats
    grades: Integers
    offsets: Integers
    weight: Floats

    @property
    def unweighted(self) -> Batch:
        """The same documents, each query counting 1."""
        return replace(self, weight=np.ones(self.n_queries))

    @property
    def n_queries(self) -> int:
        """The number of queries, empty ones included."""
        return len(self.offsets) - 1

    @cached_property
    def longest(self) -> int:
        """Documents of the longest query."""
        return int(np.diff(self.offsets).max(initial=0))

    @cached_property
    def n_pairs(self) -> float:
        """How many pairs of documents the queries hold, both ways round: the size of the work."""
        return self.pairs_to(np.inf)

    def pairs_to(self, depth: float) -> float:
        """Return how many pairs of a position up to `depth` and a document the queries hold."""
        sizes = np.diff(self.offsets).astype(np.float64)
        return float(sizes @ np.minimum(sizes, depth))


class Loss:
    """A function ``loss(scores, grades, offsets=None, weight=None) -> (value, gradient)``; higher is better.

    `sharpness` names the parameter that says how closely the loss follows the ranking, or is None. Multiplying all
    scores by a factor is undone by multiplying that parameter by the factor to the power `sharpness_power`.
    """

    sharpness: ClassVar[str | None] = None

    @property
    def sharpness_power(self) -> int:
        """The power of the unit of scores in the sharpness: -1 for a number per unit of score."""
        return -1

    def __call__(
        self,
        scores: ArrayLike,
        grades: ArrayLike,
        offsets: ArrayLike | None = None,
        weight: ArrayLike | None = None,
    ) -> tuple[float, Floats]:
        """Return the value and its gradient in the scores.

        Parameters
        ----------
        scores : array_like, shape (n,)
            Of the documents of all queries, one query after the other.
        grades : array_like of int, shape (n,)
            0 = worst.
        offsets : array_like of int, shape (n_queries + 1,), optional
            Query q holds documents ``offsets[q]:offsets[q + 1]``; one query by default.
        weight : array_like, shape (n_queries,), optional
            How much each query counts; 1 by default.

        Returns
        -------
        value : float
            Weighted sum over queries; higher is better.
        gradient : ndarray, shape (n,)

        Raises
        ------
        InputError
            If a score is not finite, a grade is not one of the scale, or the offsets do not fit.
        """
        batch = check(scores, grades, self._top_grade, offsets, weight)
        if len(batch.scores) == 0:
            return 0.0, np.zeros(0)
        return self._evaluate(batch)

    def lambdas(
        self,
        scores: ArrayLike,
        grades: ArrayLike,
        offsets: ArrayLike | None = None,
        weight: ArrayLike | None = None,
    ) -> tuple[Floats, Floats]:
        """Return a direction of steps as long as the loss's own, and how it bends: what boosted trees follow.

        Losses of soft ranks and of exchanges pull each pair of documents by what exchanging the two would change in the
        DCG, where the gradient only knows what the next small move changes. The pull of a pair is divided by its
        distance (and a thousandth of 1 / alpha), the pulls of a query that sum to S are brought to log2(1 + S), and a
        pair bends by its pull over its distance and 3/2 / alpha: so that Newton's step brings it in order. All other
        losses return their gradient, which bends in proportion to its size.

        Parameters
        ----------
        scores, grades, offsets, weight
            As in a call.

        Returns
        -------
        direction, curvature : ndarray, shapes (n,)
            Towards higher values; curvature is positive or 0.
        """
        batch = check(scores, grades, self._top_grade, offsets, weight)
        if len(batch.scores) == 0:
            return np.zeros(0), np.zeros(0)
        return self._lambdas(batch)

    def at(self, iteration: int, total: int) -> Self:
        """Return the loss of iteration 1..total: this one, unless it is scheduled."""
        if not 1 <= iteration <= total:
            raise InputError(f"iteration={iteration} lies outside 1..total={total}")
        return self

    def count_empty(self, grades: ArrayLike, offsets: ArrayLike | None = None) -> int:
        """Return how many queries leave nothing to gain: they add 0, normalised, and have no gradient.

        Queries without a positive ideal value, for a DCG; without a relevant document, for average precision.

        Parameters
        ----------
        grades, offsets
            As in a call.
        """
        y = np.asarray(grades)
        return int(self._is_empty(check(np.zeros(y.shape), y, self._top_grade, offsets, None)).sum())

    def for_scale(self, scale: float) -> Self:
        """Return the loss that sees ``scale * scores`` as this one sees ``scores``."""
        if self.sharpness is None:
            return self
        value = getattr(self, self.sharpness) * scale**self.sharpness_power
        changes: dict[str, Any] = {self.sharpness: value}
        return replace(self, **changes)  # type: ignore[type-var]

    @property
    def _top_grade(self) -> int:
        return MAX_GRADES - 1

    @property
    def per_score(self) -> float:
        """The sharpness, per unit of score; 1 for a loss that has none."""
        return 1.0 if self.sharpness is None else float(getattr(self, self.sharpness) ** -self.sharpness_power)

    def _evaluate(self, batch: Batch) -> tuple[float, Floats]:
        raise NotImplementedError

    def _lambdas(self, batch: Batch) -> tuple[Floats, Floats]:
        _, gradient = self._evaluate(batch)
        return gradient, self.per_score * np.abs(gradient)

    def _is_empty(self, batch: Batch) -> NDArray[np.bool_]:
        return np.diff(batch.offsets) == 0


@dataclass(frozen=True)
class MetricLoss(Loss):
    """A loss that follows a DCG; what its subclasses read off that DCG."""

    dcg: DCG

    @property
    def _top_grade(self) -> int:
        return self.dcg.n_grades - 1

    @cached_property
    def _discount(self) -> SmoothDiscount:
        return SmoothDiscount.of(self.dcg.discounts)

    @cached_property
    def _by_gain(self) -> Integers:
        """Grades from the largest gain to the smallest."""
        return np.argsort(-self.dcg.gains, kind="stable")

    def _is_empty(self, batch: Batch) -> NDArray[np.bool_]:
        return self._factors(batch, True) == 0

    def _factors(self, batch: Batch, normalise: bool) -> Floats:
        """Return what each query's DCG is multiplied by, shape (n_queries,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class HardMetricLoss(MetricLoss):
    """A loss whose ranks are whole numbers, so that the DCG's discounts act as they are, whatever their signs."""

    def _vector(self, longest: int) -> Floats:
        """Return the discounts of the positions that count: c, cut at k or continued by the smooth tail."""
        c = self.dcg.discounts
        k = int(min(depth_of(getattr(self, "k", "depth"), self.dcg), max(longest, len(c))))
        return c[:k] if k <= len(c) else self._continued(k)

    def _continued(self, depth: int) -> Floats:
        """Return the discounts of positions 1..depth, past the last one the smooth tail."""
        c = self.dcg.discounts
        return np.concatenate([c[:depth], self._discount(np.arange(len(c) + 1.0, depth + 1))])

    def _factors(self, batch: Batch, normalise: bool) -> Floats:
        factor = np.empty(batch.n_queries)
        best_first = -np.sort(-self._vector(batch.longest))
        gain_kernel.hard_factors(
            batch.grades, batch.offsets, self.dcg.gains, self._by_gain, best_first, batch.weight, normalise, factor
        )
        return factor


def without_relevant(batch: Batch, min_grade: int) -> NDArray[np.bool_]:
    """Return which queries hold no document of `min_grade` or better, shape (n_queries,)."""
    seen = np.r_[0, np.cumsum(batch.grades >= min_grade)]
    return np.diff(seen[batch.offsets]) == 0


def positive(**values: float) -> None:
    """Refuse, with an InputError, what is not a positive finite number."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
            raise InputError(f"{name}={value!r} is not a positive finite number")


def depth_of(k: int | str | None, dcg: DCG) -> float:
    """Return the rank up to which documents count: the DCG's own, a given one, or infinity for None."""
    if k is None:
        return np.inf
    if k == "depth":
        return dcg.depth
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f'k={k!r} is neither a positive integer, "depth" (that of the DCG), nor None (all ranks)')
    return int(k)


def check(
    scores: ArrayLike, grades: ArrayLike, top_grade: int, offsets: ArrayLike | None, weight: ArrayLike | None
) -> Batch:
    """Return the arrays of a call, checked; see `Loss.__call__`."""
    f = np.ascontiguousarray(scores, dtype=np.float64)
    if f.ndim != 1:
        raise InputError(f"scores has shape {f.shape}; expected one score per document, (n,)")
    if not np.isfinite(f).all():
        wrong = int(np.argmin(np.isfinite(f)))
        raise InputError(f"scores[{wrong}]: {f[wrong]} is not a finite number; did the model diverge?")
    y = _grades(grades, len(f), top_grade)
    ends = np.array([0, len(f)]) if offsets is None else _offsets(offsets, len(f))
    if weight is None:
        return Batch(f, y, ends, np.ones(len(ends) - 1))
    v = np.ascontiguousarray(weight, dtype=np.float64)
    if v.shape != (len(ends) - 1,):
        raise InputError(f"weight has shape {v.shape}; expected one value per query, ({len(ends) - 1},)")
    if not (np.isfinite(v) & (v >= 0)).all():
        wrong = int(np.argmin(np.isfinite(v) & (v >= 0)))
        raise InputError(f"weight[{wrong}]: {v[wrong]} is not a finite number of 0 or more")
    return Batch(f, y, ends, v)


def _grades(grades: ArrayLike, n: int, top: int) -> Integers:
    y = np.asarray(grades)
    if y.shape != (n,):
        raise InputError(f"grades has shape {y.shape}; expected one grade per score, ({n},)")
    if y.dtype.kind not in "iuf":
        raise InputError(f"grades holds {y.dtype}; grades are integers, 0 = worst")
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.floor(y))
        if not whole.all():
            wrong = int(np.argmin(whole))
            raise InputError(f"grades[{wrong}]: {y[wrong]} is not an integer grade; map labels to 0, 1, 2, ... first")
    if n and (y.max() > top or y.min() < 0):
        wrong = int(np.argmax((y > top) | (y < 0)))
        if y[wrong] < 0:
            raise InputError(f"grades[{wrong}]: {y[wrong]:g} is below 0; leave unjudged documents out, or grade them 0")
        raise InputError(
            f"grades[{wrong}]: {y[wrong]:g} lies above the DCG's grades 0..{top}; give a DCG with a gain for each grade"
        )
    return np.ascontiguousarray(y, dtype=np.int64)


def _offsets(offsets: ArrayLike, n: int) -> Integers:
    ends = np.asarray(offsets)
    if ends.ndim != 1 or len(ends) == 0 or ends.dtype.kind not in "iu":
        raise InputError(f"offsets of shape {ends.shape} and type {ends.dtype}; expected integers, (n_queries + 1,)")
    ends = np.ascontiguousarray(ends, dtype=np.int64)
    if ends[0] != 0 or ends[-1] != n or (np.diff(ends) < 0).any():
        sizes = "; these look like group sizes: give np.r_[0, np.cumsum(sizes)]" if ends.sum() == n else ""
        raise InputError(f"offsets must rise from 0 to the number of documents, {n}{sizes}")
    return ends
