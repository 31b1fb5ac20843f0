"""Real logs: what is gained on judgements held out, and the gains and discounts of five readers.

python -m simulations.real_logs FOLDER... --splits 20

FOLDER holds files as they were published (`SOURCES`): people in web search, in search of news, with
music and in a news feed; a log whose file is missing is left out. Of each, the program learns a DCG
with its bands, and compares the default learner on people, queries or lists held out with textbooks
and with the paper's QP. Intervals are corrected for splits that share their training data (Nadeau
and Bengio). It writes real_logs.csv and real_logs.png. Of a FOLDER that is a checkout of a study of
sessions, it writes what `simulations.sessions` says.

python -m simulations.real_logs FOLDER... --people docs/people.png

also says of the verdicts of held-out queries how many of 100 people take the better list, with
`compare_systems`, and draws that by the list's lead under a textbook.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.figure import Figure

import dcglearn as dl
from simulations import sessions
from simulations.claims import interval
from simulations.results import save
from simulations.run import SEED, STYLES, best_textbook, mapped
from simulations.sessions import BEST, USUAL

SHARE = 0.8
"""Share of people, queries or lists in training."""

OVERLAP = (1 - SHARE) / SHARE
"""Ratio of test to training units, for the correction of intervals."""

LEVEL = 0.9
"""Level of bands, and of intervals of people."""

SIZES, SPLITS = (100, 300, 1000), 40
"""Judgements from which shares of people are learned, and splits of each."""

LEADS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Leads under the textbook whose shares of people are printed."""


def of_satisfaction(path: Path, n_grades: int) -> dl.Preferences:
    """Read lists of ten results with grades of usefulness, and the satisfaction with each."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    lists, ratings = [json.loads(row[2]) for row in rows], [int(row[3]) for row in rows]
    table = pl.DataFrame({"list": lists, "rating": ratings})
    return dl.read_ratings(table, n_grades=n_grades, depth=10)


def of_shuffled(path: Path) -> dl.Preferences:
    """Read lists whose order was shuffled by user; compared are those of a user and topic."""
    table = pl.read_csv(path, separator="\t", infer_schema=False)
    grade = pl.element().replace({"u": "-1", ".": "-2"})
    table = table.select(
        pl.col("grades_by_displayed_rank").str.split(",").list.eval(grade).alias("list"),
        pl.col("feedback_1to6").alias("rating"),
        pl.col("user").alias("group"),
        pl.col("topic").alias("segment"),
    )
    return dl.read_ratings(table, n_grades=3, depth=10)


def of_feed(path: Path) -> dl.Preferences:
    """Read lists of fifteen news that their reader rated, and the satisfaction with each list."""
    keys = ["userid", "taskid"]
    tasks = pl.read_csv(path.with_name("tasks.csv")).select(*keys, "satisfaction")
    grade = (pl.col("post_pref").cast(pl.Int64) - 1).fill_null(-1)
    shown = pl.read_csv(path).with_columns(grade=grade).join(tasks, on=keys)
    table = (
        shown.sort(*keys, "imp_position")
        .group_by(keys, maintain_order=True)
        .agg(pl.col("grade").alias("list"), pl.col("satisfaction").first().alias("rating"))
    )
    return dl.read_ratings(table.rename({"userid": "group"}).drop("taskid"), n_grades=5)


@dataclass(frozen=True)
class Source:
    """A reader's log: who reads, the published file, what is held out whole, and its reading.

    `unit` is one of "rater", "query" and "list", and `halo` says whether the one who grades the
    items also rates the list. The learned discounts are `discounts`.
    """

    title: str
    file: str
    unit: str
    read: Callable[[Path], dl.Preferences]
    halo: bool = False
    discounts: str = "falling"


SOURCES = {
    "web-search-fsd": Source(
        "web search (FSD)", "fsd_train.txt", "list", partial(of_satisfaction, n_grades=5), True
    ),
    "web-search-qref": Source(
        "web search (QRef)", "qref_train.txt", "list", partial(of_satisfaction, n_grades=4), True
    ),
    "news-search": Source("search of news", "derived_lists_core18grades.tsv", "rater", of_shuffled),
    "music": Source("similar music", "side_by_side.jsonl", "query", dl.read_preferences),
    "news-feed": Source("news feed", "logs.csv", "rater", of_feed, True, "free"),
}


def shares(log: dl.Preferences, unit: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the share of a split's held-out preferences that each metric respects."""
    train, test = log.split(SHARE, random_state=seed, by=unit)
    C = dl.trust.choose_C(train, random_state=seed).C
    metrics = {
        "default": dl.DCGLearner().fit(train).dcg_,
        BEST: best_textbook(train),
        USUAL: dl.textbook_dcgs(log.n_grades, log.depth)[USUAL],
        "QP + SVD": dl.UtilityLearner(C=C).fit(train).factor().dcg,
    }
    for metric, dcg in metrics.items():
        yield {"part": "share", "metric": metric, "value": test.agreement(dcg).share}


def curves(log: dl.Preferences, form: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield gains, and discounts of a form as shares of their sum, with their bands.

    They are those of a sum, so that readers can be compared, whose lists may differ in length.
    """
    learner = dl.DCGLearner(discounts=form, power=0, zero=0)
    drawn = dl.bands(log, learner, random_state=seed, n_resamples=200)
    dcg = learner.fit(log).dcg_
    usual = dl.DCG.standard(dcg.n_grades, dcg.depth).normalised()
    of_share = (
        x / x.sum(-1, keepdims=True) for x in (dcg.discounts, usual.discounts, drawn.discounts)
    )
    sides = {"gain": (dcg.gains, usual.gains, drawn.gains), "share": tuple(of_share)}

    # a band that the curve lies beyond ends there
    for side, (values, textbook, draws) in sides.items():
        low, high = np.percentile(draws, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], axis=0)
        low, high = np.minimum(low, values), np.maximum(high, values)
        for i, ends in enumerate(zip(values, textbook, low, high, strict=True)):
            row = {"part": "curve", "curve": side, "at": i + (side != "gain")}
            yield row | dict(
                zip(("value", "textbook", "low", "high"), map(float, ends), strict=True)
            )


def people(log: dl.Preferences, n: int, seed: int) -> dict[str, Any]:
    """Return what is said, after n judgements, of the verdicts on other queries."""
    train, test = log.split(0.5, random_state=seed, by="query")
    rows = np.random.default_rng(seed).choice(len(train), min(n, len(train)), replace=False)
    learned = dl.bands(train[rows], random_state=seed, n_resamples=50).metric
    lists, outcome, *_ = told_apart(test, dl.DCG.standard(log.n_grades, log.depth))

    # each pair of lists as a query with two runs
    judged: dict[str, Any] = {f"{i}": {} for i in range(len(lists))}
    runs: dict[str, Any] = {"better": {}, "other": {}}
    for i, both in zip(judged, lists.tolist(), strict=True):
        for run, grades in zip(runs, both, strict=True):
            shown = {f"{run}{k}": grade for k, grade in enumerate(grades) if grade > -2}
            judged[i] |= {name: grade for name, grade in shown.items() if grade >= 0}
            runs[run][i] = {name: -float(k) for k, name in enumerate(shown)}

    # shares of people with their intervals
    judgements = dl.evaluation.read_judgements(judged, n_grades=log.n_grades)
    how = {"level": LEVEL, "n_resamples": 100, "random_state": seed, "baseline": "other"}
    compared = dl.compare_systems(judgements, runs, {"learned": learned}, **how)
    said = compared.people.table.row(0, named=True)

    # the verdicts themselves
    record: dict[str, Any] = {"n": n, "width": said["take_high"] - said["take_low"]}
    for i, part in enumerate(("take", "no_difference", "keep")):
        true = 100 * float((outcome == i).mean())
        record |= {f"said_{part}": said[part], f"true_{part}": true}
        record[f"covered_{part}"] = said[f"{part}_low"] <= true <= said[f"{part}_high"]
    return record


def told_apart(log: dl.Preferences, textbook: dl.DCG) -> tuple[np.ndarray, ...]:
    """Return the pairs whose lists a textbook DCG tells apart, the better list first.

    The lists have shape (n, 2, K). Beside them stand the outcome, which is 0 where the better was
    preferred, 1 for a tie, 2 for the other; the lead under the textbook; and the weight.
    """
    lists = np.stack([log.preferred, log.other], axis=1)
    lead = log.gaps(textbook)
    tie = np.zeros(len(log), bool) if log.tie is None else np.asarray(log.tie, dtype=bool)
    outcome = np.where(tie, 1, np.where(lead > 0, 0, 2))
    weight = np.ones(len(log)) if log.weight is None else np.asarray(log.weight)
    lists = np.where((lead < 0)[:, None, None], lists[:, ::-1], lists)
    rows = np.flatnonzero(lead)
    return lists[rows], outcome[rows], np.abs(lead[rows]), weight[rows]


def as_judges(log: dl.Preferences, standard: dl.DCG) -> Any:
    """Return judges fitted to a textbook whose values are shares of the best possible list."""
    near = dl.DCGLearner(prior=standard, ridge=1e6).fit(log, as_is=True)
    points = near.fit_.model.points(near.fit_.theta[None])
    return replace(
        near.dcg_.judges,
        scale=float(points.discounts.sum()),
        tie_threshold=float(points.thresholds[0, 1]),
        error_rate=float(points.errors.mean()),
    )


def draw_people(logs: dict[str, dl.Preferences], path: Path) -> None:
    """Print how many of 100 people take the better list of each log, and draw it."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for style, (name, log) in zip(STYLES, logs.items(), strict=False):
        standard = dl.DCG.standard(log.n_grades, log.depth).normalised()
        judges = as_judges(log, standard)

        def share(leads: Any, judges: Any = judges) -> np.ndarray:
            take, _, keep = judges.chances(np.asarray(leads)).T
            return 100 * take / (take + keep)

        x = np.linspace(0, 0.5, 101)
        axes.plot(x, share(x), color=style["color"])
        said = zip(LEADS, share(LEADS), strict=True)
        print(name, ", ".join(f"+{lead:g}: {percent:.0f}" for lead, percent in said))

        # the verdicts themselves by tenths of the pairs
        best = float(standard.discounts.sum())
        textbook = dl.DCG(standard.gains / best, standard.discounts)
        _, outcome, lead, weight = told_apart(log, textbook)
        for rows in np.array_split(np.argsort(lead, kind="stable"), 10):
            better, other = (weight[rows][outcome[rows] == i].sum() for i in (0, 2))
            at = np.average(lead[rows], weights=weight[rows])
            axes.plot(at, 100 * better / (better + other), **{**style, "linestyle": ""})
        axes.plot([], [], label=SOURCES[name].title, **style)

    axes.set(xlim=(0, 0.5), ylim=(40, 100))
    axes.set_xlabel(f"lead of one list over the other ({USUAL}, 1 = the best possible list)")
    axes.set_ylabel("take the better list,\nof 100 people who see a difference")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def work(files: dict[str, Path], task: tuple[str, str, int]) -> list[dict[str, Any]]:
    """Return the records of a task: a part of the study of one reader, and its seed."""
    part, name, seed = task
    source = SOURCES[name]
    log = source.read(files[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if part == "share":
            records = list(shares(log, source.unit, SEED + seed))
            return [{"reader": name, **record, "repeat": seed} for record in records]
        return [{"reader": name, **record} for record in curves(log, source.discounts, SEED)]


def held_out(table: pl.DataFrame) -> pl.DataFrame:
    """Return each metric's mean share by reader, and the default's lead over it."""
    records = []
    rows = table.filter(part="share").sort("repeat")
    for (name,), part in rows.group_by("reader", maintain_order=True):
        own = part.filter(metric="default")["value"]
        for (metric,), one in part.group_by("metric", maintain_order=True):
            lead = interval(own - one["value"], OVERLAP)
            ends = {"lead": lead.mean, "low": lead.low, "high": lead.high}
            records.append({"log": name, "metric": metric, "share": one["value"].mean(), **ends})
    return pl.DataFrame(records)


def draw(table: pl.DataFrame) -> Figure:
    """Draw discounts and gains of each reader with their bands, the usual ones behind."""
    with rc_context(dl.plots.PRINT_STYLE):
        figure = Figure(figsize=(11.0, 4.8), layout="constrained")
        axes = figure.subplots(2, len(SOURCES))
        for column, (name, source) in zip(axes.T, SOURCES.items(), strict=True):
            for ax, side in zip(column, ("share", "gain"), strict=True):
                rows = table.filter(part="curve", reader=name, curve=side)
                ax.plot(rows["at"], rows["textbook"], color="0.55", ls=(0, (4, 2)), label=USUAL)

                band = {"color": STYLES[0]["color"], "alpha": 0.2, "lw": 0}
                ax.fill_between(rows["at"], rows["low"], rows["high"], **band)
                look = {**STYLES[0], "markersize": 3}
                ax.plot(rows["at"], rows["value"], label="learned, 90% band", **look)
                ax.set(ylim=(0, None), xlabel="position" if side == "share" else "grade")
            column[0].set_title(f"{source.title}{'*' if source.halo else ''}")

        axes[0, 0].set_ylabel("discount, share of their sum")
        axes[1, 0].set_ylabel("gain")
        axes[0, 0].legend(fontsize=7)
        figure.supxlabel("* the people who grade the items also rate the list (halo)", fontsize=8)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the logs that are there, write tables and pictures, and print the shares held out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("folders", nargs="+", type=Path, metavar="FOLDER")
    add("--splits", type=int, default=20, help="random splits (default 20)")
    add("--jobs", type=int, default=1, help="number of processes")
    add("--folder", type=Path, default=Path("figures"), help="of tables and pictures")
    add("--people", type=Path, metavar="PNG", help="draw people's shares here")
    options = parser.parse_args(arguments)

    # the files that are there
    there = {path.name: path for folder in options.folders for path in sorted(folder.rglob("*"))}
    files = {name: there[of.file] for name, of in SOURCES.items() if of.file in there}
    studies = [folder for folder in options.folders if (folder / sessions.TABLE).is_file()]
    if not files and not studies:
        named = ", ".join([*(of.file for of in SOURCES.values()), sessions.TABLE])
        parser.error(f"none of the folders holds {named}")
    print("left out:", ", ".join(name for name in SOURCES if name not in files) or "no log")

    # the study of sessions, people alone, or the readers
    for study in studies:
        sessions.run(study, options)
    if options.people is not None:
        run_people(files, options.people)
    elif files:
        run(files, options)


def run_people(files: dict[str, Path], path: Path) -> None:
    """Print what is said of the verdicts of held-out queries, and draw shares of people."""
    logs = {name: SOURCES[name].read(file) for name, file in files.items()}
    for name, log in logs.items():
        if log.query is not None and log.ratings is None:
            sizes = [n for n in SIZES if n < len(log) // 2]
            said = [people(log, n, seed) for n in sizes for seed in range(SPLITS)]
            means = pl.DataFrame(said).group_by("n", maintain_order=True).mean()
            print(name, means.write_csv(float_precision=3))
    draw_people(logs, path)


def run(files: dict[str, Path], options: argparse.Namespace) -> None:
    """Write the table and the picture of the readers, and print the shares held out."""
    tasks = [("share", name, split) for name in files for split in range(options.splits)]
    tasks += [("curve", name, 0) for name in files]
    each = mapped(partial(work, files), tasks, options.jobs)
    table = pl.DataFrame([row for rows in each for row in rows], infer_schema_length=None)
    save(options.folder / "real_logs.csv", table)
    draw(table).savefig(options.folder / "real_logs.png", dpi=200)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=4):
        print(held_out(table))


if __name__ == "__main__":
    main()
