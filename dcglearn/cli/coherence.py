"""The command that compares two metrics: ``dcglearn coherence``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import dcglearn as dl
from dcglearn.cli.command import argument_row, examples, first_row, input_row, model_row
from dcglearn.cli.metric_options import ScaleOptions, files_and_names
from dcglearn.cli.options import AsJson, Force, Plot, check_outputs, print_result, say, write_figure
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import METRICS, resolved
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.plots import witness_figure

if TYPE_CHECKING:
    from dcglearn.metrics.reading import AnyMetric


@examples(
    "dcglearn coherence dcg.json exponential-log2",
    "dcglearn coherence linear-log2 linear-reciprocal --documents 4,4,3,3,2,2,1,1,0,0 "
    "--plot witness.png",
)
def coherence(
    *,
    a: str = argument_row("A file, or GAIN-DISCOUNT[@K].", ..., metavar="A"),
    b: str = argument_row("Another.", ..., metavar="B"),
    scale: ScaleOptions,
    documents: str | None = first_row(
        "The documents that are ranked, by grade (0 = worst); else any list.", metavar="G,G,..."
    ),
    margin: float = model_row(
        "Only where a metric prefers by this share of best minus worst list.", 0.0
    ),
    grades: int | None = input_row(
        "Grades of textbook metrics; by default those of the file, or 5.", min=1, metavar="L"
    ),
    depth: int | None = first_row("Positions of textbook metrics without @K.", min=1, metavar="K"),
    time_limit: float = model_row("Time limit of each search.", 60.0, min=0.1, metavar="SECONDS"),
    plot: Plot = None,
    exit_code: bool = first_row("End with status 1 if not coherent, 3 if not proved.", False),
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Prove that two metrics never disagree, or show on which rankings they do, and how often."""
    check_outputs(force=force, picture=plot, inputs=[a, b])
    ranked = None if documents is None else _numbers(documents)
    (first, second), names = _two_metrics(a, b, ranked, grades, depth, scale)

    # a list utility has no certificate
    certified = all(isinstance(metric, (DCG, Utility)) for metric in (first, second))
    if not certified and (plot is not None or exit_code):
        reason = "certificates are only true of a DCG, not of a list utility"
        raise InputError(f"{reason}: leave --plot, --exit-code")

    # prove, or only count
    if certified:
        verdict = dl.coherence(first, second, ranked, margin, time_limit=time_limit, names=names)
    often = dl.disagreement(first, second, ranked, names=names)
    values: Fields = {"disagreement": often.to_dict()}
    if not certified:
        reason = "these are only true of a DCG"
        say(f"no certificate: {reason}")
        print_result(values if as_json else often, as_json)
        return

    # the verdict and its witness
    both = f"{verdict}\n\n{often}"
    print_result(verdict.to_dict() | values if as_json else both, as_json)
    if plot is not None and verdict.witness is None and verdict.witness_reverse is None:
        say(f"not written: {plot} (there is no disagreement to draw)")
    else:
        write_figure(lambda: witness_figure(verdict), plot, force=force)
    if exit_code:
        raise typer.Exit({True: 0, False: 1, None: 3}[verdict.coherent])


def _numbers(text: str) -> list[int]:
    try:
        return [int(cell) for cell in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"--documents {text}: give whole numbers with commas, such as 4,4,3,2,0"
        ) from error


def _two_metrics(
    a: str,
    b: str,
    documents: list[int] | None,
    n_grades: int | None,
    depth: int | None,
    scale: ScaleOptions,
) -> tuple[list[AnyMetric], tuple[str, str]]:
    """Return both metrics, and their names with their depths."""
    by_name = files_and_names([a, b], METRICS)
    files = {name: metric for name, metric in by_name.items() if not isinstance(metric, str)}

    # two names take their number of grades from the documents
    highest = max(documents or [0])
    size = n_grades
    if size is None and not files:
        size = max(5, highest + 1)
    metrics, names = resolved([by_name[a], by_name[b]], (a, b), documents, size, depth)

    # warn if a file has another scale than the documents
    if documents is not None:
        with scale.watched():
            sizes = {name: metric.n_grades for name, metric in files.items()}
            warn_of_scale(sizes, n_grades or highest + 1, "the list of documents")
    return metrics, (names[0] or a, names[1] or b)
