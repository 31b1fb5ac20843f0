"""Run the simulations, skip those whose results exist, and write the page of claims.

python -m simulations                  list all programs, then run them
python -m simulations figures          figures of Zhou et al. 2008
python -m simulations studies          studies beyond that paper
python -m simulations training         rankers trained on learned metrics
python -m simulations theory           figures of the papers on ranking objectives
python -m simulations figure_09 --quick --folder /tmp
python -m simulations --update         replace results of other seeds or repeats; go on where such
                                       a run stopped
python -m simulations --new NAME       begin a study of your own, in simulations/study_NAME.py

Two commands have options of their own (--help):
python -m simulations folds            split queries into folds as LETOR has them
python -m simulations letor DIR        train the papers' methods under LETOR's five-fold protocol
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import polars as pl
from tqdm import tqdm

import dcglearn as dl
import simulations
from simulations import overview
from simulations.changes import section
from simulations.claims import Claim
from simulations.claims_page import pages, summary_table
from simulations.letor import commands
from simulations.results import Program, commit_of, complete, kept_rows, produce, rounded, tested
from simulations.run import parser

HERE = Path(__file__).parent
TIMES = "times.csv"
"""Name of the table of how long programs took, in seconds."""
KINDS = {
    "all": ("figure_", "study_", "theory_", "train_"),
    "figures": ("figure_",),
    "studies": ("study_",),
    "training": ("train_",),
    "theory": ("theory_",),
}


def programs(kind: str = "all") -> list[Program]:
    """Return the programs of a kind, or the program of this name."""
    names = program_names()
    chosen = [name for name in names if name == kind or name.startswith(KINDS.get(kind, ()))]
    if not chosen:
        raise dl.InputError(f"{kind!r} is none of {', '.join([*KINDS, *names])}")
    return [_imported(name) for name in chosen]


def program_names() -> list[str]:
    """Return the names of all programs."""
    names = sorted(module.name for module in pkgutil.iter_modules(simulations.__path__))
    return [name for name in names if name.startswith(KINDS["all"])]


def _imported(name: str) -> Program:
    """Return a program; raise InputError if a library that it needs is not installed."""
    try:
        return cast(Program, importlib.import_module(f"simulations.{name}"))
    except ModuleNotFoundError as error:
        lacks = f"{name} needs {error.name}: pip install '.[trees]'"
        raise dl.InputError(
            f"{lacks}; python -m simulations.NAME runs one program alone"
        ) from error


def run(arguments: argparse.Namespace) -> None:
    """Run the chosen programs, and write the page of claims from all existing tables."""
    # the page of claims is made of all
    chosen = programs(arguments.programs)
    programs()
    if arguments.programs == "all":
        print(
            "\n".join(
                f"{module.STEM:<28} {(module.__doc__ or '').splitlines()[0]}" for module in chosen
            )
        )
    for module in tqdm(chosen, disable=not sys.stderr.isatty(), unit="program"):
        table = arguments.folder / f"{module.STEM}.csv"
        before, started = written(table), time.monotonic()
        for claim in produce(module, arguments):
            print(claim, flush=True)
        if written(table) != before and not arguments.redraw:
            record_time(module.STEM, time.monotonic() - started, arguments)
    for target in write_pages(arguments.folder):
        print(f"wrote: {target}", file=sys.stderr)
    for line in sources(arguments.folder):
        print(line, file=sys.stderr)


def written(path: Path) -> int:
    """Return when a file was written, in nanoseconds; 0 if it does not exist."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def record_time(stem: str, seconds: float, arguments: argparse.Namespace) -> None:
    """Write how long a program took, and with how many processes, into the folder's times."""
    path, jobs = arguments.folder / TIMES, arguments.dask or arguments.jobs
    row = pl.DataFrame({"program": [stem], "seconds": [round(seconds)], "jobs": [str(jobs)]})
    if path.is_file():
        others = pl.read_csv(path, schema_overrides={"jobs": pl.String})
        row = pl.concat([others.filter(pl.col("program") != stem), row])
    temporary = path.with_suffix(".new")
    row.sort("program").write_csv(temporary)
    temporary.replace(path)


def sources(folder: Path) -> list[str]:
    """Return lines that say of which commits the tables are, unless all are of one."""
    stems = [module.STEM for module in programs() if complete(folder, module.STEM)]
    of_commit: dict[str, list[str]] = {}
    for stem in stems:
        of_commit.setdefault(commit_of(folder / f"{stem}.csv"), []).append(stem)
    lines = [
        f"old rows of real queries: {stem} ({kept})"
        for stem in stems
        if (kept := kept_rows(folder / f"{stem}.csv"))
    ]
    if len(of_commit) > 1:
        lines.append("the tables are of different commits:")
        lines += [f"  {name}: {', '.join(of)}" for name, of in of_commit.items()]
    return lines


def begin(name: str) -> None:
    """Write `study_NAME.py`, a small study that runs, from `template.py`.

    Raises
    ------
    InputError
        If the name is no part of a module's name, or the study exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise dl.InputError(f"--new {name!r}: give a name of small letters, digits and _")
    path = HERE / f"study_{name}.py"
    if path.exists():
        raise dl.InputError(f"{path} exists; choose another name")
    text = (
        (HERE / "template.py").read_text(encoding="utf-8").replace('"template"', f'"{path.stem}"')
    )
    text = re.sub(r"``python -m simulations --new NAME``.*\n\n", "", text)
    path.write_text(text.replace("Study template", f"Study {name}"), encoding="utf-8")
    print(f"wrote: {path}\ntry:   python -m simulations.{path.stem} --quick --folder /tmp")


def all_claims(folder: Path) -> dict[str, list[Claim]]:
    """Return the claims of every program whose table and pictures are in a folder, by its stem."""
    return {
        module.STEM: tested(module, folder)
        for module in programs()
        if complete(folder, module.STEM)
    }


def table_of(claims: Mapping[str, Sequence[Claim]], folder: Path) -> pl.DataFrame:
    """Return the table of all claims, with the commit of each program's table."""
    table = rounded(summary_table(claims))
    commits = [commit_of(folder / f"{stem}.csv") for stem in table["program"]]
    return table.with_columns(commit=pl.Series(commits, dtype=pl.String))


def old_real_rows(claims: Mapping[str, Sequence[Claim]], folder: Path) -> str:
    """Return the run of the tables' old rows of real queries, "" without any."""
    return ", ".join(sorted({kept_rows(folder / f"{stem}.csv") for stem in claims} - {""}))


def write_pages(folder: Path) -> list[Path]:
    """Write all pages and pictures of claims from a folder's tables.

    These are the pages in Markdown, the table of all claims and the overviews. Return the paths of
    the pages.
    """
    claims = all_claims(folder)
    table = table_of(claims, folder)
    in_project = folder == Path("figures") and Path("docs").is_dir()
    place = Path("docs") if in_project else folder
    named = pages(claims, section(table, folder), old_real_rows(claims, folder))
    texts = {place / name: text for name, text in named.items()}
    for path, text in (*texts.items(), (folder / "claims.csv", table.write_csv())):
        temporary = path.with_suffix(".new")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    overview.draw(table, folder)
    return list(texts)


def main() -> None:
    """Parse the command line; bad settings end with status 2 and one line."""
    if sys.argv[1:2] in (["letor"], ["folds"]):
        commands.main()
    options = parser(__doc__ or "")
    options.add_argument(
        "programs",
        nargs="?",
        default="all",
        help="all, figures, studies, training, theory, or the name of a program",
    )
    options.add_argument(
        "--new", metavar="NAME", help="write study_NAME.py, a study of your own, and run nothing"
    )
    arguments = options.parse_args()
    try:
        begin(arguments.new) if arguments.new else run(arguments)
    except dl.InputError as error:
        print(f"simulations: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(
            "simulations: interrupted; run the same command again to make the missing results",
            file=sys.stderr,
        )
        sys.exit(130)


if __name__ == "__main__":
    main()
