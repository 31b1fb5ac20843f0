"""Commands on logs, and how they read one: ``learn``, ``audit`` and ``convert``."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    Columns,
    Force,
    Grades,
    Output,
    Plot,
    Scale,
    Seed,
    input_option,
    joined,
    method_option,
    option,
    output_option,
    output_to,
    save,
    say,
    write_figure,
    write_log,
)
from dcglearn.foundation.plain_text import left_out, number_of, one_line
from dcglearn.foundation.sources import WRITTEN
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.reading import BASELINE, ONLY_DCG, metric_or_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dcglearn.audits.inputs import Inputs
    from dcglearn.foundation.finding import Finding
    from dcglearn.reading.columns import SharedNames
    from dcglearn.reading.tables import Table

_LOG = logging.getLogger(__name__)

Logs = Annotated[
    list[str],
    typer.Argument(
        help="Parquet, JSON lines or array, delimited text or Excel, also .gz and .zst; several "
        "files, or a folder; - reads standard input.",
        metavar="LOG...",
    ),
]
OutputLog = Annotated[
    Path | None,
    output_to("Write the log here (.jsonl, .parquet); else to standard output.", WRITTEN, "logs"),
]
InUse = Annotated[str, option("The metric in use: a file, or GAIN-DISCOUNT[@K].", metavar="METRIC")]
Llms = Annotated[
    list[str],
    option(
        "An LLM judge's verdicts, followed as far as LOG's agree. Repeat for several.",
        metavar="LOG",
    ),
]
Ratings = Annotated[bool, option("The log holds rated lists rather than pairs.", "--ratings")]
AsIs = Annotated[
    bool, input_option("Keep a log that seems to be upside down, or tells nothing.", "--as-is")
]

SHOWN = 10
"""Documents of each run that a verdict is on, unless --depth says another number."""


def read_log(
    paths: list[str],
    *,
    ratings: bool = False,
    columns: list[str] = [],
    grades: int | None = None,
    as_is: bool = False,
) -> dl.Preferences:
    """Return a log of pairs or of rated lists, and say what was recognised and left out."""
    read = dl.read_ratings if ratings else dl.read_preferences
    log = read(paths, grades, columns=joined(columns), as_is=as_is)
    say_reading(log)
    return log


def say_reading(read: Any) -> None:
    """Print to standard error what columns and winners were taken for, and what was left out."""
    lines = left_out(read.dropped)
    if read.recognised is not None:
        remarks = [f"remark: {note}" for note in read.recognised.notes]
        lines = [*read.recognised.lines, *remarks, *lines]
    for line in lines:
        say(one_line(line))


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
        result = dl.audit(
            judged,
            metric,
            llm=llm or None,
            judgements=qrels,
            runs=run or None,
            anonymous=anonymous,
            random_state=seed,
            command=shlex.join(["dcglearn", *sys.argv[1:]]),
        )

    # write the page, and print the sentences
    if output is not None:
        save(result, output)
    say(str(result), err=False)


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


def convert(
    log: Logs,
    output: OutputLog = None,
    columns: Columns = [],
    winner_words: Annotated[
        str | None,
        input_option(
            'What winners mean: "Left is better=a,Left is much better=a:2,Same=tie".',
            metavar="WORD=a,...",
        ),
    ] = None,
    scale: Scale = None,
    sides: Annotated[
        Literal["shown", "listed"] | None,
        input_option(
            "Whether winners name what was shown there, or the lists a and b wherever shown."
        ),
    ] = None,
    middle: Annotated[
        float | None,
        input_option(
            "Winners are numbers, larger ones prefer b: what is a tie, 4 on 1..7.", metavar="NUMBER"
        ),
    ] = None,
    depth: Annotated[int | None, input_option("Cut lists to K positions.", metavar="K")] = None,
    qrels: Annotated[
        str | None,
        option("Grades of the documents that lists name: TREC or a table.", metavar="FILE"),
    ] = None,
    run_a: Annotated[
        str | None, option("With --run-b: LOG holds query and winner.", metavar="RUN")
    ] = None,
    run_b: Annotated[str | None, option("The other run.", metavar="RUN")] = None,
    prompts: Annotated[
        str | None,
        option(
            "LOG holds an LLM's answers to the prompts in FILE: `dcglearn ask`.", metavar="FILE"
        ),
    ] = None,
    ratings: Ratings = False,
    as_is: AsIs = False,
    force: Force = False,
) -> None:
    """Turn a log of any form into the native one: a line a judgement, with a, b and winner.

    Columns by position become lists, words become grades and winners, names of documents become
    grades. Rated lists (--ratings), sides, open questions and superseded verdicts stay as they are.
    Tables of other shapes become such a table by a recipe of the docs.
    """
    from dcglearn.reading.read import native_frame

    if ratings and (winner_words or sides or middle is not None):
        raise InputError(
            "--winner-words, --sides and --middle are for pairs: leave them out with --ratings"
        )
    if middle is not None and winner_words is not None:
        raise InputError("--middle is for winners that are numbers: leave out --winner-words")
    if (run_a, run_b) != (None, None) and None in (run_a, run_b, qrels):
        raise InputError(
            "--run-a, --run-b and --qrels go together: two runs, and the grades of their documents"
        )
    if prompts is not None and (ratings or qrels or columns or scale):
        raise InputError(
            "--prompts goes with --winner-words, --as-is and -o alone: its pairs have grades"
        )

    # how the log is read
    options: Fields = {"columns": joined(columns), "scale": scale, "depth": depth}
    if not ratings:
        options |= {"winner_words": winner_words if middle is None else middle, "sides": sides}
    source: Any = log

    # answers of a model, or lists of documents judged elsewhere
    if prompts is not None:
        from dcglearn.judge.prompts import read_replies

        source, lines = read_replies(log if log[1:] else log[0], prompts, winner_words)
        say("\n".join(lines))
        options = {}
    elif qrels is not None:
        source, options = _with_documents(source, qrels, run_a, run_b, options)

    # read it: as pairs, or row for row
    frame, found = native_frame(source, ratings=ratings, as_is=as_is, **options)
    if qrels is not None:
        options["columns"].check()

    # what was recognised, and left out
    say_reading(found)
    if found.scale.names is not None:
        names = enumerate(found.scale.names)
        say(f"grades: {', '.join(f'{grade} = {name}' for grade, name in names)}")

    # write the log
    most = int(frame["list" if ratings else "a"].list.len().max() or 0)  # type: ignore[arg-type]
    sizes = f"{number_of(len(frame), 'lines', ',')}, {number_of(most, 'positions')}"
    write_log(frame, output, sizes)


def _with_documents(
    log: Any, qrels: str, run_a: str | None, run_b: str | None, options: Fields
) -> tuple[Table, Fields]:
    """Return a log with grades in place of documents, and the options that read it."""
    from dcglearn.reading.columns import SharedNames, own_names
    from dcglearn.reading.tables import table_of

    # the lists of two runs, or those that the log names
    table, own = table_of(log), SharedNames(own_names(options["columns"]))
    if run_a is not None and run_b is not None:
        depth = options["depth"] or SHOWN
        frame = dl.io.with_runs(table, run_a, run_b, depth=depth, columns=own)
        _say_sides(table, own)
        table = replace(table, frame=frame)

    # the grades of their documents, whose scale the lists have
    judged = dl.read_judgements(qrels, scale=options["scale"])
    table = replace(table, frame=dl.with_grades(table, judged, columns=own))
    n_grades = None if judged.grade_names is not None else max(judged.n_grades or 2, 2)
    return table, options | {"n_grades": n_grades, "scale": None, "columns": own}


def _say_sides(table: Table, own: SharedNames) -> None:
    """Print the columns that say which run stood where."""
    from dcglearn.reading.columns import find
    from dcglearn.reading.run_lists import LISTS

    found = find(table.frame.columns, LISTS, own)
    if found:
        sides = [f"{role[-1]} is the run in the column {names[0]}" for role, names in found.items()]
        say(f"columns: {', '.join(sides)}")
