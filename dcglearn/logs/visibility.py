"""What comparisons can and cannot tell about a utility: the directions of W that change no difference in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.logs.pair_sums import pair_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.logs.pair_sums import PairSums


SAMPLE = 1 << 14
"""About so many pairs are looked at first, where a look at all would take long."""

TOLERANCE = 1e-10
"""A direction is invisible if its eigenvalue of ``sum d d^T`` is at most this share of the largest."""


@dataclass(frozen=True, eq=False)
class Visibility:
    """What a log can see of a utility W, shape (K, L).

    Attributes
    ----------
    invisible : ndarray, shape (m, K, L)
        Orthonormal directions along which W can move without changing the difference of any pair.
    rank : int
        Number of directions that the log sees, ``K * L - m``.
    structural_rank : int
        The most that any number of pairs made like these could see.
    free_rows : tuple of int
        Positions to whose weights any constant can be added without changing a difference.
    free_columns : bool
        Adding a constant to the weights of any one grade changes nothing.
    unseen_grades : tuple of int
        Grades of the scale that never occur.
    graded : bool
        False where the columns are documents.
    tolerance : float
        Share of the largest eigenvalue of ``sum d d^T`` up to which a direction counts as invisible.

    Notes
    -----
    ``sum d d^T`` holds integers, exact in floating point, so a true zero comes out near 1e-16 of the largest
    eigenvalue, while a direction that one pair in a billion shows stands near 1e-9.
    """

    invisible: Floats
    rank: int
    structural_rank: int
    free_rows: tuple[int, ...]
    free_columns: bool
    unseen_grades: tuple[int, ...]
    graded: bool = True
    tolerance: float = TOLERANCE

    def project(self, weights: Floats) -> Floats:
        """Return the visible part of W: what is left without the invisible directions, shape (K, L)."""
        flat = self.invisible.reshape(len(self.invisible), weights.size)
        return weights - (flat.T @ (flat @ weights.ravel())).reshape(weights.shape)

    @property
    def missing(self) -> int:
        """Number of directions that more pairs of the same kind would show."""
        return max(self.structural_rank - self.rank, 0)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the log cannot tell, in plain words; empty where it tells everything."""
        thing = "grade" if self.graded else "document"
        found = []
        if self.unseen_grades:
            names = ", ".join(str(grade) for grade in self.unseen_grades)
            found.append(f"{thing} {names} never occurs in the log, so its worth is not learned")
        if self.free_rows:
            where = (
                "a position"
                if len(self.free_rows) == self.invisible.shape[1]
                else f"positions {_ranks(self.free_rows)}"
            )
            found.append(
                f"the weights of {where} are known only up to an added constant, since both lists of a pair always "
                f"have a {thing} there (the constant changes no such comparison; the worst grade counts as 0)"
            )
        if self.free_columns:
            found.append(
                f"the two lists of a pair never differ in their mix of {thing}s, so discounts are known only up to an "
                "added constant: their differences are learned, their level is a convention"
            )
        if self.missing:
            found.append(
                f"the pairs show {self.rank} of the {self.structural_rank} directions that such lists could show: "
                f"{self.missing} more need other pairs, and are set by the least-norm rule alone"
            )
        return tuple(found)

    def __str__(self) -> str:
        size = self.rank + len(self.invisible)
        head = f"the log sees {self.rank} of {size} directions of W"
        return "\n".join([head, *(f"- {sentence}" for sentence in self.sentences)])


def visible_to(first: Grades, second: Grades, n_grades: int, *, graded: bool = True) -> Visibility:
    """Return what pairs of lists can see of a utility.

    Parameters
    ----------
    first, second : ndarray of int8, shape (n, K), C-contiguous
        The lists of each pair, -1 = no known grade.
    n_grades : int
        L.
    graded : bool
        False where the columns are documents.

    Returns
    -------
    Visibility

    Notes
    -----
    A sample's Gram matrix is enough where one pass over all pairs finds none that sees what the sample does not.
    """
    shape = (first.shape[1], n_grades)
    seen = _occurring(first, second, n_grades)
    step = max(len(first) // SAMPLE, 1)
    few = visibility(_gram(first[::step], second[::step], shape), shape, seen, graded=graded)
    if step == 1 or _blind_to(few.invisible, first, second):
        return few
    return visibility(_gram(first, second, shape), shape, seen, graded=graded)


def visibility(gram: Floats, shape: tuple[int, int], seen: Sequence[int], *, graded: bool = True) -> Visibility:
    """Return what a log sees, from its Gram matrix.

    Parameters
    ----------
    gram : ndarray, shape (K*L, K*L)
        ``sum d d^T`` over the pairs, each pair counted once.
    shape : (int, int)
        K and L.
    seen : sequence of int
        The grades that occur anywhere in the log.
    graded : bool
        False where the columns are documents.

    Returns
    -------
    Visibility

    Notes
    -----
    Structural are the constants that can be added to a position (no pair has a known grade there in one list
    only), those that can be added to every grade (no pair differs in its mix) and the grades that never occur.
    The structural ranks of full lists are K(L-1), and (K-1)(L-1) where the two lists of each pair share one
    mix; whatever else is invisible comes from too few pairs.
    """
    depth, n_grades = shape
    values, vectors = np.linalg.eigh(gram)
    largest = max(float(values[-1]), 0.0)
    blind = values <= TOLERANCE * largest
    occurring = np.zeros(n_grades, dtype=bool)
    occurring[list(seen)] = True
    rows = np.einsum("kj,l->kjl", np.eye(depth), occurring.astype(float))
    columns = np.einsum("k,lm->lkm", np.ones(depth), np.eye(n_grades))[occurring]
    blind_rows = _blind(gram, rows, largest)
    free_columns = bool(_blind(gram, columns, largest).all())
    # The sum of all rows is the sum of all columns, so it must not be counted twice.
    hidden = int(blind_rows.sum()) + (len(columns) - int(blind_rows.all()) if free_columns else 0)
    return Visibility(
        invisible=vectors[:, blind].T.reshape(-1, depth, n_grades),
        rank=int((~blind).sum()),
        structural_rank=depth * len(columns) - hidden,
        free_rows=tuple(int(k) for k in np.flatnonzero(blind_rows)),
        free_columns=free_columns,
        unseen_grades=tuple(int(grade) for grade in np.flatnonzero(~occurring)),
        graded=graded,
    )


def _blind(gram: Floats, directions: Floats, largest: float) -> NDArray[np.bool_]:
    """Say of each direction, shape (m, K, L), whether every pair is blind to it."""
    flat = directions.reshape(len(directions), gram.shape[0])
    blind: NDArray[np.bool_] = np.einsum("ij,jk,ik->i", flat, gram, flat) <= TOLERANCE * largest
    return blind


def _ranks(positions: Sequence[int]) -> str:
    """Return positions, counted from 0, as ranks: ``1-4, 7``."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return ", ".join(str(run[0] + 1) + (f"-{run[-1] + 1}" if len(run) > 1 else "") for run in runs)


def _gram(first: Grades, second: Grades, shape: tuple[int, int]) -> Floats:
    """Return ``sum d d^T``: at W = 0 and margin 1 every pair falls short."""
    lists = np.ascontiguousarray(first), np.ascontiguousarray(second)
    return pair_sums(*lists, margin=np.ones(1), weight=np.ones(1), weights=np.zeros(shape)).curvature


def _blind_to(hidden: Floats, first: Grades, second: Grades) -> bool:
    """Whether no pair sees any of some directions, shape (m, K, L): one pass with a random mixture of them."""
    mixture = blind_mixture(hidden)
    sums = pair_sums(first, second, margin=np.ones(1), weight=np.ones(1), weights=mixture, curvature=False)
    return is_blind(sums, len(first))


def blind_mixture(hidden: Floats) -> Floats:
    """Return a random mixture of directions, shape (m, K, L), so small that no pair's difference exceeds 1/2."""
    mixture: Floats = np.tensordot(np.random.default_rng(0).normal(size=len(hidden)), hidden, 1)
    return mixture / (4 * len(mixture) * max(float(np.abs(mixture).max(initial=0.0)), 1e-300))


def is_blind(sums: PairSums, n: int) -> bool:
    """Whether none of n pairs sees a `blind_mixture`, from its sums with margins and weights 1."""
    # sum (1 - t) = sum (1 - t)^2 = n only if every difference t is 0.
    return max(abs(sums.slope - n), abs(sums.loss - n)) <= 1e-12 * n


def _occurring(first: Grades, second: Grades, n_grades: int) -> list[int]:
    """Return the grades that occur; a look at the first lists is often enough."""
    for lists in ((first[:SAMPLE], second[:SAMPLE]), (first, second)):
        counts = np.sum([np.bincount(x.ravel().view(np.uint8), minlength=256) for x in lists], axis=0)
        seen = np.flatnonzero(counts[:n_grades])
        if len(seen) == n_grades:
            break
    return [int(grade) for grade in seen]
