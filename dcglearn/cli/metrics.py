"""Commands on metrics: ``dcglearn coherence``, ``dcglearn show`` and ``dcglearn export``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    USUAL_GRADES,
    Force,
    Grades,
    Output,
    Plot,
    method_option,
    option,
    output_to,
)
from dcglearn.cli.outputs import say, write_figure, write_results, write_text
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.reading import resolved


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

    # how often they disagree, and a verdict with its witness
    results: dict[str, Finding] = {
        "disagreement": dl.disagreement(first, second, documents, names=names)
    }
    verdict = None
    if all(isinstance(metric, (dl.DCG, dl.Utility)) for metric in (first, second)):
        verdict = dl.coherence(first, second, documents, time_limit=time_limit, names=names)
        results = {"coherence": verdict, **results}
    else:
        say("no certificate: certificates are only true of a DCG, not of a list utility")
    write_results(f"{names[0]} and {names[1]}", results, output)
    if verdict is not None and verdict.witnesses:
        write_figure(lambda: dl.plots.witness_figure(verdict), plot)
    elif plot is not None:
        say(f"not written: {plot} (there is no disagreement to draw)")


def show(
    shown: Annotated[
        list[str],
        typer.Argument(
            help="Files of metrics, names GAIN-DISCOUNT[@K] or reader:NAME; files of models.",
            metavar="METRIC|MODEL...",
        ),
    ],
    output: Annotated[
        Path | None, output_to("Write here, as .txt or .json.", (".txt", ".json"))
    ] = None,
    plot: Plot = None,
    grades: Grades = None,
    force: Force = False,
) -> None:
    """Show metrics, or models, which are checked; in .json, a list of objects.

    A damaged model ends with status 2.
    """
    from dcglearn.rankers.model_files import is_model

    models = [name for name in shown if is_model(name)]
    metrics = [name for name in shown if name not in models]
    if plot is not None and not metrics:
        raise InputError("--plot draws metrics; models have no picture")

    # models
    values: list[Fields] = []
    texts = []
    for name in models:
        ranker: Any = dl.load_ranker(name)
        facts = {"kind": type(ranker).__name__, "features": ranker.n_features_in_}
        facts["metric"] = repr(ranker.metric_)
        values.append({"model": facts})
        texts += ["model: whole", *(f"  {about}: {fact}" for about, fact in facts.items())]

    # gains and discounts
    dcgs, labels = resolved(metrics, metrics, n_grades=grades, usual=USUAL_GRADES)
    by_name = dict(zip(labels, dcgs, strict=True))
    for name, dcg in by_name.items():
        log = None if dcg.learned_from is None else f"learned from {dcg.learned_from}"
        about = [*dcg.notes, *filter(None, [log, dcg.judges])]
        values.append({"name": name, **dcg.to_dict()})
        texts.append("\n".join([name, str(dcg), *(f"- {note}" for note in about), ""]))

    # in the form of the suffix, and the picture
    as_json = output is not None and output.suffix.lower() == ".json"
    text = json.dumps(values, indent=2) if as_json else "\n".join(texts)
    write_text(text, output)
    if by_name:
        write_figure(lambda: dl.plots.dcg_figure(by_name), plot)


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
    from dcglearn.exports.settings import carried
    from dcglearn.exports.targets import exported, list_of_targets, target_of

    if to == "list":
        typer.echo(list_of_targets())
        return
    if metric is None:
        raise InputError("name a metric: dcglearn export dcg.json --to quepid")

    # read the metric, and write what the target takes
    target = target_of(to)
    dcg = carried(metric, target, grades or USUAL_GRADES)
    made = exported(dcg, metric, target, lossy=lossy)
    write_text(made.text.rstrip("\n"), output)
