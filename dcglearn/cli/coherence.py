"""``dcglearn coherence``: whether two metrics can disagree, and how often they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    RESULTS,
    Force,
    Grades,
    Output,
    Plot,
    check_outputs,
    method_option,
    option,
    say,
    write_figure,
    write_results,
)
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import METRICS, metric_or_name, resolved
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.metrics.textbook import is_metric_file
from dcglearn.plots import witness_figure

if TYPE_CHECKING:
    from dcglearn.metrics.reading import AnyMetric


def coherence(
    a: Annotated[str, typer.Argument(help="A file, or GAIN-DISCOUNT[@K].", metavar="A")],
    b: Annotated[str, typer.Argument(help="Another.", metavar="B")],
    documents: Annotated[
        str | None,
        option(
            "The documents that are ranked, by grade (0 = worst); else any list.", metavar="G,G,..."
        ),
    ] = None,
    depth: Annotated[
        int | None, option("Positions of textbook metrics without @K.", min=1, metavar="K")
    ] = None,
    time_limit: Annotated[
        float, method_option("Time limit of each search.", min=0.1, metavar="SECONDS")
    ] = 60.0,
    grades: Grades = None,
    plot: Plot = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Prove that two metrics never disagree, or show on which rankings they do, and how often."""
    check_outputs(output, force=force, forms=RESULTS, picture=plot, inputs=[a, b])
    ranked = None if documents is None else _numbers(documents)
    (first, second), names = _two_metrics(a, b, ranked, grades, depth)
    often = dl.disagreement(first, second, ranked, names=names)

    # a list utility has no certificate
    results: dict[str, Finding] = {"disagreement": often}
    if not all(isinstance(metric, (DCG, Utility)) for metric in (first, second)):
        reason = "certificates are only true of a DCG, not of a list utility"
        if plot is not None:
            raise InputError(f"{reason}: leave --plot")
        say(f"no certificate: {reason}")
        write_results(f"{names[0]} and {names[1]}", results, output, force=force)
        return

    # the verdict and its witness
    verdict = dl.coherence(first, second, ranked, time_limit=time_limit, names=names)
    results = {"coherence": verdict, **results}
    write_results(f"{names[0]} and {names[1]}", results, output, force=force)
    if plot is not None and verdict.witness is None and verdict.witness_reverse is None:
        say(f"not written: {plot} (there is no disagreement to draw)")
    else:
        write_figure(lambda: witness_figure(verdict), plot, force=force)


def _numbers(text: str) -> list[int]:
    try:
        return [int(cell) for cell in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"--documents {text}: give whole numbers with commas, such as 4,4,3,2,0"
        ) from error


def _two_metrics(
    a: str, b: str, documents: list[int] | None, n_grades: int | None, depth: int | None
) -> tuple[list[AnyMetric], tuple[str, str]]:
    """Return both metrics, and their names with their depths."""
    read = [metric_or_name(name, accept=METRICS) for name in (a, b)]
    files = {
        name: metric for name, metric in zip((a, b), read, strict=True) if is_metric_file(name)
    }

    # two names take their number of grades from the documents
    highest = max(documents or [0])
    size = n_grades
    if size is None and not files:
        size = max(5, highest + 1)
    metrics, names = resolved(read, (a, b), documents, size, depth)

    # warn if a file has another scale than the documents
    if documents is not None:
        sizes = {name: metric.n_grades for name, metric in files.items()}
        warn_of_scale(sizes, n_grades or highest + 1, "the list of documents")
    return metrics, (names[0], names[1])
