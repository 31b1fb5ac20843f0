"""Checks of a DCG before it is carried into another tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import as_dcg

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats
    from dcglearn.metric.dcg import DCG, DCGLike


def carried(dcg: DCGLike, tool: str) -> DCG:
    """Return the DCG to carry into a tool.

    Raises
    ------
    InputError
        If its best grade gains nothing or no position counts: then it ranks nothing, or its gains are in the wrong order.
    """
    known = as_dcg(dcg, None)
    if known.gains[-1] <= 0:
        raise InputError(
            f"{tool}: the best grade, {known.n_grades - 1}, has the gain {known.gains[-1]:g}, so the best documents "
            "would be worth nothing; are the gains in order, worst grade first?"
        )
    if known.discounts.max() <= 0:
        raise InputError(f"{tool}: no discount is above 0, so no position counts; there is nothing to export")
    return known


def refuse_negative_gains(dcg: DCG, tool: str, remedy: str) -> None:
    """Raise InputError, with the grade and a remedy, if a gain is below 0."""
    if dcg.gains.min() < 0:
        grade = int(dcg.gains.argmin())
        raise InputError(f"{tool} has no gains below 0, but grade {grade} has the gain {dcg.gains[grade]:g}; {remedy}")


def refuse_negative_discounts(dcg: DCG, tool: str) -> None:
    """Raise InputError, with the rank, if a discount is below 0."""
    if dcg.discounts.min() < 0:
        rank = int(dcg.discounts.argmin())
        raise InputError(
            f"{tool}: rank {rank + 1} has the discount {dcg.discounts[rank]:g}; a program with a discount below 0 is not "
            "written, since its best ranking is another one. Evaluate with dcglearn evaluate, which takes any discounts"
        )


def title(dcg: DCG, name: str) -> str:
    """Return the first words of a program: what it computes, from which metric, by which version."""
    from dcglearn.foundation.version import __version__

    return f"NDCG@{dcg.depth} of {one_line(name)}, written by dcglearn {__version__}"


def numbers(values: Floats) -> str:
    """Return numbers separated by commas, each with all its digits."""
    return ", ".join(map(repr, np.asarray(values, dtype=np.float64).tolist()))
