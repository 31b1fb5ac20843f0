"""The columns of a log, a row each in `Columns`: checks, readers, writers and docs follow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.validation import (
    Counts,
    Flags,
    Floats,
    Grades,
    InputError,
    InputTypeError,
    Integers,
    frozen,
    graded_lists,
    is_frame,
    is_records,
    pair_values,
    scale_size,
)
from dcglearn.logs.unique_rows import size_of


@dataclass(frozen=True)
class Column:
    """What a column holds of each pair.

    `kind` is positive, number, label, text (a label of any length), flag or documents. `missing`
    is the value of a pair that lacks the column where others have it, None if then no pair may have
    it. Learners, and so logs in parts, use only the columns that are `learned`. The names that
    files give to columns stand in the contract of reading.
    """

    kind: str
    meaning: str
    missing: Any = None
    learned: bool = False


def _column(kind: str, meaning: str, missing: Any = None, *, learned: bool = False) -> Any:
    """Return the field of a column, which is None where a log lacks it."""
    return field(default=None, metadata={"column": Column(kind, meaning, missing, learned)})


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """The lists of a log and its columns, an entry a pair, without checks; arrays are read-only."""

    # both lists of each pair, shape (n, K)
    preferred: Grades
    other: Grades
    n_grades: int

    # an entry a pair
    id: NDArray[np.object_] | None = _column("text", "which judgement it is, any text", missing="")
    query: NDArray[np.str_] | None = _column("label", "for which query", missing="")
    rater: NDArray[np.str_] | None = _column("label", "who judged", missing="", learned=True)
    weight: Floats | None = _column(
        "positive", "how often the pair counts, above 0", missing=1.0, learned=True
    )
    strength: Floats | None = _column(
        "positive", "how clearly the winner wins, above 0", missing=1.0, learned=True
    )
    margin: Floats | None = _column(
        "number", 'the difference of utility that the QP asks for with `margin="log"`', learned=True
    )
    tie: Flags | None = _column(
        "flag",
        "whether the lists were judged equally good: their order means nothing",
        missing=False,
        learned=True,
    )
    swapped: Flags | None = _column(
        "flag", "whether the pair was shown the other way round", learned=True
    )
    docs: NDArray[np.object_] | None = _column(
        "documents", "the names of the documents of both lists by position"
    )
    segment: NDArray[np.str_] | None = _column(
        "label", 'the kind of the query or of the rater, such as "navigational"', missing=""
    )
    time: NDArray[np.str_] | None = _column(
        "label", "when it was judged, such as 2026-03-01", missing=""
    )
    tie_kind: NDArray[np.str_] | None = _column(
        "label", 'the kind of a tie, such as "both good"; kept, not modelled', missing=""
    )
    status: NDArray[np.object_] | None = _column(
        "text", 'whether it was accepted, such as "Approved"', missing=""
    )

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
        for values in self._arrays().values():
            frozen(values)

    def __len__(self) -> int:
        return len(self.preferred)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of an entry a pair that the log has, by attribute."""
        arrays = {name: getattr(self, name) for name in ("preferred", "other", "units", *COLUMNS)}
        return {name: values for name, values in arrays.items() if values is not None}

    def rows(self, index: Any) -> Self:
        """Return the pairs at a slice, mask or indices."""
        return self.changed(**{name: values[index] for name, values in self._arrays().items()})

    @classmethod
    def unchecked(cls, **values: Any) -> Self:
        """Return a log of values that are known to be sound."""
        log = object.__new__(cls)
        Columns.__init__(log, **values)
        return log

    def changed(self, **values: Any) -> Self:
        """Return the log with other values, which are known to be sound, in place of its own."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(Columns)}
        return self.unchecked(**{**own, **values})


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


COLUMNS: dict[str, Column] = {
    entry.name: entry.metadata["column"] for entry in fields(Columns) if entry.metadata
}
"""The table of columns by attribute, in the order of files."""


def weights_of(log: Columns) -> Floats:
    """Return the weight of each pair, shape (n,)."""
    return np.ones(len(log)) if log.weight is None else log.weight


def ties_of(log: Columns) -> Flags:
    """Return whether each pair is a tie, shape (n,)."""
    return np.zeros(len(log), bool) if log.tie is None else log.tie


def ways_of(log: Columns) -> Integers:
    """Return 1 where a pair's first list was shown first, -1 where the other was, else 0; (n,)."""
    return np.zeros(len(log), int) if log.swapped is None else np.where(log.swapped, -1, 1)


def checked_column(name: str, values: ArrayLike, n: int) -> NDArray[Any]:
    """Return the values of a column of n pairs, or raise InputError unless they are of its kind."""
    return CHECKS[COLUMNS[name].kind](values, name, n)


def checked_lists(
    preferred: ArrayLike,
    other: ArrayLike | None,
    n_grades: int | None,
    grade_names: Sequence[str] | None,
) -> tuple[Grades, Grades, int]:
    """Return both lists of every pair, which the caller cannot change, and the number of grades."""
    # the scale, as far as it is given
    size = n_grades
    if grade_names is not None:
        size = len(grade_names)
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
    if is_frame(pairs) or is_records(pairs):
        raise InputError(
            "this is a table or a list of records, not lists of grades; read it with "
            "dl.read_preferences"
        )

    # an array of pairs
    try:
        array = np.asarray(pairs)
    except ValueError as error:
        raise InputError(
            "the lists have different lengths; pad the shorter ones with -2 (no result), or read "
            "the pairs with dl.read_preferences",
            see="lengths",
        ) from error

    if not array.ndim:
        found = type(pairs).__name__
        raise InputTypeError(f"the log is a {found}; give what read_preferences returns")
    if array.ndim != 3 or array.shape[1] != 2:
        raise InputError(
            f"pairs have shape {array.shape}; expected (n, 2, K): preferred list, other list"
        )
    return array[:, 0], array[:, 1]


def _flags(values: ArrayLike, name: str, n: int) -> Flags:
    flags = np.array(values)
    if flags.shape != (n,) or (flags.dtype != bool and not np.isin(flags, (0, 1)).all()):
        raise InputError(
            f"{name} must be {n} booleans, one per pair; found {flags.dtype} of shape {flags.shape}"
        )
    return flags.astype(bool)


def _documents_text(docs: ArrayLike, name: str, n: int) -> NDArray[np.object_]:
    """Return the names of the documents of every list as one text, joined by tabs, shape (n, 2)."""
    names = np.asarray(docs, dtype=object)
    if names.shape == (n, 2) and all(isinstance(text, str) for text in names.ravel()):
        return names.copy()
    if names.ndim != 3 or names.shape[:2] != (n, 2):
        raise InputError(
            f"{name} has shape {names.shape}; expected the names of every list's documents, ({n}, "
            "2, K)"
        )
    texts = np.empty((n, 2), dtype=object)
    for place in np.ndindex(n, 2):
        texts[place] = "\t".join(map(str, names[place]))
    return texts


def _labels(labels: ArrayLike, name: str, n: int, *, are_short: bool = True) -> NDArray[Any]:
    """Return labels as numpy's texts, which are all as wide as the longest, or as Python's."""
    array = np.asarray(labels, dtype=None if are_short else object)
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape}; expected one label per pair, ({n},)")
    if are_short:
        return array.astype(str, copy=array.flags.writeable)
    return np.array([str(label) for label in array], dtype=object)


CHECKS: dict[str, Callable[[Any, str, int], NDArray[Any]]] = {
    "positive": partial(pair_values, positive=True),
    "number": pair_values,
    "flag": _flags,
    "label": _labels,
    "documents": _documents_text,
    "text": partial(_labels, are_short=False),
}
"""The checks of columns by their kind: they take values, the name and the number of pairs."""
