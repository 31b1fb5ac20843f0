"""Repeated judgements: units of agreement, and pairs shown both ways."""

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Flags, Floats, Indices, InputError, Integers, one_of
from dcglearn.logs.columns import Columns, ties_of, ways_of
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs
from dcglearn.logs.unique_rows import list_numbers, numbered, pair_numbers, unique_rows

INCONSISTENT = ("keep", "half", "tie")
"""How two differing verdicts of one rater on a pair shown both ways count."""


@dataclass(frozen=True, eq=False)
class Units:
    """What was judged, whichever of its two lists was preferred or shown first.

    `number`, shape (n,), counts the units from 0. `value`, shape (n,), is the verdict on the unit:
    0 for a tie, else the strength (1 without strengths), positive for one of its lists and negative
    for the other. `way`, shape (n,), is 1 where that one was shown first and -1 where the other
    was; 0 where the log does not say.
    """

    number: Indices
    value: Floats
    way: Integers


def units(log: Columns) -> Units:
    """Return the units of a log: one query and documents or, without names, lists of grades."""
    # the pair of lists, named or not, and which of them is ahead
    number = np.column_stack(list_numbers(log.preferred, log.other))
    if log.docs is not None:
        names = numbered(log.docs.astype(str)).reshape(-1, 2)
        number = np.where(log.docs == "", number, number.max(initial=0) + 1 + names)
    first, second = number.T
    side = np.sign(second - first)
    pair = pair_numbers(first, second)
    if log.query is not None:
        pair = unique_rows(np.column_stack([numbered(log.query), pair]).astype(np.int64))[2]

    # the verdict on it
    strength = 1.0 if log.strength is None else log.strength
    value = side * np.where(ties_of(log), 0.0, strength)
    return Units(pair, value, side * ways_of(log))


@dataclass(frozen=True, eq=False)
class ShownBothWays:
    """The pairs that one rater judged both ways round.

    `rater`, shape (m,), is the rater's number (0 where the log names none), `same`, shape (m,),
    whether all verdicts on the pair agree, and `member`, shape (n,), the number of this pair for
    each judgement of the log, -1 for none.
    """

    rater: Integers
    same: Flags
    member: Indices


def shown_both_ways(log: Columns) -> ShownBothWays:
    """Return the pairs that one rater judged both ways round; strengths do not matter."""
    # groups of one rater's verdicts on one pair
    judged = units(log)
    rater = np.zeros(len(log), np.intp) if log.rater is None else numbered(log.rater)
    keys, _, group = unique_rows(np.column_stack([rater, judged.number]).astype(np.int64))

    # groups shown both ways, and whether one verdict alone occurs in them
    both = np.flatnonzero(_n_different(group, judged.way) > 1)
    same = _n_different(group, np.sign(judged.value))[both] == 1

    place = np.full(len(keys), -1)
    place[both] = np.arange(len(both))
    return ShownBothWays(keys[both, 0], same, place[group])


def _n_different(group: Indices, values: Floats | Integers) -> Indices:
    """Return how many different values each group holds."""
    pairs = unique_rows(np.column_stack([group, values]).astype(np.int64))[0]
    return np.bincount(pairs[:, 0])


def reconciled(log: AnyLog, inconsistent: str) -> AnyLog:
    """Return a log with each rater's contradictory verdicts on a repeated pair resolved.

    Each such verdict counts half, as a tie, or as it is ("half", "tie", "keep"). Raises InputError
    if the word is unknown, or the log has no column `swapped`.

    See Also
    --------
    rater_agreement : How often raters contradict themselves.

    Examples
    --------
    >>> log = dl.Preferences([[2, 0], [0, 1]], [[0, 1], [2, 0]], swapped=[True, True])
    >>> dl.trust.reconciled(log, "half").weight.tolist()
    [0.5, 0.5]
    """
    one_of(inconsistent, "inconsistent", INCONSISTENT)
    if inconsistent == "keep":
        return log
    if log.swapped is None:
        raise InputError(
            f"inconsistent={inconsistent!r} must know the list shown first: give the column swapped"
        )

    # verdicts of a rater who contradicts them; the last entry is for all other pairs
    repeated = shown_both_ways(log)
    differ = ~np.append(repeated.same, True)[repeated.member]

    if inconsistent == "tie":
        return log.changed(tie=ties_of(log) | differ)
    weight = log.weights
    return log.changed(weight=np.where(differ, 0.5 * weight, weight))


def contradiction(log: PreferencePairs) -> str:
    """Return how many pairs contradict others, in a sentence; empty if none do."""
    n = log.n_contradicted()
    if not n:
        return ""
    share, say = n / log.decided.total_weight, "says" if n == 1 else "say"
    pairs = f"{number_of(round(n, 1), 'pairs', ',.10g')}, {share:.1%} of those with a winner"
    return f"contradicted: {pairs}, {say} the opposite of another pair"
