"""Base of all objectives: the signature of a call, its checks, and the checked batch."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import (
    MAX_GRADES,
    Fields,
    Floats,
    InputError,
    Integers,
    flag,
    known,
    refuse_where,
    whole_number,
    within,
)
from dcglearn.metrics.names import MetricName
from dcglearn.metrics.reading import ONLY_DCG, metric_or_name, read_metric

ValueAndGradient: TypeAlias = tuple[float, Floats]
"""A value, and its derivative in each score, rank or mean."""

Lambdas: TypeAlias = tuple[Floats, Floats]
"""Lambdas or another slope of each document, and their curvatures, shapes (n,)."""


@dataclass(frozen=True)
class Batch:
    """Checked arguments of a call: documents by query, shape (n,), and the queries' weights."""

    scores: Floats
    grades: Integers
    offsets: Integers
    weight: Floats

    @property
    def n_queries(self) -> int:
        """The number of queries, empty ones included."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Integers:
        """Documents of each query, shape (n_queries,)."""
        return np.diff(self.offsets)

    @cached_property
    def longest(self) -> int:
        """Documents of the longest query."""
        return int(self.sizes.max(initial=0))

    def n_pairs(self, depth: float = np.inf) -> float:
        """Return the number of pairs of a position up to `depth` and a document of its query."""
        sizes = self.sizes.astype(np.float64)
        return float(sizes @ np.minimum(sizes, depth))


class Objective:
    """A function ``objective(scores, grades, offsets=None, weight=None) -> (value, gradient)``.

    Rankers maximise it. A higher value is a better ranking. Where the literature minimises a loss
    (hinge, cross entropy), it is minus that.
    """

    sharpness: ClassVar[str | None] = None
    """Name of the parameter that sets how closely the objective follows the ranking."""
    sharpness_power: int = -1
    """The power of the unit of scores in the sharpness: -1 for a number per unit of score."""

    def __post_init__(self) -> None:
        # check numbers and flags
        if self.sharpness is not None:
            positive(**{self.sharpness: getattr(self, self.sharpness)})
        if hasattr(self, "shift"):
            within(self.shift, "shift")
        for name in ("normalise", "annealed"):
            if hasattr(self, name):
                flag(getattr(self, name), name)

        # read the metric; a name stays one until the lists are known
        dcg = getattr(self, "dcg", None)
        needed = hasattr(self, "dcg") and not hasattr(type(self), "dcg")  # there is no default
        if dcg is not None or needed:
            name = f"the metric of {type(self).__name__}"
            metric = metric_or_name(dcg, accept=ONLY_DCG, name=name)
            if not isinstance(metric, MetricName):
                object.__setattr__(self, "dcg", metric)

    def __call__(
        self,
        scores: ArrayLike,
        grades: ArrayLike,
        offsets: ArrayLike | None = None,
        weight: ArrayLike | None = None,
    ) -> ValueAndGradient:
        """Return the value and its gradient with respect to the scores.

        Raises InputError if a score is not finite, a grade is not on the scale, or offsets or
        weights do not fit.

        Parameters
        ----------
        scores, grades : array_like, shape (n,)
            Scores and grades (0 = worst) of the documents of all queries, one query after the
            other.
        offsets, weight : array_like, shapes (m + 1,) and (m,), optional
            Query q holds documents ``offsets[q]:offsets[q + 1]``, by default there is one; 1 is the
            default weight.

        Returns
        -------
        value, gradient : float; ndarray, shape (n,)
            Weighted sum over queries, higher is better; its slope in each score.
        """
        batch = check(scores, grades, self._top_grade, offsets, weight)
        return self._on(batch)._evaluate(batch) if len(batch.scores) else (0.0, np.zeros(0))

    def lambdas(
        self,
        scores: ArrayLike,
        grades: ArrayLike,
        offsets: ArrayLike | None = None,
        weight: ArrayLike | None = None,
    ) -> Lambdas:
        """Return LambdaMART's lambdas and their curvature, shapes (n,), which boosted trees fit.

        Objectives of soft ranks, and LambdaRank, weigh a pair of documents a, b with gains G,
        scores f, and discounts D at their ranks (`DCGObjective.swap_discounts`: the mean of the
        DCG's own and of log2's) by a swap's effect::

            lambda_ab = |(G_a - G_b) (D_a - D_b)| step(alpha (f_a - f_b)) / (|f_a - f_b| + 0.001 /
            alpha) curvature_ab = lambda_ab / (|f_a - f_b| + 1.5 / alpha)

        The better document gains lambda_ab and the worse one loses it; the curvature is added to
        both, so that a Newton step brings the pair in order. ``step`` is the slope of the
        objective's own comparison of two scores, 1 where they are equal. If queries are normalised
        and the lambdas of one sum to S, they are scaled to log2(1 + S). All other objectives return
        their gradient; its curvature is its size times the sharpness, the second derivative in
        `Regression`. Lambdas point to higher values, curvatures are not negative; arguments and
        errors: see a call.
        """
        batch = check(scores, grades, self._top_grade, offsets, weight)
        if len(batch.scores) == 0:
            return np.zeros(0), np.zeros(0)
        return self._on(batch)._lambdas(batch)

    def at(self, iteration: int, total: int) -> Self:
        """Return the objective of iteration 1..total: this one, unless it is scheduled.

        Raises InputError for another iteration.
        """
        if not 1 <= iteration <= total:
            raise InputError(f"iteration={iteration} lies outside 1..total={total}")
        return self

    def get_params(self, deep: bool = True) -> Fields:
        """Return the parameters by name, as scikit-learn's estimators do; `deep` has no effect."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Change parameters, as scikit-learn's estimators do, and return the objective.

        An objective is frozen otherwise: use `dataclasses.replace` to keep one that other rankers
        hold. Raise InputError, and leave the objective as it was, if there is no such parameter, or
        a value is out of its range.

        Examples
        --------
        >>> dl.losses.ApproxNDCG("linear-log2@5").set_params(alpha=3.0).alpha
        3.0
        """
        # refuse names that are no parameters
        known(params, self.get_params(), type(self).__name__, "parameter")

        # replace what was computed from the former parameters too
        changed = replace(self, **params)  # type: ignore[type-var]
        self.__dict__.clear()
        self.__dict__.update(changed.__dict__)
        return self

    def for_lists(self, n_grades: int, longest: int) -> Self:
        """Return the objective with the DCG that its name stands for, by default `longest` deep."""
        dcg = getattr(self, "dcg", None)
        if not isinstance(dcg, str):
            return self
        dcg = read_metric(dcg, n_grades, longest, accept=ONLY_DCG)
        return replace(self, dcg=dcg)  # type: ignore[type-var]

    def _on(self, batch: Batch) -> Self:
        return self.for_lists(int(batch.grades.max(initial=0)) + 1, max(batch.longest, 1))

    def for_scale(self, scale: float) -> Self:
        """Return the objective that at ``scale * scores`` is what this one is at ``scores``."""
        if self.sharpness is None:
            return self
        value = getattr(self, self.sharpness) * scale**self.sharpness_power
        return replace(self, **{self.sharpness: value})  # type: ignore[type-var]

    @property
    def per_score(self) -> float:
        """The sharpness per unit of score, such as alpha or 1 / margin; 1 without a sharpness."""
        if self.sharpness is None:
            return 1.0
        return float(getattr(self, self.sharpness) ** -self.sharpness_power)

    @property
    def _top_grade(self) -> int:
        dcg = getattr(self, "dcg", None)
        return MAX_GRADES - 1 if dcg is None or isinstance(dcg, str) else dcg.n_grades - 1

    def _evaluate(self, batch: Batch) -> ValueAndGradient:
        raise NotImplementedError

    def _lambdas(self, batch: Batch) -> Lambdas:
        _, gradient = self._evaluate(batch)
        return gradient, self.per_score * np.abs(gradient)


class PrecisionObjective(Objective):
    """An objective that follows average precision: grades from `min_grade` on are relevant."""

    min_grade: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.min_grade, "min_grade")


def positive(**values: float) -> None:
    """Raise InputError unless all values are positive finite numbers."""
    for name, value in values.items():
        within(value, name, exclusive=True)


def check(
    scores: ArrayLike,
    grades: ArrayLike,
    top_grade: int,
    offsets: ArrayLike | None,
    weight: ArrayLike | None,
) -> Batch:
    """Return the checked arguments of a call; see `Objective.__call__`."""
    # scores
    f = np.ascontiguousarray(scores, dtype=np.float64)
    if f.ndim != 1:
        raise InputError(f"scores has shape {f.shape}; expected one score per document, (n,)")
    refuse_where(~np.isfinite(f), f, "scores", "is not a finite number; did the model diverge?")

    # grades and queries
    y = checked_grades(grades, len(f), top_grade)
    ends = np.array([0, len(f)]) if offsets is None else _offsets(offsets, len(f))
    n_queries = len(ends) - 1
    if weight is None:
        return Batch(f, y, ends, np.ones(n_queries))

    # weights of queries
    v = np.ascontiguousarray(weight, dtype=np.float64)
    if v.shape != (n_queries,):
        raise InputError(
            f"weight has shape {v.shape}; expected one value per query, ({n_queries},)"
        )
    refuse_where(~(np.isfinite(v) & (v >= 0)), v, "weight", "is not a finite number >= 0")
    return Batch(f, y, ends, v)


def checked_grades(grades: ArrayLike, n: int, top: int, scale: str = "the DCG's scale") -> Integers:
    """Return grades as int64, shape (n,); an error names the first that is not on the scale."""
    labels = np.asarray(grades)
    if labels.shape != (n,):
        raise InputError(f"grades have shape {labels.shape}; expected one per document, ({n},)")
    if n == 0:
        return labels.astype(np.int64)
    if labels.dtype.kind not in "iuf":
        raise InputError(
            f"Unknown label type: grades are {labels.dtype}; expected integers, 0 = worst"
        )
    if labels.dtype.kind == "f":
        remedy = (
            "is not a grade: grades are integers, 0 = worst; np.digitize(grades, [0.5, 1.5]) makes "
            "levels of numbers, and nDCG of evaluate_arrays takes them as gains"
        )
        refuse_where(labels != np.floor(labels), labels, "grades", remedy)

    # grades on the scale
    unknown = "is not a known grade; leave unjudged documents out, or grade them 0"
    refuse_where(labels < 0, labels, "grades", unknown)
    remedy = (
        f"is not a grade of {scale}, 0..{top}; give a DCG, or n_grades, with as many grades as the "
        "labels"
    )
    refuse_where(labels > top, labels, "grades", remedy)
    return np.ascontiguousarray(labels, np.int64)


def _offsets(offsets: ArrayLike, n: int) -> Integers:
    """Return the checked offsets as int64, shape (n_queries + 1,)."""
    ends = np.asarray(offsets)
    if ends.ndim != 1 or len(ends) == 0 or ends.dtype.kind not in "iu":
        raise InputError(
            f"offsets has shape {ends.shape} and type {ends.dtype}; expected integers, (n_queries "
            "+ 1,)"
        )
    ends = np.ascontiguousarray(ends, dtype=np.int64)
    if ends[0] == 0 and ends[-1] == n and (ends[1:] >= ends[:-1]).all():
        return ends

    remedy = ""
    if ends.sum() == n:
        remedy = "; these look like group sizes: give np.r_[0, np.cumsum(sizes)]"
    raise InputError(f"offsets must rise from 0 to the number of documents, {n}{remedy}")
