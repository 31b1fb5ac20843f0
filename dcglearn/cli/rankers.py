"""``dcglearn train`` and ``dcglearn rank``: train a ranker against a metric, and rank with it."""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.audits.section import Section
from dcglearn.cli.metrics import most_important
from dcglearn.cli.options import Force, Grades, Seed, method_option, option, output_to
from dcglearn.cli.outputs import save, say, write_text
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError, errors_in
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.names import MetricName
from dcglearn.metrics.reading import ONLY_DCG, SCORING, metric_or_name, read_metric
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.metrics.textbook import has_textbook_gains

if TYPE_CHECKING:
    from dcglearn.rankers.queries import Queries

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

SET = ("loss", "metric", "random_state")
"""Parameters that other options set."""

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
    named = metric_or_name(metric, accept=ONLY_DCG)
    objective = objective or ("approx-ndcg" if model == "linear" else "reg-shf-sdcg")
    make = _class_of(model, objective)
    taken, parameters = inspect.signature(make).parameters, _parameters(parameter)
    for name in parameters:
        if name not in taken or name in SET:
            known = ", ".join(one for one in taken if one not in SET)
            raise InputError(f"-p {name}: {make.__name__} has no such parameter; it has {known}")

    # read the data, those for validation with the same features and scale
    queries, held = dl.read_queries(data, n_grades=grades), None
    every = {data: queries}
    if valid is not None:
        held = dl.read_queries(valid, n_grades=grades, n_features=queries.shape[1])
        top = max(queries.n_grades or 1, held.n_grades or 1)
        queries = replace(queries, n_grades=top)
        every = {data: queries, valid: held}
    dcg = _on_scale(named, metric, every)
    say(f"read: {queries}")

    # the ranker
    from dcglearn import losses

    if objective == "rsrank":
        parameters = {"loss": losses.RSRank(dcg, depth=None), **SPARSE, **parameters}
    elif objective in LOSSES:
        parameters["loss"] = getattr(losses, LOSSES[objective])(dcg)
    if held is not None and "patience" in taken:
        parameters.setdefault("patience", PATIENCE)
    if "random_state" in taken:
        parameters["random_state"] = seed
    ranker = make(metric=dcg, **parameters)

    # train, write the model, and report
    chosen_by = {} if objective in ("ranksvm", "ridge") else {"eval_set": held}
    ranker.fit(queries, **chosen_by)
    save(ranker, output, force=force)
    label = named.at(dcg.depth) if isinstance(named, MetricName) else metric
    typer.echo(str(_report(ranker, queries, held, f"{label}, {dcg!r}", objective)))


def rank(
    trained: Annotated[
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
        output_to(
            "A TREC run (.txt, .run, .trec), or a score a line, in the order of the data; else "
            "scores to standard output."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Score the documents of each query, and judge the ranking where the data have grades."""
    from dcglearn.rankers.model_files import same_numbers
    from dcglearn.reading.trec import is_trec

    named = None if metric is None else metric_or_name(metric, accept=SCORING)

    # read the model, and data with its features
    ranker = dl.load_ranker(trained)
    own: DCG = ranker.metric_
    queries = dl.read_queries(data, n_grades=grades, n_features=ranker.n_features_in_)

    # the metric that judges, where there are grades; the model's own may have been a name
    judge = None
    if queries.grades.any():
        label = metric or f"the metric of {trained}"
        warn = metric is not None or not has_textbook_gains(own.gains)
        judge = _on_scale(named or own, label, {data: queries}, own.n_grades, warn=warn)

    # score and write
    scores = ranker.predict(queries)
    lines: Iterable[str] = map(repr, scores.tolist())
    if output is not None and is_trec(output):
        lines = queries.run_lines(scores, output.stem)
    write_text("\n".join(lines), output, force=force)

    # judge the ranking
    if judge is not None:
        value, n = queries.evaluate(scores, judge).mean(), number_of(len(queries), "queries")
        kind = "DCG" if isinstance(judge, DCG) else "utility"
        say(f"normalised {kind}: {value:.4f} (mean over {n}, {judge!r})")
        if not same_numbers(judge, own):
            say(f"note: the model was trained for {own!r}")


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


def _on_scale(
    metric: Any, label: str, data: Mapping[Path, Queries], n_grades: int = 1, *, warn: bool = True
) -> Any:
    """Return the metric with the grades of the data; raise InputError if a grade has no gain.

    A name takes its grades from the data and, without K, the depth of the longest list. Others get
    a warning, if `warn`, where they have more grades than the data.
    """
    sizes = [queries.scale for queries in data.values()]
    top, longest = map(max, zip(*sizes, strict=True))
    is_name = isinstance(metric, MetricName)
    if is_name:
        metric = read_metric(metric, max(n_grades, top), longest)

    # each grade has a gain
    for path, queries in data.items():
        with errors_in(path):
            queries.check_scale(metric)
    if warn and not is_name:
        warn_of_scale({label: metric.n_grades}, top, " with ".join(map(str, data)))
    return metric


def _report(
    ranker: Any, queries: Queries, held: Queries | None, trained_for: str, objective: str
) -> Section:
    """Return how well a ranker and least squares rank the training and the validation data."""
    # values of the model, and of least squares
    data = {"training": queries} | ({} if held is None else {"validation": held})
    rows: list[Fields] = [{"data": kind, "ranker": ranker.score(q)} for kind, q in data.items()]
    with contextlib.suppress(InputError):  # of features that are missing
        plain = dl.rankers.RidgeRanker(ranker.metric_, reweighted=False).fit(queries)
        for row, q in zip(rows, data.values(), strict=True):
            row["least_squares"] = plain.score(q)

    # on the data that were read last
    last = rows[-1]
    squares = ""
    if "least_squares" in last:
        squares = f", and least squares {last['least_squares']:.4f}"
    sentence = f"the ranker has normalised DCG {last['ranker']:.4f} on the {last['data']} data"

    # what is in the model
    notes = [f"objective: {objective}"]
    if held is None:
        notes.append("the value is on the training data; --valid FILE measures on other data too")
    notes.append(f"it was trained for {trained_for}")
    if hasattr(ranker, "n_trees_"):
        notes.append(f"it holds {ranker.n_trees_} of {ranker.n_trees} trees")
        notes.append(f"the most important features are {most_important(ranker)}")
    if objective == "rsrank":
        notes.append(f"{(ranker.coef_ != 0).sum()} of {queries.shape[1]} features remain")
    return Section(f"{sentence}{squares}", notes, rows=rows)
