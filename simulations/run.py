"""What every simulation shares: repeats over processes, tables, files, and the command line."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tqdm import tqdm

import dcglearn as dl

STYLES = dl.plots.LINE_STYLES
SUFFIXES = (".csv", ".png", ".pdf")
TRUTHS = ("D1", "D2")


class Program(Protocol):
    """What a program of this folder defines: `run` and ``python -m simulations`` rely on these names."""

    __doc__: str | None
    __name__: str
    STEM: str
    """Name of its files, without a suffix."""
    REPEATS: int
    """Repeats of each setting."""
    PANELS: int | tuple[int, int]
    """Number of panels in a row, or rows and columns."""
    FIGSIZE: tuple[float, float]
    """Width and height of the figure, in inches."""

    def simulate(self, seed: int, repeats: int, quick: bool, jobs: int | str, progress: bool) -> Iterator[Any]:
        """Yield the records of the table."""

    def plot(self, table: pl.DataFrame, axes: Any) -> None:
        """Draw the table on axes."""

    def claims(self, table: pl.DataFrame) -> Iterator[Claim]:
        """Yield what the table says of each claim."""


@dataclass(frozen=True)
class Claim:
    """A claim, our number for it, and the verdict: holds, holds with a condition, or does not hold."""

    figure: str
    text: str
    number: str
    verdict: str
    reason: str

    def __str__(self) -> str:
        kind = "study" if self.figure.isalpha() else "figure"
        return f"{kind} {self.figure}: {self.text}\n  {self.verdict.upper()}: {self.number}. {self.reason}"


def repeated(
    function: Callable[..., Mapping[str, Any] | list[Mapping[str, Any]]],
    settings: Sequence[Mapping[str, Any]],
    *,
    repeats: int,
    seed: int,
    jobs: int | str = 1,
    progress: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the records of a function run `repeats` times in each setting.

    Parameters
    ----------
    function : callable
        Of a module, so that processes find it; ``function(rng=Generator, **setting)`` returns a record or a list.
    settings : sequence of mappings
        Keyword arguments; they stand in the record too.
    repeats, seed : int
        Repeat r draws from ``default_rng([seed, r])`` in every setting, so that curves share their lists.
    jobs : int or str
        Processes, or the address of a Dask scheduler. Records and their order do not depend on it.
    progress : bool
        Show a bar.

    Yields
    ------
    dict
        ``{**setting, "repeat": r, **record}``.

    Raises
    ------
    InputError
        If there are fewer than 2 repeats (which have no error) or 1 job, or the seed is negative.
    """
    processes = jobs if isinstance(jobs, int) else 1
    for name, value, least in (("repeats", repeats, 2), ("jobs", processes, 1), ("seed", seed, 0)):
        if value < least:
            raise dl.InputError(f"{name}={value}: at least {least} is needed")
    tasks = [(dict(setting), repeat) for setting in settings for repeat in range(repeats)]
    one = partial(_one, function, seed)
    with tqdm(total=len(tasks), disable=not progress, leave=False) as bar:
        if jobs == 1:
            for records in map(one, tasks):
                yield from records
                bar.update()
            return
        with _pool(jobs) as pool:
            for records in pool.map(one, tasks, chunksize=4):
                yield from records
                bar.update()


@contextmanager
def _pool(jobs: int | str) -> Iterator[Executor]:
    """Yield processes on this machine, or the workers of a Dask cluster, which must have this folder to import from."""
    if isinstance(jobs, int):
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise dl.InputError("a cluster needs Dask: pip install 'dcglearn[dask]'") from error
    try:
        client = Client(jobs, timeout=10)
    except (OSError, ValueError) as error:
        raise dl.InputError(f"--dask {jobs}: no scheduler answers there ({error})") from error
    with client, client.get_executor(pure=False) as pool:
        yield pool


def _one(function: Callable[..., Any], seed: int, task: tuple[dict[str, Any], int]) -> list[dict[str, Any]]:
    setting, repeat = task
    found = function(rng=np.random.default_rng([seed, repeat]), **setting)
    records = found if isinstance(found, list) else [found]
    return [{**setting, "repeat": repeat, **record} for record in records]


def summary(table: pl.DataFrame, by: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Return the mean over repeats of each value, and its standard error as ``VALUE_error``, ordered by `by`."""
    mean = [pl.col(value).mean() for value in values]
    error = [(pl.col(value).std() / pl.len().sqrt()).alias(f"{value}_error") for value in values]
    return table.group_by(by).agg(*mean, *error).sort(by)


def curves(table: pl.DataFrame, axes: Axes, x: str, y: str, lines: str = "truth", **labels: str) -> None:
    """Draw the mean of `y` against `x` with standard errors, one line for each value of the column `lines`."""
    means = summary(table, [lines, x], [y])
    for style, name in zip(STYLES, table[lines].unique(maintain_order=True), strict=False):
        part = means.filter(pl.col(lines) == name)
        label = labels.get(str(name), str(name))
        axes.errorbar(part[x], part[y], part[f"{y}_error"], label=label, capsize=2, markersize=4, lw=1.3, **style)


def legend(axes: Axes, title: str | None = None, **options: Any) -> None:
    """Draw the legend, which also says what the error bars are."""
    said = "bars: ± 1 standard error"
    axes.legend(title=f"{title}\n({said})" if title else said, **{"fontsize": 8, "title_fontsize": 7, **options})


def at(table: pl.DataFrame, value: str, **where: Any) -> tuple[float, float]:
    """Return the mean of a value over repeats, and its standard error, in the rows where columns have these values."""
    return _mean_and_error(table.filter(*(pl.col(name) == wanted for name, wanted in where.items()))[value].to_numpy())


def paired(first: pl.Series, second: pl.Series) -> tuple[float, float]:
    """Return the mean of first - second over repeats in the same order, and its standard error."""
    return _mean_and_error(first.to_numpy() - second.to_numpy())


def _mean_and_error(values: Any) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def shown(mean_and_error: tuple[float, float]) -> str:
    """Return ``.938 ± .002``."""
    return f"{mean_and_error[0]:.3f} ± {mean_and_error[1]:.3f}"


def validated(
    train: dl.Preferences,
    validation: dl.Preferences,
    grid: Sequence[float] = tuple(10.0**p for p in range(-5, 6)),
    **parameters: Any,
) -> dl.UtilityLearner:
    """Return the learner whose C orders an independent validation set best (the smallest of equals)."""
    learners: list[dl.UtilityLearner] = []
    for C in grid:
        start = learners[-1].utility_ if learners else None
        learners.append(dl.UtilityLearner(C=C, **parameters).fit(train, start=start))
    return max(learners, key=lambda learner: learner.score(validation))


def recovery(learner: dl.UtilityLearner, truth: dl.DCG, test: dl.Preferences) -> dict[str, float]:
    """Return the paper's precision and similarity (section 6.2), and the similarity of what such test pairs can see."""
    return {
        "precision": test.agreement(learner.utility_).precision,
        "similarity": dl.similarity(learner.utility_, truth),
        "gauge_free": dl.identifiable_similarity(learner.utility_, truth, test.visible()),
    }


def main(module: Program, arguments: Sequence[str] | None = None) -> None:
    """Run one program from the command line; bad settings end with status 2 and one line."""
    options = parser(module.__doc__ or "").parse_args(arguments)
    try:
        for claim in produce(module, options):
            print(claim)
    except dl.InputError as error:
        print(f"{module.STEM}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{module.STEM}: interrupted; nothing was changed", file=sys.stderr)
        sys.exit(130)


def parser(description: str) -> argparse.ArgumentParser:
    """Return the options that every program has."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--seed", type=int, default=0, help="same seed, same bytes (default 0)")
    found.add_argument("--repeats", type=int, help="repeats of each setting (default: the program's)")
    found.add_argument("--quick", action="store_true", help="a few repeats of small settings, to see that it runs")
    found.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    found.add_argument(
        "--dask", metavar="ADDRESS", help="a Dask scheduler whose workers repeat, such as tcp://host:8786"
    )
    found.add_argument("--folder", type=Path, default=Path("figures"), help="where to write (default: figures)")
    found.add_argument("--force", action="store_true", help="run again what is there already")
    return found


def produce(module: Program, options: argparse.Namespace) -> list[Claim]:
    """Make a program's table and pictures, unless they are there from the same options; return its claims.

    Raises
    ------
    InputError
        If a setting is impossible, or the folder holds results of other options and there is no ``--force``.
    """
    check_folder(options.folder)
    repeats = options.repeats if options.repeats is not None else 3 if options.quick else module.REPEATS
    head = f"# seed={options.seed} repeats={repeats} quick={options.quick}"
    there = complete(options.folder, module.STEM)
    if there is not None and there != head and not options.force:
        raise dl.InputError(
            f"{options.folder / module.STEM}.csv holds results of other options ({there[2:]}); "
            "give another --folder, or --force to replace them"
        )
    if options.force or there is None:
        how = {"seed": options.seed, "repeats": repeats, "quick": options.quick, "jobs": options.dask or options.jobs}
        records = module.simulate(**how, progress=sys.stderr.isatty())
        _save(module, rounded(pl.DataFrame(list(records), infer_schema_length=None)), options.folder, head)
    return list(module.claims(read(options.folder, module.STEM)))


def check_folder(folder: Path) -> None:
    """Refuse a folder that is missing or cannot be written, before any work is done."""
    if not folder.is_dir():
        raise dl.InputError(f"the folder {folder} does not exist; make it first")
    if not os.access(folder, os.W_OK):
        raise dl.InputError(f"the folder {folder} cannot be written")


def complete(folder: Path, stem: str) -> str | None:
    """Return the options (first line of the table) that table and pictures were made with, None if one is missing."""
    if not all((folder / f"{stem}{suffix}").is_file() for suffix in SUFFIXES):
        return None
    with (folder / f"{stem}.csv").open() as file:
        return file.readline().rstrip("\n")


def read(folder: Path, stem: str) -> pl.DataFrame:
    """Return the table that a program wrote."""
    return pl.read_csv(folder / f"{stem}.csv", comment_prefix="#", infer_schema_length=None)


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with six significant digits, which do not depend on the machine's rounding."""
    return table.with_columns(pl.col(pl.Float64).round_sig_figs(6))


def _save(module: Program, table: pl.DataFrame, folder: Path, head: str) -> None:
    """Write table and pictures beside, then rename all three: an earlier result is whole or replaced."""
    beside = [folder / f".{module.STEM}.{os.getpid()}{suffix}" for suffix in SUFFIXES]
    try:
        beside[0].write_text(f"{head}\n{table.write_csv()}")
        with rc_context(dl.plots.PRINT_STYLE):
            figure = Figure(figsize=module.FIGSIZE, layout="constrained")
            shape = (1, module.PANELS) if isinstance(module.PANELS, int) else module.PANELS
            module.plot(table, figure.subplots(*shape))
            figure.savefig(beside[1])
            figure.savefig(beside[2], metadata={"CreationDate": None})
        for path, suffix in zip(beside, SUFFIXES, strict=True):
            path.replace(folder / f"{module.STEM}{suffix}")
    except OSError as error:
        raise dl.InputError(f"{folder / module.STEM}: not written ({error.strerror}); nothing was changed") from error
    finally:
        for path in beside:
            path.unlink(missing_ok=True)
