"""``dcglearn train`` and ``dcglearn rank``: train a ranker against a metric, and rank with it."""

from __future__ import annotations

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
    scale_row,
)
from dcglearn.cli.metric_options import ScaleOptions
from dcglearn.cli.options import (
    AsJson,
    DryRun,
    Force,
    Grades,
    Groups,
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
from dcglearn.foundation.validation import Fields, InputError, PolarsFrame
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, SCORING, metric_or_name, read_metric
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.metrics.textbook import NamedMetric, has_textbook_gains

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
    groups: Groups = None
    grades: Grades = None
    zero_based: ZeroBased = False

    def read(self, *, missing: bool) -> tuple[Queries, Queries | None]:
        """Read both on one scale of grades and features; `missing` admits ``nan`` as a value."""
        read = partial(
            dl.read_queries, n_grades=self.grades, zero_based=self.zero_based, missing=missing
        )
        queries = read(self.data, self.groups)
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
    leaves: int = model_row("Boosted trees: leaves of each.", 31, min=2)
    learning_rate: float = model_row("Boosted trees: learning rate.", 0.1)
    patience: int | None = model_row(
        "Boosted trees: with --valid, stop after N without a better value; "
        "default 50, 0 grows all.",
        min=0,
    )
    threads: int | None = scale_row(
        "Boosted trees: threads; by default the processors that are free now.", min=1
    )
    start: Literal["ridge", "ranksvm", "random"] = model_row("Linear models: the start.", "ridge")
    restarts: int = model_row("Linear models: starts, those after the first at random.", 1)
    seed: Seed = 0

    @property
    def objective_name(self) -> str:
        """The objective, or the model's default."""
        return self.objective or ("approx-ndcg" if self.model == "linear" else "reg-shf-sdcg")

    def check(self, *, validated: bool) -> None:
        """Raise InputError if an option does not fit the others."""
        if self.model == "linear":
            if self.threads is not None:
                raise InputError("--threads is for trees: give --model trees, or leave it out")
            return

        # trees
        objective = self.objective_name
        if objective not in LOSSES:
            raise InputError(
                f"--objective {objective} is of linear models; trees take {', '.join(LOSSES)}"
            )
        if self.patience and not validated:
            raise InputError("--patience needs validation data: give --valid, or leave it out")

    def ranker(self, dcg: DCG, *, validated: bool) -> Any:
        """Return the ranker, not fitted."""
        if self.model == "trees":
            return self._trees(dcg, validated)

        # linear models
        if self.objective_name in LOSSES:
            return dl.LinearRanker(
                self._loss(dcg),
                metric=dcg,
                start=self.start,
                n_restarts=self.restarts,
                random_state=self.seed,
            )

        # those with a loss of their own
        if self.objective_name == "rsrank":
            return dl.rankers.SparseRanker(dcg)
        if self.objective_name == "ranksvm":
            return dl.rankers.RankSVMRanker(metric=dcg)
        return dl.rankers.RidgeRanker(dcg)

    def _trees(self, dcg: DCG, validated: bool) -> Any:
        # with validation data, stop after 50 trees without a better value
        patience = self.patience or None
        if self.patience is None and validated:
            patience = 50

        threads: Fields = {} if self.threads is None else {"num_threads": self.threads}
        return dl.BoostedRanker(
            self._loss(dcg),
            metric=dcg,
            patience=patience,
            random_state=self.seed,
            n_trees=self.trees,
            num_leaves=self.leaves,
            learning_rate=self.learning_rate,
            **threads,
        )

    def _loss(self, dcg: DCG) -> Any:
        from dcglearn import losses

        return getattr(losses, LOSSES[self.objective_name])(dcg)


@examples(
    "dcglearn train train.svm --valid valid.svm --metric dcg.json --objective approx-ndcg "
    "--folder model"
)
def train(
    *,
    source: TrainingData,
    folder: Path = first_row("Write the model here.", ..., "--folder", "-o", metavar="FOLDER"),
    options: ModelOptions,
    scale: ScaleOptions,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Train a ranker against a metric: a linear model or boosted trees."""
    from dcglearn.rankers.model_files import refuse_folder

    # refuse options that contradict each other
    refuse_folder(folder, force=force)
    metric_or_name(options.metric, accept=ONLY_DCG)
    objective, validated = options.objective_name, source.valid is not None
    options.check(validated=validated)

    # read the data
    said_now(f"reading: {source.data}", err=True)
    queries, validation = source.read(missing=options.model == "trees")
    data: dict[Any, Queries] = {source.data: queries}
    if validation is not None:
        data[source.valid] = validation

    # the metric on their scale, and the ranker
    name, dcg = _on_scale(options.metric, options.metric, scale, data)
    ranker = options.ranker(dcg, validated=validated)
    read = f"read: {queries}"
    if dry_run:
        would = [f"would train: {ranker}", f"would write: {folder}"]
        typer.echo("\n".join([read, *_unseen_grades(dcg, data), *would]))
        return

    # train
    said = said_now(read, err=as_json)
    if objective in (*LOSSES, "rsrank"):
        ranker.fit(queries, eval_set=validation)
    else:
        ranker.fit(queries)

    # write the model, and report
    ranker.save(folder, force=True)
    if not (said or as_json):
        typer.echo(read)
    print_result(_report(ranker, queries, validation, name, objective), as_json)
    typer.echo(f"wrote: {folder}", err=as_json)


@examples("dcglearn rank model test.svm --format trec --tag mine -o run.txt")
def rank(
    *,
    model: Path = argument_row("A folder that `dcglearn train` wrote.", ..., metavar="MODEL"),
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
    groups: Groups = None,
    zero_based: ZeroBased = False,
    force: Force = False,
) -> None:
    """Score the documents of each query, and judge the ranking where the data have grades."""
    from dcglearn.rankers.model_files import same_numbers
    from dcglearn.reading.trec import is_trec

    check_outputs(output, force=force, inputs=[data, groups, metric])
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
        data,
        groups,
        n_grades=grades,
        zero_based=zero_based,
        missing=ranker.takes_missing,
        n_features=ranker.n_features_in_,
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
    own: DCG, name: str | None, whose: str, scale: ScaleOptions, data: dict[Any, Queries]
) -> Any:
    """Return the metric that judges a ranking, the model's or another; None without grades."""
    if not any(queries.grades.any() for queries in data.values()):
        return None
    if name is not None:
        return _on_scale(name, name, scale, data, own.n_grades)[1]
    # a name has no scale of its own
    return _on_scale(own, whose, scale, data, warn=not has_textbook_gains(own.gains))[1]


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
    if isinstance(metric, NamedMetric):
        longest = max(int(queries.sizes.max(initial=1)) for queries in data.values())
        label = metric.at(longest)
        dcg = read_metric(metric, max(n_grades, *sizes), longest)
        _refuse_grades(dcg, label, data)
        return label, dcg

    # others have a scale of their own
    _refuse_grades(metric, label, data)
    if warn:
        with scale.watched():
            warn_of_scale({label: metric.n_grades}, max(sizes), " with ".join(map(str, data)))
    return label, metric


def _refuse_grades(dcg: DCG, name: str, data: dict[Any, Queries]) -> None:
    for path, queries in data.items():
        top = int(queries.grades.max(initial=0))
        if top >= dcg.n_grades:
            raise InputError(
                f"{path} has grade {top}, but {name} has gains for grades 0..{dcg.n_grades - 1}; "
                "give a metric with as many grades as the labels have, or map it (DCG.map_grades)",
                see="scales",
            )


def _unseen_grades(dcg: DCG, data: dict[Any, Queries]) -> list[str]:
    """Return a note where the data are on the metric's scale but do not reach its top grade."""
    top = max(int(queries.grades.max(initial=0)) for queries in data.values())
    scale = max(queries.n_grades or 1 for queries in data.values())
    if scale != dcg.n_grades or top == scale - 1:
        return []
    return [f"note: grade {scale - 1}, the top of the scale, does not occur; the largest is {top}"]


@dataclass(frozen=True)
class TrainingReport(Finding):
    """How well a trained ranker and least squares rank the data, and how the training went.

    `metric` and `objective` are their names, `values` the mean normalised DCGs by data and model,
    `history` the stages of the training, and `facts` sentences on the model.
    """

    metric: str
    objective: str
    values: dict[str, dict[str, float]]
    history: list[Fields]
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
        """The objective, the stages of the training, and what is in the model."""
        seen = []
        if "validation" not in self.values:
            seen = ["the value is on the training data; --valid FILE measures on other data too"]
        stages = map(_stage_line, self.history)
        return [f"objective: {self.objective}", *seen, *stages, *self.facts]


def _report(
    ranker: Ranker, queries: Queries, held: Queries | None, name: str, objective: str
) -> TrainingReport:
    """Return how well a ranker ranks its training and validation data."""
    from dcglearn.rankers.queries import has_missing

    # values of the model, and of least squares
    data = {"training": queries} | ({} if held is None else {"validation": held})
    values = {kind: {"model": ranker.score(q)} for kind, q in data.items()}
    if not any(has_missing(q.features) for q in data.values()):
        plain = dl.rankers.RidgeRanker(ranker.metric_, reweighted=False).fit(queries)
        for kind, q in data.items():
            values[kind]["ridge"] = plain.score(q)

    # what is in the model
    facts = [f"it was trained for {name}, {ranker.metric_!r}"]
    if hasattr(ranker, "n_trees_"):
        facts.append(f"{ranker.n_trees_} of {ranker.booster_.num_trees()} trees are used")
        facts.append(f"the most important features are {most_important(ranker)}")
    if hasattr(ranker, "features_"):
        facts.append(f"{len(ranker.features_)} of {queries.shape[1]} features remain")
    return TrainingReport(name, objective, values, getattr(ranker, "history_", []), facts)


def _stage_line(row: Fields) -> str:
    """Return the line of a stage of the training."""
    where = f"restart {row['restart'] + 1}, stage {row['stage']}"
    values = f"objective {row['objective']:.4f}, normalised DCG {row['train']:.4f}"
    shown = f", {row['valid']:.4f} on the validation data" if "valid" in row else ""
    return f"{where}: {row['iterations']} iterations, {values}{shown}"
