"""What theory says of coherence without a search: compatible gains, best rankings, two grades, flips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from dcglearn.foundation.validation import InputError, graded_lists, whole_number
from dcglearn.metric_coherence.rankings import Rankings, padded_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.metric.dcg import DCG, Utility
    from dcglearn.metric_coherence.rankings import Metric


def is_compatible(a: DCG, b: DCG) -> bool:
    """Say whether the gains of both DCGs rise strictly from grade to grade.

    Raises
    ------
    InputError
        If the numbers of grades differ.

    Notes
    -----
    Zhou et al. 2008, section 4. Compatible gains with decreasing discounts have the same best rankings (rearrangement
    inequality); with more than two grades they may still disagree below the best: see `coherence`.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> is_compatible(DCG.standard(5, 10, "linear"), DCG.standard(5, 10, "exponential"))
    True
    >>> is_compatible(DCG.standard(5, 10, "linear"), DCG.standard(5, 10, "binary2"))
    False
    """
    if a.n_grades != b.n_grades:
        raise InputError(f"{a.n_grades} and {b.n_grades} grades cannot be compared")
    return bool((np.diff(a.gains) > 0).all() and (np.diff(b.gains) > 0).all())


@dataclass(frozen=True)
class Theorem:
    """Whether a theorem settles a question, and why.

    Attributes
    ----------
    applies : bool
    why : str
    """

    applies: bool
    why: str

    def __bool__(self) -> bool:
        return self.applies

    def __str__(self) -> str:
        return f"{'coherent' if self.applies else 'the theorem does not apply'}: {self.why}"


def two_grade_theorem(a: DCG, b: DCG) -> Theorem:
    """Say whether two DCGs are coherent by the theorem on two grades.

    Returns
    -------
    Theorem
        True if it applies; where it does not, the metrics may or may not be coherent: see `coherence`.

    Notes
    -----
    Zhou et al. 2008, section 4: with two grades, compatible gains are coherent. It holds for discounts that are the
    same up to a factor: of the lists 1, 0, 0 and 0, 1, 1, the first is better under 1/r, the second under
    1/log2(r + 1).

    Examples
    --------
    >>> from dcglearn import DCG
    >>> print(two_grade_theorem(DCG([0, 1], [1, 0.5]), DCG([1, 4], [2, 1])))
    coherent: two grades, gains that rise in both, discounts that are the same up to a factor
    >>> print(two_grade_theorem(DCG.standard(2, 3, "linear", "log2"), DCG.standard(2, 3, "linear", "reciprocal")))
    the theorem does not apply: the discounts differ, so that more at the top may outweigh one below in one alone
    """
    if not is_compatible(a, b):
        return Theorem(False, "the gains do not rise strictly in both")
    if a.n_grades > 2:
        return Theorem(False, f"{a.n_grades} grades; with more than two, compatible gains may disagree")
    if a.depth != b.depth or not _proportional(a.discounts, b.discounts):
        return Theorem(False, "the discounts differ, so that more at the top may outweigh one below in one alone")
    return Theorem(True, "two grades, gains that rise in both, discounts that are the same up to a factor")


def _proportional(first: Floats, second: Floats) -> bool:
    factor = float(first @ second) / float(first @ first) if first.any() else 0.0
    return factor > 0 and bool(np.allclose(second, factor * first, rtol=1e-12, atol=0))


def optimal_rankings(metric: Metric, grades: ArrayLike, limit: int = 1000) -> Grades:
    """Return the rankings of documents that no other ranking beats.

    Parameters
    ----------
    metric : DCG, Utility, or array_like of shape (K, L)
        The metric.
    grades : array_like of int, shape (N,)
        The documents, by grade, N >= K.
    limit : int
        At most so many are returned.

    Returns
    -------
    ndarray of int8, shape (n, K)
        Different lists of grades, in descending order.

    Raises
    ------
    InputError
        If the documents do not fill the positions.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> optimal_rankings(DCG([0, 1, 3], [1, 0.5, 0.5]), [0, 1, 2])
    array([[2, 1, 0],
           [2, 0, 1]], dtype=int8)
    """
    whole_number(limit, "limit", 1)
    rankings, (weights,) = padded_weights([metric], ["metric"], grades)
    tolerance = 1e-12 * max(float(np.abs(weights).max()), 1e-300) * rankings.depth
    found = []
    for one in _best_lists(rankings, weights, tolerance):
        found.append(one)
        if len(found) == limit:
            break
    return np.array(found, dtype=np.int8)


def _best_lists(rankings: Rankings, weights: Floats, slack: float) -> Iterator[list[int]]:
    """Yield the lists that are worth the most, up to `slack`, placing no grade that puts the best out of reach."""
    if not rankings.depth:
        yield []
        return
    best = _worth(rankings, weights)
    assert rankings.counts is not None
    for grade in range(rankings.n_grades - 1, -1, -1):
        if not rankings.counts[grade]:
            continue
        counts = tuple(n - (g == grade) for g, n in enumerate(rankings.counts))
        rest = Rankings(rankings.depth - 1, rankings.n_grades, counts)
        left = best - slack - weights[0, grade]
        if _worth(rest, weights[1:]) >= left:
            yield from ([grade, *below] for below in _best_lists(rest, weights[1:], slack))


def _worth(rankings: Rankings, weights: Floats) -> float:
    if not rankings.depth:
        return 0.0
    return float(weights[np.arange(rankings.depth), rankings.best(weights)].sum())


def flip_points(
    family: Callable[[float], DCG | Utility], x: ArrayLike, y: ArrayLike, low: float, high: float, n: int = 200
) -> Floats:
    """Return where, in a family of metrics, two lists change places.

    Parameters
    ----------
    family : callable
        The metric at a parameter, such as ``lambda t: DCG(gains**t, discounts)``.
    x, y : array_like of int, shape (K,)
        The lists.
    low, high : float
        Range of the parameter.
    n : int
        The range is cut into so many parts; a part in which they change places twice goes unnoticed.

    Returns
    -------
    ndarray, shape (m,)
        Parameters at which both lists are worth the same, ascending.

    Raises
    ------
    InputError
        If the range is empty.

    Examples
    --------
    The counter-example of Zhou et al. 2008, section 4: three documents, gains 2, 3 and 1/2 to a power, ranked in two
    ways down to position 2. No power changes the order of the gains, but one changes that of the rankings.

    >>> from dcglearn import DCG
    >>> def powers(e):
    ...     return lambda t: DCG([0.5**t, 2.0**t, 3.0**t], [1 + e, 1 - e])
    >>> [float(flip_points(powers(e), [1, 0], [0, 2], 0.5, 10)[-1].round(3)) for e in (0.3, 0.5, 0.9)]
    [1.343, 2.668, 7.262]
    """
    if not low < high:
        raise InputError(f"the range from low={low} to high={high} is empty")
    whole_number(n, "n", 1)
    lists = np.stack([graded_lists(x, "x"), graded_lists(y, "y")])

    def ahead(t: float) -> float:
        first, second = family(float(t)).score(lists)
        return float(first - second)

    ends = np.linspace(low, high, n + 1)
    values = np.array([ahead(t) for t in ends])
    roots = [float(end) for end, value in zip(ends, values, strict=True) if value == 0]
    for i in np.flatnonzero(values[:-1] * values[1:] < 0):
        roots.append(float(brentq(ahead, ends[i], ends[i + 1], xtol=1e-12)))
    return np.sort(roots)
