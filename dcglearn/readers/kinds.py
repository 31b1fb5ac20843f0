"""Kinds of cells, a row each in `KINDS`: what one cell may hold, and a whole column of plain cells
at once.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.validation import (
    EMPTY,
    LARGEST,
    UNKNOWN,
    Grades,
    InputError,
    Integers,
    errors_in,
)
from dcglearn.readers.cutoffs import CUT, level_of
from dcglearn.readers.frames import flattened
from dcglearn.readers.line_formats import (
    BLANK,
    INTEGER,
    NUMBER,
    answer_of,
    checked_score,
    from_text,
    grades_of_objects,
    shown,
)
from dcglearn.readers.mapping import MAX_DEPTH, LogMapping
from dcglearn.readers.rating_texts import parsed_counts
from dcglearn.readers.roles import MAX_LABEL, PLACES, SWAPPED
from dcglearn.readers.stated_scale import scale_text
from dcglearn.readers.winner_words import WINNERS, Winners, refused_word, winners_of, word_of

JUDGE_DOCUMENTS = (
    "for names of documents, give judgements (dl.join_judgements); for names of grades, scale="
)
"""What to do where a grade looks like the name of a document."""

RIGHT = {
    "true": 1.0,
    "yes": 1.0,
    "right": 1.0,
    "correct": 1.0,
    "false": 0.0,
    "no": 0.0,
    "wrong": 0.0,
    "incorrect": 0.0,
}
"""What words say of an answer, in lower case."""

UNKNOWN_GRADES = ("", "-1", "u", ".", "-", "null", "na", "n/a", "#n/a")
"""Texts that stand for an unknown grade, -1. A place without a result is -2, as those below a
shorter list are.
"""

_BAD = -9
"""The code of a bad cell."""

_MOST_APART = 1 << 10
"""Grades that differ by more are not looked up in a table."""

_GRADE = "(-[12]|[0-9]{1,3})"
_PLAIN_LISTS = rf"^({_GRADE}( {_GRADE})*|\[{_GRADE}(, {_GRADE})*\])$"
_SEVERAL = re.compile(r"^\s*\[.*\]\s*$|[0-9][ ,|]+[0-9-]")
"""Text in JSON that is a list of grades."""

_PLAIN_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"

Cells: TypeAlias = "pl.Series | list[Any]"
"""The raw cells of a column: of one type, or of Python's types, None where a line has none."""


@dataclass(frozen=True)
class Column:
    """The raw cells of a role; `texts` says that a text may stand for a value of another type."""

    role: str
    kind: str
    cells: Cells
    texts: bool = False
    mapping: LogMapping = field(default_factory=LogMapping)

    def value(self, cell: Any) -> Any:
        """Return the value that a cell stands for, in the types of JSON; None if it is blank."""
        if isinstance(cell, array):
            return cell.tolist()
        if isinstance(cell, str) and (
            self.texts or (self.kind == "grades" and _SEVERAL.search(cell))
        ):
            return from_text(self.kind, cell)
        return answer_of(cell) if self.texts and self.kind == "winner" else cell

    def at(self, row: int) -> Any:
        """Return the value of a row."""
        cell = self.cells[row]
        return self.value(cell.to_list() if isinstance(cell, pl.Series) else cell)

    def distinct(self) -> tuple[list[Any], Integers]:
        """Return the distinct cells, and the number of that of each row, shape (n,)."""
        if isinstance(self.cells, pl.Series) and not self.cells.dtype.is_nested():
            different = self.cells.unique(maintain_order=True)
            number = pl.int_range(len(different), eager=True)
            index = self.cells.replace_strict(different, number, return_dtype=pl.Int64).to_numpy()
            return different.to_list(), index

        # lists are not told apart, and equal numbers of two types are
        place: dict[Any, int] = {}
        index = np.empty(len(self.cells), np.int64)
        cells: list[Any] = []
        for row, cell in enumerate(
            self.cells.to_list() if isinstance(self.cells, pl.Series) else self.cells
        ):
            at = len(cells)
            if cell is None or isinstance(cell, str | int | float):
                at = place.setdefault((type(cell), cell), at)
            if at == len(cells):
                cells.append(cell)
            index[row] = at
        return cells, index

    def words(self) -> Counter[str]:
        """Return how often each word or number occurs."""
        cells, index = self.distinct()
        counts: Counter[str] = Counter()
        for value, n in zip(
            map(self.value, cells), np.bincount(index, minlength=len(cells)).tolist(), strict=True
        ):
            if isinstance(value, str | int | float):
                counts[word_of(value)] += n
        return counts


@dataclass(frozen=True)
class Values:
    """The values of a column, an entry a row; where a row has none, and what is wrong with its bad
    cells.
    """

    values: Any
    absent: NDArray[np.bool_]
    errors: dict[int, InputError]


@dataclass(frozen=True)
class GradeLists:
    """Grades in a row, and the length of each list; `said` is 1 for names, 2 for numbers, 3 for
    both, or None.
    """

    flat: Grades
    lengths: Integers
    said: Integers | None = None

    def __getitem__(self, rows: NDArray[np.bool_]) -> Self:
        return replace(
            self, flat=self.flat[np.repeat(rows, self.lengths)], lengths=self.lengths[rows]
        )

    @property
    def longest(self) -> int:
        """The largest number of grades of a list."""
        return int(self.lengths.max(initial=1))

    def table(self, depth: int, below: int) -> Grades:
        """Return the lists cut, or filled with `below`, to one depth, shape (n, depth)."""
        if (self.lengths == depth).all():
            return self.flat.reshape(-1, depth)
        place = np.arange(len(self.flat)) - np.repeat(
            np.cumsum(self.lengths) - self.lengths, self.lengths
        )
        row = np.repeat(np.arange(len(self.lengths)), self.lengths)
        kept = place < depth
        table = np.full((len(self.lengths), depth), below, np.int8)
        table[row[kept], place[kept]] = self.flat[kept]
        return table


@dataclass(frozen=True)
class Said:
    """The winners of a log as it says them: the number of each row's word, the words, and their
    codes.
    """

    index: Integers
    words: list[str]
    codes: Integers

    def __getitem__(self, rows: NDArray[np.bool_]) -> Self:
        return replace(self, index=self.index[rows])

    def winners(self, strengths: Mapping[str, float]) -> Winners:
        """Return the winners, with how often each word occurs, and the strengths of words."""
        counts: Counter[str] = Counter()
        for word, n in zip(
            self.words, np.bincount(self.index, minlength=len(self.words)).tolist(), strict=True
        ):
            counts[word] += n
        codes = dict(zip(self.words, self.codes.tolist(), strict=True))
        seen = {word: n for word, n in counts.items() if n}
        of_words = np.array([strengths.get(word.lower(), 1.0) for word in self.words])
        return winners_of(
            self.codes[self.index], seen, codes, of_words[self.index] if strengths else None
        )


Rule: TypeAlias = "Callable[[Any, Column], Any]"
"""From the value of a cell to what a log keeps of it; None where that is nothing. It raises
InputError.
"""

PlainColumn: TypeAlias = "tuple[pl.Series, NDArray[np.bool_]] | None"
"""What a log keeps of a column of plain cells, and which of them are bad."""

Plain: TypeAlias = "Callable[[pl.Series, Column], PlainColumn]"


def _grades(values: Any, column: Column) -> bytes:
    """Return a non-empty list of grades as int8 bytes, cut to the depth; raise InputError for
    anything else.
    """
    role, mapping = column.role, column.mapping
    values = grades_of_objects(values)
    if not isinstance(values, list):
        raise InputError(f"{role} is {shown(values)}, not a list of grades such as [3, 2, 0]")
    if not values:
        raise InputError(f"{role} is an empty list; leave the line out")
    if mapping.cutoffs is not None:
        values = [level_of(value, mapping.points, role) for value in values]
    top = 0 if mapping.numbered else mapping.top
    codes = [v if type(v) is int and EMPTY <= v < top else _grade(v, role, mapping) for v in values]
    return array("b", codes[: mapping.depth]).tobytes()


def _grade(value: Any, role: str, mapping: LogMapping) -> int:
    """Return one grade, -1 where it is unknown, -2 where there is no result."""
    if value is None:
        return -1
    if mapping.numbered and isinstance(value, int | float) and value not in (UNKNOWN, EMPTY):
        value = word_of(value)
    if isinstance(value, str):
        return _named(value, role, mapping)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            f"{role} holds {shown(value)}, which is not a grade; grades are integers, 0 = worst"
        )
    if isinstance(value, float) and not value.is_integer():
        refusal = (
            f"{role} holds the grade {value}, which is not an integer; use null or -1 for no grade"
        )
        raise InputError(f"{refusal}; {CUT}", see="grades", cure={"cutoffs": ".2,.5,.8"})
    if not EMPTY <= value < mapping.top:
        larger_scale = f"raise n_grades={mapping.top} (--grades) or correct the line"
        remedy = (
            larger_scale if mapping.n_known else f"at most 127 are supported; {JUDGE_DOCUMENTS}"
        )
        cure = None if mapping.n_known else {"qrels": "QRELS"}
        raise InputError(
            f"{role} holds the grade {shown(value)}, outside {EMPTY}..{mapping.top - 1}; {remedy}",
            see="grades",
            cure=cure,
        )
    return int(value)


def _named(value: str, role: str, mapping: LogMapping) -> int:
    name = value.strip(BLANK).lower()
    if name in mapping.grade_of_name:
        return mapping.grade_of_name[name]
    if name in (*UNKNOWN_GRADES, str(EMPTY)):
        return EMPTY if name == str(EMPTY) else UNKNOWN
    if mapping.scale is not None:
        raise InputError(
            f"{role} holds {shown(value)}, not a grade of the scale {', '.join(mapping.scale)}"
        )
    if NUMBER.fullmatch(name):
        return _grade(float(name), role, mapping)
    if any(map(str.isdigit, name)) and any(map(str.isalpha, name)):
        raise InputError(
            f"{role} holds {shown(value)}, which is no grade; {JUDGE_DOCUMENTS}",
            cure={"qrels": "QRELS"},
        )
    cure = {"scale": ["Bad", "Fair", "Good"]} if name in ("bad", "fair", "good") else {}
    refusal = f"{role} holds the grade name {shown(value)}; pass scale=['Bad', 'Fair', 'Good'], worst first"
    raise InputError(refusal, cure=cure)


def _label(value: Any, column: Column) -> str | None:
    role, kind = column.role, column.kind
    if role == "tie_kind" and isinstance(value, bool):
        return None  # whether it is a tie, which the winner says
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{role} is {shown(value)}; use text or an integer")
    try:
        text = str(value)
        text.encode()
    except ValueError as error:  # half a surrogate pair, or an integer too long to print
        raise InputError(f"{role} is {shown(value)}; use plain text") from error
    if kind == "name" and not text:
        raise InputError(f"{role} is missing")
    if kind == "label" and len(text) > MAX_LABEL:
        raise InputError(
            f"{role} {shown(value)} is longer than {MAX_LABEL} characters; use a short identifier"
        )
    return text or None


def _swapped(value: Any, column: Column) -> float:
    """Return 1 if b was shown first."""
    role, kind = column.role, column.kind
    words = PLACES if kind == "place" else SWAPPED
    code = words.get(word_of(value).lower()) if isinstance(value, str | int | float) else None
    if code is None and kind == "place":
        raise InputError(
            f"{role} is {shown(value)}; use left or right, 1 or 2, for the place of the list a"
        )
    if code is None:
        raise InputError(
            f"{role} is {shown(value)}; use true if b was shown first, else false, or name a or b"
        )
    return float(code)


def _position(value: Any, column: Column) -> int:
    """Return a position, a whole number from 0."""
    is_whole = isinstance(value, float) and value.is_integer()
    if is_whole or (isinstance(value, str) and INTEGER.fullmatch(value)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        refusal = f"{column.role} is {shown(value)}"
        raise InputError(f"{refusal}; positions count from 1 (or 0) at the top of the list")
    return min(value, 1 << 50)  # exact as a float, and far beyond any list


def _documents(values: Any, column: Column) -> str:
    """Return the names of a list's documents, joined by tabs; an empty one where a position has
    none.
    """
    role = column.role
    if not isinstance(values, list) or not values:
        raise InputError(
            f'{role} is {shown(values)}, not a list of names of documents such as ["d3", "d1"]'
        )
    names = ["" if value is None else value for value in values]
    wrong = [
        name
        for name in names
        if isinstance(name, bool) or not isinstance(name, str | int) or "\t" in str(name)
    ]
    if wrong:
        raise InputError(
            f"{role} holds {shown(wrong[0])}; name a document by a text without tabs, or an integer"
        )
    return "\t".join([str(name) for name in names][: column.mapping.depth])


def _counts(value: Any, column: Column) -> str:
    """Return how often a list got each rating, as text."""
    if not isinstance(value, str):
        raise InputError(
            f"{column.role} is {shown(value)}, not a count of ratings such as '2:1 4:12'"
        )
    with errors_in(column.role):
        parsed_counts(value)
    return value


def _number(value: Any, column: Column) -> float:
    role, kind = column.role, column.kind
    if role == "strength" and isinstance(value, str):
        value = _strength(value, column)
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
    if kind == "positive" and number > LARGEST:
        raise InputError(
            f"{role} is {number:g}, beyond {LARGEST:g}; divide every {role} by a common factor"
        )
    if kind == "positive" and number <= 0:
        raise InputError(
            f"{role} is {number:g}; it must be positive: leave the line out, or the {role}"
        )
    return number


def _share(value: Any, column: Column) -> float:
    """Return a number from 0 to 1, or that of a word for right or wrong."""
    number = RIGHT.get(word_of(value).lower(), value) if isinstance(value, str | bool) else value
    if isinstance(number, str | bool) or not 0 <= _number(number, column) <= 1:
        raise InputError(
            f"{column.role} is {shown(value)}; use true or false, right or wrong, or a score from 0 to 1"
        )
    return float(number)


def _strength(word: str, column: Column) -> float:
    """Return how strong a word is; ask for the strengths of all that occur where it is not said."""
    strengths = column.mapping.own_words.strengths
    if word.lower() in strengths:
        return strengths[word.lower()]
    words = [each for each in column.words() if not NUMBER.fullmatch(each)]
    meanings = {each: ":?" for each in words if each.lower() not in strengths}
    example = ",".join(f"{each}={meaning}" for each, meaning in meanings.items())
    raise InputError(
        f'strength is {shown(word)}: say how strong each word is, winner_words="{example}", 1 or 2.5 for a ?',
        see="winners",
        cure={"winner_words": meanings},
    )


def _score(value: Any, column: Column) -> float:
    return checked_score(value, column.role)


def _scale(value: Any, column: Column) -> str:
    return scale_text(value, column.role)


def _status(value: Any, _: Column) -> str:
    return word_of(value)


def _identity(value: Any, _: Column) -> str:
    """Return any value as text, so that equal ones are one."""
    return value if isinstance(value, str) else json.dumps(value)


def _cell_by_cell(rule: Rule, column: Column, missing: Any) -> Values:
    """Return what a rule makes of each distinct value, and `missing` where a row has none."""
    cells, index = column.distinct()
    made: list[Any] = [None] * len(cells)
    errors: dict[int, InputError] = {}
    for at, value in enumerate(map(column.value, cells)):
        try:
            made[at] = None if value is None else rule(value, column)
        except InputError as error:
            errors[at] = error

    # from distinct values to rows
    absent = np.array([value is None for value in made], bool)
    kept: NDArray[Any] = np.empty(len(made), float if isinstance(missing, float) else object)
    kept[:] = [missing if value is None else value for value in made]
    is_bad = np.zeros(len(made), bool)
    is_bad[list(errors)] = True
    bad = {row: errors[index[row]] for row in np.flatnonzero(is_bad[index]).tolist()}
    return Values(kept[index], absent[index], bad)


def _kind(rule: Rule, plain: Plain | None = None, missing: Any = "") -> Callable[[Column], Values]:
    """Return the conversion of a kind: by `plain` where all cells are of a plain type, else cell by
    cell.
    """

    def convert(column: Column) -> Values:
        found = (
            plain(column.cells, column) if plain and isinstance(column.cells, pl.Series) else None
        )
        if found is None:
            return _cell_by_cell(rule, column, missing)
        series, is_bad = found
        absent = series.is_null().to_numpy()
        errors = {}
        for row in np.flatnonzero(is_bad & ~absent).tolist():
            try:
                rule(column.at(row), column)
            except InputError as error:
                errors[row] = error
        return Values(series.fill_null(missing).to_numpy(), absent, errors)

    return convert


def _plain_numbers(cells: pl.Series, column: Column) -> PlainColumn:
    """Return numbers, and those that are not finite, or not positive where they must be."""
    if cells.dtype == pl.String:
        if not column.texts or not cells.drop_nulls().str.contains(_PLAIN_NUMBER).all():
            return None
    elif not cells.dtype.is_numeric():
        return None
    series = cells.cast(pl.Float64)
    values = series.fill_null(1.0).to_numpy()
    if column.kind == "score":
        return series, np.isnan(values)
    if column.kind == "positive":
        return series, ~((values > 0) & (values <= LARGEST))
    return series, ~np.isfinite(values)


def _plain_labels(cells: pl.Series, column: Column) -> PlainColumn:
    """Return texts or integers as texts, None for an empty one, and those that are too long."""
    if not _is_text(cells.dtype):
        return None
    series = cells.cast(pl.String)
    if column.kind == "label":
        series = series.set(series == "", None)
    too_long = series.str.len_chars().fill_null(0) > MAX_LABEL
    return series, too_long.to_numpy() & (column.kind == "label")


def _plain_documents(cells: pl.Series, column: Column) -> PlainColumn:
    """Return lists of names as texts joined by tabs."""
    if (
        not isinstance(cells.dtype, pl.List)
        or not _is_text(cells.dtype.inner)
        or cells.null_count()
    ):
        return None
    names = cells.cast(pl.List(pl.String))
    flat = flattened(names)
    if flat.null_count() or flat.str.contains("\t").any():
        return None
    return names.list.head(column.mapping.depth or MAX_DEPTH).list.join("\t"), np.zeros(
        len(names), bool
    )


def _plain_scales(cells: pl.Series, _: Column) -> PlainColumn:
    """Return the one scale that lines state, as text."""
    scales = cells.drop_nulls().unique().to_list()
    with contextlib.suppress(InputError):
        if len(scales) == 1:
            text = pl.repeat(scale_text(scales[0]), len(cells), eager=True)
            return text.set(cells.is_null(), None), np.zeros(len(cells), bool)
    return None


def _is_text(dtype: Any) -> bool:
    return dtype == pl.String or dtype.is_integer()


def _graded(column: Column) -> Values:
    """Return lists of grades: of integers each distinct one is looked up, other lists go through
    the rule.
    """
    found = _integers(column)
    if found is None:
        return _graded_one_by_one(column)
    flat, lengths = found

    # the code of each number between the ends; a null is an unknown grade
    flat = flat.fill_null(UNKNOWN) if flat.null_count() else flat
    low, high = int(flat.min()), int(flat.max())  # type: ignore[arg-type]
    if high - low > _MOST_APART:
        return _graded_one_by_one(column)
    codes = np.full(high - low + 1, _BAD, np.int8)
    for number in range(low, high + 1):
        with contextlib.suppress(InputError):
            codes[number - low] = np.frombuffer(_grades([number], column), np.int8)[0]
    is_itself = np.array_equal(codes, np.arange(low, high + 1))
    grades = (
        flat.cast(pl.Int8).to_numpy() if is_itself else codes[flat.cast(pl.Int64).to_numpy() - low]
    )

    # the lists with a bad one
    errors: dict[int, InputError] = {}
    if (codes == _BAD).any():
        rows = np.repeat(np.arange(len(lengths)), lengths)
        for row in np.unique(rows[grades == _BAD]).tolist():
            try:
                _grades(column.at(row), column)
            except InputError as error:
                errors[row] = error
    return Values(GradeLists(grades, lengths), np.zeros(len(lengths), bool), errors)


def _integers(column: Column) -> tuple[pl.Series, Integers] | None:
    """Return the numbers of all lists in a row, and the length of each, if all are lists of
    integers, or such texts.
    """
    lists = column.cells
    if not isinstance(lists, pl.Series) or not len(lists) or lists.null_count():
        return None
    if lists.dtype == pl.String and column.texts:
        single = _single_digits(lists)
        if single is not None or not lists.str.contains(_PLAIN_LISTS).all():
            return single
        texts = lists.str.strip_chars("[]").str.replace_all(", ", " ", literal=True)
        lists = texts.str.split(" ").cast(pl.List(pl.Int16))
    if not isinstance(lists.dtype, pl.List) or not lists.dtype.inner.is_integer():
        return None
    lengths = lists.list.len().to_numpy().astype(np.int64)
    return (flattened(lists), lengths) if lengths.min() else None


def _single_digits(texts: pl.Series) -> tuple[pl.Series, Integers] | None:
    """Return what `_integers` does of texts such as 3 2 0, whose every second character is a digit;
    else None.
    """
    characters = np.frombuffer(texts.str.join("\n").item().encode() + b"\n", np.uint8)
    digits, marks = characters[::2] - ord("0"), characters[1::2]
    ends = np.flatnonzero(marks == ord("\n"))
    alternate = len(digits) == len(marks) and len(ends) == len(texts) and (digits <= 9).all()
    if not alternate or np.count_nonzero(marks == ord(" ")) + len(ends) < len(marks):
        return None
    return pl.Series(digits.astype(np.int8)), np.diff(ends, prepend=-1)


def _graded_one_by_one(column: Column) -> Values:
    """Return the grades of lists of any values."""
    lists = _cell_by_cell(_grades, column, b"")
    lengths = np.fromiter(map(len, lists.values), np.int64, len(lists.values))
    flat = np.frombuffer(b"".join(lists.values), np.int8)
    said = None
    if column.mapping.scale is not None and not column.mapping.numbered:
        cells, index = column.distinct()
        said = np.array([_said(value) for value in map(column.value, cells)], np.int64)[index]
    return Values(GradeLists(flat, lengths, said), lists.absent, lists.errors)


def _said(grades: Any) -> int:
    """Return whether known grades are names (1), numbers (2), or both (3)."""
    unknown = (None, UNKNOWN, EMPTY, str(EMPTY), *UNKNOWN_GRADES)
    known = [grade for grade in grades if grade not in unknown] if isinstance(grades, list) else []
    return sum({1 if isinstance(grade, str) else 2 for grade in known})


def _won(column: Column) -> Values:
    """Return the codes of winners; a word that is not understood is refused with all words of the
    log.
    """
    known = {**WINNERS, **column.mapping.own_words.codes}
    cells, index = column.distinct()
    values = [column.value(cell) for cell in cells]
    words = [word_of(value) if isinstance(value, str | int | float) else "" for value in values]
    codes = np.array([known.get(word.lower(), _BAD) for word in words], np.int64)
    absent = np.array([value is None for value in values], bool)
    errors: dict[int, InputError] = {}
    is_bad = (codes == _BAD) & ~absent
    if is_bad.any():
        seen = column.words()
        refusals = {
            at: refused_word(values[at], seen, known) for at in np.flatnonzero(is_bad).tolist()
        }
        errors = {row: refusals[index[row]] for row in np.flatnonzero(is_bad[index]).tolist()}
    return Values(Said(index, words, codes), absent[index], errors)


KINDS: dict[str, Callable[[Column], Values]] = {
    "grades": _graded,
    "winner": _won,
    "label": _kind(_label, _plain_labels),
    "name": _kind(_label, _plain_labels),
    "text": _kind(_label, _plain_labels),
    "identity": _kind(_identity, _plain_labels),
    "status": _kind(_status),
    "side": _kind(_swapped, missing=1.0),
    "place": _kind(_swapped, missing=1.0),
    "position": _kind(_position, missing=1.0),
    "documents": _kind(_documents, _plain_documents),
    "counts": _kind(_counts),
    "number": _kind(_number, _plain_numbers, missing=1.0),
    "positive": _kind(_number, _plain_numbers, missing=1.0),
    "score": _kind(_score, _plain_numbers, missing=1.0),
    "scale": _kind(_scale, _plain_scales),
    "share": _kind(_share, missing=1.0),
}
"""The conversions of columns, by the kind of their role."""


def checked(value: Any, role: str, kind: str) -> Any:
    """Return the value of one cell of a kind; raise InputError if it is bad."""
    made = KINDS[kind](Column(role, kind, [value]))
    if made.errors:
        raise made.errors[0]
    return None if made.absent[0] else made.values[0]
