"""The ratings behind a log of rated lists: how often each list got each rating, in each group."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from dcglearn.foundation.validation import Floats, Grades, Indices


@dataclass(frozen=True, eq=False)
class RatingCounts:
    """How often each list got each rating, in each group.

    `lists`, shape (U, K), are the distinct lists, compared within groups. For each distinct group,
    list and rating, shape (m,), `group` is the number of the group, `list` the row of `lists`,
    `unit` the number of the list within its group, by which the log holds the lists of its pairs,
    `rating` the rating, and `weight` the number of lines that gave it.
    """

    lists: Grades
    group: Indices
    list: Indices
    unit: Indices
    rating: Floats
    weight: Floats

    def of(self, units: Indices) -> Self:
        """Return the counts of some units, such as those that occur in a subset of a log."""
        kept = np.isin(self.unit, units)
        lists, which = np.unique(self.list[kept], return_inverse=True)
        return type(self)(
            self.lists[lists],
            self.group[kept],
            which,
            self.unit[kept],
            self.rating[kept],
            self.weight[kept],
        )
