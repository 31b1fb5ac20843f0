"""Whether a ranking, or system, is better than another under every metric that users' preferences allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError, graded_lists, scale_size, whole_number
from dcglearn.logs.open_log import without_equal_lists
from dcglearn.logs.preferences import Preferences, as_preferences
from dcglearn.metric.dcg import DCG
from dcglearn.metric.textbook import textbook_discounts
from dcglearn.metric_coherence.cone import SLACK, Cone, counts, span

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.metric_coherence.cone import Solution


ZERO = 1e-6
"""Differences up to this share of the span are none."""

STARTS = ("log2", "reciprocal", "rbp0.25", "rbp0.5", "rbp0.8", "flat")
"""Discounts from which a DCG in a cone of utilities is looked for."""

ROUNDS = 4
"""How often gains and discounts are improved in turn, to find a DCG in a cone of utilities."""


@dataclass(frozen=True, eq=False)
class Dominance:
    """Whether one side is better under all metrics that are allowed; prints as a verdict.

    Attributes
    ----------
    verdict : {"x", "y", "equal", "open"}
        Which side is at least as good under all of them, and better under some.
    low, high : float
        Least and largest advantage of x over the metrics allowed, in shares of the span ``sum_k W[k, L-1]``.
    deciding : Preferences or None
        The judgements that force the verdict, the strongest first; None where no log was given or none is needed.
    multipliers : ndarray, shape (n,)
        How strongly each of them does: what `low` would lose if it were violated by 1.
    for_x, for_y : DCG or None
        Where the verdict is open, a DCG under which x is better and one under which y is; None where none was found.
    budget : float or None
        Mean violation of the log that was allowed, as a share of the mean advantage of preferred lists; None without
        a log.
    used : float
        Share of the log's weight that was looked at.
    names : (str, str)
        What x and y are called.
    """

    verdict: str
    low: float
    high: float
    deciding: Preferences | None
    multipliers: Floats
    for_x: DCG | None
    for_y: DCG | None
    budget: float | None
    used: float
    names: tuple[str, str]

    @property
    def decided(self) -> bool:
        """Whether all metrics agree."""
        return self.verdict != "open"

    def __str__(self) -> str:
        x, y = self.names
        scope = scope_of(self.budget)
        if self.verdict == "equal":
            return f"{x} and {y} are worth the same under {scope}"
        if self.verdict == "open":
            lines = [f"open: {scope} allows either; {x} is ahead by {self.low:+.4f} to {self.high:+.4f} of the span"]
            for name, dcg in ((x, self.for_x), (y, self.for_y)):
                lines.append(f"  {name} is better under {dcg!r}" if dcg else f"  no DCG was found that prefers {name}")
            return "\n".join(lines)
        best, other = (x, y) if self.verdict == "x" else (y, x)
        least, most = (self.low, self.high) if self.verdict == "x" else (-self.high, -self.low)
        lines = [f"{best} beats {other} under {scope}: by {least:.4f} to {most:.4f} of the span"]
        if self.deciding is not None and len(self.deciding):
            lines.append(f"decided by {len(self.deciding)} judgements, the strongest first:")
            lines += [
                f"  {pair.preferred[0].tolist()} over {pair.other[0].tolist()}  ({multiplier:.3g})"
                for pair, multiplier in zip(_one_by_one(self.deciding[:5]), self.multipliers, strict=False)
            ]
        return "\n".join(lines)


def scope_of(budget: float | None) -> str:
    """Say in words which DCGs are allowed."""
    if budget is None:
        return "every DCG with increasing gains and decreasing discounts"
    return f"every DCG that respects the log (mean violation up to {budget:.3g})"


def _one_by_one(pairs: Preferences) -> list[Preferences]:
    return [pairs[i : i + 1] for i in range(len(pairs))]


def dominance(
    x: ArrayLike,
    y: ArrayLike,
    log: Preferences | ArrayLike | None = None,
    budget: float | None = None,
    *,
    n_grades: int | None = None,
    max_pairs: int = 3000,
    names: tuple[str, str] = ("x", "y"),
) -> Dominance:
    """Say whether x is better than y under every DCG, or under every DCG that respects a log of preferences.

    Parameters
    ----------
    x, y : array_like of int, shape (K,) or (n, K)
        Grades by position (0 = worst, -1 = unknown, worth as little as the worst): a list, or a system's lists, of
        which the mean counts.
    log : Preferences, or array_like of int, shape (m, 2, K), optional
        What people preferred; ties are left out. Without it every DCG with increasing gains (worst 0) and decreasing
        discounts is allowed.
    budget : float, optional
        Mean violation of the log that a metric may have, as a share of its mean advantage, ``mean <W, s - s'>`` over
        the log's pairs; by default 1.1 times the least possible, which is 0 for a log without contradictions.
    n_grades : int, optional
        L where it is larger than seen.
    max_pairs : int
        The heaviest distinct pairs of the log are looked at, so many at most.
    names : (str, str)
        What to call the two in print.

    Returns
    -------
    Dominance

    Raises
    ------
    InputError
        If x and y are not lists of one depth, the log is of another, or no metric keeps within the budget.

    Notes
    -----
    A linear program over utilities ``W[k, l] = sum_(j >= k, m <= l) B[m, j]``, B >= 0, of which increasing and
    decreasing DCGs are a part: a verdict holds for all of these. Without a log x's counts are compared with y's: of
    grades of at least m, down to position k, for every m and k.

    Examples
    --------
    >>> dominance([2, 1, 0], [1, 2, 0]).verdict
    'x'
    >>> dominance([2, 0, 0], [1, 1, 1]).verdict
    'open'
    >>> print(dominance([2, 0, 0], [1, 1, 1], log=[[[2, 0, 0], [1, 2, 1]]]))
    x beats y under every DCG that respects the log (mean violation up to 0): by 0.0000 to 1.0000 of the span
    decided by 1 judgements, the strongest first:
      [2, 0, 0] over [1, 2, 1]  (1)
    """
    first, second = (np.atleast_2d(graded_lists(lists, name)) for lists, name in zip((x, y), names, strict=True))
    judged = None if log is None else as_preferences(log, n_grades)
    top = max(int(first.max(initial=0)), int(second.max(initial=0)))
    size = scale_size(n_grades, max(top, 1 if judged is None else judged.n_grades - 1))
    _check_shapes(first, second, judged, names)
    gap = counts(first, size).mean(axis=0) - counts(second, size).mean(axis=0)
    return Allowed.by(judged, size, first.shape[1], budget, max_pairs).verdict(gap, names)


def _check_shapes(first: Grades, second: Grades, log: Preferences | None, names: tuple[str, str]) -> None:
    depths = {names[0]: first.shape[1], names[1]: second.shape[1]} | ({} if log is None else {"the log": log.depth})
    if len(set(depths.values())) > 1:
        told = ", ".join(f"{name} {depth}" for name, depth in depths.items())
        raise InputError(f"lists of different depths cannot be compared (positions: {told}); cut or pad them")
    for name, lists in zip(names, (first, second), strict=True):
        if not len(lists):
            raise InputError(f"{name} holds no list")
    if log is not None and not log.graded:
        raise InputError("a log of documents has no grades, so it says nothing about gains and discounts")


@dataclass(frozen=True, eq=False)
class Allowed:
    """The metrics that are allowed, ready for many comparisons.

    Attributes
    ----------
    cone : Cone or None
        Those that respect a log; None: all.
    unit : ndarray, shape (p,)
        The span as a function of B.
    n_grades, depth : int
        L and K.
    budget : float or None
        Mean violation allowed, a share of the mean advantage.
    """

    cone: Cone | None
    unit: Floats
    n_grades: int
    depth: int
    budget: float | None

    @classmethod
    def by(cls, log: Preferences | None, n_grades: int, depth: int, budget: float | None, max_pairs: int) -> Allowed:
        """Return the metrics that respect a log (all, without one); for errors see `dominance`."""
        unit = span(n_grades, depth)
        if log is None:
            if budget is not None:
                raise InputError("budget= is what a log may be violated by: give log= too")
            return cls(None, unit, n_grades, depth, None)
        whole_number(max_pairs, "max_pairs", 1)
        cone = Cone.of(_on_scale(without_equal_lists(log)[0].decided, n_grades), max_pairs)
        least = cone.least_violation()
        allowed = (1.1 * least if least > SLACK else 0.0) if budget is None else float(budget)
        if not np.isfinite(allowed) or allowed < least - SLACK:
            raise InputError(f"budget={budget}: every metric violates the log by at least {least:.3g} on average")
        return cls(cone, unit, n_grades, depth, allowed)

    def range(self, gap: Floats) -> tuple[float, float]:
        """Return least and largest advantage of a difference of counts, shape (p,), over all metrics allowed."""
        if self.cone is None:
            shares = gap / self.unit
            return float(shares.min()), float(shares.max())
        return self._least(gap).value, -self._least(-gap).value

    def verdict(self, gap: Floats, names: tuple[str, str]) -> Dominance:
        """Return the verdict on a difference of counts, shape (p,)."""
        low, high = self.range(gap)
        word = _word(low, high)
        deciding, multipliers = self._deciding(gap if word == "x" else -gap) if word in ("x", "y") else (None, _NONE)
        return Dominance(
            verdict=word,
            low=low,
            high=high,
            deciding=deciding,
            multipliers=multipliers,
            for_x=self._example(-gap) if word == "open" else None,
            for_y=self._example(gap) if word == "open" else None,
            budget=self.budget,
            used=1.0 if self.cone is None else self.cone.used,
            names=names,
        )

    def _least(self, cost: Floats) -> Solution:
        assert self.cone is not None and self.budget is not None
        return self.cone.least(cost, self.unit, self.budget)

    def _deciding(self, gap: Floats) -> tuple[Preferences | None, Floats]:
        if self.cone is None or (gap >= 0).all():
            return None, _NONE
        multipliers = self._least(gap).multipliers
        strong = np.argsort(-multipliers, kind="stable")
        strong = strong[multipliers[strong] > ZERO]
        return self.cone.pairs[strong], multipliers[strong]

    def _example(self, cost: Floats) -> DCG | None:
        """Return a DCG with a cost below 0."""
        if self.cone is None:
            best = np.zeros(len(cost))
            best[int((cost / self.unit).argmin())] = 1.0
            return self._dcg(best)
        falls = [self._least(cost).steps.reshape(self.n_grades - 1, -1).sum(axis=0)]
        falls += [-np.diff(textbook_discounts(name, self.depth), append=0.0) for name in STARTS]
        return next((found for start in falls if (found := self._improved(start, cost)) is not None), None)

    def _improved(self, falls: Floats, cost: Floats) -> DCG | None:
        """Improve gains and discounts in turn: first until the log is respected, then until the cost is below 0."""
        assert self.cone is not None and self.budget is not None
        rises = np.ones(self.n_grades - 1)
        for turn in range(2 * ROUNDS):
            ahead = turn % 2 == 0
            fixed = (np.eye(len(rises)), falls[:, None]) if ahead else (rises[:, None], np.eye(len(falls)))
            basis: Floats = np.kron(*fixed).astype(np.float64)
            part, unit = self.cone.seen_through(basis), self.unit @ basis
            nearest = part.excess(unit, self.budget)
            respected = nearest.value <= SLACK
            values = part.least(cost @ basis, unit, self.budget, 2 * SLACK).steps if respected else nearest.steps
            rises, falls = (values, falls) if ahead else (rises, values)
            if respected and float(np.outer(rises, falls).ravel() @ cost) < -ZERO:
                return self._dcg(np.outer(rises, falls).ravel())
        return None

    def _dcg(self, steps: Floats) -> DCG:
        table = steps.reshape(self.n_grades - 1, -1)
        rises, falls = table.sum(axis=1), table.sum(axis=0)
        gains = np.concatenate([[0.0], np.cumsum(rises / rises.sum())])
        discounts = np.cumsum(falls[::-1])[::-1]
        return DCG(gains, discounts / discounts[0])


_NONE = np.zeros(0)


def _word(low: float, high: float) -> str:
    if low >= -ZERO:
        return "x" if high > ZERO else "equal"
    return "y" if high <= ZERO else "open"


def _on_scale(log: Preferences, n_grades: int) -> Preferences:
    return log if log.n_grades == n_grades else Preferences(log.preferred, log.other, n_grades, weight=log.weight)
