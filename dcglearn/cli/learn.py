"""``dcglearn learn``: a log in, a DCG out, with a report."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dcglearn.cli.command import examples, first_option, model_option, output_option, scale_option
from dcglearn.cli.compiling import told_on_a_terminal
from dcglearn.cli.log_options import LogOptions
from dcglearn.cli.metric_options import check_metrics
from dcglearn.cli.options import Cluster, Force, Seed, check_outputs, said_at_once, write_figure
from dcglearn.cli.recognised import describe, recognised_lines, say_winners
from dcglearn.foundation.validation import InputError
from dcglearn.metric.reading import read_metric

if TYPE_CHECKING:
    from dcglearn.cli.report import Report
    from dcglearn.parts.parts import PartedLog
    from dcglearn.readers.preferences import Preferences

Method = Literal["dcg", "qp"]
Loss = Literal["auto", "robust", "logistic", "sigmoid", "squared_hinge"]
Form = Literal["dcg", "saturation", "best", "auto"]
Margin = Literal["unit", "hamming", "log"]
HoldOutBy = Literal["pair", "rater", "query", "list"]


@dataclass(frozen=True)
class LearnerOptions:
    """The learner and its parameters."""

    method: Annotated[
        Method, model_option(help="Gains and discounts directly (dcg), or the paper's QP, factored by SVD (qp).")
    ] = "dcg"
    loss: Annotated[Loss, model_option(help="dcg: auto estimates how often judges err (robust).")] = "auto"
    ridge: Annotated[float | None, model_option(help="dcg: strength of the prior for smooth curves.")] = None
    form: Annotated[
        Form,
        model_option(help="dcg: a DCG, one with stop probabilities, one with a share of the best result, or chosen."),
    ] = "dcg"
    prior: Annotated[
        str | None, model_option(metavar="METRIC", help="dcg: shrink to this file or GAIN-DISCOUNT; for small logs.")
    ] = None
    C: Annotated[
        str | None,
        model_option("--C", metavar="NUMBER|auto", help="qp: weight of violated pairs (1); auto validates 1e-5..1e5."),
    ] = None
    margin: Annotated[Margin, model_option(help="qp: by how much the preferred list should win.")] = "unit"
    monotone: Annotated[
        bool,
        model_option("--monotone/--no-monotone", help="qp: whether a better grade must be worth at least as much."),
    ] = True
    tie_epsilon: Annotated[
        float | None, model_option(help="qp: use ties, which ask for a difference of at most this.")
    ] = None

    def __post_init__(self) -> None:
        if self.ridge is not None and not self.ridge >= 0:
            raise InputError(f"--ridge {self.ridge} must be at least 0")
        if self.C is not None:
            _number_or_auto(self.C)
        of_qp = {
            "--C": self.C is not None,
            "--margin": self.margin != "unit",
            "--no-monotone": not self.monotone,
            "--tie-epsilon": self.tie_epsilon is not None,
        }
        if self.method == "dcg":
            wrong = [name for name, given in of_qp.items() if given]
            if wrong:
                raise InputError(f"{wrong[0]} goes with --method qp")
        elif self.loss != "auto" or self.ridge is not None:
            raise InputError("--loss and --ridge go with --method dcg")
        elif self.form != "dcg":
            raise InputError("--form goes with --method dcg")
        elif self.prior is not None:
            raise InputError("--prior goes with --method dcg")

    def parameters(self, log: Preferences | PartedLog) -> dict[str, Any]:
        """Return the parameters of `learn_report` that the learner takes."""
        if self.method == "dcg":
            ridge = {} if self.ridge is None else {"ridge": self.ridge}
            prior = {} if self.prior is None else {"prior": read_metric(self.prior, log.n_grades, log.depth)}
            form = {} if self.form == "dcg" else {"form": self.form}
            return {"loss": self.loss, **ridge, **prior, **form}
        C = 1.0 if self.C is None else _number_or_auto(self.C)
        return {"C": C, "margin": self.margin, "monotone": self.monotone, "tie_epsilon": self.tie_epsilon}


@dataclass(frozen=True)
class TrustOptions:
    """What is measured to say how far the learned DCG can be trusted."""

    bands: Annotated[
        int, first_option(min=0, metavar="N", help="dcg: standard errors and 90% bands from N bootstrap samples.")
    ] = 0
    ranges: Annotated[
        bool, model_option("--ranges", help="Show what the log pins down: ranges over all DCGs that respect it.")
    ] = False
    holdout: Annotated[float | None, first_option(metavar="SHARE", help="Measure on this share, held out.")] = None
    holdout_by: Annotated[
        HoldOutBy | None, model_option(help="What is held out whole; by default pair, for ratings rater or list.")
    ] = None
    current: Annotated[
        str, model_option(metavar="METRIC", help="With --holdout: the metric used now, to compare with.")
    ] = "exponential-log2"
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.holdout is not None and not 0 < self.holdout < 1:
            raise InputError(f"--holdout {self.holdout}: give a fraction between 0 and 1, such as 0.3")

    def parameters(self, log: Preferences | PartedLog) -> dict[str, Any]:
        """Return the parameters of `learn_report` that measure."""
        by = self.holdout_by or _unit_without_leaks(log)
        measured = {"holdout": self.holdout, "by": by, "current": self.current, "seed": self.seed}
        return {**measured, "bands": self.bands, "ranges": self.ranges}


@dataclass(frozen=True)
class OutputOptions:
    """What is written, and where."""

    output: Annotated[
        Path | None,
        first_option("-o", "--output", metavar="FILE", help="Write the DCG here; without it, to standard output."),
    ] = None
    plot: Annotated[Path | None, first_option(help="Draw gains and discounts here (.png, .pdf, .svg).")] = None
    utility: Annotated[Path | None, output_option(help="Write the K x L utility W here too.")] = None
    as_json: Annotated[bool, output_option("--json", help="Print the report as JSON.")] = False
    force: Force = False

    @property
    def files(self) -> list[Path]:
        """The files that are asked for."""
        return [path for path in (self.output, self.plot, self.utility) if path is not None]

    @property
    def reports_to_stderr(self) -> bool:
        """Whether the report goes to standard error, since a result goes to standard output."""
        return self.as_json or self.output is None

    def write(self, report: Report, *, said: bool) -> None:
        """Write the files, print the report, and draw: nothing is lost if there is no picture.

        `said` tells whether the lines on what was read stand on the terminal already.
        """
        if self.utility is not None:
            report.utility.save(self.utility, force=self.force)
        if self.output is not None:
            report.metric.save(self.output, force=self.force)
        if self.as_json:
            typer.echo(json.dumps(report.to_dict(), allow_nan=False))
        elif self.output is None:
            typer.echo(json.dumps(report.metric.to_dict(), allow_nan=False))
        written = [f"wrote: {path}" for path in self.files if path != self.plot]
        err = self.reports_to_stderr
        typer.echo("\n".join([report.findings() if said else str(report), "", *written]).rstrip(), err=err)
        if self.plot is not None:
            write_figure(report.figure, self.plot, force=self.force, err=err)


@examples(
    "dcglearn learn side_by_side.jsonl -o dcg.json --holdout 0.3 --plot dcg.png",
    "dcglearn learn few.jsonl --prior exponential-log2 --bands 200",
    "dcglearn learn --ratings satisfaction.jsonl -o dcg.json",
    "zcat log.jsonl.gz | dcglearn learn - > dcg.json",
    "dcglearn learn logs/*.parquet --memory 2GB --checkpoint fit.checkpoint",
    "dcglearn learn logs/ --workers 4",
)
def learn(
    source: LogOptions,
    outputs: OutputOptions,
    learner: LearnerOptions,
    trust: TrustOptions,
    cluster: Cluster,
    checkpoint: Annotated[
        Path | None, scale_option(metavar="FILE", help="Keep the sums of every pass here, for --resume.")
    ] = None,
    resume: Annotated[
        bool, scale_option("--resume", help="Resume the fit kept in --checkpoint, to the same bytes.")
    ] = False,
    dry_run: Annotated[
        bool, output_option("--dry-run", help="Print what was recognised in the log; learn and write nothing.")
    ] = False,
) -> None:
    """Learn gains and discounts from a log of preferences, with a proof and plain words."""
    check_metrics([word for word in (learner.prior, trust.current) if word is not None])
    check_outputs(
        outputs.output,
        outputs.utility,
        force=outputs.force,
        picture=outputs.plot,
        inputs=[*source.log, source.read, learner.prior, trust.current, checkpoint],
    )
    if trust.bands and learner.method != "dcg":
        raise InputError("--bands goes with --method dcg")
    if source.in_parts(cluster):
        source.refuse_in_parts(
            holdout=trust.holdout, bands=trust.bands, ranges=trust.ranges, C_auto=learner.C == "auto"
        )
    if dry_run:
        with source.opened(cluster) as log:
            _dry_run(log, outputs.files)
        return
    with source.opened(cluster) as log, told_on_a_terminal():
        parameters = {**trust.parameters(log), **learner.parameters(log)}
        said = said_at_once("\n".join(describe(log, log.dropped)), err=outputs.reports_to_stderr)
        say_winners(getattr(log, "recognised", None))
        from dcglearn.cli.report import agreement_of, learn_report

        report = learn_report(
            log,
            method=learner.method,
            checkpoint=checkpoint,
            resume=resume,
            **parameters,
        )
        if not _of_ratings(log):
            report = replace(report, raters=agreement_of(log, report.learner))
    outputs.write(report, said=said)


def _number_or_auto(C: str) -> float | str:
    if C == "auto":
        return C
    try:
        number = float(C)
    except ValueError as error:
        raise InputError(f"--C {C}: give a positive number, or auto") from error
    if not 0 < number < float("inf"):
        raise InputError(f"--C {C} must be a positive number")
    return number


def _of_ratings(log: Preferences | PartedLog) -> bool:
    return getattr(log, "ratings", None) is not None


def _unit_without_leaks(log: Preferences | PartedLog) -> str:
    """Return what to hold out whole: a rated list is in many pairs, so a split by pair would leak it."""
    if not _of_ratings(log):
        return "pair"
    return "list" if getattr(log, "rater", None) is None else "rater"


def _dry_run(log: Preferences | PartedLog, outputs: list[Path]) -> None:
    from dcglearn.parts.parts import PartedLog

    would = [f"would write: {path}" for path in outputs] or ["would write: the DCG to standard output"]
    seen = [] if isinstance(log, PartedLog) else recognised_lines(log)
    typer.echo("\n".join([*describe(log, log.dropped), *seen, str(log.visible()), *would]))
