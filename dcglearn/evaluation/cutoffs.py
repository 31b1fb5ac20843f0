"""Grades that are fractions from 0 to 1, as machines give them, cut into the levels of a scale."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.validation import EMPTY, UNKNOWN, Floats, InputError

Cutoffs: TypeAlias = str | float | Sequence[float] | None
"""Cut-offs, such as ".2,.5,.8" or [0.2, 0.5, 0.8], or a number of equally frequent levels."""

CUT = "cutoffs= (--cutoffs .2,.5,.8) cuts fractions"
"""Remedy in the refusal of a fraction."""


def cut_grades(grades: Floats, cutoffs: Cutoffs) -> tuple[Floats, list[str]]:
    """Return the level of each fraction, and the names of the levels, worst first: "0-0.2".

    A cut-off belongs to the level above it, and -1 and -2 stay. Raise InputError for another
    number, and for wrong cut-offs.
    """
    is_known = ~np.isin(grades, (UNKNOWN, EMPTY))
    wrong = grades[is_known & ~((grades >= 0) & (grades <= 1))]
    if len(wrong):
        raise InputError(
            f"the grade {wrong[0]:g}: grades that are cut (cutoffs=) are fractions from 0 to 1"
        )
    points = _points(cutoffs, grades[is_known])
    levels = np.where(is_known, np.searchsorted(points, grades, side="right"), grades)
    return levels, [f"{low:.4g}-{high:.4g}" for low, high in pairwise((0.0, *points, 1.0))]


def _points(cutoffs: Cutoffs, fractions: Floats) -> list[float]:
    """Return cut-offs in order, of a number of levels those of equally many fractions."""
    given = cutoffs if isinstance(cutoffs, Iterable) else [cutoffs]
    try:
        points = [float(point) for point in names_in(given)]
    except (TypeError, ValueError):
        points = []
    if len(points) == 1 and points[0] >= 2 and points[0].is_integer() and len(fractions):
        shares = np.arange(1, int(points[0])) / points[0]
        quantiles = np.unique(np.quantile(fractions, shares, method="higher"))
        points = quantiles[quantiles > fractions.min()].tolist() or [fractions.max() or 1.0]

    if not points or not all(a < b for a, b in pairwise((0.0, *points, 1.000001))):
        raise InputError(
            f"cutoffs={cutoffs!r}: give numbers above 0 and up to 1, in order, such as .2,.5,.8, "
            "or a number of levels of equally many grades, such as 5"
        )
    return points
