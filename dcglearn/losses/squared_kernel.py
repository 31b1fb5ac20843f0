"""Mean squared error by query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats, Integers


def squared_error(scores: Floats, targets: Floats, offsets: Integers, weight: Floats) -> tuple[float, Floats]:
    """Return the weighted sum over queries of the mean of ``(score - target)^2``, and its gradient in the scores."""
    sizes = np.diff(offsets)
    each = np.repeat(weight / np.maximum(sizes, 1), sizes)
    short = scores - targets
    pull = each * short
    return float((pull * short).sum()), 2 * pull  # a sum, not BLAS's dot, which wakes threads for so little
