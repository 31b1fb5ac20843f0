"""Checks of the fields of a metric's file: those of a data class, and numbers."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from dcglearn.foundation.validation import Fields, InputError

TYPES = {"bool": bool, "str": str, "int": int}
"""Types that a field's value has exactly, by the field's annotation."""


def fields_of(
    values: Any, kind: type[Any], thing: str, needed: Iterable[str] | None = None
) -> Fields:
    """Return the fields of a data class that a file holds: the `needed` ones, by default all.

    Raises InputError if one of these is missing, the file holds another, or a flag, a text or a
    whole number is of another type.
    """
    types = {one.name: TYPES.get(str(one.type)) for one in fields(kind)}
    given = values if isinstance(values, Mapping) else {}
    missing = [name for name in needed or types if name not in given]
    unknown = sorted(given.keys() - types.keys())
    if missing or unknown:
        problem = f'"{missing[0]}" is missing' if missing else f'unknown key "{unknown[0]}"'
        raise InputError(f"{problem}; {thing} holds {', '.join(types)}")

    for name, value in given.items():
        expected = types[name]
        if expected is not None and type(value) is not expected:
            problem = f'"{name}" of {thing} is {value!r}, expected {expected.__name__}'
            raise InputError(problem)
    return {**given}


def check_numbers(value: Any, key: str) -> None:
    """Raise InputError unless `value` is a number or nested lists of numbers, no text or flag."""
    if isinstance(value, list):
        for item in value:
            check_numbers(item, key)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f'"{key}" holds {value!r}, which is not a number')
