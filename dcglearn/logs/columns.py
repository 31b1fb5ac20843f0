"""The columns of a log, a row each in `Columns`: checks, readers, writers and docs follow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.validation import (
    Counts,
    Flags,
    Floats,
    Grades,
    InputError,
    Integers,
    frozen,
    graded_lists,
    pair_values,
    scale_size,
)
from dcglearn.logs.unique_rows import size_of


def _column(kind: str) -> Any:
    """Return the field of a column, which is None where a log lacks it.

    `kind` is positive, number, label, text (a label of any length), flag or documents. The names
    that files give to columns stand in the contract of reading.
    """
    return field(default=None, metadata={"kind": kind})


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """The lists of a log and its columns, an entry a pair, without checks; arrays are read-only."""

    # both lists of each pair, shape (n, K)
    preferred: Grades
    other: Grades
    n_grades: int

    # an entry a pair; `Preferences` says what they mean
    id: NDArray[np.object_] | None = _column("text")
    query: NDArray[np.str_] | None = _column("label")
    rater: NDArray[np.str_] | None = _column("label")
    weight: Floats | None = _column("positive")
    strength: Floats | None = _column("positive")
    margin: Floats | None = _column("number")
    tie: Flags | None = _column("flag")
    swapped: Flags | None = _column("flag")
    docs: NDArray[np.object_] | None = _column("documents")
    segment: NDArray[np.str_] | None = _column("label")
    time: NDArray[np.str_] | None = _column("label")
    tie_kind: NDArray[np.str_] | None = _column("label")
    status: NDArray[np.object_] | None = _column("text")

    # names of the grades, or of the documents in their place
    grade_names: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None

    # the RatingCounts that the pairs were made of, and the units of each pair in them, shape (n, 2)
    rated: Any = None
    units: Any = None

    # whether it is used even if upside down
    as_is: bool = False

    # what the reader left out and recognised
    dropped: Counts = field(default_factory=dict)
    recognised: Any = None

    def __post_init__(self) -> None:
        for values in vars(self).values():
            if isinstance(values, np.ndarray):
                frozen(values)

    def __len__(self) -> int:
        return len(self.preferred)

    def changed(self, **values: Any) -> Self:
        """Return the log with other values, which are known to be sound, in place of its own."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(Columns)}
        log = object.__new__(type(self))
        Columns.__init__(log, **(own | values))
        return log


class ColumnValues(TypedDict, total=False):
    """Values of the columns of a log as keywords, for type checkers and signatures."""

    id: ArrayLike | None
    query: ArrayLike | None
    rater: ArrayLike | None
    weight: ArrayLike | None
    strength: ArrayLike | None
    margin: ArrayLike | None
    tie: ArrayLike | None
    swapped: ArrayLike | None
    docs: ArrayLike | None
    segment: ArrayLike | None
    time: ArrayLike | None
    tie_kind: ArrayLike | None
    status: ArrayLike | None


COLUMNS = {entry.name: entry.metadata for entry in fields(Columns) if entry.metadata}
"""The kind of each column by attribute, in the order of files."""


def ties_of(log: Columns) -> Flags:
    """Return whether each pair is a tie, shape (n,)."""
    return np.zeros(len(log), bool) if log.tie is None else log.tie


def ways_of(log: Columns) -> Integers:
    """Return 1 where a pair's first list was shown first, -1 where the other was, else 0; (n,)."""
    return np.zeros(len(log), int) if log.swapped is None else 1 - 2 * log.swapped


def checked_column(name: str, values: Any, n: int) -> NDArray[Any]:
    """Return the values of a column of n pairs, or raise InputError unless they are of its kind.

    Labels are numpy's texts, which are all as wide as the longest. The names of the documents of
    each list, shape (n, 2, K), become one text, joined by tabs, shape (n, 2).
    """
    kind = COLUMNS[name]["kind"]
    if kind in ("number", "positive"):
        return pair_values(values, name, n, positive=kind == "positive")

    # one value for each pair, or one for each list
    shape = (n, 2) if kind == "documents" else (n,)
    array = np.asarray(values, dtype=None if kind in ("label", "flag") else object)
    if array.shape[:2] != shape:
        raise InputError(
            f"{name} has shape {array.shape}; expected {shape}, one value per pair (of docs: list)"
        )

    # values of the kind
    if kind == "flag":
        if not np.isin(array, (0, 1)).all():
            raise InputError(f"{name} must be {n} booleans, one per pair; found {array.dtype}")
        return array.astype(bool)
    if kind == "label":
        return array.astype(str)
    texts = [_text(one) for one in array.reshape(-1, *array.shape[len(shape) :])]
    return np.array(texts, dtype=object).reshape(shape)


def _text(value: Any) -> str:
    """Return a text, or the texts of several values, joined by tabs."""
    return value if isinstance(value, str) else "\t".join(map(str, np.atleast_1d(value)))


def checked_lists(
    preferred: ArrayLike,
    other: ArrayLike | None,
    n_grades: int | None,
    grade_names: Sequence[str] | None,
) -> tuple[Grades, Grades, int]:
    """Return both lists of every pair, which the caller cannot change, and the number of grades."""
    # the scale, as far as it is given
    size = n_grades if grade_names is None else len(grade_names)
    if n_grades not in (None, size):
        raise InputError(f"{size} grade names for n_grades={n_grades}")
    if size is not None:
        size = scale_size(size, 0)

    # the lists
    if other is None:
        preferred, other = _two_lists(preferred)
    first = graded_lists(preferred, "preferred", size, empty=True)
    second = graded_lists(other, "other", size, empty=True)
    if first.ndim != 2 or first.shape != second.shape:
        raise InputError(
            f"preferred {first.shape} and other {second.shape} must both have the shape (n, K)"
        )

    # a caller may change its own arrays
    size = scale_size(size, size_of(first, second) - 1)
    return np.array(first, order="C"), np.array(second, order="C"), size


def _two_lists(pairs: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the preferred and the other lists of an array of pairs, shape (n, 2, K)."""
    try:
        array = np.asarray(pairs)
    except ValueError as error:
        raise InputError(
            "the lists have different lengths; pad the shorter ones with -2 (no result), or read "
            "the pairs with dl.read_preferences"
        ) from error

    if array.ndim != 3 or array.shape[1] != 2:
        raise InputError(
            f"the log is a {type(pairs).__name__} of shape {array.shape}; give what "
            "dl.read_preferences returns, or an array (n, 2, K): preferred list, other list"
        )
    return array[:, 0], array[:, 1]
