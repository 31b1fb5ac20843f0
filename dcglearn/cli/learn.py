"""``dcglearn learn``: a DCG of a log, and six sentences on how far to trust it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dcglearn.cli.options import (
    AsIs,
    Columns,
    Force,
    Grades,
    InUse,
    Llms,
    Logs,
    Plot,
    Ratings,
    Seed,
    method_option,
    output_to,
)
from dcglearn.cli.outputs import say, write_figure
from dcglearn.cli.reading import read_llms, read_log
from dcglearn.cli.terminal import log_is_shown
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import BASELINE, ONLY_DCG, metric_or_name

NO_METRIC = {
    ".html", ".htm", ".md", ".txt", ".csv", ".tsv", ".xlsx", ".parquet", ".gz", ".zip",
    ".pdf", ".png", ".svg", ".jpg", ".jpeg",
}  # fmt: skip
"""Suffixes of reports, tables, packed files and pictures, by which no metric is written."""


def _holds_metric(path: Path) -> None:
    """Raise InputError if a path has the suffix of something else."""
    if path.suffix.lower() in NO_METRIC:
        raise InputError(
            f"{path}: -o holds the metric as JSON; `dcglearn audit LOG -o page.html` writes the "
            "report, --plot a picture"
        )


def learn(
    log: Logs,
    output: Annotated[
        Path | None,
        output_to("Write the DCG here, as JSON; else to standard output.", _holds_metric),
    ] = None,
    metric: InUse = BASELINE,
    llm: Llms = [],
    method: Annotated[
        Literal["dcg", "qp", "qp-hamming", "qp-log"],
        method_option("dcg: gains and discounts; qp: the paper's QP, by its margin."),
    ] = "dcg",
    C: Annotated[
        str | None,
        method_option(
            "qp: weight of violated pairs (1); auto validates 1e-5..1e5.",
            "--C",
            metavar="NUMBER|auto",
        ),
    ] = None,
    bands: Annotated[
        int, method_option("Draws of the bands, a tenth of them; 0 leaves bands out.", min=0)
    ] = 200,
    ratings: Ratings = False,
    columns: Columns = [],
    grades: Grades = None,
    as_is: AsIs = False,
    plot: Plot = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Learn DCG's gains and discounts from preferences between lists, and how far to trust them."""
    # options that contradict each other
    metric_or_name(metric, accept=ONLY_DCG)
    if bands == 1:
        raise InputError("--bands 1: give 2 or more; 200 is enough")
    if C is not None and method == "dcg":
        raise InputError("--C goes with --method qp")
    if llm and method != "dcg":
        raise InputError("--llm goes with --method dcg")
    weight = _weight(C)

    # what was read is said before the rest is loaded
    judged = read_log(log, ratings=ratings, columns=columns, grades=grades, as_is=as_is)
    from dcglearn.audits.audit import report_of_fit
    from dcglearn.audits.inputs import Inputs
    from dcglearn.plots import banded_figure, learned_figure
    from dcglearn.trust.coins import NO_SIGNAL

    # learn, and say how far to trust it
    verdicts = read_llms(llm, judged.n_grades)
    inputs = Inputs.of(judged, metric, seed, llm=verdicts, method=method, C=weight, n_draws=bands)
    report = report_of_fit(inputs)
    text = report.in_full if log_is_shown() else str(report)

    # a log that tells nothing leaves no metric
    if inputs.tells_nothing and not as_is:
        typer.echo(text, err=True)
        raise InputError(f"{NO_SIGNAL} No metric is written; --as-is writes it all the same")

    # the metric, the sentences, and the picture, which may fail
    if output is not None:
        inputs.dcg.save(output, force=force)
        say(f"wrote: {output}")
    else:
        typer.echo(json.dumps(inputs.dcg.to_dict(), allow_nan=False))
    typer.echo(text, err=output is None)

    def figure() -> Any:
        others = {f"{BASELINE}@{judged.depth}": DCG.standard(judged.n_grades, judged.depth)}
        drawn = inputs.bands
        if inputs.llm is not None:
            others["LLM judge"] = inputs.llm.machine
            drawn = drawn or inputs.llm.bands
        if inputs.factoring is not None:
            return learned_figure(inputs.factoring, others)
        return banded_figure(inputs.dcg if drawn is None else drawn.dcg, others, drawn)

    write_figure(figure, plot, force=force)


def _weight(C: str | None) -> float | str:
    """Return the weight of violated pairs, or "auto"; raise InputError for anything else."""
    if C in (None, "auto"):
        return C or 1.0
    try:
        weight = float(C or 0)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise InputError(f"--C {C}: give a positive number, or auto")
    return weight
