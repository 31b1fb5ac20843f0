"""The simulator of Zhou et al. 2008, sections 6 to 8: ground truths, list makers and noisy judges.

Every function takes `random_state` (int, Generator or None), and the same seed gives the same
bytes. With one seed, a higher noise level adds to the mistakes of a lower one, so curves over the
noise level are not blurred by other mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    Flags,
    Floats,
    Grades,
    InputError,
    Seed,
    graded_lists,
    known,
    multiset,
    one_of,
    scale_size,
    whole_number,
    within,
)
from dcglearn.logs.preference_pairs import TIE_TOLERANCE
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import AnyMetric, MetricLike, largest_value, read_metric
from dcglearn.reading.preferences import Preferences
from dcglearn.simulate.lists import PAPER_LIST, TwoLists, free_lists, permutations

LIST_PAIRS = ("permutations", "free", "optimal", "optimal-free")
"""The ways in which `preference_pairs` makes the two lists of a pair."""

_LABELS = {"query": "n_queries", "rater": "n_raters"}
"""The labels of a pair, and the parameter that gives the number of different ones."""


def ground_truth(name: str, n_grades: int = 5, depth: int = 10) -> DCG:
    """Return a ground truth of Zhou et al. 2008, section 6.1, eq. 2 (they count from 1).

    "D1" has the gains ``l + 1``, "D2" ``2^(l+1) - 1`` for the grades l = 0..L-1, 0 = worst. The K
    discounts are ``1 / log(k + 2)``, natural logarithm, k = 0..K-1. Raises InputError if the name
    is neither of the two, or a size is not a positive integer.

    See Also
    --------
    simulate.preference_pairs : Judgements under it.

    Examples
    --------
    >>> ground_truth("D2", depth=3)
    DCG(gains=[1, 3, 7, 15, 31], discounts=[1.4427, 0.91024, 0.72135])
    """
    # grades from 1, as in eq. 2
    grades = np.arange(1.0, scale_size(n_grades, 0) + 1)
    gains = {"D1": grades, "D2": 2.0**grades - 1}
    if name not in gains:
        choices = "neither D1 (gains l+1) nor D2 (gains 2^(l+1)-1)"
        raise InputError(f"ground truth {name!r} is {choices}")
    return DCG(gains[name], 1 / np.log(np.arange(whole_number(depth, "depth")) + 2.0))


class JudgeOptions(TypedDict, total=False):
    """Keywords of `judge`, for functions that draw the pairs which it judges."""

    n_flips: int
    flip_rate: float
    temperature: float
    tie_below: float
    rater: ArrayLike | None
    rater_error: Mapping[Any, float] | None
    query: ArrayLike | None
    n_grades: int | None


def judge(
    truth: MetricLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_flips: int = 0,
    flip_rate: float = 0.0,
    temperature: float = 0.0,
    tie_below: float = 0.0,
    rater: ArrayLike | None = None,
    rater_error: Mapping[Any, float] | None = None,
    query: ArrayLike | None = None,
    random_state: Seed = None,
    n_grades: int | None = None,
) -> Preferences:
    """Judge pairs of lists by a truth, with mistakes; return the log of the pairs in their order.

    A tie has its first list as `preferred`. Ties are those of the noise-free truth, within 1e-12 of
    its largest score (under D1, ``1/log 2``, ``1/log 4`` and ``1/log 8`` are commensurable), and
    are never flipped. Several kinds of noise act one after the other: a pair that is flipped twice
    is ordered as by the truth. Raises InputError if the arrays do not match, or a setting is out of
    range, or a rater has no error rate.

    Parameters
    ----------
    truth : DCG, another metric, or its file
        Its scores decide which list wins.
    first, second : array_like of int, shape (n, K)
        Grades by position. Positions beyond the truth's depth do not count.
    n_flips, flip_rate : int, float
        Number of decided pairs to flip, chosen at random (Zhou et al. 2008, section 6.4); or flip
        each of them with this probability, 0 to 1/2.
    temperature : float
        Bradley-Terry noise, in units of the truth's score: the first list wins with probability
        ``1 / (1 + exp(-difference / temperature))``.
    tie_below : float
        Pairs whose scores differ by at most this are ties in the log. Exactly tied pairs always
        are.
    rater, query : array_like of str, shape (n,), optional
        Who judges each pair, and its query; kept in the log.
    rater_error : mapping of rater to float, optional
        Probability, 0 to 1, that this rater flips a pair. Every rater of the pairs must be in it.
    random_state, n_grades
        Same seed, same mistakes; the scale of the log, the truth's by default.

    See Also
    --------
    simulate.preference_pairs : Draw lists and judge them.

    Examples
    --------
    >>> truth = ground_truth("D1", n_grades=3, depth=2)
    >>> log = judge(truth, [[0, 2], [2, 1], [1, 1]], [[2, 0], [1, 2], [1, 1]])
    >>> log.preferred.tolist(), log.tie.tolist()
    ([[2, 0], [2, 1], [1, 1]], [False, False, True])
    """
    truth = read_metric(truth, n_grades, name="truth")
    ahead, behind = (
        graded_lists(values, name, truth.n_grades, empty=True)
        for values, name in ((first, "first"), (second, "second"))
    )
    if ahead.ndim != 2 or ahead.shape != behind.shape:
        shapes = f"first {ahead.shape} and second {behind.shape}"
        raise InputError(f"{shapes} must both have the shape (n, K)")
    within(tie_below, "tie_below", np.inf, "it is a difference of scores")
    within(temperature, "temperature", np.inf, "0 is no noise")
    rng, n = np.random.default_rng(random_state), len(ahead)
    difference = _difference(truth, ahead, behind)
    tie = np.abs(difference) <= tie_below

    # flip pairs; those of fewer flips are among those of more
    decided = np.flatnonzero(~tie)
    remedy = f"{len(decided)} pairs are decided; make more pairs or fewer flips"
    flips = whole_number(n_flips, "n_flips", 0, len(decided), remedy)
    flipped = rng.random(n) < _flip_chances(n, flip_rate, rater, rater_error)
    flipped[rng.permutation(decided)[:flips]] ^= True

    # a logistic variable exceeds -x with probability 1/(1 + exp(-x)), without an overflow
    first_wins = (difference + temperature * rng.logistic(size=n) > 0) ^ flipped
    winner, loser = _by_winner(first_wins | tie, ahead, behind)

    return Preferences(
        winner,
        loser,
        n_grades=truth.n_grades if n_grades is None else n_grades,
        tie=tie if tie.any() else None,
        rater=rater,
        query=query,
    )


def _by_winner(first_wins: Flags, first: Grades, second: Grades) -> TwoLists:
    """Return the winning and the losing lists, shape (n, K)."""
    wins = first_wins[:, None]
    return np.where(wins, first, second), np.where(wins, second, first)


@spelled_out(JudgeOptions, judge)
def preference_pairs(
    truth: MetricLike,
    n: int,
    *,
    lists: str = "permutations",
    documents: ArrayLike = PAPER_LIST,
    n_raters: int | None = None,
    n_queries: int | None = None,
    random_state: Seed = None,
    **judge_options: Unpack[JudgeOptions],
) -> Preferences:
    """Draw pairs of lists and judge them.

    Zhou et al. 2008, sections 6.1, 6.4 and 6.5. Raises InputError if a setting is impossible, or
    the truth ties all such lists.

    Parameters
    ----------
    truth : DCG, another metric, or its file
        Its scores decide which list wins. Its depth is the depth of the lists, unless there are
        fewer `documents`.
    n : int
        Number of pairs; those that are exactly tied under the truth are drawn again (the paper does
        not say how it treats them), those within `tie_below` are not.
    lists : {"permutations", "free", "optimal", "optimal-free"}
        Two `permutations` of `documents` (sections 6.1 to 6.4); two `free_lists` of the truth's
        scale; the best ordering of `documents` against a permutation, or against a free list
        (section 6.5): the sorted list is the best
        under every DCG whose gains grow with the grade and whose discounts are not negative and do
        not rise (Proposition 1), so that such pairs of one multiset tell nothing about it.
    documents : array_like of int, shape (N,)
        The multiset of grades; the paper's by default. Not used by ``"free"``.
    n_raters, n_queries : int, optional
        Assign each pair at random to one of the raters ``rater 1``, ``rater 2``, ... (queries
        ``query 1``, ...).
    random_state : int or Generator, optional
        Same seed, same log, and same lists at any noise.
    **judge_options
        `n_flips`, `flip_rate`, `temperature`, `tie_below`, `rater`, `rater_error`, `query`,
        `n_grades`: see `judge`.

    See Also
    --------
    simulate.judge : Judge lists of one's own.

    Examples
    --------
    >>> log = preference_pairs(ground_truth("D1"), 200, n_flips=20, random_state=0)
    >>> log, log.agreement(ground_truth("D1")).precision
    (Preferences(200 pairs, depth 10, 5 grades), 0.9)
    """
    rng = np.random.default_rng(random_state)
    truth = read_metric(truth, name="truth")
    first, second = _decided_lists(truth, lists, documents, rng, n)
    options = _labelled(judge_options, n, rng, rater=n_raters, query=n_queries)
    return judge(truth, first, second, random_state=rng, **options)


def machine_verdicts(
    taste: MetricLike,
    n: int,
    *,
    error: float = 0.1,
    side: float = 0.1,
    consistency: float = 0.9,
    lists: str = "free",
    documents: ArrayLike = PAPER_LIST,
    random_state: Seed = None,
) -> Preferences:
    """Draw pairs of lists and have a machine, such as a language model, judge each in both orders.

    Returns 2 n verdicts. Raises InputError if a setting is impossible, or the taste ties all such
    lists.

    Parameters
    ----------
    taste, n, lists, documents, random_state
        As in `preference_pairs`; the taste, in place of a truth, is the machine's own.
    error, side, consistency : float
        Probabilities that it prefers the wrong list of a pair, by its own taste; that it names the
        list shown first without reading; and that it makes the same mistake, or none, when it
        is asked again: else it errs independently.

    See Also
    --------
    DCGLearner : Learns from few verdicts of people and many of a machine.

    Examples
    --------
    >>> log = machine_verdicts(ground_truth("D1"), 100, side=1.0, random_state=0)
    >>> len(log), int(log.swapped.sum())
    (200, 0)
    """
    for name, value in (("error", error), ("side", side), ("consistency", consistency)):
        within(value, name, 1, "it is a probability")
    taste = read_metric(taste, name="taste")
    rng = np.random.default_rng(random_state)
    shown = _decided_lists(taste, lists, documents, rng, n)
    wrong = rng.random(n) < error
    verdicts = []
    for first, second in (shown, shown[::-1]):
        # mistakes repeat in the other order, and the side may decide
        mistaken = np.where(rng.random(n) < consistency, wrong, rng.random(n) < error)
        names_first = ((_difference(taste, first, second) > 0) ^ mistaken) | (rng.random(n) < side)
        verdicts.append((*_by_winner(names_first, first, second), ~names_first))

    winner, loser, swapped = (np.concatenate(column) for column in zip(*verdicts, strict=True))
    rater = np.full(2 * n, "machine")
    return Preferences(winner, loser, n_grades=taste.n_grades, rater=rater, swapped=swapped)


@spelled_out(JudgeOptions, judge)
def ungraded_pairs(
    truth: MetricLike,
    n: int,
    documents: ArrayLike = PAPER_LIST,
    random_state: Seed = None,
    *,
    n_raters: int | None = None,
    n_queries: int | None = None,
    **judge_options: Unpack[JudgeOptions],
) -> Preferences:
    """Draw pairs of rankings of the same documents, judge hidden grades, and log documents only.

    Zhou et al. 2008, section 8. `documents`, shape (K,), are their hidden grades. The log calls
    them ``d00``, ``d01``, ..., so that column j of the encoding is document j, and the utility to
    find is ``discounts[k] * gains[documents[j]]`` at ``[k, j]``. The other parameters and errors
    are those of `preference_pairs`.

    See Also
    --------
    Preferences.from_documents : Rankings of the same documents.

    Examples
    --------
    >>> log = ungraded_pairs(ground_truth("D1"), 50, random_state=0)
    >>> log, log.documents[:3]
    (Preferences(50 pairs, depth 10, 10 documents), ('d00', 'd01', 'd02'))
    """
    rng = np.random.default_rng(random_state)
    truth = read_metric(truth, name="truth")
    hidden = multiset(documents, truth.n_grades)
    size = len(hidden)

    # rankings of documents, judged by their hidden grades
    rankings = partial(permutations, np.arange(size), random_state=rng)
    first, second = _decided_pairs(
        lambda m: (rankings(m), rankings(m)),
        lambda one, two: _difference(truth, hidden[one], hidden[two]),
        n,
    )
    options = _labelled(judge_options, n, rng, rater=n_raters, query=n_queries)
    judged = judge(truth, hidden[first], hidden[second], random_state=rng, **options)

    # no pair is exactly tied, so its two lists of grades differ, and tell which ranking won
    first_wins = (judged.preferred == hidden[first]).all(axis=1)
    width = max(2, len(str(size - 1)))
    names = np.array([f"d{document:0{width}}" for document in range(size)])
    winner, loser = _by_winner(first_wins, names[first], names[second])
    return Preferences.from_documents(
        winner, loser, tie=judged.tie, rater=judged.rater, query=judged.query
    )


def _decided_lists(
    truth: AnyMetric, lists: str, documents: ArrayLike, rng: np.random.Generator, n: int
) -> TwoLists:
    """Return n pairs of lists, made as `lists` says, that the truth does not tie."""
    return _decided_pairs(
        partial(_draw, truth, lists, documents, rng), partial(_difference, truth), n
    )


def _draw(
    truth: AnyMetric, lists: str, documents: ArrayLike, rng: np.random.Generator, n: int
) -> TwoLists:
    """Return n pairs of lists, no deeper than the truth."""
    if lists == "free":
        both = free_lists(truth.n_grades, truth.depth, 2 * n, rng)
        return both[:n], both[n:]

    # lists of the documents
    documents = multiset(documents, truth.n_grades)
    if lists == "permutations":
        both = permutations(documents, 2 * n, min(truth.depth, len(documents)), rng)
        return both[:n], both[n:]
    one_of(lists, "lists", LIST_PAIRS)

    # the best order of them against others
    best = np.tile(np.sort(documents)[::-1], (n, 1))
    if lists == "optimal-free":
        other = free_lists(truth.n_grades, len(documents), n, rng)
    else:
        other = permutations(documents, n, random_state=rng)
    return best[:, : truth.depth], other[:, : truth.depth]


def _decided_pairs(
    draw: Callable[[int], TwoLists], difference: Callable[[Grades, Grades], Floats], n: int
) -> TwoLists:
    """Return the first n drawn pairs whose difference is not zero, shape (n, K) twice."""
    drawn: list[TwoLists] = []
    missing, tied_in_a_row = whole_number(n, "n"), 0
    while missing > 0:
        if tied_in_a_row >= 20_000:
            raise InputError(
                f"{tied_in_a_row} pairs drawn in a row are exactly tied: the truth does not tell "
                "such lists apart; give grades with different gains, or a truth whose gains and "
                "discounts vary"
            )

        # at least 256 at a time, in case nearly all are tied
        first, second = draw(max(missing, 256))
        decided = difference(first, second) != 0
        tied_in_a_row = 0 if decided.any() else tied_in_a_row + len(decided)
        drawn.append((first[decided], second[decided]))
        missing -= int(decided.sum())
    ahead, behind = (np.concatenate(side)[:n] for side in zip(*drawn, strict=True))
    return ahead, behind


def _difference(truth: AnyMetric, first: Grades, second: Grades) -> Floats:
    """Return how much better the first lists are, shape (n,); exactly 0 within rounding error."""
    difference = truth.score(first) - truth.score(second)

    # relative to the truth, not to these lists, so that no tie depends on the other pairs
    is_tie = np.abs(difference) <= TIE_TOLERANCE * largest_value(truth)
    return np.where(is_tie, 0.0, difference)


def _flip_chances(
    n: int, flip_rate: float, rater: ArrayLike | None, rater_error: Mapping[Any, float] | None
) -> Floats:
    """Return the probability that a pair is flipped once, by chance or by its rater, shape (n,)."""
    within(flip_rate, "flip_rate", 0.5, "above 1/2 the log would mean its opposite")
    if rater_error is None:
        return np.full(n, flip_rate)
    if rater is None:
        raise InputError("rater_error needs to know who judged: give rater, one label per pair")
    labels = np.asarray(rater).astype(str)
    if labels.shape != (n,):
        raise InputError(f"rater has shape {labels.shape}; expected one label per pair, ({n},)")

    # the error rate of each rater
    errors = {str(label): error for label, error in rater_error.items()}
    for label, error in errors.items():
        within(error, f"rater_error[{label!r}]", 1, "it is a probability")
    missing = sorted(set(labels.tolist()) - errors.keys())
    if missing:
        remedy = "give every rater a rate, 0 for one who never errs"
        raise InputError(f"rater_error lacks {missing[0]!r}; {remedy}")

    # a pair that is flipped twice is right
    own = np.array([errors[label] for label in labels.tolist()], dtype=np.float64)
    return flip_rate + own - 2 * flip_rate * own


def _labelled(
    judge_options: JudgeOptions, n: int, rng: np.random.Generator, **counts: int | None
) -> dict[str, Any]:
    """Return the judge's options with labels ``rater 1``, ... where a number of them is given.

    Raise InputError for an unknown option.
    """
    options: dict[str, Any] = {**judge_options}
    known(options, JudgeOptions.__annotations__, "judge", "option")
    for name, count in counts.items():
        if count is None:
            continue
        plural = _LABELS[name]
        if options.get(name) is not None:
            raise InputError(f"give either {name}, a label per pair, or {plural}, not both")
        names = np.array([f"{name} {number + 1}" for number in range(whole_number(count, plural))])
        options = {**options, name: names[rng.integers(count, size=n)]}
    return options
