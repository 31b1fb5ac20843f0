"""Informative pairs: those of two different lists, of raters who do not always pick one side."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Counts, Flags, InputError, shortened
from dcglearn.logs.columns import ties_of
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs
from dcglearn.logs.sides import Sides
from dcglearn.parts.parted_log import OpenLog, PartedLog, differing_pairs, facts_of

Learned = TypeVar("Learned", bound=OpenLog)
"""A log that learners take."""

REASON = "verdicts of raters who always name one side"


def one_sided_raters(log: OpenLog) -> NDArray[Any]:
    """Return the names of raters who always name one side."""
    if not isinstance(log, PartedLog):
        return _sides(log).always_one()
    if not log.facts.sided:
        return np.zeros(0, np.int64)
    return log.parts.total(_sides).always_one()


def warn_of_one_sided(log: OpenLog) -> None:
    """Warn if raters are left out since they always name one side."""
    names = [*map(repr, sorted(map(str, one_sided_raters(log))))]
    if names:
        some = ", ".join(names if len(names) <= 3 else [*names[:3], "..."])
        warnings.warn(
            shortened(
                f"of {number_of(len(names), 'raters')} ({some}) nearly every verdict names one "
                "side, the others name both: theirs are left out; leave the sides out of the log "
                "(--columns swapped=) to have them counted"
            ),
            stacklevel=2,
        )


def usable_pairs(log: AnyLog) -> AnyLog:
    """Return the informative pairs of a log."""
    used = usable_rows(log)
    return log if used.all() else log[used]


def usable_rows(log: PreferencePairs, *, ties: bool = True) -> Flags:
    """Return which pairs of a log are informative, shape (n,), with or without its ties."""
    used = log.differing if ties else log.differing & ~ties_of(log)
    raters = one_sided_raters(log)
    return used if log.rater is None else used & ~np.isin(log.rater, raters)


def usable_parts(log: PartedLog) -> PartedLog:
    """Return a log in parts without the raters who always name one side; no part is copied."""
    raters = one_sided_raters(log)
    if not len(raters):
        return log

    # facts of what is left; pairs of equal lists were not judged by side
    parts = log.parts.mapped(partial(_without, raters=raters))
    facts = parts.total(facts_of)
    facts = replace(
        facts,
        n=facts.n + log.facts.n_equal - facts.n_equal,
        n_equal=log.facts.n_equal,
        raters=(log.facts.raters or frozenset()) - {*map(str, raters)},
        dropped=log.facts.dropped,
    )
    return PartedLog(parts, facts, log.n_grades, log.grade_names)


def learnable(log: Learned) -> tuple[Learned, Counts]:
    """Return the pairs that learners use, and the numbers of the others by reason.

    A log in parts may still hold pairs of equal lists. Raise InputError if none with a winner is
    left.
    """
    kept: Any
    if isinstance(log, PartedLog):
        n_equal, n_differing = log.facts.n_equal, len(log)
        kept = usable_parts(log)
        n_ties = kept.facts.n_ties
    else:
        n_differing = int(log.differing.sum())
        n_equal = len(log) - n_differing
        kept = usable_pairs(log)
        n_ties = len(kept.ties)

    # something to learn from
    if n_ties == len(kept):
        raise InputError(
            "no pair with a winner and two different lists is left "
            f"({number_of(n_equal, 'pairs of equal lists')}, {number_of(n_ties, 'ties')}): there "
            "is nothing to learn from"
        )
    left_out = {"pairs of equal lists": n_equal, REASON: n_differing - len(kept)}
    return kept, {reason: count for reason, count in left_out.items() if count}


def _sides(log: PreferencePairs) -> Sides:
    log = differing_pairs(log).decided
    if log.rater is None or log.swapped is None:
        nobody = np.zeros(0, np.int64)
        return Sides(nobody, nobody, nobody)
    return Sides.of(log.rater, log.swapped)


def _without(log: AnyLog, raters: NDArray[Any]) -> AnyLog:
    return log if log.rater is None else log[~np.isin(log.rater, raters)]
