"""Options that several commands share, and how results are written."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dcglearn.cli.terminal import draw, drawn
from dcglearn.foundation.figure_style import refuse_format, save_figure
from dcglearn.foundation.files import refuse_unwritable, written_beside
from dcglearn.foundation.finding import FORMS, Finding
from dcglearn.foundation.findings import Report
from dcglearn.foundation.inputs import expand_paths
from dcglearn.foundation.sources import WRITTEN
from dcglearn.foundation.validation import InputError, PathLike, PolarsFrame, suffix_among

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def option(summary: str, *names: str, panel: str = "Most used", **how: Any) -> Any:
    """Return an option of typer in a panel of the help page; `how` is passed on."""
    return typer.Option(*names, help=summary, rich_help_panel=panel, **how)


input_option, method_option, output_option = (
    partial(option, panel=panel) for panel in ("Input", "Method", "Output")
)

Logs = Annotated[
    list[str],
    typer.Argument(
        help="Parquet, JSON lines or array, delimited text or Excel, also .gz and .zst; several "
        "files, or a folder; - reads standard input.",
        metavar="LOG...",
    ),
]
Output = Annotated[
    Path | None, option("Write here; .json, .html, .csv, .md, .txt is the form.", "-o", "--output")
]
OutputLog = Annotated[
    Path | None,
    option("Write the log here (.jsonl, .parquet); else to standard output.", "-o", "--output"),
]
Force = Annotated[bool, output_option("Replace output files that exist.", "--force")]
Plot = Annotated[Path | None, output_option("Draw the result here (.png, .pdf, .svg).")]
Seed = Annotated[int, method_option("Seed of everything random: same seed, same results.", min=0)]
InUse = Annotated[
    str, option("The metric in use: a file, or GAIN-DISCOUNT[@K].", "--metric", metavar="METRIC")
]
Metrics = Annotated[
    list[str],
    option(
        "nDCG@K, a file, GAIN-DISCOUNT[@K]; AP, P@10 ... by ir_measures. Repeat for several.",
        "--metric",
        metavar="METRIC",
    ),
]
Llm = Annotated[
    str | None, option("An LLM judge's verdicts, followed as far as LOG's agree.", metavar="LOG")
]
Ratings = Annotated[bool, option("The log holds rated lists rather than pairs.", "--ratings")]
Columns = Annotated[
    list[str],
    input_option(
        "The file's own columns: a=Result A,winner=Verdict; a=Left {} has one a position.",
        metavar="ROLE=NAME,...",
    ),
]
Grades = Annotated[
    int | None,
    input_option(
        "Number of grades; by default what the data say, else the largest seen plus 1.",
        metavar="L",
        min=1,
    ),
]
Scale = Annotated[
    str | None, input_option("Grades, worst first: Bad,Fair,Good or 0,1,10,100.", metavar="NAMES")
]
AsIs = Annotated[
    bool, input_option("Keep a log that seems to be upside down, or tells nothing.", "--as-is")
]
Ties = Annotated[
    Literal["docno-desc", "stable", "average"],
    method_option("Order of documents of one score; average: they share their positions."),
]
Raw = Annotated[
    bool, method_option("DCG itself, not divided by the best that is possible.", "--raw")
]
Unjudged = Annotated[
    str,
    option(
        "What a document without a judgement counts as; bounds: all that it could.",
        metavar="worst|best|drop|GAIN|bounds",
    ),
]
Level = Annotated[float, method_option("Level of the intervals.")]
LlmQrels = Annotated[
    str | None,
    option("An LLM's judgements of these queries and more, corrected by people's.", metavar="FILE"),
]


def joined(columns: list[str]) -> str | None:
    """Return the columns of all options as one."""
    return ",".join(columns) or None


def check_outputs(
    *paths: Path | None,
    force: bool,
    forms: Iterable[str] = (),
    report: Path | None = None,
    picture: Path | None = None,
    log: Path | None = None,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Refuse outputs that cannot be written, or that name an input or another output.

    `paths` have one of the suffixes of `forms`, if any.
    """
    outputs = [path for path in (log, *paths, report, picture) if path is not None]
    refuse_overwriting(outputs, [name for name in inputs if name is not None])

    # each output can be written, and is named once
    seen: set[Path] = set()
    for path in outputs:
        refuse_unwritable(path, force=force)
        if path.resolve() in seen:
            raise InputError(f"{path} is named for two outputs; give each a file of its own")
        seen.add(path.resolve())

    # their suffixes name formats
    if forms:
        for named in filter(None, paths):
            suffix_among(named, [*forms], "results")
    if picture is not None:
        refuse_format(picture)
    if log is not None:
        suffix_among(log, WRITTEN, "logs")


def refuse_overwriting(outputs: Iterable[PathLike], inputs: Iterable[PathLike]) -> None:
    """Raise InputError if an output is a file that the inputs (files, folders, patterns) name."""
    existing = [path for path in outputs if os.path.isfile(path)]  # noqa: PTH113
    if not existing:
        return

    # files that the inputs name
    read: list[str] = []
    for name in inputs:
        with contextlib.suppress(InputError):  # the name of a metric, or standard input
            read += expand_paths(name)
    for output in existing:
        if any(Path(output).samefile(file) for file in read):
            raise InputError(
                f"{output} is an input of this command; name another file for the result"
            )


def say(text: str) -> None:
    """Print a text to standard error, which results do not go to."""
    typer.echo(text, err=True)


def write_results(
    title: str, results: Mapping[str, Finding], output: Path | None, *, force: bool
) -> None:
    """Print findings one below the other, or write them in the form of the output's suffix.

    A table of .csv is that of the first.
    """
    first, *more = results.values()
    if output is not None:
        whole = Report(title, results) if more and output.suffix.lower() != ".csv" else first
        whole.save(output, force=force)
        say(f"wrote: {output}")
        return

    # drawn on a terminal
    for i, result in enumerate(results.values()):
        typer.echo("\n" * bool(i), nl=False)
        if drawn(output):
            draw(result)
        else:
            typer.echo(str(result))


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


def write_figure(draw: Callable[[], Figure], plot: Path | None, *, force: bool) -> None:
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
    say(f"wrote: {plot}")


RESULTS = [*FORMS]
"""Suffixes of results."""
