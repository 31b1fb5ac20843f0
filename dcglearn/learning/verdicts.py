"""The verdicts of a log as `JudgedPairs`: levels of strength, ties, judges by number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import UNKNOWN, Counts, Floats, Grades, InputError, filled
from dcglearn.learning.judgement_kernel import HINGE, LIKELIHOOD, SIGMOID
from dcglearn.learning.listed_judgements import FEWEST_SHARED, MOST_LISTS, ListedJudgements
from dcglearn.learning.pair_loss import JudgedPairs, JudgementSource
from dcglearn.learning.sums_over_parts import JudgementParts
from dcglearn.logs.columns import weights_of
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.unique_rows import may_repeat
from dcglearn.parts.parted_log import OpenLog, PartedLog, differing_pairs
from dcglearn.parts.usable_pairs import learnable

FEW = 1 << 12
"""Fewer judgements than this are summed one by one, however few their lists."""

SMALL = 1 << 15
"""Fewer judgements than this are gathered into memory."""


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a log, in memory (only the pairs that count) or in parts.

    `kind` is the loss of `pair_loss`, `dropped` the number of pairs left out by reason, `level` the
    int8 level of every verdict of a log in memory, `values` the M distinct strengths of a log in
    parts that has any, shape (M,), `margins` those of the hinge, shape (M + 2,), `raters` the names
    of the judges, sorted (a single one where none is named), and `sided` tells whether the
    likelihood has position biases: the log says which list was shown first.
    """

    log: Any
    kind: int
    dropped: Counts
    level: Grades | None
    values: Floats | None
    n_levels: int
    has_ties: bool
    margins: Floats | None
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
        pairs = _judged(log, self.level, rater, empty)

        # by list, if verdicts are plain preferences and their lists few
        simple = not (self.has_ties or self.sided) and self.n_levels == 1
        plain = self.kind == LIKELIHOOD and simple and len(rater) == 1
        few_lists = len(log) >= max(FEWEST_SHARED * log.n_lists, FEW) and log.n_lists <= MOST_LISTS
        return ListedJudgements.of(pairs) if plain and few_lists else pairs

    def _in_parts(self, *, one_rater: bool, empty: int) -> JudgementSource:
        """Return the judgements of a log in parts; few of them are gathered into memory."""
        # raters stand in the parts by name or by number
        stored = self.log.raters
        places = None
        if stored is not None:
            places = np.searchsorted(self.raters, stored or [""]).astype(np.int32)
        numbers = None if one_rater else (self.raters, places)

        of_part = partial(
            judgements_of, kind=self.kind, values=self.values, numbers=numbers, empty=empty
        )
        judgements = JudgementParts.of(self.log.parts.mapped(of_part))

        # a descent makes hundreds of passes, which over few are faster here than over a network
        return judgements.thinned(SMALL) if len(judgements) < SMALL else judgements

    def thinned(self, size: int) -> PreferencePairs:
        """Return about `size` of the pairs, evenly spread; of a short log, distinct ones."""
        if isinstance(self.log, PartedLog):
            sample = self.log.thinned(size)
            return sample if self.kind == LIKELIHOOD else sample.decided
        log: PreferencePairs = self.log
        if len(log) <= SMALL and may_repeat(log.preferred, log.other):
            log = log.merged()
        return log.thinned(size)

    def n_lists(self) -> float:
        """Return the number of distinct lists of the pairs that count."""
        if isinstance(self.log, PartedLog):
            return self.log.n_lists(decided=self.kind != LIKELIHOOD)
        return float(self.log.n_lists)


def verdicts_of(log: OpenLog, kind: int) -> Verdicts:
    """Return the verdicts of a log; too many distinct strengths are binned.

    Raise InputError for too many of a log in parts.
    """
    # ties count for the likelihood alone; parts leave theirs out by themselves
    log, dropped = learnable(log)
    n_ties = log.facts.n_ties if isinstance(log, PartedLog) else len(log.ties)
    if kind != LIKELIHOOD and n_ties:
        dropped["ties"] = n_ties
        n_ties = 0
        log = log if isinstance(log, PartedLog) else log.decided

    # strengths and raters of all parts
    values, size = np.ones(1), 1.0
    most = _most_levels(kind)
    if isinstance(log, PartedLog):
        level, sided = None, log.facts.sided
        raters = np.array(sorted(log.facts.raters or {""}))
        if kind != SIGMOID:
            values, size = _strengths_in_parts(log, most)

    # or the level of each pair, 0 for ties
    else:
        level, sided = np.ones(1, np.int8), log.swapped is not None
        raters = np.array([""]) if log.rater is None else np.unique(log.rater)
        strength = _strength(log)
        if strength is not None and kind != SIGMOID:
            values, level = _binned(strength, weights_of(log), most)
            size = float(np.average(np.abs(values[level - 1]), weights=log.weight))
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
        margins=_margins(values, size) if kind == HINGE else None,
        raters=raters,
        sided=kind == LIKELIHOOD and sided,
    )


def _strengths_in_parts(log: PartedLog, most: int) -> tuple[Floats, float]:
    """Return the distinct strengths of all parts, and their mean size."""
    strengths = log.parts.total(strengths_of, most)
    values = strengths.values
    if len(values) > most:
        raise InputError(
            f"more than {most} distinct strengths; round them (only a log in memory is binned)"
        )
    return values, float(np.abs(values) @ strengths.weight / strengths.weight.sum())


def _most_levels(kind: int) -> int:
    """Return how many strengths can differ: each costs a parameter, but not with the hinge."""
    return 100 if kind == HINGE else 7


@dataclass(frozen=True)
class Strengths:
    """Distinct strengths, ascending, and the weight of the pairs of each; parts add with ``+``."""

    values: Floats
    weight: Floats

    @classmethod
    def of(cls, values: Floats, weight: Floats) -> Strengths:
        """Return the distinct strengths of pairs with weights, shape (n,) both."""
        distinct, number = np.unique(values, return_inverse=True)
        total = np.bincount(number, weight, len(distinct))
        return cls(distinct, total.astype(np.float64))

    def __add__(self, other: Strengths) -> Strengths:
        columns = zip(vars(self).values(), vars(other).values(), strict=True)
        return self.of(*map(np.concatenate, columns))


def strengths_of(log: PreferencePairs, most: int) -> Strengths:
    """Return at most ``most + 1`` strengths of the decided pairs of a part."""
    log = _counted(log, HINGE)
    strengths = Strengths.of(_strengths(log), weights_of(log))
    return Strengths(strengths.values[: most + 1], strengths.weight[: most + 1])


def judgements_of(
    log: PreferencePairs,
    kind: int,
    values: Floats | None,
    numbers: tuple[NDArray[Any], NDArray[np.int32] | None] | None,
    empty: int = UNKNOWN,
) -> JudgedPairs:
    """Return the judgements of a part, whose raters are names or numbers.

    `values` holds all distinct strengths, shape (M,); None where all are the same. `numbers` holds
    the sorted names of the judges, and the judge of each number or, where the raters are names,
    None; None for one judge. Empty places count as the grade `empty`.
    """
    log = _counted(log, kind)

    # the level is the place among all strengths
    level = np.ones(1, np.int8)
    if values is not None:
        level = (np.searchsorted(values, _strengths(log)) + 1).astype(np.int8)

    # the rater's place among all raters
    rater = np.zeros(1, np.int32)
    if numbers is not None:
        names, places = numbers
        labels = np.full(len(log), "") if log.rater is None else log.rater
        place = np.searchsorted(names, labels) if places is None else places[labels]
        rater = place.astype(np.int32)
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


def _counted(log: PreferencePairs, kind: int) -> PreferencePairs:
    log = differing_pairs(log)
    return log if kind == LIKELIHOOD else log.decided


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


def _margins(values: Floats, size: float) -> Floats:
    """Return the hinge's margins, (M + 2,): strengths in units of their positive mean `size`.

    Raise InputError if no strength is positive: metrics that hardly differ between lists would be
    the best.
    """
    if values.max() <= 0:
        raise InputError(
            'loss="squared_hinge" needs margins above 0, and the largest of the log is '
            f"{values.max():g}: give by how much the preferred list should win, or take "
            'loss="robust", which needs no margins'
        )
    return np.concatenate([[0.0], values / size, [np.inf]])


def _binned(strength: Floats, weight: Floats, most: int) -> tuple[Floats, Grades]:
    """Return the distinct strengths, at most `most`, and the level of each pair, from 1."""
    values, number = np.unique(strength, return_inverse=True)
    if len(values) > most:
        shares = np.arange(1, most) / most
        edges = np.unique(np.quantile(strength, shares, weights=weight, method="inverted_cdf"))
        number = np.unique(np.searchsorted(edges, strength, side="right"), return_inverse=True)[1]
        values = np.bincount(number, weight * strength) / np.bincount(number, weight)
    return values, (number + 1).astype(np.int8)
