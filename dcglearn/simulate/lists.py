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


def free_lists(n_grades: int, depth: int, n: int, random_state: Seed = None) -> Grades:
    """Return lists of independent grades, all equally likely, shape (n, K).

    Parameters
    ----------
    n_grades, depth, n, random_state
        L, K, and as in `permutations`.

    See Also
    --------
    simulate.permutations : Lists of the same documents.

    Examples
    --------
    >>> free_lists(n_grades=1, depth=4, n=2).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0]]
    """
    shape = whole_number(n, "n"), whole_number(depth, "depth")
    rng = np.random.default_rng(random_state)
    return rng.integers(scale_size(n_grades, 0), size=shape, dtype=np.int8)


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
