"""Results of a program on disk: its table and picture, made once, kept, and read again."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.figure import Figure

import dcglearn as dl
from simulations.claims import Claim


class Program(Protocol):
    """Names that each program of this folder defines, for ``python -m simulations``."""

    __doc__: str | None
    STEM: str
    """File name of the table and the picture, without suffix."""
    REPEATS: int
    """Default number of repeats of each setting."""
    PANELS: int | tuple[int, int]
    """Number of panels in one row, or numbers of rows and columns."""
    FIGSIZE: tuple[float, float]
    """Width and height of the figure, in inches."""

    def simulate(self, seed: int, repeats: int, quick: bool, jobs: int) -> Iterator[Any]:
        """Yield the records of the table."""

    def plot(self, table: pl.DataFrame, axes: Any) -> None:
        """Draw the table on axes."""

    def claims(self, table: pl.DataFrame) -> Iterator[Claim]:
        """Yield the claims that the table tests."""


def produce(module: Program, options: argparse.Namespace) -> list[Claim]:
    """Return a program's claims, and make its table and picture first unless they exist.

    Existing ones are kept if they were made with the same options; a picture that is missing is
    drawn from the table.

    Raises
    ------
    InputError
        If a setting is impossible, or the folder holds results of other options and there is no
        ``--force``.
    """
    path = options.folder / f"{module.STEM}.csv"
    if not os.access(options.folder, os.W_OK):
        raise dl.InputError(f"the folder {options.folder} does not exist, or is not writable")

    # the options of this run, and those of the results that are there
    repeats = 3 if options.quick else module.REPEATS
    if options.repeats is not None:
        repeats = options.repeats
    head = f"# seed={options.seed} repeats={repeats} quick={options.quick}"
    existing = options_of(path) if path.is_file() and not options.force else head
    if existing != head:
        raise dl.InputError(
            f"{path} holds results of other options ({existing[2:]}); "
            "give another --folder, or --force to replace them"
        )

    # a table that is there, or a new one
    if path.is_file() and not options.force:
        print(f"kept: {path}, which exists; --force makes it anew", file=sys.stderr)
    else:
        size = {"seed": options.seed, "repeats": repeats, "quick": options.quick}
        records = list(module.simulate(**size, jobs=options.jobs))
        table = rounded(pl.DataFrame(records, infer_schema_length=None))
        write(path, f"{head} commit={commit()}\n{table.write_csv()}".encode())
        path.with_suffix(".png").unlink(missing_ok=True)

    # the picture
    if not path.with_suffix(".png").is_file():
        draw(module, options.folder)
    return tested(module, options.folder)


def tested(module: Program, folder: Path) -> list[Claim]:
    """Return a program's claims whose rows are in its table; quick runs may leave some out.

    Raises
    ------
    InputError
        If the rows of a claim are missing in the table of a whole run, or those of all claims in a
        quick one.
    """
    claims = list(module.claims(read(folder, module.STEM)))
    testable = [claim for claim in claims if claim.testable]
    whole = "quick=True" not in options_of(folder / f"{module.STEM}.csv")
    missing = [claim for claim in claims if not claim.testable]
    if missing and (whole or not testable):
        raise dl.InputError(
            f"{module.STEM}: the table has no two repeats of rows {dict(missing[0].rows)}, "
            f"which the claim {missing[0].text!r} needs; "
            "correct the claim's rows, or what the program yields"
        )
    return testable


def options_of(path: Path) -> str:
    """Return the options in the first line of a table."""
    with path.open() as file:
        return file.readline().rstrip("\n").partition(" commit=")[0]


def commit() -> str:
    """Return the checked-out commit, with "+" if the code differs from it.

    "unknown" if this is no checkout of git.
    """
    root = Path(__file__).parents[1]

    def git(*words: str) -> str:
        call = ["git", "-C", str(root), *words]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "simulations", "dcglearn")
        return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def read(folder: Path, stem: str) -> pl.DataFrame:
    """Return a program's table from its CSV file."""
    return pl.read_csv(folder / f"{stem}.csv", comment_prefix="#", infer_schema_length=None)


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with six significant digits, so that it is the same on every machine."""
    return table.with_columns(pl.col(pl.Float64).round_sig_figs(6))


def letters(panels: Any) -> None:
    """Set the titles of all drawn panels to the left, after a letter if there are several."""
    drawn = [ax for ax in panels if ax.axison]
    for letter, ax in zip("abcdefghijklmnopqrst", drawn, strict=False):
        title = ax.get_title()
        ax.set_title("")
        ax.set_title(f"({letter}) {title}" if len(panels) > 1 else title, loc="left", fontsize=9)


def picture(module: Program, table: pl.DataFrame) -> Figure:
    """Draw a program's table."""
    panels = (1, module.PANELS) if isinstance(module.PANELS, int) else module.PANELS
    with rc_context(dl.plots.PRINT_STYLE):
        figure = Figure(figsize=module.FIGSIZE, layout="constrained")
        axes = figure.subplots(*panels)
        module.plot(table, axes)
        letters(np.ravel(axes))
    return figure


def draw(module: Program, folder: Path) -> None:
    """Draw a program's picture from its table."""
    path = folder / f"{module.STEM}.png"
    temporary = path.with_suffix(".new.png")
    with rc_context(dl.plots.PRINT_STYLE):
        picture(module, read(folder, module.STEM)).savefig(temporary)
    temporary.replace(path)


def write(path: Path, content: bytes) -> None:
    """Write a file beside its place, then rename it, so that none is left half done."""
    temporary = path.with_suffix(".new")
    temporary.write_bytes(content)
    temporary.replace(path)
