"""Check that a log is not upside down: winners or grades reversed, or sides swapped."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.validation import Flags, Floats, Grades, UpsideDownError
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.sides import Sides
from dcglearn.metrics.textbook import textbook_scores
from dcglearn.reading.winners import NAMED

OTHER = {"a": "b", "b": "a", "left": "right", "right": "left"}
"""The opposite of each meaning of a word for the winner."""

AS_IT_IS = "As it is"
GRADES = "With the grades reversed"
WINNERS = "With the winners exchanged"
SIDES = "With sides told the other way"

OF_ARRAYS = {WINNERS: "give the preferred lists first", GRADES: "give the largest grade minus each"}
"""What mends each reversal of a log that was not read from a table."""

CHECKED_PAIRS = 5_000
"""Number of judgements, about, that are checked in a larger log."""

FEWEST_PAIRS = 10
"""Fewer judgements than this cannot contradict a metric more often than by chance."""


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
    lowest = int(0 not in np.stack([log.preferred, log.other]))
    names = log.grade_names or tuple(map(str, range(lowest, log.n_grades)))

    # words for the other winner
    meanings = {word: meaning.partition(":") for word, (meaning, _) in words.items()}
    other = {
        word: f"{OTHER[side]}{mark}{strength}"
        for word, (side, mark, strength) in meanings.items()
        if side in OTHER
    }
    exchange = f"winner_words={other}" if other else "negate the ratings if small ones are good"
    if NAMED in words:
        exchange = "exchange the two systems, run_a= and run_b= (--run-a, --run-b) or their columns"
    remedies = {WINNERS: exchange, GRADES: f"scale={list(names[::-1])}"}

    if b_first is None:
        check_sense(log, remedies)
        return

    # what was shown there, or the list of that name
    named = sides == "shown" or any(side in ("left", "right") for side, _, _ in meanings.values())
    remedies[SIDES] = f"sides={'listed' if named and sides != 'listed' else 'shown'!r}"
    check_sense(log.changed(swapped=b_first), remedies)
    if 0 < np.count_nonzero(b_first) < len(b_first):
        warn_of_one_side(log.decided)


def warn_of_one_side(log: PreferencePairs) -> None:
    """Warn if most raters of a log of decided pairs, or all together, always name one side."""
    swapped, all_alike = np.asarray(log.swapped), np.zeros(len(log))
    everyone = Sides.of(all_alike, swapped)
    each = everyone if log.rater is None else Sides.of(log.rater, swapped)
    if not everyone.one_sided.any() and 2 * each.one_sided.sum() <= len(each.one_sided):
        return

    # how often the first list won, and what may have been misread
    warnings.warn(
        f"most raters always name one side: the list shown first in {1 - swapped.mean():.1%} of "
        f"{len(log):,} preferences: of the lists they say nothing, unless they were misread: "
        "sides='shown' takes all winners for what was shown there, and sides='listed' takes them "
        "for lists a and b",
        stacklevel=2,
    )


def check_sense(log: Any, remedies: Mapping[str, str] = OF_ARRAYS) -> None:
    """Raise UpsideDownError if textbook DCGs contradict a log far more often than chance would.

    So they may contradict most of its raters. A sample of the log is checked. `remedies` say what
    mends each reversal. If sides can be told the other way, the log's `swapped` says which pairs
    were shown with b first: these are checked alone, too.
    """
    if not log.graded or log.n_grades < 2:
        return
    pairs = log.thinned(CHECKED_PAIRS).decided
    if len(pairs) < FEWEST_PAIRS:
        return

    # what is upside down, unless some utility respects most of it
    textbooks = textbook_scores(pairs.n_grades, pairs.depth)
    verdicts = pairs.verdicts(textbooks)
    b_first = pairs.swapped if SIDES in remedies else None
    groups = _upside_down(pairs, verdicts, b_first)
    name = next((name for name, part in groups if most_respected(pairs[part]) < 0.75), None)
    if name is None:
        return

    # the log as it is and with each reversal; grades are the largest minus each
    lists = np.stack([pairs.preferred, pairs.other])
    first, second = np.where(lists < 0, lists, lists.max() - lists).astype(np.int8)
    turned = pairs.changed(preferred=first, other=second).verdicts(textbooks)
    readings = {AS_IT_IS: verdicts, GRADES: turned, WINNERS: -verdicts}
    if b_first is not None:
        readings[SIDES] = np.where(b_first, -verdicts, verdicts)

    # how much of it the best textbook DCG respects
    best = {
        name: float(agreement(pairs, told)[0].max(initial=0.0)) for name, told in readings.items()
    }
    best_first = sorted(remedies, key=lambda reversal: -round(best[reversal], 2))
    mended = ". ".join(
        f"{one}, {best[one]:.1%}: {remedies[one]}" for one in best_first if best[one] > 0.5
    )
    raise UpsideDownError(
        f"{name} upside down: none of the textbook DCGs respects more than {best[AS_IT_IS]:.1%} "
        f"of {len(pairs):,} preferences (chance: 50%). "
        f"{mended or 'No reversal makes sense of it'}. As it is: as_is=True (--as-is)"
    )


def _upside_down(
    log: PreferencePairs, verdicts: Grades, b_first: Flags | None
) -> Iterator[tuple[str, Flags]]:
    """Yield what of a log the textbook DCGs contradict, in words, and which judgements it is."""
    everything = np.ones(len(log), bool)
    if _contradicted(log, verdicts, everything):
        yield "the log is", everything

    # most of the raters
    if log.rater is not None:
        names, number = np.unique(log.rater, return_inverse=True)
        some = np.flatnonzero(np.bincount(number) >= FEWEST_PAIRS)
        contrary = [rater for rater in some if _contradicted(log, verdicts, number == rater)]
        if 2 * len(contrary) > len(names):
            yield f"{len(contrary):,} of {len(names):,} raters are", np.isin(number, contrary)

    # pairs shown the other way round
    if b_first is not None and _contradicted(log, verdicts, b_first):
        yield f"the {b_first.sum():,} pairs shown with b first are", b_first


def _contradicted(log: PreferencePairs, verdicts: Grades, rows: Flags) -> bool:
    """Return whether a textbook DCG is contradicted in some rows, and none respected half as well.

    Contradicted means far more often than by chance, in a one-sided binomial test at .001.
    """
    rows = rows & (verdicts != 0).any(axis=0)
    if np.count_nonzero(rows) < FEWEST_PAIRS:
        return False

    log = log[rows]
    shares, decided = agreement(log, verdicts[:, rows])
    if shares.max(initial=0.0) - 0.5 >= (0.5 - shares.min(initial=0.5)) / 2:
        return False

    # judgements that count as independent: of equal weights (Kish 1965), and of distinct lists
    weight = log.weights
    n_distinct = np.unique(log.clusters("list" if log.rated is not None else "pair")).size
    n = min(weight.sum() ** 2 / (weight @ weight), n_distinct) * decided
    return bool(binomial_tail(n * (1 - shares), n).min(initial=1.0) <= 0.001)


def agreement(log: PreferencePairs, verdicts: Grades) -> tuple[Floats, Floats]:
    """Return the shares of weight that textbook DCGs respect, and those that they decide.

    Given the `verdicts` of M of them, shape (M, n). The first is the share of what a DCG decides,
    the second of what any decides. DCGs that decide under half of that are left out.
    """
    weight = log.weights
    decided = (verdicts != 0) @ weight
    share = decided / max(weight @ (verdicts != 0).any(axis=0), 1e-300)
    some = share >= 0.5
    return ((verdicts > 0) @ weight)[some] / decided[some], share[some]


def most_respected(log: PreferencePairs) -> float:
    """Return about the largest share of a log that a utility with rising grades can respect.

    Pairs that were chosen since they are hard to tell can contradict all textbook DCGs, and respect
    such a utility. Its values are the mean leads of the preferred lists, where they are above 0, in
    documents of at least each grade down to each position.
    """
    levels = np.arange(1, log.n_grades)[:, None, None]
    above = [(levels <= lists).cumsum(axis=2) for lists in (log.preferred, log.other)]
    leads, weight = above[0] - above[1], log.weights

    values = np.maximum(np.einsum("lnk,n->lk", leads, weight), 0)
    respected = np.einsum("lnk,lk->n", leads, values) > 0
    return float(np.average(respected, weights=weight))
