"""The verdicts of a log as `JudgedPairs`: levels of strength, ties, judges by number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import UNKNOWN, Counts, Floats, Grades, InputError, filled
from dcglearn.learning.judgement_kernel import LIKELIHOOD
from dcglearn.learning.pair_loss import JudgedPairs, JudgementSource
from dcglearn.learning.sums_over_parts import JudgementParts
from dcglearn.learning.usable_pairs import learnable
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.unique_rows import n_distinct
from dcglearn.parts.parted_log import OpenLog, PartedLog, differing_pairs

SMALL = 1 << 15
"""Fewer judgements than this are gathered into memory."""

MOST_LEVELS = 7
"""Most levels of strength: each costs a parameter."""


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a log, in memory (only the pairs that count) or in parts.

    `kind` is the loss of `pair_loss`, in parts always the likelihood, `dropped` the number of pairs
    left out by reason, `level` the int8 level of every verdict of a log in memory, `values` the M
    distinct strengths of a log in parts that has any, shape (M,), `raters` the names of the judges,
    sorted (a single one where none is named), and `sided` tells whether the likelihood has position
    biases: the log says which list was shown first.
    """

    log: Any
    kind: int
    dropped: Counts
    level: Grades | None
    values: Floats | None
    n_levels: int
    has_ties: bool
    raters: NDArray[Any]
    sided: bool

    def judgements(self, *, one_rater: bool, empty: int = UNKNOWN) -> JudgementSource:
        """Return the judgements, of one judge or by name; empty places have the grade `empty`."""
        if isinstance(self.log, PartedLog):
            return self._in_parts(one_rater=one_rater, empty=empty)

        # by number of the rater
        log: PreferencePairs = self.log
        assert self.level is not None
        rater = np.zeros(1, np.int32)
        if not one_rater and log.rater is not None:
            rater = np.searchsorted(self.raters, log.rater).astype(np.int32)
        return _judged(log, self.level, rater, empty)

    def _in_parts(self, *, one_rater: bool, empty: int) -> JudgementSource:
        """Return the judgements of a log in parts; few of them are gathered into memory."""
        raters = None if one_rater else self.raters
        of_part = partial(judgements_of, values=self.values, raters=raters, empty=empty)
        judgements = JudgementParts.of(self.log.parts.mapped(of_part))

        # a descent makes hundreds of passes, which over few are faster here than over a network
        return judgements.thinned(SMALL) if len(judgements) < SMALL else judgements

    def thinned(self, size: int) -> PreferencePairs:
        """Return about `size` of the pairs, evenly spread; of a short log, distinct ones."""
        if isinstance(self.log, PartedLog):
            return self.log.thinned(size)
        log: PreferencePairs = self.log
        if len(log) <= SMALL and n_distinct(np.hstack([log.preferred, log.other])) < len(log):
            log = log.merged()
        return log.thinned(size)

    def n_lists(self) -> float:
        """Return the number of distinct lists of the pairs that count."""
        if isinstance(self.log, PartedLog):
            return self.log.n_lists()
        return float(self.log.n_lists)


def verdicts_of(log: OpenLog, kind: int) -> Verdicts:
    """Return the verdicts of a log; too many distinct strengths are binned.

    Raise InputError for too many of a log in parts.
    """
    # ties and strengths count for the likelihood alone
    log, dropped = learnable(log)
    n_ties = log.facts.n_ties if isinstance(log, PartedLog) else len(log.ties)
    if kind != LIKELIHOOD and n_ties and not isinstance(log, PartedLog):
        dropped["ties"] = n_ties
        n_ties = 0
        log = log.decided

    # strengths and raters of all parts
    values = np.ones(1)
    if isinstance(log, PartedLog):
        level, sided = None, log.facts.sided
        raters = np.array(sorted(log.facts.raters or {""}))
        values = _strengths_in_parts(log)

    # or the level of each pair, 0 for ties
    else:
        level, sided = np.ones(1, np.int8), log.swapped is not None
        raters = np.array([""]) if log.rater is None else np.unique(log.rater)
        strength = _strength(log)
        if strength is not None and kind == LIKELIHOOD:
            level = _binned(strength, log.weights, MOST_LEVELS)
        level = _with_ties(log, level)

    return Verdicts(
        log,
        kind,
        dropped,
        level,
        # of the model
        values=None if level is not None or len(values) == 1 else values,
        n_levels=len(values) if level is None else int(level.max()),
        has_ties=n_ties > 0,
        raters=raters,
        sided=kind == LIKELIHOOD and sided,
    )


def _strengths_in_parts(log: PartedLog) -> Floats:
    """Return the distinct strengths of all parts, ascending."""
    values: Floats = log.parts.total(strengths_of).values
    if len(values) > MOST_LEVELS:
        raise InputError(
            f"more than {MOST_LEVELS} distinct strengths; round them (only a log in memory is "
            "binned)"
        )
    return values


@dataclass(frozen=True)
class Strengths:
    """Distinct strengths, ascending; parts add with ``+``."""

    values: Floats

    def __add__(self, other: Strengths) -> Strengths:
        return Strengths(np.union1d(self.values, other.values))


def strengths_of(log: PreferencePairs) -> Strengths:
    """Return the distinct strengths of the decided pairs of a part, one too many at most."""
    strengths = _strengths(differing_pairs(log).decided)
    return Strengths(np.unique(strengths)[: MOST_LEVELS + 1])


def judgements_of(
    log: PreferencePairs, values: Floats | None, raters: NDArray[Any] | None, empty: int = UNKNOWN
) -> JudgedPairs:
    """Return the judgements of a part.

    `values` holds all distinct strengths, shape (M,); None where all are the same. `raters` holds
    the sorted names of the judges; None for one judge. Empty places count as the grade `empty`.
    """
    log = differing_pairs(log)

    # the level is the place among all strengths
    level = np.ones(1, np.int8)
    if values is not None:
        level = (np.searchsorted(values, _strengths(log)) + 1).astype(np.int8)

    # the rater's place among all raters
    rater = np.zeros(1, np.int32)
    if raters is not None:
        labels = np.full(len(log), "") if log.rater is None else log.rater
        rater = np.searchsorted(raters, labels).astype(np.int32)
    return _judged(log, _with_ties(log, level), rater, empty)


def _judged(
    log: PreferencePairs, level: Grades, rater: NDArray[np.int32], empty: int
) -> JudgedPairs:
    """Return the pairs of a log as judgements; empty places count as the grade `empty`."""
    lists = filled(log.preferred, empty), filled(log.other, empty)
    way = np.zeros(1, np.int8)
    if log.swapped is not None:
        way = np.where(log.swapped, -1, 1).astype(np.int8)
    weight = np.ones(1) if log.weight is None else log.weight
    return JudgedPairs(*lists, level, rater, weight, way)


def _strength(log: PreferencePairs) -> Floats | None:
    return log.strength if log.strength is not None else log.margin


def _strengths(log: PreferencePairs) -> Floats:
    """Return the strength of each pair, shape (n,), 1 where the log has none."""
    strength = _strength(log)
    return np.ones(len(log)) if strength is None else strength


def _with_ties(log: PreferencePairs, level: Grades) -> Grades:
    """Return the levels, shape (n,) or (1,), with 0 for ties."""
    if log.tie is None or not log.tie.any():
        return level
    return np.where(log.tie, 0, np.broadcast_to(level, len(log))).astype(np.int8)


def _binned(strength: Floats, weight: Floats, most: int) -> Grades:
    """Return the level of each pair, from 1, of at most `most` levels of strength."""
    values, number = np.unique(strength, return_inverse=True)
    if len(values) > most:
        shares = np.arange(1, most) / most
        edges = np.unique(np.quantile(strength, shares, weights=weight, method="inverted_cdf"))
        number = np.unique(np.searchsorted(edges, strength, side="right"), return_inverse=True)[1]
    return (number + 1).astype(np.int8)
