"""The ratings behind a log of rated lists: how often each list got each rating, in each group."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, Grades, frozen
from dcglearn.logs.columns import Columns
from dcglearn.logs.unique_rows import packed, unique_rows


@dataclass(frozen=True, eq=False)
class RatingCounts:
    """How often each list got each rating, in each group; read-only.

    `lists`, shape (U, K), are the distinct lists; `groups`, shape (G, 2), holds the labels of group and segment within
    which lists are compared, empty where the log names none. For each distinct group, list and rating, shape (m,),
    `group` and `list` are the rows of these, `rating` is the rating, and `weight` the number of lines that gave it.
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

    def rows_of(self, log: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return the numbers of the rated lists of each pair, shape (n,) twice, and of each count, shape (m,)."""
        n = len(log.preferred)
        numbers = unique_rows(packed(np.concatenate([log.preferred, log.other, self.lists])))[2]
        group = np.concatenate([*[self._group_of(log)] * 2, self.group])
        lists = np.concatenate([numbers[: 2 * n], numbers[2 * n :][self.list]])
        rows = np.unique(group * (int(numbers.max(initial=0)) + 1) + lists, return_inverse=True)[1]
        return rows[:n], rows[n : 2 * n], rows[2 * n :]

    def of(self, log: Columns) -> Self:
        """Return the counts of the lists that occur in a log's pairs, such as a subset of those built from them."""
        first, second, own = self.rows_of(log)
        kept = np.isin(own, np.concatenate([first, second]))
        if kept.all():
            return self
        lists, which = np.unique(self.list[kept], return_inverse=True)
        groups, where = np.unique(self.group[kept], return_inverse=True)
        return type(self)(self.lists[lists], self.groups[groups], where, which, self.rating[kept], self.weight[kept])

    def _group_of(self, log: Columns) -> NDArray[np.intp]:
        """Return the row of `groups` of each pair, shape (n,); the number of rows where there is none."""
        place = {tuple(labels): row for row, labels in enumerate(self.groups.tolist())}
        labels, number = group_labels(log)
        rows: NDArray[np.intp] = np.array([place.get(tuple(name), len(place)) for name in labels.tolist()], np.intp)
        return rows[number]


def group_labels(log: Columns) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Return the distinct labels of group and segment, shape (G, 2), and their row for each pair, shape (n,)."""
    empty = np.array([""]), np.zeros(len(log.preferred), dtype=np.intp)
    (raters, rater), (segments, segment) = (
        empty if x is None else np.unique(x.astype(str), return_inverse=True) for x in (log.rater, log.segment)
    )
    codes, number = np.unique(rater * len(segments) + segment, return_inverse=True)
    return np.column_stack([raters[codes // len(segments)], segments[codes % len(segments)]]), number
