"""Results of a program on disk: its table and picture, made once, kept, and read again.

A program is a module with these names; its table and its picture have the name of its file.

REPEATS : int, the default number of repeats of each setting
PANELS : int or a pair, the number of panels in one row, or the numbers of rows and columns
FIGSIZE : pair of floats, width and height of the figure, in inches
settings(quick) : the settings, which are all repeated with the same random numbers
trial(rng, **setting) : returns a record of the table, or a list of them
plot(table, axes, headline) : draws the table, with titles by `headline` of the program's claims
claims(table) : yields the claims that the table tests
FRESH : int, added to the seed, if the program has it
KEPT : polars expression, the rows that are kept, if the program has it
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType as Program

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.figure import Figure

import dcglearn as dl
from simulations.claims import Claim, headline
from simulations.run import repeated


def stem(module: Program) -> str:
    """Return the name of a program's files, without suffix."""
    return module.__name__.rpartition(".")[2]


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
    path = options.folder / f"{stem(module)}.csv"
    if not os.access(options.folder, os.W_OK):
        raise dl.InputError(f"the folder {options.folder} does not exist, or is not writable")

    # the options of this run, and those of the results that are there
    repeats = 3 if options.quick else module.REPEATS
    if options.repeats is not None:
        repeats = options.repeats
    head = f"# seed={options.seed} repeats={repeats} quick={options.quick}"
    kept = path.is_file() and not options.force
    if kept and options_of(path) != head:
        raise dl.InputError(
            f"{path} holds results of other options ({options_of(path)[2:]}); "
            "give another --folder, or --force to replace them"
        )

    # a table that is there, or a new one
    if kept:
        print(f"kept: {path}, which exists; --force makes it anew", file=sys.stderr)
    else:
        save(path, simulated(module, options, repeats), f"{head} commit={commit()}\n")
        path.with_suffix(".png").unlink(missing_ok=True)
    if not path.with_suffix(".png").is_file():
        draw(module, options.folder)
    return tested(module, options.folder)


def simulated(module: Program, options: argparse.Namespace, repeats: int) -> pl.DataFrame:
    """Return a new table of a program.

    A program may add a number `FRESH` to the seed, and keep only the rows `KEPT`.
    """
    seed = options.seed + getattr(module, "FRESH", 0)
    settings = module.settings(options.quick)
    records = repeated(module.trial, settings, repeats=repeats, seed=seed, jobs=options.jobs)
    table = pl.DataFrame(list(records), infer_schema_length=None)
    return table.filter(getattr(module, "KEPT", True))


def tested(module: Program, folder: Path) -> list[Claim]:
    """Return a program's claims whose rows are in its table; quick runs may leave some out.

    Raises
    ------
    InputError
        If the rows of a claim are missing in the table of a whole run, or those of all claims in a
        quick one.
    """
    claims = list(module.claims(read(folder, stem(module))))
    testable = [claim for claim in claims if claim.testable]
    missing = [claim for claim in claims if not claim.testable]
    whole = "quick=True" not in options_of(folder / f"{stem(module)}.csv")
    if missing and (whole or not testable):
        raise dl.InputError(
            f"{stem(module)}: the table has no two repeats of rows {dict(missing[0].rows)}, "
            f"which the claim {missing[0].text!r} needs; "
            "correct the claim's rows, or what the program yields"
        )
    return testable


def options_of(path: Path) -> str:
    """Return the options in the first line of a table."""
    with path.open() as file:
        return file.readline().rstrip("\n").partition(" commit=")[0]


def commit() -> str:
    """Return the checked-out commit, with "+" if a file differs from it; else "unknown"."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        call = {"cwd": Path(__file__).parent, "capture_output": True, "text": True}
        return subprocess.run(command, check=True, **call).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def read(folder: Path, name: str) -> pl.DataFrame:
    """Return a program's table from its CSV file."""
    return pl.read_csv(folder / f"{name}.csv", comment_prefix="#", infer_schema_length=None)


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with six significant digits, so that it is the same on every machine."""
    return table.with_columns(pl.col(pl.Float64).round_sig_figs(6))


def save(path: Path, table: pl.DataFrame, head: str = "") -> None:
    """Write a rounded table below a first line."""
    write(path, f"{head}{rounded(table).write_csv()}".encode())


def write(path: Path, content: bytes) -> None:
    """Write a file beside its place, then rename it, so that none is left half done."""
    temporary = path.with_suffix(".new")
    temporary.write_bytes(content)
    temporary.replace(path)


def picture(module: Program, table: pl.DataFrame) -> Figure:
    """Draw a program's table; several panels have a letter before their titles."""
    panels = (1, module.PANELS) if isinstance(module.PANELS, int) else module.PANELS
    with rc_context(dl.plots.PRINT_STYLE):
        figure = Figure(figsize=module.FIGSIZE, layout="constrained")
        axes = figure.subplots(*panels)
        module.plot(table, axes, partial(headline, list(module.claims(table))))

    # titles on the left
    for letter, ax in zip("abcdefgh", (ax for ax in np.ravel(axes) if ax.axison), strict=False):
        title = ax.get_title()
        ax.set_title("")
        named = f"({letter}) {title}" if np.size(axes) > 1 else title
        ax.set_title(named, loc="left", fontsize=9)
    return figure


def draw(module: Program, folder: Path) -> None:
    """Draw a program's picture from its table."""
    path = folder / f"{stem(module)}.png"
    temporary = path.with_suffix(".new.png")
    with rc_context(dl.plots.PRINT_STYLE):
        picture(module, read(folder, stem(module))).savefig(temporary)
    temporary.replace(path)
