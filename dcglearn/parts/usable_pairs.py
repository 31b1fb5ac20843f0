"""Informative pairs: without pairs of equal lists and raters who always pick one side."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Flags, InputError, Integers, shortened
from dcglearn.logs.columns import ties_of
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs
from dcglearn.parts.parted_log import Facts, OpenLog, PartedLog, differing_pairs, facts_of
from dcglearn.readers.shown_order import FEWEST_VERDICTS, ONE_SIDED_LEVEL, one_sided

REASON = "verdicts of raters who always name one side"


@dataclass(frozen=True)
class Sides:
    """How often raters name a list, and the one shown second, shape (R,); parts add with ``+``."""

    raters: NDArray[Any]
    n: Integers
    second: Integers

    def __add__(self, other: Sides) -> Sides:
        raters, number = np.unique(np.concatenate([self.raters, other.raters]), return_inverse=True)

        def added(mine: Integers, theirs: Integers) -> Integers:
            both = np.concatenate([mine, theirs])
            return np.bincount(number, both, len(raters)).astype(np.int64)

        return Sides(raters, added(self.n, other.n), added(self.second, other.second))

    def always_one(self) -> NDArray[Any]:
        """Return the raters who always name one side, beyond chance, though the others name both.

        The rest of the raters say how often that side is named where lists matter; a one-sided
        binomial test.
        """
        lone = one_sided(self.n, self.second)
        if not lone.any() or self.n[~lone].sum() < FEWEST_VERDICTS:
            return self.raters[:0]

        # how often the others name the second list
        share = (self.second[~lone].sum() + 0.5) / (self.n[~lone].sum() + 1)
        is_second = 2 * self.second > self.n
        expected = np.where(is_second, share, 1 - share)

        # chance to name one side that often, by the binomial distribution
        from scipy.special import betainc

        named = np.where(is_second, self.second, self.n - self.second)
        chance = betainc(np.maximum(named, 1), self.n - named + 1, expected)
        always: NDArray[Any] = self.raters[lone & (chance <= ONE_SIDED_LEVEL / len(self.n))]
        return always


def one_sided_raters(log: OpenLog) -> NDArray[Any]:
    """Return the raters who always name one side, as the log holds them: by name, or by number."""
    if not isinstance(log, PartedLog):
        return _sides(log).always_one()
    if not log.facts.sided:
        return np.zeros(0, np.int64)
    return log.parts.total(_sides).always_one()


def warn_of_one_sided(log: OpenLog) -> None:
    """Warn if raters are left out since they always name one side."""
    names = [*map(repr, sorted(_names(log, one_sided_raters(log))))]
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
    log = differing_pairs(log)
    raters = one_sided_raters(log)
    return _without(log, raters) if len(raters) else log


def usable_rows(log: PreferencePairs, *, ties: bool = True) -> Flags:
    """Return which pairs of a log are informative, shape (n,), with or without its ties."""
    used: Flags = log.differing if ties else log.differing & ~ties_of(log)
    raters = one_sided_raters(log)
    return used if log.rater is None else used & ~np.isin(log.rater, raters)


def usable_parts(log: PartedLog) -> PartedLog:
    """Return a log in parts without the raters who always name one side; no part is copied."""
    raters = one_sided_raters(log)
    if not len(raters):
        return log

    # facts of what is left; pairs of equal lists were not judged by side
    parts = log.parts.mapped(partial(_without, raters=raters))
    facts: Facts = parts.total(facts_of)
    facts = replace(
        facts,
        n=facts.n + log.facts.n_equal - facts.n_equal,
        n_equal=log.facts.n_equal,
        raters=(log.facts.raters or frozenset()) - _names(log, raters),
        dropped=log.facts.dropped,
    )
    return PartedLog(parts, facts, log.n_grades, log.grade_names, log.raters)


def learnable(log: AnyLog) -> tuple[AnyLog, dict[str, int]]:
    """Return the pairs that learners use, and the numbers of the others by reason.

    Raise InputError if none with a winner is left.
    """
    n_differing = int(log.differing.sum())
    kept = usable_pairs(log)
    n_one_sided = n_differing - len(kept)
    return kept, _left_out(len(log) - n_differing, n_one_sided, len(kept), len(kept.ties))


def learnable_parts(log: PartedLog) -> tuple[PartedLog, dict[str, int]]:
    """Return what `learnable` does for a log in parts, which may hold pairs of equal lists."""
    kept = usable_parts(log)
    return kept, _left_out(log.facts.n_equal, len(log) - len(kept), len(kept), kept.facts.n_ties)


def _left_out(n_equal: int, n_one_sided: int, n: int, n_ties: int) -> dict[str, int]:
    """Return the numbers of pairs left out by reason; raise InputError if the others are ties."""
    if n_ties == n:
        raise InputError(
            "no pair with a winner and two different lists is left "
            f"({number_of(n_equal, 'pairs of equal lists')}, {number_of(n_ties, 'ties')}): there "
            "is nothing to learn from"
        )
    left_out = {"pairs of equal lists": n_equal, REASON: n_one_sided}
    return {reason: count for reason, count in left_out.items() if count}


def _names(log: OpenLog, raters: NDArray[Any]) -> set[str]:
    numbered = log.raters if isinstance(log, PartedLog) else None
    return {str(rater) if numbered is None else numbered[rater] for rater in raters}


def _sides(log: PreferencePairs) -> Sides:
    log = differing_pairs(log).decided
    if log.rater is None or log.swapped is None:
        return Sides(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    raters, number = np.unique(log.rater, return_inverse=True)
    return Sides(raters, np.bincount(number), np.bincount(number, log.swapped).astype(np.int64))


def _without(log: AnyLog, raters: NDArray[Any]) -> AnyLog:
    return log if log.rater is None else log[~np.isin(log.rater, raters)]
