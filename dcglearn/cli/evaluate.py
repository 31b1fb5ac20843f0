"""Commands that evaluate runs: ``evaluate``, ``compare`` and ``gate``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import typer

from dcglearn.cli.command import argument_row, examples, first_row, input_row, model_row, output_row
from dcglearn.cli.metric_options import ScaleOptions, files_and_names
from dcglearn.cli.options import (
    Force,
    Grades,
    Output,
    Plot,
    Scale,
    Seed,
    Ties,
    check_outputs,
    say,
    write_figure,
    write_lines,
    write_text,
)
from dcglearn.cli.terminal import draw, drawn
from dcglearn.evaluation.explained_values import explain_values
from dcglearn.evaluation.gate import STATUS, Gate
from dcglearn.evaluation.paired_tests import MAX_RESAMPLES
from dcglearn.evaluation.rank_intervals import Ranks
from dcglearn.evaluation.ranked import NoOverlapError
from dcglearn.evaluation.run_values import EvaluateOptions, Ideal, Missing
from dcglearn.evaluation.run_values import evaluate as evaluated
from dcglearn.evaluation.system_tests import SystemComparison, Topics, compare_systems
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.plain_text import spreadsheet
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.plots import forest_figure
from dcglearn.reading.judgements import Duplicates, Judgements, read_judgements
from dcglearn.reading.runs import Run, read_both

Result = TypeVar("Result")


@dataclass(frozen=True)
class EvaluationOptions:
    """The judgements, the runs, and how each run is evaluated."""

    judgements: str = argument_row(
        "TREC judgements (.gz, .zst), or JSON, CSV, TSV, Parquet; - too.", ..., metavar="JUDGEMENTS"
    )
    runs: list[str] = argument_row(
        "TREC runs or such tables; one may hold several.", ..., metavar="RUN..."
    )
    metric: list[str] | None = first_row(
        "nDCG@K, a file, GAIN-DISCOUNT[@K]; AP, P@10 ... by ir_measures. [default: nDCG@10]",
        metavar="METRIC",
    )
    raw: bool = model_row("DCG itself, not divided by the best that is possible.", False)
    ties: Ties = "docno-desc"
    unjudged: str = first_row(
        "What a document without a judgement counts as.", "worst", metavar="worst|best|drop|GAIN"
    )
    missing: Missing = input_row("What judged queries count that a run does not have.", "zero")
    ideal: Ideal = model_row(
        "Documents of the best ranking: all judged or the run's.", "judgements"
    )
    duplicates: Duplicates = input_row(
        "What to do if a document occurs twice for a query.", "error"
    )
    bounds: bool = first_row("Also what a value and a difference can be once all is judged.", False)
    unseen: int = model_row("Documents of each query that no run shows, for --bounds.", 0, min=0)
    grades: Grades = None
    scale: Scale = None
    columns: str | None = input_row(
        "The files' own columns: grade=Final rating,document=SKU.", metavar="ROLE=NAME,..."
    )

    @property
    def inputs(self) -> list[str]:
        """The files that are read."""
        return [self.judgements, *self.runs, *(self.metric or [])]

    def evaluated(self, scales: ScaleOptions, evaluation: Callable[..., Result]) -> Result:
        """Read the files and return the result of `evaluate`, or of a function called alike."""
        metrics = files_and_names(self.metric or ["nDCG@10"])
        judged, runs = read_both(
            self.judgements,
            self.runs,
            duplicates=self.duplicates,
            columns=self.columns,
            n_grades=self.grades,
            scale=self.scale,
        )

        with scales.watched():
            return evaluation(
                judged,
                runs,
                metrics,
                normalise=not self.raw,
                ties=self.ties,
                unjudged=_gain(self.unjudged),
                missing=self.missing,
                ideal=self.ideal,
                bounds=self.bounds,
                unseen=self.unseen,
            )

    def read_judgements(self, path: str) -> Judgements:
        """Return other judgements, read as the options say; columns need not be theirs."""
        from dcglearn.reading.documents import own_columns

        own: Any = own_columns(self.columns, is_shared=True)
        how: Fields = {"n_grades": self.grades, "scale": self.scale, "columns": own}
        return read_judgements(path, duplicates=self.duplicates, **how)


@dataclass(frozen=True)
class GatedRuns(EvaluationOptions):
    """The judgements, and two runs of which the second may replace the first."""

    judgements: str = argument_row("Judgements, as of `evaluate`.", ..., metavar="JUDGEMENTS")
    runs: list[str] = argument_row(
        "The run in use, and the one that may replace it; or several.", ..., metavar="OLD NEW..."
    )


@dataclass(frozen=True)
class ComparisonOptions:
    """How systems are compared, and how the comparison is written."""

    baseline: str | None = model_row(
        "Compare the others with this run; by default the first.", metavar="RUN"
    )
    llm_qrels: str | None = first_row(
        "An LLM's judgements of these queries and more, corrected by people's.", metavar="FILE"
    )
    topics: Topics = model_row(
        "With --llm-qrels: the difference over all topics there could be, or these.", "all"
    )
    form: Literal["table", "csv", "jsonl", "markdown"] = first_row(
        "How to write.", "table", "--format"
    )
    level: float = model_row("Level of the intervals.", 0.95)
    correction: Literal["holm", "bh", "none"] = model_row("Correction for several tests.", "holm")
    resamples: int = model_row(
        "Number of sign flips that are drawn.", 10_000, min=100, max=MAX_RESAMPLES
    )
    seed: Seed = 0
    plot: Plot = None
    output: Output = None
    force: Force = False

    def comparison(
        self,
        source: EvaluationOptions,
        scales: ScaleOptions,
        compared: Callable[..., Result],
        *outputs: Path | None,
    ) -> Result:
        """Return the result of `compare_systems`, or of a function called alike.

        Raises InputError first if an output cannot be written.
        """
        inputs = [*source.inputs, self.llm_qrels]
        check_outputs(self.output, *outputs, force=self.force, picture=self.plot, inputs=inputs)

        # people's judgements alone, or with an LLM's corrected by them
        llm = None
        if self.llm_qrels:
            llm = source.read_judgements(self.llm_qrels)
        how = partial(
            compared,
            baseline=self.baseline,
            level=self.level,
            correction=self.correction,
            n_resamples=self.resamples,
            random_state=self.seed,
            llm=llm,
            topics=self.topics,
        )
        return source.evaluated(scales, how)

    def write(self, comparison: SystemComparison, *below: Finding) -> None:
        """Write the comparison, below it the ranks, orders or decision; draw the picture."""
        if self.form == "table":
            _show(comparison, *below, output=self.output, force=self.force)
        else:
            text = _as_text(comparison, below, self.form)
            write_text(text, self.output, force=self.force)

        # the decision in words, where the result went elsewhere
        elsewhere = self.output is not None or self.form not in ("table", "markdown")
        for decision in below:
            if isinstance(decision, Gate) and elsewhere:
                say(str(decision))
        write_figure(lambda: forest_figure(comparison), self.plot, force=self.force)


@examples(
    "dcglearn evaluate qrels.txt run.txt --metric dcg.json --metric nDCG@10",
    "dcglearn evaluate qrels.txt runs/*.gz --metric nDCG@10 -q --format jsonl -o values.jsonl",
    "dcglearn evaluate qrels.txt run.txt --metric nDCG@10 --against values.csv",
)
def evaluate(
    *,
    source: EvaluationOptions,
    scales: ScaleOptions,
    by_query: bool = first_row("Every query, not only means.", False, "-q", "--by-query"),
    against: str | None = input_row(
        "Values of queries from elsewhere: name the convention that differs from ours.",
        metavar="FILE",
    ),
    form: Literal["table", "tsv", "jsonl"] = first_row("How to write.", "table", "--format"),
    output: Output = None,
    force: Force = False,
) -> None:
    """Evaluate runs under any number of metrics in one pass."""
    check_outputs(output, force=force, inputs=[*source.inputs, *([against] if against else [])])
    if against is not None:
        settings = source.raw, source.ties, source.unjudged, source.missing, source.ideal
        usual = settings == (False, "docno-desc", "worst", "zero", "judgements")
        if by_query or source.bounds or form != "table" or not usual:
            raise InputError(
                "--against prints sentences, and tries all conventions: leave out -q, --bounds, "
                "--format, --raw, --ties, --unjudged, --missing and --ideal"
            )

        def explained(judged: Judgements, runs: list[Run], metrics: Any, **_: Any) -> Finding:
            return explain_values(against, judged, runs, metrics)

        _show(source.evaluated(scales, explained), output=output, force=force)
        return

    # evaluate, and write means or values by query
    evaluation = source.evaluated(scales, evaluated)
    if form == "table" and not by_query:
        _show(evaluation, output=output, force=force)
        return
    frame = evaluation.by_query()
    if not by_query:
        frame = frame.unique(["run", "measure"], keep="last", maintain_order=True)
    text = frame.write_ndjson() if form == "jsonl" else spreadsheet(frame, "\t")
    write_lines([text], output, force=force)


@examples(
    "dcglearn compare qrels.txt old.txt new.txt --metric nDCG@10 --metric dcg.json --plot f.png",
    "dcglearn compare qrels.txt runs/*.txt --baseline bm25 --format markdown",
    "dcglearn compare people.txt old.txt new.txt --llm-qrels machine.txt",
)
def compare(
    *, source: EvaluationOptions, scales: ScaleOptions, comparison: ComparisonOptions
) -> None:
    """Compare systems query by query: paired tests, intervals and ranks, under metrics.

    Below the tests stand the ranks that the queries leave open. Under several metrics, it also says
    how each orders the systems, and which differences of the orders are more than chance.
    """
    if comparison.llm_qrels is not None:
        comparison.write(comparison.comparison(source, scales, compare_systems))
    elif len(source.metric or []) < 2:
        compared = comparison.comparison(source, scales, compare_systems)
        comparison.write(compared, compared.ranks)
    else:
        compared, order = comparison.comparison(source, scales, compared_and_ordered)
        comparison.write(compared, compared.ranks, order)


def compared_and_ordered(
    judgements: Judgements, runs: list[Run], metrics: Fields, *, level: float, **settings: Any
) -> tuple[SystemComparison, Finding]:
    """Return the comparison of systems, and their orders under several metrics."""
    from dcglearn.coherence.order_of_systems import system_order

    compared = compare_systems(judgements, runs, metrics, level=level, **settings)

    # the comparison tells what concerns people and unjudged documents
    left_out = {"bounds", "unseen"}
    names = (settings.keys() & EvaluateOptions.__annotations__.keys()) - left_out
    evaluated_so = {name: settings[name] for name in names}
    order = system_order(judgements, runs, metrics, level=level, **evaluated_so)
    return compared, order


@examples(
    "dcglearn gate qrels.txt old.txt new.txt --metric dcg.json --min-difference -0.005 --level .9",
    "dcglearn gate qrels.txt old.txt new.txt --rule non-inferior --min-difference -0.01",
    "dcglearn gate qrels.txt old.txt new.txt --metric dcg.json --at-least 52",
)
def gate(
    *,
    source: GatedRuns,
    scales: ScaleOptions,
    comparison: ComparisonOptions,
    rule: Literal["harm", "non-inferior"] = first_row(
        "Pass unless a run is shown worse (harm), or only if it is shown not to be.", "harm"
    ),
    min_difference: float | None = first_row(
        "Smallest acceptable difference from the baseline, as -0.005; for harm 0 by default.",
        metavar="MARGIN",
    ),
    at_least: float | None = first_row(
        "Also fail unless so many of 100 people who see a difference take the run.",
        metavar="PEOPLE",
    ),
    junit: Path | None = output_row("Write the decision as a JUnit report."),
) -> None:
    """Decide whether a run may replace another: pass, fail or unknown.

    The status is 0 for pass, 1 for fail, 3 for unknown, such as with fewer topics than can decide,
    and 2 for bad input. Both rules are one-sided, at half of one minus the level.
    """
    try:
        compared_runs = comparison.comparison(source, scales, compare_systems, junit)
    except NoOverlapError as error:
        write_text(f"Unknown: {error}", comparison.output, force=comparison.force)
        raise typer.Exit(STATUS["unknown"]) from None
    decision = compared_runs.gate(min_difference, rule, at_least)
    comparison.write(compared_runs, decision)

    # the report, and the status
    if junit is not None:
        write_text(decision.to_junit(), junit, force=comparison.force)
    if decision.status:
        raise typer.Exit(decision.status)


def _gain(unjudged: str) -> str | float:
    try:
        return float(unjudged)
    except ValueError:
        return unjudged


def _show(*results: Finding, output: Path | None, force: bool) -> None:
    """Draw results on a terminal, or write their text."""
    if not drawn(output):
        write_text("\n\n".join(map(str, results)), output, force=force)
        return
    for i, result in enumerate(results):
        typer.echo("\n" * bool(i), nl=False)
        draw(result)


def _as_text(comparison: SystemComparison, below: Sequence[Finding], form: str) -> str:
    """Return a comparison, with what stands below it in Markdown.

    In CSV and JSON, ranks and verdicts are columns, and orders are left out.
    """
    if form == "markdown":
        return "\n".join(part.to_markdown() for part in (comparison, *below)).rstrip("\n")

    # the columns of the comparison, of ranks, and of verdicts
    table = comparison.table
    for part in below:
        if isinstance(part, Ranks):
            ranks = part.table.drop("mean", "rank")
            table = table.join(ranks, ["run", "measure"], "left", maintain_order="left")
        if isinstance(part, Gate):
            table = table.with_columns(part.table["verdict"])
    text = table.write_ndjson() if form == "jsonl" else spreadsheet(table)
    return text.rstrip("\n")
