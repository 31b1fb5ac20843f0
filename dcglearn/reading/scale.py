"""Grades: their scale, cells that hold lists of them, and the check that they are a scale."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.validation import (
    EMPTY,
    MAX_GRADES,
    UNKNOWN,
    Grades,
    InputError,
    Integers,
    at_depth,
    filled,
    scale_size,
    whole_number,
)
from dcglearn.reading.tables import Refusals
from dcglearn.reading.texts import BLANK, MISSING, by_text, text

BAD = -99
"""Code of a cell that is no grade."""

QUOTED = re.compile(r"^([\"'])([^\"']*)\1$")
"""A text in quotes; half of one is no grade, since a list was cut at a comma inside a name."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)

COMMAS = "see the recipe 'Numbers with commas, names with blanks'"
"""Remedy for decimal commas."""

BLOCK = 1 << 17
"""Rows whose grades are read at once: their cells as text take many times the memory of grades."""

NO_GRADE = (*MISSING, "u", ".", "-", "null")
"""Words for a grade that nobody knows, in lower case."""


def _key(name: Any) -> str:
    """Return the name of a grade in lower case without quotes; 1, 1.0 and 01 are one name."""
    word = QUOTED.sub(r"\2", str(name).strip(BLANK)).strip(BLANK).lower()
    return f"{float(word):.15g}" if NUMBER.fullmatch(word) else word


@dataclass(frozen=True)
class Scale:
    """The names of the grades, worst first, or how many there are, as far as it is known.

    Where the log itself states the names, in a column `scale`, its lists may hold numbers too.
    """

    names: tuple[str, ...] | None = None
    n_grades: int | None = None
    stated: bool = False

    @classmethod
    def of(cls, names: Any, n_grades: int | None, column: pl.Series | None = None) -> Scale:
        """Return the scale that the user gives, or that a column states."""
        stated = None if column is None else _stated(column)
        given = None if names is None else names_in(names)
        told = [one for one in (stated, given, n_grades) if one is not None]

        # all say the same, and each grade has its own name
        lists = {tuple(str(name).strip() for name in one) for one in told if isinstance(one, list)}
        sizes = (len(one) if isinstance(one, list) else one for one in told)
        known = {scale_size(size, 0, "the number of grades") for size in sizes}
        own = next(iter(lists), ())
        if len(known) > 1 or len(lists) > 1 or len({*map(_key, own)}) < len(own):
            raise InputError(
                f"scale={names} must name each grade once, worst first, and n_grades={n_grades} "
                f"and the column scale ({stated}) say the same; columns={{'scale': ''}} ignores it"
            )
        return cls(own or None, max(known, default=None), stated is not None)

    @property
    def top(self) -> int:
        """The largest grade that can be."""
        return (self.n_grades or MAX_GRADES) - 1

    @property
    def takes_numbers(self) -> bool:
        """Whether grades may be written as numbers from 0."""
        return self.names is None or self.stated

    def codes(self, cells: pl.Series) -> NDArray[np.int8]:
        """Return the grade of each cell, -1 where it is unknown, `BAD` where it is none."""
        if not (cells.dtype.is_integer() or cells.dtype == pl.String):
            cells = text(cells)

        # whole numbers at once
        end = self.top + 1 if self.takes_numbers else EMPTY
        numbers = cells.cast(pl.Int16, strict=False)
        is_on_scale = numbers.is_between(EMPTY, end, "left")
        if is_on_scale.all() and not numbers.has_nulls():
            return numbers.to_numpy().astype(np.int8)
        codes = numbers.set(~is_on_scale, None).cast(pl.Int8)

        # each other text once
        others = codes.is_null()
        if others.any():
            words = {str(number): number for number in range(EMPTY, max(end, 0))}
            words |= dict.fromkeys(NO_GRADE, UNKNOWN)
            words |= {_key(name): grade for grade, name in enumerate(self.names or ())}
            by_name = by_text(text(cells.filter(others)), lambda cell: words.get(_key(cell), BAD))
            codes = codes.scatter(others.arg_true(), by_name)
        return codes.to_numpy()

    def problem(self, cell: str) -> str:
        """Return what a text is that is no grade, and what to do."""
        word = QUOTED.sub(r"\2", cell.strip(BLANK))
        if re.search("[{}]|[\"']:", word):
            return "objects; see the recipe 'Documents as objects'"

        # a name, or a number, that is not on the scale
        if self.names is not None:
            problem = (
                f"{word!r}, not a grade of the scale {self.names}; separate names by commas or |; "
                "scale= takes all names"
            )
        elif re.fullmatch("[+-]?[0-9.,]+(e[+-]?[0-9]+)?", word.lower()):
            problem = (
                f"the grade {word}, outside 0..{self.top} or no whole number; write grades apart, "
                "or give scale=; see the recipe 'Fractions'"
            )
        else:
            problem = (
                f"the grade {word!r}; separate grades by blanks or |; scale= takes the names of "
                "all grades, worst first; for names of documents or runs see the recipe 'Documents "
                "judged elsewhere'"
            )
        return f"{problem}; {COMMAS}"


def _stated(column: pl.Series) -> int | list[Any] | None:
    """Return the names of the grades, or their number, that a column states on all rows."""
    texts = [one for one in text(column).unique(maintain_order=True) if one]
    if not texts:
        return None

    # a number, a list of JSON, or names that commas separate
    try:
        value = json.loads(texts[0])
    except ValueError:
        value = [name.strip(BLANK + "\"'") for name in names_in(texts[0].strip("[]"))]

    if len(texts) > 1 or type(value) not in (int, list):
        raise InputError(
            f"the column scale holds {texts[:2]}; give one scale on every row, the names of the "
            "grades, worst first, or their number; columns={'scale': ''} ignores it"
        )
    return value


def grades_of(role: str, columns: list[pl.Series], scale: Scale, refusals: Refusals) -> Grades:
    """Return lists of grades, shape (n, K), -2 below the end of each; note the bad rows."""
    column = columns[0] if len(columns) == 1 else _lists_of_positions(columns, refusals)
    if not isinstance(column.dtype, pl.List | pl.Array | pl.String):
        column = text(column)
    blocks = [column[start : start + BLOCK] for start in range(0, len(column), BLOCK)]

    # texts that are all written as the first one, or else with the separator of any
    mark = ""
    if column.dtype == pl.String:
        top = scale.top if scale.takes_numbers else -1
        mark = separator(column[:1], "|,")
        digits: list[Any] = [_digits(block, mark, top) for block in blocks]
        if all(one is not None for one in digits):
            return np.concatenate(fitted(digits, None, pad=False))
        mark = separator(column, "|,")

    # the length of each list, its grades, and words that are none
    sizes, parts, words = [], [], []
    for block in blocks:
        lists = as_lists(block, mark)
        sizes.append(lists.list.len().fill_null(0).to_numpy())
        cells = lists.filter(lists.list.len() > 0).explode()
        parts.append(scale.codes(cells))
        is_bad = parts[-1] == BAD
        if is_bad.any():
            words.append(text(cells.filter(is_bad)))
    size, flat = np.concatenate(sizes), np.concatenate(parts)

    # a row a list
    shape = len(column), max(int(size.max()), 1)
    if (size == shape[1]).all():
        grades = flat.reshape(shape)
    else:
        grades = np.full(shape, EMPTY, np.int8)
        grades[np.arange(shape[1]) < size[:, None]] = flat
    remedy = f"leave the row out (drop_nulls), or, if NA is a grade, {COMMAS}"
    refusals.add(size == 0, f"{role} is missing or empty", remedy)

    # what is no grade, with all that are none if they are few
    bad = pl.concat([pl.Series(dtype=pl.String), *words]).unique(maintain_order=True)
    if len(bad):
        seen = f" (seen: {', '.join(bad.sort())})" if len(bad) <= 10 else ""
        problem = f"{role} holds {scale.problem(bad[0])}{seen}"
        refusals.add((grades == BAD).any(axis=1), problem)
    return grades


def _digits(texts: pl.Series, mark: str, top: int) -> Grades | None:
    """Return texts that differ in digits alone, each a grade, shape (n, K); None for others.

    This takes a tenth of the time of splitting them.
    """
    if texts.str.len_bytes().n_unique() != 1:
        return None
    data = np.frombuffer(texts.str.join("").cast(pl.Binary)[0], np.uint8).reshape(len(texts), -1)

    # the cells of the first text are its digits
    is_digit = (data[0] >= ord("0")) & (data[0] <= ord("9"))
    if as_lists(texts[:1], mark).to_list() != [[*map(chr, data[0, is_digit])]]:
        return None

    # other texts have digits in their places
    digits = data[:, is_digit] - ord("0")
    is_alike = (data[:, ~is_digit] == data[0, ~is_digit]).all()
    return digits.view(np.int8) if is_alike and digits.max() <= min(top, 9) else None


def _lists_of_positions(columns: list[pl.Series], refusals: Refusals) -> pl.Series:
    """Return a column for each position as lists of numbers, in which blank cells end a list.

    Lists with other cells are texts ``3|2|0``.
    """
    whole = pl.selectors.integer() | pl.selectors.string()
    numbers = pl.DataFrame(columns).select(whole.cast(pl.Int16, strict=False))
    if numbers.width == len(columns) and not any(numbers.null_count().row(0)):
        return pl.Series(numbers.to_numpy(order="c"))

    # texts, of which blank ones end a list
    cells = pl.DataFrame([text(column) for column in columns])
    joined = pl.concat_str(pl.all(), separator="|").str.strip_chars_end("|")
    texts = cells.select(joined).to_series()

    gap = texts.str.contains(r"^\||\|\|")
    remedy = "write -1 where a grade is unknown, -2 where there is no result (fill_null)"
    refusals.add(gap, "a position above others is blank:", remedy, texts)
    return texts


def separator(texts: pl.Series, marks: str) -> str:
    """Return the first of some marks that occurs in texts, or else a blank."""
    return next((mark for mark in marks if texts.str.contains(mark, literal=True).any()), " ")


def as_lists(column: pl.Series, mark: str) -> pl.Series:
    """Return a column of lists, or of texts such as ``3 2 0``, ``3|2|0`` and ``[3, 2, 0]``."""
    if isinstance(column.dtype, pl.Array):
        return column.arr.to_list()
    if isinstance(column.dtype, pl.List):
        return column

    # blanks beside the separator
    texts = column.fill_null("").str.strip_chars("[](){}" + BLANK)
    if mark == ",":
        texts = texts.str.replace_all(", ", ",", literal=True)
    elif mark == " " and texts.str.contains(r"[ \t\r\n]{2}|[\t\r\n]").any():
        texts = texts.str.replace_all(r"[ \t\r\n]+", " ")
    is_missing = texts.str.contains(f"(?i)^({'|'.join(MISSING)})$")
    return texts.set(is_missing, None).str.split(mark)


def fitted(lists: Sequence[Grades], depth: int | None, *, pad: bool) -> list[Grades]:
    """Return lists cut to a depth, by default that of the longest; `pad` fills the shorter ones."""
    if depth is not None:
        whole_number(depth, "depth", 1, 9_999_999)
    depth = depth or max(grades.shape[1] for grades in lists)
    whole = [at_depth(grades, depth) for grades in lists]
    return [filled(grades) for grades in whole] if pad else whole


def counts_of(lists: Sequence[Grades]) -> Integers:
    """Return how often each grade from 0 occurs."""
    counts = np.zeros(MAX_GRADES, np.int64)
    for grades in lists:
        for grade in range(int(grades.max(initial=-1)) + 1):
            counts[grade] += np.count_nonzero(grades == grade)
    return counts


def stray_grade(counts: Integers) -> tuple[int, str, str] | None:
    """Return the top grade, what is wrong with it, and what to do, if grades are no scale.

    `counts` has how often each grade from 0 occurs. The top one is stray if it stands apart and
    is rare, and a code, such as 99, if it is far above all others, or one of many.
    """
    levels = np.flatnonzero(counts).tolist()
    below, top = [0, 0, *levels][-2:]
    is_rare = top - below > 1 and counts[top] <= 0.005 * counts.sum()
    is_far = top >= 8 and (top > 2 * below + 1 or top >= 20)
    if not (is_rare or is_far):
        return None
    return (
        top,
        f"the grade {top} ({counts[top]:,} of {counts.sum():,}) is far from a scale of few levels",
        f"write -1 where it means no grade; scale={levels} if these are the grades; for "
        "numbers of documents see the recipe 'Documents judged elsewhere'; "
        f"n_grades={top + 1} insists on it",
    )


def check_levels(lists: Sequence[Grades], refusals: Refusals) -> None:
    """Refuse rows with a grade far above all others; remark that grades count from 1."""
    counts = counts_of(lists)
    stray = stray_grade(counts)
    if stray is not None:
        top, problem, remedy = stray
        rows = np.any([(x == top).any(axis=1) for x in lists], axis=0)
        refusals.add(rows, problem, remedy)
        return

    if len(lists[0]) > 1 and max(x.shape[1] for x in lists) == 1:
        refusals.remarks.append("every list has one document")

    # stars count from 1, to 3 or more
    top = int(np.flatnonzero(counts).max(initial=0))
    if not counts[0] and top >= 3:
        levels = ",".join(map(str, range(1, top + 1)))
        refusals.remarks.append(
            f"no result has the grade 0; if the worst grade is 1: scale={levels!r}"
        )
