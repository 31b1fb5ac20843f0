"""Compare shares of people with held-out verdicts, and draw what nDCG is worth in people.

python -m simulations.people_in_logs music.jsonl satisfaction.jsonl

For logs of pairs, people's shares are learned on a part of the queries, and said of the others: of
100 people, how many take the list that exponential-log2 puts first. What was expected beforehand of
logs of 100 to 1,000 judgements: 90% intervals hold the share of the held-out verdicts in at least
80% of 40 splits each. For all logs, one picture shows how many of 100 people take the better list,
by its lead under a textbook DCG as a share of the best possible list (people.png).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from tqdm import tqdm

import dcglearn as dl
from simulations.run import STYLES

SIZES = (100, 300, 1000)
SPLITS, LEVEL = 40, 0.9
TEXTBOOK = "exponential-log2"
LEADS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Leads under the textbook whose shares of people are printed."""


def opened(path: Path) -> dl.Preferences:
    """Read a log of pairs, or of rated lists."""
    try:
        return dl.read_preferences(path)
    except dl.InputError:
        return dl.read_ratings(path)


class Judged(NamedTuple):
    """Judged pairs whose lists a textbook DCG tells apart, the better list first.

    `lists` has shape (n, 2, K); `outcome`, shape (n,), is 0 where the better was preferred, 1 for a
    tie, 2 for the other; `lead`, shape (n,), is under the textbook, and `weight` the pairs' weight.
    """

    lists: np.ndarray
    outcome: np.ndarray
    lead: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, log: dl.Preferences, textbook: dl.DCG) -> Judged:
        """Return the pairs of a log."""
        lists = np.stack([log.preferred, log.other], axis=1)
        lead = textbook.score(lists[:, 0]) - textbook.score(lists[:, 1])
        tie = np.zeros(len(log), bool) if log.tie is None else np.asarray(log.tie, dtype=bool)
        outcome = np.where(tie, 1, np.where(lead > 0, 0, 2))
        weight = np.ones(len(log)) if log.weight is None else np.asarray(log.weight)

        # leave out those that it does not tell apart
        lists = np.where((lead < 0)[:, None, None], lists[:, ::-1], lists)
        rows = np.flatnonzero(lead)
        return cls(lists[rows], outcome[rows], np.abs(lead[rows]), weight[rows])


def as_runs(pairs: np.ndarray) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return judgements and two runs, in which each pair of lists is a query."""
    judged: dict[str, Any] = {}
    runs: dict[str, Any] = {"better": {}, "other": {}}
    for i, both in enumerate(pairs.tolist()):
        judged[f"{i}"] = {}
        for run, grades in zip(runs, both, strict=True):
            shown = {f"{run}{k}": grade for k, grade in enumerate(grades) if grade > -2}
            judged[f"{i}"] |= {name: grade for name, grade in shown.items() if grade >= 0}
            runs[run][f"{i}"] = {name: -float(k) for k, name in enumerate(shown)}
    return judged, runs


def held_out(log: dl.Preferences, n: int, seed: int) -> dict[str, Any]:
    """Return what is said, after n judgements, of the verdicts on other queries."""
    train, test = log.split(0.5, random_state=seed, by="query")
    rows = np.random.default_rng(seed).choice(len(train), min(n, len(train)), replace=False)
    learned = dl.bands(train[rows], random_state=seed, n_resamples=50).metric
    textbook = dl.DCG.standard(log.n_grades, log.depth)
    pairs = Judged.of(test, textbook)
    judged, runs = as_runs(pairs.lists)
    judgements = dl.evaluation.read_judgements(judged, n_grades=log.n_grades)
    row = dl.compare_systems(
        judgements,
        runs,
        {"learned": learned},
        baseline="other",
        level=LEVEL,
        n_resamples=100,
        random_state=seed,
    ).people.table.row(0, named=True)

    # the verdicts themselves
    record: dict[str, Any] = {"n": n, "split": seed}
    for i, part in enumerate(("take", "no_difference", "keep")):
        true = 100 * float((pairs.outcome == i).mean())
        record |= {f"said_{part}": row[part], f"true_{part}": true}
        record[f"covered_{part}"] = row[f"{part}_low"] <= true <= row[f"{part}_high"]
    return {**record, "width": row["take_high"] - row["take_low"]}


def worth(log: dl.Preferences) -> tuple[dl.DCG, Judged]:
    """Return a textbook DCG with judges fitted to it, and the pairs that it tells apart.

    Values are shares of the best possible list.
    """
    standard = dl.DCG.standard(log.n_grades, log.depth).normalised()
    near = dl.DCGLearner(loss="robust", prior=standard, ridge=1e6).fit(log, as_is=True)
    best = float(standard.discounts.sum())
    judges = replace(near.dcg_.judges, scale=near.scale_ * best)
    textbook = dl.DCG(standard.gains / best, standard.discounts, judges=judges)
    return textbook, Judged.of(log, textbook)


def observed(pairs: Judged) -> Iterator[tuple[float, float]]:
    """Yield the mean lead, and the share of decided verdicts for the better list, by tenths."""
    for rows in np.array_split(np.argsort(pairs.lead, kind="stable"), 10):
        weight = pairs.weight[rows]
        better, other = (weight[pairs.outcome[rows] == i].sum() for i in (0, 2))
        yield float(np.average(pairs.lead[rows], weights=weight)), better / (better + other)


def draw(logs: dict[str, dl.Preferences], path: Path) -> None:
    """Print how many of 100 people take the better list of each log, and draw it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for style, (name, log) in zip(STYLES, logs.items(), strict=False):
        metric, pairs = worth(log)
        take, same, keep = metric.judges.chances(np.array(LEADS)).T
        decided = 100 * take / (take + keep)
        rounded = ", ".join(
            f"+{lead:g}: {share:.0f} ({100 * max(tie, 0.0):.0f} see none)"
            for lead, share, tie in zip(LEADS, decided, same, strict=True)
        )
        print(f"{name}: of 100 who see a difference, {rounded}")
        x = np.linspace(0, 0.5, 101)
        curve = metric.judges.chances(x)
        shares = 100 * curve[:, 0] / (curve[:, 0] + curve[:, 2])
        axes.plot(x, shares, color=style["color"])
        leads, right = np.array([*observed(pairs)]).T
        axes.plot(leads, 100 * right, **{**style, "linestyle": ""}, label=name)
    axes.set(
        xlim=(0, 0.5),
        ylim=(40, 100),
        xlabel=f"lead of one list over the other ({TEXTBOOK}, 1 = the best possible list)",
        ylabel="take the better list,\nof 100 people who see a difference",
    )
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)
    figure.savefig(path, dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the logs, print coverage and shares, and draw the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="+", help="logs of pairs or of rated lists")
    parser.add_argument("--splits", type=int, default=SPLITS, help="0: the picture alone")
    parser.add_argument("--folder", type=Path, default=Path("docs"))
    options = parser.parse_args(arguments)
    logs = {path.stem: opened(path) for path in options.logs}

    # verdicts that a log of pairs held out
    for name, log in logs.items():
        if log.query is None or log.ratings is not None or not options.splits:
            continue
        settings = [(n, seed) for n in SIZES if n < len(log) // 2 for seed in range(options.splits)]
        table = pl.DataFrame([held_out(log, n, seed) for n, seed in tqdm(settings, disable=None)])
        means = table.group_by("n", maintain_order=True).agg(pl.exclude("split").mean())
        print(name)
        with pl.Config(tbl_cols=-1, tbl_width_chars=160, float_precision=3):
            print(means)
    draw(logs, options.folder / "people.png")


if __name__ == "__main__":
    main()
