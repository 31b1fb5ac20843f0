"""Search for the largest regret between two metrics, by enumeration of all lists or by integer
programming.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, coo_array, csr_array, vstack

from dcglearn.foundation.validation import Floats, Grades
from dcglearn.metric_coherence.rankings import Enumeration, Rankings, list_values

RESOLUTION = 2e-6
"""Least margin of the integer programme, as a share of a metric's span (its feasibility tolerance
is 1e-6).
"""

TIE = 1e-12
"""Largest difference of values that counts as a tie, as a share of the span; it is due to rounding.
"""

NEAR_TIE = 1e-7
"""Largest difference that the integer programme counts as a tie, as a share of the span."""


@contextmanager
def quiet_solver() -> Iterator[None]:
    """Suppress the debugging output of HiGHS: all standard output of the process, so this is for
    programs only.
    """
    sys.stdout.flush()
    stdout, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(null)


@dataclass(frozen=True, eq=False)
class LargestRegret:
    """The largest regret that a search found, as a share of the span; 0 if there is no pair.

    No pair has a larger regret than `bound`. `pair`, shape (2, K), holds the lists that either
    metric prefers.
    """

    regret: float
    bound: float
    pair: Grades | None


NO_REGRET = LargestRegret(0.0, 0.0, None)
"""The result where the metrics never disagree."""


class ExhaustiveSearch:
    """Search over all lists, sorted by value under the two metrics of an enumeration."""

    def __init__(self, enumeration: Enumeration) -> None:
        self.enumeration = enumeration
        self.orders = [np.argsort(values, kind="stable") for values in enumeration.values]

    def regret(self, first: int, second: int, tau: float) -> LargestRegret:
        """Return the largest regret of metric `second` over pairs of lists that `first` orders by
        at least tau.

        For every list, it is found with the best by `second` of those at least tau below it by
        `first`.
        """
        order = self.orders[first]
        a, b = self.enumeration.values[first][order], self.enumeration.values[second][order]
        highest = np.maximum.accumulate(b)
        below = np.searchsorted(a, a - max(tau - TIE, TIE), side="right") - 1
        lost = np.where(below >= 0, highest[below] - b, -np.inf)
        worst = int(lost.argmax())
        if lost[worst] <= TIE:
            return NO_REGRET
        return self._of_pair(lost[worst], order[worst], order[b[: below[worst] + 1].argmax()])

    def tie_regret(self, first: int, second: int) -> LargestRegret:
        """Return the pair that `first` ties and whose values under `second` differ most, in a run
        of equal values.
        """
        order = self.orders[first]
        a, b = self.enumeration.values[first][order], self.enumeration.values[second][order]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(a) > TIE) + 1])
        spread = np.maximum.reduceat(b, starts) - np.minimum.reduceat(b, starts)
        widest = int(spread.argmax())
        if spread[widest] <= TIE:
            return NO_REGRET
        start, stop = np.append(starts, len(b))[widest : widest + 2]
        run = b[start:stop]
        return self._of_pair(
            spread[widest], order[start + run.argmin()], order[start + run.argmax()]
        )

    def _of_pair(self, regret: float, better: int, worse: int) -> LargestRegret:
        """Return the regret of two lists, given by their indices; the first metric prefers `better`
        or ties them.
        """
        lists = [self.enumeration.list_at(int(index)) for index in (better, worse)]
        return LargestRegret(float(regret), float(regret), np.stack(lists))


class IntegerProgramme:
    """Search by an integer programme whose 0/1 variables are two lists, solved by HiGHS in
    `time_limit` seconds.
    """

    def __init__(self, rankings: Rankings, weights: list[Floats], time_limit: float) -> None:
        self.rankings, self.weights, self.time_limit = rankings, weights, time_limit
        self.rows, self.low, self.high = _assignment(rankings)

    def regret(self, first: int, second: int, tau: float) -> LargestRegret:
        """See `ExhaustiveSearch`."""
        return self._solved(first, second, max(tau, RESOLUTION), np.inf)

    def tie_regret(self, first: int, second: int) -> LargestRegret:
        """See `ExhaustiveSearch`; differences up to `NEAR_TIE` count as ties."""
        return self._solved(first, second, -NEAR_TIE, NEAR_TIE)

    def _solved(self, first: int, second: int, least: float, most: float) -> LargestRegret:
        a, b = self.weights[first].ravel(), self.weights[second].ravel()
        gap = csr_array(np.concatenate([a, -a])[None])
        constraint = LinearConstraint(
            vstack([self.rows, gap]), np.append(self.low, least), np.append(self.high, most)
        )
        options = {"time_limit": self.time_limit, "mip_rel_gap": 1e-9}
        cost = np.concatenate([b, -b])
        solution: Any = milp(
            cost,
            integrality=np.ones(2 * a.size),
            bounds=Bounds(0, 1),
            constraints=constraint,
            options=options,
        )
        if solution.status == 2:  # infeasible: no pair of lists has such a difference
            return NO_REGRET
        bound = (
            1.0
            if solution.mip_dual_bound is None
            else min(max(-float(solution.mip_dual_bound), 0.0), 1.0)
        )
        if solution.x is None:
            return LargestRegret(0.0, bound, None)
        pair = solution.x.reshape(2, self.rankings.depth, -1).argmax(axis=2).astype(np.int8)
        gaps = [
            -float(np.diff(list_values(self.weights[metric], pair))[0])
            for metric in (first, second)
        ]
        lost = -gaps[1]
        if lost <= TIE or gaps[0] < least - 2 * NEAR_TIE or gaps[0] > most + 2 * NEAR_TIE:
            return LargestRegret(0.0, bound, None)
        return LargestRegret(lost, max(bound, lost), pair)


Search: TypeAlias = "ExhaustiveSearch | IntegerProgramme"
"""A search for the largest regret."""


def _assignment(rankings: Rankings) -> tuple[csr_array, Floats, Floats]:
    """Return the constraints on two lists: one grade per position, and no more of a grade than
    there are documents.
    """
    depth, n_grades = rankings.depth, rankings.n_grades
    cells = np.arange(depth * n_grades)
    parts = [coo_array((np.ones(len(cells)), (cells // n_grades, cells)))]
    low, high = [np.ones(depth)], [np.ones(depth)]
    if rankings.counts is not None:
        parts.append(coo_array((np.ones(len(cells)), (cells % n_grades, cells))))
        counts = np.array(rankings.counts, dtype=np.float64)
        low.append(counts if rankings.full else np.zeros(n_grades))
        high.append(counts)
    rows = vstack(parts)
    both: Any = block_diag([rows, rows], format="csr")
    return both, np.concatenate(low * 2), np.concatenate(high * 2)
