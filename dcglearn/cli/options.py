"""Options that several commands share, and how results are written."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dcglearn.cli.command import first_option, input_option, model_option, output_option
from dcglearn.foundation.figure_style import refuse_format, save_figure
from dcglearn.foundation.files import refuse_unwritable, written_beside, written_through
from dcglearn.foundation.inputs import expand_paths
from dcglearn.foundation.sources import WRITTEN
from dcglearn.foundation.validation import InputError, PathLike, PolarsFrame, suffix_among

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Force = Annotated[bool, output_option("--force", help="Replace output files that exist.")]
AsJson = Annotated[bool, output_option("--json", help="Print the result as JSON.")]
Plot = Annotated[Path | None, output_option(help="Draw the result here (.png, .pdf, .svg).")]
Output = Annotated[
    Path | None,
    first_option("-o", "--output", help="Write the result here; else to standard output."),
]
OutputLog = Annotated[
    Path | None,
    first_option(
        "-o", "--output", help="Write the log here (.jsonl, .parquet); else to standard output."
    ),
]
DryRun = Annotated[
    bool, output_option("--dry-run", help="Read and check everything; do and write nothing.")
]
Grades = Annotated[
    int | None,
    input_option(
        metavar="L",
        help="Number of grades; by default what a column `scale` says, else the largest seen "
        "plus 1.",
    ),
]
Scale = Annotated[
    str | None,
    first_option(metavar="NAMES", help="Grades, worst first: Bad,Fair,Good or 0,1,10,100."),
]
Ties = Annotated[
    Literal["docno-desc", "stable", "average"],
    model_option(help="Order of documents of one score; average: they share their positions."),
]
Seed = Annotated[
    int, model_option(min=0, help="Seed of everything random: same seed, same results.")
]


def check_outputs(
    *paths: Path | None,
    force: bool,
    picture: Path | None = None,
    log: Path | None = None,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Refuse outputs that cannot be written, or that name an input or another output."""
    outputs = [path for path in (log, *paths, picture) if path is not None]
    refuse_overwriting(outputs, [name for name in inputs if name is not None])

    # each output can be written, and is named once
    seen: set[Path] = set()
    for path in outputs:
        refuse_unwritable(path, force=force)
        if written_through(path):
            continue
        if path.resolve() in seen:
            raise InputError(f"{path} is named for two outputs; give each a file of its own")
        seen.add(path.resolve())

    # their suffixes name formats
    if picture is not None:
        refuse_format(picture)
    if log is not None:
        suffix_among(log, WRITTEN, "logs")


def refuse_overwriting(outputs: Iterable[PathLike], inputs: Iterable[PathLike]) -> None:
    """Raise InputError if an output is a file that the inputs (files, folders, patterns) name."""
    existing = [path for path in outputs if not written_through(path) and os.path.isfile(path)]  # noqa: PTH113
    if not existing:
        return

    # files that the inputs name
    read: list[str] = []
    for name in inputs:
        with contextlib.suppress(InputError):  # the name of a metric, or standard input
            read += expand_paths(name, "**/*")
    for output in existing:
        if any(Path(output).samefile(file) for file in read):
            raise InputError(
                f"{output} is an input of this command; name another file for the result"
            )


def say(text: str) -> None:
    """Print a text to standard error, which results do not go to."""
    typer.echo(text, err=True)


def print_result(result: Any, as_json: bool) -> None:
    """Print a result: its text, or its values as JSON.

    `result` has a `to_dict`, unless it is the values themselves.
    """
    if as_json:
        values = result.to_dict() if hasattr(result, "to_dict") else result
        typer.echo(json.dumps(values, allow_nan=False))
    else:
        typer.echo(str(result))


def said_now(text: str, *, err: bool) -> bool:
    """Print a text to a terminal before its work begins; return whether the report may omit it.

    `err` tells whether the report goes to standard error. Without a terminal nothing is printed, so
    that a command that fails leaves its standard output empty.
    """
    if not sys.stderr.isatty():
        return False
    say(text)
    return err or sys.stdout.isatty()


def write_text(text: str, output: Path | None, *, force: bool) -> None:
    """Write a text to a file, whole or not at all, or to standard output."""
    write_lines([text, "\n"], output, force=force)


def write_lines(lines: Iterable[str], output: Path | None, *, force: bool) -> None:
    """Write lines, with their ends, to a file, whole or not at all, or to standard output."""
    if output is None:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
        return
    with written_beside(output, force=force) as beside, beside.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    say(f"wrote: {output}")


def write_log(frame: PolarsFrame, output: Path | None, contents: str, *, force: bool) -> None:
    """Write a log to a file and say what it holds, or write it to standard output as JSON lines."""
    if output is None:
        typer.echo(frame.write_ndjson(), nl=False)
        return
    from dcglearn.reading.tables import write_frame

    write_frame(frame, output, force=force)
    say(f"wrote: {output} ({contents})")


def write_figure(
    draw: Callable[[], Figure], plot: Path | None, *, force: bool, err: bool = True
) -> None:
    """Draw a figure if one is asked for, save it and say so; a command's last step."""
    if plot is None:
        return

    # the results are written by now, which an error says
    try:
        save_figure(draw(), plot, force=force)
    except InputError as error:
        raise InputError(f"{error}; the results without the picture are complete") from None
    except (ValueError, RuntimeError, MemoryError) as error:  # matplotlib's own errors
        raise InputError(
            f"{plot}: cannot be drawn ({error}); the results without it are complete"
        ) from error
    typer.echo(f"wrote: {plot}", err=err)
