"""``dcglearn show``: gains and discounts as a table or a picture."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dcglearn.cli.command import examples
from dcglearn.cli.metric_options import load_metrics
from dcglearn.cli.options import AsJson, Force, Grades, Plot, check_outputs, write_figure
from dcglearn.plots import dcg_figure


@examples(
    "dcglearn show dcg.json",
    "dcglearn show dcg.json exponential-log2@10 --plot both.png",
)
def show(
    metrics: Annotated[list[str], typer.Argument(metavar="METRIC...", help="Files, or names GAIN-DISCOUNT[@K].")],
    grades: Grades = None,
    plot: Plot = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show gains and discounts of one or several DCGs; as JSON, one object a line."""
    check_outputs(force=force, picture=plot, inputs=metrics)
    dcgs = load_metrics(metrics, grades)
    for name, dcg in dcgs.items():
        if as_json:
            typer.echo(json.dumps({"name": name, **dcg.to_dict()}, allow_nan=False))
        else:
            notes = [f"- {note}" for note in dcg.notes]
            typer.echo("\n".join([name, dcg.table(), *notes, ""]))
    write_figure(lambda: dcg_figure(dcgs), plot, force=force)
