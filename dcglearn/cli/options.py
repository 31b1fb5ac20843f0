"""Options that several commands share; those of outputs check the suffix."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dcglearn.foundation.figure_style import PICTURES
from dcglearn.foundation.finding import FORMS
from dcglearn.foundation.validation import suffix_among


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
