"""``dcglearn train`` and ``dcglearn rank``: train a ranker against a metric, and rank with it."""

from __future__ import annotations

import ast
import contextlib
import inspect
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    Force,
    Grades,
    Seed,
    check_outputs,
    method_option,
    option,
    say,
    write_lines,
)
from dcglearn.cli.saved import most_important
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError, PolarsFrame, errors_in
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.names import MetricName
from dcglearn.metrics.reading import ONLY_DCG, SCORING, metric_or_name, read_metric
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.metrics.textbook import has_textbook_gains

if TYPE_CHECKING:
    from dcglearn.rankers.queries import Queries
    from dcglearn.rankers.ranker import Ranker

LOSSES = {
    "approx-ndcg": "ApproxNDCG",
    "smooth-ndcg": "SmoothNDCG",
    "sdcg": "SDCG",
    "shf-sdcg": "SHFSDCG",
    "reg-shf-sdcg": "RegSHFSDCG",
    "softrank": "SoftRankNDCG",
    "lambdarank": "LambdaRank",
}
"""Objectives of `dcglearn.losses`, and the class of each."""

OWN = {"rsrank": "LinearRanker", "ranksvm": "RankSVMRanker", "ridge": "RidgeRanker"}
"""Objectives of linear models alone, and the class of each."""

PATIENCE = 50
"""Trees without a better value on validation data after which no more are grown."""

SPARSE: Fields = {"l1": "path", "max_iter": 200, "tol": 1e-4}
"""Parameters of RSRank's sparse models."""

Data = Annotated[
    Path, typer.Argument(help="Svmlight text with qid, also .gz and .zst.", metavar="DATA")
]
TrainedFor = "exponential-log2@10"
"""The metric that models are trained for by default."""


def train(
    data: Data,
    output: Annotated[Path, option("Write the model here.", "-o", "--output", metavar="FILE")],
    metric: Annotated[
        str, option("Train for this DCG: a file or GAIN-DISCOUNT[@K].", metavar="METRIC")
    ] = TrainedFor,
    valid: Annotated[
        Path | None, option("Validation data, to choose the stage of the training.")
    ] = None,
    model: Annotated[
        Literal["linear", "trees"], option("Linear or boosted trees (by LightGBM).")
    ] = "linear",
    objective: Annotated[
        str | None,
        option(
            "What to train: a loss, for linear models also rsrank, ranksvm, ridge. [default: "
            "approx-ndcg for linear models, reg-shf-sdcg for trees]",
            metavar="|".join(LOSSES),
        ),
    ] = None,
    parameter: Annotated[
        list[str],
        method_option(
            "A parameter of the ranker, such as n_trees=100 or n_restarts=5.",
            "-p",
            metavar="NAME=VALUE",
        ),
    ] = [],
    grades: Grades = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Train a ranker against a metric: a linear model or boosted trees."""
    # refuse what cannot work before the data are read
    check_outputs(output, force=force, inputs=[data, valid, metric])
    named = metric_or_name(metric, accept=ONLY_DCG)
    objective = objective or ("approx-ndcg" if model == "linear" else "reg-shf-sdcg")
    make, parameters = _class_of(model, objective), _parameters(parameter)
    taken = inspect.signature(make).parameters
    for name in parameters:
        if name not in taken or name in ("loss", "metric", "random_state"):
            known = ", ".join(taken.keys() - {"loss", "metric", "random_state"})
            raise InputError(f"-p {name}: {make.__name__} has no such parameter; it has {known}")

    # read the data, those for validation with the same features and scale
    queries = dl.read_queries(data, n_grades=grades)
    held: Queries | None = None
    if valid is not None:
        held = dl.read_queries(valid, n_grades=grades, n_features=queries.shape[1])
        top = max(queries.n_grades or 1, held.n_grades or 1)
        queries = replace(queries, n_grades=top)
    every: dict[Any, Queries] = {data: queries} | ({} if held is None else {valid: held})
    name, dcg = _on_scale(named, metric, every)
    say(f"read: {queries}")

    # train
    if "random_state" in taken:
        parameters["random_state"] = seed
    if held is not None and "patience" in taken:
        parameters.setdefault("patience", PATIENCE)
    from dcglearn import losses

    if objective == "rsrank":
        ranker: Any = make(losses.RSRank(dcg, depth=None), metric=dcg, **SPARSE | parameters)
    elif objective in LOSSES:
        ranker = make(getattr(losses, LOSSES[objective])(dcg), metric=dcg, **parameters)
    else:
        ranker = make(metric=dcg, **parameters)
    if objective in ("ranksvm", "ridge"):
        ranker.fit(queries)
    else:
        ranker.fit(queries, eval_set=held)

    # write the model, and report
    ranker.save(output, force=force)
    typer.echo(str(_report(ranker, queries, held, name, objective)))
    say(f"wrote: {output}")


def rank(
    model: Annotated[
        Path, typer.Argument(help="A file that `dcglearn train` wrote.", metavar="MODEL")
    ],
    data: Data,
    metric: Annotated[
        str | None,
        option(
            "Judge by this metric, a file or GAIN-DISCOUNT[@K], rather than the model's.",
            metavar="METRIC",
        ),
    ] = None,
    grades: Grades = None,
    output: Annotated[
        Path | None,
        option(
            "A TREC run (.txt, .run, .trec), or a score a line, in the order of the data; else "
            "scores to standard output.",
            "-o",
            "--output",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Score the documents of each query, and judge the ranking where the data have grades."""
    from dcglearn.rankers.model_files import same_numbers
    from dcglearn.reading.trec import is_trec

    check_outputs(output, force=force, inputs=[data, model, metric])
    if metric is not None:
        metric_or_name(metric, accept=SCORING)

    # read the model, and data with its features
    ranker = dl.load_ranker(model)
    queries = dl.read_queries(data, n_grades=grades, n_features=ranker.n_features_in_)
    judge = _judge(ranker.metric_, metric, f"the metric of {model}", {data: queries})

    # score and write
    scores = ranker.predict(queries)
    lines = (f"{score!r}\n" for score in scores.tolist())
    if output is not None and is_trec(output):
        lines = run_lines(queries, scores, output.stem)
    write_lines(lines, output, force=force)

    # judge the ranking
    if judge is not None:
        value, n = queries.evaluate(scores, judge).mean(), number_of(len(queries), "queries")
        kind = "DCG" if isinstance(judge, DCG) else "utility"
        say(f"normalised {kind}: {value:.4f} (mean over {n}, {judge!r})")
        if not same_numbers(judge, ranker.metric_):
            say(f"note: the model was trained for {ranker.metric_!r}")


def _class_of(model: str, objective: str) -> Any:
    """Return the class of a ranker; raise InputError if there is no such objective."""
    if objective not in LOSSES and (model == "trees" or objective not in OWN):
        known = [*LOSSES, *(OWN if model == "linear" else ())]
        raise InputError(f"--objective {objective}: --model {model} takes {', '.join(known)}")
    if objective in OWN:
        return getattr(dl.rankers, OWN[objective])
    return dl.LinearRanker if model == "linear" else dl.BoostedRanker


def _parameters(words: list[str]) -> Fields:
    """Return parameters of a ranker; raise InputError for anything but NAME=VALUE."""
    found: Fields = {}
    for word in words:
        name, mark, value = word.partition("=")
        if not (name and mark):
            raise InputError(f"-p {word}: give NAME=VALUE, such as n_trees=100")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def run_lines(queries: Queries, scores: Any, tag: str) -> Any:
    """Yield a TREC run's lines, best document first; unnamed documents are called ``QID-1``."""
    import numpy as np

    tag = "-".join(tag.split()) or "dcglearn"
    for q, name in enumerate(queries.names):
        start, stop = int(queries.offsets[q]), int(queries.offsets[q + 1])
        best_first = start + np.argsort(-scores[start:stop], kind="stable")
        for place, row in enumerate(best_first, 1):
            document = f"{name}-{row - start + 1}"
            if queries.documents is not None:
                document = queries.documents[row]
            yield f"{name} Q0 {document} {place} {float(scores[row])!r} {tag}\n"


def _judge(trained: DCG, name: str | None, label: str, data: dict[Any, Queries]) -> Any:
    """Return the metric that judges a ranking, the model's or another; None without grades."""
    if not any(queries.grades.any() for queries in data.values()):
        return None
    if name is not None:
        return _on_scale(name, name, data, trained.n_grades)[1]
    # a name has no scale of its own
    return _on_scale(trained, label, data, warn=not has_textbook_gains(trained.gains))[1]


def _on_scale(
    metric: Any, label: str, data: dict[Any, Queries], n_grades: int = 1, *, warn: bool = True
) -> tuple[str, Any]:
    """Return the label and the metric, with the grades of the data.

    A name takes its grades from the data and, without K, the depth of the longest list. An object
    or a file gets a warning, if `warn`, where it has more grades than the data. Raise InputError if
    the data have a grade without a gain.
    """
    metric = metric_or_name(metric, accept=SCORING)
    sizes = [queries.n_grades or 1 for queries in data.values()]

    # a name takes its grades and its depth from the data
    if isinstance(metric, MetricName):
        longest = max(int(queries.sizes.max(initial=1)) for queries in data.values())
        label = metric.at(longest)
        metric, warn = read_metric(metric, max(n_grades, *sizes), longest), False

    # others have a scale of their own
    for path, queries in data.items():
        with errors_in(path):
            queries.check_scale(metric)
    if warn:
        warn_of_scale({label: metric.n_grades}, max(sizes), " with ".join(map(str, data)))
    return label, metric


@dataclass(frozen=True)
class TrainingReport(Finding):
    """How well a trained ranker and least squares rank the data.

    `metric` and `objective` are their names, `values` the mean normalised DCGs by data and model,
    and `facts` sentences on the model.
    """

    metric: str
    objective: str
    values: dict[str, dict[str, float]]
    facts: list[str] = field(repr=False)

    @property
    def sentence(self) -> str:
        """The value on the data that were read last, in words."""
        kind, values = [*self.values.items()][-1]
        reached = f"the ranker has normalised DCG {values['model']:.4f} on the {kind} data"
        squares = f", and least squares {values['ridge']:.4f}" if "ridge" in values else ""
        return f"{reached}{squares}"

    @property
    def table(self) -> PolarsFrame:
        """A row for the training data, and one for the validation data."""
        return table_of(
            {"data": kind, "ranker": value["model"], "least_squares": value.get("ridge")}
            for kind, value in self.values.items()
        )

    @property
    def notes(self) -> list[str]:
        """The objective, and what is in the model."""
        seen = []
        if "validation" not in self.values:
            seen = ["the value is on the training data; --valid FILE measures on other data too"]
        return [f"objective: {self.objective}", *seen, *self.facts]


def _report(
    ranker: Ranker, queries: Queries, held: Queries | None, name: str, objective: str
) -> TrainingReport:
    """Return how well a ranker ranks its training and validation data."""
    # values of the model, and of least squares
    data = {"training": queries} | ({} if held is None else {"validation": held})
    values = {kind: {"model": ranker.score(q)} for kind, q in data.items()}
    with contextlib.suppress(InputError):  # of features that are missing
        plain = dl.rankers.RidgeRanker(ranker.metric_, reweighted=False).fit(queries)
        for kind, q in data.items():
            values[kind]["ridge"] = plain.score(q)

    # what is in the model
    facts = [f"it was trained for {name}, {ranker.metric_!r}"]
    if hasattr(ranker, "n_trees_"):
        facts.append(f"it holds {ranker.n_trees_} of {ranker.n_trees} trees")
        facts.append(f"the most important features are {most_important(ranker)}")
    if objective == "rsrank":
        facts.append(f"{(ranker.coef_ != 0).sum()} of {queries.shape[1]} features remain")
    return TrainingReport(name, objective, values, facts)
