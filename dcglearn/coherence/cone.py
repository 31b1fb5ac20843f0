"""Dominance under every DCG that respects a log: better lists, ranges of gains and discounts.

Linear programs over the cone of metrics ``W[k, l] = sum_(j >= k, m <= l) B[m, j]`` with B >= 0.
Every DCG with increasing gains from 0 and decreasing discounts has this form, so what holds for all
such W holds for every such DCG. The value of a list is ``<B, N>``, where ``N[m, j]`` counts its
grades of at least m down to position j.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import (
    Fields,
    Floats,
    Grades,
    InputError,
    PolarsFrame,
    graded_lists,
    scale_size,
    whole_number,
    within,
)
from dcglearn.metrics.dcg import DCG, as_curves, parameter_names
from dcglearn.metrics.textbook import textbook_discounts
from dcglearn.parts.usable_pairs import learnable
from dcglearn.readers.preferences import Preferences, as_preferences

SLACK = 1e-8
"""Tolerance of the linear programs, as a share of the unit of B."""

ZERO = 1e-6
"""Advantages up to this share of the range count as none."""


def counts(lists: Grades, n_grades: int) -> Floats:
    """Return N of each list: how many grades of at least m = 1..L-1 it has down to each position.

    The shape is (n, (L - 1) K).
    """
    at_least = [np.cumsum(lists >= m, axis=1, dtype=np.int64) for m in range(1, n_grades)]
    return np.stack(at_least, axis=1).reshape(len(lists), -1).astype(np.float64)


def span(n_grades: int, depth: int) -> Floats:
    """Return ``sum_k W[k, L-1]`` as a linear function of B, shape ((L - 1) K,)."""
    return np.tile(np.arange(1.0, depth + 1), n_grades - 1)


@dataclass(frozen=True)
class LeastCost:
    """A linear program's minimum, the B of shape (p,) that reaches it, and its multipliers.

    A multiplier is the decrease of the minimum per unit by which a constraint is relaxed.
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
    B``, since a metric that ties all lists violates nothing; `budget` is the mean violation that a
    metric may have.
    """

    rows: Floats
    weight: Floats
    advantage: Floats
    pairs: Preferences
    used: float
    budget: float = 0.0

    @classmethod
    def of(cls, log: Preferences, max_pairs: int) -> Cone:
        """Return the cone of the heaviest `max_pairs` distinct pairs of a log, without ties."""
        merged = log.decided.merged()
        assert merged.weight is not None
        order = np.argsort(-merged.weight, kind="stable")[:max_pairs]
        heaviest, weight = merged[order], merged.weight[order]

        # pairs that a metric can violate
        rows = counts(heaviest.preferred, log.n_grades) - counts(heaviest.other, log.n_grades)
        violable = np.flatnonzero((rows < 0).any(axis=1))
        share = weight / weight.sum()
        used = float(weight.sum() / merged.weight.sum())
        return cls(rows[violable], share[violable], share @ rows, heaviest[violable], used)

    def least_violation(self) -> float:
        """Return the least mean violation of the log, as a share of the mean advantage."""
        if not (self.advantage > 0).any():
            raise InputError(
                "no DCG with increasing gains and decreasing discounts prefers the preferred lists "
                "on average; are the sides, or the grades, the other way round?"
            )
        return self.excess(self.advantage).value

    def excess(self, unit: Floats) -> LeastCost:
        """Minimise the mean violation beyond the budget over metrics with ``unit . B = 1``."""
        cost = np.concatenate([-self.budget * self.advantage, self.weight])
        return self._solved(cost, unit, None)

    def least(self, cost: Floats, unit: Floats, slack: float = 0.0) -> LeastCost:
        """Minimise a cost with ``unit . B = 1`` and a mean violation within budget plus slack."""
        spent = np.concatenate([-self.budget * self.advantage - slack * unit, self.weight])
        return self._solved(np.concatenate([cost, np.zeros(len(self.rows))]), unit, spent)

    def range(self, value: Floats, unit: Floats, slack: float = 0.0) -> tuple[float, float]:
        """Return the least and largest of a linear function of B, over the metrics of `least`."""
        low, high = (sign * self.least(sign * value, unit, slack).value for sign in (1, -1))
        return low, high

    def _solved(self, cost: Floats, unit: Floats, spent: Floats | None) -> LeastCost:
        n, p = self.rows.shape

        # violations of pairs, within the budget
        violation = hstack([csr_array(-self.rows), -eye_array(n)]) if n else csr_array((0, p))
        if spent is not None:
            violation = vstack([violation, csr_array(spent[None])])

        # metrics of unit size
        fixed = csr_array(np.concatenate([unit, np.zeros(n)])[None])
        upper = np.zeros(violation.shape[0])
        limits = {"A_ub": violation.tocsr(), "b_ub": upper, "A_eq": fixed, "b_eq": [1.0]}
        result = linprog(cost, **limits, method="highs")
        if result.status != 0:
            raise RuntimeError(f"the linear program was not solved ({result.message})")
        steps = np.maximum(result.x[:p], 0.0)
        return LeastCost(float(result.fun), steps, -result.ineqlin.marginals[:n])


@dataclass(frozen=True, eq=False)
class Dominance(Finding):
    """Whether one side is better under all allowed metrics.

    `verdict` names the side ("x", "y") that is at least as good under all of them and better under
    some, or is "equal", or "open" if neither is. `low` and `high` are the least and the largest
    advantage of x over the allowed metrics, as shares of the range ``sum_k W[k, L-1]``. `deciding`
    holds the judgements that imply the verdict, the strongest first, and `multipliers`, shape (n,),
    the decrease of `low` if each were violated by 1; None without a log or if none is needed. If
    the verdict is open, x is better under the DCG `for_x` and y under `for_y`; None if none was
    found. `budget` is the allowed mean violation of the log (see `dominance`), `used` the share of
    its weight used.
    """

    verdict: str
    low: float
    high: float
    deciding: Preferences | None = field(repr=False)
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

    @property
    def sentence(self) -> str:
        """Which side is better, by how much, and under which metrics."""
        (best, other), least, most = self.names, self.low, self.high
        if self.verdict == "y":
            best, other, least, most = other, best, -most, -least
        scope = scope_of(self.budget)
        if self.verdict == "equal":
            return f"{scope} gives {best} and {other} the same value"

        # by how much one side is ahead, or may be
        lead = f"by {least:.4f} to {most:.4f} of the metric's range (best minus worst list)"
        if self.verdict == "open":
            return (
                f"the metric decides whether {best} or {other} is better: under {scope}, {best} "
                f"leads {lead}"
            )
        return f"under {scope}, {best} beats {other} {lead}"

    @property
    def table(self) -> PolarsFrame:
        """The judgements that decide, the strongest first; or a DCG for which each is better."""
        # an open verdict
        if self.deciding is None:
            return table_of(
                {"better": name, "gains": _numbers(dcg.gains), "discounts": _numbers(dcg.discounts)}
                for name, dcg in self._examples.items()
            )

        # a verdict of the log
        rows = zip(self.deciding.preferred, self.deciding.other, self.multipliers, strict=True)
        return table_of(
            {"preferred": _numbers(best), "other": _numbers(worse), "strength": strength}
            for best, worse, strength in rows
        )

    @property
    def _examples(self) -> dict[str, DCG]:
        """The DCGs of an open verdict by what is better under them."""
        pairs = zip(self.names, (self.for_x, self.for_y), strict=True)
        return {name: dcg for name, dcg in pairs if dcg is not None}

    @property
    def pictures(self) -> list[Fields]:
        """The DCGs of an open verdict, or the judgement that decides most."""
        if self._examples:
            return as_curves({f"{name} is better": dcg for name, dcg in self._examples.items()})
        if self.deciding is None or not len(self.deciding):
            return []
        lists = self.deciding.preferred[0].tolist(), self.deciding.other[0].tolist()
        rows = list(zip(("preferred", "other"), lists, strict=True))
        title, n_grades = "the strongest judgement", self.deciding.n_grades
        return [{"title": title, "lists": rows, "n_grades": n_grades}]

    @property
    def notes(self) -> list[str]:
        """What the rows are, and of how much of a log the verdict is."""
        notes = []
        if self.verdict == "open":
            missing = (name for name in self.names if name not in self._examples)
            notes += [f"no DCG was found that prefers {name}" for name in missing]
        if self.deciding is not None and len(self.deciding):
            n = number_of(len(self.deciding), "judgements")
            notes.append(f"decided by {n}; strength: what the lead loses if one is violated by 1")
        return notes + _of_weight(self.used)


def _of_weight(used: float) -> list[str]:
    """Return a note on the pairs of a log that are used, unless these are all."""
    share = f"the pairs used hold {used:.1%} of the weight of the log"
    return [] if used >= 0.9995 else [share]


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.4g}" for value in values)


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
    """Return whether x is better than y under every DCG, or under every DCG that respects a log.

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
    coherence.consistent_ranges : What a log determines of gains and discounts.

    Examples
    --------
    >>> dominance([2, 1, 0], [1, 2, 0]).verdict, dominance([2, 0, 0], [1, 1, 1]).verdict
    ('x', 'open')
    >>> print(dominance([2, 0, 0], [1, 1, 1], log=[[[2, 0, 0], [1, 2, 1]]]).sentence)
    under every DCG that respects the log (mean violation up to 0), x beats y by 0.0000 to 1.0000 of
    the metric's range (best minus worst list)
    """
    first, second = (np.atleast_2d(graded_lists(*side)) for side in zip((x, y), names, strict=True))
    judged = None if log is None else as_preferences(log, n_grades)
    _check_lists(dict(zip(names, (first, second), strict=True)), judged)

    # the scale of all lists
    tops = [int(lists.max(initial=1)) for lists in (first, second)]
    if judged is not None:
        tops.append(judged.n_grades - 1)
    size = scale_size(n_grades, max(tops))

    gap = counts(first, size).mean(axis=0) - counts(second, size).mean(axis=0)
    return AllowedMetrics.of(judged, size, first.shape[1], budget, max_pairs).verdict(gap, names)


def _check_lists(sides: dict[str, Grades], log: Preferences | None) -> None:
    """Raise InputError unless both sides hold lists, and all are as deep as the log."""
    depths = {name: lists.shape[1] for name, lists in sides.items()}
    if log is not None:
        depths["the log"] = log.depth
    if len(set(depths.values())) > 1:
        positions = ", ".join(f"{name} {depth}" for name, depth in depths.items())
        raise InputError(
            f"lists of different depths cannot be compared (positions: {positions}); cut or pad "
            "them"
        )

    # nothing to compare, or no grades
    for name, lists in sides.items():
        if not len(lists):
            raise InputError(f"{name} holds no list")
    if log is not None and not log.graded:
        raise InputError(
            "a log of documents has no grades, so it says nothing about gains and discounts"
        )


@dataclass(frozen=True, eq=False)
class AllowedMetrics:
    """The metrics over which lists are compared: the `cone` of a log, or all metrics if None.

    `unit`, shape (p,), is the span as a linear function of B.
    """

    cone: Cone | None
    unit: Floats
    n_grades: int
    depth: int

    @property
    def budget(self) -> float | None:
        """The allowed mean violation of the log; None without one."""
        return None if self.cone is None else self.cone.budget

    @classmethod
    def of(
        cls,
        log: Preferences | None,
        n_grades: int,
        depth: int,
        budget: float | None,
        max_pairs: int,
    ) -> AllowedMetrics:
        """Return the metrics that respect a log, or all without one; for errors see `dominance`."""
        unit = span(n_grades, depth)
        if log is None:
            if budget is not None:
                raise InputError("budget= is the allowed violation of a log: give log= too")
            return cls(None, unit, n_grades, depth)

        # the least violation that any metric has
        whole_number(max_pairs, "max_pairs", 1)
        cone = Cone.of(as_preferences(learnable(log)[0].decided, n_grades), max_pairs)
        least = cone.least_violation()
        if budget is None:
            budget = 1.1 * least if least > SLACK else 0.0
        elif not np.isfinite(budget) or budget < least - SLACK:
            raise InputError(
                f"budget={budget}: every metric violates the log by at least {least:.3g} on average"
            )
        return cls(replace(cone, budget=float(budget)), unit, n_grades, depth)

    def range(self, gap: Floats) -> tuple[float, float]:
        """Return the least and the largest advantage of a difference of counts, shape (p,)."""
        if self.cone is None:
            shares = gap / self.unit
            return float(shares.min()), float(shares.max())
        return self.cone.range(gap, self.unit)

    def verdict(self, gap: Floats, names: tuple[str, str]) -> Dominance:
        """Return the verdict on a difference of counts, shape (p,)."""
        low, high = self.range(gap)
        verdict = verdict_of(low, high)

        # what decides it, or examples of either
        deciding, multipliers = self._deciding({"x": gap, "y": -gap}.get(verdict))
        for_x = for_y = None
        if verdict == "open":
            for_x, for_y = self._example(-gap), self._example(gap)
        used = 1.0 if self.cone is None else self.cone.used
        return Dominance(
            verdict, low, high, deciding, multipliers, for_x, for_y, self.budget, used, names
        )

    def _least(self, cost: Floats) -> LeastCost:
        assert self.cone is not None
        return self.cone.least(cost, self.unit)

    def _deciding(self, gap: Floats | None) -> tuple[Preferences | None, Floats]:
        """Return the judgements that imply an advantage, strongest first, and their multipliers."""
        if self.cone is None or gap is None or (gap >= 0).all():
            return None, np.zeros(0)
        multipliers = self._least(gap).multipliers
        strongest = np.argsort(-multipliers, kind="stable")
        strongest = strongest[multipliers[strongest] > ZERO]
        return self.cone.pairs[strongest], multipliers[strongest]

    def _example(self, cost: Floats) -> DCG | None:
        """Return an allowed DCG with a negative cost, or None if the search finds none."""
        if self.cone is None:
            return self._dcg(np.eye(len(cost))[(cost / self.unit).argmin()])

        # start from the best utility, then from textbook discounts
        starts = [self._least(cost).steps.reshape(self.n_grades - 1, -1).sum(axis=0)]
        for name in ("log2", "reciprocal", "rbp0.25", "rbp0.5", "rbp0.8", "flat"):
            starts.append(-np.diff(textbook_discounts(name, self.depth), append=0.0))
        improved = (self._improved(falls, cost) for falls in starts)
        return next((dcg for dcg in improved if dcg is not None), None)

    def _improved(self, falls: Floats, cost: Floats) -> DCG | None:
        """Improve gains and discounts in turn, four times each, until the cost is negative.

        The log comes first: while it is violated beyond the budget, the violation is minimised.
        """
        assert self.cone is not None
        rises = np.ones(self.n_grades - 1)
        for turn in range(8):
            # the cone of the DCGs with these discounts, or these gains
            of_gains = turn % 2 == 0
            factors = rises[:, None], np.eye(len(falls))
            if of_gains:
                factors = np.eye(len(rises)), falls[:, None]
            basis = np.kron(*factors).astype(np.float64)

            # as a cone of v >= 0, with B = basis @ v
            rows, advantage = self.cone.rows @ basis, self.cone.advantage @ basis
            part, unit = replace(self.cone, rows=rows, advantage=advantage), self.unit @ basis

            # respect the log, then lower the cost
            nearest = part.excess(unit)
            respected, steps = nearest.value <= SLACK, nearest.steps
            if respected:
                steps = part.least(cost @ basis, unit, 2 * SLACK).steps
            if of_gains:
                rises = steps
            else:
                falls = steps

            table = np.outer(rises, falls).ravel()
            if respected and float(table @ cost) < -ZERO:
                return self._dcg(table)
        return None

    def _dcg(self, steps: Floats) -> DCG:
        # sums of rises and falls, scaled to a top gain and a first discount of 1
        table = steps.reshape(self.n_grades - 1, -1)
        rises, falls = table.sum(axis=1), table.sum(axis=0)
        gains = np.concatenate([[0.0], np.cumsum(rises / rises.sum())])
        discounts = np.cumsum(falls[::-1])[::-1]
        return DCG(gains, discounts / discounts[0])


def verdict_of(low: float, high: float) -> str:
    """Return the verdict of `Dominance` on the least and the largest advantage of x."""
    if low >= -ZERO:
        return "x" if high > ZERO else "equal"
    return "y" if high <= ZERO else "open"


@dataclass(frozen=True, eq=False)
class Ranges(Finding):
    """Ranges of gains and discounts over the DCGs that respect a log.

    `gains`, shape (2, L), holds the least and the largest gain of each grade (worst = 0, best = 1),
    `discounts`, shape (2, K), the same of each position's discount (the first = 1). `violation` is
    the least mean violation of the log, as a share of the mean advantage of preferred lists; `used`
    is the share of the log's weight in the pairs used, and `grade_names` are those of the log.
    """

    gains: Floats
    discounts: Floats
    violation: float
    used: float
    grade_names: tuple[str, ...] | None = None

    _formats: ClassVar = {"low": ".3f"}
    _labels: ClassVar = {"low": "range"}

    @property
    def table(self) -> PolarsFrame:
        """Least and largest value of every parameter."""
        names = parameter_names(self.gains.shape[1], self.discounts.shape[1], self.grade_names)
        low, high = np.hstack([self.gains, self.discounts])
        return table_of({"parameter": names, "low": low, "high": high})

    @property
    def open_parameters(self) -> tuple[str, ...]:
        """The parameters with a range wider than 0.5, half of the scale."""
        return tuple(name for name, low, high in self.table.rows() if high - low > 0.5)

    @property
    def sentence(self) -> str:
        """How many gains and discounts the log pins down."""
        # the worst gain, the best one and the first discount are the scale
        total = self.gains.shape[1] + self.discounts.shape[1] - 3
        if not self.open_parameters:
            return f"the log pins down all {total} gains and discounts (no range is wider than .5)"
        return (
            f"the log does not pin down {len(self.open_parameters)} of {total} gains and discounts "
            "(ranges wider than .5)"
        )

    @property
    def pictures(self) -> list[Fields]:
        """The ranges of gains and of discounts."""
        ends = zip(self.gains, self.discounts, strict=True)
        least, largest = (DCG(*end, self.grade_names) for end in ends)
        return as_curves({"largest": largest, "least": least})

    @property
    def notes(self) -> list[str]:
        """What is open, and which DCGs respect the log."""
        notes = []
        if self.open_parameters:
            notes.append(f"not pinned down: {', '.join(self.open_parameters)}")
        notes.append(
            "gains are 0 for the worst grade and 1 for the best one, the discount at 1 is 1; the "
            f"DCG that follows the log best has a mean violation of {self.violation:.3g}"
        )
        return notes + _of_weight(self.used)


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
    bands : Bands under a model of noise.
    coherence.dominance : Which of two lists is better under all of these DCGs.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 500, lists="free", random_state=0)
    >>> few, many = consistent_ranges(log[:20]), consistent_ranges(log)
    >>> bool(np.ptp(many.gains, axis=0).sum() < np.ptp(few.gains, axis=0).sum())
    True
    """
    log, _ = learnable(as_preferences(log, n_grades))
    if not log.graded:
        raise InputError("a log of documents has no grades, so no gains and discounts")
    within(slack, "slack")
    whole_number(max_pairs, "max_pairs", 1)
    cone = Cone.of(log, max_pairs)
    least = cone.least_violation()
    cone = replace(cone, budget=(1 + slack) * least)
    n_gains, depth = log.n_grades - 1, log.depth

    # gains, sum_k W[k, l] over sum_k W[k, L-1], as functions of B
    total, first = span(log.n_grades, depth), np.ones(n_gains * depth)
    below = np.tri(log.n_grades, n_gains, -1)
    ratios = [(total * np.repeat(rises, depth), total) for rises in below]

    # discounts, W[k, L-1] over W[0, L-1]
    ratios += [(np.tile(falls, n_gains), first) for falls in np.tri(depth).T]

    ends = np.array([cone.range(*ratio, SLACK) for ratio in ratios]).T
    ends = np.clip(ends, 0.0, 1.0) + 0.0
    gains, discounts = np.split(ends, [log.n_grades], axis=1)
    return Ranges(gains, discounts, least, cone.used, log.grade_names)
