"""Sessions of a public user study: lists of different lengths, which several graders graded.

`simulations.real_logs` runs this where one of its folders is a checkout of the public repository
moulydewan/LLMUsefulnessLabels: the results that the users of the KDD'19 study opened in sessions of
search, their satisfaction with each query, and grades of the results by the users themselves, by
outside annotators and by language models. A list holds what one user opened for one query, each
result at its rank; compared are a user's own queries. So what is learned is a metric of sessions,
not of pages.

Of each grader the program learns from four fifths of the users, and compares on the others: the
usual metric, the best textbook DCG in training, the default learner as a sum, and the default
learner. Intervals are over users. It writes sessions.csv and sessions.png.
"""

from __future__ import annotations

import argparse
import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.stats import t as student

import dcglearn as dl
from simulations.results import save
from simulations.run import SEED, STYLES, best_textbook, mapped

REPEATS, FOLDS, LEVEL = 3, 5, 0.9
"""Number of divisions of the users, folds of each, and level of intervals over users."""

DEPTH, N_GRADES = 10, 4

TABLE, LABELS = "dataset/df_final_llama.csv", "results/thuir"

GRADERS = {
    "the user": "usefulness_score",
    "outside, for the query": "query_relevance",
    "outside, for the task": "task_relevance",
    "Llama 3.3 70B": "llama3.3_70B_baseline.json",
    "Llama 3.3 70B, whole session": "llama3.3_70B_session.json",
    "Llama 3.1 8B": "llama3.1_8B_baseline 2.json",
    "Llama 3.1 8B, whole session": "llama3.1_8B_session.json",
    "Llama 3.2 3B": "llama3.2_3B_baseline 2.json",
    "Llama 3.2 3B, whole session": "llama3.2_3B_session.json",
    "GPT-3.5": "gptturbo_baseline.json",
    "GPT-4o mini": "gpt4omini_baseline.json",
}
"""Graders, and their column of the table or their file. Those of GPT-3.5 and GPT-4o mini for whole
sessions are left out: they correlate with no other grades, as if they belonged to other results.
"""

USUAL, BEST = "exponential-log2", "best textbook in training"
SUM, DEFAULT = "default, as a sum", "default"


def read(folder: Path, grader: str) -> dl.Preferences:
    """Return the log of a grader."""
    table = pl.read_csv(folder / TABLE, infer_schema=False)
    name = GRADERS[grader]
    if name.endswith(".json"):
        labels = json.loads((folder / LABELS / name).read_text())
        known = {key: int(grade) for key, grade in labels.items() if grade is not None}
        grade = pl.col("id").replace_strict(known, default=-1, return_dtype=pl.Int64)
    else:
        grade = pl.col(name).cast(pl.Float64).cast(pl.Int64)

    # a list for each query of a user and a rating of it
    keys = ["user", "task_id", "query_position", "query_sat_score"]
    rank, grade = pl.col("rank").cast(pl.Float64).cast(pl.Int64), grade.clip(-1, N_GRADES - 1)
    shown = table.with_columns(rank=rank, grade=grade).filter(pl.col("rank") < DEPTH)
    queries = shown.group_by(keys, maintain_order=True).agg("rank", "grade")
    every = np.full((len(queries), DEPTH), -2)
    for one, ranks, grades in zip(every, queries["rank"], queries["grade"], strict=True):
        np.maximum.at(one, ranks.to_numpy(), grades.to_numpy())

    # all pairs of a user's queries with unequal ratings
    users = queries["user"].to_numpy()
    ratings = queries["query_sat_score"].cast(pl.Float64).to_numpy()
    better, other = np.nonzero((ratings[:, None] > ratings) & (users[:, None] == users))
    return dl.Preferences(every[better], every[other], N_GRADES, rater=users[better])


def learned(train: dl.Preferences) -> dict[str, dl.DCG]:
    """Return what each metric learns."""
    return {
        USUAL: dl.textbook_dcgs(N_GRADES, DEPTH)[USUAL],
        BEST: best_textbook(train),
        SUM: dl.DCGLearner(power=0.0, zero=0).fit(train).dcg_,
        DEFAULT: dl.DCGLearner().fit(train).dcg_,
    }


def work(folder: Path, task: tuple[str, int, int]) -> list[dict[str, Any]]:
    """Return what each metric follows of the users of a fold, learned from the others."""
    grader, repeat, fold = task
    log = read(folder, grader)
    names, user = np.unique(log.rater, return_inverse=True)
    part = np.random.default_rng([SEED, repeat]).permutation(len(names))[user] % FOLDS
    train, test = (log[np.flatnonzero(rows)] for rows in (part != fold, part == fold))

    # shares of each user
    where = {"grader": grader, "repeat": repeat, "fold": fold}
    records = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for metric, dcg in learned(train).items():
            of_metric = {"metric": metric, "power": dcg.power, "worst": float(dcg.gains[0])}
            for name in np.unique(test.rater):
                own = test[np.flatnonzero(test.rater == name)]
                followed = own.agreement(dcg).share
                about = {"user": name, "pairs": len(own), "share": followed}
                records.append({**where, **of_metric, **about})
    return records


def held_out(table: pl.DataFrame) -> pl.DataFrame:
    """Return each metric's share by grader, and the default's lead with its interval over users."""
    rows = []
    for (grader,), part in table.group_by("grader", maintain_order=True):
        right = part.with_columns(right=pl.col("share") * pl.col("pairs"))
        wide = right.pivot("metric", index=["user", "pairs", "repeat"], values="right")
        users = wide.group_by("user").sum()

        # leads over users, by Student's t
        weight, n = users["pairs"].to_numpy(), len(users)
        reach = float(student.ppf((1 + LEVEL) / 2, n - 1) * np.sqrt(n / (n - 1))) / weight.sum()
        for metric in (USUAL, BEST, SUM, DEFAULT):
            gained = (users[DEFAULT] - users[metric]).to_numpy()
            lead = gained.sum() / weight.sum()
            error = reach * np.sqrt(((gained - lead * weight) ** 2).sum())
            share = float(users[metric].sum() / weight.sum())
            ends = {"lead": lead, "low": lead - error, "high": lead + error}
            rows.append({"grader": grader, "metric": metric, "share": share, **ends})
    return pl.DataFrame(rows)


def draw(found: pl.DataFrame) -> Figure:
    """Draw the lead of the default over the best textbook, and over itself as a sum, by grader."""
    with rc_context(dl.plots.PRINT_STYLE):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        ax = figure.subplots()
        graders = found["grader"].unique(maintain_order=True).to_list()[::-1]
        for shift, metric, style in zip((0.12, -0.12), (BEST, SUM), STYLES, strict=False):
            rows = {row["grader"]: row for row in found.filter(metric=metric).to_dicts()}
            y = np.arange(len(graders)) + shift
            ends = ([rows[name][key] for name in graders] for key in ("lead", "low", "high"))
            lead, low, high = ends
            reach = np.abs(np.array([low, high]) - lead)
            ax.errorbar(lead, y, xerr=reach, label=metric, **{**style, "linestyle": ""})

        ax.axvline(0, color="0.6", lw=1)
        ax.set_yticks(range(len(graders)), graders)
        ax.set_xlabel("lead of the default learner on users not learned from, 90% intervals")
        figure.legend(frameon=False, loc="outside upper center", ncols=2)
    return figure


def run(study: Path, options: argparse.Namespace) -> None:
    """Make the table and the picture, and print the shares held out."""
    tasks = [(grader, r, f) for grader in GRADERS for r in range(REPEATS) for f in range(FOLDS)]
    each = mapped(partial(work, study), tasks, options.jobs)
    table = pl.DataFrame([row for rows in each for row in rows])
    found = held_out(table)
    save(options.folder / "sessions.csv", found)
    draw(found).savefig(options.folder / "sessions.png", dpi=200)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=4):
        print(found)
        learned = table.filter(metric=DEFAULT).group_by("grader", maintain_order=True)
        print(learned.agg(pl.col("power", "worst").mean()))
