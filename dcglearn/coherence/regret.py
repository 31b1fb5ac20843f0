"""Search for the largest regret between two metrics: by enumeration, or integer programming."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, csr_array, eye_array, kron, vstack

from dcglearn.coherence.rankings import Enumeration, Rankings, list_values
from dcglearn.foundation.validation import Floats, Grades, Indices

TIE = 1e-12
"""Largest difference of values that counts as a tie, as a share of the span: rounding."""


@contextmanager
def quiet_solver() -> Iterator[None]:
    """Suppress the debugging output of HiGHS, which goes past Python to standard output."""
    try:
        stdout, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # standard output is closed
        yield
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
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

    regret: float = 0.0
    bound: float = 0.0
    pair: Grades | None = None


class ExhaustiveSearch:
    """Search over all lists, sorted by value under the two metrics of an enumeration."""

    def __init__(self, enumeration: Enumeration) -> None:
        self.enumeration = enumeration
        self.orders = [np.argsort(values, kind="stable") for values in enumeration.values]

    def regret(self, first: int, tau: float) -> LargestRegret:
        """Return the largest regret of the other metric where metric `first` prefers by tau.

        For every list, it is found with the best by the other metric of those at least tau below it
        by `first`.
        """
        order, a, b = self._sorted(first)
        # the best by the other metric of all lists up to each
        highest = np.maximum.accumulate(b)
        below = np.searchsorted(a, a - max(tau - TIE, TIE), side="right") - 1
        lost = np.where(below >= 0, highest[below] - b, -np.inf)
        worst = int(lost.argmax())
        if lost[worst] <= TIE:
            return LargestRegret()
        best = b[: below[worst] + 1].argmax()
        return self._of_pair(lost[worst], order[worst], order[best])

    def tie_regret(self) -> LargestRegret:
        """Return the lists that the first metric ties and the second values most differently."""
        order, a, b = self._sorted(0)

        # runs of values that are equal under the first metric
        starts = np.concatenate([[0], np.flatnonzero(np.diff(a) > TIE) + 1])
        spread = np.maximum.reduceat(b, starts) - np.minimum.reduceat(b, starts)
        widest = int(spread.argmax())
        if spread[widest] <= TIE:
            return LargestRegret()

        # the two lists that differ most in it
        start, stop = np.append(starts, len(b))[widest : widest + 2]
        run, lists = b[start:stop], order[start:stop]
        return self._of_pair(spread[widest], lists[run.argmin()], lists[run.argmax()])

    def _sorted(self, first: int) -> tuple[Indices, Floats, Floats]:
        """Return the lists in the order of metric `first`, with its values and the other's."""
        order, values = self.orders[first], self.enumeration.values
        return order, values[first][order], values[1 - first][order]

    def _of_pair(self, regret: float, better: int, worse: int) -> LargestRegret:
        """Return the regret of two lists at indices; the first metric prefers `better` or ties."""
        lists = [self.enumeration.list_at(int(index)) for index in (better, worse)]
        return LargestRegret(float(regret), float(regret), np.stack(lists))


class IntegerProgramme:
    """Search two lists as 0/1 variables by integer programming (HiGHS) in `time_limit` seconds."""

    resolution = 2e-6
    """Least margin, as a share of a metric's span (the feasibility tolerance is 1e-6)."""

    near_tie = 1e-7
    """Largest difference that counts as a tie, as a share of the span."""

    def __init__(self, rankings: Rankings, weights: list[Floats], time_limit: float) -> None:
        self.rankings, self.weights, self.time_limit = rankings, weights, time_limit
        self.rows, self.low, self.high = _assignment(rankings)

    def regret(self, first: int, tau: float) -> LargestRegret:
        """See `ExhaustiveSearch`."""
        return self._solved(first, max(tau, self.resolution), np.inf)

    def tie_regret(self) -> LargestRegret:
        """See `ExhaustiveSearch`; differences up to `near_tie` count as ties."""
        return self._solved(0, -self.near_tie, self.near_tie)

    def _solved(self, first: int, least: float, most: float) -> LargestRegret:
        """Maximise the other metric's loss over pairs whose gap under `first` is within limits."""
        a, b = self.weights[first].ravel(), self.weights[1 - first].ravel()
        gap = csr_array(np.concatenate([a, -a])[None])
        rows, low, high = vstack([self.rows, gap]), [*self.low, least], [*self.high, most]
        with quiet_solver():
            solution = milp(
                np.concatenate([b, -b]),
                integrality=np.ones(2 * a.size),
                bounds=Bounds(0, 1),
                constraints=LinearConstraint(rows, low, high),
                options={"time_limit": self.time_limit, "mip_rel_gap": 1e-9},
            )

        # what is proved about all pairs
        if solution.status == 2:  # infeasible: no pair of lists has such a difference
            return LargestRegret()
        bound = 1.0
        if solution.mip_dual_bound is not None:
            bound = min(max(-float(solution.mip_dual_bound), 0.0), 1.0)
        if solution.x is None:
            return LargestRegret(0.0, bound)

        # values of the best pair, computed again
        pair = solution.x.reshape(2, self.rankings.depth, -1).argmax(axis=2).astype(np.int8)
        ahead, lost = (
            sign * float(np.diff(list_values(self.weights[metric], pair))[0])
            for metric, sign in ((first, -1), (1 - first, 1))
        )
        allowed = least - 2 * self.near_tie <= ahead <= most + 2 * self.near_tie
        if lost <= TIE or not allowed:
            return LargestRegret(0.0, bound)
        return LargestRegret(lost, max(bound, lost), pair)


Search: TypeAlias = "ExhaustiveSearch | IntegerProgramme"
"""A search for the largest regret."""


def _assignment(rankings: Rankings) -> tuple[csr_array, Floats, Floats]:
    """Return the constraints on two lists: a grade per position, and the documents' grades."""
    depth, n_grades = rankings.depth, rankings.n_grades

    # one grade per position
    parts = [kron(eye_array(depth), np.ones((1, n_grades)))]
    low, high = [np.ones(depth)], [np.ones(depth)]

    # no more of a grade than there are documents
    if rankings.counts is not None:
        parts.append(kron(np.ones((1, depth)), eye_array(n_grades)))
        counts = np.array(rankings.counts, dtype=np.float64)
        low.append(counts if rankings.full else np.zeros(n_grades))
        high.append(counts)

    rows = vstack(parts)
    both = block_diag([rows, rows], format="csr")
    return both, np.concatenate(low * 2), np.concatenate(high * 2)
