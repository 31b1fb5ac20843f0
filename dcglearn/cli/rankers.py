"""``dcglearn train`` and ``dcglearn rank``: train a ranker against a metric, and rank with it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.options import Force, Grades, Seed, method_option, option, save, say, write_text
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, InputError, errors_in, one_of
from dcglearn.metrics.reading import ONLY_DCG, SCORING, metric_or_name, read_metric

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
"""Objectives of linear models alone, and the class of each ranker."""

SPARSE: Fields = {"l1": "path", "max_iter": 200, "tol": 1e-4}
"""Parameters of RSRank's sparse models."""

TREES: Fields = {"patience": 50}
"""Parameters of trees where validation data choose their number."""

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
    # the metric and the parameters, before the data are read
    named = metric_or_name(metric, accept=ONLY_DCG)
    objective = objective or ("approx-ndcg" if model == "linear" else "reg-shf-sdcg")
    known = [*LOSSES, *(OWN if model == "linear" else ())]
    one_of(objective, "--objective", known)
    given = _parameters(parameter)

    # the data, those for validation with the same features
    queries, held = dl.read_queries(data, n_grades=grades), None
    if valid is not None:
        held = dl.read_queries(valid, n_grades=grades, n_features=queries.shape[1])
    dcg = read_metric(named, *queries.scale)
    say(f"read: {queries}")

    # what the objective needs
    parameters: Fields = {}
    if objective == "rsrank":
        parameters = {"loss": dl.losses.RSRank(dcg, depth=None), **SPARSE}
    elif objective in LOSSES:
        parameters["loss"] = getattr(dl.losses, LOSSES[objective])(dcg)

    # what chooses the stage, and draws
    chosen_by: Fields = {}
    if objective not in ("ranksvm", "ridge"):
        parameters["random_state"] = seed
        chosen_by["eval_set"] = held
    if model == "trees" and held is not None:
        parameters |= TREES

    # train
    name = OWN.get(objective, "LinearRanker" if model == "linear" else "BoostedRanker")
    try:
        ranker = getattr(dl.rankers, name)(metric=dcg, **parameters | given)
    except TypeError as error:
        raise InputError(f"-p: {error}") from error
    with errors_in(data):
        ranker.fit(queries, **chosen_by)

    # write the model, and report
    save(ranker, output)
    say(f"objective: {objective}, trained for {metric}, {dcg!r}", err=False)
    for kind, part in (("training", queries), ("validation", held)):
        if part is not None:
            say(f"normalised DCG on the {kind} data: {ranker.score(part):.4f}", err=False)


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
    from dcglearn.reading.trec import is_trec

    # the model, and data with its features
    ranker = dl.load_ranker(trained)
    queries = dl.read_queries(data, n_grades=grades, n_features=ranker.n_features_in_)

    # score and write
    scores = ranker.predict(queries)
    lines: Iterable[str] = map(repr, scores.tolist())
    if output is not None and is_trec(output):
        lines = queries.run_lines(scores, output.stem)
    write_text("\n".join(lines), output)

    # judge the ranking
    if queries.grades.any():
        judge: Any = ranker.metric_
        if metric is not None:
            judge = read_metric(metric, *queries.scale, accept=SCORING)
        with errors_in(data):
            values = queries.evaluate(scores, judge)
        n = number_of(len(queries), "queries")
        kind = "DCG" if isinstance(judge, dl.DCG) else "utility"
        say(f"normalised {kind}: {values.mean():.4f} (mean over {n}, {judge!r})")


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
