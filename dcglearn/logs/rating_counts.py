"""The ratings behind a log of rated lists: how often each list got each rating, in each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dcglearn.foundation.validation import InputError, frozen
from dcglearn.logs.unique_rows import packed, unique_rows
from dcglearn.readers.line_formats import NUMBER, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades


class Pairs(Protocol):
    """The columns of pairs of rated lists: both lists, shape (n, K), and labels of shape (n,) or None."""

    @property
    def preferred(self) -> Grades: ...  # noqa: D102
    @property
    def other(self) -> Grades: ...  # noqa: D102
    @property
    def rater(self) -> NDArray[np.str_] | None: ...  # noqa: D102
    @property
    def segment(self) -> NDArray[np.str_] | None: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class RatingCounts:
    """How often each list got each rating, in each group; read-only.

    Attributes
    ----------
    lists : ndarray of int8, shape (U, K)
        The distinct lists.
    groups : ndarray of str, shape (G, 2)
        Label of the group and of the segment within which lists are compared; empty where the log names none.
    group, list : ndarray of int, shape (m,)
        Row of `groups` and of `lists`, for each distinct group, list and rating.
    rating, weight : ndarray of float, shape (m,)
        The rating, and the number of lines that gave it.
    """

    lists: Grades
    groups: NDArray[np.str_]
    group: NDArray[np.intp]
    list: NDArray[np.intp]
    rating: Floats
    weight: Floats

    def __post_init__(self) -> None:
        for values in vars(self).values():
            frozen(values)

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        return f"RatingCounts({self.weight.sum():g} ratings of {len(self.lists)} lists in {len(self.groups)} group(s))"

    def rows_of(self, log: Pairs) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return the numbers of the rated lists of each pair, shape (n,) twice, and of each count, shape (m,).

        A rated list is a list in a group. Lists in pairs without counts have numbers that no count has.
        """
        n = len(log.preferred)
        numbers = unique_rows(packed(np.concatenate([log.preferred, log.other, self.lists])))[2]
        group = np.concatenate([*[self._group_of(log)] * 2, self.group])
        lists = np.concatenate([numbers[: 2 * n], numbers[2 * n :][self.list]])
        rows = np.unique(group * (int(numbers.max(initial=0)) + 1) + lists, return_inverse=True)[1]
        return rows[:n], rows[n : 2 * n], rows[2 * n :]

    def of(self, log: Pairs) -> RatingCounts:
        """Return the counts of the lists that occur in a log's pairs, such as a subset of those built from them."""
        first, second, own = self.rows_of(log)
        kept = np.isin(own, np.concatenate([first, second]))
        if kept.all():
            return self
        lists, which = np.unique(self.list[kept], return_inverse=True)
        groups, where = np.unique(self.group[kept], return_inverse=True)
        return RatingCounts(self.lists[lists], self.groups[groups], where, which, self.rating[kept], self.weight[kept])

    def texts(self, log: Pairs) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the counts of both lists of each pair as text, ``rating:number`` separated by blanks; (n,) each."""
        first, second, own = self.rows_of(log)
        texts: NDArray[Any] = np.full(int(max(x.max(initial=-1) for x in (first, second, own))) + 1, "", dtype=object)
        for row, rating, weight in zip(own.tolist(), self.rating.tolist(), self.weight.tolist(), strict=True):
            texts[row] += f"{' ' if texts[row] else ''}{_number(rating)}:{_number(weight)}"
        return texts[first], texts[second]

    def _group_of(self, log: Pairs) -> NDArray[np.intp]:
        """Return the row of `groups` of each pair, shape (n,); the number of rows where there is none."""
        place = {tuple(labels): row for row, labels in enumerate(self.groups.tolist())}
        labels, number = _groups(log)
        rows: NDArray[np.intp] = np.array([place.get(tuple(name), len(place)) for name in labels.tolist()], np.intp)
        return rows[number]


def counts_of_texts(log: Pairs, texts: NDArray[Any]) -> RatingCounts:
    """Return the counts that a saved log holds as texts, shape (n, 2), beside the lists of its pairs.

    Raises InputError if one list of one group has different counts on different lines.
    """
    names, text = np.unique(texts.T.ravel().astype(str), return_inverse=True)
    _, first, number = unique_rows(packed(np.concatenate([log.preferred, log.other])))
    lists = np.concatenate([log.preferred, log.other])[first]
    labels, group = _groups(log)
    keys = unique_rows(np.column_stack([np.tile(group, 2), number, text]).astype(np.int64))[0]
    twice = np.flatnonzero((np.diff(keys[:, :2], axis=0) == 0).all(axis=1))
    if len(twice):
        bad = keys[twice[0], 1]
        counted = [str(names[keys[row, 2]]) for row in (twice[0], twice[0] + 1)]
        raise InputError(
            f"the list {lists[bad].tolist()} has the ratings {counted[0]!r} on one line and {counted[1]!r} "
            "on another; one log was joined to another: read the ratings of both together"
        )
    counts = [parsed_counts(name) for name in names]
    size = np.array([len(values) for values in counts])[keys[:, 2]]
    rating, weight = np.array([pair for row in keys[:, 2] for pair in counts[row]]).reshape(-1, 2).T
    return RatingCounts(lists, labels, np.repeat(keys[:, 0], size), np.repeat(keys[:, 1], size), rating, weight)


def parsed_counts(text: str) -> list[tuple[float, float]]:
    """Return the ratings and their numbers in a text such as ``2:1 4:12``; raise InputError for another text."""
    counts = [tuple(part.split(":")) for part in text.split()]
    if not counts or not all(len(pair) == 2 and all(map(NUMBER.fullmatch, pair)) for pair in counts):
        raise InputError(f"{shown(text)} is no count of ratings such as '2:1 4:12' (rating:number)")
    numbers = [(float(rating), float(number)) for rating, number in counts]
    if not np.isfinite(numbers).all() or any(number <= 0 for _, number in numbers):
        raise InputError(f"{shown(text)} counts a rating a number of times that is not positive")
    return numbers


def _groups(log: Pairs) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Return the distinct labels of group and segment, shape (G, 2), and their row for each pair, shape (n,)."""
    empty = np.array([""]), np.zeros(len(log.preferred), dtype=np.intp)
    (raters, rater), (segments, segment) = (
        empty if x is None else np.unique(x.astype(str), return_inverse=True) for x in (log.rater, log.segment)
    )
    codes, number = np.unique(rater * len(segments) + segment, return_inverse=True)
    return np.column_stack([raters[codes // len(segments)], segments[codes % len(segments)]]), number


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
