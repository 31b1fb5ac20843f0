"""Coherence without a search: compatible gains, two grades, optimal rankings, flip points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dcglearn.coherence.rankings import Rankings, list_values, padded_weights, without
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import Floats, Grades, InputError, graded_lists, whole_number
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, read_metric, resolved


def is_compatible(a: MetricLike, b: MetricLike) -> bool:
    """Return whether the gains of both DCGs (or files, or names) strictly increase with the grade.

    Zhou et al. 2008, section 4. Compatible gains with decreasing discounts have the same best
    rankings (rearrangement inequality); with more than two grades they may still disagree below the
    best: see `coherence`. Raises InputError if the numbers of grades differ.

    See Also
    --------
    coherence.two_grade_theorem : When compatible metrics are coherent.

    Examples
    --------
    >>> is_compatible("linear-log2@10", dl.DCG.standard(5, 10, "exponential"))
    True
    >>> is_compatible("linear-log2@10", dl.DCG.standard(5, 10, "binary2"))
    False
    """
    a, b = _dcgs(a, b)
    if a.n_grades != b.n_grades:
        raise InputError(f"{a.n_grades} and {b.n_grades} grades cannot be compared")
    return bool((np.diff(a.gains) > 0).all() and (np.diff(b.gains) > 0).all())


def _dcgs(a: MetricLike, b: MetricLike) -> tuple[DCG, DCG]:
    """Return both as DCGs; see `resolved`."""
    first, second = (read_metric(metric, accept=ONLY_DCG) for metric in resolved([a, b], "ab")[0])
    return first, second


@dataclass(frozen=True)
class Theorem(Finding):
    """Whether a theorem proves coherence, and why it does or does not."""

    applies: bool
    why: str

    def __bool__(self) -> bool:
        return self.applies

    @property
    def sentence(self) -> str:
        """What the theorem says of the two metrics, and why."""
        verdict = "proves that they never disagree" if self.applies else "does not apply"
        return f"the theorem on two grades {verdict}: {self.why}"


def two_grade_theorem(a: MetricLike, b: MetricLike) -> Theorem:
    """Return whether two DCGs are coherent by the theorem on two grades; else see `coherence`.

    Zhou et al. 2008, section 4: with two grades, compatible gains are coherent, if the discounts
    are the same up to a factor. Otherwise they need not be: 1, 0, 0 is better than 0, 1, 1 under
    1/r and worse under 1/log2(r + 1).

    See Also
    --------
    coherence.is_compatible : Its condition on the gains.

    Examples
    --------
    >>> print(two_grade_theorem(dl.DCG([0, 1], [1, 0.5]), dl.DCG([1, 4], [2, 1])))
    The theorem on two grades proves that they never disagree: two grades, gains that rise in both,
    discounts that are the same up to a factor.
    >>> print(two_grade_theorem(dl.DCG([0, 1], [1, 0.5]), dl.DCG([0, 1], [1, 0.3])))
    The theorem on two grades does not apply: the discounts differ, so that more at the top may
    outweigh one below in one alone.
    """
    a, b = _dcgs(a, b)
    if not is_compatible(a, b):
        return Theorem(False, "the gains do not rise strictly in both")
    if a.n_grades > 2:
        return Theorem(
            False, f"{a.n_grades} grades; with more than two, compatible gains may disagree"
        )

    # discounts that are multiples of each other
    c, d = a.discounts, b.discounts
    same = a.depth == b.depth and c @ d > 0
    if same and np.allclose((c @ c) * d, (c @ d) * c, rtol=1e-12, atol=0):
        return Theorem(
            True, "two grades, gains that rise in both, discounts that are the same up to a factor"
        )
    return Theorem(
        False, "the discounts differ, so that more at the top may outweigh one below in one alone"
    )


def optimal_rankings(
    metric: MetricLike | ArrayLike, documents: ArrayLike, limit: int = 1000
) -> Grades:
    """Return the rankings that no other ranking of the documents beats, shape (n, K), descending.

    `metric` and `documents` are as in `coherence`; `limit` is the maximum number of
    rankings to return. Raises InputError if there are none, or they do not fill the positions.

    See Also
    --------
    coherence.is_compatible : Whether two metrics have the same.

    Examples
    --------
    >>> optimal_rankings(dl.DCG([0, 1, 3], [1, 0.5, 0.5]), [0, 1, 2])
    array([[2, 1, 0],
           [2, 0, 1]], dtype=int8)
    """
    whole_number(limit, "limit", 1)
    rankings, (weights,) = padded_weights([metric], ["metric"], documents)
    if rankings.counts is None:
        raise InputError("documents: give the grade of each document to rank, as [4, 3, 0]")
    tolerance = 1e-12 * max(float(np.abs(weights).max()), 1e-300) * rankings.depth
    lists = islice(_best_lists(rankings, weights, tolerance), limit)
    return np.array(list(lists), dtype=np.int8)


def _best_lists(rankings: Rankings, weights: Floats, slack: float) -> Iterator[list[int]]:
    """Yield the lists whose values are within `slack` of the best, by depth-first search."""
    if not rankings.depth:
        yield []
        return
    best = _best_value(rankings, weights)
    assert rankings.counts is not None
    for grade in reversed(rankings.present.tolist()):
        # the lists that begin with this grade
        left = without(rankings.counts, grade)
        rest = Rankings(rankings.depth - 1, rankings.n_grades, left)
        if _best_value(rest, weights[1:]) >= best - slack - weights[0, grade]:
            yield from ([grade, *below] for below in _best_lists(rest, weights[1:], slack))


def _best_value(rankings: Rankings, weights: Floats) -> float:
    return float(list_values(weights, rankings.best(weights))) if rankings.depth else 0.0


def flip_points(
    family: Callable[[float], DCG | Utility],
    x: ArrayLike,
    y: ArrayLike,
    low: float,
    high: float,
    n: int = 200,
) -> Floats:
    """Return the parameters at which the order of two lists reverses in a family of metrics.

    They have the shape (m,) and are ascending. Raises InputError if the range is empty.

    Parameters
    ----------
    family : callable
        Returns the metric for a parameter, for example ``lambda t: DCG(gains**t, discounts)``.
    x, y : array_like of int, shape (K,)
        The lists.
    low, high, n : float, float, int
        Range of the parameter, and the number of its equal intervals; two reversals in one interval
        are missed.

    See Also
    --------
    coherence : Search all rankings for a disagreement.

    Examples
    --------
    The counter-example of Zhou et al. 2008, section 4: three documents with gains 2, 3 and 1/2 to a
    power, and two rankings down to position 2. The order of the gains is the same for all powers,
    but the order of the rankings reverses.

    >>> def powers(e):
    ...     return lambda t: dl.DCG([0.5**t, 2.0**t, 3.0**t], [1 + e, 1 - e])
    >>> flips = [flip_points(powers(e), [1, 0], [0, 2], 0.5, 10)[-1] for e in (0.3, 0.5, 0.9)]
    >>> np.round(flips, 3).tolist()
    [1.343, 2.668, 7.262]
    """
    if not low < high:
        raise InputError(f"the range from low={low} to high={high} is empty")
    whole_number(n, "n", 1)
    lists = np.stack([graded_lists(x, "x"), graded_lists(y, "y")])

    def ahead(t: float) -> float:
        first, second = family(float(t)).score(lists)
        return float(first - second)

    # roots within intervals, and at their ends
    ends = np.linspace(low, high, n + 1)
    values = np.array([ahead(t) for t in ends])
    crossings = np.flatnonzero(values[:-1] * values[1:] < 0)
    roots = [float(brentq(ahead, ends[i], ends[i + 1], xtol=1e-12)) for i in crossings]
    return np.sort([*ends[values == 0], *roots])
