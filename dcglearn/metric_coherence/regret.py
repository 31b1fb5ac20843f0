"""The largest regret between two metrics, with its proof: by looking at every list, or by integer programming."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, coo_array, csr_array, vstack

from dcglearn.metric_coherence.rankings import Enumeration, Rankings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcglearn.foundation.arrays import Floats, Grades


RESOLUTION = 2e-6
"""Smaller shares of a metric's span the integer programme cannot tell from none (its feasibility tolerance is 1e-6)."""

TIE = 1e-12
"""Differences up to this share of the span are rounding: a tie."""

NEAR_TIE = 1e-7
"""What the integer programme, which cannot see `TIE`, takes for a tie."""


@contextmanager
def quiet_solver() -> Iterator[None]:
    """Keep what the solver's library writes to standard output (HiGHS, some debugging words) out of a program's own.

    It turns the process's standard output to the null device meanwhile, so programs use it, not the library.
    """
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@dataclass(frozen=True, eq=False)
class Found:
    """What a search for the largest regret came to.

    Attributes
    ----------
    regret : float
        Of the pair, 0 where there is none.
    bound : float
        No pair has a larger regret.
    pair : ndarray of int8, shape (2, K), or None
        The list that the first metric prefers, and the one that the second metric prefers.
    """

    regret: float
    bound: float
    pair: Grades | None


class Search(Protocol):
    """Finds the largest regret by metric `second` over pairs that metric `first` orders by at least tau."""

    def regret(self, first: int, second: int, tau: float) -> Found:
        """Return the pair with the largest regret."""

    def tie_regret(self, first: int, second: int) -> Found:
        """Return the pair that `first` ties and `second` sees furthest apart."""


class LookAtAll:
    """Every list, sorted.

    Parameters
    ----------
    everything : Enumeration
        What every list is worth under the two metrics.
    """

    def __init__(self, everything: Enumeration) -> None:
        self.everything = everything
        self.orders = [np.argsort(values, kind="stable") for values in everything.values]

    def regret(self, first: int, second: int, tau: float) -> Found:
        """See `Search`: for every list, the best by `second` of those that `first` puts tau below it."""
        order = self.orders[first]
        a, b = self.everything.values[first][order], self.everything.values[second][order]
        highest = np.maximum.accumulate(b)
        below = np.searchsorted(a, a - max(tau - TIE, TIE), side="right") - 1
        lost = np.where(below >= 0, highest[below] - b, -np.inf)
        worst = int(lost.argmax())
        if lost[worst] <= TIE:
            return Found(0.0, 0.0, None)
        other = int(b[: below[worst] + 1].argmax())
        return Found(float(lost[worst]), float(lost[worst]), self._pair(order[worst], order[other]))

    def tie_regret(self, first: int, second: int) -> Found:
        """See `Search`: runs of equal values."""
        order = self.orders[first]
        a, b = self.everything.values[first][order], self.everything.values[second][order]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(a) > TIE) + 1])
        spread = np.maximum.reduceat(b, starts) - np.minimum.reduceat(b, starts)
        widest = int(spread.argmax())
        if spread[widest] <= TIE:
            return Found(0.0, 0.0, None)
        stop = starts[widest + 1] if widest + 1 < len(starts) else len(b)
        run = b[starts[widest] : stop]
        low, high = starts[widest] + int(run.argmin()), starts[widest] + int(run.argmax())
        return Found(float(spread[widest]), float(spread[widest]), self._pair(order[low], order[high]))

    def _pair(self, better: int, worse: int) -> Grades:
        return np.stack([self.everything.list_at(int(better)), self.everything.list_at(int(worse))])


class IntegerProgramme:
    """Two lists as 0/1 variables, solved by HiGHS.

    Parameters
    ----------
    rankings : Rankings
        The lists allowed.
    weights : sequence of two ndarrays, shape (K, L)
        The metrics, each with a span of 1.
    time_limit : float
        Seconds for each search.
    """

    def __init__(self, rankings: Rankings, weights: list[Floats], time_limit: float) -> None:
        self.rankings, self.weights, self.time_limit = rankings, weights, time_limit
        self.rows, self.low, self.high = _assignment(rankings)

    def regret(self, first: int, second: int, tau: float) -> Found:
        """See `Search`."""
        return self._solved(first, second, max(tau, RESOLUTION), np.inf)

    def tie_regret(self, first: int, second: int) -> Found:
        """See `Search`; what differs by up to `NEAR_TIE` counts as tied."""
        return self._solved(first, second, -NEAR_TIE, NEAR_TIE)

    def _solved(self, first: int, second: int, least: float, most: float) -> Found:
        a, b = self.weights[first].ravel(), self.weights[second].ravel()
        gap = csr_array(np.concatenate([a, -a])[None])
        constraint = LinearConstraint(vstack([self.rows, gap]), np.append(self.low, least), np.append(self.high, most))
        options = {"time_limit": self.time_limit, "mip_rel_gap": 1e-9}
        cost = np.concatenate([b, -b])
        done: Any = milp(
            cost, integrality=np.ones(2 * a.size), bounds=Bounds(0, 1), constraints=constraint, options=options
        )
        if done.status == 2:  # no two lists lie so far apart
            return Found(0.0, 0.0, None)
        bound = 1.0 if done.mip_dual_bound is None else min(max(-float(done.mip_dual_bound), 0.0), 1.0)
        if done.x is None:
            return Found(0.0, bound, None)
        pair = done.x.reshape(2, self.rankings.depth, -1).argmax(axis=2).astype(np.int8)
        gaps = [self._worth(metric, pair[0]) - self._worth(metric, pair[1]) for metric in (first, second)]
        lost = -gaps[1]
        if lost <= TIE or gaps[0] < least - 2 * NEAR_TIE or gaps[0] > most + 2 * NEAR_TIE:
            return Found(0.0, bound, None)
        return Found(lost, max(bound, lost), pair)

    def _worth(self, metric: int, one: Grades) -> float:
        return float(self.weights[metric][np.arange(len(one)), one].sum())


def _assignment(rankings: Rankings) -> tuple[csr_array, Floats, Floats]:
    """Return the constraints of two lists: a grade a position, no more documents of a grade than there are."""
    depth, n_grades = rankings.depth, rankings.n_grades
    cells = np.arange(depth * n_grades)
    one_grade = coo_array((np.ones(len(cells)), (cells // n_grades, cells)))
    parts, low, high = [one_grade], [np.ones(depth)], [np.ones(depth)]
    if rankings.counts is not None:
        parts.append(coo_array((np.ones(len(cells)), (cells % n_grades, cells))))
        counts = np.array(rankings.counts, dtype=np.float64)
        low.append(counts if rankings.full else np.zeros(n_grades))
        high.append(counts)
    rows = vstack(parts)
    both: Any = block_diag([rows, rows], format="csr")
    return both, np.concatenate(low * 2), np.concatenate(high * 2)
