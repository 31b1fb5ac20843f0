"""Check that a log is not upside down: winners or grades reversed, or sides swapped."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.validation import Flags, Floats, Grades, Indices, Integers, UpsideDownError
from dcglearn.logs.columns import ties_of, weights_of
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.sides import one_sided
from dcglearn.metrics.textbook_scores import textbook_scores

OTHER = {"a": "b", "b": "a", "left": "right", "right": "left"}
"""The opposite of each meaning of a word for the winner."""

CHECKED_PAIRS = 5_000
"""Number of judgements, about, that are checked in a larger log."""


@dataclass(frozen=True)
class Reversal:
    """One way in which a log may be upside down: in words, the log without it, and its remedy."""

    name: str
    undone: PreferencePairs
    remedy: str


@dataclass(frozen=True, eq=False)
class Agreements:
    """The weights of the judgements that M textbook DCGs respect and violate, in R groups, (M, R).

    `total`, shape (R,), is the weight of each group, and `most`, shape (R,), the number of
    judgements of equal weights that say as much (Kish 1965). `rows` and `group`, shape (n,), are
    the numbers in `log` of the judgements that some DCG decides, and their groups, in order.
    """

    respected: Floats
    violated: Floats
    total: Floats
    most: Floats
    log: PreferencePairs
    rows: Indices
    group: Indices

    @classmethod
    def of(cls, log: PreferencePairs, verdicts: Grades, group: Indices | None = None) -> Agreements:
        """Return the agreements of verdicts, shape (M, n), with groups of judgements from 0."""
        group = np.zeros(len(log), np.intp) if group is None else group

        # order by group, without lists that no textbook tells apart
        order = np.argsort(group, kind="stable")
        order = order[(verdicts[:, order] != 0).any(axis=0)]
        verdicts, group = verdicts[:, order], group[order]
        weight = weights_of(log)[order]
        start = np.flatnonzero(np.diff(group, prepend=-1))

        def sums(values: Any) -> Floats:
            if not len(start):
                return np.zeros((*values.shape[:-1], 0))
            return np.add.reduceat(values, start, axis=-1)

        total = sums(weight)
        respected, violated = (sums((side * verdicts > 0) * weight) for side in (1, -1))
        return cls(respected, violated, total, total**2 / sums(weight**2), log, order, group)

    @property
    def shares(self) -> Floats:
        """The share of decided judgements that is respected, NaN if under half are decided."""
        decided = self.respected + self.violated
        shares = self.respected / np.maximum(decided, 1e-300)
        return np.where(decided < self.total / 2, np.nan, shares)

    @property
    def best(self) -> float:
        """The largest share."""
        return float(np.fmax.reduce(self.shares, axis=None, initial=0.0))

    @property
    def upside_down(self) -> Flags:
        """Whether a textbook DCG is contradicted, and none is respected half as clearly.

        Contradicted means far more often than by chance, in a one-sided binomial test.
        """
        shares = self.shares
        worst, best = np.fmin.reduce(shares, initial=0.5), np.fmax.reduce(shares, initial=0.0)
        contrary: Flags = best - 0.5 < (0.5 - worst) / 2
        if not contrary.any():
            return contrary

        # the binomial distribution at 1/2, of judgements that count as independent
        decided = (self.respected + self.violated) / self.total
        n = np.minimum(self.most, self._n_distinct()) * decided
        chance = binomial_tail(n * (1 - shares), n)
        level = 0.001
        return contrary & (np.fmin.reduce(chance, initial=1.0) <= level)

    def _n_distinct(self) -> Integers:
        """Return how many distinct pairs of lists each group has, or lists if these were rated."""
        log = self.log[self.rows]
        first, second = log.clusters("list" if log.rated is not None else "pair")
        number, base = np.concatenate([first, second]).astype(np.int64), len(first) + len(second)
        keys = np.concatenate([self.group, self.group]) * base + number
        counts = np.bincount(np.unique(keys) // max(base, 1))
        return counts[counts > 0]


def check_direction(
    log: PreferencePairs,
    words: Mapping[str, tuple[str, int]],
    b_first: Flags | None = None,
    sides: str | None = None,
) -> None:
    """Raise UpsideDownError if a log that was read seems reversed, with the option that mends it.

    `words` are those of its winners with their meanings. The pairs that were shown with b first are
    checked alone too, since what left means decides them; `sides` says what it was taken for.
    """
    grades = np.unique([log.preferred, log.other])
    lowest, top = int(grades[grades >= 0].min(initial=1)), int(grades.max(initial=0))
    names = log.grade_names or tuple(map(str, range(lowest, top + 1)))

    # what would mend it: grades the other way round, or winners
    meanings = {word: meaning.partition(":") for word, (meaning, _) in words.items()}
    other = {
        word: f"{OTHER[side]}{mark}{strength}"
        for word, (side, mark, strength) in meanings.items()
        if side in OTHER
    }
    exchange = f"winner_words={other}" if other else "negate the ratings if small ones are good"
    reversals = [
        Reversal("With the grades reversed", turned(log), f"scale={list(names[::-1])}"),
        Reversal("With the winners exchanged", exchanged(log), exchange),
    ]

    # pairs whose winner depends on what left means
    translated, some = False, b_first is not None and 0 < np.count_nonzero(b_first) < len(b_first)
    if b_first is not None:
        b_first = b_first & ~ties_of(log)
        first = np.where(b_first[:, None], log.other, log.preferred)
        second = np.where(b_first[:, None], log.preferred, log.other)
        undone = log.changed(preferred=first, other=second)
        is_shown = sides == "shown" or {"left", "right"} & {
            side for side, _, _ in meanings.values()
        }
        translated = bool(is_shown) and sides != "listed"
        remedy = f"sides={'listed' if translated else 'shown'!r}"
        reversals.append(Reversal("With sides told the other way", undone, remedy))
    check_sense(log, reversals, b_first)
    if some:
        check_first(log.decided, translated=translated)


def check_first(log: PreferencePairs, *, translated: bool) -> None:
    """Warn if most raters of a log of decided pairs always name one side.

    `translated` says that sides were translated to lists.
    """
    swapped = np.asarray(log.swapped)
    names = np.zeros(len(swapped), np.intp)
    if log.rater is not None:
        names = np.unique(log.rater, return_inverse=True)[1]

    # each rater, and all raters together
    n = np.append(np.bincount(names), len(names))
    second = np.append(np.bincount(names, swapped), swapped.sum())
    always = one_sided(n, second)
    if not always[-1] and 2 * always[:-1].sum() <= len(n) - 1:
        return

    # how often the first list won, and what may have been misread
    share = 1 - second[-1] / max(n[-1], 1)
    doubt = "do winners mean lists, and not what was shown?"
    if translated:
        doubt = (
            "words such as left were taken for what was shown there; "
            "sides='listed' takes them for lists a and b"
        )
    warnings.warn(
        f"most raters always name one side: the list shown first in {share:.1%} of "
        f"{len(swapped):,} preferences: of the lists they say nothing, "
        f"unless they were misread ({doubt})",
        stacklevel=2,
    )


def check_sense(
    log: PreferencePairs, reversals: Sequence[Reversal] = (), swapped: Flags | None = None
) -> None:
    """Raise UpsideDownError if textbook DCGs contradict a log far more often than chance would.

    So they may contradict most of its raters.

    `reversals` are the ways in which the log may be upside down, by default those of arrays.
    `swapped`, shape (n,), marks the pairs whose winner depends on what sides mean, those with b
    shown first: an error is raised for them alone, too.
    """
    fewest_pairs = 10
    if not log.graded:
        return
    log, rows = sampled(log)
    if len(log) < fewest_pairs:
        return

    # what is upside down, unless some utility respects most of it
    respected = 0.8
    verdicts = _verdicts(log)
    whole = Agreements.of(log, verdicts)
    groups = _upside_down(log, verdicts, whole, None if swapped is None else swapped[rows])
    contrary = (name for name, part in groups if _most_respected(part) < respected)
    name = next(contrary, None)
    if name is None:
        return

    # reversals that make sense of it, best first
    tried = [(one, one.undone[rows]) for one in reversals]
    tried = tried or [(one, one.undone) for one in _reversals_of_arrays(log)]
    shares = [(Agreements.of(undone, _verdicts(undone)).best, one) for one, undone in tried]
    helping = [pair for pair in shares if pair[0] > 0.5]
    helping.sort(key=lambda pair: -round(pair[0], 2))

    # say what to do
    remedies = ". ".join(f"{one.name}, {share:.1%}: {one.remedy}" for share, one in helping)
    raise UpsideDownError(
        f"{name} upside down: none of the textbook DCGs respects more than {whole.best:.1%} "
        f"of {len(log):,} preferences (chance: 50%). "
        f"{remedies or 'No reversal makes sense of it'}. As it is: as_is=True (--as-is)",
        see="upside-down",
    )


def sampled(log: PreferencePairs) -> tuple[PreferencePairs, Indices]:
    """Return the decided judgements and their numbers, a sample by weight of a larger log."""
    rows = np.arange(len(log)) if log.tie is None else np.flatnonzero(~log.tie)
    if len(rows) <= CHECKED_PAIRS:
        return log[rows], rows
    ends = np.cumsum(weights_of(log)[rows])
    middles = (np.arange(CHECKED_PAIRS) + 0.5) * (ends[-1] / CHECKED_PAIRS)
    rows = rows[np.searchsorted(ends, middles)]
    return log[rows].changed(weight=None), rows


def _most_respected(log: PreferencePairs, most_values: int = 1_000) -> float:
    """Return about the largest share of a log that a utility with rising grades can respect.

    Pairs that were chosen since they are hard to tell can contradict all textbook DCGs, and respect
    such a utility. It is found by non-negative least squares on how many more documents of at least
    each grade stand above each position. Return 0 for utilities of more than `most_values`.
    """
    from scipy.optimize import nnls

    size = (log.n_grades - 1) * log.depth
    if size > most_values:
        return 0.0

    # documents of at least each grade down to each position, first list minus second
    levels = np.arange(1, log.n_grades)[:, None, None]
    lists = (log.preferred, log.other)
    above = [(levels <= x).cumsum(axis=2).swapaxes(0, 1) for x in lists]
    ahead = (above[0] - above[1]).reshape(len(log), -1).astype(np.float64)

    # least squares of a margin of 1 by its normal equations
    weight = weights_of(log)
    weighted = ahead * weight[:, None]
    root = np.linalg.cholesky(ahead.T @ weighted + 1e-6 * weight.sum() * np.eye(size)).T
    try:
        values, _ = nnls(root, np.linalg.solve(root.T, weighted.sum(axis=0)), maxiter=30 * size)
    except RuntimeError:  # no end within maxiter steps
        return 0.0
    return float(weight @ (ahead @ values > 1e-9)) / float(weight.sum())


def _verdicts(log: PreferencePairs) -> Grades:
    return log.verdicts(textbook_scores(log.n_grades, log.depth))


def _upside_down(
    log: PreferencePairs, verdicts: Grades, whole: Agreements, swapped: Flags | None
) -> Iterator[tuple[str, PreferencePairs]]:
    """Yield what of a log the textbook DCGs contradict, in words, and its judgements."""
    if whole.upside_down.any():
        yield "the log is", log

    # most of the raters who judged lists that textbooks tell apart
    if log.rater is not None:
        names, number = np.unique(log.rater, return_inverse=True)
        judging = np.unique(number[(verdicts != 0).any(axis=0)])
        contrary = judging[Agreements.of(log, verdicts, number).upside_down]
        if 2 * len(contrary) > len(names):
            yield f"{len(contrary):,} of {len(names):,} raters are", log[np.isin(number, contrary)]

    # pairs shown the other way round
    if swapped is not None and swapped.any():
        shown = log[swapped]
        if Agreements.of(shown, verdicts[:, swapped]).upside_down.any():
            yield f"the {len(shown):,} pairs shown with b first are", shown


def turned(log: PreferencePairs) -> PreferencePairs:
    """Return a log with its grades reversed: the largest that occurs is the worst."""
    lists = (log.preferred, log.other)
    top = max(int(x.max(initial=0)) for x in lists)
    first, second = (np.where(x < 0, x, top - x).astype(np.int8) for x in lists)
    return log.changed(preferred=first, other=second)


def exchanged(log: PreferencePairs) -> PreferencePairs:
    """Return a log with the winners swapped."""
    return log.changed(preferred=log.other, other=log.preferred)


def _reversals_of_arrays(log: PreferencePairs) -> list[Reversal]:
    """Return the ways in which a log that no reader told about may be upside down."""
    return [
        Reversal("With the grades turned round", turned(log), "give the largest grade minus each"),
        Reversal("With the winners exchanged", exchanged(log), "give the preferred lists first"),
    ]
