"""Counts of each list's ratings, as text in files: ``2:1 4:12``, rating and number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Indices, InputError
from dcglearn.logs.columns import Columns
from dcglearn.logs.preference_pairs import AnyLog
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import packed, unique_rows
from dcglearn.readers.line_formats import NUMBER, shown, words_of


def texts_of_counts(counts: RatingCounts, log: Columns) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the counts of both lists of each pair as texts such as ``2:1 4:12``, (n,) each."""
    first, second, own = counts.rows_of(log)
    n = int(max(rows.max(initial=-1) for rows in (first, second, own))) + 1
    texts: NDArray[Any] = np.full(n, "", dtype=object)
    cells = own.tolist(), counts.rating.tolist(), counts.weight.tolist()
    for row, rating, weight in zip(*cells, strict=True):
        texts[row] += f"{' ' if texts[row] else ''}{_number(rating)}:{_number(weight)}"
    return texts[first], texts[second]


def with_ratings(log: AnyLog, texts: NDArray[Any]) -> AnyLog:
    """Return a log with counts in texts, shape (n, 2), within its raters and segments.

    Raise InputError if the counts of one list differ.
    """
    # the distinct texts of each list, within its group
    names, text = np.unique(texts.T.ravel().astype(str), return_inverse=True)
    both = np.concatenate([log.preferred, log.other])
    _, first, number = unique_rows(packed(both))
    lists, group = both[first], _groups(log)
    keys = unique_rows(np.column_stack([np.tile(group, 2), number, text]).astype(np.int64))[0]

    # a list with two texts
    twice = np.flatnonzero((np.diff(keys[:, :2], axis=0) == 0).all(axis=1))
    if len(twice):
        bad = lists[keys[twice[0], 1]].tolist()
        one, other = (str(names[keys[row, 2]]) for row in (twice[0], twice[0] + 1))
        raise InputError(
            f"the list {bad} has the ratings {one!r} on one line and {other!r} on another; one log "
            "was joined to another: read the ratings of both together"
        )

    # a row for each rating of each list
    counts = [parsed_counts(name) for name in names]
    size = np.array([len(values) for values in counts])[keys[:, 2]]
    rating, weight = np.array([pair for row in keys[:, 2] for pair in counts[row]]).reshape(-1, 2).T
    groups, numbers = np.repeat(keys[:, 0], size), np.repeat(keys[:, 1], size)
    return log.changed(rated=RatingCounts(lists, groups, numbers, rating, weight), group=group)


def _groups(log: Columns) -> Indices:
    """Return a number for each distinct rater and segment, shape (n,)."""
    number = np.zeros(len(log), dtype=np.intp)
    for labels in (log.rater, log.segment):
        if labels is not None:
            number = number * (len(log) + 1) + np.unique(labels, return_inverse=True)[1]
    return np.unique(number, return_inverse=True)[1]


def parsed_counts(text: str) -> list[tuple[float, float]]:
    """Return the ratings and numbers in a text such as ``2:1 4:12``, or raise InputError."""
    counts = [tuple(part.split(":")) for part in words_of(text)]
    are_pairs = all(len(pair) == 2 and all(map(NUMBER.fullmatch, pair)) for pair in counts)
    if not counts or not are_pairs:
        raise InputError(f"{shown(text)} is no count of ratings such as '2:1 4:12' (rating:number)")
    numbers = [(float(rating), float(number)) for rating, number in counts]
    if not np.isfinite(numbers).all() or any(number <= 0 for _, number in numbers):
        raise InputError(f"{shown(text)} counts a rating a number of times that is not positive")
    return numbers


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
