"""Commands on saved files: ``dcglearn show`` and ``dcglearn export``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import dcglearn as dl
from dcglearn.cli.options import (
    Force,
    Grades,
    Plot,
    check_outputs,
    option,
    write_figure,
    write_text,
)
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.reading import METRICS, metric_or_name, resolved
from dcglearn.plots import dcg_figure


def show(
    shown: Annotated[
        list[str],
        typer.Argument(
            help="Files of metrics, names GAIN-DISCOUNT[@K] or reader:NAME; files of models.",
            metavar="METRIC|MODEL...",
        ),
    ],
    output: Annotated[
        Path | None, option("Write here, as .txt or .json.", "-o", "--output")
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
    check_outputs(output, force=force, forms=(".txt", ".json"), picture=plot, inputs=shown)
    if plot is not None and not metrics:
        raise InputError("--plot draws metrics; models have no picture")

    # models, gains and discounts
    values: list[Fields] = [{"model": _model(Path(name))} for name in models]
    texts = [
        "\n".join(["model: whole", *(f"  {name}: {fact}" for name, fact in one["model"].items())])
        for one in values
    ]
    dcgs = _metrics(metrics, grades)
    for name, dcg in dcgs.items():
        log = None if dcg.learned_from is None else f"learned from {dcg.learned_from}"
        about = [*dcg.notes, *filter(None, [log, dcg.judges])]
        values.append({"name": name, **dcg.to_dict()})
        texts.append("\n".join([name, str(dcg), *(f"- {note}" for note in about), ""]))
    as_json = output is not None and output.suffix.lower() == ".json"
    text = json.dumps(values, indent=2) if as_json else "\n".join(texts)
    write_text(text, output, force=force)
    write_figure(lambda: dcg_figure(dcgs), plot, force=force)


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
    check_outputs(output, force=force, inputs=[metric])
    dcg = carried(metric, target, grades or 5)
    made = exported(dcg, metric, target, lossy=lossy)
    write_text(made.text.rstrip("\n"), output, force=force)


def _metrics(names: list[str], n_grades: int | None) -> Fields:
    """Return metrics by name; names take the files' or readers' grades, or 5, and largest depth."""
    parsed = [metric_or_name(name, accept=METRICS) for name in names]
    if not any(hasattr(metric, "n_grades") for metric in parsed):
        n_grades = n_grades or 5
    metrics, labels = resolved(parsed, names, n_grades=n_grades)
    return dict(zip(labels, metrics, strict=True))


def _model(file: Path) -> Fields:
    """Return the facts of a model; raise InputError if it is damaged."""
    ranker: Any = dl.load_ranker(file)
    facts = {"kind": type(ranker).__name__, "features": ranker.n_features_in_}
    facts["metric"] = repr(ranker.metric_)

    # trees tell how many they are, and of which features
    if hasattr(ranker, "n_trees_"):
        facts["trees"] = ranker.n_trees_
        facts["important"] = most_important(ranker)
    return facts


def most_important(ranker: Any) -> str:
    """Return the five features that trees use most, each with its share of the gain."""
    return ", ".join(f"{name} {share:.0%}" for name, share in ranker.important(5))
