"""Linear programs over the cone of metrics with increasing gains and decreasing discounts that respect a log.

``W[k, l] = sum_(j >= k, m <= l) B[m, j]`` with B >= 0. Every DCG with increasing gains from 0 and decreasing discounts
has this form, so what holds for all such W holds for every such DCG. The value of a list is ``<B, N>``, where
``N[m, j]`` counts its grades of at least m down to position j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.readers.preferences import Preferences


SLACK = 1e-8
"""Tolerance of the linear programs, as a share of the unit of B."""


def counts(lists: Grades, n_grades: int) -> Floats:
    """Return N of each list: its numbers of grades of at least m = 1..L-1 down to each position, (n, (L - 1) K)."""
    at_least = [np.cumsum(lists >= m, axis=1, dtype=np.int64) for m in range(1, n_grades)]
    return np.stack(at_least, axis=1).reshape(len(lists), -1).astype(np.float64)


def span(n_grades: int, depth: int) -> Floats:
    """Return ``sum_k W[k, L-1]`` as a linear function of B, shape ((L - 1) K,)."""
    return np.tile(np.arange(1.0, depth + 1), n_grades - 1)


@dataclass(frozen=True)
class Solution:
    """A solved linear program: its minimum, the flat B that reaches it (`steps`, shape (p,)), and multipliers.

    `multipliers`, shape (n,), holds the decrease of the minimum if a pair's constraint were relaxed by 1.
    """

    value: float
    steps: Floats
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class Cone:
    """The metrics that respect a log.

    `rows`, shape (n, (L - 1) K), holds N(preferred) - N(other) of the pairs that some metric violates, `pairs` these
    pairs, and `weight`, shape (n,), their shares in the weight of all pairs used, which hold the share `used` of the
    log's weight. `advantage`, shape ((L - 1) K,), is the mean of N(preferred) - N(other) over all pairs used.
    Violations are relative to ``advantage . B``, since a metric that ties all lists of the log violates nothing.
    """

    rows: Floats
    weight: Floats
    advantage: Floats
    pairs: Preferences
    used: float

    @classmethod
    def of(cls, log: Preferences, max_pairs: int) -> Cone:
        """Return the cone of the heaviest `max_pairs` distinct pairs of a log; ties are left out."""
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
        """Return the least mean violation of the log, as a share of the mean advantage of preferred lists."""
        if not (self.advantage > 0).any():
            raise InputError(
                "no DCG with increasing gains and decreasing discounts prefers the preferred lists on average; "
                "are the sides, or the grades, the other way round?"
            )
        return self._solved(np.concatenate([np.zeros(self.rows.shape[1]), self.weight]), self.advantage, None).value

    def excess(self, unit: Floats, budget: float) -> Solution:
        """Minimise the mean violation beyond the budget over metrics with ``unit . B = 1``."""
        return self._solved(np.concatenate([-budget * self.advantage, self.weight]), unit, None)

    def least(self, cost: Floats, unit: Floats, budget: float, slack: float = 0.0) -> Solution:
        """Minimise a cost over metrics with ``unit . B = 1`` and a mean violation within the budget plus slack."""
        spent = np.concatenate([-budget * self.advantage - slack * unit, self.weight])
        return self._solved(np.concatenate([cost, np.zeros(len(self.rows))]), unit, spent)

    def _solved(self, cost: Floats, unit: Floats, spent: Floats | None) -> Solution:
        n, p = self.rows.shape
        violation: Any = hstack([csr_array(-self.rows), -eye_array(n)]) if n else csr_array((0, p))
        upper = np.zeros(n)
        if spent is not None:
            violation, upper = vstack([violation, csr_array(spent[None])]), np.append(upper, 0.0)
        fixed = csr_array(np.concatenate([unit, np.zeros(n)])[None])
        result: Any = linprog(cost, A_ub=violation.tocsr(), b_ub=upper, A_eq=fixed, b_eq=[1.0], method="highs")
        if result.status != 0:
            raise RuntimeError(f"the linear program was not solved ({result.message})")
        return Solution(float(result.fun), np.maximum(result.x[:p], 0.0), -result.ineqlin.marginals[:n])
