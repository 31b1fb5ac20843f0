"""Names for the array types that signatures repeat."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Any array of float64."""

Grades: TypeAlias = NDArray[np.int8]
"""Grades by position: 0 = worst, -1 = no known grade."""

Integers: TypeAlias = NDArray[np.int64]
"""Any array of int64."""

Seed: TypeAlias = int | np.random.Generator | None
"""What `numpy.random.default_rng` takes: an int repeats itself, None does not."""
