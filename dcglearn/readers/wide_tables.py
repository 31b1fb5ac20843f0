"""Lists with a column for each position, such as ``left_1 .. left_10``: their columns, and their values as one list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

FILLERS = {
    *("list", "side", "system", "ranking", "grade", "grades", "rel", "relevance", "judgement", "judgment"),
    *("result", "results", "item", "rank", "pos", "position", "at"),
}
"""Words that may stand beside a side's word and the number in the name of a position's column."""


def wide_columns(names: Sequence[str], marks: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of one list in order of position, empty if there are none.

    Names consist of one of the `marks`, one number, and words of `FILLERS`, in any order, joined in any way:
    ``left_1``, ``a1``, ``Left grade 1``, ``grade_a_01``, ``right[3]``. The mark "" stands for no word beside fillers.
    Raises InputError if positions do not count from 0 or 1 without a gap, one occurs twice, or names follow several
    patterns.
    """
    patterns: dict[tuple[str, ...], dict[int, list[str]]] = {}
    for name in names:
        if position := position_of(name, marks):
            pattern, number = position
            patterns.setdefault(pattern, {}).setdefault(number, []).append(name)
    if not patterns:
        return ()
    if len(patterns) > 1:
        shown = " and ".join(next(iter(numbers.values()))[0] for numbers in patterns.values())
        raise InputError(f"{shown} both look like positions of one list; rename or drop one set of columns")
    (numbers,) = patterns.values()
    order = sorted(numbers)
    for number in order:
        if len(numbers[number]) > 1:
            raise InputError(f"{' and '.join(numbers[number])} give one position twice; keep one")
    if order[0] > 1 or order[-1] - order[0] != len(order) - 1:
        missing = next(number for number in range(min(order[0], 1), order[-1]) if number not in numbers)
        found = ", ".join(numbers[number][0] for number in order)
        raise InputError(
            f"position {missing} is missing among the columns {found}; add its column, or drop those beyond it"
        )
    return tuple(numbers[number][0] for number in order)


def position_of(name: str, marks: Sequence[str]) -> tuple[tuple[str, ...], int] | None:
    """Return the words of a column's name and its number; None if it does not name a position of the list."""
    tokens = re.findall(r"[^\W\d_]+|[0-9]+", name.lower())
    numbers = [token for token in tokens if token.isdecimal()]
    words = tuple(token for token in tokens if not token.isdecimal())
    if len(numbers) != 1 or len(numbers[0]) > 3 or not words:
        return None
    others = [word for word in words if word not in marks]
    whole = len(others) == len(words) - ("" not in marks)
    return (words, int(numbers[0])) if whole and FILLERS.issuperset(others) else None


def as_list(values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the values of a list's columns up to the last that is not blank (None).

    Raises InputError if one before it is blank: that may be an unknown grade, or a list that was not closed up.
    """
    cells = list(values)
    while cells and cells[-1] is None:
        cells.pop()
    if None in cells:
        raise InputError(
            f"{names[cells.index(None)]} is blank and {names[len(cells) - 1]} is not; write -1 where a grade is unknown"
        )
    return cells
