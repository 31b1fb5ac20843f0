"""Can two metrics disagree? A proof that they cannot, or the very rankings on which they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError, finite_array
from dcglearn.metric_coherence.rankings import EXACT, Rankings, as_weights, comparable
from dcglearn.metric_coherence.regret import Found, IntegerProgramme, LookAtAll, Search

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.metric_coherence.rankings import Metric


NEGLIGIBLE = 1e-5
"""A regret up to this share of a metric's span is no disagreement."""

FEW = 300_000
"""So few lists are looked at one by one at once."""

SHORT = 2.0
"""Seconds that the integer programme gets before lists that could be looked at one by one are."""


@dataclass(frozen=True, eq=False)
class Witness:
    """Two rankings that two metrics order differently.

    Attributes
    ----------
    lists : ndarray of int8, shape (2, K)
        First the ranking that the first metric prefers, then the one that the second prefers.
    first, second : ndarray, shape (2,)
        What the two rankings are worth under the first and under the second metric, in its own units.
    """

    lists: Grades
    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class Coherence:
    """Whether two metrics ever disagree; prints as a verdict with its witness.

    Attributes
    ----------
    coherent : bool or None
        None where the search ended without a proof.
    regret : float
        The most that b can lose, as a share of b's span (best minus worst list), where a prefers a list by at least
        `margin` of a's span and b prefers the other.
    regret_reverse : float
        The same with the roles exchanged.
    bound, bound_reverse : float
        What is proved: no pair has a larger regret.
    witness, witness_reverse : Witness or None
        The pairs with these regrets.
    margin : float
        By how much the metric that prefers must do so, as a share of its span; 0 = at all.
    method : str
        How it was proved.
    rankings : Rankings
        What was compared.
    names : (str, str)
        What the metrics are called.
    """

    coherent: bool | None
    regret: float
    regret_reverse: float
    bound: float
    bound_reverse: float
    witness: Witness | None
    witness_reverse: Witness | None
    margin: float
    method: str
    rankings: Rankings
    names: tuple[str, str]
    _ties: Callable[[], Found] = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether the regrets are the largest there are, not only the largest found."""
        return self.bound - self.regret < NEGLIGIBLE and self.bound_reverse - self.regret_reverse < NEGLIGIBLE

    @cached_property
    def tie_regret(self) -> float:
        """The most that b tells apart two lists that a ties, as a share of b's span; searched for when first asked.

        Past 20 million lists what the search finds within its time limit: at least so much.
        """
        return self._ties().regret

    def __str__(self) -> str:
        a, b = self.names
        by = f" by {self.margin:g} of its span" if self.margin else ""
        where = f"over {self.rankings}"
        if self.coherent:
            lines = [f"coherent: {a} and {b} never disagree {where}" + (f", where either prefers{by}" if by else "")]
        elif self.coherent is None:
            most = max(self.bound, self.bound_reverse)
            lines = [
                f"not proved: no disagreement of {a} and {b} was found {where}, but the search ended before its proof "
                f"(no regret can exceed {most:.3g}); give it more time"
            ]
        else:
            lines = [f"not coherent: {a} and {b} disagree {where}"]
        for names, witness, regret, bound in (
            ((a, b), self.witness, self.regret, self.bound),
            ((b, a), self.witness_reverse, self.regret_reverse, self.bound_reverse),
        ):
            if witness is not None:
                lines += ["", *_told(names, witness, by, regret, bound)]
        return "\n".join([*lines, "", f"proof: {self.method}"])


def _told(names: tuple[str, str], witness: Witness, by: str, regret: float, bound: float) -> list[str]:
    (own, other), values = names, (witness.first, witness.second)
    best = "the largest" if bound - regret < NEGLIGIBLE else f"the largest found; at most {bound:.4f}"
    width = max(map(len, names))
    return [
        f"where {own} prefers{by}, {other} can lose {regret:.4f} of its span ({best}):",
        f"  {'':{width}}  preferred by {own:<{width}}  preferred by {other}",
        "  " + f"{'grades':<{width}}  " + "  ".join(_digits(one) for one in witness.lists),
        *(
            f"  {name:<{width}}  {worth[0]:.6g} against {worth[1]:.6g}"
            for name, worth in zip(names, values, strict=True)
        ),
    ]


def _digits(grades: Grades) -> str:
    return " ".join(str(grade) for grade in grades)


def coherence(
    a: Metric,
    b: Metric,
    grades: ArrayLike | None = None,
    margin: float = 0.0,
    *,
    time_limit: float = 60.0,
    names: tuple[str, str] = ("a", "b"),
) -> Coherence:
    """Prove that two metrics never disagree, or show the pair of rankings on which they differ most.

    Parameters
    ----------
    a, b : DCG, Utility, or array_like of shape (K, L)
        The metrics; the one with fewer positions counts nothing below them. Gains and discounts may have any sign and
        any order.
    grades : array_like of int, shape (N,), optional
        The documents that are ranked, by grade (0 = worst), at least as many as positions; without them every list of
        grades is a ranking.
    margin : float
        Only where a metric prefers by at least this share of its span (best minus worst list).
    time_limit : float
        Seconds for each of two searches by integer programming, where there are too many lists to look at.
    names : (str, str)
        What to call the metrics in print.

    Returns
    -------
    Coherence

    Raises
    ------
    InputError
        If the numbers of grades differ, the documents do not fill the positions, a metric is constant, or a setting is
        impossible.

    Notes
    -----
    Zhou et al. 2008, section 4, asks when metrics agree on all rankings. Here: ``max <W_b, y - x>`` over pairs of
    rankings with ``<W_a, x - y> >= margin``, each metric scaled to a span of 1. Metrics that differ by a factor and by
    what no comparison can see are coherent at once; up to 300,000 lists are sorted, which is exact for any margin;
    more are searched by integer programming (HiGHS), to which preferences below 2e-6 of the span are invisible, and,
    where that does not end soon, sorted after all if there are at most 20 million. A regret up to 1e-5 counts as none.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> linear, exponential = DCG.standard(5, 10, "linear"), DCG.standard(5, 10, "exponential")
    >>> found = coherence(linear, exponential, grades=[4, 4, 3, 3, 2, 2, 1, 1, 0, 0])
    >>> found.coherent, round(found.regret, 4)
    (False, 0.337)
    >>> found.witness.lists
    array([[2, 3, 3, 2, 1, 1, 4, 4, 0, 0],
           [4, 0, 0, 4, 1, 1, 3, 3, 2, 2]], dtype=int8)
    """
    tau = _checked_margin(margin)
    rankings, weights = comparable([a, b], names, grades)
    if same_but_for_the_invisible(rankings, *weights):
        none, method = Found(0.0, 0.0, None), "one is a multiple of the other, plus what no comparison sees"
        return _verdict(a, b, names, rankings, margin, [none, none], method, lambda: none)
    search, method = _first_search(rankings, weights, time_limit)
    found = [search.regret(first, 1 - first, tau) for first in (0, 1)]
    if isinstance(search, IntegerProgramme) and not _settled(found):
        search, method = _second_search(rankings, weights, time_limit)
        found = [search.regret(first, 1 - first, tau) for first in (0, 1)]
    return _verdict(a, b, names, rankings, margin, found, method, lambda: _ties(rankings, weights, search))


def _checked_margin(margin: float) -> float:
    if not (np.isfinite(margin) and 0 <= margin <= 1):
        raise InputError(f"margin={margin!r} must be a share from 0 to 1 of the span between best and worst list")
    return float(margin)


def same_but_for_the_invisible(rankings: Rankings, first: Floats, second: Floats) -> bool:
    """Say whether one metric is a positive multiple of the other plus what no comparison of these rankings sees."""
    a, b = (_visible(rankings, weights) for weights in (first, second))
    factor = float(np.vdot(a, b) / np.vdot(a, a))
    return factor > 0 and bool(np.abs(b - factor * a).max() <= 1e-12 * max(1.0, float(np.abs(second).max())))


def _visible(rankings: Rankings, weights: Floats) -> Floats:
    """Take away what every list has once: a constant a position and, where all documents are ranked, one a grade."""
    seen = weights[:, rankings.present]
    seen = seen - seen.mean(axis=1, keepdims=True)
    return seen - seen.mean(axis=0) if rankings.full else seen


def _first_search(rankings: Rankings, weights: list[Floats], time_limit: float) -> tuple[Search, str]:
    if rankings.n_lists <= FEW:
        return LookAtAll(rankings.everything(weights)), f"all {rankings.n_lists:,} lists were compared"
    seconds = min(SHORT, time_limit) if rankings.n_lists <= EXACT else time_limit
    return IntegerProgramme(rankings, weights, seconds), "integer programming (HiGHS), recomputed on the witness"


def _second_search(rankings: Rankings, weights: list[Floats], time_limit: float) -> tuple[Search, str]:
    if rankings.n_lists <= EXACT:
        return LookAtAll(rankings.everything(weights)), f"all {rankings.n_lists:,} lists were compared"
    return IntegerProgramme(rankings, weights, time_limit), "integer programming (HiGHS), stopped by its time limit"


def _settled(found: list[Found]) -> bool:
    return all(one.bound - one.regret < NEGLIGIBLE for one in found)


def _ties(rankings: Rankings, weights: list[Floats], search: Search) -> Found:
    if isinstance(search, IntegerProgramme) and rankings.n_lists <= EXACT:
        search = LookAtAll(rankings.everything(weights))
    return search.tie_regret(0, 1)


def _verdict(
    a: Metric,
    b: Metric,
    names: tuple[str, str],
    rankings: Rankings,
    margin: float,
    found: list[Found],
    method: str,
    ties: Callable[[], Found],
) -> Coherence:
    one, other = found
    coherent: bool | None = None
    if max(one.regret, other.regret) > NEGLIGIBLE:
        coherent = False
    elif max(one.bound, other.bound) <= NEGLIGIBLE:
        coherent = True
    return Coherence(
        coherent=coherent,
        regret=one.regret,
        regret_reverse=other.regret,
        bound=one.bound,
        bound_reverse=other.bound,
        witness=_witness(a, b, one),
        witness_reverse=_witness(b, a, other),
        margin=margin,
        method=method,
        rankings=rankings,
        names=names,
        _ties=ties,
    )


def _witness(first: Metric, second: Metric, found: Found) -> Witness | None:
    if found.pair is None or found.regret <= NEGLIGIBLE:
        return None
    values = [_worth(as_weights(metric, "metric"), found.pair) for metric in (first, second)]
    return Witness(found.pair, *values)


def _worth(weights: Floats, lists: Grades) -> Floats:
    ranks = np.arange(min(len(weights), lists.shape[1]))
    worth: Floats = weights[ranks, lists[:, ranks]].sum(axis=1)
    return worth


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """The largest regret by margin: how sure one metric must be before the other agrees.

    Attributes
    ----------
    margin : ndarray, shape (n,)
        Shares of the span of the metric that prefers.
    regret, regret_reverse : ndarray, shape (n,)
        Of b where a prefers by the margin, and the reverse.
    bound, bound_reverse : ndarray, shape (n,)
        What is proved.
    names : (str, str)
        What the metrics are called.
    """

    margin: Floats
    regret: Floats
    regret_reverse: Floats
    bound: Floats
    bound_reverse: Floats
    names: tuple[str, str]

    def __str__(self) -> str:
        a, b = self.names
        head = f"{'margin':>8}  {f'{b} loses':>16}  {f'{a} loses':>16}"
        rows = zip(self.margin, self.regret, self.regret_reverse, strict=True)
        return "\n".join([head, *(f"{m:>8.3f}  {r:>16.4f}  {s:>16.4f}" for m, r, s in rows)])


def regret_curve(
    a: Metric,
    b: Metric,
    grades: ArrayLike | None = None,
    margins: ArrayLike = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5),
    *,
    time_limit: float = 60.0,
    names: tuple[str, str] = ("a", "b"),
) -> RegretCurve:
    """Return the largest regret at each of several margins; for parameters and errors see `coherence`.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> linear, exponential = DCG.standard(5, 10, "linear"), DCG.standard(5, 10, "exponential")
    >>> curve = regret_curve(linear, exponential, [4, 4, 3, 3, 2, 2, 1, 1, 0, 0], margins=[0.05, 0.1, 0.2])
    >>> curve.regret.round(4)
    array([0.2804, 0.2265, 0.1328])
    """
    taus = [_checked_margin(margin) for margin in finite_array(margins, "margins", 1)]
    rankings, weights = comparable([a, b], names, grades)
    if same_but_for_the_invisible(rankings, *weights):
        zeros = np.zeros(len(taus))
        return RegretCurve(np.array(taus), zeros, zeros, zeros, zeros, names)
    search: Search = (
        LookAtAll(rankings.everything(weights))
        if rankings.n_lists <= EXACT
        else IntegerProgramme(rankings, weights, time_limit)
    )
    there, back = ([search.regret(first, 1 - first, tau) for tau in taus] for first in (0, 1))
    return RegretCurve(
        margin=np.array(taus),
        regret=np.array([one.regret for one in there]),
        regret_reverse=np.array([one.regret for one in back]),
        bound=np.array([one.bound for one in there]),
        bound_reverse=np.array([one.bound for one in back]),
        names=names,
    )
