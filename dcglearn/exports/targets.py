"""The tools that a metric can be exported to, and the programs and settings that are written.

What a tool cannot hold is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dcglearn.foundation.markup import rendered
from dcglearn.foundation.plain_text import aligned, one_line
from dcglearn.foundation.validation import Fields, InputError, one_of
from dcglearn.foundation.version import __version__
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import MetricLike, read_metric
from dcglearn.metrics.textbook import is_metric_file, textbook_discounts

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


def to_python(dcg: MetricLike, name: str = "the metric") -> str:
    """Return a twenty-line program with the functions ``dcg(grades)`` and ``ndcg(run, judged)``.

    Values are those of `evaluate`; a document without a judgement counts as the worst grade, the
    ideal ranking is made from the judgements, and a grade above the metric's raises an IndexError.
    `dcg`, or its file, has any gains and discounts of 0 or more; `name` is what to call it in the
    first line. Raises InputError if the best grade gains nothing, or a discount is below 0.

    See Also
    --------
    exports.to_sql : The same in a data base.

    Examples
    --------
    >>> names = {}
    >>> exec(to_python(dl.DCG([0, 0.5, 3], [1, 0.6])), names)
    >>> round(names["ndcg"]({"a": 2.0, "b": 1.0}, {"a": 1, "b": 2}), 4)
    0.697
    """
    return _filled("python.txt", _carried(dcg, "python"), name)


def to_quepid(dcg: MetricLike, name: str = "the metric") -> str:
    """Return a DCG's NDCG as a Quepid scorer in JavaScript; for parameters see `to_python`.

    The value equals `evaluate`'s; the ideal ranking is made from all ratings of the query.

    See Also
    --------
    exports.to_sql : The same in a data base.

    Examples
    --------
    >>> print(to_quepid(dl.DCG([0, 0.5, 3], [1, 0.6])).splitlines()[6].strip())
    var gains = [0.0, 0.5, 3.0];
    """
    return _filled("quepid.js.txt", _carried(dcg, "quepid"), name)


def to_sql(dcg: MetricLike, name: str = "the metric") -> str:
    """Return a query in standard SQL for DCG and NDCG of every query of every run.

    Values are those of `evaluate`; comments tell what other systems than DuckDB and SQLite need.
    Parameters and errors are those of `to_python`.

    See Also
    --------
    exports.to_python : The same in Python.

    Examples
    --------
    >>> print(to_sql(dl.DCG([0, 0.5, 3], [1, 0.6])).splitlines()[19].strip())
    CASE grade WHEN 0 THEN 0e0 WHEN 1 THEN 0.5e0 WHEN 2 THEN 3e0 END AS gain
    """
    return _filled("query.sql.txt", _carried(dcg, "sql"), name, double=_double)


def to_sentence_transformers(dcg: MetricLike, name: str = "the metric") -> str:
    """Return a weighting scheme for LambdaLoss of sentence-transformers, and labels of grades.

    LambdaLoss takes ``2^label - 1`` for the gain and log2 discounts. The labels are so that these
    are the gains of `dcg`, and the scheme weighs pairs as NDCG-Loss2++ does (Wang et al. 2018),
    with the discounts and the ideal of `dcg`. Parameters are those of `to_python`. Raises
    InputError for gains below 0, and as `to_python`.

    See Also
    --------
    exports.lightgbm_callables : For trees.

    Examples
    --------
    >>> program = to_sentence_transformers(dl.DCG([0, 1, 3], [1, 0.6]))
    >>> print(program.splitlines()[6][:26])
    LABELS = [0.0, 1.0, 2.0]
    """
    metric = _carried(dcg, "sentence-transformers")
    refuse_gains_below(0.0, metric, "LambdaLoss", "use one of dcglearn's losses (--to pytorch)")
    labels = np.log2(1 + metric.gains).tolist()
    return _filled("sentence_transformers.txt", metric, name, labels=labels)


def to_lenskit(dcg: MetricLike, name: str = "the metric") -> str:
    """Return a `RankWeight` of LensKit with the discounts, and its NDCG with the gains of grades.

    LensKit reads gains from a field of the test items, which the program's ``GAINS`` fill. Items
    that are not judged gain 0 there, and the ideal ranking has the largest gains first. Parameters
    are those of `to_python`. Raises InputError for gains below 0 or a worst grade that gains, for
    discounts that rise, and as `to_python`.

    See Also
    --------
    exports.ir_measure : A measure of ir_measures, for any gains and discounts.

    Examples
    --------
    >>> print(to_lenskit(dl.DCG([0, 1, 3], [1, 0.6])).splitlines()[7])
    DISCOUNTS = [1.0, 0.6]  # of ranks 1, 2, ...
    """
    metric = _carried(dcg, "lenskit")
    refuse_gains_below(0.0, metric, "LensKit's ideal ranking", "evaluate with dcglearn")
    if metric.gains[0] or (np.diff(metric.discounts) > 0).any():
        raise InputError(
            "LensKit: items that are not judged gain 0, and the ideal ranking counts on discounts "
            "that do not rise, so that this metric would have other values; evaluate with dcglearn"
        )
    return _filled("lenskit.txt", metric, name)


def _carried(metric: MetricLike, tool: str) -> DCG:
    """Return the DCG to write, as `carried`; raise InputError for negative discounts too."""
    dcg = carried(metric, tool)
    if dcg.discounts.min() < 0:
        rank = int(dcg.discounts.argmin())
        raise InputError(
            f"{tool}: rank {rank + 1} has the discount {dcg.discounts[rank]:g}, and programs are "
            "written for discounts of 0 or more alone; evaluate with dcglearn, which takes any"
        )
    return dcg


def _filled(template: str, dcg: DCG, name: str, **places: Any) -> str:
    """Return a program that says in its first words what it computes, from which metric."""
    program = rendered(
        f"exports/templates/{template}",
        title=f"NDCG@{dcg.depth} of {one_line(name)}, written by dcglearn {__version__}",
        gains=dcg.gains.tolist(),
        discounts=dcg.discounts.tolist(),
        **places,
    )
    return f"{program}\n"


def _double(value: float) -> str:
    """Return a number as a floating-point literal with all its digits: ``0.5e0``."""
    text = repr(value).removesuffix(".0")
    return text if "e" in text else f"{text}e0"


class Target(NamedTuple):
    """A tool: the metrics that it can hold, in words, and a program, or else lines of Python.

    The lines follow those that read the metric as `dcg`.
    """

    holds: str
    program: Callable[[DCG, str], str] | None = None
    lines: str = ""


TARGETS = {
    "quepid": Target("a JavaScript scorer: any gains, discounts of 0 or more", to_quepid),
    "sql": Target("a query in standard SQL: any gains, discounts of 0 or more", to_sql),
    "python": Target(
        "twenty lines without dependencies: any gains, discounts of 0 or more", to_python
    ),
    "pytorch": Target(
        "four lines that build a loss: any DCG",
        lines="from dcglearn.torch_losses import TorchLoss\n"
        "loss = TorchLoss(dcglearn.losses.ApproxNDCG(dcg))",
    ),
    "sentence-transformers": Target(
        "weights and labels for LambdaLoss: gains and discounts of 0 or more",
        to_sentence_transformers,
    ),
    "lightgbm": Target(
        "label_gain if the discounts are log2 and the worst grade gains 0; else callables: any DCG",
        lines="objective, metric = dcglearn.exports.lightgbm_callables(dcg)",
    ),
    "xgboost": Target(
        "callables: any DCG", lines="objective, metric = dcglearn.exports.xgboost_callables(dcg)"
    ),
    "scikit-learn": Target(
        "a scorer: any DCG", lines="scorer = dcglearn.exports.sklearn_scorer(dcg)"
    ),
    "lenskit": Target(
        "a rank weight and an NDCG: the worst grade gains 0, discounts that do not rise", to_lenskit
    ),
    "ir-measures": Target(
        "a measure, also for PyTerrier: any DCG or list utility",
        lines="measure = dcglearn.exports.ir_measure(dcg)",
    ),
}
"""Each target by its name."""


def exported(
    dcg: MetricLike, name: str, target: str, *, lossy: bool = False, n_grades: int | None = None
) -> str:
    """Return the text that is written for a target; raise InputError if it cannot hold the metric.

    `name` is the metric's file or name, by which lines of code load it; `n_grades` are those of a
    `dcg` that is a name. `target` is a name of `list_of_targets`, with hyphens or underscores; for
    `lossy` see `to_lightgbm`.

    See Also
    --------
    exports.to_lightgbm : One target.

    Examples
    --------
    >>> print(dl.exports.exported(dl.DCG.standard(3, 5), "dcg.json", "sql")[:2])
    --
    """
    target = target.lower().replace("_", "-")
    one_of(target, "target", TARGETS)
    dcg = carried(dcg, target, n_grades)
    made = TARGETS[target]
    if made.program is not None:
        return made.program(dcg, name)

    # settings, where the tool can hold the metric
    lost = lost_in_settings(dcg)
    if target == "lightgbm" and (lossy or not lost):
        return json.dumps({"params": to_lightgbm(dcg, lossy=lossy), "lost": lost}, indent=1)

    # else lines of Python
    scale_of_name = "" if is_metric_file(name) else f", n_grades={dcg.n_grades}"
    load = f"dcg = dcglearn.metric({name!r}{scale_of_name})"
    return f"import dcglearn\n{load}\n{made.lines}\n"


def list_of_targets() -> str:
    """Return a table of the targets and what each can hold."""
    return "\n".join(aligned([(name, target.holds) for name, target in TARGETS.items()]))
