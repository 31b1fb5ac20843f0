"""The scale of a log: grades that are no scale, stray ones, and the column `scale`."""

import contextlib
import json
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

from dcglearn.foundation.validation import (
    EMPTY,
    MAX_GRADES,
    Grades,
    Indices,
    InputError,
    Integers,
    errors_in,
)
from dcglearn.readers.cell_values import NUMBER, UNKNOWN_GRADES, from_text, shown
from dcglearn.readers.column_roles import Record, Table
from dcglearn.readers.line_formats import Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import word_of

FEW_LEVELS = 7
"""A scale is proposed for up to this many grades, since more may be numbers of documents."""


def grade_counts(*lists: Grades) -> Integers:
    """Return how often each grade occurs, shape (127,)."""
    counts = np.zeros(MAX_GRADES, dtype=np.int64)
    for grades in lists:
        for block in np.array_split(grades.ravel(), grades.size // (1 << 18) + 1):
            counts += np.bincount(block[block >= 0], minlength=MAX_GRADES)
    return counts


def check_grades(first: Grades, second: Grades) -> None:
    """Raise InputError if the grades of lists are no scale of a few levels."""
    check_scale(grade_counts(first, second))


def is_stray(counts: Integers, largest_share: float = 0.005) -> bool:
    """Return whether the top grade of those counted from 0 is a slip.

    It is not next to another grade, and at most `largest_share` of the items have it.
    """
    top, below = _top_two(np.flatnonzero(counts))
    return top - below > 1 and bool(counts[top] <= largest_share * counts.sum())


def _top_two(occurring: Indices) -> tuple[int, int]:
    """Return the largest grade that occurs and the next, which is the same if there is none."""
    top = int(occurring.max(initial=0))
    return top, int(occurring[-2]) if len(occurring) > 1 else top


def check_scale(counts: Integers, *, of_lists: bool = True) -> None:
    """Raise InputError if the grades, counted from 0, are codes, or the top one is stray.

    They are grades of lists, which may be numbers of documents, or of judgements.
    """
    most_levels, hole = 20, 8  # a top grade from `hole` on may stand far above the others
    occurring = np.flatnonzero(counts)
    top, below = _top_two(occurring)
    stray, far_above = is_stray(counts), top - below > below + 1
    if not stray and (top < hole or (not far_above and top < most_levels)):
        return

    # a scale by number where the grades are few
    levels = ",".join(map(str, occurring))
    few = len(occurring) <= FEW_LEVELS
    by_number = f"; if the grades are {levels}: scale= (--scale {levels})" if few else ""

    # say what is wrong, and what to do
    if stray:
        problem = (
            f"the grade {top} ({counts[top]:,} of {counts.sum():,} items) stands apart from the "
            f"others, 0 to {below}"
        )
        remedy = f"correct it, or write -1 if it means no grade{by_number}"

    # a code such as 99
    elif far_above:
        problem = f"the grade {top} ({counts[top]:,}) stands far above the others, 0 to {below}"
        remedy = f"if it means no grade, write -1, or leave it blank{by_number}"

    # many grades
    elif len(occurring) <= most_levels:
        problem = f"{top} is the largest of {len(occurring)} grades"
        remedy = f"name them by scale= (--scale {levels})"
        remedy += " or, if they are numbers of documents, give judgements (--qrels)" * of_lists
    else:
        problem = f"{len(occurring)} grades are many for a scale"
        remedy = "give a few levels"
        remedy += " or, if they are numbers of documents, judgements (--qrels)" * of_lists
    raise InputError(
        f"{problem}: {remedy}; n_grades={top + 1} (--grades {top + 1}) takes them as they are",
        see="grades",
    )


def grade_lists(source: Source, table: Table) -> list[Grades]:
    """Return the lists of a table of a log."""
    return [table[role] for role in source.lists]


def place_of(
    name: str, source: Source, lists: list[Grades], grade: int, value: int | None = None
) -> str:
    """Return file and first line with a grade, which lines may write as another `value`."""
    row = int(np.argmax(np.any([(x == grade).any(axis=1) for x in lists], axis=0)))
    text = str(grade if value is None else value)

    # the line itself is the first, unless bad lines stand before it, or documents have rows
    rows = source if source.documents is None else source.documents
    for place, record in rows.readable(row):
        if text in _written(source, record):
            return f"{name}, {place}"
    return name


def _written(source: Source, record: Record) -> set[str]:
    """Return the grades of a line, of a list or of one document, as texts."""
    cells = map(record.get, source.lists)
    lists = [values for values in cells if isinstance(values, list)] or [[record.get("grade")]]
    return {word_of(x) for values in lists for x in values if x is not None}


def check_levels(name: str, source: Source, table: Table, mapping: LogMapping) -> list[str]:
    """Raise InputError if grades are no scale and nothing insists, naming a stray one's line.

    Return a remark if they count from 1, as stars do.
    """
    lists = grade_lists(source, table)
    if mapping.n_known is not None or not lists:
        return []

    # counts of the grades as the lines write them
    counts = grade_counts(*lists)
    top = int(np.flatnonzero(counts).max(initial=0))
    code = top
    if mapping.best_grade is not None:
        code = 0
        counts = np.append(np.zeros(int(mapping.best_grade), int), counts[top::-1])
        top = len(counts) - 1

    with errors_in(place_of(name, source, lists, code, top) if is_stray(counts) else name):
        check_scale(counts)

    # stars count from 1, to 3 or more
    if mapping.best_grade is not None or counts[0] or top < 3:
        return []
    levels = ",".join(map(str, range(1, top + 1)))
    return [f"no result has the grade 0; if the worst grade is 1: scale= (--scale {levels})"]


@contextlib.contextmanager
def naming_scale(source: Source, mapping: LogMapping) -> Iterator[None]:
    """Add the scale of the few grades that occur to the refusal of a grade."""
    try:
        yield
    except InputError as error:
        is_told = mapping.scale is not None or isinstance(mapping, StatedMapping)
        if error.see != "grades" or is_told:
            raise

        # names, whose order the log does not tell
        grades = _few_grades(source)
        are_few = len(grades) <= FEW_LEVELS
        are_numbers = [NUMBER.fullmatch(grade) is not None for grade in grades]
        if are_few and not any(are_numbers):
            names = shlex.quote(",".join(sorted(grades)))
            raise error.told(after=f"; put these in order: scale= (--scale {names})") from None

        # numbers
        numbers = sorted(grades, key=float) if are_few and all(are_numbers) else []
        levels = ",".join(numbers)
        remedy = f"; if the grades are {levels}: scale= (--scale {levels})" if numbers else ""
        raise error.told(after=remedy) from None


def _few_grades(source: Source) -> set[str]:
    """Return the grades of a log that was read in lower case, of many only a few."""
    texts: set[str] = set()
    for role in source.lists:
        for grade in source.cells.column(role, "grades").grades():
            known = set() if grade is None else {word_of(grade).lower()}
            texts |= known - {*UNKNOWN_GRADES, str(EMPTY)}
            if len(texts) > FEW_LEVELS:
                break
    return texts


class StatedMapping(LogMapping):
    """A mapping with the scale that the log states; numbers on its lines are grades."""

    numbered = False


def scale_to_state(names: Any, n_grades: int | None, first: Grades, second: Grades) -> Any:
    """Return what a log's column `scale` says: grade names, a number beyond its lists', or None.

    The number is also given where a reader that is not told it would refuse the grades.
    """
    if names is not None:
        return list(names)
    with contextlib.suppress(InputError):
        check_grades(first, second)
        shows = max(first.max(initial=0), second.max(initial=0)) + 1
        return n_grades if n_grades is not None and n_grades > shows else None
    return n_grades


def with_stated(name: str, source: Source, mapping: LogMapping) -> LogMapping:
    """Return the mapping with the scale of the first line; raise InputError if options differ."""
    if not source.has("scale"):
        return mapping
    place, record = next(source.readable(), ("", {}))
    return _with_scale(f"{name}, {place}", record, mapping)


def agreed(name: str, source: Source, table: Table, mapping: LogMapping) -> LogMapping:
    """Take `scale` from a table and return the mapping with it, or raise InputError."""
    texts = set(table.pop("scale", ())) - {""}
    if not texts:
        return mapping

    # the first line that contradicts an option or an earlier line
    if len(texts) > 1 or not isinstance(mapping, StatedMapping):
        for place, record in source.readable():
            mapping = _with_scale(f"{name}, {place}", record, mapping)

    # a grade of an earlier line, which was read before the scale was known
    lists = grade_lists(source, table)
    top = max(int(grades.max(initial=0)) for grades in lists)
    if mapping.n_known is not None and top >= mapping.n_known:
        with errors_in(place_of(name, source, lists, top)):
            raise InputError(
                f"the grade {top} is outside the scale that the log states, 0 to "
                f"{mapping.n_known - 1}"
            )
    return mapping


def _with_scale(place: str, record: Record, mapping: LogMapping) -> LogMapping:
    """Return the mapping with the scale that a line states, if it does."""
    value = record.get("scale")
    if value is None:
        return mapping
    with errors_in(place):
        # names of grades, or their number
        scale = json.loads(scale_text(value))
        names = scale if isinstance(scale, list) else None
        if names is None and mapping.scale is not None and len(mapping.scale) == scale:
            return mapping
        n_grades = len(names) if names else scale

        # another scale than before
        both = mapping.scale is not None and names is not None
        differ = both and _folded(names) != _folded(mapping.scale)
        if differ or mapping.n_known not in (None, n_grades):
            before = mapping.n_known if mapping.scale is None else list(mapping.scale)
            told = f"scale= or n_grades= (--grades) says {before}: leave the option out"
            if isinstance(mapping, StatedMapping):
                told = (
                    f"an earlier line says {before}: logs on different scales were joined; give "
                    "them one scale first"
                )

            # what to do
            raise InputError(
                f"scale is {shown(scale)}, and {told}, or --columns scale= if the column means no "
                "scale"
            )

        stated = {"scale": names, "n_grades": None if names else n_grades}
        return StatedMapping(**{**mapping.given, **stated})


def _folded(names: Any) -> list[str]:
    return [name.strip().lower() for name in names]


def scale_text(value: Any) -> str:
    """Return a scale as JSON, a list of names or a number of grades, or raise InputError."""
    if isinstance(value, str):
        names = from_text("documents", value) or [""]
        value = names if len(names) > 1 else names[0]
    if isinstance(value, list) and value and all(isinstance(x, str | int | float) for x in value):
        return json.dumps([word_of(name) for name in value])
    if not word_of(value).isdecimal():
        raise InputError(
            f"scale is {shown(value)}: give the names of the grades, worst first, or their "
            "number; columns={'scale': ''} (--columns scale=) leaves the column out"
        )
    return word_of(value)
