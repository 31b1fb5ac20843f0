"""Columns of a data frame as features, by their names."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dcglearn.foundation.validation import Fields, Floats, InputError


@dataclass(frozen=True)
class FeatureColumns:
    """Names of features."""

    names: tuple[str, ...]

    def for_lightgbm(self) -> list[str]:
        """Return the names, with ``_`` for each character that LightGBM does not take."""
        names = [re.sub(r'[\s\[\]{}",:]', "_", name) for name in self.names]
        counts = Counter([*names, "", ""])  # an empty name is no name
        return [f"Column_{i}" if counts[name] > 1 else name for i, name in enumerate(names)]

    def aligned(self, features: Any, columns: Self) -> Any:
        """Return the features of `columns` in the order of these columns.

        Raise InputError unless `columns` have the same names.
        """
        if columns == self:
            return features
        missing = [name for name in self.names if name not in columns.names]
        if missing:
            raise InputError(f"X has no column {missing[0]!r}, on which the model was trained")
        extra = [name for name in columns.names if name not in self.names]
        if extra:
            raise InputError(
                f"X has a column {extra[0]!r}, on which the model was not trained: leave it out"
            )
        return features[:, [columns.names.index(name) for name in self.names]]

    @classmethod
    def from_dict(cls, fields: Fields, n_features: int) -> Self:
        """Build from a saved model's fields; raise InputError unless they name each feature."""
        if len(fields["names"]) != n_features:
            raise InputError("the columns in model.json are not one of each feature")
        return cls(tuple(fields["names"]))


def is_table(features: Any) -> bool:
    """Return whether features are a data frame of pandas or polars."""
    return hasattr(features, "columns") and hasattr(features, "dtypes")


def from_frame(frame: Any) -> tuple[Floats, FeatureColumns]:
    """Return a frame's features, shape (n, d) with NaN where missing, and their columns."""
    names = [str(name) for name in frame.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"column {twice[0]!r} occurs twice; give each feature a name of its own")

    features = np.empty((len(frame), len(names)))
    for i, (name, key) in enumerate(zip(names, frame.columns, strict=True)):
        features[:, i] = _numbers(frame[key], name)
    return features, FeatureColumns(tuple(names))


def _numbers(series: Any, name: str) -> Floats:
    """Return a column of numbers or booleans as float64, NaN where a value is missing."""
    # types as pandas and polars write them
    numbers = r"(u?int\d+|float\d*|double|bool(ean)?)(\[pyarrow\])?"
    if not re.fullmatch(numbers, str(series.dtype).lower()):
        raise InputError(
            f"column {name!r} holds {series.dtype}; features are numbers: leave it out, or number "
            "its values"
        )

    if hasattr(series, "cast"):
        import polars as pl

        return np.asarray(series.cast(pl.Float64).to_numpy(), dtype=np.float64)
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
