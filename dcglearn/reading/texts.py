"""Cells as text, and the meanings of texts, asked once for each distinct one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

BLANK = " \t\r\n"
"""Characters that do not count around a text."""

MISSING = ("", "na", "n/a", "#n/a")
"""Cells that hold nothing, in lower case, but for labels and grades."""


def text(column: pl.Series) -> pl.Series:
    """Return cells as text without blanks around it, an empty one where a cell is missing.

    Lists and objects become JSON, and whole numbers lose their point.
    """
    name = column.name
    if column.dtype.is_nested():
        objects = column.to_frame("cell").to_struct().struct.json_encode()
        cells = objects.str.strip_prefix('{"cell":').str.strip_suffix("}")
        column = cells.set(column.is_null(), None)
    elif column.dtype.is_float():
        column = column.fill_nan(None).cast(pl.String).str.strip_suffix(".0")
    return column.cast(pl.String).fill_null("").str.strip_chars(BLANK).alias(name)


def twins(names: pl.Series) -> pl.Series:
    """Return the names that differ from another in capitals or in Unicode's form alone."""
    # names often stand together
    distinct = names.filter(names.ne_missing(names.shift())).unique()
    # most names are their own form
    if not distinct.str.contains("[A-Z]|[^ -~]").any():
        return distinct.clear()
    forms = distinct.str.normalize("NFKC").str.to_lowercase()
    return distinct.filter(forms.is_duplicated()).sort()


def by_text(texts: pl.Series, meaning: Callable[[str], Any]) -> NDArray[Any]:
    """Return the meaning of each text, asked once for each distinct one if these are few."""
    number: Any = slice(None)
    distinct = texts.unique()
    if 4 * len(distinct) > len(texts):
        distinct = texts
    else:
        number = texts.cast(pl.Enum(distinct)).to_physical().to_numpy()
    return np.array([meaning(one) for one in distinct.to_list()])[number]
