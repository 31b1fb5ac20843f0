"""``dcglearn learn`` and ``dcglearn audit``: a DCG of a log, and what the log says of metrics."""

from __future__ import annotations

import hashlib
import json
import logging
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import dcglearn as dl
from dcglearn.cli.options import (
    AsIs,
    Columns,
    Force,
    Grades,
    InUse,
    Llms,
    Logs,
    Output,
    Plot,
    Ratings,
    Seed,
    joined,
    method_option,
    option,
    output_option,
    output_to,
)
from dcglearn.cli.outputs import save, say, write_figure
from dcglearn.cli.reading import read_log
from dcglearn.foundation.inputs import expand_paths, read_bytes
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.reading import BASELINE, ONLY_DCG, metric_or_name
from dcglearn.metrics.textbook import is_metric_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dcglearn.audits.inputs import Inputs
    from dcglearn.foundation.finding import Finding

_LOG = logging.getLogger(__name__)


def learn(
    log: Logs,
    output: Annotated[
        Path | None,
        output_to(
            "Write the DCG here, as JSON; else to standard output.", (".json", ""), "metrics"
        ),
    ] = None,
    metric: InUse = BASELINE,
    llm: Llms = [],
    method: Annotated[
        Literal["dcg", "qp", "qp-hamming", "qp-log"],
        method_option("dcg: gains and discounts; qp: the paper's QP, by its margin."),
    ] = "dcg",
    C: Annotated[
        Any,
        method_option(
            "qp: weight of violated pairs (1); auto validates 1e-5..1e5.",
            "--C",
            metavar="NUMBER|auto",
            parser=lambda word: word if word == "auto" else float(word),
        ),
    ] = None,
    bands: Annotated[
        int,
        method_option(
            "Bands say how sure each gain and discount is. Ten times as many draws: more give "
            "steadier ends and take a little longer; 0 leaves bands out.",
            min=0,
        ),
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
    # a metric of another kind, and options of the other method
    metric_or_name(metric, accept=ONLY_DCG)
    if C is not None and method == "dcg":
        raise InputError("--C goes with --method qp")
    if llm and method != "dcg":
        raise InputError("--llm goes with --method dcg")

    # what was read is said before the rest is loaded
    judged = read_log(log, ratings=ratings, columns=columns, grades=grades, as_is=as_is)
    from dcglearn.audits.audit import report_of_fit
    from dcglearn.audits.inputs import Inputs
    from dcglearn.trust.coins import NO_SIGNAL

    # learn, and say how far to trust it
    C = 1.0 if C is None else C
    inputs = Inputs.of(judged, metric, seed, llm=llm or None, method=method, C=C, n_draws=bands)
    report = report_of_fit(inputs)
    text = report.in_full if _LOG.isEnabledFor(logging.INFO) else str(report)

    # a log that tells nothing leaves no metric
    if inputs.tells_nothing and not as_is:
        say(text)
        raise InputError(f"{NO_SIGNAL} No metric is written; --as-is writes it all the same")

    # the metric, the sentences, and the picture
    if output is None:
        say(json.dumps(inputs.dcg.to_dict(), allow_nan=False), err=False)
    else:
        save(inputs.dcg, output)
    say(text, err=output is None)
    write_figure(lambda: _drawn(inputs), plot)


def _drawn(inputs: Inputs) -> Figure:
    """Return the picture of what was learned, beside the usual DCG and an LLM judge's."""
    log = inputs.log
    others = {f"{BASELINE}@{log.depth}": dl.DCG.standard(log.n_grades, log.depth)}
    if inputs.factoring is not None:
        return dl.plots.learned_figure(inputs.factoring, others)
    if inputs.llm is not None:
        others["LLM judge"] = inputs.llm.machine
    return dl.plots.banded_figure(inputs.dcg, others, inputs.bands)


def audit(
    log: Logs,
    output: Output = None,
    metric: InUse = BASELINE,
    labels: Annotated[
        list[str],
        option(
            "Whose grades of documents do people follow? A file for each grader, or one with a "
            "column grader; LOG holds lists of documents. Nothing else is audited then.",
            metavar="[NAME=]FILE",
        ),
    ] = [],
    qrels: Annotated[
        str | None, option("Judgements of the runs' documents.", metavar="FILE")
    ] = None,
    run: Annotated[
        list[str], option("A run whose documents --qrels judges; repeat for several.")
    ] = [],
    llm: Llms = [],
    anonymous: Annotated[
        bool, output_option("Numbers instead of the names of raters and queries.", "--anonymous")
    ] = False,
    ratings: Ratings = False,
    columns: Columns = [],
    grades: Grades = None,
    as_is: AsIs = False,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Audit a metric on one page: how well it follows users, where it errs, and what to do next."""
    metric_or_name(metric, accept=ONLY_DCG)
    if bool(run) != (qrels is not None):
        raise InputError("--run and --qrels go together: runs, and judgements of their documents")
    if labels and run:
        raise InputError("--labels compares graders alone: leave out --run and --qrels")

    # compare whose grades people follow
    if labels:
        result = _graders_compared(log, labels, metric, columns, seed)

    # or read the log and audit
    else:
        judged = read_log(log, ratings=ratings, columns=columns, grades=grades, as_is=as_is)
        made = _made([*log, *run, *llm, qrels, metric if is_metric_file(metric) else None])

        # what was read is said by now
        result = dl.audit(
            judged,
            metric,
            llm=llm or None,
            judgements=qrels,
            runs=run or None,
            anonymous=anonymous,
            random_state=seed,
            made=made,
        )

    # write the page, and print the sentences
    if output is not None:
        save(result, output)
    say(str(result), err=False)


def _made(files: list[str | None]) -> dict[str, str]:
    """Return how a page was made: the command, and the digest of every file."""
    made = {"command": shlex.join(["dcglearn", *sys.argv[1:]])}
    for file in expand_paths([*filter(None, files)]):
        if str(file) != "-":
            made[f"{file} (SHA-256)"] = hashlib.sha256(read_bytes(file)).hexdigest()
    return made


def _graders_compared(
    log: list[str], labels: list[str], metric: str, columns: list[str], seed: int
) -> Finding:
    """Return whose grades people follow; a file without ``NAME=`` is named by itself."""
    named = {name or Path(file).stem: file for name, _, file in (x.rpartition("=") for x in labels)}
    if len(named) < len(labels):
        raise InputError("--labels: two graders have one name; give --labels NAME=FILE")

    # one file may hold several graders
    graders: Any = labels[0] if [*named.values()] == labels[:1] else named
    return dl.compare_graders(log, graders, metric, columns=joined(columns), random_state=seed)
