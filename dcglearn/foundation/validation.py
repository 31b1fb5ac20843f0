"""Types of arrays, and checks of arguments, made where data come in: the code below trusts them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.plain_text import nearest

if TYPE_CHECKING:
    import polars as pl

Floats: TypeAlias = NDArray[np.float64]
"""Any array of float64."""

Grades: TypeAlias = NDArray[np.int8]
"""Grades by position: 0 = worst, -1 = a result whose grade is not known, -2 = no result."""

Integers: TypeAlias = NDArray[np.int64]
"""Any array of int64."""

Indices: TypeAlias = NDArray[np.intp]
"""Any array of indices or of numbers of things, from 0."""

Flags: TypeAlias = NDArray[np.bool_]
"""Any array of booleans."""

PathLike: TypeAlias = str | os.PathLike[str]
"""A path to a file or a folder."""

Fields: TypeAlias = dict[str, Any]
"""Values by name: the fields of a record of JSON, or the arguments of a call."""

Counts: TypeAlias = dict[str, int]
"""How often each thing was left out or counted."""

PolarsFrame: TypeAlias = "pl.DataFrame"
"""A table of polars, which is imported where tables are made."""

Seed: TypeAlias = int | np.random.Generator | None
"""A seed for `numpy.random.default_rng`: an int repeats its numbers, None does not."""

MAX_GRADES = 127
"""Largest number of grades: int8 also holds -1 and -2, for unknown grades and no result."""

UNKNOWN, EMPTY = -1, -2
"""Codes of a result whose grade is not known, and of a place without a result."""

LARGEST = 1e15
"""Largest weight, strength or margin of a pair: a double cannot add larger and small ones."""

MOST_ECHOED = 80
"""Most characters of a refused value in a message."""


def shortened(message: str) -> str:
    """Return a message with `MOST_ECHOED` characters of each longer value in it."""
    # a quoted text, a list or a word that is longer; paths may have 255 characters
    most = MOST_ECHOED - 1
    text, list_ = rf"(?<!\w)'(?:[^'\\]|\\.){{{most},}}'(?!\w)", rf"\[[^\[\]]{{{most},}}\]"
    word = rf"[^\s/\\]{{{MOST_ECHOED},}}[^\s/\\;,:.)]|\S{{255,}}[^\s;,:.)]"
    longer = f"{text}|{list_}|{word}"
    return re.sub(longer, lambda value: value[0][: MOST_ECHOED - 3] + "...", message)


class InputError(ValueError):
    """Input that cannot be used as it is; the message names the place, the value and the remedy.

    See Also
    --------
    evaluation.ScaleWarning : Input that may be used, with doubt.

    Examples
    --------
    >>> try:
    ...     dl.DCG(gains=[0, 1], discounts=[1, float("nan")])
    ... except dl.InputError as problem:
    ...     print(problem)
    discounts[1]: nan is not a finite number
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class UpsideDownError(InputError):
    """A log that all textbook DCGs contradict: grades, winners or sides were read reversed.

    The message says which reversal makes sense of it, and the option that reads it so;
    ``as_is=True`` insists.

    See Also
    --------
    read_preferences : The options.

    Examples
    --------
    >>> log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 100, random_state=0)
    >>> try:
    ...     dl.DCGLearner().fit(dl.Preferences(log.other, log.preferred))
    ... except dl.io.UpsideDownError as problem:
    ...     print(str(problem)[:22])
    the log is upside down
    """


@contextlib.contextmanager
def errors_in(place: object) -> Iterator[None]:
    """Put a place, such as a file or a line, before the message of an InputError."""
    try:
        yield
    except InputError as error:
        error.args = (f"{place}: {error}",)
        raise


def at_depth(lists: Grades, depth: int) -> Grades:
    """Return the first `depth` positions of lists, shape (n, M); those that lack are empty."""
    lacking = max(depth - lists.shape[1], 0)
    return np.pad(lists[:, :depth], [(0, 0), (0, lacking)], constant_values=EMPTY)


def filled(lists: Grades, grade: int = UNKNOWN) -> Grades:
    """Return lists with a grade, by default an unknown one, in their empty places."""
    if lists.min(initial=0) != EMPTY:
        return lists
    return np.where(lists == EMPTY, np.int8(grade), lists)


def number_lists(lists: ArrayLike, name: str = "lists") -> NDArray[Any]:
    """Return lists of numbers, whole or not, as an array, shape (n, K) or (K,)."""
    try:
        array = np.asarray(lists)
    except ValueError as error:
        raise InputError(
            f"{name}: the lists have different lengths; pad the shorter with -2"
        ) from error

    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise InputError(
            f"{name} has shape {array.shape}; expected (n, K) or (K,) grades with K >= 1"
        )
    if array.dtype == bool or array.dtype.kind not in "iuf":
        raise InputError(
            f"{name} holds {array.dtype}; grades are integers, 0 = worst, -1 = unknown"
        )
    return array


def graded_lists(
    lists: ArrayLike, name: str = "lists", n_grades: int | None = None, *, empty: bool = False
) -> Grades:
    """Return checked grades by position as int8, shape (n, K) or (K,).

    0 is the worst, -1 an unknown grade, -2 no result; unless `empty`, both of these are -1.
    """
    # shape and type
    array = number_lists(lists, name)
    if array.size == 0:
        return array.astype(np.int8)

    # values
    if array.dtype.kind == "f":
        fraction = ~np.isfinite(array) | (array != np.floor(array))
        refuse_where(fraction, array, name, "is not an integer grade; use -1 for no grade")

    top, reason = n_grades, f"the scale has n_grades={n_grades}"
    if top is None:
        top, reason = MAX_GRADES, f"at most {MAX_GRADES} grades are supported"
    if array.min() < EMPTY or array.max() >= top:
        problem = f"lies outside {EMPTY}..{top - 1}; {reason}"
        refuse_where((array < EMPTY) | (array >= top), array, name, problem, "grade ")

    grades = array.astype(np.int8, copy=False)
    return grades if empty else filled(grades)


def multiset(documents: ArrayLike, n_grades: int | None = None) -> Grades:
    """Check the grades of documents and return them as int8, shape (N,); see `graded_lists`."""
    size = None if n_grades is None else scale_size(n_grades, 0)
    grades = graded_lists(documents, "documents", size)
    if grades.ndim != 1:
        raise InputError(f"documents has shape {grades.shape}; expected a grade each, (N,)")
    return grades


def scale_size(n_grades: int | None, top: int, name: str = "n_grades") -> int:
    """Return the number of grades: `n_grades`, checked, or `top`, the largest grade, plus 1."""
    if n_grades is None:
        return max(top + 1, 1)
    return whole_number(n_grades, name, 1, MAX_GRADES)


def finite_array(values: ArrayLike, name: str, ndim: int) -> Floats:
    """Return a read-only float64 copy.

    Raise InputError if it is empty, not finite, or of another number of dimensions than `ndim`.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers in {ndim} dimension(s): {error}") from error
    if array.ndim != ndim or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}; expected {ndim} non-empty dimension(s)")
    refuse_where(~np.isfinite(array), array, name, "is not a finite number")
    return frozen(array)


def pair_values(values: ArrayLike, name: str, n: int, *, positive: bool = False) -> Floats:
    """Return a finite float per pair, shape (n,), read-only; else raise InputError.

    With `positive`, each must be above 0.
    """
    array = np.array(values, dtype=np.float64) if n == 0 else finite_array(values, name, 1)
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape}; expected one value per pair, ({n},)")
    beyond = f"is beyond {LARGEST:g}; divide all of them by a common factor"
    refuse_where(np.abs(array) > LARGEST, array, name, beyond)
    if positive:
        refuse_where(array <= 0, array, name, "is not positive; leave such pairs out")
    return frozen(array)


def as_path(path: Any) -> Path:
    """Return text or a path object as a path; raise InputError if no file can have that name."""
    try:
        if b"\0" not in os.fsencode(path):
            return Path(path)
    except (TypeError, UnicodeError):
        pass
    raise InputError(
        f"{path!r} cannot be the name of a file: give text or a path, such as 'result.json'"
    )


def suffix_among(path: Any, suffixes: Iterable[str], contents: str) -> str:
    """Return an output path's suffix in lower case; raise InputError unless it is in `suffixes`."""
    suffix = as_path(path).suffix.lower()
    if suffix not in suffixes:
        allowed = ", ".join(filter(None, suffixes))
        shown = suffix or "a file without a suffix"
        raise InputError(f"{path}: {contents} are not written as {shown}; give {allowed}")
    return suffix


def query_labels(qid: ArrayLike, n: int) -> NDArray[Any]:
    """Return the query of each of `n` documents, none of them missing, shape (n,)."""
    # a label a document
    if qid is None:
        raise InputError("qid is missing: give the query of each document, one label per row of X")
    labels = np.asarray(qid)
    if labels.shape != (n,):
        raise InputError(
            f"qid has shape {labels.shape}; expected one label per document, ({n},); of group "
            "sizes give np.repeat(np.arange(len(sizes)), sizes), or Queries.from_groups"
        )

    # each of them known
    if labels.dtype.kind not in "fO":
        return labels
    names = labels.astype(str)
    missing = np.isin(names, ("None", "nan", "inf", "-inf", "<NA>", "NaT"))
    if missing.any():
        row = int(missing.argmax())
        raise InputError(f"qid[{row}] is a missing value; give every document's query")
    return names if labels.dtype.kind == "O" else labels


def query_offsets(qid: ArrayLike, n: int) -> tuple[Integers, NDArray[Any]]:
    """Return offsets, shape (m + 1,), and names, shape (m,), of queries with contiguous rows."""
    # rows at which a query begins
    labels = query_labels(qid, n)
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1])[:n])
    names = labels[starts]

    # no query may begin twice
    _, first, where = np.unique(names, return_index=True, return_inverse=True)
    repeated = first[where] != np.arange(len(names))
    if repeated.any():
        row = int(starts[repeated.argmax()])
        raise InputError(
            f"qid[{row}] = {labels[row]}: this query appears again; keep the documents of a query "
            "together: sort the rows, order = np.argsort(qid, kind='stable')"
        )
    return np.append(starts, n).astype(np.int64), names.copy()


def whole_number(
    value: Any, name: str, least: int = 1, most: int | None = None, remedy: str = ""
) -> int:
    """Return an integer from `least` to `most` as an int; else raise InputError with `remedy`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name}={value!r} is not an integer")
    if value < least or (most is not None and value > most):
        allowed = f"{least} or more" if most is None else f"{least} to {most}"
        problem = f"{name}={value}: give {allowed}" + (f"; {remedy}" if remedy else "")
        raise InputError(problem)
    return int(value)


def within(
    value: Any, name: str, most: float = np.inf, remedy: str = "", *, exclusive: bool = False
) -> None:
    """Raise InputError, ending with `remedy`, unless `value` is a finite number from 0 to `most`.

    The ends themselves are refused if they are `exclusive`.
    """
    number = np.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # of integers beyond all floats
            number = float(value)
    inside = 0 <= number <= most and number < np.inf
    if inside and not (exclusive and number in (0, most)):
        return

    # what is allowed
    least = "above 0" if exclusive else "of at least 0"
    limit = f" and {'below' if exclusive else 'at most'} {most:g}" if np.isfinite(most) else ""
    problem = f"{name}={value!r} must be a finite number {least}{limit}"
    raise InputError(f"{problem}; {remedy}" if remedy else problem)


def flag(value: Any, name: str) -> None:
    """Raise InputError unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name}={value!r}: give True or False")


def one_of(value: Any, name: str, choices: Iterable[str], remedy: str = "") -> None:
    """Raise InputError that lists the choices, then `remedy`, unless `value` is a choice."""
    if not isinstance(value, str) or value not in choices:
        hint = nearest(str(value), choices)
        raise InputError(f"{name}={value!r}: give one of {', '.join(choices)}{remedy}{hint}")


def known(names: Iterable[str], allowed: Collection[str], owner: str, noun: str) -> None:
    """Raise InputError for the first name that is not allowed; it tells the nearest one."""
    for name in names:
        if name not in allowed:
            raise InputError(
                f"{owner} has no {noun} {name!r}, but {listed(allowed)}{nearest(name, allowed)}"
            )


def listed(names: Iterable[Any], most: int = 20) -> str:
    """Return the first `most` names for a message, separated by commas."""
    texts = [*map(str, names)]
    if len(texts) > most:
        texts[most:] = [f"and {len(texts) - most:,} more"]
    return ", ".join(texts)


def frozen(array: Any) -> Any:
    """Return the array itself, marked read-only."""
    array.flags.writeable = False
    return array


def refuse_where(
    wrong: Flags, array: NDArray[Any], name: str, problem: str, noun: str = ""
) -> None:
    """Raise InputError with the `first_place` and the problem if any entry is wrong."""
    if wrong.any():
        raise InputError(f"{first_place(name, array, wrong, noun)} {problem}")


def first_place(name: str, array: NDArray[Any], wrong: Flags, noun: str = "") -> str:
    """Return the place and value of the first wrong entry, as ``lists[3, 1]: grade 7``."""
    place = ", ".join(map(str, np.argwhere(wrong)[0]))
    value = array[wrong][0]
    shown = f"{value:g}" if value == np.floor(value) else f"{value}"
    return f"{name}[{place}]: {noun}{shown}"


def is_frame(value: Any) -> bool:
    """Return whether a value is a table of polars, pandas, or another library of Arrow."""
    marks = ("__arrow_c_stream__", "__dataframe__", "itertuples", "collect_schema")
    return not hasattr(value, "to_delayed") and any(hasattr(value, name) for name in marks)


def is_records(value: Any) -> bool:
    """Return whether a value is a list or a tuple of mappings."""
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)
