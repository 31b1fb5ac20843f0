"""Commands that train a ranker against a metric and rank with it: ``dcglearn train``, ``dcglearn
rank``.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from dcglearn.cli.command import (
    examples,
    first_option,
    input_option,
    model_option,
    output_option,
    scale_option,
)
from dcglearn.cli.metric_options import ScaleOptions
from dcglearn.cli.options import (
    AsJson,
    Cluster,
    DryRun,
    Force,
    Grades,
    Groups,
    Output,
    Seed,
    check_outputs,
    said_now,
)
from dcglearn.foundation.files import written_beside
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG
from dcglearn.metric.reading import SCORING, metric_or_name, read_metric
from dcglearn.metric.scales import warn_of_scale
from dcglearn.metric.textbook import MetricName, has_textbook_gains

if TYPE_CHECKING:
    from dcglearn.rankers.queries import Queries
    from dcglearn.rankers.ranker import Ranker

OfLoss = Literal[
    "approx-ndcg", "smooth-ndcg", "sdcg", "shf-sdcg", "reg-shf-sdcg", "softrank", "lambdarank"
]
CLASSES = "ApproxNDCG", "SmoothNDCG", "SDCG", "SHFSDCG", "RegSHFSDCG", "SoftRankNDCG", "LambdaRank"
LOSSES = dict(zip(get_args(OfLoss), CLASSES, strict=True))
"""Methods that train against an objective of `dcglearn.losses`, and its class."""

Method = Literal[OfLoss, "rsrank", "ranksvm", "ridge"]
PATIENCE = 50
"""Trees without a better value on the validation data before the training stops."""

ZeroBased = Annotated[bool, input_option("--zero-based", help="Features are numbered from 0.")]


@dataclass(frozen=True)
class TrainingData:
    """Training and validation data, and how they are read."""

    data: Annotated[
        Path,
        typer.Argument(metavar="TRAIN", help="Svmlight text with qid, also .gz, .xz and .zst."),
    ]
    valid: Annotated[
        Path | None, model_option(help="Validation data, to choose the stage of the training.")
    ] = None
    groups: Groups = None
    valid_groups: Annotated[
        Path | None, input_option(help="Group sizes of the validation data.")
    ] = None
    grades: Grades = None
    features: Annotated[
        int | None, input_option("--features", metavar="D", help="Number of features.")
    ] = None
    zero_based: ZeroBased = False

    def read(self, *, missing: bool) -> tuple[Queries, Queries | None]:
        """Read both on one scale of grades and features; ``nan`` is a missing value if
        `missing`.
        """
        from dcglearn.rankers.svmlight import read_queries

        common: dict[str, Any] = {
            "n_grades": self.grades,
            "zero_based": self.zero_based,
            "missing": missing,
        }
        queries = read_queries(self.data, self.groups, n_features=self.features, **common)
        if self.valid is None:
            return queries, None
        validation = read_queries(
            self.valid, self.valid_groups, n_features=queries.shape[1], **common
        )
        top = max(queries.n_grades or 1, validation.n_grades or 1)
        return replace(queries, n_grades=top), validation


@dataclass(frozen=True)
class ModelOptions:
    """The model, the method and their parameters."""

    metric: Annotated[
        str, first_option(help="Train for this DCG: a file or GAIN-DISCOUNT[@K].")
    ] = "exponential-log2@10"
    model: Annotated[
        Literal["linear", "trees"], first_option(help="Linear or boosted trees (by LightGBM).")
    ] = "linear"
    method: Annotated[
        Method | None,
        first_option(
            help="What to train; by default approx-ndcg for linear models, reg-shf-sdcg for trees."
        ),
    ] = None
    trees: Annotated[int, model_option(min=1, metavar="N", help="Boosted trees: how many.")] = 300
    leaves: Annotated[
        int, model_option(min=2, metavar="N", help="Boosted trees: leaves of each.")
    ] = 31
    learning_rate: Annotated[float, model_option(help="Boosted trees: learning rate.")] = 0.1
    patience: Annotated[
        int | None,
        model_option(
            min=0,
            metavar="N",
            help=f"Boosted trees: with --valid, stop after N without a better value; default {PATIENCE}, 0 grows all.",
        ),
    ] = None
    threads: Annotated[
        int | None,
        scale_option(
            min=1,
            metavar="N",
            help="Boosted trees: threads; by default the processors that are free now.",
        ),
    ] = None
    solver: Annotated[
        Literal["cg", "lbfgs", "sgd"], model_option(help="Linear models: optimiser.")
    ] = "cg"
    start: Annotated[
        Literal["ridge", "ranksvm", "random"], model_option(help="Linear models: the start.")
    ] = "ridge"
    restarts: Annotated[
        int, model_option(help="Linear models: starts, those after the first at random.")
    ] = 1
    l2: Annotated[
        float | None,
        model_option(help="Linear models: penalty on leaving the start; else its own."),
    ] = None
    seed: Seed = 0

    @property
    def method_name(self) -> str:
        """The method, or the model's default."""
        return self.method or ("approx-ndcg" if self.model == "linear" else "reg-shf-sdcg")

    def check(self, *, validated: bool, over_cluster: bool) -> None:
        """Raise InputError if an option does not fit the others."""
        if self.model == "trees":
            if self.method_name not in LOSSES:
                raise InputError(
                    f"--method {self.method_name} is of linear models; trees take {', '.join(LOSSES)}"
                )
            if self.threads is not None and over_cluster:
                raise InputError(
                    "--threads: over a cluster the workers have their own; leave it out"
                )
            if self.patience and not validated:
                raise InputError("--patience needs validation data: give --valid, or leave it out")
        elif over_cluster:
            raise InputError("--workers is for trees: give --model trees, or leave it out")
        elif self.threads is not None:
            raise InputError("--threads is for trees: give --model trees, or leave it out")

    def ranker(self, dcg: DCG, *, validated: bool, over_cluster: bool) -> Any:
        """Return the ranker, not fitted."""
        if self.model == "trees":
            return self._trees(dcg, validated, over_cluster)
        from dcglearn.rankers.linear import LinearRanker
        from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker
        from dcglearn.rankers.sparse import SparseRanker

        penalty: dict[str, Any] = {} if self.l2 is None else {"l2": self.l2}
        if self.method_name in LOSSES:
            options: dict[str, Any] = {
                "solver": self.solver,
                "start": self.start,
                "n_restarts": self.restarts,
            }
            return LinearRanker(self._loss(dcg), metric=dcg, seed=self.seed, **options, **penalty)
        if self.method_name == "rsrank":
            return SparseRanker(dcg)
        return (
            RankSVMRanker(metric=dcg)
            if self.method_name == "ranksvm"
            else RidgeRanker(dcg, **penalty)
        )

    def _trees(self, dcg: DCG, validated: bool, over_cluster: bool) -> Any:
        from dcglearn.rankers.dask_trees import DaskBoostedRanker
        from dcglearn.rankers.trees import BoostedRanker

        kind: Any = DaskBoostedRanker if over_cluster else BoostedRanker
        shape: dict[str, Any] = {
            "n_trees": self.trees,
            "num_leaves": self.leaves,
            "learning_rate": self.learning_rate,
        }
        if self.threads is not None:
            shape["num_threads"] = self.threads
        patience = PATIENCE if self.patience is None and validated else self.patience or None
        return kind(self._loss(dcg), metric=dcg, patience=patience, seed=self.seed, **shape)

    def _loss(self, dcg: DCG) -> Any:
        from dcglearn import losses

        return getattr(losses, LOSSES[self.method_name])(dcg)


@examples(
    "dcglearn train train.svm --valid valid.svm --metric dcg.json --method approx-ndcg -o model"
)
def train(
    source: TrainingData,
    output: Annotated[
        Path, first_option("-o", "--output", metavar="FOLDER", help="Write the model here.")
    ],
    options: ModelOptions,
    scale: ScaleOptions,
    cluster: Cluster,
    resume: Annotated[
        bool, scale_option("--resume", help="Resume a training that was stopped.")
    ] = False,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Train a ranker against a metric: a linear model, or boosted trees, also over a Dask
    cluster.
    """
    from dcglearn.rankers.model_files import CHECKPOINT, refuse_folder

    refuse_folder(output, force=force)
    metric_or_name(options.metric)
    if resume and cluster.engine is not None:
        raise InputError("--resume: trees over a cluster have no checkpoints; leave --resume out")
    if resume and options.method_name not in LOSSES:
        raise InputError(f"--resume: {options.method_name} trains in one piece; leave --resume out")
    where = {"validated": source.valid is not None, "over_cluster": cluster.engine is not None}
    options.check(**where)
    said_now(f"reading: {source.data}", err=True)
    queries, validation = source.read(missing=options.model == "trees")
    data: dict[Any, Queries] = {source.data: queries} | (
        {} if validation is None else {source.valid: validation}
    )
    name, dcg = _metric_on_queries(options.metric, scale, data)
    ranker = options.ranker(dcg, **where)
    if dry_run:
        unseen = _unseen_grades(dcg, data)
        typer.echo(
            "\n".join(
                [f"read: {queries}", *unseen, f"would train: {ranker}", f"would write: {output}"]
            )
        )
        return
    said = said_now(f"read: {queries}", err=as_json)
    checkpoint = output / CHECKPOINT
    method = options.method_name
    if cluster.engine is not None:
        ranker.fit(queries, eval_set=validation, engine=cluster.engine)
    elif method in LOSSES:
        is_new = not resume and not output.exists()
        if is_new:
            output.mkdir()
        try:
            ranker.fit(queries, eval_set=validation, checkpoint=checkpoint, resume=resume)
        except InputError:
            if is_new:
                with contextlib.suppress(OSError):  # a checkpoint is in it
                    output.rmdir()
            raise
    elif method == "rsrank":
        ranker.fit(queries, eval_set=validation)
    else:
        ranker.fit(queries)
    ranker.save(output, force=True)
    checkpoint.unlink(missing_ok=True)
    if not (said or as_json):
        typer.echo(f"read: {queries}")
    _report(ranker, queries, validation, name, as_json)
    typer.echo(f"wrote: {output}", err=as_json)


@examples("dcglearn rank model test.svm --format trec --tag mine -o run.txt")
def rank(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A folder that `dcglearn train` wrote.")
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Svmlight text with qid, also .gz, .xz and .zst.")
    ],
    scale: ScaleOptions,
    output: Output = None,
    form: Annotated[
        Literal["scores", "trec"],
        first_option("--format", help="A score a line, in the order of the data; or a TREC run."),
    ] = "scores",
    tag: Annotated[str, output_option(help="The run's name, its last column.")] = "dcglearn",
    metric: Annotated[
        str | None,
        first_option(
            help="Judge by this metric, a file or GAIN-DISCOUNT[@K], rather than the model's."
        ),
    ] = None,
    grades: Grades = None,
    groups: Groups = None,
    zero_based: ZeroBased = False,
    force: Force = False,
) -> None:
    """Score the documents of each query, and judge the ranking where the data have grades."""
    from dcglearn.evaluation.tables import is_trec
    from dcglearn.rankers.load_ranker import load_ranker
    from dcglearn.rankers.model_files import same_numbers
    from dcglearn.rankers.svmlight import read_queries

    check_outputs(output, force=force, inputs=[data, groups, metric])
    if not tag or tag.split() != [tag]:
        raise InputError(f"--tag {tag!r}: a run's name is one word")
    if form == "trec" and output is not None and not is_trec(output):
        raise InputError(
            f"{output}: a TREC run would be read as a table by this name; give .txt, .trec or .run"
        )
    if metric is not None:
        metric_or_name(metric, accept=SCORING)
    ranker = load_ranker(model)
    how: dict[str, Any] = {
        "n_grades": grades,
        "zero_based": zero_based,
        "missing": ranker.takes_missing,
    }
    queries = read_queries(data, groups, n_features=ranker.n_features_in_, **how)
    judge = _judge(ranker.metric_, metric, f"the metric of {model}", scale, {data: queries})
    scores = ranker.predict(queries)
    lines = (
        run_lines(queries, scores, tag)
        if form == "trec"
        else (f"{score!r}\n" for score in scores.tolist())
    )
    if output is None:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    else:
        with (
            written_beside(output, force=force) as beside,
            beside.open("w", encoding="utf-8") as file,
        ):
            file.writelines(lines)
        typer.echo(f"wrote: {output}", err=True)
    if judge is not None:
        value, n = queries.evaluate(scores, judge).mean(), number_of(len(queries), "queries")
        kind = "DCG" if isinstance(judge, DCG) else "utility"
        typer.echo(f"normalised {kind}: {value:.4f} (mean over {n}, {judge!r})", err=True)
        if not same_numbers(judge, ranker.metric_):
            typer.echo(f"note: the model was trained for {ranker.metric_!r}", err=True)


def run_lines(queries: Queries, scores: Any, tag: str) -> Any:
    """Yield the lines of a TREC run, the best document first; without names, documents are numbered
    as ``QID-1``.
    """
    import numpy as np

    for q, name in enumerate(queries.names):
        start, stop = int(queries.offsets[q]), int(queries.offsets[q + 1])
        for place, row in enumerate(start + np.argsort(-scores[start:stop], kind="stable"), 1):
            document = (
                queries.documents[row]
                if queries.documents is not None
                else f"{name}-{row - start + 1}"
            )
            yield f"{name} Q0 {document} {place} {float(scores[row])!r} {tag}\n"


def _metric_on_queries(
    name: str,
    scale: ScaleOptions,
    data: dict[Any, Queries],
    n_grades: int = 1,
    accept: Sequence[type] = (DCG,),
) -> tuple[str, Any]:
    """Return the name and the metric of a file, mapped, or of a name, as deep as the longest list
    if it has no K.
    """
    metric = metric_or_name(name, accept=accept)
    if not isinstance(metric, MetricName):
        return name, _on_scale(metric, name, scale, data)
    scale.mapped({})
    longest = max(int(queries.sizes.max(initial=1)) for queries in data.values())
    size = max(n_grades, *(queries.n_grades or 1 for queries in data.values()))
    dcg = read_metric(metric, size, longest)
    _refuse_grades(dcg, metric.at(longest), data)
    return metric.at(longest), dcg


def _judge(
    own: DCG, name: str | None, whose: str, scale: ScaleOptions, data: dict[Any, Queries]
) -> Any:
    """Return the metric that judges a ranking, the model's `own` or a named one; None for data
    without grades.
    """
    if not any(queries.grades.any() for queries in data.values()):
        return None
    if name is not None:
        return _metric_on_queries(name, scale, data, own.n_grades, SCORING)[1]
    return _on_scale(
        own, whose, scale, data, warn=not has_textbook_gains(own.gains)
    )  # a name has no scale of its own


def _on_scale(
    metric: Any, name: str, scale: ScaleOptions, data: dict[Any, Queries], *, warn: bool = True
) -> Any:
    """Return a metric mapped to the grades of the data; if asked, warn of one with more grades."""
    mapped = scale.mapped({name: metric})[name]
    _refuse_grades(mapped, name, data)
    if warn:
        size = max(queries.n_grades or 1 for queries in data.values())
        with scale.watched():
            warn_of_scale({name: mapped.n_grades}, size, " with ".join(map(str, data)))
    return mapped


def _refuse_grades(dcg: DCG, name: str, data: dict[Any, Queries]) -> None:
    for path, queries in data.items():
        top = int(queries.grades.max(initial=0))
        if top >= dcg.n_grades:
            raise InputError(
                f"{path} has grade {top}, but {name} has gains for grades 0..{dcg.n_grades - 1}; give a metric with as "
                "many grades as the labels have, or --map-grades",
                see="scales",
            )


def _unseen_grades(dcg: DCG, data: dict[Any, Queries]) -> list[str]:
    """Return a note where the data are on the metric's scale but do not reach its top grade."""
    top = max(int(queries.grades.max(initial=0)) for queries in data.values())
    scale = max(queries.n_grades or 1 for queries in data.values())
    same = scale == dcg.n_grades and top < scale - 1
    return (
        [f"note: grade {scale - 1}, the top of the scale, does not occur; the largest is {top}"]
        if same
        else []
    )


def _report(
    ranker: Ranker, queries: Queries, held: Queries | None, name: str, as_json: bool
) -> None:
    from dcglearn.rankers.linear_model import RidgeRanker
    from dcglearn.rankers.queries import has_missing

    rows = {"training": queries} | ({} if held is None else {"validation": held})
    values = {kind: {"model": ranker.score(q)} for kind, q in rows.items()}
    if not any(has_missing(q.features) for q in rows.values()):
        plain = RidgeRanker(ranker.metric_, reweighted=False).fit(queries)
        for kind, q in rows.items():
            values[kind]["ridge"] = plain.score(q)
    history = getattr(ranker, "history_", [])
    if as_json:
        typer.echo(
            json.dumps({"metric": name, "values": values, "history": history}, allow_nan=False)
        )
        return
    typer.echo(f"metric: {name}, {ranker.metric_!r}")
    for row in history:
        shown = f", {row['valid']:.4f} on the validation data" if "valid" in row else ""
        typer.echo(
            f"restart {row['restart'] + 1}, stage {row['stage']}: {row['iterations']} iterations, objective "
            f"{row['objective']:.4f}, normalised DCG {row['train']:.4f}{shown}"
        )
    if hasattr(ranker, "n_trees_"):
        typer.echo(f"trees: {ranker.n_trees_} of {ranker.booster_.num_trees()} are used")
        typer.echo(
            "important: " + ", ".join(f"{name} {share:.0%}" for name, share in ranker.important(5))
        )
    if hasattr(ranker, "features_"):
        typer.echo(f"features: {len(ranker.features_)} of {queries.shape[1]} remain")
    for kind, value in values.items():
        least_squares = f" (least squares: {value['ridge']:.4f})" if "ridge" in value else ""
        typer.echo(f"normalised DCG on the {kind} data: {value['model']:.4f}{least_squares}")
