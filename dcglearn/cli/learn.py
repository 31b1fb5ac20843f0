"""``dcglearn learn``, ``learn-answers``: a DCG, with a report, of a file."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.command import (
    argument_row,
    examples,
    first_row,
    model_row,
    option_name,
    output_row,
)
from dcglearn.cli.learn_options import BaselineOptions, CurveOptions, LearnerOptions, TrustOptions
from dcglearn.cli.options import AsJson, Force, check_outputs, print_result, said_now, write_figure
from dcglearn.cli.reading import LogOptions, TableReading, describe, recognised_lines, say_reading
from dcglearn.cli.terminal import log_is_shown
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import InputError, suffix_among
from dcglearn.metrics.dcg import Utility
from dcglearn.plots import banded_figure
from dcglearn.reading.preferences import Preferences

if TYPE_CHECKING:
    from dcglearn.learning.options import DCGOptions


NO_METRIC = {
    ".html", ".htm", ".md", ".txt", ".csv", ".tsv", ".xlsx", ".parquet", ".gz", ".zip",
    ".pdf", ".png", ".svg", ".jpg", ".jpeg",
}  # fmt: skip
"""Suffixes of reports, tables, packed files and pictures, by which no metric is written."""


@dataclass(frozen=True)
class OutputOptions:
    """What is written, and where."""

    output: Path | None = first_row(
        "Write the DCG here; without it, to standard output.", None, "-o", "--output"
    )
    plot: Path | None = first_row("Draw gains and discounts here (.png, .pdf, .svg).")
    report_out: Path | None = first_row("Write the whole report here (.html, .md, .txt, .json).")
    utility_out: Path | None = output_row("Write the K x L utility W here too.")
    as_json: AsJson = False
    force: Force = False

    @property
    def files(self) -> list[Path]:
        """The files that are asked for."""
        files = (self.output, self.plot, self.utility_out, self.report_out)
        return [path for path in files if path is not None]

    @property
    def reports_to_stderr(self) -> bool:
        """Whether the report goes to standard error, since a result goes to standard output."""
        return self.as_json or self.output is None

    def check(self, inputs: Iterable[str | Path | None]) -> None:
        """Raise InputError for a file that cannot be written, or is named for something else."""
        # what -o does not hold
        if self.output is not None and self.output.suffix.lower() in NO_METRIC:
            raise InputError(
                f"{self.output}: -o holds the metric as JSON; --report-out page.html writes the "
                "report, --plot a picture"
            )

        # files that exist, and formats
        files = (self.output, self.utility_out, self.report_out)
        check_outputs(*files, force=self.force, picture=self.plot, inputs=inputs)
        if self.report_out is not None:
            suffix_among(self.report_out, (".html", ".md", ".txt", ".json"), "reports")

    def write(
        self, metric: Any, utility: Utility, report: Finding, text: str, draw: Callable[[], Any]
    ) -> None:
        """Write the files, print the report or the text, and only then draw, which may fail."""
        # files
        if self.utility_out is not None:
            utility.save(self.utility_out, force=self.force)
        if self.output is not None:
            metric.save(self.output, force=self.force)
        if self.report_out is not None:
            report.save(self.report_out, force=self.force)

        # results for programs
        if self.as_json:
            print_result(report, as_json=True)
        elif self.output is None:
            print_result(metric, as_json=True)

        # the report, and the picture
        written = [f"wrote: {path}" for path in self.files if path != self.plot]
        err = self.reports_to_stderr
        typer.echo("\n".join([text, "", *written]).rstrip(), err=err)
        write_figure(draw, self.plot, force=self.force, err=err)


@examples(
    "dcglearn learn side_by_side.jsonl -o dcg.json --holdout 0.3 --plot dcg.png",
    "dcglearn learn side_by_side.jsonl -o dcg.json --bands 200 --report-out report.html",
    "dcglearn learn few.jsonl --prior exponential-log2 --bands 200",
    'dcglearn learn side_by_side.jsonl -o dcg.json --what-if "gain of 2 > 0.5"',
    "dcglearn learn human.jsonl --llm llm.jsonl -o dcg.json",
    "dcglearn learn --ratings satisfaction.jsonl -o dcg.json",
    "zcat log.jsonl.gz | dcglearn learn - > dcg.json",
)
def learn(
    *,
    source: LogOptions,
    outputs: OutputOptions,
    learner: LearnerOptions,
    trust: TrustOptions,
    dry_run: bool = output_row(
        "Print what was recognised in the log; learn and write nothing.", False
    ),
) -> None:
    """Learn DCG's gains and discounts from preferences between lists, and how far to trust them."""
    # files that cannot be read or written
    trust.check(learner.prior)
    inputs = [*source.log, learner.prior, learner.llm, trust.baseline]
    outputs.check(inputs)
    check_outputs(log=source.skip_bad, force=outputs.force, inputs=inputs)

    # options that contradict each other
    for name in ("bands", "calibrate", "what_if"):
        if getattr(trust, name) and learner.method != "dcg":
            raise InputError(f"{option_name(name)} goes with --method dcg")

    log = source.pairs
    if dry_run:
        _show_log(log, outputs)
        return

    # learn, write
    said = said_now("\n".join(describe(log, log.dropped)), err=outputs.reports_to_stderr)
    say_reading(log.recognised)
    from dcglearn.cli.learn_report import learn_report

    report = learn_report(log, learner, trust, strict_log=source.strict_log)
    text = report.text(read=said, full=log_is_shown())
    outputs.write(report.dcg, report.utility, report, text, report.figure)


def _show_log(log: Preferences, outputs: OutputOptions) -> None:
    """Print what was recognised in the log, and what would be written."""
    targets: list[Any] = [*outputs.files] or ["the DCG to standard output"]
    would = [f"would write: {target}" for target in targets]
    seen = recognised_lines(log)
    typer.echo("\n".join([*describe(log, log.dropped), *seen, str(log.visible()), *would]))


@dataclass(frozen=True, kw_only=True)
class OutcomeFile(TableReading):
    """A file of outcomes, and how it is read."""

    file: str = argument_row(
        "JSON lines, delimited text or Parquet; - reads standard input.", ..., metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class ReaderOptions(CurveOptions):
    """How gains and discounts of a machine that reads are fitted."""

    discounts: Literal["free", "falling"] = model_row(
        "free: a later position may count for more; falling: none does.", "free"
    )

    def direct(self, log: Any, seed: int = 0) -> "DCGOptions":
        """Return what to fit to answers; without --zero, an empty place alone is worth nothing."""
        described = replace(super().direct(log, seed), discounts=self.discounts)
        return described if self.zero is not None else replace(described, zero="none")


@examples(
    "dcglearn learn-answers answers.jsonl -o dcg.json",
    "dcglearn learn-answers answers.csv --prior exponential-log2 --plot dcg.png",
    "dcglearn learn-answers answers.jsonl --discounts falling",
)
def learn_answers(
    *, source: OutcomeFile, outputs: OutputOptions, curves: ReaderOptions, trust: BaselineOptions
) -> None:
    """Learn a DCG from a machine's answers, each right or wrong, to lists of passages.

    The columns are question, list and right; questions hold out their own pairs. An empty list is
    a question asked without any passage: such lines say how high the discounts are.
    """
    _check(source, outputs, trust, curves.prior)
    answers = dl.io.read_answers(source.file, **source.options)
    say_reading(answers.recognised)
    _write(
        dl.learn_from_answers(
            answers, curves.direct(answers), baseline=trust.baseline, random_state=trust.seed
        ),
        outputs,
    )


def _check(
    source: OutcomeFile, outputs: OutputOptions, trust: BaselineOptions, *metrics: str | None
) -> None:
    """Raise InputError for files that cannot be read or written, before any work."""
    trust.check(*metrics)
    inputs = [source.file, trust.baseline, *metrics]
    outputs.check(inputs)
    check_outputs(log=source.skip_bad, force=outputs.force, inputs=inputs)


def _write(fit: Any, outputs: OutputOptions) -> None:
    draw = partial(banded_figure, fit.dcg)
    outputs.write(fit.dcg, fit.dcg.utility, fit, str(fit), draw)
