"""Columns of a data frame as features, by their names."""

import re
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Floats, InputError, listed

_NUMBERS = r"(u?int\d+|float\d*|double|bool(ean)?)(\[pyarrow\])?"
"""Types of columns of numbers, in small letters, as pandas and polars write them."""


def is_table(features: Any) -> bool:
    """Return whether features are a data frame of pandas or polars."""
    return hasattr(features, "columns") and hasattr(features, "dtypes")


def from_frame(frame: Any) -> tuple[Floats, tuple[str, ...]]:
    """Return a frame's features, shape (n, d) with NaN where missing, and their names."""
    names = tuple(str(name) for name in frame.columns)
    for name, kind in zip(names, frame.dtypes, strict=True):
        if names.count(name) > 1:
            raise InputError(f"column {name!r} occurs twice; give each feature a name of its own")
        if not re.fullmatch(_NUMBERS, str(kind).lower()):
            raise InputError(
                f"column {name!r} holds {kind}; features are numbers: leave it out, or number "
                "its values"
            )

    if hasattr(frame, "cast"):
        import polars as pl

        return frame.cast(pl.Float64).to_numpy(), names
    return frame.to_numpy(dtype=np.float64, na_value=np.nan), names


def in_order(features: Any, columns: tuple[str, ...], wanted: tuple[str, ...]) -> Any:
    """Return features in the order of the columns `wanted`.

    Raise InputError unless `columns` are these, in any order.
    """
    different = sorted(set(columns) ^ set(wanted))
    if different:
        raise InputError(
            f"X and the training set differ in column {different[0]!r}; the model was trained on "
            f"{listed(map(repr, wanted))}"
        )
    return features if columns == wanted else features[:, [columns.index(name) for name in wanted]]
