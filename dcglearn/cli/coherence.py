"""``dcglearn coherence``: whether two metrics can disagree, and how often they do."""

from typing import Annotated

import typer

import dcglearn as dl
from dcglearn.cli.options import USUAL_GRADES, Force, Grades, Output, Plot, method_option, option
from dcglearn.cli.outputs import say, write_figure, write_results
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import metric_or_name, resolved
from dcglearn.metrics.scales import warn_of_scale
from dcglearn.metrics.textbook import is_metric_file
from dcglearn.plots import witness_figure


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
    # the metrics, and the documents to rank
    read = [metric_or_name(word) for word in (a, b)]
    ranked = None if documents is None else _numbers(documents)
    (first, second), labels = resolved(read, (a, b), ranked, grades, depth, USUAL_GRADES)
    names = (labels[0] or a, labels[1] or b)
    if ranked is not None:
        files = {
            word: one.n_grades for word, one in ((a, first), (b, second)) if is_metric_file(word)
        }
        warn_of_scale(files, grades or max(ranked) + 1, "the list of documents")

    # how often they disagree
    often = dl.disagreement(first, second, ranked, names=names)
    title = f"{names[0]} and {names[1]}"

    # a list utility has no certificate
    results: dict[str, Finding] = {"disagreement": often}
    if not all(isinstance(metric, (DCG, Utility)) for metric in (first, second)):
        reason = "certificates are only true of a DCG, not of a list utility"
        if plot is not None:
            raise InputError(f"{reason}: leave --plot")
        say(f"no certificate: {reason}")
        write_results(title, results, output, force=force)
        return

    # the verdict and its witness
    verdict = dl.coherence(first, second, ranked, time_limit=time_limit, names=names)
    results = {"coherence": verdict, **results}
    write_results(title, results, output, force=force)
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
