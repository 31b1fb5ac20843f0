"""The columns of a log, checked: the two lists of each pair, and what else is known of the pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.validation import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades

PAIR_COLUMNS = ("preferred", "other", "weight", "tie", "strength", "margin", "rater", "query", "swapped", "docs")
"""The columns with one entry a pair; all but the first two may be None."""

MISSING = {"weight": 1.0, "tie": False, "strength": 1.0, "rater": "", "query": ""}
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
