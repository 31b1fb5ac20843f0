"""Search for the largest regret between two metrics: by enumeration, or integer programming."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from operator import attrgetter

import numpy as np
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import block_diag, csr_array, eye_array, hstack, kron, vstack

from dcglearn.coherence.rankings import Rankings
from dcglearn.foundation.validation import Grades
from dcglearn.metrics.dcg import Utility

TIE = 1e-12
"""Largest difference of values that counts as a tie, as a share of the span: rounding."""

RESOLUTION = 2e-6
"""Least margin of an integer programme, as a share of the span: twice HiGHS's tolerance."""


@dataclass(frozen=True, eq=False)
class LargestRegret:
    """The largest regret that a search found, as a share of the span; 0 if there is no pair.

    No pair has a larger regret than `bound`. `pair`, shape (2, K), holds the lists that either
    metric prefers.
    """

    regret: float = 0.0
    bound: float = 0.0
    pair: Grades | None = None


def enumerated_regrets(
    rankings: Rankings, metrics: Sequence[Utility], margin: float
) -> tuple[LargestRegret, LargestRegret]:
    """Return the largest regret of b where a prefers by the margin, and that of a where b does.

    The metrics a and b have a span of 1. A list that a prefers to another gives a larger regret
    the more a values it, and the less b does. So of lists that leave the same documents, only those
    go on which no other surpasses in both, whatever follows below them.
    """
    a, b = metrics
    blocks = [rankings.lists(partial(_unsurpassed, *pair)) for pair in permutations(metrics, 2)]
    if not rankings.reordered:
        blocks = [{(): np.concatenate([*block.values()])} for block in blocks]

    # the largest of the lists that are compared with each other
    by_a, by_b = blocks
    there = (_largest_regret(a, b, by_a[left], by_b[left], margin) for left in by_a)
    back = (_largest_regret(b, a, by_b[left], by_a[left], margin) for left in by_a)
    largest = partial(max, key=attrgetter("regret"))
    return largest(there), largest(back)


def _unsurpassed(a: Utility, b: Utility, lists: Grades) -> Grades:
    """Return the lists than which none is worth as much under a and as little under b."""
    value, loss = a.score(lists), b.score(lists)
    order = np.lexsort((loss, -value))
    least = np.minimum.accumulate(loss[order])
    return lists[order[np.diff(least, prepend=np.inf) < 0]]


def _largest_regret(
    a: Utility, b: Utility, preferred: Grades, other: Grades, margin: float
) -> LargestRegret:
    """Return the largest regret of b where a prefers one of `preferred` to one of `other`."""
    # the other lists by their value under a, and the best of b up to each
    other = other[np.argsort(a.score(other), kind="stable")]
    value, gained = a.score(other), b.score(other)
    highest = np.maximum.accumulate(gained)

    # for each preferred list, those that are at least the margin below it
    least = a.score(preferred) - max(margin - TIE, TIE)
    below = np.searchsorted(value, least, side="right") - 1
    lost = np.where(below >= 0, highest[below] - b.score(preferred), -np.inf)
    worst = int(lost.argmax())
    regret = float(lost[worst])
    if regret <= TIE:
        return LargestRegret()
    best = gained[: below[worst] + 1].argmax()
    pair = np.stack([preferred[worst], other[best]])
    return LargestRegret(regret, regret, pair)


def solved_regret(
    rankings: Rankings, metrics: Sequence[Utility], margin: float, time_limit: float
) -> LargestRegret:
    """Return the largest regret of b where a prefers by the margin, by integer programming.

    The two lists are 0/1 variables. HiGHS searches for at most `time_limit` seconds.
    """
    a, b = metrics
    rows, low, high = _assignment(rankings)
    lead, loss = (np.stack([x.weights, -x.weights]).ravel() for x in (a, b))
    least = max(margin, RESOLUTION)

    # the largest loss, where the lead is at least this
    with quiet_solver():
        solution = milp(
            loss,
            integrality=np.ones(loss.size),
            constraints=LinearConstraint(
                vstack([rows, csr_array(lead[None])]), [*low, least], [*high, np.inf]
            ),
            options={"time_limit": time_limit, "mip_rel_gap": 1e-9},
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
    pair = solution.x.reshape(2, *a.weights.shape).argmax(axis=2).astype(np.int8)
    behind, lost = (float(np.diff(metric.score(pair))[0]) for metric in metrics)
    if lost <= TIE or behind > RESOLUTION / 2 - least:
        return LargestRegret(0.0, bound)
    return LargestRegret(lost, max(bound, lost), pair)


def _assignment(rankings: Rankings) -> tuple[csr_array, list[float], list[float]]:
    """Return the constraints on two lists: a grade per position, and the documents' grades."""
    depth, n_grades = rankings.depth, rankings.n_grades
    counts = np.array(rankings.counts or [depth] * n_grades, dtype=np.float64)

    # one grade per position, and no more of a grade than there are documents
    of_position = kron(eye_array(depth), np.ones((1, n_grades)))
    of_grade = kron(np.ones((1, depth)), eye_array(n_grades))
    fixed = rankings.full and not rankings.reordered
    low = [*np.ones(depth), *(counts if fixed else np.zeros(n_grades))] * 2
    high = [*np.ones(depth), *counts] * 2

    # as many of each grade in both lists
    rows = block_diag([vstack([of_position, of_grade])] * 2, format="csr")
    if rankings.reordered:
        rows = vstack([rows, hstack([of_grade, -of_grade])], format="csr")
        low, high = ([*ends, *np.zeros(n_grades)] for ends in (low, high))
    return rows, low, high


@contextmanager
def quiet_solver() -> Iterator[None]:
    """Suppress the debugging output of HiGHS, which goes past Python to standard output."""
    try:
        stdout, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # standard output is closed
        yield
        return
    try:
        os.dup2(null, 1)
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(null)
