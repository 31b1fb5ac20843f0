"""The column `scale` of a log: names of its grades, worst first, or their number."""

import contextlib
import json
from typing import Any

from dcglearn.foundation.validation import Grades, InputError, errors_in
from dcglearn.readers.column_roles import Record, Table
from dcglearn.readers.grade_checks import grade_lists, place_of
from dcglearn.readers.grade_scale import check_grades
from dcglearn.readers.line_formats import Source, from_text, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import word_of


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
