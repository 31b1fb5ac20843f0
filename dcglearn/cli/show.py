"""``dcglearn show``: gains and discounts as a table or a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dcglearn.cli.options import Force, Grades, check_outputs, load_metrics

commands = typer.Typer()


@commands.command(
    epilog="Examples: dcglearn show dcg.json    dcglearn show dcg.json exponential-log2@10 --plot both.png"
)
def show(
    metrics: Annotated[list[str], typer.Argument(metavar="METRIC...", help="Files, or names GAIN-DISCOUNT[@K].")],
    grades: Grades = None,
    plot: Annotated[Path | None, typer.Option(help="Draw gains and discounts here (.png, .pdf, .svg).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    force: Force = False,
) -> None:
    """Show gains and discounts of one or several DCGs."""
    check_outputs(plot, force=force, picture=plot)
    found = load_metrics(metrics, grades)
    for name, dcg in found.items():
        if as_json:
            typer.echo(json.dumps({"name": name, **dcg.to_dict()}, allow_nan=False))
        else:
            notes = [f"- {note}" for note in dcg.notes]
            typer.echo("\n".join([name, dcg.table(), *notes, ""]))
    if plot is not None:
        from dcglearn.plots import dcg_figure, save_figure

        save_figure(dcg_figure(found), plot, force=force)
        typer.echo(f"wrote: {plot}", err=True)
