"""Checks of a metric before it is carried into another tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import Utility
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.reading import SAVED, read_metric

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats
    from dcglearn.metric.dcg import DCG, DCGLike


def carried(metric: DCGLike | ListUtility | Utility, tool: str, n_grades: int | None = None) -> DCG:
    """Return the DCG to carry into a tool; a `ListUtility` without stops or a share of the best result is one.

    `n_grades` is that of a name.

    Raises
    ------
    InputError
        If the metric is no DCG, its best grade gains nothing, or no position counts.
    """
    dcg: DCG = _summed(metric, tool, n_grades)
    if dcg.gains[-1] <= 0:
        raise InputError(
            f"{tool}: the best grade, {dcg.n_grades - 1}, has the gain {dcg.gains[-1]:g}, so the best documents would "
            "be worth nothing; are the gains in order, worst grade first?"
        )
    if dcg.discounts.max() <= 0:
        raise InputError(f"{tool}: no discount is above 0, so no position counts; there is nothing to export")
    return dcg


def _summed(metric: Any, tool: str, n_grades: int | None) -> Any:
    """Return a metric, or its file, if it is a DCG; refuse others by name."""
    name = os.fspath(metric) if isinstance(metric, (str, os.PathLike)) else type(metric).__name__
    metric = read_metric(metric, n_grades, accept=SAVED)
    if isinstance(metric, ListUtility):
        if metric.form == "dcg":
            return metric.dcg
        forms = {"saturation": "a good result makes those below it worth less", "best": "the best result counts extra"}
        raise InputError(
            f"{tool} can hold only a DCG, a sum over positions, but {name} is a ListUtility of the form "
            f"{metric.form!r} ({forms[metric.form]}); use dcglearn there, or learn a DCG",
            see="only-a-dcg",
        )
    if isinstance(metric, Utility):
        raise InputError(
            f"{tool} can hold only a DCG, gains times discounts, but {name} is a Utility, with a weight for each grade "
            "at each position; factor it into a DCG first (UtilityLearner.factor)",
            see="only-a-dcg",
        )
    return metric


def refuse_gains_below_the_worst(dcg: DCG, tool: str, remedy: str) -> None:
    """Raise InputError if a gain is below 0, or below the worst grade's, for tools that count gains from 0."""
    grade = int(dcg.gains.argmin())
    if dcg.gains[grade] < 0:
        raise InputError(f"{tool} has no gains below 0, but grade {grade} has the gain {dcg.gains[grade]:g}; {remedy}")
    if dcg.gains[grade] < dcg.gains[0]:
        raise InputError(f"{tool} counts from the worst grade's gain, but grade {grade} gains less; {remedy}")


def carried_into_program(metric: DCGLike | ListUtility | Utility, tool: str) -> DCG:
    """Return the DCG to carry into a program, as `carried`; raise InputError for discounts below 0 too."""
    dcg = carried(metric, tool)
    if dcg.discounts.min() < 0:
        rank = int(dcg.discounts.argmin())
        raise InputError(
            f"{tool}: rank {rank + 1} has the discount {dcg.discounts[rank]:g}, and programs are written for discounts "
            "of 0 or more alone; evaluate with dcglearn, which takes any"
        )
    return dcg


def title(dcg: DCG, name: str) -> str:
    """Return the first words of a program: what it computes, from which metric, by which version."""
    from dcglearn.foundation.version import __version__

    return f"NDCG@{dcg.depth} of {one_line(name)}, written by dcglearn {__version__}"


def numbers(values: Floats) -> str:
    """Return numbers separated by commas, each with all its digits."""
    return ", ".join(map(repr, np.asarray(values, dtype=np.float64).tolist()))
