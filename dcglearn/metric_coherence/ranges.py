"""Ranges of every gain and discount over all DCGs that respect a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, InputError, whole_number
from dcglearn.metric_coherence.dominance import SLACK, Cone, span
from dcglearn.parts.parts import without_equal_lists
from dcglearn.readers.preferences import Preferences, as_preferences


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of gains and discounts; prints as a table that names the wide ones.

    `gains`, shape (2, L), holds the least and the largest gain of each grade (worst = 0, best = 1), `discounts`, shape
    (2, K), the same of each position's discount (the first = 1). `violation` is the least mean violation of the log, as
    a share of the mean advantage of preferred lists; `used` is the share of the log's weight in the pairs used.
    """

    gains: Floats
    discounts: Floats
    violation: float
    used: float

    @property
    def _rows(self) -> list[tuple[str, float, float]]:
        """Name, least and largest value of every parameter."""
        gains = [(f"gain of grade {grade}", low, high) for grade, (low, high) in enumerate(self.gains.T)]
        return gains + [(f"discount at {k + 1}", low, high) for k, (low, high) in enumerate(self.discounts.T)]

    @property
    def open_parameters(self) -> tuple[str, ...]:
        """The parameters with a range wider than 0.5, half of the scale."""
        return tuple(name for name, low, high in self._rows if high - low > 0.5)

    def __str__(self) -> str:
        rows = [f"{name:<18}{low:8.3f} to {high:.3f}" for name, low, high in self._rows]
        wide = ", ".join(self.open_parameters)
        note = f"open, over more than half of the scale: {wide}" if wide else "no range is wider than half of the scale"
        return "\n".join([*rows, note])


def consistent_ranges(
    log: Preferences | ArrayLike, *, slack: float = 0.1, max_pairs: int = 3000, n_grades: int | None = None
) -> Ranges:
    """Return the range of every gain and discount over the DCGs that respect a log.

    Parameters
    ----------
    log, max_pairs, n_grades
        As in `dominance`; ties are left out.
    slack : float
        A metric respects the log if its mean violation is at most (1 + slack) times the least possible. 0 admits only
        the metrics that respect the log best; a larger slack suits noisy logs, and widens the ranges.

    Raises
    ------
    InputError
        If the log has no usable pair or no grades, or a setting is out of range.

    See Also
    --------
    bootstrap_bands : Bands under a model of noise.
    dominance : Which of two lists is better under all of these DCGs.

    Notes
    -----
    Linear programs over the utilities of `dominance`, which include every DCG with increasing gains and decreasing
    discounts, so no range is too narrow. The gain of l is ``sum_k W[k, l]`` divided by ``sum_k W[k, L-1]``, the
    discount at k is ``W[k, L-1]`` divided by ``W[0, L-1]``.

    Examples
    --------
    >>> from dcglearn.simulate import ground_truth, preference_pairs
    >>> few = consistent_ranges(preference_pairs(ground_truth("D1"), 20, lists="free", seed=0))
    >>> many = consistent_ranges(preference_pairs(ground_truth("D1"), 500, lists="free", seed=0))
    >>> bool(np.ptp(many.gains, axis=0).sum() < np.ptp(few.gains, axis=0).sum())
    True
    """
    log, _ = without_equal_lists(as_preferences(log, n_grades))
    if not log.graded:
        raise InputError("a log of documents has no grades, so no gains and discounts")
    if not (np.isfinite(slack) and slack >= 0):
        raise InputError(f"slack={slack!r} must be a number of at least 0")
    whole_number(max_pairs, "max_pairs", 1)
    cone = Cone.of(log, max_pairs)
    n_gains, depth = log.n_grades - 1, log.depth
    total = span(log.n_grades, depth)  # sum_k W[k, L-1] as a function of B
    first = np.ones(n_gains * depth)  # W[0, L-1] as a function of B
    least = cone.least_violation()
    budget = (1 + slack) * least
    in_gains = [
        np.where(np.arange(n_gains)[:, None] < grade, total.reshape(n_gains, depth), 0.0).ravel()
        for grade in range(n_gains + 1)
    ]
    in_discounts = [np.tile(np.arange(depth) >= k, (n_gains, 1)).ravel().astype(float) for k in range(depth)]
    gains = [[s * cone.least(s * x, total, budget, SLACK).value for s in (1.0, -1.0)] for x in in_gains]
    discounts = [[s * cone.least(s * x, first, budget, SLACK).value for s in (1.0, -1.0)] for x in in_discounts]
    return Ranges(_clean(gains), _clean(discounts), least, cone.used)


def _clean(ends: Sequence[Sequence[float]]) -> Floats:
    return np.clip(np.array(ends, dtype=np.float64).T, 0.0, 1.0) + 0.0
