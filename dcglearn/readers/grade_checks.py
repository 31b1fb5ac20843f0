"""Checks of the grades on the lines of a log: a stray one is named with its line, numbers of a
scale are proposed.
"""

import contextlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from dcglearn.foundation.validation import MAX_GRADES, Grades, InputError, errors_in
from dcglearn.readers.column_roles import Table
from dcglearn.readers.grade_scale import FEW_LEVELS, check_scale, is_stray
from dcglearn.readers.line_formats import NUMBER, Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import word_of


def grade_lists(source: Source, table: Table) -> list[Grades]:
    """Return the lists of a table of a log."""
    return [table[role] for role, about in source.roles.items() if about.kind == "grades"]


def place_of(
    name: str, source: Source, lists: list[Grades], grade: int, value: int | None = None
) -> str:
    """Return the file and the first line that has a grade, which the lines may write as another
    `value`.
    """
    row = int(np.argmax(np.any([(x == grade).any(axis=1) for x in lists], axis=0)))
    text = str(grade if value is None else value)

    # the line itself is the first, unless bad lines stand before it
    for number, item in islice(source, row, None):
        with contextlib.suppress(InputError):
            if text in _written(source, source.record(item)):
                return f"{name}, {source.unit} {number}"
    return name


def _written(source: Source, record: dict[str, Any]) -> set[str]:
    """Return the grades of a line as texts."""
    cells = [record.get(role) for role, about in source.roles.items() if about.kind == "grades"]
    lists = [values for values in cells if isinstance(values, list)]
    return {word_of(x) for values in lists for x in values if x is not None}


def check_levels(name: str, source: Source, table: Table, mapping: LogMapping) -> None:
    """Raise InputError, naming a line with a stray grade, if the grades of a log are no scale and
    nothing insists.
    """
    lists = grade_lists(source, table)
    if mapping.n_known is not None or not lists:
        return

    from dcglearn.logs.visibility import grade_counts  # it loads the kernels

    # counts of the grades as the lines write them
    counts = np.sum([grade_counts(grades, grades[:0]) for grades in lists], axis=0)[:MAX_GRADES]
    top = int(np.flatnonzero(counts).max(initial=0))
    code = top
    if mapping.best_grade is not None:
        code = 0
        counts = np.append(np.zeros(int(mapping.best_grade), int), counts[top::-1])
        top = len(counts) - 1

    with errors_in(place_of(name, source, lists, code, top) if is_stray(counts) else name):
        check_scale(counts)


@contextlib.contextmanager
def proposing_scale(source: Source, mapping: LogMapping) -> Iterator[None]:
    """Add to the refusal of a number that is no grade the scale of the numbers that occur, if these
    are few.
    """
    try:
        yield
    except InputError as error:
        if error.see == "grades" and mapping.scale is None:
            numbers = _few_numbers(source)
            if numbers:
                levels = ",".join(numbers)
                remedy = f"if the grades are {levels}: scale= (--scale {levels})"
                error.args = (f"{error.args[0]}; {remedy}",)
            if "0" in numbers and mapping.n_known is None and "cutoffs" not in error.cure:
                error.cure = {"scale": numbers}
        raise


def _few_numbers(source: Source) -> list[str]:
    """Return the grades of a log in order if they are a few numbers; else nothing."""
    found: set[str] = set()
    for record in source.readable():
        found |= _written(source, record)
        if len(found) > FEW_LEVELS + 2:  # -1 and -2 are no grades
            return []
    found -= {"-1", "-2"}
    numbers = len(found) <= FEW_LEVELS and all(NUMBER.fullmatch(text) for text in found)
    return sorted(found, key=float) if numbers else []
