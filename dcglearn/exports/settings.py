"""Settings for LightGBM, trec_eval, pytrec_eval, ranx and cwl_eval, and checks of any export."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Fields, InputError, whole_number
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import SAVED, MetricLike, read_metric
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
    if dcg.plain and tool.replace("_", "-") not in ("ir-measures", "cwl-eval"):
        raise InputError(
            f"{tool} divides by the ideal, but values of this metric are plain, as those of RBP; "
            "to have them divided, export DCG(dcg.gains, dcg.discounts)"
        )
    return dcg


def _held_by(metric: Any, tool: str, n_grades: int | None) -> Any:
    """Return a metric, or what its file holds, if the tool can hold it; refuse others by name."""
    name = os.fspath(metric) if isinstance(metric, (str, os.PathLike)) else type(metric).__name__
    metric = read_metric(metric, n_grades, accept=SAVED)
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


def is_log2(dcg: DCG) -> bool:
    """Return whether the discounts are 1 / log2(rank + 1), which every tool has, up to a factor.

    See Also
    --------
    exports.to_trec_eval : Refuses other discounts.

    Examples
    --------
    >>> dl.exports.is_log2(dl.DCG.standard(3, 5)), dl.exports.is_log2(dl.DCG([0, 1], [1, 0.9, 0.1]))
    (True, False)
    """
    return _has_discounts(dcg, "log2")


def _has_discounts(dcg: DCG, name: str) -> bool:
    """Return whether the discounts are those of a textbook, up to a factor."""
    first, usual = dcg.discounts[0], textbook_discounts(name, dcg.depth)
    return bool(first > 0 and np.allclose(dcg.discounts / first, usual, rtol=1e-9))


def lost_in_settings(dcg: DCG) -> list[str]:
    """Return what settings of gains alone leave out of a DCG, in words."""
    lost = [] if is_log2(dcg) else ["the discounts: the tool counts 1 / log2(rank + 1) instead"]
    if dcg.gains[0]:
        lost.append(
            f"the worst grade's gain, {dcg.gains[0]:g}, which is subtracted from all: NDCG differs"
        )
    return lost


def _refuse_lost_discount(dcg: DCG, tool: str, remedy: str, *, lossy: bool) -> None:
    if lossy or is_log2(dcg):
        return

    # name the rank where the two differ most
    usual, shares = textbook_discounts("log2", dcg.depth), dcg.discounts / dcg.discounts[0]
    worst = int(np.abs(shares - usual).argmax())
    raise InputError(
        f"{tool} has no discounts but 1 / log2(rank + 1): at rank {worst + 1} it would count "
        f"{usual[worst]:.3f} of the first where this metric counts {shares[worst]:.3f}; {remedy}, "
        "or pass lossy=True (--lossy) to export the gains alone",
        see="only-a-dcg",
    )


def refuse_gains_below_0(dcg: DCG, tool: str, remedy: str) -> None:
    """Raise InputError for a gain below 0."""
    grade = int(dcg.gains.argmin())
    if dcg.gains[grade] < 0:
        raise InputError(
            f"{tool} has no gains below 0, but grade {grade} has the gain {dcg.gains[grade]:g}; "
            f"{remedy}"
        )


def _refuse_gains_below_the_worst(dcg: DCG, tool: str, remedy: str) -> None:
    """Raise InputError for gains below 0 or the worst grade's, for tools that count from 0."""
    refuse_gains_below_0(dcg, tool, remedy)
    grade = int(dcg.gains.argmin())
    if dcg.gains[grade] < dcg.gains[0]:
        raise InputError(
            f"{tool} counts from the worst grade's gain, but grade {grade} gains less; {remedy}"
        )


def integer_gains(
    dcg: MetricLike, scale: int | None = None, *, tool: str = "trec_eval"
) -> list[int]:
    """Return gains as whole numbers from 0, which trec_eval, pytrec_eval and ranx need.

    `scale` is the best grade's whole gain; by default whole gains stay as they are, and of others
    the largest is 1000. The error of NDCG is at most about 1 / scale. `tool` is the tool that
    errors name. Raises InputError if a gain is below 0, gains fall from one grade to the next, or
    two would become one number.

    See Also
    --------
    exports.to_trec_eval : Uses them.

    Examples
    --------
    >>> dl.exports.integer_gains(dl.DCG([0, 0.5, 1], [1, 0.5]))
    [0, 500, 1000]
    """
    # gains from 0 that never fall
    dcg = carried(dcg, tool)
    remedy = "evaluate with dcglearn or ir_measures, which take any gains"
    _refuse_gains_below_the_worst(dcg, tool, remedy)
    gains = dcg.gains - dcg.gains[0]
    if (np.diff(gains) < 0).any() or gains[-1] <= 0:
        raise InputError(
            f"gains that fall from a grade to the next cannot be written as judgements for {tool}"
        )

    # whole gains stay, unless trec_eval's table of that length were too long
    if scale is None and (gains == np.round(gains)).all() and gains[-1] <= 100_000:
        return gains.astype(int).tolist()

    # others are rounded, but must stay apart
    top = 1000 if scale is None else whole_number(scale, "scale", 1)
    whole = np.round(gains / gains[-1] * top).astype(int)
    if ((np.diff(whole) == 0) & (np.diff(gains) > 0)).any():
        raise InputError(
            f"scale={top} makes different gains equal, {whole.tolist()}; give a larger scale"
        )
    return whole.tolist()


def to_trec_eval(
    dcg: MetricLike, scale: int | None = None, *, lossy: bool = False, tool: str = "trec_eval"
) -> Fields:
    """Return the measure's name, and grades for judgements of trec_eval, pytrec_eval and ranx.

    For `scale` and `tool` see `integer_gains`; `lossy` exports the gains without the discounts.
    Raises InputError if the discounts are not log2 and `lossy` is not set, or gains fall or are
    below 0.

    See Also
    --------
    exports.ir_measure : In ir_measures, without loss.

    Examples
    --------
    >>> print(dl.exports.to_trec_eval(dl.DCG.standard(3, 5)))
    {'relevance_of_grade': {0: 0, 1: 1, 2: 3}, 'measure': 'ndcg_cut.5', 'ranx': 'ndcg@5'}
    """
    dcg = carried(dcg, tool)
    remedy = "evaluate with dcglearn or ir_measures, which carry them"
    _refuse_lost_discount(dcg, tool, remedy, lossy=lossy)
    gains = dict(enumerate(integer_gains(dcg, scale, tool=tool)))
    names = {"measure": f"ndcg_cut.{dcg.depth}", "ranx": f"ndcg@{dcg.depth}"}
    return {"relevance_of_grade": gains, **names}


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
    _refuse_gains_below_the_worst(dcg, "LightGBM's label_gain", remedy)
    _refuse_lost_discount(dcg, "LightGBM", "use lightgbm_callables, which carry them", lossy=lossy)
    gains = (dcg.gains - dcg.gains[0]).tolist()
    return {"label_gain": gains, "eval_at": [dcg.depth], "lambdarank_truncation_level": dcg.depth}


def to_catboost(dcg: MetricLike) -> Fields:
    """Return CatBoost's objective and metric for a DCG, and the label of each grade.

    CatBoost's NDCG has the discounts ``1 / log2(rank + 1)`` and ``1 / rank``, and the gains
    ``label`` and ``2^label - 1``; labels may be any numbers from 0. So exponential gains keep the
    grades, and other gains are the labels. Raises InputError for other discounts, and gains below
    0. Of documents with equal scores, CatBoost ranks those with lower labels first.

    See Also
    --------
    BoostedRanker : Trees for any gains and discounts.

    Examples
    --------
    >>> made = dl.exports.to_catboost(dl.DCG([0, 0.4, 1], [1, 1 / 2, 1 / 3]))
    >>> made["eval_metric"], made["label_of_grade"]
    ('NDCG:top=3;type=Base;denominator=Position', {0: 0.0, 1: 0.4, 2: 1.0})
    """
    dcg = carried(dcg, "CatBoost")
    remedy = "train with BoostedRanker or lightgbm_callables, which take any"
    refuse_gains_below_0(dcg, "CatBoost", remedy)
    names = {"log2": "LogPosition", "reciprocal": "Position"}
    denominator = next((names[name] for name in names if _has_discounts(dcg, name)), "")
    if not denominator:
        raise InputError(
            f"CatBoost has no discounts but 1 / log2(rank + 1) and 1 / rank; {remedy}",
            see="only-a-dcg",
        )

    # labels, and what CatBoost makes of them
    grades = np.arange(dcg.n_grades, dtype=float)
    exponential = dcg.gains[-1] / (2.0 ** grades[-1] - 1) * (2.0**grades - 1)
    is_exponential = np.allclose(dcg.gains, exponential, rtol=1e-9, atol=0)
    labels = grades if is_exponential else dcg.gains
    kind = "Exp" if is_exponential else "Base"
    metric = f"top={dcg.depth};type={kind};denominator={denominator}"
    return {
        "loss_function": f"LambdaMart:metric=NDCG;{metric}",
        "eval_metric": f"NDCG:{metric}",
        "label_of_grade": dict(enumerate(labels.tolist())),
    }


def cwl_continuation(dcg: MetricLike) -> list[float]:
    """Return cwl_eval's continuation probabilities, ``C(i) = W(i+1) / W(i)``, 0 at the end.

    Raises InputError if the discounts are not positive and decreasing, since a continuation
    probability is at most 1.

    See Also
    --------
    exports.cwl_gains : The gains to go with it.

    Examples
    --------
    >>> dl.exports.cwl_continuation(dl.DCG([0, 1], [1, 0.5, 0.25]))
    [0.5, 0.5, 0.0]
    """
    discounts = carried(dcg, "cwl_eval").discounts
    if (discounts <= 0).any() or (np.diff(discounts) > 1e-12 * discounts[0]).any():
        raise InputError(
            "cwl_eval needs positive discounts that never rise from one position to the next"
        )
    return [*np.minimum(discounts[1:] / discounts[:-1], 1.0).tolist(), 0.0]


def cwl_gains(dcg: MetricLike) -> list[float]:
    """Return cwl_eval's gains, from 0 to 1.

    Raises InputError if a gain is below 0 or below the worst grade's.

    See Also
    --------
    exports.cwl_continuation : The discounts to go with it.

    Examples
    --------
    >>> dl.exports.cwl_gains(dl.DCG([0, 1, 4], [1, 0.5]))
    [0.0, 0.25, 1.0]
    """
    metric = carried(dcg, "cwl_eval")
    remedy = "evaluate with dcglearn, which takes any gains"
    _refuse_gains_below_the_worst(metric, "cwl_eval", remedy)
    return metric.normalised().gains.tolist()
