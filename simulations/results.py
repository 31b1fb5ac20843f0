"""Results of a program on disk: its table and pictures, made once, kept, and read again."""

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
from simulations.ranking_data import REAL

KEPT = "# old rows of real queries: "
"""Beginning of the second line of a table whose rows of real queries are of an older run."""
SUFFIXES = (".csv", ".png", ".pdf")


class Program(Protocol):
    """Names that each program of this folder defines, for `run` and ``python -m simulations``."""

    __doc__: str | None
    __name__: str
    STEM: str
    """File name of the table and the pictures, without suffix."""
    REPEATS: int
    """Default number of repeats of each setting."""
    PANELS: int | tuple[int, int]
    """Number of panels in one row, or numbers of rows and columns."""
    FIGSIZE: tuple[float, float]
    """Width and height of the figure, in inches."""

    def simulate(self, seed: int, repeats: int, quick: bool, jobs: int | str) -> Iterator[Any]:
        """Yield the records of the table."""

    def plot(self, table: pl.DataFrame, axes: Any) -> None:
        """Draw the table on axes."""

    def claims(self, table: pl.DataFrame) -> Iterator[Claim]:
        """Yield the claims that the table tests."""


def produce(module: Program, options: argparse.Namespace) -> list[Claim]:
    """Return a program's claims, and make its table and pictures first unless they exist.

    Existing ones are kept if they were made with the same options.

    Raises
    ------
    InputError
        If a setting is impossible, the folder holds results of other options and there is neither
        ``--update`` nor ``--force``, or there is no table to draw with ``--redraw``.
    """
    check_folder(options.folder)
    path = options.folder / f"{module.STEM}.csv"
    if options.redraw:
        if not path.is_file():
            raise dl.InputError(f"{path} does not exist; run without --redraw to make it")
        _save(module, path.read_text(), options.folder)
        return tested(module, options.folder)

    # the options of this run, and those of the results that are there
    repeats = 3 if options.quick else module.REPEATS
    if options.repeats is not None:
        repeats = options.repeats
    head = f"# seed={options.seed} repeats={repeats} quick={options.quick}"
    existing = complete(options.folder, module.STEM)
    existing = existing and options_of(existing)
    if existing not in (None, head) and not (options.force or options.update):
        raise dl.InputError(
            f"{path} holds results of other options ({existing[2:]}); "
            "give another --folder, or --update to replace them"
        )

    # what is there already
    if existing == head and not options.force:
        print(f"kept: {path}, which exists; --force makes it anew", file=sys.stderr)
        return tested(module, options.folder)

    # a new table, and its pictures
    head = f"{head} commit={commit()}"
    size = {"seed": options.seed, "repeats": repeats, "quick": options.quick}
    records = module.simulate(**size, jobs=options.dask or options.jobs)
    table = rounded(pl.DataFrame(list(records), infer_schema_length=None))
    if not options.quick:
        head, table = with_real_rows(head, table, path)
    _save(module, f"{head}\n{table.write_csv()}", options.folder)
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
    whole = "quick=True" not in first_line(folder / f"{module.STEM}.csv")
    missing = [claim for claim in claims if not claim.testable]
    if missing and (whole or not testable):
        raise dl.InputError(
            f"{module.STEM}: the table has no two repeats of rows {dict(missing[0].rows)}, "
            f"which the claim {missing[0].text!r} needs; "
            "correct the claim's rows, or what the program yields"
        )
    return testable


def check_folder(folder: Path) -> None:
    """Raise InputError if the folder is missing or not writable."""
    if not folder.is_dir():
        raise dl.InputError(f"the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise dl.InputError(f"the folder {folder} is not writable")


def complete(folder: Path, stem: str) -> str | None:
    """Return the first line of the table, or None unless table and pictures all exist.

    The line holds the options of the run.
    """
    if not all((folder / f"{stem}{suffix}").is_file() for suffix in SUFFIXES):
        return None
    return first_line(folder / f"{stem}.csv")


def first_line(path: Path) -> str:
    """Return the first line of a file."""
    with path.open() as file:
        return file.readline().rstrip("\n")


def options_of(line: str) -> str:
    """Return the first line of a table without the commit."""
    return line.partition(" commit=")[0]


def commit_of(path: Path) -> str:
    """Return the commit that a table's first line names, "unknown" if it names none."""
    return first_line(path).partition(" commit=")[2] or "unknown"


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


def with_real_rows(head: str, table: pl.DataFrame, path: Path) -> tuple[str, pl.DataFrame]:
    """Return the head and the table with the old rows of real queries, if the run had none.

    A second line of the head, which begins with `KEPT`, says of which run the old rows are.
    """
    if "data" not in table.columns or REAL in table["data"] or not path.is_file():
        return head, table
    old = read(path.parent, path.stem)
    old = old.filter(data=REAL) if "data" in old.columns else old.clear()
    if old.is_empty():
        return head, table
    of_run = kept_rows(path) or first_line(path).removeprefix("# ")
    print(
        f"{path}: DCGLEARN_LAMBDARANK names no folder; the rows of the {REAL} are old ({of_run})",
        file=sys.stderr,
    )
    return f"{head}\n{KEPT}{of_run}", pl.concat([table, old], how="diagonal_relaxed")


def kept_rows(path: Path) -> str:
    """Return the options and the commit of the run of a table's old rows, "" without any."""
    with path.open() as file:
        file.readline()
        second = file.readline()
    return second.removeprefix(KEPT).strip() if second.startswith(KEPT) else ""


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
    with rc_context(dl.plots.PRINT_STYLE):
        figure = Figure(figsize=module.FIGSIZE, layout="constrained")
        axes = figure.subplots(
            *((1, module.PANELS) if isinstance(module.PANELS, int) else module.PANELS)
        )
        module.plot(table, axes)
        letters(np.ravel(axes))
    return figure


def _save(module: Program, csv: str, folder: Path) -> None:
    """Write the table and its two pictures so that none is left half done.

    All three are written under temporary names and then renamed. Raise InputError if that fails.
    """
    stem = f".{module.STEM}.{os.getpid()}"
    temporary = [folder / f"{stem}{suffix}" for suffix in SUFFIXES]
    try:
        temporary[0].write_text(csv)
        figure = picture(module, read(folder, stem))
        with rc_context(dl.plots.PRINT_STYLE):
            figure.savefig(temporary[1])
            figure.savefig(temporary[2], metadata={"CreationDate": None})
        for path, suffix in zip(temporary, SUFFIXES, strict=True):
            path.replace(folder / f"{module.STEM}{suffix}")
    except OSError as error:
        raise dl.InputError(
            f"{folder / module.STEM}: not written ({error.strerror}); nothing was changed"
        ) from error
    finally:
        for path in temporary:
            path.unlink(missing_ok=True)
