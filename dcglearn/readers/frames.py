"""Data frames and records in memory, as polars' frames and as dictionaries."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.sources import plain_types
from dcglearn.foundation.validation import InputError, PolarsFrame
from dcglearn.readers.line_formats import as_plain

if TYPE_CHECKING:
    import polars as pl

PAIR_NAMES = ("a", "b", "winner")
"""Names of the values of a tuple that is a judgement of two lists."""

RATING_NAMES = ("list", "rating")
"""Names of the values of a tuple that is a rated list."""


def flattened(lists: pl.Series) -> pl.Series:
    """Return the items of all lists in a row; polars 1 has one null for an empty list."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In Polars 2.0, the default", DeprecationWarning)
        return lists.explode()


def named(records: Iterable[Any], names: Sequence[str]) -> list[Any]:
    """Return tuples as dictionaries by names, or raise InputError; of two lists the first wins."""
    dictionaries: list[Any] = []
    for number, record in enumerate(records, 1):
        # named tuples and objects have names
        if hasattr(record, "_asdict"):
            dictionaries.append(record._asdict())
            continue
        if not isinstance(record, list | tuple):
            dictionaries.append(record)
            continue

        # of two lists alone the first was preferred
        only_lists = len(record) == 2 and tuple(names) == PAIR_NAMES
        values = (*record, "a") if only_lists else record
        if len(values) != len(names):
            raise InputError(
                f"record {number}: {len(values)} values for {', '.join(names)}; name them by "
                "columns="
            )
        dictionaries.append(dict(zip(names, values, strict=True)))
    return dictionaries


def from_arrays(columns: Mapping[str, Any]) -> list[dict[str, Any]] | PolarsFrame:
    """Return columns of one length as a table, or as records where types are mixed."""
    import polars as pl

    arrays = {}
    for name, values in columns.items():
        is_array = isinstance(values, np.ndarray) and values.dtype != object
        if values is not None:
            arrays[name] = values if is_array else as_plain(values)
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1 or not all(lengths.values()):
        shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise InputError(f"{shown} entries; give one entry for each list, and at least two lists")

    # a table, whose arrays of two axes are lists
    try:
        table = pl.DataFrame(arrays)
        wide = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.Array)]
        return table.with_columns(pl.col(name).arr.to_list() for name in wide)
    except (pl.exceptions.PolarsError, TypeError, ValueError):
        return [dict(zip(arrays, row, strict=True)) for row in zip(*arrays.values(), strict=True)]


def polars_frame(frame: Any) -> PolarsFrame:
    """Return a table of any library as one of polars with plain types, or raise InputError."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    pandas = hasattr(frame, "itertuples")
    for name, n in Counter(map(str, frame.columns)).items() if pandas else ():
        if n > 1:
            raise InputError(
                f"the data frame has two columns called {name}; rename or drop one of them"
            )

    # pandas converts to Arrow only where pyarrow is installed
    try:
        if pandas:
            table = pl.DataFrame({str(name): _column(frame[name]) for name in frame.columns})
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pl.DataFrame(frame)
        else:
            table = pl.from_dataframe(frame)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InputError(
            f"the data frame cannot be read ({error}); give every column values of one type, "
            "lists as lists of integers"
        ) from error
    if not len(table):
        raise InputError("the data frame is empty; expected one judgement a row")
    return plain_types(table)


def _column(series: Any) -> list[Any]:
    """Return the values of a column of pandas in Python's types, None where one is missing."""
    missing = series.isna().tolist()
    return [
        None if absent else as_plain(value)
        for value, absent in zip(series.tolist(), missing, strict=True)
    ]
