"""Kinds of cells, a row each in `KINDS`: the rule of one cell, and plain columns at once."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.validation import LARGEST, Flags, InputError, Integers, errors_in
from dcglearn.readers.cell_values import INTEGER, NUMBER, PAGE_MARKS, checked_score, shown
from dcglearn.readers.column_roles import MAX_LABEL, PLACES, SWAPPED
from dcglearn.readers.grade_scale import scale_text
from dcglearn.readers.mapping import MAX_DEPTH
from dcglearn.readers.openers import flattened
from dcglearn.readers.rated_lists import parsed_counts
from dcglearn.readers.raw_columns import (
    RawColumn,
    Rule,
    Values,
    checked_cells,
    checked_list,
    counted,
    grade_of,
    graded,
)
from dcglearn.readers.winner_words import (
    MEANINGS,
    MOST_WORDS,
    WINNERS,
    Winners,
    remedy_for_words,
    word_of,
)

RIGHT = dict.fromkeys(("true", "yes", "right", "correct"), 1.0)
RIGHT |= dict.fromkeys(("false", "no", "wrong", "incorrect"), 0.0)
"""Words for whether an answer is right, in lower case."""

Plain: TypeAlias = "Callable[[pl.Series, RawColumn], pl.Series | None]"
"""Converts a column of one type, or returns None unless all its cells are plain and good."""


@dataclass(frozen=True)
class WinnerCells:
    """Words for winners in a column: the number of each row's word, the words, and their codes."""

    index: Integers
    words: list[str]
    codes: Integers

    def __getitem__(self, rows: Flags) -> Self:
        return replace(self, index=self.index[rows])

    def winners(self, strengths: Mapping[str, float]) -> Winners:
        """Return the winners, with how often each word occurs, and the strengths of words."""
        code_of = dict(zip(self.words, self.codes.tolist(), strict=True))
        strength = None
        if strengths:
            of_words = [strengths.get(word.lower(), 1.0) for word in self.words]
            strength = np.array(of_words)[self.index]
        counts = sorted(counted(self.words, self.index).items())
        words = {word: (MEANINGS[code_of[word]], n) for word, n in counts}
        return Winners(self.codes[self.index], words, strength)


def _won(column: RawColumn) -> Values:
    """Return the winners of a column; the refusal of a word names all words of the log."""
    code_of = {**WINNERS, **column.mapping.own_words.codes}
    remedy = cache(lambda: remedy_for_words(column.words, code_of))

    def word_for_winner(value: Any, _: RawColumn) -> str:
        if not isinstance(value, str | int | float):
            raise InputError(
                f"winner is {shown(value)}, not a word or a number: write a, b or tie",
                see="winners",
            )
        word = word_of(value)
        if word.lower() not in code_of:
            raise InputError(f"winner is {shown(value)}; {remedy()}", see="winners")
        return word

    # words, and their codes
    words, cells = checked_cells(word_for_winner, column, "")
    codes = np.array([code_of.get(word.lower(), 0) for word in words], np.int64)
    return replace(cells, values=WinnerCells(cells.values, words, codes))


def _label(value: Any, column: RawColumn) -> str | None:
    """Return a cell of a column of labels or names as text, None for an empty one."""
    # whether it is a tie, which the winner says
    role, kind = column.role, column.kind
    if role == "tie_kind" and isinstance(value, bool):
        return None

    # text, integers, dates, and times in seconds
    is_second = role == "time" and isinstance(value, float)
    if isinstance(value, bool) or not (is_second or isinstance(value, str | int | date)):
        raise InputError(f"{role} is {shown(value)}; use text or an integer")
    try:
        text = str(value)
        text.encode()
    except ValueError as error:  # half a surrogate pair, or an integer too long to print
        raise InputError(f"{role} is {shown(value)}; use plain text") from error

    # neither begins nor ends with a mark of pages, names are required, and labels are short
    if text.strip(PAGE_MARKS) != text:
        raise InputError(
            f"{role} is {shown(value)}; delete the form feed or vertical tab at its end"
        )
    if kind == "name" and not text:
        raise InputError(f"{role} is missing")
    if kind == "label" and len(text) > MAX_LABEL:
        raise InputError(
            f"{role} {shown(value)} is longer than {MAX_LABEL} characters; use a short identifier"
        )
    return text or None


def _swapped(value: Any, column: RawColumn) -> float:
    """Return 1 if b was shown first."""
    words = PLACES if column.kind == "place" else SWAPPED
    code = words.get(word_of(value).lower()) if isinstance(value, str | int | float) else None
    if code is not None:
        return float(code)
    remedy = "use true if b was shown first, else false, or name a or b"
    if column.kind == "place":
        remedy = "use left or right, 1 or 2, for the place of the list a"
    raise InputError(f"{column.role} is {shown(value)}; {remedy}")


def _position(value: Any, column: RawColumn) -> int:
    """Return a position, a whole number from 0."""
    is_whole = isinstance(value, float) and value.is_integer()
    if is_whole or (isinstance(value, str) and INTEGER.fullmatch(value)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"{column.role} is {shown(value)}; positions count from 1 (or 0) at the top of the list"
        )
    return min(value, 1 << 50)  # exact as a float, and far beyond any list


def _documents(values: Any, column: RawColumn) -> str:
    """Return the names of a list's documents, joined by tabs; "" where a position has none."""
    role = column.role
    values = checked_list(values, column, 'names of documents such as ["d3", "d1"]')
    names = ["" if value is None else value for value in values]
    for name in names:
        marked = {"\t", *PAGE_MARKS} & {*str(name)}
        if isinstance(name, bool) or not isinstance(name, str | int) or marked:
            raise InputError(
                f"{role} holds {shown(name)}; name a document by a text without tabs, or an integer"
            )
    return "\t".join([str(name) for name in names][: column.mapping.depth])


def _counts(value: Any, column: RawColumn) -> str:
    """Return how often a list got each rating, as text."""
    if not isinstance(value, str):
        raise InputError(
            f"{column.role} is {shown(value)}, not a count of ratings such as '2:1 4:12'"
        )
    with errors_in(column.role):
        parsed_counts(value)
    return value


def _number(value: Any, column: RawColumn) -> float:
    """Return a finite number, positive where it must be."""
    # words for strengths
    role = column.role
    if role == "strength" and isinstance(value, str):
        value = _strength(value, column)

    # numbers, if need be too large ones
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{role} is {shown(value)}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf

    if not math.isfinite(number):
        raise InputError(
            f"{role} is {shown(value)}, which is not a finite number; leave it out where unknown"
        )

    # weights and strengths
    if column.kind == "positive" and number > LARGEST:
        raise InputError(
            f"{role} is {number:g}, beyond {LARGEST:g}; divide every {role} by a common factor"
        )
    if column.kind == "positive" and number <= 0:
        raise InputError(
            f"{role} is {number:g}; it must be positive: leave the line out, or the {role}"
        )
    return number


def _strength(word: str, column: RawColumn) -> float:
    """Return the strength of a word; the refusal of an unknown one asks for those of all words."""
    strengths = column.mapping.own_words.strengths
    if word.lower() in strengths:
        return strengths[word.lower()]
    if len(column.words) > MOST_WORDS:
        raise InputError(f"strength is {shown(word)}, which is not a number")
    unknown = (each for each in column.words if each.lower() not in strengths)
    meanings = {each: ":?" for each in unknown if not NUMBER.fullmatch(each)}
    example = ",".join(f"{each}={meaning}" for each, meaning in meanings.items())
    raise InputError(
        f"strength is {shown(word)}: say how strong each word is, "
        f'winner_words="{example}", 1 or 2.5 for a ?',
        see="winners",
    )


def _share(value: Any, column: RawColumn) -> float:
    """Return a number from 0 to 1, or the number of a word for right or wrong."""
    number = RIGHT.get(word_of(value).lower(), value) if isinstance(value, str | bool) else value
    if isinstance(number, str | bool) or not 0 <= _number(number, column) <= 1:
        raise InputError(
            f"{column.role} is {shown(value)}; "
            "use true or false, right or wrong, or a score from 0 to 1"
        )
    return float(number)


def _identity(value: Any, _: RawColumn) -> str:
    """Return any value as text, so that equal ones are one."""
    return value if isinstance(value, str) else json.dumps(value)


def plain_numbers(cells: pl.Series, column: RawColumn) -> pl.Series | None:
    """Return numbers, finite but for scores, and positive where they must be."""
    if cells.dtype == pl.String:
        plain = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"
        if not column.texts or not cells.drop_nulls().str.contains(plain).all():
            return None
    elif not cells.dtype.is_numeric():
        return None

    # the range of the kind
    series = cells.cast(pl.Float64)
    largest = sys.float_info.max
    ends = {"score": (-math.inf, math.inf), "positive": (math.ulp(0.0), LARGEST)}
    within = series.is_between(*ends.get(column.kind, (-largest, largest)))
    return series if within.all() else None


def plain_labels(cells: pl.Series, column: RawColumn) -> pl.Series | None:
    """Return texts or integers as texts, None for an empty label."""
    if not _is_text(cells.dtype):
        return None
    series = cells.cast(pl.String)
    if column.kind == "name" and (series == "").any():
        return None
    if column.kind != "label":
        return series
    short = (series.str.len_chars() <= MAX_LABEL).all()
    return series.set(series == "", None) if short else None


def _label_array(labels: pl.Series) -> NDArray[Any]:
    """Return short labels as numpy's texts, which a log keeps and `astype(str)` makes slowly."""
    width = int(labels.str.len_chars().to_numpy().max(initial=1))
    longest_short = 16  # wider than that, Python's texts take less memory until the log is made
    if width > longest_short:
        return labels.to_numpy()
    padded: str = labels.str.pad_end(width, "\0").str.join("").item()
    return np.frombuffer(padded.encode("utf-32-le"), f"<U{width}")


def _plain_documents(cells: pl.Series, column: RawColumn) -> pl.Series | None:
    """Return lists of names as texts joined by tabs."""
    if not isinstance(cells.dtype, pl.List) or not _is_text(cells.dtype.inner):
        return None
    names = cells.cast(pl.List(pl.String))
    flat, is_empty = flattened(names.drop_nulls()), names.list.len() == 0
    if flat.null_count() or flat.str.contains(f"[\t{PAGE_MARKS}]").any():
        return None
    if is_empty.any() and not column.may_be_empty:
        return None
    return names.list.head(column.mapping.depth or MAX_DEPTH).list.join("\t")


def _plain_scales(cells: pl.Series, _: RawColumn) -> pl.Series | None:
    """Return the one scale that lines state, as text."""
    scales = cells.drop_nulls().unique().to_list()
    with contextlib.suppress(InputError):
        if len(scales) == 1:
            text = pl.repeat(scale_text(scales[0]), len(cells), eager=True)
            return text.set(cells.is_null(), None)
    return None


def _is_text(dtype: Any) -> bool:
    return dtype == pl.String or dtype.is_integer()


def _kind(
    rule: Rule, plain: Plain | None = None, missing: Any = ""
) -> Callable[[RawColumn], Values]:
    """Return the conversion of a kind: a column at once if `plain` takes it, else cell by cell.

    Rows without a value become `missing`.
    """

    def convert(column: RawColumn) -> Values:
        series = None
        if plain is not None and isinstance(column.cells, pl.Series):
            series = plain(column.cells, column)
        rows = None if series is None else np.array([*column.others], np.int64)
        if series is not None:
            filled = series.fill_null(missing)
            values = _label_array(filled) if column.kind == "label" else filled.to_numpy()
            absent = series.is_null().to_numpy()
            if not column.others:
                return Values(values, absent, {})

        # others by the rule, each distinct cell once
        made, cells = checked_cells(rule, column, missing, rows)
        kept: NDArray[Any] = np.empty(len(made), float if isinstance(missing, float) else object)
        kept[:] = made
        kept = kept[cells.values]
        if rows is None:
            return replace(cells, values=kept)

        # in their places between the plain ones
        place = np.arange(len(values))
        place[rows] = len(values) + np.arange(len(rows))
        values, absent = np.concatenate([values, kept]), np.concatenate([absent, cells.absent])
        return Values(values[place], absent[place], cells.errors)

    return convert


KINDS: dict[str, Callable[[RawColumn], Values]] = {
    "grades": graded,
    "grade": _kind(
        lambda value, column: grade_of(value, column.role, column.mapping), missing=-1.0
    ),
    "winner": _won,
    **dict.fromkeys(("label", "name", "text"), _kind(_label, plain_labels)),
    "identity": _kind(_identity, plain_labels),
    "status": _kind(lambda value, _: word_of(value)),
    **dict.fromkeys(("side", "place"), _kind(_swapped, missing=1.0)),
    "position": _kind(_position, missing=1.0),
    "documents": _kind(_documents, _plain_documents),
    "counts": _kind(_counts),
    **dict.fromkeys(("number", "positive"), _kind(_number, plain_numbers, missing=1.0)),
    "score": _kind(
        lambda value, column: checked_score(value, column.role), plain_numbers, missing=1.0
    ),
    "scale": _kind(lambda value, _: scale_text(value), _plain_scales),
    "share": _kind(_share, missing=1.0),
}
"""The conversions of columns, by the kind of their role."""


def checked(value: Any, role: str, kind: str) -> Any:
    """Return the value of one cell of a kind; raise InputError if it is bad."""
    made = KINDS[kind](RawColumn(role, kind, [value]))
    if made.errors:
        raise made.errors[0]
    return None if made.absent[0] else made.values[0]
