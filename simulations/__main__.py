"""Run the simulations, skip those whose results exist, and write the table of claims.

python -m simulations                  list all programs, then run them
python -m simulations figure           figures of Zhou et al. 2008
python -m simulations study            studies beyond that paper
python -m simulations train            rankers trained on learned metrics
python -m simulations theory           figures of the papers on ranking objectives
python -m simulations figure_09 --quick --folder /tmp
python -m simulations.calibration      whether intervals, bands, tests and gates keep their promises
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
from tqdm import tqdm

import dcglearn as dl
import simulations
from simulations.claims import Claim, of_calibration, renewed, summary_table
from simulations.results import Program, produce, rounded, stem, tested, write
from simulations.run import SEED

KINDS = ("figure", "study", "theory", "train")
"""Words that the names of programs begin with."""


def programs(word: str = "") -> list[Program]:
    """Return the programs whose names begin with a word, or all."""
    modules = sorted(module.name for module in pkgutil.iter_modules(simulations.__path__))
    names = [name for name in modules if name.partition("_")[0] in KINDS]
    chosen = [name for name in names if name.startswith(word)]
    if not chosen:
        raise dl.InputError(f"{word!r} is the beginning of none of {', '.join(names)}")
    return [importlib.import_module(f"simulations.{name}") for name in chosen]


def run(arguments: argparse.Namespace) -> None:
    """Run the chosen programs, and write the table of claims from all existing tables."""
    chosen = programs(arguments.program)
    if not arguments.program:
        for module in chosen:
            print(f"{stem(module):<28} {(module.__doc__ or '').splitlines()[0]}")
    for module in tqdm(chosen, disable=not sys.stderr.isatty(), unit="program"):
        for claim in produce(module, arguments):
            print(claim, flush=True)
    write_claims(arguments.folder)


def all_claims(folder: Path) -> dict[str, list[Claim]]:
    """Return the claims of every program whose table is in a folder, by its stem."""
    made = [module for module in programs() if (folder / f"{stem(module)}.csv").is_file()]
    return {stem(module): tested(module, folder) for module in made}


def claims_table(folder: Path) -> pl.DataFrame:
    """Return the claims of a folder's tables, that of calibration among them if there is one."""
    table = rounded(summary_table(all_claims(folder)))
    path = folder / "calibration.csv"
    return pl.concat([table, of_calibration(path)]) if path.is_file() else table


def write_claims(folder: Path) -> None:
    """Write the table of all claims of a folder, and that of the project's into its page."""
    table = claims_table(folder)
    write(folder / "claims.csv", table.write_csv().encode())
    page = Path("docs/claims.md")
    if folder == Path("figures") and page.is_file():
        write(page, renewed(page.read_text(encoding="utf-8"), table).encode())


def parser(description: str) -> argparse.ArgumentParser:
    """Return the options that every program has."""
    options = argparse.ArgumentParser(
        prog="simulations",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    seeds = "the same seed gives the same bytes (default: %(default)s)"
    add("--seed", type=int, default=SEED, help=seeds)
    add("--repeats", type=int, help="repeats of each setting (default: the program's own number)")
    add("--quick", action="store_true", help="few repeats of small settings")

    # where it runs, and where results are
    cores = os.cpu_count() or 1
    add("--jobs", type=int, default=cores, help="number of processes (default: all cores)")
    folders = "folder of tables and pictures (default: figures)"
    add("--folder", type=Path, default=Path("figures"), help=folders)
    add("--force", action="store_true", help="run again and replace existing results")
    return options


def run_or_refuse(
    options: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]
) -> None:
    """Run with options of the command line; bad settings end with status 2 and one line."""
    try:
        run(options.parse_args())
    except dl.InputError as error:
        print(f"{options.prog}: {error}", file=sys.stderr)
        sys.exit(2)


def main() -> None:
    """Parse the command line, and run."""
    options = parser(__doc__ or "")
    words = f"a program's name or its beginning, such as {', '.join(KINDS)} (default: all)"
    options.add_argument("program", nargs="?", default="", help=words)
    run_or_refuse(options, run)


if __name__ == "__main__":
    main()
