"""Cells of a column as an array: numbers, labels, ratings, sides and names of documents."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.validation import LARGEST, Flags, Floats, InputError
from dcglearn.reading.columns import find
from dcglearn.reading.contract import Contract, Found
from dcglearn.reading.scale import Scale, check_levels, grades_of
from dcglearn.reading.tables import Refusals, Table
from dcglearn.reading.texts import BLANK, MISSING, by_text, text

LONGEST_LABEL = 200
"""Maximum length of a label, in characters: numpy keeps all as wide as the longest."""

RIGHT = dict.fromkeys(("true", "yes", "right", "correct"), "1")
RIGHT |= dict.fromkeys(("false", "no", "wrong", "incorrect"), "0")
"""How right an answer is, by the words for it."""

RATINGS = dict.fromkeys(("up", "thumbs up", "thumbs_up", "thumb up", "👍", "like", "good"), "1")
RATINGS |= dict.fromkeys(("down", "thumbs down", "thumbs_down", "thumb down", "👎"), "0")
RATINGS |= dict.fromkeys(("dislike", "bad"), "0") | {
    "true": "1",
    "yes": "1",
    "false": "0",
    "no": "0",
}
RATINGS |= {"★" * n + "☆" * (m - n): str(n) for m in range(11) for n in range(m + 1) if m}
"""Ratings by the words for them: thumbs are 1 or 0, stars are counted."""

SHOWN_FIRST = {"a": False, "ab": False, "b": True, "ba": True}
"""Whether b was shown first, by the list that was, or by the order of both."""

SWAPPED = SHOWN_FIRST | dict.fromkeys(("true", "yes", "1"), True)
SWAPPED |= dict.fromkeys(("false", "no", "0"), False)
"""Whether b was shown first, also as truth values."""


def values_of(
    table: Table,
    contract: Contract,
    own: Mapping[str, str],
    names: Any = None,
    n_grades: int | None = None,
) -> tuple[Found, dict[str, Any], Scale, Refusals]:
    """Return where a table has its columns, their values by role, the scale, and the bad rows.

    Columns without a value are left out. `own` are the columns that the user names, `names` the
    grades, worst first.
    """
    refusals = Refusals(table)

    # where the columns are, and which grades they may hold
    try:
        found = find(table.frame.columns, contract, own)
    except InputError as error:
        raise error.at(table.name) from None
    stated = found.get("scale")
    scale = Scale.of(names, n_grades, table.frame[stated[0]] if stated else None)

    # the cells of each column
    values: dict[str, Any] = {}
    lists = []
    for role, columns in found.items():
        about, series = contract[role], [table.frame[name] for name in columns]
        if about.kind == "grades":
            values[role] = grades_of(role, series, scale, refusals, may_be_empty=about.may_be_empty)
            lists.append(values[role])
        elif about.kind in READERS:
            values[role] = READERS[about.kind](role, series[0], refusals)

    if lists and scale.n_grades is None:
        check_levels(lists, refusals)
    return (
        found,
        {role: value for role, value in values.items() if value is not None},
        scale,
        refusals,
    )


def labels(role: str, column: pl.Series, refusals: Refusals) -> NDArray[Any] | None:
    """Return short texts such as a rater's name; remark that names differ only in capitals."""
    texts = text(column)
    if (texts == "").all() or (role == "tie_kind" and column.dtype == pl.Boolean):
        return None
    long = texts.str.len_chars() > LONGEST_LABEL
    problem = f"{role} has more than {LONGEST_LABEL} characters"
    refusals.add(long, problem, f"is it the right column? columns={{{role!r}: ''}} ignores it")

    # one name in two forms
    forms: dict[str, str] = {}
    for name in texts.unique():
        other = forms.setdefault(unicodedata.normalize("NFKC", name).casefold(), name)
        if other != name:
            refusals.remarks.append(f"{role} {other!r} and {name!r} count as two")
            break
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


def numbers(role: str, column: pl.Series, refusals: Refusals) -> Floats | None:
    """Return finite numbers, which every row has."""
    return _numbers(role, column, refusals, lowest=-LARGEST, missing=None)


def positive_numbers(role: str, column: pl.Series, refusals: Refusals) -> Floats | None:
    """Return numbers above 0, which are 1 where a row has none."""
    return _numbers(role, column, refusals, lowest=np.nextafter(0, 1), missing=1.0)


def scores(role: str, column: pl.Series, refusals: Refusals) -> Floats | None:
    """Return numbers, or infinite ones, which every row has."""
    return _numbers(role, column, refusals, lowest=-np.inf, missing=None, highest=np.inf)


def _numbers(
    role: str,
    column: pl.Series,
    refusals: Refusals,
    *,
    lowest: float,
    missing: float | None,
    highest: float = LARGEST,
) -> Floats | None:
    texts = text(column)
    blank = texts.str.to_lowercase().is_in(MISSING).to_numpy()
    if blank.all():
        return None
    values = texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()

    # bad rows
    wrong = ~blank & ~((values >= lowest) & (values <= highest))
    above = " above 0" if lowest > 0 else ""
    recipe = "see the recipe 'Numbers with commas, names with blanks'"
    refusals.add(wrong, f"{role} is", f"write a number{above} such as 0.5, or {recipe}", texts)
    if missing is None:
        refusals.add(blank, f"{role} is missing", "every row has one, or no row (drop_nulls)")
    return np.where(blank, missing or 0.0, values)


def shares(role: str, column: pl.Series, refusals: Refusals) -> Floats:
    """Return numbers from 0 to 1, or those of words for right and wrong."""
    texts = text(column).str.to_lowercase().replace(RIGHT)
    values = texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    wrong = ~((values >= 0) & (values <= 1))
    refusals.add(wrong, f"{role} is", "write true or false, or a score from 0 to 1", text(column))
    return values


def ratings(role: str, column: pl.Series, refusals: Refusals) -> Floats | None:
    """Return numbers, those of thumbs up or down, of yes or no, or counts of stars."""
    words = text(column).str.to_lowercase().replace(RATINGS)
    return numbers(role, words.str.strip_suffix(" stars").str.strip_suffix(" star"), refusals)


def sides(words: Mapping[str, bool], remedy: str) -> Callable[..., Flags | None]:
    """Return the reader of a column that tells whether b was shown first."""

    def read(_: str, column: pl.Series, refusals: Refusals) -> Flags | None:
        texts = text(column).str.to_lowercase()
        if (texts == "").all():
            return None
        unknown = ~by_text(texts, words.__contains__)
        refusals.add(unknown, f"{column.name} is", f"{remedy}, or replace_strict its words", texts)
        return by_text(texts, lambda word: words.get(word, False))

    return read


def documents(role: str, column: pl.Series, refusals: Refusals) -> NDArray[Any] | None:
    """Return the names of each list's documents, joined by tabs."""
    texts = text(column)
    if (texts == "").all():
        return None
    refusals.add(texts == "", f"{role} is missing", "every row has them, or no row")
    names = lists_of_names(role, column, refusals).list.eval(pl.element().fill_null(""))
    return names.list.join("\t").fill_null("").to_numpy()


def lists_of_names(role: str, column: pl.Series, refusals: Refusals) -> pl.Series:
    """Return lists of names: JSON, or text separated by tabs, ``|``, commas or blanks.

    A blank name is null, a place without a result.
    """
    if not isinstance(column.dtype, pl.List):
        texts = text(column)
        is_json = texts.str.starts_with("[")

        # lists of JSON in some rows are lists in all
        if is_json.any():
            problem = f"{role} is a text, and a list in other rows:"
            remedy = f"write a list; columns={{{role!r}: ''}} leaves the column out"
            refusals.add(~is_json, problem, remedy, texts)
            try:
                column = texts.set(~is_json, None).str.json_decode(pl.List(pl.String))
            except pl.exceptions.PolarsError as error:
                raise InputError(f"{role} holds what is no list of names ({error})") from error
        else:
            mark = next((x for x in "\t|," if texts.str.contains(x, literal=True).any()), " ")
            column = texts.str.split(mark)
    return column.list.eval(pl.element().cast(pl.String).str.strip_chars(BLANK).replace("", None))


READERS: dict[str, Callable[..., Any]] = {
    "label": labels,
    "name": names,
    "text": long_texts,
    "number": numbers,
    "positive": positive_numbers,
    "score": scores,
    "share": shares,
    "rating": ratings,
    "documents": documents,
    "flag": sides(SWAPPED, "write true where b was shown first, else false"),
    "side": sides(SHOWN_FIRST, "name the list that was shown first, a or b"),
}
"""The reader of each kind of column, but for grades, winners, systems and scales."""
