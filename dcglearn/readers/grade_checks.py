"""Checks of a log's grades: stray ones are named by line, scales of numbers proposed."""

import contextlib
from collections.abc import Iterator
from itertools import islice

import numpy as np

from dcglearn.foundation.validation import MAX_GRADES, Grades, InputError, errors_in
from dcglearn.readers.column_roles import Record, Table
from dcglearn.readers.grade_scale import FEW_LEVELS, check_scale, is_stray
from dcglearn.readers.line_formats import NUMBER, Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import word_of

FEWEST_STARS = 3
"""A scale that counts from 1 is proposed where the top grade is at least this."""


def grade_lists(source: Source, table: Table) -> list[Grades]:
    """Return the lists of a table of a log."""
    return [table[role] for role in source.lists]


def place_of(
    name: str, source: Source, lists: list[Grades], grade: int, value: int | None = None
) -> str:
    """Return file and first line with a grade, which lines may write as another `value`."""
    row = int(np.argmax(np.any([(x == grade).any(axis=1) for x in lists], axis=0)))
    text = str(grade if value is None else value)

    # the line itself is the first, unless bad lines stand before it
    for place, record in islice(source.readable(), row, None):
        if text in _written(source, record):
            return f"{name}, {place}"
    return name


def _written(source: Source, record: Record) -> set[str]:
    """Return the grades of a line as texts."""
    cells = map(record.get, source.lists)
    lists = [values for values in cells if isinstance(values, list)]
    return {word_of(x) for values in lists for x in values if x is not None}


def check_levels(name: str, source: Source, table: Table, mapping: LogMapping) -> list[str]:
    """Raise InputError if grades are no scale and nothing insists, naming a stray one's line.

    Return a remark if they count from 1, as stars do.
    """
    lists = grade_lists(source, table)
    if mapping.n_known is not None or not lists:
        return []

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

    # stars
    if mapping.best_grade is not None or counts[0] or top < FEWEST_STARS:
        return []
    levels = ",".join(map(str, range(1, top + 1)))
    return [f"no result has the grade 0; if the worst grade is 1: scale= (--scale {levels})"]


@contextlib.contextmanager
def proposing_scale(source: Source, mapping: LogMapping) -> Iterator[None]:
    """Add the scale of the few numbers that occur to the refusal of a number as a grade."""
    try:
        yield
    except InputError as error:
        if error.see != "grades" or mapping.scale is not None:
            raise

        # a scale of the few numbers that occur
        numbers = _few_numbers(source)
        levels = ",".join(numbers)
        remedy = f"; if the grades are {levels}: scale= (--scale {levels})" if numbers else ""
        told = error.told(after=remedy)
        if "0" in numbers and mapping.n_known is None and "cutoffs" not in error.cure:
            told.cure = {"scale": numbers}
        raise told from None


def _few_numbers(source: Source) -> list[str]:
    """Return the grades of a log in order if they are a few numbers; else nothing."""
    texts: set[str] = set()
    for _, record in source.readable():
        texts |= _written(source, record)
        if len(texts) > FEW_LEVELS + 2:  # -1 and -2 are no grades
            return []
    texts -= {"-1", "-2"}
    are_few = len(texts) <= FEW_LEVELS and all(map(NUMBER.fullmatch, texts))
    return sorted(texts, key=float) if are_few else []
