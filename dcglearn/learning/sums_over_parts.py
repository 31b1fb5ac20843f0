"""The pairs of the QP and the judgements of the direct fit, in parts: their sums are sums over the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.learning.margin_qp import Pairs
from dcglearn.learning.pair_loss import Judgements
from dcglearn.logs.parts import Parts, stride_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcglearn.foundation.arrays import Floats
    from dcglearn.learning.pair_loss import LossSums
    from dcglearn.logs.pair_sums import PairSums


@dataclass(frozen=True)
class PairParts:
    """The QP's pairs in parts: a `PairSource`.

    Attributes
    ----------
    parts : Parts
        Of `Pairs`.
    depth : int
        K.
    sizes : ndarray, shape (n parts, 2)
        Number of pairs and total weight of each part.
    """

    parts: Parts
    depth: int
    sizes: Floats

    @classmethod
    def of(cls, parts: Parts, depth: int) -> PairParts:
        """Ask the parts how long and heavy they are."""
        return cls(parts, depth, np.array(parts.gathered(_size)))

    def __len__(self) -> int:
        return int(self.sizes[:, 0].sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.sizes[:, 1].sum())

    def evaluate(self, weights: Floats, curvature: bool = True) -> PairSums:
        """Return the sums over the pairs at W, shape (K, L)."""
        found: PairSums = self.parts.total(Pairs.evaluate, weights, curvature)
        return found

    def every(self, step: int) -> Pairs:
        """Return every `step`-th pair."""
        found = self.parts.gathered(Pairs.every, step, each=stride_starts(self.sizes[:, 0], step))
        names = ("first", "second", "margin", "weight")
        return Pairs(*(_columns([getattr(one, name) for one in found], found) for name in names))


@dataclass(frozen=True)
class JudgementParts:
    """Judgements in parts, for `direct.fit`.

    Attributes
    ----------
    parts : Parts
        Of `Judgements`.
    sizes : ndarray, shape (n parts, 2)
        Number of judgements and total weight of each part.
    """

    parts: Parts
    sizes: Floats

    @classmethod
    def of(cls, parts: Parts) -> JudgementParts:
        """Ask the parts how long and heavy they are."""
        return cls(parts, np.array(parts.gathered(_size)))

    def __len__(self) -> int:
        return int(self.sizes[:, 0].sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.sizes[:, 1].sum())

    def loss(self, weights: Floats, thresholds: Floats, errors: Floats, kind: int) -> LossSums:
        """Return the loss and its slopes; see `pair_loss`."""
        found: LossSums = self.parts.total(Judgements.loss, weights, thresholds, errors, kind)
        return found

    def every(self, step: int) -> Judgements:
        """Return every `step`-th judgement."""
        found = self.parts.gathered(Judgements.every, step, each=stride_starts(self.sizes[:, 0], step))
        names = ("first", "second", "level", "rater", "weight")
        return Judgements(*(_columns([getattr(one, name) for one in found], found) for name in names))


def _columns(arrays: Sequence[Any], owners: Sequence[Any]) -> Any:
    """Concatenate a column of each part, where one value may stand for all; one stands for all if all are that one."""
    if all(len(array) == 1 for array in arrays) and len({array.item() for array in arrays if array.ndim == 1}) == 1:
        return arrays[0]
    whole = [
        np.broadcast_to(array, len(owner)) if array.ndim == 1 and len(array) == 1 else array
        for array, owner in zip(arrays, owners, strict=True)
    ]
    return np.ascontiguousarray(np.concatenate(whole))


def _size(part: Any) -> Floats:
    return np.array([len(part), part.total_weight])
