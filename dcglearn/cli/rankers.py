"""The commands that train a ranker against a metric, and rank with it: `dcglearn train`, `dcglearn rank`."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcglearn.cli.log_options import Scheduler, Workers, engine_of
from dcglearn.foundation.files import refuse_existing, written_beside
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    from dcglearn.rankers.queries import Queries
    from dcglearn.rankers.ranker import Ranker

commands = typer.Typer(rich_markup_mode=None)

LOSSES = {
    "approx-ndcg": "ApproxNDCG",
    "smooth-ndcg": "SmoothNDCG",
    "sdcg": "SDCG",
    "shf-sdcg": "SHFSDCG",
    "reg-shf-sdcg": "RegSHFSDCG",
    "softrank": "SoftRankNDCG",
    "lambdarank": "LambdaRank",
}


class TrainMethod(StrEnum):
    """What to train."""

    APPROX_NDCG = "approx-ndcg"
    SMOOTH_NDCG = "smooth-ndcg"
    SDCG = "sdcg"
    SHF_SDCG = "shf-sdcg"
    REG_SHF_SDCG = "reg-shf-sdcg"
    SOFTRANK = "softrank"
    LAMBDARANK = "lambdarank"
    RSRANK = "rsrank"
    RANKSVM = "ranksvm"
    RIDGE = "ridge"


class Model(StrEnum):
    """What scores documents."""

    LINEAR = "linear"
    TREES = "trees"


class Solver(StrEnum):
    """How to climb."""

    CG = "cg"
    LBFGS = "lbfgs"
    SGD = "sgd"


class Start(StrEnum):
    """Where to begin."""

    RIDGE = "ridge"
    RANKSVM = "ranksvm"
    RANDOM = "random"


class RankFormat(StrEnum):
    """What to write."""

    SCORES = "scores"
    TREC = "trec"


Groups = Annotated[
    Path | None, typer.Option(help="Group sizes of data without qid; by default NAME.query beside the data.")
]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="Features are numbered from 0.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


@commands.command(
    epilog="Example: dcglearn train train.svm --valid valid.svm --metric dcg.json --method approx-ndcg -o model"
)
def train(
    data: Annotated[Path, typer.Argument(metavar="TRAIN", help="Svmlight text with qid, also .gz, .xz and .zst.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Write the model here.")],
    valid: Annotated[Path | None, typer.Option(help="Data that choose between stages of the training.")] = None,
    metric: Annotated[
        str, typer.Option(help="The DCG to train against: a file, or GAIN-DISCOUNT[@K].")
    ] = "exponential-log2@10",
    model: Annotated[Model, typer.Option(help="A linear model, or boosted trees (needs LightGBM).")] = Model.LINEAR,
    method: Annotated[
        TrainMethod | None,
        typer.Option(help="What to train; by default approx-ndcg for linear models, reg-shf-sdcg for trees."),
    ] = None,
    trees: Annotated[int, typer.Option(min=1, metavar="N", help="Of boosted trees: how many.")] = 300,
    leaves: Annotated[int, typer.Option(min=2, metavar="N", help="Of boosted trees: leaves of each.")] = 31,
    learning_rate: Annotated[float, typer.Option(help="Of boosted trees.")] = 0.1,
    patience: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Of trees: stop after N without a better value.")
    ] = None,
    solver: Annotated[Solver, typer.Option(help="How to climb.")] = Solver.CG,
    start: Annotated[Start, typer.Option(help="Where to begin.")] = Start.RIDGE,
    restarts: Annotated[int, typer.Option(help="Starts, those after the first at random.")] = 1,
    l2: Annotated[float | None, typer.Option(help="Pull to the start; the method's own without it.")] = None,
    groups: Groups = None,
    valid_groups: Annotated[Path | None, typer.Option(help="Group sizes of the validation data.")] = None,
    grades: Annotated[int | None, typer.Option("--grades", metavar="L", help="Number of grades.")] = None,
    features: Annotated[int | None, typer.Option("--features", metavar="D", help="Number of features.")] = None,
    zero_based: ZeroBased = False,
    seed: Annotated[int, typer.Option(help="Of random starts and shuffles.")] = 0,
    workers: Workers = None,
    dask: Scheduler = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was stopped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and check everything; train nothing.")] = False,
    force: Force = False,
) -> None:
    """Train a ranker against a metric: a linear model, or boosted trees, also over a Dask cluster."""
    from dcglearn.rankers.model_files import refuse_folder

    refuse_folder(output, force=force)
    queries, held = _both(data, groups, valid, valid_groups, grades, features, zero_based)
    dcg = _metric(metric, queries.n_grades or 1)
    _refuse_grades(dcg, metric, {data: queries, valid: held})
    engine = engine_of(workers, dask)
    where: dict[str, Any] = {} if engine is None else {"engine": engine}
    if where and model is Model.LINEAR:
        raise InputError("--workers and --dask are for trees: give --model trees, or leave them out")
    if model is Model.TREES:
        method = method or TrainMethod.REG_SHF_SDCG
        shape = {"n_trees": trees, "num_leaves": leaves, "learning_rate": learning_rate, "patience": patience}
        ranker = _trees(method, dcg, {**shape, "seed": seed}, spread=bool(where))
    else:
        method = method or TrainMethod.APPROX_NDCG
        ranker = _ranker(method, dcg, solver=solver.value, start=start.value, n_restarts=restarts, seed=seed, l2=l2)
    if dry_run:
        typer.echo("\n".join([f"read: {queries}", f"would train: {ranker}", f"would write: {output}"]))
        return
    checkpoint = output / ("checkpoint.npz" if model is Model.LINEAR else "checkpoint.json")
    if method.value in LOSSES:
        if not resume:
            output.mkdir(exist_ok=True)
        ranker.fit(queries, eval_set=held, checkpoint=checkpoint, resume=resume, **where)
    elif resume:
        raise InputError(f"--resume: {method.value} trains in one piece; leave --resume out")
    elif method is TrainMethod.RSRANK:
        ranker.fit(queries, eval_set=held)
    else:
        ranker.fit(queries)
    ranker.save(output, force=True)
    checkpoint.unlink(missing_ok=True)
    _report(ranker, queries, held, metric, as_json)
    typer.echo(f"wrote: {output}", err=as_json)


@commands.command(epilog="Example: dcglearn rank model test.svm --format trec --tag mine -o run.txt")
def rank(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `dcglearn train` wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Svmlight text with qid, also .gz, .xz and .zst.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write here; else to standard output.")] = None,
    form: Annotated[
        RankFormat, typer.Option("--format", help="A score a line, in the order of the data; or a TREC run.")
    ] = RankFormat.SCORES,
    tag: Annotated[str, typer.Option(help="The run's name, its last column.")] = "dcglearn",
    metric: Annotated[
        str | None, typer.Option(help="Judge by this DCG, a file or GAIN-DISCOUNT[@K], rather than the model's.")
    ] = None,
    groups: Groups = None,
    zero_based: ZeroBased = False,
    force: Force = False,
) -> None:
    """Score the documents of each query, and judge the ranking where the data have grades."""
    from dcglearn.rankers.model_files import load_ranker, same_numbers
    from dcglearn.rankers.svmlight import read_queries

    if output is not None:
        refuse_existing(output, force=force)
    if not tag or tag.split() != [tag]:
        raise InputError(f"--tag {tag!r}: a run's name is one word")
    ranker = load_ranker(model)
    queries = read_queries(data, groups, n_features=ranker.n_features_in_, zero_based=zero_based)
    scores = ranker.predict(queries)
    lines = (
        (f"{score!r}\n" for score in scores.tolist()) if form is RankFormat.SCORES else run_lines(queries, scores, tag)
    )
    if output is None:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    else:
        with written_beside(output, force=force) as beside, beside.open("w", encoding="utf-8") as file:
            file.writelines(lines)
        typer.echo(f"wrote: {output}", err=True)
    if queries.grades.any():
        judge = ranker.metric_ if metric is None else _metric(metric, ranker.metric_.n_grades)
        _refuse_grades(judge, metric or f"the metric of {model}", {data: queries})
        value = queries.evaluate(scores, judge).mean()
        typer.echo(f"normalised DCG: {value:.4f} (mean over {len(queries)} queries, {judge!r})", err=True)
        if not same_numbers(judge, ranker.metric_):
            typer.echo(f"note: the model was trained for {ranker.metric_!r}", err=True)


def run_lines(queries: Queries, scores: Any, tag: str) -> Any:
    """Yield the lines of a TREC run, the best document first; without names, documents are numbered as ``QID-1``."""
    import numpy as np

    for q, name in enumerate(queries.names):
        start, stop = int(queries.offsets[q]), int(queries.offsets[q + 1])
        for place, row in enumerate(start + np.argsort(-scores[start:stop], kind="stable"), 1):
            document = queries.documents[row] if queries.documents is not None else f"{name}-{row - start + 1}"
            yield f"{name} Q0 {document} {place} {float(scores[row])!r} {tag}\n"


def _both(
    data: Path,
    groups: Path | None,
    valid: Path | None,
    valid_groups: Path | None,
    n_grades: int | None,
    n_features: int | None,
    zero_based: bool,
) -> tuple[Queries, Queries | None]:
    """Read training and validation data on one scale of grades and features."""
    from dataclasses import replace

    from dcglearn.rankers.svmlight import read_queries

    queries = read_queries(data, groups, n_grades=n_grades, n_features=n_features, zero_based=zero_based)
    if valid is None:
        return queries, None
    held = read_queries(valid, valid_groups, n_grades=n_grades, n_features=queries.shape[1], zero_based=zero_based)
    top = max(queries.n_grades or 1, held.n_grades or 1)
    return replace(queries, n_grades=top), held


def _metric(name: str, n_grades: int) -> DCG:
    return DCG.load(name) if Path(name).exists() or name.endswith(".json") else DCG.from_name(name, n_grades)


def _refuse_grades(dcg: DCG, name: str, data: dict[Any, Queries | None]) -> None:
    for path, queries in data.items():
        top = -1 if queries is None else int(queries.grades.max(initial=0))
        if top >= dcg.n_grades:
            raise InputError(
                f"{path} has grade {top}, but {name} has gains for grades 0..{dcg.n_grades - 1}; "
                "give a metric with as many grades as the labels have"
            )


def _ranker(method: TrainMethod, dcg: DCG, l2: float | None, **options: Any) -> Any:
    """Return the ranker of a method; options that it does not know are those of linear ones."""
    from importlib import import_module

    if method.value in LOSSES:
        loss = getattr(import_module("dcglearn.losses"), LOSSES[method.value])(dcg)
        if l2 is not None:
            options["l2"] = l2
        return import_module("dcglearn.rankers.linear").LinearRanker(loss, metric=dcg, **options)
    if method is TrainMethod.RSRANK:
        return import_module("dcglearn.rankers.sparse").SparseRanker(dcg)
    baselines = import_module("dcglearn.rankers.baselines")
    if method is TrainMethod.RANKSVM:
        return baselines.RankSVMRanker(metric=dcg)
    return baselines.RidgeRanker(dcg) if l2 is None else baselines.RidgeRanker(dcg, l2=l2)


def _trees(method: TrainMethod, dcg: DCG, settings: dict[str, Any], spread: bool) -> Any:
    from importlib import import_module

    if method.value not in LOSSES:
        raise InputError(f"--method {method.value} is of linear models; trees take {', '.join(LOSSES)}")
    loss = getattr(import_module("dcglearn.losses"), LOSSES[method.value])(dcg)
    if spread:
        return import_module("dcglearn.rankers.dask_trees").DaskBoostedRanker(loss, metric=dcg, **settings)
    return import_module("dcglearn.rankers.trees").BoostedRanker(loss, metric=dcg, **settings)


def _report(ranker: Ranker, queries: Queries, held: Queries | None, name: str, as_json: bool) -> None:
    from dcglearn.rankers.baselines import RidgeRanker

    plain = RidgeRanker(ranker.metric_, reweighted=False).fit(queries)
    rows = {"training": queries} | ({} if held is None else {"validation": held})
    values = {kind: {"model": ranker.score(q), "ridge": plain.score(q)} for kind, q in rows.items()}
    history = getattr(ranker, "history_", [])
    if as_json:
        typer.echo(json.dumps({"metric": name, "values": values, "history": history}, allow_nan=False))
        return
    typer.echo(f"read: {queries}\nmetric: {name}, {ranker.metric_!r}")
    for row in history:
        shown = f", {row['valid']:.4f} on the validation data" if "valid" in row else ""
        typer.echo(
            f"restart {row['restart'] + 1}, stage {row['stage']}: {row['iterations']} iterations, objective "
            f"{row['objective']:.4f}, normalised DCG {row['train']:.4f}{shown}"
        )
    if hasattr(ranker, "n_trees_"):
        typer.echo(f"trees: {ranker.n_trees_} of {ranker.booster_.num_trees()} are used")
    if hasattr(ranker, "features_"):
        typer.echo(f"features: {len(ranker.features_)} of {queries.shape[1]} remain")
    for kind, value in values.items():
        typer.echo(f"normalised DCG on the {kind} data: {value['model']:.4f} (least squares: {value['ridge']:.4f})")
