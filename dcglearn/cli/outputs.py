"""Outputs of commands: checked before a command runs, and written when it has its result."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dcglearn.foundation.figure_style import save_figure
from dcglearn.foundation.files import refuse_unwritable, written_beside, written_through
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.findings import Report
from dcglearn.foundation.inputs import expand_paths
from dcglearn.foundation.validation import InputError, PathLike, PolarsFrame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WRITTEN = ("output", "plot", "junit")
"""Options that name files to write."""

READ = (
    *("log", "llm", "metric", "labels", "qrels", "llm_qrels", "run", "runs", "run_a", "run_b"),
    *("prompts", "candidates", "documents", "against", "a", "b", "shown", "trained", "data"),
    "valid",
)
"""Options and arguments that name files to read."""


def check_outputs(given: Mapping[str, Any]) -> None:
    """Refuse outputs that cannot be written, or that name an input or another output.

    `given` holds the options and arguments of a command by name.
    """
    outputs = [given[name] for name in WRITTEN if given.get(name) is not None]
    if outputs and "pages" in given:
        from dcglearn.judge.pages import page_names
        from dcglearn.judge.prompts import pairs_beside

        beside = [] if given["model"] is None else [pairs_beside(outputs[0])]
        outputs = [*page_names(outputs[0], given["pages"]), *beside]

    # inputs, of which NAME=FILE is a file with a name
    values = [given.get(name) or () for name in READ]
    several = [one if isinstance(one, (list, tuple)) else [one] for one in values]
    inputs = [str(word) for words in several for word in words]
    refuse_overwriting(outputs, [*inputs, *(word.rpartition("=")[2] for word in inputs)])

    # each output can be written, and is named once
    seen: set[Path] = set()
    for path in outputs:
        refuse_unwritable(path, force=given["force"])
        if written_through(path):
            continue
        if path.resolve() in seen:
            raise InputError(f"{path} is named for two outputs; give each a file of its own")
        seen.add(path.resolve())


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


def save(result: Any, output: Path, *, force: bool) -> None:
    """Save a result by its own `save`, and say so."""
    result.save(output, force=force)
    say(f"wrote: {output}")


def write_results(
    title: str, results: Mapping[str, Finding], output: Path | None, *, force: bool
) -> None:
    """Print findings one below the other, or write them in the form of the output's suffix.

    A table of .csv is that of the first.
    """
    first, *more = results.values()
    if output is None:
        typer.echo("\n\n".join(map(str, results.values())))
        return
    whole = Report(title, results) if more and output.suffix.lower() != ".csv" else first
    save(whole, output, force=force)


def write_text(text: str, output: Path | None, *, force: bool) -> None:
    """Write a text to a file, whole or not at all, or to standard output."""
    if output is None:
        typer.echo(text)
        return
    with written_beside(output, force=force) as beside:
        beside.write_text(f"{text}\n", encoding="utf-8")
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
