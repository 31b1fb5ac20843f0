"""Factors of a utility, gains times discounts: the singular values of its visible part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import Fields, Floats, Indices, InputError, PolarsFrame, listed
from dcglearn.logs.visibility import ONLY_STEPS, Visibility
from dcglearn.metrics.dcg import DCG, Utility, as_curves


@dataclass(frozen=True)
class Factoring(Finding):
    """The DCG nearest to a utility, and how near it is.

    The worst grade of `dcg` has gain 0, its first discount is 1 (where positive). `visible_weights`
    is the factored matrix, shape (K, L), `rank_one` its nearest rank-one matrix (both NaN for
    grades that never occur), `explained` the share of its squared norm, and `ratio` the second
    singular value over the first.
    """

    dcg: DCG
    explained: float
    ratio: float
    visible_weights: Floats
    rank_one: Floats

    @property
    def sentence(self) -> str:
        """How near the DCG is to the utility."""
        return (
            f"gains times discounts reproduce {self.explained:.1%} of these weights (of their sum "
            "of squares)"
        )

    @property
    def table(self) -> PolarsFrame:
        """Gains and discounts, a row each."""
        return self.dcg.table

    @property
    def notes(self) -> tuple[str, ...]:
        """What in the factors is convention, and what is unlike a DCG."""
        return self.dcg.notes

    @property
    def pictures(self) -> list[Fields]:
        """Gains and discounts as curves."""
        return as_curves({"nearest DCG": self.dcg})


def factor(utility: Utility, visible: Visibility, *, normalise_gains: bool = False) -> Factoring:
    """Factor a utility W into gains and discounts, the best grade's gain 1 with `normalise_gains`.

    Offsets that the log cannot tell are removed first: rows are centred where the log holds full
    lists, columns too where grades never vary (Zhou et al. 2008, section 6.3). Raises InputError if
    W tells no two lists apart.
    """
    n_grades = utility.n_grades

    # what the log can tell of the grades that occur
    seen = np.setdiff1d(np.arange(n_grades), visible.unseen_grades)
    core = utility.weights[:, seen].copy()
    if visible.free_rows:
        core -= core.mean(axis=1, keepdims=True)
    if visible.free_columns:
        core -= core.mean(axis=0)

    # the nearest matrix of rank one
    left, singular, right = np.linalg.svd(core, full_matrices=False)
    if singular[0] <= 1e-12 * max(float(np.abs(utility.weights).max()), 1e-300):
        raise InputError("the utility tells no two lists apart, so it has no gains and discounts")
    discounts, gains = _oriented(left[:, 0], right[0] * singular[0], visible)
    rank_one = np.outer(discounts, gains)

    # level and scale of the two, and gains of the other grades
    gains = gains + _offset(utility.weights[:, seen], discounts, gains, visible)
    discounts, gains, scale_notes = _scaled(discounts, gains, visible)
    if visible.unseen_grades:
        gains = np.interp(np.arange(n_grades), seen, gains)
    if normalise_gains and gains[-1] > 0:
        scale_notes.append(f"gains are divided by {gains[-1]:.4g}, which makes the best grade's 1")
        gains = gains / gains[-1]

    notes = (*scale_notes, *_notes(discounts, gains, visible))
    return Factoring(
        dcg=DCG(gains, discounts, utility.grade_names, notes),
        explained=float(1 / ((singular / singular[0]) ** 2).sum()),
        ratio=float(singular[1] / singular[0]) if len(singular) > 1 else 0.0,
        visible_weights=_on_all_grades(core, seen, n_grades),
        rank_one=_on_all_grades(rank_one, seen, n_grades),
    )


def _offset(weights: Floats, discounts: Floats, gains: Floats, visible: Visibility) -> float:
    """Return the offset of the gains: where the log shows unknown grades, by least squares."""
    depth = len(discounts)
    known = np.setdiff1d(np.arange(depth), visible.free_rows)
    if len(known) == depth:
        return 0.0
    size = float(discounts[known] @ discounts[known])
    if size == 0.0:
        return -float(gains[0] if visible.graded else gains.min())
    return float(discounts[known] @ weights[known].mean(axis=1)) / size - float(gains.mean())


def _on_all_grades(columns: Floats, seen: Indices, n_grades: int) -> Floats:
    """Return columns of the grades that occur, at their indices, shape (K, L); NaN elsewhere."""
    whole = np.full((len(columns), n_grades), np.nan)
    whole[:, seen] = columns
    return whole


def _oriented(discounts: Floats, gains: Floats, visible: Visibility) -> tuple[Floats, Floats]:
    """Choose the sign of the two factors: discounts with a positive sum."""
    positive = float(discounts.sum())
    if visible.free_columns:
        # centred discounts sum to zero: grades decide or, without grades, positions
        rising = gains if visible.graded else -discounts
        centred = np.arange(len(rising)) - (len(rising) - 1) / 2
        positive = float(centred @ rising)
    return (-discounts, -gains) if positive < 0 else (discounts, gains)


def _scaled(
    discounts: Floats, gains: Floats, visible: Visibility
) -> tuple[Floats, Floats, list[str]]:
    """Choose level and scale of the discounts; return discounts, gains and notes on conventions."""
    notes = []

    # only steps are known
    if visible.free_columns:
        documents = "grades" if visible.graded else "documents"
        discounts = discounts - discounts.min()
        notes.append(
            f"{ONLY_STEPS}, and the smallest is set to 0 by convention: both lists of every pair "
            f"hold the same {documents} in another order"
        )

    # the first discount is 1, if it is positive
    scale = discounts[0]
    if scale <= 0:
        scale = np.abs(discounts).max()
        notes.append(
            "the first discount is not positive, so discounts are scaled by the largest in size"
        )
    return discounts / scale, gains * scale, notes


def _notes(discounts: Floats, gains: Floats, visible: Visibility) -> list[str]:
    """Return notes on gains that are not learned, and on factors unlike those of a DCG."""
    notes = []
    rounding = 1e-9

    # gains of grades that do not occur
    if visible.unseen_grades:
        notes.append(
            f"grade {listed(visible.unseen_grades)} never occurs in the log: its gain is not "
            "learned but placed between its neighbours' (beyond the last one, equal to it)"
        )

    # gains that fall
    if visible.graded and (np.diff(gains) < -rounding * np.abs(gains).max()).any():
        notes.append(
            "the gains do not increase with the grade everywhere: the weights are far from gains "
            "times discounts"
        )

    # discounts that rise
    rises = np.flatnonzero(np.diff(discounts) > rounding) + 2
    if len(rises):
        notes.append(
            f"the discounts do not decrease everywhere (they rise at position {listed(rises)})"
        )

    # discounts below 0
    below = np.flatnonzero(discounts < -rounding) + 1
    if len(below):
        notes.append(
            f"the discount is negative at position {listed(below)}: a better grade there counts "
            "against a list"
        )
    return notes
