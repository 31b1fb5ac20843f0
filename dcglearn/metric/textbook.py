"""The gains and discounts of the textbooks, by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dcglearn.foundation.arrays import Floats


TEXTBOOK_GAINS = ("linear", "exponential", "power3", "power5", "binary1", "binary2")
TEXTBOOK_DISCOUNTS = ("flat", "log2", "reciprocal", "sqrt", "rbp0.8", "linear")


def textbook_gains(name: str, grades: Floats) -> Floats:
    """Return the gains called `name` of the grades, shape (L,); see `DCG.standard`."""
    if name == "linear":
        return grades
    if name == "exponential":
        return np.exp2(grades) - 1
    match = re.fullmatch(r"(power|binary)(\d+(?:\.\d+)?)", name)
    if match is None:
        raise InputError(f"gain {name!r} is not one of {', '.join(TEXTBOOK_GAINS)}")
    kind, number = match[1], float(match[2])
    if kind == "binary":
        return (grades >= number).astype(np.float64)
    if number <= 1:
        raise InputError(f"gain {name!r}: the base must be larger than 1")
    with np.errstate(over="ignore"):
        return number**grades - 1


def has_textbook_gains(gains: Floats) -> bool:
    """Return whether the gains, shape (L,), are those of one of `TEXTBOOK_GAINS`."""
    grades = np.arange(len(gains), dtype=np.float64)
    return any(np.array_equal(gains, textbook_gains(name, grades)) for name in TEXTBOOK_GAINS)


def textbook_discounts(name: str, depth: int) -> Floats:
    """Return the discounts called `name` at ranks 1..K, shape (K,); see `DCG.standard`."""
    ranks = np.arange(1.0, depth + 1)
    closed: dict[str, Callable[[Floats], Floats]] = {
        "flat": np.ones_like,
        "log2": lambda r: 1 / np.log2(r + 1),
        "reciprocal": lambda r: 1 / r,
        "sqrt": lambda r: 1 / np.sqrt(r),
        "linear": lambda r: (depth - r + 1) / depth,
        "letor": lambda r: 1 / np.log2(np.maximum(r, 2)),
    }
    if name in closed:
        return closed[name](ranks)
    match = re.fullmatch(r"rbp(0?\.\d+)", name)
    if match is None or not 0 < float(match[1]) < 1:
        raise InputError(
            f"discount {name!r} is not one of {', '.join(TEXTBOOK_DISCOUNTS)}, letor, or rbpP with 0 < P < 1"
        )
    return float(match[1]) ** ranks
