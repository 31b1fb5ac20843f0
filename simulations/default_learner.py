"""The default learner against itself at another commit: shares of held-out preferences, paired.

python -m simulations.default_learner FOLDER... -o figures/default_learner.csv
python -m simulations.default_learner FOLDER... --against figures/default_learner_before.csv

The default learner, and its free curves alone, learn simulated logs of four kinds of truths, and
parts of real logs. FOLDER holds files as they were published (`real_logs.SOURCES`); a log whose
file is missing is left out. The table has a row for each log; one that exists is kept. The second
command also prints the differences from another commit's table of the same logs: to make that, run
this file with the other package first in PYTHONPATH (its fits may have no free curves).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from tqdm import tqdm

import dcglearn as dl
from simulations.real_logs import SHARE, SOURCES
from simulations.results import rounded, write
from simulations.run import mapped
from simulations.study_h_learners import truth_of as textbook_or_random
from simulations.truths_and_judges import OF_CURVES

N_GRADES, DEPTH, N_TEST = 5, 10, 5000

TRUTHS = {"textbook": "a textbook", "flat": None, "steep": None, "random": "another"}
"""Kinds of true DCGs: a textbook, flat or steep discounts of other formulas, or random steps."""

REPEATS = {50: 36, 200: 12, 1000: 12}
"""Logs of each truth and share of wrong verdicts, by number of verdicts: few differ most."""

WRONG = (0.0, 0.1, 0.3)
"""Shares of verdicts that name the worse list."""

SPLITS = {
    "FSD by list": ("web-search-fsd", "list"),
    "FSD by session": ("web-search-fsd", "session"),
    "QRef by list": ("web-search-qref", "list"),
    "QRef by session": ("web-search-qref", "session"),
    "news by user": ("news-search", "rater"),
    "music by query": ("music", "query"),
}
"""Real logs, and what is held out whole: a session is a line of the file."""

N_SPLITS = 12

SEED = 300
"""First seed. Seeds below were used to choose how free curves and textbooks are weighed: prior odds
of .2, .4 and .6 were tried on those from 100 and 200 on.
"""

BEHIND, FEW, BEHIND_FEW = 0.002, 50, 0.010
"""How far the default may be behind, but for two errors; and behind on `FEW` verdicts of a textbook
truth.
"""

KEY = ("log", "n", "wrong", "seed")
"""Columns that name a log."""


class Task(NamedTuple):
    """A log to learn from: a truth or a split's name, number of verdicts, share wrong, seed."""

    log: str
    n: int
    wrong: float
    seed: int


def tasks(files: Mapping[str, Path], *, quick: bool) -> list[Task]:
    """Return all logs; two of few verdicts of each kind if `quick`."""
    sizes = {50: 2} if quick else REPEATS
    simulated = [
        Task(truth, n, wrong, SEED + i)
        for n, repeats in sizes.items()
        for truth in TRUTHS
        for wrong in WRONG
        for i in range(repeats)
    ]
    splits = [
        Task(name, 0, 0.0, SEED + i)
        for name, (source, _) in SPLITS.items()
        if source in files
        for i in range(2 if quick else N_SPLITS)
    ]
    return [*simulated, *splits]


def true_dcg(kind: str, rng: np.random.Generator) -> dl.DCG:
    """Return a true DCG of a kind."""
    if (name := TRUTHS[kind]) is not None:
        return textbook_or_random(name, rng).normalised()
    ranks = np.arange(1.0, DEPTH + 1)
    of_curve = OF_CURVES[kind][rng.integers(3)]
    discounts = of_curve((ranks - 1) / (DEPTH - 1), ranks, rng.random())

    # gains: random or bent
    if rng.random() < 0.5:
        gains = np.append(0, np.sort(rng.random(N_GRADES - 1)))
    else:
        gains = np.sinh(rng.uniform(0.1, 3) * np.arange(N_GRADES) / (N_GRADES - 1))
    return dl.DCG(gains / gains[-1], discounts / discounts[0])


def simulated(task: Task) -> tuple[dl.Preferences, dl.Preferences]:
    """Return a log of free lists with wrong verdicts, and one of others without."""
    rng = np.random.default_rng(
        [task.seed, task.n, round(100 * task.wrong), [*TRUTHS].index(task.log)]
    )
    truth = true_dcg(task.log, rng)
    draw = partial(dl.simulate.preference_pairs, truth, lists="free", random_state=rng)
    return draw(task.n, n_flips=round(task.wrong * task.n)), draw(N_TEST)


@cache
def real(source: str, path: Path) -> dl.Preferences:
    """Return a real log."""
    return SOURCES[source].read(path)


def split(task: Task, files: Mapping[str, Path]) -> tuple[dl.Preferences, dl.Preferences]:
    """Return two parts of a real log."""
    source, unit = SPLITS[task.log]
    path = files[source]
    if unit != "session":
        return real(source, path).split(SHARE, random_state=task.seed, by=unit)

    # the lines of the file, in two files
    lines = path.read_text().splitlines(keepends=True)
    first = np.random.default_rng(task.seed).random(len(lines)) < SHARE
    with TemporaryDirectory() as folder:
        parts = []
        for kept in (first, ~first):
            part = Path(folder, path.name)
            part.write_text("".join(line for line, keep in zip(lines, kept, strict=True) if keep))
            parts.append(SOURCES[source].read(part))
    return parts[0], parts[1]


def work(files: Mapping[str, Path], task: Task) -> dict[str, Any]:
    """Return a log's record: shares of held-out preferences, and seconds of the processor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        train, test = simulated(task) if task.log in TRUTHS else split(task, files)
        start = time.process_time()
        learner = dl.DCGLearner().fit(train)
        seconds = time.process_time() - start
    free = getattr(learner.fit_, "free", None)  # another commit's fits may have none
    return {
        **task._asdict(),
        "default": test.agreement(learner.dcg_).share,
        "free": None if free is None else test.agreement(free).share,
        "seconds": round(seconds, 2),
    }


def differences(table: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Return by truth and number of verdicts, and by real log, by how much shares rise.

    `error` is that of the mean; of splits, corrected for training data that they share (Nadeau and
    Bengio). A row is `behind` if the default is so by more than allowed.
    """
    both = table.join(before, on=KEY, suffix="_before", maintain_order="left")
    other = pl.col("log").is_in(["flat", "steep", "random"])
    both = both.with_columns(row=pl.when(other).then(pl.lit("no textbook")).otherwise("log"))
    rows = []
    for (name, n), part in both.group_by("row", "n", maintain_order=True):
        overlap = 0.0 if n else (1 - SHARE) / SHARE
        record = {"log": name, "n": n, "logs": len(part), "before": part["default_before"].mean()}
        for column in ("free", "default"):
            lead = (part[column] - part["default_before"]).to_numpy()
            error = lead.std(ddof=1) * np.sqrt(1 / len(lead) + overlap)
            record |= {column: lead.mean(), f"{column}_error": error}
        allowed = BEHIND + 2 * record["default_error"]
        if (name, n) == ("textbook", FEW):
            allowed = BEHIND_FEW
        record["behind"] = record["default"] < -allowed
        rows.append(
            record
            | {"seconds": part["seconds"].mean(), "seconds_before": part["seconds_before"].mean()}
        )
    return pl.DataFrame(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the table unless it exists, and print differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, default=Path("figures/default_learner.csv"))
    parser.add_argument("--against", type=Path, metavar="CSV", help="another commit's table")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--quick", action="store_true", help="two logs of each kind")
    options = parser.parse_args(arguments)

    if not options.output.is_file():
        there = {
            path.name: path for folder in options.folders for path in sorted(folder.rglob("*"))
        }
        files = {name: there[of.file] for name, of in SOURCES.items() if of.file in there}
        every = tasks(files, quick=options.quick)
        each = mapped(partial(work, files), every, options.jobs)
        table = pl.DataFrame([*tqdm(each, total=len(every), disable=None)])
        write(options.output, rounded(table).write_csv().encode())

    # how it compares
    if options.against is not None:
        found = differences(pl.read_csv(options.output), pl.read_csv(options.against))
        with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=4, tbl_width_chars=160):
            print(found)


if __name__ == "__main__":
    main()
