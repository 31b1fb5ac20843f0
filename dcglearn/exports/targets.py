"""The tools that a metric can be exported to, what each can hold, and what is written for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from dcglearn.exports.programs import (
    carried,
    lost_in_settings,
    to_lenskit,
    to_lightgbm,
    to_python,
    to_quepid,
    to_sentence_transformers,
    to_sql,
)
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import aligned, nearest
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import MetricLike
from dcglearn.metrics.textbook import is_metric_file


@dataclass(frozen=True)
class Target:
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

FIXED = ("elasticsearch", "opensearch")
"""Tools whose DCG has fixed gains and discounts."""


@dataclass(frozen=True)
class Export(Finding):
    """What is written for a target: a `text`; settings too, where the text is their JSON."""

    target: str
    text: str
    settings: Fields | None = None

    @property
    def sentence(self) -> str:
        """What is to be pasted."""
        what = "this text" if self.settings is None else "these settings"
        return f"the metric as {self.target} takes it: {what}"


def target_of(word: str) -> str:
    """Return a target by name, with hyphens or underscores, or raise InputError."""
    name = word.strip().lower().replace("_", "-")
    if name in TARGETS:
        return name

    # tools that take no metric, and mistyped names
    if name in FIXED:
        raise InputError(
            f"{name} has one DCG, 2^rating - 1 over log2(rank + 1), and takes no other gains or "
            "discounts; write its results as a run: "
            "dcglearn evaluate JUDGEMENTS RUN --metric dcg.json"
        )

    guess = nearest(name, TARGETS)
    raise InputError(f"there is no target {word!r}; the targets are {', '.join(TARGETS)}{guess}")


def exported(
    dcg: MetricLike, name: str, target: str, *, lossy: bool = False, n_grades: int | None = None
) -> Export:
    """Return what is written for a target; raise InputError if it cannot hold the metric.

    `name` is the metric's file or name, by which lines of code load it; `n_grades` are those of a
    `dcg` that is a name. For `target` and `lossy` see `target_of` and `to_lightgbm`.

    See Also
    --------
    exports.to_lightgbm : One target.

    Examples
    --------
    >>> print(dl.exports.exported(dl.DCG.standard(3, 5), "dcg.json", "sql").text[:2])
    --
    """
    target = target_of(target)
    dcg = carried(dcg, target, n_grades)
    made = TARGETS[target]
    if made.program is not None:
        return Export(target, made.program(dcg, name))

    # settings, where the tool can hold the metric
    lost = lost_in_settings(dcg)
    if target == "lightgbm" and (lossy or not lost):
        settings = {"params": to_lightgbm(dcg, lossy=lossy), "lost": lost}
        return Export(target, json.dumps(settings, indent=1), settings)

    # else lines of Python
    scale_of_name = "" if is_metric_file(name) else f", n_grades={dcg.n_grades}"
    load = f"dcg = dcglearn.metric({name!r}{scale_of_name})"
    return Export(target, f"import dcglearn\n{load}\n{made.lines}\n")


def list_of_targets() -> str:
    """Return a table of the targets and what each can hold."""
    return "\n".join(
        [
            *aligned([(name, target.holds) for name, target in TARGETS.items()]),
            f"{' and '.join(FIXED)} have one DCG of their own: dcglearn evaluate takes their "
            "results as a run",
        ]
    )
