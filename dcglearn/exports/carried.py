"""Checks of a metric before it is carried into another tool."""

from __future__ import annotations

import os
from typing import Any

from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG, DCGLike, Utility
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.reading import SAVED, read_metric


def carried(metric: DCGLike | ListUtility | Utility, tool: str, n_grades: int | None = None) -> DCG:
    """Return the DCG to carry into a tool; a `ListUtility` without stops or a share of the best result is one.

    `n_grades` is that of a name. Raises InputError if the metric is no DCG, its best grade gains nothing, or no
    position counts.
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
