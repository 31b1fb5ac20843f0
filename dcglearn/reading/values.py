"""Cells of a column as an array: numbers, labels, ratings, sides and names of documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.validation import LARGEST, Flags, Floats, InputError, listed
from dcglearn.reading.contract import plain
from dcglearn.reading.scale import COMMAS, separator
from dcglearn.reading.tables import Refusals
from dcglearn.reading.texts import BLANK, MISSING, by_text, text, twins

EVERY_ROW = "every row has one, or no row (drop_nulls)"

LONGEST_LABEL = 200
"""Maximum length of a label, in characters: numpy keeps all as wide as the longest."""

TRUTH = dict.fromkeys(("true", "yes"), "1") | dict.fromkeys(("false", "no"), "0")

UP = ("up", "thumbs up", "thumbs_up", "thumb up", "👍", "like", "good")
DOWN = ("down", "thumbs down", "thumbs_down", "thumb down", "👎", "dislike", "bad")

RATINGS = TRUTH | dict.fromkeys(UP, "1") | dict.fromkeys(DOWN, "0")
RATINGS |= {"★" * n + "☆" * (m - n): str(n) for m in range(1, 11) for n in range(m + 1)}
"""Ratings by the words for them: thumbs are 1 or 0, stars are counted."""

REJECTED = ("rejected", "discarded", "false", "no", "0")
"""Values of a status that say that a judgement was not accepted, in lower case."""

SHOWN_FIRST = {"a": False, "ab": False, "b": True, "ba": True}
"""Whether b was shown first, by the list that was, or by the order of both."""

SWAPPED = SHOWN_FIRST | {word: value == "1" for word, value in TRUTH.items()}
SWAPPED |= {"1": True, "0": False}
"""Whether b was shown first, also as truth values."""


def labels(role: str, column: pl.Series, refusals: Refusals) -> NDArray[Any] | None:
    """Return short texts such as a rater's name; remark that names differ only in capitals."""
    texts = text(column)
    if texts.is_in(["", *TRUTH] if role == "tie_kind" else [""]).all():
        return None
    long = texts.str.len_chars() > LONGEST_LABEL
    problem = f"{role} has more than {LONGEST_LABEL} characters"
    refusals.add(long, problem, f"is it the right column? columns={{{role!r}: ''}} ignores it")

    alike = twins(texts)
    if len(alike):
        names = listed(map(repr, alike))
        refusals.remarks.append(f"{role}: names that differ in form alone count as two: {names}")
    return by_text(texts, str)


def names(role: str, column: pl.Series, refusals: Refusals) -> NDArray[Any] | None:
    """Return labels; refuse the rows of merged cells, of which the first alone has a name.

    Cells were merged if the first row has a name, and half of those with one are above a blank row.
    """
    texts = text(column)
    blank = texts == ""
    above = ~blank & blank.shift(-1, fill_value=False)
    if blank.any() and not blank[0] and len(blank) - blank.sum() <= 2 * above.sum():
        remedy = "write it in every row, see the recipe 'Merged cells', or write unknown"
        refusals.add(above | blank, f"{role} has blank cells below a name", remedy)
    return labels(role, column, refusals)


def long_texts(_: str, column: pl.Series, __: Refusals) -> NDArray[Any] | None:
    """Return texts of any length."""
    return None if column.is_null().all() else text(column).to_numpy()


def statuses(role: str, column: pl.Series, refusals: Refusals) -> NDArray[Any] | None:
    """Return texts; remark rows whose status says that they were not accepted."""
    rejected = text(column).str.to_lowercase().is_in(REJECTED)
    if rejected.any():
        refusals.remarks.append(
            f"rows that count although their {column.name} is {column.filter(rejected)[0]!r}: "
            f"{rejected.sum():,}; see the recipe 'Rejected and repeated rows'"
        )
    return long_texts(role, column, refusals)


def numbers(
    role: str,
    column: pl.Series,
    refusals: Refusals,
    *,
    lowest: float = -LARGEST,
    missing: float | None = None,
    words: Mapping[str, str] = MappingProxyType({}),
    example: str = "a number such as 0.5",
) -> Floats | None:
    """Return numbers within bounds, or those of `words`; None where no row has one.

    Every row has one, unless a number stands for those that are `missing`.
    """
    texts = text(column)
    lower = texts.str.to_lowercase()
    blank = lower.is_in(MISSING).to_numpy()
    if blank.all():
        return None
    bare = lower.replace(words).str.replace(" stars?$", "")
    values = bare.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()

    # bad rows
    wrong = ~blank & ~((values >= lowest) & (values <= LARGEST))
    refusals.add(wrong, f"{role} is", f"write {example}, or {COMMAS}", texts)
    if missing is None:
        refusals.add(blank, f"{role} is missing", EVERY_ROW)
    return np.where(blank, missing or 0.0, values)


def flags(_: str, column: pl.Series, refusals: Refusals) -> Flags | None:
    """Return whether b was shown first; a column shown_first or shown_left names the list."""
    texts = text(column).str.to_lowercase()
    if (texts == "").all():
        return None

    # a truth value does not say which list is meant by shown_first
    words, remedy = SWAPPED, "write true where b was shown first, else false"
    if plain(column.name) in ("shownfirst", "shownleft"):
        words, remedy = SHOWN_FIRST, "name the list that was shown first, a or b"
    values = texts.replace_strict(words, default=None, return_dtype=pl.Boolean)
    remedy += ", or replace its words (in polars, replace_strict)"
    refusals.add(values.is_null(), f"{column.name} is", remedy, texts)
    return values.fill_null(False).to_numpy()


def documents(role: str, column: pl.Series, refusals: Refusals) -> NDArray[Any] | None:
    """Return the names of each list's documents, joined by tabs."""
    texts = text(column)
    if (texts == "").all():
        return None
    refusals.add(texts == "", f"{role} is missing", "every row has them, or no row")
    names = lists_of_names(column).list.eval(pl.element().fill_null(""))
    return names.list.join("\t").fill_null("").to_numpy()


def lists_of_names(column: pl.Series) -> pl.Series:
    """Return lists of names: JSON, or text separated by tabs, ``|``, commas or blanks.

    A blank name is null, a place without a result.
    """
    if not isinstance(column.dtype, pl.List):
        texts = text(column)
        is_json = texts.str.starts_with("[")
        try:
            decoded = texts.set(~is_json, None).str.json_decode(pl.List(pl.String))
        except pl.exceptions.PolarsError as error:
            raise InputError(f"{column.name} holds what is no list of names ({error})") from error
        others = texts.set(is_json, None)
        column = others.str.split(separator(others, "\t|,")).zip_with(~is_json, decoded)
    return column.list.eval(pl.element().cast(pl.String).str.strip_chars(BLANK).replace("", None))


READERS: dict[str, Callable[..., Any]] = {
    "label": labels,
    "name": names,
    "text": long_texts,
    "number": numbers,
    "positive": partial(
        numbers, lowest=np.nextafter(0, 1), missing=1.0, example="a number above 0 such as 0.5"
    ),
    "rating": partial(numbers, words=RATINGS),
    "documents": documents,
    "flag": flags,
    "status": statuses,
}
"""The reader of each kind of column, but for grades, winners, systems and scales."""
