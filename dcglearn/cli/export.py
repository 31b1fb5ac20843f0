"""``dcglearn export``: a metric for another tool, as a program, as settings or as lines of code."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dcglearn.cli.command import examples, first_option, input_option
from dcglearn.cli.options import Force, Output, check_outputs, write_text
from dcglearn.foundation.validation import InputError


@examples(
    "dcglearn export dcg.json --to quepid -o scorer.js",
    "dcglearn export dcg.json --to trec-eval --lossy",
    "dcglearn export --list",
)
def export(
    metric: Annotated[
        str | None, typer.Argument(metavar="METRIC", help="A file, or GAIN-DISCOUNT@K.", show_default=False)
    ] = None,
    to: Annotated[str | None, first_option("--to", metavar="TARGET", help="The tool; --list shows all.")] = None,
    lossy: Annotated[bool, first_option("--lossy", help="Leave the discounts out where a tool has none.")] = False,
    scale: Annotated[int | None, input_option(min=1, help="trec-eval, ranx: what the best grade becomes.")] = None,
    n_grades: Annotated[
        int | None, input_option("--n-grades", min=1, metavar="L", help="Number of grades of a textbook metric.")
    ] = None,
    listed: Annotated[bool, first_option("--list", help="Show the targets and what each can hold.")] = False,
    output: Output = None,
    force: Force = False,
) -> None:
    """Export a metric to another tool: a program, settings as JSON, or lines of code where settings do not suffice."""
    from dcglearn.exports.carried import carried
    from dcglearn.exports.targets import exported, list_of_targets, target_of

    if listed:
        typer.echo(list_of_targets())
        return
    if metric is None or to is None:
        raise InputError("name a metric and a target: dcglearn export dcg.json --to quepid; --list shows the targets")
    target = target_of(to)
    check_outputs(output, force=force, inputs=[metric])
    dcg = carried(metric, target, n_grades or 5)
    made = exported(dcg, metric, target, lossy=lossy, scale=scale)
    text = json.dumps(made.settings, indent=1) if made.text is None else made.text.rstrip("\n")
    write_text(text, output, force=force)
