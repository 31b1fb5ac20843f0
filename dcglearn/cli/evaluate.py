"""Commands that evaluate runs: ``evaluate``, ``compare`` and ``gate``."""

import contextlib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    Columns,
    Force,
    Grades,
    Level,
    LlmQrels,
    Metrics,
    Output,
    Plot,
    Raw,
    Scale,
    Ties,
    Unjudged,
    joined,
    option,
    output_option,
)
from dcglearn.cli.outputs import say, write_figure, write_results, write_text
from dcglearn.foundation.finding import FORMS, Finding
from dcglearn.foundation.plain_text import spreadsheet
from dcglearn.foundation.validation import Fields, InputError, suffix_among
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

BY_QUERY = (".csv", ".tsv", ".jsonl")
"""Suffixes of tables of a row for each query."""


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
    output: Annotated[
        Path | None,
        option(
            "Write here; .json, .html, .csv, .md, .txt is the form, with -q .csv, .tsv, .jsonl.",
            "-o",
            "--output",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Evaluate runs under any number of metrics in one pass."""
    if output is not None:
        suffix_among(output, BY_QUERY if by_query else FORMS, "results")
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
        evaluation = dl.evaluate(*read, metric, **settings)
        result = evaluation

    # the means, or the values of all queries
    if not by_query:
        write_results("", {"values": result}, output)
        return
    frame, suffix = evaluation.by_query(), ".tsv" if output is None else output.suffix.lower()
    if suffix == ".jsonl":
        text = frame.write_ndjson()
    else:
        text = spreadsheet(frame, "," if suffix == ".csv" else "\t")
    write_text(text.rstrip("\n"), output)


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
    metric: Metrics = ["nDCG@10"],
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
