"""Columns of a data frame as features: their names, and the codes of categories."""

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.validation import Fields, Floats, InputError

Category = str | int | float | bool


@dataclass(frozen=True)
class FeatureColumns:
    """Names of features, and the categories of those that are not numbers.

    `categories` holds the values of each categorical column, whose feature is the index of the
    value, or NaN; those with an order, which are split as numbers, are named in `ordered`.
    """

    names: tuple[str, ...]
    categories: dict[str, list[Category]] = field(default_factory=dict)
    ordered: tuple[str, ...] = ()

    @property
    def unordered(self) -> list[int]:
        """Indices of the features that are split by sets of categories."""
        unordered = self.categories.keys() - set(self.ordered)
        return [i for i, name in enumerate(self.names) if name in unordered]

    def for_lightgbm(self) -> list[str]:
        """Return the names, with ``_`` for each character that LightGBM does not take."""
        names = [re.sub(r'[\s\[\]{}",:]', "_", name) for name in self.names]
        counts = Counter([*names, "", ""])  # an empty name is no name
        return [f"Column_{i}" if counts[name] > 1 else name for i, name in enumerate(names)]

    def index_of(self, name: str) -> int:
        """Return the index of the feature called `name`, or raise InputError."""
        if name not in self.names:
            raise InputError(f"there is no column {name!r}{nearest(name, self.names)}")
        return self.names.index(name)

    def aligned(self, features: Any, columns: Self) -> Any:
        """Return the features of `columns` in the order and codes of these columns.

        Another category is NaN, with a warning.
        """
        if columns == self:
            return features
        self._check_names(columns)

        # the order of these columns
        features = features[:, [columns.names.index(name) for name in self.names]]

        # their codes
        theirs = columns.categories
        changed = [name for name, own in self.categories.items() if own != theirs[name]]
        if changed:
            features = np.array(features)
        for name in changed:
            column = features[:, self.names.index(name)]
            column[:] = self._recoded(name, column, theirs[name])
        return features

    def _check_names(self, columns: Self) -> None:
        """Raise InputError unless `columns` have the names and kinds of these columns."""
        missing = [name for name in self.names if name not in columns.names]
        if missing:
            raise InputError(f"X has no column {missing[0]!r}, on which the model was trained")
        extra = [name for name in columns.names if name not in self.names]
        if extra:
            raise InputError(
                f"X has a column {extra[0]!r}, on which the model was not trained: leave it out"
            )

        for name in self.names:
            if (name in self.categories) != (name in columns.categories):
                kinds = "categorical", "a column of numbers"
                now, then = kinds if name in columns.categories else kinds[::-1]
                raise InputError(
                    f"column {name!r} is {now}, but it was {then} when the model was trained"
                )

    def _recoded(self, name: str, codes: Floats, categories: list[Category]) -> Floats:
        """Return codes of other categories as codes of these columns, NaN for an unknown one."""
        place = {value: float(i) for i, value in enumerate(self.categories[name])}
        table = np.array([*(place.get(value, np.nan) for value in categories), np.nan])
        present = ~np.isnan(codes)
        new = table[np.where(present, codes, len(categories)).astype(np.int64)]

        lost = present & np.isnan(new)
        if lost.any():
            value = categories[int(codes[lost.argmax()])]
            warnings.warn(
                f"column {name!r}: {lost.sum():,} values, such as {value!r}, are none of the "
                "model's categories and count as missing",
                UserWarning,
                stacklevel=2,
            )
        return new

    @classmethod
    def from_dict(cls, fields: Fields, n_features: int) -> Self:
        """Build from a saved model's fields; raise InputError unless they name each feature."""
        if len(fields["names"]) != n_features:
            raise InputError("the columns in model.json are not one of each feature")
        return cls(tuple(fields["names"]), dict(fields["categories"]), tuple(fields["ordered"]))


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
    categories: dict[str, list[Category]] = {}
    ordered = []
    for i, (name, key) in enumerate(zip(names, frame.columns, strict=True)):
        # numbers
        coded = _categories_of(frame[key])
        if coded is None:
            features[:, i] = _numbers(frame[key], name)
            continue

        # categories
        features[:, i], values, has_order = coded
        wrong = [value for value in values if not isinstance(value, str | int | float | bool)]
        if wrong:
            raise InputError(
                f"column {name!r}: categories are texts or numbers, not {type(wrong[0]).__name__}; "
                "make them texts"
            )
        categories[name] = values
        if has_order:
            ordered.append(name)
    return features, FeatureColumns(tuple(names), categories, tuple(ordered))


def _categories_of(series: Any) -> tuple[Floats, list[Any], bool] | None:
    """Return a categorical column's codes (NaN = missing), categories, and whether in order.

    A column of another kind has none.
    """
    kind = str(series.dtype).split("(")[0]
    # of pandas
    if kind == "category":
        codes = series.cat.codes.to_numpy(dtype=np.float64)
        values = series.cat.categories.tolist()
        return np.where(codes < 0, np.nan, codes), values, bool(series.cat.ordered)

    # of polars
    if kind in ("Categorical", "Enum"):
        import polars as pl

        values = sorted(series.drop_nulls().unique().to_list())
        if kind == "Enum":
            values = series.dtype.categories.to_list()
        place = {value: float(i) for i, value in enumerate(values)}
        codes = np.array([place.get(value, np.nan) for value in series.cast(pl.String).to_list()])
        return codes, values, False
    return None


def _numbers(series: Any, name: str) -> Floats:
    """Return a column of numbers or booleans as float64, NaN where a value is missing."""
    # types as pandas and polars write them
    numbers = r"(u?int\d+|float\d*|double|bool(ean)?)(\[pyarrow\])?"
    if re.fullmatch(numbers, str(series.dtype).lower()):
        if hasattr(series, "cast"):
            import polars as pl

            return np.asarray(series.cast(pl.Float64).to_numpy(), dtype=np.float64)
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    raise InputError(
        f"column {name!r} holds {series.dtype}; features are numbers or categories: "
        f"leave it out, or make it categorical, such as X[{name!r}].astype('category')"
    )
