"""Commands on saved files: ``dcglearn show`` and ``export`` metrics, ``dcglearn verify`` models."""

import json
from pathlib import Path
from typing import Any

import typer

import dcglearn as dl
from dcglearn.cli.command import argument_row, examples, first_row, input_row
from dcglearn.cli.metric_options import load_metrics
from dcglearn.cli.options import (
    AsJson,
    Force,
    Grades,
    Output,
    Plot,
    check_outputs,
    print_result,
    write_figure,
    write_text,
)
from dcglearn.foundation.checkpoints import inspect_checkpoint
from dcglearn.foundation.inputs import read_json_object
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.plots import dcg_figure


@examples("dcglearn show dcg.json", "dcglearn show dcg.json exponential-log2@10 --plot both.png")
def show(
    *,
    metrics: list[str] = argument_row(
        ..., "Files, or names GAIN-DISCOUNT[@K].", metavar="METRIC..."
    ),
    grades: Grades = None,
    plot: Plot = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show gains and discounts of one or several DCGs; as JSON, one object a line."""
    check_outputs(force=force, picture=plot, inputs=metrics)
    dcgs = load_metrics(metrics, grades)
    for name, dcg in dcgs.items():
        notes = [f"- {note}" for note in dcg.notes]
        text = "\n".join([name, str(dcg), *notes, ""])
        print_result({"name": name, **dcg.to_dict()} if as_json else text, as_json)
    write_figure(lambda: dcg_figure(dcgs), plot, force=force)


@examples(
    "dcglearn export dcg.json --to quepid -o scorer.js",
    "dcglearn export dcg.json --to trec-eval --lossy",
    "dcglearn export --list",
)
def export(
    *,
    metric: str | None = argument_row(
        None, "A file, or GAIN-DISCOUNT@K.", metavar="METRIC", show_default=False
    ),
    to: str | None = first_row(None, "The tool; --list shows all.", metavar="TARGET"),
    lossy: bool = first_row(False, "Leave the discounts out where a tool has none."),
    scale: int | None = input_row(None, "trec-eval, ranx: what the best grade becomes.", min=1),
    n_grades: int | None = input_row(
        None, "Number of grades of a textbook metric.", min=1, metavar="L"
    ),
    listed: bool = first_row(False, "Show the targets and what each can hold.", "--list"),
    output: Output = None,
    force: Force = False,
) -> None:
    """Export a metric to another tool, as a program, settings in JSON, or lines of code."""
    from dcglearn.exports.settings import carried
    from dcglearn.exports.targets import exported, list_of_targets, target_of

    if listed:
        typer.echo(list_of_targets())
        return
    if metric is None or to is None:
        command = "dcglearn export dcg.json --to quepid"
        raise InputError(f"name a metric and a target: {command}; --list shows the targets")

    # read the metric, and write what the target takes
    target = target_of(to)
    check_outputs(output, force=force, inputs=[metric])
    dcg = carried(metric, target, n_grades or 5)
    made = exported(dcg, metric, target, lossy=lossy, scale=scale)
    text = json.dumps(made.settings, indent=1) if made.text is None else made.text.rstrip("\n")
    write_text(text, output, force=force)


@examples("dcglearn verify model", "dcglearn verify fit.checkpoint --json")
def verify(
    *,
    model: Path = argument_row(
        ..., "A folder that `dcglearn train` wrote, or a checkpoint.", metavar="MODEL"
    ),
    as_json: AsJson = False,
) -> None:
    """Check that a saved model is whole and say what it is; a damaged one ends with status 2."""
    from dcglearn.rankers.model_files import CHECKPOINT

    if not model.exists():
        raise InputError(f"{model} does not exist; check the name")

    # a folder may hold a model, a checkpoint, or both
    folder = model.is_dir()
    checkpoint = model / CHECKPOINT if folder else model
    parts: Fields = {}
    if folder and ((model / "model.json").exists() or not checkpoint.exists()):
        parts["model"] = _model(model)
    if not folder or checkpoint.exists():
        parts["checkpoint"] = inspect_checkpoint(checkpoint)

    # print what each is
    if as_json:
        print_result(parts, as_json)
        return
    for kind, fields in parts.items():
        lines = [f"  {name}: {value}" for name, value in fields.items()]
        typer.echo("\n".join([f"{kind}: whole", *lines]))


def _model(folder: Path) -> Fields:
    """Return the facts of a model; raise InputError if it is damaged."""
    ranker: Any = dl.load_ranker(folder)
    saved = read_json_object(folder / "model.json")
    facts = {"kind": saved["kind"], "features": ranker.n_features_in_}
    facts["metric"] = repr(ranker.metric_)

    # trees tell how many they are, and of which features
    if hasattr(ranker, "n_trees_"):
        facts["trees"] = ranker.n_trees_
        facts["important"] = most_important(ranker)
    files = [f"{name} (SHA-256 {checksum})" for name, checksum in saved["files"].items()]
    return facts | {"data": ", ".join(files)}


def most_important(ranker: Any) -> str:
    """Return the five features that trees use most, each with its share of the gain."""
    return ", ".join(f"{name} {share:.0%}" for name, share in ranker.important(5))
