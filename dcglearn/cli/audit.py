"""``dcglearn audit``: one page on whether a metric follows the users of a log."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from typing import Annotated

import typer

from dcglearn.cli.command import examples, first_option
from dcglearn.cli.options import AsJson, Force, Output, Seed, check_outputs
from dcglearn.cli.reading import Ratings, Reading, convert_line
from dcglearn.cli.terminal import told_on_a_terminal
from dcglearn.foundation.inputs import read_bytes
from dcglearn.metric.reading import metric_or_name
from dcglearn.metric.textbook import is_metric_file


@examples(
    "dcglearn audit log.jsonl --metric exponential-log2 -o audit.html",
    "dcglearn audit satisfaction.jsonl --ratings --metric dcg.json --json",
)
def audit(
    reading: Reading,
    log: Annotated[str, typer.Argument(metavar="LOG", help="The judgements: JSON lines, delimited text or Parquet.")],
    metric: Annotated[
        str, first_option(metavar="METRIC", help="The metric in use: a file, or GAIN-DISCOUNT[@K].")
    ] = "exponential-log2",
    ratings: Ratings = False,
    output: Output = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Audit a metric on one page: whether it follows users, what it gets wrong, how sure that is, and what to do."""
    metric_or_name(metric)
    check_outputs(output, force=force, inputs=[log, metric, reading.read])
    from dcglearn.audits.audit import audit as audited
    from dcglearn.readers.readers import read_preferences, read_ratings

    with convert_line(log), told_on_a_terminal():
        judged = (read_ratings if ratings else read_preferences)(log, mapping=reading.mapping)
        files = [name for name in (log, metric) if name == log != "-" or is_metric_file(name)]
        made = {f"{name} (SHA-256)": hashlib.sha256(read_bytes(name)).hexdigest() for name in files}
        result = audited(judged, metric, seed=seed, made={"command": shlex.join(["dcglearn", *sys.argv[1:]]), **made})
    if output is not None:
        result.save(output, force=force)
        typer.echo(f"wrote: {output}", err=True)
    typer.echo(json.dumps(result.to_dict(), allow_nan=False) if as_json else str(result))
