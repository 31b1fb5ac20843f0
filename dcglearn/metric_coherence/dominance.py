"""What holds under every DCG that respects a log of preferences: which list is better; ranges of
gains and discounts.

Linear programs over the cone of metrics ``W[k, l] = sum_(j >= k, m <= l) B[m, j]`` with B >= 0.
Every DCG with increasing gains from 0 and decreasing discounts has this form, so what holds for all
such W holds for every such DCG. The value of a list is ``<B, N>``, where ``N[m, j]`` counts its
grades of at least m down to position j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from dcglearn.foundation.plain_text import number_of, one_line
from dcglearn.foundation.validation import (
    Floats,
    Grades,
    InputError,
    graded_lists,
    scale_size,
    whole_number,
)
from dcglearn.metric.dcg import DCG
from dcglearn.metric.textbook import textbook_discounts
from dcglearn.parts.telling_pairs import learnable
from dcglearn.readers.preferences import Preferences, as_preferences

SLACK = 1e-8
"""Tolerance of the linear programs, as a share of the unit of B."""

ZERO = 1e-6
"""Advantages up to this share of the span count as none."""

STARTS = ("log2", "reciprocal", "rbp0.25", "rbp0.5", "rbp0.8", "flat")
"""Discounts from which the search for a DCG in a cone of utilities starts."""

ROUNDS = 4
"""Maximum number of alternating improvements of gains and of discounts, in the search for a DCG in
a cone.
"""


def counts(lists: Grades, n_grades: int) -> Floats:
    """Return N of each list: its numbers of grades of at least m = 1..L-1 down to each position,
    (n, (L - 1) K).
    """
    at_least = [np.cumsum(lists >= m, axis=1, dtype=np.int64) for m in range(1, n_grades)]
    return np.stack(at_least, axis=1).reshape(len(lists), -1).astype(np.float64)


def span(n_grades: int, depth: int) -> Floats:
    """Return ``sum_k W[k, L-1]`` as a linear function of B, shape ((L - 1) K,)."""
    return np.tile(np.arange(1.0, depth + 1), n_grades - 1)


@dataclass(frozen=True)
class LeastCost:
    """A linear program's minimum, the flat B that reaches it, shape (p,), and its decrease per
    relaxed constraint.
    """

    value: float
    steps: Floats
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class Cone:
    """The metrics that respect a log.

    `rows`, shape (n, (L - 1) K), holds N(preferred) - N(other) of the pairs that some metric
    violates, `pairs` these pairs, and `weight`, shape (n,), their shares in the weight of all pairs
    used, which hold the share `used` of the log's weight. `advantage`, shape ((L - 1) K,), is the
    mean of N(preferred) - N(other) over all pairs used; violations are relative to ``advantage .
    B``, since a metric that ties all lists violates nothing.
    """

    rows: Floats
    weight: Floats
    advantage: Floats
    pairs: Preferences
    used: float

    @classmethod
    def of(cls, log: Preferences, max_pairs: int) -> Cone:
        """Return the cone of the heaviest `max_pairs` distinct pairs of a log; ties are left
        out.
        """
        merged = log.decided.merged()
        assert merged.weight is not None
        heaviest = merged[np.argsort(-merged.weight, kind="stable")[:max_pairs]]
        assert heaviest.weight is not None
        rows = counts(heaviest.preferred, log.n_grades) - counts(heaviest.other, log.n_grades)
        violable = np.flatnonzero((rows < 0).any(axis=1))
        share = heaviest.weight / heaviest.weight.sum()
        used = float(heaviest.weight.sum() / merged.weight.sum())
        return cls(rows[violable], share[violable], share @ rows, heaviest[violable], used)

    def restricted(self, basis: Floats) -> Cone:
        """Return the part of the cone with ``B = basis @ v``, as a cone of v >= 0."""
        return replace(self, rows=self.rows @ basis, advantage=self.advantage @ basis)

    def least_violation(self) -> float:
        """Return the least mean violation of the log, as a share of the mean advantage of preferred
        lists.
        """
        if not (self.advantage > 0).any():
            raise InputError(
                "no DCG with increasing gains and decreasing discounts prefers the preferred lists on average; "
                "are the sides, or the grades, the other way round?"
            )
        return self._solved(
            np.concatenate([np.zeros(self.rows.shape[1]), self.weight]), self.advantage, None
        ).value

    def excess(self, unit: Floats, budget: float) -> LeastCost:
        """Minimise the mean violation beyond the budget over metrics with ``unit . B = 1``."""
        return self._solved(np.concatenate([-budget * self.advantage, self.weight]), unit, None)

    def least(self, cost: Floats, unit: Floats, budget: float, slack: float = 0.0) -> LeastCost:
        """Minimise a cost over metrics with ``unit . B = 1`` and a mean violation within the budget
        plus slack.
        """
        spent = np.concatenate([-budget * self.advantage - slack * unit, self.weight])
        return self._solved(np.concatenate([cost, np.zeros(len(self.rows))]), unit, spent)

    def _solved(self, cost: Floats, unit: Floats, spent: Floats | None) -> LeastCost:
        n, p = self.rows.shape
        violation: Any = hstack([csr_array(-self.rows), -eye_array(n)]) if n else csr_array((0, p))
        upper = np.zeros(n)
        if spent is not None:
            violation, upper = vstack([violation, csr_array(spent[None])]), np.append(upper, 0.0)
        fixed = csr_array(np.concatenate([unit, np.zeros(n)])[None])
        result: Any = linprog(
            cost, A_ub=violation.tocsr(), b_ub=upper, A_eq=fixed, b_eq=[1.0], method="highs"
        )
        if result.status != 0:
            raise RuntimeError(f"the linear program was not solved ({result.message})")
        return LeastCost(
            float(result.fun), np.maximum(result.x[:p], 0.0), -result.ineqlin.marginals[:n]
        )


@dataclass(frozen=True, eq=False)
class Dominance:
    """Whether one side is better under all allowed metrics; prints as a verdict.

    `verdict` names the side ("x", "y") that is at least as good under all of them and better under
    some, or is "equal", or "open" if neither is. `low` and `high` are the least and the largest
    advantage of x over the allowed metrics, as shares of the span ``sum_k W[k, L-1]``. `deciding`
    holds the judgements that imply the verdict, the strongest first, and `multipliers`, shape (n,),
    the decrease of `low` if each were violated by 1; None without a log or if none is needed. If
    the verdict is open, x is better under the DCG `for_x` and y under `for_y`; None if none was
    found. `budget` is the allowed mean violation of the log (see `dominance`), `used` the share of
    its weight used.
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
        x, y = map(one_line, self.names)
        scope = scope_of(self.budget)
        if self.verdict == "equal":
            return f"{x} and {y} are worth the same under {scope}"
        if self.verdict == "open":
            lines = [
                f"open: {scope} allows either; {x} is ahead by {self.low:+.4f} to {self.high:+.4f} of the span"
            ]
            for name, dcg in ((x, self.for_x), (y, self.for_y)):
                lines.append(
                    f"  {name} is better under {dcg!r}"
                    if dcg
                    else f"  no DCG was found that prefers {name}"
                )
            return "\n".join(lines)
        best, other = (x, y) if self.verdict == "x" else (y, x)
        least, most = (self.low, self.high) if self.verdict == "x" else (-self.high, -self.low)
        lines = [f"{best} beats {other} under {scope}: by {least:.4f} to {most:.4f} of the span"]
        if self.deciding is not None and len(self.deciding):
            lines.append(
                f"decided by {number_of(len(self.deciding), 'judgements')}, the strongest first:"
            )
            lines += [
                f"  {preferred.tolist()} over {other.tolist()}  ({multiplier:.3g})"
                for preferred, other, multiplier in zip(
                    self.deciding.preferred[:5],
                    self.deciding.other[:5],
                    self.multipliers,
                    strict=False,
                )
            ]
        return "\n".join(lines)


def scope_of(budget: float | None) -> str:
    """Describe the DCGs that are allowed."""
    if budget is None:
        return "every DCG with increasing gains and decreasing discounts"
    return f"every DCG that respects the log (mean violation up to {budget:.3g})"


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
    """Return whether x is better than y under every DCG, or under every DCG that respects a log of
    preferences.

    A linear program over utilities ``W[k, l] = sum_(j >= k, m <= l) B[m, j]``, B >= 0, which
    contain these DCGs; without a log, the numbers of grades of at least m down to position k are
    compared, for every m and k. Raises InputError if x, y and the log have different depths, or no
    metric keeps within the budget.

    Parameters
    ----------
    x, y : array_like of int, shape (K,) or (n, K)
        Grades by position (0 = worst, -1 counts as it): a list, or all lists of a system, whose
        mean counts.
    log : Preferences, or array_like of int, shape (m, 2, K), optional
        Preferences of users; ties are left out. By default every DCG with gains rising from 0 and
        falling discounts.
    budget : float, optional
        Mean violation of the log that a metric may have, as a share of its mean advantage, ``mean
        <W, s - s'>`` over the log's pairs; by default 1.1 times the least possible. Give a larger
        one for a noisy log.
    n_grades, max_pairs : int
        L, if larger than the largest grade + 1; number of distinct pairs of the log to use, the
        heaviest first.
    names : (str, str)
        Names of x and y in print.

    See Also
    --------
    consistent_ranges : What a log determines of gains and discounts.

    Examples
    --------
    >>> dominance([2, 1, 0], [1, 2, 0]).verdict, dominance([2, 0, 0], [1, 1, 1]).verdict
    ('x', 'open')
    >>> print(dominance([2, 0, 0], [1, 1, 1], log=[[[2, 0, 0], [1, 2, 1]]]))
    x beats y under every DCG that respects the log (mean violation up to 0): by 0.0000 to 1.0000 of the span
    decided by 1 judgement, the strongest first:
      [2, 0, 0] over [1, 2, 1]  (1)
    """
    first, second = (
        np.atleast_2d(graded_lists(lists, name)) for lists, name in zip((x, y), names, strict=True)
    )
    judged = None if log is None else as_preferences(log, n_grades)
    top = max(int(first.max(initial=0)), int(second.max(initial=0)))
    size = scale_size(n_grades, max(top, 1 if judged is None else judged.n_grades - 1))
    _check_shapes(first, second, judged, names)
    gap = counts(first, size).mean(axis=0) - counts(second, size).mean(axis=0)
    return AllowedMetrics.of(judged, size, first.shape[1], budget, max_pairs).verdict(gap, names)


def _check_shapes(
    first: Grades, second: Grades, log: Preferences | None, names: tuple[str, str]
) -> None:
    depths = {names[0]: first.shape[1], names[1]: second.shape[1]} | (
        {} if log is None else {"the log": log.depth}
    )
    if len(set(depths.values())) > 1:
        positions = ", ".join(f"{name} {depth}" for name, depth in depths.items())
        raise InputError(
            f"lists of different depths cannot be compared (positions: {positions}); cut or pad them"
        )
    for name, lists in zip(names, (first, second), strict=True):
        if not len(lists):
            raise InputError(f"{name} holds no list")
    if log is not None and not log.graded:
        raise InputError(
            "a log of documents has no grades, so it says nothing about gains and discounts"
        )


@dataclass(frozen=True, eq=False)
class AllowedMetrics:
    """The metrics over which lists are compared: those in the `cone` of a log, or all if it is
    None.

    `unit`, shape (p,), is the span as a linear function of B; `budget` is the allowed mean
    violation (see `Dominance`).
    """

    cone: Cone | None
    unit: Floats
    n_grades: int
    depth: int
    budget: float | None

    @classmethod
    def of(
        cls,
        log: Preferences | None,
        n_grades: int,
        depth: int,
        budget: float | None,
        max_pairs: int,
    ) -> AllowedMetrics:
        """Return the metrics that respect a log, or all metrics without one; for errors see
        `dominance`.
        """
        unit = span(n_grades, depth)
        if log is None:
            if budget is not None:
                raise InputError("budget= is the allowed violation of a log: give log= too")
            return cls(None, unit, n_grades, depth, None)
        whole_number(max_pairs, "max_pairs", 1)
        cone = Cone.of(as_preferences(learnable(log)[0].decided, n_grades), max_pairs)
        least = cone.least_violation()
        if budget is None:
            return cls(cone, unit, n_grades, depth, 1.1 * least if least > SLACK else 0.0)
        if not np.isfinite(budget) or budget < least - SLACK:
            raise InputError(
                f"budget={budget}: every metric violates the log by at least {least:.3g} on average"
            )
        return cls(cone, unit, n_grades, depth, float(budget))

    def range(self, gap: Floats) -> tuple[float, float]:
        """Return the least and largest advantage of a difference of counts, shape (p,), over the
        allowed metrics.
        """
        if self.cone is None:
            shares = gap / self.unit
            return float(shares.min()), float(shares.max())
        return self._least(gap).value, -self._least(-gap).value

    def verdict(self, gap: Floats, names: tuple[str, str]) -> Dominance:
        """Return the verdict on a difference of counts, shape (p,)."""
        low, high = self.range(gap)
        verdict = verdict_of(low, high)
        deciding, multipliers = self._deciding({"x": gap, "y": -gap}.get(verdict))
        return Dominance(
            verdict=verdict,
            low=low,
            high=high,
            deciding=deciding,
            multipliers=multipliers,
            for_x=self._example(-gap) if verdict == "open" else None,
            for_y=self._example(gap) if verdict == "open" else None,
            budget=self.budget,
            used=1.0 if self.cone is None else self.cone.used,
            names=names,
        )

    def _least(self, cost: Floats) -> LeastCost:
        assert self.cone is not None and self.budget is not None
        return self.cone.least(cost, self.unit, self.budget)

    def _deciding(self, gap: Floats | None) -> tuple[Preferences | None, Floats]:
        """Return the judgements that imply an advantage, and their multipliers, the strongest
        first.
        """
        if self.cone is None or gap is None or (gap >= 0).all():
            return None, np.zeros(0)
        multipliers = self._least(gap).multipliers
        strongest = np.argsort(-multipliers, kind="stable")
        strongest = strongest[multipliers[strongest] > ZERO]
        return self.cone.pairs[strongest], multipliers[strongest]

    def _example(self, cost: Floats) -> DCG | None:
        """Return an allowed DCG with a negative cost, or None if the search finds none."""
        if self.cone is None:
            best = np.zeros(len(cost))
            best[int((cost / self.unit).argmin())] = 1.0
            return self._dcg(best)
        falls = [self._least(cost).steps.reshape(self.n_grades - 1, -1).sum(axis=0)]
        falls += [-np.diff(textbook_discounts(name, self.depth), append=0.0) for name in STARTS]
        return next(
            (dcg for start in falls if (dcg := self._improved(start, cost)) is not None), None
        )

    def _improved(self, falls: Floats, cost: Floats) -> DCG | None:
        """Improve gains and discounts in turn, first until the log is respected, then until the
        cost is negative.
        """
        assert self.cone is not None and self.budget is not None
        rises = np.ones(self.n_grades - 1)
        for turn in range(2 * ROUNDS):
            of_gains = turn % 2 == 0
            factors = (
                (np.eye(len(rises)), falls[:, None])
                if of_gains
                else (rises[:, None], np.eye(len(falls)))
            )
            basis: Floats = np.kron(*factors).astype(np.float64)
            part, unit = self.cone.restricted(basis), self.unit @ basis
            nearest = part.excess(unit, self.budget)
            respected = nearest.value <= SLACK
            steps = (
                part.least(cost @ basis, unit, self.budget, 2 * SLACK).steps
                if respected
                else nearest.steps
            )
            rises, falls = (steps, falls) if of_gains else (rises, steps)
            if respected and float(np.outer(rises, falls).ravel() @ cost) < -ZERO:
                return self._dcg(np.outer(rises, falls).ravel())
        return None

    def _dcg(self, steps: Floats) -> DCG:
        table = steps.reshape(self.n_grades - 1, -1)
        rises, falls = table.sum(axis=1), table.sum(axis=0)
        gains = np.concatenate([[0.0], np.cumsum(rises / rises.sum())])
        discounts = np.cumsum(falls[::-1])[::-1]
        return DCG(gains, discounts / discounts[0])


def verdict_of(low: float, high: float) -> str:
    """Return the verdict of `Dominance` on the least and the largest advantage of x, shares of the
    span.
    """
    if low >= -ZERO:
        return "x" if high > ZERO else "equal"
    return "y" if high <= ZERO else "open"


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of gains and discounts; prints as a table that names the wide ones.

    `gains`, shape (2, L), holds the least and the largest gain of each grade (worst = 0, best = 1),
    `discounts`, shape (2, K), the same of each position's discount (the first = 1). `violation` is
    the least mean violation of the log, as a share of the mean advantage of preferred lists; `used`
    is the share of the log's weight in the pairs used.
    """

    gains: Floats
    discounts: Floats
    violation: float
    used: float

    @property
    def _rows(self) -> list[tuple[str, float, float]]:
        """Name, least and largest value of every parameter."""
        gains = [
            (f"gain of grade {grade}", low, high) for grade, (low, high) in enumerate(self.gains.T)
        ]
        return gains + [
            (f"discount at {k + 1}", low, high) for k, (low, high) in enumerate(self.discounts.T)
        ]

    @property
    def open_parameters(self) -> tuple[str, ...]:
        """The parameters with a range wider than 0.5, half of the scale."""
        return tuple(name for name, low, high in self._rows if high - low > 0.5)

    def __str__(self) -> str:
        rows = [f"{name:<18}{low:8.3f} to {high:.3f}" for name, low, high in self._rows]
        wide = ", ".join(self.open_parameters)
        note = (
            f"not pinned down (wider than .5): {wide}"
            if wide
            else "all are pinned down (none is wider than .5)"
        )
        return "\n".join([*rows, note])


def consistent_ranges(
    log: Preferences | ArrayLike,
    *,
    slack: float = 0.1,
    max_pairs: int = 3000,
    n_grades: int | None = None,
) -> Ranges:
    """Return the range of every gain and discount over the DCGs that respect a log.

    Linear programs over the utilities of `dominance`, which include every DCG with increasing gains
    and decreasing discounts, so no range is too narrow. The gain of l, 0 of the worst grade, is
    ``sum_k W[k, l]`` divided by ``sum_k W[k, L-1]``, the discount at k is ``W[k, L-1]`` divided by
    ``W[0, L-1]``. Raises InputError if the log has no usable pair or no grades, or a setting is out
    of range.

    Parameters
    ----------
    log, max_pairs, n_grades
        As in `dominance`; ties are left out.
    slack : float
        A metric respects the log if its mean violation is at most (1 + slack) times the least
        possible. 0 admits only the metrics that respect the log best; a larger slack suits noisy
        logs, and widens the ranges.

    See Also
    --------
    bootstrap_bands : Bands under a model of noise.
    dominance : Which of two lists is better under all of these DCGs.

    Examples
    --------
    >>> log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 500, lists="free", seed=0)
    >>> few, many = consistent_ranges(log[:20]), consistent_ranges(log)
    >>> bool(np.ptp(many.gains, axis=0).sum() < np.ptp(few.gains, axis=0).sum())
    True
    """
    log, _ = learnable(as_preferences(log, n_grades))
    if not log.graded:
        raise InputError("a log of documents has no grades, so no gains and discounts")
    if not (np.isfinite(slack) and slack >= 0):
        raise InputError(f"slack={slack!r} must be a number of at least 0")
    whole_number(max_pairs, "max_pairs", 1)
    cone = Cone.of(log, max_pairs)
    n_gains, depth = log.n_grades - 1, log.depth
    total = span(log.n_grades, depth)  # sum_k W[k, L-1] as a function of B
    first = np.ones(n_gains * depth)  # W[0, L-1] as a function of B
    least = cone.least_violation()
    budget = (1 + slack) * least
    in_gains = [
        total * np.repeat(np.arange(n_gains) < grade, depth) for grade in range(n_gains + 1)
    ]
    in_discounts = [np.tile(np.arange(depth) >= k, n_gains).astype(float) for k in range(depth)]
    gains = [
        [s * cone.least(s * x, total, budget, SLACK).value for s in (1.0, -1.0)] for x in in_gains
    ]
    discounts = [
        [s * cone.least(s * x, first, budget, SLACK).value for s in (1.0, -1.0)]
        for x in in_discounts
    ]
    return Ranges(_clean(gains), _clean(discounts), least, cone.used)


def _clean(ends: Sequence[Sequence[float]]) -> Floats:
    return np.clip(np.array(ends, dtype=np.float64).T, 0.0, 1.0) + 0.0
