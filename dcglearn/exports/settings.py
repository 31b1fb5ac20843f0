"""Settings for LightGBM, and checks of any export."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import METRICS, MetricLike, read_metric
from dcglearn.metrics.textbook import textbook_discounts


def carried(metric: MetricLike, tool: str, n_grades: int | None = None) -> DCG:
    """Return the DCG to carry into a tool; a `ListUtility` without stops or best share is one.

    "ir_measures" evaluates by dcglearn, so it takes any `ListUtility`, which is returned as it is.
    Raises InputError if it is no DCG, its best grade gains nothing, no position counts, or it is
    plain and the tool normalises; `n_grades` is for a name.
    """
    dcg = _held_by(metric, tool, n_grades)

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

    # most tools divide by the ideal
    if dcg.plain and tool.replace("_", "-") != "ir-measures":
        raise InputError(
            f"{tool} divides by the ideal, but values of this metric are plain, as those of RBP; "
            "to have them divided, export DCG(dcg.gains, dcg.discounts)"
        )
    return dcg


def _held_by(metric: Any, tool: str, n_grades: int | None) -> Any:
    """Return a metric, or what its file holds, if the tool can hold it; refuse others by name."""
    name = os.fspath(metric) if isinstance(metric, (str, os.PathLike)) else type(metric).__name__
    metric = read_metric(metric, n_grades, accept=METRICS)
    takes_lists = tool in ("ir_measures", "ir-measures")
    if isinstance(metric, DCG) or (isinstance(metric, ListUtility) and takes_lists):
        return metric

    # a utility has a weight for each grade at each position
    holds = "gains times discounts"
    about = "a Utility, with a weight for each grade at each position"
    remedy = "factor it into a DCG first (UtilityLearner.factor)"

    # a list utility of the form of a DCG is one, another sums nothing over positions
    if isinstance(metric, ListUtility):
        if metric.form == "dcg":
            return metric.dcg
        forms = {
            "saturation": "a good result lowers the value of later ones",
            "best": "the best result counts extra",
        }
        holds = "a sum over positions"
        about = f"a ListUtility of the form {metric.form!r} ({forms[metric.form]})"
        remedy = "use dcglearn there, or learn a DCG"
    raise InputError(
        f"{tool} can hold only a DCG, {holds}, but {name} is {about}; {remedy}", see="only-a-dcg"
    )


def _is_log2(dcg: DCG) -> bool:
    """Return whether the discounts are 1 / log2(rank + 1), which every tool has, up to a factor."""
    first, usual = dcg.discounts[0], textbook_discounts("log2", dcg.depth)
    return bool(first > 0 and np.allclose(dcg.discounts / first, usual, rtol=1e-9))


def lost_in_settings(dcg: DCG) -> list[str]:
    """Return what settings of gains alone leave out of a DCG, in words."""
    lost = [] if _is_log2(dcg) else ["the discounts: the tool counts 1 / log2(rank + 1) instead"]
    if dcg.gains[0]:
        lost.append(
            f"the worst grade's gain, {dcg.gains[0]:g}, which is subtracted from all: NDCG differs"
        )
    return lost


def refuse_gains_below_0(dcg: DCG, tool: str, remedy: str) -> None:
    """Raise InputError for a gain below 0."""
    grade = int(dcg.gains.argmin())
    if dcg.gains[grade] < 0:
        raise InputError(
            f"{tool} has no gains below 0, but grade {grade} has the gain {dcg.gains[grade]:g}; "
            f"{remedy}"
        )


def _refuse_other_discounts(dcg: DCG) -> None:
    """Raise InputError unless the discounts are log2; name the rank where the two differ most."""
    if _is_log2(dcg):
        return
    usual, shares = textbook_discounts("log2", dcg.depth), dcg.discounts / dcg.discounts[0]
    worst = int(np.abs(shares - usual).argmax())
    raise InputError(
        f"LightGBM has no discounts but 1 / log2(rank + 1): at rank {worst + 1} it would count "
        f"{usual[worst]:.3f} of the first where this metric counts {shares[worst]:.3f}; use "
        "lightgbm_callables, which carry them, or pass lossy=True (--lossy) to export the gains "
        "alone",
        see="only-a-dcg",
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
    refuse_gains_below_0(dcg, "LightGBM's label_gain", remedy)
    grade = int(dcg.gains.argmin())
    if dcg.gains[grade] < dcg.gains[0]:
        raise InputError(
            "LightGBM's label_gain counts from the worst grade's gain, but grade "
            f"{grade} gains less; {remedy}"
        )
    if not lossy:
        _refuse_other_discounts(dcg)
    gains = (dcg.gains - dcg.gains[0]).tolist()
    return {"label_gain": gains, "eval_at": [dcg.depth], "lambdarank_truncation_level": dcg.depth}
