"""Raw cells of a column: their checking by a rule, and lists of grades, integers at once."""

import contextlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import polars as pl

from dcglearn.foundation.validation import (
    EMPTY,
    UNKNOWN,
    Flags,
    Grades,
    Indices,
    InputError,
    Integers,
)
from dcglearn.logs.unique_rows import places
from dcglearn.readers.cell_values import (
    BLANK,
    NUMBER,
    UNKNOWN_GRADES,
    grades_of_objects,
    shown,
    value_of,
)
from dcglearn.readers.cutoffs import CUT, level_of
from dcglearn.readers.grade_scale import StatedMapping
from dcglearn.readers.line_formats import Refusals
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.openers import flattened
from dcglearn.readers.winner_words import word_of

Cells: TypeAlias = "pl.Series | list[Any]"
"""The raw cells of a column: of one type, or of Python's types, None where a line has none."""


@dataclass(frozen=True)
class RawColumn:
    """The raw cells of a role, null at the rows of `others`, whose cells are of any type.

    `texts` says that a text may stand for a value of another type, `may_be_empty` that a list may
    hold nothing.
    """

    role: str
    kind: str
    cells: Cells
    texts: bool = False
    others: Mapping[int, Any] = field(default_factory=dict)
    mapping: LogMapping = field(default_factory=LogMapping)
    may_be_empty: bool = False

    def value(self, cell: Any) -> Any:
        """Return the value that a cell stands for, in the types of JSON; None if it is blank.

        A text of several words that is the name of one grade is a list of one. A word such as NA is
        no blank if an option says what it means.
        """
        value = value_of(cell, self.kind, self.texts)
        if not isinstance(cell, str):
            return value

        # the name of a grade
        several = isinstance(value, list) and len(value) > 1
        if several and self.mapping.grade_of(cell) is not None:
            return [cell]

        # a blank that means something
        word = cell.strip(BLANK)
        if value is None and self.kind == "winner" and word.lower() in self.mapping.own_words.codes:
            return word
        if value is None and self.kind == "grades" and self.mapping.grade_of(word) is not None:
            return [word]
        return value

    def cell(self, row: int) -> Any:
        """Return the cell of a row, as Python has it."""
        cell = self.others[row] if row in self.others else self.cells[row]
        return cell.to_list() if isinstance(cell, pl.Series) else cell

    def as_list(self) -> list[Any]:
        """Return the cells of all rows, as Python has them."""
        cells = self.cells.to_list() if isinstance(self.cells, pl.Series) else [*self.cells]
        for row, cell in self.others.items():
            cells[row] = cell
        return cells

    def at(self, row: int) -> Any:
        """Return the value of a row."""
        return self.value(self.cell(row))

    def distinct(self) -> tuple[list[Any], Integers]:
        """Return the distinct cells, and the number of each row's cell, shape (n,)."""
        # a column of one plain type
        cells = self.cells
        if isinstance(cells, pl.Series) and not cells.dtype.is_nested() and not self.others:
            different = cells.unique(maintain_order=True)
            number = pl.int_range(len(different), eager=True)
            index = cells.replace_strict(different, number, return_dtype=pl.Int64).to_numpy()
            return different.to_list(), index

        # keys that tell numbers of two types apart, and every list
        place: dict[Any, int] = {}
        index = np.empty(len(cells), np.int64)
        different_cells: list[Any] = []
        for row, cell in enumerate(self.as_list()):
            is_plain = cell is None or isinstance(cell, str | int | float)
            key = (type(cell), cell) if is_plain else row

            # a cell that is new, or was there
            index[row] = place.setdefault(key, len(different_cells))
            if index[row] == len(different_cells):
                different_cells.append(cell)
        return different_cells, index

    @cached_property
    def words(self) -> Counter[str]:
        """How often each word or number occurs."""
        cells, index = self.distinct()
        values = [self.value(cell) for cell in cells]
        is_word = np.array([isinstance(value, str | int | float) for value in values], bool)
        return counted([word_of(value) for value in values], index[is_word[index]])

    def grades(self) -> Iterator[Any]:
        """Yield the grades in the lists of the column as they are written, some several times."""
        is_plain, flat, _ = _integers(self)
        yield from flat.unique().to_list()
        for values in map(self.at, np.flatnonzero(~is_plain).tolist()):
            yield from values if isinstance(values, list) else ()


def counted(words: list[str], index: Integers) -> Counter[str]:
    """Return how often each word occurs, where `index` holds the number of each row's word."""
    counts: Counter[str] = Counter()
    for word, n in zip(words, np.bincount(index, minlength=len(words)).tolist(), strict=True):
        if n:
            counts[word] += n
    return counts


def checked_list(values: Any, column: RawColumn, such: str) -> list[Any]:
    """Return a list, which holds nothing only where its column may; else raise InputError."""
    if not isinstance(values, list):
        raise InputError(f"{column.role} is {shown(values)}, not a list of {such}")
    if not values and not column.may_be_empty:
        raise InputError(f"{column.role} is an empty list; leave the line out")
    return values


@dataclass(frozen=True)
class Values:
    """Values of a column, an entry a row; rows that have none; refusals of the bad cells."""

    values: Any
    absent: Flags
    errors: Refusals


Rule: TypeAlias = "Callable[[Any, RawColumn], Any]"
"""From the value of a cell to what a log keeps of it, None for nothing; raises InputError."""


def checked_cells(
    rule: Rule, column: RawColumn, missing: Any, rows: Indices | None = None
) -> tuple[list[Any], Values]:
    """Return what a rule makes of each distinct cell, and the values of a column so far.

    These are the number of each row's distinct cell, of some `rows` alone if given; errors have the
    numbers of rows in the column. A cell without a value, or a bad one, becomes `missing`.
    """
    # what each cell becomes, or its refusal
    some = column
    if rows is not None:
        some = replace(column, cells=[column.cell(row) for row in rows.tolist()], others={})
    cells, index = some.distinct()
    kept: list[Any] = []
    errors: Refusals = {}
    absent = np.ones(len(cells), bool)
    for at, value in enumerate(map(column.value, cells)):
        # a bad cell has no value
        made = None
        if value is not None:
            try:
                made = rule(value, column)
            except InputError as error:
                errors[at] = error
        absent[at] = made is None
        kept.append(missing if made is None else made)

    # from distinct cells to rows
    is_bad = np.zeros(len(cells), bool)
    is_bad[list(errors)] = True
    at_bad = np.flatnonzero(is_bad[index])
    bad_rows = at_bad if rows is None else rows[at_bad]
    refusals = [errors[at] for at in index[at_bad].tolist()]
    return kept, Values(index, absent[index], dict(zip(bad_rows.tolist(), refusals, strict=True)))


JUDGE_DOCUMENTS = (
    "for names of documents, give judgements (dl.io.with_grades, --qrels); for names of "
    "grades, scale="
)
"""Remedy where a grade looks like the name of a document."""

GRADE = "(-[12]|[0-9]{1,3})"
"""Pattern of a plain grade."""


@dataclass(frozen=True)
class GradeLists:
    """Grades of all lists in a row, and the length of each list.

    `named` says that a scale has names, and that some grades may be such.
    """

    flat: Grades
    lengths: Integers
    named: bool = False

    def __getitem__(self, rows: Flags) -> Self:
        flat = self.flat[np.repeat(rows, self.lengths)]
        return replace(self, flat=flat, lengths=self.lengths[rows])

    @property
    def longest(self) -> int:
        """The largest number of grades of a list."""
        return int(self.lengths.max(initial=1))

    def table(self, depth: int, below: int) -> Grades:
        """Return the lists cut, or filled with `below`, to one depth, shape (n, depth)."""
        flat, lengths = self.flat, self.lengths
        if (lengths == depth).all():
            return flat.reshape(-1, depth)

        # cut the longer lists
        if self.longest > depth:
            flat = flat[places(lengths) < depth]
            lengths = np.minimum(lengths, depth)

        # fill the shorter ones
        table = np.full((len(lengths), depth), below, np.int8)
        table[np.arange(depth) < lengths[:, None]] = flat
        return table


def graded(column: RawColumn) -> Values:
    """Return lists of grades: integers by a table of codes, lists of other values one by one."""
    is_plain, flat, lengths = _integers(column)
    bad = -9
    grades = np.zeros(0, np.int8)
    if is_plain.any():
        # the code of each number between the ends, of which those beyond are read one by one
        ends = -1024, 1024
        if flat.dtype != pl.Int8:
            flat = flat.clip(*ends)
        low, high = int(flat.min()), int(flat.max())  # type: ignore[arg-type]
        codes = np.full(high - low + 1, bad, np.int8)
        for number in sorted({*range(low, high + 1)} - {*ends}):
            with contextlib.suppress(InputError):
                codes[number - low] = np.frombuffer(_grades([number], column), np.int8)[0]

        # the grades, which are the numbers themselves where no option maps them
        if np.array_equal(codes, np.arange(low, high + 1)):
            grades = flat.cast(pl.Int8).to_numpy()
        else:
            grades = codes[flat.cast(pl.Int64).to_numpy() - low]
            is_plain[np.repeat(np.arange(len(lengths)), lengths)[grades == bad]] = False

    # lists of other values
    absent = np.zeros(len(lengths), bool)
    others = np.flatnonzero(~is_plain)
    if not len(others):
        return Values(GradeLists(grades, lengths), absent, {})
    made, cells = checked_cells(_grades, column, b"", others)
    lists = [made[at] for at in cells.values.tolist()]
    absent[others] = cells.absent

    # in their places between the plain ones
    grades = grades[np.repeat(is_plain, lengths)]
    lengths[others] = np.fromiter(map(len, lists), np.int64, len(lists))
    flat_grades = np.empty(lengths.sum(), np.int8)
    is_plain_grade = np.repeat(is_plain, lengths)
    flat_grades[is_plain_grade] = grades
    flat_grades[~is_plain_grade] = np.frombuffer(b"".join(lists), np.int8)
    named = column.mapping.scale is not None and not column.mapping.numbered
    return Values(GradeLists(flat_grades, lengths, named), absent, cells.errors)


def _integers(column: RawColumn) -> tuple[Flags, pl.Series, Integers]:
    """Return which lists hold integers, values or texts; these in a row; the length of each list.

    Lists of anything else have the length 0. A null is an unknown grade.
    """
    lists = column.cells
    n = len(lists)
    none = np.zeros(n, bool), pl.Series(dtype=pl.Int8), np.zeros(n, np.int64)
    if not isinstance(lists, pl.Series) or not n:
        return none

    # texts such as 3 2 0 or [3, 2, 0]
    if lists.dtype == pl.String and column.texts:
        single = None if lists.null_count() else _single_digits(lists)
        if single is not None:
            return np.ones(n, bool), *single

        # those with several digits
        plain = rf"^({GRADE}( {GRADE})*|\[{GRADE}(, {GRADE})*\])$"
        lists = lists.set(~lists.str.contains(plain), None)
        texts = lists.str.strip_chars("[]").str.replace_all(", ", " ", literal=True)
        lists = texts.str.split(" ").cast(pl.List(pl.Int16))

    # values, of which some lists are empty or none
    if not isinstance(lists.dtype, pl.List) or not lists.dtype.inner.is_integer():
        return none
    lengths = lists.list.len().fill_null(0)
    is_plain = lengths > 0
    flat = flattened(lists if is_plain.all() else lists.filter(is_plain))
    flat = flat.fill_null(UNKNOWN) if flat.null_count() else flat

    # in a byte each, unless one is larger
    with contextlib.suppress(pl.exceptions.InvalidOperationError):
        flat = flat.cast(pl.Int8)
    return is_plain.to_numpy().copy(), flat, lengths.to_numpy().astype(np.int64)


def _single_digits(texts: pl.Series) -> tuple[pl.Series, Integers] | None:
    """Return the numbers and lengths of texts such as 3 2 0, digits in every second place."""
    # every second character, a digit, and those between
    characters = np.frombuffer(texts.str.join("\n").item().encode() + b"\n", np.uint8)
    digits, marks = characters[::2] - ord("0"), characters[1::2]

    # lines of digits separated by blanks
    ends = np.flatnonzero(marks == ord("\n"))
    alternate = len(digits) == len(marks) and len(ends) == len(texts) and (digits <= 9).all()
    if not alternate or np.count_nonzero(marks == ord(" ")) + len(ends) < len(marks):
        return None
    return pl.Series(digits.astype(np.int8)), np.diff(ends, prepend=-1)


def notations(column: RawColumn) -> Integers:
    """Return whether the known grades of each list are names (1), numbers (2), or both (3)."""
    unknown = ("none", str(EMPTY), *UNKNOWN_GRADES)
    cells, index = column.distinct()
    of_cells = []
    for value in map(column.value, cells):
        known = value if isinstance(value, list) else []
        of_cells.append(
            sum({1 + (not isinstance(x, str)) for x in known if word_of(x).lower() not in unknown})
        )
    return np.array(of_cells, np.int64)[index]


def _grades(values: Any, column: RawColumn) -> bytes:
    """Return a list of grades as int8 bytes, -2 for an empty one; else raise InputError."""
    role, mapping = column.role, column.mapping
    values = checked_list(grades_of_objects(values), column, "grades such as [3, 2, 0]")

    # fractions become levels, and most grades are integers of the scale
    if mapping.cutoffs is not None:
        values = [level_of(value, mapping.points, role) for value in values]
    top = 0 if mapping.numbered else mapping.top
    codes = [
        v if type(v) is int and EMPTY <= v < top else grade_of(v, role, mapping) for v in values
    ]
    if mapping.best_grade == "1" and 0 in codes:
        raise InputError(
            f"{role} holds the grade 0, better than best_grade=1; write -1 where it is unknown"
        )
    return array("b", codes or [EMPTY]).tobytes()


def grade_of(value: Any, role: str, mapping: LogMapping) -> int:
    """Return one grade, -1 where it is unknown, -2 where there is no result."""
    if value is None:
        return UNKNOWN
    if mapping.numbered and isinstance(value, int | float) and value not in (UNKNOWN, EMPTY):
        value = word_of(value)
    if isinstance(value, str):
        return _named_grade(value, role, mapping)

    # other types
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            f"{role} holds {shown(value)}, which is not a grade; grades are integers, 0 = worst"
        )

    # fractions
    if isinstance(value, float) and not value.is_integer():
        raise InputError(
            f"{role} holds the grade {value}, which is not an integer; "
            f"use null or -1 for no grade; {CUT}",
            see="grades",
        )

    # numbers on the scale, and off it
    if EMPTY <= value < mapping.top:
        return int(value)
    if isinstance(mapping, StatedMapping):
        remedy = (
            f"the log states a scale of {mapping.top} grades: correct its column scale, or the line"
        )
    elif mapping.scale is not None:
        remedy = f"the scale is {', '.join(mapping.scale)}: name more (--scale) or correct the line"
    elif mapping.n_known:
        remedy = f"raise n_grades={mapping.top} (--grades) or correct the line"
    else:
        remedy = f"at most 127 are supported; {JUDGE_DOCUMENTS}"
    raise InputError(
        f"{role} holds the grade {shown(value)}, outside {EMPTY}..{mapping.top - 1}; {remedy}",
        see="grades",
    )


def _named_grade(value: str, role: str, mapping: LogMapping) -> int:
    """Return the grade of a name or of a number in a text."""
    grade = mapping.grade_of(value)
    if grade is not None:
        return grade
    name = value.strip(BLANK).lower()
    if name == str(EMPTY):
        return EMPTY
    if name in UNKNOWN_GRADES:
        return UNKNOWN

    # names of another scale, numbers
    holds = f"{role} holds {shown(value)}"
    if mapping.scale is not None:
        raise InputError(f"{holds}, not a grade of the scale {', '.join(mapping.scale)}")
    if NUMBER.fullmatch(name):
        return grade_of(float(name), role, mapping)

    # several grades, names of documents, and of grades
    if any(map(str.isdigit, name)):
        if not any(map(str.isalpha, name)):
            remedy = "separate the grades of a cell by spaces, commas or |"
            raise InputError(f"{holds}, which is no grade; {remedy}")
        raise InputError(
            f"{holds}, which is no grade; {JUDGE_DOCUMENTS}",
            # documents have no blanks in their names, "2 stars" has
            see="grades" if " " in name else None,
        )
    named = f"{role} holds the grade name {shown(value)}"
    raise InputError(
        f"{named}; pass scale= with the names of all grades, worst first", see="grades"
    )
