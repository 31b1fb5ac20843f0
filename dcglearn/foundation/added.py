"""Sums over parts of a log, which add field by field."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats


class AddedByField:
    """Mixin of frozen dataclasses whose fields all add with ``+``."""

    def __add__(self, other: Self) -> Self:
        sums: Any = self
        return type(self)(*(getattr(self, x.name) + getattr(other, x.name) for x in fields(sums)))


@dataclass(frozen=True)
class Tally:
    """Distinct values, sorted, and the total weight of each; parts add with ``+``."""

    values: NDArray[Any]
    weight: Floats

    @classmethod
    def of(cls, values: NDArray[Any], weight: Floats | None = None) -> Self:
        """Return the tally of values with weights, shape (n,) both, by default 1 each."""
        if weight is None:
            distinct, n = np.unique(values, return_counts=True)
            return cls(distinct, n.astype(np.float64))
        distinct, number = np.unique(values, return_inverse=True)
        return cls(distinct, np.bincount(number, weight, len(distinct)).astype(np.float64))

    def __add__(self, other: Self) -> Self:
        values = np.concatenate([self.values, other.values])
        return self.of(values, np.concatenate([self.weight, other.weight]))
