"""Whether a log makes sense: whether the textbook DCGs contradict it, its sides are always one, its
grades a scale.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import (
    MAX_GRADES,
    Floats,
    Grades,
    InputError,
    Integers,
    UpsideDownError,
)
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.metric.textbook_scores import textbook_scores

LEVEL = 0.001
"""A log is upside down if chance would contradict a textbook DCG as often with at most this
probability.
"""

RESPECTED, MOST_WORTHS = 0.8, 1_000
"""A log is not upside down if a utility in which better grades are worth more respects this share
of it; one is looked for among utilities of at most so many numbers."""

CLOSE = 0.1
"""Of reversals whose shares of respected judgements differ by less, none is proposed before the
others.
"""

SAMPLE = 5_000
"""Judgements, about, that are looked at in a larger log."""

NEAR, FEWEST = 0.05, 10
"""A rater of at least so many decided verdicts always names one side if the other has at most this
share of them.
"""

STRAY = 0.005
"""A top grade that at most this share of the items have, and that is not next to another grade, is
a slip.
"""

FEW_LEVELS, MOST_LEVELS, HOLE = 7, 20, 8
"""More than `MOST_LEVELS` grades have to be asked for; so has one from `HOLE` on that is far above
all others. A scale is proposed for few, since more may be numbers of documents."""


@dataclass(frozen=True)
class Reversal:
    """One way in which a log may be upside down: in words, the log without it, and what reads it
    so.

    It is `likely` if it undoes what was told, or the grades begin with 1.
    """

    name: str
    undone: PreferencePairs
    remedy: str
    cure: Mapping[str, Any] = field(default_factory=dict)
    likely: bool = False


@dataclass(frozen=True, eq=False)
class Agreements:
    """The weights of the judgements that textbook DCGs respect and violate, shape (M, R) for R
    groups of judgements.

    `total`, shape (R,), is the weight of each group, and `most`, shape (R,), the number of
    judgements of equal weights that say as much (Kish 1965). `rows` and `group`, shape (n,), are
    the numbers in `log` of the judgements that some DCG decides, and their groups, in order.
    """

    respected: Floats
    violated: Floats
    total: Floats
    most: Floats
    log: PreferencePairs
    rows: NDArray[np.intp]
    group: NDArray[np.intp]

    @classmethod
    def of(
        cls, log: PreferencePairs, verdicts: Grades, group: NDArray[np.intp] | None = None
    ) -> Agreements:
        """Return the agreements of verdicts, shape (M, n), with the judgements of each group,
        numbered from 0.
        """
        group = np.zeros(len(log), np.intp) if group is None else group
        order = np.argsort(group, kind="stable")
        order = order[
            (verdicts[:, order] != 0).any(axis=0)
        ]  # lists that no textbook tells apart say nothing
        verdicts, group = verdicts[:, order], group[order]
        weight = np.ones(len(order)) if log.weight is None else log.weight[order]
        start = np.flatnonzero(np.diff(group, prepend=-1))

        def sums(values: Any) -> Floats:
            return (
                np.add.reduceat(values, start, axis=-1)
                if len(start)
                else np.zeros((*values.shape[:-1], 0))
            )

        total = sums(weight)
        respected, violated = (sums((side * verdicts > 0) * weight) for side in (1, -1))
        return cls(respected, violated, total, total**2 / sums(weight**2), log, order, group)

    @property
    def shares(self) -> Floats:
        """The share of the judgements respected of those that a DCG decides, NaN where it decides
        less than half.
        """
        decided = self.respected + self.violated
        return np.where(
            decided < self.total / 2, np.nan, self.respected / np.maximum(decided, 1e-300)
        )

    @property
    def best(self) -> float:
        """The largest share."""
        return float(np.fmax.reduce(self.shares, axis=None, initial=0.0))

    @property
    def upside_down(self) -> NDArray[np.bool_]:
        """Whether a textbook DCG is contradicted far more often than by chance, and none is
        respected half as clearly.

        The first is a one-sided binomial test.
        """
        shares = self.shares
        worst, best = np.fmin.reduce(shares, initial=0.5), np.fmax.reduce(shares, initial=0.0)
        contrary: NDArray[np.bool_] = best - 0.5 < (0.5 - worst) / 2
        if not contrary.any():
            return contrary
        from scipy.special import betainc  # SciPy takes longer to import than most logs to read

        n = (
            np.minimum(self.most, self._n_distinct())
            * (self.respected + self.violated)
            / self.total
        )
        chance = betainc(np.maximum(n * (1 - shares), 1e-9), n * shares + 1, 0.5)
        return contrary & (np.fmin.reduce(chance, initial=1.0) <= LEVEL)

    def _n_distinct(self) -> Integers:
        """Return the number of distinct pairs of lists in each group, or of distinct lists if these
        were rated.
        """
        log = self.log[self.rows]
        first, second = log.clusters("list" if log.rated is not None else "pair")
        number, base = np.concatenate([first, second]).astype(np.int64), len(first) + len(second)
        counts = np.bincount(
            np.unique(np.concatenate([self.group, self.group]) * base + number) // max(base, 1)
        )
        return counts[counts > 0]


def check_sense(
    log: PreferencePairs,
    reversals: Sequence[Reversal] = (),
    swapped: NDArray[np.bool_] | None = None,
) -> None:
    """Raise UpsideDownError if the textbook DCGs contradict a log, or most of its raters, far more
    than chance would.

    `reversals` are the ways in which the log may be upside down, by default those of arrays.
    `swapped`, shape (n,), says which pairs have b shown first: an error is raised for them alone,
    too.
    """
    if not log.graded:
        return
    log, rows = sampled(log)
    if len(log) < FEWEST:
        return
    verdicts = _verdicts(log)
    whole = Agreements.of(log, verdicts)
    groups = _upside_down(log, verdicts, whole, None if swapped is None else swapped[rows])
    contrary = (whose for whose, part in groups if _most_respected(part) < RESPECTED)
    whose = next(contrary, None)
    if whose is None:
        return
    best = f"{whole.best:.1%}"
    tried = [(one, one.undone[rows]) for one in reversals] or [
        (one, one.undone) for one in reversals_of_arrays(log)
    ]
    shares = [(Agreements.of(undone, _verdicts(undone)).best, one) for one, undone in tried]
    helping = sorted(
        (pair for pair in shares if pair[0] > 0.5), key=lambda pair: -round(pair[0], 2)
    )
    cure = _cure(helping)
    remedies = "; ".join(f"{one.name}, {share:.1%}: {one.remedy}" for share, one in helping)
    raise UpsideDownError(
        f"{whose} upside down: none of the textbook DCGs respects more than {best} of {len(log):,} preferences "
        f"(chance: 50%). {remedies or 'No reversal makes sense of it'}. As it is: as_is=True (--as-is)",
        see="upside-down",
        cure=cure,
    )


def _cure(helping: Sequence[tuple[float, Reversal]]) -> Mapping[str, Any]:
    """Return what undoes the only reversal that makes much sense of a log, or the only likely one;
    else nothing.
    """
    close = [one for share, one in helping if share > helping[0][0] - CLOSE]
    likely = [one for one in close if one.likely] or close
    return likely[0].cure if len(likely) == 1 else {}


def sampled(log: PreferencePairs) -> tuple[PreferencePairs, NDArray[np.intp]]:
    """Return the decided judgements and their numbers; of more than `SAMPLE`, so many, evenly
    spread by weight.
    """
    rows = np.arange(len(log)) if log.tie is None else np.flatnonzero(~log.tie)
    if len(rows) <= SAMPLE:
        return log[rows], rows
    ends = np.cumsum(np.ones(len(rows)) if log.weight is None else log.weight[rows])
    rows = rows[np.searchsorted(ends, (np.arange(SAMPLE) + 0.5) * (ends[-1] / SAMPLE))]
    return log[rows].changed(weight=None), rows


def _most_respected(log: PreferencePairs) -> float:
    """Return about the largest share of a log that a utility can respect in which better grades are
    worth more.

    Pairs that were chosen since they are hard to tell can contradict all textbook DCGs, and respect
    such a utility. It is found by non-negative least squares on how many more documents of at least
    each grade stand above each position. Return 0 where that is too much work.
    """
    from scipy.optimize import nnls

    size = (log.n_grades - 1) * log.depth
    if size > MOST_WORTHS:
        return 0.0
    levels = np.arange(1, log.n_grades)[:, None, None]
    above = [
        (levels <= lists).cumsum(axis=2).swapaxes(0, 1) for lists in (log.preferred, log.other)
    ]
    ahead = (above[0] - above[1]).reshape(len(log), -1).astype(np.float64)
    weight = np.ones(len(log)) if log.weight is None else log.weight
    weighted = ahead * weight[:, None]
    root = np.linalg.cholesky(ahead.T @ weighted + 1e-6 * weight.sum() * np.eye(size)).T
    try:
        worth, _ = nnls(root, np.linalg.solve(root.T, weighted.sum(axis=0)), maxiter=30 * size)
    except RuntimeError:  # no end after so many steps
        return 0.0
    return float(weight @ (ahead @ worth > 1e-9)) / float(weight.sum())


def _verdicts(log: PreferencePairs) -> Grades:
    return log.verdicts(textbook_scores(log.n_grades, log.depth))


def _upside_down(
    log: PreferencePairs, verdicts: Grades, whole: Agreements, swapped: NDArray[np.bool_] | None
) -> Iterator[tuple[str, PreferencePairs]]:
    """Yield what of a log the textbook DCGs contradict, in words, and its judgements."""
    if whole.upside_down.any():
        yield "the log is", log
    if log.rater is not None:
        names, number = np.unique(log.rater, return_inverse=True)
        judging = np.unique(number[(verdicts != 0).any(axis=0)])
        contrary = judging[Agreements.of(log, verdicts, number).upside_down]
        if 2 * len(contrary) > len(names):
            yield f"{len(contrary):,} of {len(names):,} raters are", log[np.isin(number, contrary)]
    if (
        swapped is not None
        and swapped.any()
        and Agreements.of(log[swapped], verdicts[:, swapped]).upside_down.any()
    ):
        yield f"the {np.count_nonzero(swapped):,} pairs shown with b first are", log[swapped]


def turned(log: PreferencePairs) -> PreferencePairs:
    """Return a log with its grades turned round: the largest that occurs is the worst."""
    top = max(int(log.preferred.max(initial=0)), int(log.other.max(initial=0)))
    first, second = (
        np.where(x < 0, x, top - x).astype(np.int8) for x in (log.preferred, log.other)
    )
    return log.changed(preferred=first, other=second)


def exchanged(log: PreferencePairs) -> PreferencePairs:
    """Return a log with the winners exchanged."""
    return log.changed(preferred=log.other, other=log.preferred)


def reversals_of_arrays(log: PreferencePairs) -> list[Reversal]:
    """Return the ways in which a log that no reader told about may be upside down."""
    return [
        Reversal("With the grades turned round", turned(log), "give the largest grade minus each"),
        Reversal("With the winners exchanged", exchanged(log), "give the preferred lists first"),
    ]


def one_sided(n: Integers, second: Integers) -> NDArray[np.bool_]:
    """Tell whether raters with n decided verdicts, of which `second` name the list shown second,
    always name a side.
    """
    always: NDArray[np.bool_] = (n >= FEWEST) & (np.minimum(second, n - second) <= NEAR * n)
    return always


def check_first(log: PreferencePairs, *, translated: bool) -> None:
    """Warn if most raters always name one side; all pairs are decided, `translated` tells whether
    sides were.
    """
    swapped, rater = np.asarray(log.swapped), log.rater
    names = (
        np.zeros(len(swapped), np.intp)
        if rater is None
        else np.unique(rater, return_inverse=True)[1]
    )
    n = np.append(np.bincount(names), len(names))
    second = np.append(np.bincount(names, swapped), swapped.sum())
    always = one_sided(n, second)
    if not always[-1] and 2 * always[:-1].sum() <= len(n) - 1:
        return
    share = 1 - second[-1] / max(n[-1], 1)
    found = f"most raters always name one side: the list shown first in {share:.1%} of {len(swapped):,} preferences"
    doubt = "do winners mean lists, and not what was shown?"
    if translated:
        doubt = "words such as left were taken for what was shown there; sides='listed' takes them for lists a and b"
    warnings.warn(
        f"{found}: of the lists they say nothing, unless they were misread ({doubt})", stacklevel=2
    )


def check_grades(first: Grades, second: Grades) -> None:
    """Raise InputError if the grades of lists are no scale of a few levels."""
    from dcglearn.logs.visibility import grade_counts

    check_scale(grade_counts(first, second)[:MAX_GRADES])


def is_stray(counts: Integers) -> bool:
    """Return whether hardly any item has the top grade of those counted from 0, and it is not next
    to another.
    """
    top, below = _top_two(np.flatnonzero(counts))
    return top - below > 1 and bool(counts[top] <= STRAY * counts.sum())


def _top_two(occurring: NDArray[np.intp]) -> tuple[int, int]:
    top = int(occurring.max(initial=0))
    return top, int(occurring[-2]) if len(occurring) > 1 else top


def check_scale(counts: Integers) -> None:
    """Raise InputError if the grades, counted from 0, are codes rather than a scale, or the top one
    is stray.
    """
    occurring = np.flatnonzero(counts)
    top, below = _top_two(occurring)
    stray = is_stray(counts)
    if not stray and (top < HOLE or (top - below <= below + 1 and top < MOST_LEVELS)):
        return

    # a scale by number is proposed where grades below the top are missing, too
    cure: dict[str, Any]
    levels = ",".join(map(str, occurring))
    few = len(occurring) <= FEW_LEVELS
    by_number = f"; if the grades are {levels}: scale= (--scale {levels})" if few else ""
    cure = {"scale": levels.split(",")} if few and not stray and len(occurring) < below + 2 else {}

    if stray:
        share = f"{counts[top]:,} of {counts.sum():,} items"
        found = f"the grade {top} ({share}) stands apart from the others, 0 to {below}"
        remedy = f"correct it, or write -1 if it means no grade{by_number}"
    elif top - below > below + 1:
        found = f"the grade {top} ({counts[top]:,}) stands far above the others, 0 to {below}"
        remedy = f"if it means no grade, write -1, or leave it blank{by_number}"
    elif len(occurring) <= MOST_LEVELS:
        found = f"{top} is the largest of {len(occurring)} grades"
        remedy = f"name them by scale= (--scale {levels}) or, if they are numbers of documents, give judgements (--qrels)"
    else:
        found, cure = f"{len(occurring)} grades are many for a scale", {"qrels": "QRELS"}
        remedy = "give a few levels or, if they are numbers of documents, judgements (--qrels)"
    insists = f"n_grades={top + 1} (--grades {top + 1}) takes them as they are"
    raise InputError(f"{found}: {remedy}; {insists}", see="grades", cure=cure)
