"""Lists of grades for simulations: permutations, free and optimal lists, wrong grades."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import (
    MAX_GRADES,
    Grades,
    InputError,
    Seed,
    finite_array,
    graded_lists,
    multiset,
    scale_size,
    whole_number,
    within,
)

TwoLists: TypeAlias = tuple[Grades, Grades]

PAPER_LIST = (4, 4, 3, 3, 2, 2, 1, 1, 0, 0)
"""The paper's list [5,5,4,4,3,3,2,2,1,1] (section 6.1), in grades from 0 = worst."""


def permutations(
    documents: ArrayLike, n: int, depth: int | None = None, random_state: Seed = None
) -> Grades:
    """Return random orderings of one multiset of grades, shape (n, K).

    Zhou et al. 2008, section 6.1. Raises InputError if `depth` exceeds N, or the grades are not one
    list of grades.

    Parameters
    ----------
    documents : array_like of int, shape (N,)
        The grades of the documents that are ranked.
    n, depth, random_state : int; int, optional; int or Generator, optional
        Number of lists; K, the positions kept (N by default): with K < N lists differ in their mix
        of grades; the seed.

    See Also
    --------
    simulate.free_lists : Lists with their own mixes of grades.

    Examples
    --------
    >>> np.sort(permutations([2, 1, 0, 0], n=3, random_state=0)).tolist()
    [[0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 2]]
    """
    documents = multiset(documents)
    size = len(documents)
    kept = size if depth is None else depth
    kept = whole_number(kept, "depth", 1, size, "no list is longer than its documents")
    lists = np.tile(documents, (whole_number(n, "n"), 1))
    return np.ascontiguousarray(
        np.random.default_rng(random_state).permuted(lists, axis=1)[:, :kept]
    )


def free_lists(
    n_grades: int,
    depth: int,
    n: int,
    random_state: Seed = None,
    probabilities: ArrayLike | None = None,
) -> Grades:
    """Return lists of independent grades, shape (n, K).

    Raises InputError if the probabilities are not L numbers from 0 to 1 that add up to 1.

    Parameters
    ----------
    n_grades, depth, n, random_state
        L, K, and as in `permutations`.
    probabilities : array_like, shape (L,), optional
        Probability of each grade, worst first; equal by default.

    See Also
    --------
    simulate.permutations : Lists of the same documents.

    Examples
    --------
    >>> free_lists(n_grades=3, depth=4, n=2, random_state=0, probabilities=[0, 0, 1]).tolist()
    [[2, 2, 2, 2], [2, 2, 2, 2]]
    """
    size = scale_size(n_grades, 0)
    shape = whole_number(n, "n"), whole_number(depth, "depth")
    rng = np.random.default_rng(random_state)
    if probabilities is None:
        return rng.integers(size, size=shape, dtype=np.int8)

    # grades of unequal probabilities
    chances = finite_array(probabilities, "probabilities", 1)
    if chances.shape != (size,) or (chances < 0).any() or abs(chances.sum() - 1) > 1e-8:
        allowed = f"{size} numbers from 0 to 1, one a grade, with sum 1"
        raise InputError(f"probabilities={probabilities} must be {allowed}")
    return rng.choice(size, size=shape, p=chances).astype(np.int8)


def partial_overlap(
    documents: ArrayLike, n: int, n_replaced: int, n_grades: int = 5, random_state: Seed = None
) -> Grades:
    """Return random orderings of one multiset, some positions with a new random grade.

    The shape is (n, K). Raises InputError if `n_replaced` exceeds K.

    Parameters
    ----------
    documents, n, n_grades, random_state
        As in `permutations`, and L.
    n_replaced : int
        Number of positions redrawn in each list, chosen at random; the new grade can equal the old
        one. With 0 the lists are `permutations`, with K `free_lists`: the paper's two settings.

    See Also
    --------
    simulate.free_lists : Lists without common documents.

    Examples
    --------
    >>> lists = partial_overlap([2, 2, 2, 2], n=5, n_replaced=1, n_grades=3, random_state=0)
    >>> bool(((lists == 2).sum(axis=1) >= 3).all())
    True
    """
    documents = multiset(documents, n_grades)
    most = len(documents)
    replaced = whole_number(n_replaced, "n_replaced", 0, most, "a list has no more positions")
    rng = np.random.default_rng(random_state)
    lists = permutations(documents, n, random_state=rng)

    # redraw the first grades, and spread them evenly over the positions
    lists[:, :replaced] = rng.integers(n_grades, size=(n, replaced), dtype=np.int8)
    return rng.permuted(lists, axis=1)


def permuted_documents(depth: int, n: int, random_state: Seed = None) -> Grades:
    """Return n random rankings of the documents 0..K-1, shape (n, K), K <= 127.

    Zhou et al. 2008, section 8.

    See Also
    --------
    simulate.ungraded_pairs : Judge them.

    Examples
    --------
    >>> np.sort(permuted_documents(depth=4, n=2, random_state=0)).tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    size = whole_number(depth, "depth", most=MAX_GRADES, remedy="documents are numbered in int8")
    return permutations(np.arange(size), n, random_state=random_state)


def optimal_pairs(
    documents: ArrayLike,
    n: int,
    *,
    others: str = "permutations",
    n_grades: int = 5,
    random_state: Seed = None,
) -> TwoLists:
    """Return the best ordering, n times, and n other lists, shape (n, K) each.

    Zhou et al. 2008, section 6.5. The sorted list is the best under every DCG whose gains grow with
    the grade and whose discounts are not negative and do not grow with the position (Proposition
    1), so pairs with permutations tell nothing about such a DCG. Pairs of equal lists are ties for
    `judge`; ``preference_pairs(lists="optimal")`` draws them again. Raises InputError if `others`
    is neither of the two.

    Parameters
    ----------
    documents : array_like of int, shape (K,)
        The multiset whose best ordering, best grade first, is the first list of every pair.
    others : {"permutations", "free"}
        The second lists: random orderings of the same multiset (figure 9), or independent grades
        (figure 10).
    n, n_grades, random_state
        As in `permutations`, and L.

    See Also
    --------
    simulate.permutations : Pairs at random.

    Examples
    --------
    >>> best, other = optimal_pairs([0, 2, 1], n=50, n_grades=3, random_state=0)
    >>> log = dl.simulate.judge(dl.simulate.ground_truth("D1", n_grades=3, depth=3), best, other)
    >>> best[0].tolist(), bool((log.preferred == best).all())
    ([2, 1, 0], True)
    """
    documents = multiset(documents, n_grades)
    best = np.tile(np.sort(documents)[::-1], (whole_number(n, "n"), 1))
    if others == "permutations":
        return best, permutations(documents, n, random_state=random_state)
    if others == "free":
        return best, free_lists(n_grades, len(documents), n, random_state)
    choices = "neither 'permutations' (of the same grades) nor 'free' (other grades)"
    raise InputError(f"others={others!r} is {choices}")


def noisy_grades(
    lists: ArrayLike,
    n_documents: int | None = None,
    rate: float | None = None,
    size: int | None = None,
    n_grades: int = 5,
    random_state: Seed = None,
) -> Grades:
    """Return a copy of lists in which some grades are replaced by wrong ones.

    Zhou et al. 2008, section 6.4. Raises InputError if not exactly one of `n_documents` and `rate`
    is given, or a number is out of range.

    Parameters
    ----------
    lists : array_like of int, shape (n, K), (K,) or (n, 2, K)
        Grades by position. Unknown grades (-1) stay unknown.
    n_documents, rate : int or float, optional
        Number of grades to change, chosen at random over the whole array, or the probability of
        changing each.
    size : int, optional
        Largest difference between the new grade and the old one, unlimited by default; all are
        equally likely.
    n_grades, random_state
        L, at least 2; same seed, same noise.

    See Also
    --------
    simulate.preference_pairs : Has wrong grades as an option.

    Examples
    --------
    The training set of the paper's figure 7, 20 wrong grades in 200 pairs:

    >>> log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 200, random_state=0)
    >>> pairs = np.stack([log.preferred, log.other], axis=1)
    >>> noisy = dl.Preferences(noisy_grades(pairs, 20, random_state=1), n_grades=5)
    >>> int((noisy.preferred != log.preferred).sum() + (noisy.other != log.other).sum())
    20
    """
    reach = whole_number(n_grades, "n_grades", 2, MAX_GRADES, "a grade needs another to become")
    if size is not None:
        reach = whole_number(size, "size", remedy="a changed grade is off by a step or more")
    if (n_documents is None) == (rate is None):
        choice = "n_documents, the number of grades to change, or rate, the probability of each"
        raise InputError(f"give either {choice}")

    # all lists in one array
    original = np.asarray(lists)
    flat = original.reshape(-1, original.shape[-1]) if original.ndim == 3 else original
    noisy = graded_lists(flat, n_grades=n_grades).ravel().copy()

    # which of the known grades change
    rng, graded = np.random.default_rng(random_state), np.flatnonzero(noisy >= 0)
    if rate is not None:
        within(rate, "rate", 1, "it is a probability")
        chosen = graded[rng.random(len(graded)) < rate]
    else:
        most = len(graded)
        remedy = f"the lists hold {most} known grades"
        count = whole_number(n_documents, "n_documents", 0, most, remedy)
        chosen = rng.permutation(graded)[:count]

    # draw from the window without its last grade; from the old grade on, move up by one
    old = noisy[chosen].astype(np.int64)
    drawn = rng.integers(np.maximum(old - reach, 0), np.minimum(old + reach, n_grades - 1))
    noisy[chosen] = drawn + (drawn >= old)
    return noisy.reshape(original.shape)
