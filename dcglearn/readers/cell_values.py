"""Values of cells: numbers, lists and answers in text, and how messages show them."""

import ast
import contextlib
import functools
import json
import math
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dcglearn.foundation.validation import InputError

BLANK = " \t\n\r"
"""Characters stripped from a cell of text, and between the values of a list."""

PAGE_MARKS = "\v\f"
"""Vertical tab and form feed, which are refused at the ends of names and labels."""

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

SCORE = re.compile(rf"{NUMBER.pattern}|[+-]?inf(inity)?", re.IGNORECASE)

DECIMAL_COMMA = re.compile(r"[+-]?(0,[0-9]+|[0-9]+,([0-9]{1,2}|[0-9]{4,}))")
"""A number with a decimal comma; 1,234 is none, since its comma may stand between thousands."""

UNKNOWN_GRADES = ("", "-1", "u", ".", "-", "null", "na", "n/a", "#n/a")
"""Texts that stand for an unknown grade, -1. No result is -2, as below a shorter list."""

_WITH_BLANKS = {"grades", "documents", "winner", "number"}

_WITH_BLANKS |= {"positive", "share", "score", "side", "place"}
"""Kinds of cells that are blank if they hold NA, N/A or #N/A; a label may be called so."""


def value_of(cell: Any, kind: str, texts: bool) -> Any:
    """Return the value that a cell stands for, in the types of JSON; None if it is blank.

    Objects in a list of grades stand for theirs. Without `texts`, a text stands for a value of
    another type only where it is to be a list.
    """
    if isinstance(cell, array):
        return cell.tolist()
    if isinstance(cell, str) and (texts or kind in ("grades", "documents")):
        cell = from_text(kind, cell)
    if kind == "grades":
        with contextlib.suppress(InputError):  # which the rule of the kind raises
            return grades_of_objects(cell)
    return cell


def from_text(kind: str, text: str) -> Any:
    """Return the value of a field of text in the types of JSON; None if it is blank."""
    text = text.strip(BLANK)
    if not text or (kind in _WITH_BLANKS and text.upper() in ("NA", "N/A", "#N/A")):
        return None
    if kind in ("grades", "documents"):
        objects = _objects_from(text) if text[0] == "[" and "{" in text else None
        return objects or _list_from_text(text, is_grades=kind == "grades")
    if kind == "grade":
        return _token(text)
    if kind in ("number", "positive", "share", "score"):
        return _number(text)
    return text


def _objects_from(text: str) -> Any:
    """Return a list of objects that a text holds as JSON or as Python shows it, None for others."""
    for parse in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return parse(text)
    return None


def _list_from_text(text: str, *, is_grades: bool) -> list[Any]:
    """Return the grades or names in a text, ``3 2 0``, ``3|2|0``, ``[3, 2, 0]`` or ``{3,2,0}``."""
    as_json = text[0] + text[-1] in ("[]", "()", "{}")
    if as_json:
        text = text[1:-1].strip(BLANK)
    separator = next((mark for mark in ("|," if is_grades else "\t|,") if mark in text), None)
    words = words_of(text)
    if is_grades and len(words) > 1 and all(map(DECIMAL_COMMA.fullmatch, words)):
        separator = None
    items = words if separator is None else text.split(separator)

    # names may be in quotes, and so may all items of JSON
    quotes = "\"'" if as_json or not is_grades else ""
    items = [item.strip(BLANK + quotes) for item in items]
    return [_token(item) for item in items] if is_grades else items


GRADE_NAMES = "scale= (--scale Bad,Fair,Good) gives names of grades, worst first"
"""Remedy in the refusal of a judgement whose grade is a name."""


def checked_score(value: Any, role: str) -> float:
    """Return a finite number, an infinity, or the number that a text holds."""
    # what may be a number
    if isinstance(value, str):
        value = _number(value.strip(BLANK))
    if isinstance(value, str):
        is_number = SCORE.fullmatch(value) is not None
    else:
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number:
        remedy = f"; {GRADE_NAMES}" if role in ("grade", "rating") else ""
        raise InputError(f"{role} is {shown(value)}, which is not a number{remedy}")

    # its value, infinite or finite
    try:
        number = float(value)
    except (OverflowError, TypeError) as error:
        raise InputError(
            f"{role} is {shown(value)}, which is not a number that can be used"
        ) from error
    if math.isnan(number):
        raise InputError(f"{role} is missing ({role} nan)")
    return number


def words_of(text: str) -> list[str]:
    """Return the words of a text, which `BLANK` characters separate."""
    return re.findall(f"[^{BLANK}]+", text)


DOCUMENT_KEYS = ("doc", "document", "docid", "doc_id", "document_id", "docno", "id")
"""Keys of the name in an object that stands for a document of a list, in lower case."""


def grades_of_objects(documents: Any) -> Any:
    """Return the grades of objects such as ``{"doc": "d1", "grade": 3}``, else the value."""
    if not _are_objects(documents):
        return documents
    keys = ("grade", "relevance", "rel", "relevance_grade")
    return [_by_key(document, keys, "grade") for document in documents]


def names_of_objects(documents: Any) -> list[Any] | None:
    """Return the names of documents that are objects, None unless the first tells its name."""
    if not _are_objects(documents) or not {*_lower(documents[0])} & {*DOCUMENT_KEYS}:
        return None
    return [_by_key(document, DOCUMENT_KEYS, "name") for document in documents]


def _are_objects(documents: Any) -> bool:
    """Return whether a value is a list of objects alone."""
    is_list = isinstance(documents, list) and bool(documents)
    return is_list and all(isinstance(document, Mapping) for document in documents)


def _lower(document: Mapping[Any, Any]) -> dict[str, Any]:
    """Return an object with its keys in lower case."""
    return {str(key).lower(): value for key, value in document.items()}


def _by_key(document: Mapping[str, Any], keys: Sequence[str], name: str) -> Any:
    """Return the value of the first of some keys, in any case, that an object has."""
    values = _lower(document)
    for key in keys:
        if key in values:
            return values[key]
    raise InputError(
        f"the document {shown(dict(document))} has no {name}; "
        f"give it one of the keys {', '.join(keys)}"
    )


def shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # an integer too long for Python to print
        text = "an integer of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


@functools.lru_cache(4096)
def _token(text: str) -> Any:
    if INTEGER.fullmatch(text):
        return int(text)
    return _number(text)


def _number(text: str) -> float | str:
    """Return the number that a text is, also with a decimal comma, else the text."""
    number = text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text
    return float(number) if NUMBER.fullmatch(number) else text
