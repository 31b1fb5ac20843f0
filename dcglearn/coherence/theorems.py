"""Agreement without a search: compatible gains, the theorem on two grades, innate orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import Indices, InputError, graded_lists
from dcglearn.metrics.dcg import DCG
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
        raise InputError(f"scales of {a.n_grades} and {b.n_grades} grades cannot be compared")
    return all((np.diff(dcg.gains) > 0).all() for dcg in (a, b))


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


ZERO = 1e-6
"""Leads up to this size count as none: rounding of means."""


def innate_order(first: ArrayLike, second: ArrayLike) -> Indices:
    """Return 1 where every sane metric prefers the first of two lists, -1 the second, else 0.

    These are the innate orderings of Moffat and Mackenzie (arXiv 2309.09477): a list never becomes
    better if a grade falls, or if the worse of two results moves above the better. Here a list
    surpasses another if each of its prefixes has at least as many results of at least each grade,
    and one has more. Then its value is larger under every DCG whose gains rise and whose discounts
    fall, all strictly, and the lists that differ so are those on which no two of these disagree.

    Parameters
    ----------
    first, second : array_like of int, shape (n, K) or (K,)
        Grades by position, 0 = worst; unknown grades (-1) count as the worst.

    See Also
    --------
    disagreement : How often two metrics differ on the others.
    system_order : The same of the means of systems.

    Examples
    --------
    >>> innate_order([[2, 1, 0], [2, 0, 0], [0, 1, 0]], [[1, 2, 0], [1, 1, 1], [0, 2, 0]])
    array([ 1,  0, -1])
    """
    lists = np.array([graded_lists(first), graded_lists(second)])
    grades = np.arange(1, max(int(lists.max()), 1) + 1)
    at_least = lists[..., None, :] >= grades[:, None]
    lead = np.diff(np.cumsum(at_least, axis=-1)[::-1], axis=0)[0]
    return surpasses(lead).astype(int) - surpasses(-lead)


def surpasses(lead: Any) -> Any:
    """Return whether leads in counts of results, shape (..., L - 1, K), are nowhere below 0.

    They are of results of at least each grade from 1 on, down to each position; one is above 0.
    """
    return (lead.min(axis=(-2, -1)) >= -ZERO) & (lead.max(axis=(-2, -1)) > ZERO)
