"""The tools that a metric can be exported to, what each can hold, and what is written for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dcglearn.exports.programs import (
    to_lenskit,
    to_python,
    to_quepid,
    to_sentence_transformers,
    to_sql,
)
from dcglearn.exports.settings import carried, lost_in_settings, to_lightgbm
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import aligned, nearest
from dcglearn.foundation.validation import Fields, InputError, PolarsFrame
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.textbook import is_metric_file

TARGETS = {
    "quepid": "a JavaScript scorer: any gains, discounts of 0 or more",
    "sql": "a query in standard SQL: any gains, discounts of 0 or more",
    "python": "twenty lines without dependencies: any gains, discounts of 0 or more",
    "pytorch": "four lines that build a loss: any DCG",
    "sentence-transformers": "weights and labels for LambdaLoss: gains and discounts of 0 or more",
    "lightgbm": "label_gain if the discounts are log2 and the worst grade gains 0; "
    "else callables: any DCG",
    "xgboost": "callables: any DCG",
    "scikit-learn": "a scorer: any DCG",
    "lenskit": "a rank weight and an NDCG: the worst grade gains 0, discounts that do not rise",
    "ir-measures": "a measure, also for PyTerrier: any DCG or list utility",
}
"""Each target by its name, with the metrics that it can hold."""

FIXED = ("elasticsearch", "opensearch")
"""Tools whose DCG has fixed gains and discounts."""

LINES = {
    "pytorch": "from dcglearn.torch_losses import TorchLoss\n"
    "loss = TorchLoss(dcglearn.losses.ApproxNDCG(dcg))",
    "lightgbm": "objective, metric = dcglearn.exports.lightgbm_callables(dcg)",
    "xgboost": "objective, metric = dcglearn.exports.xgboost_callables(dcg)",
    "ir-measures": "measure = dcglearn.exports.ir_measure(dcg)",
    "scikit-learn": "scorer = dcglearn.exports.sklearn_scorer(dcg)",
}
"""Lines of Python after the DCG is there."""


@dataclass(frozen=True)
class Export(Finding):
    """What is written for a target: a text, or settings that are written as JSON."""

    target: str
    text: str | None = None
    settings: Fields | None = None

    @property
    def sentence(self) -> str:
        """What is to be pasted."""
        what = "this text" if self.settings is None else "these settings"
        return f"the metric as {self.target} takes it: {what}"

    @property
    def table(self) -> PolarsFrame:
        """The settings, each as text on lines of its own; lists that are empty are left out."""
        rows = []
        for name, value in (self.settings or {}).items():
            parts = value if isinstance(value, list | tuple) else [value]
            rows.append({"setting": name, "value": "\n".join(map(str, parts))})
        return table_of(row for row in rows if row["value"])

    @property
    def texts(self) -> Mapping[str, str]:
        """What is to be pasted, by the target."""
        lines = [f"{name}: {value}" for name, value in self.table.rows()]
        return {self.target: self.text or "\n".join(lines)}


def target_of(word: str) -> str:
    """Return a target by name, with hyphens or underscores, or raise InputError."""
    # other names of the same tools
    aliases = {"torch": "pytorch", "sklearn": "scikit-learn", "pyterrier": "ir-measures"}
    name = word.strip().lower().replace("_", "-").replace(" ", "-")
    name = aliases.get(name, name)
    if name in TARGETS:
        return name

    # tools that take no metric, and mistyped names
    if name in FIXED:
        raise InputError(
            f"{name} has one DCG, 2^rating - 1 over log2(rank + 1), and takes no other gains or "
            "discounts; write its results as a run: "
            "dcglearn evaluate JUDGEMENTS RUN --metric dcg.json"
        )

    # a beginning of a name is nearer than a likeness
    guess = nearest(name, [*TARGETS, *aliases], cutoff=0.5)
    for target in reversed(TARGETS):
        if target.startswith(name):
            guess = f"; the nearest is {target}"
    raise InputError(f"there is no target {word!r}; the targets are {', '.join(TARGETS)}{guess}")


def exported(dcg: DCG, name: str, target: str, *, lossy: bool = False) -> Export:
    """Return what is written for a target; raise InputError if it cannot hold the metric.

    `name` is the metric's file or name, by which lines of code load it. For `target` and
    `lossy` see `target_of` and `to_lightgbm`.

    See Also
    --------
    exports.to_lightgbm : One target.

    Examples
    --------
    >>> print(dl.exports.exported(dl.DCG.standard(3, 5), "dcg.json", "sql").text[:2])
    --
    """
    target = target_of(target)
    dcg = carried(dcg, target)

    # programs
    programs: dict[str, Callable[..., str]]
    programs = {"quepid": to_quepid, "sql": to_sql, "python": to_python}
    programs |= {"sentence-transformers": to_sentence_transformers, "lenskit": to_lenskit}
    if target in programs:
        return Export(target, programs[target](dcg, name))

    # settings, where the tool can hold the metric
    settings: Fields | None = None
    lost = lost_in_settings(dcg)
    if target == "lightgbm" and (lossy or not lost):
        settings = {"params": to_lightgbm(dcg, lossy=lossy), "lost": lost}

    # else lines of Python
    if settings is None:
        scale_of_name = "" if is_metric_file(name) else f", n_grades={dcg.n_grades}"
        load = f"dcg = dcglearn.metric({name!r}{scale_of_name})"
        lines = f"import dcglearn\n{load}\n{LINES[target]}"
        if target == "pytorch":
            return Export(target, lines + "\n")
        settings = {"python": lines.split("\n"), "lost": []}
    return Export(target, settings={"tool": target, **settings})


def list_of_targets() -> str:
    """Return a table of the targets and what each can hold."""
    return "\n".join(
        [
            *aligned([*TARGETS.items()], 2),
            f"{' and '.join(FIXED)} have one DCG of their own: dcglearn evaluate takes their "
            "results as a run",
        ]
    )
