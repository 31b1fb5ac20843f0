"""The ratings behind a log of rated lists: how often each list got each rating, in each group."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, Indices, frozen
from dcglearn.logs.columns import Columns
from dcglearn.logs.unique_rows import numbered, packed, size_of, unique_rows


@dataclass(frozen=True, eq=False)
class RatingCounts:
    """How often each list got each rating, in each group; read-only.

    `lists`, shape (U, K), are the distinct lists, compared within groups. For each distinct group,
    list and rating, shape (m,), `group` is the number of the group, which the log holds for each
    pair, `list` the row of `lists`, `rating` the rating, and `weight` the number of lines that gave
    it.
    """

    lists: Grades
    group: Indices
    list: Indices
    rating: Floats
    weight: Floats

    def __post_init__(self) -> None:
        for values in vars(self).values():
            frozen(values)

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        n_groups = len(np.unique(self.group))
        return (
            f"RatingCounts({self.weight.sum():g} ratings of {len(self.lists)} lists in {n_groups} "
            "group(s))"
        )

    def rows_of(self, log: Columns) -> tuple[Indices, Indices, Indices]:
        """Return the numbers of each pair's rated lists, (n,) twice, and of each count's, (m,)."""
        assert log.group is not None, "a log of rated lists"

        # lists of both, numbered together
        n = len(log.group)
        numbers = unique_rows(packed(np.concatenate([log.preferred, log.other, self.lists])))[2]

        # a list of another group is another
        group = np.concatenate([log.group, log.group, self.group])
        lists = np.concatenate([numbers[: 2 * n], numbers[2 * n :][self.list]])
        rows = numbered(group * size_of(numbers) + lists)
        return rows[:n], rows[n : 2 * n], rows[2 * n :]

    def of(self, log: Columns) -> Self:
        """Return the counts of the lists that occur in a log's pairs, such as a subset."""
        first, second, own = self.rows_of(log)
        kept = np.isin(own, np.concatenate([first, second]))
        if kept.all():
            return self
        lists, which = np.unique(self.list[kept], return_inverse=True)
        return type(self)(
            self.lists[lists], self.group[kept], which, self.rating[kept], self.weight[kept]
        )
