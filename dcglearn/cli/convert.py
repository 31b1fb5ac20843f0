"""``dcglearn convert``: any log in the form that every command reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dcglearn.cli.command import examples, input_option, output_option
from dcglearn.cli.join_options import JoinOptions
from dcglearn.cli.options import Force, OutputLog, check_outputs, write_log
from dcglearn.cli.reading_options import MappingOptions, convert_line
from dcglearn.cli.recognised import looked_up_lines, recognised_mapping, say_winners
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.readers.mapping import LogMapping
    from dcglearn.readers.preferences import Preferences


@examples(
    "dcglearn convert spreadsheet.csv -o log.jsonl",
    'dcglearn convert answers.csv --winner-words "Left is better=a,Right is better=b,Same=tie" -o log.jsonl',
    "dcglearn convert vendor.csv --columns winner=Verdict --save-mapping vendor.toml -o log.jsonl",
    "dcglearn convert log.jsonl --qrels qrels.txt -o joined.jsonl",
    "dcglearn convert verdicts.csv --run-a old.txt --run-b new.txt --qrels qrels.txt -o log.jsonl",
    "dcglearn convert --ratings rated.csv -o log.parquet",
)
def convert(
    log: Annotated[
        str,
        typer.Argument(metavar="LOG", help="JSON lines or array, delimited text or Parquet; - reads standard input."),
    ],
    reading: MappingOptions,
    joins: JoinOptions,
    inconsistent: Annotated[
        Literal["keep", "half", "tie"],
        input_option(help="What contradictory verdicts count, of one rater on a pair shown both ways."),
    ] = "keep",
    output: OutputLog = None,
    save_mapping: Annotated[
        Path | None, output_option(metavar="FILE", help="Write how the log was read here (TOML), for --read.")
    ] = None,
    force: Force = False,
) -> None:
    """Turn a log of any form into the native one: a line a judgement, with a, b and winner.

    Tables with a column for each position or a row for each document become lists, words become grades and winners,
    and rated lists become the pairs that they imply. Sides, open questions and superseded verdicts stay as they are.
    """
    check_outputs(output, reading.skip_bad, save_mapping, force=force, inputs=[log, reading.read, *joins.inputs])
    from dcglearn.readers.readers import native_frame

    mapping = reading.mapping
    with convert_line(log):
        if reading.ratings or joins.asked or inconsistent != "keep":
            pairs = _pairs(log, mapping, reading, joins, inconsistent)
            frame, dropped, recognised, counted = pairs.to_polars(), pairs.dropped, pairs.recognised, pairs.counted
        else:
            frame, dropped, recognised = native_frame(log, mapping, reading.skip_bad)
            counted = {}
    say_winners(recognised)
    if mapping.scale is not None:
        typer.echo("grades: " + ", ".join(f"{grade} = {name}" for grade, name in enumerate(mapping.scale)), err=True)
    left_out = [f"left out: {count:,} {reason}" for reason, count in dropped.items()]
    for line in [*looked_up_lines(counted), *left_out]:
        typer.echo(line, err=True)
    depth = int(frame["a"].list.len().max() or 0)  # type: ignore[arg-type]
    write_log(frame, output, f"{len(frame):,} lines, {depth} positions", force=force)
    if save_mapping is not None:
        recognised_mapping(mapping, recognised).save(save_mapping, force=force)
        typer.echo(f"wrote: {save_mapping} (give it by --read)", err=True)


def _pairs(
    log: str, mapping: LogMapping, reading: MappingOptions, joins: JoinOptions, inconsistent: str
) -> Preferences:
    """Return a log that is not read line for line: rated lists, joined lists, or reconciled verdicts."""
    from dcglearn.readers.readers import read_preferences, read_ratings

    if reading.ratings:
        if joins.asked or inconsistent != "keep":
            raise InputError(f"{(*joins.asked, '--inconsistent')[0]} is for pairs: leave it out with --ratings")
        return read_ratings(log, skip_bad=reading.skip_bad, equal_groups=reading.equal_groups, mapping=mapping)
    if joins.asked:
        pairs = joins.joined(log, mapping, reading.skip_bad)
    else:
        pairs = read_preferences(log, skip_bad=reading.skip_bad, mapping=mapping)
    return pairs if inconsistent == "keep" else pairs.reconciled(inconsistent)
