"""``dcglearn train`` and ``dcglearn rank``: train a ranker against a metric, and rank with it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.command import (
    argument_row,
    examples,
    first_row,
    input_option,
    model_row,
    output_row,
)
from dcglearn.cli.metric_options import ScaleOptions
from dcglearn.cli.options import (
    AsJson,
    DryRun,
    Force,
    Grades,
    Output,
    Seed,
    check_outputs,
    print_result,
    said_now,
    say,
    write_lines,
)
from dcglearn.cli.saved import most_important
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError, PolarsFrame, errors_in
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.names import MetricName
from dcglearn.metrics.reading import ONLY_DCG, SCORING, metric_or_name, read_metric
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.metrics.textbook import has_textbook_gains

if TYPE_CHECKING:
    from dcglearn.rankers.queries import Queries
    from dcglearn.rankers.ranker import Ranker

OfLoss = Literal[
    "approx-ndcg", "smooth-ndcg", "sdcg", "shf-sdcg", "reg-shf-sdcg", "softrank", "lambdarank"
]
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

Objective = Literal[OfLoss, "rsrank", "ranksvm", "ridge"]

ZeroBased = Annotated[bool, input_option("--zero-based", help="Features are numbered from 0.")]


@dataclass(frozen=True)
class TrainingData:
    """Training and validation data, and how they are read."""

    data: Path = argument_row("Svmlight text with qid, also .gz and .zst.", ..., metavar="TRAIN")
    valid: Path | None = model_row("Validation data, to choose the stage of the training.")
    grades: Grades = None
    zero_based: ZeroBased = False

    def read(self) -> tuple[Queries, Queries | None]:
        """Read both on one scale of grades and features."""
        read = partial(dl.read_queries, n_grades=self.grades, zero_based=self.zero_based)
        queries = read(self.data)
        if self.valid is None:
            return queries, None

        # validation data have the features and the scale of the training
        validation = read(self.valid, n_features=queries.shape[1])
        top = max(queries.n_grades or 1, validation.n_grades or 1)
        return replace(queries, n_grades=top), validation


@dataclass(frozen=True)
class ModelOptions:
    """The model, the objective and their parameters."""

    metric: str = first_row(
        "Train for this DCG: a file or GAIN-DISCOUNT[@K].", "exponential-log2@10", metavar="METRIC"
    )
    model: Literal["linear", "trees"] = first_row(
        "Linear or boosted trees (by LightGBM).", "linear"
    )
    objective: Objective | None = first_row(
        "What to train; by default approx-ndcg for linear models, reg-shf-sdcg for trees."
    )
    trees: int = model_row("Boosted trees: how many.", 300, min=1)
    patience: int = model_row(
        "Boosted trees: with --valid, stop after N without a better value; 0 grows all.", 50, min=0
    )
    seed: Seed = 0

    @property
    def objective_name(self) -> str:
        """The objective, or the model's default."""
        return self.objective or ("approx-ndcg" if self.model == "linear" else "reg-shf-sdcg")

    def ranker(self, dcg: DCG) -> Any:
        """Return the ranker, not fitted."""
        from dcglearn import losses

        # those with a loss of their own
        objective = self.objective_name
        if self.model == "trees" and objective not in LOSSES:
            raise InputError(
                f"--objective {objective} is of linear models; trees take {', '.join(LOSSES)}"
            )
        if objective == "rsrank":
            loss = losses.RSRank(dcg, depth=None)
            return dl.LinearRanker(loss, metric=dcg, l1="path", max_iter=200, tol=1e-4)
        if objective == "ranksvm":
            return dl.rankers.RankSVMRanker(metric=dcg)
        if objective == "ridge":
            return dl.rankers.RidgeRanker(dcg)

        # those that take any loss
        loss = getattr(losses, LOSSES[objective])(dcg)
        if self.model == "linear":
            return dl.LinearRanker(loss, metric=dcg, random_state=self.seed)
        return dl.BoostedRanker(
            loss,
            metric=dcg,
            n_trees=self.trees,
            patience=self.patience or None,
            random_state=self.seed,
        )


@examples(
    "dcglearn train train.svm --valid valid.svm --metric dcg.json --objective approx-ndcg "
    "-o model.json"
)
def train(
    *,
    source: TrainingData,
    output: Path = first_row("Write the model here.", ..., "--output", "-o", metavar="FILE"),
    options: ModelOptions,
    scale: ScaleOptions,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Train a ranker against a metric: a linear model or boosted trees."""
    # refuse what cannot work before the data are read
    check_outputs(output, force=force, inputs=[source.data, source.valid, options.metric])
    metric = metric_or_name(options.metric, accept=ONLY_DCG)

    # read the data
    said_now(f"reading: {source.data}", err=True)
    queries, validation = source.read()
    data: dict[Any, Queries] = {source.data: queries}
    if validation is not None:
        data[source.valid] = validation

    # the metric on their scale, and the ranker
    name, dcg = _on_scale(metric, options.metric, scale, data)
    ranker = options.ranker(dcg)
    read = f"read: {queries}"
    if dry_run:
        typer.echo("\n".join([read, f"would train: {ranker}", f"would write: {output}"]))
        return

    # train
    said = said_now(read, err=as_json)
    if options.objective_name in ("ranksvm", "ridge"):
        ranker.fit(queries)
    else:
        ranker.fit(queries, eval_set=validation)

    # write the model, and report
    ranker.save(output, force=force)
    if not (said or as_json):
        typer.echo(read)
    report = _report(ranker, queries, validation, name, options.objective_name)
    print_result(report, as_json)
    typer.echo(f"wrote: {output}", err=as_json)


@examples("dcglearn rank model.json test.svm --format trec --tag mine -o run.txt")
def rank(
    *,
    model: Path = argument_row("A file that `dcglearn train` wrote.", ..., metavar="MODEL"),
    data: Path = argument_row("Svmlight text with qid, also .gz and .zst.", ..., metavar="DATA"),
    scale: ScaleOptions,
    output: Output = None,
    form: Literal["scores", "trec"] = first_row(
        "A score a line, in the order of the data; or a TREC run.", "scores", "--format"
    ),
    tag: str = output_row("The run's name, its last column.", "dcglearn", metavar="NAME"),
    metric: str | None = first_row(
        "Judge by this metric, a file or GAIN-DISCOUNT[@K], rather than the model's.",
        metavar="METRIC",
    ),
    grades: Grades = None,
    zero_based: ZeroBased = False,
    force: Force = False,
) -> None:
    """Score the documents of each query, and judge the ranking where the data have grades."""
    from dcglearn.rankers.model_files import same_numbers
    from dcglearn.reading.trec import is_trec

    check_outputs(output, force=force, inputs=[data, model, metric])
    if not tag or tag.split() != [tag]:
        raise InputError(f"--tag {tag!r}: a run's name is one word")
    if form == "trec" and output is not None and not is_trec(output):
        raise InputError(
            f"{output}: a TREC run would be read as a table by this name; give .txt, .trec or .run"
        )
    if metric is not None:
        metric_or_name(metric, accept=SCORING)

    # read the model, and data with its features
    ranker = dl.load_ranker(model)
    queries = dl.read_queries(
        data, n_grades=grades, zero_based=zero_based, n_features=ranker.n_features_in_
    )
    judge = _judge(ranker.metric_, metric, f"the metric of {model}", scale, {data: queries})

    # score and write
    scores = ranker.predict(queries)
    lines = (f"{score!r}\n" for score in scores.tolist())
    if form == "trec":
        lines = run_lines(queries, scores, tag)
    write_lines(lines, output, force=force)

    # judge the ranking
    if judge is not None:
        value, n = queries.evaluate(scores, judge).mean(), number_of(len(queries), "queries")
        kind = "DCG" if isinstance(judge, DCG) else "utility"
        say(f"normalised {kind}: {value:.4f} (mean over {n}, {judge!r})")
        if not same_numbers(judge, ranker.metric_):
            say(f"note: the model was trained for {ranker.metric_!r}")


def run_lines(queries: Queries, scores: Any, tag: str) -> Any:
    """Yield a TREC run's lines, best document first; unnamed documents are called ``QID-1``."""
    import numpy as np

    for q, name in enumerate(queries.names):
        start, stop = int(queries.offsets[q]), int(queries.offsets[q + 1])
        best_first = start + np.argsort(-scores[start:stop], kind="stable")
        for place, row in enumerate(best_first, 1):
            document = f"{name}-{row - start + 1}"
            if queries.documents is not None:
                document = queries.documents[row]
            yield f"{name} Q0 {document} {place} {float(scores[row])!r} {tag}\n"


def _judge(
    trained: DCG, name: str | None, label: str, scale: ScaleOptions, data: dict[Any, Queries]
) -> Any:
    """Return the metric that judges a ranking, the model's or another; None without grades."""
    if not any(queries.grades.any() for queries in data.values()):
        return None
    if name is not None:
        return _on_scale(name, name, scale, data, trained.n_grades)[1]
    # a name has no scale of its own
    return _on_scale(trained, label, scale, data, warn=not has_textbook_gains(trained.gains))[1]


def _on_scale(
    metric: Any,
    label: str,
    scale: ScaleOptions,
    data: dict[Any, Queries],
    n_grades: int = 1,
    *,
    warn: bool = True,
) -> tuple[str, Any]:
    """Return the label and the metric, with the grades of the data.

    A name takes its grades from the data and, without K, the depth of the longest list. An object
    or a file gets a warning by `scale`, if `warn`, where it has more grades than the data. Raise
    InputError if the data have a grade without a gain.
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
        with scale.watched():
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
