"""The command line: results to standard output, words to standard error, exit status 2 for bad input."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcglearn import cli_evaluate, cli_letor, cli_logs, cli_metrics, cli_rankers
from dcglearn.foundation.files import refuse_existing
from dcglearn.foundation.validation import InputError
from dcglearn.foundation.version import __version__
from dcglearn.metric.dcg import DCG
from dcglearn.plots import refuse_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from dcglearn.logs.parts import PartedLog
    from dcglearn.logs.preferences import Preferences
    from dcglearn.report import Report

app = typer.Typer(
    name="dcglearn",
    help="Learn the gains and discounts of DCG from what people preferred.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(cli_evaluate.commands)
app.add_typer(cli_metrics.commands)
app.add_typer(cli_rankers.commands)
app.add_typer(cli_letor.commands)


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


class Lists(StrEnum):
    """How simulated lists are made."""

    PERMUTATIONS = "permutations"
    FREE = "free"


Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Grades = Annotated[
    int | None, typer.Option("--grades", metavar="L", help="Number of grades; by default the largest seen plus 1.")
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dcglearn {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn the gains and discounts of DCG from what people preferred."""


@app.command(
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
    memory: cli_logs.Memory = None,
    workers: cli_logs.Workers = None,
    dask: cli_logs.Scheduler = None,
    checkpoint: cli_logs.CheckpointFile = None,
    resume: cli_logs.Resume = False,
    utility: Annotated[Path | None, typer.Option(help="Write the K x L utility W here too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and check everything; learn and write nothing.")
    ] = False,
    force: Force = False,
) -> None:
    """Learn gains and discounts from a log of preferences, with a proof and plain words."""
    _check_outputs(output, plot, utility, skip_bad, force=force, picture=plot)
    settings = _settings(method, loss, ridge, C, margin, monotone, tie_epsilon)
    if bands and method is not Method.DCG:
        raise InputError("--bands goes with --method dcg")
    names = None if scale is None else [name.strip() for name in scale.split(",")]
    outputs = [path for path in (output, plot, utility) if path is not None]
    asked = cli_logs.Asked(log, memory, workers, dask, {"n_grades": grades, "depth": depth, "pad": pad, "scale": names})
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


@app.command(
    epilog="Examples: dcglearn ask candidates.jsonl --log log.jsonl -n 5 -o questions.jsonl    "
    "dcglearn ask --log log.jsonl -n 5    (candidates made from the log's own mix of grades)"
)
def ask(
    candidates: Annotated[
        str | None,
        typer.Argument(metavar="[CANDIDATES]", help="Pairs that could be judged, as a log with winner open; or none."),
    ] = None,
    log: Annotated[
        str | None, typer.Option(metavar="LOG", help="What was judged so far; none at the beginning.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many pairs to ask for.")] = 5,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the questions here; else to standard output.")
    ] = None,
    grades: Grades = None,
    scale: Annotated[
        str | None, typer.Option(help="Grade names, worst first: Bad,Fair,Good,Excellent,Perfect.")
    ] = None,
    depth: Annotated[int | None, typer.Option(metavar="K", help="Cut lists to K positions.")] = None,
    generate: Annotated[
        int, typer.Option(min=2, metavar="N", help="Without CANDIDATES: how many lists to make and pair.")
    ] = 200,
    seed: Annotated[int, typer.Option(help="Of the lists made.")] = 0,
    force: Force = False,
) -> None:
    """Ask which pairs of lists to judge next: the answers that would teach most.

    Fill in winner (a, b or tie) and append the lines to the log; those left open are no judgements.
    """
    _check_outputs(output, force=force)
    names = None if scale is None else [name.strip() for name in scale.split(",")]
    reading = {"n_grades": grades, "depth": depth, "pad": False, "scale": names}
    judged = None if log is None else _read(log, False, None, False, reading)
    from dcglearn.learning.next_pairs import generated_lists, suggest_pairs
    from dcglearn.logs.readers import read_questions

    if candidates is not None:
        pool: ArrayLike = read_questions(candidates, grades, depth=depth, scale=names)
    elif judged is not None:
        pool = generated_lists(judged, generate, seed=seed)
    else:
        raise InputError(
            "nothing to choose from: give a file of CANDIDATES, or --log to make lists with its mix of grades"
        )
    questions = suggest_pairs(judged, pool, n, n_grades=grades, seed=seed)
    if output is None:
        typer.echo(questions.to_polars().write_ndjson(), nl=False)
        return
    questions.save(output, force=force)
    typer.echo(f"wrote: {output} ({len(questions)} questions; fill in winner and append them to the log)", err=True)


@app.command(epilog="Examples: dcglearn show dcg.json    dcglearn show dcg.json exponential-log2@10 --plot both.png")
def show(
    metrics: Annotated[list[str], typer.Argument(metavar="METRIC...", help="Files, or names GAIN-DISCOUNT[@K].")],
    grades: Grades = None,
    plot: Annotated[Path | None, typer.Option(help="Draw gains and discounts here (.png, .pdf, .svg).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    force: Force = False,
) -> None:
    """Show gains and discounts of one or several DCGs."""
    _check_outputs(plot, force=force, picture=plot)
    found = load_metrics(metrics, grades)
    for name, dcg in found.items():
        if as_json:
            typer.echo(json.dumps({"name": name, **dcg.to_dict()}, allow_nan=False))
        else:
            notes = [f"- {note}" for note in dcg.notes]
            typer.echo("\n".join([name, dcg.table(), *notes, ""]))
    if plot is not None:
        from dcglearn.plots import dcg_figure, save_figure

        save_figure(dcg_figure(found), plot, force=force)
        typer.echo(f"wrote: {plot}", err=True)


@app.command(epilog="Example: dcglearn simulate --pairs 400 --flips 40 --raters 8 -o log.jsonl --truth-file truth.json")
def simulate(
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the log here (.jsonl, .parquet); else to standard output."),
    ] = None,
    truth: Annotated[
        str, typer.Option(help="D1 (gains 1..L), D2 (gains 2^l - 1), both over log; or a DCG's file or name.")
    ] = "D1",
    pairs: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 200,
    lists: Annotated[
        Lists, typer.Option(help="Permutations of one multiset of grades, or free lists.")
    ] = Lists.PERMUTATIONS,
    flips: Annotated[int, typer.Option(min=0, help="Number of pairs whose verdict is flipped.")] = 0,
    temperature: Annotated[float, typer.Option(min=0.0, help="Logistic noise of the judge, in units of DCG.")] = 0.0,
    tie_below: Annotated[float, typer.Option(min=0.0, help="Differences up to this become ties.")] = 0.0,
    raters: Annotated[int | None, typer.Option(min=1, help="Spread the pairs over this many raters.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Spread the pairs over this many queries.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same log.")] = 0,
    truth_file: Annotated[Path | None, typer.Option(help="Write the true DCG here.")] = None,
    force: Force = False,
) -> None:
    """Write a log of preferences whose true DCG is known."""
    _check_outputs(output, truth_file, force=force)
    from dcglearn.simulate import ground_truth, preference_pairs

    dcg = ground_truth(truth) if truth in ("D1", "D2") else load_metrics([truth])[truth]
    log = preference_pairs(
        dcg,
        pairs,
        lists=lists.value,
        n_flips=flips,
        temperature=temperature,
        tie_below=tie_below,
        n_raters=raters,
        n_queries=queries,
        seed=seed,
    )
    if truth_file is not None:
        dcg.save(truth_file, force=force)
    if output is None:
        typer.echo(log.to_polars().write_ndjson(), nl=False)
        return
    log.save(output, force=force)
    typer.echo(f"wrote: {output} ({log})", err=True)


def load_metrics(names: list[str], n_grades: int | None = None) -> dict[str, DCG]:
    """Return the DCGs named: files, or textbook names, which take the files' number of grades (5 if there is none).

    Raises
    ------
    InputError
        If a name is neither a file that holds a DCG nor ``GAIN-DISCOUNT[@K]``.
    """
    files = {name: DCG.load(name) for name in names if _is_file(name)}
    if n_grades is None:
        n_grades = max((dcg.n_grades for dcg in files.values()), default=5)
    return {name: files[name] if name in files else DCG.from_name(name, n_grades) for name in names}


def _check_outputs(*paths: Path | None, force: bool, picture: Path | None = None) -> None:
    """Refuse what cannot be written before any work is done."""
    for path in paths:
        if path is not None:
            refuse_existing(path, force=force)
    if picture is not None:
        refuse_format(picture)


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


def _is_file(name: str) -> bool:
    return Path(name).exists() or name.endswith(".json")


def _metric(name: str, log: Preferences | PartedLog) -> DCG:
    """Return the metric called so on the log's scale."""
    return DCG.load(name) if _is_file(name) else DCG.from_name(name, log.n_grades, log.depth)


def _learned(
    log: Preferences | PartedLog, settings: dict[str, Any], prior: str | None, *, current: str, **options: Any
) -> Report:
    from dcglearn.report import learn_report

    if prior is not None:
        if options["method"] != Method.DCG.value:
            raise InputError("--prior goes with --method dcg")
        settings = {**settings, "prior": _metric(prior, log)}
    now = current if not _is_file(current) else _metric(current, log)
    return learn_report(log, current=now, progress=sys.stderr.isatty(), **options, **settings)


@contextlib.contextmanager
def _opened(
    asked: cli_logs.Asked, ratings: bool, skip_bad: Path | None, equal_groups: bool
) -> Iterator[Preferences | PartedLog]:
    if asked.in_parts:
        with asked.opened() as found:
            yield found
    else:
        yield _read(asked.paths[0], ratings, skip_bad, equal_groups, asked.reading)


def _read(path: str, ratings: bool, skip_bad: Path | None, equal_groups: bool, reading: dict[str, Any]) -> Preferences:
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
    from dcglearn.report import describe

    dropped = [f"left out: {count:,} {reason}" for reason, count in log.dropped.items() if count]
    would = [f"would write: {path}" for path in outputs] or ["would write: the DCG to standard output"]
    typer.echo("\n".join([*describe(log), *dropped, str(log.visible()), *would]))


def main() -> None:
    """Run the command line; bad input ends with status 2 and one line on standard error."""
    try:
        app()
    except InputError as error:
        typer.echo(f"dcglearn: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our pipe has gone
        sys.exit(141)
    except (RuntimeError, OSError) as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what could not be written stays unwritten
        typer.echo(f"dcglearn: {error}", err=True)
        sys.exit(1)
