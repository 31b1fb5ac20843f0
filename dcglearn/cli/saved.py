"""Commands on saved files: ``dcglearn show`` and ``dcglearn export``."""

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
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.plots import dcg_figure


@examples(
    "dcglearn show dcg.json",
    "dcglearn show dcg.json exponential-log2@10 --plot both.png",
    "dcglearn show reader:news-feed",
    "dcglearn show model.json  # is it whole, and what is in it?",
)
def show(
    *,
    shown: list[str] = argument_row(
        "Files of metrics, names GAIN-DISCOUNT[@K] or reader:NAME; files of models.",
        ...,
        metavar="METRIC|MODEL...",
    ),
    grades: Grades = None,
    plot: Plot = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show metrics, or models, which are checked; as JSON, one object a line.

    A damaged model ends with status 2.
    """
    from dcglearn.rankers.model_files import is_model

    models = [name for name in shown if is_model(name)]
    metrics = [name for name in shown if name not in models]
    check_outputs(force=force, picture=plot, inputs=metrics)
    if plot is not None and not metrics:
        raise InputError("--plot draws metrics; models have no picture")

    # models
    for model in models:
        _show_model(Path(model), as_json=as_json)

    # gains and discounts
    dcgs = load_metrics(metrics, grades) if metrics else {}
    for name, dcg in dcgs.items():
        log = None if dcg.learned_from is None else f"learned from {dcg.learned_from}"
        about = [*dcg.notes, *filter(None, [log, dcg.judges])]
        notes = [f"- {note}" for note in about]
        text = "\n".join([name, str(dcg), *notes, ""])
        print_result({"name": name, **dcg.to_dict()} if as_json else text, as_json)
    write_figure(lambda: dcg_figure(dcgs), plot, force=force)


@examples(
    "dcglearn export dcg.json --to quepid -o scorer.js",
    "dcglearn export dcg.json --to lightgbm --lossy",
    "dcglearn export --list",
)
def export(
    *,
    metric: str | None = argument_row(
        "A file, or GAIN-DISCOUNT@K.", metavar="METRIC", show_default=False
    ),
    to: str | None = first_row("The tool; --list shows all.", metavar="TARGET"),
    lossy: bool = first_row("Leave the discounts out where a tool has none.", False),
    grades: int | None = input_row("Number of grades of a textbook metric.", min=1, metavar="L"),
    listed: bool = first_row("Show the targets and what each can hold.", False, "--list"),
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
        raise InputError(
            "name a metric and a target: dcglearn export dcg.json --to quepid; --list shows the "
            "targets"
        )

    # read the metric, and write what the target takes
    target = target_of(to)
    check_outputs(output, force=force, inputs=[metric])
    dcg = carried(metric, target, grades or 5)
    made = exported(dcg, metric, target, lossy=lossy)
    write_text(made.text.rstrip("\n"), output, force=force)


def _show_model(model: Path, *, as_json: bool) -> None:
    """Print what a model is; raise InputError if it is damaged."""
    fields = _model(model)
    if as_json:
        print_result({"model": fields}, as_json)
        return
    lines = [f"  {name}: {value}" for name, value in fields.items()]
    typer.echo("\n".join(["model: whole", *lines]))


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
