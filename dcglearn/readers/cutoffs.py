"""Grades that are fractions from 0 to 1, as machines give them, cut into the levels of a scale."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from dcglearn.foundation.validation import EMPTY, UNKNOWN, InputError, PolarsFrame, errors_in
from dcglearn.readers.cell_values import BLANK, NUMBER, UNKNOWN_GRADES, shown

Cutoffs: TypeAlias = str | float | Sequence[float] | None
"""Cut-offs, such as ".2,.5,.8" or [0.2, 0.5, 0.8], or a number of equally frequent levels."""

CUT = "cutoffs= (--cutoffs .2,.5,.8) cuts fractions"
"""Remedy in the refusal of a fraction."""


def text_of(cutoffs: Any) -> str:
    """Return cut-offs, or a number of levels, as text."""
    is_list = isinstance(cutoffs, Iterable) and not isinstance(cutoffs, str)
    return ",".join(map(str, cutoffs)) if is_list else str(cutoffs)


def cut_points(cutoffs: Cutoffs, grades: Iterable[Any] | None = None) -> tuple[float, ...] | None:
    """Return sorted cut-offs, None if they depend on `grades`; raise InputError for wrong ones."""
    numbers = tuple(map(_number, text_of(cutoffs).split(",")))

    # a number of levels of equally many grades
    if len(numbers) == 1 and numbers[0] >= 2 and numbers[0].is_integer():
        if grades is None:
            return None
        fractions = [number for number in map(_number, grades) if 0 <= number <= 1] or [0.0]
        shares = np.arange(1, int(numbers[0])) / numbers[0]
        quantiles = np.unique(np.quantile(fractions, shares, method="higher"))
        top = max(fractions) or 1.0
        numbers = tuple(quantiles[quantiles > min(fractions)].tolist()) or (top,)

    if not all(a < b for a, b in pairwise((0.0, *numbers, 1.000001))):
        raise InputError(
            f"cutoffs={cutoffs!r}: give numbers above 0 and up to 1, in order, such as .2,.5,.8, "
            "or a number of levels of equally many grades, such as 5"
        )
    return numbers


def level_names(cutoffs: Sequence[float]) -> list[str]:
    """Return the names of the levels, worst first: "0-0.2"; a cut-off belongs to the one above."""
    return [f"{low:.4g}-{high:.4g}" for low, high in pairwise((0.0, *cutoffs, 1.0))]


def level_of(grade: Any, cutoffs: Sequence[float], role: str = "grade") -> int:
    """Return the level of a fraction, -1 or -2 if there is none, or raise InputError."""
    if grade in (None, UNKNOWN, EMPTY) or str(grade).strip(BLANK).lower() in UNKNOWN_GRADES:
        return EMPTY if grade == EMPTY else UNKNOWN
    number = _number(grade)
    if not 0 <= number <= 1:
        raise InputError(
            f"{role} holds {shown(grade)}: grades that are cut (cutoffs=) are fractions from 0 to 1"
        )
    return bisect_right(cutoffs, number)


def cut_grades(
    frame: PolarsFrame, name: str, cutoffs: Cutoffs
) -> tuple[PolarsFrame, list[str] | None]:
    """Return judgements with levels for grades, and the names of the levels, if there are cuts."""
    if cutoffs is None:
        return frame, None
    with errors_in(name):
        points = cut_points(cutoffs, frame["grade"]) or ()
        levels = [level_of(grade, points) for grade in frame["grade"]]
    return frame.with_columns(grade=frame["grade"].__class__(levels)), level_names(points)


def _number(grade: Any) -> float:
    """Return a number or the number in a text, NaN for anything else."""
    text = str(grade).strip(BLANK)
    return float(text) if NUMBER.fullmatch(text) else float("nan")
