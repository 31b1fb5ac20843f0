"""The columns of a log, checked: the two lists of each pair, and what else is known of the pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.validation import (
    InputError,
    frozen,
    graded_lists,
    is_frame,
    is_records,
    pair_values,
    scale_size,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.logs.rating_counts import RatingCounts

PAIR_COLUMNS = (
    "preferred",
    "other",
    "weight",
    "tie",
    "strength",
    "margin",
    "rater",
    "query",
    "swapped",
    "docs",
    "segment",
    "tie_kind",
)
"""The columns with one entry a pair; all but the first two may be None."""

MISSING = {"weight": 1.0, "tie": False, "strength": 1.0, "rater": "", "query": "", "segment": "", "tie_kind": ""}
"""The values of pairs that lack a column which other pairs have; margins, sides and documents have none."""


@dataclass(frozen=True, eq=False)
class Columns:
    """What `Preferences` holds after its checks, an entry a pair; its arrays are made read-only."""

    preferred: Grades  # shape (n, K), as the next
    other: Grades
    n_grades: int
    weight: Floats | None = None  # shape (n,), as those below
    tie: NDArray[np.bool_] | None = None
    strength: Floats | None = None
    margin: Floats | None = None
    rater: NDArray[np.str_] | None = None
    query: NDArray[np.str_] | None = None
    swapped: NDArray[np.bool_] | None = None
    docs: NDArray[np.object_] | None = None  # shape (n, 2): names of the documents of both lists, joined by tabs
    segment: NDArray[np.str_] | None = None  # shape (n,), as the next
    tie_kind: NDArray[np.str_] | None = None
    ratings: RatingCounts | None = None  # what the pairs were made of; a subset shares it
    grade_names: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None
    all_differ: bool = False  # whether the two lists of every pair are known to differ

    def __post_init__(self) -> None:
        for name in PAIR_COLUMNS:
            values = getattr(self, name)
            if values is not None:
                frozen(values)

    def __len__(self) -> int:
        return len(self.preferred)

    def __getitem__(self, index: Any) -> Columns:
        """Return the pairs at a slice, mask or indices."""
        columns = {name: getattr(self, name) for name in PAIR_COLUMNS}
        return replace(self, **{name: values[index] for name, values in columns.items() if values is not None})


def checked_columns(
    preferred: ArrayLike,
    other: ArrayLike | None = None,
    n_grades: int | None = None,
    weight: ArrayLike | None = None,
    tie: ArrayLike | None = None,
    strength: ArrayLike | None = None,
    margin: ArrayLike | None = None,
    rater: ArrayLike | None = None,
    query: ArrayLike | None = None,
    grade_names: Sequence[str] | None = None,
    swapped: ArrayLike | None = None,
    docs: ArrayLike | None = None,
    segment: ArrayLike | None = None,
    tie_kind: ArrayLike | None = None,
) -> Columns:
    """Return the columns of a log after the checks of `Preferences`, whose parameters these are."""
    lists = _checked_lists(preferred, other, n_grades, grade_names)
    n = len(lists[0])
    return Columns(
        *lists,
        weight=None if weight is None else pair_values(weight, "weight", n, positive=True),
        tie=None if tie is None else _flags(tie, "tie", n),
        strength=None if strength is None else pair_values(strength, "strength", n, positive=True),
        margin=None if margin is None else pair_values(margin, "margin", n),
        rater=None if rater is None else _labels(rater, "rater", n),
        query=None if query is None else _labels(query, "query", n),
        grade_names=None if grade_names is None else tuple(grade_names),
        swapped=None if swapped is None else _flags(swapped, "swapped", n),
        docs=None if docs is None else documents_text(docs, n),
        segment=None if segment is None else _labels(segment, "segment", n),
        tie_kind=None if tie_kind is None else _labels(tie_kind, "tie_kind", n),
    )


def _checked_lists(
    preferred: ArrayLike, other: ArrayLike | None, n_grades: int | None, grade_names: Sequence[str] | None
) -> tuple[Grades, Grades, int]:
    """Return both lists of every pair, which the caller cannot change afterwards, and the number of grades."""
    if other is None:
        if is_frame(preferred) or is_records(preferred):
            raise InputError(
                "this is a table or a list of records, not lists of grades; read it with Preferences.from_frame or "
                "Preferences.from_records"
            )
        try:
            pairs = np.asarray(preferred)
        except ValueError as error:
            raise InputError(
                "the lists have different lengths; pad the shorter ones with -1 (no grade), or read the pairs with "
                "Preferences.from_records(..., pad=True)",
                see="lengths",
            ) from error
        if pairs.ndim != 3 or pairs.shape[1] != 2:
            raise InputError(f"pairs have shape {pairs.shape}; expected (n, 2, K): preferred list, other list")
        preferred, other = pairs[:, 0], pairs[:, 1]
    first, second = graded_lists(preferred, "preferred"), graded_lists(other, "other")
    if first.ndim != 2 or first.shape != second.shape:
        raise InputError(f"preferred {first.shape} and other {second.shape} must both have the shape (n, K)")
    if grade_names is not None and n_grades not in (None, len(grade_names)):
        raise InputError(f"{len(grade_names)} grade names for n_grades={n_grades}")
    top = int(max(first.max(initial=-1), second.max(initial=-1)))
    n_grades = scale_size(n_grades if grade_names is None else len(grade_names), top)
    if top >= n_grades:
        graded_lists(first, "preferred", n_grades)
        graded_lists(second, "other", n_grades)
    return _unshared(first, preferred), _unshared(second, other), n_grades


def _unshared(grades: Grades, source: ArrayLike) -> Grades:
    """Return contiguous grades that share no memory with an array that the caller could change."""
    shared = isinstance(source, np.ndarray) and source.flags.writeable and np.shares_memory(grades, source)
    return np.array(grades, order="C") if shared else np.ascontiguousarray(grades)


def _flags(values: ArrayLike, name: str, n: int) -> NDArray[np.bool_]:
    flags = np.array(values)
    if flags.shape != (n,) or (flags.dtype != bool and not np.isin(flags, (0, 1)).all()):
        raise InputError(f"{name} must be {n} booleans, one per pair; found {flags.dtype} of shape {flags.shape}")
    return flags.astype(bool)


def documents_text(docs: ArrayLike, n: int) -> NDArray[np.object_]:
    """Return the names of the documents of every list as one text, joined by tabs, shape (n, 2)."""
    names = np.asarray(docs, dtype=object)
    if names.shape == (n, 2) and all(isinstance(text, str) for text in names.ravel()):
        return names.copy()
    if names.ndim != 3 or names.shape[:2] != (n, 2):
        raise InputError(f"docs has shape {names.shape}; expected the names of every list's documents, ({n}, 2, K)")
    texts: NDArray[np.object_] = np.empty((n, 2), dtype=object)
    for place in np.ndindex(n, 2):
        texts[place] = "\t".join(map(str, names[place]))
    return texts


def _labels(labels: ArrayLike, name: str, n: int) -> NDArray[Any]:
    array = np.asarray(labels)
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape}; expected one label per pair, ({n},)")
    return array.astype(str)
