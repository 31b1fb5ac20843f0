"""Commands that evaluate runs and take a metric elsewhere: ``evaluate``, ``compare``, ``export``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcglearn.foundation.files import refuse_existing, written_beside
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG
from dcglearn.plots import refuse_format

if TYPE_CHECKING:
    from collections.abc import Callable

    from dcglearn.evaluation.compare_systems import SystemComparison
    from dcglearn.evaluation.evaluate import Evaluation
    from dcglearn.evaluation.trec import Judgements, Run

commands = typer.Typer()


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    TSV = "tsv"
    JSONL = "jsonl"


class TableFormat(StrEnum):
    """How a comparison is written."""

    TABLE = "table"
    CSV = "csv"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    LATEX = "latex"


class Ties(StrEnum):
    """How documents of one score are ordered."""

    DOCNO_DESC = "docno-desc"
    STABLE = "stable"
    AVERAGE = "average"


class Missing(StrEnum):
    """What a query counts that a run does not have."""

    ZERO = "zero"
    SKIP = "skip"


class Duplicates(StrEnum):
    """What to do with a document that occurs twice for one query."""

    ERROR = "error"
    FIRST = "first"
    LAST = "last"


class Ideal(StrEnum):
    """What the best ranking is made of."""

    JUDGEMENTS = "judgements"
    LIST = "list"


class Tool(StrEnum):
    """Where a metric can go."""

    LIGHTGBM = "lightgbm"
    XGBOOST = "xgboost"
    IR_MEASURES = "ir-measures"
    TREC_EVAL = "trec-eval"
    RANX = "ranx"
    CWL_EVAL = "cwl-eval"
    SKLEARN = "scikit-learn"


Qrels = Annotated[
    str, typer.Argument(metavar="QRELS", help="TREC judgements (.gz, .zst, .xz), or JSON, CSV, TSV, Parquet; - too.")
]
RunFiles = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="TREC runs or such tables; one may hold several.")
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC", help="nDCG@K, a file, GAIN-DISCOUNT[@K]; AP, P@10 ... by ir_measures. [default: nDCG@10]"
    ),
]
Raw = Annotated[bool, typer.Option("--raw", help="DCG itself, not divided by the best that is possible.")]
TiesOption = Annotated[Ties, typer.Option(help="Order of documents of one score.")]
Unjudged = Annotated[
    str, typer.Option(metavar="worst|best|drop|GAIN", help="What a document without a judgement counts as.")
]
MissingOption = Annotated[Missing, typer.Option(help="What judged queries count that a run does not have.")]
IdealOption = Annotated[Ideal, typer.Option(help="Documents of the best ranking: all judged, or the run's own.")]
DuplicatesOption = Annotated[Duplicates, typer.Option(help="What to do with a document that occurs twice for a query.")]
Output = Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write there; else to standard output.")]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


@commands.command(
    epilog="Examples: dcglearn evaluate qrels.txt run.txt --metric dcg.json --metric nDCG@10    "
    "dcglearn evaluate qrels.txt runs/*.gz --metric nDCG@10 -q -o jsonl > values.jsonl"
)
def evaluate(
    judgements: Qrels,
    runs: RunFiles,
    metric: Metric = None,
    by_query: Annotated[bool, typer.Option("-q", "--by-query", help="Every query, not only means.")] = False,
    form: Annotated[Format, typer.Option("-o", "--format", help="How to write.")] = Format.TABLE,
    raw: Raw = False,
    ties: TiesOption = Ties.DOCNO_DESC,
    unjudged: Unjudged = "worst",
    missing: MissingOption = Missing.ZERO,
    ideal: IdealOption = Ideal.JUDGEMENTS,
    duplicates: DuplicatesOption = Duplicates.ERROR,
    output: Output = None,
    force: Force = False,
) -> None:
    """Evaluate runs under any number of metrics in one pass."""
    _check(output, force=force)
    found = _evaluated(judgements, runs, metric, raw, ties, unjudged, missing, ideal, duplicates)
    _write(_rendered(found, form, by_query), output, force=force)


@commands.command(
    epilog="Examples: dcglearn compare qrels.txt old.txt new.txt --metric nDCG@10 --metric dcg.json --plot f.png    "
    "dcglearn compare qrels.txt runs/*.txt --baseline bm25 -o markdown"
)
def compare(
    judgements: Qrels,
    runs: RunFiles,
    metric: Metric = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="Compare the others with this run; by default the first.")
    ] = None,
    form: Annotated[TableFormat, typer.Option("-o", "--format", help="How to write.")] = TableFormat.TABLE,
    level: Annotated[float, typer.Option(help="Of the bootstrap intervals.")] = 0.95,
    correction: Annotated[str, typer.Option(metavar="holm|bh|none", help="For testing many.")] = "holm",
    resamples: Annotated[int, typer.Option(min=100, metavar="N", help="Of bootstrap and permutations.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    raw: Raw = False,
    ties: TiesOption = Ties.DOCNO_DESC,
    unjudged: Unjudged = "worst",
    missing: MissingOption = Missing.ZERO,
    ideal: IdealOption = Ideal.JUDGEMENTS,
    duplicates: DuplicatesOption = Duplicates.ERROR,
    plot: Annotated[Path | None, typer.Option(help="Draw the differences here (.png, .pdf, .svg).")] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Compare systems query by query: paired tests and intervals, under one metric or many."""
    _check(output, plot, force=force)
    if plot is not None:
        refuse_format(plot)
    from dcglearn.evaluation.compare_systems import CORRECTIONS, compared

    if correction not in CORRECTIONS:
        raise InputError(f"--correction {correction}: give one of {', '.join(CORRECTIONS)}")
    found = _evaluated(judgements, runs, metric, raw, ties, unjudged, missing, ideal, duplicates)
    comparison = compared(found, baseline, level, correction, resamples, seed)
    _write(_comparison_text(comparison, form), output, force=force)
    if plot is not None:
        from dcglearn.plots import forest_figure, save_figure

        save_figure(forest_figure(comparison), plot, force=force)
        typer.echo(f"wrote: {plot}", err=True)


@commands.command(
    epilog="Examples: dcglearn export dcg.json --to lightgbm    dcglearn export dcg.json --to trec-eval --lossy"
)
def export(
    metric: Annotated[str, typer.Argument(metavar="METRIC", help="A file, or GAIN-DISCOUNT[@K].")],
    to: Annotated[Tool, typer.Option("--to", help="The tool.")],
    lossy: Annotated[bool, typer.Option("--lossy", help="Go without the discounts where a tool has none.")] = False,
    scale: Annotated[int | None, typer.Option(min=1, help="trec-eval, ranx: what the best grade becomes.")] = None,
    n_grades: Annotated[int | None, typer.Option("--n-grades", metavar="L", help="Of a textbook metric.")] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Take a metric to another tool: its settings as JSON, and the lines of code where settings do not suffice."""
    _check(output, force=force)
    dcg = DCG.load(metric) if Path(metric).is_file() else DCG.from_name(metric, n_grades or 5)
    _write(json.dumps(_exported(dcg, metric, to, lossy, scale), indent=1), output, force=force)


def _exported(dcg: DCG, name: str, to: Tool, lossy: bool, scale: int | None) -> dict[str, Any]:
    from dcglearn import exports

    load = f"dcg = dcglearn.DCG.load({name!r})"
    if to is Tool.LIGHTGBM and (lossy or exports.is_log2(dcg)):
        return {"tool": to.value, "params": exports.to_lightgbm(dcg, lossy=lossy), "lost": _lost(dcg)}
    if to in (Tool.TREC_EVAL, Tool.RANX):
        return {"tool": to.value, **exports.to_trec_eval(dcg, scale, lossy=lossy), "lost": _lost(dcg)}
    if to is Tool.CWL_EVAL:
        return {"tool": to.value, "gains": exports.cwl_gains(dcg), "continuation": exports.cwl_continuation(dcg)}
    calls = {
        Tool.LIGHTGBM: "objective, metric = dcglearn.exports.lightgbm_callables(dcg)",
        Tool.XGBOOST: "objective, metric = dcglearn.exports.xgboost_callables(dcg)",
        Tool.IR_MEASURES: "measure = dcglearn.exports.ir_measure(dcg)",
        Tool.SKLEARN: "scorer = dcglearn.exports.sklearn_scorer(dcg)",
    }
    return {"tool": to.value, "python": ["import dcglearn", load, calls[to]], "lost": []}


def _lost(dcg: DCG) -> list[str]:
    from dcglearn.exports import is_log2

    return [] if is_log2(dcg) else ["the discounts: the tool counts 1 / log2(rank + 1) instead"]


def _evaluated(
    judgements: str,
    runs: list[str],
    metric: list[str] | None,
    raw: bool,
    ties: Ties,
    unjudged: str,
    missing: Missing,
    ideal: Ideal,
    duplicates: Duplicates,
) -> Evaluation:
    from dcglearn.evaluation.evaluate import evaluate as evaluated
    from dcglearn.evaluation.tables import read_judgements, read_runs

    judged, found = read_judgements(judgements, duplicates.value), read_runs(runs, duplicates.value)
    return evaluated(
        found,
        judged,
        _metrics(metric or ["nDCG@10"], judged, found),
        normalise=not raw,
        ties=ties.value,
        unjudged=_gain(unjudged),
        missing=missing.value,
        ideal=ideal.value,
    )


def _gain(unjudged: str) -> str | float:
    try:
        return float(unjudged)
    except ValueError:
        return unjudged


def _metrics(names: list[str], judged: Judgements, runs: list[Run]) -> dict[str, Any]:
    from dcglearn.evaluation.evaluate import named

    return {name: DCG.load(name) if Path(name).is_file() else named(name, judged, runs) for name in names}


def _rendered(found: Evaluation, form: Format, by_query: bool) -> str:
    if form is Format.TABLE and not by_query:
        return str(found)
    frame = found.frame(by_query=by_query)
    if form is Format.JSONL:
        return frame.write_ndjson().rstrip("\n")
    return frame.write_csv(separator="\t").rstrip("\n")


def _comparison_text(found: SystemComparison, form: TableFormat) -> str:
    texts: dict[TableFormat, Callable[[], str]] = {
        TableFormat.TABLE: lambda: str(found),
        TableFormat.CSV: found.frame.write_csv,
        TableFormat.JSONL: found.frame.write_ndjson,
        TableFormat.MARKDOWN: found.to_markdown,
        TableFormat.LATEX: found.to_latex,
    }
    return texts[form]().rstrip("\n")


def _check(*outputs: Path | None, force: bool) -> None:
    for path in outputs:
        if path is not None:
            refuse_existing(path, force=force)


def _write(text: str, output: Path | None, *, force: bool) -> None:
    if output is None:
        typer.echo(text)
        return
    with written_beside(output, force=force) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    typer.echo(f"wrote: {output}", err=True)
