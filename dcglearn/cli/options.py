"""What commands share: options, by panels of the help page, and outputs.

Outputs are checked before a command runs, and written when it has its result.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcglearn.foundation.figure_style import PICTURES, save_figure
from dcglearn.foundation.files import refuse_unwritable, write_whole
from dcglearn.foundation.finding import FORMS, Finding, Report
from dcglearn.foundation.plain_text import escaped
from dcglearn.foundation.validation import InputError, PolarsFrame, suffix_among

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUTPUTS = ("output", "plot", "junit")
"""Options that name files to write."""


def option(summary: str, *names: str, panel: str = "Most used", **how: Any) -> Any:
    """Return an option of typer in a panel of the help page; `how` is passed on."""
    return typer.Option(*names, help=summary, rich_help_panel=panel, **how)


input_option, method_option, output_option = (
    partial(option, panel=panel) for panel in ("Input", "Method", "Output")
)


def output_to(
    summary: str, suffixes: Iterable[str], contents: str = "results", *names: str, **how: Any
) -> Any:
    """Return an option, -o if no other, of a file whose suffix is checked before the command runs.

    `how` is that of `option`.
    """

    def checked(path: Path | None) -> Path | None:
        if path is not None:
            suffix_among(path, suffixes, contents)
        return path

    return option(summary, *(names or ("-o", "--output")), callback=checked, **how)


Output = Annotated[
    Path | None, output_to("Write here; .json, .html, .csv, .md, .txt is the form.", FORMS)
]
Force = Annotated[bool, output_option("Replace output files that exist.", "--force")]
"""What `check_outputs` goes by; commands themselves replace files."""

Plot = Annotated[
    Path | None,
    output_to(
        "Draw the result here (.png, .pdf, .svg).", PICTURES, "pictures", "--plot", panel="Output"
    ),
]
Seed = Annotated[int, method_option("Seed of everything random: same seed, same results.", min=0)]
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


def joined(columns: list[str]) -> str | None:
    """Return the columns of all options as one."""
    return ",".join(columns) or None


def check_outputs(given: Mapping[str, Any]) -> None:
    """Refuse outputs that cannot be written, or that another word of the command names.

    `given` holds the options and arguments of a command by name. Without --force, outputs that
    exist are refused; the command replaces those that are not.
    """
    paths = [given[name] for name in OUTPUTS if given.get(name)]
    if paths and "pages" in given:
        from dcglearn.judge.pages import page_names
        from dcglearn.judge.prompts import pairs_beside

        beside = [] if given["model"] is None else [pairs_beside(paths[0])]
        paths = [*page_names(paths[0], given["pages"]), *beside]

    # of --output=FILE and NAME=FILE the file
    words = [os.path.realpath(word.rpartition("=")[2]) for word in sys.argv[1:]]
    for path in paths:
        refuse_unwritable(path, force=given["force"])
        if words.count(os.path.realpath(path)) > 1:
            raise InputError(f"{path} is named twice; give each output a file of its own")


def say(text: str, *, err: bool = True) -> None:
    """Print a text, in which names cannot move the cursor, to standard error or output."""
    typer.echo(escaped(text), err=err)


def save(result: Any, output: Path) -> None:
    """Save a result by its own `save`, and say so."""
    result.save(output)
    say(f"wrote: {output}")


def write_results(title: str, results: Mapping[str, Finding], output: Path | None) -> None:
    """Print findings one below the other, or write them in the form of the output's suffix.

    A table of .csv is that of the first.
    """
    first, *more = results.values()
    if output is None:
        say("\n\n".join(map(str, results.values())), err=False)
        return
    whole = Report(title, results) if more and output.suffix.lower() != ".csv" else first
    save(whole, output)


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, whole or not at all, or to standard output."""
    if output is None:
        say(text, err=False)
        return
    write_whole(output, f"{text}\n")
    say(f"wrote: {output}")


def write_log(frame: PolarsFrame, output: Path | None, contents: str) -> None:
    """Write a log to a file and say what it holds, or write it to standard output as JSON lines."""
    if output is None:
        say(frame.write_ndjson().rstrip("\n"), err=False)
        return
    from dcglearn.reading.tables import write_frame

    write_frame(frame, output)
    say(f"wrote: {output} ({contents})")


def write_figure(draw: Callable[[], Figure], plot: Path | None) -> None:
    """Draw a figure if one is asked for, save it and say so; a command's last step."""
    if plot is None:
        return
    try:
        save_figure(draw(), plot)
    except (ValueError, RuntimeError, MemoryError) as error:  # matplotlib's own, too
        why = str(error) or repr(error)
        raise InputError(f"no picture: {why}; the results without it are complete") from error
    say(f"wrote: {plot}")
