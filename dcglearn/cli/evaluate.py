"""Commands that use a metric: on runs (``evaluate``, ``compare``, ``gate``), or on it alone."""

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    Columns,
    Force,
    Grades,
    Output,
    Plot,
    Scale,
    joined,
    method_option,
    option,
    output_option,
    output_to,
    say,
    write_figure,
    write_results,
    write_text,
)
from dcglearn.foundation.finding import FORMS, Finding, Section
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.reading import BASELINE, resolved
from dcglearn.reading.runs import read_both

Judged = Annotated[
    str,
    typer.Argument(
        help="TREC judgements (.gz, .zst), or JSON, CSV, TSV, Parquet; - too.", metavar="QRELS"
    ),
]
Runs = Annotated[
    list[str],
    typer.Argument(help="TREC runs or such tables; one may hold several.", metavar="RUN..."),
]
Metrics = Annotated[
    list[str],
    option(
        "nDCG@K, a file, GAIN-DISCOUNT[@K]; AP, P@10 ... by ir_measures. Repeat for several.",
        metavar="METRIC",
    ),
]
Raw = Annotated[
    bool, method_option("DCG itself, not divided by the best that is possible.", "--raw")
]
Ties = Annotated[
    Literal["docno-desc", "stable", "average"],
    method_option("Order of documents of one score; average: they share their positions."),
]
Unjudged = Annotated[
    str,
    option(
        "What a document without a judgement counts as; bounds: all that it could.",
        metavar="worst|best|drop|GAIN|bounds",
    ),
]
Level = Annotated[float, method_option("Level of the intervals.")]
LlmQrels = Annotated[
    str | None,
    option("An LLM's judgements of these queries and more, corrected by people's.", metavar="FILE"),
]

USUAL_GRADES = 5
"""Grades of metrics by name where neither data nor another metric says how many there are."""


def evaluate(
    qrels: Judged,
    runs: Runs,
    metric: Metrics = ["nDCG@10"],
    raw: Raw = False,
    ties: Ties = "docno-desc",
    unjudged: Unjudged = "worst",
    by_query: Annotated[
        bool, option("Every query, not only means, as .tsv, .csv or .jsonl.", "-q", "--by-query")
    ] = False,
    against: Annotated[
        str | None,
        option(
            "Values of queries from elsewhere: name the convention that differs from ours.",
            metavar="FILE",
        ),
    ] = None,
    columns: Columns = [],
    scale: Scale = None,
    grades: Grades = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Evaluate runs under any number of metrics in one pass."""
    settings = _settings(raw, ties, unjudged)
    if against is not None and (by_query or settings != _settings(False, "docno-desc", "worst")):
        raise InputError(
            "--against prints sentences, and tries all conventions: leave out -q, --raw, --ties "
            "and --unjudged"
        )

    # read, and find what explains other values, or evaluate
    read = read_both(qrels, runs, columns=joined(columns), n_grades=grades, scale=scale)
    if against is not None:
        result: Finding = dl.evaluation.explain_values(against, *read, metric)
    else:
        evaluation = result = dl.evaluate(*read, metric, **settings)

    # the means, or the values of all queries, on standard output with tabs between
    if by_query:
        result = Section(evaluation.sentence, rows=evaluation.by_query().to_dict())
    if by_query and output is None:
        say(FORMS[".tsv"](result).rstrip("\n"), err=False)
    else:
        write_results("", {"values": result}, output)


def compare(
    qrels: Judged,
    runs: Runs,
    metric: Metrics = ["nDCG@10"],
    baseline: Annotated[
        str | None, option("Compare the others with this run; by default the first.", metavar="RUN")
    ] = None,
    raw: Raw = False,
    ties: Ties = "docno-desc",
    unjudged: Unjudged = "worst",
    level: Level = 0.95,
    llm_qrels: LlmQrels = None,
    columns: Columns = [],
    grades: Grades = None,
    plot: Plot = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Compare systems query by query: paired tests, intervals and ranks, under metrics.

    Below the tests stand the ranks that the queries leave open. Under several metrics, it also says
    how each orders the systems, and which differences of the orders are more than chance.
    """
    settings = _settings(raw, ties, unjudged)
    read = read_both(qrels, runs, columns=joined(columns), n_grades=grades)
    llm = _of_llm(llm_qrels, columns, grades)
    compared = dl.compare_systems(
        *read, metric, baseline=baseline, level=level, llm=llm, **settings
    )

    # ranks are of people's judgements alone, and orders of several metrics
    results: dict[str, Finding] = {"comparison": compared}
    if llm_qrels is None:
        results["ranks"] = compared.ranks
        if len({*metric}) > 1:
            del settings["bounds"]
            results["order"] = dl.system_order(*read, metric, level=level, **settings)
    write_results("Comparison of systems", results, output)
    write_figure(lambda: dl.plots.forest_figure(compared), plot)


def gate(
    qrels: Judged,
    runs: Annotated[
        list[str],
        typer.Argument(
            help="The run in use, and the one that may replace it; or several.",
            metavar="OLD NEW...",
        ),
    ],
    metric: Metrics = [f"{BASELINE}@10"],
    rule: Annotated[
        Literal["harm", "non-inferior"],
        option("Pass unless a run is shown worse (harm), or only if it is shown not to be."),
    ] = "harm",
    min_difference: Annotated[
        float | None,
        option("Smallest acceptable difference, as -0.005; for harm 0 by default.", metavar="D"),
    ] = None,
    at_least: Annotated[
        float | None,
        option(
            "So many of 100 people who see a difference also have to take the run.",
            metavar="PEOPLE",
        ),
    ] = None,
    raw: Raw = False,
    ties: Ties = "docno-desc",
    unjudged: Unjudged = "worst",
    level: Level = 0.95,
    llm_qrels: LlmQrels = None,
    columns: Columns = [],
    junit: Annotated[Path | None, output_option("Write the decision as a JUnit report.")] = None,
    grades: Grades = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Decide whether a run may replace another: pass, fail or unknown.

    The status is 0 for pass, 1 for fail, 3 for unknown, such as with fewer topics than can decide,
    and 2 for bad input. Both rules are one-sided, at half of one minus the level.
    """
    settings = _settings(raw, ties, unjudged)
    read = read_both(qrels, runs, columns=joined(columns), n_grades=grades)
    llm = _of_llm(llm_qrels, columns, grades)
    compared = dl.compare_systems(*read, metric, level=level, llm=llm, **settings)

    # the decision, and what it rests on
    decision = compared.gate(min_difference, rule, at_least)
    results = {"decision": decision, "comparison": compared}
    write_results("May it replace?", results, output)

    # the decision in words where the result went elsewhere, the report, and the status
    if output is not None:
        say(str(decision))
    if junit is not None:
        write_text(decision.to_junit(), junit)
    raise typer.Exit(decision.status)


def _of_llm(path: str | None, columns: list[str], grades: int | None) -> Any:
    """Return an LLM's judgements, to which not all columns belong, if there are any."""
    if path is None:
        return None
    from dcglearn.reading.columns import SharedNames, own_names

    own = SharedNames(own_names(joined(columns)))
    return dl.read_judgements(path, n_grades=grades, columns=own)


def _settings(raw: bool, ties: str, unjudged: str) -> Fields:
    """Return the settings of `evaluate` that options state."""
    counted: str | float = "worst" if unjudged == "bounds" else unjudged
    with contextlib.suppress(ValueError):
        counted = float(counted)
    bounds = unjudged == "bounds"
    return {"normalise": not raw, "ties": ties, "unjudged": counted, "bounds": bounds}


def coherence(
    a: Annotated[str, typer.Argument(help="A file, or GAIN-DISCOUNT[@K].", metavar="A")],
    b: Annotated[str, typer.Argument(help="Another.", metavar="B")],
    documents: Annotated[
        Any,
        option(
            "The documents that are ranked, by grade (0 = worst); else any list.",
            metavar="G,G,...",
            parser=lambda text: [*map(int, text.split(","))],
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
    (first, second), labels = resolved((a, b), (a, b), documents, grades, depth, USUAL_GRADES)
    names = labels[0], labels[1]

    # a verdict with its witness, and how often they disagree
    results: dict[str, Any] = {}
    if all(isinstance(metric, (dl.DCG, dl.Utility)) for metric in (first, second)):
        results["coherence"] = verdict = dl.coherence(
            first, second, documents, time_limit=time_limit, names=names
        )
    else:
        verdict = None
        say("no certificate: certificates are only true of a DCG, not of a list utility")
    results["disagreement"] = dl.disagreement(first, second, documents, names=names)
    write_results(f"{names[0]} and {names[1]}", results, output)
    if verdict is not None and verdict.witnesses:
        write_figure(lambda: dl.plots.witness_figure(verdict), plot)
    elif plot is not None:
        say(f"not written: {plot} (there is no disagreement to draw)")


def show(
    shown: Annotated[
        list[str],
        typer.Argument(
            help="Files of metrics, names GAIN-DISCOUNT[@K] or reader:NAME.", metavar="METRIC..."
        ),
    ],
    output: Annotated[
        Path | None, output_to("Write here, as .txt or .json.", (".txt", ".json"))
    ] = None,
    plot: Plot = None,
    grades: Grades = None,
    force: Force = False,
) -> None:
    """Show metrics: gains, discounts, and what they were learned from; in .json, a list of them."""
    dcgs, labels = resolved(shown, shown, n_grades=grades, usual=USUAL_GRADES)
    by_name = dict(zip(labels, dcgs, strict=True))

    # in the form of the suffix
    if output is not None and output.suffix.lower() == ".json":
        values = [{"name": name, **dcg.to_dict()} for name, dcg in by_name.items()]
        text = json.dumps(values, indent=2)
    else:
        text = "\n".join(_as_text(name, dcg) for name, dcg in by_name.items())
    write_text(text, output)
    write_figure(lambda: dl.plots.dcg_figure(by_name), plot)


def _as_text(name: str, metric: Any) -> str:
    """Return a metric's name, gains and discounts, and notes on it."""
    log = None if metric.learned_from is None else f"learned from {metric.learned_from}"
    about = [*metric.notes, *filter(None, [log, metric.judges])]
    return "\n".join([name, str(metric), *(f"- {note}" for note in about), ""])


def export(
    metric: Annotated[
        str | None, typer.Argument(help="A file, or GAIN-DISCOUNT@K.", metavar="METRIC")
    ] = None,
    to: Annotated[str, option("The tool; list shows all.", metavar="TARGET")] = "list",
    lossy: Annotated[
        bool, option("Leave the discounts out where a tool has none.", "--lossy")
    ] = False,
    grades: Grades = None,
    output: Annotated[
        Path | None, option("Write here; else to standard output.", "-o", "--output")
    ] = None,
    force: Force = False,
) -> None:
    """Export a metric to another tool, as a program, settings in JSON, or lines of code."""
    from dcglearn.exports.targets import exported, list_of_targets

    if to == "list":
        typer.echo(list_of_targets())
        return
    if metric is None:
        raise InputError("name a metric: dcglearn export dcg.json --to quepid")

    # write what the target takes
    text = exported(metric, metric, to, lossy=lossy, n_grades=grades or USUAL_GRADES)
    write_text(text.rstrip("\n"), output)
