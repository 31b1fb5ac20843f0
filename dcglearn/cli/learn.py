"""``dcglearn learn``: a log in, a DCG out, with a report."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcglearn.cli import log_options
from dcglearn.cli.options import Force, Grades, check_outputs, is_file
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcglearn.cli.report import Report
    from dcglearn.logs.parts import PartedLog
    from dcglearn.logs.preferences import Preferences

commands = typer.Typer()


class Method(StrEnum):
    """How to learn."""

    DCG = "dcg"
    QP = "qp"


class Loss(StrEnum):
    """What a violated pair costs."""

    AUTO = "auto"
    ROBUST = "robust"
    LOGISTIC = "logistic"
    RAMP = "ramp"
    SQUARED_HINGE = "squared_hinge"


class Margin(StrEnum):
    """By how much the preferred list should win."""

    UNIT = "unit"
    HAMMING = "hamming"
    LOG = "log"


class HoldOutBy(StrEnum):
    """What is held out whole."""

    PAIR = "pair"
    RATER = "rater"
    QUERY = "query"
    LIST = "list"


@commands.command(
    epilog="Examples: dcglearn learn side_by_side.jsonl -o dcg.json --holdout 0.3 --plot dcg.png    "
    "dcglearn learn few.jsonl --prior exponential-log2 --bands 200    "
    "dcglearn learn --ratings satisfaction.jsonl -o dcg.json    zcat log.jsonl.gz | dcglearn learn - > dcg.json    "
    "dcglearn learn logs/*.parquet --memory 2GB --checkpoint fit.checkpoint    dcglearn learn logs/ --workers 4"
)
def learn(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="JSON lines, CSV, TSV or Parquet, also .gz and .zst; - reads standard input. Or many Parquet files.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the DCG here; without it, to standard output.")
    ] = None,
    ratings: Annotated[bool, typer.Option("--ratings", help="The log holds rated lists rather than pairs.")] = False,
    equal_groups: Annotated[
        bool, typer.Option("--equal-groups", help="With --ratings: each group counts once.")
    ] = False,
    method: Annotated[
        Method, typer.Option(help="Gains and discounts directly (dcg), or the paper's QP, factored by SVD (qp).")
    ] = Method.DCG,
    loss: Annotated[Loss, typer.Option(help="dcg: auto estimates how often judges err (robust).")] = Loss.AUTO,
    ridge: Annotated[float | None, typer.Option(help="dcg: strength of the prior for smooth curves.")] = None,
    prior: Annotated[
        str | None, typer.Option(metavar="METRIC", help="dcg: shrink to this file or GAIN-DISCOUNT; for small logs.")
    ] = None,
    bands: Annotated[
        int, typer.Option(min=0, metavar="N", help="dcg: standard errors and 90% bands from N bootstrap samples.")
    ] = 0,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Show what the log pins down: ranges over all DCGs that respect it.")
    ] = False,
    C: Annotated[
        str | None,
        typer.Option("--C", metavar="NUMBER|auto", help="qp: weight of violated pairs (1); auto validates 1e-5..1e5."),
    ] = None,
    margin: Annotated[Margin, typer.Option(help="qp: by how much the preferred list should win.")] = Margin.UNIT,
    monotone: Annotated[
        bool,
        typer.Option("--monotone/--no-monotone", help="qp: whether a better grade must be worth at least as much."),
    ] = True,
    tie_epsilon: Annotated[
        float | None, typer.Option(help="qp: use ties, which ask for a difference of at most this.")
    ] = None,
    grades: Grades = None,
    scale: Annotated[
        str | None, typer.Option(help="Grade names, worst first: Bad,Fair,Good,Excellent,Perfect.")
    ] = None,
    depth: Annotated[int | None, typer.Option(metavar="K", help="Cut lists to K positions.")] = None,
    pad: Annotated[bool, typer.Option("--pad", help='Fill short lists with "no grade".')] = False,
    skip_bad: Annotated[Path | None, typer.Option(metavar="FILE", help="Put bad lines into FILE and go on.")] = None,
    holdout: Annotated[float | None, typer.Option(metavar="SHARE", help="Measure on this share, held out.")] = None,
    holdout_by: Annotated[
        HoldOutBy | None, typer.Option(help="What is held out whole; by default pair, for ratings rater or list.")
    ] = None,
    current: Annotated[
        str, typer.Option(metavar="METRIC", help="With --holdout: the metric used now, to compare with.")
    ] = "exponential-log2",
    seed: Annotated[int, typer.Option(help="Of splits, folds and bootstrap.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw gains and discounts here (.png, .pdf, .svg).")] = None,
    memory: log_options.Memory = None,
    workers: log_options.Workers = None,
    dask: log_options.Scheduler = None,
    checkpoint: log_options.CheckpointFile = None,
    resume: log_options.Resume = False,
    utility: Annotated[Path | None, typer.Option(help="Write the K x L utility W here too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and check everything; learn and write nothing.")
    ] = False,
    force: Force = False,
) -> None:
    """Learn gains and discounts from a log of preferences, with a proof and plain words."""
    check_outputs(output, plot, utility, skip_bad, force=force, picture=plot)
    settings = _settings(method, loss, ridge, C, margin, monotone, tie_epsilon)
    if bands and method is not Method.DCG:
        raise InputError("--bands goes with --method dcg")
    names = None if scale is None else [name.strip() for name in scale.split(",")]
    outputs = [path for path in (output, plot, utility) if path is not None]
    asked = log_options.Asked(
        log, memory, workers, dask, {"n_grades": grades, "depth": depth, "pad": pad, "scale": names}
    )
    if asked.in_parts:
        asked.refuse(
            ratings=ratings, skip_bad=skip_bad, holdout=holdout, bands=bands, ranges=ranges, C_auto=C == "auto"
        )
    if dry_run:
        with tempfile.TemporaryDirectory() as folder:
            aside = None if skip_bad is None else Path(folder) / skip_bad.name
            with _opened(asked, ratings, aside, equal_groups) as found:
                _dry_run(found, outputs)
        return
    with _opened(asked, ratings, skip_bad, equal_groups) as found:
        report = _learned(
            found,
            settings,
            prior,
            method=method.value,
            holdout=holdout,
            by=_held_out_whole(holdout_by, ratings, found),
            current=current,
            bands=bands,
            ranges=ranges,
            seed=seed,
            checkpoint=checkpoint,
            resume=resume,
        )
    if plot is not None:
        from dcglearn.plots import save_figure

        save_figure(report.figure(), plot, force=force)
    if utility is not None:
        report.utility.save(utility, force=force)
    if output is not None:
        report.dcg.save(output, force=force)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), allow_nan=False))
    elif output is None:
        typer.echo(json.dumps(report.dcg.to_dict(), allow_nan=False))
    written = [f"wrote: {path}" for path in [*outputs, *([skip_bad] if skip_bad and skip_bad.exists() else [])]]
    typer.echo("\n".join([str(report), "", *written]).rstrip(), err=as_json or output is None)


def _settings(
    method: Method,
    loss: Loss,
    ridge: float | None,
    C: str | None,
    margin: Margin,
    monotone: bool,
    tie_epsilon: float | None,
) -> dict[str, Any]:
    """Return the learner's parameters; refuse those of the other method."""
    asked = {
        "--C": C is not None,
        "--margin": margin is not Margin.UNIT,
        "--no-monotone": not monotone,
        "--tie-epsilon": tie_epsilon is not None,
    }
    if method is Method.DCG:
        wrong = [name for name, given in asked.items() if given]
        if wrong:
            raise InputError(f"{wrong[0]} goes with --method qp")
        return {"loss": loss.value, **({} if ridge is None else {"ridge": ridge})}
    if loss is not Loss.AUTO or ridge is not None:
        raise InputError("--loss and --ridge go with --method dcg")
    return {
        "C": 1.0 if C is None else _number_or_auto(C),
        "margin": margin.value,
        "monotone": monotone,
        "tie_epsilon": tie_epsilon,
    }


def _number_or_auto(C: str) -> float | str:
    if C == "auto":
        return C
    try:
        return float(C)
    except ValueError as error:
        raise InputError(f"--C {C}: give a positive number, or auto") from error


def _metric(name: str, log: Preferences | PartedLog) -> DCG:
    """Return the metric called so on the log's scale."""
    return DCG.load(name) if is_file(name) else DCG.from_name(name, log.n_grades, log.depth)


def _learned(
    log: Preferences | PartedLog, settings: dict[str, Any], prior: str | None, *, current: str, **options: Any
) -> Report:
    from dcglearn.cli.report import learn_report

    if prior is not None:
        if options["method"] != Method.DCG.value:
            raise InputError("--prior goes with --method dcg")
        settings = {**settings, "prior": _metric(prior, log)}
    now = current if not is_file(current) else _metric(current, log)
    return learn_report(log, current=now, progress=sys.stderr.isatty(), **options, **settings)


@contextlib.contextmanager
def _opened(
    asked: log_options.Asked, ratings: bool, skip_bad: Path | None, equal_groups: bool
) -> Iterator[Preferences | PartedLog]:
    if asked.in_parts:
        with asked.opened() as found:
            yield found
    else:
        yield read_log(asked.paths[0], ratings, skip_bad, equal_groups, asked.reading)


def read_log(
    path: str, ratings: bool, skip_bad: Path | None, equal_groups: bool, reading: dict[str, Any]
) -> Preferences:
    """Read a log of preferences, or of ratings, into memory."""
    from dcglearn.logs.ratings import read_ratings
    from dcglearn.logs.readers import read_preferences

    if ratings:
        return read_ratings(path, skip_bad=skip_bad, equal_groups=equal_groups, **reading)
    if equal_groups:
        raise InputError("--equal-groups goes with --ratings")
    return read_preferences(path, skip_bad=skip_bad, **reading)


def _held_out_whole(asked: HoldOutBy | None, ratings: bool, log: Preferences | PartedLog) -> str:
    """Return what to hold out whole: rated lists stand in many pairs, so a split by pair would leak them."""
    if asked is not None:
        return asked.value
    if not ratings:
        return "pair"
    return "list" if getattr(log, "rater", None) is None else "rater"


def _dry_run(log: Preferences | PartedLog, outputs: list[Path]) -> None:
    from dcglearn.cli.report import describe

    dropped = [f"left out: {count:,} {reason}" for reason, count in log.dropped.items() if count]
    would = [f"would write: {path}" for path in outputs] or ["would write: the DCG to standard output"]
    typer.echo("\n".join([*describe(log), *dropped, str(log.visible()), *would]))
