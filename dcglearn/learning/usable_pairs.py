"""Informative pairs: those of two different lists, of raters who do not always pick one side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Counts, Flags, InputError
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs
from dcglearn.logs.sides import Sides

REASON = "verdicts of raters who always name one side"


def one_sided_raters(log: PreferencePairs) -> NDArray[Any]:
    """Return the names of raters who always name one side."""
    return sides_of(log).always_one()


def sides_of(log: PreferencePairs) -> Sides:
    """Return how often each rater of different lists names each side; parts of a log add."""
    log = log.differing_pairs.decided
    if log.rater is None or log.swapped is None:
        return Sides.of(np.zeros(0, np.str_), np.zeros(0, bool))
    return Sides.of(log.rater, log.swapped)


def usable_pairs(log: AnyLog, one_sided: NDArray[Any] | None = None) -> AnyLog:
    """Return the informative pairs of a log, or of a part, given the log's one-sided raters."""
    used = usable_rows(log, one_sided)
    return log if used.all() else log[used]


def usable_rows(log: PreferencePairs, one_sided: NDArray[Any] | None = None) -> Flags:
    """Return which pairs of a log are informative, shape (n,)."""
    raters = one_sided_raters(log) if one_sided is None else one_sided
    return log.differing if log.rater is None else log.differing & ~np.isin(log.rater, raters)


def learnable(log: AnyLog) -> tuple[AnyLog, Counts]:
    """Return the pairs that learners use, and the numbers of the others by reason.

    Raise InputError if none with a winner is left.
    """
    kept = usable_pairs(log)
    return kept, left_out(len(log), int(log.differing.sum()), len(kept), len(kept.ties))


def left_out(n: int, n_differing: int, n_kept: int, n_ties: int) -> Counts:
    """Return the numbers of pairs left out by reason; raise InputError if only ties are kept."""
    n_equal = n - n_differing
    if n_ties == n_kept:
        raise InputError(
            "no pair with a winner and two different lists is left "
            f"({number_of(n_equal, 'pairs of equal lists')}, {number_of(n_ties, 'ties')}): there "
            "is nothing to learn from"
        )
    counts = {"pairs of equal lists": n_equal, REASON: n_differing - n_kept}
    return {reason: count for reason, count in counts.items() if count}
