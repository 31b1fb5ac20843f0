"""Settings for LightGBM, and checks of any export."""

from __future__ import annotations

import os

import numpy as np

from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import MetricLike, read_metric
from dcglearn.metrics.textbook import textbook_discounts

NO_DCG = {
    Utility: "a Utility, with a weight for each grade at each position; factor it into a DCG first "
    "(UtilityLearner.factor)",
    ListUtility: "a ListUtility, in which a good result changes the value of others; use dcglearn "
    "there, or learn a DCG",
}
"""What metrics are that are no gains times discounts, and what to do."""


def carried(metric: MetricLike, tool: str, n_grades: int | None = None) -> DCG:
    """Return the DCG to carry into a tool.

    "ir-measures" evaluates by dcglearn, so it takes any `ListUtility`, which is returned as it is.
    Raises InputError if it is no DCG, its best grade gains nothing, no position counts, or it
    averages, or it is plain and the tool normalises; `n_grades` is for a name.
    """
    name = os.fspath(metric) if isinstance(metric, (str, os.PathLike)) else type(metric).__name__

    # gains times discounts
    dcg = read_metric(metric, n_grades)
    by_dcglearn = tool == "ir-measures"
    if isinstance(dcg, Utility) or (isinstance(dcg, ListUtility) and not by_dcglearn):
        raise InputError(
            f"{tool} can hold only a DCG, gains times discounts, but {name} is {NO_DCG[type(dcg)]}"
        )

    # a positive ideal value is needed
    if dcg.gains[-1] <= 0:
        raise InputError(
            f"{tool}: the best grade, {dcg.n_grades - 1}, has the gain {dcg.gains[-1]:g}, so the "
            "best documents would have value 0; are the gains in order, worst grade first?"
        )
    if dcg.discounts.max() <= 0:
        raise InputError(
            f"{tool}: no discount is above 0, so no position counts; there is nothing to export"
        )

    # other tools divide by the ideal, and none by the number of results
    if dcg.plain and not by_dcglearn:
        if dcg.power:
            raise InputError(
                f"{tool} adds up, but this metric divides by the number of results to the power "
                f"{dcg.power:g}; evaluate with dcglearn, or learn a sum (power=0)"
            )

        # plain sums
        raise InputError(
            f"{tool} divides by the ideal, but values of this metric are plain, as those of RBP; "
            "to have them divided, export DCG(dcg.gains, dcg.discounts)"
        )
    return dcg


def lost_in_settings(dcg: DCG) -> list[str]:
    """Return what settings of gains alone leave out of a DCG, in words."""
    lost, first = [], dcg.discounts[0]
    usual = textbook_discounts("log2", dcg.depth)
    if first <= 0 or not np.allclose(dcg.discounts / first, usual, rtol=1e-9):
        lost.append("the discounts: the tool counts 1 / log2(rank + 1) instead")
    if dcg.gains[0]:
        lost.append(
            f"the worst grade's gain, {dcg.gains[0]:g}, which is subtracted from all: NDCG differs"
        )
    return lost


def refuse_gains_below(least: float, dcg: DCG, tool: str, remedy: str) -> None:
    """Raise InputError for a gain below the least that a tool has."""
    grade = int(dcg.gains.argmin())
    if dcg.gains[grade] < least:
        raise InputError(
            f"{tool} has no gains below {least:g}, but grade {grade} has the gain "
            f"{dcg.gains[grade]:g}; {remedy}"
        )


def to_lightgbm(dcg: MetricLike, *, lossy: bool = False) -> Fields:
    """Return LightGBM's parameters for this metric: ``label_gain`` and the depth.

    LightGBM's ``lambdarank`` and ``ndcg`` have only log2 discounts, and keep ``label_gain`` for the
    whole process. Raises InputError if the discounts are not log2 and `lossy` is not set, or a gain
    is below 0 or the worst grade's.

    See Also
    --------
    exports.lightgbm_callables : Carries discounts as well.

    Examples
    --------
    >>> dl.exports.to_lightgbm(dl.DCG.standard(3, 5))
    {'label_gain': [0.0, 1.0, 3.0], 'eval_at': [5], 'lambdarank_truncation_level': 5}
    """
    dcg = carried(dcg, "LightGBM")
    remedy = "use lightgbm_callables, which carry any gains"
    refuse_gains_below(max(dcg.gains[0], 0.0), dcg, "LightGBM's label_gain", remedy)
    lost = lost_in_settings(dcg)
    if lost and "discounts" in lost[0] and not lossy:
        raise InputError(
            "LightGBM has no discounts but 1 / log2(rank + 1); use lightgbm_callables, which carry "
            "any, or pass lossy=True (--lossy) to export the gains alone"
        )
    gains = (dcg.gains - dcg.gains[0]).tolist()
    return {"label_gain": gains, "eval_at": [dcg.depth], "lambdarank_truncation_level": dcg.depth}
