"""Pairs and judgements in parts on a cluster: sums are added over the parts."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.margin_qp import Pairs
from dcglearn.learning.pair_loss import JudgedPairs, LossSums, Points
from dcglearn.learning.pair_sums import PairSums
from dcglearn.logs.thinning import marks_of_parts
from dcglearn.parts.parted_log import Parts


@dataclass(frozen=True)
class _InParts:
    """Parts of class `kind`; `sizes`, shape (n parts, 2), are lengths and total weights."""

    kind: ClassVar[type[Pairs | JudgedPairs]]
    parts: Parts
    sizes: Floats

    @classmethod
    def of(cls, parts: Parts, **more: Any) -> Self:
        """Return the parts with their sizes, which are gathered from where they are."""
        return cls(parts, np.array(parts.gathered(_size)), **more)

    def __len__(self) -> int:
        return int(self.sizes[:, 0].sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.sizes[:, 1].sum())

    def thinned(self, n: int) -> Any:
        """Return about `n` of the pairs that stand for all, in memory."""
        marks = marks_of_parts(n, *self.sizes.T)
        parts = self.parts.gathered(self.kind.marked, each=marks)
        columns: list[Any] = []
        for column in fields(self.kind):
            columns.append(_column([getattr(part, column.name) for part in parts], parts))
        return self.kind(*columns)


@dataclass(frozen=True)
class PairParts(_InParts):
    """The QP's pairs in parts: a `PairSource`; `depth` is K."""

    kind = Pairs
    depth: int

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at W, shape (K, L)."""
        return self.parts.total(Pairs.evaluate, weights, curvature)


@dataclass(frozen=True)
class JudgementParts(_InParts):
    """Judgements in parts: a `JudgementSource`."""

    kind = JudgedPairs

    def sums(self, points: Points, kind: int, order: int) -> LossSums:
        """Return the losses at the points; see `JudgedPairs.sums`."""
        return self.parts.total(JudgedPairs.sums, points, kind, order)


def _column(arrays: Sequence[Any], parts: Sequence[Any]) -> Any:
    """Concatenate a column over the parts; one value stands for all where they agree."""
    one_each = all(len(array) == 1 for array in arrays)
    if one_each and len({array.item() for array in arrays if array.ndim == 1}) == 1:
        return arrays[0]

    # lists have two dimensions, and one for every pair
    whole = []
    for array, part in zip(arrays, parts, strict=True):
        for_all = array.ndim == 1 and len(array) == 1
        whole.append(np.broadcast_to(array, len(part)) if for_all else array)
    return np.ascontiguousarray(np.concatenate(whole))


def _size(part: Any) -> Floats:
    return np.array([len(part), part.total_weight])
