"""``dcglearn convert``: any log in the form that every command reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dcglearn.cli.command import examples
from dcglearn.cli.log_options import JudgementOptions
from dcglearn.cli.options import Force, OutputLog, Reading, check_outputs
from dcglearn.cli.recognised import looked_up_lines, say_winners

if TYPE_CHECKING:
    import polars as pl


@examples(
    "dcglearn convert spreadsheet.csv -o log.jsonl",
    'dcglearn convert answers.csv --winner-words "Left is better=a,Right is better=b,Same=tie" -o log.jsonl',
    "dcglearn convert log.jsonl --qrels qrels.txt -o joined.jsonl",
    "dcglearn convert likert.csv --positive b -o log.jsonl",
    "dcglearn convert --ratings rated.csv -o log.parquet",
)
def convert(
    judgements: JudgementOptions,
    reading: Reading,
    log: Annotated[
        str,
        typer.Argument(metavar="LOG", help="JSON lines or array, delimited text or Parquet; - reads standard input."),
    ],
    output: OutputLog = None,
    force: Force = False,
) -> None:
    """Turn a log of any form into the native one: a line a judgement, with a, b and winner.

    Tables with a column for each position or a row for each document become lists, words become grades and winners,
    and rated lists become the pairs that they imply. Sides, open questions and superseded verdicts stay as they are.
    """
    check_outputs(output, judgements.skip_bad, force=force, inputs=[log, *judgements.other_inputs])
    from dcglearn.readers.convert import write_frame

    frame = _frame(judgements, reading, log)
    if output is None:
        typer.echo(frame.write_ndjson(), nl=False)
        return
    write_frame(frame, output, force=force)
    depth = int(frame["a"].list.len().max() or 0)  # type: ignore[arg-type]
    typer.echo(f"wrote: {output} ({len(frame):,} lines, {depth} positions)", err=True)


def _frame(judgements: JudgementOptions, reading: Reading, log: str) -> pl.DataFrame:
    """Return the log as a table, and print what was recognised and left out."""
    from dcglearn.readers.convert import native_frame
    from dcglearn.readers.mapping import LogMapping

    if judgements.ratings or judgements.joins or judgements.inconsistent != "keep":
        pairs = judgements.read(log, reading, judgements.skip_bad)
        frame, dropped, recognised, counted = pairs.to_polars(), pairs.dropped, pairs.recognised, pairs.counted
    else:
        mapping = LogMapping(**reading.parameters, **judgements.parameters)
        frame, dropped, recognised = native_frame(log, mapping, judgements.skip_bad)
        counted = {}
    say_winners(recognised)
    if reading.scale is not None:
        named = ", ".join(f"{grade} = {name}" for grade, name in enumerate(reading.parameters["scale"]))
        typer.echo(f"grades: {named}", err=True)
    for line in looked_up_lines(counted):
        typer.echo(line, err=True)
    for reason, count in dropped.items():
        typer.echo(f"left out: {count:,} {reason}", err=True)
    return frame
